/* files.ts: profiles that are dropped on the page, or chosen: shown by themselves, or compared with the one that is there. */

import { byId, element } from "../dom";

export type As = "" | "before" | "after";

const CHOICES: { as: As; title: string; help: string }[] = [
  { as: "", title: "Open", help: "shown by itself" },
  { as: "before", title: "Compare: it is before", help: "changes from it to what is shown" },
  { as: "after", title: "Compare: it is after", help: "changes from what is shown to it" },
];

export class Files {
  private root = byId("files");
  private picker = byId<HTMLInputElement>("file");
  private as: As = "";
  private from: HTMLElement | null = null;

  constructor(compares: boolean, private take: (file: File, as: As) => void) {
    const choices = CHOICES.filter(({ as }) => as === "" || compares).map(({ as, title, help }) => {
      const button = element("button", "", element("strong", "", title), element("span", "quiet", help));
      button.setAttribute("type", "button");
      button.dataset.as = as;
      button.addEventListener("click", () => {
        this.as = as;
        this.picker.click();
      });
      return button;
    });
    byId("choices").replaceChildren(...choices);
    byId("open").hidden = false;
    byId("open").addEventListener("click", () => this.show(true));
    byId("close-files").addEventListener("click", () => this.close());
    this.picker.addEventListener("change", () => {
      const file = this.picker.files?.[0];
      this.close();
      if (file) this.take(file, this.as);
      this.picker.value = "";
    });
    this.root.addEventListener("keydown", (e) => {
      if (e.key !== "Escape") return;
      e.stopPropagation();
      this.close();
    });
    this.listen();
  }

  private listen(): void {
    const brings = (e: DragEvent): boolean => e.dataTransfer !== null && [...e.dataTransfer.types].includes("Files");
    document.addEventListener("dragenter", (e) => brings(e) && this.show(false));
    document.addEventListener("dragover", (e) => {
      if (!brings(e)) return;
      e.preventDefault();
      this.show(false);
      const over = this.choice(e);
      for (const button of this.root.querySelectorAll("[data-as]")) button.classList.toggle("over", button === over);
    });
    document.addEventListener("dragleave", (e) => e.relatedTarget === null && this.close());
    document.addEventListener("drop", (e) => {
      if (!brings(e)) return;
      e.preventDefault();
      const file = e.dataTransfer?.files[0];
      const as = (this.choice(e)?.dataset.as || "") as As;
      this.close();
      if (file) this.take(file, as);
    });
  }

  private choice(e: DragEvent): HTMLElement | null {
    return e.target instanceof Element ? e.target.closest<HTMLElement>("[data-as]") : null;
  }

  private show(byHand: boolean): void {
    if (byHand) this.from = byId("open");
    if (!this.root.hidden) return;
    this.root.hidden = false;
    if (byHand) (this.root.querySelector("button") as HTMLElement).focus();
  }

  private close(): void {
    this.root.hidden = true;
    this.from?.focus();
    this.from = null;
  }
}

/* Hands a file to the server, which leads to the address where it is shown. */
export async function upload(address: string, file: File, as: As, most: number): Promise<string> {
  const words = new URLSearchParams({ name: file.name, as });
  if (file.size > most) throw new Error(`${file.name} is larger than the page takes: name it on the command line, pitot serve FILE.`);
  const response = await fetch(`${address}?${words}`, { method: "POST", body: file }).catch(() => {
    throw new Error("pitot serve does not answer: has it ended?");
  });
  if (!response.ok) throw new Error((await response.text()).trim());
  return ((await response.json()) as { at: string }).at;
}
