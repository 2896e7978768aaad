"""The figures of GHC's own report: python3 peer.py NAME.prof >NAME.expected

Of the text: the table of cost centres above the tree, which GHC sums itself; it has no inherited
figures. Of JSON: the sums over its tree."""
import json
import re
import sys

text = open(sys.argv[1]).read()
if text.startswith('{'):
    profile = json.loads(text)
    names = {c['id']: c['module'] + '.' + c['label'] for c in profile['cost_centres']}
    sums = {}

    def walk(node, above):
        name = names[node['id']]
        inside = above | {name}
        for event, value in (('time', node['ticks'] * profile['tick_interval'] * 1000),
                             ('alloc_space', node['alloc']), ('entries', node['entries'])):
            sums.setdefault((event, name), [0, 0])[0] += value
            for each in inside:
                sums.setdefault((event, each), [0, 0])[1] += value
        for child in node['children']:
            walk(child, inside)

    walk(profile['profile'], frozenset())
    for (event, name), (own, total) in sorted(sums.items()):
        if total:
            print(event, own, total, name)
else:
    tick_us = int(re.search(r'ticks @ (\d+) us', text)[1])
    total_ticks = int(re.search(r'\((\d+) ticks', text)[1])
    total_bytes = int(re.search(r'total alloc = ([\d,]+)', text)[1].replace(',', ''))
    for row in text.split('COST CENTRE')[1].splitlines()[2:]:
        words = row.split()
        if len(words) < 5:
            continue
        name = words[1] + '.' + words[0]
        if len(words) == 7:
            print('time', int(words[5]) * tick_us * 1000, '-', name)
            print('alloc_space', words[6], '-', name)
        else:
            print('time', int(round(float(words[3]) * 10)) * total_ticks * tick_us * 1000 // 1000, '-', name)
            print('alloc_space', int(round(float(words[4]) * 10)) * total_bytes // 1000, '-', name)
