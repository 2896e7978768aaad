/* functions.ts: self and total of each function, and self of each package, under one box. */

import { Kind, Tree } from "./data";

export interface FunctionRow {
  name: string;
  self: number; /* of a difference: the change, as is total */
  total: number; /* a function that calls itself counts once */
}

export interface GroupRow {
  name: string;
  hue: number;
  kernel: boolean;
  self: number;
}

/* One pass in preorder; a function's total grows only at its outermost box. Unsorted. */
export function functionsUnder(tree: Tree, top: number): FunctionRow[] {
  const names = tree.data.frames.name;
  const { sides } = tree;
  const self = (i: number): number => (sides ? sides.selfAfter[i] - sides.selfBefore[i] : tree.self[i]);
  const total = (i: number): number => (sides ? sides.totalAfter[i] - sides.totalBefore[i] : tree.total[i]);
  const rows: FunctionRow[] = [];
  const rowOf = new Int32Array(tree.data.strings.length); /* of a name, plus 1 */
  const covered = new Int32Array(tree.data.strings.length); /* of a name: the end of the outermost box being walked */
  for (let i = Math.max(top, 1); i < tree.end[top]; i++) {
    const name = names[tree.frame[i]];
    if (rowOf[name] === 0) rowOf[name] = rows.push({ name: tree.data.strings[name], self: 0, total: 0 });
    const row = rows[rowOf[name] - 1];
    row.self += self(i);
    if (i < covered[name]) continue;
    row.total += total(i);
    covered[name] = tree.end[i];
  }
  return rows;
}

/* The leading functions under a box, counted before anything was cut; empty when nothing was, or nobody counted. */
export function functionsCounted(tree: Tree, top: number): FunctionRow[] {
  const { strings, functions, counted } = tree.data;
  if (top !== (counted || 0)) return [];
  return functions.name.map((name, i) => ({
    name: strings[name],
    self: functions.self[i],
    total: functions.total[i],
  }));
}

/* Packages under `top`, most self first. */
export function groupsUnder(tree: Tree, top: number): GroupRow[] {
  const { groups, frames, strings } = tree.data;
  const self = new Float64Array(groups.name.length);
  const kernel = new Uint8Array(groups.name.length);
  for (let i = Math.max(top, 1); i < tree.end[top]; i++) {
    const group = frames.group[tree.frame[i]];
    self[group] += tree.self[i];
    if (tree.kind(i) === Kind.Kernel) kernel[group] = 1;
  }
  const rows: GroupRow[] = [];
  for (let g = 0; g < self.length; g++) {
    if (self[g] <= 0) continue;
    const name = strings[groups.name[g]] || "(unknown)";
    rows.push({ name, hue: groups.hue[g], kernel: kernel[g] === 1, self: self[g] });
  }
  return rows.sort((a, b) => b.self - a.self || (a.name < b.name ? -1 : 1));
}
