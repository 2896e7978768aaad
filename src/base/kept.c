/* kept.c: see kept.h. */
#include "base/kept.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/grow.h"

enum { TOUCH_AFTER_S = 600, STALE_TEMP_S = 3600 };

static char *path_of(const pt_kept_folder *folder, const char *key)
{
    return pt_strf("%s/%s%s", folder->path, key, folder->suffix);
}

/* What others could write to is not believed. */
static bool is_ours(const struct stat *st)
{
    return st->st_uid == geteuid() && (st->st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

static pt_status nothing(pt_error *reterr, const char *path)
{
    pt_error_set(reterr, PT_ERR_NOTFOUND, "nothing is kept of it");
    if (reterr != NULL) pt_error_where(reterr, path, NULL, -1);
    return PT_ERR_NOTFOUND;
}

pt_status pt_kept_open(const pt_kept_folder *folder, const char *key, pt_blob *ret_blob,
                       pt_error *reterr)
{
    if (folder->path == NULL || key == NULL) return nothing(reterr, "");
    PT_FREE char *path = path_of(folder, key);
    PT_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW);
    struct stat st;
    if (fd < 0 || fstat(fd, &st) != 0 || !S_ISREG(st.st_mode) || !is_ours(&st))
        return nothing(reterr, path);
    const pt_status status =
        pt_file_read_fd(fd, path, PT_FILE_MAP, folder->max_bytes, ret_blob, reterr);
    if (status == PT_OK && st.st_mtim.tv_sec + TOUCH_AFTER_S < time(NULL)) futimens(fd, NULL);
    return status;
}

/* Makes the folder with those above it, as the XDG base directory specification wants them. */
static bool make_folder(const char *folder)
{
    struct stat st;
    PT_FREE char *path = pt_strdup(folder);
    for (char *slash = strchr(path + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        mkdir(path, 0700);
        *slash = '/';
    }
    mkdir(path, 0700);
    return stat(path, &st) == 0 && S_ISDIR(st.st_mode) && is_ours(&st);
}

typedef struct {
    char *path;
    uint64_t bytes;
    struct timespec used;
} kept_file;

typedef struct {
    kept_file *items;
    size_t count, cap;
} kept_files;

static bool ends_with(const char *text, const char *end)
{
    const size_t n = strlen(text), m = strlen(end);
    return n >= m && strcmp(text + n - m, end) == 0;
}

/* Our files in the folder; removes what killed writers left. */
static kept_files list_files(const pt_kept_folder *folder)
{
    kept_files list = {0};
    DIR *dir = folder->path != NULL ? opendir(folder->path) : NULL;
    const struct dirent *entry;
    while (dir != NULL && (entry = readdir(dir)) != NULL) {
        const char *name = entry->d_name;
        const bool is_temp = name[0] == '.' && ends_with(name, ".tmp");
        struct stat st;
        if ((!is_temp && (name[0] == '.' || !ends_with(name, folder->suffix))) ||
            fstatat(dirfd(dir), name, &st, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(st.st_mode))
            continue;
        if (is_temp) {
            if (st.st_mtim.tv_sec + STALE_TEMP_S < time(NULL)) unlinkat(dirfd(dir), name, 0);
            continue;
        }
        PT_GROW(list, list.count + 1);
        list.items[list.count++] =
            (kept_file){pt_strf("%s/%s", folder->path, name), (uint64_t)st.st_size, st.st_mtim};
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

static int by_use(const void *x, const void *y)
{
    const kept_file *a = x, *b = y;
    if (a->used.tv_sec != b->used.tv_sec) return a->used.tv_sec < b->used.tv_sec ? -1 : 1;
    if (a->used.tv_nsec != b->used.tv_nsec) return a->used.tv_nsec < b->used.tv_nsec ? -1 : 1;
    return strcmp(a->path, b->path);
}

static void trim(const pt_kept_folder *folder)
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

pt_status pt_kept_save(const pt_kept_folder *folder, const char *key, const void *bytes,
                       size_t size, pt_error *reterr)
{
    if (folder->path == NULL || key == NULL || folder->path[0] != '/')
        return pt_error_set(reterr, PT_ERR_USAGE, "there is no folder to keep it in");
    if (!make_folder(folder->path)) {
        pt_error_set(reterr, PT_ERR_SYSTEM, "is not a folder of yours alone; nothing is kept");
        pt_error_where(reterr, folder->path, NULL, -1);
        return PT_ERR_SYSTEM;
    }
    if (size > folder->max_bytes / 4)
        return pt_error_set(reterr, PT_ERR_LIMIT,
                            "%zu bytes are more than a quarter of what may be kept", size);
    PT_FREE char *path = path_of(folder, key);
    pt_file_writer writer;
    pt_status status = pt_file_create(path, &writer, reterr);
    if (status == PT_OK) {
        fchmod(writer.fd, 0600);
        pt_out_put(&writer.out, bytes, size);
        status = pt_file_commit(&writer, false, reterr);
    }
    trim(folder);
    return status;
}

void pt_kept_look(const pt_kept_folder *folder, bool clear, size_t *ret_count, uint64_t *ret_bytes)
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
