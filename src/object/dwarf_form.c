/* dwarf_form.c: reads attribute values (section 7.5.6) and resolves them to strings, addresses and
 * entries.
 *
 * Apart from the standard's forms this file reads GNU extensions: those of split units before
 * version 5 (GNU_addr_index, GNU_str_index) and references into the supplement of dwz (GNU_ref_alt,
 * GNU_strp_alt). */
#include <stddef.h>

#include "object/dwarf_form.h"
#include "object/dwarf_int.h"

int pt_dwarf_form_bytes(const pt_dwarf_unit *unit, unsigned form)
{
    switch (form) {
    case DW_FORM_flag_present:
    case DW_FORM_implicit_const: return 0;
    case DW_FORM_data1:
    case DW_FORM_ref1:
    case DW_FORM_flag:
    case DW_FORM_strx1:
    case DW_FORM_addrx1: return 1;
    case DW_FORM_data2:
    case DW_FORM_ref2:
    case DW_FORM_strx2:
    case DW_FORM_addrx2: return 2;
    case DW_FORM_strx3:
    case DW_FORM_addrx3: return 3;
    case DW_FORM_data4:
    case DW_FORM_ref4:
    case DW_FORM_ref_sup4:
    case DW_FORM_strx4:
    case DW_FORM_addrx4: return 4;
    case DW_FORM_data8:
    case DW_FORM_ref8:
    case DW_FORM_ref_sup8:
    case DW_FORM_ref_sig8: return 8;
    case DW_FORM_data16: return 16;
    case DW_FORM_addr: return unit->addr_bytes;
    case DW_FORM_ref_addr: return unit->version <= 2 ? unit->addr_bytes : unit->offset_bytes;
    case DW_FORM_strp:
    case DW_FORM_strp_sup:
    case DW_FORM_line_strp:
    case DW_FORM_sec_offset:
    case DW_FORM_GNU_ref_alt:
    case DW_FORM_GNU_strp_alt: return unit->offset_bytes;
    case DW_FORM_block:
    case DW_FORM_block1:
    case DW_FORM_block2:
    case DW_FORM_block4:
    case DW_FORM_exprloc:
    case DW_FORM_string:
    case DW_FORM_sdata:
    case DW_FORM_udata:
    case DW_FORM_ref_udata:
    case DW_FORM_indirect:
    case DW_FORM_strx:
    case DW_FORM_addrx:
    case DW_FORM_loclistx:
    case DW_FORM_rnglistx:
    case DW_FORM_GNU_addr_index:
    case DW_FORM_GNU_str_index: return -1;
    default: return -2;
    }
}

/* Reads the actual form of an indirect value, which precedes the value. Returns 0 if there is
 * none. */
static unsigned direct_form(pt_dwarf_cursor *c, unsigned form)
{
    while (form == DW_FORM_indirect && c->pos < c->end) {
        const uint64_t stored = pt_dwarf_uleb(c);
        form = stored < 0x10000 && stored != DW_FORM_implicit_const ? (unsigned)stored : 0;
    }
    return form == DW_FORM_indirect ? 0 : form;
}

void pt_dwarf_skip_form(const pt_dwarf_unit *unit, pt_dwarf_cursor *c, unsigned form)
{
    switch (form) {
    case DW_FORM_string: (void)pt_dwarf_cstring(c); return;
    case DW_FORM_block:
    case DW_FORM_exprloc: pt_dwarf_advance(c, pt_dwarf_uleb(c)); return;
    case DW_FORM_block1: pt_dwarf_advance(c, pt_dwarf_u8(c)); return;
    case DW_FORM_block2: pt_dwarf_advance(c, pt_dwarf_u16(c)); return;
    case DW_FORM_block4: pt_dwarf_advance(c, pt_dwarf_u32(c)); return;
    case DW_FORM_indirect: break;
    default: pt_dwarf_skip_leb(c); return;
    }
    form = direct_form(c, form);
    const int bytes = pt_dwarf_form_bytes(unit, form);
    if (bytes >= 0)
        pt_dwarf_advance(c, (uint64_t)bytes);
    else if (bytes == -1)
        pt_dwarf_skip_form(unit, c, form); /* recurses once: the form is no longer indirect */
    else
        c->pos = c->end;
}

pt_dwarf_value pt_dwarf_read_form(const pt_dwarf_unit *unit, pt_dwarf_cursor *c, unsigned form,
                                  int64_t implicit)
{
    if (form == DW_FORM_indirect) form = direct_form(c, form);
    pt_dwarf_value value = {.form = (uint16_t)form};
    switch (form) { /* the forms of nearly all values */
    case DW_FORM_data1: value.number = pt_dwarf_u8(c); return value;
    case DW_FORM_data2: value.number = pt_dwarf_u16(c); return value;
    case DW_FORM_data4:
    case DW_FORM_ref4: value.number = pt_dwarf_u32(c); return value;
    case DW_FORM_data8: value.number = pt_dwarf_u64(c); return value;
    case DW_FORM_strp:
    case DW_FORM_sec_offset:
        value.number = unit->offset_bytes == 8 ? pt_dwarf_u64(c) : pt_dwarf_u32(c);
        return value;
    default: break;
    }
    const int bytes = pt_dwarf_form_bytes(unit, form);
    switch (form) {
    case DW_FORM_implicit_const: value.number = (uint64_t)implicit; return value;
    case DW_FORM_flag_present: value.number = 1; return value;
    case DW_FORM_string: value.text = pt_dwarf_cstring(c); return value;
    case DW_FORM_sdata: value.number = (uint64_t)pt_dwarf_sleb(c); return value;
    case DW_FORM_data16: pt_dwarf_advance(c, 16); return (pt_dwarf_value){0};
    case DW_FORM_block:
    case DW_FORM_block1:
    case DW_FORM_block2:
    case DW_FORM_block4:
    case DW_FORM_exprloc: pt_dwarf_skip_form(unit, c, form); return (pt_dwarf_value){0};
    default: break;
    }
    if (bytes == -2) {
        c->pos = c->end;
        return (pt_dwarf_value){0};
    }
    value.number = bytes >= 0 ? pt_dwarf_sized(c, (unsigned)bytes) : pt_dwarf_uleb(c);
    return value;
}

/* ---- strings ---- */

/* Entry i of the unit's table of string offsets. */
static const char *indexed_string(const pt_dwarf_unit *unit, uint64_t i)
{
    const uint64_t width = unit->offset_bytes;
    if (i > UINT32_MAX) return NULL;
    pt_dwarf_cursor c = pt_dwarf_cursor_at(unit->file, PT_DWARF_STR_OFFSETS,
                                           unit->str_offsets_base + i * width, UINT64_MAX);
    if (pt_dwarf_left(&c) < width) return NULL;
    return pt_dwarf_string_at(unit->file, PT_DWARF_STR, pt_dwarf_sized(&c, (unsigned)width));
}

const char *pt_dwarf_text_of(const pt_dwarf_unit *unit, const pt_dwarf_value *value)
{
    switch (value->form) {
    case DW_FORM_string: return value->text;
    case DW_FORM_strp: return pt_dwarf_string_at(unit->file, PT_DWARF_STR, value->number);
    case DW_FORM_line_strp: return pt_dwarf_string_at(unit->file, PT_DWARF_LINE_STR, value->number);
    case DW_FORM_strp_sup:
    case DW_FORM_GNU_strp_alt:
        if (unit->file->supplement == NULL) return NULL;
        return pt_dwarf_string_at(unit->file->supplement, PT_DWARF_STR, value->number);
    case DW_FORM_strx:
    case DW_FORM_strx1:
    case DW_FORM_strx2:
    case DW_FORM_strx3:
    case DW_FORM_strx4:
    case DW_FORM_GNU_str_index: return indexed_string(unit, value->number);
    default: return NULL;
    }
}

/* ---- addresses ---- */

bool pt_dwarf_is_addr_form(unsigned form)
{
    switch (form) {
    case DW_FORM_addr:
    case DW_FORM_addrx:
    case DW_FORM_addrx1:
    case DW_FORM_addrx2:
    case DW_FORM_addrx3:
    case DW_FORM_addrx4:
    case DW_FORM_GNU_addr_index: return true;
    default: return false;
    }
}

bool pt_dwarf_indexed_addr(const pt_dwarf_unit *unit, uint64_t i, uint64_t *ret_addr)
{
    const pt_dwarf_unit *owner = unit->skeleton != NULL ? unit->skeleton : unit;
    const uint64_t width = unit->addr_bytes;
    if (i > UINT32_MAX) return false;
    pt_dwarf_cursor c =
        pt_dwarf_cursor_at(owner->file, PT_DWARF_ADDR, owner->addr_base + i * width, UINT64_MAX);
    if (width == 0 || pt_dwarf_left(&c) < width) return false;
    *ret_addr = pt_dwarf_sized(&c, (unsigned)width);
    return true;
}

bool pt_dwarf_addr_of(const pt_dwarf_unit *unit, const pt_dwarf_value *value, uint64_t *ret_addr)
{
    if (!pt_dwarf_is_addr_form(value->form)) return false;
    if (value->form != DW_FORM_addr) return pt_dwarf_indexed_addr(unit, value->number, ret_addr);
    *ret_addr = value->number;
    return true;
}

/* ---- other entries ---- */

pt_dwarf_entry pt_dwarf_entry_of(const pt_dwarf_unit *unit, const pt_dwarf_value *value)
{
    const pt_dwarf_file *file = unit->file;
    switch (value->form) {
    case DW_FORM_ref1:
    case DW_FORM_ref2:
    case DW_FORM_ref4:
    case DW_FORM_ref8:
    case DW_FORM_ref_udata: {
        if (value->number >= unit->end_off - unit->off) return (pt_dwarf_entry){NULL, 0};
        const uint64_t off = unit->off + value->number;
        return (pt_dwarf_entry){off >= unit->root_off ? unit : NULL, off};
    }
    case DW_FORM_ref_addr: break;
    case DW_FORM_ref_sup4:
    case DW_FORM_ref_sup8:
    case DW_FORM_GNU_ref_alt: file = file->supplement; break;
    default: return (pt_dwarf_entry){NULL, 0};
    }
    const pt_dwarf_unit *other = file != NULL ? pt_dwarf_unit_at(file, value->number) : NULL;
    return (pt_dwarf_entry){other, value->number};
}
