#!/usr/bin/env python3
"""Helper of diff_listing.sh.

diff_listing.py profile PROGRAM FILE SEED
    writes a gperftools CPU profile of random stacks: addresses of instructions in the program's own
    functions (and sin), as if they had been sampled there

diff_listing.py compare REFERENCE SEED PAIRS PROFILE...
    asks both programs the same random questions, and compares what they print and whether they fail
"""
import os
import random
import re
import struct
import subprocess
import sys


def instructions(program):
    said = subprocess.run(['objdump', '-d', '--no-show-raw-insn', program], capture_output=True,
                          text=True, check=True).stdout
    found = {}
    name = None
    for line in said.splitlines():
        label = re.match(r'^[0-9a-f]+ <(.*)>:', line)
        if label:
            name = label.group(1)
        at = re.match(r'^\s+([0-9a-f]+):\t', line)
        if at and name and re.search(r'fib|run|main$|square|Bag|hidden|sin', name):
            found.setdefault(name, []).append(int(at.group(1), 16))
    return found


def write_profile(program, file, seed):
    rng = random.Random(seed)
    functions = instructions(program)
    main = functions['main']
    words = [0, 3, 0, 1000, 0]
    for _ in range(300):
        stack = []
        for _ in range(rng.randrange(1, 6)):
            stack.append(rng.choice(rng.choice(list(functions.values()))))
        stack = [stack[0]] + [pc + 1 for pc in stack[1:]] + [rng.choice(main) + 1]
        words += [rng.randrange(1, 9), len(stack)] + stack
    words += [0, 1, 0]
    segments = subprocess.run(['readelf', '-lW', program], capture_output=True, text=True,
                              check=True).stdout
    maps = ''
    for line in segments.splitlines():
        part = line.split()
        if part and part[0] == 'LOAD' and 'E' in ''.join(part[6:-1]):
            offset, start, size = (int(part[i], 16) for i in (1, 2, 4))
            end = (start + size + 4095) & ~4095
            maps += '%x-%x r-xp %08x 00:00 1 %s\n' % (start & ~4095, end, offset & ~4095,
                                                     os.path.abspath(program))
    with open(file, 'wb') as out:
        out.write(struct.pack('<%dQ' % len(words), *words) + maps.encode())


PATTERNS = ['fib', 'geo', 'main', 'hidden|run', 'sin', '.', 'square', 'Bag', 'app', '^run', 'nosuch',
            '_Z', r'fib\(int', 'x$']
VALUED = {
    'focus': PATTERNS, 'ignore': ['fib', 'nosuch', 'hidden'], 'hide': ['square', 'sin'],
    'show': ['main|fib', 'app'], 'show_from': ['main', 'run'], 'prune_from': ['fib'],
    'unit': ['ms', 'us', 's', 'auto', 'hrs', 'minimum'], 'divide_by': ['2', '0.5', '7'],
    'sample_index': ['0', '1', 'samples', 'cpu'], 'trim_path': ['/tmp', '{here}', '/nope:{above}'],
    'source_path': ['/tmp', '{here}', '/x:{here}/deep', 'relative', '/nowhere'],
}
FLAGS = ['noinlines', 'mean', 'showcolumns', 'drop_negative', 'relative_percentages', 'cum', 'lines',
         'intel_syntax', 'addresses', 'compact_labels', 'call_tree']


def question(rng, profiles):
    here = os.getcwd()
    profile = rng.choice(profiles)
    # Recordings have several mappings, so that the reference's -disasm is a matter of chance.
    kinds = ['list'] if profile.startswith('rec-') else ['list', 'disasm']
    words = ['-%s=%s' % (rng.choice(kinds), rng.choice(PATTERNS))]
    for option, values in VALUED.items():
        if rng.random() < 0.15:
            value = rng.choice(values).format(here=here, above=os.path.dirname(here))
            words.append('-%s=%s' % (option, value))
    words += ['-' + flag for flag in FLAGS if rng.random() < 0.08]
    if rng.random() < 0.1:
        base = [p for p in profiles if not p.startswith('rec-')]
        words.append('-%s=%s' % (rng.choice(['base', 'diff_base']), rng.choice(base)))
        if rng.random() < 0.3:
            words.append('-normalize')
    if rng.random() < 0.5:
        words.append('-tools=' + os.path.join(here, 'gnu'))
    return words + ['-symbolize=none', profile]


def ask(tool, words):
    said = subprocess.run(tool + words, capture_output=True, timeout=300)
    return said.stdout, said.returncode != 0, said.stderr


def compare(reference, seed, pairs, profiles):
    rng = random.Random(seed)
    different = answered = 0
    for _ in range(pairs):
        words = question(rng, profiles)
        ours = ask([os.environ['PITOT'], 'pprof'], words)
        # Several mappings (with a base of another program) make the reference's answer a matter of
        # chance; any of its answers will do.
        tries = 30 if any('base=' in w for w in words) else 1
        theirs = None
        for _ in range(tries):
            theirs = ask([reference], words)
            if theirs[:2] == ours[:2]:
                break
        answered += len(theirs[0]) > 0
        if theirs[:2] == ours[:2]:
            continue
        different += 1
        print('different:', ' '.join(words))
        print(' ', theirs[2].decode(errors='replace').strip()[-200:], '|',
              ours[2].decode(errors='replace').strip()[-200:])
        for a, b in zip(theirs[0].splitlines() + [b'(end)'], ours[0].splitlines() + [b'(end)']):
            if a != b:
                print('  -', a.decode(errors='replace'))
                print('  +', b.decode(errors='replace'))
                break
    print('%d pairs, %d with an answer, %d different' % (pairs, answered, different))
    sys.exit(different > 0 or answered < pairs // 3)


if sys.argv[1] == 'profile':
    write_profile(sys.argv[2], sys.argv[3], int(sys.argv[4]))
else:
    compare(sys.argv[2], int(sys.argv[3]), int(sys.argv[4]), sys.argv[5:])
