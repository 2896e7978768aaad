#!/usr/bin/env bash
# libprofiler.so.0 in a program that does everything that has broken a profiler, for ten minutes at
# 10 kHz, with a debugger that comes and goes; and a hundred kills. PITOT_TORTURE_SECONDS is less.
. "$(dirname "$0")/../abi/lib.sh"

seconds=${PITOT_TORTURE_SECONDS:-600}
build_torture

it "at 10 kHz for $seconds seconds: no hang, no crash, no changed errno or mask, nothing lost uncounted"
mkdir recorded
PITOT_RECORD_DIR=$PWD/recorded PITOT_RECORD_HZ=10000 ./torture "$seconds" 40 ./plugin.so >torture.out 2>torture.err &
host=$!
attached=0
while kill -0 $host 2>/dev/null; do
    for _ in 1 2 3 4 5; do sleep 1; done
    # The journals of thousands of children of fork.
    find recorded -name '*.journal' ! -name "$host.*" -mmin +1 -delete
    command -v gdb >/dev/null && timeout 60 gdb -p $host -batch -ex bt </dev/null 2>/dev/null | grep -q '^#0' &&
        attached=$((attached + 1))
done
wait $host
expect_equal 'exit status' $? 0
nothing_broke torture.out
sed 's/^/# /' torture.err
count_journals recorded/$host.*.journal
expect_equal 'periods in stacks' "$(($(counted samples) + $(counted own)))" "$(counted weight)"
echo "# ticks $(counted ticks), samples $(counted samples), dropped $(counted dropped), gdb attached $attached times"
echo "# $(tr '\n' ' ' <torture.out)"
rm -rf recorded

it "ticks that the program was asked about are those of the journal, for $((seconds / 6)) seconds"
CPUPROFILE_FREQUENCY=4000 bash -c './torture "$1" 40 ./plugin.so counter >torture.out' - $((seconds / 6)) 2>/dev/null
nothing_broke torture.out
count_journals torture.prof
counts_all || fail "$(counted ticks) ticks in the journal, $(counter 3) to $(counter 1) asked about"
expect_equal 'periods in stacks' "$(($(counted samples) + $(counted own)))" "$(counted weight)"
echo "# ticks $(counted ticks), samples $(counted samples), dropped $(counted dropped)"

it 'a hundred kills lose what came after the last writing alone, and nothing is there twice'
kill_many 100
said=$(python3 "$here/kills.py" kills "$(nproc)" 4000) || fail "$said"
echo "# $said"
