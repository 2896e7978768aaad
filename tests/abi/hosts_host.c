/* hosts_host.c: programs that do what a profiler may get in the way of: `hosts_host CASE`. Each
 * prints what it sees of itself, and is to print the same whether the library is in it or not.
 *
 * - run FILE COMMAND...: runs the command and waits for it and all that it leaves behind; FILE.out
 *   and FILE.err get what they print, FILE.status how the command ended. What takes ten minutes is
 *   killed.
 * - refused COMMAND...: runs it where perf_event_open is refused by a seccomp filter.
 *
 * HOST_PRESS=N: the cases of endings send themselves that signal first.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

#define CHECK(call)                                                                                \
    do {                                                                                           \
        if (!(call)) {                                                                             \
            printf("%s: %s\n", #call, strerror(errno));                                            \
            exit(99);                                                                              \
        }                                                                                          \
    } while (0)

/* ---- the one that runs another ---- */

static int open_output(const char *name, const char *suffix)
{
    char path[4096];
    snprintf(path, sizeof path, "%s.%s", name, suffix);
    const int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0666);
    CHECK(fd >= 0);
    return fd;
}

/* Whoever is left without a parent becomes ours, and is waited for. */
static int case_run(char **argv)
{
    enum { GUARD_S = 600 };
    const int out = open_output(argv[1], "out"), err = open_output(argv[1], "err");
    const int result = open_output(argv[1], "status");
    CHECK(prctl(PR_SET_CHILD_SUBREAPER, 1) == 0);
    const pid_t child = fork();
    if (child == 0) {
        setpgid(0, 0);
        dup2(out, 1);
        dup2(err, 2);
        execvp(argv[2], argv + 2);
        _exit(98);
    }
    const pid_t guard = fork();
    if (guard == 0) {
        sleep(GUARD_S);
        kill(-child, SIGKILL);
        _exit(0);
    }
    int status;
    for (pid_t pid; (pid = waitpid(-1, &status, 0)) > 0;) {
        if (pid == child && WIFEXITED(status)) dprintf(result, "exit %d\n", WEXITSTATUS(status));
        if (pid == child && WIFSIGNALED(status)) dprintf(result, "signal %d\n", WTERMSIG(status));
        if (pid == child) kill(guard, SIGKILL);
    }
    return 0;
}

static int case_refused(char **argv)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_perf_event_open, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
    const struct sock_fprog filter = {sizeof code / sizeof code[0], code};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) != 0)
        return 97;
    execvp(argv[1], argv + 1);
    return 98;
}

/* ---- what a program sees of itself ---- */

static void print_signals(const char *name, const sigset_t *set)
{
    printf("%s", name);
    for (int signo = 1; signo < NSIG; signo++)
        if (sigismember(set, signo) == 1) printf(" %d", signo);
    printf("\n");
}

static void print_mask(void)
{
    sigset_t mask, pending;
    pthread_sigmask(SIG_SETMASK, NULL, &mask);
    sigpending(&pending);
    print_signals("blocked", &mask);
    print_signals("pending", &pending);
}

/* ---- endings ---- */

static void say_goodbye(void)
{
    char name[16] = "";
    pthread_getname_np(pthread_self(), name, sizeof name);
    printf("exit handler in %s, %s thread\n", name, gettid() == getpid() ? "the first" : "another");
    print_mask();
}

/* Half a line stays in the buffer: it is written by exit, and by nobody else. */
static void begin_to_end(void)
{
    const char *const press = getenv("HOST_PRESS");
    if (press != NULL) kill(getpid(), atoi(press));
    atexit(say_goodbye);
    printf("begins, ");
}

static void work(void)
{
    struct timespec now;
    do {
        for (volatile int i = 0; i < 20000; i++)
            continue;
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    } while (now.tv_nsec < 20000000);
}

static void detach(void *(*start)(void *), void *arg)
{
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, start, arg) == 0);
    pthread_detach(thread);
}

/* Until the first thread is dead: 'Z' behind its name. */
static void outlive_the_first(void)
{
    char text[512], *end;
    do {
        sched_yield();
        const int fd = open("/proc/self/stat", O_RDONLY);
        const ssize_t got = read(fd, text, sizeof text - 1);
        close(fd);
        text[got > 0 ? got : 0] = '\0';
        end = strrchr(text, ')');
    } while (end == NULL || end[2] != 'Z');
}

static void *worker(void *arg)
{
    pthread_setname_np(pthread_self(), "worker");
    outlive_the_first();
    work();
    printf("worker ends\n");
    return NULL;
}

static int case_main_first(char **argv)
{
    begin_to_end();
    detach(worker, NULL);
    pthread_exit(NULL);
}

static void *short_worker(void *arg)
{
    printf("worker ends\n");
    return NULL;
}

static int case_worker_first(char **argv)
{
    pthread_t thread;
    begin_to_end();
    CHECK(pthread_create(&thread, NULL, short_worker, NULL) == 0);
    pthread_join(thread, NULL);
    work();
    pthread_exit(NULL);
}

static int case_alone(char **argv)
{
    begin_to_end();
    pthread_exit(NULL);
}

static int c11_worker(void *arg)
{
    outlive_the_first();
    work();
    printf("worker ends\n");
    thrd_exit(0);
}

static int case_c11(char **argv)
{
    thrd_t thread;
    begin_to_end();
    CHECK(thrd_create(&thread, c11_worker, NULL) == thrd_success);
    thrd_detach(thread);
    thrd_exit(5);
}

/* Past whoever stands before libc's function. */
static int case_hidden(char **argv)
{
    int (*const create)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *) =
        dlsym(dlopen("libc.so.6", RTLD_NOW), "pthread_create");
    pthread_t thread;
    begin_to_end();
    CHECK(create(&thread, NULL, worker, NULL) == 0);
    pthread_detach(thread);
    pthread_exit(NULL);
}

/* Generations of threads, each of which ends at once; any may be the last. */
static atomic_int born;
static void *breed(void *arg)
{
    const intptr_t left = (intptr_t)arg;
    atomic_fetch_add(&born, 1);
    for (int i = 0; i < 3 && left > 0; i++)
        detach(breed, (void *)(left - 1));
    return NULL;
}

static void say_born(void)
{
    printf("%d threads\n", atomic_load(&born));
}

static int case_breed(char **argv)
{
    begin_to_end();
    atexit(say_born);
    breed((void *)5);
    pthread_exit(NULL);
}

static void *exits_worker(void *arg)
{
    outlive_the_first();
    exit(3);
}

static void *silent_worker(void *arg)
{
    return NULL;
}

static int case_exits(char **argv)
{
    begin_to_end();
    detach(exits_worker, NULL);
    for (int i = 0; i < 8; i++)
        detach(silent_worker, NULL);
    pthread_exit(NULL);
}

/* What is specific to a thread goes before exit handlers run, in all four rounds. */
static pthread_key_t key;
static void specific_goes(void *value)
{
    const intptr_t round = (intptr_t)value;
    printf("destructor %ld\n", (long)round);
    if (round < 6) pthread_setspecific(key, (void *)(round + 1));
}

static void *masked_worker(void *arg)
{
    sigset_t mask;
    sigemptyset(&mask);
    sigaddset(&mask, SIGUSR1);
    sigaddset(&mask, SIGTERM);
    pthread_sigmask(SIG_SETMASK, &mask, NULL);
    pthread_setspecific(key, (void *)1);
    kill(getpid(), SIGTERM); /* and nobody takes it */
    return worker(NULL);
}

static int case_masked(char **argv)
{
    sigset_t mask;
    sigemptyset(&mask);
    sigaddset(&mask, SIGTERM);
    pthread_sigmask(SIG_SETMASK, &mask, NULL);
    pthread_key_create(&key, specific_goes);
    begin_to_end();
    detach(masked_worker, NULL);
    pthread_exit(NULL);
}

/* A signal for the process when only a worker is there for it. */
static __attribute__((noreturn)) void *stopped_worker(void *arg)
{
    outlive_the_first();
    kill(getpid(), SIGTERM);
    for (;;)
        pause();
}

static int case_term(char **argv)
{
    begin_to_end();
    fflush(stdout);
    detach(stopped_worker, NULL);
    pthread_exit(NULL);
}

static atomic_int terms;
static void on_term(int signo)
{
    atomic_fetch_add(&terms, 1);
}

static void *handling_worker(void *arg)
{
    outlive_the_first();
    kill(getpid(), SIGTERM);
    while (atomic_load(&terms) == 0)
        sched_yield();
    printf("%d handled\n", atomic_load(&terms));
    return NULL;
}

static int case_term_handled(char **argv)
{
    begin_to_end();
    signal(SIGTERM, on_term);
    detach(handling_worker, NULL);
    pthread_exit(NULL);
}

/* Past libc: no handler runs. */
static __attribute__((noreturn)) void leave(long status)
{
    for (;;)
        __asm__ volatile("syscall" ::"a"((long)SYS_exit), "D"(status) : "rcx", "r11", "memory");
}

static void *leaving_worker(void *arg)
{
    outlive_the_first();
    work();
    leave((intptr_t)arg);
}

static int case_leaves(char **argv)
{
    begin_to_end();
    work();
    leave(7);
}

static int case_leaves_by_syscall(char **argv)
{
    begin_to_end();
    work();
    syscall(SYS_exit, 7);
    return 1;
}

static int case_worker_leaves(char **argv)
{
    begin_to_end();
    detach(leaving_worker, (void *)6);
    leave(6);
}

static int case_worker_leaves_last(char **argv)
{
    begin_to_end();
    detach(leaving_worker, NULL);
    pthread_exit(NULL);
}

/* Only read, write, exit and sigreturn from then on. */
static int case_strict(char **argv)
{
    begin_to_end();
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT, 0, 0, 0) != 0) return 97;
    leave(4);
}

static int wait_for(pid_t child)
{
    int status;
    CHECK(waitpid(child, &status, 0) == child);
    return status;
}

static int case_forked(char **argv)
{
    for (int i = 0; i < 3; i++) {
        const pid_t child = fork();
        if (child == 0)
            return i == 0 ? case_main_first(argv) : i == 1 ? case_alone(argv) : case_c11(argv);
        printf("child: %x\n", (unsigned)wait_for(child));
        fflush(stdout);
    }
    return case_main_first(argv);
}

/* Profiles of its own, in the thread that is the last. */
extern int ProfilerStart(const char *) __attribute__((weak));
extern void ProfilerStop(void) __attribute__((weak));
static void *starting_worker(void *arg)
{
    outlive_the_first();
    for (int i = 0; i < 5 && ProfilerStart != NULL; i++) {
        ProfilerStart("own.prof");
        work();
        ProfilerStop();
    }
    if (ProfilerStart != NULL) ProfilerStart("own.prof");
    return NULL;
}

static int case_starts(char **argv)
{
    begin_to_end();
    detach(starting_worker, NULL);
    pthread_exit(NULL);
}

/* ---- which ---- */

static const struct {
    const char *name;
    int (*run)(char **argv);
} cases[] = {
    {"run", case_run},
    {"refused", case_refused},
    {"main_first", case_main_first},
    {"worker_first", case_worker_first},
    {"alone", case_alone},
    {"c11", case_c11},
    {"hidden", case_hidden},
    {"breed", case_breed},
    {"exits", case_exits},
    {"masked", case_masked},
    {"term", case_term},
    {"term_handled", case_term_handled},
    {"leaves", case_leaves},
    {"leaves_by_syscall", case_leaves_by_syscall},
    {"worker_leaves", case_worker_leaves},
    {"worker_leaves_last", case_worker_leaves_last},
    {"strict", case_strict},
    {"forked", case_forked},
    {"starts", case_starts},
};

int main(int argc, char **argv)
{
    for (size_t i = 0; argc > 1 && i < sizeof cases / sizeof cases[0]; i++)
        if (strcmp(cases[i].name, argv[1]) == 0) return cases[i].run(argv + 1);
    return 2;
}
