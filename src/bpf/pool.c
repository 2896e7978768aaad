/* pool.c: see pool.h. */
#include "bpf/pool.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"

enum { RULE_WORDS = sizeof(pt_unwind_rule) / 4, MAPPING_WORDS = sizeof(pt_bpf_mapping) / 4 };

/* The time until a freed run is reused. A walk takes microseconds, but the machine may stop
 * meanwhile. */
enum { READING_NS = 200000000 };

void pt_bpf_pool_init(pt_bpf_pool *pool, pt_bpf_make_chunk make, void *arg)
{
    *pool = (pt_bpf_pool){.make = make, .arg = arg, .used = PT_BPF_CHUNK_WORDS};
    pt_index_init(&pool->table_of);
}

void pt_bpf_pool_done(pt_bpf_pool *pool)
{
    pt_index_done(&pool->table_of);
    free(pool->table.items);
    free(pool->freed.items);
    *pool = (pt_bpf_pool){0};
}

static bool add_chunk(pt_bpf_pool *pool)
{
    if (pool->count == PT_BPF_CHUNKS_MAX) return false;
    pool->chunks[pool->count] = pool->make(pool->arg, pool->count);
    if (pool->chunks[pool->count] == NULL) return false;
    pool->count++;
    pool->used = 0;
    return true;
}

/* Chunks are separate memory, but their word numbers are consecutive. */
static void copy_in(pt_bpf_pool *pool, uint32_t word, const void *words, uint32_t count)
{
    const uint8_t *from = words;
    while (count > 0) {
        const uint32_t at = word % PT_BPF_CHUNK_WORDS;
        const uint32_t room = PT_BPF_CHUNK_WORDS - at, n = count < room ? count : room;
        memcpy(pool->chunks[word >> PT_BPF_CHUNK_BITS] + (size_t)at * 4, from, (size_t)n * 4);
        from += (size_t)n * 4;
        word += n;
        count -= n;
    }
}

/* Allocates count words after the used ones; each run begins at an even word. */
static bool take_room(pt_bpf_pool *pool, uint32_t count, uint32_t *ret_word)
{
    pool->used += pool->used % 2;
    if (count > PT_BPF_CHUNK_WORDS - pool->used && !add_chunk(pool)) return false;
    *ret_word = ((pool->count - 1) << PT_BPF_CHUNK_BITS) + pool->used;
    while (count > PT_BPF_CHUNK_WORDS - pool->used) {
        count -= PT_BPF_CHUNK_WORDS - pool->used;
        if (!add_chunk(pool)) return false;
    }
    pool->used += count;
    return true;
}

static bool add_run(pt_bpf_pool *pool, const void *words, uint32_t count, uint32_t *ret_word)
{
    if (!take_room(pool, count, ret_word)) return false;
    copy_in(pool, *ret_word, words, count);
    return true;
}

/* The size class of a run of mappings: a power of two. */
static uint32_t class_of(uint32_t count)
{
    uint32_t size_class = 4;
    while ((UINT32_C(1) << size_class) < count)
        size_class++;
    return size_class;
}

static bool borrow_run(pt_bpf_pool *pool, const void *words, uint32_t count, uint64_t now_ns,
                       uint32_t *ret_word)
{
    const uint32_t size_class = class_of(count);
    if (size_class > PT_BPF_CHUNK_BITS) return false;
    size_t i = 0;
    while (i < pool->freed.count &&
           (pool->freed.items[i].size_class != size_class || now_ns < pool->freed.items[i].free_ns))
        i++;
    if (i < pool->freed.count) {
        *ret_word = pool->freed.items[i].word;
        pool->freed.items[i] = pool->freed.items[--pool->freed.count];
    } else if (!take_room(pool, UINT32_C(1) << size_class, ret_word)) {
        return false;
    }
    copy_in(pool, *ret_word, words, count);
    return true;
}

void pt_bpf_pool_give_back(pt_bpf_pool *pool, uint32_t word, uint32_t count, uint64_t now_ns)
{
    const pt_bpf_run run = {
        .word = word, .size_class = class_of(count), .free_ns = now_ns + READING_NS};
    PT_PUSH(pool->freed, run);
}

/* ---- tables ---- */

static const pt_bpf_pooled_table *table_in_pool(pt_bpf_pool *pool, const pt_unwind_table *table)
{
    const uint64_t hash = pt_hash_mix((uint64_t)(uintptr_t)table->rows, 5);
    const uint32_t known =
        PT_INDEX_FIND(&pool->table_of, hash, i, pool->table.items[i].identity == table->rows);
    if (known != PT_NONE) return &pool->table.items[known];
    pt_bpf_pooled_table added = {.identity = table->rows};
    added.is_there = add_run(pool, table->pages, table->page_count + 1, &added.pages) &&
                     add_run(pool, table->rules, table->rule_count * RULE_WORDS, &added.rules) &&
                     add_run(pool, table->rows, table->row_count, &added.rows);
    pool->left_out += !added.is_there;
    const uint32_t row = PT_INDEX_PUSH(&pool->table_of, hash, pool->table, added);
    return &pool->table.items[row];
}

static pt_bpf_mapping mapping_of(pt_bpf_pool *pool, const pt_unwind_module *module)
{
    pt_bpf_mapping m = {.start = module->start, .limit = module->limit, .kind = PT_BPF_NO_TABLE};
    const pt_unwind_table *const table = module->table;
    if (module->has_runtime) m.kind = PT_BPF_LATER;
    if (table == NULL) return m;
    const pt_bpf_pooled_table *const pooled = table_in_pool(pool, table);
    m.kind = pooled->is_there ? PT_BPF_TABLE : PT_BPF_LATER;
    m.base = module->bias + table->base_addr;
    m.pages = pooled->pages;
    m.page_count = table->page_count;
    m.rows = pooled->rows;
    m.row_count = table->row_count;
    m.rules = pooled->rules;
    m.rule_count = table->rule_count;
    return m;
}

bool pt_bpf_pool_put(pt_bpf_pool *pool, const pt_unwind_modules *modules, uint64_t now_ns,
                     uint32_t *ret_word, uint32_t *ret_count)
{
    if (modules->count > PT_BPF_MAPPINGS_MAX) return false;
    PT_FREE pt_bpf_mapping *mappings = pt_alloc(modules->count + 1, sizeof *mappings);
    for (uint32_t i = 0; i < modules->count; i++)
        mappings[i] = mapping_of(pool, &modules->modules[i]);
    *ret_count = modules->count * MAPPING_WORDS;
    *ret_word = 0;
    if (*ret_count == 0) return true;
    return borrow_run(pool, mappings, *ret_count, now_ns, ret_word);
}
