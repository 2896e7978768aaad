/* levels.ts: the whole graph, which leaves out what is too narrow in it, and the details below boxes that were zoomed
 * into. Each has a tree of its own, since only one of them is drawn at a time; the latest few are kept. */

import { detailed, FlameData, Tree, Widths } from "./data";

const KEPT = 8;

interface Level {
  top: string; /* Tree.path of the box */
  depth: number; /* its */
  from: number; /* its left edge, in units of the event */
  to: number; /* its right one */
  data: FlameData;
  tree: Tree | null; /* made when it is first shown */
}

/* Is the box at a path the level's own, or below it? */
function holds(level: Level, path: string): boolean {
  const place = path.match(/^@(\d+),(\d+)$/);
  if (place === null || !level.top.startsWith("@")) return path === level.top || path.startsWith(`${level.top};`);
  return Number(place[1]) >= level.from && Number(place[1]) < level.to && Number(place[2]) >= level.depth;
}

export class Levels {
  private levels: Level[] = []; /* the one that was shown last is the last */
  whole: Tree;

  constructor(data: FlameData, private widths: Widths) {
    this.whole = new Tree(data, widths);
  }

  /* The tree that has the most detail of what is below the box at a path. */
  of(path: string): Tree {
    const best = this.levels.reduce<Level | null>(
      (best, level) => (holds(level, path) && (best === null || level.depth > best.depth) ? level : best),
      null
    );
    if (best === null) return this.whole;
    this.levels = [...this.levels.filter((level) => level !== best), best];
    if (best.tree === null) best.tree = new Tree(best.data, this.widths, this.whole.sides?.mostChange);
    return best.tree;
  }

  has(top: string): boolean {
    return this.levels.some((level) => level.top === top);
  }

  /* What is below node `at` of one of these trees. */
  add(tree: Tree, at: number, more: FlameData): void {
    const from = tree.start[at];
    const level: Level = {
      top: tree.path(at),
      depth: tree.depth[at],
      from,
      to: from + tree.total[at],
      data: detailed(tree, at, more),
      tree: null,
    };
    this.levels = [...this.levels, level].slice(-KEPT);
  }

  /* More of the whole. */
  refine(more: FlameData): void {
    this.whole = new Tree(more, this.widths);
  }

  setWidths(widths: Widths): void {
    this.widths = widths;
    this.whole = new Tree(this.whole.data, widths);
    for (const level of this.levels) level.tree = null;
  }
}
