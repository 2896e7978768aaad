// record: --wall
// cause: sleeping wait_for_ready
// A loop sleeps a millisecond at a time until work is there.
#include <stdio.h>
#include <unistd.h>

static int ready_at = 0;

__attribute__((noinline)) static void wait_for_ready(int until)
{
    while (ready_at++ < until)
        usleep(1000);
}

int main(void)
{
    unsigned long sum = 0;
    for (int job = 1; job <= 40; job++) {
        wait_for_ready(job * 25);
        for (int i = 0; i < 2000000; i++)
            sum = sum * 31 + (unsigned)i;
    }
    printf("%lu\n", sum);
    return 0;
}
