/* epoll.c: functions that wait for events. The library notes when such a call begins, so that ticks
 * of the wall clock can keep the call's time limit (tick/wait.c).
 *
 * This file is not in the static library, for the reason given in spawn.c. */
#include "agent/agent.h"

#include <errno.h>
#include <stdatomic.h>
#include <sys/epoll.h>

enum { NS_IN_MS = 1000000 };

typedef int epoll_wait_fn(int, struct epoll_event *, int, int);
typedef int epoll_pwait_fn(int, struct epoll_event *, int, int, const sigset_t *);
static _Atomic(epoll_wait_fn *) next_epoll_wait;
static _Atomic(epoll_pwait_fn *) next_epoll_pwait;
static epoll_wait_fn *const second_epoll_wait = NULL;
static epoll_pwait_fn *const second_epoll_pwait = NULL;

PT_EXPORT int epoll_wait(int epoll, struct epoll_event *ret_events, int most, int ms)
{
    epoll_wait_fn *const next = PT_NEXT(epoll_wait);
    if (next == NULL) {
        errno = ENOSYS;
        return -1;
    }
    if (ms <= 0) return next(epoll, ret_events, most, ms);
    pt_tick_wait_begins((int64_t)ms * NS_IN_MS);
    const int count = next(epoll, ret_events, most, ms);
    pt_tick_wait_ended();
    return count;
}

PT_EXPORT int epoll_pwait(int epoll, struct epoll_event *ret_events, int most, int ms,
                          const sigset_t *mask)
{
    epoll_pwait_fn *const next = PT_NEXT(epoll_pwait);
    if (next == NULL) {
        errno = ENOSYS;
        return -1;
    }
    if (ms <= 0) return next(epoll, ret_events, most, ms, mask);
    pt_tick_wait_begins((int64_t)ms * NS_IN_MS);
    const int count = next(epoll, ret_events, most, ms, mask);
    pt_tick_wait_ended();
    return count;
}

void pt_epoll_find_rest(void)
{
    (void)PT_NEXT(epoll_wait);
    (void)PT_NEXT(epoll_pwait);
}
