/* peek.ts: single functions between their callers, above, and their callees, below. */

import { element } from "../dom";
import { amount, grouped, percent } from "../units";
import { cell, nameOf, note, Page, Report, tableOf, valueCells } from "./page";

interface Neighbour {
  name: string;
  value: number | null;
  share: number | null;
  inlined: boolean;
  calls?: number | null;
}

interface PeekReport extends Report {
  functions: {
    name: string;
    self: number;
    self_share: number;
    total: number | null;
    total_share: number | null;
    callers: Neighbour[];
    more_callers: number;
    callees: Neighbour[];
    more_callees: number;
  }[];
  more: number;
}

function neighbours(page: Page, caption: string, list: Neighbour[], more: number, unit: string): Node[] {
  if (list.length === 0) return [note(`${caption}: none`)];
  const counted = list.some((n) => typeof n.calls === "number");
  const rows = list.map((n) =>
    element(
      "tr",
      "",
      ...valueCells(n.value, n.share, unit),
      ...(counted ? [cell("", typeof n.calls === "number" ? grouped(n.calls) : "-")] : []),
      cell("text name", nameOf(page, n.name, n.inlined))
    )
  );
  const heads = ["Value", "Share", ...(counted ? ["Calls"] : []), "<Function"];
  const rest = more > 0 ? [note(`${grouped(more)} more`)] : [];
  return [tableOf(caption, heads, rows), ...rest];
}

export async function peekView(page: Page): Promise<Node[]> {
  const report = await page.ask<PeekReport>("peek", { p: page.state.get("p") || page.state.get("f") });
  const { unit } = report.profile;
  const parts = report.functions.map((f) => {
    const total = f.total === null ? "total -" : `total ${amount(f.total, unit)} (${percent(f.total_share ?? 0, 1)})`;
    const self = `self ${amount(f.self, unit)} (${percent(f.self_share, 1)})`;
    const heading = element("h2", "", nameOf(page, f.name), ` ${total}, ${self}`);
    return element(
      "section",
      "sandwich",
      ...neighbours(page, "Callers", f.callers, f.more_callers, unit),
      heading,
      ...neighbours(page, "Callees", f.callees, f.more_callees, unit)
    );
  });
  const more = report.more > 0 ? [note(`${grouped(report.more)} more functions match`)] : [];
  return [element("div", "scroll", ...parts, ...more)];
}
