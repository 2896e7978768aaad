/* progress.c: see progress.h. */
#include "base/progress.h"

#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

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
    const char *idle_text; /* borrowed; NULL = none */
    bool is_over;          /* the watcher must end */
    pthread_cond_t over;
    pthread_t watcher;
    bool is_watched;
};

static void show_due(pt_progress *p)
{
    const int64_t now_ms = pt_now_ms();
    if (!p->is_working || now_ms < atomic_load(&p->due_ms)) return;
    atomic_store(&p->due_ms, now_ms + p->each_ms);
    p->is_shown = true;
    p->show(p->context, &(pt_progress_state){.doing = p->doing,
                                             .unit = p->unit,
                                             .done = atomic_load(&p->done),
                                             .total = p->total,
                                             .stacks = atomic_load(&p->stacks),
                                             .elapsed_ms = now_ms - p->begun_ms});
}

static void *watch_work(void *argument)
{
    enum { EACH_MS = 100 };
    pt_progress *const p = argument;
    pthread_mutex_lock(&p->lock);
    while (!p->is_over) {
        struct timespec until;
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_nsec += EACH_MS * 1000000L;
        until.tv_sec += until.tv_nsec / 1000000000;
        until.tv_nsec %= 1000000000;
        pthread_cond_timedwait(&p->over, &p->lock, &until);
        show_due(p);
    }
    pthread_mutex_unlock(&p->lock);
    return NULL;
}

pt_progress *pt_progress_new(int64_t quiet_ms, pt_progress_show *show, void *context)
{
    pt_progress *const p = pt_alloc(1, sizeof *p);
    p->show = show;
    p->context = context;
    p->each_ms = quiet_ms / SHOWS;
    atomic_store(&p->due_ms, pt_now_ms() + quiet_ms);
    pthread_mutex_init(&p->lock, NULL);
    pthread_cond_init(&p->over, NULL);
    /* The watcher blocks all signals, so that signals go to the thread that waits for a key. */
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    p->is_watched = pthread_create(&p->watcher, NULL, watch_work, p) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return p;
}

void pt_progress_free(pt_progress *p)
{
    if (p == NULL) return;
    pt_progress_set_idle_text(p, NULL);
    pthread_mutex_lock(&p->lock);
    p->is_over = true;
    pthread_cond_signal(&p->over);
    pthread_mutex_unlock(&p->lock);
    if (p->is_watched) pthread_join(p->watcher, NULL);
    pthread_cond_destroy(&p->over);
    pthread_mutex_destroy(&p->lock);
    free(p);
}

/* Begins work. The caller holds p->lock. */
static void begin_work(pt_progress *p, pt_progress_unit unit, uint64_t total)
{
    p->unit = unit;
    p->total = total;
    p->begun_ms = pt_now_ms();
    p->is_working = true;
    atomic_store(&p->done, 0);
    atomic_store(&p->stacks, 0);
}

/* Ends the work, and calls show with NULL if the work was shown. Then begins to show the text of
 * pt_progress_set_idle_text, if there is one. The caller holds p->lock. */
static void end_work(pt_progress *p)
{
    if (p->is_shown) p->show(p->context, NULL);
    p->is_working = p->is_shown = false;
    if (p->idle_text == NULL) return;
    snprintf(p->doing, sizeof p->doing, "%s", p->idle_text);
    begin_work(p, PT_PROGRESS_TIME, 0);
    show_due(p);
}

/* Shows the work if the next show is due. Does nothing if p->lock is held, since the thread that
 * holds it shows the work. */
static void show_unless_locked(pt_progress *p)
{
    if (pt_now_ms() < atomic_load_explicit(&p->due_ms, memory_order_relaxed) ||
        pthread_mutex_trylock(&p->lock) != 0)
        return;
    show_due(p);
    pthread_mutex_unlock(&p->lock);
}

void pt_progress_begin(pt_progress *p, pt_progress_unit unit, uint64_t total, const char *format,
                       ...)
{
    if (p == NULL) return;
    va_list args;
    va_start(args, format);
    pthread_mutex_lock(&p->lock);
    vsnprintf(p->doing, sizeof p->doing, format, args);
    begin_work(p, unit, total);
    show_due(p);
    pthread_mutex_unlock(&p->lock);
    va_end(args);
}

void pt_progress_rename(pt_progress *p, const char *format, ...)
{
    if (p == NULL) return;
    va_list args;
    va_start(args, format);
    pthread_mutex_lock(&p->lock);
    vsnprintf(p->doing, sizeof p->doing, format, args);
    show_due(p);
    pthread_mutex_unlock(&p->lock);
    va_end(args);
}

void pt_progress_add(pt_progress *p, uint64_t amount)
{
    if (p == NULL) return;
    atomic_fetch_add_explicit(&p->done, amount, memory_order_relaxed);
    show_unless_locked(p);
}

void pt_progress_add_stacks(pt_progress *p, uint64_t count)
{
    if (p == NULL) return;
    atomic_fetch_add_explicit(&p->stacks, count, memory_order_relaxed);
    show_unless_locked(p);
}

void pt_progress_end(pt_progress *p)
{
    if (p == NULL) return;
    pthread_mutex_lock(&p->lock);
    end_work(p);
    pthread_mutex_unlock(&p->lock);
}

void pt_progress_set_idle_text(pt_progress *p, const char *text)
{
    if (p == NULL) return;
    pthread_mutex_lock(&p->lock);
    p->idle_text = text;
    end_work(p);
    pthread_mutex_unlock(&p->lock);
}
