/* pool.h: a pool of threads, with parallel loops and ordered production.
 *
 * The calling thread works too, so a pool of 1 creates no threads and runs every item on the
 * caller, in order. A call from inside a task, or from a second thread while the pool is busy, also
 * runs on its caller; so the pool cannot deadlock.
 *
 * Errors are deterministic: the failure with the lowest index is returned, whatever the number of
 * threads. Items with higher indices may or may not have run.
 */
#pragma once

#include "base/error.h"

typedef struct pt_pool pt_pool;

/* threads: the number of working threads, including the caller; 0 means the number of CPUs that
 * this process may use. Never NULL: if the system refuses threads, the pool has fewer. */
pt_pool *pt_pool_new(unsigned threads);
/* Ends the threads and frees the pool. Accepts NULL. No call may be in progress. */
void pt_pool_free(pt_pool *pool);
/* The number of workers, whose indices are [0, number); 1 for NULL. */
unsigned pt_pool_threads(const pt_pool *pool);

/* Processes items [begin, end). worker is the index of a private state: within one pt_pool_for, no
 * two calls with the same worker run at the same time. */
typedef pt_status pt_range_fn(void *ctx, unsigned worker, size_t begin, size_t end,
                              pt_error *reterr);

/* Calls fn for [0, n) in ranges of at most grain (>= 1) items, in parallel, and waits for all. A
 * NULL pool runs on the caller. */
pt_status pt_pool_for(pt_pool *pool, size_t n, size_t grain, pt_range_fn *fn, void *ctx,
                      pt_error *reterr);

/* Callbacks of pt_pool_ordered. */
typedef struct pt_ordered {
    void *ctx;
    /* Produces item `index`, on any thread. */
    pt_status (*produce)(void *ctx, unsigned worker, size_t index, void **ret_item,
                         pt_error *reterr);
    /* Receives and owns the items in index order, on the calling thread. */
    pt_status (*commit)(void *ctx, size_t index, void *item, pt_error *reterr);
    /* Frees an item that was produced but is not committed, because an earlier item failed. */
    void (*drop)(void *ctx, void *item);
    size_t ahead; /* number of items that may be produced before the next commit, to bound memory; 0
                   * means two for each thread */
} pt_ordered;

/* Produces items [0, n) in parallel and commits them in order. */
pt_status pt_pool_ordered(pt_pool *pool, size_t n, const pt_ordered *how, pt_error *reterr);
