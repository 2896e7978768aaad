/* timers_host.c: programs that know what CPU time they used, for timers.t.sh.
 *
 * - load THREADS user|system|both SECONDS: that long in each thread; prints the sum of the threads'
 *   clocks, and what of it was in compute() and in call_kernel()
 * - short THREADS: of 1 to 3 ms, two at a time
 * - waits SECONDS: one thread sleeps and polls, one computes; prints how often a call ended with
 *   EINTR
 * - trap | reset | reset_raw | reset_bare [ignore] | bad_raw | catch | alarm: what it does with
 * signals
 * - gives_up | keeps_rights | becomes_user [root]: what it does with its rights
 * - brief [threads]: 1 ms of CPU time in main, or 5 in each of two threads, one after the other
 * - late LIBRARY: loads the library when threads run
 * - exec COMMAND...: without perf events, by a seccomp filter; exec_bare: nor POSIX timers
 * - refuses EPERM|ENOSYS: has the library's system calls refused in the middle
 * - jit [kill]: runs code that nobody has a table of
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static double clock_s(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static double used(void)
{
    return clock_s(CLOCK_THREAD_CPUTIME_ID);
}

__attribute__((noinline)) static void compute(double cpu_s)
{
    const double end = used() + cpu_s;
    volatile uint64_t x = 88172645463325252u;
    do {
        for (int i = 0; i < 20000; i++)
            x = x * 6364136223846793005u + 1442695040888963407u;
    } while (used() < end);
}

static int zeros;

__attribute__((noinline)) static void call_kernel(double cpu_s)
{
    static __thread char bytes[16384];
    const double end = used() + cpu_s;
    do {
        for (int i = 0; i < 20; i++)
            if (read(zeros, bytes, sizeof bytes) < 0) abort();
    } while (used() < end);
}

/* ---- load ---- */

static struct {
    const char *kind;
    double cpu_s;
} load;
static pthread_mutex_t sums = PTHREAD_MUTEX_INITIALIZER;
static double sum_cpu, sum_compute, sum_kernel;

static void *load_thread(void *arg)
{
    double in_compute = 0, in_kernel = 0;
    while (used() < load.cpu_s) {
        const double t0 = used();
        if (load.kind[0] != 's') compute(load.kind[0] == 'b' ? 0.0005 : load.cpu_s - t0);
        const double t1 = used();
        if (load.kind[0] != 'u') call_kernel(load.kind[0] == 'b' ? 0.0005 : load.cpu_s - t1);
        in_compute += t1 - t0;
        in_kernel += used() - t1;
    }
    pthread_mutex_lock(&sums);
    sum_cpu += used();
    sum_compute += in_compute;
    sum_kernel += in_kernel;
    pthread_mutex_unlock(&sums);
    return arg;
}

static int run_load(char **argv)
{
    enum { MOST = 256 };
    static pthread_t threads[MOST];
    const int count = atoi(argv[0]);
    load.kind = argv[1];
    load.cpu_s = atof(argv[2]);
    for (int i = 0; i < count && i < MOST; i++)
        pthread_create(&threads[i], NULL, load_thread, NULL);
    for (int i = 0; i < count && i < MOST; i++)
        pthread_join(threads[i], NULL);
    printf("cpu %.6f\ncompute %.6f\nkernel %.6f\nmain %.6f\n", sum_cpu, sum_compute, sum_kernel,
           used());
    return 0;
}

static void *short_thread(void *arg)
{
    const double begin = used();
    compute(0.001 * (double)(1 + (intptr_t)arg % 3));
    const double cpu_s = used() - begin;
    pthread_mutex_lock(&sums);
    sum_compute += cpu_s;
    pthread_mutex_unlock(&sums);
    return NULL;
}

static int run_short(char **argv)
{
    const int count = atoi(argv[0]);
    for (intptr_t i = 0; i < count; i += 2) {
        pthread_t a, b;
        pthread_create(&a, NULL, short_thread, (void *)i);
        pthread_create(&b, NULL, short_thread, (void *)(i + 1));
        pthread_join(a, NULL);
        pthread_join(b, NULL);
    }
    printf("compute %.6f\n", sum_compute);
    return 0;
}

/* ---- signals ---- */

static atomic_int done;

static void *sleeper(void *arg)
{
    uintptr_t interrupted = 0;
    while (!done) {
        const struct timespec some = {0, 20000000};
        interrupted += nanosleep(&some, NULL) != 0;
        interrupted += poll(NULL, 0, 20) < 0;
    }
    return (void *)interrupted;
}

static int run_waits(char **argv)
{
    pthread_t thread;
    void *interrupted;
    pthread_create(&thread, NULL, sleeper, NULL);
    compute(atof(argv[0]));
    done = 1;
    pthread_join(thread, &interrupted);
    printf("cpu %.6f\ninterrupted %d\n", clock_s(CLOCK_PROCESS_CPUTIME_ID),
           (int)(intptr_t)interrupted);
    return 0;
}

static int run_trap(char **argv)
{
    compute(0.05);
    raise(SIGTRAP);
    return 0;
}

static int run_breakpoint(char **argv)
{
    compute(0.05);
#if defined(__x86_64__)
    __asm__ volatile("int3");
#else
    raise(SIGTRAP);
#endif
    return 0;
}

/* As programs do that want to begin with a clean slate, by each name that there is for it. */
static int run_reset(char **argv)
{
    extern sighandler_t __sysv_signal(int, sighandler_t);
    compute(0.05);
    for (int signo = 1; signo < 65; signo++) {
        const struct sigaction act = {.sa_handler = SIG_DFL};
        signal(signo, SIG_DFL);
        __sysv_signal(signo, SIG_DFL);
        sigaction(signo, &act, NULL);
    }
    compute(0.15);
    printf("cpu %.6f\n", clock_s(CLOCK_PROCESS_CPUTIME_ID));
    return 0;
}

/* The same past libc's functions. */
static int run_reset_raw(char **argv)
{
    static const uint64_t by_default[4];
    uint64_t before[4] = {1, 1, 1, 1};
    compute(0.05);
    for (int signo = 1; signo < 32; signo++)
        syscall(SYS_rt_sigaction, signo, by_default, NULL, sizeof(uint64_t));
    syscall(SYS_rt_sigaction, SIGPROF, NULL, before, sizeof(uint64_t));
    compute(0.15);
    printf("cpu %.6f\ndefault %d\n", clock_s(CLOCK_PROCESS_CPUTIME_ID), before[0] == 0);
    return 0;
}

/* The same by an instruction of its own, which nobody sees; or it ignores them all. */
static int run_reset_bare(char **argv)
{
    uint64_t action[4] = {(uint64_t)(uintptr_t)(argv[0] != NULL ? SIG_IGN : SIG_DFL)};
    compute(0.05);
#if defined(__x86_64__)
    for (long signo = 1; signo < 32; signo++) {
        register uint64_t mask_bytes __asm__("r10") = sizeof(uint64_t);
        long result = SYS_rt_sigaction;
        __asm__ volatile("syscall"
                         : "+a"(result)
                         : "D"(signo), "S"(action), "d"(NULL), "r"(mask_bytes)
                         : "rcx", "r11", "memory");
    }
#endif
    call_kernel(0.3);
    printf("cpu %.6f\n", clock_s(CLOCK_PROCESS_CPUTIME_ID));
    return 0;
}

/* The same with addresses that nothing is at. */
static int run_bad_raw(char **argv)
{
    static const uint64_t ignore[4] = {(uint64_t)(uintptr_t)SIG_IGN};
    static const uint64_t constant[4] = {1, 1, 1, 1};
    uint64_t now[4];
    void *const nowhere = (void *)(uintptr_t)8, *const unwritable = (void *)(uintptr_t)constant;
    for (int signo = SIGTRAP; signo != 0; signo = signo == SIGTRAP ? SIGPROF : 0) {
        errno = 0;
        const long act = syscall(SYS_rt_sigaction, signo, nowhere, nowhere, sizeof(uint64_t));
        const int act_errno = errno;
        syscall(SYS_rt_sigaction, signo, NULL, now, sizeof(uint64_t));
        const uint64_t kept = now[0];
        errno = 0;
        const long old = syscall(SYS_rt_sigaction, signo, ignore, unwritable, sizeof(uint64_t));
        const int old_errno = errno;
        syscall(SYS_rt_sigaction, signo, NULL, now, sizeof(uint64_t));
        errno = 4711;
        const long good = syscall(SYS_rt_sigaction, signo, ignore, now, sizeof(uint64_t));
        const int good_errno = errno;
        const long short_mask = syscall(SYS_rt_sigaction, signo, NULL, now, (size_t)3);
        printf("signal %d: %ld %d %d; %ld %d; %ld %d %d; %ld %d\n", signo, act, act_errno,
               (int)kept, old, old_errno, good, good_errno, (int)now[0], short_mask, errno);
    }
    return 0;
}

/* A program with one thread gives up what it may do, and is refused what it may not any more. */
static int run_gives_up(char **argv)
{
    struct {
        uint32_t version;
        int pid;
    } who = {0x20080522, 0}; /* _LINUX_CAPABILITY_VERSION_3 */
    const uint32_t none[6] = {0};
    const gid_t group = 65534;
    compute(0.1);
    if (syscall(SYS_capset, &who, none) != 0) return 3;
    errno = 0;
    const int groups = setgroups(1, &group), why = errno, user = setuid(65534);
    compute(0.2);
    printf("cpu %.6f\nrefused %d\n", clock_s(CLOCK_PROCESS_CPUTIME_ID),
           groups == -1 && why == EPERM && user == -1);
    return 0;
}

/* Becomes another user and keeps its rights, so that it may become yet another one. */
static int run_keeps_rights(char **argv)
{
    struct {
        uint32_t version;
        int pid;
    } who = {0x20080522, 0}; /* _LINUX_CAPABILITY_VERSION_3 */
    uint32_t sets[6];
    compute(0.1);
    if (prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0) != 0 || setgroups(0, NULL) != 0 || setgid(65534) != 0 ||
        setuid(65534) != 0 || syscall(SYS_capget, &who, sets) != 0)
        return 3;
    sets[0] = sets[1]; /* effective as permitted, which alone are kept */
    sets[3] = sets[4];
    if (syscall(SYS_capset, &who, sets) != 0 || setuid(65533) != 0) return 4;
    compute(0.2);
    printf("cpu %.6f\n", clock_s(CLOCK_PROCESS_CPUTIME_ID));
    return 0;
}

/* Goes on as another user, and below another root first if there is an argument. */
static int run_becomes_user(char **argv)
{
    compute(0.1);
    if (argv[0] != NULL && chroot(".") != 0) return 4;
    if (setgroups(0, NULL) != 0 || setgid(65534) != 0 || setuid(65534) != 0) return 3;
    compute(0.2);
    printf("cpu %.6f\n", clock_s(CLOCK_PROCESS_CPUTIME_ID));
    return 0;
}

static atomic_int caught;

static void on_signal(int signo)
{
    (void)signo;
    caught++;
}

static int run_catch(char **argv)
{
    signal(SIGTRAP, on_signal);
    compute(0.2);
    raise(SIGTRAP);
    compute(0.2);
    printf("caught %d\ncpu %.6f\n", caught, clock_s(CLOCK_PROCESS_CPUTIME_ID));
    return 0;
}

static int run_block(char **argv)
{
    sigset_t all, before;
    compute(0.1);
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, &before);
    compute(0.2);
    sigprocmask(SIG_SETMASK, &before, NULL);
    compute(0.1);
    printf("cpu %.6f\n", clock_s(CLOCK_PROCESS_CPUTIME_ID));
    return 0;
}

static int run_alarm(char **argv)
{
    signal(SIGALRM, on_signal);
    const struct itimerval soon = {.it_value = {0, 50000}};
    setitimer(ITIMER_REAL, &soon, NULL);
    compute(0.2);
    const struct timespec some = {0, 300000000};
    struct timespec rest = some;
    while (nanosleep(&rest, &rest) != 0 && errno == EINTR)
        ;
    printf("caught %d\ncpu %.6f\n", caught, clock_s(CLOCK_PROCESS_CPUTIME_ID));
    return 0;
}

/* ---- a library that comes late ---- */

static int run_late(char **argv)
{
    pthread_t threads[4];
    load.kind = "user";
    load.cpu_s = 0.25;
    for (int i = 0; i < 4; i++)
        pthread_create(&threads[i], NULL, load_thread, NULL);
    while (clock_s(CLOCK_PROCESS_CPUTIME_ID) < 0.1)
        ;
    void *const library = dlopen(argv[0], RTLD_NOW);
    int (*const start)(const char *) =
        (int (*)(const char *))(uintptr_t)dlsym(library, "ProfilerStart");
    void (*const stop)(void) = (void (*)(void))(uintptr_t)dlsym(library, "ProfilerStop");
    if (library == NULL) return puts(dlerror()), 1;
    const double before = clock_s(CLOCK_PROCESS_CPUTIME_ID);
    start("prof");
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    stop();
    printf("cpu %.6f\n", clock_s(CLOCK_PROCESS_CPUTIME_ID) - before);
    return 0;
}

static void use(double seconds)
{
    const double before = used();
    while (used() < before + seconds)
        continue;
}

static void *one_brief(void *arg)
{
    use(0.005);
    return arg;
}

static void *other_brief(void *arg)
{
    use(0.0049);
    return arg;
}

static int run_brief(char **argv)
{
    const double before = clock_s(CLOCK_PROCESS_CPUTIME_ID);
    if (argv[0] == NULL) use(0.001);
    for (int i = 0; argv[0] != NULL && i < 2; i++) {
        pthread_t thread;
        pthread_create(&thread, NULL, i == 0 ? one_brief : other_brief, NULL);
        pthread_join(thread, NULL);
    }
    printf("cpu %.6f\n", clock_s(CLOCK_PROCESS_CPUTIME_ID) - before);
    return 0;
}

/* ---- without perf events ---- */

/* Without the system call, the program of the arguments. */
static bool refuse(const uint32_t *calls, unsigned short count, unsigned error)
{
    enum { CALLS_MAX = 16 };
    struct sock_filter code[2 * CALLS_MAX + 2] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr))};
    unsigned short length = 1;
    for (size_t i = 0; i < count && i < CALLS_MAX; i++) {
        code[length++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, calls[i], 0, 1);
        code[length++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error);
    }
    code[length++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    const struct sock_fprog filter = {length, code};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &filter) == 0;
}

static int run_without(const uint32_t *calls, unsigned short count, char **argv)
{
    if (!refuse(calls, count, EPERM)) return 99;
    execvp(argv[0], argv);
    return 98;
}

static int run_exec(char **argv)
{
    return run_without((const uint32_t[]){SYS_perf_event_open}, 1, argv);
}

static int run_exec_bare(char **argv)
{
    return run_without((const uint32_t[]){SYS_perf_event_open, SYS_timer_create}, 2, argv);
}

/* Computes without asking a clock. */
static void *count_up(void *rounds)
{
    volatile uint64_t sum = 0;
    errno = 4711;
    for (uint64_t i = 0; i < *(const uint64_t *)rounds; i++)
        sum += i;
    return (void *)(intptr_t)(errno == 4711);
}

/* Refuses, in the middle, whatever the handler and what begins and ends threads may ask for. */
static int run_refuses(char **argv)
{
    const unsigned error = strcmp(argv[0], "ENOSYS") == 0 ? ENOSYS : EPERM;
    const uint32_t calls[] = {
        SYS_clock_gettime, SYS_timer_create,    SYS_timer_settime,     SYS_timer_delete,
        SYS_setitimer,     SYS_perf_event_open, SYS_rt_tgsigqueueinfo, SYS_ioctl,
        SYS_fcntl,         SYS_gettid};
    uint64_t rounds = 100000000;
    pthread_t thread;
    void *kept[2] = {NULL, NULL};
    while (used() < 0.2)
        count_up(&(uint64_t){1000000});
    printf("before %.6f\n", used());
    if (!refuse(calls, sizeof calls / sizeof calls[0], error)) return 99;
    kept[0] = count_up(&rounds);
    if (pthread_create(&thread, NULL, count_up, &rounds) != 0) return 97;
    pthread_join(thread, &kept[1]);
    printf("errno kept %d %d\n", kept[0] != NULL, kept[1] != NULL);
    return 0;
}

/* ---- code without tables ---- */

static int run_jit(char **argv)
{
#if defined(__x86_64__)
    /* push %rbx; mov %rdi, %rbx; 1: dec %rbx; jnz 1b; pop %rbx; ret: no frame, no frame pointer */
    static const uint8_t code[] = {0x53, 0x48, 0x89, 0xfb, 0x48, 0xff,
                                   0xcb, 0x75, 0xfb, 0x5b, 0xc3};
    void *const at = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memcpy(at, code, sizeof code);
    mprotect(at, 4096, PROT_READ | PROT_EXEC);
    while (used() < 0.5)
        ((void (*)(uint64_t))(uintptr_t)at)(1000000);
#endif
    printf("cpu %.6f\n", clock_s(CLOCK_PROCESS_CPUTIME_ID));
    if (argv[0] != NULL) kill(getpid(), SIGKILL);
    return 0;
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        int (*run)(char **argv);
        int arguments;
    } cases[] = {
        {"load", run_load, 3},
        {"short", run_short, 1},
        {"waits", run_waits, 1},
        {"trap", run_trap, 0},
        {"reset", run_reset, 0},
        {"breakpoint", run_breakpoint, 0},
        {"catch", run_catch, 0},
        {"block", run_block, 0},
        {"alarm", run_alarm, 0},
        {"late", run_late, 1},
        {"exec", run_exec, 1},
        {"brief", run_brief, 0},
        {"jit", run_jit, 0},
        {"exec_bare", run_exec_bare, 1},
        {"refuses", run_refuses, 1},
        {"reset_raw", run_reset_raw, 0},
        {"bad_raw", run_bad_raw, 0},
        {"reset_bare", run_reset_bare, 0},
        {"gives_up", run_gives_up, 0},
        {"keeps_rights", run_keeps_rights, 0},
        {"becomes_user", run_becomes_user, 0},
    };
    zeros = open("/dev/zero", O_RDONLY | O_CLOEXEC);
    for (size_t i = 0; argc > 1 && i < sizeof cases / sizeof cases[0]; i++)
        if (strcmp(cases[i].name, argv[1]) == 0 && argc >= 2 + cases[i].arguments)
            return cases[i].run(argv + 2);
    fprintf(stderr, "usage: timers_host CASE [ARGUMENT...]\n");
    return 2;
}
