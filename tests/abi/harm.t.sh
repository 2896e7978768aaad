#!/usr/bin/env bash
# The profile of a running program is cut, overwritten, moved, replaced, its disk full or gone: the program is as it
# is alone, and the profile whole where it can be. tests/torture/harm.sh does it a thousand times.
. "$(dirname "$0")/lib.sh"

${CC:-cc} $flags -D_GNU_SOURCE -Wall "$here/harm_host.c" -o host || exit 1

it 'whatever is done to its profile, a program gives what it gives alone, and the profile is whole or said to be lost'
python3 "$here/harm.py" 31 ./host "$PITOT_BUILD/libprofiler.so.0" "$PITOT" >harmed || fail "$(grep -v '^#' harmed)"
grep -E '^#.*(skipped|wrong)' harmed

it 'a journal that was cut is whole again when the program is killed'
run_cut() {
    rm -f prof
    CPUPROFILE=$PWD/prof CPUPROFILE_FREQUENCY=1000 LD_PRELOAD=$PITOT_BUILD/libprofiler.so.0 ./host 100000 nothing >/dev/null 2>&1 &
    local pid=$!
    eventually [ -s prof ]
    : >prof
    eventually python3 "$here/journal.py" prof
    kill -9 $pid
    wait $pid 2>/dev/null
    count_journals prof
}
run_cut 2>/dev/null
expect [ "$(counted ticks)" -gt 0 ]
run pitot info prof
expect_status 0

it 'a program that is recorded may change its root before it has a file'
mkdir -p empty recorded
PITOT_RECORD_DIR=$PWD/recorded PITOT_RECORD_HZ=1000 LD_PRELOAD=$PITOT_BUILD/libprofiler.so.0 run ./host 100 leaves
if [ "$status" = 4 ]; then
    skip 'chroot is not allowed here'
else
    expect_status 7
    count_journals recorded/*.journal
    expect [ "$(counted samples)" -gt 100 ]
fi
