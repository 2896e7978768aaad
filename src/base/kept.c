/* kept.c: see kept.h. */
#include "base/kept.h"

#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/grow.h"
#include "base/plain/kept_key.h"
#include "base/text.h"

enum { TOUCH_AFTER_S = 600, LATELY_S = 2 };

char *pt_kept_path(const pt_kept_folder *folder, const char *key)
{
    return pt_strf("%s/%s.%u%s", folder->path, key, folder->version, folder->suffix);
}

char *pt_kept_key(const char *id, const struct stat *st)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (!S_ISREG(st->st_mode) || !pt_owner_is_trusted(st->st_uid) ||
        st->st_ctim.tv_sec + LATELY_S >= now.tv_sec)
        return NULL;
    const size_t room = strlen(id) + PT_KEPT_KEY_FACTS;
    char *const key = pt_alloc(room, 1);
    pt_kept_key_put(key, room, id, st);
    return key;
}

bool pt_same_file(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino && a->st_size == b->st_size &&
           a->st_ctim.tv_sec == b->st_ctim.tv_sec && a->st_ctim.tv_nsec == b->st_ctim.tv_nsec;
}

/* Does the file belong to this user, and may nobody else write to it? */
static bool is_ours(const struct stat *st)
{
    return st->st_uid == geteuid() && (st->st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

static pt_status set_not_kept(pt_error *reterr, const char *path)
{
    pt_error_set(reterr, PT_ERR_NOTFOUND, "it is not cached");
    if (reterr != NULL) pt_error_where(reterr, path, NULL, -1);
    return PT_ERR_NOTFOUND;
}

pt_status pt_kept_open(const pt_kept_folder *folder, const char *key, pt_blob *ret_blob,
                       pt_error *reterr)
{
    if (folder->path == NULL || key == NULL) return set_not_kept(reterr, "");
    PT_FREE char *path = pt_kept_path(folder, key);
    struct stat st;
    PT_CLOSE int fd = pt_open_regular_nofollow(path, &st);
    if (fd < 0 || !is_ours(&st)) return set_not_kept(reterr, path);
    const pt_status status =
        pt_file_read_fd(fd, path, PT_FILE_MAP, folder->max_bytes, ret_blob, reterr);
    if (status == PT_OK && st.st_mtim.tv_sec + TOUCH_AFTER_S < time(NULL)) futimens(fd, NULL);
    return status;
}

/* Creates the folder with mode 0700, as the XDG base directory specification requires. */
static bool make_own_folder(const char *folder)
{
    struct stat st;
    return pt_make_folder(folder, 0700) && stat(folder, &st) == 0 && is_ours(&st);
}

typedef struct {
    char *path;
    uint64_t bytes;
    struct timespec used;
} kept_file;

typedef PT_VECTOR(kept_file) kept_files;

/* Lists the cache's files in the folder and removes files of other versions. */
static kept_files list_files(const pt_kept_folder *folder)
{
    kept_files list = {0};
    PT_FREE char *own_end = pt_strf(".%u%s", folder->version, folder->suffix);
    DIR *dir = folder->path != NULL ? opendir(folder->path) : NULL;
    const struct dirent *entry;
    while (dir != NULL && (entry = readdir(dir)) != NULL) {
        const char *name = entry->d_name;
        struct stat st;
        if (name[0] == '.' || !pt_ends(name, folder->suffix) ||
            fstatat(dirfd(dir), name, &st, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(st.st_mode))
            continue;
        if (!pt_ends(name, own_end)) {
            unlinkat(dirfd(dir), name, 0);
            continue;
        }
        PT_PUSH(list, (kept_file){pt_strf("%s/%s", folder->path, name), (uint64_t)st.st_size,
                                  st.st_mtim});
    }
    if (dir != NULL) closedir(dir);
    return list;
}

static void free_files(kept_files *list)
{
    for (size_t i = 0; i < list->count; i++)
        free(list->items[i].path);
    free(list->items);
}

bool pt_kept_has(const pt_kept_folder *folder, const char *key)
{
    struct stat st;
    if (folder->path == NULL || key == NULL) return false;
    PT_FREE char *path = pt_kept_path(folder, key);
    return lstat(path, &st) == 0 && S_ISREG(st.st_mode) && is_ours(&st);
}

PT_ORDER(by_use, kept_file, PT_UP(used.tv_sec) ?: PT_UP(used.tv_nsec) ?: PT_TEXT_UP(path));

static void trim_folder(const pt_kept_folder *folder)
{
    kept_files list = list_files(folder);
    uint64_t sum = 0;
    for (size_t i = 0; i < list.count; i++)
        sum += list.items[i].bytes;
    if (sum > folder->max_bytes) qsort(list.items, list.count, sizeof *list.items, by_use);
    for (size_t i = 0; i < list.count && sum > folder->max_bytes; i++)
        if (unlink(list.items[i].path) == 0) sum -= list.items[i].bytes;
    free_files(&list);
}

typedef struct {
    char *pattern;  /* of the cache's files */
    uint64_t bytes; /* saved since the folder was listed */
} saved_cache;

/* Must the folder be listed to see whether it exceeds its limit? Listing takes a system call for
 * each file. So it is due at this process's first save to the cache, and again each time the
 * process has saved a 64th of the limit to the cache. */
static bool is_trim_due(const pt_kept_folder *folder, size_t saved_bytes)
{
    enum { PARTS = 64 };
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static PT_VECTOR(saved_cache) caches; /* of this process, which has few */
    PT_FREE char *pattern = pt_strf("%s/*%s", folder->path, folder->suffix);
    pthread_mutex_lock(&lock);
    size_t at = 0;
    while (at < caches.count && strcmp(caches.items[at].pattern, pattern) != 0)
        at++;
    const bool is_first = at == caches.count;
    if (is_first) PT_PUSH(caches, (saved_cache){.pattern = pt_strdup(pattern)});
    saved_cache *const cache = &caches.items[at];
    cache->bytes += saved_bytes;
    const bool is_due = is_first || cache->bytes >= folder->max_bytes / PARTS;
    if (is_due) cache->bytes = 0;
    pthread_mutex_unlock(&lock);
    return is_due;
}

pt_status pt_kept_save(const pt_kept_folder *folder, const char *key, const void *bytes,
                       size_t size, pt_error *reterr)
{
    if (folder->path == NULL || key == NULL || folder->path[0] != '/')
        return pt_error_set(reterr, PT_ERR_USAGE, "there is no cache folder");
    if (!make_own_folder(folder->path)) {
        pt_error_set(reterr, PT_ERR_SYSTEM,
                     "is not a folder that only you can write to; nothing is cached");
        pt_error_where(reterr, folder->path, NULL, -1);
        return PT_ERR_SYSTEM;
    }
    if (size > folder->max_bytes / 4)
        return pt_error_set(reterr, PT_ERR_LIMIT, "%zu bytes exceed a quarter of the cache's limit",
                            size);
    PT_FREE char *path = pt_kept_path(folder, key);
    pt_file_writer writer;
    pt_status status = pt_file_create(path, PT_MODE_PRIVATE, &writer, reterr);
    if (status == PT_OK) {
        pt_out_put(&writer.out, bytes, size);
        status = pt_file_commit(&writer, false, reterr);
    }
    if (is_trim_due(folder, size)) trim_folder(folder);
    return status;
}

void pt_kept_measure(const pt_kept_folder *folder, bool clear, size_t *ret_count,
                     uint64_t *ret_bytes)
{
    kept_files list = list_files(folder);
    *ret_count = 0;
    *ret_bytes = 0;
    for (size_t i = 0; i < list.count; i++) {
        if (clear && unlink(list.items[i].path) != 0) continue;
        (*ret_count)++;
        *ret_bytes += list.items[i].bytes;
    }
    free_files(&list);
}
