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
#include "bpf/layout.h"

enum { PT_BPF_RUN_CLASSES = 24 };

/* Makes chunk number; NULL: there is no memory. It is PT_BPF_CHUNK_BYTES of zeros, which the pool
 * writes to and never frees. */
typedef void *(*pt_bpf_make_chunk)(void *arg, uint32_t number);

typedef struct pt_bpf_run {
    uint32_t word;
    uint32_t size_class;
    uint64_t free_ns; /* from then on it may be used again */
} pt_bpf_run;

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
} pt_bpf_pool;

void pt_bpf_pool_init(pt_bpf_pool *pool, pt_bpf_make_chunk make, void *arg);
void pt_bpf_pool_done(pt_bpf_pool *pool);

/* Copies so many words; *ret_word is their place. False: the pool is full. */
bool pt_bpf_pool_add(pt_bpf_pool *pool, const void *words, uint32_t count, uint32_t *ret_word);
/* The same for what will be given back: count words, at now_ns (monotonic). */
bool pt_bpf_pool_borrow(pt_bpf_pool *pool, const void *words, uint32_t count, uint64_t now_ns,
                        uint32_t *ret_word);
void pt_bpf_pool_give_back(pt_bpf_pool *pool, uint32_t word, uint32_t count, uint64_t now_ns);

#endif
