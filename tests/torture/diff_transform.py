#!/usr/bin/env python3
"""diff_transform.py TOOL SEED ROUNDS [PROFILE...]: does `go tool pprof -proto` write what our
transforms write, byte for byte before compression?

Random options of pprof on random small profiles (proto_random.py), one or several and with bases, or
on the named real ones. TOOL is build/tests/transform_tool. Where Go refuses, ours must refuse.
PPROF names the program to start (default: `go tool pprof`). Differences are printed with what
repeats them, and their files are kept; exit status 1 if there are any.
"""
import gzip
import os
import random
import shlex
import subprocess
import sys

from proto_random import FILES, KEYS, NAMES, Shape, random_profile

PPROF = shlex.split(os.environ.get('PPROF', 'go tool pprof'))
PIECES = ['main', 'parse', 'read', 'emit', 'alloc', 'free', 'std', r'\.c$', 'libz', 'prog', 'vdso',
          'push_back$', '^operator', 'no_such_name', 'lib', '.']


def pattern(rng):
    one = rng.choice(PIECES)
    return rng.choice([one, one, f'{one}|{rng.choice(PIECES)}', '^' + one])


def tag_pattern(rng):
    key = rng.choice(['', '', rng.choice(KEYS) + '='])
    value = rng.choice(['main', 'main,worker', 'x', 'thread:main', '32kb', ':32kb', '1kb:', '32',
                        '1:100', '1b:32kb', '-5', '32768bytes', '1ms:10s', '1kb:1ms', 'a32kb',
                        ':', '32widgets', '+1:', 'request,main'])
    return key + value


def keys(rng):
    return ','.join(rng.choice(KEYS + ['', 'nokey']) for _ in range(rng.randint(1, 3)))


OPTIONS = [('focus', pattern, 0.25), ('ignore', pattern, 0.2), ('hide', pattern, 0.25),
           ('show', pattern, 0.2), ('show_from', pattern, 0.2), ('prune_from', pattern, 0.2),
           ('tagfocus', tag_pattern, 0.2), ('tagignore', tag_pattern, 0.2),
           ('tagshow', lambda r: r.choice(['b', 'thread', '^k', 'nokey']), 0.1),
           ('taghide', lambda r: r.choice(['b', 'thread', '^k', 'nokey']), 0.1),
           ('tagroot', keys, 0.15), ('tagleaf', keys, 0.15),
           ('unit', lambda r: r.choice(['minimum', 'auto', 'kb', 'ms', 'widgets']), 0.15),
           ('divide_by', lambda r: r.choice(['2', '0.5', '3', '-1']), 0.1),
           ('noinlines', lambda r: 'true', 0.15), ('showcolumns', lambda r: 'true', 0.1)]


def random_query(rng, profiles):
    query = [(name, make(rng)) for name, make, share in OPTIONS if rng.random() < share]
    if len(profiles) > 1 and rng.random() < 0.6:
        kind = rng.choice(['base', 'diff_base'])
        query.append((kind, profiles.pop()))  # of several pprof takes the last
        if rng.random() < 0.3:
            query.append(('normalize', 'true'))
    return query


def run_pprof(query, profiles, into):
    argv = PPROF + ['-proto', '-symbolize=none', f'-output={into}',
                    *[f'-{name}={value}' for name, value in query], *profiles]
    done = subprocess.run(argv, capture_output=True, text=True, errors='surrogateescape')
    if done.returncode != 0:
        return None, done.stderr
    with gzip.open(into) as f:
        return f.read(), done.stderr


def run_ours(tool, query, profiles, into):
    argv = [tool, into, *[f'{name}={value}' for name, value in query], *profiles]
    done = subprocess.run(argv, capture_output=True, text=True, errors='surrogateescape')
    if done.returncode < 0 or done.returncode > 1:
        return b'crashed', done.stderr
    if done.returncode != 0:
        return None, done.stderr
    with open(into, 'rb') as f:
        return f.read(), done.stderr


def compare(tool, label, query, profiles):
    theirs, said = run_pprof(query, profiles, 'theirs.pb.gz')
    ours, we_said = run_ours(tool, query, profiles, 'ours.pb')
    if ours == theirs:
        return True
    command = ' '.join(shlex.quote(f'-{n}={v}') for n, v in query) + ' ' + ' '.join(profiles)
    sizes = [len(x) if x is not None else 'refused' for x in (ours, theirs)]
    print(f'{label}: differs: {command}\n    ours {sizes[0]}, theirs {sizes[1]}; '
          f'ours: {we_said.strip()[:200]}; theirs: {said.strip()[:200]}')
    return False


def made_profiles(rng, label):
    shape = Shape(rng)
    paths = []
    # Of three and more whose units differ, pprof drops samples one profile at a time; see
    # src/personality/pprof/merge.c.
    for i in range(rng.choice([1, 1, 2] if shape.mixed else [1, 1, 1, 2, 3, 4])):
        paths.append(f'{label}-{i}.pb')
        with open(paths[-1], 'wb') as f:
            f.write(random_profile(rng, shape))
    return paths


def main(tool, seed, rounds, real):
    differ = agreed = 0
    for i in range(int(rounds)):
        rng = random.Random(f'{seed}/{i}')
        profiles = [rng.choice(real)] if real else made_profiles(rng, str(i))
        made = list(profiles)
        query = random_query(rng, profiles)
        if compare(tool, i, query, profiles):
            agreed += 1
            for path in made if not real else []:
                os.unlink(path)
        else:
            differ += 1
    print(f'{agreed} of {agreed + differ} agree')
    return 1 if differ else 0


if __name__ == '__main__':
    sys.exit(main(sys.argv[1], sys.argv[2], sys.argv[3], sys.argv[4:]))
