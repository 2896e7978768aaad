#!/usr/bin/env python3
"""diff_peers.py KIND SEED ROUNDS PITOT [OTHER]: random files of one kind, and what is in them by the tool that makes or reads
such files, or by the generator's own tables. KIND is

  script      perf script: frames "(inlined)" with and without the code they lie in: the chains by the generator's tables
  gprof       gprof -b of random counts, in seconds, "(K) cycles" and others, as UTF-8 and UTF-16: the functions and
              their calls and times are those of the flat profile
  counts      perf.data of `pitot convert`: perf report -n counts the samples of the profile
  dotnet      profile.proto whose functions have no ids, and whose default event is empty: the names by the tables
  starts      -raw, -list and -proto of a program without names in the profile: the lines where functions start in the
              source; OTHER, Go's pprof, reads what -proto wrote
  speedscope  callgrind of `pitot convert`: speedscope, whose folder OTHER is, has the totals
  doc         -raw of profiles with a documentation URL: the text of OTHER, Go's pprof, which does not know such URLs,
              with a line "Doc:" behind the comments
  remote      -raw of profiles from a server that names their addresses: the text of OTHER, Go's pprof

Prints what differs, with the file's text, and ends with 1 then."""
import collections
import gzip
import http.server
import json
import os
import random
import re
import struct
import subprocess
import sys
import tempfile
import threading

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from pprof_maker import block, number, packed, Profile, Strings  # noqa: E402

kind, seed, rounds, pitot = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), os.path.abspath(sys.argv[4])
other = sys.argv[5] if len(sys.argv) > 5 else None
rng = random.Random(seed)


def run(*argv):
    done = subprocess.run(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL)
    return done.stdout.decode('utf-8', 'replace')


def write(name, data):
    with open(name, 'wb') as f:
        f.write(data if isinstance(data, bytes) else data.encode())
    return name


# ---- each kind: (what pitot says, what is so)

def script():
    stacks, chains = [], set()
    for _ in range(rng.randrange(1, 12)):
        lines, first = [], True
        for _ in range(rng.randrange(1, 6)):
            address = rng.randrange(0x400000, 0x410000)
            names = ['f%d' % rng.randrange(20) for _ in range(rng.choice([1, 1, 2, 3]))]
            alone = rng.random() < .15  # perf names the inlined call, but not the function around it
            for name in names[:-1]:
                lines.append('\t%16x %s (inlined)' % (address, name))
            lines.append('\t%16x %s' % (address, names[-1] + (' (inlined)' if alone else '+0x10 (/nowhere/app)')))
            if alone:  # the next frame lies elsewhere
                address_next = address + rng.randrange(0x1000, 0x2000)
                lines.append('\t%16x [unknown] (/nowhere/lib.so)' % address_next)
            chains.add((address - (not first), tuple(names)))
            if alone:
                chains.add((address_next - 1, ('',)))
            first = False
        stacks.append('app 100/100 [000] 5.%06d: 1000 cycles: \n%s\n\n' % (len(stacks) + 1, '\n'.join(lines)))
    write('p.script', ''.join(stacks))
    said, at = set(), None
    section = run(pitot, 'pprof', '-symbolize=none', '-raw', 'p.script').split('Locations\n')[-1].split('Mappings\n')[0]
    for line in section.splitlines():
        m = re.match(r'\s+\d+: (0x\w+) (?:M=\d+ )?(.*)$', line)
        if m:
            if at:
                said.add((at[0], tuple(at[1])))
            at = (int(m[1], 16), [m[2].split(' ')[0]])
        elif line.strip():
            at[1].append(line.split()[0])
    said.add((at[0], tuple(at[1])))
    return sorted(said), sorted(chains), ''.join(stacks)


def built_program():
    """A program with known functions, built once: p.c, p; {name: first line}."""
    if os.path.exists('p'):
        return
    names = ['work%d' % i for i in range(rng.randrange(6, 20))]
    lines = ['static volatile long sink;']
    for name in names:
        lines += ['/* about %s */' % name] * rng.randrange(0, 4)
        lines += ['__attribute__((noipa)) void %s(int n)' % name, '{', '    for (int i = 0; i < n; i++)'] + \
                 ['        sink += i;'] + ['    sink--;'] * rng.randrange(1, 4) + ['}']
    lines += ['int main(void)', '{'] + ['    %s(100);' % n for n in names] + ['    return 0;', '}']
    write('p.c', '\n'.join(lines) + '\n')
    subprocess.run(['gcc', '-pg', '-g', '-O1', '-no-pie', 'p.c', '-o', 'p'], check=True)
    subprocess.run(['./p'], check=True)


def symbols():
    found = {}
    for line in run('nm', '-S', 'p').splitlines():
        f = line.split()
        if len(f) == 4 and re.match('work|main', f[3]):
            found[f[3]] = int(f[0], 16), int(f[1], 16)
    return found


def flat(text):
    """{function: (calls, self time as printed)} of gprof's flat profile."""
    rows = {}
    for line in text.splitlines():
        m = re.match(r'\s*[\d.]+\s+[\d.]+\s+([\d.]+)(?:\s+(\d+)\s+[\d.]+\s+[\d.]+)?\s+(\w+)$', line)
        if m:
            rows[m[3]] = int(m[2] or 0), float(m[1])
    return rows


def gprof():
    built_program()
    with open('gmon.out', 'rb') as f:
        data = f.read()
    low, high, bins, _ = struct.unpack_from('<QQII', data, 21)
    arcs = data[20 + 41 + 2 * bins:]
    dimension = rng.choice([(b'seconds', b's'), (b'(K) cycles', b'c'), (b'cycles', b'c'), (b'i-cache misses', b'1')])
    counts = [0] * bins
    for name, (start, size) in symbols().items():
        if rng.random() < .7:
            counts[(start + size // 2 - low) * bins // (high - low)] += rng.randrange(1, 5000)
    write('g.out', data[:20] + b'\0' + struct.pack('<QQII15sc', low, high, bins, rng.choice([1, 100, 1000]), *dimension) +
          struct.pack('<%dH' % bins, *counts) + arcs)
    text = run('gprof', '-b', 'p', 'g.out')
    expected = {n: (c, s) for n, (c, s) in flat(run('gprof', '-b', '-p', 'p', 'g.out')).items() if s > 0}
    encoding = rng.choice(['utf-8', 'utf-16-le', 'utf-16-be'])
    mark = '' if encoding == 'utf-8' else '\ufeff'
    write('g.txt', (mark + text).encode(encoding))
    said = json.loads(run(pitot, 'top', '--json', '-n', '0', 'g.txt') or '{"rows": []}')
    whole = sum(s for _, s in expected.values()) or 1
    total = sum(r['self'] for r in said['rows']) or 1
    ours = {r['name']: round(r['self'] / total, 2) for r in said['rows'] if r['self'] > 0}
    return ours, {n: round(s / whole, 2) for n, (_, s) in expected.items()}, '%s %s' % (dimension[0], encoding) + text


def addresses():
    """A profile of sampled addresses in p, without names."""
    built_program()
    places = symbols()
    return {name: start + rng.randrange(size) for name, (start, size) in places.items() if rng.random() < .8}


def gperftools(pcs, counts):
    maps = ''
    for line in run('readelf', '-lW', 'p').splitlines():
        m = re.match(r'\s+LOAD\s+0x(\w+) 0x(\w+) 0x\w+ 0x(\w+) 0x\w+ R E', line)
        if m:
            off, start, size = (int(n, 16) for n in m.groups())
            maps = '%x-%x r-xp %08x 00:00 0 %s\n' % (start & ~4095, (start + size + 4095) & ~4095, off & ~4095,
                                                     os.path.abspath('p'))
    words = [0, 3, 0, 1000, 0]
    for pc, count in zip(pcs, counts):
        words += [count, 1, pc]
    return write('p.prof', struct.pack('<%dQ' % (len(words) + 3), *words, 0, 1, 0) + maps.encode())


def counts():
    pcs = list(addresses().values())
    many = [rng.choice([1, 1, 2, 7, rng.randrange(1, 300)]) for _ in pcs]
    gperftools(pcs, many)
    run(pitot, 'convert', '--symbols=off', 'p.prof', '--to=perf.data', '-o', 'p.data')
    text = run('perf', 'report', '--stdio', '-n', '-g', 'none', '--no-children', '-F', 'sample,symbol', '-t', '|', '-i',
               'p.data')
    seen = sum(int(m) for m in re.findall(r'^\s*(\d+)\s*\|', text, re.M))
    return seen, sum(many), text


def dotnet():
    strings, functions = Strings(), []
    names = ['Ns.Type%d.Method%d' % (rng.randrange(4), i) for i in range(rng.randrange(2, 50))]
    events = [('samples', 'count'), ('cpu', 'nanoseconds'), ('alloc', 'bytes')][:rng.randrange(1, 4)]
    empty = rng.randrange(len(events)) if len(events) > 1 and rng.random() < .5 else -1
    out = b''.join(block(1, number(1, strings(t)) + number(2, strings(u))) for t, u in events)
    totals = collections.Counter()
    for i in range(rng.randrange(1, 30)):
        stack = [rng.randrange(len(names)) for _ in range(rng.randrange(1, 6))]
        value = rng.randrange(1, 1000)
        values = [0 if e == empty else value for e in range(len(events))]
        totals[names[stack[0]]] += value
        out += block(2, packed(1, [s + 1 for s in stack]) + packed(2, values))
    for i in range(len(names)):
        out += block(4, number(1, i + 1) + block(4, b''))
    for name in names:
        functions.append(block(5, number(2, strings(name))))
    write('p.pb.gz', gzip.compress(out + b''.join(functions) + strings.fields()))
    # The last event is shown if no other is; one that is empty gives way, or a line names those that are not.
    shown = run(pitot, 'top', '--json', '-n', '0', *([] if empty < 0 else ['-e', str((empty + 1) % len(events))]), 'p.pb.gz')
    said = {r['name']: r['self'] for r in json.loads(shown or '{"rows": []}')['rows'] if r['self']}
    if empty == len(events) - 1:
        done = subprocess.run([pitot, 'top', 'p.pb.gz'], stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        if events[0][0].encode() not in done.stdout:
            said['nothing is said of the events that are not empty'] = 1
    return said, dict(totals), repr((names, events, empty))


def starts():
    at = addresses()
    gperftools(at.values(), [1] * len(at))
    with open('p.c') as f:
        lines = f.read().splitlines()
    begin = {name: i + 1 for name in at for i, line in enumerate(lines)
             if re.search(r'\b(void|int) %s\(' % name, line)}
    raw = run(pitot, 'pprof', '-raw', 'p', 'p.prof')
    said = {m[0]: int(m[1]) for m in re.findall(r'M=\d+ (\w+) \S+:\d+:\d+ s=(\d+)', raw)}
    run(pitot, 'pprof', '-proto', '-output=p.pb.gz', 'p', 'p.prof')
    for name, line in re.findall(r'M=\d+ (\w+) \S+:\d+(?::\d+)? s=(\d+)', run(other, '-raw', '-symbolize=none', 'p.pb.gz')):
        if said.get(name) != int(line):
            said[name] = 'from %s by -proto' % line
    # -list begins at the function's first line.
    for name in list(said):
        first = re.search(r'^ +\S+ +\S+ +(\d+):', run(pitot, 'pprof', '-list=^%s$' % name, 'p', 'p.prof'), re.M)
        if first is None or int(first[1]) != said[name]:
            said[name] = 'listed from %s' % (first and first[1])
    return said, begin, raw


def speedscope():
    # All from main, and in one order: speedscope drops what begins at a function that has callers elsewhere, and
    # counts what calls itself, by whatever way, several times.
    stacks = [(';'.join(['main'] + ['f%d' % n for n in sorted(rng.sample(range(12), rng.randrange(0, 6)))]),
               rng.randrange(1, 400)) for _ in range(rng.randrange(1, 30))]
    write('p.folded', ''.join('%s %d\n' % s for s in stacks))
    run(pitot, 'convert', 'p.folded', '-o', 'p.callgrind')
    importer = os.path.join(os.path.dirname(os.path.abspath(__file__)), '../cli/speedscope_import.js')
    text = run('node', importer, other, 'p.callgrind')
    seen = sum(int(m) for m in re.findall(r'^profile [^\t]*\t[^\t]*\t(\d+)', text, re.M))
    return seen, sum(count for _, count in stacks), text


def doc():
    made = Profile(rng, '/nowhere')
    data, url = made.bytes(), 'https://example.com/%d' % rng.randrange(100)
    write('p.pb.gz', gzip.compress(data + block(6, url.encode()) + number(15, len(made.strings.ids))))
    theirs = run(other, '-raw', '-symbolize=none', 'p.pb.gz').splitlines()
    at = 0
    while at < len(theirs) and theirs[at].startswith('Comment: '):
        at += 1
    theirs[at:at] = ['Doc: ' + url] if theirs else []
    return run(pitot, 'pprof', '-raw', '-symbolize=none', 'p.pb.gz').splitlines(), theirs, url


class Server(http.server.BaseHTTPRequestHandler):
    """Profiles, and names of the addresses that `unknown` does not hold."""
    profile, unknown = b'', set()

    def log_message(self, *args):
        pass

    def answer(self, body):
        self.send_response(200)
        self.send_header('Content-Type', 'text/plain')
        self.send_header('Content-Length', str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        self.answer(b'num_symbols: 1\n' if self.path.endswith('/symbol') else self.profile)

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get('Content-Length', 0)))
        numbers = [int(word, 16) for word in body.split(b'+')]
        self.answer(b'num_symbols: 1\n' + b''.join(b'0x%x function_%x\n' % (n, n) for n in numbers
                                                   if n not in self.unknown))


def listen():
    server = http.server.ThreadingHTTPServer(('127.0.0.1', 0), Server)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server.server_address[1]


def remote():
    global port
    if port is None:
        port = listen()
    at, maps, places = 0x400000, '', []
    for i in range(rng.randrange(0, 4)):
        at += 0x1000 * rng.randrange(1, 9)
        end = at + 0x1000 * rng.randrange(1, 9)
        name = rng.choice(['/nowhere/bin/prog', '/nowhere/libc.so.6', '[vdso]'])
        maps += '%08x-%08x r-xp 00000000 fe:00 123 %s%s\n' % (at, end, name, i or '')
        places.append((at, end))
        at = end
    places.append((0x7f0000000000, 0x7f0000001000))  # in no mapping
    pcs = [rng.randrange(*rng.choice(places)) for _ in range(rng.randrange(1, 12))]
    lines = ['heap profile: 1: 1 [1: 1] @ heapprofile']
    for _ in range(rng.randrange(1, 20)):
        n = rng.randrange(1, 99)
        lines.append('%d: %d [%d: %d] @ %s' % (n, n * 16, n, n * 16, ' '.join(
            hex(rng.choice(pcs)) for _ in range(rng.randrange(1, 6)))))
    Server.profile = ('\n'.join(lines) + '\n\nMAPPED_LIBRARIES:\n' + maps).encode()
    Server.unknown = {pc + d for pc in pcs if rng.random() < .2 for d in (0, -1)}
    address = 'http://127.0.0.1:%d/pprof/heap' % port
    said = [run(tool, *words, '-symbolize=remote', '-raw', address)
            for tool, *words in ([pitot, 'pprof'], [other])]
    return (*said, Server.profile.decode())


port = None
ask = {'script': script, 'gprof': gprof, 'counts': counts, 'dotnet': dotnet, 'starts': starts,
       'speedscope': speedscope, 'doc': doc, 'remote': remote}[kind]
bad = empty = 0
with tempfile.TemporaryDirectory(prefix='diff-peers.') as folder:
    os.chdir(folder)
    os.environ.update(HOME=folder, PPROF_TMPDIR=folder)
    for name in ('http_proxy', 'https_proxy', 'all_proxy'):
        os.environ.pop(name, None)
        os.environ.pop(name.upper(), None)
    for i in range(rounds):
        said, so, context = ask()
        empty += not so
        if said != so:
            bad += 1
            print('round %d of seed %d\n  pitot  %s\n  should %s\n%s' % (i, seed, said, so, context[:4000]), file=sys.stderr)
        if rng.random() < .1 and os.path.exists('p'):
            os.remove('p')
print('%d %s, %d differ' % (rounds, kind, bad))
sys.exit(bad > 0 or empty > rounds / 2)
