/* table.ts: functions by their own time, sorted by any column. The answer of the server says which columns
 * there are: those of its report that have a title (a row of src/render/top.c each). */

import { element } from "../dom";
import { amount, grouped, percent } from "../units";
import { nameOf, Page, placeOf, Report } from "./page";

type Cell = number | string | boolean | null | undefined | object;

export interface Row {
  name: string;
  file: string;
  line: number;
  total: number | null; /* null: samples are no stacks, and do not tell */
  inlined: boolean;
  [key: string]: Cell;
}

interface Column {
  key: string;
  title?: string; /* none: people do not see it as a column */
  kind: string;
}

export interface TopReport extends Report {
  columns: Column[];
  rows: Row[];
  more: number;
}

/* The classes of a column's cells, for app.css. */
const CLASSES: Record<string, string> = { share: "share", name: "text name", file: "text place", text: "text" };

export class Table {
  private columns: Column[];
  private column: Column; /* by which the rows are sorted */
  private descending = true;
  private body = element("tbody", "");
  private heads: HTMLElement[] = [];
  readonly root: HTMLElement;

  constructor(private page: Page, private report: TopReport) {
    this.columns = report.columns.filter((column) => column.title !== undefined);
    const [key, order] = page.state.get("by-column").split(".");
    this.column = this.columns.find((column) => column.key === key) || this.columns[0];
    this.descending = order !== "up";
    const head = element("tr", "");
    for (const column of this.columns) {
      const title = column.title || "";
      const button = element("button", "", title.charAt(0).toUpperCase() + title.slice(1));
      const cell = element("th", CLASSES[column.kind] || "", button);
      cell.setAttribute("scope", "col");
      button.addEventListener("click", () => this.sortBy(column));
      this.heads.push(cell);
      head.append(cell);
    }
    const table = element("table", "", element("thead", "", head), this.body);
    this.root = element("div", "", table);
    if (report.more > 0) {
      this.root.append(element("p", "note", `${grouped(report.more)} more functions; Focus and Ignore narrow them.`));
    }
    this.show();
  }

  private sortBy(column: Column): void {
    this.descending = column === this.column ? !this.descending : !(CLASSES[column.kind] || "").startsWith("text");
    this.column = column;
    this.page.keep({ "by-column": `${column.key}.${this.descending ? "down" : "up"}` });
    this.show();
  }

  private sorted(): Row[] {
    const { key, kind } = this.column;
    /* Differences by their size, as the report has them. */
    const size = (cell: Cell): Cell => (typeof cell === "number" ? Math.abs(cell) : cell);
    const value = (row: Row): Cell => (kind === "file" ? `${row.file}:${row.line}` : size(row[key] ?? 0));
    const sign = this.descending ? -1 : 1;
    return [...this.report.rows].sort((a, b) => {
      const [x, y] = [value(a) as number, value(b) as number];
      return (x < y ? -1 : x > y ? 1 : 0) * sign || Math.abs(b.total ?? 0) - Math.abs(a.total ?? 0);
    });
  }

  private show(): void {
    this.heads.forEach((head, i) => {
      const mine = this.columns[i] === this.column;
      head.setAttribute("aria-sort", mine ? (this.descending ? "descending" : "ascending") : "none");
    });
    this.body.replaceChildren(...this.sorted().map((row) => this.row(row)));
  }

  private cell({ key, kind }: Column, row: Row): HTMLElement {
    const value = row[key];
    if (kind === "name") return element("td", CLASSES.name, nameOf(this.page, row.name, row.inlined));
    const made = element("td", CLASSES[kind] || "", this.text(kind, value, row));
    if (kind === "file") made.title = row.file;
    if (kind === "share" && typeof value === "number") made.style.setProperty("--part", `${100 * Math.abs(value)}%`);
    return made;
  }

  private text(kind: string, value: Cell, row: Row): string {
    if (kind === "file") return placeOf(row.file, row.line);
    if (typeof value !== "number") return value === null || value === undefined ? "-" : String(value);
    if (kind === "value") return amount(value, this.report.profile.unit);
    if (kind === "share") return percent(value, 1);
    return grouped(value);
  }

  private row(row: Row): HTMLElement {
    return element("tr", "", ...this.columns.map((column) => this.cell(column, row)));
  }
}
