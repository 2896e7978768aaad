/* journal.c: reads the crash journal of libprofiler.so.0; wire/journal.h draws its layout.
 *
 * The writer may have been killed at any instruction, or may still run. Only committed data is
 * read: the areas (a header with a magic number, then records) up to the first area without the
 * magic number, and in each area the records up to used_bytes. The committed data is a complete
 * profile, so missing data after it is no damage. Damage is data that the writer never leaves:
 * sizes that do not fit, records without frames.
 *
 * Addresses above the leaf are return addresses. They are stored unchanged and marked
 * PT_LOCATION_RETURN_ADDR.
 */
#include "formats/journal_int.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/grow.h"
#include "base/saturate.h"
#include "formats/format.h"
#include "interp/v8.h"
#include "process/path_kind.h"

/* ---- header ---- */

/* Reads the header's fields in order; texts are read by their offsets. */
static void read_header(pt_reader *r, pt_journal_facts *f, uint32_t *ret_header_bytes)
{
    pt_skip(r, 16); /* magic, byte order and version, which begin_journal has checked */
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
    f->dropped = pt_read_u64(r); /* fold_dropped; ring_dropped is added below */
    f->threads_seen = pt_read_u64(r);
    f->threads_unsampled = pt_read_u64(r);
    f->ticks = pt_read_u64(r);
    pt_skip(r, 8); /* weight is counted from the stacks */
    f->dropped = pt_saturating_count(f->dropped, pt_read_u64(r));
    f->filtered = pt_read_u64(r);
}

/* Reads the library's own CPU time and the time in the kernel, from the fields after the texts. */
static void read_own(pt_reader *r, pt_journal_facts *f)
{
    pt_skip(r, offsetof(pt_journal_header, own_weight));
    const uint64_t weight = pt_read_u64(r), unknown_ns = pt_read_u64(r);
    uint64_t own_ns = 0; /* 0 if the journal samples wall time, since its weights are then not CPU
                          * time */
    if (f->engine != PT_JOURNAL_ENGINE_REAL &&
        __builtin_mul_overflow(weight, f->period_ns, &own_ns))
        own_ns = UINT64_MAX;
    f->own_ns = pt_saturating_count(pt_saturating_count(own_ns, unknown_ns), f->cpu_own_ns);
    pt_skip(r, offsetof(pt_journal_header, kernel_weight) - offsetof(pt_journal_header, spans));
    f->kernel = pt_read_u64(r);
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

/* Copies the arguments, with spaces in place of the NULs. */
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

static bool is_journal(const uint8_t *head, size_t head_bytes)
{
    return head_bytes >= sizeof(pt_journal_header) && memcmp(head, PT_JOURNAL_MAGIC, 8) == 0;
}

/* Reads the header and leaves the reader at the first area. */
static pt_status begin_journal(pt_reader *r, pt_journal_facts *f)
{
    const uint8_t *const head = r->pos;
    memset(f, 0, sizeof *f);
    if (!is_journal(head, pt_reader_left(r)) || !read_byte_order(r, head))
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

/* The label set of a stack. tier: pt_v8_tier of its innermost function of JavaScript. */
static pt_labels_id labels_of(pt_journal_reading *g, const pt_journal_facts *f, bool is_uncertain,
                              unsigned tier)
{
    pt_label labels[4];
    size_t count = 0;
    if (g->label_processes) {
        labels[count++] = (pt_label){.key = g->key_pid, .kind = PT_LABEL_NUMBER, .num = f->pid};
        labels[count++] = (pt_label){.key = g->key_comm,
                                     .kind = PT_LABEL_STRING,
                                     .str = pt_builder_text(g->builder, f->comm).v};
    }
    if (is_uncertain)
        labels[count++] =
            (pt_label){.key = g->key_merge, .kind = PT_LABEL_STRING, .str = g->uncertain};
    if (tier != PT_V8_NO_TIER)
        labels[count++] = (pt_label){.key = pt_builder_text(g->builder, PT_V8_TIER_KEY).v,
                                     .kind = PT_LABEL_STRING,
                                     .str = pt_builder_text(g->builder, pt_v8_tier_names[tier]).v};
    return count > 0 ? pt_builder_labels(g->builder, labels, count) : PT_NO_LABELS;
}

void pt_journal_add_stack(pt_journal_reading *g, pt_journal_facts *f, uint64_t weight,
                          pt_stack_end end, uint16_t epoch, unsigned merged)
{
    bool has[PT_JOURNAL_LANGUAGES] = {false};
    if (pt_saturating_count(f->weight, weight) > g->most_weight) {
        f->impossible++;
        return;
    }
    unsigned tier = PT_V8_NO_TIER;
    bool has_native = false; /* a pc was added; interpreters' frames may come before the first pc */
    g->frame.count = 0;
    PT_GROW(g->frame, g->pc.count);
    for (size_t i = 0; i < g->pc.count; i++) {
        /* A call at the end of a mapping returns to an address after the mapping. */
        const uint64_t pc = g->pc.items[i];
        if ((pc & PT_JOURNAL_CODE_FRAME) != 0 && merged != PT_JOURNAL_NATIVE) {
            const unsigned language = pt_journal_language_of(g, pc);
            const uint32_t place = (uint32_t)PT_JOURNAL_CODE_PLACE(pc);
            if (!has[language] && language == PT_JOURNAL_LANGUAGE_JAVASCRIPT && place < PT_V8_TIERS)
                tier = place;
            has[language] = true;
            g->frame.items[g->frame.count++] = pt_journal_code_location(g, pc);
            continue;
        }
        const pt_journal_known_map *const map =
            pt_journal_find_map(g, has_native && pc > 0 ? pc - 1 : pc, epoch);
        const pt_location location = {
            .mapping = map != NULL ? map->mapping : PT_NONE,
            .flags = PT_LOCATION_USER | (has_native ? PT_LOCATION_RETURN_ADDR : 0u),
            .address = map != NULL ? pc + map->delta : pc,
        };
        g->frame.items[g->frame.count++] = pt_builder_location(g->builder, &location, NULL, 0).v;
        has_native = true;
    }
    const pt_stack_id stack = pt_builder_stack(g->builder, g->frame.items, g->frame.count, end);
    const int64_t values[2] = {pt_saturating_product(weight, 1),
                               pt_saturating_product(weight, f->period_ns)};
    const bool is_uncertain = merged == PT_JOURNAL_MERGED_UNCERTAIN;
    pt_builder_add(g->builder, stack, labels_of(g, f, is_uncertain, tier), values);
    for (int i = 0; i < PT_JOURNAL_LANGUAGES; i++) {
        if (!has[i]) continue;
        f->frames[i].all = pt_saturating_count(f->frames[i].all, weight);
        if (is_uncertain && pt_mapped_languages[i].is_counted)
            f->frames[i].uncertain = pt_saturating_count(f->frames[i].uncertain, weight);
    }
    f->weight = pt_saturating_count(f->weight, weight);
    if (end == PT_STACK_END_ROOT) f->complete = pt_saturating_count(f->complete, weight);
    if (end == PT_STACK_END_UNCHECKED) f->unchecked = pt_saturating_count(f->unchecked, weight);
    if (end == PT_STACK_END_TRUNCATED) f->truncated = pt_saturating_count(f->truncated, weight);
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
        pt_journal_add_stack(g, f, count, end_of(end), epoch, merged);
    }
}

/* Adds a row for CPU time in the kernel that no tick could sample, as far as the bound of the
 * journal's weight allows. */
static void add_kernel(pt_journal_reading *g, pt_journal_facts *f)
{
    const uint64_t most = g->most_weight - f->weight;
    if (f->kernel > most) {
        f->impossible++;
        f->kernel = most;
    }
    if (f->kernel == 0) return;
    const int64_t values[2] = {pt_saturating_product(f->kernel, 1),
                               pt_saturating_product(f->kernel, f->period_ns)};
    const uint32_t frame =
        pt_builder_named_location(g->builder, PT_NOT_SAMPLED_KERNEL, PT_LOCATION_KERNEL).v;
    pt_builder_add(g->builder, pt_builder_stack(g->builder, &frame, 1, PT_STACK_END_ROOT),
                   labels_of(g, f, false, PT_V8_NO_TIER), values);
    f->weight = pt_saturating_count(f->weight, f->kernel);
    f->complete = pt_saturating_count(f->complete, f->kernel);
}

/* ---- areas ---- */

static void read_records(pt_journal_reading *g, pt_reader *r, pt_journal_facts *f, uint32_t kind)
{
    switch (kind) {
    case PT_JOURNAL_MAPS: pt_journal_read_maps(g, r, f); break;
    case PT_JOURNAL_CODES: pt_journal_read_codes(g, r); break;
    case PT_JOURNAL_STACKS: read_stacks(g, r, f); break;
    case PT_JOURNAL_COPIES: pt_journal_read_copies(g, r, f); break;
    default: break;
    }
}

/* Reads the areas of a kind, up to the first that was not committed. */
static void read_areas(pt_journal_reading *g, pt_reader *r, pt_journal_facts *f, uint32_t wanted)
{
    while (pt_reader_ok(r) && pt_reader_left(r) >= sizeof(pt_journal_area)) {
        pt_reader head = *r; /* a copy: the reader itself does not move */
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
        /* The file may end right after the records. A truncated copy of a file ends within the
         * records. */
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
    for (unsigned i = 0; i < PT_JOURNAL_LANGUAGES; i++)
        g->language[i] = PT_NONE;
    return g;
}

void pt_journal_reading_bound(pt_journal_reading *reading, const pt_journal_bounds *bounds)
{
    reading->bounds = *bounds;
}

void pt_journal_reading_free(pt_journal_reading *reading)
{
    if (reading == NULL) return;
    pt_index_done(&reading->shared);
    pt_index_done(&reading->text_index);
    for (size_t i = 0; i < reading->text.count; i++)
        free(reading->text.items[i].text);
    PT_FREE_ALL(reading->text.items, reading->module.items, reading->map.items,
                reading->frame.items, reading->pc.items, reading->code.items, reading);
}

static void read_spans(pt_journal_reading *g, pt_reader r)
{
    r.parent = NULL;
    pt_reader machine = r;
    pt_skip(&machine, offsetof(pt_journal_header, machine));
    g->machine = pt_machine_of_elf((uint16_t)pt_read_u32(&machine));
    pt_skip(&r, offsetof(pt_journal_header, spans));
    g->spans.own_code = read_span(&r);
    g->spans.passing_code = read_span(&r);
    g->spans.main_start = read_span(&r);
    g->spans.thread_start = read_span(&r);
    g->spans.own_start = read_span(&r);
    g->spans.unblocking_code = read_span(&r);
}

pt_status pt_journal_reading_add(pt_journal_reading *g, pt_reader *reader,
                                 pt_journal_facts *ret_facts, pt_error *reterr)
{
    /* Stacks and copies of stacks refer to records of the other kinds, so they come last. */
    static const uint32_t order[] = {PT_JOURNAL_MAPS, PT_JOURNAL_CODES, PT_JOURNAL_STACKS,
                                     PT_JOURNAL_COPIES};
    pt_journal_facts facts;
    reader->error = reterr;
    const pt_reader begin = *reader;
    if (begin_journal(reader, &facts) == PT_OK) {
        const pt_reader areas = *reader;
        if (g->code.count > 0) memset(g->codes_known, 0, sizeof g->codes_known);
        g->map.count = g->code.count = 0;
        g->lines_read = 0;
        g->module_epoch = PT_NONE;
        g->listed = 0;
        read_spans(g, begin);
        g->most_weight = pt_journal_most_weight(&facts, &g->bounds);
        for (size_t i = 0; i < PT_COUNT(order); i++) {
            pt_reader pass = areas;
            if (!pt_reader_ok(reader)) pass.error = NULL; /* the first damage is reported */
            read_areas(g, &pass, &facts, order[i]);
            if (order[i] == PT_JOURNAL_MAPS) pt_journal_sort_maps(g);
            if (pt_reader_ok(reader)) reader->status = pass.status;
        }
        add_kernel(g, &facts);
    }
    if (ret_facts != NULL) *ret_facts = facts;
    return reader->status;
}

/* ---- processes without a journal ---- */

static bool is_brief_at(const uint8_t *bytes, size_t size, size_t at)
{
    uint32_t magic;
    if (size - at < sizeof magic) return false;
    memcpy(&magic, bytes + at, sizeof magic);
    return magic == PT_JOURNAL_BRIEF_MAGIC;
}

/* A record is whole if another record, or the end of the file, follows it. A record that was cut
 * short is left out: the search continues inside its bytes, where the next record begins. */
void pt_journal_each_brief(const uint8_t *bytes, size_t size,
                           void (*use)(const pt_journal_brief *brief, void *arg), void *arg)
{
    pt_journal_brief brief;
    for (size_t at = 0; size >= sizeof brief && at <= size - sizeof brief;) {
        const size_t end = at + sizeof brief;
        const bool is_whole =
            is_brief_at(bytes, size, at) && (end == size || is_brief_at(bytes, size, end));
        if (is_whole) {
            memcpy(&brief, bytes + at, sizeof brief);
            use(&brief, arg);
        }
        at += is_whole ? sizeof brief : sizeof brief.magic;
    }
}

/* ---- the format: one journal ---- */

static int probe_journal(const pt_probe_input *input)
{
    return is_journal(input->head, input->head_bytes) ? 100 : 0;
}

void pt_journal_count_wall(pt_builder *b)
{
    const uint32_t wall = pt_builder_text(b, "wall").v;
    pt_provenance *const p = pt_builder_provenance(b);
    pt_builder_event_at(b, 1)->type = wall;
    if (p->has_period_type) p->period_type = wall;
    p->cpu_used_ns = p->cpu_seen_ns = 0;
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
    /* A process that was killed wrote its CPU time some time before its last samples. */
    if (f->end == PT_JOURNAL_RUNNING && p->cpu_used_ns < p->cpu_seen_ns)
        p->cpu_used_ns = p->cpu_seen_ns;
}

static pt_status read_journal(pt_reader *reader, pt_builder *builder, const pt_read_hooks *hooks,
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
    if (facts.engine == PT_JOURNAL_ENGINE_REAL && facts.period_ns != 0)
        pt_journal_count_wall(builder);
    if (hooks != NULL && hooks->diag != NULL && facts.end == PT_JOURNAL_RUNNING)
        pt_diag_add(hooks->diag, 1,
                    "journal of a process that was killed or still runs (pid %" PRIu32
                    "): complete up to a tenth of a second before its end",
                    facts.pid);
    return status;
}

const pt_format pt_format_journal = {
    .name = "journal",
    .summary = "crash journal of libprofiler.so.0, of a process that was killed or still runs",
    .kind = PT_PROBE_MAGIC,
    .capabilities = PT_CAN_STACKS | PT_CAN_ADDRESSES | PT_CAN_MAPPINGS | PT_CAN_END | PT_CAN_UNITS |
                    PT_CAN_EVENTS,
    .probe = probe_journal,
    .read = read_journal,
};
