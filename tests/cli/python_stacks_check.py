"""python_stacks_check.py EXPECTED DUMP: compares stacks of `pitot dump --json` with what python_stacks.py says that they
were. Prints "stacks N frames N wrong N places N of N"; the first wrong ones on stderr. A stack may lack outermost frames
only if its own end says so."""
import json
import re
import sys

import dumped

expected = json.load(open(sys.argv[1]))
stacks = frames = wrong = cut = 0
seen = set()


def is_python(frame):
    """__init__ is the file of code that CPython shows to nobody."""
    return frame['file'].endswith('.py') or frame['file'].startswith('<') or frame['file'] == '__init__'


for found, is_whole in dumped.stacks(sys.argv[2]):
    python = [[f['name'], f['file'], f['line']] for f in found if is_python(f)]
    held = [i for i, f in enumerate(python) if f[0] in expected]
    if not held:
        continue
    at = held[0]
    want = expected[python[at][0]]
    seen.add(python[at][0])
    stacks += 1
    got = python[at + 1:]
    if not is_whole:
        cut += len(got) < len(want)
        want = want[:len(got)]
    frames += len(want)
    if got != want or python[at][1] != '<%s>' % python[at][0] or at != 0:
        wrong += 1
        if wrong < 40:
            print(python[:at + 1], file=sys.stderr)
            for i in range(max(len(got), len(want))):
                a, b = got[i:i + 1], want[i:i + 1]
                if a != b:
                    print('   got', a, 'want', b, file=sys.stderr)
# At most one stack in ten may be cut, and one of a few: deep stacks are longer than the kernel's copies.
if cut * 10 > stacks + 10:
    wrong += cut
    print('%d of %d stacks are cut' % (cut, stacks), file=sys.stderr)
print('stacks %d frames %d wrong %d places %d of %d' % (stacks, frames, wrong, len(seen), len(expected)))
