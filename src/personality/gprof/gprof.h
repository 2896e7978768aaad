/* gprof.h: a program's functions with their ticks and exact calls, and the arcs between them,
 * computed by gprof's rules. A tick is one count of a histogram.
 *
 *   symbols   of the image, by address; one of several at the same address
 *      | specs (-p -q -e -f -k -n ...): choose the symbols that each report shows
 *   bins      a bin that overlaps several functions is split among them, by its bytes
 *   arcs      added up by (caller, callee)
 *      | depth-first search: functions that call each other in a circle are one cycle
 *   times     first of callees, then of callers: a caller gets the same share of a callee's time as
 *             its calls are of all calls of the callee. That is a guess, which gprof makes too, not
 *             a measurement.
 *   stacks    of a profile that has them, with profiles of gprof or alone: the measured times
 *
 * Rules: the GNU gprof manual ("Flat Profile", "Call Graph", "Internals"), Graham, Kessler and
 * McKusick, "gprof: a call graph execution profiler" (1982), and GNU gprof 2.40 as it behaves.
 *
 *     pt_gprof_open(&g, object, &options, &error);
 *     pt_gprof_add(&g, profile, 1);                    for each profile, or, if it has stacks,
 *     pt_gprof_add_stacks(&g, profile, event, scale);
 *     pt_gprof_assemble(&g);
 *     the functions of personality/gprof/print.h
 *     pt_gprof_done(&g);
 */
#pragma once

#include "base/grow.h"
#include "base/index.h"
#include "base/pool.h"
#include "model/profile.h"
#include "object/object.h"

/* The tables of symbols that specs choose: for each use, the symbols to show and the symbols to
 * leave out.
 */
typedef enum {
    PT_GPROF_SHOW_GRAPH,
    PT_GPROF_HIDE_GRAPH,
    PT_GPROF_SHOW_ARCS,
    PT_GPROF_HIDE_ARCS,
    PT_GPROF_SHOW_FLAT,
    PT_GPROF_HIDE_FLAT,
    PT_GPROF_SHOW_TIME,
    PT_GPROF_HIDE_TIME,
    PT_GPROF_SHOW_SOURCE,
    PT_GPROF_HIDE_SOURCE,
    PT_GPROF_SHOW_COUNTS,
    PT_GPROF_HIDE_COUNTS,
    PT_GPROF_TABLES,
} pt_gprof_table;

/* "FUNCTION", "FILE.c", "FILE.c:FUNCTION", "FILE.c:LINE", "LINE", ":NAME.WITH.DOT"; FROM/TO for
 * arcs, where an empty side means any function. */
typedef struct pt_gprof_spec {
    pt_gprof_table table;
    const char *text;
} pt_gprof_spec;

/* A row of --file-ordering's map: the object file that a function comes from. */
typedef struct pt_gprof_mapped {
    const char *file, *function;
    bool is_first; /* of that file's rows */
} pt_gprof_mapped;

/* A row of --external-symbol-table. */
typedef struct pt_gprof_external {
    uint64_t addr;
    const char *name;
    bool is_static;
} pt_gprof_external;

typedef struct pt_gprof_options {
    bool no_static;      /* local symbols are left out */
    bool functions_only; /* local symbols that are no functions are left out */
    bool by_line;        /* also a symbol for each stretch of code of one source line */
    bool static_calls;   /* call instructions in the code become arcs with 0 calls */
    bool with_files;     /* find file and line of every symbol */
    const pt_gprof_spec *spec;
    size_t spec_count;
    const pt_gprof_mapped *mapped; /* sorted by function */
    size_t mapped_count;
    const pt_gprof_external *external; /* instead of the image's symbols; or NULL */
    size_t external_count;
    bool mangled;      /* show linked names, not demangled ones */
    bool one_line;     /* show each name on one line: the report goes to a terminal */
    const char *image; /* the program's path, by which profiles with stacks may name the program */
    pt_pool *pool;
} pt_gprof_options;

typedef struct pt_gprof_block {
    uint64_t addr, calls;
    uint32_t symbol;
} pt_gprof_block;

/* A function, a line of a function, or a cycle. Times are in ticks. */
typedef struct pt_gprof_symbol {
    const char *name;        /* linked name; NULL if the symbol is a cycle */
    uint64_t addr, end_addr; /* addresses of the symbol's first and last byte */
    uint32_t file, line;     /* of pt_gprof.file, PT_NONE and 0 when unknown */
    bool is_function, is_static, is_mapped;
    bool is_shown;                     /* the graph shows the symbol; if false, its number is in
                                        * parentheses */
    uint16_t tables;                   /* bits 1 << pt_gprof_table */
    uint32_t number;                   /* [N] in the graph, from 1 */
    uint32_t cycle;                    /* number of the symbol's cycle, from 1; 0 = in no cycle */
    uint64_t calls;                    /* after pt_gprof_assemble: from other functions */
    uint64_t self_calls;               /* calls from itself; for a cycle, calls among its members */
    uint32_t first_block, block_count; /* of pt_gprof.block */
    double ticks;
    double true_ticks;                   /* ticks of the samples that have the symbol on their
                                          * stack */
    double child_ticks;                  /* the symbol's share of the ticks of its callees */
    double fraction;                     /* the part of its time that is shown: -E, -F, -n, -N */
    double shown_self, shown_child;      /* ticks and child_ticks times fraction */
    uint32_t order;                      /* a number that is smaller for a callee than for its
                                          * callers */
    uint32_t first_in, in_count;         /* of pt_gprof.in: arcs to the symbol, the latest first */
    uint32_t first_out, out_count;       /* of pt_gprof.out */
    uint32_t first_member, member_count; /* of a cycle: of pt_gprof.member */
} pt_gprof_symbol;

typedef enum { PT_GPROF_OF_ITSELF, PT_GPROF_IN_CYCLE, PT_GPROF_BETWEEN } pt_gprof_arc_kind;

typedef struct pt_gprof_arc {
    uint32_t from, to; /* symbols */
    uint64_t calls;
    double ticks, child_ticks; /* the caller's share of the callee's, times the shown fraction */
    double true_ticks;         /* ticks of the samples that have the arc on their stack */
    pt_gprof_arc_kind kind;    /* set by pt_gprof_assemble */
} pt_gprof_arc;

/* Samples with one stack. */
typedef struct pt_gprof_stack {
    size_t first; /* of pt_gprof.frame */
    uint32_t count;
    bool has_leaf; /* the sample's innermost frame is in the program, not in another file */
    double ticks;
} pt_gprof_stack;

/* A spec FROM/TO. */
typedef struct pt_gprof_arc_spec {
    pt_gprof_table table;
    bool *from, *to; /* [symbol]: the symbol matches that side of the spec */
} pt_gprof_arc_spec;

typedef struct pt_gprof_bin {
    uint64_t low, high;
    double count; /* ticks */
    double scale; /* bytes */
} pt_gprof_bin;

typedef struct pt_gprof {
    pt_object *object;
    pt_gprof_options options;
    PT_VECTOR(pt_gprof_symbol) symbol; /* count symbols by address, then cycle_count cycles */
    uint32_t cycle_count;
    PT_VECTOR(const char *) file; /* in the order in which they were added */
    pt_index file_index;
    PT_VECTOR(pt_gprof_arc) arc; /* in the order in which they first appeared */
    pt_index arc_index;
    uint32_t *in, *out; /* arcs by callee and by caller */
    uint32_t *member;   /* symbols by cycle */
    uint32_t *by_name;  /* symbols, by their linked names */
    uint32_t *by_total; /* symbols and cycles in the order of their numbers */
    PT_VECTOR(pt_gprof_bin) bin;
    PT_VECTOR(pt_gprof_block) block; /* by symbol, in the order of the profile */
    pt_index block_index;
    uint32_t table_counts[PT_GPROF_TABLES]; /* ranges of code in each table */
    PT_VECTOR(pt_gprof_arc_spec) arc_spec;
    PT_VECTOR(uint32_t) frame; /* symbols on stacks, the innermost of each first */
    PT_VECTOR(pt_gprof_stack) stack;
    double true_ticks; /* of all stacks */
    bool is_sampled;   /* there are only stacks, no bins and arcs: `calls` count samples */
    bool has_bins, has_arcs, has_blocks;
    struct {
        const char *text; /* NULL until it is first needed */
        size_t size;
    } * shown_name;              /* of symbols */
    PT_VECTOR(char *) name_text; /* blocks of memory for demangled names */
    char *name_end;              /* the free part of the last block ... */
    size_t name_room;            /* ... and its size in bytes */
    uint64_t *addr;              /* of symbols, for look-ups */
    uint32_t *first_in_span;     /* for each span, the first symbol after the beginning of the span:
                                  * symbols.c */
    unsigned span_bits;
    double ticks;        /* of all bins, without symbols that the flat profile leaves out */
    double shown_ticks;  /* the sum of shown_self of all symbols */
    uint64_t lost_ticks; /* of bins without a symbol */
    uint64_t lost_arcs;  /* arcs with an end in no symbol */
    uint64_t lost_blocks;
} pt_gprof;

/* Reads the symbols of the object. Fails with PT_ERR_NOTFOUND if it has none. Borrows the object
 * and the arrays of the options. Strings of g live as long as the object. */
pt_status pt_gprof_open(pt_gprof *g, pt_object *object, const pt_gprof_options *options,
                        pt_error *reterr);
/* Adds a profile's bins, arcs and blocks, which have linked addresses. scale: the number of the
 * report's ticks in one tick of the profile. */
void pt_gprof_add(pt_gprof *g, const pt_profile *profile, double scale);
/* Adds a profile's stacks. scale: the number of ticks for a value of 1 of the event. Returns false
 * if no stack has code of the program. */
bool pt_gprof_add_stacks(pt_gprof *g, const pt_profile *profile, uint32_t event, double scale);
/* Call it once, after the last profile was added: computes the ticks of functions, the cycles, the
 * times of callers, and the numbers. */
void pt_gprof_assemble(pt_gprof *g);
void pt_gprof_done(pt_gprof *g);

/* The symbol that covers addr, or PT_NONE. */
uint32_t pt_gprof_find(const pt_gprof *g, uint64_t addr);
/* Does the report show the symbol? If the table `show` has symbols: true if it has this symbol. If
 * it is empty: true if the table `show + 1`, of symbols to hide, does not have this symbol. */
bool pt_gprof_wants(const pt_gprof *g, const pt_gprof_symbol *symbol, pt_gprof_table show);
/* Finds file and line of the symbols whose flag in `chosen` is set, for reports that need them for
 * a few symbols; if it is NULL, of all symbols. */
void pt_gprof_find_files(pt_gprof *g, const bool *chosen);

/* The symbol's demangled name with parameters; the linked name if it is not mangled. Lives as long
 * as g. */
const char *pt_gprof_name(pt_gprof *g, const pt_gprof_symbol *symbol);
const char *pt_gprof_sized_name(pt_gprof *g, const pt_gprof_symbol *symbol, size_t *ret_size);

/* A large report spends most of its time waiting for memory, since it lists symbols in another
 * order than memory has them. The first of these two functions prefetches a symbol that will be
 * printed soon, the second prefetches the name of a symbol that will be printed even sooner. */
static inline void pt_gprof_expect(const pt_gprof *g, uint32_t symbol)
{
    __builtin_prefetch(&g->symbol.items[symbol]);
    if (g->shown_name != NULL) __builtin_prefetch(&g->shown_name[symbol]);
}

static inline void pt_gprof_expect_name(const pt_gprof *g, uint32_t symbol)
{
    enum { CACHE_LINE = 64, LINES = 3 };
    if (symbol >= g->symbol.count || g->shown_name == NULL) return; /* a cycle has no name */
    const char *const shown = g->shown_name[symbol].text;
    const char *const name = shown != NULL ? shown : g->symbol.items[symbol].name;
    for (unsigned i = 0; i < LINES; i++)
        __builtin_prefetch(name + (size_t)i * CACHE_LINE);
}

/* All symbols (symbol.count) in the flat profile's order: by ticks, calls, name. The caller frees
 * the array. */
uint32_t *pt_gprof_flat_order(const pt_gprof *g);
/* The symbol's arcs in the order in which its graph entry lists callers and callees. The caller
 * frees the arrays. */
uint32_t *pt_gprof_callers(const pt_gprof *g, const pt_gprof_symbol *symbol);
uint32_t *pt_gprof_callees(const pt_gprof *g, const pt_gprof_symbol *symbol);
/* The members of a cycle in the order in which its entry lists them. The caller frees the array. */
uint32_t *pt_gprof_members(const pt_gprof *g, const pt_gprof_symbol *cycle);
/* The symbol that calls of s are counted for: s itself, or its cycle. */
static inline const pt_gprof_symbol *pt_gprof_head(const pt_gprof *g, const pt_gprof_symbol *s)
{
    return s->cycle > 0 ? &g->symbol.items[g->symbol.count + s->cycle - 1] : s;
}

/* ---- Source ---- */

typedef struct pt_gprof_line {
    uint32_t number; /* from 1 */
    uint32_t symbol; /* the first symbol on the line */
    bool is_merged;  /* the line has several symbols */
    uint64_t calls;  /* of all symbols on the line */
} pt_gprof_line;

typedef struct pt_gprof_source {
    uint32_t file;
    pt_gprof_line *line; /* ascending */
    uint32_t line_count;
    uint64_t calls;
} pt_gprof_source;

/* The lines with symbols of each source file; the file that was added last comes first. */
pt_gprof_source *pt_gprof_sources(const pt_gprof *g, size_t *ret_count);
void pt_gprof_sources_free(pt_gprof_source *sources);
/* The symbols that --exec-counts shows, by file, line and address. The caller frees the array. */
uint32_t *pt_gprof_counted(const pt_gprof *g, size_t *ret_count);

/* ---- Orders for the linker: placement.c ---- */

/* The names of functions, or (by_file) of the object files of options.mapped, in an order in which
 * those that call each other often are close together. Names are borrowed; the caller frees the
 * array. */
const char **pt_gprof_placement(pt_gprof *g, bool by_file, size_t *ret_count);

/* A stable sort of ids; compare(a, b) < 0 if a comes first. */
typedef int pt_gprof_compare(const void *context, uint32_t a, uint32_t b);
void pt_gprof_sort(uint32_t *ids, size_t count, pt_gprof_compare *compare, const void *context);
