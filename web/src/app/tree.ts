/* tree.ts: the call tree, which opens and closes; inverted: what runs, with its callers below. */

import { element } from "../dom";
import { grouped } from "../units";
import { cell, nameOf, note, Page, Report, tableOf, valueCells } from "./page";

interface Node {
  depth: number;
  name: string;
  file: string;
  inlined: boolean;
  self: number;
  self_share: number;
  total: number | null;
  total_share: number | null;
  folded?: number;
  calls?: number | null;
}

interface TreeReport extends Report {
  rows: Node[];
  left_out: number;
}

const OPEN_SHARE = 0.1; /* heavier nodes are open at first */
const MOST_ROWS = 3000; /* drawn at once */

class TreeTable {
  private body: HTMLElement;
  private toggled: Set<number>; /* rows that are not as at first */
  private end: number[] = [];
  readonly root: HTMLElement;

  constructor(private page: Page, private report: TreeReport) {
    this.toggled = new Set(page.state.get("folds").split(",").filter((t) => /^\d+$/.test(t)).map(Number));
    this.findEnds();
    const table = tableOf("Call tree", ["Total", "Total%", "Self", "Self%", "<Function"], []);
    this.body = table.querySelector("tbody") as HTMLElement;
    this.root = element("div", "scroll", table);
    this.show();
  }

  private findEnds(): void {
    const { rows } = this.report;
    const open: number[] = [];
    rows.forEach((row, i) => {
      while (open.length > 0 && rows[open[open.length - 1]].depth >= row.depth) this.end[open.pop() as number] = i;
      open.push(i);
    });
    for (const i of open) this.end[i] = rows.length;
  }

  private isOpen(i: number): boolean {
    const row = this.report.rows[i];
    const first = row.depth < 2 || Math.abs(row.total_share ?? row.self_share) >= OPEN_SHARE;
    return first !== this.toggled.has(i);
  }

  private show(): void {
    const made: HTMLElement[] = [];
    for (let i = 0; i < this.report.rows.length && made.length < MOST_ROWS; ) {
      made.push(this.row(i));
      i = this.isOpen(i) ? i + 1 : this.end[i];
    }
    this.body.replaceChildren(...made);
  }

  private toggle(i: number): void {
    if (!this.toggled.delete(i)) this.toggled.add(i);
    this.page.keep({ folds: [...this.toggled].sort((a, b) => a - b).join(",") });
    this.show();
    (this.body.querySelector(`button[data-row="${i}"]`) as HTMLElement | null)?.focus();
  }

  private row(i: number): HTMLElement {
    const row = this.report.rows[i];
    const { unit } = this.report.profile;
    const leaf = this.end[i] === i + 1;
    const open = this.isOpen(i);
    const button = element("button", "fold", leaf ? "" : open ? "▾" : "▸");
    if (leaf) {
      button.setAttribute("hidden", "");
    } else {
      button.dataset.row = String(i);
      button.setAttribute("aria-expanded", String(open));
      button.setAttribute("aria-label", `${open ? "Close" : "Open"} ${row.name}`);
      button.addEventListener("click", () => this.toggle(i));
    }
    const what = row.folded ? element("span", "quiet", `${grouped(row.folded)} lighter ones`) : nameOf(this.page, row.name, row.inlined);
    const name = cell("text name", button, what);
    name.style.setProperty("--depth", String(Math.min(row.depth - 1, 40)));
    return element(
      "tr",
      leaf ? "leaf" : "",
      ...valueCells(row.total, row.total_share, unit),
      ...valueCells(row.self, row.self_share, unit),
      name
    );
  }
}

export async function treeView(page: Page): Promise<HTMLElement[]> {
  const report = await page.ask<TreeReport>("tree");
  const inverted = page.state.get("inverted") !== "";
  const button = element("button", "", "Inverted");
  button.setAttribute("aria-pressed", String(inverted));
  button.title = "What runs, with its callers below";
  button.addEventListener("click", () => page.go(page.state.with({ inverted: inverted ? "" : "t", folds: "" })));
  const bar = element("div", "tools", button);
  const more = report.left_out > 0 ? [note(`${grouped(report.left_out)} functions below the least share have no row.`)] : [];
  return [bar, new TreeTable(page, report).root, ...more];
}
