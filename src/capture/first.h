/* first.h: events of new threads that still have their first period, at which they make samples
 * fast. The thread that copies the rings gives an event its whole period as soon as it sees a
 * sample of it: the reader may come later, when the samples have filled the ring.
 */
#pragma once

#include <stdint.h>

typedef struct pt_first pt_first;

pt_first *pt_first_new(void);
void pt_first_free(pt_first *first); /* accepts NULL */

/* The first sample of the event (its id in samples, its descriptor) gives it this period in ns. An
 * event with the same remainder modulo 1,024 replaces this one. */
void pt_first_await(pt_first *first, uint64_t id, int fd, uint64_t period);
/* A sample of an event has come. Any thread may call it. */
void pt_first_sampled(pt_first *first, uint64_t id);
/* Forgets the event; call it before its descriptor is closed. Returns when the event was given its
 * period (monotonic); 0: it was not. */
uint64_t pt_first_end(pt_first *first, uint64_t id);
