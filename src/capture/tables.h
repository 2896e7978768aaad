/* tables.h: unwind tables that took a while to compile, kept on disk for the next recording.
 *
 *   FOLDER/KEY-STAMP.VERSION.table      the blob of unwind/table.h
 *
 * KEY is the build id with what tells the file from others that say they have it (pt_kept_key): a
 * stripped copy has fewer symbols to follow code from. STAMP is of the program that compiled it:
 * another may know better. What is found is copied, then all of it is checked (magic, version,
 * sizes, checksum, build id, each row): a file that was cut, or changed, is as good as none, and
 * replaced.
 */
#ifndef PT_CAPTURE_TABLES_H
#define PT_CAPTURE_TABLES_H

#include <sys/stat.h>

#include "elf/image.h"
#include "unwind/table.h"

typedef struct pt_table_cache {
    const char *folder; /* absolute; NULL: keep nothing */
    const char *stamp;  /* who compiles */
} pt_table_cache;

enum {
    PT_TABLE_KEPT_BYTES = 256 << 20, /* of all together */
    PT_TABLE_WORTH_BYTES = 96 << 10, /* what is smaller is compiled as fast as it is read */
};

/* The table of that image, whose file has that status: the caller frees *ret_blob. False if none is
 * kept, or it is not to be believed; outputs are untouched. */
bool pt_table_kept(const pt_table_cache *cache, pt_elf_id id, const struct stat *file,
                   void **ret_blob, size_t *ret_blob_bytes, pt_unwind_table *ret_table);
/* Keeps it, if that is worth it and can be done. */
void pt_table_keep(const pt_table_cache *cache, pt_elf_id id, const struct stat *file,
                   const void *blob, size_t blob_bytes);

#endif
