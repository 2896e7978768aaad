/* ticks.c: histogram bins -> ticks of functions.
 *
 * Addresses are counted in units of two bytes, since bins begin and end at such units. A bin that
 * overlaps several functions is divided among them: a function gets the bin's count times the
 * overlap over the mean width of a bin. Overlaps are rounded down but the mean is not, so the parts
 * may add up to more or less than the bin's count. Rule: GNU gprof 2.40, as it behaves.
 */
#include <stdlib.h>

#include "personality/gprof/gprof_int.h"

#define UNIT_BYTES 2

static uint64_t low_key(const void *context, uint32_t bin)
{
    return ((const pt_gprof_bin *)context)[bin].low;
}

static uint64_t high_key(const void *context, uint32_t bin)
{
    return ((const pt_gprof_bin *)context)[bin].high;
}

/* Do the bins ascend? The bins of one histogram do. */
static bool are_in_order(const pt_gprof_bin *bins, size_t count)
{
    size_t i = 1;
    while (i < count && bins[i - 1].low < bins[i].low)
        i++;
    return i >= count;
}

/* Sorts the bins by address and adds up bins of the same range. */
static void merge_bins(pt_gprof *g)
{
    const size_t count = g->bin.count;
    if (are_in_order(g->bin.items, count)) return;
    PT_FREE uint32_t *order = pt_alloc_numbers(count);
    pt_gprof_sort_by(order, count, high_key, g->bin.items);
    pt_gprof_sort_by(order, count, low_key, g->bin.items);
    pt_gprof_bin *const merged = pt_alloc(count + 1, sizeof *merged);
    size_t n = 0;
    for (size_t i = 0; i < count; i++) {
        const pt_gprof_bin *const b = &g->bin.items[order[i]];
        if (n > 0 && merged[n - 1].low == b->low && merged[n - 1].high == b->high)
            merged[n - 1].count += b->count;
        else
            merged[n++] = *b;
    }
    free(g->bin.items);
    g->bin.items = merged;
    g->bin.count = n;
    g->bin.cap = count + 1;
}

/* The end of the symbol's code, in units of two bytes. The last symbol may be of data or in .fini:
 * it has no code, and the result is 0. */
static uint64_t end_unit(const pt_gprof *g, size_t i, uint64_t text_end)
{
    const pt_gprof_symbol *const s = &g->symbol.items[i];
    if (i + 1 < g->symbol.count) return s[1].addr / UNIT_BYTES;
    return s->addr < text_end ? text_end / UNIT_BYTES : 0;
}

void pt_gprof_give(pt_gprof *g, pt_gprof_symbol *symbol, double ticks)
{
    if (pt_gprof_wants(g, symbol, PT_GPROF_SHOW_FLAT))
        symbol->ticks += ticks;
    else
        g->ticks -= ticks;
}

void pt_gprof_assign_ticks(pt_gprof *g)
{
    pt_gprof_text text = {0};
    pt_gprof_find_text(g, &text);
    const uint64_t text_end = text.addr + text.size_bytes;
    merge_bins(g);
    size_t first = 0; /* the first symbol that may overlap this bin */
    for (size_t i = 0; i < g->bin.count; i++) {
        const pt_gprof_bin *const b = &g->bin.items[i];
        const uint64_t low = b->low / UNIT_BYTES, high = b->high / UNIT_BYTES;
        bool hit = false;
        g->ticks += b->count;
        while (first < g->symbol.count && end_unit(g, first, text_end) <= low)
            first++;
        for (size_t k = first; k < g->symbol.count; k++) {
            const uint64_t begin = g->symbol.items[k].addr / UNIT_BYTES,
                           end = end_unit(g, k, text_end);
            if (high <= begin) break;
            const uint64_t from = low > begin ? low : begin, to = high < end ? high : end;
            if (from >= to) continue;
            hit = true;
            pt_gprof_give(g, &g->symbol.items[k],
                          (double)(to - from) * b->count / (b->scale / UNIT_BYTES));
        }
        if (!hit) g->lost_ticks += (uint64_t)b->count;
    }
}
