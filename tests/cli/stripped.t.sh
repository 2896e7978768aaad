#!/usr/bin/env bash
# A stripped program is shown by function. The bounds of functions are those of readelf (frames) and nm
# (symbols of the program before it was stripped); samples lie at the first and last byte of each, and behind
# calls that end it.
. "$(dirname "$0")/lib.sh"

for tool in "${CC:-cc}" nm readelf strip python3; do
    command -v "$tool" >/dev/null || skip_all "$tool is not installed"
done

cat >p.c <<'C'
#include <stdio.h>
#include <stdlib.h>
volatile int sink;
__attribute__((noipa, cold)) static void give_up(int n) { fprintf(stderr, "%d\n", n); abort(); }
#define WORK(name, times) \
    __attribute__((noipa)) static int name(int n) \
    { \
        int sum = 0; \
        for (int i = 0; i < n * times; i++) sum += i ^ sink; \
        if (__builtin_expect(sum == 12345, 0)) fprintf(stderr, #name "%d\n", n), give_up(sum); \
        return sum; \
    }
WORK(one, 1) WORK(two, 2) WORK(three, 3) WORK(four, 4) WORK(five, 5)
int main(int argc, char **argv)
{
    for (int i = 0; i < 300; i++) sink = one(100000) + two(100000) + three(100000) + four(argc) + five(argc);
    return 0;
}
C
"${CC:-cc}" -O2 -o p p.c && cp p whole && strip p || exit 1
cat >make.py <<'PY'
# Writes p.prof (samples of p, mapped far from its links), and the rows that it must have: "expected" by
# frames, "named" by symbols.
import collections, re, struct, subprocess, sys
def lines(*command): return subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
BIAS = 0x7e0000000000
pieces = [tuple(int(n, 16) for n in re.search(r"pc=([0-9a-f]+)\.\.([0-9a-f]+)", line).groups())
          for line in lines("readelf", "--debug-dump=frames", "p") if " FDE " in line]
symbols = [(int(f[0], 16), int(f[0], 16) + int(f[1], 16), f[3])
           for f in (line.split() for line in lines("nm", "-S", "whole")) if len(f) == 4 and f[2] in "tT"]
code = [tuple(int(n, 16) for n in m.groups()) for line in lines("readelf", "-lW", "p")
        for m in [re.match(r"\s+LOAD\s+0x(\w+) 0x(\w+) 0x\w+ 0x(\w+) 0x\w+ R E", line)] if m][0]
stacks, expected, named, alike = [], collections.Counter(), collections.Counter(), 0
for start, end, name in symbols:
    around = [p for p in pieces if p[0] <= start and end <= p[1]]
    if not around: continue
    alike += around[0] == (start, end)
    for pc in start, end - 1:
        stacks.append([pc])
        expected["[p+0x%x..]" % around[0][0]] += 1
        named[name.split('.')[0]] += 1
    if around[0] == (start, end):
        stacks.append([start, end]) # a return address: the call is the last instruction
        expected["[p+0x%x..]" % start] += 1
        named[name.split('.')[0]] += 1
if alike < 8: sys.exit("only %d functions have entries of their bounds" % alike)
words = [0, 3, 0, 1000, 0]
for s in stacks: words += [1, len(s)] + [pc + BIAS for pc in s]
words += [0, 1, 0]
low, high = code[1] & ~0xfff, (code[1] + code[2] + 0xfff) & ~0xfff
maps = "%x-%x r-xp %08x 00:00 0 p\n" % (BIAS + low, BIAS + high, code[0] & ~0xfff)
open("p.prof", "wb").write(struct.pack("<%dQ" % len(words), *words) + maps.encode())
for file, rows in ("expected", expected), ("named", named):
    open(file, "w").writelines(sorted("%s %d\n" % row for row in rows.items()))
PY
python3 make.py || exit 1
cat >rows.py <<'PY'
import json, sys
for row in sorted(json.load(sys.stdin)["rows"], key=lambda r: r["name"]):
    if row["self"]: print(row["name"], row["self"] // 1000000)
PY
# rows ARGUMENTS...: "NAME SAMPLES" of each row of top.
rows() { pitot top --json -n 0 "$@" 2>said | python3 rows.py; }

it 'shows code without a name by function, with the sums of the symbols'
rows p.prof >shown
expect_same expected shown
rows ./whole p.prof >shown
expect_same named shown
expect grep -q 'p is stripped and no debug file was found; its functions are shown by their first addresses' <(pitot top p.prof 2>&1)

it 'finds a function by the name of its row, and by each address in it'
start=$(nm whole | sed -n 's/^0*\([0-9a-f]*\) t two$/\1/p')
for name in "[p+0x$start..]" "[p+0x$start]"; do
    run pitot peek "$name" p.prof
    expect_status 0
    expect_stdout_has "[p+0x$start..]"
    run pitot disasm "$name" p.prof
    expect_status 0
done

it 'filters know the name of a row, as it stands or as an expression'
row="[p+0x$start..]" count=$(awk -v row="[p+0x$start..]" '$1 == row { print $2 }' expected) all=$(awk '{ n += $2 } END { print n }' expected)
page=$(printf '%s' "^$row\$" | sed 's/[][+.]/\\&/g') # as the menu of the page has it
for name in "$row" "$page" "^main\$|$page"; do
    for filter in --focus --show --show-from; do
        rows $filter="$name" p.prof >shown
        expect_equal "rows with $filter=$name" "$(cat shown)" "$row $count"
    done
    for filter in --ignore --hide; do
        rows $filter="$name" p.prof >shown
        expect_equal "rows with $filter=$name" "$(awk '{ n += $2 } END { print n }' shown)" $((all - count))
        expect_equal 'the row' "$(grep -cF "$row" shown)" 0
    done
    expect_equal "rows with --prune-from=$name" "$(rows --prune-from="$name" p.prof)" "$(cat expected)"
done

it 'every report about one function takes that name and that expression'
for name in "$row" "$page"; do
    for report in peek disasm list why; do
        run pitot $report "$name" p.prof
        expect [ "$report $status" = "$report 0" ] || stderr
        expect_stdout_has "$row"
    done
done

it 'a name that is no expression of itself is that name in filters; an expression stays one'
printf 'main;operator() 3\nmain;operator 4\nmain;main.f(int*) 5\nmain;mainly 6\nmain;f[ 7\n' >odd.folded
left() { pitot top --json -n 0 "$@" odd.folded 2>/dev/null | python3 -c 'import json, sys
print(sum(r["self"] for r in json.load(sys.stdin)["rows"]))'; }
expect_equal 'operator()' "$(left --focus='operator()')" 3
expect_equal 'main.f(int*)' "$(left --ignore='main.f(int*)')" 20
expect_equal 'f[' "$(left --focus='f[')" 7
expect_equal 'operator' "$(left --focus='operator')" 7
expect_equal 'mainly|operator$' "$(left --focus='mainly|operator$')" 10
run pitot top --focus='g[' odd.folded
expect_status 2

it 'shows each address, or the file, if that is wanted'
run pitot top --unnamed=address p.prof
expect_stdout_has "[p+0x$start]"
expect_no_stdout_line '\.\.\]'
run pitot top --unnamed=object p.prof
expect_stdout_has ' [p]'
run pitot traces -n 0 --by=address p.prof
expect_stdout_has "[p+0x$start]"

it 'calls it the same in every report and in what it writes'
for report in tree traces "flame --format=svg -o -" "graph --format=dot -o -" "convert --symbols=full --to=folded -o -" "convert --symbols=full --to=speedscope -o -"; do
    run pitot $report p.prof
    expect_stdout_has "[p+0x$start..]"
done

for engine in perf preload; do
    it "does so in a recording by $engine"
    run pitot record --engine=$engine -F 997 -o $engine.pb.gz ./p
    if [ "$status" != 0 ]; then
        skip "cannot record here: $(stderr | tail -n 1)"
    else
        pitot top -n 0 $engine.pb.gz >top.txt 2>/dev/null
        expect grep -qF '[p+0x' top.txt
        expect test "$(grep -F '[p+0x' top.txt | grep -cvF '..]')" = 0
    fi
done
