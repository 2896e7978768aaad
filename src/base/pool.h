/* pool.h: the one pool of threads, and two ways to use it.
 *
 * The calling thread works too, so a pool of 1 has no threads and runs everything inline, in order.
 * A task that calls back into the pool, and a second thread that calls while the pool is busy, run
 * inline as well; nothing here can wait for itself.
 *
 * Errors are deterministic: the failure with the lowest index is the one returned, whatever the
 * number of threads; items after it may or may not have run.
 */
#ifndef PT_BASE_POOL_H
#define PT_BASE_POOL_H

#include "base/error.h"

typedef struct pt_pool pt_pool;

/* threads: how many work at once, the caller counted; 0 means as many as there are CPUs this
 * process may run on. Never NULL: if the system refuses threads fewer work. */
pt_pool *pt_pool_new(unsigned threads);
/* NULL is accepted. No call may be under way. */
void pt_pool_free(pt_pool *pool);
/* Workers are numbered [0, this). 1 for NULL. */
unsigned pt_pool_threads(const pt_pool *pool);

/* Handles items [begin, end). worker tells which private state to use: no two calls with the same
 * worker run at once within one pt_pool_for. */
typedef pt_status pt_range_fn(void *ctx, unsigned worker, size_t begin, size_t end,
                              pt_error *reterr);

/* Calls fn over [0, n) in ranges of at most grain (>= 1) items, in parallel, and waits. A NULL pool
 * runs inline. */
pt_status pt_pool_for(pt_pool *pool, size_t n, size_t grain, pt_range_fn *fn, void *ctx,
                      pt_error *reterr);

typedef struct pt_ordered {
    void *ctx;
    /* Makes item index, on any thread. */
    pt_status (*produce)(void *ctx, unsigned worker, size_t index, void **ret_item,
                         pt_error *reterr);
    /* Takes the items in index order, on the calling thread; the item is then the callee's. */
    pt_status (*commit)(void *ctx, size_t index, void *item, pt_error *reterr);
    /* Frees an item that was made and will not be committed because of a failure before it. */
    void (*drop)(void *ctx, void *item);
    size_t ahead; /* how many items may be finished or in the making before the one due; 0: 2 a
                     thread. Bounds memory. */
} pt_ordered;

/* Produces items [0, n) in parallel and commits them in order. */
pt_status pt_pool_ordered(pt_pool *pool, size_t n, const pt_ordered *how, pt_error *reterr);

#endif
