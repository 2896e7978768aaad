/* output.c: writes a result, plain or as one gzip member (RFC 1952).
 *
 * The file is written under a temporary name and then renamed, so that a reader finds the old file
 * or the complete new one. */
#include "agent/agent.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "wire/deflate.h"
#include "wire/gzip.h"

enum { ROOM_BYTES = PT_DEFLATE_IN_MAX, TEXT_MAX_BYTES = 4 * PATH_MAX + 512 };

/* Used by one thread at a time, which holds the lock. */
static PT_FAR struct {
    int fd;
    int error; /* the first one; 0 = none yet */
    bool gzip;
    uint32_t crc;  /* of what was put so far */
    uint32_t size; /* the same, modulo 2^32 */
    char name[PATH_MAX];
    size_t held;
    uint8_t bytes[ROOM_BYTES];
    uint8_t deflated[PT_DEFLATE_OUT_MAX]; /* the output of deflate */
    pt_deflate_places places;
} out;

_Static_assert(ROOM_BYTES >= (PT_JOURNAL_CHAIN_MAX + 4) * 11 + 64, "a record or sample must fit");
_Static_assert(ROOM_BYTES >= TEXT_MAX_BYTES, "a line must fit, newlines quoted");

static void write_out(const void *bytes, size_t size)
{
    if (out.error == 0 && !pt_agent_write(out.fd, bytes, size)) out.error = errno;
}

static void write_block(bool is_last)
{
    out.crc = pt_crc32(out.crc, out.bytes, out.held);
    out.size += (uint32_t)out.held;
    write_out(out.deflated,
              pt_deflate_block(&out.places, out.deflated, out.bytes, out.held, is_last));
}

static void flush_buffer(void)
{
    if (out.gzip)
        write_block(false);
    else
        write_out(out.bytes, out.held);
    out.held = 0;
}

bool pt_output_begin(const char *path, bool gzip)
{
    if (snprintf(out.name, sizeof out.name, "%s.%d.tmp", path, (int)pt_tick_getpid()) >=
        (int)sizeof out.name) {
        errno = ENAMETOOLONG;
        return false;
    }
    unlink(out.name); /* an earlier process with this pid, which was killed, may have left a file */
    out.fd = open(out.name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (out.fd < 0) return false;
    out.error = 0;
    out.held = 0;
    out.gzip = gzip;
    out.crc = out.size = 0;
    static const uint8_t gzip_header[] = {0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff};
    if (gzip) write_out(gzip_header, sizeof gzip_header);
    return true;
}

pt_wire_buf pt_output_buf(void)
{
    return pt_wire_buf_init(out.bytes + out.held, sizeof out.bytes - out.held);
}

bool pt_output_take(const pt_wire_buf *buf)
{
    const bool fits = pt_wire_buf_ok(buf);
    if (fits)
        out.held += buf->need_bytes;
    else
        flush_buffer();
    return fits;
}

static void end_member(void)
{
    uint8_t bytes[8];
    pt_wire_buf trailer = pt_wire_buf_init(bytes, sizeof bytes);
    write_block(true);
    pt_wire_put_uint(&trailer, out.crc, 4, false);
    pt_wire_put_uint(&trailer, out.size, 4, false);
    write_out(bytes, sizeof bytes);
}

void pt_output_abandon(void)
{
    close(out.fd);
    unlink(out.name);
}

bool pt_output_end(const char *path)
{
    if (out.gzip)
        end_member();
    else
        flush_buffer();
    if (close(out.fd) != 0 && out.error == 0) out.error = errno;
    if (out.error == 0 && rename(out.name, path) != 0) out.error = errno;
    if (out.error != 0) unlink(out.name);
    errno = out.error;
    return out.error == 0;
}
