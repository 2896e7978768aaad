#!/usr/bin/env bash
# A fresh profile of a C++ program of templates, lambdas and inlined library code: pitot pprof has
# the frames and figures of google/pprof in each of its demangle modes, and the names of perf report.
. "$(dirname "$0")/../cli/lib.sh"

for tool in g++ python3; do
    command -v $tool >/dev/null || skip_all "$tool is not installed"
done
. "$PITOT_ROOT/tests/torture/reference.bash"
expect g++ -g -O2 -Wl,--build-id "$PITOT_ROOT/bench/hot.cc" -o hot

# Two reports with the same figures and the same names of the program's own functions and those of
# its library that were inlined. The C library's may have another name: its debug information and its
# symbol table have several for one address (__libc_malloc, __GI___libc_malloc), and google/pprof
# calls stubs of calls by the symbol before them (_init).
cat >same.py <<'END'
import collections, re, sys

def rows(path):
    found, is_row = collections.Counter(), False
    for line in open(path):
        if is_row:
            flat, _, _, cum, _, name = line.rstrip('\n').split(None, 5)
            found[flat, cum, name] += 1
        is_row |= re.match(r' +flat  flat%', line) is not None
    return found

ours, theirs = rows(sys.argv[1]), rows(sys.argv[2])
mine, other = ours - theirs, theirs - ours
own = re.compile(r'(app|std|__gnu_cxx)::|main$|operator(?!.*@plt)')
figures = [sorted((f, c) for f, c, _ in side.elements()) for side in (mine, other)]
print(f'{sum(ours.values())} rows, {sum(mine.values())} with another name')
bad = figures[0] != figures[1] or not ours or any(own.match(n) for _, _, n in [*mine, *other])
if bad:
    print('pitot:', *mine, 'google/pprof:', *other, sep='\n')
sys.exit(bad)
END

# Samples from before main are in the dynamic linker, whose names google/pprof does not read.
it 'has the rows of google/pprof -top, in each demangle mode'
if [ ! -x /usr/lib/go-1.23/bin/go ]; then
    skip 'golang-1.23-go is not installed'
elif needs llvm-symbolizer; then
    expect build_reference
    expect pitot record -F 1000 -o hot.pb.gz -- ./hot
    for mode in '' demangle=templates demangle=full demangle=none; do
        ./google-pprof -top -nodecount=100000 -nodefraction=0 '-focus=^main$' "-symbolize=$mode" hot.pb.gz >theirs 2>/dev/null
        run pitot pprof -top -nodecount=100000 -nodefraction=0 '-focus=^main$' "-symbolize=$mode" hot.pb.gz
        stdout >ours
        run python3 same.py ours theirs
        printf '# %s: %s\n' "${mode:-default}" "$(stdout | head -1)"
        [ "$status" = 0 ] || fail "$mode: $(stdout)$(stderr)"
    done
fi

# perf names a function by the symbol that has its code, as it was inlined into nothing.
cat >places.py <<'END'
import re, subprocess, sys

def perf(*fields):
    return subprocess.run(['perf', 'script', '-i', 'hot.perf', *fields], stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, text=True).stdout.splitlines()

here = re.compile(r'\[0x([0-9a-f]+)\(0x([0-9a-f]+)\) @ (?:0x)?([0-9a-f]+) .* r-xp .*/hot$')
start, size, offset = next(tuple(int(x, 16) for x in m.groups())
                           for m in map(here.search, perf('--show-mmap-events', '-F', 'comm,ip')) if m)
asked = {}
for line in perf('-F', 'ip,sym'):
    ip, _, name = line.strip().partition(' ')
    if start <= int(ip, 16) < start + size:
        asked[int(ip, 16) - start + offset] = name
answers = subprocess.run([sys.argv[1], 'symbolize', '--no-inlines', '--demangle=templates', '-e', 'hot'],
                         input=''.join(f'{a:#x}\n' for a in asked), stdout=subprocess.PIPE,
                         text=True).stdout.split('\n\n')
# A lambda and an array's type are spelled in several ways; perf shows parameters of some templates.
plain = lambda name: re.sub(r'\{lambda.*?\}#?\d*|<lambda.*?>|[ ]|\[clone.*?\]', '', name)
other = [(hex(a), name, answer.split('\n')[0]) for (a, name), answer in zip(asked.items(), answers)
         if plain(name) != plain(answer.split('\n')[0])]
print(f'{len(asked)} addresses, {len(other)} named otherwise')
print(*other, sep='\n')
sys.exit(bool(other) or len(asked) < 10)
END

it 'names functions as perf report does'
if needs perf; then
    if ! perf record -e cpu-clock -F 2000 -o hot.perf ./hot >/dev/null 2>perf.err; then
        skip "perf cannot record here: $(tail -1 perf.err)"
    else
        run python3 places.py "$PITOT"
        printf '# %s\n' "$(stdout | head -1)"
        [ "$status" = 0 ] || fail "$(stdout)$(stderr)"
    fi
fi
