/* tables.c: see tables.h. */
#include "capture/tables.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/kept.h"
#include "base/text.h"
#include "wire/journal.h"

enum { ID_BYTES_MIN = 8 }; /* length from which a build id identifies a file */

static pt_kept_folder kept_of(const pt_table_cache *cache)
{
    return (pt_kept_folder){
        .path = cache->folder, .suffix = ".table", .version = 3, .max_bytes = PT_TABLE_KEPT_BYTES};
}

/* The end of the keys of this program's tables. */
static char *stamp_of(const pt_table_cache *cache)
{
    return pt_strf("-%016" PRIx64, pt_hash_bytes(cache->stamp, strlen(cache->stamp)));
}

/* The cache key of an image by its build id in hex. NULL: the id cannot identify it. */
static char *key_of_hex(const pt_table_cache *cache, const char *hex, const struct stat *file)
{
    const size_t digits = strspn(hex, "0123456789abcdef");
    if (cache->folder == NULL || hex[digits] != '\0' || digits < 2 * ID_BYTES_MIN) return NULL;
    PT_FREE char *key = pt_kept_key(hex, file);
    PT_FREE char *stamp = stamp_of(cache);
    return key != NULL ? pt_strf("%s%s", key, stamp) : NULL;
}

static char *key_of(const pt_table_cache *cache, pt_elf_id id, const struct stat *file)
{
    char hex[2 * PT_UNWIND_ID_MAX + 1];
    if (id.size_bytes > PT_UNWIND_ID_MAX) return NULL;
    pt_elf_id_hex(id, hex, sizeof hex);
    return key_of_hex(cache, hex, file);
}

bool pt_table_kept(const pt_table_cache *cache, pt_elf_id id, const struct stat *file,
                   void **ret_blob, size_t *ret_blob_bytes, pt_unwind_table *ret_table)
{
    const pt_kept_folder kept = kept_of(cache);
    PT_FREE char *key = key_of(cache, id, file);
    pt_blob on_disk = PT_BLOB_INIT;
    pt_unwind_table table;
    if (key == NULL || pt_kept_open(&kept, key, &on_disk, NULL) != PT_OK) return false;
    /* A mapped file may change after the check, so the table is copied first. */
    const size_t bytes = on_disk.size;
    void *const copy = pt_realloc_large(NULL, bytes, 1);
    memcpy(copy, on_disk.data, bytes);
    pt_blob_done(&on_disk);
    if (pt_unwind_table_open(copy, bytes, &table) != PT_UNWIND_OK ||
        table.id_bytes != id.size_bytes || memcmp(table.id, id.bytes, id.size_bytes) != 0) {
        free(copy);
        return false;
    }
    *ret_blob = copy;
    *ret_blob_bytes = bytes;
    *ret_table = table;
    return true;
}

void pt_table_keep(const pt_table_cache *cache, pt_elf_id id, const struct stat *file,
                   const void *blob, size_t blob_bytes)
{
    const pt_kept_folder kept = kept_of(cache);
    PT_FREE char *key = key_of(cache, id, file);
    if (key != NULL) pt_kept_save(&kept, key, blob, blob_bytes, NULL);
}

bool pt_table_is_kept(const pt_table_cache *cache, const char *build_id, const struct stat *file)
{
    const pt_kept_folder kept = kept_of(cache);
    PT_FREE char *key = key_of_hex(cache, build_id, file);
    return pt_kept_has(&kept, key);
}

void pt_table_offer(const pt_table_cache *cache, const char *folder)
{
    const pt_kept_folder kept = kept_of(cache);
    PT_FREE char *stamp = stamp_of(cache);
    PT_FREE char *keys = pt_strf("%c%s", PT_JOURNAL_TABLE_KEY, stamp);
    PT_FREE char *path = pt_kept_path(&kept, keys);
    PT_FREE char *link = pt_strf("%s/" PT_JOURNAL_TABLES, folder);
    if (cache->folder != NULL) (void)!symlink(path, link);
}
