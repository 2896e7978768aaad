/* lookup.c: finds the rule at an address. Runs in signal handlers. */
#include "unwind/table.h"

static inline uint32_t is_reached(uint32_t row, uint32_t key)
{
    return (row & 0xffff) <= key;
}

const pt_unwind_rule *pt_unwind_table_rule(const pt_unwind_table *table, uint64_t addr)
{
    static const pt_unwind_rule none;
    const uint64_t at = addr - table->base_addr; /* wraps to a page number out of range */
    if (at >> PT_UNWIND_PAGE_BITS >= table->page_count) return &none;
    uint32_t low = table->pages[at >> PT_UNWIND_PAGE_BITS],
             n = table->pages[(at >> PT_UNWIND_PAGE_BITS) + 1];
    if (low >= n || n > table->row_count) return &none;
    n -= low;
    /* Finds the last row at or before key by quarters: the three bounds are read at once, without a
     * branch that could be mispredicted. The remaining n is the size of the last quarter, and may
     * include rows after the chosen row: the low bits of these are above key. */
    const uint32_t key = (uint32_t)at & ((1 << PT_UNWIND_PAGE_BITS) - 1);
    const uint32_t *rows = table->rows + low;
    while (n > 3) {
        const uint32_t quarter = n / 4;
        rows += quarter * is_reached(rows[quarter], key) +
                quarter * is_reached(rows[2 * quarter], key) +
                quarter * is_reached(rows[3 * quarter], key);
        n -= 3 * quarter;
    }
    uint32_t more = 0;
    for (uint32_t i = 1; i < n; i++)
        more += is_reached(rows[i], key);
    const uint32_t rule = rows[more] >> 16;
    return rule < table->rule_count ? &table->rules[rule] : &none;
}
