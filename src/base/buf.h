/* buf.h: bytes on their way out: a buffer that grows, and a sink that streams.
 *
 * pt_buf collects bytes in memory. pt_out sends them to a descriptor, a pt_buf or a callback, with
 * a sticky error: after the first failure puts do nothing, and pt_out_done tells.
 *
 * A descriptor that is a terminal gets nothing that a terminal obeys but newlines and tabs: all
 * else is shown (visible.h), whoever puts it. What the program itself wants a terminal to obey goes
 * through pt_out_sequence. Files and pipes get the bytes as they are.
 */
#ifndef PT_BASE_BUF_H
#define PT_BASE_BUF_H

#include "base/error.h"

#include <stdarg.h>
#include <string.h>

typedef struct pt_buf {
    uint8_t *data; /* NULL while nothing was put */
    size_t size, cap;
} pt_buf;

#define PT_BUF_INIT ((pt_buf){0})

void pt_buf_done(pt_buf *buf);
/* Makes room for more bytes to come. */
void pt_buf_reserve(pt_buf *buf, size_t more);
/* Room for size bytes, already counted in; the caller fills them before the next put. */
uint8_t *pt_buf_extend(pt_buf *buf, size_t size);
/* Empties, keeping the memory. */
static inline void pt_buf_clear(pt_buf *buf)
{
    buf->size = 0;
}
/* The bytes as a C string: a NUL is put after them that size does not count. Valid till the next
 * put. */
const char *pt_buf_text(pt_buf *buf);
/* Hands the memory (to be freed with free) to the caller, NUL-terminated, and empties the buffer.
 * ret_size may be NULL. */
char *pt_buf_take(pt_buf *buf, size_t *ret_size);

void pt_put(pt_buf *buf, const void *data, size_t size);
void pt_put_text(pt_buf *buf, const char *text);
void pt_putf(pt_buf *buf, const char *format, ...) __attribute__((format(printf, 2, 3)));
void pt_vputf(pt_buf *buf, const char *format, va_list args) __attribute__((format(printf, 2, 0)));

static inline void pt_put_u8(pt_buf *buf, uint8_t value)
{
    if (__builtin_expect(buf->size == buf->cap, 0)) pt_buf_reserve(buf, 1);
    buf->data[buf->size++] = value;
}

/* The low `bytes` (1 to 8) bytes of value, least significant first, or most significant first. */
void pt_put_le(pt_buf *buf, uint64_t value, unsigned bytes);
void pt_put_be(pt_buf *buf, uint64_t value, unsigned bytes);

/* Base-128 varint, as in protobuf and as ULEB128; at most PT_VARINT_MAX bytes. */
#define PT_VARINT_MAX 10
void pt_put_varint_slow(pt_buf *buf, uint64_t value);
static inline void pt_put_varint(pt_buf *buf, uint64_t value)
{
    if (__builtin_expect(value < 0x80, 1))
        pt_put_u8(buf, (uint8_t)value);
    else
        pt_put_varint_slow(buf, value);
}

static inline uint64_t pt_zigzag_encode(int64_t value)
{
    return ((uint64_t)value << 1) ^ (uint64_t)(value >> 63);
}

/* How many bytes pt_put_varint would put. */
static inline unsigned pt_varint_size(uint64_t value)
{
    return ((unsigned)(63 - __builtin_clzll(value | 1)) * 9 + 73) / 64;
}

/* Receives bytes; not PT_OK stops the stream. */
typedef pt_status pt_out_fn(void *ctx, const void *data, size_t size, pt_error *reterr);

typedef struct pt_out {
    pt_out_fn *fn;
    void *ctx;
    int fd;
    pt_buf *buf;
    uint8_t *pending; /* bytes not yet sent; fd and callback only */
    size_t pending_count;
    uint64_t count;     /* bytes put so far, sent or pending */
    bool is_terminal;   /* controls and wrong UTF-8 are shown */
    uint8_t held_count; /* terminal: bytes of a character whose rest is to come */
    uint8_t held[4];
    pt_error error; /* .status is PT_OK until the first failure */
    bool
        broken_pipe; /* the failure was EPIPE: the reader has left, which is no cause to complain */
} pt_out;

/* Initialise out. A descriptor stays the caller's and is not closed; the buffer or callback must
 * outlive out. A caller that writes to pipes ignores SIGPIPE itself. */
void pt_out_to_fd(pt_out *out, int fd);
void pt_out_to_buf(pt_out *out, pt_buf *buf);
void pt_out_to_fn(pt_out *out, pt_out_fn *fn, void *ctx);

void pt_out_put(pt_out *out, const void *data, size_t size);
/* Bytes of our own that a terminal is to obey: colours, the beginning of a line. Never text that
 * came from elsewhere. */
void pt_out_sequence(pt_out *out, const char *sequence);
void pt_out_text(pt_out *out, const char *text);
void pt_out_char(pt_out *out, char c);
void pt_outf(pt_out *out, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Sends what is pending. */
pt_status pt_out_flush(pt_out *out, pt_error *reterr);
/* Sends what is pending and frees; returns the first failure of the whole stream. Call it exactly
 * once. */
pt_status pt_out_done(pt_out *out, pt_error *reterr);

static inline bool pt_out_ok(const pt_out *out)
{
    return out->error.status == PT_OK;
}

#endif
