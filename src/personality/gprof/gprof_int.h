/* gprof_int.h: declarations that the files that compute gprof's reports share. */
#pragma once

#include "personality/gprof/gprof.h"

/* sort.c: a stable sort by a number, the least first. */
typedef uint64_t pt_gprof_key(const void *context, uint32_t id);
void pt_gprof_sort_by(uint32_t *ids, size_t count, pt_gprof_key *key, const void *context);
/* All symbols, ordered by their linked names. The caller frees the array. */
uint32_t *pt_gprof_by_name(const pt_gprof *g);
/* A key for pt_gprof_sort_by that puts larger values first. */
uint64_t pt_gprof_falling(double value);

/* symbols.c: the number of a source file in g->file; adds it if it is new. */
uint32_t pt_gprof_file(pt_gprof *g, const char *name);

/* lines.c: finds the places of addresses in the source. addrs ascend. out[i].name is NULL if file,
 * line or function of the address is unknown. */
typedef struct {
    const char *name, *file;
    uint32_t line;
} pt_gprof_place;
void pt_gprof_places(pt_gprof *g, const uint64_t *addrs, size_t count, pt_gprof_place *out);
/* Appends a symbol for each run of addresses in .text that have one source line. */
void pt_gprof_add_lines(pt_gprof *g);

/* specs.c: marks the symbols that specs choose. */
void pt_gprof_match_specs(pt_gprof *g);
/* May an arc be counted, by -k and the specs of -q and -Q? */
bool pt_gprof_wants_arc(const pt_gprof *g, uint32_t from, uint32_t to);

/* The first symbol with that linked name, or PT_NONE. */
uint32_t pt_gprof_named(const pt_gprof *g, const char *name);

/* ticks.c: splits bins among symbols. */
void pt_gprof_assign_ticks(pt_gprof *g);
/* Adds ticks, which g->ticks contains already, to the symbol. If the flat profile leaves the symbol
 * out, subtracts the ticks from g->ticks instead. */
void pt_gprof_give(pt_gprof *g, pt_gprof_symbol *symbol, double ticks);

/* stacks.c: the times of all symbols and arcs from stacks, then the times of cycles. */
void pt_gprof_count_stacks(pt_gprof *g);
void pt_gprof_count_cycles(pt_gprof *g);

/* arcs.c */
void pt_gprof_add_arc(pt_gprof *g, uint32_t from, uint32_t to, uint64_t calls);
uint32_t pt_gprof_find_arc(const pt_gprof *g, uint32_t from, uint32_t to); /* or PT_NONE */
/* The function that is called by a call to the symbol's address: for a line, its function; for a
 * label, the function before it; PT_NONE if there is none. */
uint32_t pt_gprof_function_of(const pt_gprof *g, uint32_t symbol);
/* calls.c: adds an arc with 0 calls for each call instruction with a fixed target. */
void pt_gprof_add_static_calls(pt_gprof *g);
/* order.c: symbols and cycles in the order of their numbers: by total time, cycles before
 * functions, names without underscore before others, calls, name. The caller frees the array. */
uint32_t *pt_gprof_graph_order(const pt_gprof *g);
/* cycles.c: sets order and cycle of each symbol, fills g->member, and appends the cycles. */
void pt_gprof_find_cycles(pt_gprof *g);

/* The bytes of the image's .text; false when it has none. */
typedef struct {
    uint64_t addr, size_bytes;
    const uint8_t *bytes; /* NULL when they are not in the file */
} pt_gprof_text;
bool pt_gprof_find_text(const pt_gprof *g, pt_gprof_text *ret);
