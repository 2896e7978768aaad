/* main.ts: the page of `pitot serve`: views of one profile, each a report that the server makes. What is
 * shown stands in the address; a link, Back and Reload all lead to the same. */

import { byId, element } from "../dom";
import { escapeRegExp } from "../search";
import { formWithin } from "../text";
import { FIELDS, State, View, VIEWS } from "./state";
import { Report, Row, Table } from "./table";

interface Data {
  title: string;
  version: string;
  events: { type: string; unit: string }[];
  event: number;
}

const TABLE_ROWS = 1000;
const PICKED_ROWS = 25;

const view = (name: string): View => VIEWS.find((v) => v.name === name) || VIEWS[0];
/* Boxes of the graph have names with … for template arguments. */
const exactly = (name: string): string => `^${escapeRegExp(name).replace(/…/g, ".*")}$`;

/* Names in messages may be any bytes. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch (e) {
    return text;
  }
}

class App {
  private data: Data = JSON.parse(byId("data").textContent || "");
  private state = State.of(window.location);
  private chosen = "";
  private table: Table | null = null;
  private shown: HTMLIFrameElement | null = null; /* the frame of the report that is shown */
  private unwanted: AbortController | null = null; /* ends the question before the latest */
  private content = byId("content");
  private said: Node[] = []; /* what the command line would have said beside the latest report */
  private asked = 0; /* counts questions: only the latest answer is shown */

  constructor() {
    document.title = `${this.data.title} – pitot`;
    byId("title").textContent = this.data.title;
    byId("brand").title = `pitot ${this.data.version}`;
    this.listEvents();
    this.listen();
    this.show();
  }

  /* ---- The controls ---- */

  private listEvents(): void {
    const { events, event } = this.data;
    const select = byId<HTMLSelectElement>("event");
    byId("event-label").hidden = events.length < 2;
    events.forEach(({ type, unit }, i) => {
      const option = element("option", "", `${type} (${unit})`) as HTMLOptionElement;
      option.value = i === event ? "" : String(i);
      select.append(option);
    });
    select.addEventListener("change", () => this.go(this.state.with({ si: select.value })));
  }

  private listen(): void {
    byId("query").addEventListener("submit", (e) => {
      e.preventDefault();
      this.applyFields();
    });
    for (const name of FIELDS) byId(name).addEventListener("change", () => this.applyFields());
    byId("clear").addEventListener("click", () => this.go(new State(this.state.view, new URLSearchParams())));
    byId("pattern").addEventListener("submit", (e) => {
      e.preventDefault();
      this.go(this.state.with({ p: byId<HTMLInputElement>("p").value }));
    });
    byId("selection").addEventListener("click", (e) => {
      const what = (e.target as HTMLElement).dataset.do;
      if (what !== undefined) this.act(what);
    });
    window.addEventListener("popstate", () => {
      this.state = State.of(window.location);
      this.show();
    });
    /* Reports in frames tell which function was clicked. Their origin is opaque: the window tells who it is. */
    window.addEventListener("message", (e) => {
      if (this.shown === null || e.source !== this.shown.contentWindow) return;
      if (typeof e.data !== "object" || e.data === null) return;
      if (typeof e.data.pitotFunction === "string") this.choose(e.data.pitotFunction);
    });
    document.addEventListener("keydown", (e) => this.key(e));
  }

  private key(e: KeyboardEvent): void {
    if (e.ctrlKey || e.metaKey || e.altKey || e.target instanceof HTMLInputElement) return;
    if (e.key === "/") byId("f").focus();
    else if (e.key === "Escape") this.choose("");
    else return;
    e.preventDefault();
  }

  private applyFields(): void {
    const changes: Record<string, string> = {};
    for (const name of FIELDS) changes[name] = byId<HTMLInputElement>(name).value;
    this.go(this.state.with(changes));
  }

  /* What the toolbar does with the chosen function. */
  private act(what: string): void {
    const pattern = exactly(this.chosen);
    const also = (name: string): string => {
      const before = this.state.get(name);
      return before === "" ? pattern : `${before}|${pattern}`;
    };
    if (what === "focus") this.go(this.state.with({ f: pattern }));
    else if (what === "ignore") this.go(this.state.with({ i: also("i") }));
    else if (what === "hide") this.go(this.state.with({ h: also("h") }));
    else if (what === "from") this.go(this.state.with({ sf: pattern }));
    else if (what === "none") this.choose("");
    else this.go(this.state.with({ p: pattern }, view(what)));
  }

  private choose(name: string): void {
    this.chosen = name;
    byId("selection").hidden = name === "";
    byId("chosen").textContent = name;
    if (this.table !== null) this.table.select(name);
  }

  /* ---- Where we are ---- */

  private go(state: State): void {
    const address = state.address("/ui/");
    if (address !== window.location.pathname + window.location.search) window.history.pushState(null, "", address);
    this.state = state;
    this.show();
  }

  private show(): void {
    const { state } = this;
    for (const name of FIELDS) byId<HTMLInputElement>(name).value = state.get(name);
    byId<HTMLInputElement>("p").value = state.get("p");
    byId<HTMLSelectElement>("event").value = this.eventChoice(state.get("si"));
    byId("pattern").hidden = state.view.pattern !== true;
    this.showViews();
    this.showOthers();
    this.choose("");
    this.showReport();
  }

  /* The parameter may be a number or a type. */
  private eventChoice(asked: string): string {
    const { events, event } = this.data;
    const at = events.findIndex(({ type, unit }, i) => [String(i), type, `${type}/${unit}`].includes(asked));
    return at < 0 || at === event ? "" : String(at);
  }

  private showViews(): void {
    byId("views").replaceChildren(
      ...VIEWS.map((v) => {
        const link = element("a", "", v.title) as HTMLAnchorElement;
        const there = this.state.with({}, v);
        link.href = there.address("/ui/");
        if (v === this.state.view) link.setAttribute("aria-current", "page");
        link.addEventListener("click", (e) => {
          if (e.ctrlKey || e.metaKey || e.shiftKey || e.button !== 0) return;
          e.preventDefault();
          this.go(there);
        });
        return element("li", "", link);
      })
    );
  }

  /* Conditions without a field: they can be seen and taken away. */
  private showOthers(): void {
    const names = [...new Set(this.state.parameters.keys())].filter((n) => !FIELDS.includes(n) && n !== "p" && n !== "si");
    byId("others").replaceChildren(
      ...names.map((name) => {
        const button = element("button", "", "✕");
        button.setAttribute("aria-label", `Without ${name}`);
        button.setAttribute("type", "button");
        button.addEventListener("click", () => this.go(this.state.with({ [name]: "" })));
        return element("li", "", `${name}=${this.state.get(name)}`, button);
      })
    );
  }

  /* ---- The report ---- */

  private showReport(): void {
    const { state } = this;
    this.table = null;
    this.shown = null;
    if (this.unwanted !== null) this.unwanted.abort();
    this.unwanted = new AbortController();
    const question = ++this.asked;
    const answer = (made: Node[]): void => {
      if (question !== this.asked) return;
      this.content.setAttribute("aria-busy", "false");
      this.content.replaceChildren(...made);
      document.documentElement.dataset.ready = state.view.name;
    };
    delete document.documentElement.dataset.ready;
    this.content.setAttribute("aria-busy", "true");
    const { shape } = state.view;
    const work = state.waits()
      ? this.picker()
      : shape === "table"
      ? this.topTable()
      : shape === "text"
      ? this.text()
      : this.frame();
    work.then(answer, (e: Error) => answer([element("p", "problem", e.message)]));
  }

  /* The answer of a report; what the server says is wrong is thrown. */
  private async ask(address: string): Promise<Response> {
    let response: Response;
    try {
      response = await fetch(address, { signal: this.unwanted?.signal });
    } catch (e) {
      throw new Error("pitot serve does not answer: has it ended?");
    }
    if (!response.ok) throw new Error((await response.text()).trim());
    const said = decoded(response.headers.get("Pitot-Said") || "");
    this.said = said === "" ? [] : [element("p", "note", said)];
    return response;
  }

  private async top(state: State, rows: number): Promise<Report> {
    const response = await this.ask(state.with({ json: "1", rows: String(rows), p: "" }, view("top")).address("/api/"));
    return response.json();
  }

  private async topTable(): Promise<Node[]> {
    const report = await this.top(this.state, TABLE_ROWS);
    this.table = new Table(report, (name) => this.choose(name), this.chosen);
    return [...this.said, this.table.root];
  }

  private async text(): Promise<Node[]> {
    const response = await this.ask(this.state.address("/api/"));
    const text = await response.text();
    return [...this.said, element("pre", "", text)];
  }

  /* A page or picture of its own, or the server's words why there is none. */
  private async frame(): Promise<Node[]> {
    const made = element("iframe", this.state.view.shape === "picture" ? "picture" : "") as HTMLIFrameElement;
    made.title = this.state.view.title;
    made.setAttribute("sandbox", "allow-scripts"); /* names of a profile may be anything: no origin, no navigation */
    this.shown = made;
    made.src = this.state.address("/api/");
    return [made];
  }

  private async picker(): Promise<Node[]> {
    const { rows } = await this.top(this.state, PICKED_ROWS);
    const choice = (row: Row): Node => {
      const link = element("a", "", formWithin(row.name, 100)) as HTMLAnchorElement;
      const there = this.state.with({ p: exactly(row.name) });
      link.href = there.address("/ui/");
      link.addEventListener("click", (e) => {
        e.preventDefault();
        this.go(there);
      });
      return element("li", "note", link);
    };
    return [element("p", "note", "Of which function? Name it above, or take one of those that take most:"), element("ul", "", ...rows.map(choice))];
  }
}

try {
  new App();
} catch (e) {
  const text = e instanceof Error ? e.message : String(e);
  document.body.replaceChildren(element("p", "problem", `This page cannot be shown: ${text}`));
}
