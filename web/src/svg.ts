/* svg.ts: what makes the flame graph of `pitot flame -o x.svg` move when a browser opens it.
 *
 * The picture is complete without this script. Each box is <g class="b ..."><title>, <rect>, <text></g>; the
 * first line of its title is the whole name. The script keeps each box's drawn place and moves the boxes for a
 * zoom. It adds its own controls, so that a viewer without scripts shows none that do nothing.
 */

import { compile } from "./search";
import { Ruler } from "./text";

const SVG = "http://www.w3.org/2000/svg";
const HTML = "http://www.w3.org/1999/xhtml";
const TEXT_PADDING = 4;
const NARROW_PX = 3;

interface Box {
  group: SVGGElement;
  rect: SVGRectElement;
  label: SVGTextElement | null;
  name: string;
  x: number;
  y: number;
  width: number;
}

class Picture {
  private root = document.documentElement as unknown as SVGSVGElement;
  private boxes: Box[] = [];
  private full = 0;
  private zoomed: Box;
  private focused = 0;
  private characterWidth = 0;
  private ruler: Ruler;
  private status: SVGTextElement;
  private input: HTMLInputElement;
  private found = "";

  constructor() {
    for (const group of Array.from(this.root.querySelectorAll<SVGGElement>("g.b"))) {
      const rect = group.querySelector("rect")!;
      const number = (attribute: string): number => Number(rect.getAttribute(attribute));
      this.boxes.push({
        group,
        rect,
        label: group.querySelector("text"),
        name: (group.querySelector("title")!.textContent || "").split("\n")[0],
        x: number("x"),
        y: number("y"),
        width: number("width"),
      });
    }
    this.zoomed = this.boxes[0];
    this.full = this.boxes[0].width;
    this.characterWidth = Number(this.root.dataset.characterWidth);
    this.ruler = new Ruler((c) => (c.codePointAt(0)! >= 0x1100 ? 2 : 1) * this.characterWidth);
    this.status = this.addStatus();
    this.input = this.addInput();
    this.boxes.forEach((box, i) => {
      box.group.setAttribute("tabindex", i === 0 ? "0" : "-1");
      box.group.addEventListener("click", () => this.zoom(box));
      box.group.addEventListener("focus", () => (this.focused = i));
    });
    document.addEventListener("keydown", (e) => this.key(e));
    this.root.dataset.ready = "1";
  }

  private addStatus(): SVGTextElement {
    const status = document.createElementNS(SVG, "text");
    status.setAttribute("class", "status");
    status.setAttribute("x", String(this.boxes[0].x + this.full));
    status.setAttribute("y", this.root.dataset.controlsY || "0");
    status.setAttribute("text-anchor", "end");
    status.setAttribute("role", "status");
    this.root.append(status);
    return status;
  }

  private addInput(): HTMLInputElement {
    const holder = document.createElementNS(SVG, "foreignObject");
    const top = Number(this.root.dataset.controlsY) - 16;
    for (const [name, value] of Object.entries({ x: this.boxes[0].x, y: top, width: 330, height: 26 })) {
      holder.setAttribute(name, String(value));
    }
    const input = document.createElementNS(HTML, "input") as HTMLInputElement;
    input.setAttribute("placeholder", "search ( / ), zoom: click or Enter, Esc: all");
    input.setAttribute("aria-label", "Search functions, /regular expression/");
    input.addEventListener("input", () => this.search(input.value));
    holder.append(input);
    this.root.append(holder);
    return input;
  }

  private inside(box: Box, top: Box): boolean {
    return box.y >= top.y && box.x >= top.x - 0.01 && box.x + box.width <= top.x + top.width + 0.01;
  }

  private zoom(top: Box): void {
    this.zoomed = top;
    const scale = this.full / top.width;
    const left = this.boxes[0].x;
    for (const box of this.boxes) {
      const under = this.inside(box, top);
      const above = !under && box.y < top.y && this.inside(top, box);
      box.group.style.display = under || above ? "" : "none";
      box.group.classList.toggle("above", above);
      const x = under ? left + (box.x - top.x) * scale : left;
      const width = under ? box.width * scale : this.full;
      if (under || above) this.place(box, x, width);
    }
    this.search(this.found);
  }

  private place(box: Box, x: number, width: number): void {
    box.rect.setAttribute("x", x.toFixed(2));
    box.rect.setAttribute("width", width.toFixed(2));
    box.rect.classList.toggle("n", width < NARROW_PX);
    const label = width > 3 * this.characterWidth ? this.ruler.fit(box.name, width - 2 * TEXT_PADDING) : "";
    if (box.label === null) {
      if (label === "") return;
      box.label = document.createElementNS(SVG, "text");
      box.label.setAttribute("y", String(box.y + Number(this.root.dataset.baseline)));
      box.group.append(box.label);
    }
    box.label.setAttribute("x", (x + TEXT_PADDING).toFixed(2));
    box.label.textContent = label;
  }

  /* "/x/" is a regular expression, anything else plain text. A match inside a match counts once: boxes come
   * in preorder, so a match left of the last counted one's right edge lies inside it. */
  private search(pattern: string): void {
    this.found = pattern;
    const regex = pattern.length > 2 && pattern.startsWith("/") && pattern.endsWith("/");
    const test = compile(regex ? pattern.slice(1, -1) : pattern, regex);
    let width = 0;
    let covered: Box | null = null;
    for (const box of this.boxes) {
      const match = pattern !== "" && typeof test !== "string" && test(box.name);
      box.group.classList.toggle("match", match);
      if (!match || !this.inside(box, this.zoomed) || (covered !== null && this.inside(box, covered))) continue;
      width += box.width;
      covered = box;
    }
    const share = ((100 * width) / this.zoomed.width).toFixed(1);
    this.status.textContent =
      pattern === "" ? "" : typeof test === "string" ? test : `${share}% of ${this.zoomed === this.boxes[0] ? "all" : "the zoom"}`;
    this.root.classList.toggle("searching", pattern !== "");
  }

  private key(e: KeyboardEvent): void {
    if (e.ctrlKey || e.metaKey || e.altKey) return;
    if (e.key === "Escape") {
      this.input.value = "";
      this.search("");
      this.zoom(this.boxes[0]);
      this.focus(0);
    } else if (e.target === this.input) {
      return;
    } else if (e.key === "/") this.input.focus();
    else if (e.key === "Enter") this.zoom(this.boxes[this.focused]);
    else if (e.key.startsWith("Arrow")) this.focus(this.step(e.key));
    else return;
    e.preventDefault();
  }

  private focus(index: number): void {
    this.boxes[this.focused].group.setAttribute("tabindex", "-1");
    this.focused = index;
    this.boxes[index].group.setAttribute("tabindex", "0");
    this.boxes[index].group.focus();
  }

  /* The nearest visible box one row further, one row back, or beside, in preorder. */
  private step(key: string): number {
    const at = this.boxes[this.focused];
    const forward = key === "ArrowDown" || key === "ArrowRight";
    for (let i = this.focused + (forward ? 1 : -1); i >= 0 && i < this.boxes.length; i += forward ? 1 : -1) {
      const box = this.boxes[i];
      if (box.group.style.display === "none") continue;
      if (key === "ArrowDown") return box.y > at.y ? i : this.focused;
      if (key === "ArrowUp" && box.y < at.y) return i;
      if (box.y === at.y && key !== "ArrowUp") return i;
    }
    return this.focused;
  }
}

new Picture();
