/* answers.ts: reports on a profile that the page reads itself, in the form of the server's. */

import { FlameData, SCHEMA } from "../../data";
import { namedOr } from "./pattern";
import { LocalFrame, LocalProfile } from "./profile";

const HUES = 24;
const SHADES = 3;
const LEAST_SHARE = 1 / 4000; /* of a box; narrower ones are not drawn */
const MOST_NEIGHBOURS = 20;

/* FNV-1a of a text: where no meaning gives a colour, the name does. */
function hashOf(text: string): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193) >>> 0;
  return hash;
}

const baseName = (path: string): string => path.slice(path.lastIndexOf("/") + 1);

/* A function, whatever its lines: a row of the table. */
interface Row {
  frame: LocalFrame;
  self: number;
  total: number;
}

interface Node {
  row: number; /* -1: the root */
  self: number;
  total: number;
  children: Map<number, Node>;
}

const newNode = (row: number): Node => ({ row, self: 0, total: 0, children: new Map() });

const byTotal = (a: Node, b: Node): number => Math.abs(b.total) - Math.abs(a.total);

export class LocalAnswers {
  private rows: Row[] = [];
  private rowOf: number[]; /* by frame */
  private total = 0;
  private root: Node;
  private event: { type: string; unit: string };

  constructor(private title: string, private profile: LocalProfile, private index: number, private inverted: boolean) {
    const known = new Map<string, number>();
    this.event = profile.events[index];
    this.rowOf = profile.frames.map((frame) => {
      const found = known.get(frame.name);
      if (found !== undefined) return found;
      known.set(frame.name, this.rows.length);
      return this.rows.push({ frame, self: 0, total: 0 }) - 1;
    });
    this.root = this.count();
  }

  /* The tree of all samples, and what each function has. */
  private count(): Node {
    const root = newNode(-1);
    for (const { stack, values } of this.profile.samples) {
      const value = values[this.index];
      if (value === 0 || stack.length === 0) continue;
      const rows = stack.map((frame) => this.rowOf[frame]);
      this.total += value;
      this.rows[rows[rows.length - 1]].self += value;
      for (const row of new Set(rows)) this.rows[row].total += value;
      let node = root;
      node.total += value;
      for (const row of this.inverted ? rows.reverse() : rows) {
        let child = node.children.get(row);
        if (child === undefined) node.children.set(row, (child = newNode(row)));
        child.total += value;
        node = child;
      }
      node.self += value;
    }
    return root;
  }

  answer(route: string, pattern: string): unknown {
    if (route === "flame") return this.flame();
    if (route === "top") return this.top();
    if (route === "tree") return this.tree();
    if (route === "peek") return this.peek(pattern);
    throw new Error("The page itself makes the flame graph, the table, the tree, and callers and callees. pitot serve makes the other reports.");
  }

  private share(value: number): number {
    return this.total === 0 ? 0 : value / this.total;
  }

  private head(report: string): Record<string, unknown> {
    const { type, unit } = this.event;
    return {
      schema: 1,
      report,
      profile: { name: this.title, event: type, unit, total: this.total },
      kept_total: this.total,
    };
  }

  private top(): unknown {
    const rows = this.rows
      .filter((row) => row.total !== 0)
      .sort((a, b) => Math.abs(b.self) - Math.abs(a.self) || Math.abs(b.total) - Math.abs(a.total))
      .map(({ frame, self, total }) => ({
        name: frame.name,
        file: frame.file,
        line: frame.line,
        self,
        self_share: this.share(self),
        total,
        total_share: this.share(total),
        inlined: false,
      }));
    const columns = [
      { key: "self", title: "self", kind: "value" },
      { key: "self_share", title: "self%", kind: "share" },
      { key: "total", title: "total", kind: "value" },
      { key: "total_share", title: "total%", kind: "share" },
      { key: "name", title: "function", kind: "name" },
      { key: "file", title: "where", kind: "file" },
    ];
    return { ...this.head("top"), columns, rows: rows.slice(0, 1000), more: Math.max(0, rows.length - 1000) };
  }

  /* Nodes of at least the share, each before its children. */
  private each(least: number, visit: (node: Node, depth: number, parent: number, kept: number) => void): number {
    const open: { node: Node; depth: number; parent: number }[] = [{ node: this.root, depth: 0, parent: 0 }];
    let [kept, left] = [0, 0];
    for (let at = open.pop(); at !== undefined; at = open.pop()) {
      const { node, depth, parent } = at;
      visit(node, depth, parent, kept);
      const id = kept++;
      const children = [...node.children.values()].sort(byTotal);
      for (const child of children.reverse()) {
        if (Math.abs(child.total) >= Math.abs(this.total) * least) open.push({ node: child, depth: depth + 1, parent: id });
        else left++;
      }
    }
    return left;
  }

  private tree(): unknown {
    const rows: unknown[] = [];
    const left = this.each(0.005, (node, depth) => {
      if (node.row < 0) return;
      const { name, file } = this.rows[node.row].frame;
      rows.push({ depth, name, file, inlined: false, self: node.self, self_share: this.share(node.self), total: node.total, total_share: this.share(node.total) });
    });
    return { ...this.head("tree"), rows, left_out: left };
  }

  private peek(pattern: string): unknown {
    const wanted = namedOr(pattern, this.rows.map((row) => row.frame.name));
    const found = this.rows.map((row, i) => ({ row, i })).filter(({ row }) => row.total !== 0 && wanted(row.frame.name));
    if (found.length === 0) throw new Error(`No function matches ${pattern}.`);
    found.sort((a, b) => Math.abs(b.row.total) - Math.abs(a.row.total));
    const shown = found.slice(0, 10);
    return { ...this.head("peek"), functions: shown.map(({ i }) => this.neighbours(i)), more: found.length - shown.length };
  }

  private neighbours(i: number): unknown {
    const { frame, self, total } = this.rows[i];
    const sums = [new Map<number, number>(), new Map<number, number>()];
    for (const { stack, values } of this.profile.samples) {
      const rows = stack.map((f) => this.rowOf[f]);
      const seen = [new Set<number>(), new Set<number>()];
      rows.forEach((row, at) => {
        if (row !== i) return;
        if (at > 0) seen[0].add(rows[at - 1]);
        if (at + 1 < rows.length) seen[1].add(rows[at + 1]);
      });
      seen.forEach((set, side) => set.forEach((row) => sums[side].set(row, (sums[side].get(row) || 0) + values[this.index])));
    }
    const [callers, callees] = sums.map((side) =>
      [...side]
        .map(([row, value]) => ({ name: this.rows[row].frame.name, value, share: total === 0 ? 0 : value / total, inlined: false }))
        .sort((a, b) => Math.abs(b.value) - Math.abs(a.value))
    );
    return {
      name: frame.name,
      self,
      self_share: this.share(self),
      total,
      total_share: this.share(total),
      callers: callers.slice(0, MOST_NEIGHBOURS),
      more_callers: Math.max(0, callers.length - MOST_NEIGHBOURS),
      callees: callees.slice(0, MOST_NEIGHBOURS),
      more_callees: Math.max(0, callees.length - MOST_NEIGHBOURS),
    };
  }

  private flame(): FlameData {
    const strings: string[] = [];
    const known = new Map<string, number>();
    const string = (text: string): number => {
      const found = known.get(text);
      if (found !== undefined) return found;
      known.set(text, strings.length);
      return strings.push(text) - 1;
    };
    const groups = { name: [] as number[], hue: [] as number[] };
    const groupOf = new Map<string, number>();
    const group = (frame: LocalFrame): number => {
      const name = baseName(frame.module) || baseName(frame.file) || "(unknown)";
      const found = groupOf.get(name);
      if (found !== undefined) return found;
      groupOf.set(name, groups.name.length);
      groups.hue.push(hashOf(name) % HUES);
      return groups.name.push(string(name)) - 1;
    };
    string("");
    const frames: FlameData["frames"] = { name: [], file: [], line: [], module: [], group: [], kind: [], shade: [] };
    const add = (frame: LocalFrame): number => {
      frames.file.push(string(frame.file));
      frames.line.push(frame.line);
      frames.module.push(string(frame.module));
      frames.group.push(group(frame));
      frames.kind.push(frame.nameless ? 3 : 0);
      frames.shade.push(hashOf(frame.name) % SHADES);
      return frames.name.push(string(frame.name)) - 1;
    };
    add({ name: "all", file: "", line: 0, module: "", inlined: false, nameless: false });
    const frameOf = new Map<number, number>();
    const nodes: FlameData["nodes"] = { parent: [], frame: [], self: [], total: [] };
    const left = this.each(LEAST_SHARE, (node, _depth, parent) => {
      let frame = node.row < 0 ? 0 : frameOf.get(node.row);
      if (frame === undefined) frameOf.set(node.row, (frame = add(this.rows[node.row].frame)));
      nodes.parent.push(parent);
      nodes.frame.push(frame);
      nodes.self.push(node.self);
      nodes.total.push(node.total);
    });
    const shown = nodes.self.reduce((sum, v) => sum + v, 0);
    const led = left > 0 ? [...this.rows].sort((a, b) => b.self - a.self).slice(0, 100) : [];
    return {
      schema: SCHEMA,
      title: this.title,
      event: this.event,
      total: this.total,
      whole: this.total,
      facts: [`${this.profile.samples.length} stacks`],
      groups,
      frames,
      nodes,
      cut: { nodes: left, total: this.total - shown },
      functions: {
        name: led.map((row) => string(row.frame.name)),
        self: led.map((row) => row.self),
        total: led.map((row) => row.total),
        more: Math.max(0, this.rows.length - led.length),
      },
      strings,
    };
  }
}

