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
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
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

static int by_number(const void *a, const void *b)
{
    return *(const int *)a - *(const int *)b;
}

static void print_descriptors(void)
{
    int fds[1024], count = 0;
    DIR *const folder = opendir("/proc/self/fd");
    CHECK(folder != NULL);
    for (const struct dirent *entry; (entry = readdir(folder)) != NULL && count < 1024;) {
        const int fd = atoi(entry->d_name);
        if (entry->d_name[0] != '.' && fd != dirfd(folder)) fds[count++] = fd;
    }
    closedir(folder);
    qsort(fds, (size_t)count, sizeof fds[0], by_number);
    printf("descriptors");
    for (int i = 0; i < count; i++)
        printf(" %d", fds[i]);
    printf("\n");
}

/* Less those of the library that docs/libprofiler.md promises, HOST_OURS, of which one comes with
 * the first samples if HOST_LATE is set. A thread that was joined may still be in the list for a
 * moment: looks until they are so many. */
static void print_threads(unsigned expected)
{
    const char *const text = getenv("HOST_OURS");
    const unsigned most = (unsigned)atoi(text != NULL ? text : "0");
    const unsigned least = getenv("HOST_LATE") != NULL ? most - 1 : most;
    struct stat st;
    unsigned listed = 0;
    for (int i = 0; i < 100000; i++) {
        CHECK(stat("/proc/self/task", &st) == 0);
        listed = (unsigned)st.st_nlink - 2;
        if (listed == expected + most || listed == expected + least) break;
        sched_yield();
    }
    printf("threads %d\n", (int)(listed == expected + least ? expected : listed - most));
}

static void print_dispositions(void)
{
    printf("dispositions");
    for (int signo = 1; signo < NSIG; signo++) {
        struct sigaction act;
        if (sigaction(signo, NULL, &act) != 0 || act.sa_handler == SIG_DFL) continue;
        printf(" %d:%s:%x", signo, act.sa_handler == SIG_IGN ? "ignored" : "handled",
               (unsigned)act.sa_flags & ~0x04000000U); /* not SA_RESTORER, libc's own */
    }
    printf("\n");
}

static void print_all(const char *where, unsigned threads)
{
    printf("-- %s\n", where);
    print_descriptors();
    print_threads(threads);
    print_mask();
    print_dispositions();
    fflush(stdout);
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

/* ---- programs of all kinds ---- */

static const char *own_path;

static int case_reports(char **argv)
{
    print_all("begins", 1);
    return 0;
}

static int case_fast_exit(char **argv)
{
    begin_to_end();
    dprintf(1, "kept\n");
    _exit(5);
}

static void say_quick(void)
{
    dprintf(1, "quick exit handler\n");
}

static int case_quick_exit(char **argv)
{
    begin_to_end();
    at_quick_exit(say_quick);
    quick_exit(6);
}

static int case_abort(char **argv)
{
    begin_to_end();
    abort();
}

static int case_raise(char **argv)
{
    begin_to_end();
    errno = 77;
    struct sigaction act = {.sa_flags = (int)SA_RESETHAND};
    act.sa_handler = on_term;
    sigaction(SIGTERM, &act, NULL);
    raise(SIGTERM);
    printf("%d handled, errno %d\n", atomic_load(&terms), errno);
    print_all("reset", 1);
    raise(SIGTERM);
    return 0;
}

static void *becoming_worker(void *arg)
{
    execl(own_path, own_path, "reports", NULL);
    return NULL;
}

static __attribute__((noreturn)) int case_exec_in_thread(char **argv)
{
    detach(becoming_worker, NULL);
    for (;;)
        pause();
}

static void *forking_worker(void *arg)
{
    fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
        print_all("child", 1);
        exit(3);
    }
    printf("child: %x\n", (unsigned)wait_for(child));
    return NULL;
}

static void join(void *(*start)(void *), void *arg)
{
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, start, arg) == 0);
    pthread_join(thread, NULL);
}

static int case_fork_in_thread(char **argv)
{
    join(forking_worker, NULL);
    print_all("after", 1);
    return 0;
}

static int case_vfork(char **argv)
{
    pid_t child = vfork();
    if (child == 0) {
        execl(own_path, own_path, "reports", NULL);
        _exit(97);
    }
    printf("child: %x\n", (unsigned)wait_for(child));
    child = vfork();
    if (child == 0) _exit(4);
    printf("child: %x\n", (unsigned)wait_for(child));
    errno = 0;
    child = vfork();
    if (child == 0) {
        execl("/nowhere", "nowhere", NULL);
        _exit(errno == ENOENT ? 11 : 12);
    }
    printf("child: %x\n", (unsigned)wait_for(child));
    print_all("after", 1);
    return 0;
}

static int case_daemon(char **argv)
{
    printf("begins\n");
    fflush(stdout);
    CHECK(daemon(1, 1) == 0);
    print_all("daemon", 1);
    join(short_worker, NULL);
    CHECK(daemon(1, 1) == 0);
    print_all("daemon's daemon", 1);
    return 8;
}

static int case_closes(char **argv)
{
    closefrom(3);
    join(short_worker, NULL);
    print_all("closed", 1);
    printf("next %d\n", open("/dev/null", O_RDONLY));
    close(0);
    printf("next %d\n", open("/dev/null", O_RDONLY));
    return 0;
}

static int case_drops(char **argv)
{
    CHECK(setgroups(0, NULL) == 0 && setgid(65534) == 0 && setuid(65534) == 0);
    errno = 0;
    const int back = setuid(0);
    printf("user %d, back %d, errno %d\n", (int)getuid(), back, errno);
    join(short_worker, NULL);
    fflush(stdout);
    const pid_t child = fork();
    if (child == 0) exit((int)geteuid() % 100);
    printf("child: %x\n", (unsigned)wait_for(child));
    print_all("dropped", 1);
    return 0;
}

static int case_chroots(char **argv)
{
    CHECK(mkdir("root", 0755) == 0 && chroot("root") == 0 && chdir("/") == 0);
    errno = 0;
    printf("open %d, errno %d\n", open("/etc/passwd", O_RDONLY), errno);
    join(short_worker, NULL);
    fflush(stdout);
    const pid_t child = fork();
    if (child == 0) exit(9);
    printf("child: %x\n", (unsigned)wait_for(child));
    print_mask();
    return 7;
}

/* All signals are blocked everywhere, and taken by one thread. */
static void *serving_worker(void *arg)
{
    sigset_t all;
    sigfillset(&all);
    for (int signo = 0; signo != SIGTERM;) {
        CHECK(sigwait(&all, &signo) == 0);
        printf("got %d\n", signo);
    }
    return NULL;
}

static int case_serves_signals(char **argv)
{
    static const int some[] = {SIGHUP,  SIGINT,   SIGUSR1, SIGUSR2, SIGALRM,
                               SIGCHLD, SIGWINCH, SIGIO,   SIGPIPE, SIGVTALRM,
                               SIGXCPU, SIGPROF,  SIGTRAP, 40,      SIGTERM};
    sigset_t all;
    pthread_t server;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, NULL);
    for (size_t i = 0; i < sizeof some / sizeof some[0]; i++)
        kill(getpid(), some[i]);
    print_all("sent", 1);
    CHECK(pthread_create(&server, NULL, serving_worker, NULL) == 0);
    pthread_join(server, NULL);
    print_descriptors();
    print_threads(1);
    print_dispositions(); /* a tick may be pending by now: docs/libprofiler.md */
    return 0;
}

static atomic_int reaped, status_sum;
static void on_child(int signo)
{
    const int saved_errno = errno;
    int status;
    while (waitpid(-1, &status, WNOHANG) > 0) {
        atomic_fetch_add(&reaped, 1);
        atomic_fetch_add(&status_sum, WEXITSTATUS(status));
    }
    errno = saved_errno;
}

static int case_reaps(char **argv)
{
    errno = 0;
    const pid_t none = waitpid(-1, NULL, WNOHANG);
    printf("children at first: %d, errno %d\n", (int)none, errno);
    signal(SIGCHLD, on_child);
    for (int i = 1; i <= 10; i++)
        if (fork() == 0) exit(i);
    while (atomic_load(&reaped) < 10)
        usleep(1000);
    errno = 0;
    const pid_t left = waitpid(-1, NULL, WNOHANG);
    printf("%d children, %d, then %d, errno %d\n", reaped, status_sum, (int)left, errno);
    print_all("reaped", 1);
    return 0;
}

static int case_spawns(char **argv)
{
    posix_spawnattr_t attr;
    sigset_t mask, usual;
    pid_t child;
    char *args[] = {(char *)own_path, "reports", NULL};
    sigemptyset(&mask);
    sigaddset(&mask, SIGUSR2);
    sigfillset(&usual);
    signal(SIGHUP, SIG_IGN);
    posix_spawnattr_init(&attr);
    CHECK(posix_spawn(&child, own_path, NULL, &attr, args, environ) == 0);
    printf("child: %x\n", (unsigned)wait_for(child));
    posix_spawnattr_setsigmask(&attr, &mask);
    posix_spawnattr_setsigdefault(&attr, &usual);
    posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    CHECK(posix_spawnp(&child, own_path, NULL, &attr, args, environ) == 0);
    printf("child: %x\n", (unsigned)wait_for(child));
    printf("nobody: %d\n", posix_spawn(&child, "/nowhere", NULL, NULL, args, environ));
    print_all("after", 1);
    return 0;
}

static int case_loads(char **argv)
{
    int opened = 0;
    for (int i = 0; i < 20; i++) {
        void *const library = dlopen("libresolv.so.2", RTLD_NOW);
        errno = 33;
        opened +=
            library != NULL && dlsym(library, "ns_name_ntop") != NULL && dlclose(library) == 0;
        if (errno != 33) printf("errno %d\n", errno);
    }
    void *const none = dlopen("libnowhere.so", RTLD_NOW);
    printf("%d opened, %d, %s\n", opened, none != NULL, dlerror());
    print_all("after", 1);
    return 0;
}

static int case_few_descriptors(char **argv)
{
    const struct rlimit few = {6, 6};
    CHECK(setrlimit(RLIMIT_NOFILE, &few) == 0);
    print_all("limited", 1);
    int opened = 0;
    while (open("/dev/null", O_RDONLY) >= 0)
        opened++;
    printf("%d opened, errno %d\n", opened, errno);
    join(short_worker, NULL);
    fflush(stdout);
    const pid_t child = fork();
    if (child == 0) exit(open("/dev/null", O_RDONLY) < 0 ? 3 : 4);
    printf("child: %x\n", (unsigned)wait_for(child));
    return 0;
}

/* Threads that still begin when the process ends. */
static void *chain(void *arg)
{
    detach(chain, NULL);
    return NULL;
}

static int case_exits_among(char **argv)
{
    for (int i = 0; i < 4; i++)
        detach(chain, NULL);
    printf("begins\n");
    work();
    exit(12);
}

/* Programs that follow one another by exec, where each look of the library's ticker at a thread
 * lasts: it reads /proc by this pread64. An exec with so many arguments lasts, too, before the
 * kernel ends the other threads. So a look often begins before the exec and ends in it. argv[1]:
 * how many programs are left. */
static atomic_int is_pread_slow;

ssize_t pread64(int fd, void *to, size_t bytes, off_t at)
{
    const struct timespec pause = {.tv_nsec = 3000000};
    if (atomic_load(&is_pread_slow)) nanosleep(&pause, NULL);
    return syscall(SYS_pread64, fd, to, bytes, at);
}

static int case_execs(char **argv)
{
    enum { PROGRAMS = 100, WORK_NS = 5000000, ARGUMENTS = 12, BYTES = 128000 };
    const int left = argv[1] != NULL ? atoi(argv[1]) : PROGRAMS;
    if (left == 0) {
        printf("all %d ran\n", PROGRAMS);
        return 0;
    }
    atomic_store(&is_pread_slow, 1);
    struct timespec used = {0};
    while (used.tv_sec == 0 && used.tv_nsec < WORK_NS)
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
    static char number[16], long_one[BYTES];
    snprintf(number, sizeof number, "%d", left - 1);
    memset(long_one, 'a', sizeof long_one - 1);
    char *args[3 + ARGUMENTS + 1] = {(char *)own_path, "execs", number};
    for (int i = 0; i < ARGUMENTS; i++)
        args[3 + i] = long_one;
    execv(own_path, args);
    return 97;
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
    {"reports", case_reports},
    {"fast_exit", case_fast_exit},
    {"quick_exit", case_quick_exit},
    {"abort", case_abort},
    {"raise", case_raise},
    {"exec_in_thread", case_exec_in_thread},
    {"fork_in_thread", case_fork_in_thread},
    {"vfork", case_vfork},
    {"daemon", case_daemon},
    {"closes", case_closes},
    {"drops", case_drops},
    {"chroots", case_chroots},
    {"serves_signals", case_serves_signals},
    {"reaps", case_reaps},
    {"spawns", case_spawns},
    {"loads", case_loads},
    {"few_descriptors", case_few_descriptors},
    {"exits_among", case_exits_among},
    {"execs", case_execs},
};

int main(int argc, char **argv)
{
    own_path = argv[0];
    for (size_t i = 0; argc > 1 && i < sizeof cases / sizeof cases[0]; i++)
        if (strcmp(cases[i].name, argv[1]) == 0) return cases[i].run(argv + 1);
    return 2;
}
