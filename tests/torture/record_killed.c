/* record_killed FILE: works and sleeps in turn until FILE says stop. FILE is shared memory: stop,
 * the number of entries, then a ring of entries {time ns, CPU time ns so far}. It ends with
 * status 7. */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>
#include <time.h>

enum { ENTRIES = 4096, WORK_NS = 5000000, SLEEP_NS = 12000000 };

typedef struct {
    uint64_t time_ns, cpu_ns;
} entry;

typedef struct {
    volatile uint64_t stop, count;
    entry entries[ENTRIES];
} history;

static uint64_t clock_now_ns(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static volatile unsigned x = 1;

__attribute__((noinline)) static void work(void)
{
    for (int i = 0; i < 20000; i++)
        x = x * 3 + 1;
}

int main(int argc, char **argv)
{
    const int fd = argc > 1 ? open(argv[1], O_RDWR | O_CLOEXEC) : -1;
    history *const h = mmap(NULL, sizeof *h, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (h == MAP_FAILED) return 1;
    while (h->stop == 0) {
        uint64_t cpu_ns = clock_now_ns(CLOCK_PROCESS_CPUTIME_ID);
        const uint64_t until_ns = cpu_ns + WORK_NS;
        while (cpu_ns < until_ns) {
            work();
            cpu_ns = clock_now_ns(CLOCK_PROCESS_CPUTIME_ID);
        }
        h->entries[h->count % ENTRIES] = (entry){clock_now_ns(CLOCK_MONOTONIC), cpu_ns};
        h->count = h->count + 1;
        nanosleep(&(struct timespec){.tv_nsec = SLEEP_NS}, NULL);
    }
    printf("done %llu\n", (unsigned long long)h->count);
    return 7;
}
