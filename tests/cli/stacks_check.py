"""stacks_check.py LANGUAGE EXPECTED DUMP: compares stacks of `pitot dump --json` with those that java_stacks.java,
perl_stacks.pl, php_stacks.php or ruby_stacks.rb says they were. Prints "stacks N frames N wrong N places N of N"; the first
wrong ones on stderr. Each stack has a function at_N, which is called from one place; functions inside it read the clock. A
stack may lack outermost frames only if its own end says so."""
import json
import re
import sys

import dumped

expected = json.load(open(sys.argv[2]))
files = {f[1] for callers in expected.values() for f in callers if f[1]}
in_c = {f[0] for callers in expected.values() for f in callers if f[1] == ''} | {'getrusage'}

# Methods of Ruby that are written in C have no frames; caller_locations has them with their caller's file and line.
RUBY_IN_C = {'call', 'each', 'times', 'map', 'inject', 'sort_by', 'sort', 'gsub', '<', 'instance_eval', 'instance_exec',
             'class_eval', 'eval', 'load', 'catch', 'each_with_index', 'new', 'send', '__send__', 'public_send', 'bind_call', 'first',
             '+', 'initialize', 'with_index', 'yield', 'next', 'resume', 'join', 'loop', 'coerce', 'to_enum', 'inherited', 'call',
             'each_entry', '[]', 'hash', 'curry', '<<', 'own', 'hold', 'each_key', 'default', 'then', 'tap'}


def without_class(name):
    """Labels of Ruby before 3.4 have no class."""
    return re.sub(r'[^ ]*[.#]([^ .#]+)$', r'\1', name)


def ruby_callers(callers):
    """Of two neighbours with the same file and line, the inner one is in C if its name says so."""
    kept = []
    for i, (label, path, line) in enumerate(callers):
        if path is None or (without_class(label) in RUBY_IN_C and i + 1 < len(callers) and callers[i + 1][1:] == [path, line]):
            continue
        kept.append([without_class(label), path, line])
    return kept


# place: the function at_N. clock: what it calls. lines: where it and these are. is_own: is it a frame of the language?
LANGUAGES = {
    'perl': {'place': r'main::at_\d+', 'clock': ('main::seconds',), 'lines': (1, 3),
             'is_own': lambda f: f['file'] in files or f['file'].startswith('(eval ') or f['file'].endswith('.pm')},
    # Functions of PHP that are written in C have no file.
    'php': {'place': r'Stacks\\at_\d+', 'clock': ('Stacks\\clock', 'getrusage'), 'lines': (1, 3, 4),
            'is_own': lambda f: f['file'] in files or "eval()'d code" in f['file'] or (f['file'] == '' and f['name'] in in_c)},
    # Lambdas and method handles have classes without a file.
    'java': {'place': r'Stacks\.at_\d+', 'lines': range(4, 22),
             'is_clock': lambda name: not name.startswith('Stacks.at_'),
             'is_own': lambda f: f['file'].endswith('.java') and not f['name'].startswith('java.lang.invoke.')},
    'ruby': {'place': r'at_\d+', 'clock': ('clock',), 'lines': (1, 3), 'name': without_class, 'callers': ruby_callers,
             'is_own': lambda f: f['file'].endswith('.rb') or f['file'].startswith(('<internal:', '(eval'))},
}
language = LANGUAGES[sys.argv[1]]
name_for = language.get('name', lambda name: name)
callers_for = language.get('callers', lambda callers: callers)
is_clock = language.get('is_clock', lambda name: name in language['clock'])


def is_shallower(callers, want):
    """Are the callers those of the same recursion, with fewer rounds?"""
    lacks = len(want) - len(callers)
    return lacks > 0 and any(callers == want[:i] + want[i + lacks:] and want[i:i + lacks] == want[i - period:i - period + lacks]
                             for period in (1, 2) for i in range(period, len(callers)))


stacks = frames = wrong = cut = late = 0
seen = set()
for found, is_whole in dumped.stacks(sys.argv[3]):
    got = [[name_for(f['name']), f['file'], f['line']] for f in found if language['is_own'](f)]
    at = [i for i, f in enumerate(got) if re.fullmatch(language['place'], f[0])]
    if not at:
        continue
    place = got[at[0]][0]
    inner, callers, want = got[:at[0] + 1], got[at[0] + 1:], callers_for(expected[place])
    seen.add(place)
    stacks += 1
    frames += len(got)
    is_inner = inner[-1][2] in language['lines'] and all(is_clock(f[0]) for f in inner[:-1])
    if not is_whole:
        cut += len(callers) < len(want)
        want = want[:len(callers)]
    if sys.argv[1] == 'java' and is_inner and is_shallower(callers, want):
        late += 1
    elif callers != want or not is_inner:
        wrong += 1
        if wrong < 2000:
            print(place, '\n   got', inner, callers, '\n   want', want, file=sys.stderr)
# Java describes only some places of its compiled code. A sample between two of them, in a recursion that returns, has the methods
# of the later place: at_N has ended there.
if late * 100 > stacks + 100:
    print('%d of %d stacks have methods that have ended' % (late, stacks), file=sys.stderr)
    wrong += late
# At most one stack in twenty may be cut, and one of a few.
if cut * 20 > stacks + 20:
    print('%d of %d stacks are cut' % (cut, stacks), file=sys.stderr)
    wrong += cut
print('stacks %d frames %d wrong %d places %d of %d' % (stacks, frames, wrong, len(seen), len(expected)))
