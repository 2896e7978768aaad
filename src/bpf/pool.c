/* pool.c: see pool.h. */
#include "bpf/pool.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"

enum { RULE_WORDS = sizeof(pt_unwind_rule) / 4, MAPPING_WORDS = sizeof(pt_bpf_mapping) / 4 };

/* The time until a freed run is reused. A walk takes microseconds, but the machine may be stopped
 * during it. */
enum { READING_NS = 200000000 };

enum { ROOM_MIN = 16 }; /* words */

void pt_bpf_pool_init(pt_bpf_pool *pool, pt_bpf_make_chunk make, void *arg)
{
    *pool = (pt_bpf_pool){.make = make, .arg = arg};
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

/* Allocates count words after the used words; each run begins at an even word. If this makes a
 * chunk and then fails, the next run uses that chunk. */
static bool take_room(pt_bpf_pool *pool, uint32_t count, uint32_t *ret_word)
{
    uint32_t start = pool->used + pool->used % 2;
    if (count > PT_BPF_CHUNK_WORDS - start % PT_BPF_CHUNK_WORDS)
        start = (start + PT_BPF_CHUNK_WORDS - 1) / PT_BPF_CHUNK_WORDS * PT_BPF_CHUNK_WORDS;
    const uint64_t limit = (uint64_t)start + count;
    if (limit > (uint64_t)PT_BPF_CHUNKS_MAX << PT_BPF_CHUNK_BITS) return false;
    while ((uint64_t)pool->count << PT_BPF_CHUNK_BITS < limit)
        if (!add_chunk(pool)) return false;
    *ret_word = start;
    pool->used = (uint32_t)limit;
    return true;
}

/* The size of the room for a run of count words: rounded up in its third-highest bit, so that freed
 * runs fit other runs, and at most a quarter of the room is lost. */
static uint32_t room_of(uint32_t count)
{
    uint32_t step = ROOM_MIN;
    while (count / 4 >= 2 * step)
        step *= 2;
    return (count + step - 1) / step * step;
}

static bool take_freed(pt_bpf_pool *pool, uint32_t room, uint64_t now_ns, uint32_t *ret_word)
{
    size_t i = 0;
    while (i < pool->freed.count &&
           (pool->freed.items[i].room != room || now_ns < pool->freed.items[i].free_ns))
        i++;
    if (i == pool->freed.count) return false;
    *ret_word = pool->freed.items[i].word;
    pool->freed.items[i] = pool->freed.items[--pool->freed.count];
    return true;
}

static bool add_run(pt_bpf_pool *pool, const void *words, uint32_t count, uint64_t now_ns,
                    uint32_t *ret_word)
{
    const uint32_t room = room_of(count);
    if (!take_freed(pool, room, now_ns, ret_word) && !take_room(pool, room, ret_word)) return false;
    copy_in(pool, *ret_word, words, count);
    return true;
}

void pt_bpf_pool_give_back(pt_bpf_pool *pool, uint32_t word, uint32_t count, uint64_t now_ns)
{
    const pt_bpf_run run = {.word = word, .room = room_of(count), .free_ns = now_ns + READING_NS};
    PT_PUSH(pool->freed, run);
}

/* ---- tables ---- */

static uint64_t hash_of(const uint32_t *identity)
{
    return pt_hash_mix((uint64_t)(uintptr_t)identity, 5);
}

static uint32_t find_table(const pt_bpf_pool *pool, const pt_unwind_table *table)
{
    return PT_INDEX_FIND(&pool->table_of, hash_of(table->rows), i,
                         pool->table.items[i].identity == table->rows);
}

/* A part of a table, and its place in the pool. */
typedef struct {
    const void *words;
    uint32_t count, *place;
} table_run;

enum { TABLE_RUNS = 3 };

static void list_runs(const pt_unwind_table *table, pt_bpf_pooled_table *pooled,
                      table_run runs[TABLE_RUNS])
{
    runs[0] = (table_run){table->pages, table->page_count + 1, &pooled->pages};
    runs[1] = (table_run){table->rules, table->rule_count * RULE_WORDS, &pooled->rules};
    runs[2] = (table_run){table->rows, table->row_count, &pooled->rows};
}

static void give_back_runs(pt_bpf_pool *pool, const table_run *runs, size_t count, uint64_t now_ns)
{
    for (size_t i = 0; i < count; i++)
        pt_bpf_pool_give_back(pool, *runs[i].place, runs[i].count, now_ns);
}

/* Adds all parts of a table, or none. */
static void add_table(pt_bpf_pool *pool, const pt_unwind_table *table, uint64_t now_ns,
                      pt_bpf_pooled_table *pooled)
{
    size_t i = 0;
    table_run runs[TABLE_RUNS];
    list_runs(table, pooled, runs);
    while (i < TABLE_RUNS && add_run(pool, runs[i].words, runs[i].count, now_ns, runs[i].place))
        i++;
    pooled->is_there = i == TABLE_RUNS;
    if (!pooled->is_there) give_back_runs(pool, runs, i, now_ns);
}

/* Makes a row for a table that the pool does not have. */
static uint32_t take_table(pt_bpf_pool *pool, const pt_unwind_table *table)
{
    const pt_bpf_pooled_table added = {.identity = table->rows};
    if (pool->free_table == 0)
        return PT_INDEX_PUSH(&pool->table_of, hash_of(table->rows), pool->table, added);
    const uint32_t row = pool->free_table - 1;
    pool->free_table = pool->table.items[row].before;
    pool->table.items[row] = added;
    pt_index_add(&pool->table_of, hash_of(table->rows), row);
    return row;
}

/* A table that found no room before may find it now. */
static const pt_bpf_pooled_table *table_in_pool(pt_bpf_pool *pool, const pt_unwind_table *table,
                                                uint64_t now_ns)
{
    const uint32_t known = find_table(pool, table);
    const uint32_t row = known != PT_NONE ? known : take_table(pool, table);
    pt_bpf_pooled_table *const pooled = &pool->table.items[row];
    if (!pooled->is_there) add_table(pool, table, now_ns, pooled);
    pool->left_out += known == PT_NONE && !pooled->is_there;
    return pooled;
}

static void rebuild_index(pt_bpf_pool *pool)
{
    pt_index_done(&pool->table_of);
    for (size_t i = 0; i < pool->table.count; i++)
        if (pool->table.items[i].identity != NULL)
            pt_index_add(&pool->table_of, hash_of(pool->table.items[i].identity), (uint32_t)i);
    pool->forgotten = 0;
}

void pt_bpf_pool_forget(pt_bpf_pool *pool, const pt_unwind_table *table, uint64_t now_ns)
{
    enum { FORGOTTEN_MIN = 64 };
    table_run runs[TABLE_RUNS];
    const uint32_t row = find_table(pool, table);
    if (row == PT_NONE) return;
    pt_bpf_pooled_table *const pooled = &pool->table.items[row];
    list_runs(table, pooled, runs);
    if (pooled->is_there) give_back_runs(pool, runs, TABLE_RUNS, now_ns);
    *pooled = (pt_bpf_pooled_table){.before = pool->free_table};
    pool->free_table = row + 1;
    if (++pool->forgotten > FORGOTTEN_MIN && pool->forgotten > pool->table_of.count / 2)
        rebuild_index(pool);
}

/* A mapping's table, without the addresses of the mapping. */
static pt_bpf_mapping mapped_table(pt_bpf_pool *pool, const pt_unwind_table *table, uint64_t bias,
                                   uint64_t now_ns)
{
    const pt_bpf_pooled_table *const pooled = table_in_pool(pool, table, now_ns);
    return (pt_bpf_mapping){
        .kind = pooled->is_there ? PT_BPF_TABLE : PT_BPF_LATER,
        .base = bias + table->base_addr,
        .pages = pooled->pages,
        .page_count = table->page_count,
        .rows = pooled->rows,
        .row_count = table->row_count,
        .rules = pooled->rules,
        .rule_count = table->rule_count,
    };
}

static pt_bpf_mapping mapping_of(pt_bpf_pool *pool, const pt_unwind_module *module, uint64_t now_ns)
{
    pt_bpf_mapping m = {.kind = module->has_runtime ? PT_BPF_LATER : PT_BPF_NO_TABLE};
    if (module->table != NULL) m = mapped_table(pool, module->table, module->bias, now_ns);
    m.start = module->start;
    m.limit = module->limit;
    return m;
}

/* Puts the tables of the base register behind the mappings of the process. If the pool has no room
 * for such a table, user space walks the stacks that need it. */
static uint32_t add_base_tables(pt_bpf_pool *pool, const pt_unwind_modules *modules,
                                uint64_t now_ns, pt_bpf_mapping *mappings)
{
    uint32_t count = modules->count;
    for (uint32_t i = 0; i < modules->count; i++) {
        const pt_unwind_module *const module = &modules->modules[i];
        if (module->base_table == NULL) continue;
        mappings[count] = mapped_table(pool, module->base_table, module->bias, now_ns);
        if (mappings[count].kind == PT_BPF_TABLE) mappings[i].base_table = count++;
    }
    return count;
}

bool pt_bpf_pool_put(pt_bpf_pool *pool, const pt_unwind_modules *modules, uint64_t now_ns,
                     uint32_t *ret_word, uint32_t *ret_count)
{
    if (modules->count > PT_BPF_MAPPINGS_MAX) return false;
    PT_FREE pt_bpf_mapping *mappings = pt_alloc(2 * (size_t)modules->count + 1, sizeof *mappings);
    for (uint32_t i = 0; i < modules->count; i++)
        mappings[i] = mapping_of(pool, &modules->modules[i], now_ns);
    *ret_count = add_base_tables(pool, modules, now_ns, mappings) * MAPPING_WORDS;
    *ret_word = 0;
    if (*ret_count == 0) return true;
    return room_of(*ret_count) <= PT_BPF_CHUNK_WORDS &&
           add_run(pool, mappings, *ret_count, now_ns, ret_word);
}
