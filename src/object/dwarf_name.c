/* dwarf_name.c: names of functions, and where they were declared and called.
 *
 *   inlined call -> abstract origin -> specification      each entry may be in another unit, or in
 *   clone        -> abstract origin -> ...                 the supplement of dwz
 *
 * The name is that of the first entry in the chain that has one. */
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/hash.h"
#include "object/dwarf_form.h"
#include "object/dwarf_int.h"

enum { HOPS_MAX = 16 };

/* The attributes of one entry; a form is 0 if the entry lacks the attribute. */
typedef struct {
    pt_dwarf_value name, linkage_name, declared_file, declared_line;
    pt_dwarf_value call_file, call_line, call_column;
    pt_dwarf_value origin; /* abstract origin, else specification */
} entry_values;

static pt_dwarf_value *slot_of(entry_values *values, unsigned name)
{
    switch (name) {
    case DW_AT_name: return &values->name;
    case DW_AT_linkage_name:
    case DW_AT_MIPS_linkage_name: return &values->linkage_name;
    case DW_AT_decl_file: return &values->declared_file;
    case DW_AT_decl_line: return &values->declared_line;
    case DW_AT_call_file: return &values->call_file;
    case DW_AT_call_line: return &values->call_line;
    case DW_AT_call_column: return &values->call_column;
    case DW_AT_abstract_origin:
    case DW_AT_specification: return &values->origin;
    default: return NULL;
    }
}

static entry_values read_entry(pt_dwarf_worker *w, pt_dwarf_entry entry)
{
    entry_values values = {0};
    const pt_dwarf_abbrevs *table = pt_dwarf_abbrevs_for(w, entry.unit);
    pt_dwarf_cursor c = pt_dwarf_entry_cursor(entry.unit, entry.off);
    const pt_dwarf_abbrev *a = pt_dwarf_abbrev_of(table, pt_dwarf_uleb(&c));
    if (a == NULL) return values;
    const pt_dwarf_attribute *attribute = table->attributes.items + a->attribute_first;
    for (uint32_t i = 0; i < a->attribute_count; i++, attribute++) {
        pt_dwarf_value *slot = slot_of(&values, attribute->name);
        if (slot == NULL && attribute->bytes >= 0) {
            pt_dwarf_advance(&c, (uint64_t)attribute->bytes);
            continue;
        }
        const pt_dwarf_value value =
            pt_dwarf_read_form(entry.unit, &c, attribute->form, attribute->implicit);
        if (slot != NULL && !(attribute->name == DW_AT_specification && slot->form != 0))
            *slot = value;
    }
    return values;
}

static uint32_t small_number(const pt_dwarf_value *value)
{
    return value->number <= UINT32_MAX ? (uint32_t)value->number : 0;
}

static const char *path_of(pt_dwarf_worker *w, const pt_dwarf_unit *unit,
                           const pt_dwarf_value *value)
{
    return pt_dwarf_path(w, pt_dwarf_line_table_for(w, unit), value->number);
}

/* Prefetches an entry that is read soon: entries are scattered over hundreds of megabytes. */
static void prefetch_entry(pt_dwarf_entry entry)
{
    if (entry.unit != NULL)
        __builtin_prefetch(entry.unit->file->sections[PT_DWARF_INFO].data + entry.off);
}

/* ---- functions ---- */

/* The row of the function that begins at the entry; a new row without a description if there is
 * none. describe_all adds the description. */
static uint32_t function_of(pt_dwarf_worker *w, pt_dwarf_entry entry)
{
    const uint64_t hash = pt_hash_mix((uintptr_t)entry.unit, entry.off);
    const uint32_t known = PT_INDEX_FIND(&w->function_index, hash, i,
                                         w->functions.items[i].entry.unit == entry.unit &&
                                             w->functions.items[i].entry.off == entry.off);
    if (known != PT_NONE) return known;
    PT_GROW(w->functions, w->functions.count + 1);
    w->functions.items[w->functions.count] = (pt_dwarf_function){.entry = entry};
    pt_index_add(&w->function_index, hash, (uint32_t)w->functions.count);
    prefetch_entry(entry);
    return (uint32_t)w->functions.count++;
}

/* Adds the description in one entry of a function's chain. Returns the next entry. */
static pt_dwarf_entry describe_function(pt_dwarf_worker *w, pt_dwarf_function *f,
                                        pt_dwarf_entry entry)
{
    const entry_values values = read_entry(w, entry);
    if (f->name == NULL) f->name = pt_dwarf_text_of(entry.unit, &values.name);
    if (f->linkage_name == NULL)
        f->linkage_name = pt_dwarf_text_of(entry.unit, &values.linkage_name);
    if (f->declared_file == NULL && values.declared_file.form != 0)
        f->declared_file = path_of(w, entry.unit, &values.declared_file);
    if (f->declared_line == 0) f->declared_line = small_number(&values.declared_line);
    f->declared = entry;
    return pt_dwarf_entry_of(entry.unit, &values.origin);
}

/* Follows the chains of all functions, one entry of each in turn. */
static void describe_all(pt_dwarf_worker *w)
{
    const size_t count = w->functions.count;
    PT_FREE pt_dwarf_entry *next = pt_alloc(count + 1, sizeof *next);
    for (size_t i = 0; i < count; i++)
        next[i] = w->functions.items[i].entry;
    bool any = count > 0;
    for (int hops = 0; any && hops < HOPS_MAX; hops++) {
        any = false;
        for (size_t i = 0; i < count; i++) {
            if (next[i].unit == NULL) continue;
            next[i] = describe_function(w, &w->functions.items[i], next[i]);
            prefetch_entry(next[i]);
            any |= next[i].unit != NULL;
        }
    }
}

static void place_node(pt_dwarf_worker *w, const pt_dwarf_unit *unit, pt_dwarf_node *node)
{
    const pt_dwarf_entry own = {unit, node->off};
    if (node->parent == PT_NONE) {
        node->function = function_of(w, own);
        return;
    }
    const entry_values values = read_entry(w, own);
    const pt_dwarf_entry origin = pt_dwarf_entry_of(unit, &values.origin);
    node->function = function_of(w, origin.unit != NULL ? origin : own);
    node->call_file = path_of(w, unit, &values.call_file);
    node->call_line = small_number(&values.call_line);
    node->call_column = small_number(&values.call_column);
}

/* ---- scopes ---- */

/* A function whose name lacks its scope. */
typedef struct {
    pt_dwarf_entry declared;
    uint32_t function;
} bare;

typedef struct {
    pt_dwarf_worker *worker;
    const pt_dwarf_unit *unit;
    const bare *items;
} naming;

/* By unit (in any order), then by offset. */
PT_ORDER(by_declaration, bare, PT_UP(declared.unit) ?: PT_UP(declared.off) ?: PT_UP(function));

/* The name of an enclosing namespace or class, or NULL. */
static const char *scope_name(const naming *n, const pt_dwarf_ancestor *around)
{
    if (around->kind != PT_DWARF_NAMESPACE && around->kind != PT_DWARF_TYPE) return NULL;
    const entry_values values = read_entry(n->worker, (pt_dwarf_entry){n->unit, around->off});
    const char *name = pt_dwarf_text_of(n->unit, &values.name);
    if (name == NULL && around->kind == PT_DWARF_NAMESPACE) name = "(anonymous namespace)";
    return name;
}

/* Makes "namespace::class::name" for a function without a recorded mangled name. */
static void qualify_name(void *context, size_t index, const pt_dwarf_ancestor *around, size_t depth)
{
    const naming *n = context;
    pt_dwarf_function *f = &n->worker->functions.items[n->items[index].function];
    PT_AUTO(pt_buf) text = PT_BUF_INIT;
    for (size_t i = 0; i < depth; i++) {
        const char *name = scope_name(n, &around[i]);
        if (name == NULL) continue;
        pt_put_text(&text, name);
        pt_put_text(&text, "::");
    }
    if (text.size > 0) {
        const size_t name_bytes = strlen(f->name) + 1;
        char *room = pt_dwarf_string_room(n->worker, text.size + name_bytes);
        memcpy(room, text.data, text.size);
        memcpy(room + text.size, f->name, name_bytes);
        f->name = room;
    }
}

static void qualify_names(pt_dwarf_worker *w, bare *items, size_t count)
{
    PT_FREE uint64_t *offs = pt_alloc(count + 1, sizeof *offs);
    qsort(items, count, sizeof *items, by_declaration);
    for (size_t i = 0; i < count; i++)
        offs[i] = items[i].declared.off;
    for (size_t i = 0, end; i < count; i = end) {
        for (end = i + 1; end < count && items[end].declared.unit == items[i].declared.unit;
             end++) {
        }
        const pt_dwarf_unit *unit = items[i].declared.unit;
        naming n = {w, unit, items + i};
        if (pt_dwarf_spend(w->dwarf, unit->end_off - unit->off))
            pt_dwarf_find_around(w, unit, offs + i, end - i, qualify_name, &n);
    }
}

/* Sets the linkage name of functions for which the debug information has none. In C the linkage
 * name equals the name; in C++ it is unknown, and becomes "". */
static void name_as_written(pt_dwarf_worker *w, const pt_dwarf_unit *unit)
{
    for (size_t i = 0; i < w->functions.count; i++) {
        pt_dwarf_function *f = &w->functions.items[i];
        if (f->linkage_name == NULL && f->name != NULL)
            f->linkage_name = unit->is_cxx ? "" : f->name;
    }
}

void pt_dwarf_name_nodes(pt_dwarf_worker *w, const pt_dwarf_unit *unit, const uint32_t *used,
                         size_t count)
{
    enum { AHEAD = 8 };
    for (size_t i = 0; i < count; i++) {
        if (i + AHEAD < count)
            prefetch_entry((pt_dwarf_entry){unit, w->nodes.items[used[i + AHEAD]].off});
        place_node(w, unit, &w->nodes.items[used[i]]);
    }
    describe_all(w);
    if (w->dwarf->as_written) {
        name_as_written(w, unit);
        return;
    }
    if (!unit->is_cxx || w->functions.count == 0) return;
    PT_FREE bare *items = pt_alloc(w->functions.count, sizeof *items);
    size_t bare_count = 0;
    for (size_t i = 0; i < w->functions.count; i++) {
        const pt_dwarf_function *f = &w->functions.items[i];
        if (f->name != NULL && f->linkage_name == NULL && f->declared.unit != NULL)
            items[bare_count++] = (bare){f->declared, (uint32_t)i};
    }
    qualify_names(w, items, bare_count);
}
