#!/usr/bin/env bash
# pitot record --off-cpu: waits that a program in the kernel sees. The recorded program's own clocks say what is
# right.
. "$(dirname "$0")/lib.sh"

command -v "${CC:-cc}" >/dev/null || skip_all 'there is no C compiler'
run pitot record --engine=bpf --off-cpu -o probe.pb.gz true
[ "$status" = 0 ] || skip_all "no BPF here: $(stderr | tail -n 1)"
[ "$PITOT_SANITIZED" = 0 ] || skip_all 'the recorder is slow under the sanitizers'

# kinds [MS]: prints the name of each thread's function, and how long the thread was off the CPU by its own clocks, in ns. MS:
# the threads sleep so long before.
cat >kinds.c <<'C'
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
enum { MS = 150 };
static const struct timespec whole = {0, MS * 1000000};
static int quiet_pipe[2], quiet_socket[2], before_ms;
static double seconds(clockid_t clock) { struct timespec t; clock_gettime(clock, &t); return t.tv_sec + t.tv_nsec * 1e-9; }
#define WAIT __attribute__((noinline)) static void
WAIT sleeps(void) { nanosleep(&whole, NULL); __asm__ volatile(""); }
WAIT locks(void) { static int word; syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0, &whole, NULL, 0); __asm__ volatile(""); }
WAIT polls(void) { poll(NULL, 0, MS); __asm__ volatile(""); }
WAIT reads_pipe(void) { char c; (void)!read(quiet_pipe[0], &c, 1); __asm__ volatile(""); }
WAIT reads_socket(void) { char c; (void)!read(quiet_socket[0], &c, 1); __asm__ volatile(""); }
WAIT in_child(void) { nanosleep(&whole, NULL); __asm__ volatile(""); }
WAIT awaits_child(void) { if (fork() == 0) { in_child(); _exit(0); } wait(NULL); __asm__ volatile(""); }
WAIT wakes(void) { (void)!write(quiet_pipe[1], "", 1); (void)!write(quiet_socket[1], "", 1); __asm__ volatile(""); }
static struct waiter { void (*wait)(void); const char *name; double off; } waiters[] = {
    {sleeps, "sleeps", 0}, {locks, "locks", 0}, {polls, "polls", 0},
    {reads_pipe, "reads_pipe", 0}, {reads_socket, "reads_socket", 0}, {awaits_child, "awaits_child", 0}};
static void *run(void *arg)
{
    struct waiter *const w = arg;
    usleep(before_ms * 1000);
    double wall, cpu;
    do wall = seconds(CLOCK_MONOTONIC), cpu = seconds(CLOCK_THREAD_CPUTIME_ID); // again if another thread ran between them
    while (seconds(CLOCK_MONOTONIC) - wall > 20e-6);
    w->wait();
    w->off = seconds(CLOCK_MONOTONIC) - wall - (seconds(CLOCK_THREAD_CPUTIME_ID) - cpu);
    return NULL;
}
int main(int argc, char **argv)
{
    enum { COUNT = sizeof waiters / sizeof waiters[0] };
    pthread_t threads[COUNT];
    before_ms = argc > 1 ? atoi(argv[1]) : 0;
    if (pipe(quiet_pipe) != 0 || socketpair(AF_UNIX, SOCK_STREAM, 0, quiet_socket) != 0) return 1;
    for (int i = 0; i < COUNT; i++) pthread_create(&threads[i], NULL, run, &waiters[i]);
    usleep(before_ms * 1000);
    nanosleep(&whole, NULL);
    wakes();
    for (int i = 0; i < COUNT; i++) pthread_join(threads[i], NULL);
    for (int i = 0; i < COUNT; i++) printf("%s %.0f\n", waiters[i].name, waiters[i].off * 1e9);
    return 0;
}
C
${CC:-cc} -O1 -g -pthread -o kinds kinds.c || exit 1

# Compares the sums below each function with what the program says: within 0.1 %, and 50 us for what lies between the two
# readings of a clock.
cat >compare.py <<'PY'
import collections, json, sys
kinds = {'sleeps': 'sleep', 'locks': 'lock', 'polls': 'poll', 'reads_pipe': 'pipe', 'reads_socket': 'socket', 'awaits_child': 'child'}
own = {name: int(ns) for name, ns in (line.split() for line in open('own'))}
dump = json.load(open(sys.argv[1]))
place = {event['type']: i for i, event in enumerate(dump['events'])}
off, kind, longest = collections.Counter(), {}, collections.Counter()
def names_of(sample): return {frame.get('function') for frame in sample['frames']}
def pid_of(sample): return next((label['number'] for label in sample.get('labels', []) if label['key'] == 'pid'), 0)
# The child is in awaits_child, too, before its own function and after it. A recording with a timeline has no pids.
children = {pid_of(sample) for sample in dump['samples'] if 'in_child' in names_of(sample)} - {0}
for sample in dump['samples']:
    names = names_of(sample)
    labels = {label['key']: label.get('text') for label in sample.get('labels', [])}
    for name in names & own.keys() if 'in_child' not in names and pid_of(sample) not in children else ():
        value = lambda event: sample['values'][place[event]]
        off[name] += value('off-cpu') + value('ready')
        if value('off-cpu') > longest[name]:
            kind[name], longest[name] = labels.get('wait'), value('off-cpu')
for name, ns in own.items():
    assert abs(off[name] - ns) < ns / 1000 + 50000, (name, off[name], ns)
    assert len(sys.argv) > 2 or kind[name] == kinds[name], (name, kind[name])
PY

it 'sums waits exactly, and tells what they are for'
for how in --timeline --wakers; do
    # Again if the machine stopped the program between its readings of two clocks.
    for _ in 1 2 3 4 5 6 7 8; do
        "$PITOT" record $how --off-cpu -o kinds.pb.gz ./kinds >own 2>said || fail "$(cat said)"
        pitot dump --json -n 0 kinds.pb.gz >kinds.json
        python3 compare.py kinds.json 2>wrong && break
    done
    [ ! -s wrong ] || fail "$how $(cat wrong)"
done
run pitot tree -e off-cpu --tag-focus=wait=socket kinds.pb.gz
expect_stdout_has reads_socket
expect_no_stdout_line '*reads_pipe*'

it 'takes the stacks of each n-th switch beyond a limit; all waits are counted, and the profile tells n'
cat >ping.c <<'C'
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>
static int there[2], back[2], rounds;
static double now(clockid_t c) { struct timespec t; clock_gettime(c, &t); return t.tv_sec + t.tv_nsec * 1e-9; }
static double off[2];
static void *ping(void *arg)
{
    char c;
    const double wall = now(CLOCK_MONOTONIC), cpu = now(CLOCK_THREAD_CPUTIME_ID);
    for (int i = 0; i < rounds; i++) { (void)!write(there[1], "", 1); (void)!read(back[0], &c, 1); }
    off[0] = now(CLOCK_MONOTONIC) - wall - (now(CLOCK_THREAD_CPUTIME_ID) - cpu);
    return arg;
}
static void *pong(void *arg)
{
    char c;
    const double wall = now(CLOCK_MONOTONIC), cpu = now(CLOCK_THREAD_CPUTIME_ID);
    for (int i = 0; i < rounds; i++) { (void)!read(there[0], &c, 1); (void)!write(back[1], "", 1); }
    off[1] = now(CLOCK_MONOTONIC) - wall - (now(CLOCK_THREAD_CPUTIME_ID) - cpu);
    return arg;
}
int main(int argc, char **argv)
{
    cpu_set_t one;
    pthread_t a, b;
    struct rusage used;
    CPU_ZERO(&one); CPU_SET(0, &one);
    sched_setaffinity(0, sizeof one, &one);
    rounds = atoi(argv[1]);
    if (pipe(there) != 0 || pipe(back) != 0) return 1;
    pthread_create(&a, NULL, ping, NULL); pthread_create(&b, NULL, pong, NULL);
    pthread_join(a, NULL); pthread_join(b, NULL);
    getrusage(RUSAGE_SELF, &used);
    printf("%ld %.6f\n", used.ru_nvcsw + used.ru_nivcsw, off[0] + off[1]);
    return 0;
}
C
${CC:-cc} -O1 -g -pthread -o ping ping.c || exit 1
run pitot record --switch-stacks=500 true
expect_status 2
expect_stderr_has '--switch-stacks needs --off-cpu and a BPF program'
# sums FILE: waits and preemptions; off-CPU time and time ready, in ns.
sums() {
    pitot dump --json -n 0 "$1" | python3 -c '
import json, sys
dump = json.load(sys.stdin)
place = {event["type"]: i for i, event in enumerate(dump["events"])}
total = lambda kind: sum(sample["values"][place[kind]] for sample in dump["samples"])
print(total("waits") + total("preemptions"), total("off-cpu") + total("ready"))'
}
"$PITOT" record --off-cpu --switch-stacks=500 -o ping.pb.gz ./ping 8000 >own 2>said || fail "$(cat said)"
run pitot info ping.pb.gz
expect_stdout_line '*waits: the stacks of * were not taken, where a cpu had more than 500 switches a second: a stack that was taken stands for up to * waits; the totals of each process are exact*'
passed=$(stdout | sed -n 's/.*the stacks of \([0-9]*\) were not taken.*/\1/p')
[ "${passed:-0}" -ge 8000 ] || fail "$(stdout)"
# The kernel counts the switches of the process, and the threads read their own clocks; the process has a few more waits at
# its end.
sums ping.pb.gz >sums
awk 'NR == FNR { switches = $1; off = $2 * 1e9; next }
     { exit !($1 >= switches * 0.999 && $1 <= switches * 1.001 + 20 && $2 >= off * 0.999) }' own sums ||
    fail "$(cat own sums)"

it 'tells what ends the waits'
for options in --wakers '--wakers --off-cpu --engine=perf' '--wakers --off-cpu --each-thread'; do
    run pitot record $options true
    expect_status 2
done
expect_stderr_has '--wakers needs --off-cpu'
cat >wakers.py <<'PY'
import json
dump = json.load(open('kinds.json'))
place = {event['type']: i for i, event in enumerate(dump['events'])}
woken = {'pipe': 0, 'socket': 0}
for sample in dump['samples']:
    names = {frame.get('function') for frame in sample['frames']}
    labels = {label['key']: label.get('text') for label in sample['labels']}
    off = sample['values'][place['off-cpu']]
    if off > 100000000:
        assert labels['waker'] == ('kinds' if labels['wait'] in ('pipe', 'socket', 'child') or 'pthread_join' in str(names)
                                   else 'interrupt') or labels['wait'] == 'lock', (labels, names)
    if 'reads_pipe' in names or 'reads_socket' in names: woken[labels.get('wait', 'pipe')] += off
ended = sum(sample['values'][place['woken']] for sample in dump['samples'] if 'wakes' in {f.get('function') for f in sample['frames']})
# The function of main wakes the two.
assert abs(ended - sum(woken.values())) <= 0.001 * ended + 50000 and ended > 0, (ended, woken)
PY
# Again, and later in the program's life, if the program was not known yet when it woke the two: then the stack of the waker
# has the kernel's frames only. The recorder looks at a quiet program twice a second.
for before_ms in 1000 2000 4000 8000 0; do
    python3 wakers.py 2>wrong && break
    "$PITOT" record --wakers --off-cpu -o kinds.pb.gz ./kinds $before_ms >own 2>said || fail "$(cat said)"
    pitot dump --json -n 0 kinds.pb.gz >kinds.json
done
[ ! -s wrong ] || fail "$(cat wrong)"

it 'agrees with the other engine'
# Which sums all of a wait as off-cpu until the thread runs, and opens its events when a thread has begun. Again, too, if the machine is so full that samples are lost.
for _ in 1 2 3 4 5 6 7 8; do
    "$PITOT" record --engine=perf --off-cpu -o perf.pb.gz ./kinds 150 >own 2>said || fail "$(cat said)"
    pitot dump --json -n 0 perf.pb.gz >perf.json
    python3 compare.py perf.json no-kinds 2>wrong && break
done
[ ! -s wrong ] || fail "$(cat wrong)"

it 'has the waits of threads that wait before their events are open, without stacks'
# Prints how long all threads but the first were off the CPU.
cat >crowd.c <<'C'
#include <pthread.h>
#include <stdio.h>
#include <time.h>
enum { COUNT = 100 };
static double off[COUNT];
static double seconds(clockid_t clock) { struct timespec t; clock_gettime(clock, &t); return t.tv_sec + t.tv_nsec * 1e-9; }
static void *run(void *arg)
{
    const struct timespec time = {0, 100000000};
    const double wall = seconds(CLOCK_MONOTONIC), cpu = seconds(CLOCK_THREAD_CPUTIME_ID);
    nanosleep(&time, NULL);
    *(double *)arg = seconds(CLOCK_MONOTONIC) - wall - (seconds(CLOCK_THREAD_CPUTIME_ID) - cpu);
    return NULL;
}
int main(void)
{
    pthread_t threads[COUNT];
    double sum = 0;
    for (int i = 0; i < COUNT; i++) pthread_create(&threads[i], NULL, run, &off[i]);
    for (int i = 0; i < COUNT; i++) pthread_join(threads[i], NULL), sum += off[i];
    printf("%f\n", sum);
}
C
cat >whole.py <<'PY'
import json
own = float(open('own').read())
dump = json.load(open('crowd.json'))
place = {event['type']: i for i, event in enumerate(dump['events'])}
seen = sum(sample['values'][place['off-cpu']] + sample['values'][place['ready']] for sample in dump['samples']
           if 'main' not in {frame.get('function') for frame in sample['frames']}) / 1e9
assert 0.98 * own < seen, (own, seen)
PY
${CC:-cc} -O1 -g -pthread -o crowd crowd.c || exit 1
for _ in 1 2 3 4; do # again as above
    "$PITOT" record --engine=perf --off-cpu -o crowd.pb.gz ./crowd >own 2>said || fail "$(cat said)"
    pitot dump --json -n 0 crowd.pb.gz >crowd.json
    python3 whole.py 2>wrong && break
done
[ ! -s wrong ] || fail "$(cat wrong)"

it 'has the stack of a thread that waits all the while'
cat >rests.c <<'C'
#include <unistd.h>
__attribute__((noinline)) static void rests_here(void) { pause(); __asm__ volatile(""); }
int main(void) { rests_here(); return 0; }
C
${CC:-cc} -O1 -g -o rests rests.c || exit 1
./rests &
target=$!
is_at_rest() { [ "$(cut -d' ' -f1 /proc/$target/syscall)" = 34 ]; }
[ "$(uname -m)" != x86_64 ] || eventually is_at_rest || fail "$(cat /proc/$target/syscall)"
run pitot record --engine=bpf --off-cpu -p $target -d 200ms -o rests.pb.gz
expect_status 0
pitot dump --json -n 0 rests.pb.gz >rests.json
expect python3 - <<'PY'
import json
dump = json.load(open('rests.json'))
place = {event['type']: i for i, event in enumerate(dump['events'])}
one, = dump['samples']
assert one['values'][place['off-cpu']] >= 150000000 and one['values'][place['waits']] == 1, one['values']
assert {'key': 'wait', 'text': 'signal'} in one['labels'] and one['end'] == 'root', one
assert {'rests_here', 'main'} <= {frame.get('function') for frame in one['frames']}, one['frames']
PY

it 'leaves nothing in the kernel when it is killed'
kill_bpf_recorder pt_bpf_switch waiting --off-cpu -p $target
kill $target
