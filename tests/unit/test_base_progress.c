/* test_base_progress.c: work that adds nothing is shown all the same, and what is between pieces of
 * work. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>
#include <pthread.h>

#include "base/progress.h"

/* What was shown. Shows come one at a time, from any thread. */
typedef struct {
    pthread_mutex_t lock;
    pthread_cond_t more;
    int count;      /* shows of work */
    int ends;       /* shows of NULL */
    char doing[64]; /* of the last show */
} screen;

static void show_on(void *context, const pt_progress_state *state)
{
    screen *const s = context;
    pthread_mutex_lock(&s->lock);
    if (state == NULL)
        s->ends++;
    else
        snprintf(s->doing, sizeof s->doing, "%s", state->doing);
    s->count += state != NULL;
    pthread_cond_signal(&s->more);
    pthread_mutex_unlock(&s->lock);
}

static void wait_for_shows(screen *s, int count)
{
    pthread_mutex_lock(&s->lock);
    while (s->count < count)
        pthread_cond_wait(&s->more, &s->lock);
    pthread_mutex_unlock(&s->lock);
}

static void work_that_adds_nothing_is_shown_again_and_again(void **state)
{
    screen s = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0, 0, ""};
    pt_progress *const p = pt_progress_new(0, show_on, &s);
    pt_progress_begin(p, PT_PROGRESS_TIME, 0, "merging %d profiles", 2);
    wait_for_shows(&s, 3); /* the first is begin's */
    assert_string_equal(s.doing, "merging 2 profiles");
    pt_progress_end(p);
    assert_int_equal(s.ends, 1);
    pt_progress_free(p);
}

static void what_is_between_two_pieces_of_work_has_a_name(void **state)
{
    screen s = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0, 0, ""};
    pt_progress *const p = pt_progress_new(0, show_on, &s);
    pt_progress_set_idle_text(p, "computing");
    wait_for_shows(&s, 1);
    pt_progress_begin(p, PT_PROGRESS_BYTES, 100, "reading");
    assert_string_equal(s.doing, "reading");
    pt_progress_end(p);
    const int count = s.count;
    wait_for_shows(&s, count + 2);
    assert_string_equal(s.doing, "computing");
    pt_progress_set_idle_text(p, NULL); /* nothing is shown from here on */
    const int last = s.count;
    pt_progress_add(p, 1);
    pt_progress_free(p);
    assert_int_equal(s.count, last);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(work_that_adds_nothing_is_shown_again_and_again),
        cmocka_unit_test(what_is_between_two_pieces_of_work_has_a_name),
    };
    return cmocka_run_group_tests_name("base_progress", tests, NULL, NULL);
}
