/* clock.h: readings of the kernel's clocks (clock_gettime(2)). */
#pragma once

#include <stdint.h>
#include <time.h>

/* The clock's reading in nanoseconds. */
static inline int64_t pt_clock_ns(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* Milliseconds of CLOCK_MONOTONIC, which no one can set. */
static inline int64_t pt_now_ms(void)
{
    return pt_clock_ns(CLOCK_MONOTONIC) / 1000000;
}
