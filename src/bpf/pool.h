/* pool.h: memory for tables and mappings: user space writes it, the program in the kernel reads it.
 *
 *   chunk 0 | run | run | run ...   chunk 1 | run | ...     a run lies in one chunk, unless it is
 *                                                           larger than a chunk
 *
 * Runs of mappings, and of tables that no process has mapped, are freed, and reused once no program
 * that started before can still be reading them.
 */
#pragma once

#include <stdbool.h>

#include "base/grow.h"
#include "base/index.h"
#include "bpf/layout.h"

/* Makes chunk `number`: PT_BPF_CHUNK_BYTES of zeros. The pool writes to it and never frees it.
 * NULL: failed. */
typedef void *(*pt_bpf_make_chunk)(void *arg, uint32_t number);

/* A freed run. */
typedef struct pt_bpf_run {
    uint32_t word;
    uint32_t room;    /* words */
    uint64_t free_ns; /* earliest time of reuse */
} pt_bpf_run;

/* A table in the pool. */
typedef struct pt_bpf_pooled_table {
    const uint32_t *identity; /* address of its rows in user space; NULL: freed */
    uint32_t pages, rows, rules;
    uint32_t before; /* of a freed one: the next freed one + 1; 0: none */
    bool is_there;   /* it is in the pool; else there was no room */
} pt_bpf_pooled_table;

typedef struct pt_bpf_pool {
    pt_bpf_make_chunk make;
    void *arg;
    uint8_t *chunks[PT_BPF_CHUNKS_MAX];
    uint32_t count; /* number of chunks */
    uint32_t used;  /* words used, from the first chunk on */
    struct {
        pt_bpf_run *items;
        size_t count, cap;
    } freed;
    struct {
        pt_bpf_pooled_table *items;
        size_t count, cap;
    } table;
    pt_index table_of;   /* identity -> row */
    uint32_t free_table; /* the first freed row of table + 1; 0: none */
    uint32_t forgotten;  /* entries that became void since table_of was built */
    uint32_t left_out;   /* number of tables that found no room */
} pt_bpf_pool;

void pt_bpf_pool_init(pt_bpf_pool *pool, pt_bpf_make_chunk make, void *arg);
void pt_bpf_pool_done(pt_bpf_pool *pool);

/* Writes the modules as a run of pt_bpf_mapping, then the mappings of their base tables, and tables
 * that the pool lacks. Tables must also stay in place in user space until pt_bpf_pool_forget.
 * now_ns: monotonic. *ret_word, *ret_count: place and number of words of the run. False: the pool
 * is full. */
bool pt_bpf_pool_put(pt_bpf_pool *pool, const pt_unwind_modules *modules, uint64_t now_ns,
                     uint32_t *ret_word, uint32_t *ret_count);
/* Frees a run: no new walk will read it. */
void pt_bpf_pool_give_back(pt_bpf_pool *pool, uint32_t word, uint32_t count, uint64_t now_ns);
/* Frees the runs of a table: no mappings that are in use refer to it. */
void pt_bpf_pool_forget(pt_bpf_pool *pool, const pt_unwind_table *table, uint64_t now_ns);
