"""node_collector.py TRACES: judges stacks of `pitot traces -n 0 --lines --json` of node_collector.js by the names of its functions. Prints
"frames N functions N wrong N unnamed N"; the first wrong ones on stderr."""
import json
import re
import sys

CALLER = {'leaf': 'mid', 'mid': 'top'}
GONE = '[JavaScript code]'
frames = wrong = unnamed = 0
functions = set()
for trace in json.load(open(sys.argv[1]))['traces']:
    stack = trace['frames']
    for i, frame in enumerate(stack):
        unnamed += frame['name'] == GONE
        match = re.fullmatch(r'(leaf|mid|top)_(\d+)_(\d+)( <anonymous>:\d+)?', frame['name'])
        if not match:
            continue
        sort, number, line = match.groups()[:3]
        frames += 1
        functions.add(number)
        caller = stack[i + 1]['name'] if i + 1 < len(stack) else GONE
        is_right = frame['file'] == '<anonymous>' and frame['line'] == int(line)
        if sort in CALLER and caller != GONE:
            is_right &= caller.startswith('%s_%s_' % (CALLER[sort], number))
        if not is_right:
            wrong += 1
            if wrong <= 5:
                print(frame, [f['name'] for f in stack[i + 1:i + 4]], file=sys.stderr)
print('frames %d functions %d wrong %d unnamed %d' % (frames, len(functions), wrong, unnamed))
