#!/usr/bin/env bash
# Stacks that the kernel's program walks: how many are whole, and the CPU time of the recorder for 1,000 samples, the
# loading of the program included, beside `perf record` with frame pointers and with copied stacks on the same load.
. "$(dirname "$0")/../cli/lib.sh"

run pitot record --engine=bpf -o probe.pb.gz true
[ "$status" = 0 ] || skip_all "no BPF here: $(stderr | tail -n 1)"
needs perf || skip_all 'perf is not installed'
needs python3 || skip_all 'python3 is not installed'
seconds=${PITOT_SECONDS:-8}
started=()

# used FILE COMMAND: runs it, and writes its CPU time in ms to FILE.
cat >used.py <<'PY'
import resource, subprocess, sys
status = subprocess.call(sys.argv[2:])
used = resource.getrusage(resource.RUSAGE_CHILDREN)
open(sys.argv[1], 'w').write(str((used.ru_utime + used.ru_stime) * 1000))
sys.exit(status)
PY
used() { python3 used.py "$@"; }
# for_1000 MS SAMPLES
for_1000() { awk -v ms="$1" -v n="$2" 'BEGIN { printf "%.1f", ms * 1000 / (n + (n == 0)) }'; }
by_perf() {
    used perf-ms perf record -F 1000 --call-graph "$1" -p $target -o perf.data -- sleep "$seconds" >perf-said 2>&1
    for_1000 "$(cat perf-ms)" "$(sed -n 's/.*(\([0-9]*\) samples).*/\1/p' perf-said)"
}

# judge NAME LEAST: records the children of $target; LEAST per cent of the stacks must be whole.
judge() {
    run used ours-ms "$PITOT" record --engine=bpf -p $target -d "${seconds}s" -o x.pb.gz
    expect_status 0
    expect_no_stderr_line '*samples lost*'
    samples=$(stderr | sed -n 's/.*: \([0-9,]*\) samples, .*/\1/p' | tr -d ,)
    [ "${samples:-0}" -ge 200 ] || fail "only $samples samples: $(stderr)"
    run pitot info --json x.pb.gz
    whole=$(stdout | python3 -c '
import json, sys
ends = json.load(sys.stdin)["ends"]
part = lambda end: 100 * ends[end] / sum(ends.values())
print("%.2f %.2f" % (part("root"), part("unchecked frame pointers")))') || fail "$(stdout)"
    set -- "$1" "$2" $whole
    awk -v whole="$3" -v unchecked="$4" -v least="$2" 'BEGIN { exit !(whole + unchecked >= least) }' || fail "$whole"
    ours=$(for_1000 "$(cat ours-ms)" "$samples")
    dwarf=$(by_perf dwarf,32768)
    echo "# $1: $samples samples, $3 % complete, $4 % by unchecked frame pointers; ms for 1,000 samples: pitot $ours," \
        "perf fp $(by_perf fp), perf dwarf $dwarf without unwinding"
    awk -v ours="$ours" -v dwarf="$dwarf" 'BEGIN { exit !(ours < dwarf) }' || fail "$ours ms, and perf $dwarf"
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

it python3
steady "$t_name" 99.9 python3 busy.py

it node
if needs node; then steady "$t_name" 99 node busy.js; fi

it 'at 10 kHz on all cpus nothing is lost'
for _ in $(seq "$(nproc)"); do ./deep & started+=($!); done
run "$PITOT" record --engine=bpf -a -F 10000 -d "${seconds}s" -o x.pb.gz
kill "${started[@]}"
expect_status 0
expect_no_stderr_line '*samples lost*'
echo "# $t_name: $(stderr | tail -n 1)"
