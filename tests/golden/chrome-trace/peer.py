"""The sums of a trace by function, from its samples, or from its whole functions (X) alone, in
nanoseconds: python3 peer.py FILE.json >NAME.expected

Samples: each lasts until the next one. Functions: a function's own time is its duration without
those of the functions directly inside it."""
import collections
import json
import sys

events = json.load(open(sys.argv[1]))
events = events['traceEvents'] if isinstance(events, dict) else events
sums = collections.defaultdict(lambda: [0, 0])
profiles = collections.defaultdict(lambda: [{}, [], []])
for e in events:
    if e['name'] in ('Profile', 'ProfileChunk'):
        nodes, samples, deltas = profiles[e['pid'], e['id']]
        data = e['args']['data']
        nodes.update((n['id'], n) for n in data.get('cpuProfile', {}).get('nodes', []))
        samples += data.get('cpuProfile', {}).get('samples', [])
        deltas += data.get('timeDeltas', [])
for nodes, samples, deltas in profiles.values():
    at, times = 0, []
    for delta in deltas:
        at += delta
        times.append(max(at, times[-1] if times else at))
    for i, leaf in enumerate(samples[:-1]):
        names, node = [], nodes[leaf]
        while 'parent' in node:
            names.append(node['callFrame']['functionName'] or '(anonymous)')
            node = nodes[node['parent']]
        spent = (times[i + 1] - times[i]) * 1000
        for name in set(names):
            sums[name][1] += spent
        if names:
            sums[names[0]][0] += spent
if not profiles:
    tracks = collections.defaultdict(list)
    for e in events:
        if e['ph'] == 'X' and e['dur'] > 0 and 'avg ms' not in e.get('args', {}):
            tracks[e['pid'], e['tid']].append((e['ts'], -e['dur'], e['name']))
    for spans in tracks.values():
        above = []  # [end, name] of the functions that are open
        for ts, minus, name in sorted(spans, key=lambda s: s[:2]):
            while above and above[-1][0] <= ts:
                above.pop()
            sums[name][0] -= minus * 1000
            if above:
                sums[above[-1][1]][0] += minus * 1000
            if name not in [open_one[1] for open_one in above]:
                sums[name][1] -= minus * 1000
            above.append([ts - minus, name])
for name, (own, total) in sorted(sums.items()):
    if total:
        print('time', own, total, name)
