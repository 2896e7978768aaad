/* print_flat.c: the flat profile, and functions that all of gprof's reports share. */
#include <inttypes.h>

#include "base/file.h"
#include "personality/gprof/print_int.h"

static const char explanation[] =
    "\n"
    " %         how much of the program's whole time was spent in the function itself\n"
    "time\n"
    "\n"
    "cumulative the time of this function and of all those above it in the table\n"
    " seconds\n"
    "\n"
    " self      the time spent in the function itself; the table is sorted by it\n"
    "seconds\n"
    "\n"
    "calls      how often the function was called, if it was compiled for profiling; else\n"
    "           blank\n"
    "\n"
    " self      the average time spent in the function itself for each call, if calls are\n"
    "ms/call    known; else blank\n"
    "\n"
    " total     the average time spent in the function and all that it called, for each\n"
    "ms/call    call, if calls are known; else blank\n"
    "\n"
    "name       the function. Those of equal time are sorted by calls, then by name.\n";

void pt_gprof_begin_output(pt_out *out, pt_gprof_look *look)
{
    if (look->has_output) pt_gprof_put_page_break(out);
    look->has_output = true;
}

const char *pt_gprof_file_text(const pt_gprof_look *look, const pt_gprof *g, uint32_t file)
{
    const char *const path = g->file.items[file];
    return look->full_paths ? path : pt_base_name(path);
}

size_t pt_gprof_put_name(pt_out *out, const pt_gprof_look *look, pt_gprof *g,
                         const pt_gprof_symbol *symbol)
{
    if (symbol->name == NULL) return 0;
    const uint64_t before = out->count;
    size_t size;
    const char *const shown = pt_gprof_sized_name(g, symbol, &size);
    if (look->traditional)
        pt_out_text(out, symbol->name);
    else
        pt_out_put(out, shown, size);
    if (symbol->file != PT_NONE && g->options.by_line)
        pt_outf(out, " (%s:%u @ %" PRIx64 ")", pt_gprof_file_text(look, g, symbol->file),
                symbol->line, symbol->addr);
    else if (symbol->file != PT_NONE && look->inline_files)
        pt_outf(out, " (%s:%u)", pt_gprof_file_text(look, g, symbol->file), symbol->line);
    return (size_t)(out->count - before);
}

/* ---- Units ---- */

static const struct {
    char prefix;
    double scale;
} prefixes[] = {{'T', 1e-12}, {'G', 1e-9}, {'M', 1e-6}, {'K', 1e-3}, {' ', 1},   {'m', 1e3},
                {'u', 1e6},   {'n', 1e9},  {'p', 1e12}, {'f', 1e15}, {'a', 1e18}};
enum { PREFIXES = PT_COUNT(prefixes), MILLI = 5 };

/* The unit in which the longest time of a call has up to three digits before the point. */
static size_t best_prefix(const pt_gprof_look *look, const pt_gprof *g)
{
    double top = 0;
    for (size_t i = 0; i < g->symbol.count; i++) {
        const pt_gprof_symbol *const s = &g->symbol.items[i];
        const double a_call = s->calls != 0 ? (s->ticks + s->child_ticks) / (double)s->calls : 0;
        if (a_call > top) top = a_call;
    }
    if (!(top > 0)) return 0;
    for (size_t i = 0; i < PREFIXES; i++) {
        const double scaled = prefixes[i].scale * (top / look->rate);
        if (scaled >= 1 && scaled < 1000) return i;
    }
    return PREFIXES - 1;
}

/* ---- The table ---- */

static void put_head(pt_out *out, const pt_gprof_look *look, const pt_gprof *g, char prefix)
{
    const char unit[] = {prefix, look->abbreviation, '/', 'c', 'a', 'l', 'l', '\0'};
    const char *const dimension = look->dimension;
    if (look->traditional) {
        pt_outf(out, "\ngranularity: each sample hit covers %ld byte(s)",
                2 * (long)(look->bin_bytes / 2));
        if (g->ticks > 0)
            pt_outf(out, " for %.2f%% of %.2f %s\n\n", 100 / g->ticks, g->ticks / look->rate,
                    dimension);
    } else {
        pt_outf(out, "\nEach sample counts as %g %s.\n", 1 / look->rate, dimension);
    }
    if (g->ticks <= 0) pt_out_text(out, " no time accumulated\n\n");
    const char *const calls = g->is_sampled ? "samples" : "calls";
    const char *const a_call =
        g->is_sampled ? "" : unit; /* calls are numbers of samples: a call's time is unknown */
    const bool is_true = pt_gprof_shows_true(look, g);
    pt_outf(out, "%5.5s %10.10s %8.8s %8.8s %8.8s %8.8s", "%  ", "cumulative", "self  ", "",
            g->is_sampled ? "" : "self  ", g->is_sampled ? "" : "total ");
    if (is_true) pt_outf(out, " %8.8s", "true  ");
    pt_outf(out, "  %-8.8s\n", "");
    pt_outf(out, "%5.5s %9.9s  %8.8s %8.8s %8.8s %8.8s", "time", dimension, dimension, calls,
            a_call, a_call);
    if (is_true) pt_outf(out, " %8.8s", dimension);
    pt_outf(out, "  %-8.8s\n", "name");
}

static const char true_explanation[] =
    "\n"
    " true      the time that samples have the function on their stack: spent in it and in all\n"
    "seconds    that it called, measured rather than shared out\n";

static void put_row(pt_out *out, const pt_gprof_look *look, pt_gprof *g, const pt_gprof_symbol *s,
                    double cumulative, double scale)
{
    const double whole = g->ticks > 0 ? g->ticks : 1, calls = (double)s->calls;
    const unsigned bsd = look->traditional;
    char line[7 * PT_GPROF_NUMBER_MAX];
    size_t n = pt_gprof_put_fixed(line, 100 * s->ticks / whole, bsd ? 5 : 6, bsd ? 1 : 2);
    line[n++] = ' ';
    n += pt_gprof_put_fixed(line + n, cumulative / look->rate, bsd ? 10 : 9, 2);
    line[n++] = ' ';
    n += pt_gprof_put_fixed(line + n, s->ticks / look->rate, 8, 2);
    line[n++] = ' ';
    if (s->calls != 0 && g->is_sampled) {
        n += pt_gprof_put_count(line + n, s->calls, 8, false);
        n += pt_gprof_put_blanks(line + n, 1 + 8 + 1 + 8);
    } else if (s->calls != 0) {
        n += pt_gprof_put_count(line + n, s->calls, 8, false);
        line[n++] = ' ';
        n += pt_gprof_put_fixed(line + n, scale * s->ticks / look->rate / calls, 8, 2);
        line[n++] = ' ';
        n += pt_gprof_put_fixed(line + n, scale * (s->ticks + s->child_ticks) / look->rate / calls,
                                8, 2);
    } else {
        n += pt_gprof_put_blanks(line + n, 8 + 1 + 8 + 1 + 8);
    }
    if (pt_gprof_shows_true(look, g)) {
        line[n++] = ' ';
        n += pt_gprof_put_fixed(line + n, s->true_ticks / look->rate, 8, 2);
    }
    line[n++] = ' ';
    line[n++] = ' ';
    pt_out_put(out, line, n);
    pt_gprof_put_name(out, look, g, s);
    if (look->traditional) pt_gprof_put_number(out, s);
    pt_out_char(out, '\n');
}

void pt_gprof_flat_text(pt_out *out, pt_gprof_look *look, pt_gprof *g)
{
    pt_gprof_begin_output(out, look);
    if (!look->traditional)
        pt_out_text(out, "Flat profile:\n");
    else if (!look->brief) {
        pt_out_text(out, "\n\n\nflat profile:\n");
        pt_out_text(out, explanation);
    }
    const size_t prefix = look->traditional ? MILLI : best_prefix(look, g);
    put_head(out, look, g, prefixes[prefix].prefix);
    PT_FREE uint32_t *order = pt_gprof_flat_order(g);
    double cumulative = 0;
    for (size_t i = 0; i < g->symbol.count; i++) {
        const pt_gprof_symbol *const s = &g->symbol.items[order[i]];
        if (i + PT_GPROF_SOON < g->symbol.count) {
            pt_gprof_expect(g, order[i + PT_GPROF_SOON]);
            pt_gprof_expect_name(g, order[i + PT_GPROF_VERY_SOON]);
        }
        if (!pt_gprof_wants(g, s, PT_GPROF_SHOW_FLAT)) continue;
        if (!look->all && s->calls == 0 && s->ticks == 0) continue;
        cumulative += s->ticks;
        put_row(out, look, g, s, cumulative, prefixes[prefix].scale);
    }
    if (look->brief || look->traditional) return;
    pt_out_text(out, explanation);
    if (pt_gprof_shows_true(look, g)) pt_out_text(out, true_explanation);
}
