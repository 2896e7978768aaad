#!/usr/bin/env bash
# JavaScript functions in stacks that the library records of Node: each right in name, file and line, without any option of node.
. "$(dirname "$0")/lib.sh"
[ "$PITOT_SANITIZED" = 0 ] || skip_all 'the library is not loaded into sanitized runs'
node=$(command -v node) || skip_all 'node is not installed'
language=JavaScript
program=("$node")
. "$(dirname "$0")/language.sh"
nm -D "$node" 2>/dev/null | grep -q v8dbg_class_Script__name__Object || skip_all 'this node has no v8dbg_ symbols'

it "each function of Node $("$node" --version) is right in name, file and line, in each way that a stack can go"
# check_node OPTION...: each frame of the known stacks, recorded with the options, is right.
check_node() {
    local frames wrong places all ended=
    [ $# = 0 ] || ended=ended
    run pitot record "$@" -o stacks.pb.gz "$node" "$tests/node_stacks.mjs" expected.json 8
    expect_status 0
    expect_stderr_line '*JavaScript functions in *'
    expect_equal 'what is said of joining' "$(stderr | grep -c 'joined for certain')" 0 # there is nothing to be uncertain of
    pitot traces -n 0 --lines --json stacks.pb.gz >traces.json 2>/dev/null
    run python3 "$tests/node_stacks_check.py" expected.json traces.json $ended
    expect_status 0
    read -r _ _ _ frames _ wrong _ places _ all < <(stdout)
    expect_equal 'wrong stacks' "$wrong" 0
    expect [ "$frames" -ge 100 ]
    expect [ "$((places * 2))" -ge "$all" ] # where ticks are few, some places meet none
}
check_node
expect_equal 'why the library' "$(pitot info stacks.pb.gz | grep -c 'engine: libprofiler.so.0 in the processes, as the command is Node,')" 1

it 'each function is right in stacks that the kernel walks, too'
! needs_bpf || check_node --engine=bpf -F 2000

it 'a node that runs already has its functions, of a worker as well'
cat >service.js <<'J'
const { Worker, isMainThread } = require('node:worker_threads');
class Ledger { append(n) { let x = 0; for (let i = 0; i < n; i++) x = (x * 31 + i) | 0; return x } }
const made = new Function('ledger', 'return function made(n) { return ledger.append(n) + 1 }')(new Ledger());
if (isMainThread) new Worker(__filename), console.log(process.pid);
setInterval(function tick() { [1, 2, 3].map(function each(n) { return isMainThread ? made(n * 20000) : inWorker(n * 20000) }) }, 1);
function inWorker(n) { return made(n) + 1 }
J
! needs_bpf || check_service "$node" service.js -- append made each inWorker

it 'a function that works for the first time in the last milliseconds of its process has its name'
cat >last.js <<'J'
function used() { const { user, system } = process.cpuUsage(); return (user + system) / 1000 }
const outer = {};
function a_name_of_more_than_fifty_characters_which_no_head_of_a_string_holds() { return lastWords(40) + 1 }
function lastWords(n) { const end = used() + n; let x = 0; while (used() < end) for (let i = 0; i < 300; i++) x = (x * 31 + i) | 0; return x }
outer.dies = () => { a_name_of_more_than_fifty_characters_which_no_head_of_a_string_holds(); process.kill(process.pid, 'SIGKILL') };
setTimeout(outer.dies, 3000);
J
if needs_bpf; then
    run pitot record --engine=bpf -F 4000 -o last.pb.gz "$node" last.js
    expect_equal 'frames without a name' "$(pitot info last.pb.gz | grep -c 'frames have no name')" 0
    for name in lastWords dies a_name_of_more_than_fifty_characters_which_no_head_of_a_string_holds; do
        expect [ "$(pitot traces -n 0 last.pb.gz 2>/dev/null | grep -c "$name")" -ge 1 ]
    done
fi

it 'its unwind table is read once by a process, in however many parts its code is mapped'
if needs strace readelf; then
    export XDG_CACHE_HOME=$PWD/node_cache
    run pitot record -o one.pb.gz "$node" -e ''
    run strace -f -e trace=openat -o opened "$PITOT" record -o two.pb.gz "$node" -e ''
    expect_status 0
    id=$(readelf -n "$node" | awk '/Build ID/ { print $3 }')
    expect [ "$(ls node_cache/pitot/tables/"$id"*.table | wc -l)" -eq 1 ]
    expect_equal 'times that it was opened' "$(grep -c "/$id.*\.table.*O_NONBLOCK.*) = [0-9]" opened)" 1
    unset XDG_CACHE_HOME
fi

it 'machine code and bytecode count for their function; --native shows them; list shows the source'
cat >app.js <<'J'
function spin(n) {
  let x = 0;
  for (let i = 0; i < n; i++) x = (x * 31 + i) | 0;
  return x;
}
for (let i = 0; i < 2000; i++) [1, 2, 3].map(function each(n) { return spin(n * 10000) });
J
mkdir bin
printf '%s\n' '#!/usr/bin/env node' 'require("../app.js")' >bin/tool
chmod +x bin/tool
run pitot record bin/tool # a script for node, as npm installs them
expect_equal 'why the library' "$(pitot info | grep -c 'the command is Node,')" 1
run pitot top -n 0 --csv
expect_equal 'a line about names' "$(stderr | grep 'no names')" ''
share=$(stdout | awk -F, '$6 ~ /\/app\.js$/ { sum += $2 } END { print int(100 * sum) }')
expect [ "$share" -ge 50 ]
expect_equal 'machinery' "$(stdout | grep -c 'Builtins_InterpreterEntryTrampoline\|anon:jit')" 0
expect_equal "node's own functions in place of the program's" "$(pitot top -n 0 2>/dev/null | grep -c '<- .* node:')" 0
expect [ "$(pitot top -n 0 --csv --native 2>/dev/null | grep -c 'Builtins_InterpreterEntryTrampoline\|anon:jit')" -ge 1 ]
expect [ "$(pitot traces -n 0 2>/dev/null | grep -c Builtins_ArrayMap)" -ge 1 ]
expect [ "$(pitot list spin 2>/dev/null | grep -c 'x \* 31 + i')" -ge 1 ]

it 'the label `tier` is the form of the code in which the innermost function ran, as the options of node force it'
cat >tiers.js <<'J'
// Optimized code of the second function keeps no value on the stack.
const loop = function work(n) { let x = 0; for (let i = 0; i < n; i++) x = (x * 31 + i) | 0; return x }
const leaf = function work(n) { let x = n; STEPS return x | 0 }
const work = process.argv[3] === 'leaf' ? leaf : loop
function used() { const { user, system } = process.cpuUsage(); return (user + system) / 1000 }
if (process.argv[2] === 'optimized') %PrepareFunctionForOptimization(work), work(10), %OptimizeFunctionOnNextCall(work), work(10);
for (const end = used() + 400; used() < end;) for (let i = 0; i < (work === leaf ? 20000 : 1); i++) work(100000);
const bit = parseInt(process.version.slice(1)) < 25 ? 16 : 0; // V8's runtime.h: kOptimized; another one in later versions
console.log(bit ? (%GetOptimizationStatus(work) & bit) !== 0 : process.argv[2] === 'optimized')
J
sed -i "s/STEPS/$(printf 'x = (x ^ (x << 7)) + (x >>> 9) | 0;%.0s' {1..60})/" tiers.js
# time_of_work OPTION...: the time of the function work itself
time_of_work() { "$PITOT" top --csv "$@" --focus='^work$' tiers.pb.gz 2>/dev/null | awk -F, '$5 == "work" { print $3 }'; }
# check_tier TIER[,leaf] OPTION...: nearly all samples of work have that tier. It is one row in reports.
check_tier() {
    local tier=${1%,*} engine all these
    local form=${1#"$tier"}
    shift
    for engine in preload bpf; do
        [ $engine = preload ] || [ "$has_bpf" = 0 ] || continue
        run pitot record --engine=$engine -F 2000 -o tiers.pb.gz "$node" --allow-natives-syntax "$@" tiers.js $tier ${form#,}
        expect_equal 'is it optimized, by V8 itself' "$(stdout)" "$([ $tier = optimized ] && echo true || echo false)"
        all=$(time_of_work)
        these=$(time_of_work --tag-focus="tier=^$tier\$")
        expect_equal "rows of work, $engine" "$(echo "$all" | wc -l)" 1
        expect awk -v all="${all:-0}" -v these="${these:-0}" 'BEGIN { exit !(all > 0 && these >= 0.8 * all) }'
    done
}
no_opt=(--no-opt)
! "$node" --no-maglev -e 0 2>/dev/null || no_opt+=(--no-maglev)
check_tier interpreter "${no_opt[@]}" --no-sparkplug
check_tier baseline "${no_opt[@]}" --always-sparkplug
check_tier optimized --no-turbo-inlining
check_tier optimized,leaf --no-turbo-inlining

it 'children of node end as they do alone, though fork gives them no heap of V8'
cat >spawns.js <<'J'
const { spawnSync } = require('node:child_process');
for (let i = 0; i < 3; i++) console.log(spawnSync('/bin/sh', ['-c', 'exit 3']).status);
process.exit(5);
J
run pitot record -F 10000 -o spawns.pb.gz "$node" spawns.js
expect_status 5
expect_equal 'their status' "$(stdout | grep -c '^3$')" 3

it 'profile.proto has them, whoever writes it'
CPUPROFILE=$PWD/own.pb.gz CPUPROFILE_FREQUENCY=1000 LD_PRELOAD=$PITOT_BUILD/libprofiler.so.0 run "$node" app.js
run pitot top -n 0 --csv own.pb.gz
expect [ "$(stdout | awk -F, '$5 == "spin" || $5 == "each"' | wc -l)" -ge 1 ]
expect [ "$(pitot tags own.pb.gz 2>/dev/null | grep -cw 'tier\|interpreter\|optimized')" -ge 2 ]

it 'another program of that name, and a V8 that does not tell where its objects are'
if needs cc; then
    cp "$(command -v sh)" bin/node
    run pitot record -o other.pb.gz bin/node -c true
    expect_equal 'the library for it' "$(pitot info other.pb.gz | grep -c 'the command is Node')" 0
    printf '%s\n' 'int v8dbg_class_Script__name__Object = 16;' \
        'int main(void) { for (volatile long n = 60000000; n > 0; n--); return 4; }' >fake.c
    cc -O1 -rdynamic -o bin/node fake.c
    run pitot record -o fake.pb.gz bin/node
    expect_status 4
    expect_equal 'what is said of it' "$(stderr | grep -c 'cannot find the objects of this V8')" 1
    if [ "$has_bpf" = 0 ]; then
        run pitot record --engine=bpf -o fake.pb.gz bin/node
        expect_status 4
        expect_equal 'what is said of it by the BPF engine' "$(stderr | grep -c 'cannot find the objects of this V8')" 1
    fi
fi
