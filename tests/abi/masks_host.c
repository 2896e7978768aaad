/* masks_host.c: how handlers that block the tick's signal are set, and asked for.
 *
 *   late                a thread sets a handler while the profile begins
 *   told                the mask of a handler after each function that sets another one
 *   raw                 signals whose handler syscall(2) has set end waits
 *   errno               errno after each function that sets a handler
 *   own                 the program's handler for the tick's signal, set last, waits for the others
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <gperftools/profiler.h>

static volatile sig_atomic_t handled, nested, is_inside;

static void handle(int signo)
{
    (void)signo;
}

static void handle_otherwise(int signo)
{
    (void)signo;
    handled++;
}

static void set_blocking(int signo, void (*handler)(int))
{
    struct sigaction act = {.sa_handler = handler};
    sigfillset(&act.sa_mask);
    sigaction(signo, &act, NULL);
}

/* ---- late ---- */

static _Atomic int runs, is_between, is_set;

/* Called by the library behind libprofiler before the first thread sets a handler. */
void come_between(int signo);
void come_between(int signo)
{
    if (signo != SIGUSR1 || is_between) return;
    is_between = 1;
    for (int i = 0; i < 20 && !is_set; i++)
        usleep(1000);
}

static void *set_between(void *arg)
{
    (void)arg;
    runs = 1;
    while (!is_between)
        usleep(100);
    set_blocking(SIGUSR1, handle_otherwise);
    is_set = 1;
    return NULL;
}

static int test_late(void)
{
    pthread_t thread;
    struct sigaction now;
    set_blocking(SIGUSR1, handle);
    is_between = 0;
    pthread_create(&thread, NULL, set_between, NULL);
    while (!runs)
        usleep(100);
    ProfilerStart("prof");
    const int was_between = is_between;
    is_between = 1;
    pthread_join(thread, NULL);
    sigaction(SIGUSR1, NULL, &now);
    ProfilerStop();
    printf("between %d, set %d, blocks %d\n", was_between, now.sa_handler == handle_otherwise,
           sigismember(&now.sa_mask, SIGPROF));
    return 0;
}

/* ---- told ---- */

typedef void (*setter)(int, void (*)(int));
sighandler_t ssignal(int, sighandler_t);
sighandler_t bsd_signal(int, sighandler_t);
sighandler_t sysv_signal(int, sighandler_t);

static void set_by_sigset(int signo, void (*handler)(int))
{
    sigset(signo, handler);
}

static void set_by_ssignal(int signo, void (*handler)(int))
{
    ssignal(signo, handler);
}

static void set_by_bsd_signal(int signo, void (*handler)(int))
{
    bsd_signal(signo, handler);
}

static void set_by_sysv_signal(int signo, void (*handler)(int))
{
    sysv_signal(signo, handler);
}

static void set_by_signal(int signo, void (*handler)(int))
{
    signal(signo, handler);
}

/* As the kernel has it. */
typedef struct {
    void (*handler)(int);
    unsigned long flags;
    void (*restorer)(void);
    uint64_t mask;
} kernel_action;

static void set_by_number(int signo, void (*handler)(int), uint64_t mask)
{
    kernel_action act;
    syscall(SYS_rt_sigaction, signo, NULL, &act, sizeof act.mask); /* libc's flags and restorer */
    act.handler = handler;
    act.mask = mask;
    syscall(SYS_rt_sigaction, signo, &act, NULL, sizeof act.mask);
}

static void set_by_syscall(int signo, void (*handler)(int))
{
    set_by_number(signo, handler, 0);
}

static const struct {
    const char *name;
    setter set;
} setters[] = {{"signal", set_by_signal},           {"sigset", set_by_sigset},
               {"ssignal", set_by_ssignal},         {"bsd_signal", set_by_bsd_signal},
               {"sysv_signal", set_by_sysv_signal}, {"syscall", set_by_syscall}};

static int test_told(void)
{
    for (size_t i = 0; i < sizeof setters / sizeof setters[0]; i++) {
        struct sigaction now;
        kernel_action kernel;
        set_blocking(SIGUSR1, handle);
        siginterrupt(SIGUSR1, 0);
        sigaction(SIGUSR1, NULL, &now);
        printf("%s: blocks %d", setters[i].name, sigismember(&now.sa_mask, SIGPROF));
        syscall(SYS_rt_sigaction, SIGUSR1, NULL, &kernel, sizeof kernel.mask);
        printf(" %d", (int)(kernel.mask >> (SIGPROF - 1) & 1));
        setters[i].set(SIGUSR1, handle_otherwise);
        sigaction(SIGUSR1, NULL, &now);
        printf(", then %d\n", sigismember(&now.sa_mask, SIGPROF));
    }
    return 0;
}

static int test_errno(void)
{
    for (size_t i = 0; i < sizeof setters / sizeof setters[0]; i++) {
        errno = 77;
        set_blocking(SIGUSR1, handle);
        printf("%s: errno %d", setters[i].name, errno);
        setters[i].set(SIGUSR1, handle_otherwise);
        printf(", then %d\n", errno);
    }
    return 0;
}

/* ---- raw ---- */

static void work_long(int signo)
{
    struct timespec begin, now;
    (void)signo;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    do
        clock_gettime(CLOCK_MONOTONIC, &now);
    while ((now.tv_sec - begin.tv_sec) * 1000000000 + now.tv_nsec - begin.tv_nsec < 3000000);
    handled++;
}

static void *send_in_turn(void *arg)
{
    for (int i = 0; i < 5; i++) {
        usleep(5000);
        pthread_kill(*(pthread_t *)arg, SIGUSR1);
        while (handled <= i)
            usleep(100);
    }
    return NULL;
}

static int test_raw(void)
{
    pthread_t self = pthread_self(), sender;
    kernel_action now;
    int waits = 0;
    signal(SIGUSR1, handle); /* with a restorer */
    set_by_number(SIGUSR1, work_long, ~UINT64_C(0));
    syscall(SYS_rt_sigaction, SIGUSR1, NULL, &now, sizeof now.mask);
    alarm(60);
    pthread_create(&sender, NULL, send_in_turn, &self);
    for (; handled < 5; waits++)
        pause();
    pthread_join(sender, NULL);
    printf("waits %s, blocks %d\n", waits == 5 ? "5" : "lost",
           (int)(now.mask >> (SIGPROF - 1) & 1));
    return 0;
}

/* ---- own ---- */

static void handle_tick(int signo)
{
    (void)signo;
    nested += is_inside;
    handled++;
}

static void handle_while_ticks_wait(int signo)
{
    (void)signo;
    is_inside = 1;
    raise(SIGPROF);
    is_inside = 0;
}

static int test_own(void)
{
    struct sigaction now;
    set_blocking(SIGUSR1, handle_while_ticks_wait);
    set_blocking(SIGPROF, handle_tick);
    raise(SIGUSR1);
    sigaction(SIGUSR1, NULL, &now);
    printf("handled %d, within %d, blocks %d\n", handled, nested,
           sigismember(&now.sa_mask, SIGPROF));
    struct sigaction ignore = {.sa_handler = SIG_IGN, .sa_flags = SA_SIGINFO};
    sigaction(SIGPROF, &ignore, NULL);
    raise(SIGPROF);
    sigaction(SIGUSR1, NULL, &now);
    printf("without it blocks %d\n", sigismember(&now.sa_mask, SIGPROF));
    return 0;
}

int main(int argc, char **argv)
{
    const char *const test = argc == 2 ? argv[1] : "";
    if (strcmp(test, "late") == 0) return test_late();
    if (strcmp(test, "told") == 0) return test_told();
    if (strcmp(test, "errno") == 0) return test_errno();
    if (strcmp(test, "raw") == 0) return test_raw();
    if (strcmp(test, "own") == 0) return test_own();
    return 2;
}
