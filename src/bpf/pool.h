/* pool.h: the memory that the program in the kernel reads tables and mappings from, and we write.
 *
 *   chunk 0 | run | run | run ...   chunk 1 | run | ...     a run lies in one chunk, unless it is
 *                                                           larger than one
 *
 * Runs of tables stay. Those of mappings are given back, and used again once no program that had
 * begun before can still be reading them.
 */
#ifndef PT_BPF_POOL_H
#define PT_BPF_POOL_H

#include <stdbool.h>

#include "base/grow.h"
#include "base/index.h"
#include "bpf/layout.h"

/* Makes the chunk of that number: PT_BPF_CHUNK_BYTES of zeros. The pool writes to the chunk and
 * never frees it. NULL: it cannot be made. */
typedef void *(*pt_bpf_make_chunk)(void *arg, uint32_t number);

typedef struct pt_bpf_run {
    uint32_t word;
    uint32_t size_class;
    uint64_t free_ns; /* from then on it may be used again */
} pt_bpf_run;

typedef struct pt_bpf_pooled_table {
    const uint32_t *identity; /* its rows, where user space has them */
    uint32_t pages, rows, rules;
    bool is_there;
} pt_bpf_pooled_table;

typedef struct pt_bpf_pool {
    pt_bpf_make_chunk make;
    void *arg;
    uint8_t *chunks[PT_BPF_CHUNKS_MAX];
    uint32_t count; /* of chunks */
    uint32_t used;  /* words of the last */
    struct {
        pt_bpf_run *items;
        size_t count, cap;
    } freed; /* of mappings */
    struct {
        pt_bpf_pooled_table *items;
        size_t count, cap;
    } table;
    pt_index table_of; /* identity -> row */
} pt_bpf_pool;

void pt_bpf_pool_init(pt_bpf_pool *pool, pt_bpf_make_chunk make, void *arg);
void pt_bpf_pool_done(pt_bpf_pool *pool);

/* The modules as a run of pt_bpf_mapping, and tables that are not there yet; a table's bytes stay
 * where they are in user space, too. now_ns is monotonic; *ret_count: words of the run. False: the
 * pool is full. */
bool pt_bpf_pool_put(pt_bpf_pool *pool, const pt_unwind_modules *modules, uint64_t now_ns,
                     uint32_t *ret_word, uint32_t *ret_count);
/* The run is not asked for from now on. */
void pt_bpf_pool_give_back(pt_bpf_pool *pool, uint32_t word, uint32_t count, uint64_t now_ns);

#endif
