#!/usr/bin/env bash
# What a switch costs where waits are recorded: two threads wake each other over pipes, alone, and under both engines in turn.
# And no switch is lost: the sums are the kernel's own counts of the program's switches.
. "$(dirname "$0")/../cli/lib.sh"

run pitot record --engine=bpf --off-cpu -o probe.pb.gz true
[ "$status" = 0 ] || skip_all "no BPF here: $(stderr | tail -n 1)"
needs python3 || skip_all 'python3 is not installed'

# ping SECONDS DEPTH: prints its CPU time and its switches, below so many frames.
cat >ping.c <<'C'
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>
static int there[2], back[2];
static double end;
static double now(void) { struct timespec t; clock_gettime(CLOCK_MONOTONIC, &t); return t.tv_sec + t.tv_nsec * 1e-9; }
__attribute__((noinline)) static int deep(long depth, int (*work)(void))
{
    volatile char room[64];
    room[0] = (char)depth;
    return depth > 0 ? deep(depth - 1, work) + room[0] : work() + room[0];
}
static int serves(void) { char c; while (read(there[0], &c, 1) == 1 && write(back[1], &c, 1) == 1); return 0; }
static int asks(void)
{
    char c = 0;
    while (now() < end)
        for (int i = 0; i < 64; i++)
            if (write(there[1], &c, 1) != 1 || read(back[0], &c, 1) != 1) return 1;
    close(there[1]);
    return 0;
}
static void *server(void *depth) { deep((long)depth, serves); return NULL; }
int main(int argc, char **argv)
{
    pthread_t thread;
    cpu_set_t set;
    struct rusage used;
    if (argc < 3 || pipe(there) != 0 || pipe(back) != 0) return 1;
    sched_getaffinity(0, sizeof set, &set); /* one cpu that is allowed */
    for (int i = CPU_SETSIZE - 1, last = 0; i >= 0; i--)
        if (CPU_ISSET(i, &set) && last++ > 0) CPU_CLR(i, &set);
    sched_setaffinity(0, sizeof set, &set);
    end = now() + atof(argv[1]);
    pthread_create(&thread, NULL, server, (void *)atol(argv[2]));
    deep(atol(argv[2]), asks);
    pthread_join(thread, NULL);
    getrusage(RUSAGE_SELF, &used);
    printf("%.0f %ld\n", (used.ru_utime.tv_sec + used.ru_stime.tv_sec) * 1e6 + used.ru_utime.tv_usec + used.ru_stime.tv_usec,
           used.ru_nvcsw + used.ru_nivcsw);
    return 0;
}
C
${CC:-cc} -O2 -pthread -o ping ping.c || exit 1

# values FILE: the waits and preemptions of ping in it.
values() {
    for event in waits preemptions; do
        pitot top --json -e $event "$1" | python3 -c 'import json, sys; print(json.load(sys.stdin)["profile"]["total"])'
    done | awk '{ n += $1 } END { print n }'
}

it 'costs less than half of what events of switches cost, and counts every switch'
for round in 1 2 3; do
    ./ping 2 20 >>alone || fail 'ping'
    for engine in bpf perf; do
        "$PITOT" record --engine=$engine --off-cpu -o $engine.pb.gz ./ping 2 20 >now 2>said || fail "$(cat said)"
        cat now >>$engine
        [ $engine = perf ] || lost=$(sed -n 's/^pitot: \([0-9]*\) waits* .* not in the values.*/\1/p' said)
    done
    echo "$(tail -n 1 bpf | cut -d' ' -f2) $(values bpf.pb.gz) ${lost:-0}" >>counted
done
python3 - "$(cut -d' ' -f1 /proc/loadavg)" <<'PY' || fail "$(cat alone bpf perf counted)"
import statistics, sys
def cost(name):
    return statistics.median(int(us) / int(n) for us, n in (line.split() for line in open(name)))
alone, bpf, perf = cost('alone'), cost('bpf'), cost('perf')
print(f'# load {sys.argv[1]}: a switch takes {alone:.2f} us of CPU time alone; recorded by bpf {bpf - alone:.2f} us more, by perf {perf - alone:.2f} us more')
for own, counted, lost in (map(int, line.split()) for line in open('counted')):
    print(f'# {own} switches, {counted} counted, {lost} said to be lost')
    assert abs(counted + lost - own) <= own / 1000 + 8, (own, counted, lost)
assert bpf - alone < (perf - alone) / 2
PY
