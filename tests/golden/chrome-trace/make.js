// Records a page's script as DevTools' panel Performance does, and writes the file that its Save button writes:
// node make.js NAME.json
const { spawn } = require('child_process');
const fs = require('fs');
const shop = `
function price(n) { let s = 0; for (let i = 1; i < 500; i++) s += Math.sqrt(n * i) % 7; return s; }
function discount(p) { let s = p; for (let i = 1; i < 300; i++) s = (s * 1.0001) % 1000; return s; }
function byPrice(a, b) { return a.price - b.price; }
function sortBasket(items) { return items.slice().sort(byPrice); }
function line(i) { return i.name + ' ' + i.price.toFixed(2); }
function receipt(items) { return items.map(line).join(', '); }
function sell(n) {
  const items = [];
  for (let i = 0; i < 300; i++) items.push({ name: 'item ' + i, price: discount(price(i + n)) });
  return receipt(sortBasket(items)).length;
}
function open() { let sum = 0; for (let n = 0; n < 150; n++) sum += sell(n); return sum; }
open();
//# sourceURL=shop.js`;
const chrome = spawn('chromium', ['--headless', '--no-sandbox', '--disable-gpu', '--remote-debugging-pipe',
                                  'about:blank'], { stdio: ['ignore', 'ignore', 'ignore', 'pipe', 'pipe'] });
const events = [], waiting = new Map();
let last = 0, rest = '', ended;
function call(method, params, sessionId) {
  chrome.stdio[3].write(JSON.stringify({ id: ++last, method, params, sessionId }) + '\0');
  return new Promise((done) => waiting.set(last, done));
}
chrome.stdio[4].on('data', (bytes) => {
  const messages = (rest + bytes).split('\0');
  rest = messages.pop();
  for (const text of messages) {
    const m = JSON.parse(text);
    if (m.id) waiting.get(m.id)(m.result);
    else if (m.method === 'Tracing.dataCollected') events.push(...m.params.value);
    else if (m.method === 'Tracing.tracingComplete') ended();
  }
});
(async () => {
  const { targetInfos } = await call('Target.getTargets', {});
  const { sessionId } = await call('Target.attachToTarget',
    { targetId: targetInfos.find((t) => t.type === 'page').targetId, flatten: true });
  await call('Tracing.start', { traceConfig: { includedCategories:
    ['devtools.timeline', 'v8.execute', '__metadata', 'disabled-by-default-v8.cpu_profiler'],
    excludedCategories: ['*'] } });
  await call('Runtime.evaluate', { expression: shop }, sessionId);
  const end = new Promise((done) => { ended = done; });
  await call('Tracing.end', {});
  await end;
  fs.writeFileSync(process.argv[2], JSON.stringify({ metadata: { source: 'DevTools' }, traceEvents: events }));
  chrome.kill();
})();
