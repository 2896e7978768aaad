/* keep.c: writes the files; see keep.h. keep_read.c reads them. */
#include "capture/keep.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/grow.h"
#include "capture/keep_int.h"

enum { GROUP = 64 }; /* rows whose values are written together */

struct pt_keep {
    int journal_fd, values_fd; /* -1: a write failed */
    bool is_timeline;
    uint32_t event_count;
    uint32_t location_count, stack_count, row_count; /* added so far; */
    uint32_t location_base, stack_base, row_base;    /* before the last pt_keep_begin_anew */
    uint64_t room_bytes, written_bytes;
    pt_buf rows;             /* encoded records that are not written yet */
    size_t head_bytes;       /* bytes of the head record in them */
    PT_VECTOR(bool) changed; /* one for each group of rows: values changed since the last write */
    bool is_any_changed;
};

/* ---- records ---- */

static size_t begin_record(pt_keep *k, uint32_t kind)
{
    pt_put_le(&k->rows, kind, 4);
    pt_put_le(&k->rows, 0, 4);
    return k->rows.size;
}

static void end_record(pt_keep *k, size_t from)
{
    const uint32_t bytes = (uint32_t)(k->rows.size - from);
    for (unsigned i = 0; i < 4; i++)
        k->rows.data[from - 4 + i] = (uint8_t)(bytes >> 8 * i);
}

static void put_comm(pt_keep *k, const char *comm)
{
    char bytes[PT_KEEP_COMM_BYTES] = "";
    memcpy(bytes, comm, strnlen(comm, sizeof bytes - 1));
    pt_put(&k->rows, bytes, sizeof bytes);
}

static void put_text(pt_keep *k, const char *text)
{
    pt_put(&k->rows, text, strlen(text) + 1);
}

void pt_keep_mapping(pt_keep *k, const pt_mapping *mapping, const pt_builder *builder)
{
    const size_t at = begin_record(k, PT_KEEP_MAPPING);
    pt_put_le(&k->rows, mapping->start, 8);
    pt_put_le(&k->rows, mapping->limit, 8);
    pt_put_le(&k->rows, mapping->file_offset, 8);
    pt_put_le(&k->rows, mapping->flags, 4);
    put_text(k, pt_builder_get_text(builder, (pt_string_id){mapping->file}));
    put_text(k, pt_builder_get_text(builder, (pt_string_id){mapping->build_id}));
    end_record(k, at);
}

void pt_keep_build_id(pt_keep *k, uint32_t mapping, const char *hex)
{
    const size_t at = begin_record(k, PT_KEEP_BUILD_ID);
    pt_put_le(&k->rows, mapping, 4);
    put_text(k, hex);
    end_record(k, at);
}

void pt_keep_location(pt_keep *k, const pt_location *location)
{
    const size_t at = begin_record(k, PT_KEEP_LOCATION);
    pt_put_le(&k->rows, location->address, 8);
    pt_put_le(&k->rows, location->mapping, 4);
    pt_put_le(&k->rows, location->flags, 4);
    end_record(k, at);
    k->location_count++;
}

void pt_keep_code(pt_keep *k, const pt_location *location, const pt_line *line,
                  const pt_function *function, const pt_builder *builder)
{
    const size_t at = begin_record(k, PT_KEEP_CODE);
    pt_put_le(&k->rows, location->mapping, 4);
    pt_put_le(&k->rows, location->flags, 4);
    pt_put_le(&k->rows, (uint64_t)line->line, 8);
    pt_put_le(&k->rows, (uint64_t)function->start_line, 8);
    put_text(k, pt_builder_get_text(builder, (pt_string_id){function->name}));
    put_text(k, pt_builder_get_text(builder, (pt_string_id){function->file}));
    end_record(k, at);
    k->location_count++;
}

void pt_keep_stack(pt_keep *k, const uint32_t *frames, uint32_t depth, uint8_t end)
{
    const size_t at = begin_record(k, PT_KEEP_STACK);
    pt_put_le(&k->rows, end, 4);
    for (uint32_t i = 0; i < depth; i++)
        pt_put_le(&k->rows, k->location_base + frames[i], 4);
    end_record(k, at);
    k->stack_count++;
}

void pt_keep_row(pt_keep *k, const pt_keep_who *who)
{
    const size_t at = begin_record(k, PT_KEEP_ROW);
    pt_put_le(&k->rows, k->stack_base + who->stack, 4);
    pt_put_le(&k->rows, who->pid, 4);
    pt_put_le(&k->rows, who->is_uncertain + 2u * who->tier, 4);
    put_comm(k, who->comm);
    put_text(k, who->wait);
    put_text(k, who->waker);
    end_record(k, at);
    k->row_count++;
}

void pt_keep_user(pt_keep *k, uint32_t pid, uint32_t user)
{
    const size_t at = begin_record(k, PT_KEEP_USER);
    pt_put_le(&k->rows, pid, 4);
    pt_put_le(&k->rows, user, 4);
    end_record(k, at);
}

void pt_keep_sample(pt_keep *k, uint32_t row, const pt_sample *sample, const char *comm)
{
    const size_t at = begin_record(k, PT_KEEP_SAMPLE);
    pt_put_le(&k->rows, row, 4);
    pt_put_le(&k->rows, sample->pid, 4);
    pt_put_le(&k->rows, sample->tid, 4);
    pt_put_le(&k->rows, sample->cpu, 4);
    pt_put_le(&k->rows, (uint64_t)sample->time_ns, 8);
    put_comm(k, comm);
    for (uint32_t i = 0; i < k->event_count; i++)
        pt_put_le(&k->rows, (uint64_t)sample->values[i], 8);
    end_record(k, at);
}

void pt_keep_more(pt_keep *k, uint32_t row, uint32_t event, int64_t more)
{
    const size_t at = begin_record(k, PT_KEEP_MORE);
    pt_put_le(&k->rows, row, 4);
    pt_put_le(&k->rows, event, 4);
    pt_put_le(&k->rows, (uint64_t)more, 8);
    end_record(k, at);
}

void pt_keep_changed(pt_keep *k, uint32_t row)
{
    while (k->changed.count <= row / GROUP)
        PT_PUSH(k->changed, false);
    k->changed.items[row / GROUP] = true;
    k->is_any_changed = true;
}

/* ---- files ---- */

static void close_files(pt_keep *k)
{
    if (k->journal_fd >= 0) close(k->journal_fd);
    if (k->values_fd >= 0) close(k->values_fd);
    k->journal_fd = k->values_fd = -1;
}

/* Writes all bytes. at: offset; -1: the end of the file. */
static bool write_all(pt_keep *k, int fd, const void *bytes, size_t size, off_t at)
{
    const uint8_t *from = bytes;
    if (fd < 0 || size > k->room_bytes - k->written_bytes) return false;
    while (size > 0) {
        const ssize_t done = at < 0 ? write(fd, from, size) : pwrite(fd, from, size, at);
        if (done < 0 && errno == EINTR) continue;
        if (done <= 0) return false;
        from += done;
        size -= (size_t)done;
        if (at < 0) k->written_bytes += (uint64_t)done;
        if (at >= 0) at += done;
    }
    return true;
}

static void put_head(pt_keep *k, const pt_keep_head *head, pt_builder *builder)
{
    const size_t at = begin_record(k, PT_KEEP_HEAD);
    pt_put(&k->rows, PT_KEEP_MAGIC, PT_KEEP_MAGIC_BYTES);
    pt_put_le(&k->rows, k->event_count, 4);
    pt_put_le(&k->rows,
              (head->is_timeline ? PT_KEEP_IS_TIMELINE : 0u) |
                  (head->is_clock ? PT_KEEP_IS_CLOCK : 0u) |
                  (head->has_waits ? PT_KEEP_HAS_WAITS : 0u),
              4);
    pt_put_le(&k->rows, head->period, 8);
    pt_put_le(&k->rows, head->hz, 8);
    pt_put_le(&k->rows, (uint64_t)head->start_ns, 8);
    for (uint32_t i = 0; i < k->event_count; i++) {
        const pt_event *const event = pt_builder_event_at(builder, i);
        pt_put_le(&k->rows, (uint64_t)event->period, 8);
        pt_put_le(&k->rows, event->period_varies, 4);
        put_text(k, pt_builder_get_text(builder, (pt_string_id){event->type}));
        put_text(k, pt_builder_get_text(builder, (pt_string_id){event->unit}));
    }
    put_text(k, head->typed);
    end_record(k, at);
}

static int make_file(const char *folder, const char *name)
{
    PT_FREE char *path = pt_strf("%s/%s", folder, name);
    return open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
}

pt_status pt_keep_new(const char *folder, const pt_keep_head *head, pt_builder *builder,
                      pt_keep **ret_keep, pt_error *reterr)
{
    struct statvfs fs;
    PT_BUG_IF(pt_builder_event_count(builder) > PT_KEEP_EVENTS_MAX);
    pt_keep *const k = pt_alloc(1, sizeof *k);
    k->is_timeline = head->is_timeline;
    k->event_count = pt_builder_event_count(builder);
    k->journal_fd = make_file(folder, PT_KEEP_JOURNAL);
    k->values_fd = k->journal_fd >= 0 ? make_file(folder, PT_KEEP_VALUES) : -1;
    if (k->values_fd < 0 || fstatvfs(k->journal_fd, &fs) != 0) {
        pt_error_errno(reterr, errno, "cannot keep samples in %s", folder);
        pt_keep_free(k);
        return PT_ERR_SYSTEM;
    }
    k->room_bytes = (uint64_t)fs.f_bavail * fs.f_frsize / 2;
    put_head(k, head, builder);
    k->head_bytes = k->rows.size; /* so a recording without samples leaves an empty file */
    *ret_keep = k;
    return PT_OK;
}

void pt_keep_free(pt_keep *k)
{
    if (k == NULL) return;
    close_files(k);
    pt_buf_done(&k->rows);
    free(k->changed.items);
    free(k);
}

bool pt_keep_is_behind(const pt_keep *k)
{
    return k->journal_fd >= 0 && (k->rows.size > k->head_bytes || k->is_any_changed);
}

static bool write_values(pt_keep *k, const int64_t *(*values)(const void *arg, uint32_t row),
                         const void *arg)
{
    int64_t group[GROUP * PT_KEEP_EVENTS_MAX];
    const size_t row_bytes = k->event_count * sizeof(int64_t);
    for (uint32_t g = k->row_base / GROUP; g < k->changed.count; g++) {
        const uint32_t first = g * GROUP < k->row_base ? k->row_base : g * GROUP;
        uint32_t count = 0;
        if (!k->changed.items[g]) continue;
        k->changed.items[g] = false;
        for (; first + count < (g + 1) * GROUP && first + count < k->row_count; count++)
            memcpy(group + (size_t)count * k->event_count, values(arg, first + count), row_bytes);
        if (!write_all(k, k->values_fd, group, count * row_bytes, (off_t)(first * row_bytes)))
            return false;
    }
    return true;
}

bool pt_keep_write(pt_keep *k, const pt_keep_facts *facts,
                   const int64_t *(*values)(const void *arg, uint32_t row), const void *arg)
{
    if (k->journal_fd >= 0) {
        const size_t at = begin_record(k, PT_KEEP_FACTS);
        pt_put_le(&k->rows, (uint64_t)facts->duration_ns, 8);
        pt_put_le(&k->rows, facts->used_ns, 8);
        pt_put_le(&k->rows, facts->seen_ns, 8);
        pt_put_le(&k->rows, facts->lost, 8);
        end_record(k, at);
        if (!write_all(k, k->journal_fd, k->rows.data, k->rows.size, -1) ||
            (!k->is_timeline && !write_values(k, values, arg)))
            close_files(k);
    }
    pt_buf_clear(&k->rows);
    k->head_bytes = 0;
    k->is_any_changed = false;
    return k->journal_fd >= 0;
}

void pt_keep_begin_anew(pt_keep *k)
{
    k->location_base = k->location_count;
    k->stack_base = k->stack_count;
    k->row_base = k->row_count;
}

bool pt_keep_has_room(const pt_keep *k, uint64_t bytes)
{
    return k->journal_fd >= 0 && k->room_bytes - k->written_bytes >= bytes;
}
