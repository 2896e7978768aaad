/* time.ts: the event over time: tracks of processes, threads and cpus, and the seconds above each other, in which one
 * that differs is seen. A range that is chosen holds for all views; it is seconds from the first sample. */

import { element } from "../dom";
import { amount, grouped } from "../units";
import { chosenMarks, Counter, counterTrack, filmStrip, Mark, markRow, markTable, Range, TimeAxis, waterfall } from "./marks";
import { note, Page, Report } from "./page";
import { VIEWS } from "./state";

interface Track {
  kind: string;
  pid: number | null;
  tid: number | null;
  cpu: number | null;
  comm: string;
  total: number;
  values: number[];
}

interface TimeReport extends Report {
  first_ns: number;
  span_ns: number;
  step_ns: number;
  tracks: Track[];
  more: number;
  untimed: number;
  seconds: number;
  offsets: number;
  heat: number[];
  marks: Mark[];
  counters: Counter[];
  more_marks: number;
  more_counters: number;
}

const STEPS = "600";
const TRACKS = "24";
const MARKS = "3000";
const TRACK_PX = 34;
const HEAT_CELL_PX = 5;
const ALIKE = 0.9; /* lengths of ranges whose values can be compared as they are, as pitot diff has it */
const LEAST_PX = 3; /* a shorter drag is a click */

class TimeView implements TimeAxis {
  private width = 600;
  private range: Range | null;
  private base: Range | null;
  private drawings: (() => void)[] = [];
  private origin: number; /* added to seconds where the source's clock begins near 0 */
  private span: number;
  readonly root: HTMLElement;

  constructor(private page: Page, private report: TimeReport) {
    this.span = report.span_ns / 1e9;
    this.origin = report.first_ns < report.span_ns ? report.first_ns / 1e9 : 0;
    this.range = this.readRange("time");
    this.base = this.readRange("base-time");
    this.root = element("div", "scroll times", this.controls(), ...this.comparison());
    if (report.seconds > 1) this.root.append(this.heatMap());
    this.root.append(...chosenMarks(this, report.marks));
    this.addTracks();
    if (report.more > 0) this.root.append(note(`${grouped(report.more)} more tracks`));
    if (report.untimed > 0) this.root.append(note(`${grouped(report.untimed)} samples have no time`));
    new ResizeObserver(() => this.draw()).observe(this.root);
  }

  /* Counters follow what is of the whole; marks the thread that they are of. */
  private addTracks(): void {
    const { tracks, marks, counters, more_marks, more_counters } = this.report;
    const ofThread = new Map<string, Mark[]>();
    for (const m of marks) {
      const key = `${m.pid} ${m.tid}`;
      const known = ofThread.get(key);
      if (known === undefined) ofThread.set(key, [m]);
      else known.push(m);
    }
    for (const track of tracks) {
      const key = `${track.pid} ${track.tid}`;
      const own = track.kind === "thread" ? ofThread.get(key) : undefined;
      this.root.append(this.track(track));
      if (own !== undefined) this.root.append(markRow(this, own));
      if (own !== undefined) ofThread.delete(key);
      if (track.kind === "all") this.root.append(...counters.map((counter) => counterTrack(this, counter)));
      if (track.kind === "all") this.root.append(filmStrip(this, marks) ?? "");
      if (track.kind === "all" && marks.some((m) => m.address !== "")) this.root.append(waterfall(this, marks));
    }
    for (const rest of ofThread.values()) this.root.append(markRow(this, rest));
    if (more_counters > 0) this.root.append(note(`${grouped(more_counters)} more counters`));
    if (marks.length > 0) this.root.append(markTable(this, marks, more_marks));
  }

  /* ---- The axis, for marks.ts ---- */

  wide(): number {
    return this.width;
  }

  place(seconds: number): number {
    return (this.width * seconds) / this.drawn();
  }

  isChosen(range: Range): boolean {
    return this.range !== null && this.textOf(this.range) === this.textOf(range);
  }

  choose(range: Range): void {
    this.show(range, this.base);
  }

  /* ---- The ranges ---- */

  private readRange(parameter: string): Range | null {
    const found = /^([\d.]+),([\d.]+)$/.exec(this.page.state.get(parameter));
    return found ? { from: Number(found[1]) - this.origin, to: Number(found[2]) - this.origin } : null;
  }

  private textOf(range: Range | null): string {
    const text = (t: number): string => (this.origin + Math.max(0, Math.min(this.span, t))).toFixed(6).replace(/\.?0+$/, "");
    return range === null ? "" : `${text(range.from)},${text(range.to)}`;
  }

  /* Ranges of different length are compared by shares. */
  private show(range: Range | null, base: Range | null): void {
    const length = (r: Range | null): number => (r === null ? this.span : Math.min(this.span, r.to) - r.from);
    const [a, b] = [length(range), length(base)];
    const differ = Math.min(a, b) < ALIKE * Math.max(a, b);
    this.page.go(this.page.state.asking({ time: this.textOf(range), "base-time": this.textOf(base), norm: base !== null && differ ? "1" : "" }));
  }

  private field(label: string, value: number | undefined): [HTMLElement, HTMLInputElement] {
    const input = element("input", "") as HTMLInputElement;
    input.type = "number";
    input.step = "any";
    input.min = "0";
    input.placeholder = label === "to" ? "end" : "0";
    input.value = value === undefined ? "" : String(Number(value.toFixed(6)));
    return [element("label", "", label, input), input];
  }

  private button(text: string, title: string, act: () => void): HTMLButtonElement {
    const button = element("button", "", text) as HTMLButtonElement;
    button.type = "button";
    button.title = title;
    button.addEventListener("click", act);
    return button;
  }

  private controls(): HTMLElement {
    const [fromLabel, from] = this.field("From", this.range?.from);
    const [toLabel, to] = this.field("to", this.range?.to);
    const form = element("form", "tools") as HTMLFormElement;
    const typed = (): Range => ({ from: Number(from.value || 0), to: to.value === "" ? this.span : Number(to.value) });
    form.addEventListener("submit", (e) => {
      e.preventDefault();
      this.show(typed(), this.base);
    });
    form.append(fromLabel, toLabel, element("button", "", "Only this range"), this.button("All", "The whole time", () => this.show(null, this.base)));
    if (this.page.comparesRanges)
      form.append(this.button("As base", "Compare other ranges with this range; dragging with Shift marks it, too", () => this.show(null, typed())));
    const second = this.page.comparesRanges ? ", with Shift for the base" : "";
    form.append(element("span", "quiet", `seconds from the first sample, of ${this.span.toFixed(2)}; drag over a track or the map${second}`));
    return form;
  }

  /* What is compared, and where that is shown. */
  private comparison(): HTMLElement[] {
    if (this.base === null) return [];
    const words = (r: Range | null): string => (r === null ? "the whole time" : `${r.from.toFixed(3)} to ${r.to.toFixed(3)} s`);
    const to = (name: string): (() => void) => () => this.page.go(this.page.state.to(VIEWS.find((v) => v.name === name) || VIEWS[0]));
    return [
      element(
        "div",
        "tools",
        element("strong", "", `${words(this.range)}, compared with ${words(this.base)}`),
        this.button("Changes", "The table of the difference", to("diff")),
        this.button("Flame graph", "The difference, red and green", to("flamegraph")),
        this.button("No base", "Compare nothing", () => this.show(this.range, null))
      ),
    ];
  }

  /* ---- Drawing ---- */

  canvas(label: string, height: number, draw: (c: CanvasRenderingContext2D, style: CSSStyleDeclaration) => void): HTMLCanvasElement {
    const canvas = element("canvas", "") as HTMLCanvasElement;
    canvas.setAttribute("role", "img");
    canvas.setAttribute("aria-label", label);
    this.drawings.push(() => {
      const ratio = window.devicePixelRatio || 1;
      canvas.style.width = `${this.width}px`;
      canvas.style.height = `${height}px`;
      canvas.width = Math.round(this.width * ratio);
      canvas.height = Math.round(height * ratio);
      const context = canvas.getContext("2d");
      if (context === null) return;
      context.setTransform(ratio, 0, 0, ratio, 0, 0);
      draw(context, getComputedStyle(document.documentElement));
    });
    return canvas;
  }

  private draw(): void {
    const width = Math.max(200, this.root.clientWidth - 28);
    if (width === this.width && this.drawings.length === 0) return;
    this.width = width;
    for (const draw of this.drawings) draw();
  }

  private title(track: Track): string {
    const number = { process: track.pid, thread: track.tid, cpu: track.cpu }[track.kind];
    const of = track.kind === "thread" && track.pid !== null ? ` of ${track.pid}` : "";
    const name = number === undefined ? "All" : `${track.kind} ${number}${of}`;
    return `${name}${track.comm === "" ? "" : ` ${track.comm}`}: ${amount(track.total, this.report.profile.unit)}`;
  }

  private track(track: Track): HTMLElement {
    const title = this.title(track);
    const most = Math.max(1, ...track.values);
    const canvas = this.canvas(`${title}, over time`, TRACK_PX, (c, style) => {
      const wide = this.width / track.values.length;
      c.fillStyle = style.getPropertyValue("--panel");
      c.fillRect(0, 0, this.width, TRACK_PX);
      c.fillStyle = style.getPropertyValue("--accent");
      track.values.forEach((v, i) => {
        const height = (TRACK_PX - 2) * (v / most);
        if (v > 0) c.fillRect(i * wide, TRACK_PX - height, Math.max(wide, 1), height);
      });
      this.shade(c, style, TRACK_PX);
    });
    this.listen(canvas, () => null);
    return element("section", "", element("h2", "quiet", title, this.onlyButton(track)), canvas);
  }

  /* The samples of one process, thread or cpu, in all views; the condition above takes it back. */
  private onlyButton(track: Track): HTMLElement | string {
    const label = { process: "pid", thread: "tid", cpu: "cpu" }[track.kind];
    const number = { process: track.pid, thread: track.tid, cpu: track.cpu }[track.kind];
    const condition = `${label}=${number}`;
    if (!this.page.filters || label === undefined || number === null || this.page.state.get("tf") === condition) return "";
    const button = this.button("Only", `Only samples of ${track.kind} ${number}`, () => this.page.go(this.page.state.asking({ tf: condition })));
    button.className = "label";
    button.setAttribute("aria-label", `Only ${track.kind} ${number}`);
    return button;
  }

  /* What is in no range is veiled; the base is green. */
  shade(c: CanvasRenderingContext2D, style: CSSStyleDeclaration, height: number): void {
    const ends = (r: Range): number[] => [r.from, r.to].map((t) => (this.width * t) / this.drawn());
    const [from, to] = this.range === null ? [0, this.width] : ends(this.range);
    const [baseFrom, baseTo] = this.base === null ? [0, 0] : ends(this.base);
    const edges = [0, from, Math.max(to, from + 1), baseFrom, baseTo, this.width].sort((a, b) => a - b);
    c.globalAlpha = 0.72;
    c.fillStyle = style.getPropertyValue("--back");
    edges.slice(1).forEach((end, i) => {
      const middle = (edges[i] + end) / 2;
      const isShown = (middle > from && middle < to) || (middle > baseFrom && middle < baseTo);
      if (!isShown) c.fillRect(edges[i], 0, end - edges[i], height);
    });
    if (this.base !== null) {
      c.globalAlpha = 0.35;
      c.fillStyle = style.getPropertyValue("--less");
      c.fillRect(baseFrom, 0, Math.max(baseTo - baseFrom, 1), height);
      c.globalAlpha = 1;
      c.strokeStyle = style.getPropertyValue("--text");
      c.setLineDash([4, 3]);
      c.strokeRect(baseFrom + 0.5, 0.5, Math.max(baseTo - baseFrom - 1, 1), height - 1);
      c.setLineDash([]);
    }
    c.globalAlpha = 1;
  }

  /* The seconds that all steps together cover. */
  private drawn(): number {
    return (this.report.tracks[0].values.length * this.report.step_ns) / 1e9;
  }

  private at(x: number): number {
    return (this.drawn() * x) / this.width;
  }

  private heatMap(): HTMLElement {
    const { seconds, offsets, heat } = this.report;
    const height = offsets * HEAT_CELL_PX;
    const most = Math.max(1, ...heat);
    const wide = (): number => Math.min(24, this.width / seconds);
    const canvas = this.canvas(`Each second from left to right, its parts of ${1000 / offsets} ms from top to bottom`, height, (c, style) => {
      c.fillStyle = style.getPropertyValue("--panel");
      c.fillRect(0, 0, wide() * seconds, height);
      c.fillStyle = style.getPropertyValue("--bad");
      heat.forEach((v, i) => {
        if (v === 0) return;
        c.globalAlpha = 0.08 + 0.92 * (v / most);
        c.fillRect(Math.floor(i / offsets) * wide(), (i % offsets) * HEAT_CELL_PX, Math.max(wide() - 1, 1), HEAT_CELL_PX - 1);
      });
      c.globalAlpha = 1;
      c.strokeStyle = style.getPropertyValue("--text");
      c.lineWidth = 2;
      for (const range of [this.range, this.base]) {
        if (range === null) continue;
        c.setLineDash(range === this.base ? [4, 3] : []);
        const cell = Math.floor(range.from * offsets + 1e-6);
        const cells = Math.max(1, Math.round((range.to - range.from) * offsets));
        c.strokeRect(Math.floor(cell / offsets) * wide(), (cell % offsets) * HEAT_CELL_PX, wide(), Math.min(cells, offsets) * HEAT_CELL_PX);
      }
      c.setLineDash([]);
    });
    const cellAt = (x: number, y: number): number => {
      const second = Math.max(0, Math.min(seconds - 1, Math.floor(x / wide())));
      return second * offsets + Math.max(0, Math.min(offsets - 1, Math.floor(y / HEAT_CELL_PX)));
    };
    const cells = (x0: number, y0: number, x1: number, y1: number): Range => {
      const [a, b] = [cellAt(x0, y0), cellAt(x1, y1)];
      return { from: Math.min(a, b) / offsets, to: (Math.max(a, b) + 1) / offsets };
    };
    this.listen(canvas, (x, y) => cells(x, y, x, y), cells);
    return element("section", "", element("h2", "quiet", `Seconds from left to right, ${1000 / offsets} ms a cell`), canvas);
  }

  /* A drag chooses a range; so does a click where `clicked` knows one. */
  listen(
    canvas: HTMLElement,
    clicked: (x: number, y: number) => Range | null,
    range = (x0: number, _y0: number, x1: number, _y1: number): Range => ({ from: this.at(Math.min(x0, x1)), to: this.at(Math.max(x0, x1)) })
  ): void {
    let from: { x: number; y: number } | null = null;
    canvas.addEventListener("pointerdown", (e) => {
      from = { x: e.offsetX, y: e.offsetY };
      canvas.setPointerCapture(e.pointerId);
    });
    canvas.addEventListener("pointerup", (e) => {
      if (from === null) return;
      const dragged = Math.hypot(e.offsetX - from.x, e.offsetY - from.y) >= LEAST_PX;
      const chosen = dragged ? range(from.x, from.y, e.offsetX, e.offsetY) : clicked(e.offsetX, e.offsetY);
      const isBase = e.shiftKey && this.page.comparesRanges;
      if (chosen !== null) this.show(isBase ? this.range : chosen, isBase ? chosen : this.base);
      from = null;
    });
  }
}

export async function timeView(page: Page): Promise<Node[]> {
  const report = await page.ask<TimeReport>("timeline", { steps: STEPS, tracks: TRACKS, marks: MARKS, time: "", "base-time": "" });
  return [new TimeView(page, report).root];
}
