/* dwarf_unit.c: lists the units of a .debug_info (section 7.5.1) and reads their first entries.
 *
 *   2-4   length | version | abbreviations | address size | entries...
 *   5     length | version | type | address size | abbreviations | [dwo id or type signature] |
 *         entries...
 *
 * In a package (section 7.3.5; version 2 is GNU's), the tables of a unit begin at offsets in the
 * joined sections. The package's unit index has these offsets:
 *
 *   version | columns | units | slots | signature[slots] | row[slots] | section[columns] |
 *   offset[units][columns] | size[units][columns] */
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/plain/ascending.h"
#include "base/text.h"
#include "object/dwarf_form.h"
#include "object/dwarf_int.h"

/* ---- the index of a package ---- */

/* The offsets of one unit's tables. */
typedef struct {
    uint64_t dwo_id;
    uint64_t info_off, abbrev_off, line_off, str_offsets_off, rnglists_off;
} contribution;

typedef PT_VECTOR(contribution) contributions; /* ascending by info_off */

PT_ORDER(by_info_off, contribution, PT_UP(info_off));

enum { COLUMNS_MAX = 16 };

static contribution read_row(pt_dwarf_cursor row, uint64_t dwo_id, const uint32_t *columns,
                             uint32_t column_count)
{
    contribution part = {.dwo_id = dwo_id, .info_off = UINT64_MAX};
    for (uint32_t i = 0; i < column_count; i++) {
        const uint32_t off = pt_dwarf_u32(&row);
        switch (columns[i]) {
        case DW_SECT_INFO: part.info_off = off; break;
        case DW_SECT_ABBREV: part.abbrev_off = off; break;
        case DW_SECT_LINE: part.line_off = off; break;
        case DW_SECT_STR_OFFSETS: part.str_offsets_off = off; break;
        case DW_SECT_RNGLISTS: part.rnglists_off = off; break;
        default: break;
        }
    }
    return part;
}

static contributions read_index(const pt_dwarf_file *file)
{
    contributions list = {0};
    pt_dwarf_cursor c = pt_dwarf_cursor_at(file, PT_DWARF_CU_INDEX, 0, UINT64_MAX);
    if (pt_dwarf_left(&c) < 16) return list;
    pt_dwarf_advance(&c, 4); /* version 2 takes 4 bytes, version 5 takes 2 and padding */
    const uint32_t column_count = pt_dwarf_u32(&c), unit_count = pt_dwarf_u32(&c);
    const uint64_t slots = pt_dwarf_u32(&c);
    if (column_count > COLUMNS_MAX || column_count == 0 || slots > pt_dwarf_left(&c) / 12)
        return list;
    pt_dwarf_cursor ids = c, rows = c;
    pt_dwarf_advance(&rows, slots * 8);
    pt_dwarf_cursor table = rows;
    pt_dwarf_advance(&table, slots * 4);
    uint32_t columns[COLUMNS_MAX] = {0};
    for (uint32_t i = 0; i < column_count; i++)
        columns[i] = pt_dwarf_u32(&table);
    const uint64_t row_bytes = column_count * UINT64_C(4);
    for (uint64_t i = 0; i < slots; i++) {
        const uint64_t dwo_id = pt_dwarf_u64(&ids);
        const uint32_t row = pt_dwarf_u32(&rows);
        pt_dwarf_cursor at = table;
        if (row == 0 || row > unit_count) continue;
        pt_dwarf_advance(&at, (row - 1) * row_bytes);
        if (pt_dwarf_left(&at) < row_bytes) continue;
        PT_PUSH(list, read_row(at, dwo_id, columns, column_count));
    }
    PT_SORT(list, by_info_off);
    return list;
}

static const contribution *contribution_of(const contributions *list, uint64_t info_off)
{
    const contribution key = {.info_off = info_off};
    if (list->count == 0) return NULL;
    return bsearch(&key, list->items, list->count, sizeof *list->items, by_info_off);
}

/* ---- headers ---- */

/* Reads a unit's header and moves c past the header. Returns false if the version is unknown. */
static bool read_header(pt_dwarf_unit *unit, pt_dwarf_cursor *c)
{
    unit->version = pt_dwarf_u16(c);
    unit->type = DW_UT_compile;
    if (unit->version < 2 || unit->version > 5) return false;
    if (unit->version == 5) {
        unit->type = pt_dwarf_u8(c);
        unit->addr_bytes = pt_dwarf_u8(c);
    }
    unit->abbrev_off = pt_dwarf_sized(c, unit->offset_bytes);
    if (unit->version < 5) unit->addr_bytes = pt_dwarf_u8(c);
    switch (unit->type) {
    case DW_UT_compile:
    case DW_UT_partial: break;
    case DW_UT_skeleton:
    case DW_UT_split_compile:
        unit->has_dwo_id = true;
        unit->dwo_id = pt_dwarf_u64(c);
        break;
    case DW_UT_type:
    case DW_UT_split_type: pt_dwarf_advance(c, 8u + unit->offset_bytes); break;
    default: return false;
    }
    const unsigned bytes = unit->addr_bytes;
    return bytes == 2 || bytes == 4 || bytes == 8;
}

/* ---- the first entry ---- */

typedef struct {
    pt_dwarf_extent extent;
    pt_dwarf_value line, folder, language, producer, str_offsets_base, addr_base, rnglists_base;
    pt_dwarf_value dwo_name, dwo_id, gnu_ranges_base;
} root_values;

static pt_dwarf_value *slot_of(root_values *root, uint64_t name)
{
    switch (name) {
    case DW_AT_low_pc: return &root->extent.low;
    case DW_AT_high_pc: return &root->extent.high;
    case DW_AT_ranges: return &root->extent.list;
    case DW_AT_stmt_list: return &root->line;
    case DW_AT_comp_dir: return &root->folder;
    case DW_AT_language: return &root->language;
    case DW_AT_producer: return &root->producer;
    case DW_AT_str_offsets_base: return &root->str_offsets_base;
    case DW_AT_addr_base:
    case DW_AT_GNU_addr_base: return &root->addr_base;
    case DW_AT_rnglists_base: return &root->rnglists_base;
    case DW_AT_dwo_name:
    case DW_AT_GNU_dwo_name: return &root->dwo_name;
    case DW_AT_GNU_dwo_id: return &root->dwo_id;
    case DW_AT_GNU_ranges_base: return &root->gnu_ranges_base;
    default: return NULL;
    }
}

/* Moves c past the tag of the abbreviation with that code. False: there is none. */
static bool find_abbrev(pt_dwarf_cursor *c, uint64_t code, uint64_t *ret_tag)
{
    while (c->pos < c->end) {
        const uint64_t at = pt_dwarf_uleb(c);
        if (at == 0) return false;
        *ret_tag = pt_dwarf_uleb(c);
        pt_dwarf_advance(c, 1);
        if (at == code) return true;
        for (uint64_t name = 1, form = 1; (name != 0 || form != 0) && c->pos < c->end;) {
            name = pt_dwarf_uleb(c);
            form = pt_dwarf_uleb(c);
            if (form == DW_FORM_implicit_const) pt_dwarf_skip_leb(c);
        }
    }
    return false;
}

/* Reads the attributes of the first entry. Returns the entry's tag, or 0 if it cannot be read. */
static uint64_t read_root(const pt_dwarf_unit *unit, root_values *root, uint64_t *budget)
{
    pt_dwarf_cursor entry = pt_dwarf_entry_cursor(unit, unit->root_off);
    const uint64_t entry_bytes = pt_dwarf_left(&entry);
    pt_dwarf_cursor c =
        pt_dwarf_cursor_at(unit->file, PT_DWARF_ABBREV, unit->abbrev_off, UINT64_MAX);
    const uint8_t *begin = c.pos;
    uint64_t tag;
    const uint64_t code = pt_dwarf_uleb(&entry);
    if (code == 0 || !find_abbrev(&c, code, &tag)) tag = 0;
    while (tag != 0 && c.pos < c.end) {
        const uint64_t name = pt_dwarf_uleb(&c), form = pt_dwarf_uleb(&c);
        const int64_t implicit = form == DW_FORM_implicit_const ? pt_dwarf_sleb(&c) : 0;
        if ((name == 0 && form == 0) || form > UINT16_MAX) break;
        const pt_dwarf_value value = pt_dwarf_read_form(unit, &entry, (unsigned)form, implicit);
        pt_dwarf_value *slot = slot_of(root, name);
        if (slot != NULL) *slot = value;
    }
    const uint64_t taken = (uint64_t)(c.pos - begin) + entry_bytes - pt_dwarf_left(&entry) + 16;
    *budget -= taken < *budget ? taken : *budget;
    return tag;
}

static bool is_cxx(uint64_t language)
{
    switch (language) {
    case DW_LANG_C_plus_plus:
    case DW_LANG_C_plus_plus_03:
    case DW_LANG_C_plus_plus_11:
    case DW_LANG_C_plus_plus_14:
    case DW_LANG_C_plus_plus_17:
    case DW_LANG_C_plus_plus_20: return true;
    default: return false;
    }
}

/* True for compilers whose units without ranges are known to have no code. */
static bool writes_ranges(const char *producer)
{
    return producer != NULL && (pt_begins(producer, "GNU ") || strstr(producer, "clang") != NULL ||
                                strstr(producer, "rustc") != NULL || pt_begins(producer, "Go "));
}

static void read_first_entry(pt_dwarf_unit *unit, const contribution *part, uint64_t *budget)
{
    root_values root = {0};
    const uint64_t tag = read_root(unit, &root, budget);
    /* Where the unit's tables start if its first entry does not state their place. */
    const bool has_headers = unit->version >= 5;
    const uint64_t header_bytes = unit->offset_bytes == 8 ? 16 : 8;
    unit->str_offsets_base = (has_headers ? header_bytes : 0) + part->str_offsets_off;
    unit->rnglists_base = (unit->offset_bytes == 8 ? 20u : 12u) + part->rnglists_off;
    unit->addr_base = has_headers ? header_bytes : 0;
    if (root.str_offsets_base.form != 0) unit->str_offsets_base = root.str_offsets_base.number;
    if (root.addr_base.form != 0) unit->addr_base = root.addr_base.number;
    if (root.rnglists_base.form != 0) unit->rnglists_base = root.rnglists_base.number;
    unit->ranges_base = root.gnu_ranges_base.number;
    unit->has_line = root.line.form != 0;
    unit->line_off = root.line.number + part->line_off;
    unit->folder = pt_dwarf_text_of(unit, &root.folder);
    unit->dwo_name = pt_dwarf_text_of(unit, &root.dwo_name);
    if (root.dwo_id.form != 0) {
        unit->has_dwo_id = true;
        unit->dwo_id = root.dwo_id.number;
    }
    unit->is_cxx = is_cxx(root.language.number);
    unit->is_assembler = root.language.number == DW_LANG_Mips_Assembler;
    unit->is_rust = root.language.number == DW_LANG_Rust;
    unit->is_searched =
        (tag == DW_TAG_compile_unit && unit->type == DW_UT_compile) || unit->type == DW_UT_skeleton;
    if (!pt_dwarf_addr_of(unit, &root.extent.low, &unit->low_addr)) unit->low_addr = 0;
    unit->extent = root.extent;
    /* Version 2 has no range lists: the unit's one range is that of .text; code in other sections
     * is missing. */
    const bool has_extent = root.extent.high.form != 0 || root.extent.list.form != 0;
    unit->lists_too_little =
        unit->version <= 2 ||
        (!has_extent && !writes_ranges(pt_dwarf_text_of(unit, &root.producer)));
}

PT_ORDER(by_dwo_id, __typeof__(pt_dwarf_unit *),
         PT_COMPARE((*a)->dwo_id, (*b)->dwo_id) ?: PT_COMPARE((*a)->off, (*b)->off));

static void order_by_id(pt_dwarf_file *file)
{
    for (size_t i = 0; i < file->units.count; i++) {
        pt_dwarf_unit *unit = &file->units.items[i];
        if (!unit->has_dwo_id) continue;
        PT_PUSH(file->by_id, unit);
    }
    PT_SORT(file->by_id, by_dwo_id);
}

void pt_dwarf_list_units(pt_dwarf_file *file, uint64_t *budget)
{
    contributions parts = read_index(file);
    pt_dwarf_cursor c = pt_dwarf_cursor_at(file, PT_DWARF_INFO, 0, UINT64_MAX);
    const uint8_t *begin = c.pos;
    while (*budget > 0 && c.pos < c.end) {
        (*budget)--; /* also for a unit of length 0, so that the loop ends */
        pt_dwarf_unit unit = {.file = file, .off = (uint64_t)(c.pos - begin)};
        const uint64_t length = pt_dwarf_initial_length(&c, &unit.offset_bytes);
        pt_dwarf_cursor header = c;
        pt_dwarf_advance(&c, length);
        header.end = c.pos;
        unit.end_off = (uint64_t)(c.pos - begin);
        if (length == 0 || !read_header(&unit, &header)) continue;
        unit.root_off = (uint64_t)(header.pos - begin);
        const contribution none = {0};
        const contribution *part = contribution_of(&parts, unit.off);
        if (part != NULL && unit.type != DW_UT_split_type) {
            unit.has_dwo_id = true;
            unit.dwo_id = part->dwo_id;
            unit.abbrev_off += part->abbrev_off;
        }
        read_first_entry(&unit, part != NULL ? part : &none, budget);
        PT_PUSH(file->units, unit);
    }
    free(parts.items);
    if (file->is_split) order_by_id(file);
}

const pt_dwarf_unit *pt_dwarf_unit_at(const pt_dwarf_file *file, uint64_t off)
{
    const size_t after = PT_FIRST_AFTER(file->units.items, file->units.count, off, off);
    if (after == 0) return NULL;
    const pt_dwarf_unit *unit = &file->units.items[after - 1];
    return off >= unit->root_off && off < unit->end_off ? unit : NULL;
}
