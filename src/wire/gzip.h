/* gzip.h: CRC-32 and gzip members made of stored blocks, for a writer that has no compressor.
 *
 *   | 1f 8b 08 00 | time 0 | 00 ff | block ... | crc32 | size mod 2^32 |     RFC 1952
 *   block  | last? | length u16 | ~length u16 | at most 65,535 bytes |        RFC 1951, 3.2.4
 */
#ifndef PT_WIRE_GZIP_H
#define PT_WIRE_GZIP_H

#include "wire/buf.h"

/* CRC-32 of RFC 1952 (reflected 0xedb88320). Start with crc 0; feed the result back to go on. */
uint32_t pt_crc32(uint32_t crc, const void *bytes, size_t size);

/* Bytes that a member holding size bytes takes. */
size_t pt_gzip_stored_bytes(size_t size);

/* One whole member. */
void pt_gzip_stored(pt_wire_buf *buf, const void *bytes, size_t size);

#endif
