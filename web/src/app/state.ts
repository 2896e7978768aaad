/* state.ts: what is shown, as it stands in the address: /ui/VIEW?PARAMETERS. */

export interface View {
  name: string; /* of /ui/NAME and /api/NAME */
  title: string;
  shape: "frame" | "picture" | "table" | "text";
  pattern?: boolean; /* it is about functions that are named */
}

export const VIEWS: View[] = [
  { name: "flamegraph", title: "Flame graph", shape: "frame" },
  { name: "top", title: "Top", shape: "table" },
  { name: "graph", title: "Graph", shape: "picture" },
  { name: "tree", title: "Tree", shape: "text" },
  { name: "peek", title: "Callers, callees", shape: "text", pattern: true },
  { name: "source", title: "Source", shape: "frame", pattern: true },
  { name: "disasm", title: "Instructions", shape: "text", pattern: true },
  { name: "traces", title: "Stacks", shape: "text" },
  { name: "tags", title: "Labels", shape: "text" },
  { name: "info", title: "About", shape: "text" },
];

/* Parameters that have fields of their own on the page. */
export const FIELDS = ["f", "i", "h", "s", "sf"];

export class State {
  constructor(public view: View, public parameters: URLSearchParams) {}

  static of(location: Location): State {
    const name = location.pathname.replace(/^\/ui\/?/, "");
    const view = VIEWS.find((v) => v.name === name) || VIEWS[0];
    return new State(view, new URLSearchParams(location.search));
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

  address(root: "/ui/" | "/api/"): string {
    const parameters = new URLSearchParams(this.parameters);
    if (root === "/api/" && !this.view.pattern) parameters.delete("p");
    const text = parameters.toString();
    return root + this.view.name + (text === "" ? "" : `?${text}`);
  }

  /* Views of single functions need a pattern. */
  waits(): boolean {
    return this.view.pattern === true && this.get("p") === "" && this.get("f") === "";
  }
}
