/* host.c: the programs that agent.t.sh profiles: `host CASE [ARGUMENT]`. Built with frame pointers
 * and -lprofiler. Each case prints what it knows of itself, one "name value" a line.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

#include <gperftools/profiler.h>

enum { THREADS_MAX = 2048 };

static double seconds(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* Uses CPU time in user space only, but for a look at the clock now and then. */
__attribute__((noinline)) static void burn(double cpu_s)
{
    const double end = seconds(CLOCK_THREAD_CPUTIME_ID) + cpu_s;
    volatile uint64_t x = 88172645463325252u;
    do {
        for (int i = 0; i < 20000; i++)
            x = x * 6364136223846793005u + 1442695040888963407u;
    } while (seconds(CLOCK_THREAD_CPUTIME_ID) < end);
}

static double argument(char **argv, double usual)
{
    return argv[0] != NULL && argv[1] != NULL ? atof(argv[1]) : usual;
}

static int say_cpu(void)
{
    printf("cpu %.6f\n", seconds(CLOCK_PROCESS_CPUTIME_ID));
    return 0;
}

static int case_burn(char **argv)
{
    burn(argument(argv, 0.5));
    return say_cpu();
}

/* ---- threads ---- */

static atomic_int_fast64_t worked_ns; /* CPU time in the functions below */

/* A function of its own for each, so that a profile tells them apart. */
#define WORKER(n)                                                                                  \
    static void *worker##n(void *cpu_s);                                                           \
    __attribute__((noinline)) static void *worker##n(void *cpu_s)                                  \
    {                                                                                              \
        const double began = seconds(CLOCK_THREAD_CPUTIME_ID);                                     \
        burn(*(double *)cpu_s);                                                                    \
        worked_ns += (int64_t)(1e9 * (seconds(CLOCK_THREAD_CPUTIME_ID) - began));                  \
        return NULL;                                                                               \
    }                                                                                              \
    static void *worker##n(void *cpu_s)
WORKER(1);
WORKER(2);
WORKER(3);
WORKER(4);
WORKER(5);
WORKER(6);
WORKER(7);
WORKER(8);

static int case_workers(char **argv)
{
    static void *(*const workers[])(void *) = {worker1, worker2, worker3, worker4,
                                               worker5, worker6, worker7, worker8};
    double cpu_s = argument(argv, 0.15);
    pthread_t threads[8];
    for (int i = 0; i < 8; i++)
        pthread_create(&threads[i], NULL, workers[i], &cpu_s);
    for (int i = 0; i < 8; i++)
        pthread_join(threads[i], NULL);
    return say_cpu();
}

/* 400 threads of 2 ms, four at a time. */
static int case_short(char **argv)
{
    double cpu_s = 0.002;
    for (int wave = 0; wave < 100; wave++) {
        pthread_t threads[4];
        for (int i = 0; i < 4; i++)
            pthread_create(&threads[i], NULL, worker1, &cpu_s);
        for (int i = 0; i < 4; i++)
            pthread_join(threads[i], NULL);
    }
    printf("worked %.6f\n", (double)worked_ns / 1e9);
    return say_cpu();
}

static int case_blocked(char **argv)
{
    sigset_t all, before;
    double cpu_s = 0.3;
    pthread_t thread;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pthread_create(&thread, NULL, worker1, &cpu_s);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_join(thread, NULL);
    return say_cpu();
}

/* Threads that live when the profile starts, and one that ends by pthread_exit. The first is in
 * worker1 for cpu_s of its time, all of it after the start. */
static atomic_int profile_runs;

static void *lives(void *cpu_s)
{
    while (!profile_runs)
        burn(0.001);
    return worker1(cpu_s);
}

static void *exits(void *cpu_s)
{
    worker2(cpu_s);
    pthread_exit(NULL);
}

static int case_alive(char **argv)
{
    double long_s = 0.3, short_s = 0.1;
    pthread_t a, b;
    pthread_create(&a, NULL, lives, &long_s);
    burn(0.02);
    printf("started %d\n", ProfilerStart("alive.prof"));
    profile_runs = 1;
    pthread_create(&b, NULL, exits, &short_s);
    pthread_join(b, NULL);
    pthread_join(a, NULL);
    ProfilerStop();
    return say_cpu();
}

/* Threads that are cancelled as they start, where they run (a cancellation of any instruction), and
 * where they sleep. The library must not be the place where one of them ends. */
static void *runs(void *cpu_s)
{
    pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
    for (;;)
        burn(*(double *)cpu_s);
}

static void *sleeps(void *unused)
{
    for (;;)
        pause();
}

static int cancel_many(void *(*start)(void *), int count, double wait_s)
{
    int cancelled = 0;
    for (int i = 0; i < count; i++) {
        double cpu_s = 1;
        void *result = NULL;
        pthread_t thread;
        if (pthread_create(&thread, NULL, start, &cpu_s) != 0) continue;
        if (wait_s > 0) burn(wait_s);
        pthread_cancel(thread);
        pthread_join(thread, &result);
        cancelled += result == PTHREAD_CANCELED;
    }
    return cancelled;
}

static int case_cancel(char **argv)
{
    printf("starting %d\n", cancel_many(sleeps, 1000, 0));
    printf("running %d\n", cancel_many(runs, 300, 0.001));
    printf("sleeping %d\n", cancel_many(sleeps, 100, 0.001));
    ProfilerStop();
    return 0;
}

/* Thousands of different stacks: each level calls the next from one of two places. */
__attribute__((noinline)) static void winding(unsigned turns, int depth)
{
    if (depth == 0) {
        burn(0);
    } else if (turns & 1) {
        __asm__ volatile("# left" : : "r"(depth) : "memory");
        winding(turns >> 1, depth - 1);
        __asm__ volatile("# left again" : : "r"(depth) : "memory");
    } else {
        __asm__ volatile("# right" : : "r"(depth) : "memory");
        winding(turns >> 1, depth - 1);
        __asm__ volatile("# right again" : : "r"(depth) : "memory");
    }
}

static int case_winding(char **argv)
{
    const double end = seconds(CLOCK_THREAD_CPUTIME_ID) + argument(argv, 1);
    for (unsigned turns = 1; seconds(CLOCK_THREAD_CPUTIME_ID) < end; turns += 0x9e3779b9u)
        winding(turns, 28);
    return say_cpu();
}

/* Its stderr is a pipe that nobody reads any more. */
static int case_pipe(char **argv)
{
    int ends[2];
    if (pipe(ends) != 0 || dup2(ends[1], STDERR_FILENO) < 0) return 1;
    close(ends[0]);
    printf("start %d\n", ProfilerStart("no/such/folder/file"));
    return 0;
}

static int case_flush(char **argv)
{
    ProfilerStart("folder/flush.prof");
    rename("folder", "gone");
    ProfilerFlush();
    rename("gone", "folder");
    ProfilerStop();
    return 0;
}

/* ---- the functions ---- */

/* A thread that libc makes without pthread_create's name. */
static int standard_thread(void *cpu_s)
{
    worker3(cpu_s);
    return 0;
}

static int case_standard(char **argv)
{
    double cpu_s = 1;
    thrd_t thread;
    thrd_create(&thread, standard_thread, &cpu_s);
    thrd_join(thread, NULL);
    return say_cpu();
}

static int refuse_all(void *calls)
{
    ++*(volatile int *)calls;
    return 0;
}

static int case_api(char **argv)
{
    struct ProfilerState state;
    int calls = 0;
    const time_t before = time(NULL);
    const struct ProfilerOptions options = {refuse_all, &calls};
    printf("nowhere %d\n", ProfilerStart("no/such/folder/file"));
    printf("link %d\n", ProfilerStart("link.prof"));
    printf("off %d\n", ProfilingIsEnabledForAllThreads());
    printf("start %d\n", ProfilerStart("api.prof"));
    printf("again %d\n", ProfilerStart("other.prof"));
    burn(0.2);
    ProfilerFlush();
    ProfilerRegisterThread();
    ProfilerDisable();
    burn(0.2);
    ProfilerEnable();
    ProfilerGetCurrentState(&state);
    printf("on %d\nenabled %d\nname %s\n", ProfilingIsEnabledForAllThreads(), state.enabled,
           strrchr(state.profile_name, '/') + 1);
    printf("age %d\n", state.start_time >= before && state.start_time <= time(NULL));
    printf("gathered %d\n", state.samples_gathered);
    errno = EINTR; /* whatever it is, it means nothing to the library */
    ProfilerStop();
    printf("errno %d\n", errno == EINTR);
    ProfilerStop();
    ProfilerGetCurrentState(&state);
    printf("after %d [%s]\n", state.enabled, state.profile_name);
    printf("filtered %d\n", ProfilerStartWithOptions("filtered.prof", &options));
    burn(0.2);
    ProfilerStop();
    printf("asked %d\n", calls > 0);
    printf("restart %d\n", ProfilerStart("restart.prof"));
    burn(0.2);
    ProfilerStop();
    return 0;
}

__attribute__((noinline)) static int depth_here(void **pcs)
{
    const int depth = ProfilerGetStackTrace(pcs, 32, 0, NULL);
    __asm__ volatile("" : : : "memory");
    return depth;
}

static int case_trace(char **argv)
{
    void *all[32], *fewer[32];
    const int depth = depth_here(all);
    const int skipped = ProfilerGetStackTrace(fewer, 32, 1, NULL);
    printf("depth %d\n", depth);
    printf("mine %d\n",
           (char *)all[0] > (char *)depth_here && (char *)all[0] < (char *)depth_here + 128);
    printf("skipped %d\n", skipped == depth - 2);
    printf("limit %d\n", ProfilerGetStackTrace(fewer, 1, 0, NULL));
    return 0;
}

/* ---- a host's own affairs ---- */

static int case_errno(char **argv)
{
    const double end = seconds(CLOCK_THREAD_CPUTIME_ID) + 0.5;
    long changed = 0;
    errno = 4711;
    do {
        for (volatile int i = 0; i < 10000; i++)
            changed += errno != 4711;
    } while (seconds(CLOCK_THREAD_CPUTIME_ID) < end);
    printf("changed %ld\n", changed);
    return 0;
}

static int case_mask(char **argv)
{
    sigset_t mask;
    burn(0.3);
    pthread_sigmask(SIG_SETMASK, NULL, &mask);
    int blocked = 0;
    for (int signo = 1; signo < 32; signo++)
        blocked += sigismember(&mask, signo) == 1;
    printf("blocked %d\n", blocked);
    return 0;
}

static int case_reset(char **argv)
{
    for (int signo = 1; signo < 32; signo++)
        signal(signo, SIG_DFL);
    burn(0.15);
    struct sigaction usual = {0}, seen;
    sigaction(SIGPROF, &usual, &seen);
    printf("default %d\n", seen.sa_handler == SIG_DFL);
    burn(0.15);
    return say_cpu();
}

static volatile sig_atomic_t hits;
static void on_signal(int signo)
{
    hits++;
}

/* Burns until three signals of a timer came that ends every 20 ms of CPU time; ticks of a profiler,
 * a thousand a second, must not be among them. On a full machine the kernel's own tick, which the
 * timer waits for, seldom meets us, or more often: 12 in 200 ms without any profiler. */
static int timer_is_heard(void)
{
    const int before = hits;
    int rounds = 0;
    while (hits < before + 3 && rounds++ < 20)
        burn(0.2);
    return hits >= before + 3 && hits <= before + 30 * rounds;
}

/* Installs a handler, raises the signal, and lets an interval timer of its own raise it too. */
static int case_takes(char **argv)
{
    burn(0.1);
    signal(SIGPROF, on_signal);
    burn(0.1);
    for (int i = 0; i < 10 && hits == 0; i++)
        raise(SIGPROF); /* one that comes while a tick is pending is none (signal(7)) */
    printf("hits %d\n", (int)hits);
    const struct itimerval every = {{0, 20000}, {0, 20000}}, never = {{0, 0}, {0, 0}};
    setitimer(ITIMER_PROF, &every, NULL);
    printf("timed %d\n", timer_is_heard());
    setitimer(ITIMER_PROF, &never, NULL);
    /* So does a timer of its own that raises the signal. */
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGPROF};
    const struct itimerspec often = {{0, 20000000}, {0, 20000000}};
    timer_t timer;
    timer_create(CLOCK_PROCESS_CPUTIME_ID, &event, &timer);
    timer_settime(timer, 0, &often, NULL);
    printf("own_timer %d\n", timer_is_heard());
    timer_delete(timer);
    return say_cpu();
}

static volatile sig_atomic_t in_handler;
static void on_masked(int signo)
{
    sigset_t now;
    pthread_sigmask(SIG_SETMASK, NULL, &now);
    in_handler = sigismember(&now, SIGUSR1) * 4 + sigismember(&now, SIGUSR2) * 2 +
                 sigismember(&now, SIGPROF);
}

/* Which of SIGUSR1, SIGUSR2 (sa_mask has it) and SIGPROF its handler finds blocked. */
static int case_masked(char **argv)
{
    struct sigaction act = {0};
    sigset_t after;
    act.sa_handler = on_masked;
    sigaddset(&act.sa_mask, SIGUSR2);
    burn(0.05);
    sigaction(SIGPROF, &act, NULL);
    in_handler = -1;
    for (int i = 0; i < 10 && in_handler < 0; i++)
        raise(SIGPROF);
    printf("in_handler %d\n", (int)in_handler);
    pthread_sigmask(SIG_SETMASK, NULL, &after);
    printf("after %d\n", sigismember(&after, SIGUSR2) + sigismember(&after, SIGPROF));
    return 0;
}

static int case_has(char **argv)
{
    struct sigaction act = {0}, now;
    act.sa_handler = on_signal;
    sigaction(SIGPROF, &act, NULL);
    printf("start %d\n", ProfilerStart("has.prof"));
    sigaction(SIGPROF, NULL, &now);
    printf("kept %d\n", now.sa_handler == on_signal);
    return 0;
}

static int case_closes(char **argv)
{
    for (int fd = 3; fd < 1024; fd++)
        close(fd);
    const int first = open("/dev/null", O_RDONLY);
    printf("first %d\n", first);
    burn(0.2);
    return say_cpu();
}

static int case_descriptors(char **argv)
{
    printf("first %d\n", open("/dev/null", O_RDONLY));
    return 0;
}

static int case_chdir(char **argv)
{
    burn(0.1);
    return chdir("/");
}

/* ---- ends ---- */

static int case_exit(char **argv)
{
    burn(0.1);
    errno = EINTR; /* whatever it is, it means nothing to the library */
    exit(3);
}

static int case_fast(char **argv)
{
    burn(0.1);
    _exit(4);
}

static int case_quick(char **argv)
{
    burn(0.1);
    quick_exit(5);
}

static int case_kill(char **argv)
{
    burn(0.5);
    printf("cpu %.6f\n", seconds(CLOCK_PROCESS_CPUTIME_ID));
    fflush(stdout);
    kill(getpid(), SIGKILL);
    return 0;
}

/* ---- children ---- */

static int case_fork(char **argv)
{
    burn(0.1);
    fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
        burn(0.2);
        exit(0);
    }
    int status;
    waitpid(child, &status, 0);
    burn(0.1);
    printf("child %d\nstatus %d\n", (int)child, status);
    return say_cpu();
}

static int case_exec(char **argv)
{
    const pid_t child = fork();
    if (child == 0) {
        execl("/proc/self/exe", "host", "burn", "0.2", NULL);
        _exit(127);
    }
    int status;
    waitpid(child, &status, 0);
    printf("child %d\nstatus %d\n", (int)child, status);
    return 0;
}

/* Becomes itself again and again, by every function there is, while it ticks. */
static int case_execs(char **argv)
{
    const int left = argv[1] != NULL ? atoi(argv[1]) : 40;
    char next[16], *args[] = {"host", "execs", next, NULL};
    snprintf(next, sizeof next, "%d", left - 1);
    burn(0.003);
    switch (left == 0 ? -1 : left % 8) {
    case -1: printf("done 1\n"); return 0;
    case 0: execl("/proc/self/exe", "host", "execs", next, NULL); break;
    case 1: execle("/proc/self/exe", "host", "execs", next, NULL, environ); break;
    case 2: execlp("/proc/self/exe", "host", "execs", next, NULL); break;
    case 3: execv("/proc/self/exe", args); break;
    case 4: execvp("/proc/self/exe", args); break;
    case 5: execvpe("/proc/self/exe", args, environ); break;
    case 6: fexecve(open("/proc/self/exe", O_RDONLY | O_CLOEXEC), args, environ); break;
    case 7:
        errno = 0;
        execv("/no/such/file", args);
        printf("%s", errno == ENOENT ? "" : "errno 1\n");
        execve("/proc/self/exe", args, environ);
        break;
    }
    return 1;
}

static int case_vfork(char **argv)
{
    burn(0.1);
    const pid_t child = vfork();
    if (child == 0) _exit(7);
    int status;
    waitpid(child, &status, 0);
    burn(0.1);
    printf("status %d\n", WEXITSTATUS(status));
    return say_cpu();
}

/* Pages of address space (proc(5), statm). */
static long pages(void)
{
    long count = -1;
    FILE *const file = fopen("/proc/self/statm", "re");
    if (file == NULL || fscanf(file, "%ld", &count) != 1) count = -1;
    if (file != NULL) fclose(file);
    return count;
}

/* Children of vfork become other programs, and what they took of our memory stays taken. */
static int case_vfork_execs(char **argv)
{
    const long before = pages();
    int status = 0;
    for (int i = 0; i < 100; i++) {
        const pid_t child = vfork();
        if (child == 0) {
            execl("/bin/sh", "sh", "-c", "exit 7", NULL);
            _exit(9);
        }
        waitpid(child, &status, 0);
    }
    printf("status %d\npages %ld\n", WEXITSTATUS(status), pages() - before);
    return 0;
}

static volatile sig_atomic_t relay_ends;

static void *start_always(void *arg)
{
    while (!relay_ends)
        ProfilerStart("relay.prof");
    return NULL;
}

/* One thread starts a profile as soon as another has stopped the last. */
static int case_relay(char **argv)
{
    pthread_t thread;
    pthread_create(&thread, NULL, start_always, NULL);
    for (int i = 0; i < 300; i++)
        ProfilerStop();
    relay_ends = 1;
    pthread_join(thread, NULL);
    printf("ended 1\n");
    return 0;
}

static void *say_nothing(void *arg)
{
    return arg;
}

/* A child that the library is not told of, which starts a thread. */
static int case_rawclone(char **argv)
{
    burn(0.1);
    const pid_t child = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
    if (child == 0) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, say_nothing, NULL) != 0) _exit(1);
        pthread_join(thread, NULL);
        _exit(7);
    }
    int status;
    waitpid(child, &status, 0);
    burn(0.1);
    printf("status %d\n", WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status));
    return say_cpu();
}

/* fork in a loop while every thread ticks. */
static int case_forks(char **argv)
{
    double cpu_s = 0.3;
    pthread_t thread;
    pthread_create(&thread, NULL, worker1, &cpu_s);
    int done = 0;
    for (int i = 0; i < 30; i++) {
        const pid_t child = fork();
        if (child == 0) _exit(0);
        done += waitpid(child, NULL, 0) == child;
    }
    pthread_join(thread, NULL);
    printf("done %d\n", done);
    return 0;
}

/* A library that is gone when the profile is written: argv[1]. */
static int case_unload(char **argv)
{
    void *const handle = dlopen(argv[1], RTLD_NOW);
    void (*const plugin)(double) = (void (*)(double))(uintptr_t)dlsym(handle, "plugin_burn");
    plugin(0.3);
    printf("closed %d\n", dlclose(handle));
    return say_cpu();
}

/* Libraries come and go while the program does the same all the time. */
static int case_reload(char **argv)
{
    int closed = 0;
    for (int i = 0; i < 20; i++) {
        void *const handle = dlopen(argv[1], RTLD_NOW);
        burn(0.02);
        closed += handle != NULL && dlclose(handle) == 0;
        burn(0.02);
    }
    printf("closed %d\n", closed);
    return say_cpu();
}

/* Libraries that are unloaded one after the other, as PHP does it at its end: argv[1] and so on. */
static int case_unloads(char **argv)
{
    enum { MOST = 32 };
    void *handles[MOST];
    int opened = 0, closed = 0;
    for (; opened < MOST && argv[opened + 1] != NULL; opened++)
        handles[opened] = dlopen(argv[opened + 1], RTLD_NOW);
    burn(0.05);
    for (int i = 0; i < opened; i++)
        closed += handles[i] != NULL && dlclose(handles[i]) == 0;
    printf("closed %d\n", closed);
    return 0;
}

static const struct {
    const char *name;
    int (*run)(char **argv);
} cases[] = {
    {"burn", case_burn},     {"workers", case_workers},
    {"short", case_short},   {"blocked", case_blocked},
    {"alive", case_alive},   {"standard", case_standard},
    {"api", case_api},       {"trace", case_trace},
    {"errno", case_errno},   {"mask", case_mask},
    {"reset", case_reset},   {"takes", case_takes},
    {"masked", case_masked}, {"has", case_has},
    {"closes", case_closes}, {"chdir", case_chdir},
    {"exit", case_exit},     {"fast", case_fast},
    {"quick", case_quick},   {"kill", case_kill},
    {"fork", case_fork},     {"exec", case_exec},
    {"vfork", case_vfork},   {"execs", case_execs},
    {"forks", case_forks},   {"rawclone", case_rawclone},
    {"unload", case_unload}, {"descriptors", case_descriptors},
    {"cancel", case_cancel}, {"winding", case_winding},
    {"flush", case_flush},   {"pipe", case_pipe},
    {"reload", case_reload}, {"vforkexecs", case_vfork_execs},
    {"relay", case_relay},   {"unloads", case_unloads},
};

int main(int argc, char **argv)
{
    for (size_t i = 0; argc > 1 && i < sizeof cases / sizeof cases[0]; i++)
        if (strcmp(cases[i].name, argv[1]) == 0) return cases[i].run(argv + 1);
    fprintf(stderr, "usage: host CASE [ARGUMENT]\n");
    return 2;
}
