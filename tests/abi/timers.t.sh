#!/usr/bin/env bash
# What makes libprofiler.so.0's ticks, by what the kernel allows and the environment asks for: samples
# times period are the CPU time of the threads' own clocks, in the functions that used it, and the
# host is left alone. tests/torture/timers_truth.sh has all rates and numbers of threads.
. "$(dirname "$0")/lib.sh"

build_host timers_host.c host
build_host complaints_host.c complaints
paranoid=$(cat /proc/sys/kernel/perf_event_paranoid 2>/dev/null || echo 4)
unset CPUPROFILE_REALTIME CPUPROFILE_PER_THREAD_TIMERS CPUPROFILE_TIMER_SIGNAL

# without_events HZ CASE...: as profiled, where perf_event_open is refused by a seccomp filter.
without_events() {
    rm -f prof prof_*
    run ./host exec env CPUPROFILE=prof CPUPROFILE_FREQUENCY="$1" ./host "${@:2}"
    cp "$t_out/stdout" facts
    [ "$status" != 99 ] || skip 'this kernel has no seccomp filters'
}

# without_timers HZ CASE...: as that, where timer_create is refused, too.
without_timers() {
    rm -f prof prof_*
    run ./host exec_bare env CPUPROFILE=prof CPUPROFILE_FREQUENCY="$1" ./host "${@:2}"
    cp "$t_out/stdout" facts
    [ "$status" != 99 ] || skip 'this kernel has no seccomp filters'
}

# seen FUNCTION...: seconds of the samples with one of these.
seen() { calc "$(told period_us) * 1e-6 * (0$(for name; do printf ' + %s' "$(told "$name")"; done))"; }

it "what computes and what calls the kernel are seen for as long as they take (perf_event_paranoid $paranoid)"
for hz in 100 1000 4000; do
    profiled $hz load 2 both 0.5
    read_profile prof compute call_kernel
    expect agrees "$(told seconds)" "$(fact cpu)" "$(calc "1 / $hz")"
    expect agrees "$(seen compute)" "$(fact compute)" "$(calc "1 / $hz")"
    expect agrees "$(seen call_kernel)" "$(fact kernel)" "$(calc "1 / $hz")"
done

it "the same to an ordinary user (perf_event_paranoid $paranoid)"
if [ "$(id -u)" != 0 ]; then
    skip 'the tests above ran as one'
elif needs setpriv; then
    chmod 777 "$t_dir"
    mkdir -m 777 user
    cp host user/
    cp "$PITOT_BUILD/libprofiler.so.0" user/
    for hz in 100 4000; do
        rm -f prof
        run setpriv --reuid 65534 --clear-groups env CPUPROFILE=prof CPUPROFILE_FREQUENCY=$hz \
            LD_LIBRARY_PATH="$PWD/user" LD_PRELOAD="$PWD/user/libprofiler.so.0" ./user/host load 2 both 0.5
        cp "$t_out/stdout" facts
        expect_status 0
        read_profile prof compute call_kernel
        # Where there are no events of the kernel its time is found at the kernel's own tick.
        expect agrees "$(told seconds)" "$(fact cpu)" 0.01
        expect agrees "$(seen compute)" "$(fact compute)" 0.01
        expect agrees "$(seen call_kernel)" "$(fact kernel)" 0.01
    done
fi

it 'the same where perf events are refused'
for hz in 100 4000; do
    without_events $hz load 2 both 0.5
    expect_status 0
    read_profile prof compute call_kernel
    expect agrees "$(told seconds)" "$(fact cpu)" 0.01
    expect agrees "$(seen compute)" "$(fact compute)" 0.02
    expect agrees "$(seen call_kernel)" "$(fact kernel)" 0.02
    expect_equal "period at $hz Hz" "$(told period_us)" $((1000000 / hz))
done

it 'the same where POSIX timers are refused, too: one timer for the process, and its true period'
ticks=$(python3 -c 'import time; print(round(1 / time.clock_getres(6)))') # CLOCK_MONOTONIC_COARSE
for hz in 100 1000; do
    without_timers $hz load 4 both 0.3
    expect_status 0
    read_profile prof compute call_kernel
    expect agrees "$(told seconds)" "$(fact cpu)" 0.01
    # Which of four threads is met is chance, and so is what it does. A tick stands for what up to four of them did.
    most=$(calc "1 / $hz > 4 / $ticks ? 1 / $hz : 4 / $ticks")
    expect agrees "$(seen compute)" "$(fact compute)" "$most"
    expect agrees "$(seen call_kernel)" "$(fact kernel)" "$most"
    echo "# $hz Hz: $(seen compute) of $(fact compute) s, $(seen call_kernel) of $(fact kernel) s"
    expect_equal "period at $hz Hz" "$(told period_us)" $((1000000 / (hz < ticks ? hz : ticks)))
done
expect_stderr_line "pitot: libprofiler: neither perf events nor timers of threads are allowed here: taking $ticks samples a second instead of 1000"
for case in becomes_another child_exits; do # exec keeps such a timer, fork does not
    rm -f prof prof_*
    run ./host exec_bare env CPUPROFILE=prof ./complaints $case
    expect_status 0
done

it 'without perf events there are more samples than kernel ticks, and no sleeper is woken'
rm -f prof
./host exec env CPUPROFILE=prof CPUPROFILE_FREQUENCY=4000 ./host load 1 user 60 >/dev/null 2>&1 &
pid=$!
# A second of CPU time and more, however long that takes.
while kill -0 $pid 2>/dev/null && [ "$(awk '{ print $14 + $15 }' /proc/$pid/stat)" -lt 100 ]; do sleep 0.1; done
kill -9 $pid
wait $pid 2>/dev/null
count_journals prof
expect [ "$(counted ticks)" -gt $((300 * $(counted used_ns) / 1000000000)) ]
echo "# $(counted ticks) ticks in $(counted used_ns) ns of CPU time, 4000 Hz"
without_events 4000 waits 0.5
# A thread that goes to sleep between our look and the signal is woken: seldom. A timer of its own would wake each
# sleep of such a thread, thousands of times.
expect [ "$(fact interrupted)" -le 5 ]
echo "# $(fact interrupted) calls ended with EINTR"

it 'no call of a sleeper ends with EINTR'
profiled 4000 waits 0.3
expect_equal 'calls that ended with EINTR' "$(fact interrupted)" 0

it 'threads of one to three milliseconds are seen for as long as they take, at 1000 and 100 Hz'
if [ "$(id -u)" != 0 ] && [ "$paranoid" -gt 1 ]; then
    skip "perf_event_paranoid is $paranoid: only the kernel's own tick is there"
else
    for hz in 1000 100; do
        # Which thread of two milliseconds a tick of ten meets is chance: one run in 16,000 is outside of these
        # bounds, two in a row are one in 250 million. A fault would be so each time.
        for _ in 1 2; do
            profiled $hz short 1000
            read_profile prof compute
            ! agrees "$(seen compute)" "$(fact compute)" "$(calc "1 / $hz")" || break
        done
        expect agrees "$(seen compute)" "$(fact compute)" "$(calc "1 / $hz")"
    done
fi

it 'CPUPROFILE_PER_THREAD_TIMERS is a POSIX timer a thread: all of them, every rate, the true sum'
export CPUPROFILE_PER_THREAD_TIMERS=1
for hz in 100 1000; do
    profiled $hz load 4 both 0.3
    read_profile prof compute call_kernel
    expect agrees "$(told seconds)" "$(fact cpu)" 0.01
    expect_equal "period at $hz Hz" "$(told period_us)" $((1000000 / hz))
done

it 'of threads that are shorter than the kernel tick, and seldom met by it, all time is seen'
for hz in 100 1000; do
    profiled $hz short 600
    read_profile prof compute
    expect agrees "$(told seconds)" "$(fact compute)" "$(python3 -c "print(max(1 / $hz, 0.004))")"
    expect agrees "$(seen compute)" "$(fact compute)" "$(python3 -c "print(max(1 / $hz, 0.004))")"
done

it 'of many brief programs together no more is seen than they used'
mkdir brief
for where in '' threads; do
    rm -f brief/*
    for i in $(seq 150); do
        CPUPROFILE=brief/$i CPUPROFILE_FREQUENCY=100 ./host brief $where 2>/dev/null
    done >facts
    used=$(awk '{ cpu += $2 } END { print cpu }' facts)
    seen=$(python3 - brief/* <<'END'
import struct, sys
count = 0
for name in sys.argv[1:]:
    data = open(name, 'rb').read()
    words = struct.unpack(f'<{len(data) // 8}Q', data[:len(data) // 8 * 8])
    at = 2 + words[1]
    while words[at] > 0:
        count += words[at]
        at += 2 + words[at + 1]
print(count / 100)
END
)
    # A quarter more for what comes before and after it, and chance.
    expect [ "$(calc "$used >= 0.15 && $seen <= 1.25 * $used + 4 * sqrt($used * 0.01)")" = 1 ]
done
unset CPUPROFILE_PER_THREAD_TIMERS

it 'CPUPROFILE_TIMER_SIGNAL is the signal, as strtol reads it, and the host keeps SIGPROF and SIGTRAP'
CPUPROFILE_TIMER_SIGNAL=0x2a profiled 1000 load 2 user 0.2
expect_status 0
expect_no_stderr
read_profile prof compute
expect agrees "$(told seconds)" "$(fact cpu)" 0.004
CPUPROFILE_TIMER_SIGNAL=42 profiled 1000 catch
expect_equal 'signals of its own' "$(fact caught)" 1
CPUPROFILE_TIMER_SIGNAL=11 profiled 1000 load 1 user 0.1
expect grep -q 'CPUPROFILE_TIMER_SIGNAL=11: not the number of a signal' "$t_out/stderr"
expect [ -s prof ]

it 'CPUPROFILE_REALTIME counts seconds on the wall, of all threads, and leaves alarm() to the host'
CPUPROFILE_REALTIME=1 profiled 100 alarm
expect_equal 'alarms' "$(fact caught)" 1
read_profile prof main
expect [ "$(calc "$(seen main) > 0.3 + 0.5 * $(fact cpu)")" = 1 ]
CPUPROFILE_REALTIME=1 profiled 250 load 4 user 0.1
read_profile prof compute
expect [ "$(calc "$(seen compute) > 0.9 * $(fact cpu) - 0.05")" = 1 ]

it 'a program that raises SIGTRAP, or meets a breakpoint, ends as it would without us'
for case in trap breakpoint; do
    CPUPROFILE=prof CPUPROFILE_FREQUENCY=4000 run bash -c "ulimit -c 0; ./host $case; exit \$?"
    expect_status $((128 + 5))
done

it 'a program that resets all signals, by whatever name, lives and is profiled on'
for hz in 100 4000; do
    profiled $hz reset
    expect_status 0
    read_profile prof
    expect agrees "$(told seconds)" "$(fact cpu)" 0.01
done

it 'the same past the functions of libc, by the number of the system call'
for hz in 100 4000; do
    profiled $hz reset_raw
    expect_status 0
    read_profile prof
    expect agrees "$(told seconds)" "$(fact cpu)" 0.01
    expect_equal 'what it believes' "$(fact default)" 1
done

it 'by an instruction of its own: it may ignore all signals, and by a signal that ends nobody it may reset them'
if [ "$(uname -m)" != x86_64 ]; then
    skip 'the instruction is that of x86-64'
else
    for hz in 100 4000; do # nothing can save a program that makes SIGPROF or SIGTRAP end it while they come
        CPUPROFILE_TIMER_SIGNAL=23 profiled $hz reset_bare # SIGURG
        expect_status 0
        read_profile prof call_kernel
        expect agrees "$(told seconds)" "$(fact cpu)" 0.01
        expect [ "$(python3 -c "print($(seen call_kernel) > 0.1)")" = True ] # of 0.3 s afterwards
        profiled $hz reset_bare ignore
        expect_status 0
        read_profile prof call_kernel
        expect agrees "$(told seconds)" "$(fact cpu)" 0.01
        expect [ "$(python3 -c "print($(seen call_kernel) > 0.1)")" = True ] # of 0.3 s afterwards
    done
fi

it 'addresses that nothing is at are refused there as the kernel refuses them, with what that leaves'
run ./host bad_raw # not profiled: nothing stands before the kernel
expect_status 0
the_kernel_s=$(stdout)
expect_stdout_line "signal 5: -1 14 0; -1 14; 0 4711 1; -1 22"
for hz in 100 4000; do
    profiled $hz bad_raw
    expect_status 0
    expect_stdout "$the_kernel_s"
done

it 'a program that becomes another one by the number of the system call is not ended by a tick that comes late'
for without in '' exec exec_bare; do # one timer for the process would be kept, and end the other program
    for another in '' at; do
        rm -f prof prof_*
        run ${without:+./host $without} env CPUPROFILE=prof CPUPROFILE_FREQUENCY=1000 ./complaints becomes_another_raw $another
        [ "$status" != 99 ] || skip 'this kernel has no seccomp filters'
        expect_status 0
    done
done

it 'a program that refuses the system calls of ticks from some moment on goes on, and what was seen until then is written'
for error in EPERM ENOSYS; do
    for without in '' timers exec exec_bare; do
        filter= timers=
        case $without in exec*) filter=$without ;; timers) timers=1 ;; esac
        rm -f prof prof_*
        run ${filter:+./host $filter} env ${timers:+CPUPROFILE_PER_THREAD_TIMERS=1} \
            CPUPROFILE=prof CPUPROFILE_FREQUENCY=1000 ./host refuses $error
        cp "$t_out/stdout" facts
        [ "$status" != 99 ] || skip 'this kernel has no seccomp filters'
        expect_status 0
        expect_stdout_line 'errno kept 1 1'
        expect_equal 'time that nobody used' "$(stderr | grep -c 'in no sample')" 0
        read_profile prof
        expect [ "$(calc "$(told seconds) >= 0.5 * $(fact before)")" = 1 ]
    done
done

it 'a program with one thread that gave up its rights is refused, and not ended by threads of ours that have them'
if [ "$(id -u)" != 0 ]; then
    skip 'only root has rights to give up'
else
    for without in '' exec; do # and with the thread that signals others
        rm -f prof
        run ${without:+./host exec} env CPUPROFILE=prof CPUPROFILE_FREQUENCY=1000 ./host gives_up
        cp "$t_out/stdout" facts
        expect_status 0
        expect_equal 'refused' "$(fact refused)" 1
        read_profile prof
        expect agrees "$(told seconds)" "$(fact cpu)" 0.01
    done
    chmod 777 .
    # Nor by those that wait for a signal or a connection, which are there without a profile.
    for waits in CPUPROFILE=prof PITOT_LISTEN=unix:$PWD/s PITOT_LISTEN=127.0.0.1:0; do
        for case in gives_up keeps_rights becomes_user; do
            run env $waits CPUPROFILESIGNAL=12 ./host $case
            expect_status 0
            expect_stdout_has cpu
            [ $case != gives_up ] || expect_stdout_line 'refused 1'
            [ "$(stderr | grep -cv 'profiles: http')" = 0 ] || fail "$(stderr)"
        done
    done
    profiled 1000 becomes_user
    expect_status 0
    read_profile prof
    expect agrees "$(told seconds)" "$(fact cpu)" 0.01
fi

it 'below another root, where its journal has no name any more, that still takes all samples'
rm -f prof
CPUPROFILE=prof run ./host becomes_user root
if [ "$status" = 4 ]; then
    skip 'chroot is not allowed here'
else
    expect_status 0
    expect_stderr_line '*/prof: cannot be written: *; the samples are in the journal */prof, which pitot reads as well'
    expect "$PITOT" convert prof --to=gperftools -o prof.again
    cp prof.again prof
    read_profile prof
    expect agrees "$(told seconds)" "$(fact cpu)" 0.01
fi

it 'a program that catches SIGTRAP gets what is its own'
profiled 4000 catch
expect_status 0
expect_equal 'its signals' "$(fact caught)" 1
read_profile prof
expect agrees "$(told seconds)" "$(fact cpu)" 0.004

it 'a program that blocks all signals for a while loses nothing'
for hz in 100 4000; do
    profiled $hz block
    expect_status 0
    read_profile prof
    expect agrees "$(told seconds)" "$(fact cpu)" 0.01
done

it 'a program that is traced from its start gets no traps'
# What strace makes the program's end cost is in the profile and not in the program's own figure: up to as much again,
# in one run of ten. A fault would be in all of six.
trace_host() {
    rm -f prof
    CPUPROFILE=prof CPUPROFILE_FREQUENCY=4000 run strace -f -e trace=none -o trace ./host load 1 user 0.2
    cp "$t_out/stdout" facts
    expect_status 0
    expect_equal 'traps' "$(grep -c SIGTRAP trace)" 0
    read_profile prof
}
if needs strace; then
    for _ in 1 2 3 4 5 6; do
        trace_host
        agrees "$(told seconds)" "$(fact cpu)" 0.004 && break
    done
    expect agrees "$(told seconds)" "$(fact cpu)" 0.004
fi

it 'a library that comes by dlopen sees the threads that run'
${CC:-cc} $flags -D_GNU_SOURCE -Wno-unused-parameter "$here/timers_host.c" -o plain -ldl || exit 1
for hz in 100 1000; do
    rm -f prof
    CPUPROFILE_FREQUENCY=$hz run ./plain late "$PITOT_BUILD/libprofiler.so.0"
    cp "$t_out/stdout" facts
    expect_status 0
    read_profile prof compute
    expect agrees "$(told seconds)" "$(fact cpu)" 0.02
done

it 'code that nobody has a table of is seen for as long as it runs'
if [ "$(uname -m)" != x86_64 ]; then
    skip 'the code is that of x86-64'
else
    profiled 1000 jit
    read_profile prof
    expect agrees "$(told seconds)" "$(fact cpu)" 0.004
fi

it 'stacks through it are marked, in every file: by frame pointers, which nothing checks'
if [ "$(uname -m)" != x86_64 ]; then
    skip 'the code is that of x86-64'
else
    # most_unchecked FILE: nine in ten samples and more do not count as complete, and it says why.
    most_unchecked() {
        pitot info --json "$1" 2>/dev/null | python3 -c '
import json, sys
sys.exit(json.load(sys.stdin)["ends"]["unchecked frame pointers"] == 0)' &&
            pitot top "$1" 2>/dev/null | grep -E '^complete stacks [0-9](\.[0-9]+)?%'
    }
    expect most_unchecked prof
    run pitot info prof
    expect_stdout_line '*a stack through code without unwind rules: frames may be missing'
    CPUPROFILE=prof.pb.gz CPUPROFILE_FREQUENCY=1000 run ./host jit
    expect most_unchecked prof.pb.gz
    CPUPROFILE=killed CPUPROFILE_FREQUENCY=1000 run bash -c './host jit kill; exit 0'
    expect most_unchecked killed
    run pitot recover killed
    expect_status 0
    expect most_unchecked killed
fi
