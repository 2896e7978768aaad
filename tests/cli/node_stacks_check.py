"""node_stacks_check.py EXPECTED TRACES: compares stacks of `pitot traces -n 0 --lines --json` with what node_stacks.mjs says
that they were. Prints "stacks N frames N wrong N unnamed N places N of N"; the first wrong ones on stderr. An unnamed frame is one
of JavaScript whose function was moved or freed before its name was read; its place in the stack must be right."""
import json
import re
import sys
from urllib.parse import unquote

expected = json.load(open(sys.argv[1]))
traces = json.load(open(sys.argv[2]))['traces']
stacks = frames = wrong = unnamed = 0
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
    end = ' %s:%d' % (frame['file'], frame['line'])
    return frame['name'][:-len(end)] if frame['name'].endswith(end) else frame['name']


def is_unnamed(frame):
    return frame['name'].startswith('[JavaScript code]')


def is_javascript(frame):
    return is_unnamed(frame) or frame['file'].startswith(('node:', '<')) or frame['file'].endswith(('.mjs', '.cjs'))


def is_same(got, want):
    """What node runs outermost may differ from one run of a place to the next. The line that is compared is the
    function's own: of main and the module itself another one than that of the call."""
    least = min(len(got), len(want))
    if any(f is not None and not f[1].startswith('node:') for f in got[least:] + want[least:]):
        return False
    return all(g is None or (g[:2] == w[:2] and (g[2] == w[2] or g[0] in ('main', '') or g[1].startswith('node:')))
               for g, w in zip(got, want))


for trace in traces:
    got = [None if is_unnamed(f) else (plain(name_of(f)), f['file'], f['line']) for f in trace['frames'] if is_javascript(f)]
    at = [i for i, f in enumerate(got) if f is not None and f[0].startswith('at_')]
    if not at:
        continue
    place = got[at[0]][0][len('at_'):]
    wants = [[c for c in map(caller_of, thread[place]) if c] for thread in expected if place in thread]
    got = got[at[0] + 2:]
    seen.add(place)
    stacks += trace['records']
    frames += len(got) * trace['records']
    unnamed += got.count(None) * trace['records']
    if not any(is_same(got, want) for want in wants):
        wrong += trace['records']
        print(place, '\n   got', got, '\n   want', wants, file=sys.stderr)
print('stacks %d frames %d wrong %d unnamed %d places %d of %d' % (stacks, frames, wrong, unnamed, len(seen), len(expected[0])))
