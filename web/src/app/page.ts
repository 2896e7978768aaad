/* page.ts: what a view may ask of the page around it. */

import { element } from "../dom";
import { formWithin } from "../text";
import { amount, percent } from "../units";
import { State } from "./state";

/* A report as the server or the file has it. */
export interface Report {
  profile: { unit: string; event: string; total: number };
  kept_total: number;
}

export interface Page {
  readonly state: State;
  readonly filters: boolean; /* questions may be changed: a file has its answers only */
  readonly comparesRanges: boolean; /* two ranges of the time can be compared */
  /* The JSON of a report on the query that is shown. Throws an Error with the words of the report. */
  ask<T>(route: string, options?: Record<string, string>): Promise<T>;
  go(state: State): void; /* Back leads to where we are */
  keep(changes: Record<string, string>): void; /* of the look only: nothing is shown anew */
  choose(name: string, at: HTMLElement | { x: number; y: number } | null): void;
}

const NAME_LENGTH = 90; /* characters of a name: longer ones lose their template arguments */

/* A name in any view: a button with the menu of that function. */
export function nameOf(page: Page, name: string, inlined = false, most = NAME_LENGTH): HTMLElement {
  const mark = inlined ? element("span", "inlined", " (inlined)") : "";
  const button = element("button", "name", formWithin(name, most), mark);
  button.title = name;
  button.dataset.name = name;
  button.setAttribute("type", "button");
  button.setAttribute("aria-haspopup", "menu");
  button.addEventListener("click", () => page.choose(name, button));
  return button;
}

export function cell(className: string, ...content: (string | Node)[]): HTMLElement {
  return element("td", className, ...content);
}

/* A cell with a bar as long as the share. */
export function shareCell(share: number): HTMLElement {
  const made = cell("share", percent(share, 1));
  made.style.setProperty("--part", `${100 * Math.min(1, Math.abs(share))}%`);
  return made;
}

/* Values of a row: "1.20s", "12.0%". */
export function valueCells(value: number | null, share: number | null, unit: string): HTMLElement[] {
  return [
    cell("", value === null ? "-" : amount(value, unit)),
    share === null ? cell("", "-") : shareCell(share),
  ];
}

/* A table with that caption and those heads; a head that begins with "<" is of text. */
export function tableOf(caption: string, heads: string[], rows: HTMLElement[]): HTMLElement {
  const head = heads.map((title) => {
    const text = title.startsWith("<");
    const made = element("th", text ? "text" : "", title.replace(/^</, ""));
    made.setAttribute("scope", "col");
    return made;
  });
  return element(
    "table",
    "",
    element("caption", "", caption),
    element("thead", "", element("tr", "", ...head)),
    element("tbody", "", ...rows)
  );
}

export function note(text: string): HTMLElement {
  return element("p", "note", text);
}

/* "src/parse.c:12" of a path and a line; "" if neither is known. */
export function placeOf(file: string, line: number | null | undefined): string {
  const short = file.split("/").slice(-2).join("/");
  return short !== "" && typeof line === "number" && line > 0 ? `${short}:${line}` : short;
}

/* A pattern that names exactly this function; boxes of the graph have names with … for template arguments. */
export function exactly(name: string): string {
  return `^${name.replace(/[.*+?^${}()|[\]\\]/g, "\\$&").replace(/…/g, ".*")}$`;
}
