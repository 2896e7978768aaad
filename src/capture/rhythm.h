/* rhythm.h: the periods of the timers of a cpu.
 *
 * The kernel's timers tick at fixed periods. A single timer would find a program that works in
 * rounds at the same few places of each round, and show 20 or 40 % for a function that takes 30 %.
 * So a cpu has several timers, whose ticks together come at the requested rate:
 *
 *   timer 0   |        |        |        |       parts 1.3 of 8: 6.2 periods
 *   timer 1     |            |            |             0.9 of 8: 8.9 periods
 *   ...
 *
 * A timer with part 1.3 of 8 makes 1.3 of 8 ticks: one in 8 / 1.3 = 6.2 periods of the request. The
 * parts are drawn at random between 0.5 and 1.5, and two of them anew after about 32 ticks of the
 * cpu. They add up to the number of timers, so the rate is exact. Where a tick falls in a program's
 * round moves by a random step from tick to tick; a timer that is in step with the round stays so
 * for few ticks.
 */
#pragma once

#include <stdint.h>

enum {
    PT_RHYTHM_TIMERS = 8, /* of a cpu, at most */
    PT_RHYTHM_TICKS = 32, /* of a cpu, until two parts are drawn anew */
};

typedef struct pt_rhythm {
    double parts[PT_RHYTHM_TIMERS];
    uint32_t timers;
    uint32_t turn;     /* the timer whose period is drawn next */
    double owed_ticks; /* ticks that did not come and are not made up for yet */
} pt_rhythm;

/* Draws the parts of all timers. timers: 1, or an even number up to PT_RHYTHM_TIMERS. */
void pt_rhythm_begin(pt_rhythm *rhythm, uint32_t timers, uint64_t *state);
/* The period of one timer, if the ticks of all timers together have the given period. */
uint64_t pt_rhythm_period(const pt_rhythm *rhythm, uint32_t timer, uint64_t period);
/* The time in ns to the first tick of a timer: one of the timers ticks in each of the first
 * periods, at a random place of it. */
uint64_t pt_rhythm_first(uint64_t *state, uint32_t timer, uint64_t period);
/* Notes that a timer was given its period late, so that its next ticks come later. late: the delay,
 * in periods of the timer. The next draws make up for it. */
void pt_rhythm_late(pt_rhythm *rhythm, double late);
/* Draws two parts anew. When a timer gets a new period, the kernel begins a whole one, so the timer
 * loses half a period in the mean. ticks: ticks of the cpu since the last call; the new parts make
 * up for the loss during as many ticks. Needs at least two timers. */
void pt_rhythm_redraw(pt_rhythm *rhythm, uint64_t *state, uint64_t ticks, uint32_t ret_timers[2]);
