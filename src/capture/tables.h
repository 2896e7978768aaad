/* tables.h: a disk cache of unwind tables that took long to compile.
 *
 *   FOLDER/KEY-STAMP.VERSION.table      the blob of unwind/table.h
 *
 * KEY is the build id plus facts that distinguish files which claim the same build id
 * (pt_kept_key): a stripped copy has fewer symbols from which code can be followed. STAMP
 * identifies the program that compiled the table, since another version may compile rules for more
 * code. A table is copied from the file and then checked completely (magic, version, sizes,
 * checksum, build id, each row). A damaged file is replaced.
 */
#pragma once

#include <sys/stat.h>

#include "elf/image.h"
#include "unwind/table.h"

typedef struct pt_table_cache {
    const char *folder; /* absolute; NULL: no cache */
    const char *stamp;  /* identifies the compiling program */
} pt_table_cache;

enum {
    PT_TABLE_KEPT_BYTES = 256 << 20, /* limit of all files together */
};

/* Loads the table of an image from the cache. file: status of the image's file. The caller frees
 * *ret_blob. False, with outputs unchanged: not in the cache, or damaged. */
bool pt_table_kept(const pt_table_cache *cache, pt_elf_id id, const struct stat *file,
                   void **ret_blob, size_t *ret_blob_bytes, pt_unwind_table *ret_table);
/* True if the cache has a table of the image. build_id: in hex; other text has no table. */
bool pt_table_is_kept(const pt_table_cache *cache, const char *build_id, const struct stat *file);
/* Makes a link in the folder of a recording, by which the library finds the tables
 * (PT_JOURNAL_TABLES). */
void pt_table_offer(const pt_table_cache *cache, const char *folder);
/* Stores a table, if it is worth the space. A failure is ignored. */
void pt_table_keep(const pt_table_cache *cache, pt_elf_id id, const struct stat *file,
                   const void *blob, size_t blob_bytes);
