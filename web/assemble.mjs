/* assemble.mjs WORK OUT: puts the bundles in WORK into the pages and the picture's style; called by web/build.
 *
 * A page's policy lets exactly its own script and style run; only app.html may ask its server, and draw a
 * picture that it made of an answer. */
import { createHash } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const [work, out] = process.argv.slice(2);
const read = (name) => readFileSync(join(work, name), "utf8").trimEnd();
const hash = (text) => `'sha256-${createHash("sha256").update(text).digest("base64")}'`;

/* The page of that name, with its script and style; @@DATA@@ stays for the program. */
function assemble(name, scriptFile, styleFile, more) {
  const [script, style] = [read(scriptFile), read(styleFile)];
  if (/<\/(script|style)/i.test(script + style)) throw new Error("the bundle would end its own element");
  const parts = {
    POLICY: `default-src 'none'; base-uri 'none'; form-action 'none'; object-src 'none'; script-src ${hash(script)}; style-src ${hash(style)}${more}`,
    STYLE: style,
    SCRIPT: script,
  };
  let page = readFileSync(name, "utf8").replace("@@FLAME@@", () => readFileSync("flame_part.html", "utf8"));
  for (const [part, text] of Object.entries(parts)) page = page.replace(`@@${part}@@`, () => text);
  if (page.split("@@DATA@@").length !== 2 || /@@(?!DATA@@)[A-Z]+@@/.test(page)) {
    throw new Error("the page must hold exactly one marker, @@DATA@@");
  }
  writeFileSync(join(out, name), page);
}
assemble("flame.html", "main.js", "style.css", "");
assemble("app.html", "app.js", "app.css", "; connect-src 'self'; frame-src 'self'; img-src blob:");

/* The picture's palette as plain classes: viewers that know no variables still show colours. */
const { HUES, SHADES, boxColour, CHANGE_STEPS, changeColour } = await import(pathToFileURL(join(work, "palette.mjs")));
const rules = (dark) => {
  const made = [];
  for (let c = 0; c < HUES * SHADES; c++) {
    const [hue, shade] = [Math.floor(c / SHADES), c % SHADES];
    made.push(`.c${c}{fill:${boxColour(dark, "function", hue, shade)}}`);
    made.push(`.inlined .c${c}{fill:${boxColour(dark, "inlined", hue, shade)}}`);
  }
  for (let d = 0; d <= 2 * CHANGE_STEPS; d++) {
    const part = d / CHANGE_STEPS - 1;
    made.push(`g.b .d${d}{fill:${changeColour(dark, part * Math.abs(part))}}`);
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

/* Written as they are: into SVG as CDATA, into the page of weblist as elements of their own. */
const pictureScript = read("picture.js");
if (pictureScript.includes("]]>")) throw new Error("the graph's script would end its CDATA");
writeFileSync(join(out, "picture.js"), pictureScript);
const [listScript, listStyle] = [read("weblist.js"), read("weblist.css")];
if (/<\/(script|style)/i.test(listScript + listStyle)) throw new Error("a part of weblist would end its own element");
writeFileSync(join(out, "weblist.js"), listScript);
writeFileSync(join(out, "weblist.css"), listStyle);
