/* name_index.c: see name_index.h. */
#include "source/name_index.h"

#include <libdeflate.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/grow.h"
#include "base/hash.h"
#include "base/index.h"
#include "base/kept.h"

#define VERSION      1 /* of the layout and of the meaning of its content */
#define KEYS_VERSION 2 /* version 1: the build id alone */
#define ORDER        UINT32_C(0x01020304)
#define STAMP_BYTES  32
#define BLOCK_BYTES  4096

static const char magic[8] = "ptnames";

typedef struct {
    char magic[8];
    uint32_t order, version;
    char stamp[STAMP_BYTES];
    uint64_t file_bytes, string_bytes;
    uint32_t address_count, frame_count, function_count;
    uint32_t crc; /* of the header, with zero in this field, and of the checks */
} header;

/* ---- layout ---- */

typedef struct {
    uint64_t check_count, body; /* offset of the body in the file */
    uint64_t address, symbol, first, frame, function, string, body_bytes; /* offsets in the body */
} layout;

/* Sums cannot wrap: each count is below 2^32, and string_bytes is at most a file's size. */
static layout layout_of(const header *h)
{
    layout at = {.address = 0};
    at.symbol = at.address + (uint64_t)h->address_count * sizeof(uint64_t);
    at.first = at.symbol + (uint64_t)h->address_count * sizeof(pt_name_symbol);
    at.frame = at.first + ((uint64_t)h->address_count + 1) * sizeof(uint32_t);
    at.function = at.frame + (uint64_t)h->frame_count * sizeof(pt_name_frame);
    at.string = at.function + (uint64_t)h->function_count * sizeof(pt_name_function);
    at.body_bytes = at.string + h->string_bytes;
    at.check_count = (at.body_bytes + BLOCK_BYTES - 1) / BLOCK_BYTES;
    at.body = (sizeof *h + at.check_count * sizeof(uint32_t) + 7) & ~UINT64_C(7);
    return at;
}

static uint32_t header_crc(const header *h, const void *checks, uint64_t check_count)
{
    header blank = *h;
    blank.crc = 0;
    const uint32_t crc = libdeflate_crc32(0, &blank, sizeof blank);
    return libdeflate_crc32(crc, checks, check_count * sizeof(uint32_t));
}

static uint32_t block_crc(const uint8_t *body, uint64_t body_bytes, uint64_t block)
{
    const uint64_t at = block * BLOCK_BYTES, left = body_bytes - at;
    return libdeflate_crc32(0, body + at, left < BLOCK_BYTES ? left : BLOCK_BYTES);
}

static void set_stamp(char stamp[STAMP_BYTES], const char *text)
{
    memset(stamp, 0, STAMP_BYTES);
    if (text != NULL) memcpy(stamp, text, strnlen(text, STAMP_BYTES - 1));
}

/* ---- reading ---- */

pt_status pt_name_index_parse(const void *bytes, size_t size_bytes, const char *stamp,
                              pt_name_index *ret_index, pt_error *reterr)
{
    header h;
    char wanted[STAMP_BYTES];
    if (size_bytes < sizeof h || (uintptr_t)bytes % sizeof(uint64_t) != 0)
        return pt_error_set(reterr, PT_ERR_DAMAGED, "is too short for an index of names");
    memcpy(&h, bytes, sizeof h);
    set_stamp(wanted, stamp);
    if (memcmp(h.magic, magic, sizeof magic) != 0 || h.order != ORDER || h.version != VERSION ||
        memcmp(h.stamp, wanted, sizeof wanted) != 0)
        return pt_error_set(reterr, PT_ERR_FORMAT, "is not an index of names of this version");
    if (h.file_bytes != size_bytes || h.string_bytes == 0 || h.string_bytes > size_bytes)
        return pt_error_set(reterr, PT_ERR_DAMAGED,
                            "has %zu bytes, but its header implies another size", size_bytes);
    const layout at = layout_of(&h);
    const uint8_t *base = bytes;
    if (at.body + at.body_bytes != size_bytes)
        return pt_error_set(reterr, PT_ERR_DAMAGED,
                            "has %zu bytes, but its header implies another size", size_bytes);
    if (header_crc(&h, base + sizeof h, at.check_count) != h.crc)
        return pt_error_set(reterr, PT_ERR_DAMAGED, "has a wrong checksum");
    *ret_index = (pt_name_index){
        .blob = PT_BLOB_INIT,
        .address_count = h.address_count,
        .frame_count = h.frame_count,
        .function_count = h.function_count,
        .string_bytes = h.string_bytes,
        .body = base + at.body,
        .body_bytes = at.body_bytes,
        .crc = (const uint32_t *)(const void *)(base + sizeof h),
        .checked = pt_alloc(at.check_count / 8 + 1, 1),
        .address_off = at.address,
        .symbol_off = at.symbol,
        .first_off = at.first,
        .frame_off = at.frame,
        .function_off = at.function,
        .string_off = at.string,
    };
    return PT_OK;
}

static void *mark_damaged(pt_name_index *x)
{
    x->is_broken = true;
    return NULL;
}

/* Bytes [off, off + size_bytes) of the body, which must lie in it; checks the checksums of their
 * blocks. NULL: damaged. */
static const void *bytes_at(pt_name_index *x, uint64_t off, uint64_t size_bytes)
{
    if (x->is_broken || size_bytes == 0) return x->is_broken ? NULL : x->body + off;
    for (uint64_t b = off / BLOCK_BYTES; b <= (off + size_bytes - 1) / BLOCK_BYTES; b++) {
        if (x->checked[b / 8] >> (b % 8) & 1) continue;
        if (block_crc(x->body, x->body_bytes, b) != x->crc[b]) return mark_damaged(x);
        x->checked[b / 8] |= (uint8_t)(1u << (b % 8));
    }
    return x->body + off;
}

uint32_t pt_name_index_find(pt_name_index *x, uint64_t address)
{
    uint32_t low = 0, high = x->address_count;
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        const uint64_t *at =
            bytes_at(x, x->address_off + (uint64_t)middle * sizeof *at, sizeof *at);
        if (at == NULL) return PT_NONE;
        if (*at == address) return middle;
        if (*at < address)
            low = middle + 1;
        else
            high = middle;
    }
    return PT_NONE;
}

bool pt_name_index_row(pt_name_index *x, uint32_t row, pt_name_row *ret_row)
{
    const uint64_t *address =
        bytes_at(x, x->address_off + (uint64_t)row * sizeof *address, sizeof *address);
    const pt_name_symbol *symbol =
        bytes_at(x, x->symbol_off + (uint64_t)row * sizeof *symbol, sizeof *symbol);
    const uint32_t *first =
        bytes_at(x, x->first_off + (uint64_t)row * sizeof *first, 2 * sizeof *first);
    if (address == NULL || symbol == NULL || first == NULL) return false;
    if (first[0] > first[1] || first[1] > x->frame_count) return mark_damaged(x) != NULL;
    const uint32_t count = first[1] - first[0];
    const pt_name_frame *frames = bytes_at(x, x->frame_off + (uint64_t)first[0] * sizeof *frames,
                                           (uint64_t)count * sizeof *frames);
    if (frames == NULL) return false;
    for (uint32_t i = 0; i < count; i++)
        if (frames[i].function >= x->function_count) return mark_damaged(x) != NULL;
    *ret_row = (pt_name_row){*address, *symbol, frames, count};
    return true;
}

/* The string at an offset, or NULL. It may span blocks. */
static const char *text_at(pt_name_index *x, uint32_t string)
{
    for (uint64_t at = string, size_bytes; at < x->string_bytes; at += size_bytes) {
        const uint64_t off = x->string_off + at, left = x->string_bytes - at;
        size_bytes = BLOCK_BYTES - off % BLOCK_BYTES;
        if (size_bytes > left) size_bytes = left;
        const char *text = bytes_at(x, off, size_bytes);
        if (text == NULL) return NULL;
        if (memchr(text, '\0', size_bytes) != NULL)
            return (const char *)x->body + x->string_off + string;
    }
    return mark_damaged(x);
}

bool pt_name_index_function(pt_name_index *x, uint32_t function, pt_name_text *ret_text)
{
    const pt_name_function *f =
        bytes_at(x, x->function_off + (uint64_t)function * sizeof *f, sizeof *f);
    if (f == NULL) return false;
    pt_name_text text = {.linkage_name = text_at(x, f->linkage_name),
                         .name = text_at(x, f->name),
                         .file = text_at(x, f->file),
                         .start_line = f->start_line};
    for (int m = 0; m < PT_NAME_MODES; m++)
        text.readable[m] = f->readable[m] != 0 ? text_at(x, f->readable[m]) : NULL;
    if (x->is_broken) return false;
    *ret_text = text;
    return true;
}

bool pt_name_index_verify(pt_name_index *x)
{
    pt_name_row row;
    pt_name_text text;
    uint64_t last = 0;
    for (uint32_t i = 0; i < x->address_count && pt_name_index_row(x, i, &row); i++) {
        if (i > 0 && row.address <= last) mark_damaged(x);
        last = row.address;
    }
    for (uint32_t i = 0; i < x->function_count && pt_name_index_function(x, i, &text); i++) {
    }
    return !x->is_broken;
}

void pt_name_index_done(pt_name_index *index)
{
    pt_blob_done(&index->blob);
    free(index->checked);
    *index = PT_NAME_INDEX_INIT;
}

/* ---- writing ---- */

/* A string table under construction, each string once. */
typedef struct {
    pt_buf bytes;
    pt_index index; /* rows of .at */
    PT_VECTOR(uint32_t) at;
    bool is_full; /* the table exceeds the range of offsets */
} strings;

static uint32_t string_of(strings *s, const char *text)
{
    const size_t length = strlen(text);
    const uint64_t hash = pt_hash_bytes(text, length);
    const uint32_t known = PT_INDEX_FIND(
        &s->index, hash, i, strcmp((const char *)s->bytes.data + s->at.items[i], text) == 0);
    if (known != PT_NONE) return s->at.items[known];
    if (s->bytes.size + length + 1 > UINT32_MAX) {
        s->is_full = true;
        return 0;
    }
    const uint32_t offset = (uint32_t)s->bytes.size;
    PT_INDEX_PUSH(&s->index, hash, s->at, offset);
    pt_put(&s->bytes, text, length + 1);
    return offset;
}

static pt_name_function packed_function(strings *s, const pt_name_text *f)
{
    pt_name_function row = {.linkage_name = string_of(s, f->linkage_name),
                            .name = string_of(s, f->name),
                            .file = string_of(s, f->file),
                            .start_line = f->start_line};
    for (int m = 0; m < PT_NAME_MODES; m++)
        row.readable[m] = f->readable[m] != NULL ? string_of(s, f->readable[m]) : 0;
    return row;
}

pt_status pt_name_index_put(pt_buf *buf, const pt_name_columns *c, const char *stamp,
                            pt_error *reterr)
{
    strings s = {.bytes = PT_BUF_INIT};
    pt_index_init(&s.index);
    string_of(&s, "");
    PT_FREE pt_name_function *functions = pt_alloc(c->function_count + 1, sizeof *functions);
    for (size_t i = 0; i < c->function_count; i++)
        functions[i] = packed_function(&s, &c->function[i]);
    pt_status status = PT_OK;
    if (s.is_full || c->address_count >= UINT32_MAX || c->frame_count >= UINT32_MAX) {
        status = pt_error_set(reterr, PT_ERR_LIMIT, "the names do not fit into an index");
    } else {
        header h = {.order = ORDER,
                    .version = VERSION,
                    .string_bytes = s.bytes.size,
                    .address_count = (uint32_t)c->address_count,
                    .frame_count = (uint32_t)c->frame_count,
                    .function_count = (uint32_t)c->function_count};
        memcpy(h.magic, magic, sizeof magic);
        set_stamp(h.stamp, stamp);
        const layout at = layout_of(&h);
        h.file_bytes = at.body + at.body_bytes;
        const size_t start = buf->size;
        memset(pt_buf_extend(buf, at.body), 0, at.body);
        pt_buf_reserve(buf, at.body_bytes);
        pt_put(buf, c->address, c->address_count * sizeof *c->address);
        pt_put(buf, c->symbol, c->address_count * sizeof *c->symbol);
        pt_put(buf, c->first, (c->address_count + 1) * sizeof *c->first);
        pt_put(buf, c->frame, c->frame_count * sizeof *c->frame);
        pt_put(buf, functions, c->function_count * sizeof *functions);
        pt_put(buf, s.bytes.data, s.bytes.size);
        uint8_t *checks = buf->data + start + sizeof h;
        for (uint64_t i = 0; i < at.check_count; i++) {
            const uint32_t crc = block_crc(buf->data + start + at.body, at.body_bytes, i);
            memcpy(checks + i * sizeof crc, &crc, sizeof crc);
        }
        h.crc = header_crc(&h, checks, at.check_count);
        memcpy(buf->data + start, &h, sizeof h);
    }
    pt_buf_done(&s.bytes);
    pt_index_done(&s.index);
    free(s.at.items);
    return status;
}

/* ---- the folder ---- */

char *pt_name_index_key(const pt_elf *elf, int fd)
{
    enum { ID_BYTES_MAX = 64 };
    char hex[2 * ID_BYTES_MAX + 1];
    struct stat st;
    if (fd < 0 || fstat(fd, &st) != 0) return NULL;
    const bool has_id = pt_elf_id_hex(pt_elf_build_id(elf), hex, sizeof hex) > 0;
    return pt_kept_key(has_id ? hex : "file", &st);
}

static pt_kept_folder kept_of(const pt_name_cache *cache)
{
    return (pt_kept_folder){.path = cache->folder,
                            .suffix = ".names",
                            .version = KEYS_VERSION,
                            .max_bytes =
                                cache->max_bytes != 0 ? cache->max_bytes : PT_NAME_CACHE_BYTES};
}

pt_status pt_name_index_open(const pt_name_cache *cache, const char *key, pt_name_index *ret_index,
                             pt_error *reterr)
{
    const pt_kept_folder kept = kept_of(cache);
    pt_blob blob = PT_BLOB_INIT;
    pt_status status = pt_kept_open(&kept, key, &blob, reterr);
    if (status != PT_OK) return status;
    status = pt_name_index_parse(blob.data, blob.size, cache->stamp, ret_index, reterr);
    if (status != PT_OK) {
        if (reterr != NULL) pt_error_where(reterr, key, NULL, -1);
        pt_blob_done(&blob);
        return status;
    }
    ret_index->blob = blob;
    return PT_OK;
}

pt_status pt_name_index_save(const pt_name_cache *cache, const char *key,
                             const pt_name_columns *columns, pt_error *reterr)
{
    const pt_kept_folder kept = kept_of(cache);
    PT_AUTO(pt_buf) bytes = PT_BUF_INIT;
    pt_status status = pt_name_index_put(&bytes, columns, cache->stamp, reterr);
    if (status == PT_OK) status = pt_kept_save(&kept, key, bytes.data, bytes.size, reterr);
    return status;
}

void pt_name_cache_look(const pt_name_cache *cache, bool clear, pt_name_cache_facts *ret_facts)
{
    const pt_kept_folder kept = kept_of(cache);
    pt_kept_measure(&kept, clear, &ret_facts->file_count, &ret_facts->file_bytes);
}
