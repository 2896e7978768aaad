// cause: matching-expressions isBlank
// An expression tries each way to divide a run of spaces.
function isBlank(text) { return /^(\s+)+$/.test(text); }
let n = 0;
for (let i = 0; i < 90; i++) n += isBlank(' '.repeat(20) + 'x' + i);
console.log(n);
