/* table.ts: functions by their own time, sorted by any column. The answer of the server says which columns
 * there are: those of its report that have a title (a row of src/render/top.c each). */

import { element } from "../dom";
import { formWithin } from "../text";
import { amount, grouped, percent } from "../units";

const NAME_LENGTH = 90; /* characters of a name: longer ones lose their template arguments */

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

export interface Report {
  profile: { unit: string };
  columns: Column[];
  rows: Row[];
  more: number;
}

/* The classes of a column's cells, for app.css. */
const CLASSES: Record<string, string> = { share: "share", name: "text name", file: "text place", text: "text" };

function place(row: Row): string {
  if (row.file === "") return "";
  const file = row.file.split("/").slice(-2).join("/");
  return row.line > 0 ? `${file}:${row.line}` : file;
}

export class Table {
  private columns: Column[];
  private column: Column; /* by which the rows are sorted */
  private descending = true;
  private body = element("tbody", "");
  private heads: HTMLElement[] = [];
  readonly root: HTMLElement;

  constructor(private report: Report, private choose: (name: string) => void, private chosen: string) {
    this.columns = report.columns.filter((column) => column.title !== undefined);
    this.column = this.columns[0];
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
    this.show();
  }

  private sorted(): Row[] {
    const { key, kind } = this.column;
    const value = (row: Row): Cell => (kind === "file" ? `${row.file}:${row.line}` : row[key] ?? 0);
    const sign = this.descending ? -1 : 1;
    return [...this.report.rows].sort((a, b) => {
      const [x, y] = [value(a) as number, value(b) as number];
      return (x < y ? -1 : x > y ? 1 : 0) * sign || (b.total ?? 0) - (a.total ?? 0);
    });
  }

  private show(): void {
    this.heads.forEach((head, i) => {
      const mine = this.columns[i] === this.column;
      head.setAttribute("aria-sort", mine ? (this.descending ? "descending" : "ascending") : "none");
    });
    this.body.replaceChildren(...this.sorted().map((row) => this.row(row)));
  }

  private nameCell(row: Row): HTMLElement {
    const mark = row.inlined ? element("span", "inlined", " (inlined)") : "";
    const button = element("button", "", formWithin(row.name, NAME_LENGTH), mark);
    button.title = row.name;
    button.addEventListener("click", () => this.choose(row.name));
    return element("td", CLASSES.name, button);
  }

  private cell({ key, kind }: Column, row: Row): HTMLElement {
    const value = row[key];
    if (kind === "name") return this.nameCell(row);
    const made = element("td", CLASSES[kind] || "", this.text(kind, value, row));
    if (kind === "file") made.title = row.file;
    if (kind === "share" && typeof value === "number") made.style.setProperty("--part", `${100 * Math.abs(value)}%`);
    return made;
  }

  private text(kind: string, value: Cell, row: Row): string {
    if (kind === "file") return place(row);
    if (typeof value !== "number") return value === null || value === undefined ? "-" : String(value);
    if (kind === "value") return amount(value, this.report.profile.unit);
    if (kind === "share") return value < 0 ? `-${percent(-value, 1)}` : percent(value, 1);
    return grouped(value);
  }

  private row(row: Row): HTMLElement {
    const made = element("tr", "", ...this.columns.map((column) => this.cell(column, row)));
    made.setAttribute("aria-selected", String(row.name === this.chosen));
    made.dataset.name = row.name;
    return made;
  }

  select(name: string): void {
    for (const row of this.body.children) {
      row.setAttribute("aria-selected", String((row as HTMLElement).dataset.name === name));
    }
  }
}
