// cause: collecting-garbage parseRows
// Rows are kept for a while and thrown away.
function parseRows(n) { const rows = []; for (let i = 0; i < n; i++) rows.push({ id: i, name: 'row' + i, tags: [i, i + 1], next: { a: i } }); return rows; }
let keep = [];
for (let r = 0; r < 60; r++) { keep.push(parseRows(20000)); if (keep.length > 20) keep.shift(); }
console.log(keep.length);
