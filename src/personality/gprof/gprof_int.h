/* gprof_int.h: what the files that compute gprof's reports share. */
#pragma once

#include "personality/gprof/gprof.h"

/* sort.c: a stable sort by a number, the least first. */
typedef uint64_t pt_gprof_key(const void *context, uint32_t id);
void pt_gprof_sort_by(uint32_t *ids, size_t count, pt_gprof_key *key, const void *context);
/* All symbols by their names as linked. Free it. */
uint32_t *pt_gprof_by_name(const pt_gprof *g);
/* A key that puts larger values first. */
uint64_t pt_gprof_falling(double value);

/* symbols.c */
uint32_t pt_gprof_file(pt_gprof *g, const char *name);

/* lines.c: where addresses lie in the source. addrs ascend; out[i].name is NULL where debug
 * information does not know all of file, line and function. */
typedef struct {
    const char *name, *file;
    uint32_t line;
} pt_gprof_place;
void pt_gprof_places(pt_gprof *g, const uint64_t *addrs, size_t count, pt_gprof_place *out);
/* Appends a symbol for each stretch of one line in .text. */
void pt_gprof_add_lines(pt_gprof *g);

/* specs.c: marks the symbols that specs choose. */
void pt_gprof_match_specs(pt_gprof *g);
/* May an arc be counted, by -k and the specs of -q and -Q? */
bool pt_gprof_wants_arc(const pt_gprof *g, uint32_t from, uint32_t to);

/* The first symbol of that name as linked, or PT_NONE. */
uint32_t pt_gprof_named(const pt_gprof *g, const char *name);

/* ticks.c: splits bins among symbols. */
void pt_gprof_assign_ticks(pt_gprof *g);
/* Ticks, which the sum holds already, to the symbol, unless the flat profile leaves it out. */
void pt_gprof_give(pt_gprof *g, pt_gprof_symbol *symbol, double ticks);

/* stacks.c: the times of all symbols and arcs from stacks, then those of cycles. */
void pt_gprof_count_stacks(pt_gprof *g);
void pt_gprof_count_cycles(pt_gprof *g);

/* arcs.c */
void pt_gprof_add_arc(pt_gprof *g, uint32_t from, uint32_t to, uint64_t calls);
uint32_t pt_gprof_find_arc(const pt_gprof *g, uint32_t from, uint32_t to); /* or PT_NONE */
/* The function that a call of the symbol calls: the function of a line, or the function before a
 * label; or PT_NONE. */
uint32_t pt_gprof_function_of(const pt_gprof *g, uint32_t symbol);
/* calls.c: arcs of no calls for the call instructions of every function. */
void pt_gprof_add_static_calls(pt_gprof *g);
/* order.c: symbols and cycles in the order of their numbers: by total time, cycles before
 * functions, names without underscore before others, calls, name. Free it. */
uint32_t *pt_gprof_graph_order(const pt_gprof *g);
/* cycles.c: order, cycle and member of every symbol; appends the cycles. */
void pt_gprof_find_cycles(pt_gprof *g);

/* The bytes of the image's .text; false when it has none. */
typedef struct {
    uint64_t addr, size_bytes;
    const uint8_t *bytes; /* NULL when they are not in the file */
} pt_gprof_text;
bool pt_gprof_find_text(const pt_gprof *g, pt_gprof_text *ret);
