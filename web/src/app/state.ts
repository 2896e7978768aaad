/* state.ts: what is shown, as it stands in the address: /ui/VIEW?PARAMETERS, in a file #VIEW?PARAMETERS. */

export interface View {
  name: string; /* of /ui/NAME, and of its report */
  title: string;
  pattern?: boolean; /* it is about functions that are named */
  needs?: "base" | "times"; /* shown only where there is a second profile, or samples have times */
}

export const VIEWS: View[] = [
  { name: "flamegraph", title: "Flame graph" },
  { name: "diff", title: "Changes", needs: "base" },
  { name: "top", title: "Top" },
  { name: "tree", title: "Tree" },
  { name: "peek", title: "Callers, callees", pattern: true },
  { name: "source", title: "Source", pattern: true },
  { name: "disasm", title: "Instructions", pattern: true },
  { name: "graph", title: "Graph" },
  { name: "timeline", title: "Time", needs: "times" },
  { name: "why", title: "Why" },
  { name: "traces", title: "Stacks" },
  { name: "tags", title: "Labels" },
  { name: "info", title: "About" },
];

/* Parameters that have fields of their own on the page. */
export const FIELDS = ["f", "i", "h", "s", "sf"];

/* Parameters that only the page understands: no report is asked with them. */
const PAGE_ONLY = ["zoom", "find", "regex", "up", "width", "norm", "sel", "folds", "line", "by-column"];

/* What stands before /ui/ in the address: "", or "/3" of a profile that was dropped on the page. */
export const ROOT = window.location.pathname.match(/^\/\d+(?=\/ui(\/|$))/)?.[0] || "";

export class State {
  constructor(public view: View, public parameters: URLSearchParams) {}

  static of(location: Location | URL, isFile: boolean): State {
    const [path, query] = isFile
      ? location.hash.replace(/^#/, "").split("?")
      : [location.pathname.slice(ROOT.length).replace(/^\/ui\/?/, ""), location.search];
    const view = VIEWS.find((v) => v.name === path) || VIEWS[0];
    return new State(view, new URLSearchParams(query || ""));
  }

  get(name: string): string {
    return this.parameters.get(name) || "";
  }

  /* A copy; empty values take their parameters away. */
  with(changes: Record<string, string>, view: View = this.view): State {
    const parameters = new URLSearchParams(this.parameters);
    for (const [name, value] of Object.entries(changes)) {
      if (value === "") parameters.delete(name);
      else parameters.set(name, value);
    }
    return new State(view, parameters);
  }

  /* With other conditions: what was zoomed and folded is another box then. */
  asking(changes: Record<string, string>): State {
    return this.with({ zoom: "", folds: "", ...changes });
  }

  /* Without what belongs to the look of one view: another one begins afresh. */
  to(view: View, changes: Record<string, string> = {}): State {
    const fresh: Record<string, string> = view === this.view ? {} : { zoom: "", folds: "", line: "", inverted: "", "in-order": "" };
    return this.with({ ...fresh, ...changes }, view);
  }

  address(isFile: boolean): string {
    const text = this.parameters.toString();
    return `${isFile ? "#" : `${ROOT}/ui/`}${this.view.name}${text === "" ? "" : `?${text}`}`;
  }

  /* The address of a report with this query and a report's own options. */
  question(route: string, options: Record<string, string>): string {
    const parameters = new URLSearchParams(this.parameters);
    for (const name of PAGE_ONLY) parameters.delete(name);
    if (!("p" in options)) parameters.delete("p");
    for (const [name, value] of Object.entries(options)) parameters.set(name, value);
    parameters.sort();
    const text = parameters.toString();
    return `${ROOT}/api/${route}${text === "" ? "" : `?${text}`}`;
  }

  /* Names of conditions, for the breadcrumbs. */
  conditions(): string[] {
    const own = new Set([...PAGE_ONLY, "p", "si", "inverted", "in-order"]);
    return [...new Set(this.parameters.keys())].filter((name) => !own.has(name));
  }

  /* Views of single functions need a pattern. */
  waits(): boolean {
    return this.view.pattern === true && this.get("p") === "" && this.get("f") === "";
  }
}
