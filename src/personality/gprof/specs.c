/* specs.c: finds the symbols that specs ("FILE.c:FUNCTION", "FROM/TO") name.
 *
 * A side of a spec is split at its last colon. The text after the colon is a line if it begins with
 * a digit, else a function. Without a colon, a text with a dot is a file; another text is a line if
 * it begins with a digit, else a function. Files are compared by their base names, since debug
 * information spells folders in many ways. Rule: the GNU gprof manual, "Symspecs".
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/grow.h"
#include "base/plain/ascending.h"
#include "personality/gprof/gprof_int.h"

typedef struct {
    char *text; /* the memory of the other texts */
    const char *file, *name;
    unsigned long line;
} side;

static void set_function_or_line(side *s, const char *word)
{
    if (isdigit((unsigned char)word[0]))
        s->line = strtoul(word, NULL, 10);
    else if (word[0] != '\0')
        s->name = word;
}

static side side_of(const char *text, size_t size)
{
    side s = {.text = pt_strndup(text, size)};
    char *const colon = strrchr(s.text, ':');
    if (colon != NULL) {
        *colon = '\0';
        if (colon > s.text) s.file = s.text;
        set_function_or_line(&s, colon + 1);
    } else if (strchr(s.text, '.') != NULL) {
        s.file = s.text;
    } else {
        set_function_or_line(&s, s.text);
    }
    return s;
}

static bool side_matches(const pt_gprof *g, const side *s, const pt_gprof_symbol *symbol)
{
    if (s->line != 0 && s->line != symbol->line) return false;
    if (s->file == NULL) return true;
    return symbol->file != PT_NONE &&
           strcmp(s->file, pt_base_name(g->file.items[symbol->file])) == 0;
}

/* The index in by_name of the first symbol with the name; if `behind` is true, the index after the
 * last symbol with the name.
 */
static size_t place_of(const pt_gprof *g, const char *name, bool behind)
{
    return PT_FIRST_WHERE(i, g->symbol.count,
                          strcmp(g->symbol.items[g->by_name[i]].name, name) >= (behind ? 1 : 0));
}

uint32_t pt_gprof_named(const pt_gprof *g, const char *name)
{
    const size_t first = place_of(g, name, false);
    if (first == g->symbol.count) return PT_NONE;
    const uint32_t symbol = g->by_name[first];
    return strcmp(g->symbol.items[symbol].name, name) == 0 ? symbol : PT_NONE;
}

/* The symbols that one side of a spec names. */
static bool *match_symbols(const pt_gprof *g, const char *text, size_t size)
{
    const side s = side_of(text, size);
    const size_t first = s.name != NULL ? place_of(g, s.name, false) : 0;
    const size_t end = s.name != NULL ? place_of(g, s.name, true) : g->symbol.count;
    bool *const named = pt_alloc(g->symbol.count + 1, sizeof *named);
    for (size_t i = first; i < end; i++)
        named[g->by_name[i]] = side_matches(g, &s, &g->symbol.items[g->by_name[i]]);
    free(s.text);
    return named;
}

/* Returns the end address of the run of named symbols that begins at *at, and moves *at to the
 * index after the run. gprof keeps each run as one range of code, which ends with its last symbol.
 * With --line a function's range reaches over its lines, so a run that ends with a line may end
 * before the function ends. */
static uint64_t end_of_run(const pt_gprof *g, const bool *named, size_t *at)
{
    while (*at + 1 < g->symbol.count && named[*at + 1])
        ++*at;
    return g->symbol.items[(*at)++].end_addr;
}

/* Puts a symbol into the table if the last named run that begins at or before the symbol contains
 * the symbol's beginning. Returns the number of runs. */
static uint32_t mark_symbols(pt_gprof *g, const bool *named, pt_gprof_table table)
{
    uint32_t runs = 0;
    uint64_t end_addr = 0;
    for (size_t i = 0, behind = 0; i < g->symbol.count; i++) {
        if (i >= behind && named[i]) {
            behind = i;
            end_addr = end_of_run(g, named, &behind);
            runs++;
        }
        if (runs > 0 && g->symbol.items[i].addr <= end_addr)
            g->symbol.items[i].tables |= (uint16_t)(1u << table);
    }
    return runs;
}

/* Flags the symbols whose first byte, or with `whole` whose last byte, lies in a named run. */
static void flag_symbols(const pt_gprof *g, const bool *named, bool whole, bool *flags)
{
    bool any = false;
    uint64_t reach = 0;
    for (size_t i = 0, behind = 0; i < g->symbol.count; i++) {
        const pt_gprof_symbol *const s = &g->symbol.items[i];
        if (i >= behind && named[i]) {
            behind = i;
            const uint64_t end_addr = end_of_run(g, named, &behind);
            reach = any && reach > end_addr ? reach : end_addr;
            any = true;
        }
        flags[i] = any && (whole ? s->end_addr : s->addr) <= reach;
    }
}

void pt_gprof_match_specs(pt_gprof *g)
{
    const size_t count = g->symbol.count;
    for (size_t i = 0; i < g->options.spec_count; i++) {
        const pt_gprof_spec *const spec = &g->options.spec[i];
        const char *const slash = strchr(spec->text, '/');
        const size_t bytes = slash != NULL ? (size_t)(slash - spec->text) : strlen(spec->text);
        PT_FREE bool *from = match_symbols(g, spec->text, bytes);
        g->table_counts[spec->table] += mark_symbols(g, from, spec->table);
        if (slash == NULL) continue;
        PT_FREE bool *to = match_symbols(g, slash + 1, strlen(slash + 1));
        bool *const sides = pt_alloc(2 * count + 1, sizeof *sides);
        flag_symbols(g, from, false, sides);
        flag_symbols(g, to, true, sides + count);
        PT_PUSH(g->arc_spec, (pt_gprof_arc_spec){spec->table, sides, sides + count});
    }
}

static bool in_arcs(const pt_gprof *g, pt_gprof_table table, uint32_t from, uint32_t to)
{
    for (size_t i = 0; i < g->arc_spec.count; i++) {
        const pt_gprof_arc_spec *const spec = &g->arc_spec.items[i];
        if (spec->table == table && spec->from[from] && spec->to[to]) return true;
    }
    return false;
}

bool pt_gprof_wants_arc(const pt_gprof *g, uint32_t from, uint32_t to)
{
    if (g->table_counts[PT_GPROF_SHOW_ARCS] > 0) return in_arcs(g, PT_GPROF_SHOW_ARCS, from, to);
    return g->table_counts[PT_GPROF_HIDE_ARCS] == 0 || !in_arcs(g, PT_GPROF_HIDE_ARCS, from, to);
}
