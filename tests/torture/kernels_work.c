/* kernels_work: programs whose answers are known, for the small systems of kernels.sh.
 *
 *   cpu SECONDS DEPTH   a quarter of the time in `one`, the rest in `two`, below DEPTH frames of
 * 500 bytes; until the CPU time is used, or SIGTERM comes. Prints "one NS two NS" by the thread's
 * clock. waits               threads that wait in different ways. Prints "FUNCTION NS", off the CPU
 * by their clocks.
 */
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define KEEP __attribute__((noinline))

static double seconds(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* ---- CPU time ---- */

static volatile unsigned x = 1;
static volatile sig_atomic_t is_stopped;

static void stop(int number)
{
    is_stopped = number;
}

KEEP static void one(int n)
{
    for (int i = 0; i < n; i++)
        x = x * 3 + 1;
}

KEEP static void two(int n)
{
    for (int i = 0; i < n; i++)
        x = x * 5 + 1;
}

KEEP static int deep(int depth, double end)
{
    volatile char room[500];
    double begin, middle, in_one = 0, in_two = 0;
    room[0] = room[499] = (char)depth;
    if (depth > 0) return deep(depth - 1, end) + room[0] + room[499];
    /* Rounds of random lengths: ticks at a fixed rate have no beat with them. */
    for (unsigned seed = 1; !is_stopped; seed = seed * 1664525 + 1013904223) {
        begin = seconds(CLOCK_THREAD_CPUTIME_ID);
        if (begin >= end) break;
        one(20000 + (int)(seed >> 15));
        middle = seconds(CLOCK_THREAD_CPUTIME_ID);
        two(3 * (20000 + (int)(seed >> 15)));
        in_one += middle - begin;
        in_two += seconds(CLOCK_THREAD_CPUTIME_ID) - middle;
    }
    printf("one %.0f two %.0f\n", in_one * 1e9, in_two * 1e9);
    return room[0];
}

/* ---- waits ---- */

static const struct timespec whole = {0, 400000000};
static int quiet_pipe[2], quiet_socket[2];

KEEP static void sleeps(void)
{
    nanosleep(&whole, NULL);
    __asm__ volatile("");
}

KEEP static void locks(void)
{
    static int word;
    syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0, &whole, NULL, 0);
    __asm__ volatile("");
}

KEEP static void reads_pipe(void)
{
    char c;
    (void)!read(quiet_pipe[0], &c, 1);
    __asm__ volatile("");
}

KEEP static void reads_socket(void)
{
    char c;
    (void)!read(quiet_socket[0], &c, 1);
    __asm__ volatile("");
}

static struct waiter {
    void (*wait)(void);
    const char *name;
    double off;
} waiters[] = {{sleeps, "sleeps", 0},
               {locks, "locks", 0},
               {reads_pipe, "reads_pipe", 0},
               {reads_socket, "reads_socket", 0}};

static void *run(void *arg)
{
    struct waiter *const w = arg;
    const double wall = seconds(CLOCK_MONOTONIC), cpu = seconds(CLOCK_THREAD_CPUTIME_ID);
    w->wait();
    w->off = seconds(CLOCK_MONOTONIC) - wall - (seconds(CLOCK_THREAD_CPUTIME_ID) - cpu);
    return NULL;
}

static int wait_in_threads(void)
{
    enum { COUNT = sizeof waiters / sizeof waiters[0] };
    pthread_t threads[COUNT];
    sleep(4); /* until a slow recorder has met this program */
    if (pipe(quiet_pipe) != 0 || socketpair(AF_UNIX, SOCK_STREAM, 0, quiet_socket) != 0) return 1;
    for (int i = 0; i < COUNT; i++)
        pthread_create(&threads[i], NULL, run, &waiters[i]);
    nanosleep(&whole, NULL);
    if (write(quiet_pipe[1], "", 1) != 1 || write(quiet_socket[1], "", 1) != 1) return 1;
    for (int i = 0; i < COUNT; i++) {
        pthread_join(threads[i], NULL);
        printf("%s %.0f\n", waiters[i].name, waiters[i].off * 1e9);
    }
    return 0;
}

int main(int argc, char **argv)
{
    if (argc == 4 && strcmp(argv[1], "cpu") == 0) {
        signal(SIGTERM, stop);
        return deep(atoi(argv[3]), atof(argv[2])) == 12345;
    }
    return argc == 2 && strcmp(argv[1], "waits") == 0 ? wait_in_threads() : 2;
}
