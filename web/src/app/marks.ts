/* marks.ts: what happened beside the samples, in the view Time: marks of a thread as bars and ticks, loads from the
 * network below each other, the sum of a counter, and the longest marks as a table, which the keyboard reaches. */

import { element } from "../dom";
import { amount, grouped } from "../units";
import { cell, note } from "./page";

export interface Mark {
  name: string;
  category: string;
  address: string; /* of what was loaded; "" = it is no load */
  pid: number | null;
  tid: number | null;
  comm: string;
  start_ns: number;
  length_ns: number;
  data: Record<string, string | number>;
}

export interface Counter {
  name: string;
  unit: string;
  pid: number | null;
  comm: string;
  least: number;
  most: number;
  last: number;
  values: number[];
}

export interface Range {
  from: number;
  to: number;
}

type Draw = (c: CanvasRenderingContext2D, style: CSSStyleDeclaration) => void;

/* The axis of the view Time, in seconds from the first sample, and the ranges that its tracks choose. */
export interface TimeAxis {
  canvas(label: string, height: number, draw: Draw): HTMLCanvasElement;
  shade(c: CanvasRenderingContext2D, style: CSSStyleDeclaration, height: number): void;
  listen(canvas: HTMLElement, clicked: (x: number, y: number) => Range | null): void;
  place(seconds: number): number;
  isChosen(range: Range): boolean;
  choose(range: Range): void;
  wide(): number;
}

const LANE_PX = 14;
const LANES = 6;
const LOADS = 24; /* rows of the waterfall */
const ROWS = 100; /* of the table */
const TICK_PX = 2;
const TEXT_PX = 30; /* narrower bars have no text */
const COUNTER_PX = 34;
const MOMENT_S = 0.001; /* the range that a moment chooses */
const DETAILS = 4;
const PICTURE = "picture";

const start = (m: Mark): number => m.start_ns / 1e9;
const end = (m: Mark): number => (m.start_ns + m.length_ns) / 1e9;
const rangeOf = (m: Mark): Range => ({ from: start(m), to: m.length_ns > 0 ? end(m) : start(m) + MOMENT_S });
const length = (m: Mark): string => (m.length_ns > 0 ? amount(m.length_ns, "ns") : "");

export function ownerOf(of: { pid: number | null; tid?: number | null; comm: string }): string {
  const number = of.tid !== null && of.tid !== undefined ? `thread ${of.tid}` : of.pid !== null ? `process ${of.pid}` : "";
  return [of.comm, number].filter((word) => word !== "").join(", ");
}

/* A picture of the screen; null: it has none. Only PNG and JPEG files are taken. */
function pictureOf(m: Mark): HTMLImageElement | null {
  const parts = /^data:(image\/(?:png|jpe?g));base64,([A-Za-z0-9+/]+=*)$/.exec(String(m.data[PICTURE] ?? ""));
  if (parts === null) return null;
  const bytes = Uint8Array.from(window.atob(parts[2]), (c) => c.charCodeAt(0));
  const image = element("img", "") as HTMLImageElement;
  image.src = URL.createObjectURL(new Blob([bytes], { type: parts[1].replace("jpg", "jpeg") }));
  image.alt = `The screen at ${start(m).toFixed(3)} s`;
  const release = (): void => URL.revokeObjectURL(image.src);
  image.addEventListener("load", release);
  image.addEventListener("error", release);
  return image;
}

/* Pictures of the screen in the order of time; a click chooses its time. Null: there are none. */
export function filmStrip(axis: TimeAxis, marks: Mark[]): HTMLElement | null {
  const frames: HTMLElement[] = [];
  for (const m of marks) {
    const image = pictureOf(m);
    if (image === null) continue;
    const button = element("button", "", image) as HTMLButtonElement;
    button.type = "button";
    button.title = image.alt;
    button.addEventListener("click", () => axis.choose(rangeOf(m)));
    frames.push(button);
  }
  if (frames.length === 0) return null;
  return element("section", "film", element("h2", "quiet", frames.length === 1 ? "Screen: 1 picture" : `Screen: ${grouped(frames.length)} pictures`), element("div", "", ...frames));
}

/* Name, length, category and address of a mark, as one line. */
function words(m: Mark): string {
  return [m.name, length(m), m.category, m.address].filter((word) => word !== "").join(", ");
}

/* Each mark in the first lane that is free; those that find none in the last one. */
function lanesOf(marks: Mark[], axis: TimeAxis): number[] {
  const until: number[] = [];
  return marks.map((m) => {
    const from = axis.place(start(m));
    const free = until.findIndex((x) => x <= from);
    const lane = free >= 0 ? free : Math.min(until.length, LANES - 1);
    until[lane] = Math.max(axis.place(end(m)), from + TICK_PX);
    return lane;
  });
}

function drawMark(c: CanvasRenderingContext2D, style: CSSStyleDeclaration, axis: TimeAxis, m: Mark, y: number): void {
  const from = axis.place(start(m));
  const width = Math.max(axis.place(end(m)) - from, TICK_PX);
  c.fillStyle = style.getPropertyValue(m.length_ns > 0 ? "--accent" : "--text");
  c.fillRect(from, y + 1, width, LANE_PX - 2);
  if (width < TEXT_PX) return;
  c.save();
  c.beginPath();
  c.rect(from, y, width - 3, LANE_PX);
  c.clip();
  c.fillStyle = style.getPropertyValue("--back");
  c.fillText(m.name, from + 3, y + LANE_PX - 4);
  c.restore();
}

/* A canvas whose marks are found by place: the title says what is under the mouse, a click chooses its time. */
function markCanvas(axis: TimeAxis, label: string, height: number, draw: Draw, at: (x: number, y: number) => Mark | null): HTMLCanvasElement {
  const canvas = axis.canvas(label, height, (c, style) => {
    c.fillStyle = style.getPropertyValue("--panel");
    c.fillRect(0, 0, axis.wide(), height);
    c.font = "11px sans-serif";
    draw(c, style);
    axis.shade(c, style, height);
  });
  canvas.addEventListener("pointermove", (e) => {
    const under = at(e.offsetX, e.offsetY);
    canvas.title = under === null ? "" : words(under);
  });
  axis.listen(canvas, (x, y) => {
    const under = at(x, y);
    return under === null ? null : rangeOf(under);
  });
  return canvas;
}

function covers(axis: TimeAxis, m: Mark, x: number): boolean {
  const from = axis.place(start(m));
  return x >= from - 1 && x <= Math.max(axis.place(end(m)), from + TICK_PX) + 1;
}

/* The marks of one thread, longer ones that overlap below each other. */
export function markRow(axis: TimeAxis, marks: Mark[]): HTMLElement {
  let lanes = lanesOf(marks, axis);
  const height = LANE_PX * (Math.max(...lanes) + 1);
  const title = `Marks of ${ownerOf(marks[0]) || "no thread"}: ${grouped(marks.length)}`;
  const canvas = markCanvas(
    axis,
    title,
    height,
    (c, style) => {
      lanes = lanesOf(marks, axis).map((lane) => Math.min(lane, height / LANE_PX - 1));
      marks.forEach((m, i) => drawMark(c, style, axis, m, lanes[i] * LANE_PX));
    },
    (x, y) => {
      for (let i = marks.length - 1; i >= 0; i--) if (Math.floor(y / LANE_PX) === lanes[i] && covers(axis, marks[i], x)) return marks[i];
      return null;
    }
  );
  return element("section", "", element("h2", "quiet", title), canvas);
}

/* Loads below each other, as they began, each with its address. */
export function waterfall(axis: TimeAxis, marks: Mark[]): HTMLElement {
  const loads = marks.filter((m) => m.address !== "");
  const longest = [...loads].sort((a, b) => b.length_ns - a.length_ns).slice(0, LOADS);
  const shown = loads.filter((m) => longest.includes(m));
  const more = loads.length > shown.length ? `, the longest ${shown.length}` : "";
  const title = `Network: ${grouped(loads.length)} loads${more}`;
  const canvas = markCanvas(
    axis,
    title,
    LANE_PX * shown.length,
    (c, style) =>
      shown.forEach((m, i) => {
        const from = axis.place(start(m));
        const to = Math.max(axis.place(end(m)), from + TICK_PX);
        c.fillStyle = style.getPropertyValue("--accent");
        c.fillRect(from, i * LANE_PX + 2, to - from, LANE_PX - 4);
        c.fillStyle = style.getPropertyValue("--text");
        const isRight = to < axis.wide() / 2;
        c.textAlign = isRight ? "left" : "right";
        c.fillText(m.address, isRight ? to + 4 : from - 4, (i + 1) * LANE_PX - 4, axis.wide() / 2);
        c.textAlign = "left";
      }),
    (_x, y) => shown[Math.floor(y / LANE_PX)] || null
  );
  return element("section", "network", element("h2", "quiet", title), canvas);
}

/* The sum of a counter. */
export function counterTrack(axis: TimeAxis, counter: Counter): HTMLElement {
  const owner = ownerOf(counter);
  const size = (value: number): string => amount(value, counter.unit);
  const title = `${counter.name}${owner === "" ? "" : ` of ${owner}`}: ${size(counter.last)} at the end, at most ${size(counter.most)}`;
  const least = Math.min(0, counter.least);
  const span = Math.max(1, Math.max(0, counter.most) - least);
  const canvas = axis.canvas(`${title}, over time`, COUNTER_PX, (c, style) => {
    const wide = axis.wide() / counter.values.length;
    const height = (value: number): number => ((COUNTER_PX - 2) * (value - least)) / span;
    c.fillStyle = style.getPropertyValue("--panel");
    c.fillRect(0, 0, axis.wide(), COUNTER_PX);
    c.fillStyle = style.getPropertyValue("--accent");
    counter.values.forEach((value, i) => {
      c.globalAlpha = 0.4;
      c.fillRect(i * wide, COUNTER_PX - height(value), wide + 0.5, height(value));
      c.globalAlpha = 1;
      c.fillRect(i * wide, COUNTER_PX - height(value) - 1, wide + 0.5, 1.5);
    });
    axis.shade(c, style, COUNTER_PX);
  });
  axis.listen(canvas, () => null);
  return element("section", "counter", element("h2", "quiet", title), canvas);
}

/* All that is known of the marks whose time is chosen. */
export function chosenMarks(axis: TimeAxis, marks: Mark[]): HTMLElement[] {
  const chosen = marks.filter((m) => axis.isChosen(rangeOf(m))).slice(0, DETAILS);
  return chosen.map((m) => {
    const list = element("dl", "");
    const put = (key: string, value: string): void => {
      if (value !== "") list.append(element("dt", "", key), element("dd", "", value));
    };
    put("from", `${start(m).toFixed(6)} s${m.length_ns > 0 ? `, for ${length(m)}` : ""}`);
    put("of", ownerOf(m));
    put("category", m.category);
    for (const [key, value] of Object.entries(m.data)) if (key !== PICTURE) put(key, String(value));
    return element("section", "mark about", element("h2", "", m.name), list, pictureOf(m) ?? "");
  });
}

/* The longest marks; a click on a name chooses its time. */
export function markTable(axis: TimeAxis, marks: Mark[], more: number): HTMLElement {
  const longest = [...marks].sort((a, b) => b.length_ns - a.length_ns).slice(0, ROWS);
  const body = element("tbody", "");
  for (const m of longest) {
    const button = element("button", "name", m.name) as HTMLButtonElement;
    button.type = "button";
    button.addEventListener("click", () => axis.choose(rangeOf(m)));
    const details = m.address !== "" ? m.address : Object.entries(m.data).filter(([key]) => key !== PICTURE).map(([key, value]) => `${key} ${value}`).join(", ");
    body.append(
      element("tr", "", cell("", start(m).toFixed(6)), cell("", length(m)), cell("text name", button), cell("text", m.category), cell("text", ownerOf(m)), cell("text place", details.slice(0, 200)))
    );
  }
  const head = element("tr", "");
  for (const title of ["Start, s", "Length", "Mark", "Category", "Of", "Details"]) {
    const th = element("th", /^[MCOD]/.test(title) ? "text" : "", title);
    th.setAttribute("scope", "col");
    head.append(th);
  }
  const rest = marks.length - longest.length + more;
  const table = element("table", "", element("caption", "", "The longest marks"), element("thead", "", head), body);
  const all = element("details", "", element("summary", "", `Marks: ${grouped(marks.length + more)}`), table);
  if (rest > 0) all.append(note(`${grouped(rest)} shorter marks`));
  return all;
}
