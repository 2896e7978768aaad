/* loader.c: see loader.h. */
#include "capture/loader.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>

struct pt_loader {
    pthread_mutex_t lock; /* of all below */
    pthread_cond_t changed;
    bool is_over, is_abandoned;
    pt_bpf_engine *engine; /* if is_over; NULL: refused */
    pt_error refusal;
    uint32_t cpu_limit;
    struct timespec begin_at; /* monotonic */
};

static void free_loader(pt_loader *loader)
{
    pt_bpf_engine_free(loader->engine);
    pthread_cond_destroy(&loader->changed);
    pthread_mutex_destroy(&loader->lock);
    free(loader);
}

/* Waits for the time to begin. True: the loader was abandoned meanwhile. */
static bool wait_to_begin(pt_loader *loader)
{
    pthread_mutex_lock(&loader->lock);
    while (!loader->is_abandoned &&
           pthread_cond_timedwait(&loader->changed, &loader->lock, &loader->begin_at) == 0)
        continue;
    const bool is_abandoned = loader->is_abandoned;
    pthread_mutex_unlock(&loader->lock);
    return is_abandoned;
}

static void *run_loader(void *arg)
{
    pt_loader *const loader = arg;
    pt_bpf_engine *engine = NULL;
    pt_error refusal = PT_ERROR_INIT;
    if (!wait_to_begin(loader)) pt_bpf_engine_new(loader->cpu_limit, NULL, &engine, &refusal);
    pthread_mutex_lock(&loader->lock);
    loader->engine = engine;
    loader->refusal = refusal;
    loader->is_over = true;
    const bool is_abandoned = loader->is_abandoned;
    pthread_mutex_unlock(&loader->lock);
    if (is_abandoned) free_loader(loader);
    return NULL;
}

static struct timespec time_after(unsigned delay_ms)
{
    enum { MS_OF_SECOND = 1000, NS_OF_MS = 1000000, NS_OF_SECOND = 1000000000 };
    struct timespec at;
    clock_gettime(CLOCK_MONOTONIC, &at);
    at.tv_sec += delay_ms / MS_OF_SECOND;
    at.tv_nsec += (long)(delay_ms % MS_OF_SECOND) * NS_OF_MS;
    at.tv_sec += at.tv_nsec / NS_OF_SECOND;
    at.tv_nsec %= NS_OF_SECOND;
    return at;
}

pt_loader *pt_loader_new(uint32_t cpu_limit, unsigned delay_ms)
{
    pt_loader *const loader = pt_alloc(1, sizeof *loader);
    pthread_condattr_t clock;
    pthread_attr_t detached;
    pthread_t thread;
    sigset_t all, before;
    loader->cpu_limit = cpu_limit;
    loader->begin_at = time_after(delay_ms);
    pthread_mutex_init(&loader->lock, NULL);
    pthread_condattr_init(&clock);
    pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
    pthread_cond_init(&loader->changed, &clock);
    pthread_condattr_destroy(&clock);
    pthread_attr_init(&detached);
    pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
    sigfillset(&all); /* the caller's thread handles signals */
    pthread_sigmask(SIG_SETMASK, &all, &before);
    const bool has_thread = pthread_create(&thread, &detached, run_loader, loader) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&detached);
    if (has_thread) return loader;
    free_loader(loader);
    return NULL;
}

bool pt_loader_take(pt_loader *loader, pt_bpf_engine **ret_engine, pt_error *reterr)
{
    pthread_mutex_lock(&loader->lock);
    const bool is_over = loader->is_over;
    if (is_over) {
        *ret_engine = loader->engine;
        *reterr = loader->refusal;
        loader->engine = NULL;
    }
    pthread_mutex_unlock(&loader->lock);
    return is_over;
}

void pt_loader_free(pt_loader *loader)
{
    if (loader == NULL) return;
    pthread_mutex_lock(&loader->lock);
    const bool is_over = loader->is_over;
    loader->is_abandoned = true;
    pthread_cond_signal(&loader->changed);
    pthread_mutex_unlock(&loader->lock);
    if (is_over) free_loader(loader);
}
