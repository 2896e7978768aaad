/* pattern.ts: regular expressions that a profile brings along. The work of the browser's own expressions can be
 * exponential in a name; here all states of an expression are followed at once, so it is linear in the name, and its sum
 * is limited. The syntax is that of Go's regexp: https://github.com/google/re2/wiki/Syntax. */

const MOST_STATES = 20_000;
const MOST_DEPTH = 200; /* of groups in groups */
const MOST_WORK = 50_000_000; /* states that are visited, of all names together */

type Test = (code: number) => boolean;

type Tree =
  | { kind: "one"; test: Test }
  | { kind: "at"; holds: (before: number, after: number) => boolean } /* between two characters; -1: none */
  | { kind: "row"; parts: Tree[] }
  | { kind: "any"; parts: Tree[] }
  | { kind: "times"; part: Tree; least: number; most: number };

const isWord: Test = (c) => (c >= 48 && c <= 57) || (c >= 65 && c <= 90) || c === 95 || (c >= 97 && c <= 122);
const isDigit: Test = (c) => c >= 48 && c <= 57;
const isSpace: Test = (c) => c === 32 || (c >= 9 && c <= 13 && c !== 11);
const not = (test: Test): Test => (c) => !test(c);

const CLASSES: Record<string, Test> = { d: isDigit, D: not(isDigit), w: isWord, W: not(isWord), s: isSpace, S: not(isSpace) };
const NAMED: Record<string, Test> = {
  alpha: (c) => isWord(c) && !isDigit(c) && c !== 95,
  digit: isDigit,
  alnum: (c) => isWord(c) && c !== 95,
  word: isWord,
  space: (c) => isSpace(c) || c === 11,
  upper: (c) => c >= 65 && c <= 90,
  lower: (c) => c >= 97 && c <= 122,
  punct: (c) => c > 32 && c < 127 && (!isWord(c) || c === 95),
  xdigit: (c) => isDigit(c) || (c >= 65 && c <= 70) || (c >= 97 && c <= 102),
};
const CONTROLS: Record<string, number> = { a: 7, f: 12, n: 10, r: 13, t: 9, v: 11 };

const edge = (before: number, after: number): boolean => isWord(before) !== isWord(after);
const PLACES: Record<string, (before: number, after: number) => boolean> = {
  A: (before) => before < 0,
  z: (_, after) => after < 0,
  b: edge,
  B: (before, after) => !edge(before, after),
};

class Parser {
  private at = 0;
  private depth = 0;
  private flags = { i: false, s: false, m: false };
  private readonly text: string[]; /* characters */

  constructor(text: string) {
    this.text = [...text];
  }

  whole(): Tree {
    const made = this.choice();
    if (this.at < this.text.length) throw new Error("it has a parenthesis too many");
    return made;
  }

  private takes(wanted: string): boolean {
    if (!wanted.split("").every((c, i) => this.text[this.at + i] === c)) return false;
    this.at += wanted.length;
    return true;
  }

  private choice(): Tree {
    if (++this.depth > MOST_DEPTH) throw new Error("it has too many groups in groups");
    const before = { ...this.flags };
    const parts = [this.row()];
    while (this.takes("|")) parts.push(this.row());
    this.flags = before;
    this.depth--;
    return parts.length === 1 ? parts[0] : { kind: "any", parts };
  }

  private row(): Tree {
    const parts: Tree[] = [];
    while (this.at < this.text.length && this.text[this.at] !== "|" && this.text[this.at] !== ")") {
      if (this.takes("\\Q")) {
        while (this.at < this.text.length && !this.takes("\\E")) parts.push(this.character(this.code()));
      } else {
        const part = this.item();
        if (part !== null) parts.push(this.repeated(part));
      }
    }
    return { kind: "row", parts };
  }

  private repeated(part: Tree): Tree {
    for (;;) {
      let [least, most] = [0, Infinity];
      const found = this.text[this.at] === "{" ? this.text.slice(this.at, this.at + 12).join("").match(/^\{(\d{1,4})(,?)(\d{0,4})\}/) : null;
      if (found !== null) {
        this.at += found[0].length;
        least = Number(found[1]);
        most = found[2] === "" ? least : found[3] === "" ? Infinity : Number(found[3]);
        if (most < least) throw new Error("it has a repeat whose ends are exchanged");
      } else if (this.takes("+")) {
        least = 1;
      } else if (this.takes("?")) {
        most = 1;
      } else if (!this.takes("*")) {
        return part;
      }
      if (this.takes("+")) throw new Error("it has a possessive repeat");
      this.takes("?"); /* which match is found first does not matter */
      part = { kind: "times", part, least, most };
    }
  }

  /* One character, group or place; null: flags, which match nothing. */
  private item(): Tree | null {
    if (this.takes("(")) return this.group();
    if (this.takes("[")) return { kind: "one", test: this.set() };
    const { s, m } = this.flags;
    if (this.takes(".")) return { kind: "one", test: s ? () => true : (c) => c !== 10 };
    if (this.takes("^")) return { kind: "at", holds: m ? (before) => before < 0 || before === 10 : PLACES.A };
    if (this.takes("$")) return { kind: "at", holds: m ? (_, after) => after < 0 || after === 10 : PLACES.z };
    if (this.takes("\\")) return this.escape();
    if ("*+?".includes(this.text[this.at])) throw new Error("it has a repeat of nothing");
    return this.character(this.code());
  }

  private group(): Tree | null {
    if (this.takes("?")) {
      const rest = this.text.slice(this.at, this.at + 100).join("");
      const name = rest.match(/^P?<\w+>/);
      const flags = rest.match(/^([imsU]*)(?:-([imsU]+))?([:)])/);
      if (name === null && flags === null) throw new Error("it has a group that looks around");
      this.at += (name || flags || [""])[0].length;
      if (flags !== null) {
        const before = { ...this.flags };
        for (const on of flags[1]) this.flags = { ...this.flags, [on]: true };
        for (const off of flags[2] || "") this.flags = { ...this.flags, [off]: false };
        if (flags[3] === ")") return null;
        const inside = this.closed();
        this.flags = before;
        return inside;
      }
    }
    return this.closed();
  }

  private closed(): Tree {
    const inside = this.choice();
    if (!this.takes(")")) throw new Error("it lacks a closing parenthesis");
    return inside;
  }

  private code(): number {
    return this.text[this.at++].codePointAt(0) as number;
  }

  private character(code: number): Tree {
    return { kind: "one", test: this.either((c) => c === code) };
  }

  /* The test, of both cases of a letter if they are the same here. */
  private either(test: Test): Test {
    if (!this.flags.i) return test;
    const other = (text: string): boolean => [...text].length === 1 && test(text.codePointAt(0) as number);
    return (c) => test(c) || other(String.fromCodePoint(c).toLowerCase()) || other(String.fromCodePoint(c).toUpperCase());
  }

  private escape(): Tree {
    const letter = this.text[this.at];
    if (letter === undefined) throw new Error("it ends with a backslash");
    if (letter in PLACES) {
      this.at++;
      return { kind: "at", holds: PLACES[letter] };
    }
    const meant = this.escaped();
    return typeof meant === "number" ? this.character(meant) : { kind: "one", test: meant };
  }

  /* What stands behind a backslash: a character, or a class. */
  private escaped(): number | Test {
    const letter = this.text[this.at] || "";
    const hex = this.text.slice(this.at, this.at + 9).join("").match(/^x(?:([0-9a-fA-F]{2})|\{([0-9a-fA-F]{1,6})\})/);
    if (hex !== null) {
      this.at += hex[0].length;
      return Math.min(parseInt(hex[1] || hex[2], 16), 0x10ffff);
    }
    if (letter in CLASSES || letter in CONTROLS) {
      this.at++;
      return CLASSES[letter] || CONTROLS[letter];
    }
    if (letter === "" || /[A-Za-z0-9]/.test(letter)) throw new Error(`it has an escape \\${letter} that is not known`);
    return this.code();
  }

  /* A class whose bracket was read. */
  private set(): Test {
    const inverted = this.takes("^");
    const tests: Test[] = [];
    for (let first = true; first || this.text[this.at] !== "]"; first = false) {
      if (this.at >= this.text.length) throw new Error("it lacks a closing bracket");
      const named = this.text.slice(this.at, this.at + 12).join("").match(/^\[:(\^?)(\w+):\]/);
      if (named !== null) {
        if (!(named[2] in NAMED)) throw new Error(`it has a class ${named[2]} that is not known`);
        this.at += named[0].length;
        tests.push(named[1] === "" ? NAMED[named[2]] : not(NAMED[named[2]]));
        continue;
      }
      const from = this.takes("\\") ? this.escaped() : this.code();
      if (typeof from !== "number") {
        tests.push(from);
        continue;
      }
      let to = from;
      if (this.text[this.at] === "-" && this.text[this.at + 1] !== "]" && this.at + 1 < this.text.length) {
        this.at++;
        const end = this.takes("\\") ? this.escaped() : this.code();
        if (typeof end !== "number" || end < from) throw new Error("it has a range whose ends are exchanged");
        to = end;
      }
      tests.push((c) => c >= from && c <= to);
    }
    this.at++;
    const found = this.either((c) => tests.some((test) => test(c)));
    return inverted ? not(found) : found;
  }
}

/* A state: the character, the place, or one of two states that must come next. */
type State = { next: number; other?: number; test?: Test; holds?: (before: number, after: number) => boolean };

const END = 0; /* the state of a match */

export class Pattern {
  private states: State[] = [{ next: END }];
  private start: number;
  private work = 0;

  /* whole: it is to match all of a name, else a part. Throws an Error that says what is wrong with the text. */
  constructor(text: string, private whole: boolean) {
    this.start = this.add(new Parser(text).whole(), END);
    this.work = 0;
  }

  private put(state: State): number {
    if (this.states.length >= MOST_STATES) throw new Error("it is too large");
    return this.states.push(state) - 1;
  }

  /* The states of a part that is followed by the state `next`. Returns the first of them. */
  private add(tree: Tree, next: number): number {
    if (++this.work > MOST_STATES * 4) throw new Error("it is too large");
    if (tree.kind === "one") return this.put({ next, test: tree.test });
    if (tree.kind === "at") return this.put({ next, holds: tree.holds });
    if (tree.kind === "row") return tree.parts.reduceRight((after, part) => this.add(part, after), next);
    if (tree.kind === "any") return tree.parts.map((part) => this.add(part, next)).reduceRight((other, first) => this.put({ next: first, other }));
    let made = next;
    if (tree.most === Infinity) {
      made = this.put({ next, other: next });
      this.states[made].next = this.add(tree.part, made);
    }
    for (let i = tree.least; i < tree.most && tree.most !== Infinity; i++) made = this.put({ next: this.add(tree.part, made), other: next });
    for (let i = 0; i < tree.least; i++) made = this.add(tree.part, made);
    return made;
  }

  /* Throws an Error when all names together took too much work. */
  matches(name: string): boolean {
    const codes = [...name].map((c) => c.codePointAt(0) as number);
    const seen = new Int32Array(this.states.length).fill(-1);
    let now: number[] = [this.start];
    for (let i = 0; i <= codes.length; i++) {
      const [before, after] = [i > 0 ? codes[i - 1] : -1, i < codes.length ? codes[i] : -1];
      if (i > 0 && !this.whole) now.push(this.start);
      const then: number[] = [];
      for (let at = now.pop(); at !== undefined; at = now.pop()) {
        if (seen[at] === i) continue;
        seen[at] = i;
        if (++this.work > MOST_WORK) throw new Error("it takes too long");
        const { next, other, test, holds } = this.states[at];
        if (at === END) {
          if (!this.whole || i === codes.length) return true;
        } else if (test !== undefined) {
          if (after >= 0 && test(after)) then.push(next);
        } else if (holds === undefined || holds(before, after)) {
          now.push(next);
          if (other !== undefined) now.push(other);
        }
      }
      now = then;
      if (now.length === 0 && this.whole) return false;
    }
    return false;
  }
}

/* A test of names for a text that a reader typed or copied: a name that is known means itself, any other text is a regular
 * expression. Throws an Error that says what is wrong with it. */
export function namedOr(text: string, names: string[]): (name: string) => boolean {
  if (names.includes(text)) return (name) => name === text;
  let pattern: Pattern;
  try {
    pattern = new Pattern(text, false);
  } catch (e) {
    throw new Error(`${text} is no regular expression that the page knows: ${(e as Error).message}.`);
  }
  return (name) => pattern.matches(name);
}
