/* search.ts: which frames a pattern names, and what share of the time they hold. */

import { Tree } from "./data";

export interface Matches {
  frame: Uint8Array; /* 1 where the frame's name matches */
  nodes: number;
  total: number; /* of the outermost matching boxes: a match inside a match counts once */
  unknown: number; /* cut away outside of them: it may hold matches */
}

export function escapeRegExp(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
}

/* The pattern as a test of names, or the message that says what is wrong with it. Case matters only when
 * the pattern has a capital letter. */
export function compile(pattern: string, regex: boolean): ((name: string) => boolean) | string {
  const ignoreCase = pattern === pattern.toLowerCase();
  if (regex) {
    try {
      const re = new RegExp(pattern, ignoreCase ? "i" : "");
      return (name) => re.test(name);
    } catch (e) {
      return "not a regular expression";
    }
  }
  return ignoreCase ? (name) => name.toLowerCase().includes(pattern) : (name) => name.includes(pattern);
}

/* Matches under `top`. Each distinct frame is tested once. */
export function search(tree: Tree, top: number, test: (name: string) => boolean): Matches {
  const { name } = tree.data.frames;
  const strings = tree.data.strings;
  const frame = new Uint8Array(name.length);
  for (let f = 0; f < name.length; f++) frame[f] = test(strings[name[f]]) ? 1 : 0;

  let nodes = 0;
  let total = 0;
  let shown = 0; /* self outside of the matches */
  let covered = top; /* nodes below this id lie inside a match already counted */
  for (let i = top; i < tree.end[top]; i++) {
    if (!frame[tree.frame[i]]) {
      if (i >= covered) shown += tree.self[i];
      continue;
    }
    nodes++;
    if (i >= covered) {
      total += tree.total[i];
      covered = tree.end[i];
    }
  }
  return { frame, nodes, total, unknown: Math.max(0, tree.total[top] - total - shown) };
}
