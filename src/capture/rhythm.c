/* rhythm.c: see rhythm.h. */
#include "capture/rhythm.h"

#include "base/plain/tick.h"

static const double least_part = 0.5, most_part = 1.5;

static double random_between(uint64_t *state, double least, double most)
{
    enum { STEPS = 1 << 20 };
    return least + (most - least) * (double)pt_random_below(state, STEPS) / STEPS;
}

/* Divides a sum between two timers at random. */
static void divide_sum(pt_rhythm *rhythm, uint32_t a, uint32_t b, double sum, uint64_t *state)
{
    const double least = sum - most_part > least_part ? sum - most_part : least_part;
    const double most = sum - least_part < most_part ? sum - least_part : most_part;
    rhythm->parts[a] = most > least ? random_between(state, least, most) : sum / 2;
    rhythm->parts[b] = sum - rhythm->parts[a];
}

void pt_rhythm_begin(pt_rhythm *rhythm, uint32_t timers, uint64_t *state)
{
    *rhythm = (pt_rhythm){.parts = {1}, .timers = timers};
    for (uint32_t i = 0; i + 1 < timers; i += 2)
        divide_sum(rhythm, i, i + 1, 2, state);
}

uint64_t pt_rhythm_period(const pt_rhythm *rhythm, uint32_t timer, uint64_t period)
{
    return (uint64_t)((double)period * rhythm->timers / rhythm->parts[timer]);
}

uint64_t pt_rhythm_first(uint64_t *state, uint32_t timer, uint64_t period)
{
    enum {
        LEAST_NS = 50000
    }; /* the timer repeats its first period until it gets its lasting period */
    const uint64_t first = timer * period + pt_random_below(state, period);
    return first > LEAST_NS ? first : LEAST_NS;
}

void pt_rhythm_late(pt_rhythm *rhythm, double late)
{
    rhythm->owed_ticks += late;
}

/* Takes off owed_ticks, and returns, the number of ticks that the next `apart` ticks make up for:
 * at most one for each eight, so that the rate rises only a little. */
static double take_owed(pt_rhythm *rhythm, double apart)
{
    enum { MOST_PART = 8 };
    const double most = apart / MOST_PART;
    const double ticks = rhythm->owed_ticks < most ? rhythm->owed_ticks : most;
    rhythm->owed_ticks -= ticks;
    return ticks;
}

void pt_rhythm_redraw(pt_rhythm *rhythm, uint64_t *state, uint64_t ticks, uint32_t ret_timers[2])
{
    const uint32_t n = rhythm->timers;
    const uint32_t a = rhythm->turn;
    const uint32_t b = (uint32_t)(a + 1 + pt_random_below(state, n - 1)) % n;
    const double apart = ticks > PT_RHYTHM_TICKS ? (double)ticks : PT_RHYTHM_TICKS;
    double sum = n * (1 + (1 + take_owed(rhythm, apart)) / apart);
    for (uint32_t i = 0; i < n; i++)
        if (i != a && i != b) sum -= rhythm->parts[i];
    rhythm->turn = (a + 1) % n;
    divide_sum(rhythm, a, b, sum, state);
    ret_timers[0] = a;
    ret_timers[1] = b;
}
