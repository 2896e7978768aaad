/* gprof.h: a program's functions with ticks, exact calls and the arcs between them, put together by
 * gprof's rules.
 *
 *   symbols   of the image, by address: where several share one address, one of them
 *      | specs (-p -q -e -f -k -n ...): which of them each report shows
 *   bins      a bin that overlaps several functions is split among them, by its bytes
 *   arcs      added up by (caller, callee)
 *      | depth-first search: functions that call each other in a circle are one cycle
 *   times     from the callees up: a caller gets of a callee's time the share that its calls are of
 *             all the callee's calls. That is gprof's guess, not a measurement.
 *   stacks    of a profile that has them, beside the others or alone: the times as measured
 *
 * Rules: the GNU gprof manual ("Flat Profile", "Call Graph", "Internals"), Graham, Kessler and
 * McKusick, "gprof: a call graph execution profiler" (1982), and GNU gprof 2.40 as it behaves.
 *
 *     pt_gprof_open(&g, object, &options, &error);
 *     pt_gprof_add(&g, profile, 1);                    for each profile, or, if it has stacks,
 *     pt_gprof_add_stacks(&g, profile, event, scale);
 *     pt_gprof_assemble(&g);
 *     render/gprof.h
 *     pt_gprof_done(&g);
 */
#pragma once

#include "base/grow.h"
#include "base/index.h"
#include "base/pool.h"
#include "model/profile.h"
#include "object/object.h"

/* The tables of symbols that specs choose: for each use the symbols to show and those to leave out.
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

/* A row of --file-ordering's map: which object file a function comes from. */
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
    bool by_line;        /* a symbol for each stretch of code of one source line, too */
    bool static_calls;   /* arcs of no calls for call instructions in the code */
    bool with_files;     /* file and line of every symbol */
    const pt_gprof_spec *spec;
    size_t spec_count;
    const pt_gprof_mapped *mapped; /* sorted by function */
    size_t mapped_count;
    const pt_gprof_external *external; /* instead of the image's symbols; or NULL */
    size_t external_count;
    bool mangled;      /* names as linked */
    bool one_line;     /* of each name: the report goes to a terminal */
    const char *image; /* the program's path, by which profiles with stacks may call it */
    pt_pool *pool;
} pt_gprof_options;

typedef struct pt_gprof_block {
    uint64_t addr, calls;
    uint32_t symbol;
} pt_gprof_block;

/* A function, a line of one, or a cycle. Times are in ticks. */
typedef struct pt_gprof_symbol {
    const char *name;        /* as linked; NULL: a cycle */
    uint64_t addr, end_addr; /* the last byte's */
    uint32_t file, line;     /* of pt_gprof.file, PT_NONE and 0 when unknown */
    bool is_function, is_static, is_mapped;
    bool is_shown;                     /* in the graph; else its number stands in parentheses */
    uint16_t tables;                   /* bits 1 << pt_gprof_table */
    uint32_t number;                   /* [N] in the graph, from 1 */
    uint32_t cycle;                    /* number from 1; 0 = in none */
    uint64_t calls;                    /* from elsewhere, once assembled */
    uint64_t self_calls;               /* from itself; of a cycle: among its members */
    uint32_t first_block, block_count; /* of pt_gprof.block */
    double ticks;
    double true_ticks;                   /* of samples that have it on their stack */
    double child_ticks;                  /* of its callees, as far as they are its own */
    double fraction;                     /* of its time that is shown: -E, -F, -n, -N */
    double shown_self, shown_child;      /* that */
    uint32_t order;                      /* callees come before callers */
    uint32_t first_in, in_count;         /* of pt_gprof.in: arcs to it, the latest first */
    uint32_t first_out, out_count;       /* of pt_gprof.out */
    uint32_t first_member, member_count; /* of a cycle: of pt_gprof.member */
} pt_gprof_symbol;

typedef enum { PT_GPROF_OF_ITSELF, PT_GPROF_IN_CYCLE, PT_GPROF_BETWEEN } pt_gprof_arc_kind;

typedef struct pt_gprof_arc {
    uint32_t from, to; /* symbols */
    uint64_t calls;
    double ticks, child_ticks; /* what the caller gets of the callee's, as shown */
    double true_ticks;         /* of samples that have it on their stack */
    pt_gprof_arc_kind kind;    /* once assembled */
} pt_gprof_arc;

/* Samples with one stack. */
typedef struct pt_gprof_stack {
    size_t first; /* of pt_gprof.frame */
    uint32_t count;
    bool has_leaf; /* the innermost one is a symbol, not of another file */
    double ticks;
} pt_gprof_stack;

/* A spec FROM/TO. */
typedef struct pt_gprof_arc_spec {
    pt_gprof_table table;
    bool *from, *to; /* [symbol]: it matches that side */
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
    PT_VECTOR(const char *) file; /* in the order in which they were first met */
    pt_index file_index;
    PT_VECTOR(pt_gprof_arc) arc; /* in the order in which they first appeared */
    pt_index arc_index;
    uint32_t *in, *out; /* arcs by callee and by caller */
    uint32_t *member;   /* symbols by cycle */
    uint32_t *by_name;  /* symbols, by their names as linked */
    uint32_t *by_total; /* symbols and cycles in the order of their numbers */
    PT_VECTOR(pt_gprof_bin) bin;
    PT_VECTOR(pt_gprof_block) block; /* by symbol, in the order of the profile */
    pt_index block_index;
    uint32_t table_counts[PT_GPROF_TABLES]; /* ranges of code in each table */
    PT_VECTOR(pt_gprof_arc_spec) arc_spec;
    PT_VECTOR(uint32_t) frame; /* symbols on stacks, the innermost of each first */
    PT_VECTOR(pt_gprof_stack) stack;
    double true_ticks; /* of all stacks */
    bool is_sampled;   /* there are stacks alone: calls count samples */
    bool has_bins, has_arcs, has_blocks;
    struct {
        const char *text; /* NULL until it is asked for */
        size_t size;
    } * shown_name;              /* of symbols */
    PT_VECTOR(char *) name_text; /* the text of those that were demangled */
    char *name_end;              /* what is free of the last of these, and how much */
    size_t name_room;
    uint64_t *addr;          /* of symbols, for look-ups */
    uint32_t *first_in_span; /* the first symbol behind each span's beginning: symbols.c */
    unsigned span_bits;
    double ticks;        /* of all bins, without what the flat profile leaves out */
    double shown_ticks;  /* of the graph */
    uint64_t lost_ticks; /* in no symbol */
    uint64_t lost_arcs;  /* from or to no symbol */
    uint64_t lost_blocks;
} pt_gprof;

/* Reads the symbols. PT_ERR_NOTFOUND when there are none. The object stays the caller's and in use;
 * so do the options' arrays. Strings of g live as long as the object. */
pt_status pt_gprof_open(pt_gprof *g, pt_object *object, const pt_gprof_options *options,
                        pt_error *reterr);
/* Adds a profile's bins, arcs and blocks, whose addresses are as linked. scale: ticks of the report
 * that one of its ticks is. */
void pt_gprof_add(pt_gprof *g, const pt_profile *profile, double scale);
/* Adds a profile's stacks; scale: ticks that a value of the event is. False if none of them has
 * code of the program. */
bool pt_gprof_add_stacks(pt_gprof *g, const pt_profile *profile, uint32_t event, double scale);
/* Once, after the last profile: ticks of functions, cycles, times of callers, numbers. */
void pt_gprof_assemble(pt_gprof *g);
void pt_gprof_done(pt_gprof *g);

/* The symbol that covers addr, or PT_NONE. */
uint32_t pt_gprof_find(const pt_gprof *g, uint64_t addr);
/* Is the symbol in the table of those to show, or, if that is empty, not in the one after it? */
bool pt_gprof_wants(const pt_gprof *g, const pt_gprof_symbol *symbol, pt_gprof_table show);
/* Files and lines of those symbols that chosen says, for reports that need them of a few. */
void pt_gprof_find_files(pt_gprof *g, const bool *chosen);

/* The symbol's name as its author wrote it, with parameters; its own if it is not mangled. */
const char *pt_gprof_name(pt_gprof *g, const pt_gprof_symbol *symbol);
const char *pt_gprof_sized_name(pt_gprof *g, const pt_gprof_symbol *symbol, size_t *ret_size);

/* A large report spends most of its time waiting for memory, since it takes symbols in another
 * order than memory has them. These two prefetch: the first a symbol that will be printed soon, the
 * second a name that comes sooner. */
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

/* Symbols in the flat profile's order: by ticks, calls, name. symbol.count of them; free it. */
uint32_t *pt_gprof_flat_order(const pt_gprof *g);
/* Arcs in the order in which a graph entry lists callers and callees. Free them. */
uint32_t *pt_gprof_callers(const pt_gprof *g, const pt_gprof_symbol *symbol);
uint32_t *pt_gprof_callees(const pt_gprof *g, const pt_gprof_symbol *symbol);
/* Members of a cycle in the order in which its entry lists them. Free it. */
uint32_t *pt_gprof_members(const pt_gprof *g, const pt_gprof_symbol *cycle);
/* The symbol that the arc's callee is counted as: itself, or its cycle. */
static inline const pt_gprof_symbol *pt_gprof_head(const pt_gprof *g, const pt_gprof_symbol *s)
{
    return s->cycle > 0 ? &g->symbol.items[g->symbol.count + s->cycle - 1] : s;
}

/* ---- Source ---- */

typedef struct pt_gprof_line {
    uint32_t number; /* from 1 */
    uint32_t symbol; /* the first of those on it */
    bool is_merged;  /* there are several */
    uint64_t calls;  /* of all of them */
} pt_gprof_line;

typedef struct pt_gprof_source {
    uint32_t file;
    pt_gprof_line *line; /* ascending */
    uint32_t line_count;
    uint64_t calls;
} pt_gprof_source;

/* Lines with symbols of each source file, the file that was met last first. */
pt_gprof_source *pt_gprof_sources(const pt_gprof *g, size_t *ret_count);
void pt_gprof_sources_free(pt_gprof_source *sources);
/* Symbols by file, line and address, as far as --exec-counts wants them. Free it. */
uint32_t *pt_gprof_counted(const pt_gprof *g, size_t *ret_count);

/* ---- Orders for the linker: placement.c ---- */

/* Functions, or with by_file the object files of options.mapped, in an order that puts close
 * together what calls each other often. Borrowed names; free the array. */
const char **pt_gprof_placement(pt_gprof *g, bool by_file, size_t *ret_count);

/* A stable sort of ids; compare(a, b) < 0 if a comes first. */
typedef int pt_gprof_compare(const void *context, uint32_t a, uint32_t b);
void pt_gprof_sort(uint32_t *ids, size_t count, pt_gprof_compare *compare, const void *context);
