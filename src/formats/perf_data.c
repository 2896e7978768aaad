/* perf_data.c: reads perf.data, the files and pipes of `perf record`, in versions 1 and 2 and both
 * byte orders. perf_data.h draws the parts.
 *
 * The layout follows tools/perf/Documentation/perf.data-file-format.txt, which is outdated, and
 * tools/perf/util/session.c. In files of perf 3.2 to 6.12 the table of features is after the data;
 * records of types 66 and 71 have a payload after the bytes that their size counts.
 *
 * In a truncated recording, the header states no size of the data, or the last record is
 * incomplete. All complete records are read. */
#include "formats/perf_data.h"
#include "base/units.h"

#include <inttypes.h>
#include <stdlib.h>

#define INFLATED_DEFAULT (UINT64_C(8) << 30)

enum {
    CHUNK_BYTES = 1 << 20,
    RECORD_MAX_BYTES = 1 << 16,
    AHEAD_BYTES = 1 << 12,
    CACHE_LINE_BYTES = 64,
};

/* ---- records, in the order of time ---- */

static void on_lost(pt_perf_data *d, uint32_t type, const uint8_t *body, size_t size)
{
    /* LOST: id, lost. LOST_SAMPLES: lost. */
    const size_t at = type == PT_PERF_LOST ? 8 : 0;
    if (size >= at + 8) d->lost += pt_perf_u64(body + at, d->swap);
}

static void process_record(pt_perf_data *d, const uint8_t *record)
{
    const uint32_t type = pt_perf_u32(record, d->swap);
    const uint16_t misc = pt_perf_u16(record + 4, d->swap);
    const uint8_t *const body = record + PT_PERF_RECORD_HEADER_BYTES;
    const size_t size = pt_perf_u16(record + 6, d->swap) - (size_t)PT_PERF_RECORD_HEADER_BYTES;
    switch (type) {
    case PT_PERF_SAMPLE: pt_perf_on_sample(d, misc, body, size); break;
    case PT_PERF_MMAP:
    case PT_PERF_MMAP2: pt_perf_on_mmap(d, type, misc, body, size); break;
    case PT_PERF_COMM: pt_perf_on_comm(d, misc, body, size); break;
    case PT_PERF_FORK: pt_perf_on_fork(d, misc, body, size); break;
    case PT_PERF_KSYMBOL: pt_perf_on_ksymbol(d, body, size); break;
    case PT_PERF_CGROUP_NAME: pt_perf_on_cgroup(d, body, size); break;
    case PT_PERF_LOST:
    case PT_PERF_LOST_SAMPLES: on_lost(d, type, body, size); break;
    case PT_PERF_CALLCHAIN_DEFERRED: pt_perf_on_deferred(d, body, size); break;
    case PT_PERF_THROTTLE: d->throttled++; break;
    default:
        break; /* KSYMBOL has the address and the name of BPF programs; the other types do not
                  concern samples */
    }
}

static void process_queued(pt_perf_data *d, uint64_t limit)
{
    const size_t ready = pt_perf_queue_ready(&d->queue, limit);
    for (size_t i = 0; i < ready; i++) {
        const pt_perf_queued *const q = &d->queue.items[i];
        process_record(d, q->record);
        if (q->chunk == PT_NONE) continue;
        pt_perf_chunk *const chunk = &d->chunk.items[q->chunk];
        if (--chunk->queued > 0 || q->chunk + 1 == d->chunk.count) continue;
        free(chunk->bytes);
        chunk->bytes = NULL;
    }
    if (ready > 0) pt_perf_queue_drop(&d->queue, ready);
}

static void on_finished_round(pt_perf_data *d)
{
    if (d->is_in_files) return; /* other files of the recording may still have older records */
    process_queued(d, d->queue.limit);
    d->queue.limit = d->queue.newest;
}

/* Handles a record of the kernel. A record with a time is queued; a record without a time is
 * processed at once. */
static void take_kernel_record(pt_perf_data *d, uint32_t type, const uint8_t *record, size_t size,
                               uint32_t chunk)
{
    const uint64_t time = pt_perf_time_of(d, type, record + PT_PERF_RECORD_HEADER_BYTES,
                                          size - PT_PERF_RECORD_HEADER_BYTES);
    if (time == 0 || time == UINT64_MAX) {
        process_record(d, record);
        return;
    }
    pt_perf_queue_add(&d->queue, time, record, chunk);
    if (chunk != PT_NONE) d->chunk.items[chunk].queued++;
}

/* ---- records, in file order ---- */

/* Reports damage at an offset in the file, or in the inflated stream. */
static pt_status set_damage(pt_perf_data *d, uint64_t offset, const char *text)
{
    return pt_error_set(d->reterr, PT_ERR_DAMAGED, "%s at byte %" PRIu64 "; kept %s", text, offset,
                        pt_count_noun(pt_builder_sample_count(d->builder), "samples").text);
}

static void take_perf_record(pt_perf_data *d, uint32_t type, uint16_t misc, const uint8_t *body,
                             size_t size)
{
    switch (type) {
    case PT_PERF_ATTR: pt_perf_on_attr(d, body, size); break;
    case PT_PERF_EVENT_UPDATE: pt_perf_on_event_update(d, body, size); break;
    case PT_PERF_BUILD_ID: pt_perf_on_build_id(d, misc, body, size); break;
    case PT_PERF_FINISHED_ROUND: on_finished_round(d); break;
    case PT_PERF_FEATURE:
        if (size >= 8) pt_perf_on_feature(d, pt_perf_u64(body, d->swap), body + 8, size - 8);
        break;
    default: break; /* threads, cpus and clocks, for perf's own use */
    }
}

/* The number of bytes that follow a record and belong to it, although the size in its header does
 * not include them. */
static uint64_t payload_bytes(const pt_perf_data *d, uint32_t type, const uint8_t *body,
                              size_t size)
{
    if (type == PT_PERF_TRACING_DATA && size >= 4) {
        const uint64_t bytes = pt_perf_u32(body, d->swap);
        return (bytes + 7) / 8 * 8;
    }
    return type == PT_PERF_AUXTRACE && size >= 8 ? pt_perf_u64(body, d->swap) : 0;
}

static bool is_text(const uint8_t *at, const uint8_t *end)
{
    for (; at < end; at++)
        if ((*at < 0x20 && *at != '\n' && *at != '\r' && *at != '\t') || *at >= 0x7f) return false;
    return true;
}

static bool is_simpleperf_record(uint32_t type)
{
    return type >= PT_PERF_SIMPLEPERF_FIRST && type <= PT_PERF_SIMPLEPERF_LAST;
}

/* Size of the record, whose header is complete. simpleperf's own records, such as the kernel's
 * symbols, may be larger than 64 KiB: the field misc has the upper half of their size. */
static size_t record_bytes(const pt_perf_data *d, const uint8_t *at)
{
    const size_t bytes = pt_perf_u16(at + 6, d->swap);
    const bool is_large = is_simpleperf_record(pt_perf_u32(at, d->swap));
    return is_large ? (size_t)pt_perf_u16(at + 4, d->swap) << 16 | bytes : bytes;
}

/* Is there a complete record at `at`? */
static bool is_record(const pt_perf_data *d, const uint8_t *at, const uint8_t *end)
{
    if (end - at < PT_PERF_RECORD_HEADER_BYTES) return false;
    const uint32_t type = pt_perf_u32(at, d->swap);
    const size_t size = record_bytes(d, at);
    return size >= PT_PERF_RECORD_HEADER_BYTES && size <= (size_t)(end - at) && type > 0 &&
           (type <= PT_PERF_LAST || is_simpleperf_record(type));
}

static bool is_compressed(uint32_t type)
{
    return type == PT_PERF_COMPRESSED || type == PT_PERF_COMPRESSED2;
}

/* Handles a complete, uncompressed record. chunk: the chunk that holds the record; PT_NONE if the
 * file itself holds it. */
static void take_record(pt_perf_data *d, const uint8_t *at, uint32_t chunk)
{
    const uint32_t type = pt_perf_u32(at, d->swap);
    const size_t size = record_bytes(d, at);
    if (type <= PT_PERF_KERNEL_LAST)
        take_kernel_record(d, type, at, size, chunk);
    else if (!is_simpleperf_record(type)) /* simpleperf's own records concern only itself */
        take_perf_record(d, type, pt_perf_u16(at + 4, d->swap), at + PT_PERF_RECORD_HEADER_BYTES,
                         size - PT_PERF_RECORD_HEADER_BYTES);
}

/* ---- compressed records ---- */

static pt_perf_chunk *new_chunk(pt_perf_data *d)
{
    PT_GROW(d->chunk, d->chunk.count + 1);
    pt_perf_chunk *const chunk = &d->chunk.items[d->chunk.count++];
    *chunk = (pt_perf_chunk){.bytes = malloc(CHUNK_BYTES)};
    PT_BUG_IF(chunk->bytes == NULL);
    return chunk;
}

/* The chunk for the next inflated bytes. If the last chunk lacks room, a new chunk is added, and
 * the incomplete record at the end of the old chunk is copied into it. */
static pt_perf_chunk *chunk_with_room(pt_perf_data *d)
{
    if (d->chunk.count == 0) return new_chunk(d);
    const uint32_t old_row = (uint32_t)d->chunk.count - 1;
    pt_perf_chunk *const last = &d->chunk.items[old_row];
    if (CHUNK_BYTES - last->size >= RECORD_MAX_BYTES) return last;
    const size_t rest = last->size - last->parsed;
    pt_perf_chunk *const next = new_chunk(d);
    pt_perf_chunk *const old = &d->chunk.items[old_row];
    memcpy(next->bytes, old->bytes + old->parsed, rest);
    next->size = rest;
    if (old->queued == 0) {
        free(old->bytes);
        old->bytes = NULL;
    }
    return next;
}

/* Handles the complete inflated records; an incomplete last record waits for more bytes. */
static pt_status take_inflated(pt_perf_data *d, uint64_t offset)
{
    const uint32_t row = (uint32_t)d->chunk.count - 1;
    const pt_perf_chunk chunk = d->chunk.items[row];
    const uint8_t *at = chunk.bytes + chunk.parsed, *const end = chunk.bytes + chunk.size;
    while (is_record(d, at, end) && !is_compressed(pt_perf_u32(at, d->swap))) {
        take_record(d, at, row);
        at += record_bytes(d, at);
    }
    d->chunk.items[row].parsed = (size_t)(at - chunk.bytes);
    if (end - at >= RECORD_MAX_BYTES)
        return set_damage(d, offset, "the inflated data is not a record");
    return PT_OK;
}

static bool is_record_cut_in_stream(const pt_perf_data *d)
{
    if (d->chunk.count == 0) return false;
    const pt_perf_chunk *const last = &d->chunk.items[d->chunk.count - 1];
    return last->parsed < last->size;
}

/* Does another zstd stream begin here? Each of several files has its own stream, which begins with
 * the magic of a frame (RFC 8878). */
static bool begins_stream(const pt_perf_data *d, const uint8_t *data, size_t bytes)
{
    static const uint8_t magic[] = {0x28, 0xb5, 0x2f, 0xfd};
    return d->is_in_files && bytes >= sizeof magic && memcmp(data, magic, sizeof magic) == 0;
}

/* Inflates a compressed record. All compressed records form a single zstd stream, whose content is
 * records; a record may begin in one compressed record and end in the next. */
static pt_status take_compressed(pt_perf_data *d, const uint8_t *at, size_t size)
{
    const uint64_t offset = (uint64_t)(at - d->start);
    const uint8_t *data = at + PT_PERF_RECORD_HEADER_BYTES;
    size_t bytes = size - PT_PERF_RECORD_HEADER_BYTES, pos = 0, made = 0;
    if (pt_perf_u32(at, d->swap) == PT_PERF_COMPRESSED2) { /* u64 size, data, padding */
        if (bytes < 8 || pt_perf_u64(data, d->swap) > bytes - 8)
            return set_damage(d, offset, "a compressed record exceeds its size");
        bytes = (size_t)pt_perf_u64(data, d->swap);
        data += 8;
    }
    if (d->zstd != NULL && begins_stream(d, data, bytes)) {
        if (is_record_cut_in_stream(d))
            return set_damage(d, offset,
                              "the last compressed record of the previous file is truncated");
        pt_unzstd_free(d->zstd);
        d->zstd = NULL;
    }
    if (d->zstd == NULL) d->zstd = pt_unzstd_new();
    bool is_full;
    do {
        pt_perf_chunk *const chunk = chunk_with_room(d);
        const size_t room = CHUNK_BYTES - chunk->size;
        pt_error error = PT_ERROR_INIT;
        if (pt_unzstd_next(d->zstd, data, bytes, &pos, chunk->bytes + chunk->size, room, &made,
                           &error) != PT_OK)
            return set_damage(d, offset, error.message);
        is_full = made == room;
        chunk->size += made;
        d->inflated_bytes += made;
        const uint64_t most =
            d->hooks->inflated_bytes != 0 ? d->hooks->inflated_bytes : INFLATED_DEFAULT;
        if (d->inflated_bytes > most)
            return pt_error_set(d->reterr, PT_ERR_LIMIT,
                                "its compressed records inflate to more than %" PRIu64
                                " bytes; --max-memory allows more",
                                most);
        const pt_status status = take_inflated(d, offset);
        if (status != PT_OK) return status;
    } while (pos < bytes || is_full);
    return PT_OK;
}

/* ---- the whole file ---- */

/* Prefetches as many bytes as this record has, AHEAD_BYTES further on. The whole file is needed
 * soon, and the processor cannot predict the position of the next record. */
static void fetch_ahead(const uint8_t *at, size_t size, const uint8_t *end)
{
    if ((size_t)(end - at) < AHEAD_BYTES + size) return;
    for (size_t i = 0; i < size; i += CACHE_LINE_BYTES)
        __builtin_prefetch(at + AHEAD_BYTES + i);
}

/* Handles all records. *ret_at is the position after the last record. */
static pt_status take_records(pt_perf_data *d, const uint8_t *at, const uint8_t *end,
                              const uint8_t **ret_at)
{
    pt_status status = PT_OK;
    for (uint64_t count = 1; status == PT_OK && is_record(d, at, end); count++) {
        const uint32_t type = pt_perf_u32(at, d->swap);
        const size_t size = record_bytes(d, at);
        const uint64_t payload = payload_bytes(d, type, at + PT_PERF_RECORD_HEADER_BYTES,
                                               size - PT_PERF_RECORD_HEADER_BYTES);
        if (payload > (uint64_t)(end - at) - size) break;
        fetch_ahead(at, size, end);
        if (is_compressed(type))
            status = take_compressed(d, at, size);
        else
            take_record(d, at, PT_NONE);
        if (type == PT_PERF_AUXTRACE) d->aux_bytes += payload;
        at += size + payload;
        if (count % 1024 == 0 && d->hooks->reach != NULL)
            d->hooks->reach(d->hooks->context, (uint64_t)(at - d->start));
    }
    *ret_at = at;
    return status;
}

/* Handles the files of perf's other threads, which contain only records and follow the first file's
 * content. */
static pt_status take_other_files(pt_perf_data *d)
{
    const uint8_t *at = d->more;
    if (!d->is_in_files || at == NULL) return PT_OK;
    if (at == d->end) {
        pt_diag_add(
            d->diag, 1,
            "file of a recording by several threads: most samples are in the other files of "
            "its folder; name the folder");
        return PT_OK;
    }
    pt_status status = take_records(d, at, d->end, &at);
    if (status == PT_OK && at < d->end)
        status = set_damage(d, (uint64_t)(at - d->start), "invalid record");
    return status;
}

/* Reports the reason if the records end before the data does. */
static pt_status check_end(pt_perf_data *d, const uint8_t *at, const uint8_t *end, bool is_cut)
{
    const uint64_t offset = (uint64_t)(at - d->start);
    if (at < end && is_text(at, end)) {
        /* The pipe also received perf's own messages. */
        pt_diag_add(d->diag, (uint64_t)(end - at), "bytes of text behind the last record ignored");
        at = end;
    }
    if (is_record_cut_in_stream(d))
        return set_damage(d, offset, "the last compressed record is truncated");
    if (at < end) {
        const bool has_size = end - at >= 8;
        const size_t size = has_size ? pt_perf_u16(at + 6, d->swap) : 0;
        const bool is_short = !has_size || (size >= 8 && pt_perf_u32(at, d->swap) <= PT_PERF_LAST);
        return set_damage(d, offset, is_short ? "it ends inside the record" : "invalid record");
    }
    if (is_cut) return set_damage(d, offset, "perf did not complete the file, which ends");
    return d->is_feature_cut
               ? set_damage(d, (uint64_t)(d->end - d->start),
                            "the part behind the samples (programs, events) is truncated")
               : PT_OK;
}

static void report_facts(pt_perf_data *d)
{
    const struct {
        uint64_t count;
        const char *text;
    } facts[] = {
        {d->throttled,
         "times the kernel throttled the sampling: code that ran then is under-represented"},
        {d->not_unwound,
         "copies of user stacks not unwound: no image with unwind tables was found for "
         "their innermost code, or pitot does not unwind stacks of that machine"},
        {d->aux_bytes, "bytes of hardware trace (AUX area) not decoded: only samples are read"},
        {d->more_events, "events beyond the 255th: their samples count as samples only"},
        {d->no_event, "samples with an unknown event id left out"},
        {d->odd, "records shorter than their type requires; their content was kept"},
        {d->procs.left_out, "mappings left out: more than a process can have"},
    };
    for (size_t i = 0; i < PT_COUNT(facts); i++)
        if (facts[i].count > 0) pt_diag_add(d->diag, facts[i].count, "%s", facts[i].text);
}

static void reading_done(pt_perf_data *d)
{
    for (size_t i = 0; i < d->attr.count; i++)
        free(d->attr.items[i].name);
    for (size_t i = 0; i < d->chunk.count; i++)
        free(d->chunk.items[i].bytes);
    PT_FREE_ALL(d->attr.items, d->id.items, d->chunk.items, d->build_id.items, d->cgroup.items,
                d->values, d->pcs);
    pt_index_done(&d->id_index);
    pt_index_done(&d->build_id_index);
    pt_index_done(&d->cgroup_index);
    pt_perf_symbols_done(&d->symbols);
    pt_unzstd_free(d->zstd);
    pt_perf_queue_done(&d->queue);
    pt_perf_deferred_done(&d->deferred);
    pt_perf_stacks_done(&d->stacks);
    pt_perf_procs_done(&d->procs);
    pt_perf_pool_done(&d->pool);
}

static pt_status perf_data_read(pt_reader *reader, pt_builder *builder, const pt_read_hooks *hooks,
                                pt_error *reterr)
{
    pt_perf_data d = {.builder = builder,
                      .hooks = hooks,
                      .diag = hooks->diag,
                      .reterr = reterr,
                      .start = reader->pos,
                      .end = reader->end,
                      .last_id_row = PT_NONE};
    const uint8_t *at, *end;
    bool is_cut;
    pt_perf_procs_init(&d.procs);
    pt_perf_stacks_init(&d.stacks, (uint64_t)(d.end - d.start));
    pt_status status = pt_perf_header_read(&d, &at, &end, &is_cut);
    if (status == PT_OK) {
        status = take_records(&d, at, end, &at);
        if (status == PT_OK) status = take_other_files(&d);
        process_queued(&d, UINT64_MAX);
        pt_perf_deferred_finish(&d);
        if (status == PT_OK) status = check_end(&d, at, end, is_cut);
        if (d.attr.count == 0)
            status = pt_error_set(reterr, PT_ERR_FORMAT,
                                  "it describes no event, so its samples "
                                  "cannot be read");
        pt_perf_events_finish(&d);
        pt_perf_stacks_finish(&d);
        pt_provenance *const p = pt_builder_provenance(d.builder);
        if (p->tool == 0) p->tool = pt_builder_text(d.builder, "perf").v;
        p->lost = d.lost;
        p->throttled = d.throttled;
        p->duration_ns = d.last_ns - d.first_ns;
        if (d.unix_offset_ns != 0 && d.first_ns != 0) p->start_ns = d.first_ns + d.unix_offset_ns;
        report_facts(&d);
    }
    if (status == PT_ERR_DAMAGED && d.attr.count == 0) { /* nothing could be kept */
        status = PT_ERR_FORMAT;
        if (reterr) reterr->status = status;
    }
    reading_done(&d);
    return status;
}

static int probe_perf_data(const pt_probe_input *input)
{
    static const char *const magics[] = {PT_PERF_DATA_MAGIC1, PT_PERF_DATA_MAGIC2,
                                         PT_PERF_DATA_MAGIC2_SWAPPED};
    for (size_t i = 0; i < PT_COUNT(magics); i++)
        if (input->head_bytes >= 8 && memcmp(input->head, magics[i], 8) == 0) return 100;
    return 0;
}

const pt_format pt_format_perf_data = {
    .name = "perf.data",
    .aliases = "perf perfdata",
    .extensions = ".perf .data",
    .summary = "Linux perf record: files and pipes, any byte order, zstd",
    .kind = PT_PROBE_MAGIC,
    .capabilities =
        PT_CAN_STACKS | PT_CAN_EVENTS | PT_CAN_ADDRESSES | PT_CAN_MAPPINGS | PT_CAN_TIME,
    .held_events = "*/count",
    .probe = probe_perf_data,
    .read = perf_data_read,
    .write = pt_perf_data_write,
    .shown_event = pt_perf_data_shown_event,
};
