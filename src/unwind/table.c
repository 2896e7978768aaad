/* table.c: opens and checks a blob. */
#include "unwind/table.h"

#include <string.h>

#include "unwind/cfi.h"
#include "unwind/format.h"

static uint64_t mix_word(uint64_t h, uint64_t word)
{
    h = (h ^ word) * UINT64_C(0x9e3779b97f4a7c15);
    return h ^ h >> 32;
}

/* Hashes four words in parallel, so that the processor need not wait for each multiplication. */
static uint64_t mix_bytes(uint64_t seed, const uint8_t *bytes, size_t size)
{
    uint64_t h[4] = {seed, seed + 1, seed + 2, seed + 3}, words[4];
    for (; size >= sizeof words; bytes += sizeof words, size -= sizeof words) {
        memcpy(words, bytes, sizeof words);
        for (unsigned i = 0; i < 4; i++)
            h[i] = mix_word(h[i], words[i]);
    }
    memset(words, 0, sizeof words);
    memcpy(words, bytes, size);
    for (unsigned i = 0; i < 4; i++)
        seed = mix_word(mix_word(seed, h[i]), words[i]);
    return seed;
}

uint64_t pt_unwind_checksum(const pt_unwind_header *header, const uint8_t *rest, size_t rest_bytes)
{
    pt_unwind_header h = *header;
    h.checksum = 0;
    return mix_bytes(mix_bytes(0, (const uint8_t *)&h, sizeof h), rest, rest_bytes);
}

static bool rule_is_good(const pt_unwind_rule *rule)
{
    return rule->cfa_kind < PT_CFA_COUNT && rule->cfa_reg < PT_CFI_REGS &&
           rule->pc_slot < PT_SLOT_COUNT && rule->fp_slot < PT_SLOT_COUNT && rule->is_signal <= 1;
}

/* Checks rows: each page has a row at offset 0, the rows of a page ascend, and each row has an
 * existing rule. */
static bool rows_are_good(const pt_unwind_table *t)
{
    if (t->pages[0] != 0 || t->pages[t->page_count] != t->row_count) return false;
    for (uint32_t page = 0; page < t->page_count; page++) {
        const uint32_t first = t->pages[page], end = t->pages[page + 1];
        if (first >= end || end > t->row_count || (t->rows[first] & 0xffff) != 0) return false;
        uint32_t before = 0, is_bad = t->rows[first] >> 16 >= t->rule_count;
        for (uint32_t i = first + 1; i < end; i++) {
            const uint32_t low = t->rows[i] & 0xffff;
            is_bad |= (t->rows[i] >> 16 >= t->rule_count) | (low <= before);
            before = low;
        }
        if (is_bad || before >> PT_UNWIND_PAGE_BITS != 0) return false;
    }
    return true;
}

pt_unwind_status pt_unwind_table_open(const void *blob, size_t blob_bytes,
                                      pt_unwind_table *ret_table)
{
    const uint8_t *const bytes = blob;
    pt_unwind_header h;
    if (blob_bytes < sizeof h || (uintptr_t)blob % 4 != 0) return PT_UNWIND_DAMAGED;
    memcpy(&h, bytes, sizeof h);
    if (memcmp(h.magic, PT_UNWIND_MAGIC, sizeof h.magic) != 0) return PT_UNWIND_DAMAGED;
    if (h.version != PT_UNWIND_VERSION || pt_machine_of_elf(h.machine) == NULL)
        return PT_UNWIND_UNSUPPORTED;
    const uint64_t rest_bytes = ((uint64_t)h.page_count + 1) * sizeof(uint32_t) +
                                (uint64_t)h.rule_count * sizeof(pt_unwind_rule) +
                                (uint64_t)h.row_count * sizeof(uint32_t);
    if (h.size_bytes != blob_bytes || rest_bytes != blob_bytes - sizeof h || h.page_count == 0 ||
        h.page_count > 1 << (32 - PT_UNWIND_PAGE_BITS) || h.rule_count == 0 ||
        h.rule_count > 65536 || h.row_count == 0 || h.base_addr % (1 << PT_UNWIND_PAGE_BITS) != 0 ||
        h.id_bytes > PT_UNWIND_ID_MAX ||
        h.checksum != pt_unwind_checksum(&h, bytes + sizeof h, (size_t)rest_bytes))
        return PT_UNWIND_DAMAGED;
    pt_unwind_table t = {
        .base_addr = h.base_addr,
        .page_count = h.page_count,
        .rule_count = h.rule_count,
        .row_count = h.row_count,
        .machine = h.machine,
        .id = bytes + offsetof(pt_unwind_header, id),
        .id_bytes = h.id_bytes,
    };
    t.pages = (const uint32_t *)(bytes + sizeof h);
    t.rows = t.pages + t.page_count + 1;
    t.rules = (const pt_unwind_rule *)(t.rows + t.row_count);
    for (uint32_t i = 0; i < t.rule_count; i++) {
        if (!rule_is_good(&t.rules[i])) return PT_UNWIND_DAMAGED;
    }
    if (t.rules[0].cfa_kind != PT_CFA_NONE || !rows_are_good(&t)) return PT_UNWIND_DAMAGED;
    *ret_table = t;
    return PT_UNWIND_OK;
}
