/* progress.c: see progress.h. */
#include "base/progress.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/error.h"

enum { SHOWS = 10, DOING_BYTES = 512 };

struct pt_progress {
    pt_progress_show *show;
    void *context;
    int64_t each_ms; /* between two shows */
    _Atomic int64_t due_ms;
    _Atomic uint64_t done, stacks;
    pthread_mutex_t lock; /* guards the following fields; held during a show */
    char doing[DOING_BYTES];
    pt_progress_unit unit;
    uint64_t total;
    int64_t begun_ms;
    bool is_working, is_shown;
};

pt_progress *pt_progress_new(int64_t quiet_ms, pt_progress_show *show, void *context)
{
    pt_progress *const p = pt_alloc(1, sizeof *p);
    p->show = show;
    p->context = context;
    p->each_ms = quiet_ms / SHOWS;
    atomic_store(&p->due_ms, pt_now_ms() + quiet_ms);
    pthread_mutex_init(&p->lock, NULL);
    return p;
}

void pt_progress_free(pt_progress *p)
{
    if (p == NULL) return;
    pt_progress_end(p);
    pthread_mutex_destroy(&p->lock);
    free(p);
}

void pt_progress_begin(pt_progress *p, pt_progress_unit unit, uint64_t total, const char *format,
                       ...)
{
    if (p == NULL) return;
    va_list args;
    va_start(args, format);
    pthread_mutex_lock(&p->lock);
    vsnprintf(p->doing, sizeof p->doing, format, args);
    p->unit = unit;
    p->total = total;
    p->begun_ms = pt_now_ms();
    p->is_working = true;
    atomic_store(&p->done, 0);
    atomic_store(&p->stacks, 0);
    pthread_mutex_unlock(&p->lock);
    va_end(args);
    pt_progress_look(p);
}

void pt_progress_rename(pt_progress *p, const char *format, ...)
{
    if (p == NULL) return;
    va_list args;
    va_start(args, format);
    pthread_mutex_lock(&p->lock);
    vsnprintf(p->doing, sizeof p->doing, format, args);
    pthread_mutex_unlock(&p->lock);
    va_end(args);
    pt_progress_look(p);
}

void pt_progress_add(pt_progress *p, uint64_t amount)
{
    if (p == NULL) return;
    atomic_fetch_add_explicit(&p->done, amount, memory_order_relaxed);
    pt_progress_look(p);
}

void pt_progress_add_stacks(pt_progress *p, uint64_t count)
{
    if (p == NULL) return;
    atomic_fetch_add_explicit(&p->stacks, count, memory_order_relaxed);
    pt_progress_look(p);
}

void pt_progress_look(pt_progress *p)
{
    if (p == NULL) return;
    const int64_t now_ms = pt_now_ms();
    if (now_ms < atomic_load_explicit(&p->due_ms, memory_order_relaxed) ||
        pthread_mutex_trylock(&p->lock) != 0)
        return; /* if locked, another thread shows it */
    if (p->is_working && now_ms >= atomic_load(&p->due_ms)) {
        atomic_store(&p->due_ms, now_ms + p->each_ms);
        p->is_shown = true;
        p->show(p->context, &(pt_progress_state){.doing = p->doing,
                                                 .unit = p->unit,
                                                 .done = atomic_load(&p->done),
                                                 .total = p->total,
                                                 .stacks = atomic_load(&p->stacks),
                                                 .elapsed_ms = now_ms - p->begun_ms});
    }
    pthread_mutex_unlock(&p->lock);
}

void pt_progress_end(pt_progress *p)
{
    if (p == NULL) return;
    pthread_mutex_lock(&p->lock);
    if (p->is_shown) p->show(p->context, NULL);
    p->is_working = p->is_shown = false;
    pthread_mutex_unlock(&p->lock);
}

int pt_progress_wait_ms(const pt_progress *p)
{
    if (p == NULL) return -1;
    const int64_t left_ms = atomic_load(&p->due_ms) - pt_now_ms();
    return left_ms < 1 ? 1 : left_ms > 1000000 ? 1000000 : (int)left_ms;
}
