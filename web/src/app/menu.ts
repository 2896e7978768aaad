/* menu.ts: the menu of a name: to other views of the function, and what may be done to samples and frames. */

import { byId, element } from "../dom";
import { exactly } from "./page";
import { State, View, VIEWS } from "./state";

const view = (name: string): View => VIEWS.find((v) => v.name === name) || VIEWS[0];

/* A condition that holds for this function as well as for those that are there. */
function also(state: State, parameter: string, pattern: string): Record<string, string> {
  const before = state.get(parameter);
  return { [parameter]: before === "" ? pattern : `${before}|${pattern}` };
}

interface Item {
  name: string; /* data-do */
  title: string;
  help: string;
  changes?: boolean; /* what is asked: a file has no other answers */
  to(state: State, pattern: string): State;
}

const condition = (name: string, title: string, help: string, parameter: string, adds: boolean): Item => ({
  name,
  title,
  help,
  changes: true,
  to: (state, pattern) =>
    state.asking(adds ? also(state, parameter, pattern) : { [parameter]: pattern }),
});

const ITEMS: Item[] = [
  { name: "flame", title: "Flame graph", help: "its boxes", to: (s, p) => s.to(view("flamegraph"), { find: p, regex: "1" }) },
  { name: "peek", title: "Callers, callees", help: "who calls it, what it calls", to: (s, p) => s.to(view("peek"), { p }) },
  { name: "source", title: "Source", help: "its lines", to: (s, p) => s.to(view("source"), { p }) },
  { name: "disasm", title: "Instructions", help: "its code", to: (s, p) => s.to(view("disasm"), { p }) },
  condition("focus", "Focus", "only samples through it", "f", false),
  condition("from", "Subtree", "it becomes the root", "sf", false),
  condition("ignore", "Drop", "no samples through it", "i", true),
  condition("hide", "Merge into callers", "its frames go, its time stays", "h", true),
  condition("prune", "Merge callees", "what it calls counts for it", "prunefrom", false),
];

export class Menu {
  private root = byId("selection");
  private from: HTMLElement | null = null; /* gets the keyboard back */
  private name = "";

  constructor(isFile: boolean, private state: () => State, private go: (state: State) => void) {
    const items = ITEMS.filter((item) => item.changes !== true || !isFile).map((item) => {
      const button = element("button", "", item.title, element("span", "quiet", item.help));
      button.setAttribute("role", "menuitem");
      button.setAttribute("type", "button");
      button.dataset.do = item.name;
      button.addEventListener("click", () => {
        const { name } = this;
        this.close();
        this.go(item.to(this.state(), exactly(name)));
      });
      return button;
    });
    byId("actions").replaceChildren(...items);
    this.root.addEventListener("keydown", (e) => this.key(e));
    document.addEventListener("pointerdown", (e) => {
      if (!this.root.hidden && !this.root.contains(e.target as Node)) this.close();
    });
  }

  open(name: string, at: HTMLElement | { x: number; y: number }): void {
    this.name = name;
    this.from = at instanceof HTMLElement ? at : null;
    byId("chosen").textContent = name;
    this.root.hidden = false;
    const box = at instanceof HTMLElement ? at.getBoundingClientRect() : null;
    const [x, y] = box ? [box.left, box.bottom + 4] : [(at as { x: number }).x + 4, (at as { y: number }).y + 4];
    const { offsetWidth, offsetHeight } = this.root;
    this.root.style.left = `${Math.max(4, Math.min(x, window.innerWidth - offsetWidth - 4))}px`;
    this.root.style.top = `${Math.max(4, Math.min(y, window.innerHeight - offsetHeight - 4))}px`;
    if (box) (this.root.querySelector("[role=menuitem]") as HTMLElement).focus();
  }

  /* True if it was open. */
  close(): boolean {
    if (this.root.hidden) return false;
    this.root.hidden = true;
    this.from?.focus();
    return true;
  }

  private key(e: KeyboardEvent): void {
    const items = [...this.root.querySelectorAll<HTMLElement>("[role=menuitem]")];
    const at = items.indexOf(document.activeElement as HTMLElement);
    const step = { ArrowDown: 1, ArrowRight: 1, ArrowUp: -1, ArrowLeft: -1 }[e.key];
    if (step !== undefined) items[(at + step + items.length) % items.length].focus();
    else if (e.key === "Home" || e.key === "End") items[e.key === "Home" ? 0 : items.length - 1].focus();
    else if (e.key === "Escape" || e.key === "Tab") this.close();
    else return;
    e.preventDefault();
    e.stopPropagation();
  }
}
