#!/usr/bin/env bash
# Waits go on as they would alone while ticks of the clock on the wall come. tests/torture/waits.sh has more limits,
# rates and threads, and how late waits end.
. "$(dirname "$0")/lib.sh"

build_host waits_host.c host
export CPUPROFILE_REALTIME=1

it 'each kind of wait lasts for its time limit, and has the result that it has alone'
for case in '100 limits 2 3 9' '1000 limits 2 3 5'; do
    profiled $case
    expect_status 0
    expect [ "$(wc -l <facts)" -ge 20 ]
    expect_equal "waits that ended early or wrongly, $case" "$(grep -v ' early 0 wrong 0 ' facts)" ''
done

it 'a wait for CPU time is not measured by another clock'
profiled 1000 cpu_clock
expect_equal 'wait' "$(cat facts)" 'early 0 wrong 0'

it 'a signal of the program ends a wait, whenever it comes'
for call in nanosleep poll futex; do
    profiled 1000 signals 20 $call
    expect_equal 'waits' "$(cat facts)" "$call: 20 waits, not ended 0, wrong 0, handled 20"
done

it 'a signal ends a wait if its handler blocks all others, and lasts longer than a period'
for call in pause epoll_wait; do # 2: SIGKILL and SIGSTOP, which the kernel takes out of each mask
    profiled 1000 blocked $call
    expect_equal 'waits' "$(cat facts)" "$call: waits 10, signals of the mask changed 2"
done

it 'among many signals, whose handlers wait, each wait lasts or is ended by one of them'
profiled 4000 storm 300
expect_status 0
expect_equal 'waits' "$(cat facts)" 'early 0 wrong 0'

it 'a thread that waits can be cancelled, and its cleanup runs'
for call in nanosleep epoll_wait; do
    profiled 1000 cancel 20 $call
    expect_equal 'threads' "$(cat facts)" "$call: cancelled 20, cleaned 20"
done

it 'a wait leaves registers and stack as they were'
profiled 1000 registers
expect_equal 'changes' "$(cat facts)" "changed 0
changed beside a stack for signals 0
written beside it 0"

it 'waits of coroutines last as long as alone in a thread that has a stack for signals'
profiled 1000 coroutine
expect_equal 'waits' "$(cat facts)" 'early 0 wrong 0'

it "a wait by the program's own instruction never ends early by its limit, in a static program neither"
profiled 1000 inlined
expect_equal 'waits' "$(cat facts)" 'early 0'
# A C library may have no static form here.
if ${CC:-cc} -static $flags -D_GNU_SOURCE "$here/waits_host.c" -o host \
    -Wl,--whole-archive "$PITOT_BUILD/libprofiler.a" -Wl,--no-whole-archive -ldl 2>link.err; then
    profiled 1000 inlined
    expect_equal 'waits' "$(cat facts)" 'early 0'
fi
