/* source.c: calls by source line, for annotated source. */
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "personality/gprof/gprof_int.h"

static int by_file_and_line(const void *context, uint32_t a, uint32_t b)
{
    const pt_gprof_symbol *const x = (const pt_gprof_symbol *)context + a;
    const pt_gprof_symbol *const y = (const pt_gprof_symbol *)context + b;
    if (x->file != y->file) return x->file > y->file ? -1 : 1; /* the latest file first */
    return (x->line > y->line) - (x->line < y->line);
}

static void add_line(pt_gprof_source *source, const pt_gprof_symbol *s, uint32_t symbol)
{
    source->calls += s->calls;
    if (source->line_count > 0 && source->line[source->line_count - 1].number == s->line) {
        pt_gprof_line *const line = &source->line[source->line_count - 1];
        line->calls += s->calls;
        line->is_merged = true;
        return;
    }
    source->line[source->line_count++] =
        (pt_gprof_line){.number = s->line, .symbol = symbol, .calls = s->calls};
}

pt_gprof_source *pt_gprof_sources(const pt_gprof *g, size_t *ret_count)
{
    PT_FREE uint32_t *order = pt_alloc(g->symbol.count + 1, sizeof *order);
    size_t count = 0, sources = 0;
    for (uint32_t i = 0; i < g->symbol.count; i++)
        if (g->symbol.items[i].file != PT_NONE &&
            pt_gprof_wants(g, &g->symbol.items[i], PT_GPROF_SHOW_SOURCE))
            order[count++] = i;
    pt_gprof_sort(order, count, by_file_and_line, g->symbol.items);
    pt_gprof_source *const source = pt_alloc(g->file.count + 1, sizeof *source);
    /* The lines of all files are one allocation, freed with the first file. */
    pt_gprof_line *const lines = pt_alloc(count + 1, sizeof *lines);
    source[0].line = lines;
    for (size_t i = 0; i < count; i++) {
        const pt_gprof_symbol *const s = &g->symbol.items[order[i]];
        if (sources == 0 || source[sources - 1].file != s->file) {
            source[sources].line =
                sources > 0 ? source[sources - 1].line + source[sources - 1].line_count : lines;
            source[sources++].file = s->file;
        }
        add_line(&source[sources - 1], s, order[i]);
    }
    *ret_count = sources;
    return source;
}

void pt_gprof_sources_free(pt_gprof_source *sources)
{
    if (sources == NULL) return;
    PT_FREE_ALL(sources[0].line, sources);
}

/* ---- A row for each function or block ---- */

static int by_source(const void *context, uint32_t a, uint32_t b)
{
    const pt_gprof *const g = context;
    const pt_gprof_symbol *const x = &g->symbol.items[a], *const y = &g->symbol.items[b];
    if (x->file != PT_NONE && y->file != PT_NONE) {
        const int files = strcmp(g->file.items[x->file], g->file.items[y->file]);
        if (files != 0) return files;
        if (x->line != y->line) return x->line < y->line ? -1 : 1;
    }
    return (x->addr > y->addr) - (x->addr < y->addr);
}

uint32_t *pt_gprof_counted(const pt_gprof *g, size_t *ret_count)
{
    uint32_t *const order = pt_alloc(g->symbol.count + 1, sizeof *order);
    size_t count = 0;
    for (uint32_t i = 0; i < g->symbol.count; i++)
        if (pt_gprof_wants(g, &g->symbol.items[i], PT_GPROF_SHOW_COUNTS)) order[count++] = i;
    pt_gprof_sort(order, count, by_source, g);
    *ret_count = count;
    return order;
}
