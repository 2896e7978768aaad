/* keep_read.c: reads the files of a recorder that was killed; see keep.h. */
#include <fcntl.h>
#include <inttypes.h>
#include <libgen.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/grow.h"
#include "base/place.h"
#include "base/reader.h"
#include "capture/keep.h"
#include "capture/keep_int.h"
#include "interp/v8.h"
#include "model/process_user.h"

enum { KEPT_MAX_BYTES_SHIFT = 36 };

typedef struct {
    uint32_t stack, labels;
} kept_row;

/* An amount that is added to a value of a row. */
typedef struct {
    uint32_t row, event;
    int64_t more;
} kept_more;

typedef struct {
    pt_builder *builder;
    bool has_head;
    uint32_t flags, event_count;
    uint64_t period, hz;
    int64_t start_ns;
    pt_keep_facts facts;
    char *typed;
    PT_VECTOR(uint32_t) mapping, location, stack;
    PT_VECTOR(kept_row) row;
    PT_VECTOR(kept_more) more; /* without a timeline */
} kept;

/* Reads a text that ends within the record; "" if it does not. */
static const char *read_text(pt_reader *r)
{
    const uint8_t *const at = r->pos;
    const size_t left = pt_reader_left(r);
    const uint8_t *const zero = left > 0 ? memchr(at, '\0', left) : NULL;
    if (zero == NULL) {
        pt_reader_fail(r, PT_ERR_DAMAGED, "a text without an end");
        return "";
    }
    pt_skip(r, (uint64_t)(zero - at) + 1);
    return (const char *)at;
}

static uint32_t read_comm(kept *k, pt_reader *r)
{
    const char *const at = (const char *)pt_read_bytes(r, PT_KEEP_COMM_BYTES);
    if (at == NULL) return 0;
    return pt_builder_string(k->builder, at, strnlen(at, PT_KEEP_COMM_BYTES)).v;
}

static void read_head(kept *k, pt_reader *r)
{
    pt_builder *const b = k->builder;
    const uint8_t *const magic = pt_read_bytes(r, PT_KEEP_MAGIC_BYTES);
    if (magic == NULL || k->has_head || memcmp(magic, PT_KEEP_MAGIC, PT_KEEP_MAGIC_BYTES) != 0) {
        pt_reader_fail(r, PT_ERR_FORMAT, "not the journal of a recording");
        return;
    }
    k->event_count = pt_read_u32(r);
    k->flags = pt_read_u32(r);
    k->period = pt_read_u64(r);
    k->hz = pt_read_u64(r);
    k->start_ns = (int64_t)pt_read_u64(r);
    if (k->event_count < 2 || k->event_count > PT_KEEP_EVENTS_MAX || k->period > INT64_MAX)
        pt_reader_fail(r, PT_ERR_DAMAGED, "%" PRIu32 " events", k->event_count);
    for (uint32_t i = 0; pt_reader_ok(r) && i < k->event_count; i++) {
        pt_event event = {.period = (int64_t)(pt_read_u64(r) & INT64_MAX)};
        event.period_varies = pt_read_u32(r) != 0;
        event.type = pt_builder_text(b, read_text(r)).v;
        event.unit = pt_builder_text(b, read_text(r)).v;
        pt_builder_event(b, &event);
    }
    free(k->typed);
    k->typed = pt_strdup(read_text(r));
    k->has_head = pt_reader_ok(r);
}

/* Flags of the mapping that frames of interpreters belong to. */
enum {
    HAS_NAMES = PT_MAPPING_HAS_FUNCTIONS | PT_MAPPING_HAS_FILENAMES | PT_MAPPING_HAS_LINES |
                PT_MAPPING_HAS_INLINES
};

static void read_mapping(kept *k, pt_reader *r)
{
    pt_mapping mapping = {.start = pt_read_u64(r)};
    mapping.limit = pt_read_u64(r);
    mapping.file_offset = pt_read_u64(r);
    mapping.flags = pt_read_u32(r) & (PT_MAPPING_KERNEL | PT_MAPPING_JIT | HAS_NAMES);
    mapping.file = pt_builder_text(k->builder, read_text(r)).v;
    mapping.build_id = pt_builder_text(k->builder, read_text(r)).v;
    if (pt_reader_ok(r)) PT_PUSH(k->mapping, pt_builder_append_mapping(k->builder, &mapping).v);
}

static void read_build_id(kept *k, pt_reader *r)
{
    const uint32_t row = pt_read_u32(r);
    const char *const hex = read_text(r);
    if (!pt_reader_ok(r) || row >= k->mapping.count) return;
    pt_builder_mapping_at(k->builder, (pt_mapping_id){k->mapping.items[row]})->build_id =
        pt_builder_text(k->builder, hex).v;
}

static void read_location(kept *k, pt_reader *r)
{
    pt_location location = {.address = pt_read_u64(r)};
    const uint32_t mapping = pt_read_u32(r);
    location.flags =
        pt_read_u32(r) & (PT_LOCATION_RETURN_ADDR | PT_LOCATION_KERNEL | PT_LOCATION_USER);
    location.mapping = mapping < k->mapping.count ? k->mapping.items[mapping] : PT_NONE;
    if (pt_reader_ok(r))
        PT_PUSH(k->location, pt_builder_location(k->builder, &location, NULL, 0).v);
}

static void read_code(kept *k, pt_reader *r)
{
    const uint32_t mapping = pt_read_u32(r);
    const pt_location location = {
        .mapping = mapping < k->mapping.count ? k->mapping.items[mapping] : PT_NONE,
        .flags = pt_read_u32(r) & (PT_LOCATION_USER | PT_LOCATION_KERNEL)};
    pt_line line = {.line = (int64_t)(pt_read_u64(r) & INT32_MAX)};
    pt_function function = {.start_line = (int64_t)(pt_read_u64(r) & INT32_MAX)};
    function.name = function.system_name = pt_builder_text(k->builder, read_text(r)).v;
    function.file = pt_builder_text(k->builder, read_text(r)).v;
    if (!pt_reader_ok(r)) return;
    line.function = pt_builder_function(k->builder, &function).v;
    PT_PUSH(k->location, pt_builder_location(k->builder, &location, &line, 1).v);
}

static void read_stack(kept *k, pt_reader *r)
{
    uint32_t frames[PT_KEEP_DEPTH_MAX];
    const uint32_t end = pt_read_u32(r);
    const size_t depth = pt_reader_left(r) / 4;
    if (!pt_reader_ok(r) || depth == 0 || depth > PT_KEEP_DEPTH_MAX || end >= PT_STACK_END_COUNT) {
        pt_reader_fail(r, PT_ERR_DAMAGED, "a stack of %zu frames", depth);
        return;
    }
    for (size_t i = 0; i < depth; i++) {
        const uint32_t row = pt_read_u32(r);
        if (row >= k->location.count) {
            pt_reader_fail(r, PT_ERR_DAMAGED, "a frame at location %" PRIu32, row);
            return;
        }
        frames[i] = k->location.items[row];
    }
    PT_PUSH(k->stack, pt_builder_stack(k->builder, frames, depth, (pt_stack_end)end).v);
}

static pt_label text_label(kept *k, const char *key, uint32_t text)
{
    return (pt_label){
        .key = pt_builder_text(k->builder, key).v, .kind = PT_LABEL_STRING, .str = text};
}

static void read_row(kept *k, pt_reader *r)
{
    pt_builder *const b = k->builder;
    pt_label labels[6];
    size_t count = 0;
    const bool is_timeline = (k->flags & PT_KEEP_IS_TIMELINE) != 0;
    const uint32_t stack = pt_read_u32(r), pid = pt_read_u32(r), kind = pt_read_u32(r);
    const char *const tier = kind / 2 < PT_V8_TIERS ? pt_v8_tier_names[kind / 2] : NULL;
    const uint32_t comm = read_comm(k, r);
    const uint32_t wait = pt_builder_text(b, read_text(r)).v;
    const uint32_t waker = pt_builder_text(b, read_text(r)).v;
    if (!pt_reader_ok(r) || stack >= k->stack.count) {
        pt_reader_fail(r, PT_ERR_DAMAGED, "a row of stack %" PRIu32, stack);
        return;
    }
    if (!is_timeline) {
        labels[count++] =
            (pt_label){.key = pt_builder_text(b, "pid").v, .kind = PT_LABEL_NUMBER, .num = pid};
        labels[count++] = text_label(k, "comm", comm);
    }
    if (wait != 0) labels[count++] = text_label(k, "wait", wait);
    if (waker != 0) labels[count++] = text_label(k, "waker", waker);
    if (kind % 2 != 0 && !is_timeline)
        labels[count++] = text_label(k, "merge", pt_builder_text(b, "uncertain").v);
    if (tier != NULL) labels[count++] = text_label(k, PT_V8_TIER_KEY, pt_builder_text(b, tier).v);
    const kept_row row = {.stack = k->stack.items[stack],
                          .labels = count > 0 ? pt_builder_labels(b, labels, count).v : 0};
    PT_PUSH(k->row, row);
}

static int64_t read_value(pt_reader *r)
{
    const int64_t value = (int64_t)pt_read_u64(r);
    return value > 0 ? value : 0;
}

static void read_sample(kept *k, pt_reader *r)
{
    int64_t values[PT_KEEP_EVENTS_MAX] = {0};
    const uint32_t row = pt_read_u32(r);
    pt_sample sample = {.values = values, .pid = pt_read_u32(r)};
    sample.tid = pt_read_u32(r);
    sample.cpu = pt_read_u32(r);
    sample.time_ns = (int64_t)pt_read_u64(r);
    sample.comm = read_comm(k, r);
    for (uint32_t i = 0; i < k->event_count; i++)
        values[i] = read_value(r);
    if (!pt_reader_ok(r) || row >= k->row.count || !(k->flags & PT_KEEP_IS_TIMELINE)) {
        pt_reader_fail(r, PT_ERR_DAMAGED, "a sample of row %" PRIu32, row);
        return;
    }
    sample.stack = k->row.items[row].stack;
    sample.labels = k->row.items[row].labels;
    pt_builder_timed_sample(k->builder, &sample);
}

static void read_more(kept *k, pt_reader *r)
{
    const uint32_t row = pt_read_u32(r), event = pt_read_u32(r);
    const int64_t more = (int64_t)pt_read_u64(r);
    if (!pt_reader_ok(r) || event >= k->event_count) return;
    if (!(k->flags & PT_KEEP_IS_TIMELINE) && row < k->row.count)
        PT_PUSH(k->more, (kept_more){row, event, more});
    else if (row < pt_builder_sample_count(k->builder))
        pt_builder_sample_more(k->builder, row, event, more);
}

static void read_facts(kept *k, pt_reader *r)
{
    k->facts.duration_ns = read_value(r);
    k->facts.used_ns = (uint64_t)read_value(r);
    k->facts.seen_ns = (uint64_t)read_value(r);
    k->facts.lost = (uint64_t)read_value(r);
}

static void read_user(kept *k, pt_reader *r)
{
    const uint32_t pid = pt_read_u32(r), user = pt_read_u32(r);
    if (pt_reader_ok(r)) pt_builder_process_user(k->builder, pid, user);
}

static void read_record(kept *k, uint32_t kind, pt_reader *r)
{
    switch (kind) {
    case PT_KEEP_HEAD: read_head(k, r); break;
    case PT_KEEP_MAPPING: read_mapping(k, r); break;
    case PT_KEEP_BUILD_ID: read_build_id(k, r); break;
    case PT_KEEP_LOCATION: read_location(k, r); break;
    case PT_KEEP_CODE: read_code(k, r); break;
    case PT_KEEP_STACK: read_stack(k, r); break;
    case PT_KEEP_ROW: read_row(k, r); break;
    case PT_KEEP_USER: read_user(k, r); break;
    case PT_KEEP_SAMPLE: read_sample(k, r); break;
    case PT_KEEP_MORE: read_more(k, r); break;
    case PT_KEEP_FACTS: read_facts(k, r); break;
    default: break;
    }
}

/* Reads records up to the end or the first incomplete one. */
static pt_status read_journal(kept *k, const pt_blob *blob, pt_error *reterr)
{
    pt_reader all;
    pt_error damage = PT_ERROR_INIT;
    pt_reader_init(&all, blob->data, blob->size, &damage);
    while (pt_reader_left(&all) >= 8) {
        const uint32_t kind = pt_read_u32(&all), bytes = pt_read_u32(&all);
        if (bytes > pt_reader_left(&all)) break;
        pt_reader record;
        pt_reader_init(&record, all.pos, bytes, &damage);
        if (!k->has_head && kind != PT_KEEP_HEAD) break;
        read_record(k, kind, &record);
        if (!pt_reader_ok(&record)) break;
        pt_skip(&all, bytes);
    }
    if (k->has_head) return PT_OK;
    return pt_error_set(reterr, PT_ERR_FORMAT, "not the journal of a recording");
}

static void add_values(kept *k, uint32_t row, const int64_t *values)
{
    const kept_row *const to = &k->row.items[row];
    pt_builder_add(k->builder, (pt_stack_id){to->stack}, (pt_labels_id){to->labels}, values);
}

/* Reads the values. Rows beyond the end of the file keep zeros: their values were not written yet.
 */
static void read_values(kept *k, const char *folder)
{
    pt_blob blob = PT_BLOB_INIT;
    pt_error error = PT_ERROR_INIT;
    PT_FREE char *path = pt_strf("%s/" PT_KEEP_VALUES, folder);
    if (pt_file_read(path, PT_FILE_EMPTY_OK, UINT64_C(1) << KEPT_MAX_BYTES_SHIFT, &blob, &error) !=
        PT_OK)
        return;
    pt_reader r;
    pt_reader_init(&r, blob.data, blob.size, &error);
    for (uint32_t i = 0; i < k->row.count; i++) {
        int64_t values[PT_KEEP_EVENTS_MAX];
        if (pt_reader_left(&r) < k->event_count * sizeof(int64_t)) break;
        bool is_any = false;
        for (uint32_t event = 0; event < k->event_count; event++) {
            values[event] = read_value(&r);
            is_any |= values[event] != 0;
        }
        if (is_any) add_values(k, i, values);
    }
    for (size_t i = 0; i < k->more.count; i++) {
        int64_t values[PT_KEEP_EVENTS_MAX] = {0};
        values[k->more.items[i].event] = k->more.items[i].more;
        add_values(k, k->more.items[i].row, values);
    }
    pt_blob_done(&blob);
}

static void store_provenance(const kept *k)
{
    pt_builder *const b = k->builder;
    const bool is_clock = (k->flags & PT_KEEP_IS_CLOCK) != 0;
    pt_provenance *const p = pt_builder_provenance(b);
    p->tool = pt_builder_text(b, "pitot record").v;
    p->source_format = pt_builder_text(b, "perf_event").v;
    p->period_type = pt_builder_event_at(b, 1)->type;
    p->period_unit = pt_builder_event_at(b, 1)->unit;
    p->has_period_type = true;
    p->period = (int64_t)k->period;
    p->start_ns = k->start_ns;
    p->duration_ns = k->facts.duration_ns;
    p->asked_hz = is_clock ? (double)k->hz : 0;
    p->true_hz = is_clock && k->period > 0 ? 1e9 / (double)k->period : 0;
    p->cpu_used_ns = (int64_t)k->facts.used_ns;
    p->cpu_seen_ns = (int64_t)k->facts.seen_ns;
    p->lost = k->facts.lost;
    p->word_bytes = sizeof(void *);
    if (k->flags & PT_KEEP_HAS_WAITS) p->default_event = p->period_type;
    pt_builder_drop_empty_event(k->builder, PT_WAITS_GIL);
    PT_FREE char *typed = pt_strf("recorded with: %s", k->typed);
    pt_builder_comment(b, pt_builder_text(b, typed));
    pt_builder_comment(
        b, pt_builder_text(b, "engine: perf events; read before the recording had ended"));
}

bool pt_keep_is(const char *path)
{
    char head[8 + PT_KEEP_MAGIC_BYTES];
    PT_CLOSE int fd = pt_open_regular_nofollow(path, NULL);
    return fd >= 0 && read(fd, head, sizeof head) == (ssize_t)sizeof head &&
           memcmp(head + 8, PT_KEEP_MAGIC, PT_KEEP_MAGIC_BYTES) == 0;
}

/* Reads a folder's files into a builder, which the caller frees. */
static pt_status read_folder(kept *k, const char *folder, pt_error *reterr)
{
    pt_blob blob = PT_BLOB_INIT;
    PT_FREE char *path = pt_strf("%s/" PT_KEEP_JOURNAL, folder);
    pt_status status = pt_file_read(path, 0, UINT64_C(1) << KEPT_MAX_BYTES_SHIFT, &blob, reterr);
    if (status != PT_OK) return status;
    k->builder = pt_builder_new();
    status = read_journal(k, &blob, reterr);
    if (status == PT_OK && (k->flags & PT_KEEP_IS_TIMELINE) != 0)
        pt_builder_drop_empty_samples(k->builder);
    else if (status == PT_OK)
        read_values(k, folder);
    pt_blob_done(&blob);
    return status;
}

static void free_kept(kept *k)
{
    pt_builder_free(k->builder);
    free(k->typed);
    free(k->mapping.items);
    free(k->location.items);
    free(k->stack.items);
    free(k->row.items);
    free(k->more.items);
}

pt_status pt_keep_read(const char *path, const pt_profile **ret_profile, pt_error *reterr)
{
    kept k = {.builder = NULL};
    PT_FREE char *folder = pt_strndup(path, (size_t)(pt_base_name(path) - path));
    pt_status status = read_folder(&k, folder, reterr);
    if (status == PT_OK) {
        store_provenance(&k);
        status = pt_builder_freeze(k.builder, ret_profile, reterr);
        k.builder = NULL;
    }
    free_kept(&k);
    return status;
}

pt_status pt_keep_restore(const char *folder, pt_builder **ret_builder, pt_error *reterr)
{
    kept k = {.builder = NULL};
    const pt_status status = read_folder(&k, folder, reterr);
    if (status == PT_OK) {
        *ret_builder = k.builder;
        k.builder = NULL;
    }
    free_kept(&k);
    return status;
}
