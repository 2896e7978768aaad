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
}

export const SCHEMA = 1;

/* Reads the object that the renderer wrote. Throws an Error that a person can read. */
export function parseData(text: string): FlameData {
  const data = JSON.parse(text) as FlameData;
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

function sidesOf(data: FlameData, normalized: boolean): Sides | null {
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
    mostChange: 0,
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

  constructor(readonly data: FlameData, widths: Widths = { of: "both", normalized: false }) {
    const n = (this.count = data.nodes.parent.length);
    this.parent = Int32Array.from(data.nodes.parent);
    this.frame = Int32Array.from(data.nodes.frame);
    this.sides = sidesOf(data, widths.normalized);
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

type Narrow = NonNullable<FlameData["narrow"]>;

/* The narrow places of both after a splice: those below `at` come from `more`. */
function joinedNarrow(old: Narrow, more: Narrow, at: number, end: number, shift: number): Narrow {
  const joined: Narrow = { parent: [], start: [], width: [] };
  const add = (from: Narrow, i: number, parent: number): void => {
    joined.parent.push(parent);
    joined.start.push(from.start[i]);
    joined.width.push(from.width[i]);
  };
  old.parent.forEach((p, i) => (p < at || p >= end) && add(old, i, p < at ? p : p + shift));
  more.parent.forEach((p, i) => add(more, i, p + at));
  return joined;
}

/* The data with the boxes below node `at` (up to `end`) replaced by those of `more`, whose root is that node. */
export function spliced(data: FlameData, at: number, end: number, more: FlameData): FlameData {
  const strings = data.strings.slice();
  const known = new Map(strings.map((text, i) => [text, i]));
  const string = more.strings.map((text) => {
    const found = known.get(text);
    return found !== undefined ? found : strings.push(text) - 1;
  });
  const [groups, frames] = [data.groups.name.length, data.frames.name.length];
  const texts = (column: number[]): number[] => column.map((s) => string[s]);
  const added = more.nodes.parent.length - 1;
  const shift = added - (end - at - 1);
  const place = (column: number[], inside: number[], after = (v: number): number => v): number[] => [
    ...column.slice(0, at + 1),
    ...inside,
    ...column.slice(end).map(after),
  ];
  const below = (column: number[] | undefined): number[] => (column || new Array(added + 1).fill(0)).slice(1);
  const join = (column: number[], inside: number[] | undefined): number[] => place(column, below(inside));
  const { nodes } = data;
  const joined: FlameData["nodes"] = {
    parent: place(nodes.parent, below(more.nodes.parent).map((p) => p + at), (p) => (p >= end ? p + shift : p)),
    frame: place(nodes.frame, below(more.nodes.frame).map((f) => f + frames)),
    self: join(nodes.self, more.nodes.self),
    total: join(nodes.total, more.nodes.total),
  };
  if (nodes.self_base !== undefined && nodes.total_base !== undefined) {
    joined.self_base = join(nodes.self_base, more.nodes.self_base);
    joined.total_base = join(nodes.total_base, more.nodes.total_base);
  }
  if (nodes.start !== undefined) joined.start = join(nodes.start, more.nodes.start);
  return {
    ...data,
    narrow: data.narrow && more.narrow && joinedNarrow(data.narrow, more.narrow, at, end, shift),
    strings,
    groups: { name: [...data.groups.name, ...texts(more.groups.name)], hue: [...data.groups.hue, ...more.groups.hue] },
    frames: {
      name: [...data.frames.name, ...texts(more.frames.name)],
      file: [...data.frames.file, ...texts(more.frames.file)],
      line: [...data.frames.line, ...more.frames.line],
      module: [...data.frames.module, ...texts(more.frames.module)],
      group: [...data.frames.group, ...more.frames.group.map((g) => g + groups)],
      kind: [...data.frames.kind, ...more.frames.kind],
      shade: [...data.frames.shade, ...more.frames.shade],
    },
    nodes: joined,
  };
}
