/* kept.h: a folder of files that can be made again, one a key, bounded: a cache on disk.
 *
 *   FOLDER/KEY.VERSION SUFFIX     appears under its name complete (rename), so that readers and
 * writers need no locks; of two writers the later one wins
 *
 * Only what belongs to this user, and nobody else may write to, is read. What was used least
 * recently is removed when all together are larger than allowed. What is in a file is its reader's
 * to check: it may have been damaged.
 */
#ifndef PT_BASE_KEPT_H
#define PT_BASE_KEPT_H

#include <sys/stat.h>

#include "base/file.h"

typedef struct pt_kept_folder {
    const char *path;   /* absolute; made when something is kept; NULL: keep nothing */
    const char *suffix; /* ".names": files of other names are nobody's business */
    unsigned version;   /* of keys and content: files of other versions are removed */
    uint64_t max_bytes; /* of all files together */
} pt_kept_folder;

/* The key of what is found out about a file that says it is `id` (a build id, say): with it, which
 * file that is and when it was changed last, in the file system's words. Another file with the same
 * id, or the same file once it was rewritten, has another key. NULL (else free it) when nothing is
 * to be kept: the file is not regular, belongs to neither this user nor root (it is that user's
 * claim), or was changed so lately that the next change might not show. */
char *pt_kept_key(const char *id, const struct stat *status);
/* One file, unchanged between the two. */
bool pt_same_file(const struct stat *a, const struct stat *b);

/* What is kept under a key, with a note that it was used. PT_ERR_NOTFOUND when nothing is. */
pt_status pt_kept_open(const pt_kept_folder *folder, const char *key, pt_blob *ret_blob,
                       pt_error *reterr);

/* Keeps bytes under the key, in place of what was there. More than a quarter of the limit is not
 * kept: PT_ERR_LIMIT. A folder that belongs to somebody else is not used: PT_ERR_SYSTEM. */
pt_status pt_kept_save(const pt_kept_folder *folder, const char *key, const void *bytes,
                       size_t size, pt_error *reterr);

/* How much is kept; clear: removes it. */
void pt_kept_look(const pt_kept_folder *folder, bool clear, size_t *ret_count, uint64_t *ret_bytes);

#endif
