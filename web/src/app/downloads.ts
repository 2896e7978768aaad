/* downloads.ts: what is shown as files: the profile, the samples of the query, pictures, and the table. */

import { byId, element } from "../dom";
import { ROOT, State } from "./state";

interface Download {
  title: string;
  help: string;
  end: string; /* of the file's name */
  from(state: State, more: Record<string, string>): string; /* its address; more: options */
  becomesPng?: boolean; /* the address has an SVG picture */
}

type Options = Record<string, string>;

const PRIVATE: Options = { private: "t" };
const flame = (state: State, more: Options): string => state.question("flame.svg", more);
const samples = (state: State, to: string, more: Options): string => state.question("filter", { to, ...more });
/* The file as it was read; without private data it is a profile of all samples. */
const whole = (_state: State, more: Options): string =>
  `${ROOT}/${more.private === undefined ? "download" : `api/filter?${new URLSearchParams({ to: "pprof", ...more })}`}`;

const DOWNLOADS: Download[] = [
  { title: "Whole profile", help: "profile.proto", end: ".pb.gz", from: whole },
  { title: "These samples", help: "profile.proto", end: ".part.pb.gz", from: (s, more) => samples(s, "pprof", more) },
  { title: "These samples", help: "for speedscope", end: ".speedscope.json", from: (s, more) => samples(s, "speedscope", more) },
  { title: "These samples", help: "folded stacks", end: ".folded", from: (s, more) => samples(s, "folded", more) },
  { title: "Flame graph", help: "SVG", end: ".svg", from: flame },
  { title: "Flame graph", help: "PNG", end: ".png", from: flame, becomesPng: true },
  { title: "Call graph", help: "SVG", end: ".graph.svg", from: (s, more) => s.question("graph", more) },
  { title: "Table", help: "CSV", end: ".csv", from: (s, more) => s.question("top", { csv: "t", rows: "0", ...more }) },
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
  private removes = element("input", "") as HTMLInputElement; /* private data */

  /* title: of the profile. failed: shows why there is no file. */
  constructor(private title: string, private state: () => State, private failed: (e: Error) => void) {
    this.root.hidden = false;
    this.removes.type = "checkbox";
    const choice = element("label", "", this.removes, "without private data");
    choice.title = "Without folders, addresses, labels that are not pitot's, host, command line and comments";
    byId("download-list").replaceChildren(...DOWNLOADS.map((d) => element("li", "", this.link(d))), element("li", "", choice));
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
      link.href = d.from(this.state(), this.removes.checked ? PRIVATE : {});
    };
    point();
    this.removes.addEventListener("change", point);
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
