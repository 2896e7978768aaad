// Functions that V8 makes and drops all the time. Their names tell who calls whom, and their lines: SORT_NUMBER_LINE. A leaf is
// called by the mid of its number, that by its top. `forgotten` ones stand in one script, and V8 drops what it has compiled of them
// (node --expose-gc --stress-flush-code), `made` ones have a script each.
function spin(ms) {
  const end = process.hrtime.bigint() + BigInt(Math.round(ms * 1e6));
  let x = 0;
  while (process.hrtime.bigint() < end) for (let i = 0; i < 200; i++) x = (x * 31 + i) | 0;
  return x;
}
let text = 'const all = [];\n';
for (let k = 0; k < 400; k++) {
  const line = 2 * k + 4, inner = line + 1;
  text += `all.push(function top_${k}_${line}(s) { function mid_${k}_${line}(s) {\n` +
    `function leaf_${k}_${inner}(s) { return s() + 1 } return leaf_${k}_${inner}(s) + ${k} } return mid_${k}_${line}(s) + 1 });\n`;
}
const forgotten = new Function(text + 'return all')();
const made = [];
let garbage = [], count = 1000;
function make() {
  const k = count++, lines = k % 37;
  return new Function('\n'.repeat(lines) + `const o = {};
function leaf_${k}_${lines + 4}(s) { return s() + 1 }
function mid_${k}_${lines + 5}(s) { const v = leaf_${k}_${lines + 4}(s); o.x = v; return v }
return function top_${k}_${lines + 6}(s) { return mid_${k}_${lines + 5}(s) + 1 }`)();
}
for (let round = 0; ; round++) {
  for (let i = 0; i < 20; i++) {
    forgotten[Math.floor(Math.random() * forgotten.length)](() => spin(0.3));
    made[round % 100 * 20 + i] = make();
    made[Math.floor(Math.random() * made.length)]?.(() => spin(0.3));
  }
  for (let i = 0; i < 2000; i++) garbage.push({ i, s: 'x' + i, a: [i, i, i] });
  if (garbage.length > 50000) garbage = [];
  if (globalThis.gc && round % 3 === 0) gc();
}
