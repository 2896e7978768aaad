/* pool.c: workers sleep until a job is posted, run the job's function once each, and sleep again. A
 * job divides its work itself: by a counter of ranges (pt_pool_for), or by a window of items
 * (pt_pool_ordered). */
#include "base/pool.h"

#include "base/memory.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

typedef void job_fn(void *job, unsigned worker);

struct pt_pool {
    unsigned count;         /* number of workers, including the caller */
    pthread_mutex_t in_use; /* held by the thread whose job runs; guards the next two fields */
    pthread_t *threads;     /* created for the first job that needs them */
    unsigned thread_count;
    pthread_mutex_t lock; /* guards the following fields */
    pthread_cond_t posted, finished;
    job_fn *fn;
    void *job;
    uint64_t generation; /* number of the current job; a worker runs each job once */
    unsigned working;    /* threads that have not finished the job */
    unsigned started;    /* threads that have taken their worker number */
    bool stop;
};

/* True while this thread runs a task. A call of the pool's functions from within the task then runs
 * on this thread alone. */
static _Thread_local bool inside_task;

static void *worker_main(void *arg)
{
    pt_pool *const pool = arg;
    inside_task = true;
    uint64_t seen = 0;
    pthread_mutex_lock(&pool->lock);
    const unsigned worker = ++pool->started;
    while (true) {
        while (!pool->stop && pool->generation == seen)
            pthread_cond_wait(&pool->posted, &pool->lock);
        if (pool->stop) break;
        seen = pool->generation;
        job_fn *const fn = pool->fn;
        void *const job = pool->job;
        pthread_mutex_unlock(&pool->lock);
        fn(job, worker);
        pthread_mutex_lock(&pool->lock);
        if (--pool->working == 0) pthread_cond_signal(&pool->finished);
    }
    pthread_mutex_unlock(&pool->lock);
    return NULL;
}

static unsigned usable_cpus(void)
{
    cpu_set_t cpus;
    if (sched_getaffinity(0, sizeof cpus, &cpus) == 0) return (unsigned)CPU_COUNT(&cpus);
    const long online = sysconf(_SC_NPROCESSORS_ONLN); /* more CPUs than a cpu_set_t holds */
    return online > 0 ? (unsigned)online : 1;
}

pt_pool *pt_pool_new(unsigned threads)
{
    pt_pool *const pool = pt_alloc(1, sizeof *pool);
    pthread_mutex_init(&pool->in_use, NULL);
    pthread_mutex_init(&pool->lock, NULL);
    pthread_cond_init(&pool->posted, NULL);
    pthread_cond_init(&pool->finished, NULL);
    pool->count = threads > 0 ? threads : usable_cpus();
    return pool;
}

/* Size of a thread's stack: address space of which little is used. */
static int64_t stack_bytes(void)
{
    pthread_attr_t usual;
    size_t bytes = 0;
    if (pthread_attr_init(&usual) != 0) return 0;
    pthread_attr_getstacksize(&usual, &bytes);
    pthread_attr_destroy(&usual);
    return (int64_t)bytes;
}

static void make_threads(pt_pool *pool)
{
    pt_memory_uncount(stack_bytes() * (pool->count - 1));
    pool->threads = pt_alloc(pool->count, sizeof *pool->threads);
    for (; pool->thread_count + 1 < pool->count; pool->thread_count++) {
        if (pthread_create(&pool->threads[pool->thread_count], NULL, worker_main, pool) != 0) break;
    }
}

void pt_pool_free(pt_pool *pool)
{
    if (pool == NULL) return;
    pthread_mutex_lock(&pool->lock);
    pool->stop = true;
    pthread_cond_broadcast(&pool->posted);
    pthread_mutex_unlock(&pool->lock);
    for (unsigned i = 0; i < pool->thread_count; i++)
        pthread_join(pool->threads[i], NULL);
    if (pool->threads != NULL) pt_memory_uncount(-stack_bytes() * (pool->count - 1));
    pthread_cond_destroy(&pool->finished);
    pthread_cond_destroy(&pool->posted);
    pthread_mutex_destroy(&pool->lock);
    pthread_mutex_destroy(&pool->in_use);
    PT_FREE_ALL(pool->threads, pool);
}

unsigned pt_pool_threads(const pt_pool *pool)
{
    return pool != NULL ? pool->count : 1;
}

/* Runs fn(job, worker) once on every worker if the pool is free, else once on the calling
 * thread. */
static void run_job(pt_pool *pool, job_fn *fn, void *job)
{
    if (pool == NULL || pool->count == 1 || inside_task ||
        pthread_mutex_trylock(&pool->in_use) != 0) {
        fn(job, 0);
        return;
    }
    if (pool->threads == NULL) make_threads(pool);
    pthread_mutex_lock(&pool->lock);
    pool->fn = fn;
    pool->job = job;
    pool->working = pool->thread_count;
    pool->generation++;
    pthread_cond_broadcast(&pool->posted);
    pthread_mutex_unlock(&pool->lock);
    inside_task = true;
    fn(job, 0);
    inside_task = false;
    pthread_mutex_lock(&pool->lock);
    while (pool->working > 0)
        pthread_cond_wait(&pool->finished, &pool->lock);
    pthread_mutex_unlock(&pool->lock);
    pthread_mutex_unlock(&pool->in_use);
}

/* --- ranges --- */

struct range_job {
    pt_range_fn *fn;
    void *ctx;
    size_t n, grain;
    atomic_size_t next; /* first item that no worker has taken */
    atomic_size_t stop; /* items from here on need not run: an earlier one failed */
    pthread_mutex_t lock;
    size_t failed_at; /* start of the lowest failed range, guarded by lock */
    pt_status status;
    pt_error error;
};

/* Runs ranges until none is left. Workers take ranges in ascending order, so when a range fails,
 * all lower ranges are running or done; the lowest failure is therefore always found. */
static void run_ranges(void *arg, unsigned worker)
{
    struct range_job *const job = arg;
    while (true) {
        size_t begin = atomic_load(&job->next);
        do {
            if (begin >= atomic_load(&job->stop)) return;
        } while (!atomic_compare_exchange_weak(
            &job->next, &begin, job->n - begin > job->grain ? begin + job->grain : job->n));
        const size_t end = job->n - begin > job->grain ? begin + job->grain : job->n;
        pt_error error = PT_ERROR_INIT;
        const pt_status status = job->fn(job->ctx, worker, begin, end, &error);
        if (status == PT_OK) continue;
        pthread_mutex_lock(&job->lock);
        if (begin < job->failed_at) {
            job->failed_at = begin;
            job->status = status;
            job->error = error;
            atomic_store(&job->stop, begin);
        }
        pthread_mutex_unlock(&job->lock);
    }
}

pt_status pt_pool_for(pt_pool *pool, size_t n, size_t grain, pt_range_fn *fn, void *ctx,
                      pt_error *reterr)
{
    PT_BUG_IF(grain == 0);
    struct range_job job = {
        .fn = fn, .ctx = ctx, .n = n, .grain = grain, .stop = n, .failed_at = SIZE_MAX};
    pthread_mutex_init(&job.lock, NULL);
    if (n <= grain)
        run_ranges(&job, 0); /* a single range: no worker is woken */
    else
        run_job(pool, run_ranges, &job);
    pthread_mutex_destroy(&job.lock);
    if (job.status != PT_OK && reterr != NULL) *reterr = job.error;
    return job.status;
}

/* --- ordered --- */

struct made {
    void *item;
    pt_status status;
    pt_error error;
    bool ready;
};

/* The window of an ordered job: the items from `due`, the next to commit, to `next`, the next to
 * produce.
 *
 *   committed (due)          next (not taken yet)
 *        |--- in production or ready, at most ahead ---|      window[index % ahead]
 */
struct ordered_job {
    const pt_ordered *how;
    size_t n, ahead;
    pthread_mutex_t lock; /* guards the following fields */
    pthread_cond_t changed;
    struct made *window;
    size_t next, due;
    bool stop;
    pt_status status;
    pt_error error;
};

/* Produces the next item. The lock of the job is held at the call and at the return. */
static void produce_item(struct ordered_job *job, unsigned worker)
{
    const size_t index = job->next++;
    pthread_mutex_unlock(&job->lock);
    struct made made = {.error = PT_ERROR_INIT, .ready = true};
    made.status = job->how->produce(job->how->ctx, worker, index, &made.item, &made.error);
    pthread_mutex_lock(&job->lock);
    job->window[index % job->ahead] = made;
    pthread_cond_broadcast(&job->changed);
}

/* Commits the due item. Only worker 0 calls this function. The lock of the job is held at the call
 * and at the return. */
static void commit_item(struct ordered_job *job)
{
    struct made *const slot = &job->window[job->due % job->ahead];
    const struct made made = *slot;
    slot->ready = false;
    pthread_mutex_unlock(&job->lock);
    pt_error error = made.error;
    pt_status status = made.status;
    if (status == PT_OK) status = job->how->commit(job->how->ctx, job->due, made.item, &error);
    pthread_mutex_lock(&job->lock);
    job->due++;
    if (status != PT_OK) {
        job->status = status;
        job->error = error;
        job->stop = true;
    }
    pthread_cond_broadcast(&job->changed);
}

static void run_ordered(void *arg, unsigned worker)
{
    struct ordered_job *const job = arg;
    pthread_mutex_lock(&job->lock);
    while (!job->stop && job->due < job->n) {
        const bool may_make = job->next < job->n && job->next - job->due < job->ahead;
        if (worker == 0 && job->window[job->due % job->ahead].ready)
            commit_item(job);
        else if (may_make)
            produce_item(job, worker);
        else if (worker != 0 && job->next == job->n)
            break;
        else
            pthread_cond_wait(&job->changed, &job->lock);
    }
    pthread_mutex_unlock(&job->lock);
}

pt_status pt_pool_ordered(pt_pool *pool, size_t n, const pt_ordered *how, pt_error *reterr)
{
    struct ordered_job job = {
        .how = how, .n = n, .ahead = how->ahead ? how->ahead : 2 * (size_t)pt_pool_threads(pool)};
    pthread_mutex_init(&job.lock, NULL);
    pthread_cond_init(&job.changed, NULL);
    job.window = pt_alloc(job.ahead, sizeof *job.window);
    if (n <= 1)
        run_ordered(&job, 0);
    else
        run_job(pool, run_ordered, &job);
    for (size_t i = 0; i < job.ahead; i++) { /* drop items that were produced but not committed */
        if (job.window[i].ready && job.window[i].status == PT_OK)
            how->drop(how->ctx, job.window[i].item);
    }
    free(job.window);
    pthread_cond_destroy(&job.changed);
    pthread_mutex_destroy(&job.lock);
    if (job.status != PT_OK && reterr != NULL) *reterr = job.error;
    return job.status;
}
