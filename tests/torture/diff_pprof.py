#!/usr/bin/env python3
"""diff_pprof.py: does `pitot pprof` print what Go's pprof prints, byte for byte?

  diff_pprof.py SEED PAIRS [-j N] [--keep FOLDER] [--only FORMAT] [--first N] [PROFILE...]

Each pair is a profile (random, or if some are named one of those), a format and random options, given
to both.
Standard output and whether they failed must agree. Pprof is asked again where it may answer in
another order itself (it walks hash tables). Differences that docs/compat.md explains are counted by
class; others are printed with the command that shows them, and make the exit status 1. With --keep
their profiles are left in FOLDER. The program under test is $PITOT, the reference $PPROF_REFERENCE or
that of Go 1.23. Of -tags, which Go 1.23 lays out in an older way, only keys and values are compared,
or all if $PPROF_TAGS_REFERENCE is a pprof with the newer layout. The same seed gives the same pairs.
"""
import argparse
import collections
import functools
import gzip
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ProcessPoolExecutor
from datetime import datetime

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import pprof_maker  # noqa: E402

PER_PROFILE = 6  # pairs asked of each random profile
FORMATS = ['text', 'top', 'tree', 'peek', 'traces', 'dot', 'callgrind', 'raw', 'list', 'comments',
           'tags', 'proto', 'topproto']
WORDS = ['main', 'm', 'f1', 'std::', 'runtime', '^a$', 'net/http', '\\.c$', 'x|y', '[a-f]', 'prog',
         'libc', 'operator', 'Widget', 'nothing like it', '(?i)MAIN', 'malloc', '.', 'f[0-9]+',
         'src', '^f', 'Bar', 'func1$', '\\d']
TAG_WORDS = ['web', 'tier=web', 'user=ann,bob', 'tier', '1kb:', ':100', 'bytes=4kb', 'bytes=16:4kb',
             'latency=1us:', 'k=1', 'web,ann', '16', 'id=100', ':', 'user=.*', '-5:5', '1000000ns']
KEYS = ['tier', 'user', 'bytes', 'tier,user', 'latency,k', 'none', 'id', 'request,tier', 'tier,user,k',
        'bytes,request,latency', 'k,none,tier']
SYMBOLIZE = ['-symbolize=' + mode for mode in ('local', 'force', 'demangle=full', 'demangle=templates',
                                              'demangle=none', 'fastlocal', 'remote', 'no')]
UNITS = ['minimum', 'auto', 'ms', 'seconds', 'kb', 'MB', 'bytes', 'count', 'nanoseconds', 'hrs',
         'widgets', 'gcu', 'us', 's', 'MiB', 'kib', 'GiB']


def reference():
    found = os.environ.get('PPROF_REFERENCE')
    for path in [found] if found else ['/usr/lib/go-1.23/pkg/tool/linux_amd64/pprof']:
        if os.access(path, os.X_OK):
            return path
    go = '/usr/lib/go-1.23/bin/go'
    if os.access(go, os.X_OK):
        folder = subprocess.run([go, 'env', 'GOTOOLDIR'], capture_output=True, text=True).stdout
        return os.path.join(folder.strip(), 'pprof')
    sys.exit('the pprof of Go 1.23 is not here')


# --- options

def some(rng, share, *values):
    return [rng.choice(values)] if rng.random() < share else []


def random_options(rng, events, patterns):
    words = lambda name, share: some(rng, share, *[f'-{name}={w}' for w in patterns])
    tags = lambda name, share: some(rng, share, *[f'-{name}={w}' for w in TAG_WORDS])
    few = rng.random() < .5  # half of the pairs combine few options, so that each is seen alone
    k = .3 if few else 1
    options = some(rng, .5, '-functions', '-filefunctions', '-files', '-lines', '-addresses')
    options += some(rng, .3, '-cum', '-flat')
    options += some(rng, .2 * k, '-noinlines') + some(rng, .2 * k, '-showcolumns')
    options += words('focus', .2 * k) + words('ignore', .15 * k) + words('hide', .15 * k)
    options += words('show', .1 * k) + words('show_from', .15 * k) + words('prune_from', .15 * k)
    options += tags('tagfocus', .1 * k) + tags('tagignore', .1 * k)
    options += some(rng, .08 * k, *[f'-tagshow={w}' for w in KEYS])
    options += some(rng, .08 * k, *[f'-taghide={w}' for w in KEYS])
    options += some(rng, .12 * k, *[f'-tagroot={w}' for w in KEYS])
    options += some(rng, .12 * k, *[f'-tagleaf={w}' for w in KEYS])
    options += some(rng, .15 * k, '-mean') + some(rng, .1 * k, '-drop_negative')
    options += some(rng, .15 * k, '-relative_percentages') + some(rng, .2 * k, '-call_tree')
    options += some(rng, .3, '-compact_labels') + some(rng, .2 * k, '-trim=false')
    options += some(rng, .25 * k, *[f'-unit={u}' for u in UNITS])
    options += some(rng, .15 * k, '-divide_by=2', '-divide_by=0.5', '-divide_by=3',
                    '-divide_by=1000', '-divide_by=-1')
    options += some(rng, .4 * k, '-nodecount=1', '-nodecount=3', '-nodecount=10', '-nodecount=0',
                    '-nodecount=40')
    options += some(rng, .3 * k, '-nodefraction=0', '-nodefraction=0.05', '-nodefraction=0.3')
    options += some(rng, .3 * k, '-edgefraction=0', '-edgefraction=0.01', '-edgefraction=0.2')
    options += some(rng, .1 * k, '-trim_path=/src', '-trim_path=/usr/include:/home/u')
    options += some(rng, .1 * k, '-source_path=/x/src', '-source_path=/go:/y/src')
    options += some(rng, .05 * k, '-add_comment=said so')
    options += some(rng, .05 * k, '-buildid=cafe')
    if events and rng.random() < .5:
        options.append(f'-sample_index={rng.choice(events + ["0", str(len(events) - 1)])}')
    return options


def random_format(rng, only, patterns):
    name = only or rng.choice(FORMATS)
    return f'-{name}={rng.choice(patterns)}' if name in ('peek', 'list', 'disasm') else f'-{name}'


# --- answers

ZONE = 'UTC'  # of the pairs at hand


def ask(argv, folder):
    env = {'PATH': os.environ['PATH'], 'HOME': folder, 'TZ': ZONE, 'LC_ALL': 'C.UTF-8'}
    for name in ('ASAN_OPTIONS', 'UBSAN_OPTIONS', 'LD_LIBRARY_PATH'):
        if name in os.environ:
            env[name] = os.environ[name]
    done = subprocess.run(argv, capture_output=True, cwd=folder, env=env, timeout=120,
                          stdin=subprocess.DEVNULL)
    return done.returncode, done.stdout, done.stderr


def old_layout(match):
    """The reference's newer time line in the layout of Go 1.23's pprof."""
    when = datetime.strptime(match[1].decode(), '%Y-%m-%d %H:%M:%S')
    hour = when.hour % 12 or 12
    return (f'Time: {when.strftime("%b")} {when.day}, {when.year} at {hour}:'
            f'{when.minute:02}{"am" if when.hour < 12 else "pm"} ({match[2].decode()})').encode()


def as_go123(text):
    """Our output where Go 1.23 has an older layout: the time."""
    return re.sub(rb'Time: (\d{4}-\d\d-\d\d \d\d:\d\d:\d\d) ([-+\w]+)(?=\n|\\l)', old_layout, text)


def tag_names(text):
    """What is left of -tags where figures are laid out differently: keys and their values."""
    keys, key = {}, None
    for line in text.decode('utf-8', 'surrogateescape').split('\n'):
        if re.match(r' .*: Total ', line) or re.match(r'\s*\S.*:\s+Total ', line):
            key = line.strip().split(': Total')[0]
        elif line.strip():
            keys.setdefault(key, []).append(line.split(': ', 1)[-1].strip())
    return {k: sorted(v) for k, v in keys.items()}


def inflated(data):
    return gzip.decompress(data) if data[:2] == b'\x1f\x8b' else data


def edges_of(text):
    """Lines of a report without their order."""
    return collections.Counter(text.split(b'\n'))


def dot_shape(text):
    """A graph without the numbers of its nodes: nodes, nodelets and edges by what they show."""
    name, rows = {}, []
    for line in text.split(b'\n'):
        found = re.match(rb'(N\S*) \[(.*)\]$', line)
        if found:
            name[found[1]] = re.sub(rb' id="\S+"', b'', found[2])
    for line in text.split(b'\n'):
        found = re.match(rb'(N\S*) -> (N\S*) (.*)$', line)
        if found:
            rows.append((name.get(found[1]), name.get(found[2]), found[3]))
        elif not re.match(rb'N\S* \[', line):
            rows.append(line)
    return collections.Counter(rows + list(name.values()))


def callgrind_shape(text):
    """A callgrind report as nodes with their calls, in any order: names in full and without the
    numbers of callees, addresses absolute."""
    tables = {'ob': {}, 'fl': {}, 'fn': {}}
    head, nodes, before, call = {}, [], 0, None

    def name(table, value):
        found = re.fullmatch(r'(\(\d+\))(?: (.*))?', value)
        if found and found[2] is not None:
            tables[table][found[1]] = found[2]
        return re.sub(r' \[\d+/\d+\]$', '', tables[table].get(found[1], '?')) if found else ''

    def absolute(text):
        if text == '*':
            return before
        return before + int(text) if text[0] in '+-' else int(text, 16)

    for line in text.decode('utf-8', 'surrogateescape').split('\n')[2:]:
        key, _, value = line.partition('=')
        if key in tables:
            head[key] = name(key, value)
        elif key in ('cfl', 'cfn'):
            call = (call or ()) + (name(key[1:], value),)
        elif key == 'calls':
            _, address, number = value.split()
            call += (absolute(address), number)
        elif line.startswith('* * ') and call:
            nodes[-1][1].append(call + (line,))
            call = None
        elif line:
            address, *rest = line.split()
            if nodes:
                before = nodes[-1][0][3]
            nodes.append(((head.get('ob'), head.get('fl'), head.get('fn'), absolute(address), *rest),
                          []))
            before = nodes[-2][0][3] if len(nodes) > 1 else 0
    return collections.Counter((node, tuple(sorted(calls))) for node, calls in nodes)


def compare(pitot, pprof, argv, folder, kind):
    """None if they agree; else (class or None, detail)."""
    newer_tags = os.environ.get('PPROF_TAGS_REFERENCE') if kind == 'tags' else None
    pprof = newer_tags or pprof
    ours = ask([pitot, 'pprof', *argv], folder)
    theirs = ask([pprof, *argv], folder)
    mine = as_go123(ours[1])
    if (ours[0] != 0) != (theirs[0] != 0):
        if b'panic:' in theirs[2] or b'fatal error:' in theirs[2]:
            return 'pprof itself crashes', ''
        return None, f'exit status {ours[0]}, pprof {theirs[0]}\n{ours[2].decode()[-300:]}' \
                     f'{theirs[2].decode()[-600:]}'
    if ours[0] != 0:
        if b' [0xc000' in theirs[2]:
            return 'pprof prints pointers', ''
        return None if said(ours[2]) == said(theirs[2]) else \
            (None, f'says {said(ours[2])}\npprof {said(theirs[2])}')
    if kind in ('proto', 'topproto'):
        mine, other = inflated(ours[1]), inflated(theirs[1])
        return None if mine == other else (None, f'{len(mine)} bytes, pprof {len(other)}')
    if mine == theirs[1]:
        return None
    if kind == 'tags' and not newer_tags:
        return None if tag_names(mine) == tag_names(theirs[1]) else (None, diff(mine, theirs[1]))
    explained, detail = ask_again(mine, theirs[1], [pprof, *argv], folder, kind)
    if explained is None and any(a.startswith(('-trim_path', '-source_path')) for a in argv):
        uncut = [*argv[:1], '-trim=false', *(a for a in argv[1:] if not a.startswith('-trim='))]
        if as_go123(ask([pitot, 'pprof', *uncut], folder)[1]) == ask([pprof, *uncut], folder)[1]:
            return 'paths trimmed again at each cut', ''
    return explained, detail


def ask_again(mine, first, argv, folder, kind):
    """Pprof sorts what it takes out of hash tables: equals come in another order each time, and
    where a report is cut among equals, others are left. A call tree has many equals."""
    shape = {'dot': dot_shape, 'callgrind': callgrind_shape}.get(kind, edges_of)
    tree, ours, answers = '-call_tree' in argv, shape(mine), {first}
    if tree and ours == shape(first):
        return 'order of equals in a call tree', ''
    for _ in range(20):
        answers.add(ask(argv, folder)[1])
        if mine in answers:
            return 'order of equals', ''
    if len(answers) > 1 and any(ours == shape(answer) for answer in answers):
        return 'order of equals', ''
    if tree and any(shape(answer) != shape(first) for answer in answers):
        return 'a call tree cut among equals', ''
    return None, diff(mine, first)


def said(stderr):
    """The last line, which is the error."""
    lines = [line for line in stderr.decode('utf-8', 'replace').split('\n') if line.strip()]
    return lines[-1] if lines else ''


def diff(mine, theirs):
    a, b = mine.split(b'\n'), theirs.split(b'\n')
    for i in range(max(len(a), len(b))):
        x, y = a[i] if i < len(a) else b'(end)', b[i] if i < len(b) else b'(end)'
        if x != y:
            return f'line {i + 1}:\n  ours  {x.decode("utf-8", "replace")[:300]}\n  pprof ' \
                   f'{y.decode("utf-8", "replace")[:300]}'
    return 'no line differs'


# --- runs

@functools.lru_cache(maxsize=8)
def looked_at(profile):
    """Events of a real profile, and patterns made of words in it."""
    text = ask([reference(), '-raw', '-symbolize=none', profile], '/')[1].decode('utf-8', 'replace')
    lines = text.split('\n')
    events = lines[lines.index('Samples:') + 1].split() if 'Samples:' in lines else []
    words = sorted({w for w in re.findall(r'[A-Za-z_][\w:./]{2,40}', text) if len(w) < 40})
    patterns = [re.escape(w).replace('/', '.') for w in words[::max(1, len(words) // 200)]]
    return [e.split('/')[0].removesuffix('[dflt]') for e in events], patterns + WORDS


def make_random(rng, folder):
    """A profile and sometimes a base for it: (events, patterns, bases)."""
    made = pprof_maker.Profile(rng, '/nowhere')
    made.write(os.path.join(folder, 'p.pb.gz'))
    bases = []
    if rng.random() < .1:
        bases = ['p.pb.gz']  # nothing is left: each sum, and the whole, is 0
    elif rng.random() < .3:
        base = pprof_maker.Profile(rng, '/nowhere') if rng.random() < .4 else made
        base.events = made.events
        base.make_samples()
        base.write(os.path.join(folder, 'base.pb.gz'))
        bases = ['base.pb.gz']
    return [kind for kind, _ in made.events], WORDS, bases


def take_real(rng, profile, profiles, folder):
    shutil.copyfile(profile, os.path.join(folder, 'p.pb.gz'))
    bases = []
    with open(profile, 'rb') as f:
        # Before another file pprof of Go takes a gperftools profile for a program: a PE file of an
        # unknown machine.
        begins_with_zeros = f.read(4) == bytes(4)
    if rng.random() < .3 and not begins_with_zeros:
        near = [p for p in profiles if os.path.dirname(p) == os.path.dirname(profile)]
        base = profile if rng.random() < .3 else rng.choice(near)
        shutil.copyfile(base, os.path.join(folder, 'base.pb.gz'))
        bases = ['base.pb.gz']
    return (*looked_at(profile), bases)


def random_question(rng, only, events, patterns, bases):
    shape = random_format(rng, only, patterns)
    symbols = ['-symbolize=none'] if rng.random() < .7 else some(rng, .6, *SYMBOLIZE)
    argv, names = [shape, *symbols, *random_options(rng, events, patterns)], ['p.pb.gz']
    if bases and rng.random() < .7:
        how = rng.choice(['base', 'diff_base', 'second'])
        if how == 'second':
            names += bases
        else:
            argv += [f'-{how}={bases[0]}'] + some(rng, .3, '-normalize')
    return argv + names, shape.lstrip('-').split('=')[0]


def keep_files(folder, kept):
    os.makedirs(kept, exist_ok=True)
    for name in os.listdir(folder):
        if os.path.isfile(os.path.join(folder, name)):
            shutil.copy(os.path.join(folder, name), kept)


def batch(task):
    """The pairs of one profile: [(argv, kind, found, kept)]."""
    global ZONE
    seed, number, count, profile, profiles, only, keep = task
    rng = random.Random(f'{seed} {number}')
    ZONE = rng.choice(['UTC', 'Europe/Berlin', 'Asia/Kolkata', 'America/Sao_Paulo'])
    pitot, pprof = os.environ.get('PITOT', 'pitot'), reference()
    results = []
    with tempfile.TemporaryDirectory(prefix='diff-pprof.') as folder:
        with open(os.path.join(folder, 'src.c'), 'w') as f:
            f.write(pprof_maker.SOURCE)
        about = take_real(rng, profile, profiles, folder) if profile else make_random(rng, folder)
        for _ in range(count):
            argv, kind = random_question(rng, only, *about)
            try:
                found = compare(pitot, pprof, argv, folder, kind)
            except subprocess.TimeoutExpired as late:
                found = (None, f'no answer: {late.cmd[0]}')
            kept = ''
            if found and found[0] is None and keep:
                kept = os.path.join(keep, f'{seed}-{number}')
                keep_files(folder, kept)
            results.append((argv, kind, found, kept))
    return number, profile, results


def tasks_of(args):
    numbers = range(args.first, args.first + (args.pairs + PER_PROFILE - 1) // PER_PROFILE)
    for n in numbers:
        profile = args.profiles[n % len(args.profiles)] if args.profiles else None
        yield args.seed, n, PER_PROFILE, profile, args.profiles, args.only, args.keep


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('seed')
    parser.add_argument('pairs', type=int)
    parser.add_argument('profiles', nargs='*')
    parser.add_argument('-j', type=int, default=1)
    parser.add_argument('--keep')
    parser.add_argument('--only')
    parser.add_argument('--first', type=int, default=0)
    args = parser.parse_intermixed_args()
    args.profiles = [os.path.abspath(p) for p in args.profiles]
    pairs, classes, kinds, unexplained = 0, collections.Counter(), collections.Counter(), 0
    with ProcessPoolExecutor(args.j) as pool:
        for number, profile, results in pool.map(batch, tasks_of(args)):
            for argv, kind, found, kept in results:
                pairs += 1
                kinds[kind] += 1
                if found is None:
                    continue
                explained, detail = found
                if explained:
                    classes[explained] += 1
                    continue
                unexplained += 1
                where = kept or (profile or f'number {number}')
                print(f'{where}: {" ".join(argv)}\n{detail}', flush=True)
    print(f'{pairs} pairs, {unexplained} unexplained differences, seed {args.seed}')
    print('  ' + ', '.join(f'{k} {n}' for k, n in sorted(kinds.items())))
    for name, count in classes.most_common():
        print(f'  {name}: {count}')
    return 1 if unexplained else 0


if __name__ == '__main__':
    sys.exit(main())
