/* The pool of the BPF program's tables and mappings: room that is free is used again. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>

#include "bpf/pool.h"

enum { SECOND_NS = 1000000000 };

static pt_bpf_pool pool;

static void *make_chunk(void *arg, uint32_t number)
{
    const uint32_t *const limit = arg; /* NULL: none */
    return limit == NULL || number < *limit ? calloc(1, PT_BPF_CHUNK_BYTES) : NULL;
}

static void free_pool(void)
{
    for (uint32_t i = 0; i < pool.count; i++)
        free(pool.chunks[i]);
    pt_bpf_pool_done(&pool);
}

static const void *at_word(uint32_t word)
{
    return pool.chunks[word / PT_BPF_CHUNK_WORDS] + (size_t)(word % PT_BPF_CHUNK_WORDS) * 4;
}

static void mappings_that_were_given_back_are_used_again_when_nobody_reads_them(void **state)
{
    (void)state;
    const pt_unwind_module module = {0x1000, 0x2000, 0, NULL, NULL, false};
    const pt_unwind_modules modules = {&module, 1, 7, NULL};
    uint32_t first, second, third, words;
    pt_bpf_pool_init(&pool, make_chunk, NULL);
    assert_true(pt_bpf_pool_put(&pool, &modules, 0, &first, &words));
    pt_bpf_pool_give_back(&pool, first, words, SECOND_NS);
    assert_true(pt_bpf_pool_put(&pool, &modules, SECOND_NS, &second, &words));
    assert_int_not_equal(second, first);
    assert_true(pt_bpf_pool_put(&pool, &modules, 2 * (uint64_t)SECOND_NS, &third, &words));
    assert_int_equal(third, first);
    free_pool();
}

/* Many tables, one after the other, take the room of one. */
static void room_of_a_forgotten_table_is_used_again_when_nobody_reads_it(void **state)
{
    (void)state;
    enum { ROWS = 3000, TABLES = 400 };
    static uint32_t rows[TABLES][ROWS];
    const uint32_t pages[] = {0, ROWS};
    const pt_unwind_rule rules[4] = {{.cfa_kind = PT_CFA_NONE}};
    uint32_t place, words, places[2] = {0};
    pt_bpf_pool_init(&pool, make_chunk, NULL);
    for (uint32_t t = 0; t < TABLES; t++) {
        const uint64_t now_ns = (uint64_t)t * SECOND_NS;
        for (uint32_t i = 0; i < ROWS; i++)
            rows[t][i] = i | t << 16;
        const pt_unwind_table table = {.pages = pages,
                                       .page_count = 1,
                                       .rows = rows[t],
                                       .row_count = ROWS,
                                       .rules = rules,
                                       .rule_count = 4};
        const pt_unwind_module module = {.start = 0x1000, .limit = 0x2000, .table = &table};
        const pt_unwind_modules modules = {&module, 1, 7, NULL};
        assert_true(pt_bpf_pool_put(&pool, &modules, now_ns, &place, &words));
        const pt_bpf_mapping *const mapping = at_word(place);
        assert_int_equal(mapping->kind, PT_BPF_TABLE);
        assert_memory_equal(at_word(mapping->rows), rows[t], sizeof rows[t]);
        if (t < 2) places[t] = mapping->rows;
        if (t == 1) assert_int_not_equal(places[1], places[0]); /* both are there at once */
        pt_bpf_pool_give_back(&pool, place, words, now_ns);
        /* The first one stays. */
        if (t > 0) pt_bpf_pool_forget(&pool, &table, now_ns);
    }
    assert_int_equal(pool.count, 1);
    assert_int_equal(pool.table.count, 2);
    assert_true(pool.table_of.count < TABLES / 2);
    const pt_unwind_table first = {.rows = rows[0]};
    const pt_unwind_module module = {.start = 0x1000, .limit = 0x2000, .table = &first};
    const pt_unwind_modules modules = {&module, 1, 7, NULL};
    assert_true(pt_bpf_pool_put(&pool, &modules, 0, &place, &words));
    const pt_bpf_mapping *const mapping = at_word(place);
    assert_int_equal(mapping->rows, places[0]);
    assert_memory_equal(at_word(mapping->rows), rows[0], sizeof rows[0]);
    free_pool();
}

/* A table whose rows found no room leaves the room of its other parts, and gets room later. */
static void a_table_without_room_takes_none_and_is_tried_again(void **state)
{
    (void)state;
    enum { RULES = 3000, ROWS = 3 * PT_BPF_CHUNK_WORDS / 2 };
    static uint32_t rows[ROWS] = {[ROWS - 1] = 7};
    static const pt_unwind_rule rules[RULES];
    const uint32_t pages[] = {0, ROWS};
    const pt_unwind_table table = {.pages = pages,
                                   .page_count = 1,
                                   .rows = rows,
                                   .row_count = ROWS,
                                   .rules = rules,
                                   .rule_count = RULES};
    const pt_unwind_module module = {.start = 0x1000, .limit = 0x2000, .table = &table};
    const pt_unwind_modules modules = {&module, 1, 7, NULL};
    uint32_t place, words, used[4], limit = 2;
    pt_bpf_pool_init(&pool, make_chunk, &limit);
    for (uint32_t i = 0; i < 4; i++) {
        const uint64_t now_ns = (uint64_t)i * SECOND_NS;
        if (i == 3) limit = 3;
        assert_true(pt_bpf_pool_put(&pool, &modules, now_ns, &place, &words));
        const pt_bpf_mapping *const mapping = at_word(place);
        assert_int_equal(mapping->kind, i < 3 ? PT_BPF_LATER : PT_BPF_TABLE);
        pt_bpf_pool_give_back(&pool, place, words, now_ns);
        used[i] = pool.used;
    }
    assert_int_equal(used[1], used[0]);
    assert_int_equal(used[2], used[0]);
    assert_int_equal(pool.count, 3);
    assert_int_equal(pool.left_out, 1);
    free_pool();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mappings_that_were_given_back_are_used_again_when_nobody_reads_them),
        cmocka_unit_test(room_of_a_forgotten_table_is_used_again_when_nobody_reads_it),
        cmocka_unit_test(a_table_without_room_takes_none_and_is_tried_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
