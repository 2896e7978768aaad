#!/usr/bin/env python3
"""diff_gprof.py SEED ROUNDS GPROF PITOT: random programs built with gcc -pg, what they leave in
gmon.out or random changes of it, random options: does `pitot gprof` print what gprof prints, to the
byte, and end alike?

Left out, since pitot differs on purpose (docs/gprof.md): explanations (-b is always given), -c, -d,
--help, --version, maps for -R, files that gprof does not add up, -r together with specs of arcs, two specs of one FROM in -k, -q and -Q,
and files that are damaged.

Counted apart: answers of gprof that say "somebody miscounted", for -l -a, where pitot has both tables."""
import os
import random
import shutil
import struct
import subprocess
import sys
import tempfile

seed, rounds, gprof = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
pitot = os.path.abspath(sys.argv[4])
random.seed(seed)


def program(rng):
    """A C program whose functions call each other at random; a budget ends it."""
    count = rng.randrange(3, 24)
    names = []
    for i in range(count):
        names.append(rng.choice(['f%d', '_g%d', 'h_%d', 'm%dain', '__u%d']) % i)
    lines = ['static volatile long sink; static long budget = %d;' % rng.randrange(200, 6000)]
    lines += ['%svoid %s(int n);' % (rng.choice(['', '', 'static ']), n) for n in names]
    kinds = [line.split('void')[0] for line in lines[1:]]
    for kind, name in zip(kinds, names):
        calls = ''.join(' if (n %% %d == 0) %s(n - 1);' % (rng.randrange(1, 4), rng.choice(names))
                        for _ in range(rng.randrange(0, 4)))
        lines.append('%s__attribute__((noinline%s)) void %s(int n)\n{\n    if (n <= 0 || --budget < 0) return;'
                     '\n    for (int i = 0; i < %d; i++) sink += i;\n   %s\n}'
                     % (kind, rng.choice(['', ', noclone', ', cold']), name,
                        rng.choice([1, 100, 3000, 20000]), calls))
    lines.append('int main(void)\n{\n    for (int i = 0; i < 40; i++) {\n        budget = 100;')
    lines += ['        %s(%d);' % (n, rng.randrange(1, 12)) for n in rng.sample(names, min(count, 6))]
    lines.append('        (void)sink;\n    }\n')
    lines += ['    %s(0);' % n for n in names]
    lines.append('    return 0;\n}')
    return '\n'.join(lines) + '\n', names


COMPILERS = {'c': 'gcc', 'c++': 'g++'}
FLAGS = ['-g', '-O0', '-O1', '-O2', '-O3', '-Os', '-no-pie', '-static', '-ffunction-sections',
         '-falign-functions=64', '-falign-functions=1', '-gdwarf-4']


def changed(rng, data):
    """Other ticks and calls, other scales, several histograms: what no program need have run for."""
    low, high, bins, rate = struct.unpack_from('<QQII', data, 21)
    at = 20 + 41 + 2 * bins
    arcs = [struct.unpack_from('<QQI', data, p + 1) for p in range(at, len(data), 21)]
    if rng.random() < .3:
        high = low + (high - low) // rng.randrange(1, 3)
    bins = max(1, rng.choice([bins, bins // 2, (high - low) // 2, bins - 3, (high - low) // 6]))
    rate = rng.choice([100, 100, 1, 1000, 99])
    dimension = rng.choice([(b'seconds', b's'), (b'seconds', b's'), (b'i-cache misses', b'1')])
    counts = [0] * bins
    for _ in range(rng.randrange(0, 40)):
        counts[rng.randrange(bins)] += rng.choice([1, 3, 100, 5000])
    arcs = [(a, b, c if rng.random() < .7 else rng.randrange(0, 10 ** rng.randrange(1, 8)))
            for a, b, c in arcs]
    for _ in range(rng.randrange(0, 12)):
        if arcs:
            arcs.append((rng.choice(arcs)[1] + 4, rng.choice(arcs)[1], rng.randrange(1, 900)))
    rng.shuffle(arcs)
    pieces = [b'\0' + struct.pack('<QQII15sc', low, high, bins, rate, *dimension) +
              struct.pack('<%dH' % bins, *counts)]
    if rng.random() < .3:
        pieces.append(pieces[0])
    pieces += [b'\1' + struct.pack('<QQI', *arc) for arc in arcs]
    if rng.random() < .2:
        rng.shuffle(pieces)
    return data[:20] + b''.join(pieces)


def spec(rng, names):
    name = rng.choice(names + ['main', 'main', 'nowhere', 'mcount'])
    return rng.choice([name] * 6 + ['p.c:' + name, 'p.c:%d' % rng.randrange(1, 60), 'p.c', ':' + name,
                                    '%d' % rng.randrange(1, 60), 'q.c'])


def options(rng, names):
    if rng.random() < .3:  # of lines, in all tables
        args = ['-b', '-l'] + rng.sample(['-p', '-q', '-z', '-z', '-Z', '-J', '-i', '-P', '-x', '-D', '-a',
                                          '--demangle=none', '--inline-file-names'], rng.randrange(1, 4))
        if rng.random() < .5:  # with one spec: gprof hides parts of a second one behind the first
            arc = rng.choice(names + ['main', '']) + '/' + rng.choice(names + [''])
            args += rng.choice([[rng.choice(['-e', '-E', '-f', '-F', '-n', '-N']), spec(rng, names)],
                                [rng.choice(['-p', '-P', '-q', '-Q', '-A', '-J', '-C', '-Z']) + spec(rng, names)],
                                ['-k', arc], ['-q' + arc], ['-Q' + arc]])
        return args
    args = ['-b']
    for _ in range(rng.randrange(0, 5)):
        kind = rng.randrange(6)
        if kind < 2:
            args.append(rng.choice(['-p', '-q', '-C', '-A', '-r', '-z', '-a', '-D', '-T', '-L', '-i',
                                    '-x', '-l', '-P', '-Q', '-Z', '-J', '-w%d' % rng.randrange(1, 200),
                                    '--no-demangle', '--inline-file-names', '-B', '-t%d' % rng.randrange(9),
                                    '-m%d' % rng.randrange(40), '--line', '--flat-profile', '--gra',
                                    '-Ssymbols', '-Oauto', '-Omagic', '--demangle=auto',
                                    '--demangle=gnu-v3', '--demangle=none', '-I/nowhere']))
        elif kind < 4:
            args += [rng.choice(['-e', '-E', '-f', '-F', '-n', '-N']), spec(rng, names)]
        elif kind == 4:
            args.append(rng.choice(['-p', '-P', '-q', '-Q', '-A', '-J', '-C', '-Z']) + spec(rng, names))
        elif not any('/' in a for a in args):
            arc = rng.choice(names + ['main', '']) + '/' + rng.choice(names + [''])
            args += rng.choice([['-k', arc], ['-q' + arc], ['-Q' + arc]])
    return args


def run(argv, folder):
    done = subprocess.run(argv, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          stdin=subprocess.DEVNULL, timeout=300)
    return done.returncode, done.stdout, done.stderr


def overlapping(args):
    """gprof loses functions behind a spec inside another one's range."""
    specs = [a for a in args if ('.c' in a or a.lstrip('-pPqQAJCZ').isdigit())]
    return len(specs) > 0 and len([a for a in args if a[:2] in
                                   ('-e', '-E', '-f', '-F', '-n', '-N', '-p', '-P', '-q', '-Q')]) > 1


bad = done = miscounted = 0
folder = tempfile.mkdtemp(prefix='diff-gprof.')
try:
    while done < rounds:
        text, names = program(random)
        with open(folder + '/p.c', 'w') as f:
            f.write(text)
        flags = random.sample(FLAGS, random.randrange(1, 4))
        language = random.choice(['c', 'c', 'c', 'c++'])
        if language == 'c++':
            names = ['_Z%d%si' % (len(name), name) for name in names]
        built = run([COMPILERS[language], '-x', language, '-pg', '-w', *flags, 'p.c', '-o', 'p'], folder)
        if built[0] != 0 or run(['./p'], folder)[0] != 0 or not os.path.exists(folder + '/gmon.out'):
            continue
        with open(folder + '/gmon.out', 'rb') as f:
            ran = f.read()
        with open(folder + '/symbols', 'wb') as f:
            f.write(run(['nm', 'p'], folder)[1])
        for _ in range(min(12, rounds - done)):
            with open(folder + '/gmon.out', 'wb') as f:
                f.write(ran if random.random() < .3 else changed(random, ran))
            args = options(random, names)
            of_arcs = any('/' in a and not a.startswith('-I') for a in args)
            if overlapping(args) or (of_arcs and '-r' in args):
                continue
            done += 1
            args += random.choice([['p']] * 4 + [['p', 'gmon.out', 'gmon.out']])
            theirs = run([gprof, *args], folder)
            ours = run([pitot, 'gprof', *args], folder)
            if theirs[0] < 0:
                continue
            if b'somebody miscounted' in theirs[2] and '-a' in args and ours[0] == 0:
                miscounted += 1
                continue
            if theirs[:2] != ours[:2]:
                bad += 1
                kept = os.path.join(tempfile.gettempdir(), 'diff-gprof-%d-%d' % (seed, done))
                shutil.copytree(folder, kept, dirs_exist_ok=True)
                print('differ: (cd %s; gprof %s) built with %s: status %d, ours %d' %
                      (kept, ' '.join(args), ' '.join(flags), theirs[0], ours[0]), file=sys.stderr)
finally:
    shutil.rmtree(folder)
print('%d comparisons, %d miscounted by gprof, %d differ' % (done, miscounted, bad))
sys.exit(bad > 0)
