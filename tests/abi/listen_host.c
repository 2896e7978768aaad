/* listen_host.c: the programs that listen.t.sh asks for profiles: `listen_host CASE`. Each works
 * for half an hour at most, in main and in a second thread. */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <grp.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile unsigned sink;

__attribute__((noinline)) void work_hard(void)
{
    unsigned x = sink;
    for (int i = 0; i < 100000; i++)
        x = x * 33 + (unsigned)i;
    sink = x;
}

static void *second(void *arg)
{
    for (;;)
        work_hard();
    return arg;
}

static void spin(void)
{
    pthread_t thread;
    pthread_create(&thread, NULL, second, NULL);
    for (;;)
        work_hard();
}

/* Of the thread that calls. */
static long give_up_capabilities(void)
{
    struct {
        uint32_t version;
        int pid;
    } who = {0x20080522, 0}; /* _LINUX_CAPABILITY_VERSION_3 */
    const uint32_t none[6] = {0};
    return syscall(SYS_capset, &who, none);
}

/* Gives up what root may do, and is refused what it may not any more. */
static void give_up(void)
{
    const gid_t group = 65534;
    while (access("give", F_OK) != 0)
        usleep(10000);
    if (give_up_capabilities() != 0 || setgroups(1, &group) != -1) _exit(3);
    printf("refused\n");
    fflush(stdout);
}

static void *change_group(void *gives_up)
{
    if (gives_up != NULL) give_up_capabilities();
    for (int i = 0; i < 100; i++)
        if (setgid(getgid()) != 0) _exit(4);
    return NULL;
}

static int count_threads(void)
{
    DIR *const tasks = opendir("/proc/self/task");
    int count = 0;
    if (tasks == NULL) return 0;
    for (const struct dirent *one; (one = readdir(tasks)) != NULL;)
        count += one->d_name[0] != '.';
    closedir(tasks);
    return count;
}

/* Threads change the group at the same time, which have different rights if it is root who runs
 * this. Then there are as many threads as before. */
static int change_together(void)
{
    enum { THREADS = 3 };
    pthread_t threads[THREADS];
    const int before = count_threads();
    alarm(120);
    for (size_t i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, change_group, i == 0 ? NULL : &threads[i]);
    for (size_t i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    while (count_threads() != before)
        usleep(1000);
    printf("threads %d\n", before);
    return 0;
}

/* The program of the arguments, where close_range is refused, or ends the thread that calls it. */
static int run_filtered(const char *how, char **argv)
{
    const uint32_t what =
        strcmp(how, "kill") == 0 ? SECCOMP_RET_KILL_THREAD : SECCOMP_RET_ERRNO | ENOSYS;
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_close_range, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, what),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const struct sock_fprog filter = {sizeof code / sizeof code[0], code};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) != 0)
        return 99;
    execvp(argv[0], argv);
    return 98;
}

int main(int argc, char **argv)
{
    const char *const how = argc > 1 ? argv[1] : "spin";
    alarm(1800);
    if (strcmp(how, "closes") == 0) {
        for (int fd = 3; fd < 1024; fd++)
            close(fd);
    } else if (strcmp(how, "forks") == 0) {
        const pid_t child = fork();
        if (child == 0) {
            alarm(1800);
            pause();
            _exit(0);
        }
        printf("%d\n", (int)child);
        fflush(stdout);
    } else if (strcmp(how, "ends") == 0) {
        while (access("end", F_OK) != 0)
            usleep(10000);
        return 0;
    }
    if (strcmp(how, "filtered") == 0) return argc > 3 ? run_filtered(argv[2], argv + 3) : 2;
    if (strcmp(how, "reads") == 0) { /* a line of its standard input */
        char line[16];
        if (fgets(line, sizeof line, stdin) != NULL) fputs(line, stdout);
        return 0;
    }
    if (strcmp(how, "changes") == 0) return change_together();
    if (strcmp(how, "gives_up") == 0) give_up();
    spin();
    return 0;
}
