/* symbols.c: an index from address to symbol.
 *
 *   symbol table -> candidates (code, named), sorted by address
 *                -> disjoint ranges, each with its symbol
 *
 * Sized symbols are overlaid in the order of their addresses, so an inner symbol hides a part of
 * the outer symbol. The remaining addresses go to symbols without a size. */
#include "object/object_int.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/plain/ascending.h"

typedef struct {
    uint64_t addr, end_addr; /* end_addr of a symbol without a size: its section's end */
    uint32_t symbol;
    uint8_t table;
    uint8_t rank; /* a higher rank takes precedence */
    bool has_size;
} candidate;

typedef PT_VECTOR(candidate) candidates;

typedef struct {
    uint64_t addr, end_addr;
    bool is_code;
} extent;

/* ---- selection of code symbols ---- */

/* True for mapping symbols "$x", "$d.12", with which tools for ARM, AArch64 and RISC-V mark code
 * and data, and for labels ".L", which an assembler should have dropped. */
static bool is_artificial(const pt_elf *elf, const char *name)
{
    if (name[0] == '\0' || (name[0] == '.' && name[1] == 'L')) return true;
    const bool has_mapping_symbols = elf->machine == EM_ARM || elf->machine == EM_AARCH64 ||
                                     elf->machine == EM_RISCV || elf->machine == EM_CSKY;
    return has_mapping_symbols && name[0] == '$' && strchr("axdt", name[1]) != NULL &&
           (name[1] == '\0' || name[2] == '\0' || name[2] == '.' || name[1] == 'x');
}

static uint8_t rank_of(const pt_elf_symbol *s)
{
    unsigned underscores = 0;
    while (underscores < 7 && s->name[underscores] == '_')
        underscores++;
    const unsigned binding = s->binding == STB_LOCAL ? 0 : s->binding == STB_WEAK ? 1 : 2;
    return (uint8_t)((s->type != STT_NOTYPE ? 1u << 5 : 0) | binding << 3 | (7 - underscores));
}

/* The address ranges of all sections; a symbol ends at its section's end. */
static extent *section_extents(const pt_elf *elf)
{
    extent *extents = pt_alloc(elf->section_count + 1, sizeof *extents);
    pt_elf_section s;
    for (uint32_t i = 0; pt_elf_section_at(elf, i, &s); i++) {
        const bool wraps = s.size_bytes > UINT64_MAX - s.addr;
        extents[i] =
            (extent){.addr = s.addr,
                     .end_addr = wraps ? UINT64_MAX : s.addr + s.size_bytes,
                     .is_code = (s.flags & SHF_ALLOC) != 0 && (s.flags & SHF_EXECINSTR) != 0};
    }
    return extents;
}

/* The executable segment that contains addr, for symbols without a section. */
static extent segment_around(const pt_elf *elf, uint64_t addr)
{
    pt_elf_segment s;
    for (uint32_t i = 0; pt_elf_segment_at(elf, i, &s); i++)
        if (s.type == PT_LOAD && (s.flags & PF_X) != 0 && addr >= s.addr &&
            addr - s.addr < s.memory_bytes)
            return (extent){s.addr, s.addr + s.memory_bytes, true};
    return (extent){0, 0, false};
}

static void collect_candidates(const pt_elf_symbols *table, uint8_t number, candidates *list)
{
    const pt_elf *elf = table->elf;
    PT_FREE extent *extents = section_extents(elf);
    pt_elf_symbol s;
    for (uint32_t i = 1; pt_elf_symbol_at(table, i, &s); i++) {
        const bool is_function = s.type == STT_FUNC || s.type == STT_GNU_IFUNC;
        if ((!is_function && s.type != STT_NOTYPE) || s.section_index == SHN_UNDEF ||
            is_artificial(elf, s.name))
            continue;
        if (is_function && elf->machine == EM_ARM) s.value &= ~UINT64_C(1); /* Thumb code */
        extent around = {0, 0, false};
        if (!s.is_reserved_index && s.section_index < elf->section_count)
            around = extents[s.section_index];
        else if (s.section_index == SHN_ABS && is_function)
            around = segment_around(elf, s.value);
        if (!around.is_code || s.value < around.addr || s.value >= around.end_addr) continue;
        const bool fits = s.size_bytes <= around.end_addr - s.value;
        PT_PUSH(*list, (candidate){.addr = s.value,
                                   .end_addr = s.size_bytes != 0 && fits ? s.value + s.size_bytes
                                                                         : around.end_addr,
                                   .symbol = i,
                                   .table = number,
                                   .rank = rank_of(&s),
                                   .has_size = s.size_bytes != 0});
    }
}

/* ---- order ---- */

/* Sorts by address: a stable radix sort with 11 bits per pass, least significant first. It skips
 * passes over bits that are equal in all addresses. */
static void sort_by_address(candidates *list)
{
    enum { BITS = 11, BUCKETS = 1 << BITS };
    uint64_t differing = 0;
    for (size_t i = 1; i < list->count; i++)
        differing |= list->items[i].addr ^ list->items[0].addr;
    if (differing == 0) return;
    candidate *from = list->items, *to = pt_alloc(list->count, sizeof *to);
    for (unsigned shift = 0; shift < 64 && differing >> shift != 0; shift += BITS) {
        size_t place[BUCKETS] = {0};
        for (size_t i = 0; i < list->count; i++)
            place[from[i].addr >> shift & (BUCKETS - 1)]++;
        size_t sum = 0;
        for (size_t b = 0; b < BUCKETS; b++) {
            const size_t n = place[b];
            place[b] = sum;
            sum += n;
        }
        for (size_t i = 0; i < list->count; i++)
            to[place[from[i].addr >> shift & (BUCKETS - 1)]++] = from[i];
        candidate *swap = from;
        from = to;
        to = swap;
    }
    free(to);
    list->items = from;
    list->cap = list->count;
}

/* Orders symbols with equal start by precedence. Compares a limited part of the names, since a file
 * can have millions of long equal names. */
static int by_preference(const void *x, const void *y, void *context)
{
    const candidate *a = x, *b = y;
    const pt_elf_symbols *tables = context;
    if (a->has_size != b->has_size) return a->has_size ? -1 : 1;
    if (a->rank != b->rank) return a->rank > b->rank ? -1 : 1;
    pt_elf_symbol s, t;
    if (pt_elf_symbol_at(&tables[a->table], a->symbol, &s) &&
        pt_elf_symbol_at(&tables[b->table], b->symbol, &t) && s.name != t.name) {
        const int order = strncmp(s.name, t.name, 256);
        if (order != 0) return order;
    }
    if (a->table != b->table) return a->table < b->table ? -1 : 1;
    return a->symbol < b->symbol ? -1 : a->symbol > b->symbol;
}

static void sort_candidates(candidates *list, const pt_elf_symbols *tables)
{
    sort_by_address(list);
    for (size_t i = 0, end; i < list->count; i = end) {
        for (end = i + 1; end < list->count && list->items[end].addr == list->items[i].addr;
             end++) {
        }
        if (end - i > 1)
            qsort_r(list->items + i, end - i, sizeof *list->items, by_preference, (void *)tables);
    }
}

/* ---- ranges ---- */

typedef struct {
    pt_symbol_index *index;
    candidates open; /* a stack of symbols that cover the current address; the top hides others */
    uint64_t at;     /* ranges below this address are complete */
} layer;

static void add_range(pt_symbol_index *index, uint64_t addr, uint64_t end_addr, const candidate *c)
{
    if (addr >= end_addr) return;
    PT_PUSH(*index, (pt_symbol_range){addr, end_addr, c->addr, c->end_addr, c->symbol, c->table});
}

/* Adds the ranges below `upto`. */
static void lay_until(layer *l, uint64_t upto)
{
    while (l->open.count > 0) {
        const candidate *top = &l->open.items[l->open.count - 1];
        if (top->end_addr > upto) break;
        add_range(l->index, l->at, top->end_addr, top);
        l->at = top->end_addr > l->at ? top->end_addr : l->at;
        l->open.count--;
    }
    if (l->open.count > 0 && l->at < upto)
        add_range(l->index, l->at, upto, &l->open.items[l->open.count - 1]);
    l->at = upto > l->at ? upto : l->at;
}

/* Opens `count` symbols with equal start, in order of precedence. A symbol stays open only if it
 * ends after all symbols that come before it; the first symbol goes on top. */
static void open_group(layer *l, const candidate *first, size_t count)
{
    const size_t bottom = l->open.count;
    uint64_t reach = 0;
    for (size_t i = 0; i < count; i++) {
        if (!first[i].has_size || first[i].end_addr <= reach) continue;
        reach = first[i].end_addr;
        PT_PUSH(l->open, first[i]);
    }
    for (size_t low = bottom, high = l->open.count; low + 1 < high; low++) {
        high--;
        const candidate swap = l->open.items[low];
        l->open.items[low] = l->open.items[high];
        l->open.items[high] = swap;
    }
}

static void lay_sized(pt_symbol_index *index, const candidates *list)
{
    layer l = {.index = index};
    for (size_t i = 0, end; i < list->count; i = end) {
        for (end = i + 1; end < list->count && list->items[end].addr == list->items[i].addr;
             end++) {
        }
        lay_until(&l, list->items[i].addr);
        open_group(&l, list->items + i, end - i);
    }
    lay_until(&l, UINT64_MAX);
    free(l.open.items);
}

static void add_again(pt_symbol_index *index, const pt_symbol_range *r)
{
    add_range(index, r->addr, r->end_addr,
              &(candidate){.addr = r->symbol_addr,
                           .end_addr = r->symbol_end,
                           .symbol = r->symbol,
                           .table = r->table});
}

/* Gives the uncovered addresses to symbols without a size. Such a symbol takes the addresses up to
 * the next symbol, unless it is a label inside a sized symbol. */
static void lay_unsized(pt_symbol_index *index, const candidates *list)
{
    const pt_symbol_index sized = *index;
    pt_symbol_index merged = *index;
    merged.items = NULL;
    merged.count = merged.cap = 0;
    size_t r = 0;
    for (size_t i = 0, end; i < list->count; i = end) {
        const candidate *c = &list->items[i];
        for (end = i + 1; end < list->count && list->items[end].addr == c->addr; end++) {
        }
        for (; r < sized.count && sized.items[r].addr <= c->addr; r++)
            add_again(&merged, &sized.items[r]);
        const bool is_inside =
            merged.count > 0 && merged.items[merged.count - 1].end_addr > c->addr;
        if (c->has_size || is_inside) continue;
        candidate cut = *c;
        if (end < list->count && list->items[end].addr < cut.end_addr)
            cut.end_addr = list->items[end].addr;
        add_range(&merged, cut.addr, cut.end_addr, &cut);
    }
    for (; r < sized.count; r++)
        add_again(&merged, &sized.items[r]);
    free(sized.items);
    *index = merged;
}

void pt_symbol_index_init(pt_symbol_index *index, const pt_elf_symbols *tables, size_t count)
{
    *index = (pt_symbol_index){0};
    candidates list = {0};
    for (size_t i = 0; i < count; i++) {
        index->tables[i] = tables[i];
        collect_candidates(&tables[i], (uint8_t)i, &list);
    }
    index->symbol_count = (uint32_t)list.count;
    sort_candidates(&list, index->tables);
    lay_sized(index, &list);
    bool any_unsized = false;
    for (size_t i = 0; i < list.count; i++)
        any_unsized |= !list.items[i].has_size;
    if (any_unsized) lay_unsized(index, &list);
    free(list.items);
}

void pt_symbol_index_done(pt_symbol_index *index)
{
    free(index->items);
    *index = (pt_symbol_index){0};
}

bool pt_symbol_index_find(const pt_symbol_index *index, uint64_t addr, pt_object_symbol *ret_symbol)
{
    const size_t after = PT_FIRST_AFTER(index->items, index->count, addr, addr);
    if (after == 0 || addr >= index->items[after - 1].end_addr) return false;
    const pt_symbol_range *range = &index->items[after - 1];
    pt_elf_symbol s;
    if (!pt_elf_symbol_at(&index->tables[range->table], range->symbol, &s)) return false;
    *ret_symbol = (pt_object_symbol){s.name, range->symbol_addr, range->symbol_end};
    return true;
}
