/* harm_host.c: the program whose profile harm.py harms: `harm_host CPU_MS WHAT`. Two threads
 * compute for so long each, in steps of a millisecond; it prints what they computed, always the
 * same, and ends with status 7. WHAT it does to its own profile, named by CPUPROFILE, in between:
 *
 *   nothing | writes | scribbles | truncates | closes | catches | ignores
 *
 * or `leaves`: at once, for another root; status 4 if it may not.
 */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static const char *profile;

/* A millisecond of CPU time, and what was computed in the first of its rounds. */
static uint64_t step(uint64_t x)
{
    struct timespec now;
    int64_t begin_ns = -1, now_ns;
    uint64_t first = 0;
    do {
        for (int i = 0; i < 5000; i++)
            x = x * 6364136223846793005u + 1442695040888963407u;
        __asm__ volatile("" : "+r"(x));
        if (begin_ns < 0) first = x;
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
        now_ns = now.tv_sec * 1000000000 + now.tv_nsec;
        if (begin_ns < 0) begin_ns = now_ns;
    } while (now_ns < begin_ns + 1000000);
    return first;
}

static void write_over(void)
{
    char bytes[4096];
    const int fd = open(profile, O_WRONLY | O_CLOEXEC);
    memset(bytes, 0x5a, sizeof bytes);
    for (int i = 0; fd >= 0 && i < 64; i++)
        (void)!pwrite(fd, bytes, sizeof bytes, (off_t)i * 4096);
    close(fd);
}

/* Words that a size, a depth or a place in a ring could be. */
static void scribble(void)
{
    struct stat st;
    const int fd = open(profile, O_RDWR | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &st) != 0 || st.st_size < 4096) {
        close(fd);
        return;
    }
    uint64_t *const words = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    for (int i = 0; words != MAP_FAILED && i < 512; i++)
        words[i] = UINT64_C(1) << i % 64;
    if (words != MAP_FAILED) munmap(words, 4096);
}

static void on_signal(int signo)
{
    (void)signo;
    (void)!write(STDOUT_FILENO, "a signal\n", 9);
}

static const char *what;

static void be_odd(int round)
{
    if (strcmp(what, "writes") == 0) write_over();
    if (strcmp(what, "scribbles") == 0) scribble();
    if (strcmp(what, "truncates") == 0) (void)!truncate(profile, round * 997 % 20000);
    for (int fd = 3; strcmp(what, "closes") == 0 && fd < 256; fd++)
        close(fd);
    if (strcmp(what, "catches") == 0) signal(SIGXFSZ, on_signal);
    if (strcmp(what, "ignores") == 0) signal(SIGXFSZ, SIG_IGN);
}

static void *compute(void *ms)
{
    uint64_t sum = 0;
    for (int i = 0; i < *(int *)ms; i++)
        sum += step((uint64_t)i);
    return (void *)(uintptr_t)sum;
}

int main(int argc, char **argv)
{
    if (argc != 3) return 2;
    int ms = atoi(argv[1]);
    uint64_t sum = 0;
    void *other = NULL;
    pthread_t thread;
    what = argv[2];
    profile = getenv("CPUPROFILE");
    if (profile == NULL) profile = "/dev/null/none";
    if (strcmp(what, "leaves") == 0 && chroot("empty") != 0) return 4;
    if (pthread_create(&thread, NULL, compute, &ms) != 0) return 3;
    for (int i = 0; i < ms; i++) {
        sum += step((uint64_t)i);
        be_odd(i);
    }
    pthread_join(thread, &other);
    printf("computed %llx %llx\n", (unsigned long long)sum, (unsigned long long)(uintptr_t)other);
    fflush(stdout); /* harm.py: the work is done, the profile is yet to be written */
    return 7;
}
