"""php_stacks_check.py EXPECTED TRACES: compares stacks of `pitot traces -n 0 --lines --json` with those that php_stacks.php
says they were. Prints "stacks N frames N wrong N places N of N"; the first wrong ones on stderr."""
import json
import re
import sys

expected = json.load(open(sys.argv[1]))
traces = json.load(open(sys.argv[2]))['traces']
stacks = frames = wrong = 0
seen = set()


def name_of(frame):
    """Without the file and line that --lines puts behind it."""
    end = ' %s:%d' % (frame['file'], frame['line'])
    return frame['name'][:-len(end)] if frame['name'].endswith(end) else frame['name']


files = {f[1] for callers in expected.values() for f in callers if f[1] != ''}
in_c = {f[0] for callers in expected.values() for f in callers if f[1] == ''} | {'getrusage'}


def is_php(frame):
    """Functions of PHP that are written in C have no file."""
    return frame['file'] in files or "eval()'d code" in frame['file'] or (frame['file'] == '' and frame['name'] in in_c)


for trace in traces:
    got = [[name_of(f), f['file'], f['line']] for f in trace['frames'] if is_php(f)]
    at = [i for i, f in enumerate(got) if re.fullmatch(r'Stacks\\at_\d+', f[0])]
    if not at:
        continue
    place = got[at[0]][0]
    inner, callers = got[:at[0] + 1], got[at[0] + 1:]
    seen.add(place)
    stacks += trace['records']
    frames += len(got) * trace['records']
    # The function itself is at its one line, or calls clock() from there; this calls getrusage().
    is_inner = inner[-1][2] in (1, 3, 4) and all(f[0] in ('Stacks\\clock', 'getrusage') for f in inner[:-1])
    if callers != expected[place] or not is_inner:
        wrong += trace['records']
        print(place, '\n   got', inner, callers, '\n   want', expected[place], file=sys.stderr)
print('stacks %d frames %d wrong %d places %d of %d' % (stacks, frames, wrong, len(seen), len(expected)))
