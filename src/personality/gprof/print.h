/* print.h: gprof's reports as text, byte for byte as GNU gprof 2.40 prints them, and as JSON.
 *
 * The explanations after the tables (without --brief) are pitot's own words. docs/gprof.md lists
 * the other differences.
 */
#pragma once

#include "base/buf.h"
#include "personality/gprof/gprof.h"

typedef struct pt_gprof_look {
    bool brief;        /* -b: no explanations */
    bool traditional;  /* -T: BSD's columns */
    bool all;          /* -z: also show functions without calls and time */
    bool full_paths;   /* -L */
    bool inline_files; /* --inline-file-names: also after functions */
    unsigned width;    /* -w: columns of the index */
    double rate;       /* ticks in one unit of the dimension (a second); 0 = unknown */
    double bin_bytes;  /* the bytes of code that a bin of the first histogram covers */
    char dimension[16];
    char abbreviation;
    bool has_output; /* a report was printed: a form feed comes before the next report */
} pt_gprof_look;

/* Is there a column for times from stacks? Only with stacks, and not in BSD's layout, which has no
 * room for it. */
static inline bool pt_gprof_shows_true(const pt_gprof_look *look, const pt_gprof *g)
{
    return g->stack.count > 0 && !look->traditional;
}

/* Print the flat profile, the call graph, its index by name, and the counts of calls, with the
 * explanations unless brief. */
void pt_gprof_flat_text(pt_out *out, pt_gprof_look *look, pt_gprof *g);
void pt_gprof_graph_text(pt_out *out, pt_gprof_look *look, pt_gprof *g);
void pt_gprof_index_text(pt_out *out, pt_gprof_look *look, pt_gprof *g);
void pt_gprof_counts_text(pt_out *out, pt_gprof_look *look, pt_gprof *g);

typedef struct pt_gprof_annotation {
    bool all_lines;        /* -x */
    uint64_t min_count;    /* -m */
    uint64_t table_length; /* -t */
    uint64_t last_count;   /* of the file before; 0 at first */
} pt_gprof_annotation;
/* Puts a source file's text with counts before its lines, then a table and a summary. */
void pt_gprof_source_text(pt_out *out, const pt_gprof *g, const pt_gprof_source *source,
                          pt_gprof_annotation *how, const char *text, size_t size);

/* Writes flat profile and call graph as JSON; docs/gprof.md describes the form. */
void pt_gprof_json(pt_out *out, const pt_gprof_look *look, pt_gprof *g);

/* For each symbol: does the index contain it? The caller frees the flags. */
bool *pt_gprof_indexed(const pt_gprof_look *look, const pt_gprof *g);

/* Puts the function's name as it is shown, with the file or line that options add. Returns the
 * number of bytes. */
size_t pt_gprof_put_name(pt_out *out, const pt_gprof_look *look, pt_gprof *g,
                         const pt_gprof_symbol *symbol);
/* Puts the symbol's cycle, if it is in one, and its number. */
void pt_gprof_put_number(pt_out *out, const pt_gprof_symbol *symbol);
/* Puts a form feed, unless nothing was printed yet. */
void pt_gprof_begin_output(pt_out *out, pt_gprof_look *look);
/* The path of a source file, or, without full_paths, its base name. */
const char *pt_gprof_file_text(const pt_gprof_look *look, const pt_gprof *g, uint32_t file);
