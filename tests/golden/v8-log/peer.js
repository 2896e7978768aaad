// The functions of JavaScript in a log of --prof, by the tables of node's own tool: its report's ticks
// (self), and the stacks that it resolves (total): node peer.js LOG >NAME.expected
const { execFileSync } = require('child_process');
const run = (...how) =>
  execFileSync(process.execPath, ['--prof-process', ...how, process.argv[2]],
               { encoding: 'utf8', maxBuffer: 1 << 28, stdio: ['ignore', 'pipe', 'ignore'] });
const bare = (name) => name.replace(/^JS: /, '').replace(/^[*~^+]/, '').replace(/ ?[^ ]*$/, '');
const self = {}, total = {};
for (const [, ticks, name] of run().split('[C++]')[0].matchAll(/^ +(\d+) .*%  (JS: .*)$/gm))
  self[bare(name)] = (self[bare(name)] || 0) + Number(ticks);
const d = JSON.parse(run('--preprocess'));
for (const tick of d.ticks) {
  const names = new Set();
  for (let i = 0; i < tick.s.length; i += 2) {
    const code = d.code[tick.s[i]];
    if (code && code.type === 'JS') names.add(bare(code.name));
  }
  for (const name of names) total[name] = (total[name] || 0) + 1;
}
for (const name of Object.keys(total).sort())
  if (name !== '' && name !== '<anonymous>' && name !== '(anonymous)')
    console.log('samples', self[name] || 0, total[name], name);
