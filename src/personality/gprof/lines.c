/* lines.c: the places of symbols in the source, and a symbol for each run of code of one source
 * line (--line).
 *
 * gprof walks .text byte by byte and begins a symbol wherever function, file or line change. pitot
 * does the same, with many addresses at once.
 */
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/text.h"
#include "personality/gprof/gprof_int.h"

#define STEP_ADDRS ((size_t)1 << 16) /* addresses resolved together; bounds memory */

typedef struct {
    const pt_gprof *g;
    const uint64_t *addrs;
    pt_gprof_place *out;
    const char *cold, *whole; /* the last cold part, and the name of its function */
} asking;

/* The name of the function symbol before addr; "" if there is none. It is used for the padding
 * after a function, for which debug information has a line but no function: BFD gives such code the
 * name of this symbol, even if gprof counts nothing for the symbol. */
static const char *name_before(const pt_gprof *g, uint64_t addr)
{
    pt_object_nearest nearest;
    return pt_object_nearest_symbol(g->object, addr, &nearest) ? nearest.name : "";
}

/* The name of the counted symbol that a cold part (NAME.cold) belongs to; the cold part's own name
 * if there is none. */
static const char *name_of_whole(const pt_gprof *g, const char *cold)
{
    PT_FREE char *name = pt_strndup(cold, strlen(cold) - strlen(".cold"));
    const uint32_t symbol = pt_gprof_named(g, name);
    return symbol != PT_NONE ? g->symbol.items[symbol].name : cold;
}

/* The name of the symbol at addr, for a C++ function without a linkage name in debug information;
 * "": no symbol. A cold part gets the name of its function, since gprof asks BFD for that function
 * first. */
static const char *name_of_symbol(asking *a, uint64_t addr)
{
    pt_object_symbol symbol;
    if (!pt_object_symbol_at(a->g->object, addr, &symbol)) return "";
    if (!pt_ends(symbol.name, ".cold")) return symbol.name;
    if (a->cold == NULL || strcmp(a->cold, symbol.name) != 0) {
        a->cold = symbol.name;
        a->whole = name_of_whole(a->g, symbol.name);
    }
    return a->whole;
}

/* Stores the place of an address. */
static void take_place(void *context, size_t index, const pt_object_frame *frames,
                       size_t frame_count, uint64_t symbol_bytes)
{
    (void)symbol_bytes;
    asking *const a = context;
    if (frame_count == 0 || frames[0].line == 0 || frames[0].file[0] == '\0') return;
    const char *name = frames[0].linkage_name;
    if (name[0] == '\0') name = name_of_symbol(a, a->addrs[index]);
    if (name[0] == '\0') name = frames[0].name;
    if (name[0] == '\0') name = name_before(a->g, a->addrs[index]);
    if (name[0] == '\0') return;
    a->out[index] = (pt_gprof_place){.name = name, .file = frames[0].file, .line = frames[0].line};
}

void pt_gprof_places(pt_gprof *g, const uint64_t *addrs, size_t count, pt_gprof_place *out)
{
    memset(out, 0, count * sizeof *out);
    if (!pt_object_has_lines(g->object)) return;
    asking a = {.g = g, .addrs = addrs, .out = out};
    pt_object_resolve(g->object, PT_OBJECT_LINES, addrs, count, g->options.pool, take_place, &a);
}

static bool same_line(const pt_gprof_symbol *s, const pt_gprof_place *place, uint32_t file)
{
    return s->line == place->line && s->file == file && strcmp(s->name, place->name) == 0;
}

typedef PT_VECTOR(pt_gprof_symbol) lines;

/* A line is static if its function is. */
static bool is_static_at(const pt_gprof *g, const pt_gprof_symbol *before, uint64_t addr,
                         const pt_gprof_place *place, uint32_t file)
{
    if (before != NULL && before->file == file && strcmp(before->name, place->name) == 0)
        return before->is_static;
    const uint32_t symbol = pt_gprof_find(g, addr);
    return symbol != PT_NONE && g->symbol.items[symbol].is_static;
}

static void add_step(pt_gprof *g, lines *found, const uint64_t *addrs, const pt_gprof_place *places,
                     size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (places[i].name == NULL) continue;
        const uint32_t file = pt_gprof_file(g, places[i].file);
        const pt_gprof_symbol *before = found->count > 0 ? &found->items[found->count - 1] : NULL;
        if (before != NULL && same_line(before, &places[i], file)) continue;
        const bool is_static = is_static_at(g, before, addrs[i], &places[i], file);
        PT_PUSH(*found, (pt_gprof_symbol){.name = places[i].name,
                                          .addr = addrs[i],
                                          .file = file,
                                          .line = places[i].line,
                                          .is_static = is_static});
    }
}

void pt_gprof_add_lines(pt_gprof *g)
{
    pt_gprof_text text;
    if (!pt_gprof_find_text(g, &text) || text.bytes == NULL) return;
    if (!pt_object_has_lines(g->object)) return;
    PT_FREE uint64_t *addrs = pt_alloc(STEP_ADDRS, sizeof *addrs);
    PT_FREE pt_gprof_place *places = pt_alloc(STEP_ADDRS, sizeof *places);
    lines found = {0};
    for (uint64_t at = 0; at < text.size_bytes; at += STEP_ADDRS) {
        const uint64_t left = text.size_bytes - at;
        const size_t count = left < STEP_ADDRS ? (size_t)left : STEP_ADDRS;
        for (size_t i = 0; i < count; i++)
            addrs[i] = text.addr + at + i;
        pt_gprof_places(g, addrs, count, places);
        add_step(g, &found, addrs, places, count);
    }
    /* Lines come before functions, so that of a line and a function at one address settle_ends
     * keeps the same one as gprof. */
    const size_t functions = g->symbol.count;
    PT_GROW(g->symbol, functions + found.count);
    memmove(g->symbol.items + found.count, g->symbol.items, functions * sizeof *g->symbol.items);
    if (found.count > 0) memcpy(g->symbol.items, found.items, found.count * sizeof *found.items);
    g->symbol.count = functions + found.count;
    free(found.items);
}
