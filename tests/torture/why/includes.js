// cause: searching-lists unique
// Duplicates are found by searching an array from end to end.
function unique(values) {
    const seen = [];
    for (const value of values) if (!seen.includes(value)) seen.push(value);
    return seen;
}
const values = [];
for (let i = 0; i < 20000; i++) values.push('v' + ((i * 7919) % 9973));
for (let i = 0; i < 2; i++) unique(values);
