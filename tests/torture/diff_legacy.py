#!/usr/bin/env python3
"""diff_legacy.py SEED ROUNDS GO PITOT: random text profiles (heap, contention, counts, threads) with
random lists of mappings, and Java's of heap and contention: does `pitot pprof -raw` say what `go tool pprof
-raw` says, to the byte, and does -proto write the same bytes before compression?

Left out, since pitot reads them otherwise on purpose: pieces of a file that follow each other where
one offset is 0 and the other does not continue it (google/pprof joins them), samples of no bytes
(pprof's label "bytes" of 0), and lists of mappings behind counts that begin with MAPPED_LIBRARIES (google/pprof
refuses the file)."""
import gzip
import os
import random
import subprocess
import sys
import tempfile

seed, rounds, go, pitot = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3], sys.argv[4]
random.seed(seed)

FILES = ['/bin/prog', '/lib/libc.so.6', '/lib/x.so', '[vdso]', '/anon_hugepage',
         '/usr/lib/ld-2.1.so', '/a/b.so_1', '/opt/my prog']


def maps():
    lines, at, last = [], 0x400000, None
    for i in range(random.randrange(0, 6)):
        start = at + 0x1000 * random.randrange(0, 32)
        at = start + 0x1000 * random.randrange(1, 64)
        offset = random.choice([0, 0, 0x1000, 0x2000])
        name = random.choice(FILES[:-1])
        if name == last:
            continue
        last = name
        form = random.randrange(4)
        if form == 0:
            lines.append('%08x-%08x %s %08x fe:00 123   %s' % (
                start, at, random.choice(['r-xp', 'r-xp', 'r--p', 'rwxp']), offset, name))
        elif form == 1:
            lines.append('  %x-%x: %s' % (start, at, name))
        elif form == 2:
            lines.append('%x-%x: %s (@%x) %s' % (start, at, name, offset, 'abc%d' % i))
        else:
            lines.append('I0101 00:00:00.1 2 f.cc:3] %x-%x: %s' % (start, at, name))
        if random.random() < .15:
            lines.append('build=/bin/x%d' % i)
    return '\n'.join(lines) + '\n'


def address():
    return '0x%x' % (random.choice([0x400000, 0x410000, 0x500000, 0x7f0000000000]) +
                     random.randrange(0, 0x60000))


def stack():
    return ' '.join(address() for _ in range(random.randrange(1, 8)))


def heap():
    kind = random.choice(['heap_v2/%d' % random.choice([0, 1, 4096, 524288]), 'heap/1048576', 'heap',
                          'heapprofile', 'growth', 'growthz', 'fragmentationz', 'heapz_v2/65536'])
    both = random.random() < .5
    lines = ['heap profile: 5: 10 [%s] @ %s' % ('6: 11' if both else '5: 10', kind)]
    for _ in range(random.randrange(0, 30)):
        count = random.randrange(1, 50)
        size = count * random.randrange(1, 10000)
        more = random.randrange(0, 9) if both else 0
        lines.append('%6d: %8d [%6d: %8d] @ %s' % (count, size, count + more, size + more * 100,
                                                   stack()))
        if random.random() < .1:
            lines.append('# comment')
    return '\n'.join(lines) + '\n\nMAPPED_LIBRARIES:\n' + maps()


def contention():
    lines = [random.choice(['--- contentionz 1 ---', '--- mutex:', '--- contention:'])]
    if random.random() < .8:
        lines.append('cycles/second = %d' % random.choice([10**9, 3201000000, 2 * 10**9]))
    if random.random() < .8:
        lines.append('sampling period = %d' % random.choice([1, 100, 7]))
    if random.random() < .5:
        lines.append('ms since reset = 1234')
    for _ in range(random.randrange(1, 20)):
        lines.append('%10d %6d @ %s' % (random.randrange(10**6), random.randrange(100), stack()))
    return '\n'.join(lines) + '\n--- Memory map: ---\n' + maps()


def counts():
    lines = ['%s profile: total 9' % random.choice(['goroutine', 'threadcreate', 'my/own'])]
    for _ in range(random.randrange(1, 20)):
        lines.append('%d @ %s' % (random.randrange(1, 9), stack()))
        if random.random() < .2:
            lines.append('#\t%s\tmain.f+0x1\t/a.go:1' % address())
    return '\n'.join(lines) + random.choice(['\n', '\n--- Memory map: ---\n' + maps()])


def threads():
    text = '--- threadz 1 ---\n\n'
    for i in range(random.randrange(1, 8)):
        text += '--- Thread 7f%x (name: t%d/%d) stack: ---\n' % (i, i, i)
        if i and random.random() < .3:
            text += '  [same as previous thread]\n'
            continue
        frames = [address() for _ in range(random.randrange(1, 6))]
        if random.random() < .3 and len(frames) > 1:
            frames[1] = frames[0]
        text += '  PC:  %s: f(int)\n' % frames[0]
        text += ''.join('  %s: g\n' % frame for frame in frames[1:])
    return text + '--- Memory map: ---\n' + maps()


def java():
    kind = random.choice(['heap', 'heap', 'contention'])
    lines = ['--- heapz 1 ---' if kind == 'heap' else '--- contentionz 1 ---', 'format = java',
             'resolution = ' + ('bytes' if kind == 'heap' else random.choice(['microseconds', 'nanoseconds']))]
    if kind == 'contention':
        lines += ['sampling period = %d' % random.choice([1, 100]), 'ms since reset = 6019923']
    names = ['0x%08x' % random.randrange(1, 2**32) for _ in range(random.randrange(1, 12))]
    for _ in range(random.randrange(1, 12)):
        stack = ' '.join(random.choice(names) for _ in range(random.randrange(1, 6)))
        lines.append('%10d %6d @ %s' % (random.randrange(1, 10**6), random.randrange(1, 99), stack))
    for i, name in enumerate(names):
        lines.append(' ' * 14 + name + random.choice(
            [' com.example.T%d.run (T%d.java:%d)' % (i, i, i + 3), ' com.example.f%d (lib%d.so)' % (i, i),
             ' <init>%d' % i, ' GC']))
    return '\n'.join(lines) + '\n'


def proto(command, path, home):
    out = os.path.join(home, 'out.pb.gz')
    subprocess.run(command + ['-proto', '-symbolize=none', '-output=' + out, path], capture_output=True,
                   env=dict(os.environ, HOME=home, PPROF_TMPDIR=home))
    if not os.path.exists(out):
        return b''
    with gzip.open(out) as file:
        data = file.read()
    os.remove(out)
    return data


def raw(command, path, home):
    done = subprocess.run(command + ['-raw', '-symbolize=none', path], capture_output=True,
                          env=dict(os.environ, HOME=home, PPROF_TMPDIR=home))
    return done.stdout


with tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, 'profile')
    for number in range(rounds):
        text = random.choice([heap, contention, counts, threads, java])()
        with open(path, 'w') as file:
            file.write(text)
        theirs = raw([go, 'tool', 'pprof'], path, folder)
        ours = raw([pitot, 'pprof'], path, folder)
        if theirs == ours and theirs:
            theirs, ours = (proto(command, path, folder)
                            for command in ([go, 'tool', 'pprof'], [pitot, 'pprof']))
        if theirs != ours or not theirs:
            with open('different', 'w') as file:
                file.write(text)
            sys.exit('seed %d, profile %d differs (kept as ./different)' % (seed, number))
