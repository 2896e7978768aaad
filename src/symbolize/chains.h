/* chains.h: the functions at addresses of one image, found once: what is kept on disk answers
 * first (source/name_index.h), what it does not know is looked up in symbols and debug information
 * and kept for the next time.
 *
 *   addresses --- in memory? --- on disk? --- pt_object_resolve ---> chains
 *                                                  `--> written when the set is freed
 *
 * A chain is what is known of an address: its frames, the innermost inlined one first; none when
 * nothing names it. Only answers that debug information gave are kept on disk, since without it a
 * debug file may turn up some day, and symbol tables are quick to read; and only when no part of it
 * was missing (split units, what dwz shared).
 *
 * A set belongs to one thread at a time.
 */
#ifndef PT_SYMBOLIZE_CHAINS_H
#define PT_SYMBOLIZE_CHAINS_H

#include "base/pool.h"
#include "object/demangle.h"
#include "object/object.h"
#include "source/images.h"
#include "source/name_index.h"

typedef struct pt_chains pt_chains;

typedef struct pt_chains_options {
    pt_object_detail detail;
    pt_demangle_mode demangle;  /* for readable names */
    const pt_name_cache *cache; /* NULL: nothing is kept */
    pt_pool *pool;              /* for the work inside one image; may be NULL */
    bool keeps_clones;          /* pt_object_keep_clones; kept on disk apart */
} pt_chains_options;

typedef struct pt_chain_frame {
    uint32_t function; /* for pt_chains_function */
    uint32_t line, column;
} pt_chain_frame;

typedef struct pt_chain {
    const pt_chain_frame *frames; /* valid till the next pt_chains_resolve */
    uint32_t frame_count;
    pt_name_symbol symbol; /* that covers the address; zeros: none does */
} pt_chain;

/* Strings live as long as the set. */
typedef struct pt_chain_function {
    const char *linkage_name, *name, *file; /* as in pt_object_frame */
    uint32_t start_line;
} pt_chain_function;

/* Takes over *file in any case. search must live as long as the set; its diag hears of companions
 * that are passed over. Fails as pt_object_open does. */
pt_status pt_chains_open(pt_image_file *file, pt_source_search *search,
                         const pt_chains_options *options, pt_chains **ret_chains,
                         pt_error *reterr);
/* Writes what is new to the cache, if there is one. Accepts NULL. */
void pt_chains_free(pt_chains *chains);

const pt_elf *pt_chains_elf(const pt_chains *chains);
/* For what the set does not tell: symbols, facts. */
pt_object *pt_chains_object(pt_chains *chains);

/* Finds the chains of addresses as linked, which must ascend and be distinct. ret_rows gets a row
 * for pt_chains_at for each. */
void pt_chains_resolve(pt_chains *chains, const uint64_t *addrs, size_t count, uint32_t *ret_rows);
/* The same for addresses in any order, which may be there several times. */
void pt_chains_resolve_all(pt_chains *chains, const uint64_t *addrs, size_t count,
                           uint32_t *ret_rows);
pt_chain pt_chains_at(const pt_chains *chains, uint32_t row);

/* A row will be wanted soon: fetches what it takes into the cache, a step of PT_CHAINS_STEPS at a
 * time, each of which follows what the one before has fetched. Answers of many addresses lie all
 * over the memory. */
enum { PT_CHAINS_STEPS = 4 };
void pt_chains_expect(const pt_chains *chains, uint32_t row, unsigned step);

size_t pt_chains_function_count(const pt_chains *chains);
pt_chain_function pt_chains_function(const pt_chains *chains, uint32_t function);
/* The linker's name, or what stands for it where there is none. As long as the set. */
const char *pt_chains_system_name(const pt_chains *chains, uint32_t function);
/* The name to show, in the mode asked for; made once. As long as the set. */
const char *pt_chains_readable(pt_chains *chains, uint32_t function);

/* True when every answer so far came from the index on disk. Debug information was there when that
 * index was written, and no debug file was opened that pt_object_look would need. */
bool pt_chains_from_disk(const pt_chains *chains);

#endif
