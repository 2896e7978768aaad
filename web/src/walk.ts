/* walk.ts: where the arrow keys go. */

import { Tree } from "./data";

/* The widest child: children are ordered by total, so it is the one that follows its parent. */
export function child(tree: Tree, node: number): number {
  return node + 1 < tree.end[node] ? node + 1 : node;
}

/* The neighbour in the same row, `step` -1 or 1 away, that lies under `top`; `node` at the edge. */
export function neighbour(tree: Tree, node: number, step: number, top: number): number {
  const row = tree.depth[node];
  const k = tree.firstInRow(row, node) + step;
  if (k < tree.rowFirst[row] || k >= tree.rowFirst[row + 1]) return node;
  const next = tree.rowNodes[k];
  return tree.isUnder(next, top) ? next : node;
}

/* The next match after `node` in drawing order (before it with `step` -1), round the end; -1 if none. */
export function nextMatch(tree: Tree, node: number, step: number, top: number, matched: Uint8Array): number {
  const first = top;
  const count = tree.end[top] - top;
  const from = tree.isUnder(node, top) ? node - first : step > 0 ? -1 : count;
  for (let k = 1; k <= count; k++) {
    const at = first + ((((from + step * k) % count) + count) % count);
    if (matched[tree.frame[at]]) return at;
  }
  return -1;
}
