/* gperftools.c: writing the gperftools binary CPU profile into a caller's buffer. */
#include "wire/gperftools.h"

static bool fits_target(pt_gperf_target target, uint64_t value)
{
    return target.word_bytes == 8 || value <= UINT32_MAX;
}

bool pt_gperf_word(pt_wire_buf *buf, pt_gperf_target target, uint64_t value)
{
    if (!fits_target(target, value)) return false;
    pt_wire_put_uint(buf, value, target.word_bytes, target.big_endian);
    return true;
}

bool pt_gperf_header(pt_wire_buf *buf, pt_gperf_target target, uint64_t period_us)
{
    if (!fits_target(target, period_us)) return false;
    const uint64_t slots[] = {0, 3, 0, period_us, 0};
    for (size_t i = 0; i < sizeof slots / sizeof slots[0]; i++)
        pt_gperf_word(buf, target, slots[i]);
    return true;
}

bool pt_gperf_record(pt_wire_buf *buf, pt_gperf_target target, uint64_t count, const uint64_t *pcs,
                     size_t depth)
{
    if (count == 0 || depth == 0 || !fits_target(target, count) || !fits_target(target, depth))
        return false;
    for (size_t i = 0; i < depth; i++) {
        if (!fits_target(target, pcs[i])) return false;
    }
    pt_gperf_word(buf, target, count);
    pt_gperf_word(buf, target, depth);
    for (size_t i = 0; i < depth; i++)
        pt_gperf_word(buf, target, i == 0 && pcs[i] == 0 ? 1 : pcs[i]);
    return true;
}

void pt_gperf_trailer(pt_wire_buf *buf, pt_gperf_target target)
{
    pt_gperf_word(buf, target, 0);
    pt_gperf_word(buf, target, 1);
    pt_gperf_word(buf, target, 0);
}

static void put_text(pt_wire_buf *buf, const char *text)
{
    pt_wire_put(buf, text, strlen(text));
}

static void put_number(pt_wire_buf *buf, uint64_t value, unsigned base, unsigned min_digits)
{
    char digits[24];
    size_t at = sizeof digits;
    do {
        digits[--at] = "0123456789abcdef"[value % base];
        value /= base;
    } while (value != 0 || sizeof digits - at < min_digits);
    pt_wire_put(buf, digits + at, sizeof digits - at);
}

static void put_range(pt_wire_buf *buf, const pt_gperf_mapping *mapping)
{
    put_number(buf, mapping->start, 16, 8);
    pt_wire_put_byte(buf, '-');
    put_number(buf, mapping->limit, 16, 8);
    pt_wire_put_byte(buf, ' ');
}

/* Writes \012 for a newline, as the kernel does, so that the line stays one line. */
static void put_path(pt_wire_buf *buf, const pt_gperf_mapping *mapping)
{
    for (size_t i = 0; i < mapping->path_bytes; i++) {
        if (mapping->path[i] == '\n')
            put_text(buf, "\\012");
        else
            pt_wire_put_byte(buf, (uint8_t)mapping->path[i]);
    }
    pt_wire_put_byte(buf, '\n');
}

void pt_gperf_mapping_line(pt_wire_buf *buf, const pt_gperf_mapping *mapping)
{
    const char access[] = {mapping->prot & PT_GPERF_READ ? 'r' : '-',
                           mapping->prot & PT_GPERF_WRITE ? 'w' : '-',
                           mapping->prot & PT_GPERF_EXEC ? 'x' : '-', 'p', ' '};
    put_range(buf, mapping);
    pt_wire_put(buf, access, sizeof access);
    put_number(buf, mapping->file_offset, 16, 8);
    pt_wire_put_byte(buf, ' ');
    put_number(buf, mapping->device_major, 16, 2);
    pt_wire_put_byte(buf, ':');
    put_number(buf, mapping->device_minor, 16, 2);
    pt_wire_put_byte(buf, ' ');
    put_number(buf, mapping->inode, 10, 1);
    put_text(buf, "   ");
    put_path(buf, mapping);
}

void pt_gperf_build_id_line(pt_wire_buf *buf, const pt_gperf_mapping *mapping,
                            const uint8_t *build_id, size_t build_id_bytes)
{
    put_text(buf, "# build-id ");
    put_range(buf, mapping);
    for (size_t i = 0; i < build_id_bytes; i++)
        put_number(buf, build_id[i], 16, 2);
    pt_wire_put_byte(buf, ' ');
    put_path(buf, mapping);
}

static void put_run(pt_wire_buf *buf, pt_gperf_ends *ends)
{
    enum { RUNS_A_LINE = 32 };
    if (ends->first == 0) return;
    if (ends->in_line == RUNS_A_LINE) {
        pt_wire_put_byte(buf, '\n');
        ends->in_line = 0;
    }
    if (ends->in_line++ == 0) {
        put_text(buf, PT_GPERF_END_LINE);
        put_text(buf, ends->name);
        pt_wire_put_byte(buf, ':');
    }
    pt_wire_put_byte(buf, ' ');
    put_number(buf, ends->first, 10, 1);
    if (ends->last == ends->first) return;
    pt_wire_put_byte(buf, '-');
    put_number(buf, ends->last, 10, 1);
}

void pt_gperf_ends_take(pt_wire_buf *buf, pt_gperf_ends *ends, uint64_t record)
{
    if (ends->first == 0 || record != ends->last + 1) {
        put_run(buf, ends);
        ends->first = record;
    }
    ends->last = record;
}

void pt_gperf_ends_done(pt_wire_buf *buf, pt_gperf_ends *ends)
{
    put_run(buf, ends);
    if (ends->in_line > 0) pt_wire_put_byte(buf, '\n');
    ends->first = ends->in_line = 0;
}
