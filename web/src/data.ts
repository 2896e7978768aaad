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
  nodes: { parent: number[]; frame: number[]; self: number[]; total: number[] };
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

  constructor(readonly data: FlameData) {
    const n = (this.count = data.nodes.parent.length);
    this.parent = Int32Array.from(data.nodes.parent);
    this.frame = Int32Array.from(data.nodes.frame);
    this.self = Float64Array.from(data.nodes.self);
    this.total = Float64Array.from(data.nodes.total);
    this.depth = new Int32Array(n);
    this.start = new Float64Array(n);
    this.end = new Int32Array(n);

    const next = (this.cutStart = new Float64Array(n)); /* where a node's next child begins */
    let deepest = 0;
    for (let i = 1; i < n; i++) {
      const up = this.parent[i];
      this.depth[i] = this.depth[up] + 1;
      this.start[i] = next[i] = next[up];
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
    return zoom > 0 ? this.total[zoom] : this.data.whole;
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
