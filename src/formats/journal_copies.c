/* journal_copies.c: samples of a journal with a copy of their stack, which this file unwinds. */
#include "formats/journal_int.h"

#include <inttypes.h>

#include "base/grow.h"
#include "base/hash.h"
#include "base/saturate.h"

/* The list of mappings for unwinding is made anew for each sample whose epoch differs from the
 * previous sample's. This is the most mappings that are examined for all lists of a journal. */
#define LISTED_MAX (UINT64_C(1) << 22)

static const char *keep_text(pt_journal_reading *g, uint32_t string)
{
    const uint64_t hash = pt_hash_mix(string, 0);
    const uint32_t found =
        PT_INDEX_FIND(&g->text_index, hash, i, g->text.items[i].string == string);
    if (found != PT_NONE) return g->text.items[found].text;
    const pt_journal_kept_text kept = {
        .string = string,
        .text = pt_strdup(pt_builder_get_text(g->builder, (pt_string_id){string}))};
    PT_INDEX_PUSH(&g->text_index, hash, g->text, kept);
    return kept.text;
}

/* Lists the epoch's mappings in g->module by ascending address. If two mappings overlap, as in no
 * real process, the first is listed. Returns false if LISTED_MAX is exceeded, as when the epochs of
 * a damaged journal alternate. */
static bool list_modules(pt_journal_reading *g, uint16_t epoch)
{
    if (g->module_epoch == epoch) return true;
    g->listed += g->map.count;
    if (g->listed > LISTED_MAX) return false;
    g->module.count = 0;
    g->module_epoch = epoch;
    g->module_generation++;
    uint64_t upto = 0;
    for (size_t i = 0; i < g->map.count; i++) {
        const pt_journal_known_map *const m = &g->map.items[i];
        if (m->epoch_from > epoch || epoch >= m->epoch_to || m->start < upto) continue;
        const pt_mapping *const mapping =
            pt_builder_mapping_at(g->builder, (pt_mapping_id){m->mapping});
        PT_PUSH(g->module, (pt_read_map){.range = {.start = m->start,
                                                   .limit = m->limit,
                                                   .file_offset = mapping->file_offset},
                                         .path = keep_text(g, mapping->file),
                                         .build_id = keep_text(g, mapping->build_id)});
        upto = m->limit;
    }
    return true;
}

/* Cuts the stack where the library itself ends stacks: after the function that called main or a
 * thread's start routine. */
static void cut_at_start(pt_journal_reading *g, pt_stack_end *end)
{
    for (size_t i = 0; i < g->pc.count; i++) {
        if (!pt_journal_is_within(g->spans.main_start, g->pc.items[i]) &&
            !pt_journal_is_within(g->spans.thread_start, g->pc.items[i]))
            continue;
        g->pc.count = i + 1;
        if (*end != PT_STACK_END_UNCHECKED) *end = PT_STACK_END_ROOT;
    }
}

/* Unwinds the copied stack into g->pc, leaf first. */
static pt_stack_end walk_copy(pt_journal_reading *g, const pt_journal_copy *copy,
                              const uint64_t *registers, const uint8_t *stack)
{
    pt_stack_end end = PT_STACK_END_NO_RULE;
    PT_GROW(g->pc, PT_JOURNAL_DEPTH_MAX);
    g->pc.items[0] = registers[g->machine->pc];
    g->pc.count = 1;
    if (g->hooks == NULL || g->hooks->unwind == NULL || !list_modules(g, copy->epoch)) return end;
    const size_t bytes = (size_t)copy->stack_words * sizeof(uint64_t);
    const pt_read_stack from = {.machine = g->machine->elf_machine,
                                .generation = g->module_generation,
                                .maps = g->module.items,
                                .map_count = g->module.count,
                                .map_bytes = sizeof *g->module.items,
                                .registers = registers,
                                .bytes = stack,
                                .byte_count = bytes,
                                .room = copy->is_cut != 0 ? bytes : bytes + sizeof(uint64_t)};
    const size_t count =
        g->hooks->unwind(g->hooks->context, &from, g->pc.items, PT_JOURNAL_DEPTH_MAX, &end);
    if (count > 0) g->pc.count = count;
    return end;
}

static void add_copy(pt_journal_reading *g, pt_journal_facts *f, const pt_journal_copy *copy,
                     const uint64_t *registers, const uint8_t *stack)
{
    pt_stack_end end = walk_copy(g, copy, registers, stack);
    cut_at_start(g, &end);
    uint32_t depth = (uint32_t)g->pc.count;
    const bool is_command = pt_journal_leave_out_own(&g->spans, g->pc.items, &depth);
    g->pc.count = depth;
    if (is_command) {
        pt_journal_add_stack(g, f, copy->weight, end, copy->epoch, PT_JOURNAL_NATIVE);
        return;
    }
    if (f->engine == PT_JOURNAL_ENGINE_REAL) return; /* wall time is no CPU time */
    const uint64_t own_ns = (uint64_t)pt_saturating_product(copy->weight, f->period_ns);
    f->own_copied_ns = pt_saturating_count(f->own_copied_ns, own_ns);
}

void pt_journal_read_copies(pt_journal_reading *g, pt_reader *r, pt_journal_facts *f)
{
    while (pt_reader_left(r) > 0) {
        pt_journal_copy copy;
        copy.weight = pt_read_u32(r);
        copy.stack_words = pt_read_u32(r);
        copy.reg_count = pt_read_u16(r);
        copy.epoch = pt_read_u16(r);
        copy.is_cut = pt_read_u32(r);
        if (pt_reader_ok(r) && g->machine == NULL)
            pt_reader_fail(r, PT_ERR_DAMAGED, "stacks of a machine that pitot does not know");
        if (pt_reader_ok(r) && copy.reg_count != PT_MACHINE_REGS_MAX)
            pt_reader_fail(r, PT_ERR_DAMAGED, "a sample of %" PRIu16 " registers", copy.reg_count);
        if (!pt_reader_ok(r) ||
            !pt_reader_has(r, (uint64_t)copy.reg_count + copy.stack_words, sizeof(uint64_t)))
            return;
        uint64_t registers[PT_MACHINE_REGS_MAX];
        for (unsigned i = 0; i < PT_MACHINE_REGS_MAX; i++)
            registers[i] = pt_read_u64(r);
        const uint8_t *const stack = pt_read_bytes(r, (size_t)copy.stack_words * sizeof(uint64_t));
        if (stack != NULL) add_copy(g, f, &copy, registers, stack);
    }
}
