/* buf.c: see buf.h. */
#include "base/buf.h"

#include <endian.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/utf8.h"
#include "base/visible.h"

enum { PENDING_BYTES = 64 * 1024 };

void pt_buf_done(pt_buf *buf)
{
    free(buf->data);
    *buf = PT_BUF_INIT;
}

void pt_buf_reserve(pt_buf *buf, size_t more)
{
    if (more <= buf->cap - buf->size) return;
    size_t cap = buf->cap < 64 ? 64 : buf->cap + buf->cap / 2;
    if (cap < buf->size + more) cap = buf->size + more;
    PT_BUG_IF(cap < more);
    buf->data = pt_realloc(buf->data, cap, 1);
    buf->cap = cap;
}

uint8_t *pt_buf_extend(pt_buf *buf, size_t size)
{
    pt_buf_reserve(buf, size > 0 ? size : 1);
    uint8_t *const at = buf->data + buf->size;
    buf->size += size;
    return at;
}

const char *pt_buf_text(pt_buf *buf)
{
    pt_buf_reserve(buf, 1);
    buf->data[buf->size] = '\0';
    return (const char *)buf->data;
}

char *pt_buf_take(pt_buf *buf, size_t *ret_size)
{
    pt_buf_text(buf);
    char *const text = (char *)buf->data;
    if (ret_size != NULL) *ret_size = buf->size;
    *buf = PT_BUF_INIT;
    return text;
}

void pt_put(pt_buf *buf, const void *data, size_t size)
{
    if (size > 0) memcpy(pt_buf_extend(buf, size), data, size);
}

void pt_put_text(pt_buf *buf, const char *text)
{
    pt_put(buf, text, strlen(text));
}

void pt_vputf(pt_buf *buf, const char *format, va_list args)
{
    pt_buf_reserve(buf, 128);
    va_list again;
    va_copy(again, args);
    const size_t room = buf->cap - buf->size;
    const int length = vsnprintf((char *)buf->data + buf->size, room, format, args);
    PT_BUG_IF(length < 0);
    if ((size_t)length >= room) {
        pt_buf_reserve(buf, (size_t)length + 1);
        vsnprintf((char *)buf->data + buf->size, (size_t)length + 1, format, again);
    }
    va_end(again);
    buf->size += (size_t)length;
}

void pt_putf(pt_buf *buf, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    pt_vputf(buf, format, args);
    va_end(args);
}

void pt_put_le(pt_buf *buf, uint64_t value, unsigned bytes)
{
    uint8_t *const at = pt_buf_extend(buf, bytes);
    const uint64_t le = htole64(value);
    memcpy(at, &le, bytes);
}

void pt_put_be(pt_buf *buf, uint64_t value, unsigned bytes)
{
    uint8_t *const at = pt_buf_extend(buf, bytes);
    for (unsigned i = 0; i < bytes; i++)
        at[i] = (uint8_t)(value >> (8 * (bytes - 1 - i)));
}

void pt_put_varint_slow(pt_buf *buf, uint64_t value)
{
    pt_buf_reserve(buf, PT_VARINT_MAX);
    uint8_t *at = buf->data + buf->size;
    for (; value >= 0x80; value >>= 7)
        *at++ = (uint8_t)(value | 0x80);
    *at++ = (uint8_t)value;
    buf->size = (size_t)(at - buf->data);
}

/* --- pt_out --- */

void pt_out_to_fd(pt_out *out, int fd)
{
    *out = (pt_out){.fd = fd,
                    .error = PT_ERROR_INIT,
                    .pending = pt_alloc(PENDING_BYTES, 1),
                    .is_terminal = isatty(fd) == 1};
}

void pt_out_to_buf(pt_out *out, pt_buf *buf)
{
    *out = (pt_out){.fd = -1, .error = PT_ERROR_INIT, .buf = buf};
}

void pt_out_to_json(pt_out *out, pt_buf *buf, uint64_t most)
{
    pt_out_to_buf(out, buf);
    out->most = most;
    out->is_compact = true;
}

void pt_out_to_fn(pt_out *out, pt_out_fn *fn, void *ctx)
{
    *out = (pt_out){.fd = -1,
                    .error = PT_ERROR_INIT,
                    .fn = fn,
                    .ctx = ctx,
                    .pending = pt_alloc(PENDING_BYTES, 1)};
}

/* Writes all bytes: retries after signals and short writes, and waits while a non-blocking pipe is
 * full. */
static pt_status write_all(pt_out *out, const uint8_t *data, size_t size)
{
    while (size > 0) {
        const ssize_t n = write(out->fd, data, size);
        if (n >= 0) {
            data += n;
            size -= (size_t)n;
        } else if (errno == EAGAIN) {
            struct pollfd ready = {.fd = out->fd, .events = POLLOUT};
            poll(&ready, 1, -1);
        } else if (errno != EINTR) {
            out->broken_pipe = errno == EPIPE;
            return pt_error_errno(&out->error, errno, "cannot write");
        }
    }
    return PT_OK;
}

static void send_bytes(pt_out *out, const void *data, size_t size)
{
    if (!pt_out_ok(out) || size == 0) return;
    if (out->before_first != NULL) out->before_first(out->before_ctx);
    out->before_first = NULL;
    if (out->fn == NULL) {
        write_all(out, data, size);
        return;
    }
    pt_error error = PT_ERROR_INIT;
    const pt_status status = out->fn(out->ctx, data, size, &error);
    if (status != PT_OK) {
        out->error = error;
        out->error.status = status;
    }
}

static void send_pending(pt_out *out)
{
    const size_t size = out->pending_count;
    out->pending_count = 0;
    send_bytes(out, out->pending, size);
}

static void put_bytes(pt_out *out, const void *data, size_t size)
{
    if (!pt_out_ok(out) || size == 0) return;
    out->count += size;
    if (out->buf != NULL) {
        if (out->most > 0 && out->count > out->most)
            pt_error_set(&out->error, PT_ERR_LIMIT, "more than %llu bytes",
                         (unsigned long long)out->most);
        else
            pt_put(out->buf, data, size);
        return;
    }
    if (size > PENDING_BYTES - out->pending_count) send_pending(out);
    if (size >= PENDING_BYTES) {
        send_bytes(out, data, size);
        return;
    }
    memcpy(out->pending + out->pending_count, data, size);
    out->pending_count += size;
}

static bool is_plain(uint8_t byte)
{
    return (byte >= 0x20 && byte < 0x7f) || byte == '\n' || byte == '\t';
}

static void put_escape(pt_out *out, const uint8_t *bytes, size_t count)
{
    char escape[PT_VISIBLE_MAX];
    put_bytes(out, escape, pt_visible_escape(bytes, count, escape));
}

/* Puts the character at text[0], which is not plain ASCII. Returns its length in bytes, or 0 if
 * text ends inside it. */
static size_t put_character(pt_out *out, const uint8_t *text, size_t size)
{
    uint32_t character;
    int valid;
    const size_t bytes = pt_utf8_decode(text, size, &character, &valid);
    const size_t whole = text[0] < 0xe0 ? 2 : text[0] < 0xf0 ? 3 : 4;
    if (!valid && bytes == size && bytes < whole && text[0] >= 0xc2 && text[0] <= 0xf4) return 0;
    if (valid && pt_is_visible(character))
        put_bytes(out, text, bytes);
    else
        put_escape(out, text, bytes);
    return bytes;
}

/* Puts the held bytes as escapes, since they turned out not to be a valid character. */
static void put_held(pt_out *out)
{
    put_escape(out, out->held, out->held_count);
    out->held_count = 0;
}

/* Completes the character whose first bytes are held, or puts them as escapes if text does not
 * continue it. Returns the number of bytes taken from text. */
static size_t continue_held(pt_out *out, const uint8_t *text, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        if (text[i] < 0x80 || text[i] > 0xbf) {
            put_held(out);
            return i;
        }
        out->held[out->held_count++] = text[i];
        const size_t used = put_character(out, out->held, out->held_count);
        if (used == 0) continue;
        if (used < out->held_count) put_escape(out, out->held + used, out->held_count - used);
        out->held_count = 0;
        return i + 1;
    }
    return size;
}

static void put_visible(pt_out *out, const uint8_t *text, size_t size)
{
    size_t at = out->held_count > 0 ? continue_held(out, text, size) : 0;
    while (at < size) {
        size_t end = at;
        while (end < size && is_plain(text[end]))
            end++;
        put_bytes(out, text + at, end - at);
        at = end;
        if (at == size) return;
        const size_t used = put_character(out, text + at, size - at);
        if (used == 0) {
            out->held_count = (uint8_t)(size - at);
            memcpy(out->held, text + at, out->held_count);
            return;
        }
        at += used;
    }
}

void pt_out_put(pt_out *out, const void *data, size_t size)
{
    if (out->is_terminal)
        put_visible(out, data, size);
    else
        put_bytes(out, data, size);
}

void pt_out_sequence(pt_out *out, const char *sequence)
{
    if (out->held_count > 0) put_held(out);
    put_bytes(out, sequence, strlen(sequence));
}

void pt_terminal_erase_line(int fd)
{
    static const char erase[] = "\r\033[K";
    const ssize_t put = write(fd, erase, sizeof erase - 1);
    (void)put; /* a signal handler cannot report a failure */
}

void pt_out_text(pt_out *out, const char *text)
{
    pt_out_put(out, text, strlen(text));
}

void pt_out_char(pt_out *out, char c)
{
    pt_out_put(out, &c, 1);
}

void pt_outf(pt_out *out, const char *format, ...)
{
    if (!pt_out_ok(out)) return;
    char small[256];
    va_list args;
    va_start(args, format);
    const int length = vsnprintf(small, sizeof small, format, args);
    va_end(args);
    if (length >= 0 && (size_t)length < sizeof small) {
        pt_out_put(out, small, (size_t)length);
        return;
    }
    PT_AUTO(pt_buf) text = PT_BUF_INIT;
    va_start(args, format);
    pt_vputf(&text, format, args);
    va_end(args);
    pt_out_put(out, text.data, text.size);
}

pt_status pt_out_flush(pt_out *out, pt_error *reterr)
{
    if (out->held_count > 0) put_held(out);
    send_pending(out);
    if (!pt_out_ok(out) && reterr != NULL) *reterr = out->error;
    return out->error.status;
}

pt_status pt_out_done(pt_out *out, pt_error *reterr)
{
    const pt_status status = pt_out_flush(out, reterr);
    free(out->pending);
    out->pending = NULL;
    return status;
}
