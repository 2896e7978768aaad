/* progress.c: see progress.h. */
#include "terminal/progress.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/error.h"
#include "render/text.h"
#include "terminal/message.h"

#define MOST_MS INT64_C(1000000000000) /* thirty years */

static void put_amount(const pt_progress_state *s, char *text, size_t size)
{
    const double mb = 1e6;
    const uint64_t done = s->total > 0 && s->done > s->total ? s->total : s->done;
    const pt_count_text count = pt_count_of(done), total = pt_count_of(s->total);
    int n = 0;
    if (s->unit == PT_PROGRESS_TIME)
        n = snprintf(text, size, "%" PRId64 " s", s->elapsed_ms / 1000);
    else if (s->unit == PT_PROGRESS_ADDRESSES)
        n = snprintf(text, size, "%s of %s addresses", count.text, total.text);
    else if (s->total > 0)
        n = snprintf(text, size, "%.1f of %.1f MB (%.0f %%)", (double)done / mb,
                     (double)s->total / mb, 100 * ((double)done / (double)s->total));
    else
        n = snprintf(text, size, "%.1f MB", (double)done / mb);
    if (s->stacks > 0 && n > 0 && (size_t)n < size)
        snprintf(text + n, size - (size_t)n, ", %s stacks unwound", pt_count_of(s->stacks).text);
}

static void show_state(void *context, const pt_progress_state *s)
{
    const int64_t *const quiet_ms = context;
    if (s == NULL) {
        pt_show_progress(NULL);
        return;
    }
    if (pt_silence_ms() < *quiet_ms) return;
    char amount[160];
    put_amount(s, amount, sizeof amount);
    PT_FREE char *line = pt_strf("%s: %s", s->doing, amount);
    pt_show_progress(line);
}

pt_progress *pt_progress_line_new(void)
{
    static int64_t quiet_ms = 1000;
    const char *const term = getenv("TERM"), *const asked = getenv(PT_PROGRESS_VARIABLE);
    if (!isatty(STDERR_FILENO) || (term != NULL && strcmp(term, "dumb") == 0)) return NULL;
    if (asked != NULL && asked[0] >= '0' && asked[0] <= '9')
        quiet_ms = (int64_t)(strtoull(asked, NULL, 10) % MOST_MS);
    return pt_progress_new(quiet_ms, show_state, &quiet_ms);
}

struct pt_progress_work {
    pt_progress *progress;
    pthread_t watcher;
    bool is_watched;
    pthread_mutex_t lock;
    pthread_cond_t ended;
    bool has_ended; /* guarded by lock */
};

static void *watch_work(void *argument)
{
    enum { EACH_MS = 100 };
    pt_progress_work *const work = argument;
    pthread_mutex_lock(&work->lock);
    while (!work->has_ended) {
        struct timespec until;
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_nsec += EACH_MS * 1000000L;
        until.tv_sec += until.tv_nsec / 1000000000;
        until.tv_nsec %= 1000000000;
        pthread_cond_timedwait(&work->ended, &work->lock, &until);
        if (!work->has_ended) pt_progress_look(work->progress);
    }
    pthread_mutex_unlock(&work->lock);
    return NULL;
}

pt_progress_work *pt_progress_work_begin(pt_progress *progress, const char *format, ...)
{
    if (progress == NULL) return NULL;
    pt_buf doing = PT_BUF_INIT;
    va_list args;
    va_start(args, format);
    pt_vputf(&doing, format, args);
    va_end(args);
    pt_progress_begin(progress, PT_PROGRESS_TIME, 0, "%s", pt_buf_text(&doing));
    pt_buf_done(&doing);
    pt_progress_work *const work = pt_alloc(1, sizeof *work);
    work->progress = progress;
    pthread_mutex_init(&work->lock, NULL);
    pthread_cond_init(&work->ended, NULL);
    work->is_watched = pthread_create(&work->watcher, NULL, watch_work, work) == 0;
    return work;
}

void pt_progress_work_end(pt_progress_work *work)
{
    if (work == NULL) return;
    pthread_mutex_lock(&work->lock);
    work->has_ended = true;
    pthread_cond_signal(&work->ended);
    pthread_mutex_unlock(&work->lock);
    if (work->is_watched) pthread_join(work->watcher, NULL);
    pt_progress_end(work->progress);
    pthread_cond_destroy(&work->ended);
    pthread_mutex_destroy(&work->lock);
    free(work);
}
