/* clock.h: readings of the kernel's clocks (clock_gettime(2)), and of CPU time. */
#pragma once

#include <stdint.h>
#include <sys/resource.h>
#include <time.h>

/* The clock's reading in nanoseconds. */
static inline int64_t pt_clock_ns(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* The CPU time of a resource usage (getrusage(2)), in user mode and in the kernel. */
static inline uint64_t pt_usage_ns(const struct rusage *usage)
{
    const int64_t seconds = usage->ru_utime.tv_sec + usage->ru_stime.tv_sec;
    const int64_t us = usage->ru_utime.tv_usec + usage->ru_stime.tv_usec;
    return (uint64_t)(seconds * 1000000000 + us * 1000);
}

/* Milliseconds of CLOCK_MONOTONIC, which no one can set. */
static inline int64_t pt_now_ms(void)
{
    return pt_clock_ns(CLOCK_MONOTONIC) / 1000000;
}
