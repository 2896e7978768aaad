/* handler WHO DEPTH TICKS: so many ticks in a stack of DEPTH calls without frame pointers, by one
 * signal each that the thread sends itself. What is above `nothing` is the handler's.
 *
 *   nothing      a handler that returns
 *   pitot        libprofiler.so.0 of the build folder
 *   gperftools   the one that is installed
 *
 * gperftools' handler takes any SIGPROF. Ours takes what its own timers send: the signal has their
 * code and the slot that a real tick of this thread had. The thread that drains the ring is counted
 * with it. The file is kept if HANDLER_KEEP is set.
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

enum { BATCH = 200 }; /* fewer than fill a ring: a tick without room costs less */

static siginfo_t tick = {.si_signo = SIGPROF, .si_code = SI_TIMER};
static long ticks;
static volatile sig_atomic_t is_known; /* the slot */

static void nothing(int signo, siginfo_t *info, void *context)
{
    (void)signo;
    (void)info;
    (void)context;
}

__attribute__((noinline)) static long deep(int depth)
{
    char room[64];
    memset(room, depth, sizeof room);
    __asm__ volatile("" : : "r"(room) : "memory");
    if (depth > 0) return deep(depth - 1) + room[depth % 64];
    for (long i = 0; i < ticks; i++) {
        const struct timespec until_drained = {0, 25000000};
        syscall(SYS_rt_tgsigqueueinfo, getpid(), gettid(), SIGPROF, &tick);
        if (i % BATCH == BATCH - 1) nanosleep(&until_drained, NULL);
    }
    return room[0];
}

/* A real tick of ours: its timer's value is the slot. */
static void look_at_tick(int signo, siginfo_t *info, void *context)
{
    (void)signo;
    (void)context;
    if (info->si_code != SI_TIMER) return;
    tick.si_value = info->si_value;
    is_known = 1;
}

typedef int real_sigaction(int, const struct sigaction *, struct sigaction *);

static void learn_slot(void)
{
    real_sigaction *const set =
        (real_sigaction *)(uintptr_t)dlsym(dlopen("libc.so.6", RTLD_NOW), "sigaction");
    struct sigaction act, look = {.sa_flags = SA_SIGINFO, .sa_sigaction = look_at_tick};
    set(SIGPROF, NULL, &act);
    set(SIGPROF, &look, NULL);
    while (!is_known)
        ;
    set(SIGPROF, &act, NULL);
}

int main(int argc, char **argv)
{
    if (argc != 4) return 2;
    const int is_ours = strcmp(argv[1], "pitot") == 0;
    ticks = atol(argv[3]);
    if (strcmp(argv[1], "nothing") == 0) {
        const struct sigaction act = {.sa_flags = SA_SIGINFO | SA_RESTART, .sa_sigaction = nothing};
        sigaction(SIGPROF, &act, NULL);
        return (int)(deep(atoi(argv[2])) & 0);
    }
    char path[4096];
    if (is_ours) {
        const ssize_t length = readlink("/proc/self/exe", path, sizeof path - 64);
        if (length < 0) return 1;
        path[length] = '\0';
        strcpy(strrchr(path, '/'), "/../libprofiler.so.0");
        setenv("CPUPROFILE_PER_THREAD_TIMERS", "1", 1); /* ticks that can be sent again */
    }
    setenv("CPUPROFILE_FREQUENCY", "4000", 1);
    void *const library = dlopen(is_ours ? path : "libprofiler.so.0", RTLD_NOW | RTLD_GLOBAL);
    int (*const start)(const char *) =
        library != NULL ? (int (*)(const char *))(uintptr_t)dlsym(library, "ProfilerStart") : NULL;
    if (start == NULL || !start("/dev/shm/handler.prof")) {
        fprintf(stderr, "handler: %s\n", library == NULL ? dlerror() : "it does not start");
        return 1;
    }
    if (is_ours) learn_slot();
    deep(atoi(argv[2]));
    ((void (*)(void))(uintptr_t)dlsym(library, "ProfilerStop"))();
    if (getenv("HANDLER_KEEP") == NULL) unlink("/dev/shm/handler.prof");
    return 0;
}
