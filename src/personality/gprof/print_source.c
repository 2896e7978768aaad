/* print_source.c: counts of calls: as a list with one count per line, and before the lines of a
 * source file. */
#include <inttypes.h>
#include <string.h>

#include "personality/gprof/print.h"

enum { MARGIN = 16 }; /* columns before a line */

static const char arrow[] = " -> ";

void pt_gprof_counts_text(pt_out *out, pt_gprof_look *look, pt_gprof *g)
{
    pt_gprof_begin_output(out, look);
    size_t count = 0;
    PT_FREE uint32_t *order = pt_gprof_counted(g, &count);
    for (size_t i = 0; i < count; i++) {
        const pt_gprof_symbol *const s = &g->symbol.items[order[i]];
        const char *const file = s->file != PT_NONE ? g->file.items[s->file] : "<unknown>";
        if (s->calls > 0 || look->all)
            pt_outf(out, "%s:%u: (%s:0x%" PRIx64 ") %" PRIu64 " executions\n", file, s->line,
                    s->name, s->addr, s->calls);
        for (uint32_t k = 0; k < s->block_count; k++) {
            const pt_gprof_block *const b = &g->block.items[s->first_block + k];
            if (b->calls > 0 || look->all)
                pt_outf(out, "%s:%u: (%s:0x%" PRIx64 ") %" PRIu64 " executions\n", file, s->line,
                        s->name, b->addr, b->calls);
        }
    }
}

/* ---- Annotated source ---- */

/* The sums of a file's lines, made while the lines are printed. */
typedef struct {
    const pt_gprof *g;
    const pt_gprof_annotation *how;
    uint64_t executable, executed; /* lines */
    uint64_t last;                 /* the latest count */
    pt_buf text;
} annotating;

/* The last count that was printed for one line, and the sum of the line's counts. */
typedef struct {
    bool is_known;
    uint64_t calls, printed; /* printed: nothing yet if the text is empty */
} line_count;

static void put_count(annotating *a, line_count *c, uint64_t count)
{
    pt_putf(&a->text, "%s%" PRIu64, a->text.size > 0 ? "," : "", count);
    c->printed = a->last = count;
}

/* Puts the calls of the line's function and its blocks. With all_lines a count that is equal to the
 * count before it is left out, and a line without counts repeats the count of the line before. */
static line_count put_counts(annotating *a, const pt_gprof_line *line)
{
    const pt_gprof_symbol *const s = &a->g->symbol.items[line->symbol];
    const pt_gprof_block *const blocks = a->g->block.items + s->first_block;
    const bool all = a->how->all_lines;
    line_count c = {0};
    if (s->is_function) {
        c.is_known = true;
        c.calls = line->calls;
        put_count(a, &c, line->calls);
    } else if (all && s->block_count > 0 && blocks[0].addr > (line->is_merged ? 0 : s->addr)) {
        c.is_known = true; /* the line begins inside the block of the line before */
        c.calls = a->last;
        put_count(a, &c, a->last);
    }
    for (uint32_t i = 0; i < s->block_count; i++) {
        c.is_known = true;
        c.calls += blocks[i].calls;
        a->last = blocks[i].calls;
        if (!all || a->text.size == 0 || blocks[i].calls != c.printed)
            put_count(a, &c, blocks[i].calls);
    }
    if (all && a->text.size == 0) {
        c.is_known = true;
        c.calls = a->last;
        put_count(a, &c, a->last);
    }
    return c;
}

/* The margin of a line: counts, ##### for a count below the minimum, or spaces. */
static void put_margin(annotating *a, pt_out *out, const pt_gprof_line *line)
{
    pt_buf_clear(&a->text);
    if (line != NULL) {
        a->executable++;
        const line_count c = put_counts(a, line);
        a->executed += c.is_known;
        if (c.is_known && c.calls < a->how->min_count) {
            pt_buf_clear(&a->text);
            pt_put_text(&a->text, "#####");
        }
        if (c.is_known) pt_put_text(&a->text, arrow);
    }
    pt_outf(out, "%*.*s", MARGIN, MARGIN, pt_buf_text(&a->text));
}

static void put_lines(annotating *a, pt_out *out, const pt_gprof_source *source, const char *text,
                      size_t size)
{
    uint64_t number = 1;
    size_t next = 0;
    for (size_t at = 0; at < size; number++) {
        const char *const end = memchr(text + at, '\n', size - at);
        const size_t bytes = end != NULL ? (size_t)(end - text) + 1 - at : size - at;
        while (next < source->line_count && source->line[next].number < number)
            next++;
        const bool has = next < source->line_count && source->line[next].number == number;
        put_margin(a, out, has ? &source->line[next] : NULL);
        pt_out_put(out, text + at, bytes);
        at += bytes;
    }
}

static int by_calls(const void *context, uint32_t a, uint32_t b)
{
    const pt_gprof_line *const line = context;
    return (line[a].calls < line[b].calls) - (line[a].calls > line[b].calls);
}

static void put_top(pt_out *out, const pt_gprof_source *source, uint64_t length)
{
    pt_outf(out, "\n\nTop %" PRIu64 " Lines:\n\n     Line      Count\n\n", length);
    PT_FREE uint32_t *order = pt_alloc_numbers(source->line_count);
    pt_gprof_sort(order, source->line_count, by_calls, source->line);
    for (uint32_t i = 0; i < source->line_count && i < length; i++) {
        const pt_gprof_line *const line = &source->line[order[i]];
        if (line->calls == 0) break;
        pt_outf(out, "%9u %10" PRIu64 "\n", line->number, line->calls);
    }
}

static void put_summary(pt_out *out, const annotating *a, const pt_gprof_source *source)
{
    const double lines = (double)a->executable;
    pt_out_text(out, "\nExecution Summary:\n\n");
    pt_outf(out, "%9" PRIu64 "   Executable lines in this file\n", a->executable);
    pt_outf(out, "%9" PRIu64 "   Lines executed\n", a->executed);
    pt_outf(out, "%9.2f   Percent of the file executed\n",
            a->executable > 0 ? 100 * (double)a->executed / lines : 100);
    pt_outf(out, "\n%9" PRIu64 "   Total number of line executions\n", source->calls);
    pt_outf(out, "%9.2f   Average executions per line\n",
            a->executable > 0 ? (double)source->calls / lines : 0);
}

void pt_gprof_source_text(pt_out *out, const pt_gprof *g, const pt_gprof_source *source,
                          pt_gprof_annotation *how, const char *text, size_t size)
{
    annotating a = {.g = g, .how = how, .last = how->last_count};
    put_lines(&a, out, source, text, size);
    if (how->table_length > 0) put_top(out, source, how->table_length);
    put_summary(out, &a, source);
    how->last_count = a.last;
    pt_buf_done(&a.text);
}
