/* progress.c: see progress.h. */
#include "terminal/progress.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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
        pt_show_progress_of_work(NULL);
        return;
    }
    if (pt_silence_ms() < *quiet_ms) return;
    char amount[160];
    put_amount(s, amount, sizeof amount);
    PT_FREE char *line = pt_strf("%s: %s", s->doing, amount);
    pt_show_progress_of_work(line);
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
