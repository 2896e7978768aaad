/* specs.c: "FILE.c:FUNCTION", "FROM/TO" and the like -> the symbols that are meant.
 *
 * A side of a spec is split at its last colon; what begins with a digit there is a line. Without a
 * colon a word with a dot is a file, with a digit first a line, else a function. Files are compared
 * by their last part, since nobody knows how debug information spells the whole. Rule: the GNU
 * gprof manual, "Symspecs".
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/grow.h"
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

/* The lower bound of the name in by_name; with `behind` its upper bound. */
static size_t place_of(const pt_gprof *g, const char *name, bool behind)
{
    size_t low = 0, high = g->symbol.count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        const int order = strcmp(g->symbol.items[g->by_name[middle]].name, name);
        if (order < 0 || (behind && order == 0))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

uint32_t pt_gprof_named(const pt_gprof *g, const char *name)
{
    const size_t first = place_of(g, name, false);
    if (first == g->symbol.count) return PT_NONE;
    const uint32_t symbol = g->by_name[first];
    return strcmp(g->symbol.items[symbol].name, name) == 0 ? symbol : PT_NONE;
}

/* Sets `bit` in the tables of the matching symbols and flags them in marks, unless that is NULL.
 * Returns their number. */
static uint32_t mark_symbols(pt_gprof *g, const char *text, size_t size, uint16_t bit, bool *marks)
{
    const side s = side_of(text, size);
    const size_t first = s.name != NULL ? place_of(g, s.name, false) : 0;
    const size_t end = s.name != NULL ? place_of(g, s.name, true) : g->symbol.count;
    uint32_t count = 0;
    for (size_t i = first; i < end; i++) {
        const uint32_t symbol = g->by_name[i];
        if (!side_matches(g, &s, &g->symbol.items[symbol])) continue;
        g->symbol.items[symbol].tables |= bit;
        if (marks != NULL) marks[symbol] = true;
        count++;
    }
    free(s.text);
    return count;
}

void pt_gprof_match_specs(pt_gprof *g)
{
    const size_t count = g->symbol.count;
    for (size_t i = 0; i < g->options.spec_count; i++) {
        const pt_gprof_spec *const spec = &g->options.spec[i];
        const uint16_t bit = (uint16_t)(1u << spec->table);
        const char *const slash = strchr(spec->text, '/');
        if (slash == NULL) {
            g->table_counts[spec->table] +=
                mark_symbols(g, spec->text, strlen(spec->text), bit, NULL);
            continue;
        }
        bool *const sides = pt_alloc(2 * count + 1, sizeof *sides);
        PT_PUSH(g->arc_spec, (pt_gprof_arc_spec){spec->table, sides, sides + count});
        g->table_counts[spec->table] +=
            mark_symbols(g, spec->text, (size_t)(slash - spec->text), bit, sides);
        mark_symbols(g, slash + 1, strlen(slash + 1), 0, sides + count);
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
