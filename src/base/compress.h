/* compress.h: gzip (RFC 1952) and zstd (RFC 8878), a whole buffer at a time.
 *
 * Inflating does not need the output size in advance: the output goes to reserved address space,
 * which uses memory only where bytes are written, and is cut to the output's size at the end.
 * max_bytes bounds the output. Size fields in the compressed data are checked, never trusted.
 */
#pragma once

#include "base/buf.h"
#include "base/file.h"
#include "base/pool.h"

typedef enum { PT_PLAIN, PT_GZIP, PT_ZSTD } pt_compression;

/* The compression, by the first bytes: 1f 8b 08 is gzip, 28 b5 2f fd is zstd. */
pt_compression pt_compression_of(const void *data, size_t size);
/* "gzip", "zstd"; "none" for PT_PLAIN. */
const char *pt_compression_name(pt_compression compression);

/* Inflates one layer: all gzip members or zstd frames of data, one after the other. Zero bytes
 * after the last are ignored; other trailing bytes are counted in diag (may be NULL).
 *   PT_OK            *ret_blob holds the contents
 *   PT_ERR_DAMAGED   truncated or corrupt: *ret_blob holds the bytes before the damage (maybe
 *                    none); the error has the offset of the damage in data
 *   PT_ERR_LIMIT     the output exceeds max_bytes; *ret_blob is untouched
 *   PT_ERR_NOMEM     the system has no memory left; *ret_blob is untouched
 *   PT_ERR_FORMAT    neither gzip nor zstd; *ret_blob is untouched */
pt_status pt_inflate(const void *data, size_t size, uint64_t max_bytes, pt_blob *ret_blob,
                     pt_diag *diag, pt_error *reterr);

enum { PT_PEEL_MAX = 4 };

/* The layers that pt_peel removed, outermost first. */
typedef struct pt_peeled {
    pt_compression layers[PT_PEEL_MAX];
    unsigned count;
} pt_peeled;

/* Inflates *blob layer by layer until it is not compressed; a plain blob stays unchanged. More than
 * PT_PEEL_MAX layers are PT_ERR_LIMIT. On PT_ERR_DAMAGED *blob holds the contents of the first
 * damaged layer up to the damage; these are not peeled further. On other failures *blob holds the
 * layer that failed. *ret_peeled (may be NULL) is filled in every case. */
pt_status pt_peel(pt_blob *blob, uint64_t max_bytes, pt_peeled *ret_peeled, pt_diag *diag,
                  pt_error *reterr);

/* Stores in head the first bytes (at most `room`) of the contents that pt_peel(data) would give.
 * Each layer on the way is inflated to at most room bytes as well. PT_OK: more bytes may follow.
 * PT_ERR_DAMAGED, PT_ERR_LIMIT and PT_ERR_NOMEM are as in pt_peel. head[0, *ret_bytes) is filled in
 * every case. */
pt_status pt_peel_head(const void *data, size_t size, uint8_t *head, size_t room, size_t *ret_bytes,
                       pt_error *reterr);

/* The inflated size that the data declares, if it is a single member or frame; UINT64_MAX if it
 * declares none. gzip declares the size modulo 2^32. */
uint64_t pt_declared_bytes(const void *data, size_t size);

/* Decompressor of a zstd stream that arrives in pieces, as in the compressed records of perf.data.
 */
typedef struct pt_unzstd pt_unzstd;
/* Creates a decompressor; the caller frees it with pt_unzstd_free. */
pt_unzstd *pt_unzstd_new(void);
void pt_unzstd_free(pt_unzstd *stream); /* accepts NULL */
/* Inflates data[*pos, size) into to[0, room) and advances *pos; *ret_bytes is the number of bytes
 * written. The caller repeats the call until *pos is size and *ret_bytes is less than room.
 * PT_ERR_DAMAGED if the data is not zstd. */
pt_status pt_unzstd_next(pt_unzstd *stream, const void *data, size_t size, size_t *pos, void *to,
                         size_t room, size_t *ret_bytes, pt_error *reterr);

enum { PT_GZIP_LEVEL = 6 };

/* Writes data as one gzip member without name and time, at level 1 (fast) to 12 (small). Large data
 * is compressed in blocks on the pool's threads (NULL: on the calling thread). The bytes do not
 * depend on the number of threads. Failures are recorded in out. */
void pt_gzip(const void *data, size_t size, int level, pt_pool *pool, pt_out *out);
