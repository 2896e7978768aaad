#!/usr/bin/env bash
# Everything that has broken a profiler in a program, all at once, for ten seconds; tests/torture/agent.sh
# does it for ten minutes. The threads work an eighth of their time, to leave some for other tests.
. "$(dirname "$0")/lib.sh"

build_torture

it 'a program that does all of it at once is left alone, and each tick is recorded or counted'
CPUPROFILE_FREQUENCY=4000 bash -c './torture 5 12 ./plugin.so counter >torture.out; echo $? >torture.status' 2>/dev/null
expect_equal 'ended by' "$(cat torture.status)" 137
nothing_broke torture.out
count_journals torture.prof
expect [ "$(counted ticks)" -gt 500 ]
counts_all || fail "$(counted ticks) ticks in the journal, $(counter 3) to $(counter 1) asked about"
expect_equal 'periods in stacks' "$(($(counted samples) + $(counted own)))" "$(counted weight)"
run pitot info torture.prof
expect_status 0
expect_stdout_has samples
echo "# ticks $(counted ticks), samples $(counted samples), dropped $(counted dropped)"
rm -f torture.prof*

it 'the same at 10 kHz, as pitot record does it, with a debugger that comes and goes'
mkdir recorded
PITOT_RECORD_DIR=$PWD/recorded PITOT_RECORD_HZ=10000 ./torture 5 12 ./plugin.so >torture.out 2>torture.err &
host=$!
if command -v gdb >/dev/null; then
    for _ in 1 2 3; do
        sleep 1
        timeout 60 gdb -p $host -batch -ex bt >>gdb.out 2>&1 </dev/null
    done
    grep -q '^#0' gdb.out || echo '# gdb could not attach here'
fi
wait $host
expect_equal 'exit status' $? 0
nothing_broke torture.out
sed 's/^/# /' torture.err
count_journals recorded/$host.*.journal
expect_equal 'periods in stacks' "$(($(counted samples) + $(counted own)))" "$(counted weight)"
expect [ "$(counted samples)" -gt 500 ]
echo "# ticks $(counted ticks), samples $(counted samples), dropped $(counted dropped)"
# Some of the hundreds of children of fork.
count_journals $(find recorded -name '*.journal' | sort | head -n 100)
expect_equal "periods in the children's" "$(($(counted samples) + $(counted own)))" "$(counted weight)"

it 'SIGKILL in the middle loses what came after the last writing alone, and nothing is there twice'
kill_many 12
said=$(python3 "$here/kills.py" kills "$(nproc)" 4000) || fail "$said"
echo "# $said"
