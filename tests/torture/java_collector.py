"""java_collector.py TRACES: judges stacks of `pitot traces -n 0 --lines --json` of java_collector.java by the names of its methods. Prints
"frames N classes N wrong N unnamed N"; the first wrong ones on stderr."""
import json
import re
import sys

CALLER = {'leaf': 'mid', 'mid': 'top'}
LINES = {'top': (2,), 'mid': (4,), 'leaf': (7, 8, 9)}
MADE = re.compile(r'Made(\d{4})\.(leaf|mid|top)_(\d{4})( Made\d{4}\.java:\d+)?')
FROM = re.compile(r'Collector\.from_(\d)( .*)?')
frames = wrong = unnamed = 0
classes = set()
for trace in json.load(open(sys.argv[1]))['traces']:
    stack = trace['frames']
    for i, frame in enumerate(stack):
        unnamed += frame['name'].startswith('[Java code]')
        match = MADE.fullmatch(frame['name'])
        if not match:
            continue
        holder, sort, number = match.groups()[:3]
        frames += trace['records']
        classes.add(number)
        outer = [f['name'] for f in stack[i + 1:]]
        is_right = holder == number and frame['line'] in LINES[sort] and frame['file'] == 'Made%s.java' % number
        if sort in CALLER and outer and outer[0].startswith('Made'):
            is_right &= outer[0].startswith('Made%s.%s_%s' % (number, CALLER[sort], number))
        elif sort in CALLER and len(outer) > 1:
            is_right = False
        callers = [FROM.fullmatch(name).group(1) for name in outer if FROM.fullmatch(name)]
        is_right &= not callers or callers[0] == str(int(number) % 8)
        if not is_right:
            wrong += trace['records']
            if wrong <= 5:
                print(frame, outer[:12], file=sys.stderr)
print('frames %d classes %d wrong %d unnamed %d' % (frames, len(classes), wrong, unnamed))
