"""perl_stacks_check.py EXPECTED TRACES: compares stacks of `pitot traces -n 0 --lines --json` with those that perl_stacks.pl says
they were. Prints "stacks N frames N wrong N places N of N"; the first wrong ones on stderr."""
import json
import re
import sys

expected = json.load(open(sys.argv[1]))
traces = json.load(open(sys.argv[2]))['traces']
stacks = frames = wrong = 0
seen = set()
files = {f[1] for callers in expected.values() for f in callers}


def name_of(frame):
    """Without the file and line that --lines puts behind it."""
    end = ' %s:%d' % (frame['file'], frame['line'])
    return frame['name'][:-len(end)] if frame['name'].endswith(end) else frame['name']


def is_perl(frame):
    return frame['file'] in files or frame['file'].startswith('(eval ') or frame['file'].endswith('.pm')


for trace in traces:
    got = [[name_of(f), f['file'], f['line']] for f in trace['frames'] if is_perl(f)]
    at = [i for i, f in enumerate(got) if re.fullmatch(r'main::at_\d+', f[0])]
    if not at:
        continue
    place = got[at[0]][0]
    inner, callers = got[:at[0] + 1], got[at[0] + 1:]
    seen.add(place)
    stacks += trace['records']
    frames += len(got) * trace['records']
    is_inner = inner[-1][2] in (1, 3) and all(f[0] == 'main::seconds' for f in inner[:-1])
    if callers != expected[place] or not is_inner:
        wrong += trace['records']
        if wrong < 2000:
            print(place, '\n   got', inner, callers, '\n   want', expected[place], file=sys.stderr)
print('stacks %d frames %d wrong %d places %d of %d' % (stacks, frames, wrong, len(seen), len(expected)))
