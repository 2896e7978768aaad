/* text.ts: a name made to fit its box. */

const OPERATOR = /\boperator\s*(\(\)|\[\]|<=>|[-+*/%^&|~!=<>,]{1,3})/y;

/* For each character of a C++ or Rust name what encloses it, outermost: nothing (0), <> (1) or () (2). NULL
 * when brackets do not match. The brackets of operator<, operator() and the like enclose nothing. */
function nesting(name: string): Uint8Array | null {
  const marks = new Uint8Array(name.length);
  let level = 0;
  let kind = 0;
  for (let i = 0; i < name.length; i++) {
    OPERATOR.lastIndex = i;
    const operator = level === 0 ? OPERATOR.exec(name) : null;
    if (operator !== null) {
      i += operator[0].length - 1;
      continue;
    }
    const c = name[i];
    if ((c === "<" || c === "(") && level++ === 0) kind = c === "<" ? 1 : 2;
    marks[i] = level > 0 ? kind : 0;
    if ((c === ">" && name[i - 1] !== "-") || c === ")") level--;
    if (level < 0) return null;
  }
  return level === 0 ? marks : null;
}

/* "f(int) const" -> "f" */
function withoutArguments(name: string): string {
  const marks = nesting(name);
  if (marks === null) return name;
  let open = -1;
  for (let i = 0; i < name.length; i++) {
    if (marks[i] === 2 && (i === 0 || marks[i - 1] !== 2)) open = i;
    if (marks[i] === 0 && name.startsWith("::", i)) open = -1;
  }
  return open > 0 ? name.slice(0, open) : name;
}

/* "void a<b<c>>::d<e>" -> "a::d" */
function withoutTemplates(name: string): string {
  const marks = nesting(name);
  if (marks === null) return name;
  const kept: number[] = [];
  for (let i = 0; i < name.length; i++) if (marks[i] !== 1) kept.push(i);
  const plain = kept.map((i) => name[i]).join("");
  const path = plain.indexOf("::");
  const space = plain.lastIndexOf(" ", path);
  return path > 0 && space >= 0 && marks[kept[space]] === 0 ? plain.slice(space + 1) : plain;
}

/* The parts between "::" that stand in no brackets. */
function pathOf(name: string): string[] {
  const marks = nesting(name);
  if (marks === null) return [name];
  const parts: string[] = [];
  let from = 0;
  for (let i = 0; i < name.length; i++) {
    if (marks[i] !== 0 || !name.startsWith("::", i)) continue;
    parts.push(name.slice(from, i));
    from = i + 2;
  }
  return [...parts, name.slice(from)];
}

/* Shorter and shorter forms of one name, each still naming the function: without its arguments, without
 * template arguments, without the path of its package, the last two parts, the last part. */
export function shorterForms(name: string): string[] {
  const forms = [name];
  const last = (): string => forms[forms.length - 1];
  const add = (form: string): void => {
    if (form !== "" && form.length < last().length) forms.push(form);
  };
  if (name.startsWith("[")) return forms;
  if (name.includes("::") || name.includes("<")) {
    add(withoutArguments(name));
    add(withoutTemplates(last()));
    const path = pathOf(last());
    if (path.length > 2) add(path.slice(-2).join("::"));
    add(path[path.length - 1]);
  } else {
    const open = name.indexOf("(");
    add(name.slice(name.lastIndexOf("/", open >= 0 ? open : name.length) + 1));
  }
  return forms;
}

/* The longest form of at most `most` characters, else the shortest. */
export function formWithin(name: string, most: number): string {
  const forms = shorterForms(name);
  return forms.find((form) => form.length <= most) || forms[forms.length - 1];
}

/* The forms of a name, and how wide they are: -1 until it was asked. */
interface Forms {
  text: string[];
  width: number[];
  ends: number[] | null; /* of the shortest: where its characters end */
}

/* Measures text by adding up the widths of its characters, measured once each: kerning is ignored, which
 * errs on the wide side. */
export class Ruler {
  private widths = new Map<string, number>();
  private forms = new Map<string, Forms>();

  constructor(private measureOne: (text: string) => number) {}

  private measureCharacter(c: string): number {
    let width = this.widths.get(c);
    if (width === undefined) this.widths.set(c, (width = this.measureOne(c)));
    return width;
  }

  /* Where each character of a text ends. */
  private endsOf(text: string): number[] {
    let end = 0;
    return Array.from(text, (c) => (end += this.measureCharacter(c)));
  }

  measure(text: string): number {
    let width = 0;
    for (const c of text) width += this.measureCharacter(c);
    return width;
  }

  private formsOf(name: string): Forms {
    let forms = this.forms.get(name);
    if (forms === undefined) {
      const text = shorterForms(name);
      this.forms.set(name, (forms = { text, width: text.map(() => -1), ends: null }));
    }
    return forms;
  }

  /* The longest form of `name` that fits, cut with "…" when none does; "" when not even three
   * characters would be left. */
  fit(name: string, room: number): string {
    const forms = this.formsOf(name);
    const { text, width } = forms;
    for (let i = 0; i < text.length; i++) {
      if (text[i].length * 2 >= room) continue;
      if (width[i] < 0) width[i] = this.measure(text[i]);
      if (width[i] <= room) return text[i];
    }
    const last = text[text.length - 1];
    if (forms.ends === null) forms.ends = this.endsOf(last);
    const most = room - this.measureCharacter("…");
    let count = 0; /* characters that fit */
    while (count < forms.ends.length && forms.ends[count] <= most) count++;
    const cut = forms.ends.length === last.length ? last.slice(0, count) : Array.from(last).slice(0, count).join("");
    return cut.length >= 3 ? cut + "…" : "";
  }
}
