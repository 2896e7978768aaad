/* lookup.c: the rule that holds at an address. Runs in signal handlers. */
#include "unwind/table.h"

const pt_unwind_rule *pt_unwind_table_rule(const pt_unwind_table *table, uint64_t addr)
{
    static const pt_unwind_rule none;
    const uint64_t at = addr - table->base_addr; /* wraps to a page that is not there */
    if (at >> PT_UNWIND_PAGE_BITS >= table->page_count) return &none;
    uint32_t low = table->pages[at >> PT_UNWIND_PAGE_BITS],
             n = table->pages[(at >> PT_UNWIND_PAGE_BITS) + 1];
    if (low >= n || n > table->row_count) return &none;
    n -= low;
    /* The last row at or before it: halves without a branch that could be guessed wrongly. */
    const uint32_t key = (uint32_t)at & ((1 << PT_UNWIND_PAGE_BITS) - 1);
    while (n > 1) {
        const uint32_t half = n / 2;
        low = (table->rows[low + half] & 0xffff) <= key ? low + half : low;
        n -= half;
    }
    const uint32_t rule = table->rows[low] >> 16;
    return rule < table->rule_count ? &table->rules[rule] : &none;
}
