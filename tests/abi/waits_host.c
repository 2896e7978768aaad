/* waits_host.c: waits of every kind that the clock on the wall's ticks interrupt.
 *
 *   limits THREADS TIMES MS...   each call, TIMES times with each limit, in so many threads
 *   signals TIMES CALL           a signal at a random moment ends each wait of half a second
 *   storm MS                     four threads wait while signals come, whose handlers wait, too
 *   cpu_clock                    a wait for CPU time of the process
 *   cancel TIMES CALL            a thread that waits is cancelled at a random moment
 *   coroutine                    waits on a stack beside the thread's, which has one for signals
 *   blocked CALL                 signals whose handler blocks all others end waits
 *   inlined                      epoll_wait by an instruction of the program's own
 *   registers                    registers and stack are the same after a wait as before
 *
 * `limits` prints a line for each call: how often, how many ended early, how many had a wrong
 * result, and the median of how much longer than asked they took, in milliseconds.
 */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

static int64_t now_ns(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static struct timespec timespec_of(int64_t ns)
{
    return (struct timespec){.tv_sec = (time_t)(ns / 1000000000),
                             .tv_nsec = (long)(ns % 1000000000)};
}

/* Returns when the main thread of the process sleeps, so its wait has begun. Ticks wake the thread
 * for moments only. */
static void await_sleep(pid_t pid)
{
    char path[64], stat[256];
    snprintf(path, sizeof path, "/proc/%d/task/%d/stat", (int)pid, (int)pid);
    for (;; usleep(100)) {
        FILE *const f = fopen(path, "r");
        const bool is_read = f != NULL && fgets(stat, sizeof stat, f) != NULL;
        if (f != NULL) fclose(f);
        const char *const name_end = is_read ? strrchr(stat, ')') : NULL;
        if (name_end == NULL || strchr("SZX", name_end[2]) != NULL) return;
    }
}

/* ---- calls ---- */

/* What a thread waits for, and never gets. */
typedef struct {
    int epoll, semaphores, queue;
    sem_t sem;
    pthread_mutex_t mutex;
    pthread_cond_t cond;
    sigset_t usr2;
} things;

static void make_things(things *t)
{
    pthread_condattr_t attr;
    memset(t, 0, sizeof *t);
    t->epoll = epoll_create1(0);
    t->semaphores = semget(IPC_PRIVATE, 1, 0600);
    t->queue = msgget(IPC_PRIVATE, 0600);
    sem_init(&t->sem, 0, 0);
    pthread_mutex_init(&t->mutex, NULL);
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&t->cond, &attr);
    sigemptyset(&t->usr2);
    sigaddset(&t->usr2, SIGUSR2);
    pthread_sigmask(SIG_BLOCK, &t->usr2, NULL);
}

static void free_things(things *t)
{
    close(t->epoll);
    semctl(t->semaphores, 0, IPC_RMID);
    msgctl(t->queue, IPC_RMID, NULL);
}

enum { UNTOUCHED = 4711 }; /* errno before each wait */

/* 0: the time limit ended it; else errno, or -1 for another end. */
static int ended(int result, int wanted, int wanted_errno)
{
    if (result == wanted && errno == (result >= 0 ? UNTOUCHED : wanted_errno)) return 0;
    return result < 0 ? errno : -1;
}

static int wait_usleep(things *t, int64_t ns)
{
    (void)t;
    return ended(usleep((useconds_t)(ns / 1000)), 0, 0);
}

static int wait_nanosleep(things *t, int64_t ns)
{
    const struct timespec limit = timespec_of(ns);
    (void)t;
    return ended(nanosleep(&limit, NULL), 0, 0);
}

static int wait_nanosleep_rest(things *t, int64_t ns)
{
    const struct timespec limit = timespec_of(ns);
    struct timespec rest;
    (void)t;
    return ended(nanosleep(&limit, &rest), 0, 0);
}

static int wait_clock_nanosleep(things *t, int64_t ns)
{
    const struct timespec limit = timespec_of(ns);
    (void)t;
    return clock_nanosleep(CLOCK_MONOTONIC, 0, &limit, NULL);
}

static int wait_until(things *t, int64_t ns)
{
    const struct timespec until = timespec_of(now_ns(CLOCK_MONOTONIC) + ns);
    (void)t;
    return clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
}

static int wait_poll(things *t, int64_t ns)
{
    struct pollfd fd = {.fd = t->epoll, .events = POLLIN};
    return ended(poll(&fd, 1, (int)(ns / 1000000)), 0, 0);
}

static int wait_ppoll(things *t, int64_t ns)
{
    const struct timespec limit = timespec_of(ns);
    (void)t;
    return ended(ppoll(NULL, 0, &limit, NULL), 0, 0);
}

static int wait_select(things *t, int64_t ns)
{
    struct timeval limit = {.tv_usec = (suseconds_t)(ns / 1000)};
    (void)t;
    return ended(select(0, NULL, NULL, NULL, &limit), 0, 0);
}

static int wait_pselect(things *t, int64_t ns)
{
    const struct timespec limit = timespec_of(ns);
    (void)t;
    return ended(pselect(0, NULL, NULL, NULL, &limit, &t->usr2), 0, 0);
}

static int wait_epoll(things *t, int64_t ns)
{
    struct epoll_event event;
    return ended(epoll_wait(t->epoll, &event, 1, (int)(ns / 1000000)), 0, 0);
}

static int wait_epoll_p(things *t, int64_t ns)
{
    struct epoll_event event;
    return ended(epoll_pwait(t->epoll, &event, 1, (int)(ns / 1000000), &t->usr2), 0, 0);
}

static int wait_signal(things *t, int64_t ns)
{
    const struct timespec limit = timespec_of(ns);
    return ended(sigtimedwait(&t->usr2, NULL, &limit), -1, EAGAIN);
}

static int wait_semaphore(things *t, int64_t ns)
{
    const struct timespec limit = timespec_of(ns);
    struct sembuf down = {.sem_op = -1};
    return ended(semtimedop(t->semaphores, &down, 1, &limit), -1, EAGAIN);
}

static int wait_sem(things *t, int64_t ns)
{
    const struct timespec until = timespec_of(now_ns(CLOCK_MONOTONIC) + ns);
    return ended(sem_clockwait(&t->sem, CLOCK_MONOTONIC, &until), -1, ETIMEDOUT);
}

static int wait_cond(things *t, int64_t ns)
{
    const struct timespec until = timespec_of(now_ns(CLOCK_MONOTONIC) + ns);
    pthread_mutex_lock(&t->mutex);
    const int error = pthread_cond_timedwait(&t->cond, &t->mutex, &until);
    pthread_mutex_unlock(&t->mutex);
    return error == ETIMEDOUT ? 0 : error == 0 ? -1 : error;
}

static int wait_futex(things *t, int64_t ns)
{
    const struct timespec limit = timespec_of(ns);
    int word = 0;
    (void)t;
    /* As a runtime does that has no libc: the limit is relative. */
    long result;
#if defined(__x86_64__)
    register const struct timespec *r10 __asm__("r10") = &limit;
    __asm__ volatile("mov $202, %%eax; syscall"
                     : "=a"(result)
                     : "D"(&word), "S"(0), "d"(0), "r"(r10)
                     : "rcx", "r11", "memory");
#else
    result = syscall(SYS_futex, &word, 0, 0, &limit) < 0 ? -errno : 0;
#endif
    return result == -ETIMEDOUT ? 0 : result == 0 ? -1 : (int)-result;
}

static int wait_pause(things *t, int64_t ns)
{
    (void)t;
    (void)ns;
    return ended(pause(), 0, 0);
}

static int wait_suspended(things *t, int64_t ns)
{
    (void)ns;
    return ended(sigsuspend(&t->usr2), 0, 0);
}

static int wait_down(things *t, int64_t ns)
{
    struct sembuf down = {.sem_op = -1};
    (void)ns;
    return ended(semop(t->semaphores, &down, 1), 0, 0);
}

static int wait_message(things *t, int64_t ns)
{
    struct {
        long type;
        char text[8];
    } message;
    (void)ns;
    return ended((int)msgrcv(t->queue, &message, sizeof message.text, 0, 0), 0, 0);
}

/* An event ends the first of two waits that are the same call with the same limit; the second lasts
 * for all of it. */
static int wait_anew(things *t, int64_t ns)
{
    static _Thread_local unsigned seed = 1;
    const int timer = timerfd_create(CLOCK_MONOTONIC, 0);
    const struct itimerspec soon = {.it_value.tv_nsec = 200000 + rand_r(&seed) % 4000000};
    struct epoll_event event = {.events = EPOLLIN};
    epoll_ctl(t->epoll, EPOLL_CTL_ADD, timer, &event);
    timerfd_settime(timer, 0, &soon, NULL);
    int64_t begin_ns = 0;
    int error = 0;
    for (int i = 0; i < 2; i++) {
        if (i == 1) epoll_ctl(t->epoll, EPOLL_CTL_DEL, timer, &event);
        begin_ns = now_ns(CLOCK_MONOTONIC);
        if (epoll_wait(t->epoll, &event, 1, (int)(ns / 1000000)) < 0) error = errno;
    }
    close(timer);
    return error != 0 || now_ns(CLOCK_MONOTONIC) - begin_ns >= ns ? error : -1;
}

static const struct {
    const char *name;
    int (*wait)(things *t, int64_t ns);
    int is_endless;
} calls[] = {
    {"usleep", wait_usleep, 0},
    {"nanosleep", wait_nanosleep, 0},
    {"nanosleep_rest", wait_nanosleep_rest, 0},
    {"clock_nanosleep", wait_clock_nanosleep, 0},
    {"clock_nanosleep_until", wait_until, 0},
    {"poll", wait_poll, 0},
    {"ppoll", wait_ppoll, 0},
    {"select", wait_select, 0},
    {"pselect", wait_pselect, 0},
    {"epoll_wait", wait_epoll, 0},
    {"epoll_pwait", wait_epoll_p, 0},
    {"epoll_wait_anew", wait_anew, 0},
    {"sigtimedwait", wait_signal, 0},
    {"semtimedop", wait_semaphore, 0},
    {"sem_clockwait", wait_sem, 0},
    {"pthread_cond_timedwait", wait_cond, 0},
    {"futex", wait_futex, 0},
    {"pause", wait_pause, 1},
    {"sigsuspend", wait_suspended, 1},
    {"semop", wait_down, 1},
    {"msgrcv", wait_message, 1},
};
enum { CALLS = sizeof calls / sizeof calls[0], LIMITS_MAX = 16, LATE_MAX = 1024, THREADS_MAX = 8 };

/* ---- what ends a wait without a limit ---- */

static volatile sig_atomic_t handled;

static void on_signal(int signo)
{
    (void)signo;
    handled++;
}

typedef struct {
    things *t;
    int64_t at_ns;
    int call;
    pthread_t waiter;
    _Atomic int is_over;
} ending;

static void *end_wait(void *arg)
{
    ending *const e = arg;
    const struct timespec until = timespec_of(e->at_ns);
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
    if (calls[e->call].wait == wait_down) {
        semop(e->t->semaphores, &(struct sembuf){.sem_op = 1}, 1);
        return NULL;
    }
    if (calls[e->call].wait == wait_message) {
        struct {
            long type;
            char text[8];
        } message = {.type = 1};
        msgsnd(e->t->queue, &message, 0, 0);
        return NULL;
    }
    for (; !e->is_over; usleep(100)) /* the first may have come before the wait */
        pthread_kill(e->waiter, SIGUSR1);
    return NULL;
}

static int wait_until_ended(int call, things *t, int64_t ns)
{
    ending e = {
        .t = t, .at_ns = now_ns(CLOCK_MONOTONIC) + ns, .call = call, .waiter = pthread_self()};
    const int wanted =
        calls[call].wait == wait_down || calls[call].wait == wait_message ? 0 : EINTR;
    pthread_t thread;
    pthread_create(&thread, NULL, end_wait, &e);
    const int error = calls[call].wait(t, ns);
    e.is_over = 1;
    pthread_join(thread, NULL);
    return error == wanted ? 0 : -1;
}

/* ---- limits ---- */

typedef struct {
    int count, early, wrong;
    int64_t late_ns[LATE_MAX];
} tally;

static struct {
    int times, limit_count;
    int64_t limits_ns[LIMITS_MAX];
} asked;

static void *wait_for_all(void *arg)
{
    tally *const tallies = arg;
    things t;
    make_things(&t);
    for (int c = 0; c < CALLS; c++)
        for (int l = 0; l < asked.limit_count; l++)
            for (int i = 0; i < asked.times; i++) {
                const int64_t limit_ns = asked.limits_ns[l], begin_ns = now_ns(CLOCK_MONOTONIC);
                errno = UNTOUCHED;
                const int error = calls[c].is_endless ? wait_until_ended(c, &t, limit_ns)
                                                      : calls[c].wait(&t, limit_ns);
                const int64_t took_ns = now_ns(CLOCK_MONOTONIC) - begin_ns;
                tallies[c].early += took_ns < limit_ns;
                tallies[c].wrong += error != 0;
                tallies[c].late_ns[tallies[c].count++ % LATE_MAX] = took_ns - limit_ns;
            }
    free_things(&t);
    return NULL;
}

static int compare_ns(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static int test_limits(int threads, char **argv)
{
    static tally tallies[THREADS_MAX][CALLS];
    static int64_t late_ns[THREADS_MAX * LATE_MAX];
    pthread_t ids[THREADS_MAX];
    if (threads > THREADS_MAX) return 2;
    sigaction(SIGUSR1, &(struct sigaction){.sa_handler = on_signal}, NULL);
    asked.times = atoi(*argv++);
    while (*argv != NULL && asked.limit_count < LIMITS_MAX)
        asked.limits_ns[asked.limit_count++] = (int64_t)atoi(*argv++) * 1000000;
    if (asked.times * asked.limit_count > LATE_MAX) return 2;
    for (int i = 1; i < threads; i++)
        pthread_create(&ids[i], NULL, wait_for_all, tallies[i]);
    wait_for_all(tallies[0]);
    for (int i = 1; i < threads; i++)
        pthread_join(ids[i], NULL);
    for (int c = 0; c < CALLS; c++) {
        int count = 0, early = 0, wrong = 0;
        for (int i = 0; i < threads; i++) {
            memcpy(late_ns + count, tallies[i][c].late_ns,
                   (size_t)tallies[i][c].count * sizeof late_ns[0]);
            count += tallies[i][c].count;
            early += tallies[i][c].early;
            wrong += tallies[i][c].wrong;
        }
        qsort(late_ns, (size_t)count, sizeof late_ns[0], compare_ns);
        printf("%s: %d early %d wrong %d late %.3f\n", calls[c].name, count, early, wrong,
               (double)late_ns[count / 2] / 1e6);
    }
    return 0;
}

/* ---- signals ---- */

/* A child says that it will wait; its parent sends the signal up to ten milliseconds after the
 * wait's begin. A signal that comes between two waits comes again. */
static int test_signals(int times, const char *name)
{
    int to_parent[2], c = 0, not_ended = 0, wrong = 0;
    char byte = 'x';
    while (c < CALLS && strcmp(calls[c].name, name) != 0)
        c++;
    if (c == CALLS || pipe(to_parent) != 0) return 2;
    const pid_t child = fork();
    if (child == 0) {
        things t;
        make_things(&t);
        sigaction(SIGUSR1, &(struct sigaction){.sa_handler = on_signal}, NULL);
        for (int i = 0; i < times; i++) {
            if (write(to_parent[1], &byte, 1) != 1) return 2;
            const int64_t begin_ns = now_ns(CLOCK_MONOTONIC);
            const int error = calls[c].wait(&t, 500000000);
            const int64_t took_ns = now_ns(CLOCK_MONOTONIC) - begin_ns;
            not_ended += took_ns > 400000000;
            wrong += took_ns <= 400000000 && error != EINTR;
        }
        free_things(&t);
        printf("%s: %d waits, not ended %d, wrong %d, handled %d\n", name, times, not_ended, wrong,
               (int)handled);
        fflush(stdout);
        _exit(0);
    }
    close(to_parent[1]);
    unsigned seed = (unsigned)(now_ns(CLOCK_MONOTONIC) / 1000);
    struct pollfd said = {.fd = to_parent[0], .events = POLLIN};
    for (;;) {
        /* A wait without a limit that missed its signal gets another one. */
        if (poll(&said, 1, 450) == 1 && read(to_parent[0], &byte, 1) != 1) break;
        await_sleep(child);
        const int64_t at_ns = now_ns(CLOCK_MONOTONIC) + 1000000 + rand_r(&seed) % 9000000;
        const struct timespec until = timespec_of(at_ns - 150000);
        while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) == EINTR)
            continue;
        while (now_ns(CLOCK_MONOTONIC) < at_ns)
            continue;
        kill(child, SIGUSR1);
    }
    return waitpid(child, NULL, 0) == child ? 0 : 2;
}

/* ---- many signals ---- */

static struct {
    _Atomic int waits, ended, early, wrong;
    int64_t until_ns;
} storm;
static _Thread_local volatile sig_atomic_t handled_here;

static void wait_in_handler(int signo)
{
    const struct timespec limit = {.tv_nsec = 200000};
    const int saved_errno = errno;
    const int64_t begin_ns = now_ns(CLOCK_MONOTONIC);
    (void)signo;
    handled_here++;
    const int result = nanosleep(&limit, NULL);
    storm.early += result == 0 && now_ns(CLOCK_MONOTONIC) - begin_ns < limit.tv_nsec;
    storm.wrong += result != 0 && errno != EINTR;
    errno = saved_errno;
}

/* A wait has all of its time, or one of the thread's handlers ran meanwhile. */
static void *wait_in_storm(void *arg)
{
    enum { LIMIT_NS = 3000000 };
    things t;
    make_things(&t);
    void *const memory = malloc(1 << 16);
    if (arg != NULL) sigaltstack(&(stack_t){.ss_sp = memory, .ss_size = 1 << 16}, NULL);
    for (int i = 0; now_ns(CLOCK_MONOTONIC) < storm.until_ns; i++) {
        static int (*const waits[])(things *, int64_t) = {wait_nanosleep, wait_poll,  wait_epoll,
                                                          wait_select,    wait_futex, wait_sem};
        const int before = handled_here;
        const int64_t begin_ns = now_ns(CLOCK_MONOTONIC);
        errno = UNTOUCHED;
        const int error = waits[i % 6](&t, LIMIT_NS);
        storm.waits++;
        storm.ended += error != 0;
        storm.early += error == 0 && now_ns(CLOCK_MONOTONIC) - begin_ns < LIMIT_NS;
        storm.wrong += error != 0 && (error != EINTR || handled_here == before);
    }
    sigaltstack(&(stack_t){.ss_flags = SS_DISABLE}, NULL);
    free(memory);
    free_things(&t);
    return NULL;
}

static int test_storm(int ms)
{
    enum { THREADS = 4 };
    pthread_t threads[THREADS];
    unsigned seed = (unsigned)(now_ns(CLOCK_MONOTONIC) / 1000);
    sigaction(
        SIGUSR1,
        &(struct sigaction){.sa_handler = wait_in_handler, .sa_flags = SA_ONSTACK | SA_RESTART},
        NULL);
    const int64_t last_ns = now_ns(CLOCK_MONOTONIC) + (int64_t)ms * 1000000;
    storm.until_ns = last_ns + 20000000;
    for (long i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, wait_in_storm, i % 2 == 0 ? &storm : NULL);
    while (now_ns(CLOCK_MONOTONIC) < last_ns) {
        usleep((useconds_t)rand_r(&seed) % 700);
        pthread_kill(threads[rand_r(&seed) % THREADS], SIGUSR1);
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    printf("early %d wrong %d\n", storm.early, storm.wrong);
    fprintf(stderr, "%d waits, %d of them ended by a signal\n", storm.waits, storm.ended);
    return storm.ended == 0;
}

/* ---- cancellation ---- */

static _Atomic int cleaned;

static void clean(void *arg)
{
    free_things(arg);
    cleaned++;
}

static void *wait_to_be_cancelled(void *arg)
{
    things t;
    make_things(&t);
    pthread_cleanup_push(clean, &t);
    calls[*(int *)arg].wait(&t, 500000000);
    pthread_cleanup_pop(0);
    return NULL;
}

static int test_cancel(int times, const char *name)
{
    int c = 0, cancelled = 0;
    unsigned seed = (unsigned)(now_ns(CLOCK_MONOTONIC) / 1000);
    while (c < CALLS && strcmp(calls[c].name, name) != 0)
        c++;
    for (int i = 0; i < times && c < CALLS; i++) {
        pthread_t thread;
        void *result;
        pthread_create(&thread, NULL, wait_to_be_cancelled, &c);
        usleep(1000 + (useconds_t)rand_r(&seed) % 4000);
        pthread_cancel(thread);
        pthread_join(thread, &result);
        cancelled += result == PTHREAD_CANCELED;
    }
    printf("%s: cancelled %d, cleaned %d\n", name, cancelled, cleaned);
    return 0;
}

/* ---- a clock that is not the wall's ---- */

static void *burn(void *arg)
{
    while (!*(volatile _Atomic int *)arg)
        continue;
    return NULL;
}

static int test_cpu_clock(void)
{
    const struct timespec limit = {.tv_nsec = 50000000};
    _Atomic int is_over = 0;
    pthread_t thread;
    pthread_create(&thread, NULL, burn, &is_over);
    const int64_t begin_ns = now_ns(CLOCK_PROCESS_CPUTIME_ID);
    const int error = clock_nanosleep(CLOCK_PROCESS_CPUTIME_ID, 0, &limit, NULL);
    const int64_t used_ns = now_ns(CLOCK_PROCESS_CPUTIME_ID) - begin_ns;
    is_over = 1;
    pthread_join(thread, NULL);
    printf("early %d wrong %d\n", used_ns < 50000000, error != 0);
    return 0;
}

/* ---- handlers that block all signals ---- */

static _Atomic int handled_blocked;

static void work_blocked(int signo)
{
    (void)signo;
    const int64_t end_ns = now_ns(CLOCK_MONOTONIC) + 3000000;
    while (now_ns(CLOCK_MONOTONIC) < end_ns) {
    }
    handled_blocked++;
}

static void *send_in_turn(void *arg)
{
    for (int i = 0; i < 10; i++) {
        await_sleep(getpid());
        pthread_kill(*(pthread_t *)arg, SIGUSR1);
        while (handled_blocked <= i)
            usleep(100);
    }
    return NULL;
}

static void wait_without_limit(const char *call)
{
    struct epoll_event event;
    if (strcmp(call, "pause") == 0)
        pause();
    else
        epoll_wait(epoll_create1(EPOLL_CLOEXEC), &event, 1, -1);
}

/* Each signal ends one wait of the main thread. A wait that goes on after its handler lasts until
 * the next signal. */
static int test_blocked(const char *call)
{
    struct sigaction act = {.sa_handler = work_blocked}, old;
    pthread_t self = pthread_self(), sender;
    int waits = 0, unlike = 0;
    sigfillset(&act.sa_mask);
    sigaction(SIGUSR1, &act, NULL);
    sigaction(SIGUSR1, NULL, &old);
    for (int signo = 1; signo < NSIG; signo++)
        unlike += sigismember(&act.sa_mask, signo) != sigismember(&old.sa_mask, signo);
    alarm(60);
    pthread_create(&sender, NULL, send_in_turn, &self);
    for (; handled_blocked < 10; waits++)
        wait_without_limit(call);
    pthread_join(sender, NULL);
    printf("%s: waits %s, signals of the mask changed %d\n", call, waits == 10 ? "10" : "lost",
           unlike);
    return 0;
}

/* ---- coroutines ---- */

static ucontext_t thread_context, coroutine_context;
static int early, wrong;

static void wait_in_coroutine(void)
{
    static const char *const names[] = {"usleep",
                                        "nanosleep",
                                        "nanosleep_rest",
                                        "clock_nanosleep",
                                        "clock_nanosleep_until",
                                        "poll",
                                        "sem_clockwait",
                                        "pthread_cond_timedwait",
                                        "epoll_wait"};
    const int64_t ns = 10000000;
    struct timespec in_place = {.tv_nsec = ns};
    things t;
    make_things(&t);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        int c = 0;
        while (strcmp(calls[c].name, names[i]) != 0)
            c++;
        errno = UNTOUCHED;
        const int64_t begin_ns = now_ns(CLOCK_MONOTONIC);
        wrong += calls[c].wait(&t, ns) != 0;
        early += now_ns(CLOCK_MONOTONIC) - begin_ns < ns;
    }
    const int64_t begin_ns = now_ns(CLOCK_MONOTONIC);
    wrong += nanosleep(&in_place, &in_place) != 0;
    early += now_ns(CLOCK_MONOTONIC) - begin_ns < ns;
    free_things(&t);
}

static void *run_coroutine(void *arg)
{
    static unsigned char stack[1 << 16], memory[1 << 16];
    (void)arg;
    sigaltstack(&(stack_t){.ss_sp = memory, .ss_size = sizeof memory}, NULL);
    getcontext(&coroutine_context);
    coroutine_context.uc_stack = (stack_t){.ss_sp = stack, .ss_size = sizeof stack};
    coroutine_context.uc_link = &thread_context;
    makecontext(&coroutine_context, wait_in_coroutine, 0);
    swapcontext(&thread_context, &coroutine_context);
    return NULL;
}

static int test_coroutine(void)
{
    pthread_t thread;
    pthread_create(&thread, NULL, run_coroutine, NULL);
    pthread_join(thread, NULL);
    printf("early %d wrong %d\n", early, wrong);
    return 0;
}

/* ---- the program's own instructions ---- */

/* As compilers inline a call: the registers of arguments keep their values. */
static int test_inlined(void)
{
    int64_t waited_ns = 0;
    const int64_t begin_ns = now_ns(CLOCK_MONOTONIC);
#if defined(__x86_64__)
    struct epoll_event event;
    const int epoll = epoll_create1(EPOLL_CLOEXEC);
    register long limit __asm__("r10") = 10;
    for (int i = 0; i < 10; i++) {
        long result;
        __asm__ volatile("mov $232, %%eax; syscall" /* SYS_epoll_wait */
                         : "=a"(result), "+r"(limit)
                         : "D"(epoll), "S"(&event), "d"(1)
                         : "rcx", "r11", "memory");
        waited_ns += result == 0 ? 10000000 : 0;
    }
#endif
    printf("early %d\n", now_ns(CLOCK_MONOTONIC) - begin_ns < waited_ns);
    return 0;
}

/* ---- registers ---- */

#if defined(__x86_64__)

enum { GENERAL = 12, VECTORS = 16 };

typedef struct {
    uint64_t general[GENERAL]; /* rbx rbp r12 r13 r14 r15 r8 r9 r10 rdx rdi rsi */
    uint64_t red_zone[2];
    unsigned char vectors[VECTORS][16];
    uint32_t mxcsr;
    uint16_t x87;
} registers;

/* nanosleep with these registers, and those after it. */
void sleep_with(const registers *before, registers *after);
__asm__(".text\n"
        "sleep_with:\n"
        "    push %rbx; push %rbp; push %r12; push %r13; push %r14; push %r15; push %rsi\n"
        "    mov 0(%rdi), %rbx; mov 8(%rdi), %rbp; mov 16(%rdi), %r12; mov 24(%rdi), %r13\n"
        "    mov 32(%rdi), %r14; mov 40(%rdi), %r15; mov 48(%rdi), %r8; mov 56(%rdi), %r9\n"
        "    mov 64(%rdi), %r10; mov 72(%rdi), %rdx\n"
        "    mov 96(%rdi), %rax; mov %rax, -8(%rsp); mov 104(%rdi), %rax; mov %rax, -128(%rsp)\n"
        "    .irp n, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15\n"
        "    movups 112+16*\\n(%rdi), %xmm\\n\n"
        "    .endr\n"
        "    ldmxcsr 368(%rdi); fldcw 372(%rdi)\n"
        "    mov 88(%rdi), %rsi; mov 80(%rdi), %rdi\n"
        "    mov $35, %eax\n" /* SYS_nanosleep */
        "    syscall\n"
        "    mov (%rsp), %rcx\n"
        "    mov %rbx, 0(%rcx); mov %rbp, 8(%rcx); mov %r12, 16(%rcx); mov %r13, 24(%rcx)\n"
        "    mov %r14, 32(%rcx); mov %r15, 40(%rcx); mov %r8, 48(%rcx); mov %r9, 56(%rcx)\n"
        "    mov %r10, 64(%rcx); mov %rdx, 72(%rcx); mov %rdi, 80(%rcx); mov %rsi, 88(%rcx)\n"
        "    mov -8(%rsp), %r11; mov %r11, 96(%rcx); mov -128(%rsp), %r11; mov %r11, 104(%rcx)\n"
        "    .irp n, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15\n"
        "    movups %xmm\\n, 112+16*\\n(%rcx)\n"
        "    .endr\n"
        "    stmxcsr 368(%rcx); fnstcw 372(%rcx)\n"
        "    pop %rsi; pop %r15; pop %r14; pop %r13; pop %r12; pop %rbp; pop %rbx\n"
        "    ret\n");

static int count_changes(void)
{
    const struct timespec limit = {.tv_nsec = 10000000};
    registers before = {.mxcsr = 0x3f80, .x87 = 0x0c7f}; /* rounding down, and to zero */
    int changes = 0;
    for (int i = 0; i < 5; i++) {
        registers after = before;
        for (int r = 0; r < GENERAL; r++)
            before.general[r] = UINT64_C(0x9e3779b97f4a7c15) * (uint64_t)(i * 100 + r + 1);
        before.general[10] = (uintptr_t)&limit;
        before.general[11] = 0;
        before.red_zone[0] = before.general[0] + 1;
        before.red_zone[1] = before.general[0] + 2;
        memset(before.vectors, i + 1, sizeof before.vectors);
        sleep_with(&before, &after);
        changes += memcmp(&before, &after, offsetof(registers, x87) + sizeof before.x87) != 0;
    }
    __asm__ volatile("fninit; ldmxcsr %0" : : "m"((uint32_t){0x1f80}));
    return changes;
}

static void *count_on_other_stack(void *arg)
{
    static unsigned char memory[1 << 16];
    sigaltstack(&(stack_t){.ss_sp = memory, .ss_size = sizeof memory}, NULL);
    *(int *)arg = count_changes();
    return NULL;
}

/* nanosleep with the stack pointer at `top`, below which nothing is written. */
void sleep_below(void *top, const struct timespec *limit);
__asm__(".text\n"
        "sleep_below:\n"
        "    push %rbx\n"
        "    mov %rsp, %rbx\n"
        "    mov %rdi, %rsp\n"
        "    mov %rsi, %rdi\n"
        "    xor %esi, %esi\n"
        "    mov $35, %eax\n"
        "    syscall\n"
        "    mov %rbx, %rsp\n"
        "    pop %rbx\n"
        "    ret\n");

/* A coroutine's stack may lie anywhere, with other things of the program below. */
static void *count_written(void *arg)
{
    static unsigned char memory[1 << 16], below[8192];
    const struct timespec limit = {.tv_nsec = 10000000};
    int written = 0;
    sigaltstack(&(stack_t){.ss_sp = memory, .ss_size = sizeof memory}, NULL);
    sleep_below(below + sizeof below, &limit);
    for (size_t i = 0; i < sizeof below; i++)
        written += below[i] != 0;
    *(int *)arg = written;
    return NULL;
}

static int test_registers(void)
{
    pthread_t thread;
    int changes = -1;
    printf("changed %d\n", count_changes());
    pthread_create(&thread, NULL, count_on_other_stack, &changes);
    pthread_join(thread, NULL);
    printf("changed beside a stack for signals %d\n", changes);
    pthread_create(&thread, NULL, count_written, &changes);
    pthread_join(thread, NULL);
    printf("written beside it %d\n", changes);
    return 0;
}

#else

static int test_registers(void)
{
    puts("changed 0\nchanged beside a stack for signals 0\nwritten beside it 0");
    return 0;
}

#endif

int main(int argc, char **argv)
{
    if (argc > 4 && strcmp(argv[1], "limits") == 0) return test_limits(atoi(argv[2]), argv + 3);
    if (argc == 4 && strcmp(argv[1], "signals") == 0) return test_signals(atoi(argv[2]), argv[3]);
    if (argc == 3 && strcmp(argv[1], "storm") == 0) return test_storm(atoi(argv[2]));
    if (argc == 4 && strcmp(argv[1], "cancel") == 0) return test_cancel(atoi(argv[2]), argv[3]);
    if (argc == 3 && strcmp(argv[1], "blocked") == 0) return test_blocked(argv[2]);
    if (argc == 2 && strcmp(argv[1], "cpu_clock") == 0) return test_cpu_clock();
    if (argc == 2 && strcmp(argv[1], "coroutine") == 0) return test_coroutine();
    if (argc == 2 && strcmp(argv[1], "inlined") == 0) return test_inlined();
    if (argc == 2 && strcmp(argv[1], "registers") == 0) return test_registers();
    return 2;
}
