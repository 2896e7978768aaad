#!/usr/bin/env bash
# Callers and callees of profiles without stacks, from call arcs: against callgrind_annotate and gprof.
# Under the sanitizers: make asan.
. "$(dirname "$0")/lib.sh"

golden=$PITOT_ROOT/tests/golden/callgrind

# edges PROFILE...: caller, callee, calls and cost of each call, by peek, which tells each of them
# twice. Images behind names are left out, as below.
edges() {
    pitot peek . --functions=0 --others=0 --json "$@" 2>/dev/null | python3 -c '
import json, re, sys
plain = lambda name: re.sub(r" \[[^]]*\]$", "", name)
sums = {"callers": {}, "callees": {}}
for function in json.load(sys.stdin)["functions"]:
    for role, way in (("callers", -1), ("callees", 1)):
        for other in function[role]:
            key = tuple([plain(function["name"]), plain(other["name"])][::way])
            old = sums[role].get(key, (0, 0))
            sums[role][key] = (old[0] + (other["calls"] or 0), old[1] + (other["value"] or 0))
assert sums["callers"] == sums["callees"]
for key, value in sorted(sums["callees"].items()):
    if key[0] != key[1]: print(*key, *value, sep="\t")'
}

# annotated FILE: the same by callgrind_annotate, of the first event.
annotated() {
    callgrind_annotate --tree=both --auto=no --threshold=100 "$1" 2>/dev/null | python3 -c '
import re, sys
sums, function = {}, ""
for line in sys.stdin:
    match = re.match(r" *([0-9,.]+) (?:\( *[0-9.]+%\))?.*? ([<*>]) +(.*?)(?: \((\d+)x\))?(?: \[[^]]*\])?$", line)
    if not match: continue
    cost, role, name, calls = match.groups()
    name = re.sub("^[^:]*:", "", name)
    if role == "*": function = name
    if role != ">" or name == function: continue
    old = sums.get((function, name), (0, 0))
    sums[function, name] = (old[0] + int(calls), old[1] + int(cost.replace(",", "").replace(".", "0")))
for key, value in sorted(sums.items()): print(*key, *value, sep="\t")'
}

it 'peek has the calls and inclusive costs of callgrind_annotate --tree=both'
if needs callgrind_annotate python3; then
    for file in instr jumps plain recursion; do
        annotated "$golden/$file" >expected
        edges "$golden/$file" >got
        expect_same expected got
        expect test -s got
    done
fi

it 'peek adds up the parts of a run (callgrind_annotate takes a call that was counted in an earlier part for none)'
# The golden plain is the same run in one part.
for callee in fib even; do
    expect_equal "calls and cost of main to $callee" "$(edges "$golden/parts" | grep "^main	$callee	")" \
        "$(annotated "$golden/plain" | grep "^main	$callee	")"
done

it 'and those of a program that valgrind runs'
if [ "$PITOT_SANITIZED" = 1 ]; then
    skip 'done without sanitizers'
elif needs valgrind callgrind_annotate cc python3; then
    cp "$golden/calls.c" "$golden/sums.h" .
    cc -g -O1 -ffile-prefix-map="$PWD=/src" calls.c -o calls
    valgrind -q --tool=callgrind --callgrind-out-file=run.out ./calls 2>/dev/null
    annotated run.out >expected
    edges run.out >got
    expect_same expected got
    expect test -s got
fi

it 'says where the figures come from, and shows them'
run pitot peek '^fib' "$golden/recursion"
expect_stdout_line 'no stacks: callers and callees are of 14 call arcs, which have the number of calls and what they cost with all that they called'
expect_stdout_line ' total  total%   of it calls  function, its callers above and its callees below'
expect_stdout_line '   968          100.0%     1    main'
expect_stdout_line '   968   90.9%             1  fib  self 18 (1.7%)'
expect_stdout_line '   950           98.1%     2    fib*2'
expect_stdout_line "   914   85.8%             4  fib'3  self 914 (85.8%), 60 calls from itself"

it 'tells functions of one name in two files apart'
run pitot tree "$golden/recursion"
expect_stdout_line ' 100.0%  1,065      0%      0      1  ↓ (below main) [[]calls]'
expect_stdout_line ' 100.0%  1,065      0%      0      1  ↓ (below main) [[]libc.so.6]'

it 'tree hangs each function below one of its callers: selfs add up to the whole'
if needs python3; then
    for file in instr plain recursion; do
        pitot tree --min=0 --json "$golden/$file" 2>/dev/null | python3 -c '
import json, sys
report = json.load(sys.stdin)
rows = report["rows"]
print(sum(row["self"] or 0 for row in rows) == report["profile"]["total"])
own = [row["name"] for row in rows if not row["elsewhere"]]
print(len(own) == len(set(own)))
print(all((row["self"] is None) == row["elsewhere"] for row in rows))
above = []
for row in rows: # what a call costs has room in what the function above costs
    above = above[:row["depth"] - 1] + [row["total"]]
    if row["depth"] > 1 and above[-1] > above[-2]: print(row)' >got
        expect_equal "$file" "$(cat got)" "$(printf 'True\nTrue\nTrue')"
    done
fi

it 'top prints a dash, since functions of one name are one row there'
run pitot top "$golden/recursion"
expect_stdout_line "* 914   85.8%      -       -  fib'3*"

it 'focus, ignore and hide choose calls as they would choose stacks of two functions'
run pitot tree --focus='^odd$' --min=0 "$golden/recursion"
expect_stdout_line '   3.4%     36      0%      0         even'
expect_stdout_line "*↓ odd"
expect_no_stdout_line '*fib*'
run pitot tree --ignore='fib|even|odd' --min=0 "$golden/recursion"
expect_stdout_line '*main'
expect_no_stdout_line '*─ even*'
run pitot peek main --hide=even "$golden/recursion"
expect_stdout_line '*   fib'
expect_no_stdout_line '*  even*'
run pitot peek . --show-from='^fib$' "$golden/recursion"
expect_stdout_line "*  fib'2"
expect_no_stdout_line '*  main*'

cat >work.c <<'END'
static volatile long sink;
#define APART __attribute__((noinline))
APART void leaf(int n) { for (int i = 0; i < n; i++) sink += i; }
APART void odd(int n);
APART void even(int n) { if (n > 0) odd(n - 1); leaf(100); }
APART void odd(int n) { if (n > 0) even(n - 1); leaf(100); }
APART int deep(int n) { leaf(1); return n < 2 ? n : deep(n - 1) + deep(n - 2); }
int main(void)
{
    for (int i = 0; i < 5; i++) even(20);
    return deep(12) == 144 ? 0 : 1;
}
END

# by_gprof FILE PROGRAM: caller, callee and calls, by gprof's graph.
by_gprof() {
    gprof -b -q "$2" "$1" | python3 -c '
import re, sys
calls, others, function = {}, [], ""
for line in sys.stdin:
    name = re.search(r"(\S+)(?: <cycle \d+>)? \[\d+\]$", line)
    if line.startswith("---"):
        # Callers stand above, callees below. A caller that is no function has no number.
        for other, count, above in others:
            if function and other != function:
                calls[(other, function) if above else (function, other)] = count
        others, function = [], ""
    elif name and line.startswith("["):
        function = name.group(1) if "as a whole" not in line else None
    elif name:
        count = re.search(r"\s(\d+)(?:/\d+)?\s+\S+(?: <cycle \d+>)? \[\d+\]$", line)
        if count: others.append((name.group(1), int(count.group(1)), function == ""))
for key, count in sorted(calls.items()): print(*key, count, sep="\t")'
}

it 'has the calls of the graph of gprof; their cost is a dash'
if needs gcc gprof python3; then
    if gcc -pg -O1 work.c -o work 2>build.log; then
        ./work && mv gmon.out work.gmon
        by_gprof work.gmon work >expected
        edges work work.gmon | cut -f1-3 >got
        expect_same expected got
        expect_equal 'what even calls' "$(grep -c '^even' got)" 2
        run pitot peek '^deep$' work work.gmon
        expect_stdout_line 'no stacks: callers and callees are of * call arcs, which have the number of calls but not what they cost (-)'
        expect_stdout_line '     -       -             1  deep  self *, 464 calls from itself'
        expect_stdout_line '     -               -     1    main'
        expect_stdout_line '     -               -   465    leaf'
        run pitot tree --min=0 work work.gmon
        expect_stdout_line '      -      -      0%      0         main'
        expect_stdout_line '*     -      -       -      -     50 *leaf  (elsewhere)'
    else
        skip 'gcc -pg does not link here'
    fi
fi

# Sentences G28, G29, G30.
it 'arcs may begin and end anywhere in their functions; near the call they tell its line'
if needs gcc nm objdump addr2line python3; then
    gcc -g -O1 -no-pie -static -o lines work.c 2>build.log || gcc -g -O1 -no-pie -o lines work.c
    python3 - <<'PY'
import re, struct, subprocess
run = lambda *words: subprocess.run(words, capture_output=True, text=True).stdout
start = {w[2]: int(w[0], 16) for w in map(str.split, run("nm", "lines").splitlines()) if len(w) == 3}
# Calls of main to even, and those of even: the address behind each call, as mcount sees it.
calls, function = [], None
for line in run("objdump", "-d", "--no-show-raw-insn", "lines").splitlines():
    head = re.match(r"[0-9a-f]+ <(\w+)>:", line)
    if head: function = head.group(1)
    call = re.match(r" +([0-9a-f]+):\s+call\s+[0-9a-f]+ <(even|odd|leaf|deep)>$", line)
    if call and function in ("main", "even"): calls.append((int(call.group(1), 16), function, call.group(2)))
with open("exact.gmon", "wb") as exact, open("anywhere.gmon", "wb") as anywhere, open("wanted", "w") as wanted:
    for file in exact, anywhere: file.write(b"gmon" + struct.pack("<I12x", 1))
    for n, (at, caller, callee) in enumerate(calls, 1):
        exact.write(struct.pack("<BQQI", 1, at, start[callee], n))
        # The first byte of the caller, and one in the middle of the callee.
        anywhere.write(struct.pack("<BQQI", 1, start[caller], start[callee] + 3, n))
        place = run("addr2line", "-e", "lines", hex(at)).split()[0].rsplit("/", 1)[-1]
        wanted.write("%s %s %s\t%d\n" % (caller, place, callee, n))
PY
    expect test -s wanted
    edges lines exact.gmon | cut -f1-3 >exact
    edges lines anywhere.gmon | cut -f1-3 >anywhere
    expect_same exact anywhere
    expect test -s exact
    pitot tree --by=line --min=0 --json lines exact.gmon 2>/dev/null | python3 -c '
import json, sys
above = []
for row in json.load(sys.stdin)["rows"]:
    place = row["name"].rsplit("/", 1)[-1] if "/" in row["name"] else row["name"]
    name = row["name"].split()[0] + " " + place.split()[-1]
    above = above[:row["depth"] - 1] + [name]
    if row["depth"] > 1: print(above[-2] + " " + row["name"].split()[0] + "\t" + str(row["calls"]))' | sort >got
    awk -F '\t' '{ n[$1] += $2 } END { for (key in n) print key "\t" n[key] }' wanted | sort >expected
    expect_same expected got
fi

it 'answers from calls alone where no sample was taken'
{ printf 'gmon\1\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0'; printf '\1\20\20\0\0\0\0\0\0\40\20\0\0\0\0\0\0\7\0\0\0'; } >alone.gmon
run pitot tree alone.gmon
expect_status 0
expect_stdout_line '      -      -      0%      0         [[]0x1010]'
expect_stdout_line '      -      -      0%      0      7  ↓ [[]0x1020]'
run pitot peek 1020 alone.gmon
expect_status 0
expect_stdout_line '     -               -     7    [[]0x1010]'
run pitot top alone.gmon
expect_status 3
expect_stderr_line '*has no samples, but call arcs (1)*pitot tree shows the calls*'

it 'calls tell no time and no label: asked for some, none is left'
for option in --time=1,2 --time=10%-20% --tag-focus=thread; do
    for command in tree 'peek fib'; do
        run pitot $command $option "$golden/plain"
        expect_status 3
        expect_stdout_lines 0
    done
done

it 'CSV and JSON leave empty what is not known'
run pitot tree --csv alone.gmon
expect_stdout_line 'depth,self,self_share,total,total_share,name,file,inlined,folded,calls,elsewhere'
expect_stdout_line '2,0,0,,,[[]0x1020],,false,0,7,false'
run pitot peek --csv 1020 alone.gmon
expect_stdout_line 'function,role,name,value,share_of_function,inlined,calls'
expect_stdout_line '[[]0x1020],caller,[[]0x1010],,,false,7'
run pitot peek --json 1020 alone.gmon
expect_stdout_line '*"call_arcs": 1,'
expect_stdout_line '*"call_arcs_have_cost": false,'
expect_stdout_line '*"value": null,'

it 'diff and flame print a dash for totals that no stack tells'
run pitot diff "$golden/recursion" "$golden/recursion"
expect_stdout_line "* 914 *  -  * fib'3  calls.c:4"
run pitot diff --json "$golden/recursion" "$golden/recursion"
expect_stdout_line '*"total": null'
run pitot diff --csv "$golden/recursion" "$golden/recursion"
expect_stdout_line "914,914,0,*,,,,,,,fib'3,*"
run pitot flame "$golden/recursion" -o flame.svg
expect_equal 'boxes with a dash' "$(grep -c '^total -$' flame.svg)" "$(grep -c '^self ' flame.svg | awk '{ print $1 - 1 }')"
printf 'main;a 3\nb 1\n' >two.folded
run pitot diff two.folded two.folded
expect_no_stdout_line '* - *main'
pitot flame two.folded -o flame.svg 2>/dev/null >/dev/null
expect_equal 'boxes with a dash' "$(grep -c '^total -$' flame.svg)" 0
