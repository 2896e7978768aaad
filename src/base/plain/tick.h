/* tick.h: the arithmetic of ticks, which the library and the recorder share: random periods, and
 * the ticks that were due and did not come. Any layer may include this header: it needs nothing but
 * libc's headers.
 */
#pragma once

#include <stdint.h>

/* A random number below limit (0 if limit is 0). The generator is splitmix64 (Steele, Lea, Flood
 * 2014); *state may start with any value, and only one thread uses it. */
static inline uint64_t pt_random_below(uint64_t *state, uint64_t limit)
{
    uint64_t bits = *state += UINT64_C(0x9e3779b97f4a7c15);
    bits = (bits ^ bits >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    bits = (bits ^ bits >> 27) * UINT64_C(0x94d049bb133111eb);
    bits ^= bits >> 31;
    return limit == 0 ? 0 : bits % limit;
}

/* A random period of a timer: from 0.5 to 1.5 times period_ns, on average period_ns. With a fixed
 * period, the ticks in a program that works in rounds of that length would all come at the same
 * place of the round. Since periods differ, the caller takes the weights of samples from a
 * clock. */
static inline uint64_t pt_random_period(uint64_t *state, uint64_t period_ns)
{
    return period_ns / 2 + pt_random_below(state, period_ns);
}

/* The time of dropped ticks, in nanoseconds. since_ns: the time between a timer's last two ticks.
 * If a tick was due between them and did not come, the result is since_ns minus one period; else 0.
 * due_ns: the part of since_ns in which the timer had this period. */
static inline int64_t pt_dropped_ns(int64_t period_ns, int64_t due_ns, int64_t since_ns)
{
    enum { LATE_NS = 50000 }; /* a tick may always come this much later than it is due */
    const int64_t part_ns = period_ns / 10 * 7, late_ns = part_ns > LATE_NS ? part_ns : LATE_NS;
    const int64_t beside_ns = since_ns - period_ns;
    return period_ns > 0 && due_ns > period_ns + late_ns && beside_ns > 0 ? beside_ns : 0;
}
