#!/usr/bin/env bash
# Stacks that the kernel's program walks: how many are whole, and the CPU time of the recorder for 1,000 samples, the
# loading of the program included and without it, beside `perf record` with frame pointers and with copied stacks on the same
# load; the memory that the program's maps hold.
. "$(dirname "$0")/../cli/lib.sh"

run pitot record --engine=bpf -o probe.pb.gz true
[ "$status" = 0 ] || skip_all "no BPF here: $(stderr | tail -n 1)"
needs perf || skip_all 'perf is not installed'
needs python3 || skip_all 'python3 is not installed'
seconds=${PITOT_SECONDS:-8}
recorder=$PITOT_ROOT/tests/torture/record_bpf.py
started=()

# for_1000 MS SAMPLES
for_1000() { awk -v ms="$1" -v n="$2" 'BEGIN { printf "%.2f", ms * 1000 / (n + (n == 0)) }'; }
by_perf() {
    read -r ms _ < <(python3 "$recorder" "$seconds" perf record -F 1000 --call-graph "$1" \
        -p "$(pgrep -d, -g $target)" -o perf.data -- sleep "$seconds" 2>perf-said)
    for_1000 "$ms" "$(sed -n 's/.*(\([0-9]*\) samples).*/\1/p' perf-said)"
}

# judge NAME LEAST: records $target and its children. LEAST per cent of the stacks must be complete; with unchecked=1, those
# by unchecked frame pointers count, too. While the recording goes on, a sample may take a microsecond of the recorder; not with copied=1: stacks
# of Java are copied.
judge() {
    run python3 "$recorder" "$seconds" "$PITOT" record --engine=bpf --children -p $target -d "${seconds}s" -o x.pb.gz
    expect_status 0
    expect_no_stderr_line '*samples lost*'
    read -r all a_second _ _ others < <(stdout)
    samples=$(stderr | sed -n 's/.*: \([0-9,]*\) samples, .*/\1/p' | tr -d ,)
    [ "${samples:-0}" -ge 200 ] || fail "only $samples samples: $(stderr)"
    run pitot info --json x.pb.gz
    ends=$(stdout | python3 -c '
import json, sys
ends = json.load(sys.stdin)["ends"]
part = lambda end: 100 * ends[end] / sum(ends.values())
print("%.2f %.2f" % (part("root"), part("unchecked frame pointers")))') || fail "$(stdout)"
    read -r complete by_pointers <<<"$ends"
    awk -v is="$complete" -v more="$by_pointers" -v unchecked="${unchecked:-0}" -v least="$2" \
        'BEGIN { exit !(is + more * unchecked >= least) }' ||
        fail "$complete % complete, $by_pointers % by unchecked frame pointers: $(stdout)"
    ours=$(for_1000 "$all" "$samples")
    each=$(for_1000 "$(awk -v ms="$a_second" -v s="$seconds" 'BEGIN { print ms * s }')" "$samples")
    dwarf=$(by_perf dwarf,32768)
    echo "# $1: $samples samples, $complete % complete, $by_pointers % by unchecked frame pointers; ms for 1,000 samples:" \
        "pitot $ours, $each while it goes on ($others processes started a second), perf fp $(by_perf fp), perf dwarf $dwarf without unwinding"
    awk -v ours="$ours" -v dwarf="$dwarf" 'BEGIN { exit !(ours < dwarf) }' || fail "$ours ms, and perf $dwarf"
    awk -v each="$each" -v copied="${copied:-0}" 'BEGIN { exit !(copied || each <= 1) }' ||
        fail "$each ms for 1,000 samples while it goes on"
}

# steady NAME LEAST COMMAND: judges a command that runs for long; again: one that is run again and again.
steady() {
    setsid "${@:3}" >said 2>&1 &
    target=$!
    sleep 0.5
    judge "$1" "$2"
    kill -TERM -- -$target
    wait $target 2>/dev/null
}
again() { steady "$1" "$2" sh -c 'while "$@"; do :; done' sh "${@:3}"; }

cat >templates.cc <<'CC'
#include <functional>
#include <map>
#include <string>
#include <vector>
int main()
{
    std::map<std::string, std::vector<std::string>> m;
    m["x"].push_back("y");
    std::map<std::string, std::function<int(int)>> u;
    u["k"] = [](int a) { return a + 1; };
    return u["k"](2);
}
CC
# A file of C, and one full of templates, for which a compiler takes about half a minute.
cat >large.py <<'PY'
import random
choice = random.Random(7)
with open('large.c', 'w') as c:
    c.write('#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n')
    for i in range(4000):
        cases = ''.join(f'case {k}: s += strlen(t) * {choice.randrange(99)}; if (s & {1 << k}) goto out; break;\n' for k in range(12))
        c.write(f'struct s{i} {{ int a[{i % 30 + 2}]; struct s{i} *next; double d; }};\n'
                f'long f{i}(struct s{i} *p, const char *t, long s) {{\n'
                f'for (int i = 0; p; p = p->next, i++) {{ for (int k = 0; k < {i % 30 + 2}; k++) s += p->a[k] * p->d;\n'
                f'switch (s % 13) {{\n{cases}default: s ^= (long)malloc(s & 63); }} }}\nout: return s + {i};\n}}\n')
with open('large.cc', 'w') as cc:
    cc.write('#include <algorithm>\n#include <functional>\n#include <map>\n#include <regex>\n#include <string>\n#include <tuple>\n'
             '#include <unordered_map>\n#include <variant>\n#include <vector>\n'
             'template <int N> struct down { using type = std::tuple<typename down<N - 1>::type, int>; };\n'
             'template <> struct down<0> { using type = int; };\n')
    for i in range(400):
        cc.write(f'struct t{i} {{ int v; std::string s; bool operator<(const t{i} &o) const {{ return v < o.v; }} }};\n'
                 f'int g{i}(std::vector<t{i}> &all) {{\nstd::map<t{i}, std::vector<t{i}>> m; std::unordered_map<int, t{i}> u;\n'
                 f'std::sort(all.begin(), all.end()); for (auto &x : all) {{ m[x].push_back(x); u[x.v] = x; }}\n'
                 f'std::variant<int, std::string, t{i}> v = all[0]; typename down<{i % 40 + 1}>::type deep{{}};\n'
                 f'std::function<int(int)> f = [&](int n) {{ return n + (int)m.size() + (int)u.size() + (int)sizeof deep; }};\n'
                 f'std::regex r("[a-z]+{i}");\n'
                 f'return f(std::visit([](auto &x) {{ return (int)sizeof x; }}, v)) + std::regex_search(all[0].s, r);\n}}\n')
PY
python3 large.py
cat >deep.c <<'C'
#include <stdlib.h>
#include <time.h>
static volatile unsigned x = 1;
__attribute__((noinline)) static int down(int depth)
{
    volatile char room[50];
    room[0] = (char)depth;
    if (depth > 0) return down(depth - 1) + room[0];
    while (clock() < 60L * CLOCKS_PER_SEC) for (int i = 0; i < 20000; i++) x = x * 3 + 1;
    return room[0];
}
int main(void) { return down(37) == 12345; }
C
cat >busy.py <<'PY'
import json
def walk(tree, depth):
    return {str(i): walk(tree, depth - 1) for i in range(3)} if depth else json.loads(json.dumps(tree))
while True: walk({"a": [1, 2, {"b": None}]}, 7)
PY
cat >light.py <<'PY'
import time
while True: sum(range(20000)), time.sleep(0.1)
PY
cat >busy.rb <<'RB'
def walk(tree, depth) = depth > 0 ? (0..2).map { |i| walk(tree, depth - 1) } : tree.map { |k, v| [k.to_s, v.inspect.hash] }.sort.to_h
loop { walk({ 'a' => [1, 2, { 'b' => nil }] }, 7) }
RB
cat >Busy.java <<'JAVA'
import java.util.*;
import java.util.stream.*;

class Busy {
    static Map<String, Integer> walk(int depth) {
        if (depth == 0) return new TreeMap<>(Map.of("a" + depth, 1, "b", 2));
        return IntStream.range(0, 3).mapToObj(i -> walk(depth - 1)).flatMap(m -> m.entrySet().stream())
            .collect(Collectors.toMap(e -> e.getKey() + e.getValue(), Map.Entry::getValue, Integer::sum));
    }
    public static void main(String[] args) { while (true) walk(7); }
}
JAVA
cat >busy.js <<'JS'
function walk(tree, depth) { return depth ? [0, 1, 2].map(() => walk(tree, depth - 1)) : JSON.parse(JSON.stringify(tree)); }
for (;;) walk({ a: [1, 2, { b: null }] }, 7);
JS

it 'a program 40 frames deep'
${CC:-cc} -O2 -fomit-frame-pointer deep.c -o deep || exit 1
steady "$t_name" 99.9 ./deep

# Compilers that end after a second: the stacks of a process's first milliseconds are copied, and those of clang may be
# deeper than the copies.
it 'clang++ -O2'
if needs clang++-14; then again "$t_name" 98 clang++-14 -O2 -c templates.cc -o templates.o; fi

it 'g++ -O2'
if needs g++; then again "$t_name" 99.5 g++ -O2 -c templates.cc -o templates.o; fi

it 'clang++ -O2 of a file full of templates'
if needs clang++-14; then again "$t_name" 99.9 clang++-14 -std=c++17 -O2 -c large.cc -o templates.o; fi

it 'gcc -O2 of a large file'
if needs gcc; then again "$t_name" 99.9 gcc -O2 -c large.c -o large.o; fi

it python3
steady "$t_name" 99.9 python3 busy.py

it ruby
if needs ruby; then steady "$t_name" 99.9 ruby busy.rb; fi

it node
if needs node; then unchecked=1 steady "$t_name" 99 node busy.js; fi

it java
if needs java; then unchecked=1 copied=1 steady "$t_name" 99 java Busy.java; fi

it 'with 100 processes the maps in the kernel hold at most 40 MB'
# one NUMBER: a process that works a little, and sleeps, for ever
one() {
    case $1 in
    0 | 1) exec "$python" light.py ;;
    2 | 3 | 7) exec perl -e 'while (1) { $x += $_ for 0 .. 20000; select undef, undef, undef, 0.1 }' ;;
    4) ! command -v ruby >probe || exec ruby -e 'loop { 20_000.times.sum; sleep 0.1 }' ;;
    5) ! command -v node >probe || exec node -e 'setInterval(() => { for (let i = 0, x = 0; i < 1e5; i++) x += i }, 100)' ;;
    6) ! command -v php >probe || exec php -n -r 'while (1) { for ($i = 0; $i < 50000; $i++) $x = $i * 3; usleep(100000); }' ;;
    esac
    exec bash -c 'while :; do for i in {1..500}; do :; done; sleep 0.2; done'
}
python=$(python3 -c 'import sys; print(sys.executable)') # not a script that runs it
for i in $(seq 100); do
    one $((i % 10)) &
    started+=($!)
done
run python3 "$recorder" "$seconds" "$PITOT" record --engine=bpf -a -d "${seconds}s" -o x.pb.gz
kill "${started[@]}"
wait "${started[@]}" 2>/dev/null
started=()
expect_status 0
read -r _ _ maps private _ < <(stdout)
expect [ "$(pitot info x.pb.gz 2>probe | sed -n 's/.* pid: \([0-9,]*\) values .*/\1/p' | tr -d ,)" -gt 100 ]
echo "# $t_name: $maps MB, and $private MB of the recorder's own"
expect awk -v maps="$maps" 'BEGIN { exit !(maps > 0 && maps <= 40) }'

it 'at 10 kHz on all cpus nothing is lost'
for _ in $(seq "$(nproc)"); do ./deep & started+=($!); done
run "$PITOT" record --engine=bpf -a -F 10000 -d "${seconds}s" -o x.pb.gz
kill "${started[@]}"
expect_status 0
expect_no_stderr_line '*samples lost*'
echo "# $t_name: $(stderr | tail -n 1)"
