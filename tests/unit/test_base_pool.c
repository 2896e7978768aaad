/* test_base_pool.c: the pool gives the same answers with one thread and with many. */
#include "base_check.h"

#include "base/pool.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

/* cmocka's asserts jump, which only the main thread may do: tasks leave their findings here. */
static atomic_bool wrong;
#define EXPECT(cond) ((cond) ? (void)0 : atomic_store(&wrong, true))

static const unsigned thread_counts[] = {1, 2, 3, 8};
#define EACH_POOL(pool)                                                                            \
    for (size_t each = 0; each < 4; each++)                                                        \
        for (pt_pool *pool = pt_pool_new(thread_counts[each]); pool != NULL;                       \
             pt_pool_free(pool), pool = NULL)

struct squares {
    uint32_t *out;
    atomic_uint busy[8];
    atomic_size_t calls;
};

static pt_status square_range(void *ctx, unsigned worker, size_t begin, size_t end,
                              pt_error *reterr)
{
    struct squares *const s = ctx;
    EXPECT(atomic_fetch_add(&s->busy[worker], 1) == 0); /* nobody else is this worker */
    for (size_t i = begin; i < end; i++)
        s->out[i] += (uint32_t)(i * i);
    atomic_fetch_add(&s->calls, 1);
    atomic_fetch_sub(&s->busy[worker], 1);
    return PT_OK;
}

static void every_item_is_done_once(void **state)
{
    EACH_POOL(pool)
    {
        const size_t sizes[] = {0, 1, 7, 64, 10007};
        for (size_t k = 0; k < 5; k++) {
            struct squares s = {.out = pt_alloc(sizes[k], sizeof *s.out)};
            assert_int_equal(pt_pool_for(pool, sizes[k], 10, square_range, &s, NULL), PT_OK);
            for (size_t i = 0; i < sizes[k]; i++)
                assert_int_equal(s.out[i], (uint32_t)(i * i));
            assert_int_equal(atomic_load(&s.calls), (sizes[k] + 9) / 10);
            assert_false(atomic_load(&wrong));
            free(s.out);
        }
    }
}

static pt_status fail_from_777(void *ctx, unsigned worker, size_t begin, size_t end,
                               pt_error *reterr)
{
    for (size_t i = begin; i < end; i++)
        if (i >= 777 && i % 7 == 0) return pt_error_set(reterr, PT_ERR_LIMIT, "item %zu", i);
    return PT_OK;
}

static void the_lowest_failure_is_returned_whatever_the_threads(void **state)
{
    EACH_POOL(pool)
    {
        for (int round = 0; round < 50; round++) {
            pt_error error = PT_ERROR_INIT;
            assert_int_equal(pt_pool_for(pool, 5000, 3, fail_from_777, NULL, &error), PT_ERR_LIMIT);
            assert_string_equal(error.message, "item 777");
        }
    }
}

struct nested {
    pt_pool *pool;
    atomic_size_t sum;
};

static pt_status inner_range(void *ctx, unsigned worker, size_t begin, size_t end, pt_error *reterr)
{
    atomic_fetch_add((atomic_size_t *)ctx, end - begin);
    return PT_OK;
}

static pt_status outer_range(void *ctx, unsigned worker, size_t begin, size_t end, pt_error *reterr)
{
    struct nested *const nested = ctx;
    return pt_pool_for(nested->pool, 100, 10, inner_range, &nested->sum, reterr);
}

static void a_task_may_use_the_pool_it_runs_in(void **state)
{
    EACH_POOL(pool)
    {
        struct nested nested = {.pool = pool};
        assert_int_equal(pt_pool_for(pool, 40, 1, outer_range, &nested, NULL), PT_OK);
        assert_int_equal(atomic_load(&nested.sum), 4000);
    }
}

static void *use_pool(void *arg)
{
    struct nested nested = {.pool = arg};
    for (int i = 0; i < 50; i++)
        EXPECT(pt_pool_for(arg, 40, 1, outer_range, &nested, NULL) == PT_OK);
    EXPECT(atomic_load(&nested.sum) == 50 * 4000);
    return NULL;
}

static void several_threads_may_share_a_pool(void **state)
{
    pt_pool *const pool = pt_pool_new(3);
    pthread_t threads[4];
    for (int i = 0; i < 4; i++)
        pthread_create(&threads[i], NULL, use_pool, pool);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    pt_pool_free(pool);
    assert_false(atomic_load(&wrong));
}

struct ordered {
    size_t fail_produce, fail_commit; /* SIZE_MAX: never */
    size_t committed;                 /* also the index that must come next */
    size_t ahead;
    atomic_size_t due, alive;
    atomic_bool too_far;
};

static pt_status produce(void *ctx, unsigned worker, size_t index, void **ret_item,
                         pt_error *reterr)
{
    struct ordered *const o = ctx;
    if (index == o->fail_produce) return pt_error_set(reterr, PT_ERR_FORMAT, "produce %zu", index);
    if (index >= atomic_load(&o->due) + o->ahead + 1) atomic_store(&o->too_far, true);
    size_t *const item = pt_alloc(1, sizeof *item);
    *item = index * 3;
    for (volatile size_t i = 0; i < index * 7919 % 5000; i++) {
    }
    atomic_fetch_add(&o->alive, 1);
    *ret_item = item;
    return PT_OK;
}

static void drop(void *ctx, void *item)
{
    struct ordered *const o = ctx;
    atomic_fetch_sub(&o->alive, 1);
    free(item);
}

static pt_status commit(void *ctx, size_t index, void *item, pt_error *reterr)
{
    struct ordered *const o = ctx;
    assert_int_equal(index, o->committed);
    assert_int_equal(*(size_t *)item, index * 3);
    o->committed++;
    atomic_store(&o->due, index + 1);
    drop(ctx, item);
    if (index == o->fail_commit) return pt_error_set(reterr, PT_ERR_LIMIT, "commit %zu", index);
    return PT_OK;
}

static pt_status run_ordered(pt_pool *pool, struct ordered *o, size_t n, pt_error *reterr)
{
    const pt_ordered how = {
        .ctx = o, .produce = produce, .commit = commit, .drop = drop, .ahead = o->ahead};
    const pt_status status = pt_pool_ordered(pool, n, &how, reterr);
    assert_int_equal(atomic_load(&o->alive), 0);
    assert_false(atomic_load(&o->too_far));
    return status;
}

static void items_are_committed_in_order_and_not_too_far_ahead(void **state)
{
    EACH_POOL(pool)
    {
        const size_t aheads[] = {1, 2, 5, 100};
        for (size_t k = 0; k < 4; k++) {
            struct ordered o = {SIZE_MAX, SIZE_MAX, .ahead = aheads[k]};
            assert_int_equal(run_ordered(pool, &o, 500, NULL), PT_OK);
            assert_int_equal(o.committed, 500);
        }
    }
}

static void the_first_failure_in_order_wins_and_nothing_leaks(void **state)
{
    EACH_POOL(pool)
    {
        for (int round = 0; round < 20; round++) {
            pt_error error = PT_ERROR_INIT;
            struct ordered o = {.fail_produce = 100, .fail_commit = SIZE_MAX, .ahead = 9};
            assert_int_equal(run_ordered(pool, &o, 500, &error), PT_ERR_FORMAT);
            assert_string_equal(error.message, "produce 100");
            assert_int_equal(o.committed, 100);
            o = (struct ordered){.fail_produce = 51, .fail_commit = 50, .ahead = 9};
            assert_int_equal(run_ordered(pool, &o, 500, &error), PT_ERR_LIMIT);
            assert_string_equal(error.message, "commit 50");
            assert_int_equal(o.committed, 51);
        }
    }
}

static void no_pool_means_inline(void **state)
{
    struct squares s = {.out = pt_alloc(100, sizeof *s.out)};
    assert_int_equal(pt_pool_for(NULL, 100, 1, square_range, &s, NULL), PT_OK);
    assert_int_equal(s.out[9], 81);
    assert_int_equal(pt_pool_threads(NULL), 1);
    pt_pool_free(NULL);
    free(s.out);
    pt_pool *const pool = pt_pool_new(0);
    assert_true(pt_pool_threads(pool) >= 1);
    pt_pool_free(pool);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_item_is_done_once),
        cmocka_unit_test(the_lowest_failure_is_returned_whatever_the_threads),
        cmocka_unit_test(a_task_may_use_the_pool_it_runs_in),
        cmocka_unit_test(several_threads_may_share_a_pool),
        cmocka_unit_test(items_are_committed_in_order_and_not_too_far_ahead),
        cmocka_unit_test(the_first_failure_in_order_wins_and_nothing_leaks),
        cmocka_unit_test(no_pool_means_inline),
    };
    return cmocka_run_group_tests_name("pool", tests, NULL, NULL);
}
