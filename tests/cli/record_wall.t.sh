#!/usr/bin/env bash
# record --wall: the library counts the time on the wall of each thread, and waits go on as they would without it.
# Under the sanitizers: make asan.
. "$(dirname "$0")/lib.sh"

for tool in gcc python3; do
    command -v $tool >/dev/null || skip_all "$tool is not installed"
done
unset CPUPROFILE CPUPROFILE_FREQUENCY LD_PRELOAD PITOT_RECORD_DIR PITOT_RECORD_HZ

# Computes 70 % and waits 30 %, by each call that a signal ends with EINTR; says its own seconds, and how many waits ended early or failed.
cat >waits.c <<'C'
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static volatile unsigned long sink;
static int early, failed;
static volatile sig_atomic_t alarms;

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

__attribute__((noinline)) double compute(double seconds)
{
    const double begin = now();
    while (now() < begin + seconds)
        for (int i = 0; i < 1000; i++) sink += (unsigned long)i;
    return now() - begin;
}

__attribute__((noinline)) double wait_a_while(int how, int ms)
{
    const double begin = now();
    struct timespec t = {.tv_nsec = ms * 1000000L}, rest, until;
    struct timeval v = {.tv_usec = ms * 1000};
    struct epoll_event event;
    sem_t sem;
    int good = 0;
    const int fd = epoll_create1(0);
    sem_init(&sem, 0, 0);
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += ms * 1000000L;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    switch (how) {
    case 0: good = usleep((useconds_t)ms * 1000) == 0; break;
    case 1: good = nanosleep(&t, &rest) == 0; break;
    case 2: good = clock_nanosleep(CLOCK_MONOTONIC, 0, &t, NULL) == 0; break;
    case 3: good = poll(NULL, 0, ms) == 0; break;
    case 4: good = select(0, NULL, NULL, NULL, &v) == 0; break;
    case 5: good = epoll_wait(fd, &event, 1, ms) == 0; break;
    case 6: good = ppoll(NULL, 0, &t, NULL) == 0; break;
    default: good = sem_timedwait(&sem, &until) != 0 && errno == ETIMEDOUT; break;
    }
    close(fd);
    early += now() - begin < ms / 1000.0 - 0.001;
    failed += !good;
    return now() - begin;
}

static void on_alarm(int number)
{
    (void)number;
    alarms++;
}

static void *sleeper(void *arg)
{
    const double begin = now();
    sleep(1);
    *(double *)arg = now() - begin;
    return NULL;
}

/* Ends with the first signal, as the signal thread of a server does. */
static void *signal_waiter(void *arg)
{
    int signo;
    sigwait(arg, &signo);
    return NULL;
}

int main(void)
{
    double computed = 0, waited = 0, slept = 0;
    pthread_t thread, waiter;
    sigset_t usr1, alarm;
    const double begin = now();
    sigemptyset(&usr1);
    sigemptyset(&alarm);
    sigaddset(&usr1, SIGUSR1);
    sigaddset(&alarm, SIGALRM); /* the first thread's: while a tick is on its way there, another one would get it */
    pthread_sigmask(SIG_BLOCK, &usr1, NULL);
    pthread_sigmask(SIG_BLOCK, &alarm, NULL);
    pthread_create(&waiter, NULL, signal_waiter, &usr1);
    pthread_create(&thread, NULL, sleeper, &slept);
    for (int i = 0; i < 8; i++) {
        computed += compute(0.07);
        waited += wait_a_while(i, 30);
    }
    signal(SIGALRM, on_alarm);
    pthread_sigmask(SIG_UNBLOCK, &alarm, NULL);
    setitimer(ITIMER_REAL, &(struct itimerval){{.tv_usec = 50000}, {.tv_usec = 50000}}, NULL);
    const int paused = pause() == -1 && errno == EINTR && alarms >= 1;
    setitimer(ITIMER_REAL, &(struct itimerval){0}, NULL);
    pthread_join(thread, NULL);
    kill(getpid(), SIGUSR1);
    pthread_join(waiter, NULL);
    printf("computed %.6f waited %.6f slept %.6f joined %.6f early %d failed %d paused %d\n", computed, waited, slept,
           now() - begin, early, failed, paused);
    return 0;
}
C
gcc -O1 -g -pthread waits.c -o waits 2>wrong || fail "$(cat wrong)"
told() { sed "s/.*$1 \([0-9.]*\).*/\1/" said; }
# near A B: no more than 0.05 s and 5 % apart.
near() { awk -v a="$1" -v b="$2" 'BEGIN { d = a > b ? a - b : b - a; exit !(d <= 0.05 + 0.05 * b) }'; }

it 'shows what a program computes and where it waits, in seconds on the wall'
run "$PITOT" record --wall -F 1000 -o wall.pb.gz ./waits
expect_status 0
cp "$t_out/stdout" said
expect_stderr_line 'pitot: wall.pb.gz: * samples, 1000 a second of each thread; * thread seconds, waits included, *'
run pitot top -n 0 --json wall.pb.gz
expect_stdout_has '"wall"'
cp "$t_out/stdout" wall.json
python3 - wall.json >sums <<'P' || fail 'the report cannot be read'
import json, sys
rows = {row['name']: row for row in json.load(open(sys.argv[1]))['rows']}
print(*(rows.get(name, {}).get('total', 0) / 1e9 for name in ('compute', 'wait_a_while', 'sleeper', 'main', 'signal_waiter')))
P
read -r compute waits sleeper main waiter <sums
expect near "$compute" "$(told computed)"
expect near "$waits" "$(told waited)"
expect near "$sleeper" "$(told slept)"
expect near "$main" "$(told joined)"
expect near "$waiter" "$(told joined)"

it 'ends no wait early, whatever call it is, and leaves EINTR to the signals of the program'
expect_equal 'early' "$(told early)" 0
expect_equal 'failed' "$(told failed)" 0
expect_equal 'paused' "$(told paused)" 1

it 'names functions of Python that wait'
printf 'import time\ndef nap():\n    time.sleep(0.3)\ndef work():\n    end = time.monotonic() + 0.2\n    while time.monotonic() < end: pass\nnap(); work()\n' >nap.py
run "$PITOT" record --wall -o nap.pb.gz python3 nap.py
expect_status 0
run pitot top -n 0 nap.pb.gz
expect_stdout_line '* nap  nap.py:3'

it 'says what excludes it, and in what a profile differs'
run pitot record --wall -p 1
expect_status 2
expect_stderr_has 'pitot: --wall samples a command by pitot'\''s library, and needs no perf events: leave out --pid; for waits by perf events, use --off-cpu'
run pitot info wall.pb.gz
expect_stdout_line '*wall (nanoseconds):*'
expect_stdout_line '*engine: libprofiler.so.0 in the processes, as --wall takes'
