// The sums of a .heapprofile by function, by its nodes alone: node peer.js FILE >NAME.expected
const d = JSON.parse(require('fs').readFileSync(process.argv[2]));
const own = {}, total = {};
(function walk(n, up) {
  const f = n.callFrame.functionName || '(anonymous)';
  const root = n.callFrame.functionName === '(root)';
  const names = root ? up : new Set([...up, f]);
  if (!root) own[f] = (own[f] || 0) + n.selfSize;
  for (const x of names) total[x] = (total[x] || 0) + n.selfSize;
  n.children.forEach((c) => walk(c, names));
})(d.head, new Set());
for (const f of Object.keys(total).sort()) if (total[f]) console.log('inuse_space', own[f], total[f], f);
