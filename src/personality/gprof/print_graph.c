/* print_graph.c: the call graph, with an entry for each function or cycle, and the index of their
 * numbers. */
#include <stdio.h>
#include <string.h>

#include "personality/gprof/print_int.h"

static const char explanation[] =
    "\n"
    " An entry stands between two lines of dashes. Its main line is the one with the number in\n"
    " brackets at its beginning: the function of which the entry tells. Above it stand those that\n"
    " called it, below it those that it called.\n"
    "\n"
    " The main line:\n"
    "     index      a number for each function, by which other entries refer to it\n"
    "     % time     how much of the whole time was spent in it and in all that it called\n"
    "     self       the time spent in the function itself\n"
    "     children   the time that its callees hand on to it\n"
    "     called     how often it was called. Calls by itself come after a '+'.\n"
    "     name       the function; of which cycle it is a member, if any; its index\n"
    "\n"
    " Callers (above):\n"
    "     self       what of the function's own time is handed on to this caller\n"
    "     children   what of its callees' time is handed on to this caller\n"
    "     called     calls by this caller / all calls but those by itself\n"
    "     A function whose callers are not known has '<spontaneous>' there.\n"
    "\n"
    " Callees (below):\n"
    "     self       what the function gets of this callee's own time\n"
    "     children   what the function gets of the time of the callee's callees\n"
    "     called     calls by the function / all calls but those of the callee by itself\n"
    "\n"
    " What is handed on is a share: that which the calls are of all calls of the callee. How\n"
    " long each of the calls really took is not known.\n"
    "\n"
    " Functions that call each other in a circle are a cycle. It has an entry of its own, with\n"
    " its members below; calls among them, after the '+', hand on no time.\n"
    "\n";

static const char true_explanation[] =
    " The column `true' is measured: the time that samples have the function on their stack, or,\n"
    " of callers and callees, both of them, one above the other.\n"
    "\n";
static const char sampled_explanation[] =
    " No profile tells how often functions were called: `called' counts samples.\n"
    "\n";

static void put_head(pt_out *out, pt_gprof_look *look, const pt_gprof *g)
{
    if (!look->traditional)
        pt_out_text(out, look->brief ? "\t\t\tCall graph\n\n"
                                     : "\t\t     Call graph (explanation follows)\n\n");
    pt_outf(out, "\ngranularity: each sample hit covers %ld byte(s)",
            2 * (long)(look->bin_bytes / 2));
    if (g->shown_ticks > 0)
        pt_outf(out, " for %.2f%% of %.2f seconds\n\n", 100 / g->shown_ticks,
                g->shown_ticks / look->rate);
    else
        pt_out_text(out, " no time propagated\n\n");
    if (!look->traditional) {
        pt_out_text(out, pt_gprof_shows_true(look, g)
                             ? "index % time    self  children  true      called     name\n"
                             : "index % time    self  children    called     name\n");
        return;
    }
    pt_outf(out, "%6.6s %5.5s %7.7s %11.11s %7.7s/%-7.7s     %-8.8s\n", "", "", "", "", "called",
            "total", "parents");
    pt_outf(out, "%-6.6s %5.5s %7.7s %11.11s %7.7s+%-7.7s %-8.8s\t%5.5s\n", "index", "%time",
            "self", "descendants", "called", "self", "name", "index");
    pt_outf(out, "%6.6s %5.5s %7.7s %11.11s %7.7s/%-7.7s     %-8.8s\n\n", "", "", "", "", "called",
            "total", "children");
}

static void put_index(pt_out *out, const pt_gprof_symbol *s)
{
    char text[16];
    size_t n = 0;
    text[n++] = ' ';
    text[n++] = s->is_shown ? '[' : '(';
    n += pt_gprof_put_count(text + n, s->number, 1, false);
    text[n++] = s->is_shown ? ']' : ')';
    pt_out_put(out, text, n);
}

void pt_gprof_put_number(pt_out *out, const pt_gprof_symbol *s)
{
    if (s->cycle != 0) pt_outf(out, " <cycle %u>", s->cycle);
    if (s->number != 0) put_index(out, s);
}

static void put_full_name(pt_out *out, const pt_gprof_look *look, pt_gprof *g,
                          const pt_gprof_symbol *s)
{
    pt_gprof_put_name(out, look, g, s);
    pt_gprof_put_number(out, s);
    pt_out_char(out, '\n');
}

/* Columns before the name. Between the times and the name are calls, a sign and more calls. */
enum { HEAD_COLUMNS = 6 + 1 + 5 + 1, SELF_COLUMNS = 7, CALLS_COLUMNS = 7, INDENT_COLUMNS = 5 };

static size_t child_columns(const pt_gprof_look *look)
{
    return look->traditional ? 11 : 7;
}

/* Puts the column of times from stacks, followed by a blank, if the column is shown. Returns the
 * number of bytes. */
static size_t put_true(char *to, const pt_gprof_look *look, const pt_gprof *g, double ticks)
{
    if (!pt_gprof_shows_true(look, g)) return 0;
    const size_t n = pt_gprof_put_fixed(to, ticks / look->rate, SELF_COLUMNS, 2);
    to[n] = ' ';
    return n + 1;
}

/* Puts an arc. Calls inside a cycle, and a function's calls of itself, pass on no times. */
static void put_arc(pt_out *out, const pt_gprof_look *look, pt_gprof *g, const pt_gprof_arc *arc,
                    bool show_caller)
{
    const pt_gprof_symbol *const from = &g->symbol.items[arc->from];
    const pt_gprof_symbol *const to = &g->symbol.items[arc->to];
    const size_t child_width = child_columns(look);
    char line[6 * PT_GPROF_NUMBER_MAX];
    size_t n = pt_gprof_put_blanks(line, HEAD_COLUMNS);
    if (arc->kind != PT_GPROF_BETWEEN) {
        n += pt_gprof_put_blanks(line + n, SELF_COLUMNS + 1 + child_width + 1);
        n += put_true(line + n, look, g, arc->true_ticks);
        n += pt_gprof_put_count(line + n, arc->calls, CALLS_COLUMNS, false);
        n += pt_gprof_put_blanks(line + n, 1 + CALLS_COLUMNS);
    } else {
        n += pt_gprof_put_fixed(line + n, arc->ticks / look->rate, SELF_COLUMNS, 2);
        line[n++] = ' ';
        n += pt_gprof_put_fixed(line + n, arc->child_ticks / look->rate, child_width, 2);
        line[n++] = ' ';
        n += put_true(line + n, look, g, arc->true_ticks);
        n += pt_gprof_put_count(line + n, arc->calls, CALLS_COLUMNS, false);
        line[n++] = '/';
        n += pt_gprof_put_count(line + n, pt_gprof_head(g, to)->calls, CALLS_COLUMNS, true);
    }
    n += pt_gprof_put_blanks(line + n, INDENT_COLUMNS);
    pt_out_put(out, line, n);
    put_full_name(out, look, g, show_caller ? from : to);
}

static void put_nobody(pt_out *out, const pt_gprof_look *look, const pt_gprof *g)
{
    char line[PT_GPROF_NUMBER_MAX];
    const size_t true_columns = pt_gprof_shows_true(look, g) ? SELF_COLUMNS + 1 : 0;
    const size_t times = SELF_COLUMNS + 1 + child_columns(look) + 1 + true_columns;
    const size_t calls = CALLS_COLUMNS + 1 + CALLS_COLUMNS;
    pt_out_put(out, line, pt_gprof_put_blanks(line, HEAD_COLUMNS + times + calls + INDENT_COLUMNS));
    pt_out_text(out, "<spontaneous>\n");
}

static void put_callers(pt_out *out, const pt_gprof_look *look, pt_gprof *g,
                        const pt_gprof_symbol *s)
{
    if (s->in_count == 0) {
        put_nobody(out, look, g);
        return;
    }
    PT_FREE uint32_t *arcs = pt_gprof_callers(g, s);
    for (uint32_t i = 0; i < s->in_count; i++)
        put_arc(out, look, g, &g->arc.items[arcs[i]], true);
}

static void put_callees(pt_out *out, const pt_gprof_look *look, pt_gprof *g,
                        const pt_gprof_symbol *s)
{
    if (s->out_count == 0) return;
    PT_FREE uint32_t *arcs = pt_gprof_callees(g, s);
    for (uint32_t i = 0; i < s->out_count; i++)
        put_arc(out, look, g, &g->arc.items[arcs[i]], false);
}

/* Writes the beginning of an entry's main line into `line`: index, share of the whole, times.
 * Returns the number of bytes. */
static size_t put_times(char *line, const pt_gprof_look *look, const pt_gprof *g,
                        const pt_gprof_symbol *s)
{
    const double whole = g->shown_ticks > 0 ? g->shown_ticks : 1;
    char number[16] = "[     ";
    size_t n = 6; /* columns of the number; a longer number is cut */
    number[1 + pt_gprof_put_count(number + 1, s->number, 1, false)] = ']';
    memcpy(line, number, n);
    line[n++] = ' ';
    n += pt_gprof_put_fixed(line + n, 100 * (s->shown_self + s->shown_child) / whole, 5, 1);
    line[n++] = ' ';
    n += pt_gprof_put_fixed(line + n, s->shown_self / look->rate, SELF_COLUMNS, 2);
    line[n++] = ' ';
    n += pt_gprof_put_fixed(line + n, s->shown_child / look->rate, child_columns(look), 2);
    line[n++] = ' ';
    return n + put_true(line + n, look, g, s->true_ticks);
}

static size_t put_self_calls(char *line, const pt_gprof_symbol *s)
{
    if (s->self_calls == 0) return pt_gprof_put_blanks(line, 1 + CALLS_COLUMNS);
    line[0] = '+';
    return 1 + pt_gprof_put_count(line + 1, s->self_calls, CALLS_COLUMNS, true);
}

static void put_main_line(pt_out *out, const pt_gprof_look *look, pt_gprof *g,
                          const pt_gprof_symbol *s)
{
    char line[6 * PT_GPROF_NUMBER_MAX];
    size_t n = put_times(line, look, g, s);
    if (s->calls + s->self_calls == 0)
        n += pt_gprof_put_blanks(line + n, CALLS_COLUMNS);
    else
        n += pt_gprof_put_count(line + n, s->calls, CALLS_COLUMNS, false);
    n += put_self_calls(line + n, s);
    line[n++] = ' ';
    pt_out_put(out, line, n);
    put_full_name(out, look, g, s);
}

static void put_cycle(pt_out *out, const pt_gprof_look *look, pt_gprof *g,
                      const pt_gprof_symbol *cycle)
{
    char line[6 * PT_GPROF_NUMBER_MAX];
    size_t n = put_times(line, look, g, cycle);
    n += pt_gprof_put_count(line + n, cycle->calls, CALLS_COLUMNS, false);
    n += put_self_calls(line + n, cycle);
    pt_out_put(out, line, n);
    pt_outf(out, " <cycle %u as a whole> [%u]\n", cycle->cycle, cycle->number);
    PT_FREE uint32_t *members = pt_gprof_members(g, cycle);
    for (uint32_t i = 0; i < cycle->member_count; i++) {
        const pt_gprof_symbol *const m = &g->symbol.items[members[i]];
        n = pt_gprof_put_blanks(line, HEAD_COLUMNS);
        n += pt_gprof_put_fixed(line + n, m->shown_self / look->rate, SELF_COLUMNS, 2);
        line[n++] = ' ';
        n += pt_gprof_put_fixed(line + n, m->shown_child / look->rate, child_columns(look), 2);
        line[n++] = ' ';
        n += put_true(line + n, look, g, m->true_ticks);
        n += pt_gprof_put_count(line + n, m->calls, CALLS_COLUMNS, false);
        n += put_self_calls(line + n, m);
        n += pt_gprof_put_blanks(line + n, INDENT_COLUMNS);
        pt_out_put(out, line, n);
        put_full_name(out, look, g, m);
    }
}

static bool has_entry(const pt_gprof_look *look, const pt_gprof *g, const pt_gprof_symbol *s)
{
    const bool is_unused =
        s->calls == 0 && s->self_calls == 0 && s->shown_self == 0 && s->shown_child == 0;
    return s->is_shown && (look->all || !is_unused) && (!g->options.by_line || s->is_function);
}

/* The data that an entry will need is prefetched in three steps: its arcs, then the symbols at
 * their other ends, then the names of these. */
typedef enum { ARCS, ENDS, NAMES } expected;

static void expect_arcs(const pt_gprof *g, const uint32_t *arcs, uint32_t count, bool callers,
                        expected what)
{
    enum { MOST = 16 };
    for (uint32_t i = 0; i < count && i < MOST; i++) {
        const pt_gprof_arc *const arc = &g->arc.items[arcs[i]];
        if (what == ARCS) {
            __builtin_prefetch(arc);
            continue;
        }
        const uint32_t end = callers ? arc->from : arc->to;
        if (what == ENDS)
            pt_gprof_expect(g, end);
        else
            pt_gprof_expect_name(g, end);
    }
}

static void expect_entry(const pt_gprof *g, size_t place, expected what)
{
    if (place >= g->symbol.count + g->cycle_count) return;
    const pt_gprof_symbol *const s = &g->symbol.items[g->by_total[place]];
    expect_arcs(g, g->in + s->first_in, s->in_count, true, what);
    expect_arcs(g, g->out + s->first_out, s->out_count, false, what);
}

static void expect_entries(const pt_gprof *g, size_t place)
{
    enum { SYMBOLS_AHEAD = 12, ARCS_AHEAD = 8, ENDS_AHEAD = 5, NAMES_AHEAD = 2 };
    if (place + SYMBOLS_AHEAD < g->symbol.count + g->cycle_count) {
        const uint32_t symbol = g->by_total[place + SYMBOLS_AHEAD];
        pt_gprof_expect(g, symbol);
        __builtin_prefetch(&g->symbol.items[symbol].shown_self);
        __builtin_prefetch(&g->symbol.items[symbol].first_out);
    }
    expect_entry(g, place + ARCS_AHEAD, ARCS);
    expect_entry(g, place + ENDS_AHEAD, ENDS);
    expect_entry(g, place + NAMES_AHEAD, NAMES);
}

void pt_gprof_graph_text(pt_out *out, pt_gprof_look *look, pt_gprof *g)
{
    if (look->traditional && !look->brief) pt_out_text(out, explanation);
    pt_gprof_begin_output(out, look);
    put_head(out, look, g);
    for (size_t i = 0; i < g->symbol.count + g->cycle_count; i++) {
        const pt_gprof_symbol *const s = &g->symbol.items[g->by_total[i]];
        expect_entries(g, i);
        if (!has_entry(look, g, s)) continue;
        if (s->name == NULL) {
            put_cycle(out, look, g, s);
        } else {
            put_callers(out, look, g, s);
            put_main_line(out, look, g, s);
            put_callees(out, look, g, s);
        }
        if (look->traditional) pt_out_char(out, '\n');
        pt_out_text(out, "-----------------------------------------------\n");
        if (look->traditional) pt_out_char(out, '\n');
    }
    if (look->brief || look->traditional) return;
    pt_out_text(out, explanation);
    if (pt_gprof_shows_true(look, g)) pt_out_text(out, true_explanation);
    if (g->is_sampled) pt_out_text(out, sampled_explanation);
}

/* ---- The index ---- */

bool *pt_gprof_indexed(const pt_gprof_look *look, const pt_gprof *g)
{
    bool *const indexed = pt_alloc(g->symbol.count + 1, sizeof *indexed);
    for (size_t i = 0; i < g->symbol.count; i++) {
        const pt_gprof_symbol *const s = &g->symbol.items[i];
        indexed[i] = look->all || s->calls != 0 || s->ticks != 0;
    }
    return indexed;
}

typedef struct {
    size_t column, begin; /* columns printed of the line; the column where the field begins */
} place;

static void put_field(pt_out *out, const pt_gprof_look *look, pt_gprof *g, const pt_gprof_symbol *s,
                      place *at)
{
    char number[16], cycle[32];
    const bool is_cycle = s->name == NULL;
    if (is_cycle) snprintf(cycle, sizeof cycle, "<cycle %u>", s->cycle);
    if (look->traditional) {
        snprintf(number, sizeof number, s->is_shown ? "[%u]" : "(%u)", s->number);
        pt_outf(out, "%6.6s %-19.19s", number, is_cycle ? cycle : s->name);
        return;
    }
    char digits[12];
    const size_t count = 2 + pt_gprof_put_count(digits, s->number, 1, false);
    for (at->column += count; at->column < at->begin + 5; at->column++)
        pt_out_char(out, ' ');
    put_index(out, s);
    pt_out_char(out, ' ');
    if (is_cycle) {
        pt_out_text(out, cycle);
        at->column += strlen(cycle);
        return;
    }
    at->column += pt_gprof_put_name(out, look, g, s);
    if (g->options.by_line || !s->is_static || s->file == PT_NONE) return;
    const char *const file = pt_gprof_file_text(look, g, s->file);
    pt_outf(out, " (%s)", file);
    at->column += strlen(file) + 3;
}

void pt_gprof_index_text(pt_out *out, pt_gprof_look *look, pt_gprof *g)
{
    PT_FREE bool *indexed = pt_gprof_indexed(look, g);
    PT_FREE uint32_t *list = pt_alloc(g->symbol.count + g->cycle_count + 1, sizeof *list);
    size_t count = 0;
    for (uint32_t i = 0; i < g->symbol.count; i++)
        if (indexed[g->by_name[i]]) list[count++] = g->by_name[i];
    for (uint32_t i = 0; i < g->cycle_count; i++)
        list[count++] = (uint32_t)g->symbol.count + i;
    pt_gprof_put_page_break(out);
    pt_out_text(out, "Index by function name\n\n");
    const size_t rows = (count + 2) / 3, column_width = (look->width - 1) / 3;
    for (size_t row = 0; row < rows; row++) {
        place at = {0};
        for (size_t i = row; i < count; i += rows) {
            if (i + PT_GPROF_SOON < count) {
                pt_gprof_expect(g, list[i + PT_GPROF_SOON]);
                pt_gprof_expect_name(g, list[i + PT_GPROF_VERY_SOON]);
            }
            put_field(out, look, g, &g->symbol.items[list[i]], &at);
            at.begin += column_width;
        }
        pt_out_char(out, '\n');
    }
}
