/* compile.c: sorts the rules of all sources into one table.
 *
 *   FDEs, Go's functions, other code -> functions by address -> rows (address, rule)
 *       -> pages of 4 KiB -> blob
 *
 * Neighbouring rows with the same rule become one row. Only padding lies between functions, and no
 * program stops in padding: gaps shorter than GAP_BYTES get no row.
 */
#include "unwind/cfi.h"
#include "unwind/dictionary.h"
#include "unwind/format.h"
#include "unwind/sources.h"

#include <string.h>

enum { RECENT = 256 };
enum { GAP_BYTES = 16, PAGE_BITS = PT_UNWIND_PAGE_BITS, PAGE_BYTES = 1 << PAGE_BITS };

/* ---- rows ---- */

typedef struct {
    const pt_machine *machine;
    pt_dictionary rules;
    /* A cache of rules, in the form in which CFI programs leave them, and their numbers: a few
     * rules make up most rows. */
    struct {
        pt_cfi_words rule;
        uint16_t index;
    } recent[RECENT];

    uint64_t base_addr;
    pt_scratch blob; /* header, pages, and room for row_cap rows */
    uint32_t *rows, *pages;
    uint64_t row_count, row_cap;
    uint32_t page_count, pages_open; /* pages[i] is set for i < pages_open */
    uint64_t open_limit;             /* relative address; pages below it are open */
    uint16_t rule;                   /* number of the rule of the last row */

    uint64_t limit_addr; /* end of the current function; rows from there on are ignored */
    bool is_full;        /* memory is out */
} builder;

static size_t blob_bytes(const builder *b, uint64_t rows)
{
    return sizeof(pt_unwind_header) + ((size_t)b->page_count + 1 + rows) * sizeof(uint32_t);
}

/* Resizes the blob to hold `rows` rows. False: no memory. */
static bool take_rows(builder *b, uint64_t rows)
{
    const size_t bytes = blob_bytes(b, rows);
    uint8_t *const at = b->blob.bytes == NULL ? pt_scratch_take(&b->blob, b->rules.memory, bytes, 1)
                                              : pt_scratch_resize(&b->blob, bytes, 1);
    if (at == NULL) return false;
    b->pages = (uint32_t *)(at + sizeof(pt_unwind_header));
    b->rows = b->pages + b->page_count + 1;
    b->row_cap = rows;
    return true;
}

static void push_row(builder *b, uint32_t low, uint16_t rule)
{
    if (b->row_count == b->row_cap && !take_rows(b, b->row_cap + b->row_cap / 2)) {
        b->is_full = true;
        return;
    }
    b->rows[b->row_count++] = low | (uint32_t)rule << 16;
}

/* Opens all pages up to that of relative address `at`. Each begins with a row of the current rule.
 */
static void open_pages(builder *b, uint64_t at)
{
    while (b->pages_open <= at >> PAGE_BITS && b->pages_open < b->page_count) {
        b->pages[b->pages_open++] = (uint32_t)b->row_count;
        push_row(b, 0, b->rule);
    }
    b->open_limit = (uint64_t)b->pages_open << PAGE_BITS;
}

/* Opens the page of `at`. False: the address has no page, or no memory. */
static __attribute__((noinline)) bool is_opened(builder *b, uint64_t at)
{
    if (at >> PAGE_BITS >= b->page_count || b->is_full) return false;
    open_pages(b, at);
    return !b->is_full;
}

static inline void add_rule_at(builder *b, uint64_t addr, uint16_t rule)
{
    const uint64_t at = addr - b->base_addr;
    if (rule == b->rule || (at >= b->open_limit && !is_opened(b, at))) return;
    const uint32_t low = at & (PAGE_BYTES - 1);
    b->rule = rule;
    /* The last row is in this page, since each page has a row at 0. */
    uint32_t *const last = &b->rows[b->row_count - 1];
    if ((*last & 0xffff) == low)
        *last = low | (uint32_t)rule << 16;
    else
        push_row(b, low, rule);
}

static __attribute__((noinline)) uint16_t index_rule(builder *b, unsigned at, pt_cfi_words words)
{
    const pt_unwind_rule rule = pt_cfi_rule_of(words);
    const pt_unwind_rule stored = pt_cfi_rule_stored(b->machine, &rule);
    b->recent[at].rule = words;
    b->recent[at].index = pt_dictionary_number(&b->rules, &stored);
    return b->recent[at].index;
}

static void add_words(void *arg, uint64_t addr, pt_cfi_words words)
{
    builder *const b = arg;
    if (addr >= b->limit_addr) return;
    _Static_assert(RECENT == 1 << 8, "the index is the top 8 bits of a product");
    const uint64_t h = (words.head ^ words.tail << 16) * UINT64_C(0x9e3779b97f4a7c15);
    const unsigned at = (unsigned)(h >> 56);
    const bool is_there =
        b->recent[at].rule.head == words.head && b->recent[at].rule.tail == words.tail;
    add_rule_at(b, addr, is_there ? b->recent[at].index : index_rule(b, at, words));
}

static void add_row(void *arg, uint64_t addr, const pt_unwind_rule *rule)
{
    add_words(arg, addr, pt_cfi_words_of(rule));
}

static void add_code(builder *b, const pt_unwind_sources *from, const pt_unwind_function *f)
{
    const pt_code_hooks hooks = {.returns = pt_functions_return, .arg = (void *)(uintptr_t)from};
    if (f->first_row == 0) {
        pt_code_follow(from->elf, f, &hooks, &from->room);
        pt_code_rows(from->elf, f, &from->room, add_row, b);
        return;
    }
    for (const pt_kept_row *row = &from->kept[f->first_row - 1]; row->off != PT_KEPT_END; row++)
        add_row(b, f->start_addr + row->off, &row->rule);
}

/* Adds the rules of a function by its source. Code that the source does not reach has no rule. */
static void run_source(builder *b, const pt_unwind_sources *from, const pt_unwind_function *f)
{
    pt_cfi_fde fde;
    switch (f->source) {
    case PT_FROM_FDE:
        if (pt_cfi_fde_at(from->reader, f->off, &fde)) pt_cfi_run(from->reader, &fde, add_words, b);
        break;
    case PT_FROM_GO: pt_go_rows(&from->go, f, add_row, b); break;
    default: add_code(b, from, f);
    }
}

static void add_function(builder *b, const pt_unwind_sources *from, const pt_unwind_function *f,
                         const pt_unwind_function *next)
{
    uint64_t limit = f->start_addr + f->size_bytes;
    if (next != NULL && next->start_addr < limit) limit = next->start_addr;
    if (limit <= f->start_addr) return;
    b->limit_addr = limit;
    run_source(b, from, f);
    if (next == NULL || next->start_addr - limit >= GAP_BYTES) add_rule_at(b, limit, 0);
}

/* ---- the blob ---- */

/* Appends the rules and writes the header. */
static pt_unwind_status finish_blob(builder *b, const uint8_t *id, size_t id_bytes)
{
    const size_t rules_bytes = (size_t)b->rules.count * sizeof(pt_unwind_rule);
    const size_t rules_off = blob_bytes(b, b->row_count), bytes = rules_off + rules_bytes;
    uint8_t *const blob = pt_scratch_resize(&b->blob, bytes, 1);
    if (blob == NULL) return PT_UNWIND_NO_MEMORY;
    pt_unwind_header header = {
        .magic = PT_UNWIND_MAGIC,
        .version = PT_UNWIND_VERSION,
        .machine = b->machine->elf_machine,
        .id_bytes = (uint16_t)(id_bytes > PT_UNWIND_ID_MAX ? PT_UNWIND_ID_MAX : id_bytes),
        .size_bytes = bytes,
        .base_addr = b->base_addr,
        .page_count = b->page_count,
        .rule_count = b->rules.count,
        .row_count = (uint32_t)b->row_count,
    };
    if (id != NULL && header.id_bytes > 0) memcpy(header.id, id, header.id_bytes);
    memcpy(blob + rules_off, b->rules.values, rules_bytes);
    header.checksum = pt_unwind_checksum(&header, blob + sizeof header, bytes - sizeof header);
    memcpy(blob, &header, sizeof header);
    return PT_UNWIND_OK;
}

static pt_unwind_status build_table(builder *b, const pt_unwind_sources *from)
{
    const pt_unwind_functions *const all = &from->functions;
    for (uint32_t i = 0; i < all->count && !b->is_full; i++)
        add_function(b, from, &all->items[i], i + 1 < all->count ? &all->items[i + 1] : NULL);
    open_pages(b, ((uint64_t)b->page_count << PAGE_BITS) - 1);
    if (b->is_full || b->row_count > UINT32_MAX) return PT_UNWIND_NO_MEMORY;
    b->pages[b->page_count] = (uint32_t)b->row_count;
    return PT_UNWIND_OK;
}

/* Compiles the table of all functions in `from`, which must be sorted. */
static pt_unwind_status compile_sorted(const pt_unwind_sources *from, const uint8_t *id,
                                       size_t id_bytes, const pt_unwind_memory *memory,
                                       void **ret_blob, size_t *ret_blob_bytes)
{
    const pt_unwind_functions *const all = &from->functions;
    builder b = {.machine = from->reader->machine};
    b.base_addr = all->low & ~(uint64_t)(PAGE_BYTES - 1);
    b.page_count = (uint32_t)(((all->limit - 1 - b.base_addr) >> PAGE_BITS) + 1);
    pt_unwind_status status = PT_UNWIND_NO_MEMORY;
    /* An entry of .eh_frame takes about 6 bytes per row. */
    /* Rule 0 is "none": the dictionary's value 0. */
    if (pt_dictionary_init(&b.rules, memory, 1024) &&
        take_rows(&b, from->reader->frames->size_bytes / 5 + b.page_count + 64)) {
        status = build_table(&b, from);
        if (status == PT_UNWIND_OK) status = finish_blob(&b, id, id_bytes);
    }
    pt_dictionary_done(&b.rules);
    if (status == PT_UNWIND_OK) {
        *ret_blob = b.blob.bytes;
        *ret_blob_bytes = b.blob.size_bytes;
    } else {
        pt_scratch_done(&b.blob);
    }
    return status;
}

/* Collects the functions of all sources and compiles their table. elf: NULL if there are frames
 * only. frames: of size 0 if there are none. */
static pt_unwind_status compile_for(const pt_machine *machine, const pt_elf *elf,
                                    const pt_unwind_frames *frames, const uint8_t *id,
                                    size_t id_bytes, const pt_unwind_memory *memory,
                                    void **ret_blob, size_t *ret_blob_bytes)
{
    *ret_blob = NULL;
    *ret_blob_bytes = 0;
    pt_cfi_reader reader = {.frames = frames, .machine = machine};
    if (reader.machine == NULL) return PT_UNWIND_UNSUPPORTED;
    if (frames->size_bytes >= UINT32_MAX) return PT_UNWIND_TOO_LARGE;
    pt_unwind_sources from = {.elf = elf, .reader = &reader, .functions.memory = memory};
    pt_unwind_status status = pt_functions_collect(&from);
    if (status == PT_UNWIND_OK &&
        from.functions.limit - from.functions.low >= UINT32_MAX - PAGE_BYTES)
        status = PT_UNWIND_TOO_LARGE;
    if (status == PT_UNWIND_OK)
        status = compile_sorted(&from, id, id_bytes, memory, ret_blob, ret_blob_bytes);
    pt_functions_done(&from);
    return status;
}

static pt_unwind_status compile_frames(const pt_elf *elf, const pt_unwind_frames *frames,
                                       const uint8_t *id, size_t id_bytes,
                                       const pt_unwind_memory *memory, void **ret_blob,
                                       size_t *ret_blob_bytes)
{
    return compile_for(pt_machine_of_elf(frames->machine), elf, frames, id, id_bytes, memory,
                       ret_blob, ret_blob_bytes);
}

pt_unwind_status pt_unwind_compile(const pt_unwind_frames *frames, const uint8_t *id,
                                   size_t id_bytes, const pt_unwind_memory *memory, void **ret_blob,
                                   size_t *ret_blob_bytes)
{
    return compile_frames(NULL, frames, id, id_bytes, memory, ret_blob, ret_blob_bytes);
}

pt_unwind_status pt_unwind_compile_elf(const pt_elf *elf, const uint8_t *id, size_t id_bytes,
                                       const pt_unwind_memory *memory, void **ret_blob,
                                       size_t *ret_blob_bytes)
{
    pt_unwind_frames frames = {.machine = elf->machine};
    if (!elf->is_64 || elf->is_big_endian) return PT_UNWIND_UNSUPPORTED;
    if (!pt_unwind_frames_of_elf(elf, &frames)) frames.size_bytes = 0;
    return compile_frames(elf, &frames, id, id_bytes, memory, ret_blob, ret_blob_bytes);
}

bool pt_unwind_needs_base(const pt_unwind_table *table)
{
    const pt_machine *const machine = pt_machine_of_elf(table->machine);
    for (uint32_t i = 0; machine->base != PT_MACHINE_NO_REG && i < table->rule_count; i++)
        if (table->rules[i].cfa_kind == PT_CFA_REG && table->rules[i].cfa_reg == machine->base)
            return true;
    return false;
}

bool pt_unwind_compile_base(const pt_unwind_frames *frames, const pt_unwind_memory *memory,
                            void **ret_blob, size_t *ret_blob_bytes, pt_unwind_table *ret_table)
{
    const pt_machine *const known = pt_machine_of_elf(frames->machine);
    if (known == NULL || known->base == PT_MACHINE_NO_REG) return false;
    pt_machine machine = *known;
    machine.fp = known->base;
    void *blob;
    size_t bytes;
    if (compile_for(&machine, NULL, frames, NULL, 0, memory, &blob, &bytes) != PT_UNWIND_OK)
        return false;
    if (pt_unwind_table_open(blob, bytes, ret_table) != PT_UNWIND_OK) {
        memory->release(memory->arg, blob, bytes);
        return false;
    }
    *ret_blob = blob;
    *ret_blob_bytes = bytes;
    return true;
}
