/* questions.ts: views that are kept under a name. The server keeps their addresses below /ui/, for all profiles. */

import { byId, element } from "../dom";
import { ROOT, State } from "./state";

interface Question {
  name: string;
  at: string; /* "top?f=parse" */
}

const PREFIX = "/ui/";

async function ask(words: Record<string, string> | null): Promise<{ list: Question[]; said: string }> {
  const response = await fetch(`${ROOT}/questions${words === null ? "" : `?${new URLSearchParams(words)}`}`, words === null ? {} : { method: "POST" }).catch(() => {
    throw new Error("pitot serve does not answer: has it ended?");
  });
  if (!response.ok) throw new Error((await response.text()).trim());
  return { list: ((await response.json()) as { questions: Question[] }).questions, said: response.headers.get("Pitot-Said") || "" };
}

export class Questions {
  private root = byId<HTMLDetailsElement>("questions");
  private name = byId<HTMLInputElement>("question-name");

  /* go: shows a state; its view and parameters are those of the address. */
  constructor(private state: () => State, private go: (path: string) => void) {
    this.root.hidden = false;
    this.root.addEventListener("toggle", () => this.root.open && this.change(null));
    byId("keep-question").addEventListener("submit", (e) => {
      e.preventDefault();
      const at = this.state().address(false).slice(ROOT.length + PREFIX.length);
      this.change({ name: this.name.value.trim(), at }).then((done) => done && (this.name.value = ""));
    });
    this.root.addEventListener("keydown", (e) => {
      if (e.key !== "Escape" || !this.root.open) return;
      e.stopPropagation();
      this.root.open = false;
      this.root.querySelector("summary")?.focus();
    });
    document.addEventListener("pointerdown", (e) => {
      if (!this.root.contains(e.target as Node)) this.root.open = false;
    });
  }

  /* Keeps, removes, or only looks; then shows the list, or why not. False: it failed. */
  private async change(words: Record<string, string> | null): Promise<boolean> {
    try {
      const { list, said } = await ask(words);
      byId("question-list").replaceChildren(...list.map((q) => this.item(q)));
      this.say(said === "" && list.length === 0 ? "None is kept yet." : decodeURIComponent(said));
      return true;
    } catch (e) {
      this.say((e as Error).message);
      return false;
    }
  }

  private say(text: string): void {
    byId("question-said").textContent = text;
  }

  private item({ name, at }: Question): HTMLElement {
    const link = element("a", "", name) as HTMLAnchorElement;
    link.href = `${ROOT}${PREFIX}${at}`;
    link.addEventListener("click", (e) => {
      if (e.ctrlKey || e.metaKey || e.shiftKey) return;
      e.preventDefault();
      this.root.open = false;
      this.go(link.href);
    });
    const remove = element("button", "", "×");
    remove.setAttribute("type", "button");
    remove.setAttribute("aria-label", `Remove ${name}`);
    remove.addEventListener("click", () => this.change({ name, at: "" }));
    return element("li", "", link, remove);
  }
}
