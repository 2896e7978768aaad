#!/usr/bin/env python3
"""diff_perl.py: does `pitot google-pprof` print what gperftools' google-pprof prints?

  diff_perl.py [--pairs=N] [--seed=S] [--seconds=T] FOLDER

FOLDER holds programs and profiles of them: PROGRAM and PROGRAM.prof, PROGRAM.2.prof, ... Each pair
takes one, or a profile made up from the addresses and the mapped objects of one, and random options,
and compares the output of both, their exit status and their messages. What the original leaves to
the order of a hash table is compared without order: folded stacks and callgrind records as sets, the
edges of a graph up to equals. docs/compat.md tells the classes that are counted as explained.
Exit status 1 if a difference is not explained. The program under test is $PITOT.
"""
import argparse
import collections
import glob
import os
import random
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import time

PERL = os.environ.get('GOOGLE_PPROF', 'google-pprof')
PITOT = os.environ['PITOT']


def run(argv, seed=None):
    env = dict(os.environ, PERL_HASH_SEED=str(seed or 0), LC_ALL='C')
    done = subprocess.run(argv, capture_output=True, env=env, timeout=600)
    return done.returncode, done.stdout, done.stderr.decode(errors='replace')


# --- profiles

def read_words(path):
    """(records, text) of a 64-bit gperftools profile: records are [count, pcs...]."""
    data = open(path, 'rb').read()
    words = struct.unpack(f'<{len(data) // 8}Q', data[:len(data) // 8 * 8])
    at, records = 2 + words[1], []
    while at + 1 < len(words):
        count, depth = words[at], words[at + 1]
        pcs = words[at + 2:at + 2 + depth]
        at += 2 + depth
        if pcs and pcs[0] == 0:
            break
        records.append([count, *pcs])
    return records, data[at * 8:]


def write_words(path, records, text):
    words = [0, 3, 0, 10000, 0]
    for count, *pcs in records:
        words += [count, len(pcs), *pcs]
    words += [0, 1, 0]
    with open(path, 'wb') as f:
        f.write(struct.pack(f'<{len(words)}Q', *words) + text)


def make_up(rng, source, path):
    """A profile of random stacks: addresses of a real one, and others near them."""
    records, text = read_words(source)
    known = sorted({pc for r in records for pc in r[1:]})
    if not known:
        return source
    made = []
    for _ in range(rng.choice([1, 3, 20, 100, 400])):
        if records and rng.random() < .4:
            pcs = list(rng.choice(records)[1:])
            if rng.random() < .5 and len(pcs) > 2:
                del pcs[rng.randrange(len(pcs))]
        else:
            pcs = [rng.choice(known) for _ in range(rng.randint(1, 12))]
        if rng.random() < .2:
            pcs[rng.randrange(len(pcs))] += rng.randint(-64, 64)
        if rng.random() < .01:
            pcs[-1] = rng.choice([1, 0xffffffff81000000, 0x7fffffffffffffff])
        made.append([rng.choice([1, 1, 1, 2, 5, 40, 1000]), *pcs])
    write_words(path, made, text)
    return path


# --- options

def random_options(rng, mode, words):
    options = []
    if mode in ('--text', '--dot', '--callgrind', '--collapsed'):
        grain = rng.choice(['', '', '--functions', '--lines', '--addresses', '--files'])
        if grain:
            options.append(grain)
        if rng.random() < .1:
            options.append('--show_addresses')
    if rng.random() < .15:
        options.append('--no_strip_temp')
    if rng.random() < .3:
        options.append('--focus=' + rng.choice(words))
    if rng.random() < .2:
        options.append('--ignore=' + rng.choice(words))
    if rng.random() < .2:
        options.append('--cum')
    if rng.random() < .1:
        options.append('--no-auto-signal-frm')
    if mode == '--dot':
        if rng.random() < .3:
            options.append(f'--nodecount={rng.choice([1, 5, 20, 200])}')
        if rng.random() < .3:
            options.append(f'--nodefraction={rng.choice([0, .01, .1])}')
        if rng.random() < .3:
            options.append(f'--edgefraction={rng.choice([0, .01, .1])}')
        if rng.random() < .3:
            options.append(f'--maxdegree={rng.choice([0, 1, 2, 30])}')
        if rng.random() < .1:
            options.append('--heapcheck')
    if mode == '--text' and rng.random() < .1:
        options.append('--stacks')
    return options


# --- comparing

def callgrind_records(text):
    """Records with their short names written out, and their order by file and line."""
    names = {'fl': {}, 'fn': {}}
    records, one = [], []
    for line in text.splitlines()[2:]:
        m = re.match(r'(c?)(fl|fn)=(?:\((\d+)\)(?: (.*))?|(.*))$', line)
        if m:
            number, name, plain = m[3], m[4], m[5]
            if number is None:
                name = plain
            elif name is not None:
                names[m[2]][number] = name
            else:
                name = names[m[2]][number]
            one.append(f'{m[1]}{m[2]}={name}')
        elif line:
            one.append(line)
        else:
            records.append('\n'.join(one))
            one = []
    return records


def dot_parts(text):
    nodes = [line for line in text.splitlines() if ' -> ' not in line]
    edges = [line for line in text.splitlines() if ' -> ' in line]
    return nodes, edges


def edge_value(edge):
    return float(re.search(r'\[label=([^,]+)', edge)[1])


def same_dot(ours, theirs):
    """None if equal; 'ties' if only edges of equal value differ; else what differs."""
    a, b = dot_parts(ours), dot_parts(theirs)
    if a[0] != b[0]:
        return 'nodes differ'
    if collections.Counter(a[1]) == collections.Counter(b[1]):
        return None
    values = lambda edges: collections.Counter(map(edge_value, edges))
    odd = (collections.Counter(a[1]) - collections.Counter(b[1])) + \
          (collections.Counter(b[1]) - collections.Counter(a[1]))
    return 'ties' if odd and values(a[1]) == values(b[1]) else 'edges differ'


def stacks_apart(text):
    """--stacks prints in the order of a hash table."""
    if 'Stacks:\n\n' not in text:
        return text
    head, rest = text.split('Stacks:\n\n', 1)
    blocks = rest.split('\n\n')
    return head, sorted(blocks[:-1]), blocks[-1]


def compare(mode, ours, theirs):
    a, b = (x.decode(errors='replace') for x in (ours, theirs))
    if mode == '--collapsed':
        return None if sorted(a.splitlines()) == sorted(b.splitlines()) else 'stacks differ'
    if mode == '--callgrind':
        return None if sorted(callgrind_records(a)) == sorted(callgrind_records(b)) else \
            'records differ'
    if mode == '--dot':
        return same_dot(a, b)
    if mode == '--text':
        return None if stacks_apart(a) == stacks_apart(b) else 'text differs'
    return None if a == b else 'text differs'


NUMBERS = re.compile(r'^ *(\S+) +(\S+) (Total|[ \d]*\d:)')


def routines(text):
    """Listings of functions as (text without figures, figures), in an order that names of equal
    functions do not decide."""
    blocks = []
    for line in text.decode(errors='replace').splitlines():
        if line.startswith('ROUTINE'):
            blocks.append(([], []))
        m = NUMBERS.match(line)
        blocks[-1][0].append(line[m.start(3):] if m else line)
        if m:
            blocks[-1][1].append([int(x.replace('.', '0')) for x in m.group(1, 2)])
    return sorted(blocks)


def only_more_samples(ours, theirs):
    """Whether listings differ in figures alone, and no sum of ours is less: the original does not
    count samples at the last instruction of a procedure of a relocated object."""
    a, b = routines(ours), routines(theirs)
    return [x[0] for x in a] == [x[0] for x in b] and all(
        sum(n for n, _ in x[1]) >= sum(n for n, _ in y[1]) for x, y in zip(a, b)) or \
        sorted(ours.splitlines()) == sorted(theirs.splitlines())


def same_but_runs(ours, theirs):
    """Whether lines differ only in the numbers that Callback::Run gets for each of its callers, which
    are given in the order of a hash table."""
    def lines(text):
        text = re.sub(r'Run#\d+', 'Run#', text.decode(errors='replace'))
        text = re.sub(r'\bN\d+\b', 'N', text)
        return sorted(re.sub(r'^( *\S+ +\S+) +\S+', r'\1', line) for line in text.splitlines())
    return b'Run#' in ours and b'Run#' in theirs and lines(ours) == lines(theirs)


def settle_ties(argv, ours):
    """Whether the original under other orders of its hash tables says the same: in one of them, or
    in that ours has all edges that it always draws, and none that it never does."""
    ours = ours.decode(errors='replace')
    always, ever = None, set()
    for seed in range(1, 40):
        text = run(argv, seed)[1].decode(errors='replace')
        if same_dot(ours, text) in (None, 'ties'):
            return True
        edges = set(dot_parts(text)[1])
        always = edges if always is None else always & edges
        ever |= edges
    mine = set(dot_parts(ours)[1])
    return always < ever and always <= mine <= ever


MESSAGES = re.compile(r'^(Removing .*|Dropping nodes .*|No nodes to print|All second .*|Might be .*)$',
                      re.M)


def one_pair(rng, programs, folder, classes):
    program, profiles = rng.choice(programs)
    profile = rng.choice(profiles)
    if rng.random() < .5:
        profile = make_up(rng, profile, os.path.join(folder, 'made.prof'))
    mode = rng.choice(['--text', '--text', '--dot', '--dot', '--callgrind', '--collapsed', '--list'])
    words = ['main', 'std', '^f', 'sort', '::', 'hidden|rec', r'\.c', r'(?<!_)start', 'a', '4', 'zzz',
             'inline', r':1\d$', '^_']
    options = random_options(rng, mode, words)
    if rng.random() < .1:
        options.append('--base=' + rng.choice(profiles))
        if rng.random() < .5:
            options.append('--drop_negative')
    first = f'{mode}={rng.choice(words)}' if mode == '--list' else mode
    argv = [first, *options, program, profile]
    theirs = run([PERL, *argv])
    ours = run([PITOT, 'google-pprof', *argv])
    said = [sorted(MESSAGES.findall(x[2])) for x in (ours, theirs)]
    why = None
    if ours[0] != theirs[0]:
        why = f'exit status {ours[0]}, expected {theirs[0]}'
    elif said[0] != said[1]:
        why = f'messages {said[0]}, expected {said[1]}'
    else:
        why = compare(mode, ours[1], theirs[1])
    if why == 'edges differ' and settle_ties([PERL, *argv], ours[1]):
        why = 'ties'
    if why and mode == '--list' and only_more_samples(ours[1], theirs[1]):
        classes['samples at the last instruction of a procedure'] += 1
        why = None
    if why and same_but_runs(ours[1], theirs[1]):
        classes['numbers of Callback::Run'] += 1
        why = None
    if why and b'_fini' in run([PITOT, 'google-pprof', '--text', *argv[-2:]])[1]:
        classes['an address in _fini'] += 1
        why = None
    if why == 'ties':
        classes['edges of equal value'] += 1
        why = None
    return argv, why


def keep_files(argv, name):
    """Copies the program and the profiles of a question, so that it can be asked again."""
    folder = os.path.join(os.environ.get('TMPDIR', '/tmp'), name)
    os.makedirs(folder, exist_ok=True)
    for word in argv:
        path = word.removeprefix('--base=')
        if os.path.isfile(path):
            shutil.copy(path, folder)
    print(f'  kept in {folder}')


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--pairs', type=int, default=1000)
    parser.add_argument('--seed', type=int, default=1)
    parser.add_argument('--seconds', type=float, default=float('inf'))
    parser.add_argument('folder')
    args = parser.parse_args()
    programs = []
    for program in sorted(glob.glob(os.path.join(args.folder, '*'))):
        profiles = sorted(glob.glob(program + '*.prof'))
        profiles = [p for p in profiles if re.fullmatch(re.escape(program) + r'(\.\d+)?\.prof', p)]
        if os.access(program, os.X_OK) and profiles:
            programs.append((program, profiles))
    if not programs:
        sys.exit(f'{args.folder}: no PROGRAM with PROGRAM.prof')
    bad, classes = 0, collections.Counter()
    with tempfile.TemporaryDirectory() as folder:
        begin, done = time.monotonic(), 0
        for i in range(args.pairs):
            if time.monotonic() - begin > args.seconds:
                break
            done += 1
            rng = random.Random(args.seed * 1000003 + i)
            argv, why = one_pair(rng, programs, folder, classes)
            if why is None:
                continue
            bad += 1
            print(f'pair {i}: {why}: google-pprof {" ".join(argv)}', flush=True)
            keep_files(argv, f'diff_perl.{args.seed}.{i}')
    for name, count in sorted(classes.items()):
        print(f'explained: {count}: {name}')
    print(f'{done} pairs, {bad} not explained')
    return bad > 0


if __name__ == '__main__':
    sys.exit(main())
