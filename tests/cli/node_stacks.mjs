// node_stacks.mjs EXPECTED MS: works for MS milliseconds of CPU time in each place that JavaScript is called from in a way of its own.
// There each place calls a function at_PLACE; EXPECTED gets the callers of each as `new Error().stack` has them, of the
// main thread and of a worker. A function stands in one line, so that the line of a call in it is its own.
import { createRequire } from 'node:module';
import { writeFileSync } from 'node:fs';
import { Worker, isMainThread, parentPort } from 'node:worker_threads';
Error.stackTraceLimit = 100;
const expected = {}, ms = Number(process.argv[3]), { run } = createRequire(import.meta.url)('./node_stacks.cjs');
function used() { const { user, system } = process.cpuUsage(); return (user + system) / 1000 }
function spin() { const end = used() + ms; let x = 0; while (used() < end) for (let i = 0; i < 300; i++) x = (x * 31 + i) | 0; return x }
function place(name) {
  const leaf = new Function('spin', `return function at_${name}() { return spin() + 1 }`)(spin);
  return function visit() { expected[name] = new Error().stack.split('\n').slice(2); return leaf() + 1 };
}
const P = new Proxy({}, { get: (t, k) => t[k] ||= place(k) });
function plain() { return P.plain() + 1 }
function recurse(n) { return n === 0 ? P.recursion() + 1 : recurse(n - 1) + 1 }
function closure() { const f = () => P.arrow() + 1; return f() + 1 }
class Shape {
  constructor() { this.v = P.constructor_() + 1 }
  area() { return P.method() + 1 }
  get size() { return P.getter() + 1 }
  static make() { return P.static_() + 1 }
  #hidden() { return P.private_() + 1 }
  callHidden() { return this.#hidden() + 1 }
}
class Square extends Shape {
  area() { return super.area() + 1 }
}
function* gen() { yield P.generator() + 1 }
async function waits() { await null; return P.async_() + 1 }
async function* gives() { await null; yield P.asyncgen() + 1 }
function mapper(x) { return P.mapped() + x }
function compare(a, b) { return P.sorted() + a - b }
function replacer(k, v) { return k === 'a' ? P.replacer() + 1 : v }
const obj = {
  toJSON() { return P.tojson() + 1 },
  valueOf() { return P.valueof() + 1 },
  [Symbol.iterator]: function* iterating() { yield P.iterator() + 1 },
};
function größe_日本_𝒳() { return P.unicode() + 1 }
function evals() { return eval('(function inEval() { return P.evaled() + 1 })')() + 1 }
function captures() { const a = 1, b = 2; const f = () => a + b + P.locals(); return f() + 1 }
function catches() { try { throw P.thrown() } catch (e) { return e } finally { P.finally_() } }
function reflects() { return Reflect.apply(function reflected() { return P.reflected() + 1 }, null, []) + 1 }
function replaces() { return 'abc'.replace(/b/, function replacing() { return P.replaced() }) }
const holder = { anonymous: function () { return P.unnamed() + 1 } };
async function main() {
  const square = new Square();
  plain(), recurse(20), closure(), square.area(), square.size, Shape.make(), square.callHidden();
  [...gen()], await waits();
  for await (const x of gives());
  [1].map(mapper), [3, 1].sort(compare), JSON.stringify({ a: 1 }, replacer), JSON.stringify(obj), +obj, [...obj];
  größe_日本_𝒳(), evals(), captures(), catches(), reflects(), replaces(), holder.anonymous(), run(P);
  await new Promise(done => setTimeout(function timer() { done(P.timer()) }, 1));
  process.nextTick(function ticked() { P.ticked() });
  await Promise.resolve().then(function thened() { return P.thened() });
}
await main();
if (isMainThread) {
  const worker = new Worker(new URL(import.meta.url), { argv: process.argv.slice(2) });
  worker.on('message', more => writeFileSync(process.argv[2], JSON.stringify([expected, more])));
} else {
  parentPort.postMessage(expected);
}
