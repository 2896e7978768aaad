/* compile.c: the programs of all FDEs, run once, sorted into one table.
 *
 *   entries -> FDEs by address -> rows (address, rule) -> pages of 64 KiB -> blob
 *
 * Of two neighbouring rows with the same rule one is kept. Between functions lies padding, where no
 * program stops: only gaps of GAP_BYTES and more are rows of their own.
 */
#include "unwind/cfi.h"
#include "unwind/format.h"

#include <string.h>

enum { GAP_BYTES = 16, PAGE_BITS = 16, PAGE_BYTES = 1 << PAGE_BITS };

typedef struct {
    uint64_t start_addr;
    uint32_t size_bytes;
    uint32_t off; /* in the frames */
} function;

typedef struct {
    const pt_unwind_memory *memory;
    void *bytes;
    size_t size_bytes;
} scratch;

static void *scratch_take(scratch *s, const pt_unwind_memory *memory, uint64_t count, size_t each)
{
    *s = (scratch){.memory = memory};
    if (count > SIZE_MAX / each) return NULL;
    s->size_bytes = (size_t)count * each;
    if (s->size_bytes == 0) s->size_bytes = 8;
    s->bytes = memory->alloc(memory->arg, s->size_bytes);
    return s->bytes;
}

static void scratch_done(scratch *s)
{
    if (s->bytes != NULL) s->memory->release(s->memory->arg, s->bytes, s->size_bytes);
    s->bytes = NULL;
}

/* ---- functions by address ---- */

static bool is_sorted(const function *f, uint32_t count)
{
    for (uint32_t i = 1; i < count; i++) {
        if (f[i].start_addr < f[i - 1].start_addr) return false;
    }
    return true;
}

/* By the low 32 bits above base, 11 bits at a time, stable. The result is in f again. */
static void sort(function *f, function *other, uint32_t count, uint64_t base)
{
    enum { BITS = 11, PASSES = 3 };
    function *from = f, *to = other;
    for (unsigned pass = 0; pass < PASSES; pass++) {
        uint32_t first[1 << BITS] = {0};
        const unsigned shift = pass * BITS;
        for (uint32_t i = 0; i < count; i++)
            first[(from[i].start_addr - base) >> shift & ((1 << BITS) - 1)]++;
        uint32_t sum = 0;
        for (unsigned i = 0; i < 1 << BITS; i++) {
            const uint32_t n = first[i];
            first[i] = sum;
            sum += n;
        }
        for (uint32_t i = 0; i < count; i++)
            to[first[(from[i].start_addr - base) >> shift & ((1 << BITS) - 1)]++] = from[i];
        function *const swap = from;
        from = to;
        to = swap;
    }
    memcpy(f, other, (size_t)count * sizeof *f); /* an odd number of passes */
}

static uint32_t count_fdes(const pt_unwind_frames *frames)
{
    uint32_t count = 0;
    uint64_t off = 0;
    bool is_fde;
    while (pt_cfi_next(frames, &off, &is_fde))
        count += is_fde;
    return count;
}

/* Fills f; returns how many are of use. The span of their addresses goes to *ret_low, *ret_limit.
 */
static uint32_t collect(pt_cfi_reader *reader, function *f, uint64_t *ret_low, uint64_t *ret_limit)
{
    uint32_t count = 0;
    uint64_t off = 0, low = UINT64_MAX, limit = 0;
    for (;;) {
        const uint64_t at = off;
        bool is_fde;
        pt_cfi_fde fde;
        if (!pt_cfi_next(reader->frames, &off, &is_fde)) break;
        /* A linker that drops a function may leave its entry, at address 0. */
        if (!is_fde || !pt_cfi_fde_at(reader, at, &fde) || fde.start_addr == 0 ||
            fde.size_bytes > UINT32_MAX)
            continue;
        f[count++] = (function){fde.start_addr, (uint32_t)fde.size_bytes, (uint32_t)at};
        if (fde.start_addr < low) low = fde.start_addr;
        if (fde.start_addr + fde.size_bytes > limit) limit = fde.start_addr + fde.size_bytes;
    }
    *ret_low = low;
    *ret_limit = limit;
    return count;
}

/* ---- rules, each once ---- */

typedef struct {
    const pt_unwind_memory *memory;
    scratch rules_memory, slots_memory;
    pt_unwind_rule *rules;
    uint32_t count, cap;
    uint16_t *slots; /* 0 = empty; else the index of a rule */
    uint32_t mask;
} dictionary;

enum { RULES_MAX = 65536 };

static uint32_t hash_of(const pt_unwind_rule *rule)
{
    uint32_t words[3];
    _Static_assert(sizeof words == sizeof *rule, "a rule is 12 bytes without holes");
    memcpy(words, rule, sizeof words);
    const uint64_t h = ((uint64_t)words[0] << 32 ^ words[1] ^ (uint64_t)words[2] << 16) *
                       UINT64_C(0x9e3779b97f4a7c15);
    return (uint32_t)(h >> 32);
}

static void dictionary_done(dictionary *d)
{
    scratch_done(&d->rules_memory);
    scratch_done(&d->slots_memory);
}

/* Room for cap rules, keeping those that are there. */
static bool dictionary_grow(dictionary *d, uint32_t cap)
{
    dictionary grown = {.memory = d->memory, .count = d->count, .cap = cap, .mask = 2 * cap - 1};
    grown.rules = scratch_take(&grown.rules_memory, d->memory, cap, sizeof *grown.rules);
    grown.slots = scratch_take(&grown.slots_memory, d->memory, 2 * cap, sizeof *grown.slots);
    if (grown.rules == NULL || grown.slots == NULL) {
        dictionary_done(&grown);
        return false;
    }
    if (d->count > 0) memcpy(grown.rules, d->rules, d->count * sizeof *d->rules);
    for (uint32_t i = 1; i < d->count; i++) {
        uint32_t at = hash_of(&grown.rules[i]) & grown.mask;
        while (grown.slots[at] != 0)
            at = (at + 1) & grown.mask;
        grown.slots[at] = (uint16_t)i;
    }
    dictionary_done(d);
    *d = grown;
    return true;
}

static bool same_rule(const pt_unwind_rule *a, const pt_unwind_rule *b)
{
    return memcmp(a, b, sizeof *a) == 0;
}

/* Its index; 0, which is no rule, when there is no room for one more. */
static uint16_t dictionary_index(dictionary *d, const pt_unwind_rule *rule)
{
    if (same_rule(rule, &d->rules[0])) return 0;
    if (d->count == d->cap && (d->cap == RULES_MAX || !dictionary_grow(d, d->cap * 2))) return 0;
    uint32_t at = hash_of(rule) & d->mask;
    for (; d->slots[at] != 0; at = (at + 1) & d->mask) {
        if (same_rule(rule, &d->rules[d->slots[at]])) return d->slots[at];
    }
    d->rules[d->count] = *rule;
    d->slots[at] = (uint16_t)d->count;
    return (uint16_t)d->count++;
}

/* ---- rows ---- */

typedef struct {
    const pt_cfi_machine *machine;
    dictionary dictionary;
    pt_unwind_rule last; /* as the program left it, and what it became */
    uint16_t last_index;

    uint64_t base_addr;
    uint32_t *rows, *pages;
    uint64_t row_count, row_cap;
    uint32_t page_count, pages_open; /* pages[i] is set for i < pages_open */
    uint16_t rule;                   /* of the last row */

    uint64_t limit_addr; /* of the function at hand: rows from there on are not its own */
    bool is_full;
} builder;

static void push(builder *b, uint32_t low, uint16_t rule)
{
    if (b->row_count == b->row_cap) {
        b->is_full = true;
        return;
    }
    b->rows[b->row_count++] = low | (uint32_t)rule << 16;
}

/* Opens pages up to that of relative address at; each begins with the rule that still holds. */
static void open_pages(builder *b, uint64_t at)
{
    while (b->pages_open <= at >> PAGE_BITS && b->pages_open < b->page_count) {
        b->pages[b->pages_open++] = (uint32_t)b->row_count;
        push(b, 0, b->rule);
    }
}

static void add(builder *b, uint64_t addr, uint16_t rule)
{
    const uint64_t at = addr - b->base_addr;
    if (rule == b->rule || at >> PAGE_BITS >= b->page_count || b->is_full) return;
    open_pages(b, at);
    if (b->is_full) return;
    const uint32_t low = at & (PAGE_BYTES - 1);
    b->rule = rule;
    /* The last row is of this page, for each has one at 0. */
    uint32_t *const last = &b->rows[b->row_count - 1];
    if ((*last & 0xffff) == low)
        *last = low | (uint32_t)rule << 16;
    else
        push(b, low, rule);
}

static void add_row(void *arg, uint64_t addr, const pt_unwind_rule *rule)
{
    builder *const b = arg;
    if (addr >= b->limit_addr) return;
    if (!same_rule(rule, &b->last)) {
        const pt_unwind_rule stored = pt_cfi_rule_stored(b->machine, rule);
        b->last = *rule;
        b->last_index = dictionary_index(&b->dictionary, &stored);
    }
    add(b, addr, b->last_index);
}

static void add_function(builder *b, pt_cfi_reader *reader, const function *f, const function *next)
{
    uint64_t limit = f->start_addr + f->size_bytes;
    if (next != NULL && next->start_addr < limit) limit = next->start_addr;
    if (limit <= f->start_addr) return;
    b->limit_addr = limit;
    pt_cfi_fde fde;
    if (!pt_cfi_fde_at(reader, f->off, &fde)) return;
    pt_cfi_run(reader, &fde, add_row, b); /* what it does not reach has no rule */
    if (next == NULL || next->start_addr - limit >= GAP_BYTES) add(b, limit, 0);
}

/* ---- the blob ---- */

static pt_unwind_status write_blob(const builder *b, const uint8_t *id, size_t id_bytes,
                                   const pt_unwind_memory *memory, void **ret_blob,
                                   size_t *ret_blob_bytes)
{
    const size_t pages_bytes = ((size_t)b->page_count + 1) * sizeof *b->pages;
    const size_t rules_bytes = (size_t)b->dictionary.count * sizeof *b->dictionary.rules;
    const size_t rows_bytes = (size_t)b->row_count * sizeof *b->rows;
    const size_t bytes = sizeof(pt_unwind_header) + pages_bytes + rules_bytes + rows_bytes;
    uint8_t *const blob = memory->alloc(memory->arg, bytes);
    if (blob == NULL) return PT_UNWIND_NO_MEMORY;
    pt_unwind_header header = {
        .magic = PT_UNWIND_MAGIC,
        .version = PT_UNWIND_VERSION,
        .machine = b->machine->machine,
        .id_bytes = (uint16_t)(id_bytes > PT_UNWIND_ID_MAX ? PT_UNWIND_ID_MAX : id_bytes),
        .size_bytes = bytes,
        .base_addr = b->base_addr,
        .page_count = b->page_count,
        .rule_count = b->dictionary.count,
        .row_count = (uint32_t)b->row_count,
    };
    if (id != NULL && header.id_bytes > 0) memcpy(header.id, id, header.id_bytes);
    uint8_t *at = blob + sizeof header;
    memcpy(at, b->pages, pages_bytes);
    memcpy(at + pages_bytes, b->dictionary.rules, rules_bytes);
    memcpy(at + pages_bytes + rules_bytes, b->rows, rows_bytes);
    header.checksum = pt_unwind_checksum(&header, at, bytes - sizeof header);
    memcpy(blob, &header, sizeof header);
    *ret_blob = blob;
    *ret_blob_bytes = bytes;
    return PT_UNWIND_OK;
}

static pt_unwind_status build(builder *b, pt_cfi_reader *reader, const function *f, uint32_t count)
{
    for (uint32_t i = 0; i < count && !b->is_full; i++)
        add_function(b, reader, &f[i], i + 1 < count ? &f[i + 1] : NULL);
    open_pages(b, ((uint64_t)b->page_count << PAGE_BITS) - 1);
    b->pages[b->page_count] = (uint32_t)b->row_count;
    return b->is_full ? PT_UNWIND_TOO_LARGE : PT_UNWIND_OK;
}

/* f: the functions, sorted. */
static pt_unwind_status compile_sorted(pt_cfi_reader *reader, const function *f, uint32_t count,
                                       uint64_t low, uint64_t limit, const uint8_t *id,
                                       size_t id_bytes, const pt_unwind_memory *memory,
                                       void **ret_blob, size_t *ret_blob_bytes)
{
    builder b = {.machine = reader->machine, .dictionary.memory = memory};
    b.base_addr = low & ~(uint64_t)(PAGE_BYTES - 1);
    b.page_count = (uint32_t)(((limit - 1 - b.base_addr) >> PAGE_BITS) + 1);
    /* A row of a program takes two bytes of it at least: one to move, one to change. */
    b.row_cap = reader->frames->size_bytes / 2 + 2 * (uint64_t)count + b.page_count + 16;
    scratch rows = {0}, pages = {0};
    b.rows = scratch_take(&rows, memory, b.row_cap, sizeof *b.rows);
    b.pages = scratch_take(&pages, memory, (uint64_t)b.page_count + 1, sizeof *b.pages);
    pt_unwind_status status = PT_UNWIND_NO_MEMORY;
    if (b.rows != NULL && b.pages != NULL && dictionary_grow(&b.dictionary, 1024)) {
        b.dictionary.count = 1; /* rule 0: none */
        status = build(&b, reader, f, count);
        if (status == PT_UNWIND_OK)
            status = write_blob(&b, id, id_bytes, memory, ret_blob, ret_blob_bytes);
    }
    dictionary_done(&b.dictionary);
    scratch_done(&pages);
    scratch_done(&rows);
    return status;
}

pt_unwind_status pt_unwind_compile(const pt_unwind_frames *frames, const uint8_t *id,
                                   size_t id_bytes, const pt_unwind_memory *memory, void **ret_blob,
                                   size_t *ret_blob_bytes)
{
    *ret_blob = NULL;
    *ret_blob_bytes = 0;
    pt_cfi_reader reader = {.frames = frames, .machine = pt_cfi_machine_of(frames->machine)};
    if (reader.machine == NULL) return PT_UNWIND_UNSUPPORTED;
    if (frames->size_bytes >= UINT32_MAX) return PT_UNWIND_TOO_LARGE;
    const uint32_t most = count_fdes(frames);
    if (most == 0) return PT_UNWIND_NO_FRAMES;
    scratch functions, other;
    function *const f = scratch_take(&functions, memory, most, sizeof *f);
    if (f == NULL) return PT_UNWIND_NO_MEMORY;
    uint64_t low, limit;
    const uint32_t count = collect(&reader, f, &low, &limit);
    pt_unwind_status status = PT_UNWIND_OK;
    if (count == 0)
        status = PT_UNWIND_NO_FRAMES;
    else if (limit - low >= UINT32_MAX - PAGE_BYTES)
        status = PT_UNWIND_TOO_LARGE;
    else if (!is_sorted(f, count)) {
        function *const spare = scratch_take(&other, memory, count, sizeof *f);
        if (spare == NULL)
            status = PT_UNWIND_NO_MEMORY;
        else
            sort(f, spare, count, low);
        scratch_done(&other);
    }
    if (status == PT_UNWIND_OK)
        status = compile_sorted(&reader, f, count, low, limit, id, id_bytes, memory, ret_blob,
                                ret_blob_bytes);
    scratch_done(&functions);
    return status;
}
