/* compress.c: inflating and deflating with libdeflate, zlib and libzstd.
 *
 * libdeflate and ZSTD_decompressDCtx are fast but return no partial output. When they refuse a
 * member or frame, zlib or the zstd stream inflates it again, to keep the bytes before the damage
 * and to report the offset of the damage.
 */
#include "base/compress.h"

#include "base/memory.h"

#include <endian.h>
#include <inttypes.h>
#include <libdeflate.h>
#include <stdlib.h>
#include <zlib.h>
#include <zstd.h>

enum {
    GZIP_LEAST_BYTES = 18, /* header and trailer of an empty member: RFC 1952 section 2.3 */
    GZIP_HEADER_BYTES = 10,
    CHUNK_BYTES = 1024 * 1024, /* input of one task; 32 times deflate's window */
};

static const uint8_t gzip_magic[3] = {0x1f, 0x8b, 0x08};
static const uint8_t zstd_magic[4] = {0x28, 0xb5, 0x2f, 0xfd};

pt_compression pt_compression_of(const void *data, size_t size)
{
    if (size >= 3 && memcmp(data, gzip_magic, 3) == 0) return PT_GZIP;
    if (size >= 4 && memcmp(data, zstd_magic, 4) == 0) return PT_ZSTD;
    return PT_PLAIN;
}

const char *pt_compression_name(pt_compression compression)
{
    return compression == PT_GZIP ? "gzip" : compression == PT_ZSTD ? "zstd" : "none";
}

/* --- inflating --- */

struct inflating {
    const uint8_t *in;
    size_t in_size, in_pos;
    pt_blob out; /* reserved address space; out.size is its capacity */
    size_t out_pos;
    uint64_t max_bytes;
    bool whole_room; /* the capacity of out is the limit, or the largest size that data can inflate
                        to */
    pt_diag *diag;
    pt_error *reterr;
};

/* Reserves address space for the largest size that data can inflate to: 2 bits of deflate become at
 * most 258 bytes, and 4 bytes of zstd at most a block of 128 KiB. If the system refuses (ulimit
 * -v), the size is halved until the system grants it. */
static pt_status reserve_room(struct inflating *z, pt_compression compression)
{
    const uint64_t most_ratio = compression == PT_GZIP ? 1032 : 32768;
    uint64_t room;
    if (__builtin_mul_overflow((uint64_t)z->in_size + 64, most_ratio, &room)) room = UINT64_MAX;
    const uint64_t left = pt_memory_left();
    if (z->max_bytes > left) z->max_bytes = left;
    if (room > z->max_bytes) room = z->max_bytes;
    if (room > SIZE_MAX / 4) room = SIZE_MAX / 4;
    z->whole_room = true;
    pt_status status = PT_ERR_NOMEM;
    for (; status != PT_OK; room /= 2) {
        status = pt_blob_reserve((size_t)room, &z->out, z->reterr);
        if (status != PT_OK) z->whole_room = false;
        if (status != PT_OK && room < 1024 * 1024) return status;
    }
    return PT_OK;
}

static pt_status set_no_room(const struct inflating *z)
{
    if (!z->whole_room)
        return pt_error_set(
            z->reterr, PT_ERR_NOMEM,
            "inflates to more than the %zu bytes of memory that the system has left", z->out.size);
    return pt_error_set(z->reterr, PT_ERR_LIMIT,
                        "inflates to more than the limit of %" PRIu64 " bytes of memory%s",
                        z->max_bytes, pt_memory_hint());
}

static pt_status set_damaged(const struct inflating *z, const char *kind, const char *problem)
{
    pt_error_set(z->reterr, PT_ERR_DAMAGED,
                 "%s data %s at byte %zu of %zu; %zu bytes could be inflated", kind, problem,
                 z->in_pos, z->in_size, z->out_pos);
    pt_error_where(z->reterr, NULL, NULL, (int64_t)z->in_pos);
    return PT_ERR_DAMAGED;
}

/* The size of the next piece of a buffer with `left` bytes: zlib's sizes have only 32 bits. */
static uInt next_piece(size_t left)
{
    return left < 1u << 30 ? (uInt)left : 1u << 30;
}

/* Inflates a gzip member with zlib, which keeps the output before the damage. */
static pt_status salvage_member(struct inflating *z)
{
    z_stream stream = {0};
    if (inflateInit2(&stream, 16 + MAX_WBITS) != Z_OK)
        return pt_error_set(z->reterr, PT_ERR_NOMEM, "there is no memory left for zlib");
    int result = Z_OK;
    while (result == Z_OK) {
        const uInt in = next_piece(z->in_size - z->in_pos),
                   out = next_piece(z->out.size - z->out_pos);
        stream.next_in = (Bytef *)(uintptr_t)(z->in + z->in_pos);
        stream.avail_in = in;
        stream.next_out = pt_blob_bytes(&z->out) + z->out_pos;
        stream.avail_out = out;
        result = inflate(&stream, Z_NO_FLUSH);
        z->in_pos += in - stream.avail_in;
        z->out_pos += out - stream.avail_out;
        if (result == Z_OK && stream.avail_in == in && stream.avail_out == out)
            result = Z_BUF_ERROR;
    }
    const char *const message = stream.msg;
    PT_FREE char *problem = pt_strf("is damaged (%s)", message != NULL ? message : "unknown");
    inflateEnd(&stream);
    if (result == Z_STREAM_END) return PT_OK;
    if (result == Z_MEM_ERROR)
        return pt_error_set(z->reterr, PT_ERR_NOMEM, "there is no memory left for zlib");
    if (result != Z_BUF_ERROR) return set_damaged(z, "gzip", problem);
    if (z->out_pos == z->out.size && z->in_pos < z->in_size) return set_no_room(z);
    return set_damaged(z, "gzip", "ends too early");
}

static pt_status inflate_member(struct inflating *z, struct libdeflate_decompressor *d)
{
    size_t in = 0, out = 0;
    const enum libdeflate_result result = libdeflate_gzip_decompress_ex(
        d, z->in + z->in_pos, z->in_size - z->in_pos, pt_blob_bytes(&z->out) + z->out_pos,
        z->out.size - z->out_pos, &in, &out);
    if (result == LIBDEFLATE_INSUFFICIENT_SPACE) return set_no_room(z);
    if (result != LIBDEFLATE_SUCCESS) return salvage_member(z);
    z->in_pos += in;
    z->out_pos += out;
    return PT_OK;
}

static pt_status salvage_frame(struct inflating *z)
{
    ZSTD_DCtx *const d = ZSTD_createDCtx();
    if (d == NULL) return pt_error_set(z->reterr, PT_ERR_NOMEM, "there is no memory left for zstd");
    ZSTD_inBuffer in = {z->in, z->in_size, z->in_pos};
    ZSTD_outBuffer out = {pt_blob_bytes(&z->out), z->out.size, z->out_pos};
    size_t result;
    bool stuck;
    do {
        const size_t in_before = in.pos, out_before = out.pos;
        result = ZSTD_decompressStream(d, &out, &in);
        stuck = in.pos == in_before && out.pos == out_before;
    } while (result != 0 && !ZSTD_isError(result) && !stuck);
    z->in_pos = in.pos;
    z->out_pos = out.pos;
    ZSTD_freeDCtx(d);
    if (result == 0) return PT_OK;
    if (ZSTD_isError(result)) {
        PT_FREE char *problem = pt_strf("is damaged (%s)", ZSTD_getErrorName(result));
        return set_damaged(z, "zstd", problem);
    }
    return z->out_pos == z->out.size && z->in_pos < z->in_size
               ? set_no_room(z)
               : set_damaged(z, "zstd", "ends too early");
}

static pt_status inflate_frame(struct inflating *z, ZSTD_DCtx *d)
{
    const uint8_t *const from = z->in + z->in_pos;
    const size_t in = ZSTD_findFrameCompressedSize(from, z->in_size - z->in_pos);
    if (ZSTD_isError(in)) return salvage_frame(z);
    const size_t out = ZSTD_decompressDCtx(d, pt_blob_bytes(&z->out) + z->out_pos,
                                           z->out.size - z->out_pos, from, in);
    if (ZSTD_isError(out)) return salvage_frame(z);
    z->in_pos += in;
    z->out_pos += out;
    return PT_OK;
}

/* Does another member or frame begin here? */
static bool another_begins(const struct inflating *z, pt_compression compression)
{
    const uint8_t *const at = z->in + z->in_pos;
    const size_t left = z->in_size - z->in_pos;
    if (compression == PT_GZIP) return left >= 2 && memcmp(at, gzip_magic, 2) == 0;
    /* A frame, or a skippable frame 184D2A50 to 184D2A5F: RFC 8878 section 3.1.2. */
    return left >= 4 && (memcmp(at, zstd_magic, 4) == 0 ||
                         ((at[0] & 0xf0) == 0x50 && memcmp(at + 1, "\x2a\x4d\x18", 3) == 0));
}

static void note_garbage(const struct inflating *z, pt_compression compression)
{
    for (size_t i = z->in_pos; i < z->in_size; i++) {
        if (z->in[i] == 0) continue;
        pt_diag_add(z->diag, z->in_size - z->in_pos, "bytes after the %s data ignored",
                    pt_compression_name(compression));
        return;
    }
}

static pt_status inflate_all(struct inflating *z, pt_compression compression)
{
    struct libdeflate_decompressor *const deflate =
        compression == PT_GZIP ? libdeflate_alloc_decompressor() : NULL;
    ZSTD_DCtx *const zstd = compression == PT_ZSTD ? ZSTD_createDCtx() : NULL;
    if (deflate == NULL && zstd == NULL)
        return pt_error_set(z->reterr, PT_ERR_NOMEM, "%s has no memory",
                            pt_compression_name(compression));
    pt_status status = PT_OK;
    do {
        status = compression == PT_GZIP ? inflate_member(z, deflate) : inflate_frame(z, zstd);
    } while (status == PT_OK && another_begins(z, compression));
    if (status == PT_OK) note_garbage(z, compression);
    libdeflate_free_decompressor(deflate);
    ZSTD_freeDCtx(zstd);
    return status;
}

pt_status pt_inflate(const void *data, size_t size, uint64_t max_bytes, pt_blob *ret_blob,
                     pt_diag *diag, pt_error *reterr)
{
    const pt_compression compression = pt_compression_of(data, size);
    if (compression == PT_PLAIN)
        return pt_error_set(reterr, PT_ERR_FORMAT, "is not compressed with gzip or zstd");
    struct inflating z = {.in = data,
                          .in_size = size,
                          .out = PT_BLOB_INIT,
                          .max_bytes = max_bytes,
                          .diag = diag,
                          .reterr = reterr};
    pt_status status = reserve_room(&z, compression);
    if (status != PT_OK) return status;
    status = inflate_all(&z, compression);
    if (status == PT_OK || status == PT_ERR_DAMAGED) {
        const pt_status cut = pt_blob_resize(&z.out, z.out_pos, NULL);
        PT_BUG_IF(cut != PT_OK); /* shrinking a mapping cannot fail */
        *ret_blob = z.out;
        return status;
    }
    pt_blob_done(&z.out);
    return status;
}

pt_status pt_peel(pt_blob *blob, uint64_t max_bytes, pt_peeled *ret_peeled, pt_diag *diag,
                  pt_error *reterr)
{
    pt_peeled peeled = {.count = 0};
    pt_status status = PT_OK;
    while (status == PT_OK) {
        const pt_compression compression = pt_compression_of(blob->data, blob->size);
        if (compression == PT_PLAIN) break;
        if (peeled.count == PT_PEEL_MAX) {
            status = pt_error_set(
                reterr, PT_ERR_LIMIT,
                "holds compressed data within compressed data, more than %d levels deep",
                PT_PEEL_MAX);
            break;
        }
        pt_blob inner = PT_BLOB_INIT;
        status = pt_inflate(blob->data, blob->size, max_bytes, &inner, diag, reterr);
        if (!pt_blob_intact(blob)) {
            if (status == PT_OK) status = PT_ERR_DAMAGED;
            pt_error_set(reterr, status, PT_FILE_SHRANK);
        }
        if (status != PT_OK && status != PT_ERR_DAMAGED) break;
        peeled.layers[peeled.count++] = compression;
        pt_blob_done(blob);
        *blob = inner;
    }
    if (ret_peeled != NULL) *ret_peeled = peeled;
    return status;
}

/* Inflates the first bytes of a layer into to[0, room); their number is *ret_bytes. */
static pt_status inflate_head(pt_compression compression, const uint8_t *data, size_t size,
                              uint8_t *to, size_t room, size_t *ret_bytes, pt_error *reterr)
{
    struct inflating z = {
        .in = data,
        .in_size = size,
        .out = {.data = to, .size = room, .kind = PT_BLOB_ANONYMOUS, .guard_slot = -1},
        .max_bytes = room,
        .whole_room = true,
        .reterr = reterr};
    pt_status status;
    do {
        status = compression == PT_GZIP ? salvage_member(&z) : salvage_frame(&z);
    } while (status == PT_OK && z.out_pos < room && another_begins(&z, compression));
    *ret_bytes = z.out_pos;
    return status == PT_ERR_LIMIT ? PT_OK : status; /* the layer is longer than the head */
}

pt_status pt_peel_head(const void *data, size_t size, uint8_t *head, size_t room, size_t *ret_bytes,
                       pt_error *reterr)
{
    PT_FREE uint8_t *outer = pt_alloc(room, 1); /* the head of the enclosing layer */
    const uint8_t *at = data;
    bool is_cut = false;
    pt_status status = PT_OK;
    *ret_bytes = 0;
    for (int layers = 0; status == PT_OK; layers++) {
        const pt_compression compression = pt_compression_of(at, size);
        if (compression == PT_PLAIN) break;
        if (layers == PT_PEEL_MAX)
            return pt_error_set(
                reterr, PT_ERR_LIMIT,
                "holds compressed data within compressed data, more than %d levels deep",
                PT_PEEL_MAX);
        if (layers > 0) {
            memcpy(outer, head, size);
            at = outer;
            is_cut = size == room;
        }
        status = inflate_head(compression, at, size, head, room, ret_bytes, reterr);
        if (status == PT_ERR_DAMAGED && is_cut)
            status = PT_OK; /* caused by the shortened input, not by damage */
        at = head;
        size = *ret_bytes;
    }
    if (at == data) { /* not compressed at all */
        *ret_bytes = size < room ? size : room;
        if (*ret_bytes > 0) memcpy(head, data, *ret_bytes);
    }
    return status;
}

uint64_t pt_declared_bytes(const void *data, size_t size)
{
    const pt_compression compression = pt_compression_of(data, size);
    if (compression == PT_GZIP && size >= GZIP_LEAST_BYTES) {
        uint32_t last; /* ISIZE: RFC 1952 section 2.3.1 */
        memcpy(&last, (const uint8_t *)data + size - sizeof last, sizeof last);
        return le32toh(last);
    }
    if (compression != PT_ZSTD) return UINT64_MAX;
    const unsigned long long bytes = ZSTD_getFrameContentSize(data, size);
    return bytes < ZSTD_CONTENTSIZE_ERROR ? bytes : UINT64_MAX;
}

/* --- deflating --- */

/* Removes the final mark of a deflate stream, so that another stream can follow: only the last
 * block of a gzip member may have it. Clears the mark of the last block and adds an empty stored
 * block, which ends on a byte boundary (RFC 1951 section 3.2.4). Only decoding finds the start of
 * the last block; zlib can stop at block boundaries (Z_BLOCK). */
static pt_status unmark_final_block(uint8_t *deflated, size_t *size, pt_error *reterr)
{
    static _Thread_local uint8_t scratch[64 * 1024];
    z_stream stream = {.next_in = deflated, .avail_in = (uInt)*size};
    if (inflateInit2(&stream, -MAX_WBITS) != Z_OK)
        return pt_error_set(reterr, PT_ERR_NOMEM, "there is no memory left for zlib");
    size_t mark_bit = 0; /* bit offset of the current block's header */
    int result = Z_OK;
    while (result == Z_OK) {
        stream.next_out = scratch;
        stream.avail_out = sizeof scratch;
        result = inflate(&stream, Z_BLOCK);
        const bool at_block = stream.data_type & 128, last = stream.data_type & 64;
        const size_t bit = (*size - stream.avail_in) * 8 - (size_t)(stream.data_type & 31);
        if (at_block && !last) mark_bit = bit;
        if (at_block && last) {
            deflated[mark_bit / 8] &= (uint8_t) ~(1u << (mark_bit % 8));
            const size_t header_end = bit + 3; /* not final, type 00, then padding to a byte */
            const size_t at = (header_end + 7) / 8;
            if (at > *size) deflated[at - 1] = 0;
            memcpy(deflated + at, "\0\0\xff\xff", 4);
            *size = at + 4;
            inflateEnd(&stream);
            return PT_OK;
        }
    }
    pt_bug(__FILE__, __LINE__, "zlib cannot inflate libdeflate's output");
}

struct gzip_chunk {
    uint8_t *deflated;
    size_t size;
    uint32_t crc;
};

struct gzip_job {
    const uint8_t *data;
    size_t size, chunk_count;
    int level;
    struct libdeflate_compressor **compressors; /* one per worker, created on first use */
    uint32_t crc;
    pt_out *out;
};

static void drop_chunk(void *ctx, void *item)
{
    PT_FREE struct gzip_chunk *const chunk = item;
    free(chunk->deflated);
}

static pt_status deflate_chunk(void *ctx, unsigned worker, size_t index, void **ret_item,
                               pt_error *reterr)
{
    struct gzip_job *const job = ctx;
    if (job->compressors[worker] == NULL) {
        job->compressors[worker] = libdeflate_alloc_compressor(job->level);
        if (job->compressors[worker] == NULL)
            return pt_error_set(reterr, PT_ERR_NOMEM, "there is no memory left for libdeflate");
    }
    const bool last = index + 1 == job->chunk_count;
    const uint8_t *const plain = job->data + index * CHUNK_BYTES;
    const size_t plain_size = last ? job->size - index * CHUNK_BYTES : CHUNK_BYTES;
    struct gzip_chunk *const chunk = pt_alloc(1, sizeof *chunk);
    const size_t room = libdeflate_deflate_compress_bound(job->compressors[worker], plain_size);
    chunk->deflated = pt_realloc(NULL, room + 8, 1);
    chunk->size = libdeflate_deflate_compress(job->compressors[worker], plain, plain_size,
                                              chunk->deflated, room);
    PT_BUG_IF(chunk->size == 0);
    if (!last && unmark_final_block(chunk->deflated, &chunk->size, reterr) != PT_OK) {
        drop_chunk(ctx, chunk);
        return PT_ERR_NOMEM;
    }
    chunk->crc = libdeflate_crc32(0, plain, plain_size);
    *ret_item = chunk;
    return PT_OK;
}

static pt_status write_chunk(void *ctx, size_t index, void *item, pt_error *reterr)
{
    struct gzip_job *const job = ctx;
    const struct gzip_chunk *const chunk = item;
    const size_t plain_size =
        index + 1 == job->chunk_count ? job->size - index * CHUNK_BYTES : (size_t)CHUNK_BYTES;
    job->crc = (uint32_t)crc32_combine(job->crc, chunk->crc, (z_off_t)plain_size);
    pt_out_put(job->out, chunk->deflated, chunk->size);
    drop_chunk(job, item);
    return PT_OK;
}

void pt_gzip(const void *data, size_t size, int level, pt_pool *pool, pt_out *out)
{
    const unsigned workers = pt_pool_threads(pool);
    struct gzip_job job = {.data = data != NULL ? data : "",
                           .size = size,
                           .chunk_count = size > 0 ? (size + CHUNK_BYTES - 1) / CHUNK_BYTES : 1,
                           .level = level,
                           .compressors = pt_alloc(workers, sizeof *job.compressors),
                           .out = out};
    /* RFC 1952: deflate, no flags, no time, XFL 0, made on Unix. */
    pt_out_put(out, "\x1f\x8b\x08\0\0\0\0\0\0\x03", GZIP_HEADER_BYTES);
    const pt_ordered how = {
        .ctx = &job, .produce = deflate_chunk, .commit = write_chunk, .drop = drop_chunk};
    pt_error error = PT_ERROR_INIT;
    if (pt_pool_ordered(pool, job.chunk_count, &how, &error) != PT_OK && pt_out_ok(out))
        out->error = error;
    const uint32_t trailer[2] = {htole32(job.crc), htole32((uint32_t)size)};
    pt_out_put(out, trailer, sizeof trailer);
    for (unsigned i = 0; i < workers; i++)
        libdeflate_free_compressor(job.compressors[i]);
    free(job.compressors);
}

/* ---- zstd in pieces ---- */

struct pt_unzstd {
    ZSTD_DCtx *context;
};

pt_unzstd *pt_unzstd_new(void)
{
    pt_unzstd *const stream = pt_alloc(1, sizeof *stream);
    stream->context = ZSTD_createDCtx();
    return stream;
}

void pt_unzstd_free(pt_unzstd *stream)
{
    if (stream == NULL) return;
    ZSTD_freeDCtx(stream->context);
    free(stream);
}

pt_status pt_unzstd_next(pt_unzstd *stream, const void *data, size_t size, size_t *pos, void *to,
                         size_t room, size_t *ret_bytes, pt_error *reterr)
{
    if (stream->context == NULL)
        return pt_error_set(reterr, PT_ERR_NOMEM, "there is no memory left for zstd");
    ZSTD_inBuffer in = {data, size, *pos};
    ZSTD_outBuffer out = {to, room, 0};
    for (;;) {
        const size_t in_before = in.pos, out_before = out.pos;
        const size_t result = ZSTD_decompressStream(stream->context, &out, &in);
        if (ZSTD_isError(result))
            return pt_error_set(reterr, PT_ERR_DAMAGED, "the zstd stream is damaged (%s)",
                                ZSTD_getErrorName(result));
        if (out.pos == room || (in.pos == in_before && out.pos == out_before)) break;
    }
    *pos = in.pos;
    *ret_bytes = out.pos;
    return PT_OK;
}
