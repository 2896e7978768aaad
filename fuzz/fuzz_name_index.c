/* fuzz_name_index.c: bytes taken for a file of kept names, and everything asked of it. The header's
 * and the blocks' checksums are made right first, or nothing would be looked at. */
#include <libdeflate.h>
#include <stdlib.h>
#include <string.h>

#include "source/name_index.h"

enum { HEADER_BYTES = 80, STRING_BYTES_AT = 56, COUNTS_AT = 64, CRC_AT = 76, BLOCK = 4096 };

static volatile uint64_t kept;

/* Puts the size and the checksums in, where the counts leave room for them. */
static void make_right(uint8_t *bytes, uint64_t size_bytes)
{
    uint64_t string_bytes;
    uint32_t count[3];
    memcpy(bytes + STRING_BYTES_AT - 8, &size_bytes, 8);
    memcpy(&string_bytes, bytes + STRING_BYTES_AT, 8);
    memcpy(count, bytes + COUNTS_AT, sizeof count);
    if (string_bytes > size_bytes) return;
    const uint64_t body_bytes = (uint64_t)count[0] * 28 + 4 + (uint64_t)count[1] * 12 +
                                (uint64_t)count[2] * 28 + string_bytes;
    const uint64_t checks = (body_bytes + BLOCK - 1) / BLOCK;
    const uint64_t body = (HEADER_BYTES + checks * 4 + 7) & ~UINT64_C(7);
    if (body + body_bytes != size_bytes) return;
    for (uint64_t i = 0; i < checks; i++) {
        const uint64_t left = body_bytes - i * BLOCK;
        const uint32_t crc =
            libdeflate_crc32(0, bytes + body + i * BLOCK, left < BLOCK ? left : BLOCK);
        memcpy(bytes + HEADER_BYTES + i * 4, &crc, 4);
    }
    memset(bytes + CRC_AT, 0, 4);
    const uint32_t crc = libdeflate_crc32(0, bytes, HEADER_BYTES + checks * 4);
    memcpy(bytes + CRC_AT, &crc, 4);
}

static void ask(pt_name_index *x)
{
    pt_name_row row;
    pt_name_text text;
    for (uint64_t address = 0; address < 64; address++)
        kept += pt_name_index_find(x, address);
    for (uint32_t i = 0; i < x->address_count && i < 1000 && pt_name_index_row(x, i, &row); i++)
        for (uint32_t k = 0; k < row.frame_count && k < 100; k++)
            if (pt_name_index_function(x, row.frames[k].function, &text))
                kept += strlen(text.linkage_name) + strlen(text.file);
    kept += pt_name_index_verify(x);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    pt_name_index x;
    uint8_t *copy = malloc(size + 1);
    memcpy(copy, data, size);
    if (pt_name_index_parse(copy, size, "fuzz", &x, NULL) == PT_OK) {
        ask(&x);
        pt_name_index_done(&x);
    }
    if (size >= HEADER_BYTES) {
        make_right(copy, size);
        if (pt_name_index_parse(copy, size, "fuzz", &x, NULL) == PT_OK) {
            ask(&x);
            pt_name_index_done(&x);
        }
    }
    free(copy);
    return 0;
}
