// A shop whose functions are not inlined: node --prof --no-log-source-code --no-turbo-inlining shop.js
'use strict';
function price(n) { let s = 0; for (let i = 1; i < 500; i++) s += Math.sqrt(n * i) % 7; return s; }
function discount(p) { let s = p; for (let i = 1; i < 300; i++) s = (s * 1.0001) % 1000; return s; }
function taxes(p) { let s = p; for (let i = 1; i < 220; i++) s += (p / i) % 3; return s; }
function shelf(n) { let s = n; for (let i = 0; i < 250; i++) s = (s * 1103515245 + 12345) & 0x7fffffff; return s; }
function label(n) { let s = 0; for (const c of 'item ' + n) s += c.charCodeAt(0); return s; }
function weigh(a) { let s = 0; for (let i = 0; i < a.length; i++) s += a[i].price / (i + 1); return s; }
function byPrice(a, b) { return a.price - b.price; }
function sortBasket(items) { return items.slice().sort(byPrice); }
function line(i) { return i.name + '\t' + i.price.toFixed(2); }
function receipt(items) { return items.map(line).join('\n'); }
function checksum(t) { let s = 1; for (let i = 0; i < t.length; i++) s = (s * 31 + t.charCodeAt(i)) | 0; return s; }
class Till {
  constructor() { this.sum = 0; }
  get total() { return this.sum; }
  sell(n) {
    const items = [];
    for (let i = 0; i < 300; i++) {
      const p = taxes(discount(price(i + n)));
      items.push({ name: 'item ' + shelf(i), price: p + label(i) });
    }
    this.sum += checksum(receipt(sortBasket(items))) + weigh(items);
  }
}
const till = new Till();
for (let n = 0; n < 400; n++) till.sell(n);
console.log(till.total);
