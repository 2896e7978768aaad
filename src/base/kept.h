/* kept.h: a bounded cache on disk: a folder with one file for each key.
 *
 *   FOLDER/KEY.VERSION SUFFIX
 *
 * A file appears complete under its name (by rename), so readers and writers need no locks; the
 * later of two writers wins. Only files are read that belong to this user and that nobody else can
 * write to. When the files together exceed the limit, by up to a 64th for each process that saves,
 * the least recently used files are removed. A file may be damaged, so whoever reads the file
 * checks its content.
 */
#pragma once

#include <sys/stat.h>

#include "base/file.h"

typedef struct pt_kept_folder {
    const char *path;   /* absolute; created by the first save; NULL: nothing is cached */
    const char *suffix; /* such as ".names"; the cache ignores files with other suffixes */
    unsigned version;   /* of keys and content; files of other versions are removed */
    uint64_t max_bytes; /* limit for all files together */
} pt_kept_folder;

/* The key for facts about a file with the given id (such as a build id). The key combines the id
 * with the file's identity and time of the last change, which the file system reports
 * (pt_kept_key_put). So another file with the same id, or the same file after a rewrite, has
 * another key. The caller frees it.
 *
 * Returns NULL when the facts must not be cached: the file is not regular, its owner is neither
 * this user nor root, or its last change is so recent that a further change could have the same
 * time. */
char *pt_kept_key(const char *id, const struct stat *status);
/* Are both the same file, unchanged between the two calls of stat? */
bool pt_same_file(const struct stat *a, const struct stat *b);

/* Opens the cached file of a key and records the time of this use. PT_ERR_NOTFOUND if no file is
 * cached under the key. */
pt_status pt_kept_open(const pt_kept_folder *folder, const char *key, pt_blob *ret_blob,
                       pt_error *reterr);

/* True if there is a cached file of the key. */
bool pt_kept_has(const pt_kept_folder *folder, const char *key);
/* The path of the cached file of a key; NULL if no file is cached. The caller frees it. */
char *pt_kept_path(const pt_kept_folder *folder, const char *key);

/* Caches bytes under the key and replaces an older file. PT_ERR_LIMIT if they exceed a quarter of
 * the limit. PT_ERR_SYSTEM if the folder belongs to another user. */
pt_status pt_kept_save(const pt_kept_folder *folder, const char *key, const void *bytes,
                       size_t size, pt_error *reterr);

/* Counts the cached files and their bytes; with `clear`, removes them as well. */
void pt_kept_measure(const pt_kept_folder *folder, bool clear, size_t *ret_count,
                     uint64_t *ret_bytes);
