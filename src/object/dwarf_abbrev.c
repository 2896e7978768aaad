/* dwarf_abbrev.c: abbreviations (section 7.5.3), which define the attributes of entries.
 *
 *   code | tag | has children | (attribute, form [, value])... 0 0
 *
 * Nearly all entries are only skipped. So each abbreviation is compiled into steps once: bytes of
 * known number are added up, and only values of varying size are read. Most entries take one
 * addition. Abbreviations of entries that may contain code have a second list of steps, which also
 * stops at the entries' addresses. */
#include <stdlib.h>

#include "base/grow.h"
#include "base/plain/ascending.h"
#include "object/dwarf_form.h"
#include "object/dwarf_int.h"

void pt_dwarf_abbrevs_done(pt_dwarf_abbrevs *table)
{
    PT_FREE_ALL(table->abbrevs.items, table->attributes.items, table->steps.items);
    *table = (pt_dwarf_abbrevs){0};
}

static pt_dwarf_kind kind_of(unsigned tag, bool has_addrs)
{
    switch (tag) {
    case DW_TAG_subprogram: return has_addrs ? PT_DWARF_FUNCTION : PT_DWARF_ABSTRACT;
    case DW_TAG_inlined_subroutine: return PT_DWARF_INLINED;
    case DW_TAG_lexical_block:
    case DW_TAG_try_block:
    case DW_TAG_catch_block:
    case DW_TAG_entry_point:
    case DW_TAG_common_block: return PT_DWARF_BLOCK;
    case DW_TAG_namespace:
    case DW_TAG_module: return PT_DWARF_NAMESPACE;
    case DW_TAG_class_type:
    case DW_TAG_structure_type:
    case DW_TAG_union_type:
    case DW_TAG_interface_type:
    case DW_TAG_enumeration_type: return PT_DWARF_TYPE;
    default: return PT_DWARF_OTHER;
    }
}

static pt_dwarf_role role_of(unsigned name)
{
    switch (name) {
    case DW_AT_low_pc: return PT_DWARF_LOW_PC;
    case DW_AT_high_pc: return PT_DWARF_HIGH_PC;
    case DW_AT_ranges: return PT_DWARF_RANGE_LIST;
    case DW_AT_sibling: return PT_DWARF_SIBLING;
    default: return PT_DWARF_SKIPPED;
    }
}

/* Appends the steps over an abbreviation's attributes. Returns the number of bytes after the last
 * step. */
static uint32_t add_steps(pt_dwarf_abbrevs *table, pt_dwarf_abbrev *a, bool stops_at_addrs)
{
    uint64_t fixed = 0;
    for (uint32_t i = 0; i < a->attribute_count; i++) {
        const pt_dwarf_attribute *at = &table->attributes.items[a->attribute_first + i];
        const pt_dwarf_role role = role_of(at->name);
        if (!stops_at_addrs && role == PT_DWARF_SIBLING && !a->has_sibling) {
            a->has_sibling = true;
            a->sibling_skips = (uint16_t)(table->steps.count - a->skip_first);
            a->sibling_bytes = (uint32_t)fixed;
            a->sibling_form = at->form;
        }
        if (at->bytes >= 0 && !(stops_at_addrs && role != PT_DWARF_SKIPPED)) {
            fixed += (uint64_t)at->bytes;
            continue;
        }
        PT_PUSH(table->steps,
                (pt_dwarf_step){.fixed_bytes = (uint32_t)fixed,
                                .form = at->form,
                                .role = stops_at_addrs ? (uint8_t)role : PT_DWARF_SKIPPED,
                                .bytes = at->bytes,
                                .attribute = a->attribute_first + i});
        fixed = 0;
    }
    return (uint32_t)fixed;
}

static void make_steps(pt_dwarf_abbrevs *table, pt_dwarf_abbrev *a)
{
    a->skip_first = (uint32_t)table->steps.count;
    a->tail_bytes = add_steps(table, a, false);
    a->skip_count = (uint16_t)(table->steps.count - a->skip_first);
    a->read_first = (uint32_t)table->steps.count;
    if (a->kind == PT_DWARF_FUNCTION || a->kind == PT_DWARF_INLINED)
        a->read_tail_bytes = add_steps(table, a, true);
    a->read_count = (uint16_t)(table->steps.count - a->read_first);
}

enum {
    ATTRIBUTES_MAX = 4096, /* of one abbreviation */
    TABLE_MAX = 1 << 22,   /* attributes in a table; compilers write some ten thousands */
};

/* Reads the attributes that follow. False: the table ends, or is malformed. */
static bool read_attributes(pt_dwarf_abbrevs *table, const pt_dwarf_unit *unit, pt_dwarf_cursor *c,
                            pt_dwarf_abbrev *a)
{
    bool has_addrs = false;
    a->attribute_first = (uint32_t)table->attributes.count;
    while (c->pos < c->end) {
        const uint64_t name = pt_dwarf_uleb(c), form = pt_dwarf_uleb(c);
        const int64_t implicit = form == DW_FORM_implicit_const ? pt_dwarf_sleb(c) : 0;
        if (name == 0 && form == 0) {
            a->kind = (uint8_t)kind_of(a->tag, has_addrs);
            make_steps(table, a);
            return true;
        }
        if (name > UINT16_MAX || form > UINT16_MAX || a->attribute_count == ATTRIBUTES_MAX)
            return false;
        const int bytes = pt_dwarf_form_bytes(unit, (unsigned)form);
        if (bytes == -2) return false;
        has_addrs |= name == DW_AT_low_pc || name == DW_AT_ranges;
        table->has_range_lists |= name == DW_AT_ranges;
        PT_PUSH(table->attributes,
                (pt_dwarf_attribute){(uint16_t)name, (uint16_t)form, (int8_t)bytes, implicit});
        a->attribute_count++;
    }
    return false;
}

/* of equal codes the first counts */
PT_ORDER(by_code, pt_dwarf_abbrev, PT_UP(code) ?: PT_UP(attribute_first));

bool pt_dwarf_abbrevs_are_of(const pt_dwarf_abbrevs *table, const pt_dwarf_unit *unit)
{
    return table->file == unit->file && table->off == unit->abbrev_off &&
           table->version == unit->version && table->addr_bytes == unit->addr_bytes &&
           table->offset_bytes == unit->offset_bytes;
}

uint64_t pt_dwarf_abbrevs_read(pt_dwarf_abbrevs *table, const pt_dwarf_unit *unit)
{
    table->file = unit->file;
    table->off = unit->abbrev_off;
    table->version = unit->version;
    table->addr_bytes = unit->addr_bytes;
    table->offset_bytes = unit->offset_bytes;
    table->has_range_lists = false;
    table->abbrevs.count = table->attributes.count = table->steps.count = 0;
    PT_GROW(table->attributes,
            1); /* even without attributes, so that an index into the array is valid */
    PT_GROW(table->steps, 1);
    pt_dwarf_cursor c =
        pt_dwarf_cursor_at(unit->file, PT_DWARF_ABBREV, unit->abbrev_off, UINT64_MAX);
    const uint8_t *begin = c.pos;
    bool is_ascending = true;
    while (c.pos < c.end && table->attributes.count + table->abbrevs.count < TABLE_MAX) {
        pt_dwarf_abbrev a = {.code = pt_dwarf_uleb(&c)};
        if (a.code == 0) break;
        const uint64_t tag = pt_dwarf_uleb(&c);
        a.tag = (uint16_t)(tag <= UINT16_MAX ? tag : 0);
        a.has_children = pt_dwarf_u8(&c) != 0;
        if (!read_attributes(table, unit, &c, &a)) break;
        const size_t n = table->abbrevs.count;
        is_ascending &= n == 0 || table->abbrevs.items[n - 1].code < a.code;
        PT_GROW(table->abbrevs, n + 1);
        table->abbrevs.items[table->abbrevs.count++] = a;
    }
    const size_t n = table->abbrevs.count;
    if (!is_ascending) qsort(table->abbrevs.items, n, sizeof *table->abbrevs.items, by_code);
    table->is_dense = n > 0 && table->abbrevs.items[0].code == 1 &&
                      table->abbrevs.items[n - 1].code == n && is_ascending;
    return (uint64_t)(c.pos - begin);
}

const pt_dwarf_abbrev *pt_dwarf_abbrev_search(const pt_dwarf_abbrevs *table, uint64_t code)
{
    const size_t i = PT_FIRST_FROM(table->abbrevs.items, table->abbrevs.count, code, code);
    const bool found = i < table->abbrevs.count && table->abbrevs.items[i].code == code;
    return found ? &table->abbrevs.items[i] : NULL;
}
