#!/usr/bin/env bash
# pitot merge: sums by content.
# Under the sanitizers: make asan.
. "$(dirname "$0")/lib.sh"

golden=$PITOT_ROOT/tests/golden/pprof

it 'adds up stacks of several files, in the order of the files'
printf 'a;b 1\nc 2\n' >one.folded
printf 'd 1\na;b 10\n' >two.folded
run pitot merge one.folded two.folded -o sum.folded
expect_status 0
expect_stdout 'sum.folded: 3 samples of 2 profiles'
expect_equal 'the sum' "$(cat sum.folded)" "$(printf 'a;b 11\nc 2\nd 1')"

it 'writes the bytes that go tool pprof -proto wrote'
pitot merge "$golden/cpu.pb.gz" "$golden/cpu-rewritten.pb.gz" --raw -o sum.pb >/dev/null
gzip -dc "$golden/merged.pb.gz" >expected
expect_same expected sum.pb

it 'agrees with the go tool of this machine on several profiles'
if needs go; then
    export PPROF_TMPDIR=$PWD
    go tool pprof -proto -symbolize=none -output go.pb.gz \
        "$golden/heap.pb.gz" "$golden/heap.pb.gz" "$golden/heap.pb.gz" >/dev/null 2>&1
    pitot merge "$golden/heap.pb.gz" "$golden/heap.pb.gz" "$golden/heap.pb.gz" -o ours.pb.gz >/dev/null
    go tool pprof -raw -symbolize=none go.pb.gz >expected 2>/dev/null
    go tool pprof -raw -symbolize=none ours.pb.gz >got 2>/dev/null
    expect_same expected got
    expect test -s got
fi

it 'writes the bytes of go tool pprof -proto for profiles with labels, inlined frames, several values'
if needs go; then
    for options in '--labels=3 --inlines=30 --values=4' '--shape=S --values=1 --recursion=20 --homonyms=10'; do
        for run in 1 2; do
            # shellcheck disable=SC2086
            "$PITOT_BUILD/bench/gen" --samples=400 --functions=300 --run=$run $options -o in$run.pb.gz
        done
        PPROF_TMPDIR=$PWD go tool pprof -proto -symbolize=none -output go.pb.gz in1.pb.gz in2.pb.gz \
            >/dev/null 2>&1
        pitot merge in1.pb.gz in2.pb.gz -o ours.pb.gz >/dev/null
        gzip -dc go.pb.gz >expected
        gzip -dc ours.pb.gz >got
        expect_same expected got
        expect test -s got
    done
fi

it 'gives the same bytes with one thread and with eight'
for i in 0 1 2 3 4 5 6 7 8 9; do
    "$PITOT_BUILD/bench/gen" --shape=S --samples=300 --functions=200 --run=$i -o run$i.pb.gz
done
pitot merge -j1 run*.pb.gz -o one.pb.gz >/dev/null
pitot merge -j8 run*.pb.gz -o eight.pb.gz >/dev/null
expect_same one.pb.gz eight.pb.gz

it 'keeps the total, whatever the order'
total() { pitot info --json "$1" | python3 -c 'import json, sys; print(json.load(sys.stdin)["events"][0]["total"])'; }
sum=0
for i in 0 1 2 3 4 5 6 7 8 9; do sum=$((sum + $(total run$i.pb.gz))); done
expect_equal 'the total' "$(total one.pb.gz)" "$sum"
pitot merge --canonical run[0-4].pb.gz run[5-9].pb.gz -o forth.pb.gz >/dev/null
pitot merge --canonical run[5-9].pb.gz run[0-4].pb.gz -o back.pb.gz >/dev/null
expect_equal 'the other order' "$(total back.pb.gz)" "$sum"

it 'adds up the equal samples of a single file'
printf 'a;b 1\na;b 2\n' >twice.folded
run pitot merge twice.folded -o once.pb.gz
expect_stdout 'once.pb.gz: 1 sample of 1 profile'

it 'adds up gmon.out files as gprof -s does'
if needs gcc gprof; then
    cat >calls.c <<'EOF'
static volatile long sink;
#define APART __attribute__((noinline))
APART void leaf(int n) { for (int i = 0; i < n; i++) sink += i; }
APART void odd(int n);
APART void even(int n) { if (n > 0) odd(n - 1); leaf(300000); }
APART void odd(int n) { if (n > 0) even(n - 1); leaf(200000); }
int main(int argc, char **argv)
{
    (void)argv;
    for (int i = 0; i < 5 * argc; i++) even(20);
    return 0;
}
EOF
    if gcc -pg -O1 calls.c -o calls 2>build.log; then
        for i in 1 2 3; do
            # shellcheck disable=SC2086
            ./calls $(seq $i) && mv gmon.out $i.gmon
        done
        gprof -s calls 1.gmon 2.gmon 3.gmon
        run pitot merge 1.gmon 2.gmon 3.gmon -o sum.gmon
        expect_status 0
        expect_no_stderr
        gprof -b calls gmon.sum >expected
        gprof -b calls sum.gmon >got
        expect_same expected got
        expect_equal 'calls of leaf' "$(awk '$NF == "leaf" { print $4; exit }' got)" 945
        pitot merge 3.gmon 1.gmon 2.gmon -o other.gmon >/dev/null
        gprof -b calls other.gmon >got
        expect_same expected got
        run pitot merge --to=gmon-bsd 1.gmon 2.gmon 3.gmon -o sum.bsd
        gprof -b calls sum.bsd >got
        expect_same expected got
    else
        skip 'gcc -pg does not link here'
    fi
fi

it 'adds up more ticks than a bin of gmon.out can hold'
if needs python3; then
    python3 - <<'PY'
import struct
for name, counts in (('full', (65535, 3)), ('more', (65535, 0))):
    with open(name + '.gmon', 'wb') as file:
        file.write(b'gmon' + struct.pack('<I12x', 1))
        file.write(struct.pack('<BQQII15sc', 0, 0x1000, 0x1008, 2, 100, b'seconds', b's'))
        file.write(struct.pack('<2H', *counts))
        file.write(struct.pack('<BQQI', 1, 0x1000, 0x1004, 0xffffffff))
PY
    pitot merge full.gmon more.gmon full.gmon -o sum.gmon >/dev/null
    expect_equal 'ticks' "$(pitot info --json sum.gmon |
        python3 -c 'import json, sys; print(json.load(sys.stdin)["events"][0]["total"])')" 196611
    expect_equal 'calls' "$(pitot dump --raw sum.gmon | awk '$1 == "arc" { arc = 1; next }
        arc && /^[0-9]/ { sum += $4 } arc && /^[a-z]/ { exit } END { printf "%.0f\n", sum }')" 12884901885
fi

it 'adds up calls and costs of callgrind: n files of a run have n times each figure'
if needs callgrind_annotate; then
    tree() { callgrind_annotate --tree=both --auto=no --threshold=100 "$1" | sed -n 's/ ([^)]*%)//g; s/^ *//; s/ \[[^]]*\]$//; /[<>*] .*calls/p' | tr -d ,; }
    golden_run=$PITOT_ROOT/tests/golden/callgrind/plain
    run pitot merge "$golden_run" "$golden_run" "$golden_run" -o three.callgrind
    expect_status 0
    tree "$golden_run" | awk '{ $1 = ($1 == ".") ? $1 : 3 * $1
        if (match($0, /\([0-9]+x\)/)) $0 = substr($0, 1, RSTART) 3 * substr($0, RSTART + 1) substr($0, RSTART + RLENGTH - 2)
        print }' | sort >expected
    tree three.callgrind | awk '{ $1 = $1; print }' | sort >got
    expect_same expected got
    expect test -s got
fi

it 'says what of calls and histograms does not fit'
if needs python3; then
    python3 - <<'PY'
import struct
for name, rate in (('slow', 100), ('fast', 1000)):
    with open(name + '.gmon', 'wb') as file:
        file.write(b'gmon' + struct.pack('<I12x', 1))
        file.write(struct.pack('<BQQII15sc', 0, 0x1000, 0x1008, 2, rate, b'seconds', b's'))
        file.write(struct.pack('<2H', 5, 6))
PY
    run pitot merge slow.gmon fast.gmon -o both.pb.gz
    expect_status 0
    expect_stderr_line 'pitot: 2 histogram bins left out, since the clocks behind them differ; samples are kept'
    expect_stdout 'both.pb.gz: 2 samples of 2 profiles'
fi

it 'refuses profiles that measure different things'
run pitot merge "$golden/goroutine.pb.gz" "$golden/heap.pb.gz" -o x.pb.gz
expect_status 2
expect_stderr_line 'pitot: *heap.pb.gz: measures *nothing in common*'
expect test ! -e x.pb.gz

it 'refuses a program and names the first missing file'
run pitot merge "$PITOT" one.folded -o x.folded
expect_status 2
expect_stderr_line '*is a program; merge takes profiles'
run pitot merge one.folded gone1 gone2 -o x.folded
expect_status 1
expect_stderr_line 'pitot: gone1: *'

it 'takes no more memory for three thousand profiles than for a hundred'
if [ "$PITOT_SANITIZED" = 1 ]; then
    skip 'memory is not the same under the sanitizers'
elif needs python3; then
    python3 - "$PITOT" >sizes <<'PY'
import os, random, re, select, struct, subprocess, sys
random.seed(1)
stacks = [[0x400000 + random.randrange(1 << 16) for _ in range(20)] for _ in range(2000)]
os.mkdir('many')
for i in range(3000):
    words = [0, 3, 0, 10000, 0]
    for stack in random.sample(stacks, 200):
        words += [random.randrange(1, 9), len(stack)] + stack
    words += [0, 1, 0]
    with open('many/%d' % i, 'wb') as file:
        file.write(struct.pack('<%dQ' % len(words), *words))
os.mkfifo('many.pb.gz')
def peak(count):
    # When something comes out everything is in; what took no memory till then takes none.
    names = ['many/%d' % i for i in range(count)]
    pipe = os.open('many.pb.gz', os.O_RDONLY | os.O_NONBLOCK)
    process = subprocess.Popen([sys.argv[1], 'merge', '--symbols=off', '-o', 'many.pb.gz'] + names,
                               stdout=subprocess.DEVNULL)
    select.select([pipe], [], [], 60)
    status = open('/proc/%d/status' % process.pid).read()
    os.set_blocking(pipe, True)
    while os.read(pipe, 1 << 20):
        pass
    os.close(pipe)
    assert process.wait() == 0
    return int(re.search(r'VmHWM:\s*(\d+)', status).group(1))
small = peak(100)
large = peak(3000)
print(small, large)
sys.exit(large > small + 3000)
PY
    expect_equal 'python3, with kilobytes of a hundred and of all' "$? $(cat sizes)" "0 $(cat sizes)"
fi
