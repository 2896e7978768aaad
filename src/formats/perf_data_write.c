/* perf_data_write.c: writes a perf.data with the records that perf script and perf report need: an
 * attr for each event, a COMM for each thread, an MMAP2 for each mapping of a process, a SAMPLE for
 * each sample.
 *
 *   | header | attr, {ids} ... | ids | COMM, MMAP2, SAMPLE ... | features: strings |
 *
 * All attrs have the same layout: IDENTIFIER, IP, TID, TIME, CPU, PERIOD, CALLCHAIN. A sample with
 * values of several events becomes records for each of these events. An event that counts samples
 * is left out if there are other events, since readers count records. Instead, a value that N
 * samples gave becomes N records that add up to the value. Attrs have 112 bytes, which perf 4.9 and
 * later support.
 *
 * Samples without a process belong to process 1. Stacks must have addresses. */
#include "formats/perf_data.h"

#include <endian.h>
#include <stdlib.h>

#include "base/grow.h"
#include "base/hash.h"
#include "base/saturate.h"
#include "process/path_kind.h"

enum {
    ATTR_BYTES = 112,
    ENTRY_BYTES = ATTR_BYTES + 16,
    PERIOD_AT = 48,   /* in the record of a sample */
    CHAIN_MAX = 8000, /* limit of frames, for a record of 64 KiB */
    NOBODY = 1,
    FIRST_ID = 1001,
};

/* A row that counts many samples becomes many records: one, and copies of it. The copies in a file
 * may take COPIES_BYTES_LEAST, plus COPIES_FACTOR times the bytes of a file without copies. This
 * limit keeps a small profile that claims many samples from becoming a huge file. */
#define COPIES_BYTES_LEAST ((uint64_t)12 << 20)
enum { COPIES_FACTOR = 256 };

#define SAMPLE_TYPE                                                                                \
    (PT_PERF_IDENTIFIER | PT_PERF_IP | PT_PERF_TID | PT_PERF_TIME | PT_PERF_CPU | PT_PERF_PERIOD | \
     PT_PERF_CALLCHAIN)

/* Records that follow a sample's record in the file and differ from it only in the value. */
typedef struct {
    size_t at, size; /* the record is out[at - size, at) */
    uint64_t count;  /* number of copies */
    uint64_t larger; /* number of copies that have value + 1 */
    uint64_t value;
} copy_run;

typedef struct {
    const pt_profile *p;
    pt_buf out; /* the file without the copies */
    PT_VECTOR(copy_run) copied;
    uint64_t copied_bytes;
    pt_diag *diag;
    uint32_t *events; /* the profile's event of each attr */
    uint32_t event_count;
    uint32_t counter; /* the event left out; PT_NONE = none */
    size_t record_at;
    uint64_t cut;
} perf_writer;

/* ---- records ---- */

static void put_number(perf_writer *w, uint64_t value, unsigned bytes)
{
    pt_put_le(&w->out, value, bytes);
}

static void set_number(perf_writer *w, size_t at, uint64_t value, unsigned bytes)
{
    for (unsigned i = 0; i < bytes; i++)
        w->out.data[at + i] = (uint8_t)(value >> 8 * i);
}

static void put_padded(perf_writer *w, const char *text, size_t size, size_t from)
{
    pt_put(&w->out, text, size);
    do
        pt_put_u8(&w->out, 0);
    while ((w->out.size - from) % 8 != 0);
}

static void begin_record(perf_writer *w, uint32_t type, uint16_t misc)
{
    w->record_at = w->out.size;
    put_number(w, type, 4);
    put_number(w, misc, 2);
    put_number(w, 0, 2);
}

static void end_record(perf_writer *w)
{
    set_number(w, w->record_at + 6, w->out.size - w->record_at, 2);
}

/* Writes the sample_id of a record that is not a sample: tid, time, cpu, id. The record gets time
 * 0, which comes before all other records. */
static void end_other(perf_writer *w, uint32_t pid, uint32_t tid)
{
    put_number(w, pid, 4);
    put_number(w, tid, 4);
    put_number(w, 0, 8);
    put_number(w, 0, 8);
    put_number(w, FIRST_ID, 8);
    end_record(w);
}

/* ---- processes ---- */

static uint32_t pid_of(const pt_samples *s, uint32_t i)
{
    if (s->pid != NULL && s->pid[i] != PT_NONE) return s->pid[i];
    return s->tid != NULL && s->tid[i] != PT_NONE ? s->tid[i] : NOBODY;
}

static uint32_t tid_of(const pt_samples *s, uint32_t i)
{
    return s->tid != NULL && s->tid[i] != PT_NONE ? s->tid[i] : pid_of(s, i);
}

static void put_comm(perf_writer *w, uint32_t pid, uint32_t tid, uint32_t comm)
{
    begin_record(w, PT_PERF_COMM, 0);
    put_number(w, pid, 4);
    put_number(w, tid, 4);
    put_padded(w, pt_text(w->p, comm), pt_text_bytes(w->p, comm), w->record_at);
    end_other(w, pid, tid);
}

/* Decodes a build id from hex digits; other kinds of ids have no field. */
static size_t id_bytes(const char *hex, uint8_t *to)
{
    size_t count = 0;
    for (; count < 20 && hex[0] != '\0' && hex[1] != '\0'; hex += 2, count++) {
        unsigned byte = 0;
        for (int i = 0; i < 2; i++) {
            const char c = hex[i];
            const int digit = c >= '0' && c <= '9'   ? c - '0'
                              : c >= 'a' && c <= 'f' ? c - 'a' + 10
                                                     : -1;
            if (digit < 0) return 0;
            byte = byte << 4 | (unsigned)digit;
        }
        to[count] = (uint8_t)byte;
    }
    return *hex == '\0' ? count : 0;
}

static void put_mapping(perf_writer *w, uint32_t pid, const pt_mapping *m)
{
    enum { EXECUTABLE = 5, PRIVATE = 2, PATH_MAX_BYTES = 4000 };
    uint8_t id[20] = {0};
    const bool is_kernel = (m->flags & PT_MAPPING_KERNEL) != 0;
    const size_t bytes = id_bytes(pt_text(w->p, m->build_id), id);
    const char *path = pt_text(w->p, m->file);
    if (pt_mapped_kind_of_text(path) == PT_MAPPED_ANONYMOUS) path = "//anon";
    size_t path_bytes = strlen(path);
    if (path_bytes > PATH_MAX_BYTES) path_bytes = PATH_MAX_BYTES;
    begin_record(w, PT_PERF_MMAP2,
                 (uint16_t)((is_kernel ? PT_PERF_KERNEL : PT_PERF_USER) |
                            (bytes > 0 ? PT_PERF_MISC_BUILD_ID : 0)));
    put_number(w, is_kernel ? UINT32_MAX : pid, 4);
    put_number(w, is_kernel ? 0 : pid, 4);
    put_number(w, m->start, 8);
    put_number(w, m->limit - m->start, 8);
    put_number(w, is_kernel ? m->start : m->file_offset, 8);
    put_number(w, bytes, 1);
    put_number(w, 0, 3);
    pt_put(&w->out, id, sizeof id);
    put_number(w, EXECUTABLE, 4);
    put_number(w, PRIVATE, 4);
    put_padded(w, path, path_bytes, w->record_at);
    end_other(w, pid, pid);
}

/* Adds a pair to the set. Returns true if it was new. */
static bool note_pair(pt_index *index, uint64_t **pairs, size_t *count, size_t *cap, uint64_t pair)
{
    const uint64_t hash = pt_hash_mix(pair, 0);
    if (PT_INDEX_FIND(index, hash, i, (*pairs)[i] == pair) != PT_NONE) return false;
    pt_index_add(index, hash, (uint32_t)*count);
    *pairs = pt_grow(*pairs, cap, *count + 1, sizeof **pairs);
    (*pairs)[(*count)++] = pair;
    return true;
}

PT_ORDER(by_number, uint64_t, PT_COMPARE(*a, *b));

/* Writes the mappings that each process's samples refer to, and the kernel's once. */
static void put_mappings(perf_writer *w)
{
    const pt_profile *const p = w->p;
    PT_AUTO(pt_index) stack_index = {0}, mapping_index = {0};
    PT_FREE uint64_t *stacks = NULL, *mappings = NULL;
    size_t stack_count = 0, stack_cap = 0, mapping_count = 0, mapping_cap = 0;
    for (uint32_t i = 0; i < p->sample->t.count; i++) {
        const uint64_t pid = pid_of(p->sample, i);
        const uint32_t stack = p->sample->stack[i];
        if (!note_pair(&stack_index, &stacks, &stack_count, &stack_cap, pid << 32 | stack))
            continue;
        for (uint32_t f = 0; f < pt_stack_depth(p, stack); f++) {
            const uint32_t m = p->location->mapping[pt_stack_frames(p, stack)[f]];
            if (m == PT_NONE || p->mapping->row[m].limit <= p->mapping->row[m].start) continue;
            const bool is_kernel = (p->mapping->row[m].flags & PT_MAPPING_KERNEL) != 0;
            note_pair(&mapping_index, &mappings, &mapping_count, &mapping_cap,
                      (is_kernel ? 0 : pid) << 32 | m);
        }
    }
    for (size_t i = 0; i < mapping_count; i++)
        put_mapping(w, (uint32_t)(mappings[i] >> 32), &p->mapping->row[(uint32_t)mappings[i]]);
}

static void put_processes(perf_writer *w)
{
    const pt_profile *const p = w->p;
    const uint32_t count = p->sample->t.count;
    PT_FREE uint64_t *threads = pt_alloc((size_t)count + 1, sizeof *threads);
    PT_FREE uint32_t *comms = pt_alloc((size_t)count + 1, sizeof *comms);
    for (uint32_t i = 0; i < count; i++)
        threads[i] = (uint64_t)pid_of(p->sample, i) << 32 | tid_of(p->sample, i);
    qsort(threads, count, sizeof *threads, by_number);
    uint32_t distinct = 0;
    for (uint32_t i = 0; i < count; i++)
        if (i == 0 || threads[i] != threads[i - 1]) threads[distinct++] = threads[i];
    for (uint32_t i = 0; i < count && p->sample->comm != NULL; i++) {
        const uint64_t thread = (uint64_t)pid_of(p->sample, i) << 32 | tid_of(p->sample, i);
        const uint64_t *const at = bsearch(&thread, threads, distinct, sizeof thread, by_number);
        if (at != NULL && comms[at - threads] == 0) comms[at - threads] = p->sample->comm[i];
    }
    for (uint32_t i = 0; i < distinct; i++) {
        const uint32_t pid = (uint32_t)(threads[i] >> 32);
        if (comms[i] != 0) put_comm(w, pid, (uint32_t)threads[i], comms[i]);
    }
    put_mappings(w);
}

/* ---- samples ---- */

static uint64_t mark_of(uint32_t flags)
{
    if (flags & PT_LOCATION_KERNEL) return PT_PERF_CONTEXT_KERNEL;
    if (flags & PT_LOCATION_HYPERVISOR) return PT_PERF_CONTEXT_HV;
    if (flags & PT_LOCATION_GUEST) return PT_PERF_CONTEXT_GUEST;
    return PT_PERF_CONTEXT_USER;
}

static uint16_t cpumode_of(uint32_t flags)
{
    if (flags & PT_LOCATION_KERNEL) return PT_PERF_KERNEL;
    if (flags & PT_LOCATION_HYPERVISOR) return PT_PERF_HYPERVISOR;
    if (flags & PT_LOCATION_GUEST) return PT_PERF_GUEST_KERNEL;
    return PT_PERF_USER;
}

static void put_chain(perf_writer *w, uint32_t stack)
{
    const pt_profile *const p = w->p;
    const uint32_t *const frames = pt_stack_frames(p, stack);
    uint32_t depth = pt_stack_depth(p, stack);
    if (depth > CHAIN_MAX) {
        depth = CHAIN_MAX;
        w->cut++;
    }
    const size_t count_at = w->out.size;
    uint64_t mark = 0, count = 0;
    put_number(w, 0, 8);
    for (uint32_t i = 0; i < depth; i++) {
        const uint32_t flags = p->location->flags[frames[i]];
        const bool is_return =
            i > 0 && !(flags & PT_LOCATION_RETURN_ADDR) && mark == mark_of(flags);
        if (mark != mark_of(flags)) {
            mark = mark_of(flags);
            put_number(w, mark, 8);
            count++;
        }
        /* An address inside the call instruction is moved back to the end of the instruction. */
        put_number(w, p->location->address[frames[i]] + is_return, 8);
        count++;
    }
    set_number(w, count_at, count, 8);
}

static void put_sample(perf_writer *w, uint32_t i, uint32_t attr, int64_t value)
{
    const pt_samples *const s = w->p->sample;
    const uint32_t stack = s->stack[i];
    const uint32_t leaf =
        pt_stack_depth(w->p, stack) > 0 ? pt_stack_frames(w->p, stack)[0] : PT_NONE;
    begin_record(w, PT_PERF_SAMPLE,
                 leaf != PT_NONE ? cpumode_of(w->p->location->flags[leaf]) : PT_PERF_USER);
    put_number(w, FIRST_ID + attr, 8);
    put_number(w, leaf != PT_NONE ? w->p->location->address[leaf] : 0, 8);
    put_number(w, pid_of(s, i), 4);
    put_number(w, tid_of(s, i), 4);
    put_number(
        w, s->time_ns != NULL && s->time_ns[i] > 0 ? (uint64_t)s->time_ns[i] : i + UINT64_C(1), 8);
    put_number(w, s->cpu != NULL && s->cpu[i] != PT_NONE ? s->cpu[i] : 0, 4);
    put_number(w, 0, 4);
    put_number(w, (uint64_t)value, 8);
    put_chain(w, stack);
    end_record(w);
}

/* Writes `count` records of a sample whose values add up to value. Only the first is stored in
 * w->out; put_whole makes the copies. */
static void put_samples_of(perf_writer *w, uint32_t i, uint32_t attr, int64_t value, uint64_t count)
{
    const size_t first = w->out.size;
    const int64_t each = value / (int64_t)count;
    const uint64_t larger = (uint64_t)value % count, cut = w->cut;
    put_sample(w, i, attr, each + (larger > 0));
    w->cut += (w->cut - cut) * (count - 1);
    const copy_run more = {.at = w->out.size,
                           .size = w->out.size - first,
                           .count = count - 1,
                           .larger = larger > 0 ? larger - 1 : 0,
                           .value = (uint64_t)each};
    if (more.count > 0) PT_PUSH(w->copied, more);
    w->copied_bytes += more.count * more.size;
}

/* The number of samples that row i stands for; 1 if the profile does not count samples. */
static uint64_t sample_count(const perf_writer *w, uint32_t i)
{
    const int64_t count = w->counter != PT_NONE ? w->p->sample->value[w->counter][i] : 1;
    return count > 1 ? (uint64_t)count : 1;
}

/* Do all rows get as many records as the samples that they count, without exceeding the limit of
 * COPIES_x? */
static bool may_write_each(const perf_writer *w)
{
    const pt_samples *const s = w->p->sample;
    const uint64_t events = w->event_count > 0 ? w->event_count : 1;
    uint64_t once = 0, copied = 0;
    for (uint32_t i = 0; i < s->t.count; i++) {
        const uint64_t bytes = events * (64 + 8 * (uint64_t)pt_stack_depth(w->p, s->stack[i]));
        uint64_t copies;
        once += bytes;
        if (__builtin_mul_overflow(sample_count(w, i) - 1, bytes, &copies)) return false;
        copied = pt_saturating_count(copied, copies);
    }
    return copied <= COPIES_BYTES_LEAST + COPIES_FACTOR * once;
}

static void put_samples(perf_writer *w)
{
    const pt_samples *const s = w->p->sample;
    const bool each = may_write_each(w);
    uint64_t negative = 0, uncounted = 0;
    for (uint32_t i = 0; i < s->t.count; i++) {
        const uint64_t count = each ? sample_count(w, i) : 1;
        bool has_value = false;
        uncounted += sample_count(w, i) - count;
        for (uint32_t a = 0; a < w->event_count; a++) {
            const int64_t value = s->value[w->events[a]][i];
            negative += value < 0;
            has_value |= value != 0;
            if (value > 0) put_samples_of(w, i, a, value, count);
        }
        /* A sample without values still counts as a sample. */
        if (!has_value && w->counter != PT_NONE && s->value[w->counter][i] > 0)
            put_samples_of(w, i, 0, 0, count);
    }
    pt_diag_add(w->diag, uncounted,
                "samples without a record of their own, which would make the file too large: perf "
                "counts fewer samples");
    pt_diag_add(w->diag, negative, "values below 0 left out: a period has no sign");
    pt_diag_add(w->diag, w->cut, "stacks cut to %d frames", CHAIN_MAX);
}

/* ---- header ---- */

static bool is_text(const pt_profile *p, uint32_t string, const char *text)
{
    return strcmp(pt_text(p, string), text) == 0;
}

/* Is the event written? An event that counts samples is not, if the profile has other events. */
static bool is_written(const pt_profile *p, uint32_t e)
{
    const pt_event *const event = &p->event->row[e];
    return p->event->t.count < 2 || !is_text(p, event->type, "samples") ||
           !is_text(p, event->unit, "count");
}

static void choose_events(perf_writer *w)
{
    const pt_profile *const p = w->p;
    const uint32_t count = p->event->t.count;
    w->events = pt_alloc((size_t)count + 1, sizeof *w->events);
    w->counter = PT_NONE;
    for (uint32_t e = 0; e < count; e++) {
        if (is_written(p, e))
            w->events[w->event_count++] = e;
        else
            w->counter = e;
    }
}

uint32_t pt_perf_data_shown_event(const pt_profile *p)
{
    uint32_t first = PT_NONE;
    for (uint32_t e = 0; e < p->event->t.count; e++) {
        if (!is_written(p, e)) continue;
        for (uint32_t i = 0; i < p->sample->t.count; i++) {
            if (p->sample->value[e][i] > 0) return e;
        }
        if (first == PT_NONE) first = e;
    }
    return first;
}

static void put_attr(perf_writer *w, uint32_t event, size_t ids_at)
{
    const pt_event *const e = &w->p->event->row[event];
    const size_t start = w->out.size;
    const bool is_task = strncmp(pt_text(w->p, e->type), "task-clock", 10) == 0;
    /* An event that is not time gets the type of hardware events; its name says what it counts. */
    const bool is_time = is_text(w->p, e->unit, "nanoseconds");
    put_number(w, is_time ? PT_PERF_TYPE_SOFTWARE : PT_PERF_TYPE_HARDWARE, 4);
    put_number(w, ATTR_BYTES, 4);
    put_number(w, is_time && is_task ? PT_PERF_SOFTWARE_TASK_CLOCK : 0, 8);
    /* An unknown period is written as a varying one, with the requested frequency. */
    const bool is_known = e->period > 0;
    const double hz = pt_profile_provenance(w->p)->asked_hz;
    put_number(w, is_known ? (uint64_t)e->period : hz > 0 && hz < 1e9 ? (uint64_t)hz : 0, 8);
    put_number(w, SAMPLE_TYPE, 8);
    put_number(w, 0, 8);
    put_number(w,
               (is_known ? 0 : UINT64_C(1) << PT_PERF_FLAG_FREQ) |
                   UINT64_C(1) << PT_PERF_FLAG_SAMPLE_ID_ALL | UINT64_C(1) << PT_PERF_FLAG_MMAP2,
               8);
    while (w->out.size < start + ATTR_BYTES)
        pt_put_u8(&w->out, 0);
    put_number(w, ids_at, 8);
    put_number(w, 8, 8);
}

static void put_header(perf_writer *w)
{
    const size_t attrs_bytes = (size_t)w->event_count * ENTRY_BYTES;
    const size_t ids_at = PT_PERF_FILE_HEADER_BYTES + attrs_bytes;
    pt_put(&w->out, PT_PERF_DATA_MAGIC2, 8);
    put_number(w, PT_PERF_FILE_HEADER_BYTES, 8);
    put_number(w, ENTRY_BYTES, 8);
    put_number(w, PT_PERF_FILE_HEADER_BYTES, 8);
    put_number(w, attrs_bytes, 8);
    put_number(w, ids_at + 8 * (size_t)w->event_count, 8);
    while (w->out.size < PT_PERF_FILE_HEADER_BYTES)
        pt_put_u8(&w->out, 0);
    for (uint32_t a = 0; a < w->event_count; a++)
        put_attr(w, w->events[a], ids_at + 8 * (size_t)a);
    for (uint32_t a = 0; a < w->event_count; a++)
        put_number(w, FIRST_ID + a, 8);
}

/* ---- features ---- */

static void put_text_of(perf_writer *w, uint32_t string)
{
    const size_t at = w->out.size;
    put_number(w, 0, 4);
    put_padded(w, pt_text(w->p, string), pt_text_bytes(w->p, string), at + 4);
    set_number(w, at, w->out.size - at - 4, 4);
}

static void put_event_names(perf_writer *w)
{
    put_number(w, w->event_count, 4);
    put_number(w, ATTR_BYTES, 4);
    for (uint32_t a = 0; a < w->event_count; a++) {
        const size_t entry = PT_PERF_FILE_HEADER_BYTES + (size_t)a * ENTRY_BYTES;
        uint8_t attr[ATTR_BYTES];
        memcpy(attr, w->out.data + entry, sizeof attr);
        pt_put(&w->out, attr, sizeof attr);
        put_number(w, 1, 4);
        put_text_of(w, w->p->event->row[w->events[a]].type);
        put_number(w, FIRST_ID + a, 8);
    }
}

static void put_command(perf_writer *w)
{
    put_number(w, 1, 4);
    put_text_of(w, pt_profile_provenance(w->p)->command_line);
}

static void put_features(perf_writer *w)
{
    const pt_provenance *const from = pt_profile_provenance(w->p);
    const struct {
        unsigned feature;
        bool is_there;
    } features[] = {{PT_PERF_FEATURE_HOST, from->host != 0},
                    {PT_PERF_FEATURE_RELEASE, from->os != 0},
                    {PT_PERF_FEATURE_CPU, from->cpu_model != 0},
                    {PT_PERF_FEATURE_COMMAND, from->command_line != 0},
                    {PT_PERF_FEATURE_EVENTS, true}};
    enum { COUNT = PT_COUNT(features), BITMAP_AT = 72 };
    const size_t table_at = w->out.size;
    unsigned n = 0;
    for (unsigned i = 0; i < COUNT; i++)
        for (unsigned k = 0; k < 16 && features[i].is_there; k++)
            pt_put_u8(&w->out, 0);
    for (unsigned i = 0; i < COUNT; i++) {
        const unsigned feature = features[i].feature;
        if (!features[i].is_there) continue;
        const size_t at = w->out.size;
        switch (feature) {
        case PT_PERF_FEATURE_HOST: put_text_of(w, from->host); break;
        case PT_PERF_FEATURE_RELEASE: put_text_of(w, from->os); break;
        case PT_PERF_FEATURE_CPU: put_text_of(w, from->cpu_model); break;
        case PT_PERF_FEATURE_COMMAND: put_command(w); break;
        default: put_event_names(w);
        }
        set_number(w, table_at + 16 * (size_t)n, at + w->copied_bytes, 8);
        set_number(w, table_at + 16 * (size_t)n + 8, w->out.size - at, 8);
        n++;
        w->out.data[BITMAP_AT + feature / 8] |= (uint8_t)(1u << feature % 8);
    }
}

/* ---- the whole file ---- */

/* Writes the file: w->out, with the copies of each record after the record. */
static void put_whole(const perf_writer *w, pt_out *out)
{
    size_t done = 0;
    for (size_t i = 0; i < w->copied.count; i++) {
        const copy_run *const c = &w->copied.items[i];
        pt_out_put(out, w->out.data + done, c->at - done);
        done = c->at;
        uint8_t *const record = w->out.data + c->at - c->size;
        for (uint64_t k = 0; k < c->count; k++) {
            const uint64_t value = htole64(c->value + (k < c->larger));
            memcpy(record + PERIOD_AT, &value, sizeof value);
            pt_out_put(out, record, c->size);
        }
    }
    pt_out_put(out, w->out.data + done, w->out.size - done);
}

static pt_status check_profile(const pt_profile *p, const perf_writer *w, pt_error *reterr)
{
    uint64_t named = 0;
    for (uint32_t i = 0; i < p->location->t.count; i++)
        named += p->location->address[i] == 0 && p->location->mapping[i] == PT_NONE;
    if (p->location->t.count > 0 && named == p->location->t.count)
        return pt_error_set(reterr, PT_ERR_UNSUPPORTED,
                            "the profile has names but no addresses, and perf.data holds only "
                            "addresses; write it as folded or pprof");
    if (w->event_count == 0)
        return pt_error_set(reterr, PT_ERR_UNSUPPORTED, "the profile has no event to write");
    pt_diag_add(w->diag, named, "frames without an address, written as address 0");
    uint64_t nameless = 0;
    for (uint32_t a = 0; a < w->event_count; a++)
        nameless += pt_text(p, p->event->row[w->events[a]].type)[0] == '\0';
    pt_diag_add(w->diag, nameless, "events without a name, which readers call by perf's own");
    return PT_OK;
}

pt_status pt_perf_data_write(const pt_profile *profile, const pt_output *output,
                             const pt_write_options *options, pt_error *reterr)
{
    perf_writer w = {.p = profile, .out = PT_BUF_INIT, .diag = options->diag};
    choose_events(&w);
    pt_status status = check_profile(profile, &w, reterr);
    pt_out *const out = status == PT_OK ? output->open(output->context, "", reterr) : NULL;
    if (status == PT_OK && out == NULL) status = PT_ERR_SYSTEM;
    if (out != NULL) {
        put_header(&w);
        const size_t data_at = w.out.size;
        put_processes(&w);
        put_samples(&w);
        set_number(&w, 48, w.out.size - data_at + w.copied_bytes, 8);
        put_features(&w);
        put_whole(&w, out);
    }
    pt_buf_done(&w.out);
    PT_FREE_ALL(w.events, w.copied.items);
    return status;
}
