/* spool.h: a thread that takes what is in the kernel's rings before the kernel needs the room.
 *
 *   ring of the kernel  --- copied, whenever there is something --->  ring of ours  ---> the reader
 *     locked memory, small                                              ordinary memory, large
 *
 * The reader may be slow for a while: a program that is new to it has an unwind table to be made,
 * maybe read from a disk. The thread does nothing but copy, and is run in real time where we may.
 * Samples become compact on the way (ring.h).
 */
#ifndef PT_CAPTURE_SPOOL_H
#define PT_CAPTURE_SPOOL_H

#include <stddef.h>

#include "capture/ring.h"

typedef struct pt_spool pt_spool;

typedef struct pt_spool_ring {
    int fd;        /* readable when something should be taken */
    pt_ring *from; /* the kernel's */
    pt_ring *to;   /* pt_spool_ring_open; its reader looks, peeks and releases as usual */
} pt_spool_ring;

/* A ring in ordinary memory, of at least so many bytes, for what is copied; closed by
 * pt_ring_close. */
pt_status pt_spool_ring_open(size_t bytes, pt_ring *ret_ring, pt_error *reterr);

/* Starts the thread. layout: of samples. The rings stay the caller's and must outlive it. Where no
 * thread can be had, pt_spool_take does its work. */
pt_spool *pt_spool_new(const pt_perf_layout *layout, const pt_spool_ring *rings, size_t count);
/* Ends the thread; accepts NULL. What was not taken stays where it is. */
void pt_spool_free(pt_spool *spool);

/* False: pt_spool_noticed does the thread's work. */
bool pt_spool_has_thread(const pt_spool *spool);
/* Readable when the thread has taken something. */
int pt_spool_fd(const pt_spool *spool);
void pt_spool_noticed(pt_spool *spool);

/* Takes what is there now, in the caller's thread. True if all of it found room. */
bool pt_spool_take(pt_spool *spool);
/* All that was written before this moment (CLOCK_MONOTONIC) has been taken, as far as it was to be
 * seen then. */
uint64_t pt_spool_upto_ns(const pt_spool *spool);

#endif
