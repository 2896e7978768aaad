#!/usr/bin/env bash
# pitot record --engine=bpf: stacks that a program in the kernel walks. The other engine says what is
# right.
. "$(dirname "$0")/lib.sh"

command -v "${CC:-cc}" >/dev/null || skip_all 'there is no C compiler'

it 'is built from the sources that are here'
if needs clang-14 llvm-strip-14; then
    run "$PITOT_ROOT/tools/build-bpf" "$PWD/rebuilt"
    expect_status 0
    expect_equal 'objects' "$(ls rebuilt)" "$(ls "$PITOT_ROOT/src/bpf/dist")"
    for object in rebuilt/*; do
        cmp "$object" "$PITOT_ROOT/src/bpf/dist/${object##*/}" ||
            fail "src/bpf/dist/${object##*/} is not what tools/build-bpf makes"
    done
fi

for machine in x86_64 aarch64; do
    it "$machine: fits into the stack that kernels before Linux 6.13 allow a program and its functions"
    needs llvm-objdump-14 python3 || continue
    run python3 "$PITOT_ROOT/tests/cli/bpf_stack.py" "$PITOT_ROOT/src/bpf/dist/sample.$machine.bpf"
    expect_status 0
    expect_stdout_line 'pt_bpf_sample *'
    expect_equal 'programs with more than 512 bytes' "$(stdout | awk '$2 > 512')" ''
done

it 'refuses what its events cannot do'
run pitot record --engine=bpf --each-thread true
expect_status 2
expect_stderr_has '--each-thread needs --engine=perf'

it 'says in one line why it cannot be had'
mkdir old
${CC:-cc} -shared -o old/libbpf.so.1 -x c /dev/null || fail 'no shared library'
run env LD_LIBRARY_PATH=old "$PITOT" record --engine=bpf true
expect_status 1
[ "$(stderr | grep -v '^$' | wc -l)" = 1 ] || fail "$(stderr)"

run pitot record --engine=bpf -o probe.pb.gz true
if [ "$status" != 0 ]; then
    it 'records'
    skip "no BPF here: $(stderr | tail -n 1)"
    exit 0
fi
[ "$PITOT_SANITIZED" = 0 ] || exit 0

# work SECONDS [DEPTH]: so much CPU time, a quarter in `one` and the rest in `two`, below so many
# frames of 500 bytes.
cat >work.c <<'C'
#include <stdlib.h>
#include <time.h>
static double cpu(void) { struct timespec t; clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t); return t.tv_sec + t.tv_nsec * 1e-9; }
static volatile unsigned x = 1;
__attribute__((noinline)) static void one(int n) { for (int i = 0; i < n; i++) x = x * 3 + 1; }
__attribute__((noinline)) static void two(int n) { for (int i = 0; i < n; i++) x = x * 5 + 1; }
__attribute__((noinline)) static int deep(int depth, double end)
{
    volatile char room[500];
    room[0] = room[499] = (char)depth;
    if (depth > 0) return deep(depth - 1, end) + room[0] + room[499];
    /* Rounds of random lengths: ticks at a fixed rate have no beat with them. */
    for (unsigned seed = 1; cpu() < end; seed = seed * 1664525 + 1013904223) {
        one(20000 + (int)(seed >> 15));
        two(3 * (20000 + (int)(seed >> 15)));
    }
    return room[0];
}
int main(int argc, char **argv) { return deep(argc > 2 ? atoi(argv[2]) : 3, atof(argv[1])) == 12345; }
C
${CC:-cc} -O2 -fomit-frame-pointer work.c -o work || exit 1

# in_kernel FILE: how many per cent of the stacks were walked there.
in_kernel() {
    pitot info "$1" | sed -n 's/.*, \([0-9]*\) of \([0-9]*\) stacks walked in the kernel.*/\1 \2/p' |
        awk '{ print int(100 * $1 / ($2 + 0.1)) }'
}
# share FILE FUNCTION: "samples all".
share() {
    pitot top --json -e samples "$1" | python3 -c '
import json, sys
report = json.load(sys.stdin)
rows = {row["name"]: row for row in report["rows"]}
print(rows[sys.argv[1]]["self"], report["profile"]["total"])' "$2"
}

it 'walks nearly all stacks in the kernel, and whole'
run pitot record --engine=bpf -o bpf.pb.gz ./work 1.5
expect_status 0
cp "$t_out/stderr" first-said
run pitot info bpf.pb.gz
expect_stdout_has 'stacks walked in the kernel by a BPF program, as --engine=bpf asks'
[ "$(in_kernel bpf.pb.gz)" -ge 90 ] || fail "$(pitot info bpf.pb.gz)"
[ "$(pitot tree bpf.pb.gz | grep -c deep)" -ge 4 ] || fail "$(pitot tree bpf.pb.gz)"

it 'gives each function the share that the other engine gives it'
# Two equal engines differ by more than three sigma in one of 370 pairs, three times in one of 50 million. A fault would
# be in all of them.
same_share() {
    run pitot record --engine=perf -o perf.pb.gz ./work 1.5
    expect_status 0
    printf '%s %s\n' "$(share bpf.pb.gz one)" "$(share perf.pb.gz one)" >shares
    awk '{ p = $1 / $2; q = $3 / $4; mean = ($1 + $3) / ($2 + $4)
           d = p - q; var = mean * (1 - mean) * (1 / $2 + 1 / $4)
           exit !(d * d <= 9 * var) }' shares
}
same_again() {
    run pitot record --engine=bpf -o bpf.pb.gz ./work 1.5
    same_share
}
same_share || same_again || same_again || fail "samples of one: $(cat shares)"

it 'sees as much CPU time as the program used'
# sees_all FILE: by the last line that is in it.
sees_all() {
    seen=$(sed -n 's/.*; \([0-9.]*\) of \([0-9.]*\) CPU seconds seen.*/\1 \2/p' "$1")
    awk '{ exit !($1 > 0.95 * $2 && $1 < 1.05 * $2) }' <<<"$seen"
}
again() {
    run pitot record --engine=bpf -o bpf.pb.gz ./work 1.5
    sees_all "$t_out/stderr"
}
# Once, beside all other tests, 1.50 of 1.60 s were seen, for a reason that is not known. A fault of the engine would come back.
sees_all first-said || again || again || fail "$(stderr)"

it 'has whole stacks that are deeper than the kernel copies'
run pitot record --engine=bpf -o deep.pb.gz ./work 1 400
expect_status 0
pitot traces deep.pb.gz >traces
[ "$(sed -n '/./!q; p' <(tail -n +4 traces) | grep -c deep)" -ge 400 ] || fail "$(head -n 500 traces)"
run pitot record --engine=perf -o cut.pb.gz ./work 1 400
expect_stderr_has 'stacks are deeper than their copies'

it 'has the first stacks of a new program whole, too, which are copied'
# 90 frames of 500 bytes are 48 KB. Each copy of the program is a file that nobody has seen before.
for i in 1 2 3 4 5 6; do
    cp work "work$i"
    echo "$i" >>"work$i"
done
# It waits until the recorder is there.
mkfifo go
sh -c 'read line <go; for i in 1 2 3 4 5 6; do ./work$i 0.03 90; done' &
target=$!
"$PITOT" record --engine=bpf -p $target -o new.pb.gz 2>said &
recorder=$!
for i in $(seq 100); do
    ! ls -l /proc/$recorder/fd 2>/dev/null | grep -q 'anon_inode:bpf-prog' || break
    sleep 0.05
done
sleep 0.2
echo >go
wait $recorder
expect_equal 'exit status' $? 0
wait $target
expect_equal 'stacks that are cut off' "$(pitot dump -n 0 new.pb.gz | grep -c '  end truncated')" 0
[ "$(pitot dump -n 0 new.pb.gz | grep -c '^    deep')" -ge 900 ] || fail "$(cat said)"

it 'is open to an ordinary user with capabilities, by the line that is printed to others'
if [ "$(id -u)" = 0 ] && needs setpriv setcap; then
    chmod 711 .
    mkdir -m 777 open
    cp "$PITOT" work open/
    chmod 755 open/*
    as_nobody=(setpriv --reuid 65534 --regid 65534 --clear-groups)
    nobody() { (cd open && exec "${as_nobody[@]}" "$@"); }
    run nobody ./pitot record --engine=bpf -o x.pb.gz ./work 0.1
    expect_status 1
    line=$(stderr | sed -n 's/.*or once: sudo \(setcap cap_bpf,.* .*\)$/\1/p')
    expect_equal 'the program in the line' "${line##* }" "$PWD/open/pitot"
    # By the line; and without cap_sys_ptrace, by the capabilities of the process.
    if eval "$line" && run nobody ./pitot record --engine=bpf -o file.pb.gz ./work 0.2 && [ "$status" = 0 ]; then
        [ "$(in_kernel open/file.pb.gz)" -ge 50 ] || fail "$(pitot info open/file.pb.gz)"
        ./work 20 &
        target=$!
        run nobody ./pitot record -p $target -d 0.2s -o foreign.pb.gz
        kill $target
        expect_status 0
        run pitot top open/foreign.pb.gz
        expect_stdout_line '* one'
        expect_stdout_line '* two'
    else
        skip "no capabilities of files here: $(stderr | tail -n 1)"
    fi
    cp "$PITOT" open/plain
    chmod 755 open/plain
    some=+bpf,+perfmon
    if setpriv --inh-caps $some --ambient-caps $some true 2>/dev/null; then
        as_nobody+=(--inh-caps $some --ambient-caps $some)
        run nobody ./plain record --engine=bpf -o process.pb.gz ./work 0.2
        expect_status 0
        [ "$(in_kernel open/process.pb.gz)" -ge 50 ] || fail "$(pitot info open/process.pb.gz)"
    fi
else
    skip 'it takes root to give capabilities'
fi

it 'records what a recorded process starts, however it is left alone, beside others that it does not record'
cat >lone.c <<'C'
#include <pthread.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
static volatile unsigned x = 1;
__attribute__((noinline)) static void *run_lone(void *seconds)
{
    struct timespec t;
    do {
        for (int i = 0; i < 100000; i++) x = x * 3 + 1;
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    } while (t.tv_sec + t.tv_nsec * 1e-9 < *(double *)seconds);
    exit(0);
}
int main(void)
{
    static double seconds = 0.7;
    pthread_t thread;
    pthread_create(&thread, NULL, run_lone, &seconds);
    pthread_exit(NULL); /* the first thread ends, and the other one goes on */
}
C
${CC:-cc} -O2 -pthread lone.c -o lone || exit 1
sh -c 'while :; do /bin/true; done' &
other=$!
# The processes begin when the recorder knows all that it records; their parent ends at once.
run pitot record --engine=bpf -o lone.pb.gz sh -c 'sleep 0.7; { (./work 0.7 & ./lone &); sleep 0.1; (./work 0.7 &); } | cat'
kill $other
wait $other 2>/dev/null
expect_status 0
seconds_in() { pitot top --json -e cpu lone.pb.gz | python3 -c '
import json, sys
print(sum(row["self"] for row in json.load(sys.stdin)["rows"] if row["name"] in sys.argv[1:]) / 1e9)' "$@"; }
for name in 'one two' run_lone; do
    expect awk -v is="$(seconds_in $name)" -v least="$([ "$name" = run_lone ] && echo 0.6 || echo 1.2)" 'BEGIN { exit !(is >= least) }'
done

it 'knows programs and libraries that come while it records'
cat >late.c <<'C'
__attribute__((noinline)) void run_late(void (*work)(void)) { work(); __asm__ volatile(""); }
C
cat >loads.c <<'C'
#include <dlfcn.h>
#include <time.h>
static volatile unsigned x = 1;
static void work(void)
{
    struct timespec t;
    do {
        for (int i = 0; i < 100000; i++) x = x * 3 + 1;
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    } while (t.tv_sec < 1);
}
int main(void)
{
    void *library = dlopen("./late.so", RTLD_NOW);
    ((void (*)(void (*)(void)))dlsym(library, "run_late"))(work);
    return 0;
}
C
${CC:-cc} -O2 -shared -fPIC late.c -o late.so && ${CC:-cc} -O2 loads.c -o loads -ldl || exit 1
# Once 1 of 1,333 stacks was not whole, on a busy machine; the cause is not known. One of three recordings must have all.
for _ in 1 2 3; do
    run pitot record --engine=bpf -o late.pb.gz sh -c './work 0.3; exec ./loads'
    expect_status 0
    ! stderr | grep -qF ' 100 % of the stacks complete' || [ "$(in_kernel late.pb.gz)" -lt 60 ] || break
done
[ "$(in_kernel late.pb.gz)" -ge 60 ] || fail "$(pitot info late.pb.gz)"
expect_stderr_has '100 % of the stacks complete'
run pitot peek run_late late.pb.gz
expect_stdout_has main

it 'copies the stacks of a program whose libraries take the places of others, which the kernel would walk wrongly'
cat >swaps.c <<'C'
#include <dlfcn.h>
#include <time.h>
static volatile unsigned x = 1;
static void work(void)
{
    struct timespec begin, t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &begin);
    do {
        for (int i = 0; i < 10000; i++) x = x * 3 + 1;
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    } while ((t.tv_sec - begin.tv_sec) * 1000000000 + t.tv_nsec - begin.tv_nsec < 5000000);
}
int main(void)
{
    for (int i = 0; i < 200; i++) {
        void *library = dlopen(i % 2 ? "./late.so" : "./later.so", RTLD_NOW);
        ((void (*)(void (*)(void)))dlsym(library, "run_late"))(work);
        dlclose(library);
    }
    return 0;
}
C
sed 's/work();/__builtin_alloca(300); work();/' late.c >later.c
${CC:-cc} -O2 -shared -fPIC later.c -o later.so && ${CC:-cc} -O2 swaps.c -o swaps -ldl || exit 1
run pitot record --engine=bpf -o swaps.pb.gz ./swaps
expect_status 0
run pitot top --json -n 1 swaps.pb.gz
python3 -c 'import json, sys; sys.exit(json.load(sys.stdin)["profile"]["complete_share"] < 0.95)' <"$t_out/stdout" ||
    fail "$(pitot info swaps.pb.gz)"

it 'is taken by itself: at once for what runs already, and soon for a command'
# Longer if the target or the recorder got no processor in that time: on a full machine, or one that stands still.
./work 1000 400 &
target=$!
for time in 200ms 1s 4s; do
    run pitot record -p $target -d $time -o own.pb.gz
    ! stderr | grep -qF ' 100 % of the stacks complete' || [ "$(in_kernel own.pb.gz)" -lt 90 ] || break
done
expect_status 0
expect_stderr_has ' 100 % of the stacks complete'
run pitot info own.pb.gz
expect_stdout_has 'stacks walked in the kernel by a BPF program, as --pid takes'
[ "$(in_kernel own.pb.gz)" -ge 90 ] || fail "$(pitot info own.pb.gz)"
for seconds in 0.7 2 8; do
    run pitot record -o own.pb.gz ./work $seconds
    [ "$(in_kernel own.pb.gz)" -lt 10 ] || break
done
expect_status 0
[ "$(in_kernel own.pb.gz)" -ge 10 ] || fail "$(pitot info own.pb.gz)"
for option in --engine=perf --each-thread; do
    run pitot record $option -p $target -d 100ms -o own.pb.gz
    expect_status 0
    run pitot info own.pb.gz
    expect_stdout_has 'stacks: copied, not walked in the kernel: '
done

it 'copies the stacks where the kernel refuses the program at any step, and says why'
# refuse CALL ERROR COMMAND: bpf(CALL) fails with that errno in the command.
cat >refuse.c <<'C'
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
int main(int argc, char **argv)
{
    struct sock_filter rows[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_bpf, 0, 3),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)atoi(argv[1]), 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (unsigned)atoi(argv[2])),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog filter = {sizeof rows / sizeof rows[0], rows};
    if (argc < 4 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || prctl(PR_SET_SECCOMP, 2, &filter) != 0) return 99;
    execvp(argv[3], argv + 3);
    return 99;
}
C
${CC:-cc} refuse.c -o refuse || exit 1
# is_copied COMMAND: it records, is silent about the engine, and `pitot info` has one line with the reason, $1.
is_copied() {
    local why=$1
    shift
    rm -f copied.pb.gz
    run "$@" record -p $target -d 100ms -o copied.pb.gz
    expect_status 0
    run pitot info copied.pb.gz
    [ "$(stdout | grep -c 'stacks: copied, not walked in the kernel: ')" = 1 ] || fail "$(stdout)"
    expect_stdout_has "stacks: copied, not walked in the kernel: $why"
}
is_copied 'the kernel refused the BPF program: Cannot allocate memory' ./refuse 0 12 "$PITOT"   # memory for maps
is_copied 'the kernel denies ' ./refuse 5 13 "$PITOT"                                           # the verifier, lockdown
is_copied 'the kernel refused the BPF program: Function not implemented' ./refuse 5 38 "$PITOT" # seccomp
is_copied 'libbpf is ' env LD_LIBRARY_PATH=old "$PITOT"
# Waits are then recorded by events of switches.
run ./refuse 5 13 "$PITOT" record --off-cpu -o waits.pb.gz sh -c 'sleep 0.2'
expect_status 0
run pitot info waits.pb.gz
expect_stdout_has 'stacks: copied, not walked in the kernel: the kernel denies '
run pitot top -e off-cpu waits.pb.gz
expect_stdout_line '*: off-cpu, [1-9]*'
run ./refuse 5 13 "$PITOT" record --off-cpu --wakers -o wakers.pb.gz true
expect_status 1
expect_stderr_has 'the kernel denies '
run ./refuse 5 13 "$PITOT" record -o copied.pb.gz ./work 0.3 400
expect_status 0
expect_stderr_has 'their outermost callers are missing; no BPF program walked them: the kernel denies '
if unshare -m mount -t tmpfs none /sys/kernel/btf 2>/dev/null && [ ! -e "/boot/vmlinux-$(uname -r)" ]; then
    is_copied 'the kernel has no BTF' unshare -m sh -c 'mount -t tmpfs none /sys/kernel/btf && exec "$0" "$@"' "$PITOT"
fi
kill $target

it 'counts the ticks that another use of BPF keeps from it, and their time is not lost'
# The kernel runs no program of perf events while a map is updated.
cat >updates.c <<'C'
#include <linux/bpf.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
int main(void)
{
    union bpf_attr map, update;
    uint32_t key = 1;
    static char value[4096];
    struct timespec t;
    memset(&map, 0, sizeof map);
    memset(&update, 0, sizeof update);
    map.map_type = BPF_MAP_TYPE_HASH;
    map.key_size = sizeof key;
    map.value_size = sizeof value;
    map.max_entries = 8;
    update.map_fd = (uint32_t)syscall(SYS_bpf, BPF_MAP_CREATE, &map, sizeof map);
    update.key = (uintptr_t)&key;
    update.value = (uintptr_t)value;
    do {
        for (int i = 0; i < 1000; i++) if (syscall(SYS_bpf, BPF_MAP_UPDATE_ELEM, &update, sizeof update) != 0) return 1;
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    } while (t.tv_sec == 0 && t.tv_nsec < 400000000);
    return 0;
}
C
${CC:-cc} -O2 updates.c -o updates || exit 1
# sees_updates: all of the time, though not all of the ticks. As sees_all, again if it does not.
sees_updates() {
    run pitot record --engine=bpf -o updates.pb.gz ./updates
    expect_status 0
    seen=$(stderr | sed -n 's/.*; \([0-9.]*\) of \([0-9.]*\) CPU seconds seen.*/\1 \2/p')
    ticks=$(pitot info updates.pb.gz | sed -n 's/.*ticks: \([0-9]*\) of \([0-9]*\) that were due came; .* another use of BPF .*/\1 \2/p')
    awk '{ exit !($1 > 0.9 * $2 && $1 < 1.1 * $2) }' <<<"$seen" && awk '{ exit !($1 > 0 && $1 < 0.95 * $2) }' <<<"$ticks"
}
sees_updates || sees_updates || sees_updates || fail "$(stderr; pitot info updates.pb.gz)"

it 'records the whole machine'
run pitot record --engine=bpf -a -o all.pb.gz ./work 0.5
expect_status 0
run pitot top all.pb.gz
expect_stdout_has two

it 'loads what reads the frames of interpreters where there is an interpreter'
programs_of() { # a tracepoint's descriptor names its program, too
    grep -hs '^prog_id:' /proc/$1/fdinfo/* | sort -u | wc -l
}
# expect_programs PID N: the recorder of the process has N BPF programs, and no more after some samples.
expect_programs() {
    local recorder
    "$PITOT" record --engine=bpf -p "$1" -o held.pb.gz 2>said &
    recorder=$!
    has_programs() { ! kill -0 $recorder 2>/dev/null || [ "$(programs_of $recorder)" -ge "$1" ]; }
    eventually has_programs "$2"
    sleep 0.3
    expect_equal 'BPF programs' "$(programs_of $recorder)" "$2"
    kill -INT $recorder
    wait $recorder || fail "$(cat said)"
}
./work 1000 &
target=$!
expect_programs $target 2 # at samples and at forks
kill $target
python=$(python3 -c 'import sys; print(sys.executable)') && if needs python3; then
    "$python" -c 'while True: pass' &
    target=$!
    runs_python() { grep -q python /proc/$target/maps; }
    eventually runs_python
    expect_programs $target 3
    kill_bpf_recorder pt_bpf_sample_r pitot_pool -p $target
    kill $target
fi

it 'is not woken for the programs that others start'
sleep 1000 &
target=$!
sh -c 'while :; do sh -c "/bin/true; :"; done' &
other=$!
"$PITOT" record --engine=bpf -p $target -o idle.pb.gz 2>said &
recorder=$!
is_loaded() { [ "$(programs_of $recorder)" -ge 2 ]; }
# rests: its first thread wakes at most twice a second of the clock on the wall.
rests() {
    local first last from to
    first=$(awk '/^voluntary/ { print $2 }' /proc/$recorder/status) from=$(date +%s%N)
    sleep 3
    last=$(awk '/^voluntary/ { print $2 }' /proc/$recorder/status) to=$(date +%s%N)
    [ $(((last - first) * 1000000000)) -le $((2 * (to - from))) ]
}
expect eventually is_loaded
sleep 0.5
expect eventually rests
kill -INT $recorder
wait $recorder || fail "$(cat said)"
kill $target $other
wait $target $other 2>/dev/null

it 'leaves nothing in the kernel when it is killed'
./work 1000 &
target=$!
kill_bpf_recorder pt_bpf_sample pitot_pool -p $target
kill $target
