/* first.c: see first.h. */
#include "capture/first.h"

#include <linux/perf_event.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <time.h>

#include "base/clock.h"
#include "base/grow.h"

enum { EVENTS = 1 << 10 };

typedef struct {
    uint64_t id; /* 0: none */
    uint64_t period, settled_ns;
    int fd;
} awaited;

struct pt_first {
    pthread_mutex_t lock;
    awaited events[EVENTS]; /* by id modulo */
};

pt_first *pt_first_new(void)
{
    pt_first *const first = pt_alloc(1, sizeof *first);
    /* With priority inheritance, the holder of the lock runs with the priority of a waiter. */
    pthread_mutexattr_t inherits;
    pthread_mutexattr_init(&inherits);
    pthread_mutexattr_setprotocol(&inherits, PTHREAD_PRIO_INHERIT);
    pthread_mutex_init(&first->lock, &inherits);
    pthread_mutexattr_destroy(&inherits);
    return first;
}

void pt_first_free(pt_first *first)
{
    if (first == NULL) return;
    pthread_mutex_destroy(&first->lock);
    free(first);
}

void pt_first_await(pt_first *first, uint64_t id, int fd, uint64_t period)
{
    pthread_mutex_lock(&first->lock);
    first->events[id % EVENTS] = (awaited){.id = id, .period = period, .fd = fd};
    pthread_mutex_unlock(&first->lock);
}

void pt_first_sampled(pt_first *first, uint64_t id)
{
    pthread_mutex_lock(&first->lock);
    awaited *const event = &first->events[id % EVENTS];
    if (event->id == id && id != 0 && event->settled_ns == 0 &&
        ioctl(event->fd, PERF_EVENT_IOC_PERIOD, &event->period) == 0)
        event->settled_ns = (uint64_t)pt_clock_ns(CLOCK_MONOTONIC);
    pthread_mutex_unlock(&first->lock);
}

uint64_t pt_first_end(pt_first *first, uint64_t id)
{
    uint64_t settled_ns = 0;
    pthread_mutex_lock(&first->lock);
    awaited *const event = &first->events[id % EVENTS];
    if (event->id == id && id != 0) {
        settled_ns = event->settled_ns;
        *event = (awaited){0};
    }
    pthread_mutex_unlock(&first->lock);
    return settled_ns;
}
