"""ruby_stacks_check.py EXPECTED TRACES: compares stacks of `pitot traces -n 0 --lines --json` with those that ruby_stacks.rb says
they were. Prints "stacks N frames N wrong N places N of N"; the first wrong ones on stderr."""
import json
import re
import sys

expected = json.load(open(sys.argv[1]))
traces = json.load(open(sys.argv[2]))['traces']
stacks = frames = wrong = 0
seen = set()
# Methods that are written in C have no frames of Ruby; caller_locations has them with their caller's file and line.
IN_C = {'call', 'each', 'times', 'map', 'inject', 'sort_by', 'sort', 'gsub', '<', 'instance_eval', 'instance_exec',
        'class_eval', 'eval', 'load', 'catch', 'each_with_index', 'new', 'send', '__send__', 'public_send', 'bind_call', 'first',
        '+', 'initialize', 'with_index', 'yield', 'next', 'resume', 'join', 'loop', 'coerce', 'to_enum', 'inherited', 'call',
        'each_entry', '[]', 'hash', 'curry', '<<', 'own', 'hold', 'each_key', 'default'}


def plain(name):
    """Without the class, which labels of Ruby 3.1 do not have."""
    return re.sub(r'[^ ]*[.#]([^ .#]+)$', r'\1', name)


def name_of(frame):
    """Without the file and line that --lines puts behind it."""
    end = ' %s:%d' % (frame['file'], frame['line'])
    return frame['name'][:-len(end)] if frame['name'].endswith(end) else frame['name']


def is_ruby(frame):
    return frame['file'].endswith('.rb') or frame['file'].startswith('<internal:') or frame['file'] == '(eval)'


def without_c(callers):
    """Of two neighbours with the same file and line, the inner one is in C if its name says so."""
    kept = []
    for i, (label, path, line) in enumerate(callers):
        if path is None or (label in IN_C and i + 1 < len(callers) and callers[i + 1][1:] == [path, line]):
            continue
        kept.append([plain(label), path, line])
    return kept


for trace in traces:
    got = [[plain(name_of(f)), f['file'], f['line']] for f in trace['frames'] if is_ruby(f)]
    at = [i for i, f in enumerate(got) if re.fullmatch(r'at_\d+', f[0])]
    if not at:
        continue
    place = got[at[0]][0]
    inner, callers = got[:at[0] + 1], got[at[0] + 1:]
    seen.add(place)
    stacks += trace['records']
    frames += len(got) * trace['records']
    is_inner = inner[-1][2] in (1, 3) and all(f[0] in ('clock',) for f in inner[:-1])
    if callers != without_c(expected[place]) or not is_inner:
        wrong += trace['records']
        if wrong < 2000:
            print(place, '\n   got', inner, callers, '\n   want', without_c(expected[place]), file=sys.stderr)
print('stacks %d frames %d wrong %d places %d of %d' % (stacks, frames, wrong, len(seen), len(expected)))
