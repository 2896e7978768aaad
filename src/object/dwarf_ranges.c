/* dwarf_ranges.c: reads the addresses of an entry (sections 2.17 and 7.25): one range, or a list.
 *
 *   versions 2-4   .debug_ranges     pairs of offsets from a base; (~0, base) sets it, (0, 0) ends
 *   version 5      .debug_rnglists   a kind in one byte, then its operands */
#include "object/dwarf_form.h"
#include "object/dwarf_int.h"

static uint64_t addr_max(const pt_dwarf_unit *unit)
{
    return unit->addr_bytes >= 8 ? UINT64_MAX : (UINT64_C(1) << unit->addr_bytes * 8) - 1;
}

/* The offset of the unit's list i, from the table at the start of its lists. */
static bool indexed_list(const pt_dwarf_unit *unit, uint64_t i, uint64_t *ret_off)
{
    const uint64_t width = unit->offset_bytes;
    if (i > UINT32_MAX) return false;
    pt_dwarf_cursor c = pt_dwarf_cursor_at(unit->file, PT_DWARF_RNGLISTS,
                                           unit->rnglists_base + i * width, UINT64_MAX);
    if (pt_dwarf_left(&c) < width) return false;
    *ret_off = unit->rnglists_base + pt_dwarf_sized(&c, (unsigned)width);
    return true;
}

static bool find_list(pt_dwarf_ranges *r, const pt_dwarf_value *value)
{
    const pt_dwarf_unit *unit = r->unit;
    uint64_t off = value->number;
    switch (value->form) {
    case DW_FORM_rnglistx:
        if (!indexed_list(unit, value->number, &off)) return false;
        break;
    case DW_FORM_sec_offset:
    case DW_FORM_data4:
    case DW_FORM_data8: break;
    default: return false;
    }
    if (unit->version >= 5) {
        r->list = pt_dwarf_cursor_at(unit->file, PT_DWARF_RNGLISTS, off, UINT64_MAX);
    } else { /* a split unit's lists are in the image */
        const pt_dwarf_unit *owner = unit->skeleton != NULL ? unit->skeleton : unit;
        r->list =
            pt_dwarf_cursor_at(owner->file, PT_DWARF_RANGES, off + unit->ranges_base, UINT64_MAX);
    }
    return r->list.pos < r->list.end;
}

void pt_dwarf_ranges_init(pt_dwarf_ranges *r, const pt_dwarf_unit *unit,
                          const pt_dwarf_extent *extent)
{
    *r = (pt_dwarf_ranges){.unit = unit, .base = unit->low_addr};
    if (extent->high.form != 0 && pt_dwarf_addr_of(unit, &extent->low, &r->addr)) {
        r->is_one = true;
        if (!pt_dwarf_is_addr_form(extent->high.form))
            r->end_addr = extent->high.number <= UINT64_MAX - r->addr
                              ? r->addr + extent->high.number
                              : r->addr;
        else if (!pt_dwarf_addr_of(unit, &extent->high, &r->end_addr))
            r->is_one = false;
    } else if (extent->list.form != 0) {
        r->is_list = find_list(r, &extent->list);
    }
}

static bool next_pair(pt_dwarf_ranges *r, uint64_t *ret_addr, uint64_t *ret_end_addr)
{
    const unsigned width = r->unit->addr_bytes;
    const uint64_t max = addr_max(r->unit);
    while (pt_dwarf_left(&r->list) >= 2 * (uint64_t)width) {
        r->steps++;
        const uint64_t first = pt_dwarf_sized(&r->list, width);
        const uint64_t second = pt_dwarf_sized(&r->list, width);
        if (first == 0 && second == 0) return false;
        if (first == max) {
            r->base = second;
            continue;
        }
        *ret_addr = (r->base + first) & max;
        *ret_end_addr = (r->base + second) & max;
        return true;
    }
    return false;
}

static bool next_entry(pt_dwarf_ranges *r, uint64_t *ret_addr, uint64_t *ret_end_addr)
{
    const pt_dwarf_unit *unit = r->unit;
    pt_dwarf_cursor *c = &r->list;
    const uint64_t max = addr_max(unit);
    while (c->pos < c->end) {
        r->steps++;
        const uint8_t kind = pt_dwarf_u8(c);
        uint64_t first = 0, second = 0;
        bool known = true;
        switch (kind) {
        case DW_RLE_base_address: r->base = pt_dwarf_sized(c, unit->addr_bytes); continue;
        case DW_RLE_base_addressx:
            if (!pt_dwarf_indexed_addr(unit, pt_dwarf_uleb(c), &r->base)) r->base = max;
            continue;
        case DW_RLE_offset_pair:
            first = r->base + pt_dwarf_uleb(c);
            second = r->base + pt_dwarf_uleb(c);
            known = r->base != max;
            break;
        case DW_RLE_start_end:
            first = pt_dwarf_sized(c, unit->addr_bytes);
            second = pt_dwarf_sized(c, unit->addr_bytes);
            break;
        case DW_RLE_start_length:
            first = pt_dwarf_sized(c, unit->addr_bytes);
            second = first + pt_dwarf_uleb(c);
            break;
        case DW_RLE_startx_endx:
            known = pt_dwarf_indexed_addr(unit, pt_dwarf_uleb(c), &first);
            known &= pt_dwarf_indexed_addr(unit, pt_dwarf_uleb(c), &second);
            break;
        case DW_RLE_startx_length:
            known = pt_dwarf_indexed_addr(unit, pt_dwarf_uleb(c), &first);
            second = first + pt_dwarf_uleb(c);
            break;
        default: return false; /* the end, or an unknown kind */
        }
        if (!known) continue;
        *ret_addr = first & max;
        *ret_end_addr = second & max;
        return true;
    }
    return false;
}

bool pt_dwarf_ranges_next(pt_dwarf_ranges *r, uint64_t *ret_addr, uint64_t *ret_end_addr)
{
    if (r->is_list)
        return r->unit->version >= 5 ? next_entry(r, ret_addr, ret_end_addr)
                                     : next_pair(r, ret_addr, ret_end_addr);
    if (!r->is_one) return false;
    r->is_one = false;
    *ret_addr = r->addr;
    *ret_end_addr = r->end_addr;
    return true;
}
