/* panel.ts: the table of functions and the packages' colours beside the graph. */

import { Tree } from "./data";
import { byId, element } from "./dom";
import { FunctionRow, functionsCounted, functionsUnder, groupsUnder } from "./functions";
import { boxColour } from "./palette";
import { formWithin } from "./text";
import { grouped, percent, signed } from "./units";

const TABLE_ROWS = 25;
const GROUP_ROWS = 8;
const NAME_LENGTH = 36; /* characters that fit beside the numbers */

/* A smaller share that was cut away is not worth a word. */
export const NOTEWORTHY = 0.0005;

/* A line of the table, which stays when it shows another function. */
interface Line {
  root: HTMLElement;
  self: HTMLElement;
  total: HTMLElement;
  button: HTMLElement;
  name: string;
}

function put(to: HTMLElement, text: string): void {
  if (to.textContent !== text) to.textContent = text;
}

/* The first `count` of the items in order. */
function leaders<T>(items: T[], count: number, compare: (a: T, b: T) => number): T[] {
  const first: T[] = [];
  for (const item of items) {
    if (first.length === count && compare(item, first[count - 1]) >= 0) continue;
    let at = first.length;
    while (at > 0 && compare(item, first[at - 1]) < 0) at--;
    first.splice(at, 0, item);
    if (first.length > count) first.pop();
  }
  return first;
}

export class Panel {
  private lines: Line[] = [];
  private sort: "self" | "total" = "self";
  private rows: FunctionRow[] = [];
  private others = 0; /* functions that have no row */
  private whole = 0;

  constructor(public tree: Tree, private choose: (name: string) => void) {
    for (const column of ["self", "total"] as const) {
      byId(`by-${column}`).addEventListener("click", () => {
        this.sort = column;
        this.showTable();
      });
    }
  }

  show(zoom: number, dark: boolean): void {
    this.rows = functionsCounted(this.tree, zoom);
    this.others = this.rows.length > 0 ? this.tree.data.functions.more : 0;
    const exact = this.rows.length > 0;
    if (!exact) this.rows = functionsUnder(this.tree, zoom);
    this.whole = this.tree.whole(zoom);
    this.showTable();
    const cut = this.tree.cutUnder(zoom);
    const without = `without the ${percent(cut, this.whole)} in branches too narrow to draw`;
    byId("uncounted").textContent =
      cut <= NOTEWORTHY * this.whole
        ? ""
        : exact
        ? `The colours below are ${without}.`
        : `Counted ${without}; pitot top counts everything.`;
    const groups = groupsUnder(this.tree, zoom).slice(0, GROUP_ROWS);
    const difference = this.tree.sides !== null;
    byId("colours").hidden = groups.length === 0 && !difference;
    byId("groups").hidden = difference;
    byId("groups").replaceChildren(
      ...groups.map((group) => {
        const swatch = element("span", "swatch");
        swatch.style.backgroundColor = boxColour(dark, group.kernel ? "kernel" : "function", group.hue, 1);
        return element("li", "", swatch, element("span", "name", group.name), percent(group.self, this.whole));
      })
    );
  }

  private showTable(): void {
    const key = this.sort;
    const { sides, data } = this.tree;
    const size = sides === null ? (v: number): number => v : Math.abs; /* changes: the largest first */
    const shown = leaders(
      this.rows,
      TABLE_ROWS,
      (a, b) => size(b[key]) - size(a[key]) || size(b.total) - size(a.total) || (a.name < b.name ? -1 : 1)
    );
    const cell = (v: number): string => (sides === null ? percent(v, this.whole) : v === 0 ? "0" : signed(v, data.event.unit));
    byId("by-self").parentElement!.setAttribute("aria-sort", key === "self" ? "descending" : "none");
    byId("by-total").parentElement!.setAttribute("aria-sort", key === "total" ? "descending" : "none");
    while (this.lines.length > shown.length) this.lines.pop()!.root.remove();
    shown.forEach((row, i) => {
      const line = this.lines[i] || this.addLine();
      put(line.self, cell(row.self));
      put(line.total, data.totals_known === false ? "-" : cell(row.total));
      if (line.name === row.name) return;
      line.name = line.button.title = row.name;
      put(line.button, formWithin(row.name, NAME_LENGTH));
    });
    const more = Math.max(0, this.rows.length - TABLE_ROWS) + this.others;
    put(byId("more"), more > 0 ? `${grouped(more)} more` : "");
  }

  private addLine(): Line {
    const button = element("button", "link");
    const [self, total] = [element("td", "number"), element("td", "number")];
    const line: Line = { root: element("tr", "", self, total, element("td", "name", button)), self, total, button, name: "" };
    button.addEventListener("click", () => this.choose(line.name));
    byId("rows").append(line.root);
    this.lines.push(line);
    return line;
  }
}
