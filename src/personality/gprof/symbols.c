/* symbols.c: chooses the symbols of an image that gprof counts as functions, and one of several
 * symbols at the same address.
 *
 * Global and weak symbols of code are functions. Local symbols of code are functions if their names
 * have no '$', and dots only before numbers (nested functions). So foo.cold, foo.part.0 and
 * foo.isra.0 are not functions, and their code counts for the function before them. A symbol's code
 * reaches to the next symbol, whatever its size is in the symbol table. Rule: GNU gprof 2.40, as it
 * behaves.
 */
#include <ctype.h>
#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/hash.h"
#include "base/plain/ascending.h"
#include "base/text.h"
#include "base/visible.h"
#include "object/demangle.h"
#include "object/symbol_class.h"
#include "personality/gprof/gprof_int.h"

#define NAME_PIECE_BYTES ((size_t)4 << 20)

bool pt_gprof_find_text(const pt_gprof *g, pt_gprof_text *ret)
{
    pt_elf_section section;
    const pt_elf *elf = pt_object_elf(g->object);
    if (!pt_elf_section_named(elf, ".text", &section)) return false;
    uint64_t size = 0;
    const uint8_t *bytes = pt_elf_section_bytes(elf, &section, &size);
    *ret = (pt_gprof_text){section.addr, section.size_bytes, bytes};
    return true;
}

/* Copies a name into large blocks of memory, since large reports read names at random again and
 * again. */
static const char *keep_name(pt_gprof *g, const char *text, size_t bytes)
{
    if (bytes > g->name_room) {
        g->name_room = bytes < NAME_PIECE_BYTES ? NAME_PIECE_BYTES : bytes;
        g->name_end = pt_alloc_table(g->name_room, 1);
        PT_PUSH(g->name_text, g->name_end);
    }
    char *const kept = memcpy(g->name_end, text, bytes);
    g->name_end += bytes;
    g->name_room -= bytes;
    return kept;
}

/* The name as reports show it. Borrowed, or kept in g. */
static const char *one_line(pt_gprof *g, const char *name)
{
    size_t size = strlen(name);
    if (!g->options.one_line || !pt_has_newline_or_tab(name, size)) return name;
    PT_FREE char *line = pt_on_one_line(name, size, &size);
    return keep_name(g, line, size + 1);
}

uint32_t pt_gprof_file(pt_gprof *g, const char *name)
{
    name = one_line(g, name);
    const uint64_t hash = pt_hash_bytes(name, strlen(name));
    const uint32_t known =
        PT_INDEX_FIND(&g->file_index, hash, i, strcmp(g->file.items[i], name) == 0);
    if (known != PT_NONE) return known;
    return PT_INDEX_PUSH(&g->file_index, hash, g->file, name);
}

/* ---- What is a function ---- */

/* Skips ".NUMBER", ".clone.NUMBER" or ".constprop.NUMBER" at *name, which is at the dot, and moves
 * *name to the next dot or the end. Returns false if another text follows the dot. */
static bool skip_numbered_suffix(const char **name)
{
    static const char *const kinds[] = {".clone.", ".constprop."};
    const char *p = *name;
    for (size_t i = 0; i < PT_COUNT(kinds); i++) {
        const size_t n = strlen(kinds[i]);
        if (!pt_begins(p, kinds[i]) || p[n] == '\0') continue;
        p += n - 1;
        break;
    }
    bool has_digit = false;
    for (p++; *p != '\0'; p++) {
        if (has_digit && *p == '.') break;
        if (!isdigit((unsigned char)*p)) return false;
        has_digit = true;
    }
    *name = p;
    return true;
}

/* Is the name one that gprof accepts for a function? limit: the end of the string table that holds
 * the name. After a numbered suffix gprof overlooks the name's end, and also judges the next string
 * of the table. So whether foo.constprop.0 is a function depends on the string after it in the
 * table. gprof's reports depend on this mistake, so pitot repeats it. */
static bool looks_like_a_name(const char *name, const char *limit)
{
    if (name[0] == '\0' || pt_begins(name, "__gnu_compiled") || pt_begins(name, "___gnu_compiled"))
        return false;
    for (const char *p = name; p < limit && *p != '\0'; p++) {
        if (*p == '$') return false;
        while (*p == '.')
            if (!skip_numbered_suffix(&p)) return false;
    }
    return true;
}

static bool is_wanted(const pt_gprof_options *o, const pt_class_symbol *s, const char *limit,
                      bool *ret_is_static)
{
    *ret_is_static = false;
    if (o->no_static && s->is_local) return false;
    if (s->letter == 'T' || s->letter == 'W') return true;
    *ret_is_static = true;
    return s->letter == 't' && looks_like_a_name(s->name, limit) &&
           (!o->functions_only || s->is_function);
}

/* ---- From the image ---- */

static int by_function(const void *key, const void *row)
{
    return strcmp(key, ((const pt_gprof_mapped *)row)->function);
}

static pt_gprof_symbol *append_symbol(pt_gprof *g)
{
    PT_GROW(g->symbol, g->symbol.count + 1);
    pt_gprof_symbol *s = &g->symbol.items[g->symbol.count++];
    *s = (pt_gprof_symbol){.file = PT_NONE};
    return s;
}

static void add_image_symbol(pt_gprof *g, const pt_class_symbol *from, bool is_static)
{
    const pt_gprof_options *o = &g->options;
    const pt_gprof_mapped *mapped = NULL;
    if (o->mapped_count > 0)
        mapped = bsearch(from->name, o->mapped, o->mapped_count, sizeof *o->mapped, by_function);
    if (mapped != NULL && !mapped->is_first) return;
    pt_gprof_symbol *s = append_symbol(g);
    s->name = one_line(g, mapped != NULL ? mapped->file : from->name);
    s->is_mapped = mapped != NULL;
    s->addr = from->addr;
    s->is_static = is_static;
    s->is_function = from->is_function;
}

/* Reads the image's own symbol table. Of a stripped image only its exported names are read, since
 * gprof reads no separate debug file. */
static void read_image(pt_gprof *g)
{
    const uint32_t tables[] = {SHT_SYMTAB, SHT_DYNSYM};
    for (size_t i = 0; i < 2 && g->symbol.count == 0; i++) {
        PT_AUTO(pt_class_table) table = {0};
        pt_class_symbol symbol;
        bool is_static;
        if (!pt_class_table_open(&table, pt_object_elf(g->object), tables[i])) continue;
        free(g->symbol.items);
        g->symbol.cap = table.symbols.count;
        g->symbol.items = pt_alloc_table(g->symbol.cap, sizeof *g->symbol.items);
        const char *const strings = table.symbols.strings;
        const char *const limit = strings != NULL ? strings + table.symbols.strings_bytes : NULL;
        while (pt_class_table_next(&table, &symbol))
            if (is_wanted(&g->options, &symbol, limit, &is_static))
                add_image_symbol(g, &symbol, is_static);
    }
}

static void read_external(pt_gprof *g)
{
    for (size_t i = 0; i < g->options.external_count; i++) {
        const pt_gprof_external *from = &g->options.external[i];
        pt_gprof_symbol *s = append_symbol(g);
        s->name = one_line(g, from->name);
        s->addr = from->addr;
        s->is_static = from->is_static;
        s->is_function = true;
    }
}

/* ---- Files and lines ---- */

static uint64_t address_key(const void *context, uint32_t symbol)
{
    return ((const pt_gprof_symbol *)context)[symbol].addr;
}

void pt_gprof_find_files(pt_gprof *g, const bool *chosen)
{
    const size_t all = g->symbol.count;
    PT_FREE uint32_t *ids = pt_alloc(all + 1, sizeof *ids);
    size_t count = 0;
    for (uint32_t i = 0; i < all; i++)
        if (chosen == NULL || chosen[i]) ids[count++] = i;
    pt_gprof_sort_by(ids, count, address_key, g->symbol.items);
    PT_FREE uint64_t *addrs = pt_alloc(count + 1, sizeof *addrs);
    for (size_t i = 0; i < count; i++)
        addrs[i] = g->symbol.items[ids[i]].addr;
    PT_FREE pt_gprof_place *places = pt_alloc(count + 1, sizeof *places);
    pt_gprof_places(g, addrs, count, places);
    PT_FREE const pt_gprof_place **of_symbol = pt_alloc(all + 1, sizeof *of_symbol);
    for (size_t i = 0; i < count; i++)
        of_symbol[ids[i]] = &places[i];
    for (uint32_t i = 0; i < all; i++) { /* registers files in the order of the symbol table */
        if (of_symbol[i] == NULL || of_symbol[i]->name == NULL) continue;
        g->symbol.items[i].file = pt_gprof_file(g, of_symbol[i]->file);
        g->symbol.items[i].line = of_symbol[i]->line;
    }
}

/* ---- One symbol an address ---- */

/* Functions before labels, global ones before local ones. */
static uint64_t rank_key(const void *context, uint32_t symbol)
{
    const pt_gprof_symbol *const s = (const pt_gprof_symbol *)context + symbol;
    return 2u * !s->is_function + s->is_static;
}

/* Is the later of two symbols at one address the better symbol? A global symbol is better; if both
 * are global or both local, a function; if that does not decide either, the name with fewer
 * leading underscores. */
static bool is_better(const pt_gprof_symbol *later, const pt_gprof_symbol *kept)
{
    if (later->is_static != kept->is_static) return !later->is_static;
    if (later->is_function != kept->is_function) return later->is_function;
    if (later->name[0] != '_' && kept->name[0] == '_') return true;
    return later->name[0] == '_' && later->name[1] != '_' && kept->name[0] == '_' &&
           kept->name[1] == '_';
}

/* Divides the addresses into spans of equal size, about one for each symbol, so that a search looks
 * at few symbols. Addresses may be spread unevenly. */
static void lay_spans(pt_gprof *g)
{
    const size_t count = g->symbol.count;
    const uint64_t range = count > 0 ? g->addr[count - 1] - g->addr[0] : 0;
    g->span_bits = 0;
    while (range >> g->span_bits > count)
        g->span_bits++;
    const size_t spans = (size_t)(range >> g->span_bits) + 1;
    g->first_in_span = pt_realloc(g->first_in_span, spans + 1, sizeof *g->first_in_span);
    size_t at = 0;
    for (size_t i = 0; i < spans; i++) {
        while (at < count && (g->addr[at] - g->addr[0]) >> g->span_bits < i)
            at++;
        g->first_in_span[i] = (uint32_t)at;
    }
    g->first_in_span[spans] = (uint32_t)count;
}

/* Sorts the symbols, keeps one at each address, and sets the end of each symbol without one: the
 * next symbol's begin. Functions that have an end keep it when lines are put between them. A symbol
 * that would end before it begins (after the end of .text, or one of data) is dropped. */
static void settle_ends(pt_gprof *g)
{
    const size_t count = g->symbol.count;
    PT_FREE uint32_t *order = pt_alloc_numbers(count);
    pt_gprof_sort_by(order, count, rank_key, g->symbol.items);
    pt_gprof_sort_by(order, count, address_key, g->symbol.items);
    pt_gprof_symbol *const sorted = pt_alloc_table(count + 1, sizeof *sorted);
    size_t n = 0;
    for (size_t i = 0; i < count; i++) {
        const pt_gprof_symbol *const s = &g->symbol.items[order[i]];
        if (n > 0 && sorted[n - 1].addr == s->addr) {
            if (is_better(s, &sorted[n - 1])) sorted[n - 1] = *s;
            continue;
        }
        if (n > 0 && sorted[n - 1].end_addr == 0) sorted[n - 1].end_addr = s->addr - 1;
        if (s->end_addr != 0 && s->addr > s->end_addr) continue;
        sorted[n++] = *s;
    }
    pt_gprof_text text;
    if (n > 0 && sorted[n - 1].end_addr == 0 && pt_gprof_find_text(g, &text))
        sorted[n - 1].end_addr = text.addr + text.size_bytes - 1;
    free(g->symbol.items);
    g->symbol.items = sorted;
    g->symbol.count = n;
    g->symbol.cap = count + 1;
    g->addr = pt_realloc(g->addr, n + 1, sizeof *g->addr);
    for (size_t i = 0; i < n; i++)
        g->addr[i] = sorted[i].addr;
    free(g->by_name);
    g->by_name = pt_gprof_by_name(g);
    lay_spans(g);
}

uint32_t pt_gprof_find(const pt_gprof *g, uint64_t addr)
{
    if (g->symbol.count == 0 || addr < g->addr[0]) return PT_NONE;
    const uint64_t last = g->addr[g->symbol.count - 1];
    const size_t span = (size_t)(((addr < last ? addr : last) - g->addr[0]) >> g->span_bits);
    const size_t first = g->first_in_span[span], count = g->first_in_span[span + 1] - first;
    const size_t after = first + pt_first_after(g->addr + first, count, sizeof *g->addr, 0, addr);
    return after > 0 && addr <= g->symbol.items[after - 1].end_addr ? (uint32_t)(after - 1)
                                                                    : PT_NONE;
}

const char *pt_gprof_sized_name(pt_gprof *g, const pt_gprof_symbol *symbol, size_t *ret_size)
{
    if (g->shown_name == NULL)
        g->shown_name = pt_alloc_table(g->symbol.count + 1, sizeof *g->shown_name);
    const size_t i = (size_t)(symbol - g->symbol.items);
    if (g->shown_name[i].text == NULL) {
        PT_FREE char *text = NULL;
        if (!g->options.mangled && symbol->name[0] == '_')
            text = pt_demangle(symbol->name, PT_DEMANGLE_BINUTILS);
        const size_t size = strlen(text != NULL ? text : symbol->name);
        g->shown_name[i].text = text != NULL ? keep_name(g, text, size + 1) : symbol->name;
        g->shown_name[i].size = size;
    }
    *ret_size = g->shown_name[i].size;
    return g->shown_name[i].text;
}

const char *pt_gprof_name(pt_gprof *g, const pt_gprof_symbol *symbol)
{
    size_t size;
    return pt_gprof_sized_name(g, symbol, &size);
}

bool pt_gprof_wants(const pt_gprof *g, const pt_gprof_symbol *symbol, pt_gprof_table show)
{
    if (symbol->tables & 1u << show) return true;
    return g->table_counts[show] == 0 && (symbol->tables & 1u << (show + 1)) == 0;
}

pt_status pt_gprof_open(pt_gprof *g, pt_object *object, const pt_gprof_options *options,
                        pt_error *reterr)
{
    *g = (pt_gprof){.object = object, .options = *options};
    pt_index_init(&g->file_index);
    pt_index_init(&g->arc_index);
    pt_index_init(&g->block_index);
    if (options->external != NULL)
        read_external(g);
    else
        read_image(g);
    if (g->symbol.count == 0) return pt_error_set(reterr, PT_ERR_NOTFOUND, "names no functions");
    g->by_name = pt_gprof_by_name(g);
    /* An external table of symbols has no files; the image's files are not used with it. */
    const bool wants_files = options->with_files || options->by_line;
    if (wants_files && options->external == NULL) pt_gprof_find_files(g, NULL);
    settle_ends(g);
    if (options->by_line && options->external == NULL) {
        pt_gprof_add_lines(g);
        settle_ends(g);
    }
    pt_gprof_match_specs(g);
    return PT_OK;
}

void pt_gprof_done(pt_gprof *g)
{
    for (size_t i = 0; i < g->name_text.count; i++)
        free(g->name_text.items[i]);
    PT_FREE_ALL(g->name_text.items, g->shown_name, g->addr, g->first_in_span, g->symbol.items,
                g->file.items, g->arc.items, g->in, g->out, g->member, g->by_total, g->bin.items,
                g->frame.items, g->stack.items, g->block.items, g->by_name);
    for (size_t i = 0; i < g->arc_spec.count; i++)
        free(g->arc_spec.items[i].from); /* frees the text of `to` as well */
    free(g->arc_spec.items);
    pt_index_done(&g->file_index);
    pt_index_done(&g->arc_index);
    pt_index_done(&g->block_index);
    *g = (pt_gprof){0};
}
