/* flame.ts: the flame graph with its search, tables and keys, in the markup of flame_part.html: one state, and what the
 * pointer, the keys and the address do to it. Who shows it keeps the state, learns what is chosen, and may have more
 * detail to give. */

import { FlameData, Kind, Tree, Width } from "./data";
import { byId, element } from "./dom";
import { Graph, Scene } from "./graph";
import { Place } from "./hash";
import { Levels } from "./levels";
import { NOTEWORTHY, Panel } from "./panel";
import { compile, escapeRegExp, search } from "./search";
import { amount, changed, grouped, percent } from "./units";
import { child, neighbour, nextMatch } from "./walk";

const KINDS: Record<number, string> = {
  [Kind.Inlined]: "inlined",
  [Kind.Kernel]: "kernel",
  [Kind.Unresolved]: "no name known",
};

/* Asks for as much of the whole as a page can have. */
const WHOLE = { width: "0" };

export interface Host {
  read(): Place;
  write(place: Place, step: boolean): void; /* step: Back leads to the state before */
  chosen(name: string, x: number, y: number): void; /* a box was clicked; "": none is */
  /* Fetches the boxes below a box, narrow ones included, or more boxes of the whole graph. question: options of `pitot flame`. */
  more?(question: Record<string, string>): Promise<FlameData>;
}

export class Flame {
  private levels: Levels;
  private tree: Tree; /* the drawn one of the levels' trees */
  private scene: Scene = { zoom: 0, selected: -1, hovered: -1, matched: null, inverted: false, dark: false };
  private find = "";
  private regex = false;
  private canvas = byId<HTMLCanvasElement>("canvas");
  private frame = byId("frame");
  private input = byId<HTMLInputElement>("find");
  private help = byId<HTMLDialogElement>("help");
  private tip = byId("tip");
  private graph: Graph;
  private panel: Panel;
  private width: Width = "both";
  private normalized = false;
  private wanted = ""; /* Tree.path of the box whose details are wanted */
  private isAsking = false;
  private final = new Set<string>(); /* Tree.path of boxes of which no more can be had */
  private systemDark = window.matchMedia("(prefers-color-scheme: dark)");

  /* signal: when it is aborted, nothing of the document is listened to any more. */
  constructor(private data: FlameData, private host: Host, private signal: AbortSignal) {
    this.levels = new Levels(data, { of: this.width, normalized: this.normalized });
    this.tree = this.levels.whole;
    this.graph = new Graph(this.tree, this.canvas, this.frame, byId("spacer"), this.scene);
    this.panel = new Panel(this.tree, (name) => this.setFind(`^${escapeRegExp(name)}$`, true));
    this.listen();
    this.applyTheme();
    this.showKind();
    this.restore();
    byId("empty").hidden = this.data.total > 0;
    this.graph.scrollToRoot();
    this.graph.scrollTo(this.scene.zoom);
  }

  /* Short texts about the whole. */
  facts(): string[] {
    const { event, total, base, whole, facts, cut } = this.data;
    const both = base === undefined ? amount(total, event.unit) : `${amount(base, event.unit)} → ${amount(total - base, event.unit)}`;
    const all = [`${event.type}: ${both}`, ...facts];
    if (cut.nodes > 0) {
      const what = cut.nodes === 1 ? "branch" : "branches";
      all.push(`${grouped(cut.nodes)} narrow ${what} left out (${percent(cut.total, whole)})`);
    }
    return all;
  }

  /* A difference has other colours, and widths to choose. */
  private showKind(): void {
    const difference = this.tree.sides !== null;
    for (const id of ["widths", "normalize", "changes"]) byId(id).hidden = !difference;
    byId("graph").toggleAttribute("data-difference", difference);
    byId("colours").textContent = difference ? "Colours: the change of a function’s own time" : "Colours, by self";
  }

  /* Zooms into the box at a path, or as far as the path leads. */
  private enter(path: string): void {
    const { scene } = this;
    const tree = this.levels.of(path);
    if (tree !== this.tree) {
      if (scene.selected >= 0) scene.selected = tree.nodeAt(this.tree.path(scene.selected));
      scene.hovered = -1;
      this.graph.tree = this.panel.tree = this.tree = tree;
    }
    scene.zoom = tree.nodeAt(path);
  }

  /* Other data of the same question: the zoom and the box that the keys are at stay. */
  renew(data: FlameData): void {
    const selected = this.scene.selected < 0 ? null : this.tree.path(this.scene.selected);
    this.data = data;
    this.levels = new Levels(data, { of: this.width, normalized: this.normalized });
    this.final.clear();
    this.restore();
    if (selected !== null) this.scene.selected = this.tree.nodeAt(selected);
    byId("empty").hidden = data.total > 0;
    this.refresh();
  }

  /* ---- what changes the state ---- */

  private place(): Place {
    const { find, regex, width, normalized } = this;
    return { zoom: this.tree.path(this.scene.zoom), find, regex, up: this.scene.inverted, width, normalized };
  }

  /* Shows what the host has kept. */
  restore(): void {
    const place = this.host.read();
    if (place.width !== this.width || place.normalized !== this.normalized) {
      this.width = place.width;
      this.normalized = place.normalized;
      this.levels.setWidths({ of: this.width, normalized: this.normalized });
    }
    this.scene.selected = -1;
    this.enter(place.zoom);
    this.fetchMore(place.zoom);
    this.scene.inverted = place.up;
    this.find = place.find;
    this.regex = place.regex;
    if (this.input.value !== place.find) this.input.value = place.find;
    this.refresh();
  }

  /* A zoom is a step that the browser's Back undoes; the rest only replaces the address. */
  private remember(step: boolean): void {
    this.host.write(this.place(), step);
  }

  /* Fetches what was left out below the zoom as too narrow for the whole graph; `wanted` may lead there. One fetch is
   * under way at a time: while the reader goes on, only the box where that ends is asked for. */
  private fetchMore(wanted: string): void {
    this.wanted = wanted;
    const { tree, levels } = this;
    const at = tree.nodeAt(wanted);
    const known = tree.path(at);
    if (this.host.more === undefined || this.isAsking || wanted === "") return;
    if (levels.has(known) || this.final.has(known) || tree.cutUnder(at) <= 0) return;
    this.isAsking = true;
    this.host
      .more(at > 0 ? tree.question(at) : WHOLE)
      .then(
        (more) => {
          if (levels !== this.levels || this.signal.aborted) return;
          if (at > 0) levels.add(tree, at, more);
          else levels.refine(more);
          if (at === 0) this.final.add(known);
          if (this.tree.path(this.scene.zoom) !== known) return;
          this.enter(this.wanted);
          this.refresh();
        },
        () => this.final.add(known) /* the graph stays as it is */
      )
      .then(() => {
        this.isAsking = false;
        if (!this.signal.aborted) this.fetchMore(this.wanted);
      });
  }

  private setZoom(node: number): void {
    const path = this.tree.path(node);
    this.enter(path);
    const { scene } = this;
    if (!this.tree.isUnder(scene.selected, scene.zoom)) scene.selected = scene.zoom;
    this.remember(true);
    this.refresh();
    this.graph.scrollTo(scene.zoom);
    this.fetchMore(path);
  }

  private setWidths(width: Width, normalized: boolean): void {
    this.width = width;
    this.normalized = normalized;
    this.levels.setWidths({ of: width, normalized });
    this.enter(this.tree.path(this.scene.zoom));
    this.remember(false);
    this.refresh();
  }

  private setFind(pattern: string, regex: boolean): void {
    this.find = pattern;
    this.regex = regex;
    if (this.input.value !== pattern) this.input.value = pattern;
    this.remember(false);
    this.showMatches();
    this.graph.redraw();
  }

  private select(node: number): void {
    this.scene.selected = node;
    this.graph.scrollTo(node);
    this.details(node);
    this.graph.redraw();
  }

  private invert(): void {
    this.scene.inverted = !this.scene.inverted;
    this.remember(false);
    this.refresh();
    this.graph.scrollToRoot();
  }

  private reset(): void {
    this.setFind("", this.regex);
    this.setZoom(0);
    this.scene.selected = -1;
    this.host.chosen("", 0, 0);
    this.details(-1);
    this.graph.scrollToRoot();
  }

  private toggleTheme(): void {
    document.documentElement.dataset.theme = this.scene.dark ? "light" : "dark";
    this.applyTheme();
    this.refresh();
  }

  private applyTheme(): void {
    const chosen = document.documentElement.dataset.theme;
    this.scene.dark = chosen ? chosen === "dark" : this.systemDark.matches;
    byId("theme").textContent = this.scene.dark ? "Light" : "Dark";
  }

  /* ---- what shows the state ---- */

  private refresh(): void {
    byId("flip").setAttribute("aria-pressed", String(this.scene.inverted));
    byId("normalize").setAttribute("aria-pressed", String(this.normalized));
    byId<HTMLSelectElement>("width").value = this.width;
    this.breadcrumbs();
    this.showMatches();
    this.panel.show(this.scene.zoom, this.scene.dark);
    this.details(this.scene.hovered >= 0 ? this.scene.hovered : this.scene.selected);
    this.graph.relayout();
  }

  private breadcrumbs(): void {
    const path: number[] = [];
    for (let node = this.scene.zoom; node > 0; node = this.tree.parent[node]) path.push(node);
    path.push(0);
    path.reverse();
    const shown = path.length > 7 ? [...path.slice(0, 2), -1, ...path.slice(-4)] : path;
    byId("crumbs").replaceChildren(
      ...shown.map((node) => {
        if (node < 0) return element("li", "", `… ${path.length - 6} …`);
        const button = element("button", "link", this.tree.name(node));
        button.title = this.tree.name(node);
        if (node === this.scene.zoom) button.setAttribute("aria-current", "true");
        button.addEventListener("click", () => this.setZoom(node));
        return element("li", "", button);
      })
    );
    byId<HTMLButtonElement>("reset").disabled = this.scene.zoom === 0 && this.find === "";
  }

  private showMatches(): void {
    const result = byId("matches");
    byId("regex").setAttribute("aria-pressed", String(this.regex));
    this.input.removeAttribute("aria-invalid");
    this.scene.matched = null;
    byId<HTMLButtonElement>("reset").disabled = this.scene.zoom === 0 && this.find === "";
    if (this.find === "") {
      result.textContent = "";
      return;
    }
    const test = compile(this.find, this.regex);
    if (typeof test === "string") {
      this.input.setAttribute("aria-invalid", "true");
      result.textContent = test;
      return;
    }
    const { zoom } = this.scene;
    const matches = search(this.tree, zoom, test);
    this.scene.matched = matches.frame;
    const whole = this.tree.whole(zoom);
    const of = zoom > 0 ? " of the zoom" : "";
    const least = matches.unknown > NOTEWORTHY * whole;
    result.title = least ? `${percent(matches.unknown, whole)} more lies in branches too narrow to draw` : "";
    result.textContent =
      matches.nodes === 0
        ? "no match"
        : `${least ? "≥ " : ""}${percent(matches.total, whole)}${of} in ${grouped(matches.nodes)} ${matches.nodes === 1 ? "box" : "boxes"}`;
  }

  private numbers(node: number): string[] {
    const { tree, data } = this;
    const { unit } = data.event;
    if (tree.sides !== null) {
      const { totalBefore, totalAfter, selfBefore, selfAfter } = tree.sides;
      const both = (what: string, before: number, after: number): string =>
        `${what} ${amount(before, unit)} → ${amount(after, unit)} (${changed(before, after, unit)})`;
      return [both("total", totalBefore[node], totalAfter[node]), both("self", selfBefore[node], selfAfter[node])];
    }
    const line = (what: string, value: number): string => {
      const zoomed = this.scene.zoom > 0 && tree.isUnder(node, this.scene.zoom);
      const ofZoom = zoomed ? `, ${percent(value, tree.total[this.scene.zoom])} of the zoom` : "";
      return `${what} ${amount(value, unit)} (${percent(value, data.whole)}${ofZoom})`;
    };
    const total = data.totals_known !== false || node === 0 ? line("total", tree.total[node]) : "total -";
    return [total, line("self", tree.self[node])];
  }

  private details(node: number): void {
    const bar = byId("details");
    if (node < 0) {
      bar.replaceChildren(element("span", "hint", "Point at a box, or use the arrow keys. ? shows all keys."));
      return;
    }
    const { tree } = this;
    const parts = [...this.numbers(node), tree.place(node), tree.module(node), KINDS[tree.kind(node)] || ""];
    bar.replaceChildren(
      element("strong", "", tree.name(node)),
      ...parts.filter((part) => part !== "").map((part) => element("span", "", part))
    );
  }

  private showTip(node: number, x: number, y: number): void {
    this.tip.hidden = node < 0;
    if (node < 0) return;
    const place = this.tree.place(node);
    const lines = [...this.numbers(node), ...(place !== "" ? [place] : [])];
    this.tip.replaceChildren(
      element("strong", "", this.tree.name(node)),
      ...lines.map((line) => element("div", "", line))
    );
    const { offsetWidth, offsetHeight } = this.tip;
    const left = Math.min(x + 14, window.innerWidth - offsetWidth - 6);
    const below = y + 18 + offsetHeight < window.innerHeight;
    this.tip.style.left = `${Math.max(6, left)}px`;
    this.tip.style.top = `${Math.max(6, below ? y + 18 : y - offsetHeight - 10)}px`;
  }

  /* ---- pointer and keys ---- */

  private listen(): void {
    this.canvas.addEventListener("pointermove", (e) => this.pointed(e));
    this.canvas.addEventListener("pointerleave", () => this.hover(-1, 0, 0));
    this.canvas.addEventListener("click", (e) => this.clicked(e));
    this.canvas.addEventListener("keydown", (e) => this.graphKey(e));
    document.addEventListener("keydown", (e) => this.pageKey(e), { signal: this.signal });
    this.input.addEventListener("input", () => this.setFind(this.input.value, this.regex));
    this.input.addEventListener("keydown", (e) => this.findKey(e));
    byId("regex").addEventListener("click", () => this.setFind(this.find, !this.regex));
    byId("reset").addEventListener("click", () => this.reset());
    byId("flip").addEventListener("click", () => this.invert());
    byId("normalize").addEventListener("click", () => this.setWidths(this.width, !this.normalized));
    const width = byId<HTMLSelectElement>("width");
    width.addEventListener("change", () => this.setWidths(width.value as Width, this.normalized));
    byId("theme").addEventListener("click", () => this.toggleTheme());
    byId("show-help").addEventListener("click", () => this.help.showModal());
    byId("close-help").addEventListener("click", () => this.help.close());
    const changed = (): void => {
      this.applyTheme();
      this.refresh();
    };
    this.systemDark.addEventListener("change", changed, { signal: this.signal });
  }

  private pointed(e: PointerEvent): void {
    if (e.pointerType !== "touch") this.hover(this.graph.at(e.offsetX, e.offsetY), e.clientX, e.clientY);
  }

  private hover(node: number, x: number, y: number): void {
    this.showTip(node, x, y);
    this.canvas.style.cursor = node >= 0 ? "pointer" : "default";
    if (node === this.scene.hovered) return;
    this.scene.hovered = node;
    this.details(node >= 0 ? node : this.scene.selected);
    this.graph.redraw();
  }

  private clicked(e: MouseEvent): void {
    const node = this.graph.at(e.offsetX, e.offsetY);
    if (node < 0) return;
    this.scene.selected = node;
    this.hover(-1, 0, 0);
    this.setZoom(node);
    this.host.chosen(node > 0 ? this.tree.name(node) : "", e.clientX, e.clientY);
  }

  /* Arrows follow the tree as it is drawn: away from the root is down, or up when the root is below. */
  private graphKey(e: KeyboardEvent): void {
    if (e.ctrlKey || e.metaKey || e.altKey) return;
    const { tree, scene } = this;
    const at = scene.selected >= 0 ? scene.selected : scene.zoom;
    const none = scene.selected < 0;
    const outward = scene.inverted ? "ArrowUp" : "ArrowDown";
    const inward = scene.inverted ? "ArrowDown" : "ArrowUp";
    if (e.key === outward) this.select(none ? at : child(tree, at));
    else if (e.key === inward) this.select(none ? at : Math.max(tree.parent[at], 0));
    else if (e.key === "ArrowLeft") this.select(neighbour(tree, at, -1, scene.zoom));
    else if (e.key === "ArrowRight") this.select(neighbour(tree, at, 1, scene.zoom));
    else if (e.key === "Home") this.select(scene.zoom);
    else if (e.key === "Enter" || e.key === " ") this.setZoom(at);
    else if (e.key === "Backspace") this.setZoom(Math.max(tree.parent[scene.zoom], 0));
    else return;
    e.preventDefault();
  }

  private pageKey(e: KeyboardEvent): void {
    if (e.ctrlKey || e.metaKey || e.altKey || e.target instanceof HTMLInputElement || e.target instanceof HTMLSelectElement || this.help.open) return;
    if (e.key === "/") this.input.focus();
    else if (e.key === "?") this.help.showModal();
    else if (e.key === "Escape") this.reset();
    else if (e.key === "n" || e.key === "N") this.toMatch(e.key === "n" ? 1 : -1);
    else if (e.key === "i") this.invert();
    else if (e.key === "t") this.toggleTheme();
    else return;
    e.preventDefault();
  }

  private findKey(e: KeyboardEvent): void {
    if (e.key === "Enter") {
      this.canvas.focus();
      this.toMatch(e.shiftKey ? -1 : 1);
    } else if (e.key === "Escape") {
      this.setFind("", this.regex);
      this.canvas.focus();
    } else {
      return;
    }
    e.preventDefault();
    e.stopPropagation();
  }

  private toMatch(step: number): void {
    const { matched, selected, zoom } = this.scene;
    if (matched === null) return;
    const node = nextMatch(this.tree, selected, step, zoom, matched);
    if (node >= 0) this.select(node);
  }
}
