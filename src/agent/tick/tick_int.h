/* tick_int.h: what the files of the handler share. */
#pragma once

#include <time.h>

#include "agent/tick/tick.h"

/* The clock's time; 0 if the host has forbidden itself to read clocks. */
static inline int64_t pt_tick_clock_ns(clockid_t clock)
{
    struct timespec now = {0};
    clock_gettime(clock, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* The weight of this tick of the thread in periods; may be 0. */
uint32_t pt_tick_weight_by_clock(pt_thread *self);
uint32_t pt_tick_weight_by_process(void);
uint32_t pt_tick_weight_by_looks(pt_thread *self);
uint32_t pt_tick_weight_by_timer(const siginfo_t *info);
/* By user mode: the weight of a tick of the event, which ticks in user mode only. Time in the
 * kernel since the last tick is added to ring->kernel. */
uint32_t pt_tick_weight_of_user_tick(pt_thread *self, pt_tick_ring *ring);
/* By mode: the weight of a tick of such an event, and of a tick of the POSIX timer. */
uint32_t pt_tick_weight_of_user_time(pt_thread *self);
uint32_t pt_tick_weight_of_kernel_time(pt_thread *self, const void *context);

/* Lets a system call go on that waited and that the tick interrupted (wait.c). Either sets
 * `context` back to the call and returns, or leaves the handler and does not return. */
void pt_tick_wait_on(pt_thread *self, void *context);

/* After the thread's first tick, which came at a random time: arms the event that ticks each
 * period. */
void pt_tick_event_arm(pt_thread *self);
