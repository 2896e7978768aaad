"""python_stacks_check.py EXPECTED TRACES: compares stacks of `pitot traces -n 0 --lines --json` with what
python_stacks.py says that they were. Prints "stacks N frames N wrong N places N of N"; the first wrong ones on stderr.
Where the library's thread got no processor for a while, a stack found little room: of stacks of more than DEEP frames one
in ten may lack its outermost frames."""
import json
import re
import sys

expected = json.load(open(sys.argv[1]))
traces = json.load(open(sys.argv[2]))['traces']
stacks = frames = wrong = deep = cut = 0
DEEP = 100
seen = set()


def is_python(frame):
    """__init__ is the file of code that CPython shows to nobody."""
    return frame['file'].endswith('.py') or frame['file'].startswith('<') or frame['file'] == '__init__'


def name_of(frame):
    """Without the file and line that --lines puts behind it."""
    end = ' %s:%d' % (frame['file'], frame['line'])
    return frame['name'][:-len(end)] if frame['name'].endswith(end) else frame['name']


for trace in traces:
    python = [[name_of(f), f['file'], f['line']] for f in trace['frames'] if is_python(f)]
    held = [i for i, f in enumerate(python) if f[0] in expected]
    if not held:
        continue
    at = held[0]
    want = expected[python[at][0]]
    seen.add(python[at][0])
    stacks += trace['records']
    got = python[at + 1:]
    if len(want) > DEEP:
        deep += trace['records']
        cut += trace['records'] * (len(got) < len(want))
        want = want[:len(got)]
    frames += len(want) * trace['records']
    if got != want or python[at][1] != '<%s>' % python[at][0] or at != 0:
        wrong += trace['records']
        if wrong < 40:
            print(python[:at + 1], file=sys.stderr)
            for i in range(max(len(got), len(want))):
                a, b = got[i:i + 1], want[i:i + 1]
                if a != b:
                    print('   got', a, 'want', b, file=sys.stderr)
if cut * 10 > max(deep, 10):
    wrong += cut
    print('%d of %d deep stacks are cut' % (cut, deep), file=sys.stderr)
print('stacks %d frames %d wrong %d places %d of %d' % (stacks, frames, wrong, len(seen), len(expected)))
