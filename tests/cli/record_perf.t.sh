#!/usr/bin/env bash
# pitot record of what runs already, by the kernel's perf events. Nothing here waits for a time: what
# is recorded begins when the recorder is there, and ends by itself.
# Under the sanitizers: make asan.
# In a /dev/shm of its own, if that may be: recorders of other tests tell of a recorder that was killed, and ours of theirs.
if [ -z "${SHM_IS_OURS:-}" ] && unshare -m mount -t tmpfs none /dev/shm 2>/dev/null; then
    SHM_IS_OURS=1 exec unshare -m sh -c 'mount -t tmpfs none /dev/shm && exec bash "$0"' "$0"
fi
. "$(dirname "$0")/lib.sh"

command -v "${CC:-cc}" >/dev/null || skip_all 'there is no C compiler'
run pitot record --engine=perf -o probe.pb.gz true
[ "$status" = 0 ] || skip_all "no perf events here: $(stderr | tail -n 1)"
level=$(cat /proc/sys/kernel/perf_event_paranoid)

# burn SECONDS [THREADS]: waits for a line, uses so much CPU time in each thread, and prints what all
# have used.
cat >burn.c <<'C'
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
static double cpu(clockid_t c) { struct timespec t; clock_gettime(c, &t); return t.tv_sec + t.tv_nsec * 1e-9; }
__attribute__((noinline)) static double spin(double s)
{
    const double end = cpu(CLOCK_THREAD_CPUTIME_ID) + s;
    volatile unsigned x = 1;
    do for (int i = 0; i < 20000; i++) x = x * 3 + 1; while (cpu(CLOCK_THREAD_CPUTIME_ID) < end);
    return x;
}
static void *work(void *s) { spin(*(double *)s); return NULL; }
int main(int argc, char **argv)
{
    double s = atof(argv[1]);
    pthread_t threads[16];
    const int count = argc > 2 ? atoi(argv[2]) : 1;
    getchar();
    for (int i = 1; i < count; i++) pthread_create(&threads[i], NULL, work, &s);
    spin(s);
    for (int i = 1; i < count; i++) pthread_join(threads[i], NULL);
    printf("%.6f\n", cpu(CLOCK_PROCESS_CPUTIME_ID));
}
C
${CC:-cc} -O2 -g -fomit-frame-pointer -pthread burn.c -o burn || exit 1

# begin COMMAND...: runs in the background, waiting for `go`; its number is in $target.
mkfifo line
begin() {
    "$@" <line >truth 2>target-said &
    target=$!
    exec 9>line
}
go() {
    echo >&9
    exec 9>&-
}

# is_recording: the recorder $recorder has opened all its events, and waits for samples.
is_recording() {
    until is_in_poll $recorder && ls -l /proc/$recorder/fd 2>/dev/null | grep -q perf_event; do
        kill -0 $recorder 2>/dev/null || return 1
        sleep 0.02
    done
}
# Where the kernel does not say what a process waits for, that it waits must do.
is_in_poll() {
    if [ -n "$(cat /proc/$1/stack 2>/dev/null)" ]; then
        grep -qs poll /proc/$1/stack
    else
        [ "$(awk '{ print $3 }' /proc/$1/stat 2>/dev/null)" = S ]
    fi
}
# reads_line: the target is through with its start, and waits for `go`.
reads_line() {
    until grep -qs '^0 0x0 ' /proc/$target/syscall || [ "$(uname -m)" != x86_64 ]; do
        kill -0 $target 2>/dev/null || return 1
        sleep 0.02
    done
}

# is_named NAME: the target has become the program of that name.
is_named() {
    until [ "$(cat /proc/$target/comm 2>/dev/null)" = "$1" ]; do
        kill -0 $target 2>/dev/null || return 1
        sleep 0.02
    done
}

# attached OPTION...: records $target until it ends.
attached() {
    printf '%s\n' "pitot record $*" >"$t_out/command"
    "$PITOT" record "$@" >"$t_out/stdout" 2>"$t_out/stderr" &
    recorder=$!
    is_recording && go
    status=0
    wait $recorder || status=$?
}

# summary FIELD: of the last line: samples, rate, seen, used, complete.
summary() {
    python3 - "$1" "$t_out/stderr" <<'PY'
import re, sys
last = [l for l in open(sys.argv[2]) if ' samples, ' in l][-1]
m = re.search(r': ([\d,]+) samples, (\d+) a second of CPU; ([\d.]+) of ([\d.]+) CPU seconds seen, '
              r'([\d.]+) % of the stacks complete', last)
print(dict(zip(('samples', 'rate', 'seen', 'used', 'complete'),
               (g.replace(',', '') for g in m.groups())))[sys.argv[1]])
PY
}
# expect_one_line: of stderr, beside the line of a full machine.
expect_one_line() { expect_equal 'lines of stderr' "$(stderr | grep -vc 'samples were lost: they came faster')" 1; }
within() { python3 -c 'import sys; a, b, s = map(float, sys.argv[1:]); sys.exit(abs(a - b) > s * b + 0.03)' "$@"; }
at_least() { python3 -c 'import sys; a, b = map(float, sys.argv[1:]); sys.exit(a < b)' "$@"; }

# attached_well OPTION...: the same, again if the machine was too busy with other things to let the
# recorder see what it should; what it saw in the end is the test's to judge.
attached_well() {
    for _ in 1 2 3; do
        begin ./burn 0.5 3
        attached -p $target "$@"
        within "$(summary seen)" "$(cat truth)" 0.05 && break
    done
}

it 'attaches to a process, sees its CPU time and whole stacks, and ends when it does'
attached_well -o a.pb.gz
expect_status 0
expect_one_line
expect_stderr_line 'pitot: a.pb.gz: * samples, *; next: pitot why a.pb.gz'
expect within "$(summary seen)" "$(cat truth)" 0.05
expect within "$(summary used)" "$(cat truth)" 0.05
expect at_least "$(summary complete)" 99.5
run pitot top a.pb.gz
expect_stdout_line '*  spin  burn.c:*'

it 'keeps the time, thread and cpu of each sample, whoever reads it'
run pitot record --engine=perf --timeline -F 500 -o times.pb.gz sh -c 'echo | ./burn 0.3 2'
expect_status 0
run pitot info times.pb.gz
expect_stdout_line '*; samples span *'
run pitot dump --json -n 0 times.pb.gz
expect python3 - "$t_out/stdout" <<'PY'
import json, sys
samples = json.load(open(sys.argv[1]))['samples']
spun = [s for s in samples if any(f.get('function') == 'spin' for f in s['frames'])]
assert len({s['tid'] for s in spun}) == 2 and len({s['pid'] for s in spun}) == 1, spun[:3]
times = [s['time_ns'] for s in samples]
assert times == sorted(times) and 0.1e9 < times[-1] - times[0], times[:3]
# One cpu runs one thread at a time: two samples of a cpu are a period apart, nearly.
assert len({(s['cpu'], s['time_ns']) for s in samples}) == len(samples)
PY
cp "$t_out/stdout" times.json
run pitot convert -o again.pb.gz times.pb.gz
expect_status 0
run pitot dump --json -n 0 again.pb.gz
expect python3 -c 'import json, sys; a, b = (json.load(open(f))["samples"] for f in sys.argv[1:]); assert a == b' times.json "$t_out/stdout"
# The parts of the time make the whole: cut where half of the samples are through.
run pitot info --json times.pb.gz
half=$(python3 - "$t_out/stdout" <<'PY'
import json, sys
times = [s['time_ns'] for s in json.load(open('times.json'))['samples']]
print(times[len(times) // 2] - json.load(open(sys.argv[1]))['origin']['start_ns'])
PY
)
whole=$(python3 -c 'import json; print(len(json.load(open("times.json"))["samples"]))')
for part in :${half}ns ${half}ns:; do
    run pitot top --json "--tag-focus=time=$part" times.pb.gz
    expect_status 0
    stdout | python3 -c 'import json, sys; print(json.load(sys.stdin)["kept_samples"])' >>parts
done
expect at_least "$(awk '{ sum += $1 } END { print sum }' parts)" "$whole"
run pitot convert --strict -o times.folded times.pb.gz
expect_status 1
expect_stderr_line '*times of samples*'

it 'tells which process a function ran in, by the number that ps shows'
run pitot tags --focus='^spin$' a.pb.gz
expect_status 0
expect_stdout_line "*%    $target"
expect_stdout_line '*%    burn'

it 'has whole stacks where a large frame has pages that nothing was stored to yet'
cat >hole.c <<'C'
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
static double seconds;
static double cpu(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return t.tv_sec + t.tv_nsec * 1e-9;
}
__attribute__((noinline)) static void spin(void)
{
    volatile unsigned n = 0;
    while (cpu() < seconds) for (int i = 0; i < 10000; i++) n += i;
}
/* 20,000 bytes have three whole pages at least, and the thread's stack is new. */
static void *wide(void *arg)
{
    char room[20000];
    __asm__ volatile("" : : "r"(room) : "memory");
    spin();
    __asm__ volatile("" : : "r"(room) : "memory");
    return arg;
}
int main(int argc, char **argv)
{
    pthread_t thread;
    seconds = atof(argv[1]);
    getchar();
    pthread_create(&thread, NULL, wide, argv[argc - 1]);
    pthread_join(thread, NULL);
    printf("%.6f\n", seconds);
}
C
${CC:-cc} -O2 -fomit-frame-pointer -pthread hole.c -o hole || exit 1
begin ./hole 0.5
attached -p $target -o hole.pb.gz
expect_status 0
expect at_least "$(summary complete)" 50 # all but the first, from which it is known; else none

# made: code that a program makes at run time, for which no rules are and which keeps a frame
# pointer, calls a function of the program.
cat >made.c <<'C'
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
static double cpu(void) { struct timespec t; clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t); return t.tv_sec + t.tv_nsec * 1e-9; }
__attribute__((noinline)) void spin(double *end)
{
    volatile unsigned x = 1;
    do for (int i = 0; i < 20000; i++) x = x * 3 + 1; while (cpu() < *end);
}
int main(int argc, char **argv)
{
#if defined(__x86_64__) /* push rbp; mov rbp, rsp; call rsi; pop rbp; ret */
    static const unsigned char code[] = {0x55, 0x48, 0x89, 0xe5, 0xff, 0xd6, 0x5d, 0xc3};
#elif defined(__aarch64__) /* stp x29, x30, [sp, -16]!; mov x29, sp; blr x1; ldp x29, x30, [sp], 16; ret */
    static const unsigned code[] = {0xa9bf7bfd, 0x910003fd, 0xd63f0020, 0xa8c17bfd, 0xd65f03c0};
#endif
    char *at = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    double end = argc > 1 ? atof(argv[1]) : 1;
    memcpy(at, code, sizeof code);
    __builtin___clear_cache(at, at + sizeof code);
    getchar();
    ((void (*)(double *, void (*)(double *)))at)(&end, spin);
    printf("%.6f\n", cpu());
}
C
it 'stacks through code without rules are counted apart, and every report says so'
${CC:-cc} -O2 -g -fomit-frame-pointer made.c -o made || exit 1
begin ./made 0.3
attached -p $target -o made.pb.gz
expect_status 0
expect_one_line
unchecked=$(sed -n 's/.* of the stacks complete, \([0-9.]*\) % more by unchecked frame pointers.*/\1/p' "$t_out/stderr")
expect at_least "${unchecked:-0}" 95
expect at_least 5 "$(summary complete)"
run pitot info made.pb.gz
expect_stdout_line 'ends * unchecked frame pointers *'
expect_stdout_line '*a stack through code without unwind rules: frames may be missing'
run pitot top made.pb.gz
expect_stdout_line 'complete stacks *%, unchecked *%, *'
run pitot tree made.pb.gz
expect_stdout_line '*↓ main*'
expect_stdout_line '*↓ spin*'

it 'so are those of perf record --call-graph dwarf'
if needs perf; then
    echo >newline
    if perf record -q -B -e cpu-clock:u -c 1000000 --call-graph dwarf,512 -o made.data ./made 0.3 <newline >truth 2>perf.err; then
        run pitot top --json made.data
        expect python3 -c 'import json, sys
sys.exit(json.load(open(sys.argv[1]))["profile"]["unchecked_share"] < 0.9)' "$t_out/stdout"
    else
        skip "perf cannot record here: $(head -1 perf.err)"
    fi
fi

it 'pprof shows every comment of a recording, as go tool pprof does'
run pitot pprof -comments -symbolize=none a.pb.gz
expect_stdout_line 'recorded with: pitot record *'
expect_stdout_line 'pitot: asked_hz=1000 *stack_end=root'

it 'a recording says how it was made, as it could be typed again'
run pitot record -F 500 -e cpu-clock --engine=perf --timeline -o 'again and.pb.gz' true 'a b'
run pitot record --engine=perf -o 'and again.pb.gz' ./burn 0.1 # with samples, after which there is a next command
expect_stderr_line "*; next: pitot why 'and again.pb.gz'"
run pitot info 'again and.pb.gz'
expect_stdout_line "*recorded with: pitot record --frequency=500 --output='again and.pb.gz' --engine=perf --event=cpu-clock --timeline -- true 'a b'"

it 'says which events there are'
run pitot record -e no-such-event true
expect_stderr_line 'pitot: there is no event no-such-event; there are cpu-clock, task-clock, *page-faults*'
run pitot record -e sched:sched_switch true
expect_status 2
expect_stderr_line 'pitot: sched:sched_switch is a tracepoint, which pitot does not record (waits: --off-cpu); sudo perf record -g -e sched:sched_switch does, *'

it 'does so with events of its threads, too'
attached_well --each-thread -o a.pb.gz
expect_status 0
expect within "$(summary seen)" "$(cat truth)" 0.05
expect within "$(summary used)" "$(cat truth)" 0.05
expect at_least "$(summary complete)" 99.5

it 'finds processes by name, and what they start'
cp burn burnt-by-name
begin sh -c 'read line; ./burnt-by-name 0.2 </dev/null >/dev/null & wait'
cp "$(command -v sh)" named-sh
exec 9>&-
wait $target
begin ./named-sh -c 'read line; ./burnt-by-name 0.2 </dev/null; ./burn 0.2 </dev/null'
is_named named-sh # until then it is a shell of ours, by another name
attached -p named-sh -o name.pb.gz
expect_status 0
expect within "$(summary seen)" "$(awk '{ s += $1 } END { print s }' truth)" 0.1
expect_stderr_line '*, [23] processes*'
run pitot top name.pb.gz
expect_stdout_line '*  spin  burn.c:*'

# A shell, a child of it, and the child's child, which waits for a line: all run before the recorder.
# Another child comes later. All that uses CPU time says how much.
cat >tree.sh <<'SH'
exec 3<&0
sh -c './burn 0.15 2 <&3; ./burn 0.1 </dev/null; :' &
wait
SH
begin_tree() {
    begin sh tree.sh
    until first=$(pgrep -P $target) && burner=$(pgrep -P "$first" -x burn); do sleep 0.02; done
}
it '-p names the processes that the target has started, which are not recorded'
begin_tree
attached -p $target -o tree.pb.gz
expect_status 0
expect_stderr_line "pitot: 2 processes that the recorded one started earlier are not recorded: $first (sh), $burner (burn); --children records them, too"
expect_equal 'samples of what it has started' "$("$PITOT" tags tree.pb.gz 2>no | grep -c "    $burner\$")" 0
for options in --engine=perf '--engine=perf --each-thread' --engine=bpf; do
    it "-p PID --children records them, and what they start later: $options"
    # shellcheck disable=SC2086
    if ! pitot record $options -o probe.pb.gz true 2>no; then
        skip "$(tail -n 1 no)"
        continue
    fi
    begin_tree
    # shellcheck disable=SC2086
    attached -p $target --children $options -o tree.pb.gz
    expect_status 0
    expect_stderr_lines 1
    expect within "$(summary seen)" "$(awk '{ s += $1 } END { print s }' truth)" 0.1
    expect within "$(summary used)" "$(awk '{ s += $1 } END { print s }' truth)" 0.1
    run pitot tags tree.pb.gz
    expect_stdout_line "*    $burner"
done
run pitot record --children true
expect_status 2
expect_stderr_line 'pitot: --children needs --pid; *'

it 'sees what is loaded while it looks'
cat >plugin.c <<'C'
#include <time.h>
static double cpu(void) { struct timespec t; clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t); return t.tv_sec + t.tv_nsec * 1e-9; }
__attribute__((noinline)) void in_the_plugin(void) { double e = cpu() + 0.2; volatile int x = 1; do for (int i = 0; i < 20000; i++) x = x * 3 + 1; while (cpu() < e); }
C
cat >loads.c <<'C'
#include <dlfcn.h>
#include <stdio.h>
int main(void)
{
    getchar();
    void *p = dlopen("./plugin.so", RTLD_NOW);
    if (!p) return 1;
    ((void (*)(void))dlsym(p, "in_the_plugin"))();
    dlclose(p);
}
C
${CC:-cc} -O2 -fPIC -shared -o plugin.so plugin.c && ${CC:-cc} -O2 -o loads loads.c -ldl
begin ./loads
attached -p $target -o loads.pb.gz
expect_status 0
expect at_least "$(summary complete)" 99
run pitot top loads.pb.gz
expect_stdout_line '*  in_the_plugin*'

# switches: how often threads of the recorder have been given a cpu since they slept.
switches() { cat /proc/$recorder/task/*/status | awk '/^voluntary/ { sum += $2 } END { print sum }'; }
# is_idle: it wakes at most twice a second of the clock on the wall.
is_idle() {
    local first=$(switches) from=$(date +%s%N)
    sleep 3
    local last=$(switches) to=$(date +%s%N)
    [ $(((last - first) * 1000000000)) -le $((2 * (to - from))) ]
}
it 'sleeps while the target sleeps, and sees it when it works'
begin ./burn 0.5
"$PITOT" record --each-thread -p $target -o idle.pb.gz 2>idle.err &
recorder=$!
expect is_recording
expect eventually is_idle
go
wait $recorder
cp idle.err "$t_out/stderr"
expect within "$(summary seen)" "$(cat truth)" 0.05

it 'the target does not notice'
begin ./burn 0.3 2
reads_line
cp /proc/$target/maps maps-before
grep -E '^(Sig[^Q]|Shd|Threads|TracerPid)' /proc/$target/status >status-before
ls /proc/$target/fd >fd-before
"$PITOT" record -p $target -o untouched.pb.gz 2>"$t_out/stderr" &
recorder=$!
is_recording
cp /proc/$target/maps maps-during
grep -E '^(Sig[^Q]|Shd|Threads|TracerPid)' /proc/$target/status >status-during
ls /proc/$target/fd >fd-during
kill -INT $recorder
wait $recorder
expect_equal 'exit status' $? 0
cp /proc/$target/maps maps-after
grep -E '^(Sig[^Q]|Shd|Threads|TracerPid)' /proc/$target/status >status-after
for when in during after; do
    expect_same maps-before maps-$when
    expect_same status-before status-$when
done
expect_same fd-before fd-during
go
wait $target
expect at_least "$(cat truth)" 0.5

it 'with a command, -p records the process while the command runs, as perf does, and ends with its status'
begin ./burn 600
go
# The command ends when the process has used half a second more: 50 samples.
cat >half-a-second.sh <<'S'
used() { awk '{ print $14 + $15 }' "/proc/$1/stat"; }
from=$(used "$1")
until [ "$(used "$1")" -ge $((from + $(getconf CLK_TCK) / 2)) ]; do sleep 0.05; done
exit 3
S
run pitot record -F 99 -g -p $target -o meanwhile.pb.gz -- sh half-a-second.sh $target
kill $target
wait $target 2>/dev/null
expect_status 3
expect_stderr_line 'pitot: meanwhile.pb.gz: *'
run pitot tags meanwhile.pb.gz
expect_stdout_line '*    burn'
expect_equal 'lines of the command' "$(stdout | grep -cwe sh -e sleep -e awk)" 0
run pitot info meanwhile.pb.gz
expect_stdout_line "*recorded with: pitot record --frequency=99 --output=meanwhile.pb.gz --pid=$target -- sh half-a-second.sh $target"

for signal in INT TERM HUP; do
    it "SIG$signal ends the recording with a whole file"
    begin sh -c 'read line; while ./burn 0.05 </dev/null >>burnt; do :; done'
    # Ignored ones, as nohup leaves SIGHUP, stay so: what ends the recording must be at its default.
    env --default-signal=$signal "$PITOT" record -p $target -o signal.pb.gz 2>"$t_out/stderr" &
    recorder=$!
    is_recording && go
    until [ "$(wc -l <burnt 2>/dev/null)" -ge 4 ] 2>/dev/null; do sleep 0.05; done
    kill -$signal $recorder
    status=0
    wait $recorder || status=$?
    kill $target
    wait $target 2>/dev/null
    rm -f burnt
    expect_status 0
    expect at_least "$(summary seen)" 0.1
    run pitot info signal.pb.gz
    expect_status 0
done

it 'a SIGHUP that nohup ignores does not end the recording'
begin sh -c 'read line; ./burn 0.2 </dev/null'
env --ignore-signal=HUP "$PITOT" record -p $target -o nohup.pb.gz 2>"$t_out/stderr" &
recorder=$!
is_recording && kill -HUP $recorder
go
wait $target
status=0
wait $recorder || status=$?
expect_status 0
expect at_least "$(summary seen)" 0.15
run pitot info nohup.pb.gz
expect_status 0

# A folder is kept while the recorder lives; recover reads what is in it at that moment.
# kept_folder: of $recorder. has_kept FOLDER SAMPLES: so many, at least; how many is then in the file kept.
kept_folder() { ls -l /proc/$recorder/fd | sed -n 's/.* -> \(.*\/pitot-record-[^/]*\)$/\1/p' | head -n 1; }
has_kept() {
    pitot recover "$1" -o now.pb.gz >recover-said 2>&1 || return 1
    local samples
    samples=$(sed -n 's/^now.pb.gz: \([0-9,]*\) samples, .*/\1/p' recover-said | tr -d ,)
    echo "${samples:-0}" >kept
    at_least "${samples:-0}" "$2"
}
it 'a recorder that is killed leaves what it has recorded'
for how in '' --timeline --off-cpu; do
    [ "$how" = --off-cpu ] && [ "$level" -gt 1 ] && [ "$(id -u)" != 0 ] && continue
    rm -f burnt now.pb.gz recovered.pb.gz
    mkfifo burnt
    "$PITOT" record --engine=perf $how -o cut.pb.gz sh -c 'echo | ./burn 0.5 >truth; echo >burnt; read line <burnt' >/dev/null 2>&1 &
    recorder=$!
    read -r _ <burnt
    folder=$(kept_folder)
    expect test -d "$folder"
    # Ticks that do not come, since the machine stands still or is full, are counted by the clocks at the end, which this
    # recording has not: half of them is a bound, and none of those that were kept may be missing.
    expect eventually has_kept "$folder" "$(awk '{ print 500 * $1 }' truth)"
    expect grep -q 'is kept: some of its processes are still running' recover-said
    expect_equal 'modes' "$(find "$folder" -type f -printf '%m\n' | sort -u)" 600
    kill -KILL $recorder
    wait $recorder 2>/dev/null
    echo >burnt
    run pitot recover
    expect_status 0
    expect_stderr_line "pitot: a recording was killed at [0-9][0-9]:[0-9][0-9]; to save its samples: pitot recover $folder"
    run pitot recover "$folder"
    expect_status 0
    expect_stdout_line 'recovered.pb.gz: * samples, 1 journal'
    samples=$(stdout | sed -n 's/^recovered.pb.gz: \([0-9,]*\) samples.*/\1/p' | tr -d ,)
    expect at_least "$samples" "$(cat kept)"
    expect at_least "$(awk '{ print 1100 * $1 + 50 }' truth)" "$samples" # the shell has some
    expect test ! -e "$folder"
    run pitot top recovered.pb.gz
    expect_stdout_line '* spin *'
    run pitot info recovered.pb.gz
    expect_stdout_line '*engine: perf events; read before the recording had ended'
    [ "$how" = --timeline ] && expect_stdout_line '*samples span*'
done

it 'a target that is killed leaves a whole file'
begin sh -c 'read line; ./burn 0.2 </dev/null; kill -KILL $$'
attached -p $target -o killed.pb.gz
expect_status 0
expect at_least "$(summary seen)" 0.15
run pitot info killed.pb.gz
expect_status 0

it 'records a command from outside, with its streams and its exit status'
echo spoken >said
run pitot record --engine=perf -o command.pb.gz sh -c './burn 0.2; exit 7' <said
expect_status 7
expect within "$(summary seen)" "$(stdout)" 0.1
run pitot record --engine=perf -o command.pb.gz ./not-there
expect_status 127
expect_stderr 'pitot: ./not-there: cannot be run: No such file or directory'
run pitot record --engine=perf -o command.pb.gz ./burn.c
expect_status 126

it 'a command does not begin when its recorder is killed before'
cat >killed.c <<'C'
#include <signal.h>
int getpriority(int which, unsigned who) { return raise(SIGKILL); } /* asked for before the command begins */
C
${CC:-cc} -shared -fPIC killed.c -o killed.so
# The child is nobody's. It has this pipe, too: cat ends when the child has.
( LD_PRELOAD=$PWD/killed.so pitot record --engine=perf -o never.pb.gz sh -c 'touch began' & wait ) 2>&1 | cat >/dev/null
expect [ ! -e began ]
expect [ ! -e never.pb.gz ]
LD_PRELOAD= run pitot record --engine=perf -o begun.pb.gz sh -c 'touch began'
expect [ -e began ]
expect_no_stderr_line '*cut off*' # there was no sample: the folder goes without a word

it 'records only time in user space, or only in the kernel'
run pitot record --user -o user.pb.gz dd if=/dev/zero of=/dev/null bs=1 count=300000
expect_status 0
run pitot dump user.pb.gz
expect_equal 'frames in the kernel' "$(stdout | grep -c 'kernel')" 0
if [ "$(id -u)" = 0 ]; then
    run pitot record --kernel -o kernel.pb.gz dd if=/dev/zero of=/dev/null bs=1 count=300000
    expect_status 0
    run pitot info kernel.pb.gz
    expect_stdout_line '*kernel.kallsyms*self 100.0%*'
fi

it 'counts events, each or every so many, as getrusage does'
cat >faults.c <<'C'
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
__attribute__((noinline)) static void touch(long n)
{
    volatile char *p = mmap(NULL, n * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    madvise((void *)p, n * 4096, MADV_NOHUGEPAGE);
    for (long i = 0; i < n; i++) p[i * 4096] = 1;
}
int main(int argc, char **argv)
{
    struct rusage u;
    touch(atol(argv[argc - 1]));
    getrusage(RUSAGE_SELF, &u);
    printf("%ld\n", u.ru_minflt + u.ru_majflt);
}
C
${CC:-cc} -O2 -g -o faults faults.c
# faults_of FILE: of touch, and of all; samples of all.
faults_of() {
    run pitot top -n 0 --json -e "$2" "$1"
    python3 -c 'import json, sys; rows = json.load(open(sys.argv[1]))["rows"]
print(sum(r["self"] for r in rows if r["name"] == "touch"), sum(r["self"] for r in rows))' "$t_out/stdout"
}
if [ "$(id -u)" = 0 ]; then
    run pitot record -e page-faults --each-thread -o each.pb.gz ./faults 2000
    expect_status 0
    expect_stderr_line 'pitot: each.pb.gz: * samples; * of * page-faults seen, *'
    used=$(stdout)
    # From exec on the kernel counts some for the new program that came before it began.
    expect python3 -c 'import sys; touch, all, used = map(int, sys.argv[1:])
assert touch == 2000 and used - 60 <= all <= used + 60, sys.argv' $(faults_of each.pb.gz page-faults) "$used"
    run pitot record -e page-faults -c 100 --each-thread -o some.pb.gz ./faults 20000
    expect_status 0
    used=$(stdout)
    # What a cpu has counted since its last sample is not seen.
    expect python3 -c 'import sys; touch, all, samples, used, cpus = map(int, sys.argv[1:])
assert all == 100 * samples and used - 60 - 100 * cpus <= all <= used + 60, sys.argv' \
        $(faults_of some.pb.gz page-faults) $(faults_of some.pb.gz samples | cut -d' ' -f2) "$used" "$(getconf _NPROCESSORS_CONF)"
else
    skip 'page faults are counted in the kernel'
fi

it 'stacks are whole where the loader binds a function at its first call'
# Each child is the first to call strtol: the loader writes its address to a page that the child has
# to copy first, a page fault under the code that realigns the stack.
cat >binds.c <<'C'
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
__attribute__((noinline)) static long binds_here(const char *text) { return strtol(text, NULL, 10) + 1; }
int main(int argc, char **argv)
{
    for (int i = 0; i < 50; i++) {
        const pid_t child = fork();
        if (child == 0) _exit(binds_here(argv[argc - 1]) != 8);
        waitpid(child, NULL, 0);
    }
}
C
${CC:-cc} -O1 -g -Wl,-z,lazy -o binds binds.c
if [ "$(id -u)" = 0 ]; then
    run env -u LD_BIND_NOW "$PITOT" record -e page-faults -c 1 -o binds.pb.gz ./binds 7
    expect_status 0
    run pitot dump --json -n 0 binds.pb.gz
    expect python3 - "$t_out/stdout" <<'PY'
import json, sys
samples = json.load(open(sys.argv[1]))['samples']
in_loader = [s for s in samples if any('/ld-' in f.get('object', '') for f in s['frames'])]
bound = [s for s in in_loader if any(f.get('function') == 'binds_here' for f in s['frames'])]
assert sum(s['values'][0] for s in bound) >= 50, len(bound)
assert not [s for s in in_loader if s['end'] == 'no rule'], [s for s in in_loader if s['end'] == 'no rule'][:1]
PY
else
    skip 'page faults are counted in the kernel'
fi

it 'adds the time that threads wait, where they wait'
cat >waits.c <<'C'
#include <pthread.h>
#include <time.h>
#include <unistd.h>
__attribute__((noinline)) static void waits_here(void) { const struct timespec t = {0, 300000000}; nanosleep(&t, NULL); __asm__ volatile(""); }
__attribute__((noinline)) static void runs_here(void)
{
    struct timespec begin, t; /* the start of the process may take 10 ms on a loaded machine */
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &begin);
    do clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    while ((t.tv_sec - begin.tv_sec) * 1000000000 + t.tv_nsec - begin.tv_nsec < 400000000);
    __asm__ volatile("");
}
int main(void) { waits_here(); runs_here(); return 0; }
C
${CC:-cc} -O1 -g -o waits waits.c
run pitot record --off-cpu -o waits.pb.gz ./waits
if [ "$(id -u)" = 0 ]; then
    expect_status 0
    expect_stderr_line '*threads waited *'
    expect_stderr_line '*; next: pitot why -e off-cpu waits.pb.gz; with the CPU time beside the waits: pitot top -e cpu+off-cpu waits.pb.gz'
    run pitot top -e off-cpu -n 0 --json waits.pb.gz
    expect python3 - "$t_out/stdout" <<'PY'
import json, sys
rows = {row['name']: row for row in json.load(open(sys.argv[1]))['rows']}
# The timer was set before the thread went off the cpu: what came between is not waited.
assert rows['waits_here']['total'] >= 290000000, rows['waits_here']
PY
    run pitot top -e waits -n 0 --csv waits.pb.gz
    expect_equal 'its waits' "$(stdout | awk -F, '$5 ~ /waits_here/ { print $3 }')" 1

    it 'shows CPU time and waits beside each other'
    for report in 'top -n 0' 'tree --min=0'; do
        run pitot $report -e cpu+off-cpu --json waits.pb.gz
        expect python3 - "$t_out/stdout" <<'PY'
import json, sys
rows = {row['name']: row for row in json.load(open(sys.argv[1]))['rows']}
cpu, wait = 'total:cpu', 'total:off-cpu'
assert rows['waits_here'][wait] >= 290000000 and rows['waits_here'][cpu] < 5000000, rows['waits_here']
assert 360000000 < rows['runs_here'][cpu] < 440000000 and rows['runs_here'][wait] < 5000000, rows['runs_here']
assert rows['main'][wait] >= 290000000 and rows['main'][cpu] > 360000000, rows['main']
for row in rows.values():
    assert row['total'] == row[cpu] + row[wait], row
PY
    done

    it 'shows of a wait in the kernel the function that waits, and says how to see the others'
    run pitot tree -e off-cpu waits.pb.gz
    expect_stdout_has do_nanosleep
    expect_no_stdout_line '*schedule*'
    expect_no_stdout_line '*syscall*'
    expect_stderr_line 'pitot: waits.pb.gz: of the kernel'"'"'s functions, a wait shows only the function that waits; --native shows all'
    run pitot tree -e off-cpu --native waits.pb.gz
    expect_stdout_has schedule
    expect_equal 'lines on stderr' "$(stderr | wc -l)" 0
    run pitot top waits.pb.gz # shows no wait
    expect_equal 'lines on stderr' "$(stderr | wc -l)" 0
fi

it 'has whole stacks of programs that lld has linked, whose code shares a page of the file with data'
echo 'int main(void) { return 0; }' >lld.c
if ${CC:-cc} -fuse-ld=lld -o lld lld.c 2>/dev/null; then
    ${CC:-cc} -O2 -g -fomit-frame-pointer -pthread -fuse-ld=lld burn.c -o burn-lld
    for engine in perf preload; do
        run pitot record --engine=$engine -o lld.pb.gz sh -c 'echo | ./burn-lld 0.2'
        expect_status 0
        expect at_least "$(summary complete)" 95 # but for what the shell and the kernel do around it
    done
else
    skip 'lld is not installed'
fi

it 'the rate is within 1 % of what is asked for, and its period no part or multiple of a tick of 1, 4 or 10 ms'
for hz in 100 250 500 1000 4000 10000; do
    run pitot record --engine=perf -F $hz -o rate.pb.gz true
    expect_status 0
    run pitot info --json rate.pb.gz
    expect python3 - "$t_out/stdout" $hz $([ "$(id -u)" = 0 ] && echo cpus) <<'PY'
import json, sys
period, asked = json.load(open(sys.argv[1]))['origin']['period'], int(sys.argv[2])
assert abs(1e9 / period / asked - 1) < 0.01, period
for tick in (1e6, 4e6, 10e6) if sys.argv[3:] else ():
    assert 0.005 < max(tick / period, period / tick) % 1 < 0.995, (period, tick)
PY
done

it 'a stack in the middle of execve is whole, and does not end at an address of no program'
run pitot record --engine=perf -F 4000 -o exec.pb.gz sh -c 'for i in $(seq 200); do /bin/true; done'
if [ "$(id -u)" = 0 ]; then
    run pitot dump exec.pb.gz
    expect python3 - "$t_out/stdout" <<'PY'
import re, sys
for sample in open(sys.argv[1]).read().split('\n\n'):
    frames = [line.strip() for line in sample.splitlines() if line.startswith('    ')]
    if any(name in frames for name in ('load_elf_binary', 'begin_new_exec')):
        assert not re.match(r'\[0x', frames[-1]), sample
        assert 'end root' in sample, sample
PY
else
    skip 'time in the kernel is not ours to see'
fi

it 'does not count as waiting that a thread is no more'
if [ "$(id -u)" = 0 ]; then
    # Again if the machine is so full that the wait is among the samples that were lost, or the end of a thread.
    for _ in 1 2 3 4 5 6 7 8; do
        run pitot record -a --off-cpu -o dead.pb.gz -- sh -c 'for i in 1 2 3 4 5 6 7 8; do (:); done; ./waits'
        expect_status 0
        run pitot top -e off-cpu -n 0 dead.pb.gz
        ! stdout | grep -q waits_here || stdout | grep -q do_task_dead || break
    done
    expect_stdout_has waits_here
    expect_no_stdout_line '*do_task_dead*'
else
    skip 'events of cpus take root'
fi

it 'goes on with a program that another thread than the first has begun'
cat >become.c <<'C'
#include <pthread.h>
#include <stdint.h>
#include <time.h>
#include <unistd.h>
static char *self;
__attribute__((noinline)) static void waits_here(void) { const struct timespec t = {0, 300000000}; nanosleep(&t, NULL); __asm__ volatile(""); }
__attribute__((noinline)) static void computes_here(void)
{
    struct timespec used;
    do
        for (volatile int i = 0; i < 100000; i++);
    while (clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used) == 0 && used.tv_sec == 0 && used.tv_nsec < 300000000);
}
static void *become(void *own_time_ms)
{
    struct timespec used;
    do
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
    while (used.tv_nsec < 1000000 * (intptr_t)own_time_ms);
    execl(self, self, (char *)NULL);
    return NULL;
}
int main(int argc, char **argv)
{
    pthread_t thread;
    self = argv[0];
    if (argc > 1) {
        pthread_create(&thread, NULL, become, (void *)(intptr_t)(argv[1][0] == 'a' ? 0 : 100));
        pause();
    }
    waits_here();
    computes_here();
    return 0;
}
C
${CC:-cc} -O1 -g -pthread -o become become.c
# seen EVENT FUNCTION: what become.pb.gz has of it, in milliseconds.
seen() {
    pitot top -e "$1" -n 0 --json become.pb.gz | python3 -c '
import json, sys
print(sum(row["total"] for row in json.load(sys.stdin)["rows"] if row["name"] == sys.argv[1]) // 1000000)' "$2"
}
for how in '' -a; do
    for when in 'at once' later; do
        [ "$(id -u)" = 0 ] || continue
        # Again if the recorder got no processor in time, or events of a thread that did it before they
        # could be opened came when it waited already.
        for _ in 1 2 3 4 5; do
            run pitot record $how --off-cpu -o become.pb.gz ./become "$when"
            computes=$(seen cpu computes_here) waits=$(seen off-cpu waits_here)
            [ "$computes" -lt 150 ] || [ "$computes" -gt 350 ] ||
                { [ "$waits" -lt 290 ] && [ "$how $when" != ' at once' ]; } || break
        done
        expect_status 0
        expect [ "$computes" -ge 150 ]
        expect [ "$computes" -le 350 ]
        [ "$how $when" = ' at once' ] || expect [ "$waits" -ge 290 ]
    done
done
[ "$(id -u)" = 0 ] || skip 'events of cpus take root'

it 'says no CPU time used where programs that other threads than the first began were not counted'
cat >chain.c <<'C'
#include <pthread.h>
#include <unistd.h>
static char *self;
static void *become(void *arg)
{
    for (volatile int i = 0; i < 3000000; i++);
    execl(self, self, (char *)NULL);
    return arg;
}
int main(int argc, char **argv)
{
    pthread_t thread;
    self = argv[argc - 1];
    pthread_create(&thread, NULL, become, NULL);
    for (volatile int i = 0;; i++);
}
C
${CC:-cc} -O1 -pthread -o chain chain.c
./chain &
chain=$!
run pitot record -p $chain -d 700ms -o chain.pb.gz
kill -KILL $chain
expect_status 0
expect python3 - "$t_out/stderr" <<'PY'
import re, sys
seen, used = re.search(r'([\d.]+) (?:of ([\d.]+) )?CPU seconds seen', open(sys.argv[1]).read()).groups()
assert used is None or float(seen) <= 1.5 * float(used) + 0.1, (seen, used)
PY

it 'tells waiting for something from waiting for a cpu that another thread has'
if [ "$(id -u)" = 0 ] && command -v taskset >/dev/null; then
    # Two threads of 0.2 s each on one cpu: until the first is done, one runs and the other could.
    cpu=$(taskset -cp $$ | sed 's/.*: //; s/[,-].*//')
    run pitot record --off-cpu -o ready.pb.gz -- sh -c "echo | exec taskset -c $cpu ./burn 0.2 2"
    expect_status 0
    expect_stderr_line '*threads waited * s, and * s more for a CPU*'
    for event in ready off-cpu; do
        run pitot top -e $event -n 0 --json ready.pb.gz
        stdout | python3 -c 'import json, sys; print(sum(r["total"] for r in json.load(sys.stdin)["rows"] if r["name"] == "spin") / 1e9)' >$event
    done
    expect at_least "$(cat ready)" 0.15
    expect at_least 0.02 "$(cat off-cpu)"
else
    skip 'it takes root and taskset'
fi

it 'sees threads of a millisecond in proportion'
cat >short.c <<'C'
#include <pthread.h>
#include <stdio.h>
#include <time.h>
static double cpu(clockid_t c) { struct timespec t; clock_gettime(c, &t); return t.tv_sec + t.tv_nsec * 1e-9; }
static void *work(void *p)
{
    const double end = cpu(CLOCK_THREAD_CPUTIME_ID) + 0.001;
    volatile unsigned x = 1;
    do for (int i = 0; i < 2000; i++) x = x * 3 + 1; while (cpu(CLOCK_THREAD_CPUTIME_ID) < end);
    return p;
}
int main(void)
{
    for (int i = 0; i < 125; i++) {
        pthread_t t[8];
        for (int j = 0; j < 8; j++) pthread_create(&t[j], NULL, work, NULL);
        for (int j = 0; j < 8; j++) pthread_join(t[j], NULL);
    }
    printf("%.6f\n", cpu(CLOCK_PROCESS_CPUTIME_ID));
}
C
${CC:-cc} -O2 -pthread -o short short.c
if [ "$(id -u)" = 0 ]; then
    run pitot record --engine=perf -F 1000 -o short.pb.gz ./short
    expect_status 0
    expect within "$(summary seen)" "$(stdout)" 0.12
else
    skip 'events of cpus take root'
fi

# The counters of events begin and end within a process's life; the usage that wait4 returns is that of its whole life.
it 'has the whole CPU time of short processes, as wait4 reports it'
cat >starts.c <<'C'
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
static double used(int who)
{
    struct rusage u;
    getrusage(who, &u);
    return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) + (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) * 1e-6;
}
int main(void)
{
    for (int i = 0; i < 1500; i++) {
        if (vfork() == 0) {
            execl("/bin/true", "true", (char *)NULL);
            _exit(1);
        }
        wait(NULL);
    }
    printf("%.6f\n", used(RUSAGE_SELF) + used(RUSAGE_CHILDREN));
}
C
${CC:-cc} -O1 -o starts starts.c
if [ "$(id -u)" = 0 ]; then
    for _ in 1 2 3; do
        run pitot record --engine=perf -F 1000 -o starts.pb.gz ./starts
        expect_status 0
        within "$(summary seen)" "$(stdout)" 0.05 && break
    done
    expect within "$(summary seen)" "$(stdout)" 0.05
else
    skip 'events of cpus take root'
fi

# Two processes that wake each other all the time: what a timer's interrupt misses in switches must not be
# missing, nor be the other's. The clocks are their own.
it 'has the CPU time of programs that switch all the time, each its own'
cat >turns.c <<'C'
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
static double cpu(void) { struct timespec t; clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t); return t.tv_sec + t.tv_nsec * 1e-9; }
/* Each needs its seconds; who has them says so. */
static void turns(const char *name, int in, int out, int work, int is_first)
{
    char both = 0, own = is_first ? 1 : 2;
    prctl(PR_SET_NAME, name);
    if (is_first && write(out, &both, 1) != 1) return;
    while (read(in, &both, 1) == 1) {
        for (volatile int i = 0; i < work; i++);
        both = (char)((both & ~own) | (cpu() < 0.5 ? 0 : own));
        if (write(out, &both, 1) != 1 || both == 3) break;
    }
    printf("%s %.6f\n", name, cpu());
}
int main(void)
{
    int a[2], b[2];
    if (pipe(a) || pipe(b)) return 1;
    const pid_t pid = fork();
    turns(pid == 0 ? "brief" : "longer", pid == 0 ? a[0] : b[0], pid == 0 ? b[1] : a[1], pid == 0 ? 500 : 3000, pid != 0);
    if (pid > 0) wait(NULL);
}
C
# seen_is_true NAME: within 3 %, and the 8 ms that the clock of a running thread may be late at both ends.
seen_is_true() {
    python3 - "$1" turns.json truth <<'PY'
import json, sys
name, profile, truth = sys.argv[1:]
own = next(float(l.split()[1]) for l in open(truth) if l.startswith(name + ' '))
seen = sum(s['values'][1] for s in json.load(open(profile))['samples'] if any(l.get('text') == name for l in s['labels'])) / 1e9
print(name, own, seen)
sys.exit(abs(seen - own) > 0.03 * own + 0.008)
PY
}
if [ "$(id -u)" = 0 ] && needs python3; then
    ${CC:-cc} -O1 -o turns turns.c || exit 1
    for _ in 1 2 3; do
        run pitot record -F 2000 -o turns.pb.gz ./turns
        expect_status 0
        cp "$t_out/stdout" truth
        pitot dump --json -n 0 turns.pb.gz >turns.json
        seen_is_true longer >/dev/null && seen_is_true brief >/dev/null && break
    done
    expect seen_is_true longer
    expect seen_is_true brief
else
    [ -n "$t_skip" ] || skip 'events of cpus take root'
fi

it 'records the whole machine while a command runs'
if [ "$(id -u)" = 0 ]; then
    begin ./burn 600
    printf 'pitot record -a' >"$t_out/command"
    go
    cat >until.sh <<'S'
used() { awk '{ print $14 }' /proc/"$1"/stat; } # hundredths of a second
begun=$(used "$1")
until [ $(($(used "$1") - begun)) -ge 20 ]; do sleep 0.05; done
S
    "$PITOT" record -a -o all.pb.gz -- sh until.sh "$target" >/dev/null 2>"$t_out/stderr"
    expect_equal 'exit status' $? 0
    kill "$target"
    wait "$target"
    run pitot top --json --tag-focus="pid=$target" all.pb.gz
    expect_stdout_has '"spin"'
else
    skip 'it takes root'
fi

# Three functions of as much time each; in the first folder's control group during the second.
cat >moves.c <<'C'
#include <stdio.h>
#include <time.h>
static double cpu(clockid_t c) { struct timespec t; clock_gettime(c, &t); return t.tv_sec + t.tv_nsec * 1e-9; }
static double spin(void)
{
    const double end = cpu(CLOCK_THREAD_CPUTIME_ID) + 0.2;
    volatile unsigned x = 1;
    do for (int i = 0; i < 20000; i++) x = x * 3 + 1; while (cpu(CLOCK_THREAD_CPUTIME_ID) < end);
    return x;
}
__attribute__((noinline)) static double outside(void) { return spin() + 1; }
__attribute__((noinline)) static double inside(void) { return spin() + 2; }
__attribute__((noinline)) static double outside_again(void) { return spin() + 3; }
static void move(const char *folder)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/cgroup.procs", folder);
    FILE *procs = fopen(path, "w");
    if (procs == NULL || fputs("0", procs) < 0 || fclose(procs) != 0) perror(path);
}
int main(int argc, char **argv)
{
    double sum = outside();
    move(argv[1]);
    const double before = cpu(CLOCK_PROCESS_CPUTIME_ID);
    sum += inside();
    printf("%.6f\n", cpu(CLOCK_PROCESS_CPUTIME_ID) - before);
    move(argv[2]);
    sum += outside_again();
    return sum < 0;
}
C
${CC:-cc} -O2 -fno-inline -o moves moves.c || exit 1

# group_of TYPE: our control group and its folder in the hierarchy, into $group and $folder.
group_of() {
    local mount
    case $1 in
    second) mount=$(awk '/ - cgroup2 / { print $5; exit }' /proc/self/mountinfo) group=$(sed -n 's/^0:://p' /proc/self/cgroup) ;;
    *) mount=$(awk -v name="$1" '/ - cgroup / && $NF ~ name { print $5; exit }' /proc/self/mountinfo)
        group=$(sed -n "s/^[0-9]*:[^:]*$1[^:]*:\(.*\)/\1/p" /proc/self/cgroup) ;;
    esac
    group=${group%/} folder=$mount${group%/}
    [ -n "$mount" ] && [ "$(id -u)" = 0 ] && mkdir "$folder/pitot-test.$$" 2>/dev/null
}

it 'a control group is recorded while the process is in it, and not before or after'
# Where the controller perf_event is one of version 1, it has events of groups there.
if group_of perf_event || group_of second; then
    for _ in 1 2 3; do # as attached_well
        run pitot record --cgroup "$folder/pitot-test.$$" -o moves.pb.gz -- ./moves "$folder/pitot-test.$$" "$folder"
        within "$(summary seen)" "$(stdout)" 0.05 && break
    done
    expect_status 0
    expect within "$(summary seen)" "$(stdout)" 0.05
    run pitot top -n 0 moves.pb.gz
    expect_stdout_has ' inside'
    expect_no_stdout_line '* outside*'
    rmdir "$folder/pitot-test.$$"
else
    skip 'no control group that the kernel has events of can be made here'
fi

it 'processes of a control group that are gone when they are looked at were in it'
# In a hierarchy that the kernel has no events of.
if group_of pids; then
    run pitot record --cgroup "$folder/pitot-test.$$" -o gone.pb.gz -- sh -c "echo 0 >$folder/pitot-test.$$/cgroup.procs
        seq 150 | while read -r i; do echo | ./burn 0.003; done"
    expect_status 0
    expect at_least "$(stderr | sed -n 's/.*CPU; \([0-9.]*\).* CPU seconds seen.*/\1/p')" \
        "$(stdout | awk '{ sum += $1 } END { print 0.8 * sum }')"
    rmdir "$folder/pitot-test.$$"
else
    skip 'no control group of version 1 can be made here'
fi

it 'records a control group'
group=$(sed -n 's/^[0-9]*:pids:\(.*\)/\1/p' /proc/self/cgroup)
folder=/sys/fs/cgroup/pids$group
[ -d "$folder" ] || { group=$(sed -n 's/^0::\(.*\)/\1/p' /proc/self/cgroup) folder=/sys/fs/cgroup$group; }
if [ "$(id -u)" = 0 ] && mkdir "$folder/pitot-test.$$" 2>/dev/null; then
    begin sh -c "echo \$\$ >$folder/pitot-test.$$/cgroup.procs; read line; ./burn 0.2 </dev/null"
    until grep -q . "$folder/pitot-test.$$/cgroup.procs"; do sleep 0.02; done
    "$PITOT" record --cgroup "${group%/}/pitot-test.$$" -o group.pb.gz -- sh -c "while kill -0 $target 2>/dev/null && [ \"\$(awk '{ print \$3 }' /proc/$target/stat)\" != Z ]; do ./burn 0.05 </dev/null; done" >/dev/null 2>"$t_out/stderr" &
    recorder=$!
    is_recording && go
    wait $recorder
    wait $target
    rmdir "$folder/pitot-test.$$"
    run pitot info group.pb.gz
    expect_stdout_line '*burn*'
    run pitot dump group.pb.gz
    expect_stdout_line '*label comm = burn*'
else
    skip 'no control group can be made here'
fi

# ---- what the kernel forbids

# refuse ERRNO COMMAND...: runs it where perf_event_open gives that error, by a seccomp filter.
cat >refuse.c <<'C'
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
#ifndef CALL
#define CALL SYS_perf_event_open
#endif
int main(int argc, char **argv)
{
    struct sock_filter rules[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, CALL, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (unsigned)atoi(argv[1])),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
    struct sock_fprog program = {4, rules};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program)) return 125;
    execvp(argv[2], argv + 2);
    return 126;
}
C
${CC:-cc} -o refuse refuse.c || exit 1

it 'says that a seccomp filter forbids it, before anything is recorded'
for error in 1 13 38; do
    run ./refuse $error "$PITOT" record -p $$ -o refused.pb.gz
    expect_status 1
    expect_stderr_lines 1
    expect_stderr_line 'pitot: a seccomp filter forbids perf events here; to allow them in a container, start the container with --cap-add=PERFMON*'
done
run ./refuse 1 "$PITOT" record --engine=perf -o refused.pb.gz sh -c ': >ran'
expect_status 1
expect [ ! -e ran ]
expect [ ! -e refused.pb.gz ]

it 'takes perf events for a command, and the library where they are forbidden; the profile tells why'
run pitot record -o auto.pb.gz sh -c 'echo | ./burn 0.1; exit 7'
expect_status 7
expect_stderr_line 'pitot: auto.pb.gz: * samples, * a second of CPU; * CPU seconds seen, *; next: pitot why auto.pb.gz'
run pitot info auto.pb.gz
expect_stdout_line '*engine: perf events of *, which the kernel allows'
if [ "$PITOT_SANITIZED" = 0 ]; then
    run ./refuse 1 "$PITOT" record -o library.pb.gz sh -c 'echo | ./burn 0.1; exit 7'
    expect_status 7
    expect_stderr_line 'pitot: library.pb.gz: * samples, * a second of CPU; * CPU seconds seen, *; next: pitot why library.pb.gz'
    run pitot info library.pb.gz
    expect_stdout_line '*engine: libprofiler.so.0 in the processes, a seccomp filter forbids perf events here; *'
fi
run pitot record --engine=perf -o asked.pb.gz true
run pitot info asked.pb.gz
expect_stdout_line '*engine: perf events of *, as --engine=perf asks'

it 'a signal that is sent to the recorder alone is the command'"'"'s, by either engine'
for engine in perf preload; do
    [ $engine = perf ] || [ "$PITOT_SANITIZED" = 0 ] || continue
    for signal in INT TERM HUP USR1; do
        mkfifo begun
        # A shell that starts a job in the background has it ignore SIGINT.
        env --default-signal "$PITOT" record --engine=$engine -o sent.pb.gz sh -c 'echo >begun; exec sleep 600' 2>"$t_out/stderr" &
        recorder=$!
        read -r _ <begun
        kill -$signal $recorder
        status=0
        wait $recorder || status=$?
        expect_status $((128 + $(kill -l $signal)))
        [ $engine = preload ] || expect [ -s sent.pb.gz ] # no process lived for a sample
        rm -f begun sent.pb.gz
    done
done
mkfifo begun
"$PITOT" record --engine=perf -o sent.pb.gz sh -c 'echo >begun; exec sleep 600' 2>"$t_out/stderr" &
recorder=$!
read -r _ <begun
kill -INT $recorder
status=0
wait $recorder || status=$?
expect_status 143 # the command ignores SIGINT, too
rm -f begun

# The level is another in a mount namespace only, and the kernel's answer is the filter's.
for paranoid in 3 4; do
    it "says what kernel.perf_event_paranoid=$paranoid forbids, and the command that allows it"
    echo $paranoid >level
    if unshare -m mount --bind level /proc/sys/kernel/perf_event_paranoid 2>/dev/null; then
        run unshare -m sh -c "mount --bind level /proc/sys/kernel/perf_event_paranoid && exec ./refuse 13 '$PITOT' record -p $$ -o refused.pb.gz"
        expect_status 1
        expect_stderr "pitot: kernel.perf_event_paranoid is $paranoid, which restricts perf events to root; run with sudo, or: sudo sysctl kernel.perf_event_paranoid=2"
    else
        skip 'no mount namespace can be made here'
    fi
done

it 'says that there is no such process'
run pitot record -p 4194305 -o none.pb.gz
expect_status 1
expect_stderr 'pitot: there is no process 4194305'
run pitot record -p no-such-name -o none.pb.gz
expect_status 1
expect_stderr 'pitot: no process is named no-such-name (names are those of ps -e)'

# nobody COMMAND...: as an ordinary user, in a folder of its own.
if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null; then
    chmod 711 .
    mkdir -m 777 open
    cp "$PITOT" burn open/
    cp -L "$PITOT_BUILD/libprofiler.so.0" open/
    chmod 755 open/*
    as_nobody=(setpriv --reuid 65534 --regid 65534 --clear-groups)
    nobody() { (cd open && exec "${as_nobody[@]}" "$@"); }
    can_be_nobody=1
else
    can_be_nobody=
fi

it 'an ordinary user attaches to a process of his own'
if [ -n "$can_be_nobody" ] && [ "$level" -le 2 ]; then
    (cd open && exec "${as_nobody[@]}" ./burn 0.4 2) <line >truth &
    target=$!
    exec 9>line
    until [ "$(readlink /proc/$target/exe)" = "$PWD/open/burn" ]; do sleep 0.02; done
    (cd open && exec "${as_nobody[@]}" ./pitot record -p $target -o own.pb.gz) 2>"$t_out/stderr" &
    recorder=$!
    is_recording && go
    wait $recorder
    expect_equal 'exit status' $? 0
    wait $target
    expect within "$(summary seen)" "$(cat truth)" 0.06
    expect at_least "$(summary complete)" 99
    [ "$level" != 2 ] || expect_stderr_line 'pitot: no kernel time: kernel.perf_event_paranoid is 2; *sudo sysctl kernel.perf_event_paranoid=1*'
    run pitot top open/own.pb.gz
    expect_stdout_line '*  spin  burn.c:*'
else
    skip "it takes root to become another, and perf_event_paranoid at most 2 (it is $level)"
fi

# Most of these processes end before the recorder has seen their start.
it 'an ordinary user sees short processes of a shell from their start'
if [ -n "$can_be_nobody" ] && [ "$level" -le 2 ]; then
    for _ in 1 2 3; do
        run nobody ./pitot record --engine=perf -o short.pb.gz bash -c 'for i in {1..100}; do x=$(echo a | cat); done'
        missed=$(stderr | sed -n 's/.*the recording lacks \([0-9,]*\) threads*: .*/\1/p')
        [ "${missed:-0}" -le 30 ] && break
    done
    expect_status 0
    expect [ "${missed:-0}" -le 30 ]
    expect at_least "$(summary seen)" 0.01
else
    skip "it takes root to become another, and perf_event_paranoid at most 2 (it is $level)"
fi

# On one CPU most of these processes end before the recorder can open events for them.
it 'the time of processes that ended before their events were open has a row'
if [ -n "$can_be_nobody" ] && [ "$level" -le 2 ] && needs taskset; then
    for _ in 1 2 3 4 5 6 7 8; do
        run nobody taskset -c 0 ./pitot record --engine=perf -o early.pb.gz bash -c 'for i in {1..100}; do x=$(echo a | cat); done'
        missed=$(stderr | sed -n 's/.*the recording lacks \([0-9,]*\) threads*: .*/\1/p')
        [ "${missed:-0}" -ge 100 ] && break
    done
    expect_status 0
    seen=$(summary seen) used=$(summary used)
    expect awk "BEGIN { exit !($seen >= 0.97 * $used - 0.01 && $seen <= 1.03 * $used + 0.01) }"
    run pitot top -n 0 open/early.pb.gz
    [ "${missed:-0}" -lt 100 ] || expect_stdout_has '[start of a thread, not sampled]'
else
    [ -n "$t_skip" ] || skip "it takes root to become another, and perf_event_paranoid at most 2 (it is $level)"
fi

it 'an ordinary user is told whose a process is, and what would allow it'
if [ -n "$can_be_nobody" ] && [ "$level" -le 2 ]; then
    run nobody ./pitot record -p $$ -o foreign.pb.gz
    expect_status 1
    expect_stderr_lines 1
    expect_stderr_line "pitot: $$ (*, uid 0) is not yours; run with sudo, or once: sudo setcap cap_bpf,cap_perfmon,cap_sys_ptrace=ep $PWD/open/pitot"
    if [ "$level" -ge 1 ]; then
        run nobody ./pitot record -a -o all.pb.gz
        expect_status 1
        expect_stderr_line 'pitot: recording the whole machine needs kernel.perf_event_paranoid at 0 or less (it is *); run with sudo, *'
    fi
else
    skip 'it takes root to become another'
fi

it 'a full disk is said, and the samples are kept elsewhere'
mkdir full
if unshare -m mount -t tmpfs -o size=4k none full 2>/dev/null; then
    run unshare -m sh -c "mount -t tmpfs -o size=8k none full && head -c 8192 /dev/zero >full/fill; exec '$PITOT' record --engine=perf -o full/x.pb.gz ./burn 0.1"
    expect_status 1
    expect_stderr_line 'pitot: full/x.pb.gz: *No space left on device'
    expect_stderr_line 'pitot: the samples are not lost: *.pb.gz'
    kept=$(stderr | sed -n 's/.*the samples are not lost: //p')
    run pitot top "$kept"
    expect_status 0
    rm -f "$kept"
else
    skip 'nothing can be mounted here'
fi

it 'samples that fit neither on the disk nor in /dev/shm go to /tmp'
if unshare -m mount -t tmpfs -o size=4k none full 2>/dev/null; then
    run unshare -m sh -c "mount -t tmpfs -o size=8k none full && head -c 8192 /dev/zero >full/fill
        mount -t tmpfs -o size=4k none /dev/shm && head -c 4096 /dev/zero >/dev/shm/fill
        exec '$PITOT' record --engine=perf -o full/x.pb.gz ./burn 0.1"
    expect_status 1
    kept=$(stderr | sed -n 's/.*the samples are not lost: //p')
    expect [ "${kept#/dev/shm}" = "$kept" ]
    run pitot top "$kept"
    expect_status 0
    rm -f "$kept"
else
    skip 'nothing can be mounted here'
fi

it 'a limit of file sizes is an error that is told'
run sh -c "ulimit -f 1; exec '$PITOT' convert --to=speedscope -o limited.json '$PITOT_ROOT/tests/golden/pprof/cpu.pb.gz'"
expect_status 1
expect_stderr_line 'pitot: limited.json: *File too large'
run sh -c "ulimit -f 1; echo | exec '$PITOT' record --engine=perf -o limited.pb.gz ./burn 0.3"
expect_status 1
expect_stderr_line 'pitot: limited.pb.gz: *File too large'
expect_stderr_line 'pitot: the samples are lost: *'

it 'records to the end where the kernel gives no descriptors of processes'
${CC:-cc} -DCALL=SYS_pidfd_open -o refuse-pidfd refuse.c || exit 1
for _ in 1 2 3; do
    run ./refuse-pidfd 38 "$PITOT" record --engine=perf -o no-pidfd.pb.gz sh -c 'echo | ./burn 0.3'
    within "$(summary seen)" 0.3 0.1 && break
done
expect_status 0
expect within "$(summary seen)" 0.3 0.1
begin ./burn 0.2
./refuse-pidfd 38 "$PITOT" record -p $target -o no-pidfd.pb.gz 2>"$t_out/stderr" &
recorder=$!
is_recording && go
wait $recorder
expect_equal 'exit status' $? 0
expect at_least "$(summary seen)" 0.1

it 'few descriptors leave some to read programs with'
if [ "$(id -u)" = 0 ]; then
    run sh -c "ulimit -n 32; exec '$PITOT' record --each-thread -o few.pb.gz sh -c 'echo | ./burn 0.1 8'"
    expect_status 0
    expect_stderr_line 'pitot: the recording lacks * threads: pitot ran out of file descriptors; raise ulimit -n and record again'
    expect at_least "$(summary complete)" 90
fi

it 'reads files where the process sees them: in a container, below another root'
if unshare -m mount -t tmpfs none full 2>/dev/null; then
    mkfifo inside-line
    unshare -m sh -c 'mount -t tmpfs none full && cp burn full/only-inside && exec full/only-inside 0.3' <inside-line >truth &
    target=$!
    exec 9>inside-line
    is_named only-inside
    attached -p $target -o inside.pb.gz
    expect [ ! -e full/only-inside ]
    expect_status 0
    expect at_least "$(summary complete)" 99
else
    skip 'nothing can be mounted here'
fi

it 'a thread is its process, and one whose first thread has ended is recorded, too'
cat >first.c <<'C'
#include <pthread.h>
#include <stdio.h>
#include <time.h>
static double cpu(clockid_t c) { struct timespec t; clock_gettime(c, &t); return t.tv_sec + t.tv_nsec * 1e-9; }
static void *works_on(void *p)
{
    volatile unsigned x = 1;
    getchar();
    do for (int i = 0; i < 20000; i++) x = x * 3 + 1; while (cpu(CLOCK_THREAD_CPUTIME_ID) < 0.2);
    return p;
}
int main(void) { pthread_t t; pthread_create(&t, NULL, works_on, NULL); pthread_exit(NULL); }
C
${CC:-cc} -O2 -pthread -o first first.c || exit 1
for by in thread process; do
    begin ./first
    until grep -qs '^State:.Z' /proc/$target/status && grep -qs '^Threads:.2' /proc/$target/status; do sleep 0.02; done
    thread=$(ls /proc/$target/task | grep -vx $target)
    [ $by = thread ] && attached -p "$thread" -o first.pb.gz || attached -p "$target" -o first.pb.gz
    expect_status 0
    run pitot top first.pb.gz
    expect_stdout_has works_on
    expect_no_stdout_line '*complete stacks 0*'
    wait $target
done

it 'writes to standard output, or says why not'
begin ./burn 0.2
printf 'pitot record -o -' >"$t_out/command"
"$PITOT" record -p $target -o - >piped.gz 2>"$t_out/stderr" &
recorder=$!
is_recording && go
wait $recorder
expect_equal 'exit status' $? 0
expect_no_stderr_line '*next:*'
run pitot top - <piped.gz
expect_stdout_has ' spin'
run pitot record --engine=perf -o - true
expect_status 2
expect_stderr_line '*standard output is the command*'

it 'says why nothing was recorded'
sleep 60 &
stopped=$!
kill -STOP $stopped
run pitot record -p $stopped -d 50ms -o stopped.pb.gz
kill -KILL $stopped
expect_status 0
expect_stderr_line "pitot: process $stopped is still stopped; to continue it: kill -CONT $stopped"
expect_stderr_line '*0 samples, *, no stacks*'
(sleep 60 & echo $! >child && wait) &
parent=$!
until [ -s child ] && grep -q '^State:.S' /proc/$parent/status; do sleep 0.01; done # it waits for its child
run pitot record -F 20 -p $parent -d 1ms -o parent.pb.gz # on a loaded machine it may last 50 times as long
expect_stderr_line 'pitot: the recording lasted only * ms, which is too short for a sample'
run pitot record -p $parent -d 50ms -o parent.pb.gz
kill -KILL $parent "$(cat child)"
expect_status 0
expect_stderr_line 'pitot: the process used no CPU time while it was recorded; --off-cpu shows where its threads wait'
expect_stderr_line "pitot: 1 process that the recorded one started earlier is not recorded: $(cat child) (sleep); --children records it, too"

it 'options that exclude one another are refused'
for wrong in '-p 1 -a' '--user --kernel ls' '--engine=preload -p 1' '--count 5 ls' '--split -p 1' '-d 0 ls' '-a --each-thread' \
    '--cgroup / --each-thread'; do
    # shellcheck disable=SC2086
    run pitot record $wrong
    expect_status 2
done

it 'ends a recording that has filled half of the limit of memory, with a line, and writes it; the command goes on'
# Each sample has another stack: which of two functions calls itself is the toss of a coin.
cat >ways.c <<'C'
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
static double cpu(void) { struct timespec t; clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t); return t.tv_sec + t.tv_nsec * 1e-9; }
static volatile unsigned x = 1;
int left(int depth);
__attribute__((noinline)) int right(int depth)
{
    if (depth == 0) for (int i = 0; i < 100000; i++) x = x * 3 + 1;
    else if (rand() & 4096) left(depth - 1); else right(depth - 1);
    return x;
}
__attribute__((noinline)) int left(int depth)
{
    if (depth == 0) for (int i = 0; i < 100000; i++) x = x * 3 + 1;
    else if (rand() & 4096) right(depth - 1); else left(depth - 1);
    return x + 1;
}
int main(void)
{
    while (cpu() < 1.5) left(200);
    puts("the command ends by itself");
    return 7;
}
C
${CC:-cc} -O1 -fno-optimize-sibling-calls ways.c -o ways || fail 'no program'
PITOT_MAX_MEMORY=4M run pitot record --engine=perf -F 2000 -o ways.pb.gz ./ways
expect_status 7
expect_stdout 'the command ends by itself'
expect_stderr_has 'half of the limit of memory (the other half is for writing the profile); PITOT_MAX_MEMORY=SIZE'
run pitot top ways.pb.gz
expect_status 0
grep -q left "$t_out/stdout" || fail 'no samples were kept'
ended=$(stdout)
PITOT_MAX_MEMORY=nonsense run pitot record --engine=perf -o nonsense.pb.gz ./ways
expect_status 2
[ ! -e nonsense.pb.gz ] || fail 'it recorded all the same'
