/* buf.h: output bytes: pt_buf, a buffer that grows, and pt_out, a stream to a descriptor, a buffer
 * or a callback.
 *
 * pt_out has a sticky error: after the first failure further puts do nothing, and pt_out_done
 * returns the failure.
 *
 * A pt_out to a terminal passes newlines and tabs and shows every other control character in a
 * visible form (visible.h). Control sequences of the program's own go through pt_out_sequence.
 * Files and pipes receive the bytes unchanged.
 */
#pragma once

#include "base/error.h"

#include <stdarg.h>
#include <string.h>

typedef struct pt_buf {
    uint8_t *data; /* NULL while nothing was put */
    size_t size, cap;
} pt_buf;

#define PT_BUF_INIT ((pt_buf){0})

/* Frees the memory. */
void pt_buf_done(pt_buf *buf);
/* Makes room for `more` further bytes. */
void pt_buf_reserve(pt_buf *buf, size_t more);
/* Appends size uninitialised bytes and returns their address. The caller fills them before the next
 * put. */
uint8_t *pt_buf_extend(pt_buf *buf, size_t size);
/* Empties the buffer and keeps its memory. */
static inline void pt_buf_clear(pt_buf *buf)
{
    buf->size = 0;
}
/* The bytes as a C string, with a NUL that size does not count. Valid until the next put. */
const char *pt_buf_text(pt_buf *buf);
/* Empties the buffer and returns its bytes, NUL-terminated; the caller frees them with free().
 * ret_size may be NULL. */
char *pt_buf_take(pt_buf *buf, size_t *ret_size);

/* Append bytes, a C string, or printf's output. */
void pt_put(pt_buf *buf, const void *data, size_t size);
void pt_put_text(pt_buf *buf, const char *text);
void pt_putf(pt_buf *buf, const char *format, ...) __attribute__((format(printf, 2, 3)));
void pt_vputf(pt_buf *buf, const char *format, va_list args) __attribute__((format(printf, 2, 0)));

/* Appends a byte. */
static inline void pt_put_u8(pt_buf *buf, uint8_t value)
{
    if (__builtin_expect(buf->size == buf->cap, 0)) pt_buf_reserve(buf, 1);
    buf->data[buf->size++] = value;
}

/* Append the low `bytes` (1 to 8) bytes of value: pt_put_le the least significant first, pt_put_be
 * the most significant first. */
void pt_put_le(pt_buf *buf, uint64_t value, unsigned bytes);
void pt_put_be(pt_buf *buf, uint64_t value, unsigned bytes);

/* Appends a base-128 varint, the encoding of protobuf and of ULEB128: at most PT_VARINT_MAX bytes.
 */
#define PT_VARINT_MAX 10
void pt_put_varint_slow(pt_buf *buf, uint64_t value);
static inline void pt_put_varint(pt_buf *buf, uint64_t value)
{
    if (__builtin_expect(value < 0x80, 1))
        pt_put_u8(buf, (uint8_t)value);
    else
        pt_put_varint_slow(buf, value);
}

/* The number of bytes that pt_put_varint appends. */
static inline unsigned pt_varint_size(uint64_t value)
{
    return ((unsigned)(63 - __builtin_clzll(value | 1)) * 9 + 73) / 64;
}

/* Receives bytes. Any status but PT_OK stops the stream. */
typedef pt_status pt_out_fn(void *ctx, const void *data, size_t size, pt_error *reterr);

typedef struct pt_out {
    pt_out_fn *fn;
    void *ctx;
    int fd;
    pt_buf *buf;
    uint8_t *pending; /* bytes not sent yet; only for a descriptor or a callback */
    size_t pending_count;
    uint64_t count;     /* bytes put so far, sent or pending */
    uint64_t most;      /* a buffer: bytes beyond fail with PT_ERR_LIMIT; 0 = no limit */
    bool is_compact;    /* JSON has no white space, whatever its writer's flags are */
    bool is_terminal;   /* control characters and invalid UTF-8 are put in visible form */
    uint8_t held_count; /* terminal: the number of bytes in held, which are the beginning of a
                           character */
    uint8_t held[4];
    void (*before_first)(void *ctx); /* NULL, or called once before the first bytes are sent */
    void *before_ctx;
    pt_error error;   /* .status is PT_OK until the first failure */
    bool broken_pipe; /* the failure was EPIPE: the reader closed the pipe, which is no error to
                         report */
} pt_out;

/* Initialise a stream to a descriptor, a buffer or a callback. The descriptor stays the caller's
 * and is not closed. The buffer, or the callback's ctx, must outlive out. A caller that writes to
 * pipes ignores SIGPIPE itself. */
void pt_out_to_fd(pt_out *out, int fd);
void pt_out_to_buf(pt_out *out, pt_buf *buf);
void pt_out_to_fn(pt_out *out, pt_out_fn *fn, void *ctx);
/* Initialises a stream to a buffer for compact JSON of at most `most` bytes; 0 = any number. Bytes
 * beyond the limit fail with PT_ERR_LIMIT. Writers that check pt_out_ok between rows then stop. */
void pt_out_to_json(pt_out *out, pt_buf *buf, uint64_t most);

/* Puts bytes, a C string, one character, or printf's output. */
void pt_out_put(pt_out *out, const void *data, size_t size);
/* Puts a control sequence that a terminal obeys, such as a colour. Only for literals, never for
 * text from a file or a user. */
void pt_out_sequence(pt_out *out, const char *sequence);
/* Erases the line with the cursor on the terminal fd, unbuffered. Async-signal-safe. */
void pt_terminal_erase_line(int fd);
void pt_out_text(pt_out *out, const char *text);
void pt_out_char(pt_out *out, char c);
void pt_outf(pt_out *out, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Sends the pending bytes. */
pt_status pt_out_flush(pt_out *out, pt_error *reterr);
/* Sends the pending bytes and frees the stream's memory. Returns the first failure of the whole
 * stream. Must be called exactly once. */
pt_status pt_out_done(pt_out *out, pt_error *reterr);

/* True until the first failure. */
static inline bool pt_out_ok(const pt_out *out)
{
    return out->error.status == PT_OK;
}
