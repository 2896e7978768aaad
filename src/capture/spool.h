/* spool.h: a thread that empties the kernel's rings in time.
 *
 *   ring of the kernel  --- copied when records arrive --->  ring of the spool  ---> the reader
 *     locked memory, small                                     ordinary memory, large
 *
 * The reader may fall behind: a new program needs an unwind table, which may come from a disk. The
 * thread only copies, with real-time priority where permitted. Samples become compact on the way
 * (ring.h).
 */
#pragma once

#include <stddef.h>

#include "capture/first.h"
#include "capture/ring.h"

typedef struct pt_spool pt_spool;

typedef struct pt_spool_ring {
    int fd;         /* readable when the kernel's ring should be emptied */
    pt_ring *from;  /* the kernel's */
    pt_ring *to;    /* made by pt_spool_ring_open; its reader looks, peeks and releases as usual */
    bool has_forks; /* records of forks come in this ring */
    /* Events whose first samples come in this ring; borrowed; NULL: none. Samples have their ids
     * first. */
    pt_first *first;
} pt_spool_ring;

/* Makes a ring in ordinary memory of at least that many bytes; pt_ring_close frees it. */
pt_status pt_spool_ring_open(size_t bytes, pt_ring *ret_ring, pt_error *reterr);

/* Starts the thread. layout: of samples. The rings stay the caller's and must outlive the spool. If
 * no thread can be started, pt_spool_noticed does its work. */
pt_spool *pt_spool_new(const pt_perf_layout *layout, const pt_spool_ring *rings, size_t count);
/* Ends the thread; accepts NULL. Records that were not copied stay in the kernel's rings. */
void pt_spool_free(pt_spool *spool);

/* Until the first call, the records of all processes are urgent, and their samples wake the reader.
 * After it, only those of heeded processes are; records of others only have to fit in the rings. */
void pt_spool_heed(pt_spool *spool, uint32_t pid);
/* Takes a call of pt_spool_heed back when the process is gone. */
void pt_spool_ignore(pt_spool *spool, uint32_t pid);

/* From now on drops the records and samples of processes that are not heeded, as soon as the reader
 * has read what the rings have now. Heeded are from now on the children of heeded processes, too,
 * until the reader comes to the record of their fork. For readers that heed at once each such child
 * and the processes that they record. */
void pt_spool_narrow(pt_spool *spool);

/* Samples of this process are urgent, too, or no longer: they refer to memory of the process, which
 * must be read soon. A process whose pid is equal modulo 4,096 replaces this process. */
void pt_spool_hurry(pt_spool *spool, uint32_t pid, bool is_hurried);

/* Samples of this process are copied without their stacks, or with them again. A process whose
 * pid is equal modulo 4,096 replaces this process. */
void pt_spool_shun(pt_spool *spool, uint32_t pid, bool is_shunned);

/* False: the thread could not be started. */
bool pt_spool_has_thread(const pt_spool *spool);
/* Readable when the thread has copied records that should be read soon. A few samples a second are
 * not: the reader calls pt_spool_take each second. */
int pt_spool_fd(const pt_spool *spool);
/* Makes pt_spool_fd unreadable again; without a thread, makes a pass over the rings. Call it when
 * pt_spool_fd is readable, or periodically without a thread. */
void pt_spool_noticed(pt_spool *spool);

/* Copies what the rings have now, on the caller's thread. True if everything fitted. */
bool pt_spool_take(pt_spool *spool);
/* True if the last pass found nothing urgent. */
bool pt_spool_is_calm(const pt_spool *spool);
/* The beginning of the last pass (CLOCK_MONOTONIC): all records that the kernel's rings had then
 * have been copied, as far as they fitted. */
uint64_t pt_spool_upto_ns(const pt_spool *spool);
