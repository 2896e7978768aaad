/* listen_host.c: the programs that listen.t.sh asks for profiles: `listen_host CASE`. Each works
 * for half an hour at most, in main and in a second thread. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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
    spin();
    return 0;
}
