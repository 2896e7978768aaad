/* text.ts: a name made to fit its box. */

/* Shorter and shorter forms of one name, each still naming the function: without its arguments, without
 * template arguments, without the path of its package, the last two parts, the last part. */
export function shorterForms(name: string): string[] {
  const forms = [name];
  const add = (form: string): void => {
    if (form !== "" && form.length < forms[forms.length - 1].length) forms.push(form);
  };
  const cxx = name.includes("::") || name.includes("<");
  if (cxx) add(withoutNested(name, "(", ")", true));
  if (cxx) add(withoutNested(forms[forms.length - 1], "<", ">", false));
  const last = forms[forms.length - 1];
  const slash = last.lastIndexOf("/", last.indexOf("(") >= 0 ? last.indexOf("(") : last.length);
  if (slash >= 0 && !last.startsWith("[")) add(last.slice(slash + 1));
  const path = forms[forms.length - 1].split("::");
  if (path.length > 2) add(path.slice(-2).join("::"));
  add(path[path.length - 1]);
  return forms;
}

/* "a<b<c>>::d" -> "a::d". Names such as operator< or "(anonymous namespace)" are left as they are. With
 * `lastOnly`, only what closes the name goes: the argument list and what follows it. */
function withoutNested(name: string, open: string, close: string, lastOnly: boolean): string {
  if (name.includes("operator")) return name;
  let level = 0;
  let kept = "";
  let lastOpen = -1;
  for (let i = 0; i < name.length; i++) {
    const c = name[i];
    if (c === open) {
      if (level++ === 0) lastOpen = i;
    } else if (c === close && name[i - 1] !== "-") {
      if (--level < 0) return name;
    } else if (level === 0) {
      kept += c;
    }
  }
  if (level !== 0) return name;
  if (!lastOnly) return kept;
  return lastOpen > 0 && !name.slice(lastOpen).includes("::") ? name.slice(0, lastOpen) : name;
}

/* The longest form of at most `most` characters, else the shortest. */
export function formWithin(name: string, most: number): string {
  const forms = shorterForms(name);
  return forms.find((form) => form.length <= most) || forms[forms.length - 1];
}

/* Measures text by adding up the widths of its characters, measured once each: kerning is ignored, which
 * errs on the wide side. */
export class Ruler {
  private widths = new Map<string, number>();
  private forms = new Map<string, string[]>();

  constructor(private measureOne: (text: string) => number) {}

  measure(text: string): number {
    let width = 0;
    for (const c of text) {
      let w = this.widths.get(c);
      if (w === undefined) {
        w = this.measureOne(c);
        this.widths.set(c, w);
      }
      width += w;
    }
    return width;
  }

  /* The longest form of `name` that fits, cut with "…" when none does; "" when not even three
   * characters would be left. */
  fit(name: string, room: number): string {
    let forms = this.forms.get(name);
    if (forms === undefined) {
      forms = shorterForms(name);
      this.forms.set(name, forms);
    }
    for (const form of forms) {
      if (form.length * 2 < room && this.measure(form) <= room) return form;
    }
    const last = forms[forms.length - 1];
    const dots = this.measure("…");
    let width = 0;
    let cut = "";
    for (const c of last) {
      width += this.measure(c);
      if (width + dots > room) break;
      cut += c;
    }
    return cut.length >= 3 ? cut + "…" : "";
  }
}
