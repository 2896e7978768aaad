/* dwarf_walk.c: walks the entries of a unit once, for all wanted addresses of the unit.
 *
 * The walk skips types, and functions without a wanted address: by DW_AT_sibling if the compiler
 * wrote that attribute, else entry by entry. Nothing recurses: the nesting depth is a counter, or
 * an array with one number for each level, and each level takes a byte of the file. */

#include "base/grow.h"
#include "base/plain/ascending.h"
#include "object/dwarf_form.h"
#include "object/dwarf_int.h"

/* ---- steps ---- */

/* Skips a value of varying size. The most common forms come first. */
static inline void skip_value(const pt_dwarf_unit *unit, pt_dwarf_cursor *c, unsigned form)
{
    if (form == DW_FORM_exprloc)
        pt_dwarf_advance(c, pt_dwarf_uleb(c));
    else if (form == DW_FORM_string)
        /* Strings in .debug_info are short: longer strings are in .debug_str. */
        while (c->pos < c->end && *c->pos++ != 0) {
        }
    else
        pt_dwarf_skip_form(unit, c, form);
}

static inline void skip_entry(const pt_dwarf_abbrevs *table, const pt_dwarf_unit *unit,
                              const pt_dwarf_abbrev *a, pt_dwarf_cursor *c)
{
    for (unsigned n = 0; n < a->skip_count; n++) {
        const pt_dwarf_step *step = &table->steps.items[a->skip_first + n];
        pt_dwarf_advance(c, step->fixed_bytes);
        skip_value(unit, c, step->form);
    }
    pt_dwarf_advance(c, a->tail_bytes);
}

/* The position that DW_AT_sibling refers to; NULL when it is not after `after` in the unit. */
static inline const uint8_t *place_ahead(const pt_dwarf_unit *unit, const pt_dwarf_value *sibling,
                                         const uint8_t *after)
{
    const uint8_t *base = unit->file->sections[PT_DWARF_INFO].data;
    if (sibling->form == DW_FORM_ref4) {
        const uint64_t off = unit->off + sibling->number;
        return off < unit->end_off && base + off > after ? base + off : NULL;
    }
    const pt_dwarf_entry entry = pt_dwarf_entry_of(unit, sibling);
    return entry.unit == unit && base + entry.off > after ? base + entry.off : NULL;
}

/* The position of the entry's next sibling, by DW_AT_sibling. c is at the entry's attributes.
 * Returns NULL if there is no DW_AT_sibling, or it does not point forwards in the unit. */
static inline const uint8_t *sibling_of(const pt_dwarf_abbrevs *table, const pt_dwarf_unit *unit,
                                        const pt_dwarf_abbrev *a, pt_dwarf_cursor c)
{
    if (!a->has_sibling) return NULL;
    const pt_dwarf_step *step = table->steps.items + a->skip_first;
    for (unsigned n = a->sibling_skips; n > 0; n--, step++) {
        pt_dwarf_advance(&c, step->fixed_bytes);
        skip_value(unit, &c, step->form);
    }
    pt_dwarf_advance(&c, a->sibling_bytes);
    const uint8_t *after = c.pos;
    const pt_dwarf_value value = a->sibling_form == DW_FORM_ref4 /* nearly always */
                                     ? (pt_dwarf_value){DW_FORM_ref4, pt_dwarf_u32(&c), NULL}
                                     : pt_dwarf_read_form(unit, &c, a->sibling_form, 0);
    return place_ahead(unit, &value, after);
}

/* Skips the entry and everything in it. */
static void skip_tree(const pt_dwarf_abbrevs *table, const pt_dwarf_unit *unit,
                      const pt_dwarf_abbrev *a, pt_dwarf_cursor *c)
{
    for (uint64_t depth = 0;;) {
        const uint8_t *to = a->has_children ? sibling_of(table, unit, a, *c) : NULL;
        if (to != NULL) {
            c->pos = to;
        } else {
            skip_entry(table, unit, a, c);
            depth += a->has_children;
        }
        for (;;) {
            if (depth == 0 || c->pos >= c->end) return;
            const uint64_t code = pt_dwarf_uleb(c);
            if (code == 0) {
                depth--;
                continue;
            }
            a = pt_dwarf_abbrev_of(table, code);
            if (a != NULL) break;
            c->pos = c->end;
        }
    }
}

/* Reads the value at which a step stops. Nearly all have 4 or 8 bytes and need no further decoding.
 */
static inline pt_dwarf_value value_at(const pt_dwarf_abbrevs *table, const pt_dwarf_unit *unit,
                                      const pt_dwarf_step *step, pt_dwarf_cursor *c)
{
    if (__builtin_expect(step->bytes == 4, 1))
        return (pt_dwarf_value){step->form, pt_dwarf_u32(c), NULL};
    if (step->bytes == 8) return (pt_dwarf_value){step->form, pt_dwarf_u64(c), NULL};
    return pt_dwarf_read_form(unit, c, step->form,
                              table->attributes.items[step->attribute].implicit);
}

/* Reads an entry's addresses and its sibling, and moves c past the entry's attributes. */
static pt_dwarf_extent read_extent(const pt_dwarf_abbrevs *table, const pt_dwarf_unit *unit,
                                   const pt_dwarf_abbrev *a, pt_dwarf_cursor *c,
                                   pt_dwarf_value *ret_sibling)
{
    *ret_sibling = (pt_dwarf_value){0};
    pt_dwarf_extent extent = {0};
    const pt_dwarf_step *step = table->steps.items + a->read_first;
    for (unsigned n = a->read_count; n > 0; n--, step++) {
        pt_dwarf_advance(c, step->fixed_bytes);
        if (step->role == PT_DWARF_SKIPPED) {
            skip_value(unit, c, step->form);
            continue;
        }
        const pt_dwarf_value value = value_at(table, unit, step, c);
        switch ((pt_dwarf_role)step->role) {
        case PT_DWARF_LOW_PC: extent.low = value; break;
        case PT_DWARF_HIGH_PC: extent.high = value; break;
        case PT_DWARF_RANGE_LIST: extent.list = value; break;
        case PT_DWARF_SIBLING: *ret_sibling = value; break;
        case PT_DWARF_SKIPPED: break;
        }
    }
    pt_dwarf_advance(c, a->read_tail_bytes);
    return extent;
}

/* ---- wanted addresses ---- */

typedef struct {
    pt_dwarf_worker *worker;
    const pt_dwarf_unit *unit;
    const pt_dwarf_abbrevs *table;
    const uint64_t *addrs;
    size_t count;
    uint32_t *node_of;
    pt_dwarf_depth depth;
    bool was_partial; /* an entry was skipped that a deeper walk would enter */
    uint64_t work;
} walk;

/* The first of the addresses [low, high) not below addr. */
static size_t first_at(const walk *w, size_t low, size_t high, uint64_t addr)
{
    return low + pt_first_from(w->addrs + low, high - low, sizeof *w->addrs, 0, addr);
}

/* The wanted addresses that an entry takes from its parent. */
typedef struct {
    uint32_t id;       /* of the new node */
    size_t begin, end; /* the parent's addresses */
    uint64_t least, most;
    size_t first, last;  /* the addresses taken; first == end: none */
    bool spares_inlined; /* does not take addresses of inlined calls */
} claims;

static inline void claim_range(walk *w, claims *s, uint64_t addr, uint64_t end_addr)
{
    const pt_dwarf *d = w->worker->dwarf;
    w->work++;
    if (addr > s->most || end_addr <= s->least || addr >= end_addr ||
        !pt_dwarf_is_code(d->code, d->code_count, addr))
        return;
    size_t i = first_at(w, s->begin, s->end, addr);
    if (i == s->end || w->addrs[i] >= end_addr) return;
    s->first = i < s->first ? i : s->first;
    for (; i < s->end && w->addrs[i] < end_addr; i++, w->work++)
        if (!s->spares_inlined || w->node_of[i] == PT_NONE ||
            w->worker->nodes.items[w->node_of[i]].parent == PT_NONE)
            w->node_of[i] = s->id;
    s->last = i - 1 > s->last ? i - 1 : s->last;
}

/* Does the unit lack lists of ranges, as strict DWARF 2 does? Then the entry of a function whose
 * code lies in several places has only the first place, and calls inlined into the function may lie
 * in the other places. For the cold part of a function gcc writes a second function, without the
 * calls.
 */
static inline bool lacks_ranges(const walk *w)
{
    return w->unit->version == 2 && !w->table->has_range_lists;
}

/* Makes a node of the wanted addresses in the entry's ranges. An inlined call takes only addresses
 * of its parent. Returns PT_NONE if no wanted address is in the ranges. */
static uint32_t claim_node(walk *w, uint64_t off, const pt_dwarf_extent *extent, uint32_t parent)
{
    pt_dwarf_worker *worker = w->worker;
    claims s = {.id = (uint32_t)worker->nodes.count,
                .end = w->count,
                .spares_inlined = parent == PT_NONE && lacks_ranges(w)};
    if (parent != PT_NONE) {
        s.begin = worker->nodes.items[parent].first;
        s.end = worker->nodes.items[parent].last + (size_t)1;
    }
    s.least = w->addrs[s.begin];
    s.most = w->addrs[s.end - 1];
    s.first = s.end;
    s.last = s.begin;
    const uint64_t low = extent->low.number, bytes = extent->high.number;
    if (extent->low.form == DW_FORM_addr && extent->high.form == DW_FORM_data8 &&
        bytes <= UINT64_MAX - low) { /* gcc's form */
        claim_range(w, &s, low, low + bytes);
    } else {
        pt_dwarf_ranges ranges;
        uint64_t addr, end_addr;
        pt_dwarf_ranges_init(&ranges, w->unit, extent);
        while (pt_dwarf_ranges_next(&ranges, &addr, &end_addr))
            claim_range(w, &s, addr, end_addr);
        w->work += ranges.steps;
    }
    if (lacks_ranges(w)) {
        s.first = s.begin;
        s.last = s.end - 1;
    } else if (s.first == s.end) {
        return PT_NONE;
    }
    PT_PUSH(worker->nodes, (pt_dwarf_node){.off = off,
                                           .parent = parent,
                                           .first = (uint32_t)s.first,
                                           .last = (uint32_t)s.last,
                                           .function = PT_NONE});
    return s.id;
}

/* ---- the walk ---- */

typedef enum {
    OVER, /* skip the entry with its children */
    DONE, /* skip it too; c is past it already */
    INTO, /* enter its children, if it has any */
} decision;

/* True if the walk is deep enough; else notes that it was partial. */
static inline bool reaches_depth(walk *w, pt_dwarf_depth depth)
{
    w->was_partial |= w->depth < depth;
    return w->depth >= depth;
}

/* Decides how to treat an entry; c is at the entry's attributes. If the decision is INTO, c is past
 * these, and *ret_node is the function of the entry's children. If it is OVER, c has not moved. */
static decision decide_entry(walk *w, const pt_dwarf_abbrev *a, uint64_t off, uint32_t around,
                             pt_dwarf_cursor *c, uint32_t *ret_node)
{
    *ret_node = around;
    switch ((pt_dwarf_kind)a->kind) {
    case PT_DWARF_FUNCTION:
    case PT_DWARF_INLINED: {
        const bool is_inlined = a->kind == PT_DWARF_INLINED;
        if (is_inlined && around == PT_NONE) return OVER;
        pt_dwarf_cursor ahead = *c;
        pt_dwarf_value sibling;
        const pt_dwarf_extent extent = read_extent(w->table, w->unit, a, &ahead, &sibling);
        const uint32_t id = claim_node(w, off, &extent, is_inlined ? around : PT_NONE);
        if (id == PT_NONE && (is_inlined || !reaches_depth(w, PT_DWARF_LOCAL))) {
            const uint8_t *to =
                a->has_children ? place_ahead(w->unit, &sibling, ahead.pos) : ahead.pos;
            if (to == NULL) return OVER;
            c->pos = to;
            return DONE;
        }
        *c = ahead;
        *ret_node = id;
        return INTO;
    }
    case PT_DWARF_BLOCK:
        if (around == PT_NONE && !reaches_depth(w, PT_DWARF_LOCAL)) return OVER;
        break;
    case PT_DWARF_NAMESPACE:
        if (a->has_sibling && !reaches_depth(w, PT_DWARF_THOROUGH)) return OVER;
        break;
    case PT_DWARF_TYPE:
        if (!w->unit->is_rust &&
            !reaches_depth(w, w->worker->levels.count > 0 ? PT_DWARF_LOCAL : PT_DWARF_THOROUGH))
            return OVER;
        *ret_node = PT_NONE;
        break;
    case PT_DWARF_ABSTRACT:
        if (!reaches_depth(w, PT_DWARF_LOCAL)) return OVER;
        *ret_node = PT_NONE;
        break;
    case PT_DWARF_OTHER: return OVER;
    }
    skip_entry(w->table, w->unit, a, c);
    return INTO;
}

/* Keeps every 32nd offset of the entries directly below the unit's first, for pt_dwarf_find_around.
 */
static inline void note_place(pt_dwarf_worker *worker, uint64_t off)
{
    enum { EACH = 32 };
    if (worker->places.seen++ % EACH != 0) return;
    PT_PUSH(worker->places, off);
}

static void walk_entries(walk *w, pt_dwarf_cursor *c)
{
    pt_dwarf_worker *worker = w->worker;
    uint32_t around = PT_NONE;
    worker->levels.count = 0;
    worker->places.count = worker->places.seen = 0;
    worker->places.unit = w->unit;
    uint64_t spent = 0;
    while (c->pos < c->end) {
        if (w->work - spent > 4096) {
            if (!pt_dwarf_spend(worker->dwarf, w->work - spent)) return;
            spent = w->work;
        }
        const uint64_t off = pt_dwarf_off_of(w->unit, c);
        if (worker->levels.count == 0) note_place(worker, off);
        const uint64_t code = pt_dwarf_uleb(c);
        if (code == 0) {
            if (worker->levels.count == 0) return;
            around = worker->levels.items[--worker->levels.count];
            continue;
        }
        const pt_dwarf_abbrev *a = pt_dwarf_abbrev_of(w->table, code);
        if (a == NULL) return;
        if (a->kind == PT_DWARF_OTHER && !a->has_children) {
            skip_entry(w->table, w->unit, a, c);
            continue;
        }
        uint32_t node;
        const decision what = decide_entry(w, a, off, around, c, &node);
        if (what == OVER) {
            skip_tree(w->table, w->unit, a, c);
        } else if (what == INTO && a->has_children) {
            PT_PUSH(worker->levels, around);
            around = node;
        }
    }
}

/* Moves c past the attributes of the unit's first entry. False: the entry has no children. */
static bool enter_root(const pt_dwarf_abbrevs *table, const pt_dwarf_unit *unit, pt_dwarf_cursor *c)
{
    *c = pt_dwarf_entry_cursor(unit, unit->root_off);
    const pt_dwarf_abbrev *a = pt_dwarf_abbrev_of(table, pt_dwarf_uleb(c));
    if (a == NULL || !a->has_children) return false;
    skip_entry(table, unit, a, c);
    return true;
}

bool pt_dwarf_walk(pt_dwarf_worker *worker, const pt_dwarf_unit *unit, const uint64_t *addrs,
                   size_t count, uint32_t *node_of, pt_dwarf_depth depth)
{
    walk w = {.worker = worker,
              .unit = unit,
              .table = pt_dwarf_abbrevs_for(worker, unit),
              .addrs = addrs,
              .count = count,
              .node_of = node_of,
              .depth = depth};
    pt_dwarf_cursor c;
    if (count > 0 && enter_root(w.table, unit, &c)) walk_entries(&w, &c);
    return w.was_partial;
}

uint64_t pt_dwarf_walk_ranges(const pt_dwarf_abbrevs *table, const pt_dwarf_unit *unit,
                              uint64_t most, pt_dwarf_add_range *add, void *context)
{
    pt_dwarf_cursor c;
    uint64_t steps = 0;
    if (!enter_root(table, unit, &c)) return steps;
    while (c.pos < c.end && steps < most) {
        const uint64_t code = pt_dwarf_uleb(&c);
        if (code == 0) continue;
        const pt_dwarf_abbrev *a = pt_dwarf_abbrev_of(table, code);
        if (a == NULL) return steps;
        if (a->kind != PT_DWARF_FUNCTION) {
            skip_entry(table, unit, a, &c);
            continue;
        }
        pt_dwarf_value sibling;
        const pt_dwarf_extent extent = read_extent(table, unit, a, &c, &sibling);
        pt_dwarf_ranges ranges;
        uint64_t addr, end_addr;
        pt_dwarf_ranges_init(&ranges, unit, &extent);
        while (pt_dwarf_ranges_next(&ranges, &addr, &end_addr))
            add(context, addr, end_addr);
        steps += ranges.steps;
    }
    return steps;
}

/* ---- the enclosing entries of an entry ---- */

void pt_dwarf_find_around(pt_dwarf_worker *worker, const pt_dwarf_unit *unit, const uint64_t *offs,
                          size_t count, pt_dwarf_around *found, void *context)
{
    const pt_dwarf_abbrevs *table = pt_dwarf_abbrevs_for(worker, unit);
    const uint8_t *base = unit->file->sections[PT_DWARF_INFO].data;
    const size_t place_count = worker->places.unit == unit ? worker->places.count : 0;
    pt_dwarf_cursor c;
    size_t i = 0, place = 0;
    uint64_t depth = 0;
    worker->ancestors.count = 0;
    if (!enter_root(table, unit, &c)) return;
    while (c.pos < c.end && i < count) {
        uint64_t off = pt_dwarf_off_of(unit, &c);
        while (i < count && offs[i] < off)
            i++;
        if (depth == 0 && i < count) {
            while (place < place_count && worker->places.items[place] <= offs[i])
                place++;
            if (place > 0 && worker->places.items[place - 1] > off) {
                off = worker->places.items[place - 1];
                c.pos = base + off;
            }
        }
        for (; i < count && offs[i] == off; i++)
            found(context, i, worker->ancestors.items, depth);
        const uint64_t code = pt_dwarf_uleb(&c);
        if (code == 0) {
            if (depth-- == 0) return;
            worker->ancestors.count--;
            continue;
        }
        const pt_dwarf_abbrev *a = pt_dwarf_abbrev_of(table, code);
        if (a == NULL) return;
        const uint8_t *to = a->has_children ? sibling_of(table, unit, a, c) : NULL;
        if (to != NULL && (i == count || offs[i] >= (uint64_t)(to - base))) {
            c.pos = to;
            continue;
        }
        skip_entry(table, unit, a, &c);
        if (!a->has_children) continue;
        PT_PUSH(worker->ancestors, (pt_dwarf_ancestor){.off = off, .kind = a->kind});
        depth++;
    }
}
