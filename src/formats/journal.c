/* journal.c: the crash journal of libprofiler.so.0; its layout is drawn in wire/journal.h.
 *
 * The writer may have been killed at any instruction, or may still run. Only what was committed is
 * looked at: areas up to the first without a magic, records up to used_bytes. That is a whole
 * profile and no damage. Damage is what the writer never leaves: sizes that do not fit, records of
 * no frames.
 *
 * Addresses above the leaf are return addresses: kept as they are, PT_LOCATION_RETURN_ADDR.
 */
#include "formats/journal.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/grow.h"
#include "base/hash.h"
#include "base/saturate.h"
#include "base/text.h"
#include "formats/format.h"
#include "interp/python.h"
#include "machine/machine.h"
#include "process/path_kind.h"

/* Overlapping mappings (one library after another at the same place) that a lookup walks through;
 * what is beyond is unknown. */
#define GENERATIONS_MAX 64

/* For walking copied stacks, mappings are listed anew whenever the epoch is another. */
#define LISTED_MAX (UINT64_C(1) << 24)

/* ---- header ---- */

/* The header's fields in their order; text is read by its place. */
static void read_header(pt_reader *r, pt_journal_facts *f, uint32_t *ret_header_bytes)
{
    pt_skip(r, 16); /* magic, byte order, version: looked at by is_journal */
    *ret_header_bytes = pt_read_u32(r);
    pt_reader_set_word(r, pt_read_u32(r) == 4 ? 4 : 8);
    pt_skip(r, 4); /* machine */
    f->pid = pt_read_u32(r);
    f->ppid = pt_read_u32(r);
    f->sequence = pt_read_u32(r);
    f->engine = pt_read_u32(r);
    f->end = pt_read_u32(r);
    f->asked_hz = pt_read_u32(r);
    f->tick_hz = pt_read_u32(r);
    f->period_ns = pt_read_u64(r);
    f->start_realtime_ns = (int64_t)pt_read_u64(r);
    f->start_monotonic_ns = pt_read_u64(r);
    f->last_monotonic_ns = pt_read_u64(r);
    f->cpu_before_ns = pt_read_u64(r);
    f->cpu_used_ns = pt_read_u64(r);
    f->cpu_own_ns = pt_read_u64(r);
    f->dropped = pt_read_u64(r); /* by the folder */
    f->threads_seen = pt_read_u64(r);
    f->threads_unsampled = pt_read_u64(r);
    f->ticks = pt_read_u64(r);
    pt_skip(r, 8); /* weight: counted from the stacks */
    f->dropped = pt_saturating_count(f->dropped, pt_read_u64(r));
    f->filtered = pt_read_u64(r);
}

/* What was added behind the texts. */
static void read_own(pt_reader *r, pt_journal_facts *f)
{
    pt_skip(r, offsetof(pt_journal_header, own_weight));
    const uint64_t weight = pt_read_u64(r), untold_ns = pt_read_u64(r);
    uint64_t own_ns;
    if (__builtin_mul_overflow(weight, f->period_ns, &own_ns)) own_ns = UINT64_MAX;
    f->own_ns = pt_saturating_count(pt_saturating_count(own_ns, untold_ns), f->cpu_own_ns);
}

static pt_journal_span read_span(pt_reader *r)
{
    const uint64_t low = pt_read_u64(r);
    return (pt_journal_span){.low = low, .limit = pt_read_u64(r)};
}

static void copy_text(char *to, const uint8_t *from, size_t bytes, size_t cap)
{
    const size_t size = bytes < cap ? bytes : cap;
    memcpy(to, from, size);
    to[size] = '\0';
}

/* Arguments are ended by zero bytes; people read spaces. */
static void copy_command(char *to, const uint8_t *from, size_t bytes)
{
    copy_text(to, from, bytes, PT_JOURNAL_COMMAND_BYTES);
    for (size_t i = 0; i + 1 < bytes && i < PT_JOURNAL_COMMAND_BYTES; i++)
        if (to[i] == '\0') to[i] = ' ';
}

static bool read_byte_order(pt_reader *r, const uint8_t *head)
{
    uint32_t order;
    memcpy(&order, head + offsetof(pt_journal_header, byte_order), sizeof order);
    const bool native_big = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__;
    if (order != PT_JOURNAL_BYTE_ORDER && order != __builtin_bswap32(PT_JOURNAL_BYTE_ORDER))
        return false;
    pt_reader_set_order(r, (order == PT_JOURNAL_BYTE_ORDER) == native_big);
    return true;
}

bool pt_journal_is(const uint8_t *head, size_t head_bytes)
{
    return head_bytes >= sizeof(pt_journal_header) && memcmp(head, PT_JOURNAL_MAGIC, 8) == 0;
}

/* Leaves the reader at the first area. */
static pt_status begin_journal(pt_reader *r, pt_journal_facts *f)
{
    const uint8_t *const head = r->pos;
    memset(f, 0, sizeof *f);
    if (!pt_journal_is(head, pt_reader_left(r)) || !read_byte_order(r, head))
        return pt_reader_fail(r, PT_ERR_FORMAT, "not a journal of libprofiler");
    pt_reader fields = *r;
    fields.parent = NULL;
    pt_skip(&fields, offsetof(pt_journal_header, version));
    const uint32_t version = pt_read_u32(&fields);
    if (version < PT_JOURNAL_VERSION_LEAST || version > PT_JOURNAL_VERSION)
        return pt_reader_fail(r, PT_ERR_UNSUPPORTED,
                              "journal version %" PRIu32 ", this pitot reads versions %d to %d",
                              version, PT_JOURNAL_VERSION_LEAST, PT_JOURNAL_VERSION);
    uint32_t header_bytes;
    fields = *r;
    read_header(&fields, f, &header_bytes);
    pt_reader behind = *r;
    read_own(&behind, f);
    const uint32_t exe_bytes = pt_read_u32(&fields), command_bytes = pt_read_u32(&fields);
    memcpy(f->comm, head + offsetof(pt_journal_header, comm), sizeof f->comm);
    f->comm[sizeof f->comm - 1] = '\0';
    copy_text(f->exe, head + offsetof(pt_journal_header, exe), exe_bytes, PT_JOURNAL_EXE_BYTES);
    copy_command(f->command, head + offsetof(pt_journal_header, command), command_bytes);
    if (f->period_ns == 0 || f->period_ns > INT64_MAX)
        return pt_reader_fail(r, PT_ERR_DAMAGED, "a period of %" PRIu64 " ns", f->period_ns);
    if (header_bytes < sizeof(pt_journal_header))
        return pt_reader_fail(r, PT_ERR_DAMAGED, "a header of %" PRIu32 " bytes", header_bytes);
    pt_reader_set_word(r, fields.word_bytes);
    pt_skip(r, header_bytes);
    return r->status;
}

/* ---- mappings ---- */

/* A mapping of the journal being read, and what it is in the builder. */
typedef struct {
    uint64_t start, limit;
    uint64_t upto;  /* the largest limit up to here: where a search backwards ends */
    uint64_t delta; /* address in the builder's mapping - address in this process, mod 2^64 */
    uint64_t epoch_from, epoch_to;
    uint32_t mapping;
} known_map;

/* A code object of the journal being read; a function of PT_NONE: its record is not there. */
typedef struct {
    uint32_t function;
    int32_t first_line;
    uint32_t lines_bytes;
    unsigned minor;
    const uint8_t *lines; /* in the file */
} known_code;

/* Text that stays where it is while journals are read, by the number that it has in the builder. */
typedef struct {
    uint32_t string;
    char *text;
} kept_text;

struct pt_journal_reading {
    pt_builder *builder;
    bool label_processes;
    const pt_read_hooks *hooks; /* or NULL */
    /* For copied stacks: what was mapped in one epoch of the journal being read. */
    struct {
        pt_read_map *items;
        size_t count, cap;
    } module;
    uint64_t listed;                          /* mappings, of all epochs for which it was made */
    uint32_t module_epoch, module_generation; /* PT_NONE: not made yet */
    struct {
        kept_text *items;
        size_t count, cap;
    } text;
    pt_index text_index;
    const pt_machine *machine; /* of the process; NULL: not known here */
    pt_journal_span own_code, passing_code, main_start, thread_start, own_start;
    pt_index shared; /* mappings of all journals by content, to builder ids */
    struct {
        known_map *items;
        size_t count, cap;
    } map;
    struct {
        uint32_t *items;
        size_t count, cap;
    } frame;
    struct {
        uint64_t *items;
        size_t count, cap;
    } pc;
    struct {
        known_code *items; /* by number */
        size_t count, cap;
    } code;
    uint32_t python; /* the mapping of Python's frames; PT_NONE = none yet */
    uint32_t key_pid, key_comm, key_merge, uncertain; /* strings */
    pt_labels_id labels, labels_uncertain;            /* of the process being read */
};

typedef struct {
    uint64_t start, limit, file_offset, inode, from_ns, to_ns;
    uint32_t epoch_from, epoch_to, prot;
    uint32_t build_id_bytes, path_bytes;
    const uint8_t *build_id, *path;
} map_record;

static bool read_map(pt_reader *r, map_record *m)
{
    m->start = pt_read_u64(r);
    m->limit = pt_read_u64(r);
    m->file_offset = pt_read_u64(r);
    m->inode = pt_read_u64(r);
    m->from_ns = pt_read_u64(r);
    m->to_ns = pt_read_u64(r);
    m->epoch_from = pt_read_u32(r);
    m->epoch_to = pt_read_u32(r);
    pt_skip(r, 8); /* device */
    m->prot = pt_read_u32(r);
    m->build_id_bytes = pt_read_u16(r);
    m->path_bytes = pt_read_u16(r);
    m->build_id = pt_read_bytes(r, m->build_id_bytes);
    m->path = pt_read_bytes(r, m->path_bytes);
    const uint32_t tail = (m->build_id_bytes + m->path_bytes) % 8;
    pt_skip(r, tail == 0 ? 0 : 8 - tail);
    if (pt_reader_ok(r) && m->limit <= m->start)
        pt_reader_fail(r, PT_ERR_DAMAGED, "a mapping that ends before it starts");
    return pt_reader_ok(r);
}

static uint32_t hex_string(pt_builder *b, const uint8_t *bytes, size_t size)
{
    char text[2 * 64 + 1] = "";
    pt_hex_spell(text, bytes, size < 64 ? size : 64);
    return pt_builder_text(b, text).v;
}

/* Same piece of the same build of the same file. */
static uint32_t find_shared(const pt_journal_reading *g, uint64_t hash, const pt_mapping *like)
{
    PT_INDEX_EACH (&g->shared, hash, id) {
        const pt_mapping *const m = pt_builder_mapping_at(g->builder, (pt_mapping_id){id});
        if (m->file == like->file && m->build_id == like->build_id &&
            m->file_offset == like->file_offset && m->limit - m->start == like->limit - like->start)
            return id;
    }
    return PT_NONE;
}

static uint32_t builder_mapping(pt_journal_reading *g, const pt_mapping *like, bool can_share)
{
    const uint64_t hash = pt_hash_mix(pt_hash_mix(like->file, like->build_id),
                                      pt_hash_mix(like->file_offset, like->limit - like->start));
    const uint32_t found = can_share ? find_shared(g, hash, like) : PT_NONE;
    if (found != PT_NONE) return found;
    const uint32_t id = pt_builder_append_mapping(g->builder, like).v;
    if (can_share && id != PT_NONE) pt_index_add(&g->shared, hash, id);
    return id;
}

static void add_map(pt_journal_reading *g, const map_record *m, const pt_journal_facts *f)
{
    pt_builder *const b = g->builder;
    const pt_mapped as =
        pt_mapped_as((const char *)m->path, m->path_bytes, m->start, m->file_offset);
    const bool is_memory = pt_mapped_is_memory(as.kind);
    pt_mapping mapping = {.start = m->start,
                          .limit = m->limit,
                          .file_offset = as.file_offset,
                          .flags = is_memory ? PT_MAPPING_JIT : 0};
    mapping.file = pt_builder_string(b, as.name, as.name_bytes).v;
    mapping.build_id = hex_string(b, m->build_id, m->build_id_bytes);
    if (m->to_ns != 0) { /* it was unloaded */
        /* Modulo 2^64: the file may hold anything. */
        const uint64_t base = (uint64_t)f->start_realtime_ns - f->start_monotonic_ns;
        mapping.valid_from_ns = (int64_t)(base + m->from_ns);
        mapping.valid_to_ns = (int64_t)(base + m->to_ns);
    }
    const uint32_t id = builder_mapping(g, &mapping, !is_memory);
    if (id == PT_NONE) return;
    const uint64_t at = pt_builder_mapping_at(b, (pt_mapping_id){id})->start;
    PT_PUSH(g->map, (known_map){.start = m->start,
                                .limit = m->limit,
                                .delta = at - m->start,
                                .epoch_from = m->epoch_from,
                                .epoch_to = m->epoch_to,
                                .mapping = id});
}

static int by_start(const void *a, const void *b)
{
    const known_map *const x = a, *const y = b;
    if (x->start != y->start) return x->start < y->start ? -1 : 1;
    return (x->epoch_from > y->epoch_from) - (x->epoch_from < y->epoch_from);
}

static void sort_maps(pt_journal_reading *g)
{
    if (g->map.count > 1) qsort(g->map.items, g->map.count, sizeof g->map.items[0], by_start);
    uint64_t upto = 0;
    for (size_t i = 0; i < g->map.count; i++) {
        if (g->map.items[i].limit > upto) upto = g->map.items[i].limit;
        g->map.items[i].upto = upto;
    }
}

/* NULL if nothing known was mapped there in that epoch. */
static const known_map *find_map(const pt_journal_reading *g, uint64_t addr, uint16_t epoch)
{
    size_t low = 0, high = g->map.count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (g->map.items[middle].start <= addr)
            low = middle + 1;
        else
            high = middle;
    }
    for (size_t i = low; i-- > 0 && low - i <= GENERATIONS_MAX && g->map.items[i].upto > addr;) {
        const known_map *const m = &g->map.items[i];
        if (addr < m->limit && m->epoch_from <= epoch && epoch < m->epoch_to) return m;
    }
    return NULL;
}

/* ---- Python ---- */

static uint32_t add_function(pt_journal_reading *g, const uint8_t *name, size_t name_bytes,
                             const uint8_t *file, size_t file_bytes, int32_t first_line)
{
    const uint32_t text = pt_builder_string(g->builder, (const char *)name, name_bytes).v;
    const pt_function function = {
        .name = text,
        .system_name = text,
        .file = pt_builder_string(g->builder, (const char *)file, file_bytes).v,
        .start_line = first_line};
    return pt_builder_function(g->builder, &function).v;
}

static bool read_code(pt_reader *r, pt_journal_reading *g)
{
    const uint32_t number = pt_read_u32(r), lines_bytes = pt_read_u32(r);
    const int32_t first_line = (int32_t)pt_read_u32(r);
    const uint16_t name_bytes = pt_read_u16(r), file_bytes = pt_read_u16(r);
    const uint16_t minor = pt_read_u16(r);
    pt_skip(r, 6);
    const uint8_t *const name = pt_read_bytes(r, name_bytes);
    const uint8_t *const file = pt_read_bytes(r, file_bytes);
    const uint8_t *const lines = pt_read_bytes(r, lines_bytes);
    const uint64_t tail = ((uint64_t)name_bytes + file_bytes + lines_bytes) % 8;
    pt_skip(r, tail == 0 ? 0 : 8 - tail);
    if (pt_reader_ok(r) && (number == 0 || number > PT_JOURNAL_CODES_MAX))
        pt_reader_fail(r, PT_ERR_DAMAGED, "a code object of number %" PRIu32, number);
    if (!pt_reader_ok(r)) return false;
    while (g->code.count <= number)
        PT_PUSH(g->code, (known_code){.function = PT_NONE});
    g->code.items[number] =
        (known_code){.function = add_function(g, name, name_bytes, file, file_bytes, first_line),
                     .first_line = first_line,
                     .lines_bytes = lines_bytes,
                     .minor = minor,
                     .lines = lines};
    return true;
}

/* All Python frames of all processes lie in one mapping, which no address is in. */
static uint32_t python_mapping(pt_journal_reading *g)
{
    if (g->python != PT_NONE) return g->python;
    const pt_mapping mapping = {.file = pt_builder_text(g->builder, PT_MAPPED_PYTHON).v,
                                .flags = PT_MAPPING_HAS_FUNCTIONS | PT_MAPPING_HAS_FILENAMES |
                                         PT_MAPPING_HAS_LINES | PT_MAPPING_HAS_INLINES};
    return g->python = pt_builder_append_mapping(g->builder, &mapping).v;
}

static uint32_t python_location(pt_journal_reading *g, uint64_t word)
{
    const uint32_t number = (uint32_t)(word >> 32) & 0xffffff;
    const int32_t place = (int32_t)((uint32_t)word - 1);
    const known_code nameless = {.function = PT_NONE};
    const known_code *const code = number < g->code.count ? &g->code.items[number] : &nameless;
    static const char unknown[] = "[Python code]";
    const pt_python_layout *const layout = pt_python_layout_of(3, code->minor);
    const pt_line line = {
        .function = code->function != PT_NONE
                        ? code->function
                        : add_function(g, (const uint8_t *)unknown, sizeof unknown - 1, NULL, 0, 0),
        .line = layout != NULL ? pt_python_line(layout->lines, code->lines, code->lines_bytes,
                                                code->first_line, place)
                               : code->first_line};
    const pt_location location = {.mapping = python_mapping(g), .flags = PT_LOCATION_USER};
    return pt_builder_location(g->builder, &location, &line, 1).v;
}

/* ---- stacks ---- */

static pt_stack_end end_of(unsigned end)
{
    switch (end) {
    case PT_JOURNAL_END_ROOT: return PT_STACK_END_ROOT;
    case PT_JOURNAL_END_TRUNCATED: return PT_STACK_END_TRUNCATED;
    case PT_JOURNAL_END_NO_RULE: return PT_STACK_END_NO_RULE;
    case PT_JOURNAL_END_BAD_READ: return PT_STACK_END_BAD_READ;
    case PT_JOURNAL_END_UNCHECKED: return PT_STACK_END_UNCHECKED;
    default: return PT_STACK_END_UNKNOWN;
    }
}

/* The addresses are in g->pc. */
static void add_stack(pt_journal_reading *g, pt_journal_facts *f, uint64_t weight, pt_stack_end end,
                      uint16_t epoch, unsigned merged)
{
    g->frame.count = 0;
    PT_GROW(g->frame, g->pc.count);
    for (size_t i = 0; i < g->pc.count; i++) {
        /* A call at the end of a mapping returns behind it. */
        const uint64_t pc = g->pc.items[i];
        if ((pc & PT_JOURNAL_PYTHON_FRAME) != 0 && merged != PT_JOURNAL_NATIVE) {
            g->frame.items[g->frame.count++] = python_location(g, pc);
            continue;
        }
        const known_map *const map = find_map(g, i > 0 && pc > 0 ? pc - 1 : pc, epoch);
        const pt_location location = {
            .mapping = map != NULL ? map->mapping : PT_NONE,
            .flags = PT_LOCATION_USER | (i > 0 ? PT_LOCATION_RETURN_ADDR : 0u),
            .address = map != NULL ? pc + map->delta : pc,
        };
        g->frame.items[g->frame.count++] = pt_builder_location(g->builder, &location, NULL, 0).v;
    }
    const pt_stack_id stack = pt_builder_stack(g->builder, g->frame.items, g->frame.count, end);
    const int64_t values[2] = {pt_saturating_product(weight, 1),
                               pt_saturating_product(weight, f->period_ns)};
    const bool is_uncertain = merged == PT_JOURNAL_MERGED_UNCERTAIN;
    pt_builder_add(g->builder, stack, is_uncertain ? g->labels_uncertain : g->labels, values);
    if (merged == PT_JOURNAL_MERGED) f->merged = pt_saturating_count(f->merged, weight);
    if (is_uncertain) f->uncertain = pt_saturating_count(f->uncertain, weight);
    f->weight = pt_saturating_count(f->weight, weight);
    if (end == PT_STACK_END_ROOT) f->complete = pt_saturating_count(f->complete, weight);
    if (end == PT_STACK_END_UNCHECKED) f->unchecked = pt_saturating_count(f->unchecked, weight);
}

static bool plausible_depth(pt_reader *r, uint64_t depth)
{
    if (pt_reader_ok(r) && (depth == 0 || depth > PT_JOURNAL_CHAIN_MAX))
        pt_reader_fail(r, PT_ERR_DAMAGED, "a stack of %" PRIu64 " frames", depth);
    return pt_reader_ok(r);
}

static void read_stacks(pt_journal_reading *g, pt_reader *r, pt_journal_facts *f)
{
    while (pt_reader_left(r) > 0) {
        const uint64_t count = pt_read_u64(r);
        const uint32_t depth = pt_read_u32(r);
        const uint16_t epoch = pt_read_u16(r);
        const uint8_t end = pt_read_u8(r), merged = pt_read_u8(r);
        if (!plausible_depth(r, depth) || !pt_reader_has(r, depth, 8)) return;
        PT_GROW(g->pc, depth);
        g->pc.count = depth;
        for (uint32_t i = 0; i < depth; i++)
            g->pc.items[i] = pt_read_u64(r);
        add_stack(g, f, count, end_of(end), epoch, merged);
    }
}

/* ---- copied stacks ---- */

static const char *keep_text(pt_journal_reading *g, uint32_t string)
{
    const uint64_t hash = pt_hash_mix(string, 0);
    const uint32_t known =
        PT_INDEX_FIND(&g->text_index, hash, i, g->text.items[i].string == string);
    if (known != PT_NONE) return g->text.items[known].text;
    const kept_text kept = {.string = string,
                            .text =
                                pt_strdup(pt_builder_get_text(g->builder, (pt_string_id){string}))};
    PT_INDEX_PUSH(&g->text_index, hash, g->text, kept);
    return kept.text;
}

/* Mappings of the epoch by ascending address; of two that overlap, as no process has them, the
 * first. False: the epochs of this journal go back and forth, as no process's do. */
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
        const known_map *const m = &g->map.items[i];
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

static bool is_within(pt_journal_span span, uint64_t pc)
{
    return pc - span.low < span.limit - span.low;
}

/* As the library shows a stack that it walks itself: up to the function that called main or a start
 * routine, without its own functions that call the host's code. False: it is the library's own
 * work. */
static bool cut_walked(pt_journal_reading *g, pt_stack_end *end)
{
    size_t kept = 0;
    for (size_t i = 0; i < g->pc.count; i++) {
        const uint64_t pc = g->pc.items[i];
        const bool is_start = is_within(g->main_start, pc) || is_within(g->thread_start, pc);
        if (is_within(g->own_code, pc)) {
            const bool is_passed =
                i > 0 && (is_within(g->passing_code, pc) || is_within(g->own_start, pc));
            if (!is_passed) return false;
        } else {
            g->pc.items[kept++] = pc;
        }
        if (is_start) {
            if (*end != PT_STACK_END_UNCHECKED) *end = PT_STACK_END_ROOT;
            break;
        }
    }
    g->pc.count = kept;
    return true;
}

/* Into g->pc, the leaf first. */
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
    if (cut_walked(g, &end)) {
        add_stack(g, f, copy->weight, end, copy->epoch, PT_JOURNAL_NATIVE);
        return;
    }
    const uint64_t own_ns = (uint64_t)pt_saturating_product(copy->weight, f->period_ns);
    f->own_copied_ns = pt_saturating_count(f->own_copied_ns, own_ns);
}

static void read_copies(pt_journal_reading *g, pt_reader *r, pt_journal_facts *f)
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

/* ---- areas ---- */

static void read_records(pt_journal_reading *g, pt_reader *r, pt_journal_facts *f, uint32_t kind)
{
    map_record map;
    if (kind == PT_JOURNAL_STACKS) read_stacks(g, r, f);
    if (kind == PT_JOURNAL_COPIES) read_copies(g, r, f);
    while (kind == PT_JOURNAL_PYTHON && pt_reader_left(r) > 0 && read_code(r, g))
        ;
    while (kind == PT_JOURNAL_MAPS && pt_reader_left(r) > 0 && read_map(r, &map))
        add_map(g, &map, f);
}

/* Each area of that kind, up to the first that was not committed. */
static void read_areas(pt_journal_reading *g, pt_reader *r, pt_journal_facts *f, uint32_t wanted)
{
    while (pt_reader_ok(r) && pt_reader_left(r) >= sizeof(pt_journal_area)) {
        pt_reader head = *r; /* looked at without moving */
        head.parent = NULL;
        head.error = NULL;
        const uint32_t magic = pt_read_u32(&head), kind = pt_read_u32(&head);
        const uint64_t size = pt_read_u64(&head), used = pt_read_u64(&head);
        if (magic != PT_JOURNAL_AREA_MAGIC) return;
        if (size < sizeof(pt_journal_area) || used > size - sizeof(pt_journal_area)) {
            pt_reader_fail(r, PT_ERR_DAMAGED, "an area of %" PRIu64 " bytes that holds %" PRIu64,
                           size, used);
            return;
        }
        /* The file may end behind the records; a copy that was cut short ends within them. */
        const uint64_t there = size < pt_reader_left(r) ? size : pt_reader_left(r);
        const uint64_t records_end = sizeof(pt_journal_area) + used;
        pt_reader area = pt_reader_sub(r, there);
        pt_skip(&area, sizeof(pt_journal_area));
        const uint64_t records_there = records_end <= there ? used : pt_reader_left(&area);
        pt_reader records = pt_reader_sub(&area, records_there);
        if (kind == wanted) read_records(g, &records, f, kind);
        if (records_end > there) pt_reader_short(r, records_end - there);
    }
}

pt_status pt_journal_read_facts(pt_reader *reader, pt_journal_facts *ret_facts, pt_error *reterr)
{
    reader->error = reterr;
    return begin_journal(reader, ret_facts);
}

/* ---- many into one builder ---- */

pt_journal_reading *pt_journal_reading_new(pt_builder *builder, bool label_processes,
                                           const pt_read_hooks *hooks)
{
    pt_journal_reading *const g = pt_alloc(1, sizeof *g);
    g->builder = builder;
    g->label_processes = label_processes;
    g->hooks = hooks;
    pt_index_init(&g->shared);
    pt_index_init(&g->text_index);
    const pt_event samples = {.type = pt_builder_text(builder, "samples").v,
                              .unit = pt_builder_text(builder, "count").v};
    const pt_event cpu = {.type = pt_builder_text(builder, "cpu").v,
                          .unit = pt_builder_text(builder, "nanoseconds").v};
    pt_builder_event(builder, &samples);
    pt_builder_event(builder, &cpu);
    g->key_pid = pt_builder_text(builder, "pid").v;
    g->key_comm = pt_builder_text(builder, "comm").v;
    g->key_merge = pt_builder_text(builder, "merge").v;
    g->uncertain = pt_builder_text(builder, "uncertain").v;
    g->python = PT_NONE;
    return g;
}

void pt_journal_reading_free(pt_journal_reading *reading)
{
    if (reading == NULL) return;
    pt_index_done(&reading->shared);
    pt_index_done(&reading->text_index);
    for (size_t i = 0; i < reading->text.count; i++)
        free(reading->text.items[i].text);
    free(reading->text.items);
    free(reading->module.items);
    free(reading->map.items);
    free(reading->frame.items);
    free(reading->pc.items);
    free(reading->code.items);
    free(reading);
}

static void read_spans(pt_journal_reading *g, pt_reader r)
{
    r.parent = NULL;
    pt_reader machine = r;
    pt_skip(&machine, offsetof(pt_journal_header, machine));
    g->machine = pt_machine_of_elf((uint16_t)pt_read_u32(&machine));
    pt_skip(&r, offsetof(pt_journal_header, own_code));
    g->own_code = read_span(&r);
    g->passing_code = read_span(&r);
    g->main_start = read_span(&r);
    g->thread_start = read_span(&r);
    g->own_start = read_span(&r);
}

static void set_labels(pt_journal_reading *g, const pt_journal_facts *f)
{
    const pt_label labels[] = {
        {.key = g->key_pid, .kind = PT_LABEL_NUMBER, .num = f->pid},
        {.key = g->key_comm,
         .kind = PT_LABEL_STRING,
         .str = pt_builder_text(g->builder, f->comm).v},
        {.key = g->key_merge, .kind = PT_LABEL_STRING, .str = g->uncertain},
    };
    const unsigned first = g->label_processes ? 0 : 2;
    g->labels = g->label_processes ? pt_builder_labels(g->builder, labels, 2) : PT_NO_LABELS;
    g->labels_uncertain = pt_builder_labels(g->builder, labels + first, 3 - first);
}

pt_status pt_journal_reading_add(pt_journal_reading *g, pt_reader *reader,
                                 pt_journal_facts *ret_facts, pt_error *reterr)
{
    pt_journal_facts facts;
    reader->error = reterr;
    const pt_reader begin = *reader;
    if (begin_journal(reader, &facts) == PT_OK) {
        pt_reader again = *reader;
        g->map.count = 0;
        g->module_epoch = PT_NONE;
        g->listed = 0;
        read_spans(g, begin);
        set_labels(g, &facts);
        pt_reader once_more = *reader;
        g->code.count = 0;
        read_areas(g, reader, &facts, PT_JOURNAL_MAPS);
        sort_maps(g);
        if (!pt_reader_ok(reader)) once_more.error = NULL; /* the first damage is the one told */
        read_areas(g, &once_more, &facts, PT_JOURNAL_PYTHON);
        if (pt_reader_ok(reader)) reader->status = once_more.status;
        if (!pt_reader_ok(reader)) again.error = NULL;
        pt_reader third = again;
        read_areas(g, &again, &facts, PT_JOURNAL_STACKS);
        if (pt_reader_ok(reader)) reader->status = again.status;
        if (!pt_reader_ok(reader)) third.error = NULL;
        read_areas(g, &third, &facts, PT_JOURNAL_COPIES);
        if (pt_reader_ok(reader)) reader->status = third.status;
    }
    if (ret_facts != NULL) *ret_facts = facts;
    return reader->status;
}

/* ---- processes without a journal ---- */

void pt_journal_each_brief(const uint8_t *bytes, size_t size,
                           void (*use)(const pt_journal_brief *brief, void *arg), void *arg)
{
    pt_journal_brief brief;
    for (; size >= sizeof brief; bytes += sizeof brief, size -= sizeof brief) {
        memcpy(&brief, bytes, sizeof brief);
        use(&brief, arg);
    }
}

/* ---- the format: one journal ---- */

static int probe_journal(const pt_probe_input *input)
{
    return pt_journal_is(input->head, input->head_bytes) ? 100 : 0;
}

static void fill_provenance(pt_builder *b, const pt_journal_facts *f)
{
    pt_provenance *const p = pt_builder_provenance(b);
    p->tool = pt_builder_text(b, "pitot libprofiler").v;
    p->command_line = pt_builder_text(b, f->command).v;
    p->period_type = pt_builder_text(b, "cpu").v;
    p->period_unit = pt_builder_text(b, "nanoseconds").v;
    p->has_period_type = true;
    p->period = (int64_t)f->period_ns;
    p->start_ns = f->start_realtime_ns;
    p->duration_ns = f->last_monotonic_ns > f->start_monotonic_ns
                         ? (int64_t)(f->last_monotonic_ns - f->start_monotonic_ns)
                         : 0;
    p->lost = f->dropped;
    p->asked_hz = f->asked_hz;
    p->true_hz = 1e9 / (double)f->period_ns;
    p->cpu_seen_ns = pt_saturating_product(f->weight, f->period_ns);
    p->cpu_used_ns = pt_saturating_product(f->cpu_used_ns, 1);
    /* Noted a little before the end, when a process is killed. */
    if (f->end == PT_JOURNAL_RUNNING && p->cpu_used_ns < p->cpu_seen_ns)
        p->cpu_used_ns = p->cpu_seen_ns;
}

static pt_status read_one(pt_reader *reader, pt_builder *builder, const pt_read_hooks *hooks,
                          pt_error *reterr)
{
    pt_journal_facts facts;
    pt_journal_reading *const reading = pt_journal_reading_new(builder, false, hooks);
    const pt_status status = pt_journal_reading_add(reading, reader, &facts, reterr);
    pt_journal_reading_free(reading);
    if (status != PT_OK && status != PT_ERR_DAMAGED) return status;
    for (uint32_t event = 0; facts.period_ns != 0 && event < 2; event++)
        pt_builder_event_at(builder, event)->period = event == 0 ? 1 : (int64_t)facts.period_ns;
    if (facts.period_ns != 0) fill_provenance(builder, &facts);
    if (hooks != NULL && hooks->diag != NULL && facts.end == PT_JOURNAL_RUNNING)
        pt_diag_add(hooks->diag, 1,
                    "journal of a process that was killed or still runs (pid %" PRIu32
                    "): complete up to a tenth of a second before its end",
                    facts.pid);
    return status;
}

static const char *const no_names[] = {NULL};

const pt_format pt_format_journal = {
    .name = "journal",
    .aliases = no_names,
    .extensions = no_names,
    .summary = "crash journal of libprofiler.so.0, of a process that was killed or still runs",
    .kind = PT_PROBE_MAGIC,
    .capabilities = PT_CAN_STACKS | PT_CAN_ADDRESSES | PT_CAN_MAPPINGS | PT_CAN_END | PT_CAN_UNITS |
                    PT_CAN_EVENTS,
    .probe = probe_journal,
    .read = read_one,
};
