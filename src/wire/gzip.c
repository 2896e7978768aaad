/* gzip.c: CRC-32 and gzip members made of stored blocks. */
#include "wire/gzip.h"

enum { STORED_MAX = 65535, HEADER_BYTES = 10, BLOCK_BYTES = 5, TRAILER_BYTES = 8 };

/* Four bits at a time: sixteen entries that can be checked by eye beat a generated table, and
 * nothing that uses this is in a hurry. Entry i is the CRC of the four bits i. */
static const uint32_t nibble_crc[16] = {
    0x00000000, 0x1db71064, 0x3b6e20c8, 0x26d930ac, 0x76dc4190, 0x6b6b51f4, 0x4db26158, 0x5005713c,
    0xedb88320, 0xf00f9344, 0xd6d6a3e8, 0xcb61b38c, 0x9b64c2b0, 0x86d3d2d4, 0xa00ae278, 0xbdbdf21c,
};

uint32_t pt_crc32(uint32_t crc, const void *bytes, size_t size)
{
    const uint8_t *at = bytes;
    crc = ~crc;
    for (size_t i = 0; i < size; i++) {
        crc ^= at[i];
        crc = crc >> 4 ^ nibble_crc[crc & 15];
        crc = crc >> 4 ^ nibble_crc[crc & 15];
    }
    return ~crc;
}

size_t pt_gzip_stored_bytes(size_t size)
{
    const size_t blocks = size == 0 ? 1 : (size - 1) / STORED_MAX + 1;
    return HEADER_BYTES + blocks * BLOCK_BYTES + size + TRAILER_BYTES;
}

void pt_gzip_stored(pt_wire_buf *buf, const void *bytes, size_t size)
{
    static const uint8_t header[HEADER_BYTES] = {0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff};
    const uint8_t *at = bytes;
    size_t left = size;
    pt_wire_put(buf, header, sizeof header);
    do {
        const size_t length = left < STORED_MAX ? left : STORED_MAX;
        pt_wire_put_byte(buf, left == length); /* last block; type 00 */
        pt_wire_put_uint(buf, length, 2, false);
        pt_wire_put_uint(buf, ~length & 0xffff, 2, false);
        pt_wire_put(buf, at, length);
        at += length;
        left -= length;
    } while (left > 0);
    pt_wire_put_uint(buf, pt_crc32(0, bytes, size), 4, false);
    pt_wire_put_uint(buf, size & UINT32_MAX, 4, false);
}
