/* assemble.mjs WORK OUT: puts the bundles in WORK into the template and the picture's style; called by web/build.
 *
 * The page's policy lets exactly this script and this style run and nothing be fetched. */
import { createHash } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const [work, out] = process.argv.slice(2);
const read = (name) => readFileSync(join(work, name), "utf8").trimEnd();
const hash = (text) => `'sha256-${createHash("sha256").update(text).digest("base64")}'`;

const script = read("main.js");
const style = read("style.css");
if (/<\/(script|style)/i.test(script + style)) throw new Error("the bundle would end its own element");
const parts = {
  POLICY: `default-src 'none'; base-uri 'none'; form-action 'none'; script-src ${hash(script)}; style-src ${hash(style)}`,
  STYLE: style,
  SCRIPT: script,
};
let page = readFileSync("flame.html", "utf8");
for (const [name, text] of Object.entries(parts)) page = page.replace(`@@${name}@@`, () => text);
if (page.split("@@DATA@@").length !== 2 || /@@(?!DATA@@)[A-Z]+@@/.test(page)) {
  throw new Error("the page must hold exactly one marker, @@DATA@@");
}
writeFileSync(join(out, "flame.html"), page);

/* The picture's palette as plain classes: viewers that know no variables still show colours. */
const { HUES, SHADES, boxColour } = await import(pathToFileURL(join(work, "palette.mjs")));
const rules = (dark) => {
  const made = [];
  for (let c = 0; c < HUES * SHADES; c++) {
    const [hue, shade] = [Math.floor(c / SHADES), c % SHADES];
    made.push(`.c${c}{fill:${boxColour(dark, "function", hue, shade)}}`);
    made.push(`.inlined .c${c}{fill:${boxColour(dark, "inlined", hue, shade)}}`);
  }
  made.push(`.kernel rect{fill:${boxColour(dark, "kernel", 0, 1)}}`);
  made.push(`.unresolved rect{fill:${boxColour(dark, "unresolved", 0, 1)}}`);
  return made.join("");
};
const svgStyle = `${rules(false)}@media (prefers-color-scheme:dark){${rules(true)}}${read("svg.css")}`;
const svgScript = read("svg.js");
if ((svgStyle + svgScript).includes("]]>")) throw new Error("the picture's style or script would end its CDATA");
writeFileSync(join(out, "flame_svg.css"), `${svgStyle}\n`);
writeFileSync(join(out, "flame_svg.js"), `${svgScript}\n`);
