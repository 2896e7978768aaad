/* listen_host.c: the programs that listen.t.sh asks for profiles: `listen_host CASE`. Each works
 * for half an hour at most, in main and in a second thread. */
#define _GNU_SOURCE
#include <grp.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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

/* Gives up what root may do, and is refused what it may not any more. */
static void give_up(void)
{
    struct {
        uint32_t version;
        int pid;
    } who = {0x20080522, 0}; /* _LINUX_CAPABILITY_VERSION_3 */
    const uint32_t none[6] = {0};
    const gid_t group = 65534;
    while (access("give", F_OK) != 0)
        usleep(10000);
    if (syscall(SYS_capset, &who, none) != 0 || setgroups(1, &group) != -1) _exit(3);
    printf("refused\n");
    fflush(stdout);
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
    if (strcmp(how, "gives_up") == 0) give_up();
    spin();
    return 0;
}
