/* record_truth.c CASE: programs that know how much CPU time fa() and fb() took in all their
 * threads, by the threads' own clocks, and print it: "share-of-fa seconds-of-both
 * seconds-of-the-process".
 *
 *   split   one thread, 70/30
 *   short   8 threads of 1 to 3 ms at a time, in waves
 *   blocked a busy thread, and one that mostly waits
 *   many    2 busy threads and 6 that mostly wait
 *
 * And programs with a rhythm, each half a second of CPU time, 30/70:
 *
 *   cpu:P   one thread in rounds of P us
 *   wake:P  one thread that sleeps until a multiple of P us, and works for half of it
 *   crowd   64 threads of 10 ms at once
 *   brief   250 threads of 2 ms, one after the other
 *   read    300 us in read(/dev/zero), in the place of fa, 700 us in fb
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static int64_t clock_of(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return t.tv_sec * 1000000000LL + t.tv_nsec;
}

/* odd: or the compiler would make one function of both */
#define SPIN(odd)                                                                                  \
    const int64_t end = clock_of(CLOCK_THREAD_CPUTIME_ID) + ns;                                    \
    volatile unsigned x = 1;                                                                       \
    do                                                                                             \
        for (int i = 0; i < 1000; i++)                                                             \
            x = x * odd + 1;                                                                       \
    while (clock_of(CLOCK_THREAD_CPUTIME_ID) < end)

__attribute__((noinline)) static void fa(int64_t ns)
{
    SPIN(3);
}

__attribute__((noinline)) static void fb(int64_t ns)
{
    SPIN(5);
}

static _Atomic int64_t in_a, in_b;

static void both(int64_t a_ns, int64_t b_ns)
{
    const int64_t t0 = clock_of(CLOCK_THREAD_CPUTIME_ID);
    fa(a_ns);
    const int64_t t1 = clock_of(CLOCK_THREAD_CPUTIME_ID);
    fb(b_ns);
    in_a += t1 - t0;
    in_b += clock_of(CLOCK_THREAD_CPUTIME_ID) - t1;
}

static void *short_thread(void *arg)
{
    const int64_t ns = 1000000 * (1 + (intptr_t)arg % 3);
    both(ns * 7 / 10, ns * 3 / 10);
    return NULL;
}

static void *busy_thread(void *arg)
{
    for (int i = 0; i < 100; i++)
        both(7000000, 3000000);
    return arg;
}

/* 1 ms of work, then 9 of waiting. */
static void *blocked_thread(void *arg)
{
    for (int i = 0; i < 100; i++) {
        const struct timespec nine = {0, 9000000};
        both(300000, 700000);
        nanosleep(&nine, NULL);
    }
    return arg;
}

enum { HALF_SECOND = 500000000 };

static void work_in_rounds(int64_t round_ns)
{
    for (int64_t at = 0; at < HALF_SECOND; at += round_ns)
        both(round_ns * 3 / 10, round_ns * 7 / 10);
}

static void wake_and_work(int64_t round_ns)
{
    for (int64_t at = 0; at < HALF_SECOND; at += round_ns / 2) {
        const int64_t next = (clock_of(CLOCK_MONOTONIC) / round_ns + 1) * round_ns;
        const struct timespec until = {next / 1000000000, next % 1000000000};
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
        both(round_ns * 3 / 20, round_ns * 7 / 20);
    }
}

static void *work_once(void *ns)
{
    both((intptr_t)ns * 3 / 10, (intptr_t)ns * 7 / 10);
    return NULL;
}

static void run_crowd(void)
{
    pthread_t threads[64];
    for (int i = 0; i < 64; i++)
        pthread_create(&threads[i], NULL, work_once, (void *)10000000);
    for (int i = 0; i < 64; i++)
        pthread_join(threads[i], NULL);
}

static void run_brief(void)
{
    for (int i = 0; i < 250; i++) {
        pthread_t thread;
        pthread_create(&thread, NULL, work_once, (void *)2000000);
        pthread_join(thread, NULL);
    }
}

__attribute__((noinline)) static void read_zeros(int fd, int64_t ns)
{
    static char zeros[1 << 17];
    const int64_t end = clock_of(CLOCK_THREAD_CPUTIME_ID) + ns;
    while (clock_of(CLOCK_THREAD_CPUTIME_ID) < end)
        if (read(fd, zeros, sizeof zeros) < 0) exit(1);
}

static void read_and_work(void)
{
    const int fd = open("/dev/zero", O_RDONLY | O_CLOEXEC);
    for (int i = 0; i < 500; i++) {
        const int64_t t0 = clock_of(CLOCK_THREAD_CPUTIME_ID);
        read_zeros(fd, 300000);
        const int64_t t1 = clock_of(CLOCK_THREAD_CPUTIME_ID);
        fb(700000);
        in_a += t1 - t0;
        in_b += clock_of(CLOCK_THREAD_CPUTIME_ID) - t1;
    }
    close(fd);
}

static void run(int count, void *(*const body[])(void *))
{
    pthread_t threads[8];
    for (intptr_t i = 0; i < count; i++)
        pthread_create(&threads[i], NULL, body[i], (void *)i);
    for (int i = 0; i < count; i++)
        pthread_join(threads[i], NULL);
}

int main(int argc, char **argv)
{
    const char *const name = argc > 1 ? argv[1] : "";
    if (strcmp(name, "split") == 0) {
        for (int i = 0; i < 150; i++)
            both(7000000, 3000000);
    } else if (strcmp(name, "short") == 0) {
        void *(*const eight[])(void *) = {short_thread, short_thread, short_thread, short_thread,
                                          short_thread, short_thread, short_thread, short_thread};
        for (int i = 0; i < 125; i++)
            run(8, eight);
    } else if (strcmp(name, "blocked") == 0) {
        void *(*const two[])(void *) = {busy_thread, blocked_thread};
        run(2, two);
    } else if (strcmp(name, "many") == 0) {
        void *(*const eight[])(void *) = {busy_thread,    busy_thread,    blocked_thread,
                                          blocked_thread, blocked_thread, blocked_thread,
                                          blocked_thread, blocked_thread};
        run(8, eight);
    } else if (strncmp(name, "cpu:", 4) == 0) {
        work_in_rounds(atoll(name + 4) * 1000);
    } else if (strncmp(name, "wake:", 5) == 0) {
        wake_and_work(atoll(name + 5) * 1000);
    } else if (strcmp(name, "crowd") == 0) {
        run_crowd();
    } else if (strcmp(name, "brief") == 0) {
        run_brief();
    } else if (strcmp(name, "read") == 0) {
        read_and_work();
    } else {
        return 2;
    }
    printf("%.6f %.6f %.6f\n", (double)in_a / (double)(in_a + in_b), (double)(in_a + in_b) / 1e9,
           (double)clock_of(CLOCK_PROCESS_CPUTIME_ID) / 1e9);
    return 0;
}
