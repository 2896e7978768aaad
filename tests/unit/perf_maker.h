/* perf_maker.h: perf.data files for tests, put together record by record in either byte order.
 * The layouts are those of linux/perf_event.h. */
#pragma once

#include "base/buf.h"
#include "formats/perf_data_layout.h"

typedef struct {
    pt_buf buf;
    bool big;
    uint64_t sample_type; /* of the attrs that follow, and of the samples */
    size_t record_at;     /* of the record being made */
    size_t data_at;
} perf_maker;

static inline void put(perf_maker *m, uint64_t value, unsigned bytes)
{
    if (m->big)
        pt_put_be(&m->buf, value, bytes);
    else
        pt_put_le(&m->buf, value, bytes);
}

static inline void put_words(perf_maker *m, const uint64_t *words, size_t count)
{
    for (size_t i = 0; i < count; i++)
        put(m, words[i], 8);
}
#define PUT_WORDS(m, ...)                                                                          \
    put_words(m, (const uint64_t[]){__VA_ARGS__}, sizeof((const uint64_t[]){__VA_ARGS__}) / 8)

static inline void patch(perf_maker *m, size_t at, uint64_t value, unsigned bytes)
{
    perf_maker number = {.buf = PT_BUF_INIT, .big = m->big};
    put(&number, value, bytes);
    memcpy(m->buf.data + at, number.buf.data, bytes);
    pt_buf_done(&number.buf);
}

static inline void put_text(perf_maker *m, const char *text)
{
    pt_put(&m->buf, text, strlen(text));
    do
        pt_put_u8(&m->buf, 0);
    while ((m->buf.size - m->record_at) % 8 != 0);
}

static inline void begin_record(perf_maker *m, uint32_t type, uint16_t misc)
{
    m->record_at = m->buf.size;
    put(m, type, 4);
    put(m, misc, 2);
    put(m, 0, 2);
}

static inline void end_record(perf_maker *m)
{
    patch(m, m->record_at + 6, m->buf.size - m->record_at, 2);
}

/* Puts the end of a record that is no sample: process, thread, time. */
static inline void put_when(perf_maker *m, uint32_t pid, uint32_t tid, uint64_t time)
{
    put(m, pid, 4);
    put(m, tid, 4);
    put(m, time, 8);
    end_record(m);
}

/* A bit of the attr's flags is the n-th field of a C struct: from the other end on big machines. */
static inline uint64_t flag(const perf_maker *m, unsigned n)
{
    return m->big ? UINT64_C(1) << (63 - n) : UINT64_C(1) << n;
}

/* An attr of `bytes` bytes, all alike but for config and period. */
static inline void put_attr(perf_maker *m, unsigned bytes, uint32_t type, uint64_t config,
                            uint64_t period)
{
    const size_t start = m->buf.size;
    put(m, type, 4);
    put(m, bytes, 4);
    PUT_WORDS(m, config, period, m->sample_type, 0, flag(m, PT_PERF_FLAG_SAMPLE_ID_ALL));
    while (m->buf.size < start + bytes)
        pt_put_u8(&m->buf, 0);
}

/* The header of a file with one event, cpu-clock every 1,000,000 ns; the data follows. */
static inline void begin_file(perf_maker *m, const char *magic, unsigned attr_bytes)
{
    const size_t data_at = PT_PERF_FILE_HEADER_BYTES + attr_bytes + 16;
    pt_put(&m->buf, magic, 8);
    PUT_WORDS(m, PT_PERF_FILE_HEADER_BYTES, attr_bytes + 16, PT_PERF_FILE_HEADER_BYTES,
              attr_bytes + 16, data_at, 0, 0, 0, 0, 0, 0, 0);
    put_attr(m, attr_bytes, PT_PERF_TYPE_SOFTWARE, 0, 1000000);
    PUT_WORDS(m, 0, 0);
    m->data_at = m->buf.size;
}

static inline void end_file(perf_maker *m)
{
    patch(m, 48, m->buf.size - m->data_at, 8);
}

static inline void put_mmap(perf_maker *m, uint32_t pid, uint64_t start, uint64_t bytes,
                            uint64_t offset, const char *path, uint64_t time)
{
    begin_record(m, PT_PERF_MMAP, PT_PERF_USER);
    put(m, pid, 4);
    put(m, pid, 4);
    PUT_WORDS(m, start, bytes, offset);
    put_text(m, path);
    put_when(m, pid, pid, time);
}

static inline void put_comm(perf_maker *m, uint16_t misc, uint32_t pid, uint32_t tid,
                            const char *text, uint64_t time)
{
    begin_record(m, PT_PERF_COMM, misc);
    put(m, pid, 4);
    put(m, tid, 4);
    put_text(m, text);
    put_when(m, pid, tid, time);
}

static inline void put_fork(perf_maker *m, uint32_t pid, uint32_t ppid, uint32_t tid, uint32_t ptid,
                            uint64_t time)
{
    begin_record(m, PT_PERF_FORK, 0);
    put(m, pid, 4);
    put(m, ppid, 4);
    put(m, tid, 4);
    put(m, ptid, 4);
    put(m, time, 8);
    put_when(m, pid, tid, time);
}

/* A sample of IP, TID, TIME and CALLCHAIN. */
static inline void put_sample(perf_maker *m, uint16_t cpumode, uint64_t ip, uint32_t pid,
                              uint32_t tid, uint64_t time, const uint64_t *chain, uint64_t count)
{
    begin_record(m, PT_PERF_SAMPLE, cpumode);
    put(m, ip, 8);
    put(m, pid, 4);
    put(m, tid, 4);
    PUT_WORDS(m, time, count);
    put_words(m, chain, count);
    end_record(m);
}
