/* session_host.c: the programs that environment.t.sh and complaints.t.sh profile:
 * `session_host CASE [ARGUMENT...]`. Each case prints what it knows of itself, one "name value" a
 * line. With -DFORBIDS it lets the environment do nothing.
 */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <gperftools/profiler.h>

#include "in_journal.h"

#ifdef FORBIDS
const char *pitot_default_options(void)
{
    return FORBIDS;
}
#endif

static double seconds(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

__attribute__((noinline)) static void burn(double cpu_s)
{
    const double end = seconds(CLOCK_THREAD_CPUTIME_ID) + cpu_s;
    volatile unsigned long x = 88172645463325252u;
    do {
        for (int i = 0; i < 20000; i++)
            x = x * 6364136223846793005u + 1442695040888963407u;
    } while (seconds(CLOCK_THREAD_CPUTIME_ID) < end);
}

static int case_burn(char **argv)
{
    burn(argv[1] != NULL ? atof(argv[1]) : 0.05);
    return 0;
}

/* Whether CPUPROFILE is as it was given: argv[1]. */
static int case_variable(char **argv)
{
    const char *const now = getenv("CPUPROFILE");
    printf("same %d\n", now != NULL && strcmp(now, argv[1]) == 0);
    return 0;
}

/* Raises the signal and waits until it did what it does. */
static void press(int signo)
{
    const int before = ProfilingIsEnabledForAllThreads();
    kill(getpid(), signo);
    while (ProfilingIsEnabledForAllThreads() == before)
        usleep(1000);
}

/* Two profiles with a pause between them; argv[1] is the signal. */
static int case_toggle(char **argv)
{
    const int signo = atoi(argv[1]);
    burn(0.1);
    printf("before %d\n", ProfilingIsEnabledForAllThreads());
    for (int i = 0; i < 2; i++) {
        press(signo);
        burn(0.2);
        press(signo);
        burn(0.1);
    }
    return 0;
}

/* A child toggles by itself; the parent's profile runs on. */
static int case_toggle_fork(char **argv)
{
    const int signo = atoi(argv[1]);
    press(signo);
    const pid_t child = fork();
    if (child == 0) {
        burn(0.1);
        press(signo); /* ends the one that began with the fork */
        press(signo);
        burn(0.1);
        press(signo);
        _exit(0);
    }
    int status;
    waitpid(child, &status, 0);
    burn(0.1);
    press(signo);
    printf("child %d\nstatus %d\n", (int)child, status);
    return 0;
}

/* Starts itself again, as a child of fork and exec; prints the child's pid. */
static int case_spawn(char **argv)
{
    const pid_t child = fork();
    if (child == 0) {
        execl("/proc/self/exe", "session_host", "burn", NULL);
        _exit(127);
    }
    int status;
    waitpid(child, &status, 0);
    printf("child %d\nstatus %d\n", (int)child, status);
    return 0;
}

/* Profiles argv[2] seconds of work into argv[1], with work before and after. */
static int case_brackets(char **argv)
{
    burn(0.1);
    if (!ProfilerStart(argv[1])) return 1;
    burn(atof(argv[2]));
    ProfilerStop();
    burn(0.1);
    return 0;
}

/* Works, and then becomes itself, which works less. */
static int case_works_and_execs(char **argv)
{
    burn(0.3);
    execl("/no/such/program", "none", NULL);
    burn(0.05);
    execl("/proc/self/exe", "session_host", "burn", "0.2", NULL);
    return 1;
}

static void *work(void *cpu_s)
{
    burn(*(double *)cpu_s);
    return NULL;
}

/* argv[1] threads of argv[2] seconds each. */
static int case_threads(char **argv)
{
    pthread_t threads[8];
    double cpu_s = atof(argv[2]);
    const int count = atoi(argv[1]);
    for (int i = 0; i < count; i++)
        pthread_create(&threads[i], NULL, work, &cpu_s);
    for (int i = 0; i < count; i++)
        pthread_join(threads[i], NULL);
    return 0;
}

/* One child that works, one that becomes another program. */
static int case_fork_and_exec(char **argv)
{
    pid_t children[2];
    for (int i = 0; i < 2; i++) {
        children[i] = fork();
        if (children[i] != 0) continue;
        if (i == 1) execl("/proc/self/exe", "session_host", "burn", "0.1", NULL);
        burn(0.1);
        exit(0);
    }
    for (int i = 0; i < 2; i++)
        waitpid(children[i], NULL, 0);
    burn(0.1);
    return 0;
}

static _Thread_local int is_refused;

static int refuse_some(void *arg)
{
    return !is_refused;
}

__attribute__((noinline)) static void *left(void *cpu_s)
{
    burn(*(double *)cpu_s);
    return cpu_s;
}

__attribute__((noinline)) static void *right(void *cpu_s)
{
    is_refused = 1;
    burn(*(double *)cpu_s);
    return NULL;
}

static int case_filters(char **argv)
{
    const struct ProfilerOptions options = {.filter_in_thread = refuse_some};
    double cpu_s = 0.1;
    pthread_t one, other;
    if (!ProfilerStartWithOptions(argv[1], &options)) return 1;
    pthread_create(&one, NULL, left, &cpu_s);
    pthread_create(&other, NULL, right, &cpu_s);
    pthread_join(one, NULL);
    pthread_join(other, NULL);
    ProfilerStop();
    return 0;
}

/* Is profiled, whatever the environment says, when it asks for it itself. */
static int case_asks(char **argv)
{
    printf("by itself %d\n", ProfilingIsEnabledForAllThreads());
    printf("start %d\n", ProfilerStart("asks.prof"));
    burn(0.1);
    ProfilerStop();
    return 0;
}

static int case_killed(char **argv)
{
    burn(0.3);
    wait_until_in_journal(getenv("CPUPROFILE"));
    kill(getpid(), SIGKILL);
    return 1;
}

/* Until it is killed. */
static int case_waits(char **argv)
{
    burn(0.1);
    printf("ready 1\n");
    fflush(stdout);
    for (;;)
        pause();
}

static volatile int refuses;
static int refuse_when_told(void *arg)
{
    return !refuses;
}

/* Kills itself when its profile argv[1] was flushed and nothing was sampled since: what was flushed
 * is all that the journal beside it holds. */
static int case_flushed(char **argv)
{
    const struct ProfilerOptions options = {.filter_in_thread = refuse_when_told};
    if (!ProfilerStartWithOptions(argv[1], &options)) return 1;
    burn(0.3);
    refuses = 1;
    ProfilerFlush();
    kill(getpid(), SIGKILL);
    return 1;
}

static const struct {
    const char *name;
    int (*run)(char **argv);
} cases[] = {
    {"burn", case_burn},       {"variable", case_variable},
    {"toggle", case_toggle},   {"toggle_fork", case_toggle_fork},
    {"spawn", case_spawn},     {"asks", case_asks},
    {"flushed", case_flushed}, {"killed", case_killed},
    {"waits", case_waits},     {"brackets", case_brackets},
    {"threads", case_threads}, {"fork_and_exec", case_fork_and_exec},
    {"filters", case_filters}, {"works_and_execs", case_works_and_execs},
};

int main(int argc, char **argv)
{
    for (size_t i = 0; argc > 1 && i < sizeof cases / sizeof cases[0]; i++)
        if (strcmp(cases[i].name, argv[1]) == 0) return cases[i].run(argv + 1);
    fprintf(stderr, "usage: session_host CASE [ARGUMENT...]\n");
    return 2;
}
