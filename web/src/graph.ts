/* graph.ts: the flame graph on a canvas.
 *
 * The canvas is as large as what is seen of it, however deep the tree: it sticks to the scrolled frame and
 * a spacer gives the scroll bar its length. Row 0 is the root, at the top unless `inverted`: that is where
 * reading begins, and there it stays in sight however deep the stacks go. Only boxes of at least half a pixel are drawn; a click is found by its row, then by binary search.
 */

import { Kind, Tree } from "./data";
import { boxColour, changeColour, HUES, SHADES, TEXT, Variant, VARIANTS } from "./palette";
import { Ruler } from "./text";

export const ROW_PX = 20;
const LEAST_PX = 0.5;
const PADDING_PX = 5;
const CUT_PX = 4; /* height of the bar that stands for what is too narrow to draw */
const FONT = '12px system-ui, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif';

export interface Scene {
  zoom: number;
  selected: number; /* -1: none */
  hovered: number;
  matched: Uint8Array | null; /* by frame */
  inverted: boolean;
  dark: boolean;
}

interface Skin {
  fill: Record<Variant, string[]>; /* by hue * SHADES + shade */
  text: string;
  match: string;
  matchText: string;
  edge: string;
  back: string;
  mark: string;
  cut: string;
}

function skin(dark: boolean): Skin {
  const fill = {} as Record<Variant, string[]>;
  for (const variant of VARIANTS) {
    fill[variant] = Array.from({ length: HUES * SHADES }, (_, i) =>
      boxColour(dark, variant, Math.floor(i / SHADES), i % SHADES)
    );
  }
  return dark
    ? { fill, text: TEXT.dark, match: "#f2c94c", matchText: "#16181d", edge: "#ffffff", back: "#15171b", mark: "#aab4c4", cut: "#4b525e" }
    : { fill, text: TEXT.light, match: "#8f1d8a", matchText: "#ffffff", edge: "#0b3d91", back: "#ffffff", mark: "#4a5568", cut: "#c3c9d3" };
}

/* Adds up neighbours too narrow to be seen alone. */
class Run {
  private from = 0;
  private to = -1;

  constructor(private draw: (x: number, width: number) => void) {}

  add(x: number, width: number): void {
    if (x > this.to + LEAST_PX) {
      this.end();
      this.from = x;
    }
    this.to = x + width;
  }

  end(): void {
    if (this.to - this.from >= LEAST_PX) this.draw(this.from, this.to - this.from);
  }
}

export class Graph {
  private context: CanvasRenderingContext2D;
  private ruler: Ruler;
  private skins = { light: skin(false), dark: skin(true) };
  private width = 0;
  private height = 0;
  private rows = 1;
  private queued = false;

  constructor(
    public tree: Tree,
    private canvas: HTMLCanvasElement,
    private frame: HTMLElement,
    private spacer: HTMLElement,
    private scene: Scene
  ) {
    const context = canvas.getContext("2d");
    if (context === null) throw new Error("this browser has no canvas");
    this.context = context;
    context.font = FONT;
    this.ruler = new Ruler((text) => context.measureText(text).width);
    frame.addEventListener("scroll", () => this.redraw(), { passive: true });
    new ResizeObserver(() => this.redraw()).observe(frame);
  }

  redraw(): void {
    if (this.queued) return;
    this.queued = true;
    requestAnimationFrame(() => {
      this.queued = false;
      this.draw();
    });
  }

  /* To be called when the zoom or the direction changed. */
  relayout(): void {
    const end = this.scene.inverted ? this.frame.scrollHeight - this.frame.clientHeight - this.frame.scrollTop : 0;
    this.rows = this.tree.deepest(this.scene.zoom) + 1;
    this.spacer.style.height = `${this.rows * ROW_PX + CUT_PX + 1}px`;
    if (this.scene.inverted) this.frame.scrollTop = this.frame.scrollHeight - this.frame.clientHeight - end;
    this.redraw();
  }

  /* Puts the root's edge in sight. */
  scrollToRoot(): void {
    this.frame.scrollTop = this.scene.inverted ? this.frame.scrollHeight : 0;
  }

  /* The box at a point of the canvas, in CSS pixels, or -1. */
  at(x: number, y: number): number {
    const { tree, scene } = this;
    const row = this.rowAt(y);
    if (row < 0 || row >= this.rows || x < 0 || x >= this.width) return -1;
    if (row <= tree.depth[scene.zoom]) return tree.ancestor(scene.zoom, row);
    const node = tree.at(row, tree.start[scene.zoom] + x / this.scale());
    return node >= 0 && tree.isUnder(node, scene.zoom) && tree.total[node] * this.scale() >= LEAST_PX ? node : -1;
  }

  /* Where a box is on the canvas, in CSS pixels. */
  boxOf(node: number): { x: number; y: number; width: number } {
    const { tree, scene } = this;
    const y = this.rowTop(tree.depth[node]);
    if (!tree.isUnder(node, scene.zoom)) return { x: 0, y, width: this.width };
    const scale = this.scale();
    return { x: (tree.start[node] - tree.start[scene.zoom]) * scale, y, width: tree.total[node] * scale };
  }

  scrollTo(node: number): void {
    const { y } = this.boxOf(node);
    if (y < 0) this.frame.scrollTop += y - ROW_PX;
    else if (y + ROW_PX > this.frame.clientHeight) this.frame.scrollTop += y + 2 * ROW_PX - this.frame.clientHeight;
  }

  private scale(): number {
    const total = this.tree.total[this.scene.zoom];
    return total > 0 ? this.width / total : 0;
  }

  /* With the root below, a tree lower than its frame still stands on the frame's bottom. */
  private bottom(): number {
    return Math.max(this.rows * ROW_PX, this.frame.clientHeight);
  }

  private rowTop(row: number): number {
    const y = this.scene.inverted ? this.bottom() - (row + 1) * ROW_PX : row * ROW_PX;
    return y - this.frame.scrollTop;
  }

  private rowAt(y: number): number {
    const down = y + this.frame.scrollTop;
    return Math.floor((this.scene.inverted ? this.bottom() - down : down) / ROW_PX);
  }

  private fitCanvas(): void {
    const ratio = window.devicePixelRatio || 1;
    this.width = this.frame.clientWidth;
    this.height = this.frame.clientHeight;
    const wide = Math.round(this.width * ratio);
    const high = Math.round(this.height * ratio);
    if (this.canvas.width !== wide || this.canvas.height !== high) {
      this.canvas.width = wide;
      this.canvas.height = high;
      this.canvas.style.width = `${this.width}px`;
      this.canvas.style.height = `${this.height}px`;
    }
    this.context.setTransform(ratio, 0, 0, ratio, 0, 0);
    this.context.font = FONT;
    this.context.textBaseline = "middle";
  }

  private draw(): void {
    this.fitCanvas();
    const { tree, scene, context } = this;
    const colours = scene.dark ? this.skins.dark : this.skins.light;
    context.fillStyle = colours.back;
    context.fillRect(0, 0, this.width, this.height);

    const one = this.rowAt(0);
    const other = this.rowAt(this.height - 1);
    const first = Math.max(0, Math.min(one, other));
    const last = Math.min(this.rows - 1, Math.max(one, other));
    const zoomDepth = tree.depth[scene.zoom];
    const scale = this.scale();
    const left = tree.start[scene.zoom];
    for (let row = first; row <= last; row++) {
      const y = this.rowTop(row);
      if (row <= zoomDepth) {
        this.box(tree.ancestor(scene.zoom, row), 0, y, this.width, colours);
        continue;
      }
      const stop = tree.firstInRow(row, tree.end[scene.zoom]);
      const narrow = new Run((x, width) => this.lowBar(row, x, width, colours));
      for (let k = tree.firstInRow(row, scene.zoom); k < stop; k++) {
        const node = tree.rowNodes[k];
        const x = (tree.start[node] - left) * scale;
        const width = tree.total[node] * scale;
        if (width >= LEAST_PX) this.box(node, x, y, width, colours);
        else if (tree.total[tree.parent[node]] * scale >= LEAST_PX) narrow.add(x, width);
      }
      narrow.end();
    }
    for (let row = Math.max(first - 1, zoomDepth); row <= last; row++) this.drawCut(row, colours);
    for (const [node, width] of [[scene.hovered, 1], [scene.selected, 2]]) {
      if (node >= 0) this.outline(node, width, colours);
    }
  }

  /* A low bar at the side of the root stands for boxes too narrow to draw. */
  private lowBar(row: number, x: number, width: number, colours: Skin): void {
    const y = this.rowTop(row) + (this.scene.inverted ? ROW_PX - 1 - CUT_PX : 0);
    this.context.fillStyle = colours.cut;
    this.context.fillRect(x, y, width, CUT_PX);
  }

  /* The same beyond each box of a row that has branches which the page does not hold. */
  private drawCut(row: number, colours: Skin): void {
    const { tree, scene } = this;
    if (tree.ordered) return this.drawNarrow(row, colours);
    const scale = this.scale();
    const left = tree.start[scene.zoom];
    const stop = tree.firstInRow(row, tree.end[scene.zoom]);
    for (let k = tree.firstInRow(row, scene.zoom); k < stop; k++) {
      const node = tree.rowNodes[k];
      const width = tree.cut[node] * scale;
      if (width >= LEAST_PX) this.lowBar(row + 1, (tree.cutStart[node] - left) * scale, width, colours);
    }
  }

  /* In order of time they have places of their own. */
  private drawNarrow(row: number, colours: Skin): void {
    const { tree, scene } = this;
    const { parent, start, width } = tree.data.narrow!;
    const scale = this.scale();
    const left = tree.start[scene.zoom] + tree.data.nodes.start![0];
    const run = new Run((x, wide) => this.lowBar(row + 1, x, wide, colours));
    for (const i of tree.narrow[row]) {
      if (tree.isUnder(parent[i], scene.zoom)) run.add((start[i] - left) * scale, width[i] * scale);
    }
    run.end();
  }

  private box(node: number, x: number, y: number, width: number, colours: Skin): void {
    const { context, scene, tree } = this;
    const kind = tree.kind(node);
    const matched = scene.matched !== null && scene.matched[tree.frame[node]] === 1;
    const faint = (scene.matched !== null && !matched) || tree.depth[node] < tree.depth[scene.zoom];
    const inside = Math.max(width - (width > 3 ? 1 : 0.25), LEAST_PX);
    context.globalAlpha = faint ? 0.45 : 1;
    const variant = node === 0 ? "unresolved" : VARIANTS[kind] || "function";
    const colour =
      tree.sides !== null
        ? changeColour(scene.dark, node === 0 ? 0 : tree.change(node))
        : colours.fill[variant][tree.hue(node) * SHADES + tree.shade(node)];
    context.fillStyle = matched ? colours.match : colour;
    context.fillRect(x, y, inside, ROW_PX - 1);
    if (kind === Kind.Kernel && width > 8) {
      context.fillStyle = colours.mark;
      context.fillRect(x, y, 3, ROW_PX - 1);
    } else if (kind === Kind.Inlined && width > 8) {
      context.fillStyle = colours.mark;
      for (let dash = x; dash < x + inside; dash += 6) {
        context.fillRect(dash, y + ROW_PX - 2, Math.min(3, x + inside - dash), 1);
      }
    }
    if (width > 22) {
      context.globalAlpha = faint ? 0.75 : 1;
      context.fillStyle = matched && !faint ? colours.matchText : colours.text;
      const label = this.ruler.fit(tree.name(node), inside - 2 * PADDING_PX);
      if (label !== "") context.fillText(label, x + PADDING_PX, y + ROW_PX / 2);
    }
    context.globalAlpha = 1;
  }

  private outline(node: number, thickness: number, colours: Skin): void {
    const { x, y, width } = this.boxOf(node);
    this.context.strokeStyle = colours.edge;
    this.context.lineWidth = thickness;
    const half = thickness / 2;
    this.context.strokeRect(x + half, y + half, Math.max(width - 1 - thickness, 1), ROW_PX - 1 - thickness);
  }
}
