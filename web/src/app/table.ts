/* table.ts: functions by their own time, sorted by any column. */

import { element } from "../dom";
import { formWithin } from "../text";
import { amount, grouped, percent } from "../units";

const NAME_LENGTH = 90; /* characters of a name: longer ones lose their template arguments */

export interface Row {
  name: string;
  file: string;
  line: number;
  self: number;
  total: number | null; /* null: samples are no stacks, and do not tell */
  inlined: boolean;
}

export interface Report {
  profile: { unit: string; total: number };
  kept_total: number;
  relative: boolean;
  rows: Row[];
  more: number;
}

interface Column {
  title: string;
  className: string;
  value(row: Row): number | string;
}

const COLUMNS: Column[] = [
  { title: "Self", className: "", value: (row) => row.self },
  { title: "Self %", className: "share", value: (row) => row.self },
  { title: "Total", className: "", value: (row) => row.total ?? 0 },
  { title: "Total %", className: "share", value: (row) => row.total ?? 0 },
  { title: "Function", className: "text name", value: (row) => row.name },
  { title: "Where", className: "text place", value: (row) => `${row.file}:${row.line}` },
];

function place(row: Row): string {
  if (row.file === "") return "";
  const file = row.file.split("/").slice(-2).join("/");
  return row.line > 0 ? `${file}:${row.line}` : file;
}

export class Table {
  private column = COLUMNS[0];
  private descending = true;
  private body = element("tbody", "");
  private heads: HTMLElement[] = [];
  readonly root: HTMLElement;

  constructor(private report: Report, private choose: (name: string) => void, private chosen: string) {
    const head = element("tr", "");
    for (const column of COLUMNS) {
      const button = element("button", "", column.title);
      const cell = element("th", column.className, button);
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
    this.descending = column === this.column ? !this.descending : !column.className.startsWith("text");
    this.column = column;
    this.show();
  }

  private sorted(): Row[] {
    const { value } = this.column;
    const sign = this.descending ? -1 : 1;
    return [...this.report.rows].sort((a, b) => {
      const [x, y] = [value(a), value(b)];
      return (x < y ? -1 : x > y ? 1 : 0) * sign || (b.total ?? 0) - (a.total ?? 0);
    });
  }

  private show(): void {
    this.heads.forEach((head, i) => {
      const mine = COLUMNS[i] === this.column;
      head.setAttribute("aria-sort", mine ? (this.descending ? "descending" : "ascending") : "none");
    });
    this.body.replaceChildren(...this.sorted().map((row) => this.row(row)));
  }

  private row(row: Row): HTMLElement {
    const { profile, kept_total, relative } = this.report;
    const whole = relative ? kept_total : profile.total;
    const share = (value: number | null): HTMLElement => {
      if (value === null) return element("td", "share", "-");
      const cell = element("td", "share", value < 0 ? `-${percent(-value, whole)}` : percent(value, whole));
      cell.style.setProperty("--part", `${whole > 0 ? (100 * Math.abs(value)) / whole : 0}%`);
      return cell;
    };
    const button = element("button", "", formWithin(row.name, NAME_LENGTH), row.inlined ? element("span", "inlined", " (inlined)") : "");
    button.title = row.name;
    button.addEventListener("click", () => this.choose(row.name));
    const where = element("td", "text place", place(row));
    where.title = row.file;
    const made = element(
      "tr",
      "",
      element("td", "", amount(row.self, profile.unit)),
      share(row.self),
      element("td", "", row.total === null ? "-" : amount(row.total, profile.unit)),
      share(row.total),
      element("td", "text name", button),
      where
    );
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
