/* dwarf_section.c: finds the sections of DWARF in an ELF file and decompresses them.
 *
 *   .debug_info       plain, or SHF_COMPRESSED: Chdr { type, size, align } then zlib or zstd
 *   .zdebug_info      older GNU tools: "ZLIB", the size in 8 bytes big endian, then zlib
 *   .debug_info.dwo   either form, of a split unit
 *
 * A size in a header is accepted only if that many compressed bytes can produce it. The output is
 * address space that uses no memory until it is written. */
#include <elf.h>
#include <inttypes.h>
#include <libdeflate.h>
#include <string.h>
#include <zstd.h>

#include "base/memory.h"
#include "base/text.h"
#include "object/dwarf_int.h"

#ifndef ELFCOMPRESS_ZSTD
#define ELFCOMPRESS_ZSTD 2 /* gABI of 2022 */
#endif

enum {
    ZLIB_RATIO_MAX = 1032, /* a length of 258 in two bits (zlib's "Technical Details") */
    /* A block of 128 KiB of one repeated byte takes 4 bytes (RFC 8878, 3.1.1.2). */
    ZSTD_RATIO_MAX = 1 << 15,
    GNU_HEADER_BYTES = 12,
    /* Debug information shrinks to a half or a quarter; only small sections of one repeated byte
     * shrink further. Data of more than RATIO_FREE_BYTES with a higher ratio is not debug
     * information. */
    RATIO_MAX = 64,
    RATIO_FREE_BYTES = 64 << 20,
    MEMORY_SHARE = 2, /* limit relative to free memory: the reader's tables also need memory */
};
#define INFLATED_MAX (UINT64_C(16) << 30) /* of all sections of a file */

/* The part of each section's name after ".debug_". */
static const char *const names[PT_DWARF_SECTIONS] = {
    [PT_DWARF_INFO] = "info",         [PT_DWARF_ABBREV] = "abbrev",
    [PT_DWARF_STR] = "str",           [PT_DWARF_STR_OFFSETS] = "str_offsets",
    [PT_DWARF_LINE] = "line",         [PT_DWARF_LINE_STR] = "line_str",
    [PT_DWARF_ADDR] = "addr",         [PT_DWARF_RANGES] = "ranges",
    [PT_DWARF_RNGLISTS] = "rnglists", [PT_DWARF_CU_INDEX] = "cu_index",
};

typedef enum { PLAIN, ZLIB, ZSTD, UNKNOWN } packing;

typedef struct {
    pt_dwarf_bytes bytes; /* as in the file; of a compressed section, without the header */
    packing packing;
    uint64_t inflated_bytes;
} found_section;

/* The PT_DWARF_X of a name; ".debug_info", ".debug_info.dwo", ".zdebug_info" and ".zdebug_info.dwo"
 * are all PT_DWARF_INFO. */
static int section_of(const char *name, bool *ret_is_dwo, bool *ret_is_gnu)
{
    *ret_is_gnu = pt_begins(name, ".zdebug_");
    if (!*ret_is_gnu && !pt_begins(name, ".debug_")) return -1;
    name += *ret_is_gnu ? 8 : 7;
    const size_t n = strlen(name);
    *ret_is_dwo = n > 4 && strcmp(name + n - 4, ".dwo") == 0;
    const size_t stem = *ret_is_dwo ? n - 4 : n;
    for (int i = 0; i < PT_DWARF_SECTIONS; i++)
        if (strlen(names[i]) == stem && memcmp(names[i], name, stem) == 0) return i;
    return -1;
}

static void read_header(const pt_elf *elf, const pt_elf_section *s, bool is_gnu,
                        found_section *found)
{
    pt_dwarf_bytes *b = &found->bytes;
    pt_dwarf_cursor c = {b->data, b->data + b->size_bytes,
                         elf->is_big_endian != (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__)};
    if (is_gnu) {
        if (b->size_bytes < GNU_HEADER_BYTES || memcmp(b->data, "ZLIB", 4) != 0) return;
        c.pos += 4;
        c.swap = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__;
        found->packing = ZLIB;
        found->inflated_bytes = pt_dwarf_u64(&c);
    } else if ((s->flags & SHF_COMPRESSED) != 0) {
        const uint32_t type = pt_dwarf_u32(&c);
        if (elf->is_64) pt_dwarf_advance(&c, 4);
        found->inflated_bytes = elf->is_64 ? pt_dwarf_u64(&c) : pt_dwarf_u32(&c);
        pt_dwarf_advance(&c, elf->is_64 ? 8 : 4);
        found->packing = type == ELFCOMPRESS_ZLIB   ? ZLIB
                         : type == ELFCOMPRESS_ZSTD ? ZSTD
                                                    : UNKNOWN;
    }
    b->size_bytes = pt_dwarf_left(&c);
    b->data = c.pos;
}

/* Finds the sections. A split file has both kinds of names; its own sections are those with
 * ".dwo".
 */
static void find_sections(const pt_elf *elf, bool is_split, found_section *found)
{
    pt_elf_section s;
    for (uint32_t i = 0; pt_elf_section_at(elf, i, &s); i++) {
        bool is_dwo, is_gnu;
        const int which = section_of(s.name, &is_dwo, &is_gnu);
        if (which < 0 || found[which].bytes.data != NULL) continue;
        if (is_dwo != is_split && !(is_split && which == PT_DWARF_CU_INDEX)) continue;
        found[which].bytes.data = pt_elf_section_bytes(elf, &s, &found[which].bytes.size_bytes);
        if (found[which].bytes.data != NULL) read_header(elf, &s, is_gnu, &found[which]);
    }
}

/* ---- inflating ---- */

typedef struct {
    pt_dwarf_file *file;
    const found_section *found;
    const int *packed; /* the compressed sections, the largest first */
} inflation;

static bool is_plausible(const found_section *f)
{
    const uint64_t ratio = f->packing == ZLIB ? ZLIB_RATIO_MAX : ZSTD_RATIO_MAX;
    return f->inflated_bytes / ratio <= f->bytes.size_bytes;
}

/* Checks that the sum of the decompressed sizes is plausible and fits into memory. */
static pt_status check_sum(const found_section *found, const int *packed, size_t count,
                           pt_error *reterr)
{
    uint64_t sum = 0, packed_sum = 0, most = pt_memory_left() / MEMORY_SHARE;
    if (most > INFLATED_MAX) most = INFLATED_MAX;
    for (size_t i = 0; i < count; i++) {
        const found_section *const f = &found[packed[i]];
        packed_sum += f->bytes.size_bytes;
        if (__builtin_add_overflow(sum, f->inflated_bytes, &sum)) sum = UINT64_MAX;
    }
    if (sum > RATIO_FREE_BYTES && sum / RATIO_MAX > packed_sum)
        return pt_error_set(reterr, PT_ERR_DAMAGED,
                            "compressed debug information claims to grow more than %d times",
                            RATIO_MAX);
    if (sum > most)
        return pt_error_set(reterr, PT_ERR_LIMIT,
                            "debug information decompresses to %" PRIu64
                            " bytes, more than half of "
                            "the memory that is left%s",
                            sum, pt_memory_hint());
    return PT_OK;
}

static bool inflate_zlib(const found_section *f, uint8_t *out)
{
    struct libdeflate_decompressor *d = libdeflate_alloc_decompressor();
    if (d == NULL) return false;
    size_t got;
    const enum libdeflate_result result = libdeflate_zlib_decompress(
        d, f->bytes.data, f->bytes.size_bytes, out, f->inflated_bytes, &got);
    libdeflate_free_decompressor(d);
    return result == LIBDEFLATE_SUCCESS && got == f->inflated_bytes;
}

static pt_status inflate_section(pt_dwarf_file *file, const found_section *f, int which,
                                 pt_error *reterr)
{
    if (f->packing == UNKNOWN)
        return pt_error_set(reterr, PT_ERR_UNSUPPORTED,
                            ".debug_%s is compressed with neither zlib nor zstd", names[which]);
    pt_blob *blob = &file->inflated[which];
    bool done = is_plausible(f) && pt_blob_new(f->inflated_bytes, blob, NULL) == PT_OK;
    if (done && f->inflated_bytes > 0)
        done = f->packing == ZLIB
                   ? inflate_zlib(f, pt_blob_bytes(blob))
                   : ZSTD_decompress(pt_blob_bytes(blob), f->inflated_bytes, f->bytes.data,
                                     f->bytes.size_bytes) == f->inflated_bytes;
    if (!done)
        return pt_error_set(reterr, PT_ERR_DAMAGED, ".debug_%s cannot be decompressed",
                            names[which]);
    file->sections[which] = (pt_dwarf_bytes){blob->data, blob->size};
    return PT_OK;
}

static pt_status inflate_range(void *context, unsigned worker, size_t begin, size_t end,
                               pt_error *reterr)
{
    (void)worker;
    const inflation *all = context;
    for (size_t i = begin; i < end; i++) {
        const int which = all->packed[i];
        const pt_status status = inflate_section(all->file, &all->found[which], which, reterr);
        if (status != PT_OK) return status;
    }
    return PT_OK;
}

pt_status pt_dwarf_file_init(pt_dwarf_file *file, const pt_elf *elf, pt_pool *pool,
                             pt_error *reterr)
{
    found_section found[PT_DWARF_SECTIONS] = {0};
    int packed[PT_DWARF_SECTIONS];
    size_t packed_count = 0;
    file->swap = elf->is_big_endian != (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__);
    find_sections(elf, file->is_split, found);
    for (int i = 0; i < PT_DWARF_SECTIONS; i++) {
        file->inflated[i] = PT_BLOB_INIT;
        if (found[i].packing == PLAIN) {
            file->sections[i] = found[i].bytes;
            continue;
        }
        size_t at = packed_count++;
        for (; at > 0 && found[packed[at - 1]].inflated_bytes < found[i].inflated_bytes; at--)
            packed[at] = packed[at - 1];
        packed[at] = i;
    }
    inflation all = {file, found, packed};
    pt_status status = check_sum(found, packed, packed_count, reterr);
    if (status == PT_OK) status = pt_pool_for(pool, packed_count, 1, inflate_range, &all, reterr);
    for (int i = 0; i < PT_DWARF_SECTIONS; i++) {
        const pt_dwarf_bytes *b = &file->sections[i];
        const uint8_t *const zero = b->size_bytes > 0 ? memrchr(b->data, 0, b->size_bytes) : NULL;
        file->text_bytes[i] = zero != NULL ? (uint64_t)(zero - b->data) + 1 : 0;
    }
    return status;
}

void pt_dwarf_file_done(pt_dwarf_file *file)
{
    for (int i = 0; i < PT_DWARF_SECTIONS; i++)
        pt_blob_done(&file->inflated[i]);
    PT_FREE_ALL(file->units.items, file->by_id.items);
    pt_image_file_done(&file->image);
}

/* ---- reading ---- */

pt_dwarf_cursor pt_dwarf_cursor_at(const pt_dwarf_file *file, pt_dwarf_section section,
                                   uint64_t off, uint64_t end_off)
{
    const pt_dwarf_bytes *b = &file->sections[section];
    if (end_off > b->size_bytes) end_off = b->size_bytes;
    if (off > end_off || b->data == NULL) return pt_dwarf_no_bytes(file->swap);
    return (pt_dwarf_cursor){b->data + off, b->data + end_off, file->swap};
}

const char *pt_dwarf_string_at(const pt_dwarf_file *file, pt_dwarf_section section, uint64_t off)
{
    return off < file->text_bytes[section] ? (const char *)file->sections[section].data + off
                                           : NULL;
}
