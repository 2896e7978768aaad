#!/usr/bin/env bash
# CPython's own frames in stacks that the library records: each right in name, file and line, among native ones.
. "$(dirname "$0")/lib.sh"
[ "$PITOT_SANITIZED" = 0 ] || skip_all 'the library is not loaded into sanitized runs'
tests=$PITOT_ROOT/tests/cli

# What there is of 3.8 to 3.14: the system's, and those of pyenv.
home=$(getent passwd "$(id -u)" | cut -d: -f6)
pythons=()
for python in /usr/bin/python3 "${PYENV_ROOT:-$home/.pyenv}"/versions/3.*/bin/python3; do
    [ -x "$python" ] && "$python" -c 'import sys; sys.exit(not (3, 8) <= sys.version_info[:2] <= (3, 14))' &&
        pythons+=("$python")
done
[ "${#pythons[@]}" -gt 0 ] || skip_all 'there is no Python 3.8 to 3.14'
python=${pythons[0]}

# The only runs that a table of versions has: each version that is here once.
for one in "${pythons[@]}"; do
    version=$("$one" -c 'import sys; print("%d.%d.%d" % sys.version_info[:3])')
    it "each frame of Python $version is right in name, file and line, in each way that a stack can go"
    for _ in 1 2; do
        run pitot record --engine=preload -o stacks.pb.gz "$one" "$tests/python_stacks.py" expected.json 20
        expect_status 0
        expect_equal 'what is said of joining' "$(stderr | grep -c 'Python functions in [0-9.]* %, \(100\|99[.0-9]*\) % of these joined for certain')" 1
        pitot dump --json stacks.pb.gz >dump.json 2>/dev/null
        run "$python" "$tests/python_stacks_check.py" expected.json dump.json
        read -r _ stacks _ frames _ wrong _ places _ all < <(stdout)
        [ "$wrong" != 0 ] || break
    done
    expect_status 0
    expect_equal 'wrong stacks' "$wrong" 0
    expect [ "$frames" -ge 1000 ]
    expect [ "$((places * 2))" -ge "$all" ] # where ticks are few, some places meet none
    [ "$one" != "$python" ] || pitot traces -n 0 --lines --json stacks.pb.gz >by-library.json 2>/dev/null
done

pitot record --engine=bpf -o probe.pb.gz true 2>probe
has_bpf=$?

# The kernel's walk has the same text as the library's, but finds threads and names in its own way.
for one in "${pythons[@]}"; do
    version=$("$one" -c 'import sys; print("%d.%d.%d" % sys.version_info[:3])')
    it "each frame of Python $version is right in stacks that the kernel walks, too"
    if [ "$has_bpf" != 0 ]; then
        skip "no BPF here: $(tail -n 1 probe)"
        continue
    fi
    run pitot record --engine=bpf -o stacks.pb.gz "$one" "$tests/python_stacks.py" expected.json 8
    expect_status 0
    expect_equal 'what is said of joining' "$(stderr | grep -c 'Python functions in [0-9.]* %, \(100\|99[.0-9]*\) % of these joined for certain')" 1
    pitot dump --json stacks.pb.gz >dump.json 2>/dev/null
    run "$python" "$tests/python_stacks_check.py" expected.json dump.json
    expect_status 0
    read -r _ _ _ frames _ wrong _ < <(stdout)
    expect_equal 'wrong stacks' "$wrong" 0
    expect [ "$frames" -ge 500 ]
    [ "$one" != "$python" ] || pitot traces -n 0 --lines --json stacks.pb.gz >by-bpf.json 2>/dev/null
done

it 'the library and the kernel see the same stacks of one program: names, files and lines'
if [ "$has_bpf" != 0 ]; then
    skip "no BPF here: $(tail -n 1 probe)"
else
    run "$python" - "$tests" <<'P'
import json, re, sys
def places(path):
    """Place -> its callers, outermost last, as (name, file, line); each place is called from one stack. The collector
    calls __del__ where it likes."""
    found = {}
    for trace in json.load(open(path))['traces']:
        python = [(re.sub('<made [0-9]*>', '<made>', f['name']), re.sub('<made [0-9]*>', '<made>', f['file']), f['line'])
                  for f in trace['frames'] if f['file'].endswith('.py') or f['file'].startswith('<')]
        held = [i for i, f in enumerate(python) if f[0].startswith('hold_')] # not the module that defines it
        if held: found.setdefault(python[held[0]][1], set()).add(tuple(python[held[0] + 1:]))
    return found
library, kernel = places('by-library.json'), places('by-bpf.json')
both = [p for p in library.keys() & kernel.keys() if '__del__' not in str(library[p]) + str(kernel[p])]
print(len(both) >= 20, [(p, library[p], kernel[p]) for p in both if library[p] != kernel[p]][:3])
P
    expect_equal 'places in both, and what differs' "$(stdout)" 'True []'
fi

it 'a Python that runs already has names, and so have threads and a child of fork'
cat >service.py <<'P'
import os, sys, threading, time
def spin(n):
    while n: n -= 1
def serve():
    while True: spin(10000)
def work():
    while True: spin(10000)
def descend():
    while True: spin(10000)
child = os.fork()
if child == 0:
    print(os.getpid(), flush=True)
    descend()
threading.Thread(target=work, daemon=True).start()
print(os.getpid(), flush=True)
serve()
P
if [ "$has_bpf" != 0 ]; then
    skip "no BPF here: $(tail -n 1 probe)"
else
    "$python" service.py >pids &
    service=$!
    has_both() { [ "$(wc -l <pids)" = 2 ]; }
    eventually has_both
    # Longer if in that time a thread got no processor: on a full machine, or one that stands still.
    for seconds in 1 4 16 64; do
        run pitot record --engine=bpf -p "$service" -p "$(grep -vx "$service" pids)" -d $seconds -o service.pb.gz
        expect_status 0
        expect_stderr_has 'Python functions in '
        functions=$(pitot top -n 0 --csv service.pb.gz 2>/dev/null | awk -F, '$5 == "serve" || $5 == "work" || $5 == "descend"' | wc -l)
        [ "$functions" != 3 ] || break
    done
    kill -KILL "$service" "$(grep -vx "$service" pids)"
    expect_equal 'functions' "$functions" 3
fi

it 'waits for the lock are a value: with CPU time and waits for a CPU they are all the time of two threads that compute'
cat >locked.py <<'P'
import threading, time
took = {}
start = threading.Barrier(3)
def turn(end):
    n = 0
    while time.monotonic() < end:
        for _ in range(1000): n += 1
def left(end): turn(end)
def right(end): turn(end)
def run(f):
    start.wait()
    begin, cpu = time.monotonic(), time.thread_time()
    f(begin + 0.4)
    took[f.__name__] = [time.monotonic() - begin, time.thread_time() - cpu]
threads = [threading.Thread(target=run, args=(f,)) for f in (left, right)]
[t.start() for t in threads]
start.wait()
[t.join() for t in threads]
for name in took: print(name, *took[name])
P
# value EVENT FUNCTION: its seconds with callees.
value() { pitot top -n 0 --csv -e "$1" locked.pb.gz 2>/dev/null | awk -F, -v name="$2" '$5 == name { sum += $3 } END { print sum / 1e9 }'; }
if [ "$has_bpf" != 0 ]; then
    skip "no BPF here: $(tail -n 1 probe)"
else
    run pitot record --off-cpu -o locked.pb.gz "$python" locked.py
    expect_status 0
    stdout >took
    while read -r name elapsed cpu; do
        gil=$(value gil "$name") ready=$(value ready "$name")
        echo "# $name: $elapsed s, CPU $cpu, lock $gil, for a CPU $ready"
        expect awk -v all="$elapsed" -v cpu="$cpu" -v gil="$gil" -v ready="$ready" 'BEGIN {
            sum = cpu + gil + ready; exit !(gil > 0 && sum > 0.9 * all && sum < 1.05 * all) }'
    done <took
    expect_equal 'threads' "$(wc -l <took)" 2
    run pitot record --off-cpu --engine=perf -o locked.pb.gz "$python" locked.py
    expect_equal 'with perf' "$(pitot info locked.pb.gz 2>/dev/null | grep -c 'gil (nanoseconds)')" 1
    run pitot record --off-cpu -o locked.pb.gz "$python" -c 'import time; time.sleep(0.05)'
    expect_equal 'without waits for it' "$(pitot info locked.pb.gz 2>/dev/null | grep -c 'gil (nanoseconds)')" 0
    run pitot record --engine=perf -e gil true
    expect_status 2
    expect_stderr_has '--off-cpu'
fi

it 'the kernel copies names at once: code that is freed has its name'
cat >gone.py <<'P'
import time
def spin(n):
    while n: n -= 1
end, i = time.process_time() + 0.3, 0
while time.process_time() < end:
    i += 1
    space, name = {}, 'made_%d' % i
    exec(compile('def %s(spin):\n    spin(3000)\n    n = 3000\n    while n: n -= 1\n' % name, '<%s>' % name, 'exec'), space)
    space.pop(name)(spin)
P
if [ "$has_bpf" != 0 ]; then
    skip "no BPF here: $(tail -n 1 probe)"
else
    run pitot record --engine=bpf -F 10000 -o gone.pb.gz "$python" gone.py
    expect_status 0
    pitot top -n 0 --csv gone.pb.gz 2>/dev/null | cut -d, -f 5 >names
    expect [ "$(grep -c '^made_' names)" -ge 40 ]
    expect_equal 'what has none' "$(grep -c '^\[Python code\]' names)" 0
fi

it 'a recorder that is killed leaves the names of stacks that the kernel walked'
cat >burn.py <<'P'
import time
def burns(n):
    while n: n -= 1
while time.process_time() < 0.4:
    burns(20000)
open('burnt', 'w').write('burnt\n')
open('burnt').read()
P
cat >cut.sh <<'S'
mount -t tmpfs none /dev/shm || exit 77
mkfifo burnt
"$PITOT" record --engine=bpf -F 2000 -o cut.pb.gz "$1" burn.py >/dev/null 2>&1 &
recorder=$!
read -r _ <burnt
folder=$(echo /dev/shm/pitot-record-*)
for _ in $(seq 3000); do
    "$PITOT" recover "$folder" -o now.pb.gz >said 2>&1
    [ "$(sed -n 's/^now.pb.gz: \([0-9,]*\) samples.*/0\1/p' said | tr -d ,)" -ge 0200 ] 2>/dev/null && break
    sleep 0.1
done
kill -KILL $recorder
wait $recorder
echo >burnt
"$PITOT" recover "$folder" -o recovered.pb.gz
S
if [ "$has_bpf" != 0 ] || ! unshare -m true 2>/dev/null; then
    skip "no BPF, or no /dev/shm of its own, here: $(tail -n 1 probe)"
else
    run env PITOT="$PITOT" unshare -m bash cut.sh "$python"
    expect_status 0
    pitot traces -n 0 --lines --json recovered.pb.gz >traces.json 2>/dev/null
    run "$python" -c '
import json
frames = [f for t in json.load(open("traces.json"))["traces"] for f in t["frames"] if f["file"].endswith("burn.py")]
found = {(f["name"].split()[0], f["line"]) for f in frames}
print(("burns", 3) in found, ("<module>", 5) in found, sorted({name for name, line in found}))'
    expect_equal 'names and lines' "$(stdout)" "True True ['<module>', 'burns']"
fi

it 'frames of the interpreter are folded into the function that they run for, and shown by --native'
cat >sorts.py <<'P'
import zlib
def key(x):
    n = 20000
    while n: n -= 1
    return x
def sorts():
    return sorted(range(60), key=key)
def squeezes():
    return zlib.compress(bytes(range(256)) * 40000, 9)
for _ in range(10):
    sorts(), squeezes()
P
run pitot record --engine=preload -o sorts.pb.gz "$python" sorts.py
functions() { pitot traces -n 0 --csv "$@" sorts.pb.gz 2>/dev/null; }
expect_equal 'evaluators' "$(functions | grep -c _PyEval_EvalFrameDefault)" 0
expect [ "$(functions --native | grep -c _PyEval_EvalFrameDefault)" -gt 0 ]
expect [ "$(functions --native | grep -c list_sort\\\|key)" -gt 0 ]
# The head of why, which looks at these frames, has the share of unnamed code that other reports have.
head_of() { pitot "$@" sorts.pb.gz 2>/dev/null | sed -n 2p; }
expect_equal 'heads' "$(head_of why)" "$(head_of top)"
expect_equal 'heads with --native' "$(head_of why --native)" "$(head_of top --native)"
run pitot traces -n 0 --json sorts.pb.gz
stdout >sorts.json
python3 - >said <<'P'
import json
own = extension = 0
for t in json.load(open('sorts.json'))['traces']:
    names = [f['name'] for f in t['frames']]
    own += t['share'] * (names[:3] == ['key', 'sorts', '<module>'])
    extension += t['share'] * ('squeezes' in names and names[0] != 'squeezes')
print('own', own > 0.2, 'extension', extension > 0.2)
P
expect_equal 'what is whose' "$(cat said)" 'own True extension True'
expect_equal 'a line about names' "$(stderr | grep 'no names')" ''

it 'profile.proto has them, whoever writes it; a gperftools file has no place for names'
CPUPROFILE=$PWD/own.pb.gz CPUPROFILE_FREQUENCY=1000 LD_PRELOAD=$PITOT_BUILD/libprofiler.so.0 run "$python" sorts.py
run pitot top -n 0 --csv own.pb.gz
expect [ "$(stdout | grep -c ',key$\|,key,')" -ge 1 ]
expect [ "$(pitot list key own.pb.gz 2>/dev/null | grep -c 'while n: n -= 1')" -ge 1 ]
CPUPROFILE=$PWD/own.prof LD_PRELOAD=$PITOT_BUILD/libprofiler.so.0 run "$python" sorts.py
run pitot top -n 0 --csv own.prof
expect_status 0
expect_equal 'functions of Python' "$(stdout | grep -c ',key$\|,key,')" 0

it 'stacks through the trampolines of -X perf are whole, and these are folded, too'
perf=
for one in "${pythons[@]}"; do
    "$one" -X perf -c 'import sys; sys.exit(not sys.is_stack_trampoline_active())' 2>/dev/null && perf=$one
done
if [ -n "$perf" ]; then
    for _ in 1 2 3; do # on a busy machine a run may have few samples
        run pitot record --engine=preload -o perf.pb.gz "$perf" -X perf sorts.py
        complete=$(stderr | sed -n 's/.* \([0-9.]*\) % of the stacks complete.*/\1/p')
        ! awk -v complete="$complete" 'BEGIN { exit !(complete >= 90) }' || break
    done
    expect awk -v complete="$complete" 'BEGIN { exit !(complete >= 90) }'
    run pitot top -n 0 --csv perf.pb.gz
    expect_equal 'trampolines' "$(stdout | grep -c py::)" 0
    expect_equal 'functions of that name' "$(stdout | awk -F, '$5 == "sorts"' | wc -l)" 1
else
    skip 'python 3.12 or later is not installed'
fi

it 'a program says and returns what it does alone'
cat >says.py <<'P'
import faulthandler, os, signal, sys, threading
faulthandler.enable()
def spin(n):
    while n: n -= 1
threads = [threading.Thread(target=spin, args=(600000,)) for _ in range(3)]
[t.start() for t in threads]
daemon = threading.Thread(target=lambda: [spin(1000) for _ in range(10**9)], daemon=True)
daemon.start()
child = os.fork()
if child == 0:
    spin(300000)
    os._exit(3)
print(os.WEXITSTATUS(os.waitpid(child, 0)[1]), signal.getsignal(signal.SIGPROF), sys.getrecursionlimit())
[t.join() for t in threads]
sys.exit(5)
P
"$python" says.py >alone 2>&1
expect_equal 'its status alone' $? 5
for _ in 1 2 3 4 5; do
    pitot record --engine=preload -F 5000 -o says.pb.gz "$python" says.py >recorded 2>said
    expect_equal 'its status' $? 5
    expect_equal 'what it says' "$(cat recorded)" "$(cat alone)"
done

it 'record takes the library for Python, a link to it, and a script for it; perf events else'
engine() { pitot info "$1" | sed -n 's/.*engine: //p'; }
printf '%s\n' "#!$python" 'print(sum(range(1000000)))' >script
chmod +x script
ln -s "$(readlink -f "$python")" linked
for command in "$python" ./linked ./script; do
    run pitot record -o chosen.pb.gz "$command" -c 'print(sum(range(2000000)))'
    expect_status 0
    expect_equal "the engine of $command" "$(engine chosen.pb.gz | cut -d, -f1)" 'libprofiler.so.0 in the processes'
    expect_equal 'why' "$(engine chosen.pb.gz | grep -c 'as the command is Python 3\.')" 1
done
mkdir shims
printf '%s\n' '#!/bin/sh' "exec '$python' \"\$@\"" >shims/python3
chmod +x shims/python3
run pitot record -o chosen.pb.gz shims/python3 -c 'print(sum(range(2000000)))'
expect_status 0
expect_equal 'why, for what a version manager has' "$(engine chosen.pb.gz | grep -c 'as the command is a script for Python,')" 1
expect_stderr_line '*Python functions in *'
cp "$(command -v sh)" python3.11
run pitot record -o other.pb.gz ./python3.11 -c true
expect_equal 'the engine of another program of that name' "$(pitot info other.pb.gz | grep -c 'the command is Python')" 0
run pitot record -o asked.pb.gz --engine=perf "$python" -c 'print(sum(range(2000000)))'
expect_equal 'the library where perf events were asked for' "$(pitot info asked.pb.gz 2>/dev/null | grep -c libprofiler)" 0

it 'a version that is not known, and one that lies about itself, are refused with a line, and do no harm'
if needs cc; then
    for version in 0x030f00f0 0x030e00f0 0x030b00f0 0x030800f0; do
        cat >fake.c <<'C'
#include <pthread.h>
#include <string.h>
const unsigned long Py_Version = VERSION;
char PyCode_Type[64], PyUnicode_Type[64], PyBytes_Type[64];
static long state[1000];
struct { int words[400]; } _PyRuntime;
int main(int argc, char **argv)
{
    pthread_key_t key;
    (void)argv;
    pthread_key_create(&key, NULL);
    for (int i = 0; i < 1000; i++)
        state[i] = i % 3 == 0 ? (long)&state[(i * 7) % 990] : i % 3 == 1 ? -8 : 0x7fffffff0008;
    pthread_setspecific(key, state);
    for (int i = 0; i < 399; i++)
        if (i * 4 == 0x250 || i * 4 == 0x570) _PyRuntime.words[i] = 1, _PyRuntime.words[i + 1] = (int)key;
    for (volatile long n = argc * 150000000L; n > 0; n--)
        state[(n * 31) % 1000] = n % 5 == 0 ? (long)&state[(n * 7) % 990] & ~7L : n;
    return 4;
}
C
        cc -O1 -rdynamic -DVERSION=$version -o python-fake fake.c -lpthread
        for engine in preload bpf; do
            [ $engine != bpf ] || [ "$has_bpf" = 0 ] || continue
            longer='' # the kernel takes a while to check the reader of Python's frames
            [ $engine != bpf ] || longer='3 times'
            run pitot record --engine=$engine -F 2000 -o fake.pb.gz ./python-fake $longer
            expect_status 4
            expect_equal 'functions of Python' "$(stderr | grep -c 'Python functions')" 0
            stderr | sed -n 's/^[a-z0-9: .-]*: \(.*: its own frames will be missing\)$/\1/p' >refused-$engine
            expect_equal "what is said of $version by $engine" "$(wc -l <refused-$engine)" 1
        done
        [ "$has_bpf" != 0 ] || expect_equal 'what both say' "$(cat refused-bpf)" "$(cat refused-preload)"
    done
fi

it 'names functions of Python beside a Perl of a version that is not known, which was loaded first'
if needs cc; then
    echo 'int PL_thr_key = 1;' | cc -x c -shared -fPIC -Wl,-Ttext-segment=0x20000 -o libperl.so.5.99 -
    printf 'import time\ndef spin():\n    end = time.process_time() + 0.1\n    while time.process_time() < end: pass\nspin()\n' >spin.py
    LD_PRELOAD=$PWD/libperl.so.5.99 run "$PITOT" record --engine=preload -o beside.pb.gz "$python" spin.py
    expect_status 0
    expect_stderr_has 'Perl'
    expect_stderr_has 'Python functions in'
fi
