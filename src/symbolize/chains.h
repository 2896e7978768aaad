/* chains.h: the chains of functions at addresses of one image. Each chain is computed once: the
 * disk cache (source/name_index.h) comes first; missing chains come from symbols and debug
 * information, and are cached for the next run.
 *
 *   addresses --- in memory? --- on disk? --- pt_object_resolve ---> chains
 *                                                  `--> written when the set is freed
 *
 * A chain is the frames of an address, the innermost inlined one first; empty without a name. Only
 * chains from debug information are cached on disk, and only if no part of it was missing (split
 * units, the supplement of dwz). Without debug information a debug file may appear later, and
 * symbol tables are quick to read.
 *
 * One thread at a time may use a set.
 */
#pragma once

#include "base/pool.h"
#include "base/progress.h"
#include "object/demangle.h"
#include "object/object.h"
#include "source/images.h"
#include "source/name_index.h"

typedef struct pt_chains pt_chains;

typedef struct pt_chains_options {
    pt_object_detail detail;
    pt_demangle_mode demangle;  /* of readable names */
    const pt_name_cache *cache; /* NULL: no disk cache */
    pt_pool *pool;              /* for the work inside one image; may be NULL */
    pt_progress *progress;      /* gets the resolved addresses; may be NULL */
    bool keeps_clones;          /* pt_object_keep_clones; has separate cache files */
} pt_chains_options;

typedef struct pt_chain_frame {
    uint32_t function; /* row for pt_chains_function */
    uint32_t line, column;
} pt_chain_frame;

typedef struct pt_chain {
    const pt_chain_frame *frames; /* valid until the next pt_chains_resolve */
    uint32_t frame_count;
    pt_name_symbol symbol; /* the symbol that covers the address; zeros: none */
} pt_chain;

/* A function; strings live as long as the set. */
typedef struct pt_chain_function {
    const char *linkage_name, *name, *file; /* as in pt_object_frame */
    uint32_t start_line;
} pt_chain_function;

/* Opens the image in *file, which it takes over in any case. search must outlive the set; its diag
 * receives rejected companions. Fails like pt_object_open. */
pt_status pt_chains_open(pt_image_file *file, pt_source_search *search,
                         const pt_chains_options *options, pt_chains **ret_chains,
                         pt_error *reterr);
/* Writes new chains to the cache, if there is one, and frees the set. Accepts NULL. */
void pt_chains_free(pt_chains *chains);

/* The image, which the set owns. */
const pt_elf *pt_chains_elf(const pt_chains *chains);
/* The object, for queries that the set does not offer: symbols, facts. */
pt_object *pt_chains_object(pt_chains *chains);

/* Finds the chains of linked addresses, ascending and distinct. ret_rows[i]: row for pt_chains_at.
 */
void pt_chains_resolve(pt_chains *chains, const uint64_t *addrs, size_t count, uint32_t *ret_rows);
/* The same for addresses in any order, with repetitions. */
void pt_chains_resolve_all(pt_chains *chains, const uint64_t *addrs, size_t count,
                           uint32_t *ret_rows);
pt_chain pt_chains_at(const pt_chains *chains, uint32_t row);

/* Prefetches a row that will be used soon: call it for each step below PT_CHAINS_STEPS, some time
 * apart; each step follows the pointers that the step before has fetched. The chains of many
 * addresses are scattered in memory. */
enum { PT_CHAINS_STEPS = 4 };
void pt_chains_expect(const pt_chains *chains, uint32_t row, unsigned step);

/* The number of functions in the chains that were resolved so far. */
size_t pt_chains_function_count(const pt_chains *chains);
/* The function of a frame. */
pt_chain_function pt_chains_function(const pt_chains *chains, uint32_t function);
/* The linker's name of a function, or a substitute. Lives as long as the set. */
const char *pt_chains_system_name(const pt_chains *chains, uint32_t function);
/* The name to show, in the mode of the options; made once. Lives as long as the set. */
const char *pt_chains_readable(pt_chains *chains, uint32_t function);

/* True when all chains so far came from the disk cache. The cache was written with debug
 * information, but no debug file that pt_object_look would need has been opened now. */
bool pt_chains_from_disk(const pt_chains *chains);
