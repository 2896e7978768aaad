/* simpleperf.c: reads the samples that Android's simpleperf reports as protobuf: `simpleperf
 * report-sample --protobuf --show-callchain -o FILE`.
 *
 *   "SIMPLEPERF", version 1 (2 bytes)
 *   size (4 bytes), Record; ...; size 0                              little endian
 *
 *   Record: sample 1 | lost 2 | file 3 | thread 4 | meta_info 5 | context_switch 6
 *   Sample: time 1, thread_id 2, callchain 3 (innermost first), event_count 4, event_type_id 5
 *   CallChainEntry: vaddr_in_file 1, file_id 2, symbol_id 3 (negative: none)
 *   LostSituation: sample_count 1, lost_count 2
 *   File: id 1, path 2, symbol 3 (repeated)
 *   Thread: thread_id 1, process_id 2, thread_name 3
 *   MetaInfo: event_type 1 (repeated)
 *
 * Specification: cmd_report_sample.proto of simpleperf. Files, threads and names of events come
 * after the samples, so the file is read twice. Addresses are those of the files' segments. */
#include <inttypes.h>

#include "base/hash.h"
#include "base/text.h"
#include "base/units.h"
#include "formats/perf_events.h"
#include "formats/plain.h"
#include "formats/protobuf.h"
#include "process/path_kind.h"

#define MAGIC "SIMPLEPERF"

enum { HEAD_BYTES = 12, EVENTS_MAX = 16 };

typedef struct {
    uint64_t id;
    uint32_t mapping;
    size_t first; /* first of the file's symbols */
    size_t count;
} sp_file;

typedef struct {
    uint64_t tid;
    uint32_t pid, name;
} sp_thread;

typedef struct {
    pt_builder *b;
    PT_VECTOR(sp_file) file;
    PT_VECTOR(uint32_t) symbol; /* strings */
    PT_VECTOR(sp_thread) thread;
    pt_index files, threads;
    PT_VECTOR(uint32_t) frame;
    uint32_t event_names[EVENTS_MAX];
    size_t event_count;
    uint64_t bad, first_bad, missing, without_event;
} sp_reader;

static uint32_t intern_bytes(sp_reader *s, const pb_field *f)
{
    return f->wire == PB_BYTES ? pt_builder_string(s->b, (const char *)f->data, f->size).v : 0;
}

static uint64_t number_of(const pb_field *f)
{
    return f->wire == PB_VARINT ? f->value : 0;
}

static pb_cursor open_field(const pb_field *f)
{
    static const uint8_t none[1];
    return f->wire == PB_BYTES ? pb_open(f->data, f->size) : pb_open(none, 0);
}

/* ---- Files, threads, events ---- */

static void name_file(sp_reader *s, const pb_field *f, pt_mapping *ret)
{
    if (f->wire != PB_BYTES) return;
    const pt_mapped as = pt_mapped_as((const char *)f->data, f->size, 0, 0);
    ret->file = pt_builder_string(s->b, as.name, as.name_bytes).v;
    ret->flags = as.kind == PT_MAPPED_KERNEL    ? PT_MAPPING_KERNEL
                 : pt_mapped_is_memory(as.kind) ? PT_MAPPING_JIT
                                                : 0;
}

static void read_file(sp_reader *s, pb_cursor c)
{
    sp_file file = {.first = s->symbol.count};
    pt_mapping mapping = {.limit = UINT64_MAX};
    for (pb_field f; pb_next(&c, &f);) {
        if (f.number == 1) file.id = number_of(&f);
        if (f.number == 2) name_file(s, &f, &mapping);
        if (f.number == 3) PT_PUSH(s->symbol, intern_bytes(s, &f));
    }
    file.count = s->symbol.count - file.first;
    file.mapping = pt_builder_append_mapping(s->b, &mapping).v;
    const uint64_t hash = pt_hash_mix(file.id, 1);
    if (PT_INDEX_FIND(&s->files, hash, i, s->file.items[i].id == file.id) == PT_NONE)
        PT_INDEX_PUSH(&s->files, hash, s->file, file);
}

static void read_thread(sp_reader *s, pb_cursor c)
{
    sp_thread thread = {.pid = PT_NONE};
    for (pb_field f; pb_next(&c, &f);) {
        if (f.number == 1) thread.tid = number_of(&f);
        if (f.number == 2 && number_of(&f) < PT_NONE) thread.pid = (uint32_t)number_of(&f);
        if (f.number == 3) thread.name = intern_bytes(s, &f);
    }
    const uint64_t hash = pt_hash_mix(thread.tid, 1);
    if (PT_INDEX_FIND(&s->threads, hash, i, s->thread.items[i].tid == thread.tid) == PT_NONE)
        PT_INDEX_PUSH(&s->threads, hash, s->thread, thread);
}

static void read_meta(sp_reader *s, pb_cursor c)
{
    for (pb_field f; pb_next(&c, &f);)
        if (f.number == 1 && f.wire == PB_BYTES && s->event_count < EVENTS_MAX)
            s->event_names[s->event_count++] =
                pt_perf_event_name(s->b, (const char *)f.data, f.size);
}

static void read_lost(sp_reader *s, pb_cursor c)
{
    for (pb_field f; pb_next(&c, &f);)
        if (f.number == 2) pt_builder_provenance(s->b)->lost = number_of(&f);
}

/* ---- Samples ---- */

static uint32_t make_frame(sp_reader *s, pb_cursor c)
{
    uint64_t address = 0, file_id = 0;
    int64_t symbol = 0;
    for (pb_field f; pb_next(&c, &f);) {
        if (f.number == 1) address = number_of(&f);
        if (f.number == 2) file_id = number_of(&f);
        if (f.number == 3) symbol = (int32_t)number_of(&f);
    }
    const uint32_t row =
        PT_INDEX_FIND(&s->files, pt_hash_mix(file_id, 1), i, s->file.items[i].id == file_id);
    const sp_file *const file = row != PT_NONE ? &s->file.items[row] : NULL;
    s->missing += file == NULL || (symbol >= 0 && (uint64_t)symbol >= file->count);
    pt_location location = {.mapping = file != NULL ? file->mapping : PT_NONE, .address = address};
    pt_function function = {0};
    if (file != NULL && symbol >= 0 && (uint64_t)symbol < file->count)
        function.name = s->symbol.items[file->first + (size_t)symbol];
    return pt_plain_mapped_location(s->b, &location, &function, 0);
}

static void read_sample(sp_reader *s, pb_cursor c)
{
    int64_t values[EVENTS_MAX + 1] = {1};
    pt_sample sample = {.values = values, .pid = PT_NONE, .tid = PT_NONE, .cpu = PT_NONE};
    uint64_t count = 1, event = 0, tid = PT_NONE;
    s->frame.count = 0;
    for (pb_field f; pb_next(&c, &f);) {
        if (f.number == 1) sample.time_ns = number_of(&f) <= INT64_MAX ? (int64_t)number_of(&f) : 0;
        if (f.number == 2) tid = number_of(&f);
        if (f.number == 3) PT_PUSH(s->frame, make_frame(s, open_field(&f)));
        if (f.number == 4) count = number_of(&f);
        if (f.number == 5) event = number_of(&f);
    }
    const uint32_t row =
        PT_INDEX_FIND(&s->threads, pt_hash_mix(tid, 1), i, s->thread.items[i].tid == tid);
    if (tid < PT_NONE) sample.tid = (uint32_t)tid;
    if (row != PT_NONE) {
        sample.pid = s->thread.items[row].pid;
        sample.comm = s->thread.items[row].name;
    }
    if (event < s->event_count)
        values[event + 1] = count <= INT64_MAX ? (int64_t)count : INT64_MAX;
    else
        s->without_event++;
    sample.stack = pt_builder_stack(s->b, s->frame.items, s->frame.count, PT_STACK_END_UNKNOWN).v;
    pt_builder_timed_sample(s->b, &sample);
}

/* ---- Records ---- */

static void read_record(sp_reader *s, pb_cursor c, bool samples, uint64_t at)
{
    for (pb_field f; pb_next(&c, &f);) {
        if (samples && f.number == 1) read_sample(s, open_field(&f));
        if (!samples && f.number == 2) read_lost(s, open_field(&f));
        if (!samples && f.number == 3) read_file(s, open_field(&f));
        if (!samples && f.number == 4) read_thread(s, open_field(&f));
        if (!samples && f.number == 5) read_meta(s, open_field(&f));
    }
    if (samples && !c.ok && s->bad++ == 0) s->first_bad = at;
}

/* Reads all records, but uses only samples (if `samples` is true) or only records of the other
 * kinds. Returns false if the end of the list, a record of size 0, is missing. */
static bool read_records(sp_reader *s, pt_reader r, bool samples)
{
    pt_skip(&r, HEAD_BYTES);
    while (pt_reader_ok(&r)) {
        const uint64_t at = pt_reader_offset(&r);
        const uint32_t size = pt_read_u32(&r);
        if (!pt_reader_ok(&r) || size == 0) break;
        const uint8_t *const bytes = pt_read_bytes(&r, size);
        if (bytes == NULL) break;
        read_record(s, pb_open(bytes, size), samples, at);
    }
    return pt_reader_ok(&r);
}

static pt_status conclude_profile(const sp_reader *s, bool is_whole, pt_diag *diag,
                                  pt_error *reterr)
{
    const uint32_t kept = pt_builder_sample_count(s->b);
    pt_diag_add(diag, s->without_event,
                "samples of events without a name: each counts as a sample only");
    if (s->missing > 0)
        return pt_error_set(reterr, PT_ERR_DAMAGED, "%s of missing files or symbols; kept %s",
                            pt_count_noun(s->missing, "frames").text,
                            pt_count_noun(kept, "samples").text);
    if (s->bad > 0)
        return pt_error_set(reterr, PT_ERR_DAMAGED,
                            "%s damaged, the first at byte %" PRIu64 "; kept %s",
                            pt_count_noun(s->bad, "records").text, s->first_bad,
                            pt_count_noun(kept, "samples").text);
    if (!is_whole)
        return pt_error_set(reterr, PT_ERR_DAMAGED, "the file has no end; kept %s",
                            pt_count_noun(kept, "samples").text);
    return PT_OK;
}

static pt_status simpleperf_read(pt_reader *reader, pt_builder *builder, const pt_read_hooks *hooks,
                                 pt_error *reterr)
{
    if (!pt_plain_begins(reader, MAGIC, reterr)) return PT_ERR_FORMAT;
    sp_reader s = {.b = builder};
    pt_reader r;
    pt_reader_init(&r, reader->pos, pt_reader_left(reader), NULL);
    pt_index_init(&s.files);
    pt_index_init(&s.threads);
    read_records(&s, r, false);
    uint32_t names[EVENTS_MAX + 1] = {0};
    memcpy(names, s.event_names, s.event_count * sizeof *names);
    pt_perf_events_of_names(builder, names, EVENTS_MAX);
    const bool is_whole = read_records(&s, r, true);
    const pt_status status = conclude_profile(&s, is_whole, hooks->diag, reterr);
    pt_index_done(&s.files);
    pt_index_done(&s.threads);
    PT_FREE_ALL(s.file.items, s.symbol.items, s.thread.items, s.frame.items);
    return status;
}

static int probe_simpleperf(const pt_probe_input *input)
{
    return pt_begins_n((const char *)input->head, input->head_bytes, MAGIC) ? 100 : 0;
}

const pt_format pt_format_simpleperf = {
    .name = "simpleperf",
    .summary = "Android's simpleperf report-sample --protobuf",
    .kind = PT_PROBE_MAGIC,
    .capabilities = PT_CAN_STACKS | PT_CAN_EVENTS | PT_CAN_ADDRESSES | PT_CAN_MAPPINGS |
                    PT_CAN_TIME | PT_CAN_NAMES,
    .probe = probe_simpleperf,
    .read = simpleperf_read,
};
