/* gprof_specs.c: "FILE.c:FUNCTION", "FROM/TO" and the like -> the symbols that are meant.
 *
 * A side of a spec is split at its last colon; what begins with a digit there is a line. Without a
 * colon a word with a dot is a file, with a digit first a line, else a function. Files are compared
 * by their last part, since nobody knows how debug information spells the whole. Rule: the GNU
 * gprof manual, "Symspecs".
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "view/gprof_int.h"

typedef struct {
    char *text; /* that the others point into */
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

static const char *last_part(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash != NULL ? slash + 1 : path;
}

static bool matches(const pt_gprof *g, const side *s, const pt_gprof_symbol *symbol)
{
    if (s->line != 0 && s->line != symbol->line) return false;
    if (s->name != NULL && strcmp(s->name, symbol->name) != 0) return false;
    if (s->file == NULL) return true;
    return symbol->file != PT_NONE && strcmp(s->file, last_part(g->file.items[symbol->file])) == 0;
}

/* Which symbols match; returns how many. */
static uint32_t mark(pt_gprof *g, const char *text, size_t size, bool *marks)
{
    side s = side_of(text, size);
    uint32_t count = 0;
    for (size_t i = 0; i < g->symbol.count; i++) {
        marks[i] = matches(g, &s, &g->symbol.items[i]);
        count += marks[i];
    }
    free(s.text);
    return count;
}

static bool *side_marks(const pt_gprof *g, size_t spec, unsigned right)
{
    return g->spec_side + (2 * spec + right) * g->symbol.count;
}

void pt_gprof_match_specs(pt_gprof *g)
{
    const size_t count = g->options.spec_count;
    g->spec_side = pt_alloc(2 * count * g->symbol.count + 1, sizeof *g->spec_side);
    for (size_t i = 0; i < count; i++) {
        const pt_gprof_spec *const spec = &g->options.spec[i];
        const char *const slash = strchr(spec->text, '/');
        const size_t left = slash != NULL ? (size_t)(slash - spec->text) : strlen(spec->text);
        bool *const marks = side_marks(g, i, 0);
        g->table_counts[spec->table] += mark(g, spec->text, left, marks);
        if (slash != NULL) mark(g, slash + 1, strlen(slash + 1), side_marks(g, i, 1));
        for (size_t s = 0; s < g->symbol.count; s++)
            if (marks[s]) g->symbol.items[s].tables |= (uint16_t)(1u << spec->table);
    }
}

static bool in_arcs(const pt_gprof *g, pt_gprof_table table, uint32_t from, uint32_t to)
{
    for (size_t i = 0; i < g->options.spec_count; i++)
        if (g->options.spec[i].table == table && side_marks(g, i, 0)[from] &&
            side_marks(g, i, 1)[to])
            return true;
    return false;
}

bool pt_gprof_wants_arc(const pt_gprof *g, uint32_t from, uint32_t to)
{
    if (g->table_counts[PT_GPROF_SHOW_ARCS] > 0) return in_arcs(g, PT_GPROF_SHOW_ARCS, from, to);
    return g->table_counts[PT_GPROF_HIDE_ARCS] == 0 || !in_arcs(g, PT_GPROF_HIDE_ARCS, from, to);
}
