/* downloads.ts: what is shown as files: the profile, the samples of the query, pictures, and the table. */

import { byId, element } from "../dom";
import { ROOT, State } from "./state";

interface Download {
  title: string;
  help: string;
  end: string; /* of the file's name */
  from(state: State): string; /* its address */
  becomesPng?: boolean; /* the address has an SVG picture */
}

const flame = (state: State): string => state.question("flame.svg", {});
const samples = (state: State, to: string): string => state.question("filter", { to });

const DOWNLOADS: Download[] = [
  { title: "Whole profile", help: "profile.proto", end: ".pb.gz", from: () => `${ROOT}/download` },
  { title: "These samples", help: "profile.proto", end: ".part.pb.gz", from: (s) => samples(s, "pprof") },
  { title: "These samples", help: "for speedscope", end: ".speedscope.json", from: (s) => samples(s, "speedscope") },
  { title: "These samples", help: "folded stacks", end: ".folded", from: (s) => samples(s, "folded") },
  { title: "Flame graph", help: "SVG", end: ".svg", from: flame },
  { title: "Flame graph", help: "PNG", end: ".png", from: flame, becomesPng: true },
  { title: "Call graph", help: "SVG", end: ".graph.svg", from: (s) => s.question("graph", {}) },
  { title: "Table", help: "CSV", end: ".csv", from: (s) => s.question("top", { csv: "t", rows: "0" }) },
];

const PNG_SCALE = 2; /* sharp on screens of twice as many dots */

/* A picture that the server made as dots. */
async function pngOf(address: string): Promise<string> {
  const response = await fetch(address);
  if (!response.ok) throw new Error((await response.text()).trim());
  const picture = URL.createObjectURL(new Blob([await response.text()], { type: "image/svg+xml" }));
  try {
    const image = new Image();
    image.src = picture;
    await image.decode();
    const canvas = element("canvas", "") as HTMLCanvasElement;
    canvas.width = PNG_SCALE * image.naturalWidth;
    canvas.height = PNG_SCALE * image.naturalHeight;
    canvas.getContext("2d")?.drawImage(image, 0, 0, canvas.width, canvas.height);
    const dots = await new Promise<Blob | null>((give) => canvas.toBlob(give, "image/png"));
    if (dots === null) throw new Error("The picture is too large for a PNG; take the SVG.");
    return URL.createObjectURL(dots);
  } finally {
    URL.revokeObjectURL(picture);
  }
}

export class Downloads {
  private root = byId<HTMLDetailsElement>("downloads");

  /* title: of the profile. failed: shows why there is no file. */
  constructor(private title: string, private state: () => State, private failed: (e: Error) => void) {
    this.root.hidden = false;
    byId("download-list").replaceChildren(...DOWNLOADS.map((d) => element("li", "", this.link(d))));
    this.root.addEventListener("keydown", (e) => {
      if (e.key !== "Escape" || !this.root.open) return;
      e.stopPropagation();
      this.close();
      this.root.querySelector("summary")?.focus();
    });
    document.addEventListener("pointerdown", (e) => {
      if (!this.root.contains(e.target as Node)) this.close();
    });
  }

  private close(): void {
    this.root.open = false;
  }

  private link(d: Download): HTMLAnchorElement {
    const link = element("a", "", d.title, element("span", "quiet", ` ${d.help}`)) as HTMLAnchorElement;
    link.download = this.title.replace(/^.*\//, "").replace(/(\.pb)?(\.gz)?$/, "") + d.end;
    const point = (): void => {
      link.href = d.from(this.state());
    };
    point();
    this.root.addEventListener("toggle", point);
    link.addEventListener("click", (e) => {
      this.close();
      if (d.becomesPng !== true || link.href.startsWith("blob:")) return;
      e.preventDefault();
      pngOf(link.href).then((address) => {
        link.href = address;
        link.click();
        point();
      }, this.failed);
    });
    return link;
  }
}
