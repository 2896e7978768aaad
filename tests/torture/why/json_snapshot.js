// cause: json snapshot
// A state is copied by way of JSON.
const state = {users: []};
for (let i = 0; i < 2000; i++) state.users.push({id: i, name: 'user ' + i, tags: ['a', 'b', 'c'], more: {x: i, y: i * 2}});
function snapshot(s) { return JSON.parse(JSON.stringify(s)); }
function tick(i) { const next = snapshot(state); next.users[i % 2000].id++; return next; }
let n = 0;
for (let i = 0; i < 400; i++) n += tick(i).users.length;
console.log(n);
