/* tick_int.h: what the files of the handler share. */
#pragma once

#include <time.h>

#include "agent/tick/tick.h"

/* 0 if the host has forbidden itself to read clocks. */
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
/* By user mode: of an event, which ticks in user mode only. What went by in the kernel since the
 * last tick is counted in the ring. */
uint32_t pt_tick_weight_of_user_tick(pt_thread *self, pt_tick_ring *ring);
/* By mode: of such an event, and of the POSIX timer. */
uint32_t pt_tick_weight_of_user_time(pt_thread *self);
uint32_t pt_tick_weight_of_kernel_time(pt_thread *self, const void *context);

/* Lets an interrupted wait go on: sets its context back, or leaves the handler for it and does not
 * return. */
void pt_tick_wait_on(pt_thread *self, void *context);

/* The thread's first tick came at a random time; from here on they come each period. */
void pt_tick_event_arm(pt_thread *self);
