/* handler WHO DEPTH TICKS: the CPU time of so many ticks in a stack of DEPTH calls without frame
 * pointers, as a multiple of ticks whose handler returns at once. Both are measured in one run.
 *
 *   pitot        libprofiler.so.0 of the build folder
 *   gperftools   the one that is installed
 *
 * A tick is a signal that the thread sends to itself after a period of CPU time; the call that
 * sends it and the handler are measured. The other threads of the process (ours drains the rings)
 * are counted with it. gperftools' handler takes any SIGPROF. Ours takes signals of its own timers,
 * so the signal has the code and the value of a real tick of this thread, which is taken from the
 * kernel before the handler has it. These system calls are made directly, because the library keeps
 * SIGPROF unblocked for callers of the C library. The profile is kept if HANDLER_KEEP is set.
 */
#include <dlfcn.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define FREQUENCY "4000"
enum { PERIOD_NS = 250000 };

static siginfo_t tick = {.si_signo = SIGPROF, .si_code = SI_TIMER};
static double ticks_ns; /* CPU time of this thread in ticks */

static double clock_ns(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return 1e9 * (double)now.tv_sec + (double)now.tv_nsec;
}

static void return_at_once(int signo)
{
    (void)signo;
}

static void take_tick(void)
{
    const double before_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
    double start_ns;
    do
        start_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
    while (start_ns < before_ns + PERIOD_NS);
    syscall(SYS_rt_tgsigqueueinfo, getpid(), gettid(), SIGPROF, &tick);
    ticks_ns += clock_ns(CLOCK_THREAD_CPUTIME_ID) - start_ns;
}

__attribute__((noinline)) static long take_ticks_deep(int depth, long ticks)
{
    char room[64];
    memset(room, depth, sizeof room);
    __asm__ volatile("" : : "r"(room) : "memory");
    if (depth > 0) return take_ticks_deep(depth - 1, ticks) + room[depth % 64];
    for (long i = 0; i < ticks; i++)
        take_tick();
    return room[0];
}

/* CPU nanoseconds of a tick, those of the other threads included. */
static double tick_ns(int depth, long ticks)
{
    const double others_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID) - clock_ns(CLOCK_THREAD_CPUTIME_ID);
    ticks_ns = 0;
    take_ticks_deep(depth, ticks);
    return (ticks_ns - others_ns + clock_ns(CLOCK_PROCESS_CPUTIME_ID) -
            clock_ns(CLOCK_THREAD_CPUTIME_ID)) /
           (double)ticks;
}

static double empty_tick_ns(int depth, long ticks)
{
    const struct sigaction act = {.sa_flags = SA_RESTART, .sa_handler = return_at_once},
                           usual = {.sa_handler = SIG_DFL};
    sigaction(SIGPROF, &act, NULL);
    const double ns = tick_ns(depth, ticks);
    sigaction(SIGPROF, &usual, NULL);
    return ns;
}

/* The value of a real tick of ours is the thread's slot. */
static void learn_slot(void)
{
    const uint64_t profile = UINT64_C(1) << (SIGPROF - 1);
    siginfo_t info;
    uint64_t pending = 0;
    syscall(SYS_rt_sigprocmask, SIG_BLOCK, &profile, NULL, sizeof profile);
    while ((pending & profile) == 0) /* CPU time brings a tick */
        syscall(SYS_rt_sigpending, &pending, sizeof pending);
    syscall(SYS_rt_sigtimedwait, &profile, &info, NULL, sizeof profile);
    tick.si_value = info.si_value;
    syscall(SYS_rt_sigprocmask, SIG_UNBLOCK, &profile, NULL, sizeof profile);
}

int main(int argc, char **argv)
{
    if (argc != 4) return 2;
    const int depth = atoi(argv[2]);
    const long ticks = atol(argv[3]);
    const double empty_ns = empty_tick_ns(depth, ticks);
    const char *name = "libprofiler.so.0";
    char path[4096];
    const int is_ours = strcmp(argv[1], "pitot") == 0;
    if (is_ours) {
        const ssize_t length = readlink("/proc/self/exe", path, sizeof path - 64);
        if (length < 0) return 1;
        path[length] = '\0';
        strcpy(strrchr(path, '/'), "/../libprofiler.so.0");
        name = path;
    }
    setenv("CPUPROFILE_PER_THREAD_TIMERS", "1", 1); /* ticks that can be sent again */
    setenv("CPUPROFILE_FREQUENCY", FREQUENCY, 1);
    void *const library = dlopen(name, RTLD_NOW | RTLD_GLOBAL);
    int (*const start)(const char *) =
        library != NULL ? (int (*)(const char *))(uintptr_t)dlsym(library, "ProfilerStart") : NULL;
    if (start == NULL || !start("/dev/shm/handler.prof")) {
        fprintf(stderr, "handler: %s\n",
                library == NULL ? dlerror() : "the profile does not start");
        return 1;
    }
    if (is_ours) learn_slot();
    const double ns = tick_ns(depth, ticks);
    ((void (*)(void))(uintptr_t)dlsym(library, "ProfilerStop"))();
    if (getenv("HANDLER_KEEP") == NULL) unlink("/dev/shm/handler.prof");
    fprintf(stderr, "%.2f us a tick, %.2f us with a handler that returns at once\n", ns / 1000,
            empty_ns / 1000);
    printf("%.3f\n", ns / empty_ns);
    return 0;
}
