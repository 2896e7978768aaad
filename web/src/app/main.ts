/* main.ts: the page of `pitot serve`: views of one profile, made of the reports that the server has. What is shown
 * stands in the address; a link, Back and Reload all lead to the same. */

import { checkedData, FlameData } from "../data";
import { byId, element } from "../dom";
import { Flame } from "../flame";
import { placeParameters, readPlace } from "../hash";
import { Downloads } from "./downloads";
import { As, Files, upload } from "./files";
import { disasmView, sourceView } from "./listing";
import { LocalAnswers } from "./local/answers";
import { LocalProfile, readProfile } from "./local/profile";
import { Menu } from "./menu";
import { exactly, note, Page } from "./page";
import { peekView } from "./peek";
import { Questions } from "./questions";
import { diffView, infoView, tagsView, tracesView, whyView } from "./reports";
import { FIELDS, ROOT, State, View, VIEWS } from "./state";
import { Table, TopReport } from "./table";
import { timeView } from "./time";
import { treeView } from "./tree";

interface Data {
  title: string;
  version: string;
  before: string | null; /* what it is compared with */
  times: boolean; /* samples have times */
  live: Live | null; /* the profile grows */
  files: number; /* the bytes of a file that the server takes; 0: it takes none */
  events: { type: string; unit: string }[];
  event: number;
  query?: string; /* of a file: what was asked */
  /* Of a file: the reports that it holds, those of single functions by their names. */
  answers?: Record<string, unknown>;
}

interface Live {
  state: "files" | "recording" | "ended";
  seconds?: number; /* the age of the recording */
  growth: string; /* another text when there is more */
}

const TABLE_ROWS = "1000";
const PICKED_ROWS = "25";
const KEPT_ANSWERS = 40;
/* Boxes are there that are half a pixel wide on the widest screen. Below a box that is zoomed into, more are asked for. */
const FLAME = { width: "4096" };
const CHOICES = ["by", "recursion"]; /* parameters with a list */
const LOOK_AGAIN_MS = 1000;

/* Names in messages may be any bytes. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch (e) {
    return text;
  }
}

class App implements Page {
  private data: Data = JSON.parse(byId("data").textContent || "");
  private isFile = this.data.answers !== undefined;
  state = State.of(window.location, this.isFile);
  private local: { profile: LocalProfile; answers: Map<string, LocalAnswers> } | null = null; /* dropped on a file */
  filters = !this.isFile;
  comparesRanges = !this.isFile && this.data.before === null;
  private views = this.viewsThere();
  private tabs: { view: View; link: HTMLAnchorElement }[] = []; /* of the views */
  private shown: HTMLIFrameElement | null = null; /* the frame of the report that is shown */
  private flame: { graph: Flame; question: string } | null = null;
  private unwanted = new AbortController(); /* ends what belongs to the view before the latest */
  private answers = new Map<string, Promise<unknown>>();
  private content = byId("content");
  private said: string[] = []; /* what the command line would have said beside the latest reports */
  private asked = 0; /* counts questions: only the latest answer is shown */
  private menu = new Menu(this.isFile, () => this.state, (state) => this.go(state));

  constructor() {
    this.showTitle();
    byId("brand").title = `pitot ${this.data.version}`;
    if (!this.isFile) new Downloads(this.data.title, () => this.state, (e) => this.showReport(() => Promise.reject(e)));
    if (!this.isFile && this.data.files > 0) new Questions(() => this.state, (address) => this.go(State.of(new URL(address), false)));
    if (this.isFile) new Files(false, (file) => this.openHere(file));
    else if (this.data.files > 0) new Files(true, (file, as) => this.open(file, as));
    byId<HTMLDetailsElement>("filters").open = window.matchMedia("(min-width: 701px)").matches;
    byId("filters").hidden = this.isFile;
    this.listEvents();
    this.listen();
    this.show();
    this.lookAgain(0);
  }

  /* ---- A profile that grows ---- */

  private showLive(live: Live): void {
    const text = { files: "live", recording: `recording, ${live.seconds ?? 0} s`, ended: "ended" }[live.state];
    byId("live").hidden = false;
    byId("live").textContent = text;
    byId("live").toggleAttribute("data-on", live.state !== "ended");
  }

  private lookAgain(delay = LOOK_AGAIN_MS): void {
    const { live } = this.data;
    if (live === null) return;
    this.showLive(live);
    if (live.state === "ended") return;
    window.setTimeout(() => {
      this.look(live).then(
        () => this.lookAgain(),
        () => {
          byId("live").textContent = "pitot has ended";
          byId("live").removeAttribute("data-on");
        }
      );
    }, delay);
  }

  /* Asks for new samples. While the page is in use, it does not show them; a later call does. */
  private async look(before: Live): Promise<void> {
    if (document.hidden) return;
    const response = await fetch(`${ROOT}/again`, { method: "POST" });
    if (!response.ok) return; /* too many reports at once */
    const now = (await response.json()) as Data & { live: Live };
    const { live } = now;
    if (live.growth === before.growth || (await this.renew(now).catch(() => true))) this.data = { ...this.data, ...now };
    else this.data.live = { ...live, growth: before.growth, state: live.state === "ended" ? before.state : live.state };
  }

  /* The same view of what is there now, with its scrolling, and the keyboard where it was. False: not now. */
  private async renew(now: Data): Promise<boolean> {
    const question = this.asked;
    const isInUse = (): boolean => {
      const types = document.activeElement instanceof HTMLInputElement && this.flame === null && this.content.contains(document.activeElement);
      return types || question !== this.asked || !byId("selection").hidden || document.documentElement.dataset.ready === undefined;
    };
    if (isInUse()) return false;
    this.answers.clear();
    if (this.data.events.length === 0) {
      this.data = { ...this.data, ...now };
      this.showReport(); /* its first samples */
    } else if (this.state.view.name === "graph") {
      /* a picture would flicker */
    } else if (this.flame !== null) {
      const { graph } = this.flame;
      const data = checkedData(await this.ask<FlameData>("flame", FLAME));
      if (isInUse()) return false;
      graph.renew(data);
      this.content.querySelector(".facts")?.replaceChildren(...graph.facts().map((fact) => element("li", "", fact)));
    } else if (this.state.view.name === "flamegraph") {
      this.showReport(); /* the query matched nothing until now */
    } else {
      const made = await (this.state.waits() ? this.picker() : this.viewOf(this.state.view)());
      if (isInUse()) return false;
      const scrolled = [...this.content.querySelectorAll(".scroll, .side")].map((e) => [e.scrollLeft, e.scrollTop]);
      const focused = document.activeElement instanceof HTMLElement && this.content.contains(document.activeElement) ? document.activeElement.dataset.name : undefined;
      this.content.replaceChildren(...made);
      this.content.querySelectorAll(".scroll, .side").forEach((e, i) => e.scrollTo(scrolled[i]?.[0] || 0, scrolled[i]?.[1] || 0));
      const names = [...this.content.querySelectorAll<HTMLElement>("[data-name]")];
      if (focused !== undefined) names.find((e) => e.dataset.name === focused)?.focus();
    }
    this.data = { ...this.data, ...now };
    this.views = this.viewsThere();
    this.showTitle();
    this.showViews();
    this.listEvents();
    byId<HTMLSelectElement>("event").value = this.eventChoice(this.state.get("si"));
    this.mark();
    document.documentElement.dataset.renewed = String(Number(document.documentElement.dataset.renewed || "0") + 1);
    return true;
  }

  private showTitle(): void {
    const { title, before, query } = this.data;
    document.title = `${title} – pitot`;
    byId("title").textContent = before ? `${before} → ${title}` : title;
    if (query) byId("title").append(element("span", "quiet", ` ${query}`));
  }

  private viewsThere(): View[] {
    if (this.local !== null) return VIEWS.filter((v) => ["flamegraph", "top", "tree", "peek"].includes(v.name));
    return VIEWS.filter((v) => !this.isFile || v.name !== "graph").filter(
      (v) => v.needs === undefined || (v.needs === "base" ? this.data.before !== null || (this.comparesRanges && this.state.get("base-time") !== "") : this.data.times || this.holds("timeline"))
    );
  }

  private holds(report: string): boolean {
    return this.data.answers !== undefined && this.data.answers[report] !== undefined;
  }

  /* ---- The controls ---- */

  private listEvents(): void {
    const { events, event } = this.data;
    const select = byId<HTMLSelectElement>("event");
    byId("event-label").hidden = events.length < 2 || (this.isFile && this.local === null);
    select.replaceChildren();
    events.forEach(({ type, unit }, i) => {
      const option = element("option", "", `${type} (${unit})`) as HTMLOptionElement;
      option.value = i === event ? "" : String(i);
      select.append(option);
    });
  }

  private listen(): void {
    const event = byId<HTMLSelectElement>("event");
    event.addEventListener("change", () => this.go(this.state.asking({ si: event.value })));
    byId("query").addEventListener("submit", (e) => {
      e.preventDefault();
      this.applyFields();
    });
    for (const name of FIELDS) byId(name).addEventListener("change", () => this.applyFields());
    byId("mine").addEventListener("click", () => this.go(this.state.asking({ mine: this.state.get("mine") === "" ? "1" : "" })));
    for (const name of CHOICES) {
      const choice = byId<HTMLSelectElement>(name);
      choice.addEventListener("change", () => this.go(this.state.asking({ [name]: choice.value })));
    }
    byId("clear").addEventListener("click", () => this.go(new State(this.state.view, new URLSearchParams())));
    byId("pattern").addEventListener("submit", (e) => {
      e.preventDefault();
      this.go(this.state.with({ p: byId<HTMLInputElement>("p").value }));
    });
    window.addEventListener("popstate", () => this.arrive());
    window.addEventListener("hashchange", () => this.arrive());
    /* Pictures in frames tell which function was clicked. Their origin is opaque: the window tells who it is. */
    window.addEventListener("message", (e) => {
      if (this.shown === null || e.source !== this.shown.contentWindow) return;
      if (typeof e.data !== "object" || e.data === null) return;
      const box = this.shown.getBoundingClientRect();
      if (typeof e.data.pitotFunction === "string") this.choose(e.data.pitotFunction, { x: box.left + 8, y: box.top + 8 });
    });
    document.addEventListener("keydown", (e) => this.key(e));
    /* Before the graph hears it: there Esc would take back the zoom, too. */
    document.addEventListener(
      "keydown",
      (e) => {
        if (e.key !== "Escape" || !this.menu.close()) return;
        e.preventDefault();
        e.stopPropagation();
      },
      true
    );
  }

  private key(e: KeyboardEvent): void {
    if (e.ctrlKey || e.metaKey || e.altKey || e.target instanceof HTMLInputElement) return;
    if (e.key === "/" && this.flame === null && !this.isFile) {
      byId<HTMLDetailsElement>("filters").open = true;
      byId("f").focus();
    } else if (e.key === "Escape") {
      this.choose("", null);
    } else {
      return;
    }
    e.preventDefault();
  }

  /* The server reads the file, and leads to where it is shown. */
  private open(file: File, as: As): void {
    this.showReport(async () => {
      this.content.replaceChildren(element("p", "note", `Reading ${file.name} …`));
      window.location.assign(await upload(`${ROOT}/file`, file, as, this.data.files));
      return new Promise(() => undefined); /* the next page ends this one */
    });
  }

  /* The page of a file reads another by itself. */
  private openHere(file: File): void {
    this.showReport(async () => {
      this.content.replaceChildren(element("p", "note", `Reading ${file.name} …`));
      const profile = await readProfile(file).catch((e) => {
        const damaged = e instanceof SyntaxError || e instanceof TypeError || e instanceof RangeError;
        throw new Error(`${file.name}: ${damaged ? "it is damaged" : e.message}`);
      });
      this.local = { profile, answers: new Map() };
      this.data = { ...this.data, title: file.name, before: null, query: "", times: false, events: profile.events, event: profile.event };
      this.answers.clear();
      this.views = this.viewsThere();
      this.showTitle();
      this.listEvents();
      this.go(new State(VIEWS[0], new URLSearchParams()));
      return [];
    });
  }

  private readLocal(route: string, pattern: string): unknown {
    if (this.local === null) return undefined;
    const { profile, answers } = this.local;
    const event = this.state.get("si") === "" ? profile.event : Number(this.state.get("si"));
    if (profile.events[event] === undefined) throw new Error("The file has no such value.");
    const inverted = this.state.get("inverted") !== "";
    const key = `${event} ${inverted}`;
    let made = answers.get(key);
    if (made === undefined) answers.set(key, (made = new LocalAnswers(this.data.title, profile, event, inverted)));
    this.said.push(...(profile.notes || []));
    return made.answer(route, pattern);
  }

  private applyFields(): void {
    const changes: Record<string, string> = {};
    for (const name of FIELDS) changes[name] = byId<HTMLInputElement>(name).value;
    const differs = FIELDS.some((name) => changes[name] !== this.state.get(name));
    this.go(differs ? this.state.asking(changes) : this.state);
  }

  /* One function is chosen in all views; at: where its menu opens. */
  choose(name: string, at: HTMLElement | { x: number; y: number } | null): void {
    this.keep({ sel: name });
    this.mark();
    if (name !== "" && at !== null) this.menu.open(name, at);
    else this.menu.close();
  }

  /* Shows which names are the chosen one. */
  private mark(): void {
    const chosen = this.state.get("sel");
    for (const made of this.content.querySelectorAll<HTMLElement>("[data-name]")) {
      if (chosen !== "" && made.dataset.name === chosen) made.setAttribute("aria-current", "true");
      else made.removeAttribute("aria-current");
    }
  }

  /* ---- Where we are ---- */

  private isHere(address: string): boolean {
    return address === (this.isFile ? window.location.hash : window.location.pathname + window.location.search);
  }

  go(state: State): void {
    const address = state.address(this.isFile);
    if (!this.isHere(address)) window.history.pushState(null, "", address);
    this.state = state;
    this.show();
  }

  keep(changes: Record<string, string>): void {
    this.state = this.state.with(changes);
    const address = this.state.address(this.isFile);
    if (this.isHere(address)) return;
    window.history.replaceState(null, "", address);
    this.showViews();
  }

  /* By Back, Forward or an address that was typed. */
  private arrive(): void {
    const before = this.state.address(this.isFile);
    this.state = State.of(window.location, this.isFile);
    if (this.state.address(this.isFile) === before) return;
    this.menu.close();
    if (this.flame !== null && this.state.view.name === "flamegraph" && this.flame.question === this.flameQuestion()) {
      this.flame.graph.restore();
      this.mark();
    } else {
      this.show();
    }
  }

  private show(): void {
    const { state } = this;
    for (const name of FIELDS) byId<HTMLInputElement>(name).value = state.get(name);
    byId<HTMLInputElement>("p").value = state.get("p");
    byId<HTMLSelectElement>("event").value = this.eventChoice(state.get("si"));
    byId("pattern").hidden = state.view.pattern !== true || this.isFile;
    this.views = this.viewsThere();
    this.showViews();
    this.showConditions();
    this.menu.close();
    this.showReport();
  }

  /* The parameter may be a number or a type. */
  private eventChoice(asked: string): string {
    const { events, event } = this.data;
    const at = events.findIndex(({ type, unit }, i) => [String(i), type, `${type}/${unit}`].includes(asked));
    return at < 0 || at === event ? "" : String(at);
  }

  /* The address is that of now; a click asks where it leads then. */
  private link(title: string, there: () => State): HTMLAnchorElement {
    const link = element("a", "", title) as HTMLAnchorElement;
    link.href = there().address(this.isFile);
    link.addEventListener("click", (e) => {
      if (e.ctrlKey || e.metaKey || e.shiftKey || e.button !== 0) return;
      e.preventDefault();
      this.go(there());
    });
    return link;
  }

  private showViews(): void {
    const { views, tabs } = this;
    if (tabs.length !== views.length || tabs.some(({ view }, i) => view !== views[i])) {
      this.tabs = views.map((view) => ({ view, link: this.link(view.title, () => this.state.to(view)) }));
      byId("views").replaceChildren(...this.tabs.map(({ link }) => element("li", "", link)));
    }
    for (const { view, link } of this.tabs) {
      link.href = this.state.to(view).address(this.isFile);
      if (view === this.state.view) link.setAttribute("aria-current", "page");
      else link.removeAttribute("aria-current");
    }
  }

  /* What is asked, as breadcrumbs that can be taken away. */
  private showConditions(): void {
    const names = this.state.conditions();
    for (const name of CHOICES) byId<HTMLSelectElement>(name).value = this.state.get(name);
    byId("mine").setAttribute("aria-pressed", String(this.state.get("mine") !== ""));
    byId("filters-title").textContent = names.length === 0 ? "Filters" : `Filters (${names.length})`;
    byId("others").replaceChildren(
      ...names.map((name) => {
        const button = element("button", "", "✕");
        button.setAttribute("aria-label", `Without ${name}`);
        button.setAttribute("type", "button");
        button.addEventListener("click", () => this.go(this.state.asking({ [name]: "" })));
        return element("li", "", `${name}=${this.state.get(name)}`, button);
      })
    );
  }

  /* ---- The report ---- */

  /* Shows the view, or what is made instead of it. */
  private showReport(make?: () => Promise<Node[]>): void {
    const { state } = this;
    this.shown = null;
    this.flame = null;
    this.said = [];
    this.unwanted.abort();
    this.unwanted = new AbortController();
    const question = ++this.asked;
    delete document.documentElement.dataset.ready;
    this.content.setAttribute("aria-busy", "true");
    const answer = (made: Node[], then?: () => void): void => {
      if (question !== this.asked) return;
      this.content.setAttribute("aria-busy", "false");
      this.content.replaceChildren(...this.said.map((text) => element("p", "note", text)), ...made);
      if (then) then();
      this.mark();
      document.documentElement.dataset.ready = state.view.name;
    };
    const fail = (e: Error): void => answer([element("p", "problem", e.message)]);
    if (make) make().then(answer, fail);
    else if (this.data.events.length === 0 && this.data.live !== null) answer([note("Waiting for samples …")]);
    else if (state.waits()) this.picker().then(answer, fail);
    else if (state.view.name === "flamegraph") this.flameView(answer).catch(fail);
    else this.viewOf(state.view)().then(answer, fail);
  }

  private viewOf(view: View): () => Promise<Node[]> {
    const views: Record<string, () => Promise<Node[]>> = {
      diff: () => diffView(this),
      top: () => this.topTable(),
      tree: () => treeView(this),
      peek: () => peekView(this),
      source: () => sourceView(this),
      disasm: () => disasmView(this),
      graph: () => this.picture(),
      timeline: () => timeView(this),
      why: () => whyView(this),
      traces: () => tracesView(this),
      tags: () => tagsView(this),
      info: () => infoView(this),
    };
    return views[view.name];
  }

  /* The answer of a report; what the server says is wrong is thrown. */
  ask<T>(route: string, options: Record<string, string> = {}): Promise<T> {
    const shape: Record<string, string> = route === "flame" ? {} : { json: "1" };
    const address = this.state.question(route, { ...shape, ...options });
    const known = this.answers.get(address);
    if (known !== undefined) return known as Promise<T>;
    const answer = this.isFile ? this.read(route, options) : this.fetch(address);
    this.answers.set(address, answer);
    answer.catch(() => this.answers.delete(address));
    for (const old of this.answers.keys()) if (this.answers.size > KEPT_ANSWERS) this.answers.delete(old);
    return answer as Promise<T>;
  }

  /* A report that the file holds. */
  private async read(route: string, options: Record<string, string>): Promise<unknown> {
    if (this.local !== null) return this.readLocal(route, options.p || "");
    const conditions = this.state.conditions().filter((name) => name !== "time" || route !== "timeline");
    if (conditions.length > 0 || options.normalize !== undefined) {
      throw new Error("This file has one answer to each question. Open the profile with pitot serve to filter and normalize.");
    }
    const turned = (route === "flame" || route === "tree") && this.state.get("inverted") !== "";
    const found = this.data.answers?.[turned ? `${route} inverted` : route];
    const byName = options.p === undefined ? undefined : (found as Record<string, unknown> | undefined);
    const name = byName && Object.keys(byName).find((n) => exactly(n) === options.p || n === options.p);
    const answer = options.p === undefined ? found : name && byName && byName[name];
    if (answer === undefined) throw new Error("This file does not hold that report. Open the profile with pitot serve.");
    return answer;
  }

  private async fetch(address: string): Promise<unknown> {
    let response: Response;
    const { signal } = this.unwanted;
    let answered = false;
    signal.addEventListener("abort", () => answered || this.answers.delete(address));
    try {
      response = await fetch(address, { signal });
    } catch (e) {
      throw new Error("pitot serve does not answer: has it ended?");
    }
    if (!response.ok) throw new Error((await response.text()).trim());
    const said = decoded(response.headers.get("Pitot-Said") || "");
    if (said !== "") this.said.push(said);
    const answer = await response.json();
    answered = true;
    return answer;
  }

  private async topTable(): Promise<Node[]> {
    const report = await this.ask<TopReport>("top", { rows: TABLE_ROWS });
    return [element("div", "scroll", new Table(this, report).root)];
  }

  private flameQuestion(): string {
    return this.state.question("flame", {});
  }

  private async flameView(answer: (made: Node[], then: () => void) => void): Promise<void> {
    const question = this.flameQuestion();
    const data = checkedData(await this.ask<FlameData>("flame", FLAME));
    const { signal } = this.unwanted;
    const part = (byId<HTMLTemplateElement>("flame-part").content.cloneNode(true) as DocumentFragment).children;
    const toggle = (option: string, text: string, title: string): HTMLElement => {
      const on = this.state.get(option) !== "";
      const button = element("button", "", text);
      button.setAttribute("aria-pressed", String(on));
      button.title = title;
      button.addEventListener("click", () => this.go(this.state.with({ [option]: on ? "" : "t", zoom: "" })));
      return button;
    };
    const buttons = [toggle("inverted", "Inverted", "What runs, with its callers")];
    if (this.data.times && !this.isFile) buttons.unshift(toggle("in-order", "In order of time", "Boxes in the order of time, thread by thread"));
    const facts = element("ul", "facts");
    answer([facts, element("div", "flame-graph", ...Array.from(part))], () => {
      byId("buttons").prepend(...buttons);
      const graph = new Flame(
        data,
        {
          read: () => readPlace((name) => this.state.get(name)),
          write: (place, step) => {
            const state = this.state.with(placeParameters(place));
            const address = state.address(this.isFile);
            this.state = state;
            if (this.isHere(address)) return;
            if (step) window.history.pushState(null, "", address);
            else window.history.replaceState(null, "", address);
            this.showViews();
          },
          chosen: (name, x, y) => this.choose(name, name === "" ? null : { x, y }),
          more: this.isFile ? undefined : (below) => this.ask("flame", { ...FLAME, ...below }),
        },
        signal
      );
      facts.replaceChildren(...graph.facts().map((fact) => element("li", "", fact)));
      this.flame = { graph, question };
    });
  }

  /* A picture of its own, or the server's words why there is none. */
  private async picture(): Promise<Node[]> {
    const made = element("iframe", "picture") as HTMLIFrameElement;
    made.title = this.state.view.title;
    made.setAttribute("sandbox", "allow-scripts"); /* names of a profile may be anything: no origin, no navigation */
    this.shown = made;
    made.src = this.state.question("graph", {});
    return [made];
  }

  private async picker(): Promise<Node[]> {
    const { rows } = await this.ask<TopReport>("top", { rows: PICKED_ROWS });
    const links = rows.map((row) => element("li", "", this.link(row.name, () => this.state.with({ p: exactly(row.name) }))));
    return [
      element("p", "note", "Of which function? Name it above, or take one of those that take most:"),
      element("ul", "picker", ...links),
    ];
  }
}


try {
  new App();
} catch (e) {
  const text = e instanceof Error ? e.message : String(e);
  document.body.replaceChildren(element("p", "problem", `This page cannot be shown: ${text}`));
}
