/* data.ts: what the page is given, and the tree it becomes.
 *
 * The renderer puts one JSON object in the page; docs/flame-data.md describes it. Columns, not objects:
 * node i is parent[i], frame[i], self[i], total[i]. Nodes come in preorder (a parent, then each child
 * with all that is under it), so a subtree is the range [i, end[i]) and each row is sorted by x.
 */

export enum Kind {
  Function = 0,
  Inlined = 1,
  Kernel = 2,
  Unresolved = 3,
}

export interface FlameData {
  schema: number;
  title: string;
  event: { type: string; unit: string };
  total: number;
  whole: number;
  base?: number; /* of a difference: what of the total is the base's; all values are sums of both sides */
  totals_known?: boolean; /* false: no stacks, so nobody knows what a function's calls cost */
  facts: string[];
  strings: string[];
  groups: { name: number[]; hue: number[] };
  frames: {
    name: number[];
    file: number[];
    line: number[];
    module: number[];
    group: number[];
    kind: number[];
    shade: number[];
  };
  nodes: {
    parent: number[];
    frame: number[];
    self: number[];
    total: number[];
    self_base?: number[];
    total_base?: number[];
    start?: number[]; /* in order of time: the left edge; children need not touch each other */
  };
  narrow?: { parent: number[]; start: number[]; width: number[] }; /* in order of time: where branches were left out */
  cut: { nodes: number; total: number };
  functions: { name: number[]; self: number[]; total: number[]; more: number };
  counted?: number; /* the node of `functions`, if it is not the root; the renderer does not write it */
}

export const SCHEMA = 1;

/* The object that the renderer wrote. Throws an Error that a person can read. */
export function checkedData(data: FlameData): FlameData {
  if (data.schema !== SCHEMA) {
    throw new Error(`this page shows data of schema ${SCHEMA}, not ${String(data.schema)}`);
  }
  return data;
}

/* How wide the boxes of a difference are, and whether after is scaled to the total of before. */
export type Width = "both" | "before" | "after";
export interface Widths {
  of: Width;
  normalized: boolean;
}

/* The two sides of a difference, by node: own and whole values. */
export interface Sides {
  selfBefore: Float64Array;
  selfAfter: Float64Array;
  totalBefore: Float64Array;
  totalAfter: Float64Array;
  mostChange: number; /* the largest of a box's own changes */
}

function sidesOf(data: FlameData, normalized: boolean, leastChange: number): Sides | null {
  const { self, total, self_base, total_base } = data.nodes;
  if (self_base === undefined || total_base === undefined) return null;
  const after = total[0] - total_base[0];
  const scale = normalized && after > 0 ? total_base[0] / after : 1;
  const rest = (all: number[], base: number[]): Float64Array => Float64Array.from(all, (v, i) => (v - base[i]) * scale);
  const sides = {
    selfBefore: Float64Array.from(self_base),
    selfAfter: rest(self, self_base),
    totalBefore: Float64Array.from(total_base),
    totalAfter: rest(total, total_base),
    mostChange: leastChange,
  };
  sides.selfAfter.forEach((v, i) => (sides.mostChange = Math.max(sides.mostChange, Math.abs(v - sides.selfBefore[i]))));
  return sides;
}

function widthOf(sides: Sides, of: Width, which: "self" | "total"): Float64Array {
  const before = which === "self" ? sides.selfBefore : sides.totalBefore;
  const after = which === "self" ? sides.selfAfter : sides.totalAfter;
  return of === "before" ? before : of === "after" ? after : before.map((v, i) => v + after[i]);
}

export class Tree {
  readonly count: number;
  readonly parent: Int32Array;
  readonly frame: Int32Array;
  readonly self: Float64Array;
  readonly total: Float64Array;
  readonly depth: Int32Array;
  readonly start: Float64Array; /* left edge, in units of the event, from the root's left edge */
  readonly cut: Float64Array; /* what was left out directly under a node */
  readonly cutStart: Float64Array; /* its left edge: right of the last child */
  readonly end: Int32Array; /* one past the last node of the subtree */
  readonly rowFirst: Int32Array; /* row d is rowNodes[rowFirst[d] .. rowFirst[d + 1]) */
  readonly rowNodes: Int32Array;
  readonly sides: Sides | null; /* of a difference */
  readonly narrow: Int32Array[]; /* in order of time: per row of parents, the indices in data.narrow */
  readonly ordered: boolean; /* in order of time: a path of names leads to many boxes */

  /* leastChange: for Sides.mostChange, that of the whole: a part keeps the colours of the whole. */
  constructor(readonly data: FlameData, widths: Widths, leastChange = 0) {
    const n = (this.count = data.nodes.parent.length);
    this.parent = Int32Array.from(data.nodes.parent);
    this.frame = Int32Array.from(data.nodes.frame);
    this.sides = sidesOf(data, widths.normalized, leastChange);
    this.self = this.sides ? widthOf(this.sides, widths.of, "self") : Float64Array.from(data.nodes.self);
    this.total = this.sides ? widthOf(this.sides, widths.of, "total") : Float64Array.from(data.nodes.total);
    this.depth = new Int32Array(n);
    const places = data.nodes.start;
    this.ordered = places !== undefined;
    this.start = places !== undefined ? Float64Array.from(places, (at) => at - places[0]) : new Float64Array(n);
    this.end = new Int32Array(n);

    const next = (this.cutStart = new Float64Array(n)); /* where a node's next child begins */
    let deepest = 0;
    for (let i = 1; i < n; i++) {
      const up = this.parent[i];
      this.depth[i] = this.depth[up] + 1;
      if (places === undefined) this.start[i] = next[up];
      next[i] = this.start[i];
      next[up] += this.total[i];
      deepest = Math.max(deepest, this.depth[i]);
    }
    for (let i = n - 1; i >= 0; i--) {
      this.end[i] = Math.max(this.end[i], i + 1);
      if (i > 0) this.end[this.parent[i]] = Math.max(this.end[this.parent[i]], this.end[i]);
    }

    this.cut = this.total.map((total, i) => Math.max(0, this.start[i] + total - this.self[i] - next[i]));

    this.rowFirst = new Int32Array(deepest + 2);
    for (let i = 0; i < n; i++) this.rowFirst[this.depth[i] + 1]++;
    for (let d = 0; d <= deepest; d++) this.rowFirst[d + 1] += this.rowFirst[d];
    const fill = this.rowFirst.slice();
    this.rowNodes = new Int32Array(n);
    for (let i = 0; i < n; i++) this.rowNodes[fill[this.depth[i]]++] = i;
    const narrow: number[][] = Array.from({ length: deepest + 1 }, () => []);
    (data.narrow ? data.narrow.parent : []).forEach((up, i) => narrow[this.depth[up]].push(i));
    this.narrow = narrow.map((row) => Int32Array.from(row));
  }

  get rows(): number {
    return this.rowFirst.length - 1;
  }

  name(node: number): string {
    return this.data.strings[this.data.frames.name[this.frame[node]]];
  }

  kind(node: number): Kind {
    return this.data.frames.kind[this.frame[node]];
  }

  module(node: number): string {
    return this.data.strings[this.data.frames.module[this.frame[node]]];
  }

  /* "file:line", "file", or "" */
  place(node: number): string {
    const frame = this.frame[node];
    const file = this.data.strings[this.data.frames.file[frame]];
    const line = this.data.frames.line[frame];
    return file !== "" && line > 0 ? `${file}:${line}` : file;
  }

  hue(node: number): number {
    return this.data.groups.hue[this.data.frames.group[this.frame[node]]];
  }

  shade(node: number): number {
    return this.data.frames.shade[this.frame[node]];
  }

  /* Position in rowNodes of the first node of row `d` whose id is at least `node`. */
  firstInRow(d: number, node: number): number {
    let low = this.rowFirst[d];
    let high = this.rowFirst[d + 1];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.rowNodes[middle] < node) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /* The node of row `d` that covers `x` (in units of the event), or -1. */
  at(d: number, x: number): number {
    if (d < 0 || d >= this.rows) return -1;
    let low = this.rowFirst[d];
    let high = this.rowFirst[d + 1];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.start[this.rowNodes[middle]] <= x) low = middle + 1;
      else high = middle;
    }
    if (low === this.rowFirst[d]) return -1;
    const node = this.rowNodes[low - 1];
    return x < this.start[node] + this.total[node] ? node : -1;
  }

  /* The ancestor of `node` at `depth`, itself included. */
  ancestor(node: number, depth: number): number {
    while (this.depth[node] > depth) node = this.parent[node];
    return node;
  }

  isUnder(node: number, top: number): boolean {
    return node >= top && node < this.end[top];
  }

  /* What 100 % is while `zoom` is shown. */
  whole(zoom: number): number {
    return zoom > 0 || this.sides !== null ? this.total[zoom] : this.data.whole;
  }

  /* Of a difference: a box's own change, as a part of the largest one. */
  change(node: number): number {
    if (this.sides === null || this.sides.mostChange === 0) return 0;
    return (this.sides.selfAfter[node] - this.sides.selfBefore[node]) / this.sides.mostChange;
  }

  /* What finds the node again: the names from the root down to it, or, in order of time, its place and depth. */
  path(node: number): string {
    return this.ordered ? (node > 0 ? `@${this.start[node]},${this.depth[node]}` : "") : this.names(node);
  }

  /* The options of `pitot flame`, beside those of the whole, that ask for what is below a node. */
  question(node: number): Record<string, string> {
    const from = this.start[node] + (this.data.nodes.start || [0])[0];
    return { under: this.names(node), ...(this.ordered ? { part: `${from},${from + this.total[node]}` } : {}) };
  }

  /* The names from the root down to a node, as `pitot flame --under` takes them. */
  private names(node: number): string {
    const names: string[] = [];
    for (; node > 0; node = this.parent[node]) names.push(this.name(node).replace(/[\\;]/g, "\\$&"));
    return names.reverse().join(";");
  }

  /* The node at a path, or as far as it leads: 0 for "". */
  nodeAt(path: string): number {
    if (this.ordered) {
      const place = path.match(/^@(\d+),(\d+)$/);
      if (place === null) return 0;
      for (let depth = Math.min(Number(place[2]), this.rows - 1); depth > 0; depth--) {
        const found = this.at(depth, Number(place[1]));
        if (found >= 0) return found;
      }
      return 0;
    }
    const names = (path.match(/(?:\\.|[^\\;])+/gs) || []).map((name) => name.replace(/\\(.)/gs, "$1"));
    let node = 0;
    for (const name of names) {
      let child = node + 1;
      while (child < this.end[node] && this.name(child) !== name) child = this.end[child];
      if (child >= this.end[node]) break;
      node = child;
    }
    return node;
  }

  /* What was cut under `top`: no box shows it. */
  cutUnder(top: number): number {
    let shown = 0;
    for (let i = top; i < this.end[top]; i++) shown += this.self[i];
    return Math.max(0, this.total[top] - shown);
  }

  /* The deepest row that the subtree of `top` reaches. */
  deepest(top: number): number {
    let deepest = this.depth[top];
    for (let i = top; i < this.end[top]; i++) deepest = Math.max(deepest, this.depth[i]);
    return deepest;
  }
}

/* The boxes from the root of a tree down to node `at`, without others beside them, and below it those of `more`, whose
 * root is that node. */
export function detailed(tree: Tree, at: number, more: FlameData): FlameData {
  const { data } = tree;
  const path: number[] = [];
  for (let node = at; node > 0; node = tree.parent[node]) path.push(node);
  path.push(0);
  path.reverse();
  const [strings, groups, frames] = [more.strings.length, more.groups.name.length, more.frames.name.length];
  const onPath = path.map((node) => tree.frame[node]);
  const groupsOnPath = onPath.map((frame) => data.frames.group[frame]);
  const texts: string[] = [];
  const string = (id: number): number => strings + texts.push(data.strings[id]) - 1;
  const of = (column: number[]): number[] => onPath.map((frame) => column[frame]);
  const textsOf = (column: number[]): number[] => of(column).map(string);
  const below = (column: number[], inside: number[]): number[] => path.map((node) => column[node]).concat(inside.slice(1));
  const places = (inside: number[]): number[] => inside.map((parent) => parent + path.length - 1);
  const { nodes } = data;
  const joined: FlameData["nodes"] = {
    parent: path.map((_, i) => Math.max(0, i - 1)).concat(places(more.nodes.parent.slice(1))),
    frame: path.map((_, i) => frames + i).concat(more.nodes.frame.slice(1)),
    self: below(nodes.self, more.nodes.self),
    total: below(nodes.total, more.nodes.total),
  };
  const sides = more.nodes.self_base !== undefined && more.nodes.total_base !== undefined;
  if (sides && nodes.self_base !== undefined && nodes.total_base !== undefined) {
    joined.self_base = below(nodes.self_base, more.nodes.self_base!);
    joined.total_base = below(nodes.total_base, more.nodes.total_base!);
  }
  if (nodes.start !== undefined && more.nodes.start !== undefined) joined.start = below(nodes.start, more.nodes.start);
  const made = {
    ...data,
    narrow: more.narrow && { ...more.narrow, parent: places(more.narrow.parent) },
    groups: {
      name: more.groups.name.concat(groupsOnPath.map((group) => string(data.groups.name[group]))),
      hue: more.groups.hue.concat(groupsOnPath.map((group) => data.groups.hue[group])),
    },
    frames: {
      name: more.frames.name.concat(textsOf(data.frames.name)),
      file: more.frames.file.concat(textsOf(data.frames.file)),
      line: more.frames.line.concat(of(data.frames.line)),
      module: more.frames.module.concat(textsOf(data.frames.module)),
      group: more.frames.group.concat(path.map((_, i) => groups + i)),
      kind: more.frames.kind.concat(of(data.frames.kind)),
      shade: more.frames.shade.concat(of(data.frames.shade)),
    },
    nodes: joined,
    functions: more.functions,
    counted: path.length - 1,
  };
  return { ...made, strings: more.strings.concat(texts) };
}
