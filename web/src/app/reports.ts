/* reports.ts: changes, stacks, labels, findings, and what is known of the profile. */

import { element } from "../dom";
import { amount, grouped, percent, signed } from "../units";
import { cell, nameOf, note, Page, placeOf, Report, shareCell, tableOf, valueCells } from "./page";

/* ---- Changes ---- */

interface Change {
  before: number;
  after: number;
  change: number;
  low: number | null;
  high: number | null;
  noise: boolean | null; /* null: nobody knows */
}

interface DiffReport {
  unit: string;
  confidence: number;
  normalized: boolean;
  before: { name: string };
  after: { name: string };
  whole: Change;
  rows: { name: string; file: string; line: number; self: Change; total: Change | null }[];
  more: number;
}

const DIFF_ROWS = "500";

function half(c: Change | null, unit: string): string {
  if (c === null || c.low === null || c.high === null) return "";
  return `±${amount((c.high - c.low) / 2, unit)}`;
}

function relative(c: Change): string {
  if (c.before === 0) return c.after === 0 ? "" : "new";
  if (c.after === 0) return "gone";
  const part = c.change / Math.abs(c.before);
  return part === 0 ? "" : `${part > 0 ? "+" : "-"}${percent(Math.abs(part), 1)}`;
}

/* The word beside a change that chance explains: colour alone would not tell. */
const mark = (c: Change | null): string => (c !== null && c.noise === true && c.before + c.after !== 0 ? "noise" : "");

/* A change that is no noise is coloured by its direction. */
const tone = (c: Change | null): string => (c === null || c.change === 0 || c.noise === true ? "" : c.change > 0 ? "up" : "down");

function diffRow(page: Page, row: DiffReport["rows"][0], unit: string): HTMLElement {
  const { self, total } = row;
  const known = self.noise !== null;
  const real = self.noise === false || total?.noise === false;
  const grows = (total ?? self).change > 0;
  const made = element(
    "tr",
    known && !real ? "noise" : grows ? "more" : "less",
    cell("", amount(self.before, unit)),
    cell("", amount(self.after, unit)),
    cell(tone(self), signed(self.change, unit)),
    cell("", half(self, unit)),
    cell("", relative(self)),
    cell("text", mark(self)),
    cell(tone(total), total === null ? "-" : signed(total.change, unit)),
    cell("", half(total, unit)),
    cell("text", mark(total)),
    cell("text name", nameOf(page, row.name))
  );
  return made;
}

export async function diffView(page: Page): Promise<Node[]> {
  const normalize = page.state.get("norm") === "1";
  const report = await page.ask<DiffReport>("diff", { rows: DIFF_ROWS, ...(normalize ? { normalize: "t" } : {}) });
  const { unit, whole } = report;
  const button = element("button", "", "Normalize");
  button.setAttribute("aria-pressed", String(normalize));
  button.title = "Compare shares: after is scaled to the total of before";
  button.addEventListener("click", () => page.go(page.state.with({ norm: normalize ? "" : "1" })));
  const said = `${report.before.name} → ${report.after.name}: ${amount(whole.before, unit)} → ${amount(whole.after, unit)}, ${signed(whole.change, unit)} ${half(whole, unit)} ${mark(whole)}`;
  const heads = ["Before", "After", "Change", `±${100 * report.confidence}%`, "Part", "<Noise", "Total", `±${100 * report.confidence}%`, "<Noise", "<Function"];
  const table = tableOf("Changes of functions; grey ones are noise", heads, report.rows.map((row) => diffRow(page, row, unit)));
  table.classList.add("changes");
  const more = report.more > 0 ? [note(`${grouped(report.more)} more functions`)] : [];
  return [element("div", "tools", button, element("span", "quiet", said)), element("div", "scroll", table, ...more)];
}

/* ---- Stacks ---- */

interface Label {
  key: string;
  text?: string;
  number?: number;
  unit?: string;
}

interface TracesReport extends Report {
  traces: { value: number; share: number; records: number; labels: Label[]; frames: { name: string; inlined: boolean }[] }[];
  more: number;
}

const STACKS = "100";

/* The label as a pattern of --tag-focus; "" if none can name it. */
function labelPattern(label: Label): string {
  if (typeof label.number === "number") return `${label.key}=${label.number}${label.unit || ""}`;
  return label.text === undefined ? "" : `${label.key}=^${label.text.replace(/[.*+?^${}()|[\]\\,]/g, "\\$&")}$`;
}

function labelButton(page: Page, label: Label): HTMLElement {
  const text = `${label.key} ${label.text ?? `${label.number}${label.unit || ""}`}`;
  const button = element("button", "label", text);
  button.title = "Only samples with this label";
  button.addEventListener("click", () => page.go(page.state.with({ tf: labelPattern(label) })));
  return button;
}

export async function tracesView(page: Page): Promise<Node[]> {
  const report = await page.ask<TracesReport>("traces", { stacks: STACKS });
  const { unit } = report.profile;
  const rows = report.traces.map((trace) =>
    element(
      "tr",
      "",
      ...valueCells(trace.value, trace.share, unit),
      cell(
        "text name",
        ...trace.labels.map((label) => labelButton(page, label)),
        element("ol", "stack", ...trace.frames.map((f) => element("li", "", nameOf(page, f.name, f.inlined))))
      )
    )
  );
  const more = report.more > 0 ? [note(`${grouped(report.more)} more stacks`)] : [];
  return [element("div", "scroll", tableOf("Stacks, what runs first", ["Value", "Share", "<Functions"], rows), ...more)];
}

/* ---- Labels ---- */

interface TagsReport extends Report {
  keys: { key: string; value: number; share: number; values: { text?: string; number?: number; unit?: string; value: number; share: number }[]; more: number }[];
}

export async function tagsView(page: Page): Promise<Node[]> {
  const report = await page.ask<TagsReport>("tags");
  if (report.keys.length === 0) return [note("The profile has no labels.")];
  const { unit } = report.profile;
  const parts = report.keys.map((key) => {
    const rows = key.values.map((v) =>
      element("tr", "", ...valueCells(v.value, v.share, unit), cell("text name", labelButton(page, { key: key.key, ...v })))
    );
    const more = key.more > 0 ? [note(`${grouped(key.more)} more values`)] : [];
    return element("section", "", tableOf(`${key.key}: ${amount(key.value, unit)}, ${percent(key.share, 1)}`, ["Value", "Share", `<${key.key}`], rows), ...more);
  });
  return [element("div", "scroll", ...parts)];
}

/* ---- Findings ---- */

interface WhyReport extends Report {
  findings: {
    sentence: string;
    value: number;
    share: number;
    function: string;
    file: string;
    line: number | null;
    path: string[];
  }[];
  rest: number;
}

export async function whyView(page: Page): Promise<Node[]> {
  const report = await page.ask<WhyReport>("why");
  const { unit } = report.profile;
  const items = report.findings.map((f) => {
    const path = f.path.flatMap((name, i) => [i > 0 ? " › " : "", nameOf(page, name)]);
    return element(
      "li",
      "",
      element("p", "", element("strong", "", `${percent(f.share, 1)} (${amount(f.value, unit)})`), ` ${f.sentence}`),
      element("p", "", nameOf(page, f.function), ` ${placeOf(f.file, f.line)}`),
      element("p", "quiet", ...path)
    );
  });
  const rest = note(`${percent(report.rest, 1)} is in no finding.`);
  return [element("div", "scroll", items.length > 0 ? element("ol", "findings", ...items) : note("There is no finding."), rest)];
}

/* ---- About ---- */

function valueNode(value: unknown): Node {
  if (Array.isArray(value)) {
    if (value.length === 0) return document.createTextNode("none");
    return element("ul", "", ...value.map((v) => element("li", "", valueNode(v))));
  }
  if (typeof value === "object" && value !== null) return listOf(value as Record<string, unknown>);
  if (value === null || value === "") return document.createTextNode("-");
  return document.createTextNode(typeof value === "number" && Number.isInteger(value) ? grouped(value) : String(value));
}

function listOf(object: Record<string, unknown>): HTMLElement {
  const made = element("dl", "");
  for (const [key, value] of Object.entries(object)) {
    if (key === "schema" || key === "report") continue;
    made.append(element("dt", "", key.replace(/_/g, " ")), element("dd", "", valueNode(value)));
  }
  return made;
}

export async function infoView(page: Page): Promise<Node[]> {
  const list = element("div", "scroll about", listOf(await page.ask<Record<string, unknown>>("info")));
  list.tabIndex = 0; /* keys can scroll it */
  return [list];
}

export { shareCell };
