"""node_stacks_check.py EXPECTED TRACES [ENDED]: compares stacks of `pitot traces -n 0 --lines --json` with what node_stacks.mjs says
that they were. Prints "stacks N frames N wrong N places N of N"; the first wrong ones on stderr. ENDED: the process may have ended
before the line of a function was read from its memory; such a frame has name and file, and no line is compared."""
import json
import re
import sys
from urllib.parse import unquote

expected = json.load(open(sys.argv[1]))
traces = json.load(open(sys.argv[2]))['traces']
may_lack_lines = len(sys.argv) > 3
stacks = frames = wrong = 0
seen = set()


def path_of(file):
    return unquote(file[len('file://'):]) if file.startswith('file://') else file


def caller_of(text):
    """(name, file, line) of a line of new Error().stack; None: no function of a script that is on the stack."""
    text = re.sub(r' \(eval at .*, <anonymous>:(\d+:\d+)\)$', r' (<eval>:\1)', text.strip()[len('at '):])
    match = re.fullmatch(r'(?:(.*) \()?(.*?)(?::(\d+):\d+)?\)?', text)
    name, file, line = match.groups()
    if text.startswith('async ') or line is None:
        return None
    name = re.sub(r'^(new|get|set) | \[as .*\]$', '', name or '')
    return plain(name), '<anonymous>' if file == '<eval>' else path_of(file), int(line)


def plain(name):
    """Without the class that it is a method of; a getter has "get " in front."""
    return re.sub(r'^get ', '', name).replace('(anonymous)', '').split('.')[-1]


def name_of(frame):
    """Without the file and line that --lines puts behind it."""
    end = ' %s:%d' % (frame['file'], frame['line']) if frame['line'] else ' ' + frame['file']
    return frame['name'][:-len(end)] if frame['name'].endswith(end) else frame['name']


def is_javascript(frame):
    return frame['file'].startswith(('node:', '<')) or frame['file'].endswith(('.mjs', '.cjs'))


def is_same(got, want):
    """What node runs outermost may differ from one run of a place to the next. The line that is compared is the
    function's own: of main and the module itself another one than that of the call."""
    least = min(len(got), len(want))
    if any(not f[1].startswith('node:') for f in got[least:] + want[least:]):
        return False
    return all(g[:2] == w[:2] and (g[2] == w[2] or g[0] in ('main', '') or g[1].startswith('node:') or
                                   (may_lack_lines and g[2] == 0))
               for g, w in zip(got, want))


for trace in traces:
    got = [(plain(name_of(f)), f['file'], f['line']) for f in trace['frames'] if is_javascript(f)]
    at = [i for i, f in enumerate(got) if f[0].startswith('at_')]
    if not at:
        continue
    place = got[at[0]][0][len('at_'):]
    wants = [[c for c in map(caller_of, thread[place]) if c] for thread in expected if place in thread]
    got = got[at[0] + 2:]
    seen.add(place)
    stacks += trace['records']
    frames += len(got) * trace['records']
    if not any(is_same(got, want) for want in wants):
        wrong += trace['records']
        print(place, '\n   got', got, '\n   want', wants, file=sys.stderr)
print('stacks %d frames %d wrong %d places %d of %d' % (stacks, frames, wrong, len(seen), len(expected[0])))
