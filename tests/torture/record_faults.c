/* record_faults.c DEPTH BURSTS: page faults at that depth of the stack, 200 in a burst, with time
 * for a recorder to keep up between bursts. Prints the CPU nanoseconds of a fault, by the thread's
 * own clock, bursts only.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>

enum { BURST = 200 };

static char *page;
static long bursts;
static int64_t sum_ns;

static int64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return t.tv_sec * 1000000000LL + t.tv_nsec;
}

__attribute__((noinline)) static void fault(void)
{
    for (long i = 0; i < bursts; i++) {
        const struct timespec pause = {0, 10000000};
        const int64_t start = now_ns();
        for (int k = 0; k < BURST; k++) {
            *(volatile char *)page = 1;
            madvise(page, 4096, MADV_DONTNEED);
        }
        sum_ns += now_ns() - start;
        nanosleep(&pause, NULL);
    }
}

__attribute__((noinline)) static int down(int depth)
{
    volatile int left = depth;
    if (left == 0)
        fault();
    else
        down(left - 1);
    return left;
}

int main(int argc, char **argv)
{
    if (argc < 3) return 2;
    bursts = atol(argv[2]);
    page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED) return 1;
    down(atoi(argv[1]));
    printf("%.0f\n", (double)sum_ns / ((double)bursts * BURST));
    return 0;
}
