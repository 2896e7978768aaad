// Keeps strings in one function and arrays in another: node --heap-prof --heap-prof-interval=65536 make.js
const kept = [];
globalThis.kept = kept;

function remember(n) {
  for (let i = 0; i < n; i++) kept.push('customer ' + i + '-'.repeat(200 + (i % 50)) + i);
  kept.forEach((k) => k.charCodeAt(3));
}

function list(n) {
  for (let i = 0; i < n; i++) kept.push(new Array(100).fill(i));
}

function till(n) {
  remember(n);
  list(n / 2);
}

till(20000);
console.log(kept.length);
