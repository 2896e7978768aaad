/* A library for bench/frames: ticks of the calling thread's CPU clock that are sent from C, so that
 * an interpreted program can have them at a depth of its choice. See handler.c. */
#include <signal.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { PERIOD_NS = 250000 };

static siginfo_t tick = {.si_signo = SIGPROF, .si_code = SI_TIMER};

static double thread_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return 1e9 * (double)now.tv_sec + (double)now.tv_nsec;
}

/* The value of a real tick is the thread's slot. */
void learn_slot(void)
{
    const uint64_t profile = UINT64_C(1) << (SIGPROF - 1);
    siginfo_t info;
    uint64_t pending = 0;
    syscall(SYS_rt_sigprocmask, SIG_BLOCK, &profile, NULL, sizeof profile);
    while ((pending & profile) == 0)
        syscall(SYS_rt_sigpending, &pending, sizeof pending);
    syscall(SYS_rt_sigtimedwait, &profile, &info, NULL, sizeof profile);
    tick.si_value = info.si_value;
    syscall(SYS_rt_sigprocmask, SIG_UNBLOCK, &profile, NULL, sizeof profile);
}

/* CPU nanoseconds of a tick. */
double take_ticks(long ticks)
{
    double total = 0;
    for (long i = 0; i < ticks; i++) {
        const double before = thread_ns();
        double start;
        do
            start = thread_ns();
        while (start < before + PERIOD_NS);
        syscall(SYS_rt_tgsigqueueinfo, getpid(), gettid(), SIGPROF, &tick);
        total += thread_ns() - start;
    }
    return total / (double)ticks;
}

/* CPU nanoseconds of a multiplication that waits for the last one: 3 cycles. */
double multiply_ns(long count)
{
    const double start = thread_ns();
    volatile uint64_t seed = 3;
    uint64_t value = seed;
    for (long i = 0; i < count; i++) {
        value *= value;
        __asm__ volatile("" : "+r"(value));
    }
    seed = value;
    return (thread_ns() - start) / (double)count;
}
