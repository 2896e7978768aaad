/* complaints_host.c: programs that broke other profilers: `complaints_host CASE [ARGUMENT]`. Each
 * prints what it knows of itself, one "name value" a line.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "in_journal.h"

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

static void say_cpu(void)
{
    printf("cpu %.6f\n", seconds(CLOCK_PROCESS_CPUTIME_ID));
    fflush(stdout);
}

/* ---- deadlocks ---- */

/* The loader's lock is held here, all the time. */
__attribute__((noinline)) static int under_the_lock(struct dl_phdr_info *info, size_t size,
                                                    void *cpu_s)
{
    burn(*(double *)cpu_s);
    return 1;
}

static void *holds_loader_lock(void *cpu_s)
{
    dl_iterate_phdr(under_the_lock, cpu_s);
    return NULL;
}

static atomic_int loading_over;

static void *loads(void *plugin)
{
    while (!loading_over) {
        void *const handle = dlopen(plugin, RTLD_NOW);
        if (handle != NULL) dlclose(handle);
    }
    return NULL;
}

/* Samples while a thread holds the loader's lock and another one waits for it. */
static int case_loader_lock(char **argv)
{
    double cpu_s = 0.3;
    pthread_t holder, loader;
    pthread_create(&loader, NULL, loads, argv[1]);
    pthread_create(&holder, NULL, holds_loader_lock, &cpu_s);
    pthread_join(holder, NULL);
    loading_over = 1;
    pthread_join(loader, NULL);
    say_cpu();
    return 0;
}

static void *allocates(void *cpu_s)
{
    const double end = seconds(CLOCK_THREAD_CPUTIME_ID) + *(double *)cpu_s;
    void *kept[64] = {NULL};
    for (unsigned i = 0; i % 256 != 0 || seconds(CLOCK_THREAD_CPUTIME_ID) < end; i++) {
        free(kept[i % 64]);
        kept[i % 64] = malloc(16 + i * 2654435761u % 100000);
    }
    for (int i = 0; i < 64; i++)
        free(kept[i]);
    return NULL;
}

static int case_malloc_lock(char **argv)
{
    double cpu_s = 0.15;
    pthread_t threads[4];
    for (int i = 0; i < 4; i++)
        pthread_create(&threads[i], NULL, allocates, &cpu_s);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    say_cpu();
    return 0;
}

/* ---- crashes ---- */

/* The register that keeps frames holds anything, and below the stack begins what nobody may read.
 */
static void *bad_frames(void *rounds)
{
#if defined(__x86_64__)
    static const unsigned long wild[] = {0,    1,         8,         4096,
                                         ~0ul, ~0ul - 15, 1ul << 47, 0xdeadbeefdeadbeefu};
    for (int round = 0; round < *(int *)rounds; round++) {
        for (size_t i = 0; i < sizeof wild / sizeof wild[0]; i++) {
            unsigned long count = 200000;
            __asm__ volatile("push %%rbp\n\tmov %1, %%rbp\n1:\tdec %0\n\tjnz 1b\n\tpop %%rbp"
                             : "+r"(count)
                             : "r"(wild[i])
                             : "cc", "memory");
        }
    }
#endif
    return NULL;
}

static int case_bad_frames(char **argv)
{
    int rounds = 300;
    pthread_t thread;
    pthread_create(&thread, NULL, bad_frames, &rounds);
    pthread_join(thread, NULL);
    bad_frames(&rounds);
    say_cpu();
    return 0;
}

/* ---- ends ---- */

/* By the signal argv[1]. */
static int case_signalled(char **argv)
{
    const struct rlimit none = {0, 0};
    setrlimit(RLIMIT_CORE, &none);
    burn(0.3);
    say_cpu();
    wait_until_in_journal(getenv("CPUPROFILE"));
    signal(atoi(argv[1]), SIG_DFL); /* whoever runs this may ignore it, as nohup does */
    kill(getpid(), atoi(argv[1]));
    for (;;)
        pause();
}

/* ---- fairness ---- */

static void *left_worker(void *cpu_s)
{
    burn(*(double *)cpu_s);
    return NULL;
}

static void *right_worker(void *cpu_s)
{
    const double end = seconds(CLOCK_THREAD_CPUTIME_ID) + *(double *)cpu_s;
    while (seconds(CLOCK_THREAD_CPUTIME_ID) < end)
        burn(0.0005); /* as much, in other words */
    return NULL;
}

static void *blocked_worker(void *ends)
{
    char byte;
    return read(*(int *)ends, &byte, 1) < 0 ? NULL : ends;
}

/* Two threads that work the same, and six that wait. */
static int case_fair(char **argv)
{
    double cpu_s = 0.4;
    int ends[2];
    pthread_t threads[8];
    if (pipe(ends) != 0) return 1;
    for (int i = 2; i < 8; i++)
        pthread_create(&threads[i], NULL, blocked_worker, ends);
    pthread_create(&threads[0], NULL, left_worker, &cpu_s);
    pthread_create(&threads[1], NULL, right_worker, &cpu_s);
    pthread_join(threads[0], NULL);
    pthread_join(threads[1], NULL);
    if (write(ends[1], "123456", 6) != 6) return 1;
    for (int i = 2; i < 8; i++)
        pthread_join(threads[i], NULL);
    say_cpu();
    return 0;
}

/* ---- children ---- */

/* A child that runs the parent's exit handlers: it calls exit. */
static int case_child_exits(char **argv)
{
    burn(0.15);
    const pid_t child = fork();
    if (child == 0) {
        burn(0.1);
        exit(0);
    }
    waitpid(child, NULL, 0);
    burn(0.15);
    printf("child %d\n", (int)child);
    say_cpu();
    return 0;
}

/* Becomes a program that knows nothing of profilers and works for a while. */
static int case_becomes_another(char **argv)
{
    burn(0.05);
    unsetenv("LD_PRELOAD");
    execl("/bin/sh", "sh", "-c", "i=0; while [ $i -lt 100000 ]; do i=$((i + 1)); done",
          (char *)NULL);
    return 1;
}

/* The same past the functions of libc. */
static int case_becomes_another_raw(char **argv)
{
    char *const args[] = {"sh", "-c", "i=0; while [ $i -lt 100000 ]; do i=$((i + 1)); done", NULL};
    char *const none[] = {NULL};
    burn(0.05);
    errno = 0;
    if (syscall(SYS_execve, "/nowhere", args, none) != -1 || errno != ENOENT) return 2;
    burn(0.05);
    if (argv[1] == NULL)
        syscall(SYS_execve, "/bin/sh", args, none);
    else
        syscall(SYS_execveat, AT_FDCWD, "/bin/sh", args, none, 0);
    return 1;
}

/* The same, by an exec that looks into very many folders first. */
static int case_becomes_another_slowly(char **argv)
{
    enum { FOLDERS = 300000 };
    char *const args[] = {"true", NULL}, *const none[] = {NULL};
    char *const path = malloc(FOLDERS * 3 + 16);
    if (path == NULL) return 1;
    for (int i = 0; i < FOLDERS; i++)
        memcpy(path + 3 * (size_t)i, "/x:", 3);
    memcpy(path + 3 * (size_t)FOLDERS, "/bin:/usr/bin", 14);
    setenv("PATH", path, 1);
    execvpe("true", args, none);
    return 1;
}

/* Copying this process takes longer than a tick. */
static int case_large_fork(char **argv)
{
    const size_t bytes = 256 << 20;
    char *const held = malloc(bytes);
    if (held == NULL) return 1;
    memset(held, 1, bytes);
    int done = 0;
    for (int i = 0; i < 10; i++) {
        const pid_t child = fork();
        if (child == 0) _exit(0);
        done += waitpid(child, NULL, 0) == child;
    }
    printf("done %d\n", done);
    return held[bytes / 2] != 1;
}

/* ---- what it costs ---- */

static long kb_in(const char *file, const char *name)
{
    char line[256];
    long value = -1;
    FILE *const status = fopen(file, "r");
    while (status != NULL && fgets(line, sizeof line, status) != NULL) {
        const size_t length = strlen(name);
        if (strncmp(line, name, length) == 0 && line[length] == ':')
            value = atol(line + length + 1);
    }
    if (status != NULL) fclose(status);
    return value;
}

static long status_kb(const char *name)
{
    return kb_in("/proc/self/status", name);
}

/* What /proc/self/status says of it is off by some pages a processor. */
static long anonymous_kb(void)
{
    const long exact = kb_in("/proc/self/smaps_rollup", "Anonymous");
    return exact >= 0 ? exact : status_kb("RssAnon");
}

static atomic_int have_worked;

static void *holds_thread(void *ends)
{
    char byte;
    burn(0.01);
    have_worked++;
    return read(*(int *)ends, &byte, 1) < 0 ? NULL : ends;
}

/* Memory of the process after 20 ms of work, and with argv[1] more threads that worked. */
static int case_memory(char **argv)
{
    const int count = argv[1] != NULL ? atoi(argv[1]) : 0;
    pthread_t threads[64];
    int ends[2];
    if (pipe(ends) != 0) return 1;
    burn(0.02);
    for (int i = 0; i < count; i++)
        pthread_create(&threads[i], NULL, holds_thread, ends);
    while (have_worked < count)
        usleep(1000);
    usleep(300000);
    printf("anonymous_kb %ld\nfile_kb %ld\nshared_kb %ld\n", anonymous_kb(), status_kb("RssFile"),
           status_kb("RssShmem"));
    close(ends[1]);
    for (int i = 0; i < count; i++)
        pthread_join(threads[i], NULL);
    return 0;
}

static const struct {
    const char *name;
    int (*run)(char **argv);
} cases[] = {
    {"loader_lock", case_loader_lock},
    {"malloc_lock", case_malloc_lock},
    {"bad_frames", case_bad_frames},
    {"signalled", case_signalled},
    {"fair", case_fair},
    {"child_exits", case_child_exits},
    {"becomes_another", case_becomes_another},
    {"becomes_another_raw", case_becomes_another_raw},
    {"becomes_another_slowly", case_becomes_another_slowly},
    {"large_fork", case_large_fork},
    {"memory", case_memory},
};

int main(int argc, char **argv)
{
    for (size_t i = 0; argc > 1 && i < sizeof cases / sizeof cases[0]; i++)
        if (strcmp(cases[i].name, argv[1]) == 0) return cases[i].run(argv + 1);
    fprintf(stderr, "usage: complaints_host CASE [ARGUMENT]\n");
    return 2;
}
