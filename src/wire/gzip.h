/* gzip.h: CRC-32, for writers of gzip members.
 *
 *   | 1f 8b 08 00 | time 0 | 00 ff | blocks (deflate.h) | crc32 | size mod 2^32 |     RFC 1952
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* CRC-32 of RFC 1952 (reflected 0xedb88320). Start with crc 0. To continue, pass the result of
 * the bytes before. */
uint32_t pt_crc32(uint32_t crc, const void *bytes, size_t size);
