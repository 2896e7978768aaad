/* journal_bounds.c: checks the CPU time and the weight of the samples that a process's journal
 * claims against the most that are possible. A journal may be wrong: the process writes it itself,
 * and any process of the recording can write into the file that holds the short journals. */
#include <math.h>

#include "base/saturate.h"
#include "formats/journal.h"

/* The CPU time of a process may exceed its lifetime by this much: the process reads its clocks one
 * after the other, and a tick may come late. */
#define LATE_NS UINT64_C(200000000)
/* A period is longer than requested where timers run only at ticks of the kernel; no kernel has
 * longer ticks. */
#define SLOWEST_PERIOD_NS UINT64_C(20000000)

static uint64_t cpu_time_of(uint64_t lifetime_ns, const pt_journal_bounds *b)
{
    const uint64_t with_late_ns = pt_saturating_count(lifetime_ns, LATE_NS);
    uint64_t ns;
    return __builtin_mul_overflow(with_late_ns, (uint64_t)b->cpus, &ns) ? UINT64_MAX : ns;
}

static bool has_possible_period(const pt_journal_facts *f, const pt_journal_bounds *b)
{
    const uint64_t least_ns = b->period_ns;
    if (least_ns == 0 || f->period_ns == 0) return true;
    return f->period_ns >= least_ns &&
           f->period_ns <= (least_ns > SLOWEST_PERIOD_NS ? least_ns : SLOWEST_PERIOD_NS);
}

bool pt_journal_is_possible(const pt_journal_facts *f, const pt_journal_bounds *b)
{
    if (b->duration_ns == 0) return true;
    const uint64_t with_before_ns = pt_saturating_count(f->cpu_before_ns, f->cpu_used_ns);
    const uint64_t used_ns = pt_saturating_count(with_before_ns, f->cpu_own_ns);
    return used_ns <= cpu_time_of(b->duration_ns, b) &&
           f->own_ns <= pt_saturating_count(used_ns, LATE_NS) && has_possible_period(f, b);
}

/* A thread that ends within its first period has a sample with a probability equal to the part of
 * the period that it ran. So the weight of many short threads varies like a sum of independent
 * events, and the limit is 6 standard deviations above the largest CPU time that is possible. */
uint64_t pt_journal_most_weight(const pt_journal_facts *f, const pt_journal_bounds *b)
{
    enum { DEVIATIONS = 6, FEW = 4 };
    if (b->duration_ns == 0 || f->period_ns == 0) return UINT64_MAX;
    const uint64_t lifetime_ns = f->last_monotonic_ns > f->start_monotonic_ns
                                     ? f->last_monotonic_ns - f->start_monotonic_ns
                                     : 0;
    const uint64_t most_ns =
        cpu_time_of(lifetime_ns < b->duration_ns ? lifetime_ns : b->duration_ns, b);
    const uint64_t periods = most_ns / f->period_ns;
    return periods + DEVIATIONS * (uint64_t)sqrt((double)periods) + FEW;
}
