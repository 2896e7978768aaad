#!/usr/bin/env bash
# pitot record by the library: what it leaves alone, what it writes, and what it says of how much to
# believe.
# Under the sanitizers: make asan.
. "$(dirname "$0")/lib.sh"

[ -e "$PITOT_BUILD/libprofiler.so.0" ] || skip_all 'libprofiler.so.0 is not there'
command -v "${CC:-cc}" >/dev/null || skip_all 'there is no C compiler'
unset CPUPROFILE CPUPROFILE_FREQUENCY LD_PRELOAD PITOT_RECORD_DIR PITOT_RECORD_HZ

# burn SECONDS [THREADS [stay]]: uses so much CPU time in each thread and prints what all have used,
# then ends or waits to be killed.
cat >burn.c <<'C'
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
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
    for (int i = 1; i < count; i++) pthread_create(&threads[i], NULL, work, &s);
    spin(s);
    for (int i = 1; i < count; i++) pthread_join(threads[i], NULL);
    printf("%.6f\n", cpu(CLOCK_PROCESS_CPUTIME_ID));
    fflush(stdout);
    if (argc > 3) pause();
}
C
cc=${CC:-cc}
$cc -O1 -fno-omit-frame-pointer -pthread burn.c -o burn &&
    $cc -O2 -fomit-frame-pointer -pthread burn.c -o burn-no-fp &&
    $cc -O2 -fomit-frame-pointer -fno-asynchronous-unwind-tables -fno-unwind-tables -pthread burn.c \
        -o burn-no-tables || exit 1

# summary FIELD: of the last line: samples, seen, used, complete.
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

# within A B SHARE: A is B, within that share of it and 0.03: what a program uses before the library is in it, and after
# it has looked at its clock.
within() { python3 -c 'import sys; a, b, s = map(float, sys.argv[1:]); sys.exit(abs(a - b) > s * b + 0.03)' "$@"; }

# sum FILE...: the seconds that programs have printed there, one a line. A program may use more than it is asked for:
# its clock goes on where the machine under it stands still.
sum() { awk '/^[0-9]+[.][0-9]+$/ { sum += $1 } END { print sum + 0 }' "$@"; }

# missed TEXT: the seconds of the line of stderr that says so many "CPU seconds" and this text.
missed() { stderr | sed -n "s/^pitot: \([0-9.]*\) CPU seconds $1.*/\1/p"; }

it 'writes pitot.pb.gz, says how much to believe and what to type next'
run pitot record --engine=preload sh -c 'echo "$PITOT_RECORD_DIR" >folder; exec ./burn 0.3 4'
expect_status 0
cp "$t_out/stdout" truth
expect [ -s pitot.pb.gz ]
expect_stderr_lines 1
expect_stderr_line 'pitot: pitot.pb.gz: * samples, 1000 a second of CPU; *; next: pitot why'
expect within "$(summary seen)" "$(cat truth)" 0.05
expect within "$(summary used)" "$(cat truth)" 0.05
expect [ "$(summary complete | cut -d. -f1)" -ge 95 ]
expect [ -s folder ]
expect [ ! -e "$(cat folder)" ]

it 'answers habits of perf: -g and --call-graph change nothing, -q leaves out the last line'
run pitot record --engine=preload -q -o quiet.pb.gz ./burn 0.1 1
expect_status 0
expect_no_stderr
expect test -s quiet.pb.gz
run pitot record --engine=preload -q -g -o quiet.pb.gz ./burn 0.1 1
expect_stderr_line 'pitot: -g changes nothing: *'
run pitot record --engine=preload -q --call-graph dwarf,8192 -o quiet.pb.gz ./burn 0.1 1
expect_stderr_line 'pitot: --call-graph changes nothing: *'

it 'the profile holds the samples that the summary counts, at the true period'
if needs go; then
    for hz in 100 997 1000 4000; do
        run pitot record --engine=preload -F $hz -o "$hz.pb.gz" ./burn 0.3
        go tool pprof -raw "$hz.pb.gz" 2>/dev/null >raw
        expect grep -qx "Period: $((1000000 / hz))000" raw
        expect grep -qx 'PeriodType: cpu nanoseconds' raw
        expect grep -qx 'samples/count cpu/nanoseconds' raw
        expect_equal "samples at $hz" "$(awk '$1 ~ /^[0-9]+$/ && $2 ~ /^[0-9]+:$/ && !/:.*:/ { n += $1 } END { print n }' raw)" "$(summary samples)"
    done
fi

# brief N MICROSECONDS: N processes, one after the other, that use so much CPU time each, three tenths of it
# in three_tenths, below 20 other functions, all without frame pointers. Prints the nanoseconds of both parts.
cat >brief.c <<'C'
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
static long now(void) { struct timespec t; clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t); return t.tv_sec * 1000000000 + t.tv_nsec; }
static volatile unsigned sink;
__attribute__((noinline)) static void spin(void) { for (int i = 0; i < 500; i++) sink = sink * 3 + 1; }
__attribute__((noinline)) static void three_tenths(long until) { do spin(); while (now() < until); sink++; }
__attribute__((noinline)) static void seven_tenths(long until) { do spin(); while (now() < until); sink += 2; }
static _Atomic(long) *parts;
__attribute__((noinline)) static void below(int depth, long from, long ns)
{
    volatile char room[200];
    room[depth] = 1;
    if (depth > 0)
        below(depth - 1, from, ns);
    else {
        three_tenths(from + ns * 3 / 10);
        const long between = now();
        seven_tenths(from + ns);
        parts[0] += between - from;
        parts[1] += now() - between;
    }
    sink += room[depth];
}
int main(int argc, char **argv)
{
    const int count = atoi(argv[1]), fd = open("parts", O_RDWR | O_CREAT, 0600);
    if (fd < 0 || ftruncate(fd, 4096) != 0) return 1;
    parts = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (count == 0) { below(20, now(), atol(argv[2]) * 1000); return 0; }
    for (int i = 0; i < count; i++) {
        const pid_t pid = fork();
        if (pid == 0) execl(argv[0], argv[0], "0", argv[2], (char *)NULL);
        waitpid(pid, NULL, 0);
    }
    printf("%ld %ld\n", parts[0], parts[1]);
    return 0;
}
C

it 'processes that end before their first sample are counted, and those with one or two have whole stacks'
# The library cuts stacks where the loader binds a symbol at its first call, so all symbols are bound at the start.
$cc -O2 -fomit-frame-pointer -Wl,-z,now brief.c -o brief || exit 1
record_brief() {
    run pitot record --engine=preload -F 1000 -o brief.pb.gz ./brief 400 1500
    expect_status 0
    expect_stderr_line '*, 401 processes*'
    expect awk -v complete="$(summary complete)" 'BEGIN { exit !(complete >= 98) }'
    pitot top --csv -n 0 --sort=total brief.pb.gz >brief.csv
}
# Of N samples a share p has a standard deviation of sqrt(p (1 - p) / N): 1.9 points of 600, and six of them are 11.
# How many periods a process has is rounded by chance at its first tick and at its last one: 0.7 ms of standard
# deviation, 14 ms in 400 processes, and 100 ms are seven of these.
rm -f parts
record_brief
stdout >used
python3 - <<'P' || fail "$(cat used brief.csv)"
import csv, sys
used = [int(ns) for ns in open('used').read().split()]
total = {row['name']: int(row['total']) for row in csv.DictReader(open('brief.csv'))}
three, seven = total['three_tenths'], total['seven_tenths']
share, due = three / (three + seven), used[0] / sum(used)
print(f'# three_tenths has {share:.3f} of {(three + seven) / 1e6:.0f} ms, and used {due:.3f} of {sum(used) / 1e6:.0f} ms')
sigma = (due * (1 - due) / (sum(used) / 1e6)) ** 0.5
sys.exit(abs(share - due) > 6 * sigma or abs(three + seven - sum(used)) > 100e6 or total['below'] < three + seven)
P

# forks: how much CPU time, in milliseconds, a process used that does little but fork. Its memory makes that dear.
cat >forks.c <<'C'
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
int main(void)
{
    enum { BYTES = 16 << 20 };
    char *const room = malloc(BYTES);
    for (int i = 0; i < BYTES; i += 4096) room[i] = 1;
    for (int i = 0; i < 200; i++) {
        const pid_t pid = fork();
        if (pid == 0) _exit(0);
        waitpid(pid, NULL, 0);
    }
    struct rusage used;
    getrusage(RUSAGE_SELF, &used);
    printf("%d %ld\n", (int)getpid(), (used.ru_utime.tv_sec + used.ru_stime.tv_sec) * 1000 +
           (used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1000);
    return 0;
}
C

it 'a process that drops its user after its start is sampled to its end'
# An ordinary user may not count time in the kernel, which the events of the first ticks do.
if [ "$(id -u)" != 0 ]; then
    skip 'only root can drop to another user'
else
    cat >drop.c <<'C'
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
int main(void)
{
    for (int i = 0; i < 10; i++) {
        if (fork() != 0) continue;
        if (setuid(65534) != 0) return 1;
        while (clock() < CLOCKS_PER_SEC / 2) continue;
        _exit(0);
    }
    while (wait(NULL) > 0) continue;
    return 0;
}
C
    $cc -O1 -w drop.c -o drop || exit 1
    run pitot record --engine=preload -F 1000 -o drop.pb.gz ./drop
    expect_status 0
    expect within "$(summary seen)" "$(summary used)" 0.02
fi

it 'processes that end soon share one file of the folder'
# A file each would be 40 of them and more; 20,000 processes of a build would fill a container's /dev/shm. One that has
# three samples has a file of its own, and shows its threads in it: on a machine that stands still at times, some more.
run pitot record --engine=preload -F 1000 -o soon.pb.gz bash -c 'for i in $(seq 200); do /bin/true; done
    ls "$PITOT_RECORD_DIR" | wc -l; du -sk "$PITOT_RECORD_DIR" | cut -f1'
expect_status 0
expect_stderr_line '*, 20? processes, *'
read -d '' -r files kilobytes <"$t_out/stdout"
pitot dump --json -n 0 soon.pb.gz >soon.json
longer=$(python3 - <<'P'
import collections, json
ticks = collections.Counter()
for sample in json.load(open('soon.json'))['samples']:
    pid = [label['number'] for label in sample.get('labels', []) if label['key'] == 'pid']
    ticks[pid[0] if pid else None] += sample['values'][0]
print(sum(n >= 3 for n in ticks.values()))
P
)
expect [ "$files" -le $((12 + longer)) ]
expect [ "$kilobytes" -le $((1200 + 100 * longer)) ]
expect awk -v samples="$(summary samples)" 'BEGIN { exit !(samples >= 20) }'

it 'CPU time that no sample can show is a row of its own, and the rows add up to what was used'
# Half and more of the time of a program that does nothing is exec, the loader and its exit.
run pitot record --engine=preload -F 4000 -o many.pb.gz bash -c 'for i in $(seq 100); do /bin/true; done'
expect_status 0
expect_stderr_line 'pitot: many.pb.gz: * CPU s in rows \[not sampled\], *'
run pitot top --json -n 0 many.pb.gz
cp "$t_out/stdout" many.json
expect python3 - many.json <<'PY'
import json, sys
head = json.load(open(sys.argv[1]))['profile']
sys.exit(not 0.9 < head['total'] / head['cpu_used_ns'] < 1.1)
PY
run pitot top --tag-focus=comm=true -n 0 many.pb.gz
expect_stdout_line '*%  \[not sampled: fork, exec, loader\]*'
expect_no_stdout_line '*not sampled: exit*'

it 'the time that fork takes is the time of fork, and not of recording or of the next call'
$cc -O1 forks.c -o forks || exit 1
run pitot record --engine=preload -F 1000 -o forks.pb.gz ./forks
expect_status 0
stdout >forked
run pitot top --csv -n 0 --tag-focus="pid=$(cut -d' ' -f1 forked)" forks.pb.gz
stdout >forks.csv
python3 - <<'P' || fail "$(cat forked forks.csv)"
import csv, sys
used = int(open('forked').read().split()[1])
total = {row['name']: int(row['total']) / 1e6 for row in csv.DictReader(open('forks.csv'))}
seen, fork = max(total.values()), max(ms for name, ms in total.items() if 'fork' in name.lower())
print(f'# {used} ms used, {seen:.0f} seen, {fork:.0f} in fork')
sys.exit(not 0.8 * used < seen < 1.1 * used or not fork > 0.6 * used)
P

it 'a process has no thread of the library before it has had samples, and one afterwards'
# threads: how many it has at its start, and how many when it has worked until there is another one.
cat >threads.c <<'C'
#include <stdio.h>
#include <sys/stat.h>
#include <time.h>
static int count(void) { struct stat st; return stat("/proc/self/task", &st) == 0 ? (int)st.st_nlink - 2 : -1; }
int main(void)
{
    const int first = count();
    struct timespec t;
    do clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t); while (t.tv_sec < 60 && (t.tv_nsec % 1000 != 0 || count() == first));
    printf("%d %d\n", first, count());
    return 0;
}
C
$cc -O1 threads.c -o threads || exit 1
run pitot record --engine=preload -F 100 -o threads.pb.gz ./threads
expect_stdout '1 2'

it 'programs that the library cannot enter are named with their CPU time'
if $cc -O1 -static -pthread burn.c -o fixed 2>cc.err; then
    run pitot record --engine=preload -o fixed.pb.gz sh -c './fixed 0.3; ./fixed 0.3; env ./burn 0.3 >entered; true'
    expect_status 0
    expect_stderr_line 'pitot: * CPU seconds in 2 programs that the library cannot enter (fixed): --engine=perf'
    expect within "$(missed 'in 2 programs')" "$(sum "$t_out/stdout")" 0.05
    expect within "$(summary seen)" "$(sum entered)" 0.05
    printf '#!%s/fixed 0.2\n' "$PWD" >script
    chmod +x script
    python=$(python3 -c 'import sys; print(sys.executable)') # which may be a script that looks for it
    run pitot record --engine=preload -o fixed.pb.gz "$python" -c 'import os; os.posix_spawn("script", ["script"], os.environ); os.wait(); os.spawnvp(os.P_WAIT, "./fixed", ["fixed", "0.2"])'
    expect_stderr_line 'pitot: * CPU seconds in 2 programs that the library cannot enter (fixed): --engine=perf'
    expect within "$(missed 'in 2 programs')" "$(sum "$t_out/stdout")" 0.05
    run pitot record --engine=preload -o fixed.pb.gz sh -c './burn 0.2; true'
    expect_no_stderr_line '*cannot enter*'
else
    skip 'no static libc'
fi

it 'a daemon that outlives its recorder is left alone, with its timers and without a thread of ours'
# left PID: it has one thread and no perf event. The recording ends when the daemon has the library's thread, and has
# worked long enough for a sample in its file.
left() { [ "$(ls "/proc/$1/task" | wc -l)" = 1 ] && ! grep -q perf_event "/proc/$1/maps"; }
run pitot record --engine=preload -o daemon.pb.gz sh -c './burn 600 >/dev/null 2>&1 & echo $! >daemon
    worked() { [ "$(ls "/proc/$1/task" | wc -l)" = 2 ] && [ "$(awk "{ print \$14 }" "/proc/$1/stat")" -ge 20 ]; } # 0.2 s
    until worked $! || ! kill -0 $!; do sleep 0.01; done'
expect_status 0
expect_stderr_line '*1 process still running;*'
eventually left "$(cat daemon)" || fail "$(ls "/proc/$(cat daemon)/task"; grep perf_event "/proc/$(cat daemon)/maps")"
kill "$(cat daemon)"

it 'a filter of system calls that a program sets does not end it for the thread of the library'
cat >filter.c <<'C'
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#define REFUSE(number) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (number), 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS)
int main(void)
{
    struct sock_filter rules[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        REFUSE(SYS_clone), REFUSE(SYS_clone3), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
    const struct sock_fprog program = {sizeof rules / sizeof rules[0], rules};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) return 99;
    struct timespec from, t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &from);
    do clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t); while ((t.tv_sec - from.tv_sec) * 1000000000 + t.tv_nsec - from.tv_nsec < 200000000);
    printf("%f\n", (double)(t.tv_sec - from.tv_sec) + 1e-9 * (double)(t.tv_nsec - from.tv_nsec));
    return 0;
}
C
$cc -O1 filter.c -o filter || exit 1
run pitot record --engine=preload -F 1000 -o filter.pb.gz ./filter
if [ "$status" = 99 ]; then
    skip 'this kernel has no seccomp filters'
else
    expect_status 0
    expect awk -v seen="$(pitot top --csv filter.pb.gz | awk -F, '$5 == "main" { print $3 / 1e9 }')" -v used="$(sum "$t_out/stdout")" 'BEGIN { exit !(seen > used / 2) }'
fi

it 'where /dev/shm is small, the journals are in the next place'
if unshare -m true 2>/dev/null; then
    mkdir -p elsewhere
    run env TMPDIR="$PWD/elsewhere" unshare -m sh -c 'mount -t tmpfs -o size=1m none /dev/shm && "$PITOT" record --engine=preload -o small.pb.gz sh -c "echo \$PITOT_RECORD_DIR >place; ./burn 0.3"'
    expect_status 0
    expect within "$(summary seen)" "$(sum "$t_out/stdout")" 0.05
    expect grep -q "^$PWD/elsewhere/" place
    run unshare -m sh -c 'mount -t tmpfs -o size=16k none /dev/shm && mount -t tmpfs -o size=16k none /tmp && unset TMPDIR && "$PITOT" record --engine=preload -o full.pb.gz sh -c "dd if=/dev/zero of=/dev/shm/full bs=4k 2>/dev/null; ./burn 0.3"'
    expect_stderr_line 'pitot: there is no space left in /*: samples are lost*'
else
    skip 'unshare -m is not allowed here'
fi

it 'a debugger that starts a program in a recording meets no tick'
# traces COMMAND...: runs it as a debugger does and prints how often it stopped, beside its exec.
cat >traces.c <<'C'
#include <signal.h>
#include <stdio.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>
int main(int argc, char **argv)
{
    int status, stops = 0;
    (void)argc;
    const pid_t pid = fork();
    if (pid == 0) { ptrace(PTRACE_TRACEME, 0, NULL, NULL); execv(argv[1], argv + 1); _exit(127); }
    waitpid(pid, &status, 0);
    while (WIFSTOPPED(status)) {
        const int signo = WSTOPSIG(status);
        stops += signo == SIGTRAP;
        ptrace(PTRACE_CONT, pid, NULL, (void *)(long)(signo == SIGTRAP ? 0 : signo));
        waitpid(pid, &status, 0);
    }
    printf("%d\n", stops - 1);
    return 0;
}
C
$cc -O1 traces.c -o traces || exit 1
run pitot record --engine=preload -F 1000 -o traces.pb.gz ./traces ./burn 0.3
expect_stdout_line 0
expect within "$(summary seen)" "$(sum "$t_out/stdout")" 0.1

it 'all processes of the tree are in one file, told apart by pid and comm'
run pitot record --engine=preload -o tree.pb.gz sh -c './burn 0.2; cp burn other; ./other 0.2 & wait; exit 0'
expect_status 0
expect_stderr_line '*, [45] processes*; next: pitot why tree.pb.gz'
expect within "$(summary seen)" "$(sum "$t_out/stdout")" 0.1
if needs go; then
    go tool pprof -tags tree.pb.gz 2>/dev/null >tags
    expect grep -Eq ': burn$' tags
    expect grep -Eq ': other$' tags
fi

it '--split writes a file for each process'
run pitot record --engine=preload --split -o split.pb.gz sh -c './burn 0.2; ./burn 0.2; true'
expect_status 0
expect [ "$(ls split.*.pb.gz | grep -cE '^split\.[0-9]+(\.[0-9]+)?\.pb\.gz$')" -ge 2 ] # sh may be seen

expect [ ! -e split.pb.gz ]

it '--repeat writes a file for each run, which diff compares, until a run fails'
run pitot record --engine=preload --repeat=2 -o again.pb.gz ./burn 0.05
expect_status 0
expect_stderr_line 'pitot: next: pitot diff BEFORE... -- again.1.pb.gz again.2.pb.gz'
run pitot diff again.1.pb.gz again.2.pb.gz -- again.2.pb.gz again.1.pb.gz
expect_status 0
expect_stdout_line '2 profiles -> 2 profiles: *'
run pitot record --engine=preload --repeat=3 -o fails.pb.gz sh -c 'echo ran >>runs; ./burn 0.02; exit 3'
expect_status 3
expect_equal runs "$(wc -l <runs)" 1
run pitot record --repeat=2 -p 1
expect_status 2

it 'a signal ends a --repeat, though the run that has it ends with 0'
cat >ignores.sh <<'END'
echo ran >>signalled
trap '' TERM
kill -TERM "$(awk '{ print $4 }' "/proc/$PPID/stat")"
./burn 0.02
END
run pitot record --engine=preload --repeat=3 -o signalled.pb.gz sh ignores.sh
expect_status 143
expect_equal runs "$(wc -l <signalled)" 1
expect_stderr_line 'pitot: stopped by signal 15 (Terminated): the other runs are not made'

it 'the exit status is the command'"'"'s'
run pitot record --engine=preload -o x.pb.gz sh -c './burn 0.05 >/dev/null; exit 7'
expect_status 7
run pitot record --engine=preload -o x.pb.gz sh -c './burn 0.05 >/dev/null; kill -TERM $$'
expect_status 143
expect_stderr_line 'pitot: sh was ended by signal 15 (*)'
run pitot record --engine=preload -o x.pb.gz ./not-there
expect_status 127
expect_stderr 'pitot: ./not-there: cannot be run: No such file or directory'
run pitot record --engine=preload -o none.pb.gz not-there
expect_stderr 'pitot: not-there: there is no such command'
printf 'exit 0\n' >not-runnable
run pitot record --engine=preload -o none.pb.gz ./not-runnable
expect_status 126
expect_stderr 'pitot: ./not-runnable: cannot be run: it is not executable; chmod +x ./not-runnable, or name the program that runs it first'
chmod +x not-runnable
run pitot record --engine=preload -o none.pb.gz not-runnable
expect_stderr 'pitot: not-runnable: there is no such command; the one in this folder: ./not-runnable'
run pitot record --engine=preload -o x.pb.gz ./burn.c
expect_status 126

# Reports show what the program did. What the library does in its place is counted: with what was seen
# it makes up the CPU time of the processes.
it 'no report shows what recording itself takes, in processes and threads that come and go, by either engine'
cat >forks.c <<'C'
#include <sys/wait.h>
#include <unistd.h>
int main(void)
{
    for (int i = 0; i < 500; i++) {
        const pid_t child = fork();
        if (child == 0) {
            for (volatile int k = 0; k < 200000; k++) continue;
            _exit(0);
        }
        waitpid(child, NULL, 0);
    }
}
C
cat >threads.c <<'C'
#include <pthread.h>
#include <time.h>
static double cpu(clockid_t c) { struct timespec t; clock_gettime(c, &t); return t.tv_sec + t.tv_nsec * 1e-9; }
static void *work(void *arg)
{
    const double end = cpu(CLOCK_THREAD_CPUTIME_ID) + 0.001;
    while (cpu(CLOCK_THREAD_CPUTIME_ID) < end) continue;
    return arg;
}
int main(void)
{
    for (int i = 0; i < 500; i++) {
        pthread_t thread;
        pthread_create(&thread, NULL, work, NULL);
        pthread_join(thread, NULL);
    }
}
C
cat >loop.sh <<'S'
for i in $(seq 100); do x=$(echo a | sed s/a/b/); done
S
$cc -O1 -g forks.c -o forks && $cc -O1 -g -pthread threads.c -o threads || fail 'does not build'
for engine in preload perf; do
    for program in ./forks ./threads 'bash loop.sh'; do
        run pitot record --engine=$engine -o own.pb.gz $program
        [ $engine = perf ] && [ "$status" = 1 ] && continue # none here
        expect_status 0
        run pitot top -n 0 own.pb.gz
        expect_status 0
        expect_no_stdout_line '*libprofiler*'
        expect_no_stdout_line '* pt_*'
        run pitot top --focus='^pt_|libprofiler' own.pb.gz
        expect_no_stdout
        if [ $engine = preload ] && [ "$program" = ./threads ]; then
            pitot info own.pb.gz | sed -n 's/.*cpu: \([0-9.]*\) s used by all processes, \([0-9.]*\) s sampled.*; recording itself \([0-9.]*\) s.*/\1 \2 \3/p' >own
            read -r used seen own <own
            expect [ "$(awk "BEGIN { print ($own > 0 && $seen > 0.85 * $used && $seen < 1.1 * $used) }")" = 1 ]
        fi
    done
done

# What a process has sampled is in its file a tenth of a second later, if the library's thread gets a processor
# (abi/torture has the rest).
it 'a command that is killed loses nothing'
# PID SECONDS: waits until there are samples of so much time in the file of that process.
cat >wait-for-file.py <<'P'
import glob, os, subprocess, sys, time
pid, seconds = sys.argv[1], float(sys.argv[2])
reader = os.environ['PITOT_ROOT'] + '/tests/abi/journal.py'
end = time.monotonic() + 300
while time.monotonic() < end:
    journals = glob.glob(f'{os.environ["PITOT_RECORD_DIR"]}/{pid}.*')
    read = subprocess.run([sys.executable, reader, *journals], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    counts = dict(line.split() for line in read.stdout.splitlines())
    if int(counts.get('samples', 0)) / 1000 > seconds - 0.03: break
    time.sleep(0.05)
P
rm -f burnt && mkfifo burnt
run pitot record --engine=preload -o killed.pb.gz sh -c './burn 0.3; ./burn 0.3 1 stay >burnt & read used <burnt; echo $used
    env -u LD_PRELOAD python3 wait-for-file.py $! $used; kill -KILL $!; kill -KILL $$'
expect_status 137
expect within "$(summary seen)" "$(sum "$t_out/stdout")" 0.05

it 'a command under timeout ends when its time is over'
run timeout 300 "$PITOT" record --engine=preload -o timeout.pb.gz timeout 0.2 ./burn 600
expect_status 124
expect [ -s timeout.pb.gz ]

it 'standard streams are the command'"'"'s'
echo spoken | pitot record --engine=preload -o x.pb.gz sh -c 'cat; echo aside >&2; ./burn 0.05 >/dev/null' >out 2>err
expect_equal 'stdout' "$(cat out)" spoken
expect_equal 'first line of stderr' "$(head -n 1 err)" aside

it 'Ctrl-C ends the command and the profile is written'
if needs python3; then
    cat >interrupt.py <<'PY'
import os, signal, subprocess, sys, time
child = subprocess.Popen(sys.argv[1:], start_new_session=True, stdout=subprocess.PIPE,
                         preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))
child.stdout.readline()  # the first program has ended, the second one begins
os.killpg(child.pid, signal.SIGINT)
sys.exit(child.wait())
PY
    # exec: a shell that is about to fork sets a SIGINT aside until its child has ended.
    run python3 interrupt.py "$PITOT" record --engine=preload -o int.pb.gz sh -c './burn 0.2 >first; echo ended; exec ./burn 600'
    expect_status 130
    expect [ -s int.pb.gz ]
    # Of the program that the signal ended there may be a part.
    expect awk -v seen="$(summary seen)" -v used="$(sum first)" 'BEGIN { exit !(seen > 0.95 * used - 0.03) }'
fi

it 'the file of the last run is kept as .old'
rm -f pitot.pb.gz*
run pitot record --engine=preload ./burn 0.05
cp pitot.pb.gz first
run pitot record --engine=preload ./burn 0.05
expect_same first pitot.pb.gz.old
expect [ -s pitot.pb.gz ]

it 'a rate that cannot be is refused, with the range'
run pitot record --engine=preload -F 0 ./burn 0.05
expect_status 2
expect_stderr_line '*1 to 20000*'
run pitot record
expect_status 2

it 'without unwind tables and frame pointers the share of complete stacks is low, and the line before says why'
run pitot record --engine=preload -o no-tables.pb.gz ./burn-no-tables 0.2
expect_status 0
# Some instructions of the loop tell where the caller is. Which of them a sample meets is chance: 58 of 100 are cut here,
# with a standard deviation of 3.5 of 200 samples. Six of these, and as much again for another compiler.
expect awk -v complete="$(summary complete)" 'BEGIN { exit !(complete < 84) }'
expect_stderr_line '*of the stacks are cut in *burn-no-tables*frame pointers*'
cut=$(stderr | sed -n 's/.* \([0-9.]*\) % of the stacks are cut in .*/\1/p')
expect awk -v cut="${cut:-0}" -v complete="$(summary complete)" 'BEGIN { exit !(cut + complete > 98 && cut + complete < 102) }'

it 'walks code without frame pointers by its unwind tables, in every thread'
run pitot record --engine=preload -o nofp.pb.gz ./burn-no-fp 0.3 3
expect_status 0
expect [ "$(python3 -c "print($(summary complete) >= 99.5)")" = True ]

# outside REASON COMMAND...: what the library cannot be in is refused before it runs, where it is asked
# for or the kernel gives no perf events; else these record it.
perf_events=0
pitot record --engine=perf -o x.pb.gz true 2>/dev/null && perf_events=1
outside() {
    local reason=$1
    shift
    run pitot record --engine=preload -o x.pb.gz "$@"
    expect_status 1
    expect_no_stdout
    expect_stderr_line "pitot: $reason"
    run pitot record -o x.pb.gz "$@"
    if [ $perf_events = 1 ]; then
        expect_status 0
        # and of Go, perhaps, that code without rules cut some stack; on a full machine, that samples were lost
        expect_equal 'other lines' "$(stderr | grep -v 'samples, \|of the stacks are cut in\|samples were lost')" ''
        expect_stderr_line 'pitot: x.pb.gz: * samples, *'
    else
        expect_status 1
        expect_stderr_line "pitot: $reason"
    fi
}

it 'a static program is recorded from outside'
if $cc -static -O1 -pthread burn.c -o burn-static 2>/dev/null; then
    outside './burn-static is statically linked: *' ./burn-static 0.1
else
    skip 'no static libc'
fi

it 'a setuid program is recorded from outside'
if [ "$(id -u)" = 0 ]; then
    cp burn burn-setuid
    chown 65534 burn-setuid
    chmod u+s burn-setuid
    outside './burn-setuid runs with more rights than you*' ./burn-setuid 0.1
else
    skip 'only root can make one'
fi

it 'a Go program is recorded from outside, and so is a script for one'
if needs go; then
    outside 'go is a Go program*' go list std
    printf '#!%s\n' "$(command -v go)" >script
    chmod +x script
    run pitot record --engine=preload -o x.pb.gz ./script
    expect_stderr_line 'pitot: ./script: its interpreter */go is a Go program*'
fi

it 'static children are missed, and their CPU time is said to be'
if [ -x burn-static ]; then
    run pitot record --engine=preload -o mixed.pb.gz sh -c './burn 0.1 >entered; ./burn-static 0.3'
    expect_status 0
    expect_stderr_line 'pitot: * CPU seconds in 1 program that the library cannot enter (burn-static): --engine=perf'
    expect within "$(missed 'in 1 program')" "$(sum "$t_out/stdout")" 0.05
    expect within "$(summary seen)" "$(sum entered)" 0.05
    run pitot record --engine=preload -o mixed.pb.gz sh -c './burn 0.1 >entered; env -i ./burn 0.3'
    expect_stderr_line 'pitot: * CPU seconds have no samples: they are of processes that ran without the library (a cleared*'
    expect within "$(missed 'have no samples')" "$(sum "$t_out/stdout")" 0.05
else
    skip 'no static libc'
fi

it 'a library that is preloaded already stays, and CPUPROFILE is left as it is'
printf '%s\n' '#include <stdio.h>' '__attribute__((constructor)) static void c(void) { fputs("first\n", stderr); }' >pre.c
$cc -shared -fPIC pre.c -o pre.so
LD_PRELOAD=$PWD/pre.so CPUPROFILE=mine "$PITOT" record --engine=preload -o x.pb.gz sh -c 'echo "$CPUPROFILE"; ./burn 0.05' >out 2>err
expect grep -qx first err
expect_equal 'CPUPROFILE inside' "$(head -n 1 out)" mine
expect [ ! -e mine ]

it 'a program that starts a profile itself is told that it is being recorded'
if [ -e "$PITOT_ROOT/tests/abi/host.c" ]; then
    $cc -D_GNU_SOURCE -O1 -fno-omit-frame-pointer -pthread -I "$PITOT_ROOT/include" "$PITOT_ROOT/tests/abi/host.c" \
        -o host -L "$PITOT_BUILD" -l:libprofiler.so.0 -Wl,-rpath,"$PITOT_BUILD" -ldl
    run pitot record --engine=preload -o x.pb.gz ./host alive
    expect_status 0
    expect_stdout_line 'started 0'
    expect_stderr_line '*alive.prof: not written, since pitot record is profiling this process'
    expect [ ! -e alive.prof ]
fi

it 'what is no regular file among the journals is passed over'
run pitot record --engine=preload -o x.pb.gz sh -c 'cd "$PITOT_RECORD_DIR" && mkfifo 1.0.journal && ln -s /etc/passwd 2.0.journal; exec '"$PWD"'/burn 0.05'
expect_status 0
expect_no_stderr_line '*journal*'
expect_no_stderr_line '*passwd*'

it 'nothing that a program left in the folder keeps it from being removed'
run pitot record --engine=preload -o x.pb.gz sh -c 'echo "$PITOT_RECORD_DIR" >folder; cd "$PITOT_RECORD_DIR" && : >.hidden && mkdir -p sub/sub && : >sub/sub/file; exec '"$PWD"'/burn 0.05'
expect_status 0
expect [ ! -e "$(cat folder)" ]
expect [ ! -e "$(dirname "$(cat folder)")" ]

it 'the folder of root can be found by those only who are told of it'
if [ "$(id -u)" = 0 ] && needs python3; then
    cat >peek.py <<'PY'
import os, sys
inner = os.environ['PITOT_RECORD_DIR']
os.setgid(65534)
os.setuid(65534)
open(inner + '/mine', 'w').close()
for folder in inner, os.path.dirname(inner):
    try:
        print(os.listdir(folder))
    except PermissionError:
        print('refused')
PY
    run pitot record --engine=preload -o x.pb.gz sh -c 'python3 peek.py; exec ./burn 0.05'
    expect_stdout_lines 3
    expect_equal 'folders that could be listed' "$(stdout | grep -vc -e refused -e '^[0-9.]*$')" 0
    expect_equal 'name in the folder that all may list' "$(stdout | grep -c mine)" 0
else
    [ -n "$t_skip" ] || skip 'only root has such a folder'
fi

# In a /dev/shm of its own: recorders of other tests look there, too.
it 'what a killed recorder left is told once, and stays until pitot recover has read it'
mkfifo held killed living go-on
if unshare -m mount -t tmpfs none /dev/shm 2>/dev/null; then
    unshare -m sh -c 'mount -t tmpfs none /dev/shm && echo >held && exec sleep 600' >/dev/null 2>&1 &
    holder=$!
    read -r _ <held
    inside() { nsenter -m -t $holder --wd="$PWD" "$@"; }
    inside "$PITOT" record --engine=preload -o x.pb.gz sh -c 'echo "$PITOT_RECORD_DIR $$ $PPID" >killed; ./burn 0.3; exec ./burn 0.05 1 stay' >cut-said 2>/dev/null &
    recorder=$!
    read -r killed burner parent <killed
    has_both() { [ "$(grep -c '^[0-9]' cut-said)" = 2 ]; }
    eventually has_both # the first program has ended, the second one stays
    kill -KILL $parent $burner
    wait $recorder 2>/dev/null
    inside "$PITOT" record --engine=preload -o living.pb.gz sh -c 'echo "$PITOT_RECORD_DIR" >living; read line <go-on; exec ./burn 0.05' >/dev/null 2>living-said &
    recorder=$!
    read -r living <living
    for folder in "$killed" "$living"; do
        inside touch -c -d '2 days ago' "$folder" "$(dirname "$folder")"
    done
    for told in living-said ''; do # by the next one, and by recover again
        run inside "$PITOT" recover
        expect_status 0
        [ -z "$told" ] || cp $told "$t_out/stderr"
        expect_stderr_line "pitot: a recording was killed at [0-9][0-9]:[0-9][0-9]; to save its samples: pitot recover $(dirname "$killed")"
        expect_no_stderr_line "*$(dirname "$living")*"
    done
    run inside "$PITOT" record -o x.pb.gz ./burn 0.05
    expect_no_stderr_line '*cut off*'
    expect inside test -d "$killed"
    run inside "$PITOT" recover "$(dirname "$killed")"
    expect_status 0
    expect_stdout_line 'recovered.pb.gz: * samples, * journal*'
    expect awk -v samples="$(stdout | sed -n 's/^recovered.pb.gz: \([0-9]*\) samples.*/\1/p')" -v first="$(sed -n 1p cut-said)" -v all="$(sum cut-said)" \
        'BEGIN { exit !(samples / 1000 > 0.95 * first - 0.03 && samples / 1000 < 1.05 * all + 0.03) }'
    run pitot tags recovered.pb.gz
    expect_stdout_has burn
    expect inside test ! -e "$(dirname "$killed")"
    expect inside test -d "$living"
    echo >go-on
    wait $recorder || fail 'the living recorder failed'
    expect [ -s living.pb.gz ]
    kill $holder
    wait $holder 2>/dev/null
else
    skip 'nothing can be mounted here'
fi

it 'a recording looks for others that were cut off in /tmp only if one was there since the machine started'
if needs strace && unshare -m sh -c 'mount -t tmpfs none /dev/shm' 2>/dev/null; then
    # cut_off SIZE: records in a /dev/shm of that size, with a folder that was cut off in TMPDIR; twice, and recovers.
    cut_off() {
        rm -rf far && mkdir -p far/pitot-record-abcdef/0123
        echo x >far/pitot-record-abcdef/0123/1.journal
        run env TMPDIR="$PWD/far" unshare -m sh -c 'mount -t tmpfs -o size=$2 none /dev/shm
            for i in 1 2; do strace -f -e trace=openat -o opened "$1" record --engine=preload -o near.pb.gz true; done
            echo again >&2; "$1" recover' sh "$PITOT" "$1"
        stderr | sed '/^again$/q' >at_once
    }
    cut_off 64m
    expect_equal 'times that TMPDIR was listed' "$(grep -c 'far", .*O_DIRECTORY' opened)" 0
    expect_equal 'lines about it' "$(grep -c 'was killed' at_once)" 0
    expect_stderr_line "*was killed at *pitot recover $PWD/far/pitot-record-abcdef"
    cut_off 1m
    expect_equal 'lines about it' "$(grep -c "was killed at .*pitot recover $PWD/far/pitot-record-abcdef" at_once)" 1
else
    skip 'nothing can be mounted here'
fi

it 'recover removes the folder of a recording without samples, and no folder that is none'
if unshare -m sh -c 'mount -t tmpfs none /dev/shm' 2>/dev/null; then
    mkdir -p no-recording/sub
    run unshare -m sh -c 'mount -t tmpfs none /dev/shm && mkdir -p /dev/shm/pitot-record-abcdef/0123 &&
        "$1" recover /dev/shm/pitot-record-abcdef
        "$1" recover no-recording
        test ! -e /dev/shm/pitot-record-abcdef && test -d no-recording/sub' sh "$PITOT"
    expect_status 0
    expect_stderr_line 'pitot: /dev/shm/pitot-record-abcdef: the folder holds no recording; it is removed'
    expect_stderr_line 'pitot: no-recording: the folder holds no recording'
else
    skip 'nothing can be mounted here'
fi

it 'works from a folder with a space in its name'
mkdir -p 'with space'
cp "$PITOT" 'with space/pitot'
cp -L "$PITOT_BUILD/libprofiler.so.0" 'with space/'
run 'with space/pitot' record --engine=preload -o space.pb.gz ./burn 0.1
expect_status 0
expect within "$(summary seen)" "$(sum "$t_out/stdout")" 0.05

it 'says where the library should be if it is not there'
mkdir -p alone
cp "$PITOT" alone/pitot
run alone/pitot record --engine=preload -o x.pb.gz ./burn 0.05
expect_status 1
expect_stderr_line 'pitot: libprofiler.so.0 is neither in *'

it 'a profile that cannot be written is an error, after the command has run'
run pitot record --engine=preload -o no/such/folder.pb.gz ./burn 0.05
expect_status 1
expect_stderr_line '*no/such/folder*'

it 'the journal that a killed process leaves is a profile'
$cc -D_GNU_SOURCE -O1 -fno-omit-frame-pointer -pthread -I "$PITOT_ROOT/include" "$PITOT_ROOT/tests/abi/host.c" \
    -o host -L "$PITOT_BUILD" -l:libprofiler.so.0 -Wl,-rpath,"$PITOT_BUILD" -ldl
CPUPROFILE=crash CPUPROFILE_FREQUENCY=1000 run sh -c './host kill; true'
run pitot top crash
expect_status 0
expect_stdout_has case_kill
expect_stderr_line '*killed or still runs*'
if needs go; then
    run pitot dump crash
    expect_status 0
fi

it 'says before it runs anything that the file cannot be written'
run pitot record --engine=preload -o missing/x.pb.gz sh -c 'echo ran >ran'
expect_status 1
expect_stderr_line 'pitot: missing/x.pb.gz cannot be written, nothing is recorded; name another place with -o*'
expect test ! -e ran

it 'keeps the samples when the file cannot be written after all, and tells how to get them'
run pitot record --engine=preload -o /dev/full sh -c 'i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done'
expect_status 1
kept=$(stderr | sed -n 's/.*the samples are not lost: pitot recover //p')
expect test -d "$kept"
run pitot recover "$kept" -o back.pb.gz
expect_status 0
expect test -s back.pb.gz
expect test ! -e "$kept"

it 'names functions at once in a format that has no addresses'
cat >spin.c <<'C'
int main(void) { volatile unsigned long n = 0; while (n < 200000000) n++; return 0; }
C
if needs cc && cc -O1 -g spin.c -o spin; then
    run pitot record --engine=preload -o spin.folded ./spin
    expect_status 0
    expect grep -q ';main [0-9]' spin.folded
    expect_stderr_line 'pitot: folded leaves out * label sets of samples, *'
fi

it 'walks the stacks of coroutines, and from a stack for signals to the one that was interrupted, by the library'
cat >coroutines.c <<'C'
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <ucontext.h>
enum { ROUTINES = 8, BYTES = 1 << 17 };
static ucontext_t caller, routine[ROUTINES];
static volatile unsigned x;
__attribute__((noinline)) static unsigned go_down(int depth)
{
    volatile unsigned kept = depth;
    if (depth > 0) return go_down(depth - 1) + kept;
    for (int i = 0; i < 500000; i++) x = x * 5 + 1;
    return kept;
}
static void run(int which)
{
    for (;;) {
        go_down(10 + which);
        swapcontext(&routine[which], &caller);
    }
}
static void on_signal(int signo) { go_down(signo % 8); }
int main(void)
{
    const stack_t alternate = {.ss_sp = malloc(BYTES), .ss_size = BYTES};
    const struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_ONSTACK};
    sigaltstack(&alternate, NULL);
    sigaction(SIGUSR1, &action, NULL);
    for (int i = 0; i < ROUTINES; i++) {
        getcontext(&routine[i]);
        routine[i].uc_stack.ss_size = BYTES;
        routine[i].uc_stack.ss_sp = i % 2 ? malloc(BYTES) : mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        makecontext(&routine[i], (void (*)(void))run, 1, i);
    }
    for (int n = 0; n < 900; n++) {
        swapcontext(&caller, &routine[n % ROUTINES]);
        if (n % 4 == 0) raise(SIGUSR1);
    }
}
C
if needs cc && cc -O1 -g -fomit-frame-pointer coroutines.c -o coroutines; then
    run pitot record --engine=preload -o coroutines.pb.gz ./coroutines
    expect_status 0
    whole=$(stderr | sed -n 's/.*seen, \([0-9]*\)[.0-9]* % of the stacks complete.*/\1/p')
    expect [ "$whole" -ge 90 ]
    expect_equal 'samples lost' "$(stderr | grep -c 'samples lost')" 0
    run pitot traces -n 0 --csv coroutines.pb.gz
    expect [ "$(stdout | grep -c 'go_down;run;')" -ge 5 ]
    expect [ "$(stdout | grep -c 'go_down;on_signal;.*;main;')" -ge 1 ]
fi

it "the library's processes take unwind tables that an earlier recording has made"
# Seen by the names of the files that python3 opens; a table of which a bit is wrong is not taken.
busy='import time
def spins():
    until = time.process_time() + 0.1
    while time.process_time() < until: sum(range(100))
spins()'
if needs python3 strace && [ "$PITOT_SANITIZED" = 0 ]; then
    export XDG_CACHE_HOME=$PWD/tables_cache
    run pitot record --engine=preload -o first.pb.gz python3 -c "$busy"
    expect_status 0
    expect [ "$(find tables_cache -name '*.table' | wc -l)" -ge 1 ]
    run strace -f -e trace=openat -o opened "$PITOT" record --engine=preload -o second.pb.gz python3 -c "$busy"
    expect_status 0
    expect [ "$(grep -c '[0-9a-f]\.[0-9]*\.table", O_RDONLY|.*O_NONBLOCK.*) = [0-9]' opened)" -ge 1 ]
    run pitot top -n 0 second.pb.gz
    expect_stdout_has spins
    for table in tables_cache/pitot/tables/*.table; do printf x | dd of="$table" bs=1 seek=2000 conv=notrunc status=none; done
    run pitot record --engine=preload -o third.pb.gz python3 -c "$busy"
    expect_status 0
    run pitot top -n 0 third.pb.gz
    expect_stdout_has spins
    unset XDG_CACHE_HOME
fi

it 'no unwind table is made of a library without samples, neither in the process nor by record'
# Seen by what is read of the process's memory: the library's .eh_frame is larger than anything else; and by its file.
if needs strace readelf && [ "$PITOT_SANITIZED" = 0 ]; then
    printf '%s\n' .text '.rept 20000' .cfi_startproc ret .cfi_endproc .endr '.section .note.GNU-stack,"",%progbits' >idle.s
    $cc -shared idle.s -o libidle.so && $cc -O1 -pthread burn.c -Wl,--no-as-needed -L. -lidle -Wl,-rpath,"$PWD" -o burn-idle || exit 1
    frames=$((16#$(readelf -SW libidle.so | sed -n 's/.* \.eh_frame  *PROGBITS  *[0-9a-f]* [0-9a-f]* \([0-9a-f]*\) .*/\1/p')))
    expect [ "$frames" -gt 300000 ]
    run env XDG_CACHE_HOME="$PWD/idle_cache" strace -f -e trace=process_vm_readv,openat -o calls "$PITOT" record --engine=preload -o idle.pb.gz ./burn-idle 0.3
    expect_status 0
    expect [ "$(grep -c process_vm_readv calls)" -ge 1 ]
    expect_equal 'reads of as many bytes' "$(sed -n 's/.*process_vm_readv.*iov_len=\([0-9]*\)}.*/\1/p' calls | awk -v frames="$frames" '$1 >= frames' | wc -l)" 0
    # The loader opens it once.
    expect_equal 'times that the file was opened' "$(grep -c 'libidle\.so".*) = [0-9]' calls)" 1
    run pitot info idle.pb.gz
    expect_stdout_has 'libidle.so'
fi
