/* gprof_text.c: reads gprof's report: the flat profile, the call graph, or both.
 *
 *   Each sample counts as 0.01 seconds.
 *     %   cumulative   self              self     total
 *    time   seconds   seconds    calls  us/call  us/call  name
 *    62.50      0.30     0.30     2201   136.30   136.30  leaf          a row of the flat profile
 *    37.50      0.48     0.18                             main          without a count of calls
 *
 *   index % time    self  children    called     name
 *                   0.00    0.30    2200/2201        even <cycle 1> [4]       a caller
 *                                    900             fact [7]             a call without time
 *   [1]    100.0    0.18    0.30       1+20      main [1]                    the entry's function
 *                   0.30    0.00    2201/2201        leaf [2]                         a callee
 *   -----------------------------------------------
 *
 * Rule: the GNU gprof manual ("Flat Profile", "Call Graph"), and the output of gprof 2.40, also
 * with -b, -l (names end in "(file.c:12 @ 11c9)"), -c and -T (old BSD's columns).
 *
 * A function's time and calls become a sample with a single frame; a call becomes an arc. The flat
 * profile has precedence; functions missing in it are taken from the graph. An arc is in two
 * entries of the graph and is read from one of them; the number in brackets distinguishes functions
 * with the same name. Entries of cycles repeat the data of their members and are ignored; so is the
 * text around the tables. */
#include "base/text.h"
#include "formats/format.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "base/grow.h"
#include "base/hash.h"
#include "base/saturate.h"
#include "base/units.h"
#include "formats/legacy.h"

enum {
    DECIMALS = 9, /* decimals kept of a number */
    /* blanks of the format " %8s %8s %8s  " for a function without calls */
    NO_CALLS_BLANKS = 29,
    SEPARATOR_BYTES = 20, /* minimum; gprof prints 47 */
};
#define ONE 1000000000 /* 1 with DECIMALS decimals */

typedef enum { TABLE_NONE, TABLE_FLAT, TABLE_GRAPH, TABLE_AFTER_GRAPH } table;

/* The times and calls of a function, in the flat profile or in the entries of the call graph. */
typedef struct {
    bool is_there; /* the table has the function */
    int64_t self;  /* in units of 1/ONE of the dimension */
    int64_t calls;
} figures;

typedef struct {
    figures flat, graph;
    int64_t known_calls; /* calls whose caller is in the graph, without recursive calls */
} function_row;          /* index: location */

/* A function in the graph. */
typedef struct {
    uint32_t location;
    uint32_t number; /* number in brackets; 0 = none */
} subject;

typedef struct {
    subject from, to;
    int64_t calls, cost;
} call_row;

typedef struct {
    pt_builder *b;
    const pt_read_hooks *hooks;
    PT_VECTOR(function_row) function;
    PT_VECTOR(call_row) call;
    pt_index call_index;        /* current graph: pair of numbers -> call */
    PT_VECTOR(call_row) caller; /* the current entry's callers before its own row */
    subject here;               /* function of the current entry */
    bool has_here, in_entry, is_cycle;
    table table;
    pt_span dimension;
    double each; /* value of one sample, such as 0.01 seconds; 0 = unknown */
    bool has_table;
    uint64_t line_number, bad_lines, first_bad, differing, never_called;
} gprof_reader;

/* ---- Words and numbers ---- */

/* Parses "12.34" or "-0.00"; *ret_value is 0 for "nan", which is the share of a total of 0. */
static bool take_decimal(pt_span *s, int64_t *ret_value)
{
    pt_span word, fraction;
    pt_span rest = *s;
    if (!pt_span_word(&rest, &word)) return false;
    const bool negative = pt_span_skip(&word, "-");
    *ret_value = 0;
    if (!pt_span_is(word, "nan")) {
        int64_t whole, part = 0;
        if (!pt_span_number(&word, false, &whole) || !pt_span_skip(&word, ".")) return false;
        fraction = word;
        if (!pt_span_number(&word, false, &part) || word.size > 0 || fraction.size > DECIMALS)
            return false;
        for (size_t digits = fraction.size; digits < DECIMALS; digits++)
            part *= 10;
        *ret_value = pt_saturating_add(pt_saturating_product((uint64_t)whole, ONE), part);
        if (negative)
            *ret_value = 0; /* rounding in gprof's sums can give a small negative number */
    }
    *s = rest;
    return true;
}

static bool take_count(pt_span *s, int64_t *ret_value)
{
    pt_span_skip_blanks(s);
    return pt_span_number(s, false, ret_value);
}

/* ---- Headers ---- */

/* Is the line the second of a flat profile's head, "time seconds seconds calls us/call us/call
 * name"? */
static bool is_flat_head(pt_span line)
{
    pt_span word, last = {0};
    bool has_calls = false;
    pt_span_skip_blanks(&line);
    if (!pt_span_begins(line, "time")) return false;
    for (unsigned n = 0; pt_span_word(&line, &word); n++) {
        if (n == 0 && !pt_span_is(word, "time")) return false;
        has_calls |= n > 1 && pt_span_is(word, "calls");
        last = word;
    }
    return has_calls && pt_span_is(last, "name");
}

/* Is the line the head of a call graph, "index % time self children called name" (with -T "%time",
 * "descendents" and "called+self")? */
static bool is_graph_head(pt_span line)
{
    pt_span word;
    bool self = false, called = false, name = false;
    pt_span_skip_blanks(&line);
    if (!pt_span_begins(line, "index")) return false;
    for (unsigned n = 0; pt_span_word(&line, &word); n++) {
        if (n == 0 && !pt_span_is(word, "index")) return false;
        if (n == 1 && *word.at != '%') return false;
        self |= pt_span_is(word, "self");
        called |= self && pt_span_begins(word, "called");
        name |= called && pt_span_is(word, "name");
    }
    return name;
}

/* Length of the text: bytes before the first control character. */
static size_t text_bytes(const uint8_t *data, size_t size)
{
    size_t bytes = 0;
    while (bytes < size && (data[bytes] >= ' ' || (data[bytes] >= '\t' && data[bytes] <= '\r')))
        bytes++;
    return bytes;
}

static int probe_gprof_text(const pt_probe_input *input)
{
    pt_reader r;
    pt_span line, word;
    bool is_after_head = false;
    const size_t bytes = text_bytes(input->head, input->head_bytes);
    if (memmem(input->head, bytes, "umulative", 9) == NULL &&
        memmem(input->head, bytes, "called", 6) == NULL)
        return 0; /* neither head: most files are rejected without a search of their lines */
    pt_reader_init(&r, input->head, bytes, NULL);
    while (pt_span_line(&r, &line)) {
        if (is_graph_head(line) || (is_after_head && is_flat_head(line))) return 90;
        is_after_head = pt_span_word(&line, &word) && *word.at == '%' &&
                        memmem(line.at, line.size, "umulative", 9) != NULL;
    }
    return 0;
}

/* Parses "Each sample counts as 0.01 seconds." or "granularity: ... for 2.08% of 0.48 seconds". */
static void take_dimension(gprof_reader *g, pt_span line)
{
    pt_span word = {0}, rest = line;
    line = pt_span_trim(line);
    if (pt_span_skip(&line, "Each sample counts as ")) {
        if (!pt_span_word(&line, &word)) return;
        PT_FREE char *number = pt_strndup(word.at, word.size);
        double each;
        if (pt_parse_double(number, &each, NULL) != PT_OK || !(each >= 1.0 / ONE && each <= ONE))
            return;
        g->each = each;
        g->dimension = pt_span_trim(line);
        if (g->dimension.size > 0 && g->dimension.at[g->dimension.size - 1] == '.')
            g->dimension.size--;
    } else if (g->dimension.size == 0 && pt_span_begins(line, "granularity: ") &&
               memmem(line.at, line.size, "% of ", 5) != NULL) {
        while (pt_span_word(&rest, &word))
            g->dimension = word;
    }
}

/* ---- Names ---- */

/* Parses and removes " [12]" or " (12)" at the end: the number of an entry, which is printed or
 * omitted. */
static bool take_number(pt_span *name, uint32_t *ret_number)
{
    *ret_number = 0;
    size_t at = name->size;
    if (at < 4 || (name->at[at - 1] != ']' && name->at[at - 1] != ')')) return false;
    const char open = name->at[--at] == ']' ? '[' : '(';
    uint64_t number = 0, scale = 1;
    for (; at > 0 && name->at[at - 1] >= '0' && name->at[at - 1] <= '9'; at--, scale *= 10) {
        number += (uint64_t)(name->at[at - 1] - '0') * scale;
        if (number > UINT32_MAX || scale > UINT32_MAX) return false;
    }
    if (number == 0 || at < 2 || name->at[at - 1] != open || name->at[at - 2] != ' ') return false;
    name->size = at - 2;
    *ret_number = (uint32_t)number;
    return true;
}

/* Removes " <cycle 3>" at the end. */
static void take_cycle(pt_span *name)
{
    static const char begin[] = " <cycle ";
    if (name->size == 0 || name->at[name->size - 1] != '>') return;
    size_t at = name->size - 1;
    while (at > 0 && name->at[at - 1] >= '0' && name->at[at - 1] <= '9')
        at--;
    if (at < sizeof begin || at + 1 == name->size) return;
    at -= sizeof begin - 1;
    if (memcmp(name->at + at, begin, sizeof begin - 1) == 0) name->size = at;
}

/* Parses and removes " (file.c:12 @ 11c9)" or " (file.c:12)" at the end, which -l and
 * --inline-file-names print. */
static void take_place(pt_span *name, pt_span *ret_file, int64_t *ret_line, uint64_t *ret_address)
{
    const char *const open = name->size > 0 ? memrchr(name->at, '(', name->size) : NULL;
    if (open == NULL || open < name->at + 2 || open[-1] != ' ' || name->at[name->size - 1] != ')')
        return;
    const pt_span inside = {open + 1, (size_t)(name->at + name->size - 1 - (open + 1))};
    const char *const colon = memrchr(inside.at, ':', inside.size);
    if (colon == NULL || colon == inside.at) return;
    pt_span rest = {colon + 1, (size_t)(inside.at + inside.size - (colon + 1))};
    int64_t line;
    uint64_t address = 0;
    if (!pt_span_number(&rest, false, &line)) return;
    if (pt_span_skip(&rest, " @ ")) {
        PT_FREE char *digits = pt_strndup(rest.at, rest.size);
        char *end;
        address = strtoull(digits, &end, 16);
        if (end == digits || *end != '\0') return;
    } else if (rest.size > 0) {
        return;
    }
    *ret_file = (pt_span){inside.at, (size_t)(colon - inside.at)};
    *ret_line = line;
    *ret_address = address;
    name->size = (size_t)(open - 1 - name->at);
}

/* Adds the function of a name at the end of a line; false if there is none. */
static bool take_subject(gprof_reader *g, pt_span name, subject *ret)
{
    pt_span file = {"", 0};
    pt_line line = {0};
    pt_location location = {.mapping = PT_NONE};
    name = pt_span_trim(name);
    take_number(&name, &ret->number);
    take_cycle(&name);
    take_place(&name, &file, &line.line, &location.address);
    if (name.size == 0) return false;
    const pt_function function = {.name = pt_builder_string(g->b, name.at, name.size).v,
                                  .file = pt_builder_string(g->b, file.at, file.size).v};
    line.function = pt_builder_function(g->b, &function).v;
    ret->location = pt_builder_location(g->b, &location, &line, 1).v;
    const size_t old = g->function.count;
    if (ret->location >= old) {
        g->function.count = (size_t)ret->location + 1;
        PT_GROW(g->function, g->function.count);
        memset(g->function.items + old, 0, (g->function.count - old) * sizeof *g->function.items);
    }
    return true;
}

static void add_figures(figures *f, int64_t self, int64_t calls)
{
    f->is_there = true;
    pt_saturating_into(&f->self, self);
    pt_saturating_into(&f->calls, calls);
}

/* ---- The flat profile ---- */

static bool flat_row(gprof_reader *g, pt_span line)
{
    int64_t percent, cumulative, self, calls = 0, per_call;
    subject s;
    if (!take_decimal(&line, &percent) || !take_decimal(&line, &cumulative) ||
        !take_decimal(&line, &self))
        return false;
    size_t blanks = 0;
    while (blanks < line.size && pt_is_blank(line.at[blanks]))
        blanks++;
    if (blanks < NO_CALLS_BLANKS &&
        (!take_count(&line, &calls) || !take_decimal(&line, &per_call) ||
         !take_decimal(&line, &per_call)))
        return false;
    if (!take_subject(g, line, &s)) return false;
    add_figures(&g->function.items[s.location].flat, self, calls);
    return true;
}

/* ---- The call graph ---- */

static void add_call(gprof_reader *g, const call_row *call)
{
    if (call->calls == 0) { /* with -c: a call that is in the code, but did not happen */
        g->never_called++;
        return;
    }
    const uint64_t hash = pt_hash_u32_pair(call->from.number, call->to.number);
    const uint32_t found = PT_INDEX_FIND(&g->call_index, hash, id,
                                         g->call.items[id].from.number == call->from.number &&
                                             g->call.items[id].to.number == call->to.number);
    if (found != PT_NONE) {
        g->differing += g->call.items[found].calls != call->calls;
        return;
    }
    PT_INDEX_PUSH(&g->call_index, hash, g->call, *call);
    if (call->from.number != call->to.number)
        pt_saturating_into(&g->function.items[call->to.location].known_calls, call->calls);
}

/* Parses an entry's own row, "[4]  50.0  0.00  0.24  1100+20  even <cycle 1> [4]". */
static bool read_entry_row(gprof_reader *g, pt_span line)
{
    pt_span word;
    int64_t percent, self, children, calls = 0, own;
    if (g->has_here || !pt_span_word(&line, &word) || !take_decimal(&line, &percent) ||
        !take_decimal(&line, &self) || !take_decimal(&line, &children))
        return false;
    if (take_count(&line, &calls) && pt_span_skip(&line, "+") &&
        !pt_span_number(&line, false, &own))
        return false;
    line = pt_span_trim(line);
    g->has_here = true;
    g->is_cycle = pt_span_begins(line, "<cycle ");
    if (g->is_cycle) return true;
    if (!take_subject(g, line, &g->here) || g->here.number == 0) {
        g->is_cycle = true; /* calls without a function */
        return false;
    }
    add_figures(&g->function.items[g->here.location].graph, self, calls);
    for (size_t i = 0; i < g->caller.count; i++) {
        g->caller.items[i].to = g->here;
        add_call(g, &g->caller.items[i]);
    }
    return true;
}

/* Parses "0.00  0.46  100/100  even <cycle 1> [4]", a caller or a callee of the entry's function.
 */
static bool call_line(gprof_reader *g, pt_span line)
{
    int64_t self = 0, children = 0, all;
    subject other;
    call_row call = {.calls = 0};
    if (pt_span_is(line, "<spontaneous>")) return !g->has_here;
    if (take_decimal(&line, &self) && !take_decimal(&line, &children)) return false;
    if (!take_count(&line, &call.calls)) return false;
    const bool has_all = pt_span_skip(&line, "/") || pt_span_skip(&line, "+");
    if ((has_all && !pt_span_number(&line, false, &all)) || line.size == 0 ||
        !pt_is_blank(*line.at))
        return false;
    line = pt_span_trim(line);
    if (g->is_cycle || pt_span_begins(line, "<cycle ")) return true;
    if (!take_subject(g, line, &other) || other.number == 0) return false;
    call.cost = pt_saturating_add(self, children);
    call.from = g->has_here ? g->here : other;
    call.to = other;
    if (g->has_here) {
        add_call(g, &call);
        return true;
    }
    PT_PUSH(g->caller, call);
    return true;
}

static bool is_separator(pt_span line)
{
    size_t dashes = 0;
    while (dashes < line.size && line.at[dashes] == '-')
        dashes++;
    return dashes == line.size && dashes >= SEPARATOR_BYTES;
}

/* ---- The whole file ---- */

static void note_bad(gprof_reader *g)
{
    if (g->bad_lines++ == 0) g->first_bad = g->line_number;
}

static void graph_line(gprof_reader *g, pt_span line)
{
    line = pt_span_trim(line);
    if (line.size == 0 || pt_span_begins(line, "called/total "))
        return; /* -T: further lines of the head */
    if (is_separator(line)) {
        if (g->in_entry && !g->has_here) note_bad(g); /* callers without a callee */
        g->in_entry = g->has_here = g->is_cycle = false;
        g->caller.count = 0;
        return;
    }
    if (line.at[0] == '[' ? read_entry_row(g, line) : call_line(g, line))
        g->in_entry = true;
    else if (g->in_entry)
        note_bad(g);
    else
        g->table = TABLE_AFTER_GRAPH;
}

/* Ends a table. The graph's last entry ends in a line of dashes. */
static void end_table(gprof_reader *g)
{
    if (g->table == TABLE_GRAPH && g->in_entry) note_bad(g);
    g->table = TABLE_NONE;
}

static void read_lines(gprof_reader *g, pt_reader *lines)
{
    pt_span line, word = {0};
    while (pt_span_line(lines, &line)) {
        g->line_number++;
        const bool is_flat = is_flat_head(line), is_graph = is_graph_head(line);
        if (is_flat || is_graph || (line.size > 0 && *line.at == '\f')) end_table(g);
        if (is_graph) {
            pt_index_done(&g->call_index);
            pt_index_init(&g->call_index);
            g->in_entry = g->has_here = g->is_cycle = false;
            g->caller.count = 0;
        }
        if (is_flat || is_graph) {
            g->table = is_flat ? TABLE_FLAT : TABLE_GRAPH;
            g->has_table = true;
            continue;
        }
        pt_span rest = line;
        const bool is_empty = !pt_span_word(&rest, &word);
        if (g->table == TABLE_FLAT && is_empty)
            g->table = TABLE_NONE;
        else if (g->table == TABLE_FLAT && !flat_row(g, line))
            note_bad(g);
        else if (g->table == TABLE_GRAPH)
            graph_line(g, line);
        else if (g->table == TABLE_AFTER_GRAPH && is_separator(pt_span_trim(line)))
            note_bad(g); /* the graph goes on, so the line that seemed to end it was damaged */
        else if (g->table != TABLE_FLAT)
            take_dimension(g, line);
    }
    end_table(g);
}

/* ---- The profile ---- */

/* The profile's events, and the conversion of the report's numbers to values. */
typedef struct {
    uint32_t count, calls, time; /* time: PT_NONE = none */
    uint32_t samples;
    double time_factor, samples_factor; /* factors for 1/ONE of the dimension */
} value_plan;

static int64_t scaled_by(int64_t value, double factor)
{
    const double product = round((double)value * factor);
    return product < 0x1p63 ? (int64_t)product : INT64_MAX;
}

static uint32_t add_event(gprof_reader *g, const char *type, const char *unit, int64_t period)
{
    const pt_event event = {.type = pt_builder_text(g->b, type).v,
                            .unit = pt_builder_text(g->b, unit).v,
                            .period = period,
                            .rate_hz = period > 0 ? ONE / (double)period : 0};
    return pt_builder_event(g->b, &event);
}

/* Adds the events that gmon.out's reader adds: samples and CPU time, or samples of another
 * dimension. */
static value_plan add_events(gprof_reader *g)
{
    value_plan plan = {.time = PT_NONE, .samples = PT_NONE};
    if (g->dimension.size == 0) g->dimension = (pt_span){"seconds", 7};
    PT_FREE char *dimension = pt_strndup(g->dimension.at, g->dimension.size);
    const pt_unit *const unit = pt_unit_parse(dimension);
    const bool is_time = unit != NULL && unit->family == PT_FAMILY_TIME;
    const double rate = g->each > 0 ? round(1 / g->each) : 0;
    plan.samples_factor = g->each > 0 ? 1 / g->each / ONE : 1.0 / ONE;
    plan.calls = add_event(g, "calls", "count", 0);
    if (!is_time) {
        PT_FREE char *other = rate > 1 ? pt_strf("1/%.0f %s", rate, dimension) : NULL;
        plan.samples = add_event(g, "samples", other ? other : dimension, 0);
    } else {
        pt_provenance *const p = pt_builder_provenance(g->b);
        if (g->each > 0) plan.samples = add_event(g, "samples", "count", 0);
        plan.time_factor = unit->factor / ONE;
        p->period_type = pt_builder_text(g->b, "cpu").v;
        p->period_unit = pt_builder_text(g->b, "nanoseconds").v;
        p->has_period_type = true;
        p->period = g->each > 0 ? scaled_by(1, g->each * unit->factor) : 0;
        plan.time = add_event(g, "cpu", "nanoseconds", p->period);
    }
    plan.count = pt_builder_event_count(g->b);
    return plan;
}

static void set_values(const value_plan *plan, int64_t self, int64_t calls, int64_t *values)
{
    values[plan->calls] = calls;
    if (plan->samples != PT_NONE) values[plan->samples] = scaled_by(self, plan->samples_factor);
    if (plan->time != PT_NONE) values[plan->time] = scaled_by(self, plan->time_factor);
}

/* Adds the calls. Calls that only the flat profile has get an unknown caller. */
static void put_calls(gprof_reader *g, const value_plan *plan)
{
    int64_t values[3];
    for (size_t i = 0; i < g->call.count; i++) {
        const call_row *const call = &g->call.items[i];
        set_values(plan, call->cost, 0, values); /* the time includes that of the callee's calls */
        pt_builder_arc(g->b, (pt_location_id){call->from.location},
                       (pt_location_id){call->to.location}, (uint64_t)call->calls, values);
    }
    set_values(plan, 0, 0, values);
    for (uint32_t i = 0; i < g->function.count; i++) {
        const function_row *const row = &g->function.items[i];
        if (row->flat.calls <= row->known_calls) continue;
        const pt_location nobody = {.mapping = PT_NONE};
        pt_builder_arc(g->b, pt_builder_location(g->b, &nobody, NULL, 0), (pt_location_id){i},
                       (uint64_t)(row->flat.calls - row->known_calls), values);
    }
}

static void put_rows(gprof_reader *g)
{
    int64_t values[3];
    const value_plan plan = add_events(g);
    for (uint32_t i = 0; i < g->function.count; i++) {
        const function_row *const row = &g->function.items[i];
        const figures *const f = row->flat.is_there ? &row->flat : &row->graph;
        if (f->self == 0 && f->calls == 0) continue;
        set_values(&plan, f->self, f->calls, values);
        pt_builder_add(g->b, pt_builder_stack(g->b, &i, 1, PT_STACK_END_UNKNOWN), PT_NO_LABELS,
                       values);
    }
    put_calls(g, &plan);
}

static pt_status gprof_read(pt_reader *reader, pt_builder *builder, const pt_read_hooks *hooks,
                            pt_error *reterr)
{
    gprof_reader g = {.b = builder, .hooks = hooks};
    pt_status status = PT_OK;
    pt_index_init(&g.call_index);
    read_lines(&g, reader);
    put_rows(&g);
    pt_diag *const diag = g.hooks->diag;
    pt_diag_add(diag, g.never_called, "calls with a count of 0 left out");
    pt_diag_add(diag, g.differing,
                "calls with different numbers in the caller's and the callee's entry");
    if (!g.has_table)
        status = pt_error_set(reterr, PT_ERR_FORMAT, "neither a flat profile nor a call graph");
    else if (g.bad_lines > 0)
        status = pt_error_set(reterr, PT_ERR_DAMAGED,
                              "%s of its tables not understood (the first is line %" PRIu64
                              "); kept %s, %s",
                              pt_count_noun(g.bad_lines, "lines").text, g.first_bad,
                              pt_count_noun(pt_builder_sample_count(builder), "functions").text,
                              pt_count_noun(g.call.count, "calls").text);
    pt_index_done(&g.call_index);
    PT_FREE_ALL(g.function.items, g.call.items, g.caller.items);
    return status;
}

const pt_format pt_format_gprof_text = {
    .name = "gprof-text",
    .aliases = "gprof-report",
    .summary = "gprof's report: flat profile, call graph",
    .kind = PT_PROBE_HEURISTIC,
    .capabilities = PT_CAN_CALLS | PT_CAN_EVENTS | PT_CAN_LINES | PT_CAN_ADDRESSES | PT_CAN_ARCS |
                    PT_CAN_NAMES | PT_CAN_UNITS | PT_CAN_HEADER,
    .probe = probe_gprof_text,
    .read = gprof_read,
};
