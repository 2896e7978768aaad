/* compress.h: gzip (RFC 1952) and zstd (RFC 8878), whole buffers at a time.
 *
 * Inflating needs no guess about the size: the output is address space that becomes memory as it is
 * written and is cut to size at the end. What bounds it is max_bytes. The size fields in the data
 * are checked, never trusted.
 */
#ifndef PT_BASE_COMPRESS_H
#define PT_BASE_COMPRESS_H

#include "base/buf.h"
#include "base/file.h"
#include "base/pool.h"

typedef enum { PT_PLAIN, PT_GZIP, PT_ZSTD } pt_compression;

/* By the first bytes: 1f 8b 08, or 28 b5 2f fd. */
pt_compression pt_compression_of(const void *data, size_t size);
/* "gzip", "zstd"; "none" for PT_PLAIN. */
const char *pt_compression_name(pt_compression compression);

/* Undoes one layer: all gzip members or zstd frames of data, one after the other. Zero padding
 * behind them is ignored, other bytes are counted in diag (may be NULL).
 *   PT_OK            *ret_blob holds the contents
 *   PT_ERR_DAMAGED   cut short or corrupt: *ret_blob holds what could be inflated (maybe nothing),
 *                    the error says at which byte of data it ends
 *   PT_ERR_LIMIT     more than max_bytes; nothing is kept
 *   PT_ERR_NOMEM     the system has no room; nothing is kept
 *   PT_ERR_FORMAT    not compressed with anything we know; nothing is kept */
pt_status pt_inflate(const void *data, size_t size, uint64_t max_bytes, pt_blob *ret_blob,
                     pt_diag *diag, pt_error *reterr);

enum { PT_PEEL_MAX = 4 };

/* The layers that were taken off, outermost first. */
typedef struct pt_peeled {
    pt_compression layers[PT_PEEL_MAX];
    unsigned count;
} pt_peeled;

/* Replaces *blob by what is inside, layer by layer, until it is not compressed; a plain blob stays
 * as it is. More than PT_PEEL_MAX layers are PT_ERR_LIMIT. On PT_ERR_DAMAGED *blob is what could be
 * inflated of the first damaged layer (and is not peeled further); on other failures *blob is the
 * layer that failed. *ret_peeled (may be NULL) is filled in every case. */
pt_status pt_peel(pt_blob *blob, uint64_t max_bytes, pt_peeled *ret_peeled, pt_diag *diag,
                  pt_error *reterr);

/* The first bytes of what pt_peel would leave of data: at most room, which is the same for every
 * layer on the way. PT_OK: there may be more; PT_ERR_DAMAGED, PT_ERR_LIMIT, PT_ERR_NOMEM as
 * pt_peel. head is filled as far as *ret_bytes says in every case. */
pt_status pt_peel_head(const void *data, size_t size, uint8_t *head, size_t room, size_t *ret_bytes,
                       pt_error *reterr);

/* What the compressed data says that it inflates to, if that is one member or frame; UINT64_MAX:
 * nothing. gzip tells the size modulo 2^32. */
uint64_t pt_declared_bytes(const void *data, size_t size);

/* One zstd stream that comes in pieces, as the compressed records of perf.data. */
typedef struct pt_unzstd pt_unzstd;
pt_unzstd *pt_unzstd_new(void);
void pt_unzstd_free(pt_unzstd *stream); /* accepts NULL */
/* Inflates data[*pos, size) into to[0, room), as far as there is room; moves *pos on. Done with the
 * piece when *pos is size and *ret_bytes less than room. PT_ERR_DAMAGED when it is no zstd. */
pt_status pt_unzstd_next(pt_unzstd *stream, const void *data, size_t size, size_t *pos, void *to,
                         size_t room, size_t *ret_bytes, pt_error *reterr);

enum { PT_GZIP_LEVEL = 6 };

/* Writes data as one gzip member of level 1 (fast) to 12 (small), without name and time. Large data
 * is compressed in blocks on the pool's threads (NULL: inline); the bytes are the same for any
 * number of threads. Failures are out's. */
void pt_gzip(const void *data, size_t size, int level, pt_pool *pool, pt_out *out);

#endif
