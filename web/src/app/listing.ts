/* listing.ts: source lines with their values, instructions beside them. A line and its instructions are chosen
 * together. */

import { element } from "../dom";
import { amount, percent } from "../units";
import { cell, nameOf, note, Page, placeOf, Report, tableOf } from "./page";

interface Line {
  line: number;
  self: number;
  self_share: number;
  total: number | null;
  text: string | null;
  calls?: { name: string; value: number; inlined: boolean }[];
}

interface ListReport extends Report {
  functions: {
    name: string;
    file: string;
    error: string | null;
    source_is_newer: boolean;
    self: number;
    self_share: number;
    total: number | null;
    lines: Line[];
  }[];
  more: number;
}

interface Instruction {
  address: string;
  text: string;
  self: number;
  total: number | null;
  frames: { function: string; file: string; line: number }[];
}

interface DisasmReport extends Report {
  functions: { name: string; path: string; error: string | null; self: number; self_share: number; instructions: Instruction[] }[];
  more: number;
}

const value = (v: number | null, unit: string): string => (v === null || v === 0 ? "" : amount(v, unit));

/* A row whose gutter is as warm as its part of the whole. */
function heated(row: HTMLElement, part: number): HTMLElement {
  row.style.setProperty("--heat", `${Math.round(100 * Math.sqrt(Math.max(0, Math.min(1, part))))}%`);
  return row;
}

function gutter(self: number, total: number | null, whole: number, unit: string): HTMLElement[] {
  const part = whole > 0 ? Math.max(self, total ?? 0) / whole : 0;
  return [
    cell("heat", value(self, unit)),
    cell("heat", value(total, unit)),
    cell("heat", part > 0 ? percent(part, 1) : ""),
  ];
}

/* Choosing a line, by pointer or keys, marks all rows that belong to it. */
function linkRows(page: Page, root: HTMLElement): void {
  const mark = (line: string, from: HTMLElement | null): void => {
    for (const row of root.querySelectorAll<HTMLElement>("tr[data-lines]")) {
      const mine = line !== "" && (row.dataset.lines as string).split(" ").includes(line);
      row.classList.toggle("linked", mine);
    }
    for (const side of root.querySelectorAll<HTMLElement>(".side")) {
      if (from !== null && side.contains(from)) continue;
      side.querySelector("tr.linked")?.scrollIntoView({ block: "center" });
    }
  };
  root.addEventListener("click", (e) => {
    const row = (e.target as HTMLElement).closest<HTMLElement>("tr[data-lines]");
    if (row === null || (e.target as HTMLElement).closest("button.name") !== null) return;
    const line = (row.dataset.lines as string).split(" ")[0];
    page.keep({ line });
    mark(line, row);
  });
  mark(page.state.get("line"), null);
}

function lineButton(text: string, label: string): HTMLElement {
  const button = element("button", "line", text);
  button.setAttribute("type", "button");
  button.setAttribute("aria-label", label);
  return button;
}

function sourceTable(page: Page, f: ListReport["functions"][0], unit: string): HTMLElement {
  const whole = Math.max(f.total ?? 0, f.self);
  const rows = f.lines.map((l) => {
    const calls = (l.calls || []).slice(0, 4).flatMap((c) => [" ", nameOf(page, c.name, c.inlined, 40)]);
    const code = element("code", "", l.text ?? "");
    const part = whole > 0 ? Math.max(l.self, l.total ?? 0) / whole : 0;
    const made = element(
      "tr",
      "",
      cell("", lineButton(String(l.line), `Line ${l.line}`)),
      ...gutter(l.self, l.total, whole, unit),
      cell("text code", code, ...(calls.length > 0 ? [element("span", "calls", "→", ...calls)] : []))
    );
    made.dataset.lines = String(l.line);
    return heated(made, part);
  });
  return tableOf(`Source of ${f.name}`, ["Line", "Self", "Total", "%", "<Source"], rows);
}

function instructionTable(f: DisasmReport["functions"][0], unit: string, file: string): HTMLElement {
  const whole = Math.max(f.self, ...f.instructions.map((i) => i.total ?? 0));
  const rows = f.instructions.map((i) => {
    const lines = i.frames.filter((frame) => frame.file === file).map((frame) => frame.line);
    const at = i.frames[0];
    const made = element(
      "tr",
      "",
      cell("", lineButton(i.address, `Instruction at ${i.address}`)),
      ...gutter(i.self, i.total, whole, unit),
      cell("text code", element("code", "", i.text)),
      cell("text place", at ? placeOf(at.file, at.line) : "")
    );
    made.dataset.lines = [...new Set(lines)].join(" ");
    return heated(made, whole > 0 ? Math.max(i.self, i.total ?? 0) / whole : 0);
  });
  return tableOf(`Instructions of ${f.name}`, ["Address", "Self", "Total", "%", "<Instruction", "<Line"], rows);
}

function head(page: Page, name: string, self: number, share: number, unit: string, place: string): HTMLElement {
  return element("h2", "", nameOf(page, name), ` self ${amount(self, unit)} (${percent(share, 1)}) `, element("span", "quiet", place));
}

export async function sourceView(page: Page): Promise<Node[]> {
  const p = page.state.get("p") || page.state.get("f");
  const [list, disasm] = await Promise.all([
    page.ask<ListReport>("list", { p, calls: "t" }),
    page.ask<DisasmReport>("disasm", { p }).catch(() => null),
  ]);
  const { unit } = list.profile;
  const parts = list.functions.map((f) => {
    const code = disasm?.functions.find((g) => g.name === f.name && g.error === null && g.instructions.length > 0);
    const left = element("div", "side", ...(f.error === null ? [] : [note(f.error)]), sourceTable(page, f, unit));
    const right = code ? [element("div", "side", instructionTable(code, unit, f.file))] : [];
    const newer = f.source_is_newer ? [note("The source is newer than the program: lines may have moved.")] : [];
    return element("section", "", head(page, f.name, f.self, f.self_share, unit, f.file), ...newer, element("div", "sides", left, ...right));
  });
  const root = element("div", "scroll listing", ...parts);
  requestAnimationFrame(() => linkRows(page, root));
  return [root];
}

export async function disasmView(page: Page): Promise<Node[]> {
  const report = await page.ask<DisasmReport>("disasm", { p: page.state.get("p") || page.state.get("f") });
  const { unit } = report.profile;
  const parts = report.functions.map((f) => {
    const file = f.instructions.find((i) => i.frames.length > 0)?.frames.slice(-1)[0].file ?? "";
    const body = f.error === null ? instructionTable(f, unit, file) : note(f.error);
    return element("section", "", head(page, f.name, f.self, f.self_share, unit, f.path), element("div", "side", body));
  });
  const root = element("div", "scroll listing", ...parts);
  requestAnimationFrame(() => linkRows(page, root));
  return [root];
}
