/* folder.c: see folder.h. */
#include "capture/folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/file.h"
#include "base/grow.h"

#define PREFIX "pitot-record-"

/* Removes a folder with its contents, down to `depth` folders below it: a recorded program can
 * write into the folder, and may have made folders there. */
/* NOLINTNEXTLINE(misc-no-recursion): goes down four folders at most */
static void remove_below(int at, const char *name, int depth)
{
    const int fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    DIR *const dir = fd >= 0 ? fdopendir(fd) : NULL;
    if (dir == NULL) {
        if (fd >= 0) close(fd);
        return;
    }
    const struct dirent *entry;
    while ((entry = readdir(dir)) != NULL) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) continue;
        if (unlinkat(fd, entry->d_name, 0) != 0 && depth > 0)
            remove_below(fd, entry->d_name, depth - 1);
    }
    closedir(dir);
    unlinkat(at, name, AT_REMOVEDIR);
}

void pt_folder_remove(const char *folder)
{
    enum { DEPTH = 4 };
    remove_below(AT_FDCWD, folder, DEPTH);
}

#define MARK   ".told" /* a file in a folder that was reported to the user */
#define RESULT ".result"

/* Is it a recording's folder of this user, whose recorder has ended? A running recorder holds the
 * folder's lock. If the answer is true, this process holds the lock now, and the caller closes
 * *ret_lock. The answer is false for a folder that is younger than a minute, since its recorder may
 * not have locked the folder yet. But a young folder is accepted if the user has named it
 * (is_named), or if it has the mark (.told) or an inner folder, which the recorder makes only after
 * it has the lock. */
static bool is_cut_off(int at, const char *name, bool is_named, int *ret_lock)
{
    enum { A_MINUTE_S = 60 };
    struct stat st;
    if (strncmp(name, PREFIX, sizeof PREFIX - 1) != 0) return false;
    const int fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    const bool is_ours = fd >= 0 && fstat(fd, &st) == 0 && st.st_uid == geteuid();
    if (is_ours &&
        (is_named || st.st_nlink > 2 || (int64_t)time(NULL) - st.st_mtime >= A_MINUTE_S ||
         faccessat(fd, MARK, F_OK, AT_SYMLINK_NOFOLLOW) == 0) &&
        flock(fd, LOCK_EX | LOCK_NB) == 0) {
        *ret_lock = fd;
        return true;
    }
    if (fd >= 0) close(fd);
    return false;
}

/* Adds the journals of a folder and of the folders in it, down to `depth`. */
/* NOLINTNEXTLINE(misc-no-recursion): goes down one folder */
static void list_journals(const char *folder, int depth, pt_folder_journals *journals)
{
    DIR *const dir = opendir(folder);
    const struct dirent *entry;
    struct stat st;
    while (dir != NULL && (entry = readdir(dir)) != NULL) {
        if (fstatat(dirfd(dir), entry->d_name, &st, AT_SYMLINK_NOFOLLOW) != 0) continue;
        PT_FREE char *path = pt_strf("%s/%s", folder, entry->d_name);
        if (S_ISDIR(st.st_mode) && entry->d_name[0] != '.' && depth > 0)
            list_journals(path, depth - 1, journals);
        const char *const dot = strrchr(entry->d_name, '.');
        if (!S_ISREG(st.st_mode) || st.st_size == 0 || dot == NULL || strcmp(dot, ".journal") != 0)
            continue;
        PT_GROW(*journals, journals->count + 1);
        journals->items[journals->count++] = pt_strdup(path);
        if (st.st_mtime > journals->last_s) journals->last_s = st.st_mtime;
    }
    if (dir != NULL) closedir(dir);
}

void pt_folder_journals_find(const char *folder, pt_folder_journals *ret_journals)
{
    *ret_journals = (pt_folder_journals){0};
    list_journals(folder, 1, ret_journals);
}

void pt_folder_journals_done(pt_folder_journals *journals)
{
    for (size_t i = 0; i < journals->count; i++)
        free(journals->items[i]);
    free(journals->items);
    *journals = (pt_folder_journals){0};
}

bool pt_folder_remove_left(const char *folder)
{
    int lock;
    PT_FREE char *copy = pt_strdup(folder);
    size_t length = strlen(copy);
    while (length > 1 && copy[length - 1] == '/')
        copy[--length] = '\0';
    PT_FREE char *parent = pt_strf("%.*s.", (int)(pt_base_name(copy) - copy), copy);
    PT_CLOSE int at = open(parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (at < 0 || !is_cut_off(at, pt_base_name(copy), true, &lock)) return false;
    pt_folder_remove(folder);
    close(lock);
    return true;
}

/* Calls visit for each folder at the place whose recorder was killed, marks the folder, and removes
 * folders without samples. Returns the number of folders visited. */
static size_t visit_place(const char *place, pt_folder_left *visit, void *context)
{
    size_t count = 0;
    int lock;
    DIR *const dir = opendir(place);
    const struct dirent *entry;
    while (dir != NULL && (entry = readdir(dir)) != NULL) {
        if (!is_cut_off(dirfd(dir), entry->d_name, false, &lock)) continue;
        pt_folder_journals journals;
        PT_FREE char *folder = pt_strf("%s/%s", place, entry->d_name);
        pt_folder_journals_find(folder, &journals);
        if (journals.count == 0) {
            pt_folder_remove(folder);
        } else {
            visit(context, folder, journals.last_s,
                  faccessat(lock, MARK, F_OK, AT_SYMLINK_NOFOLLOW) == 0);
            PT_CLOSE int mark =
                openat(lock, MARK, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
            count++;
        }
        pt_folder_journals_done(&journals);
        close(lock);
    }
    if (dir != NULL) closedir(dir);
    return count;
}

/* The places for a folder. Without TMPDIR, the second and the last are both /tmp. */
enum { PLACES = 3 };

static void list_places(const char *tmpdir, const char *places[PLACES])
{
    places[0] = "/dev/shm";
    places[1] = tmpdir != NULL && tmpdir[0] == '/' ? tmpdir : "/tmp";
    places[2] = "/tmp";
}

/* The path of a mark, a file in the first place. If the file exists, this user has had a
 * recording's folder in another place. Without the file the other places are not searched, since a
 * search may have to read thousands of names. The caller frees the path. */
static char *elsewhere_mark(const char *place)
{
    return pt_strf("%s/pitot-elsewhere.%u", place, (unsigned)geteuid());
}

static bool may_be_elsewhere(const char *place)
{
    struct stat st;
    PT_FREE char *mark = elsewhere_mark(place);
    return access(place, W_OK | X_OK) != 0 || lstat(mark, &st) == 0;
}

size_t pt_folder_each_left(const char *tmpdir, bool is_thorough, pt_folder_left *visit,
                           void *context)
{
    size_t count = 0;
    const char *places[PLACES];
    list_places(tmpdir, places);
    const size_t last = is_thorough || may_be_elsewhere(places[0]) ? PLACES : 1;
    for (size_t i = 0; i < last; i++)
        if (i == 0 || strcmp(places[i], places[i - 1]) != 0)
            count += visit_place(places[i], visit, context);
    return count;
}

/* Is the folder a recording's of this user, and does its recorder run? *ret_made: when it was made.
 */
static bool is_running(int at, const char *name, struct timespec *ret_made)
{
    struct stat st;
    if (strncmp(name, PREFIX, sizeof PREFIX - 1) != 0) return false;
    PT_CLOSE int fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &st) != 0 || st.st_uid != geteuid()) return false;
    *ret_made = st.st_mtim;
    if (flock(fd, LOCK_SH | LOCK_NB) != 0) return errno == EWOULDBLOCK;
    flock(fd, LOCK_UN);
    return false;
}

void pt_folder_name_result(const char *folder, const char *path)
{
    PT_FREE char *link = pt_strf("%.*s" RESULT, (int)(pt_base_name(folder) - folder), folder);
    if (symlink(path, link) != 0) {
    } /* then readers do not learn the name */
}

bool pt_folder_is_running(const char *outer, pt_folder_running *ret_running)
{
    struct timespec made;
    char result[PATH_MAX];
    PT_FREE char *parent = pt_strf("%.*s.", (int)(pt_base_name(outer) - outer), outer);
    PT_CLOSE int at = open(parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (at < 0 || !is_running(at, pt_base_name(outer), &made)) return false;
    PT_FREE char *link = pt_strf("%s/" RESULT, outer);
    const ssize_t length = readlink(link, result, sizeof result);
    *ret_running = (pt_folder_running){.began_ns = (int64_t)made.tv_sec * 1000000000 + made.tv_nsec,
                                       .result = length > 0 && (size_t)length < sizeof result &&
                                                         result[0] == '/'
                                                     ? pt_strndup(result, (size_t)length)
                                                     : NULL};
    return true;
}

char *pt_folder_newest_running(const char *tmpdir)
{
    const char *places[PLACES];
    char *newest = NULL;
    bool has_samples = false; /* the newest */
    struct timespec latest = {0}, made;
    list_places(tmpdir, places);
    for (size_t i = 0; i < PLACES; i++) {
        DIR *const dir = opendir(places[i]);
        const struct dirent *entry;
        while (dir != NULL && (entry = readdir(dir)) != NULL) {
            if (!is_running(dirfd(dir), entry->d_name, &made)) continue;
            char *const folder = pt_strf("%s/%s", places[i], entry->d_name);
            pt_folder_journals journals;
            pt_folder_journals_find(folder, &journals);
            const bool is_later = made.tv_sec > latest.tv_sec ||
                                  (made.tv_sec == latest.tv_sec && made.tv_nsec > latest.tv_nsec);
            const bool has_some = journals.count > 0;
            const bool is_newest = has_some != has_samples ? has_some : is_later;
            pt_folder_journals_done(&journals);
            free(is_newest ? newest : folder);
            if (!is_newest) continue;
            newest = folder;
            latest = made;
            has_samples = has_some;
        }
        if (dir != NULL) closedir(dir);
    }
    return newest;
}

/* Makes outer/RANDOM. Processes that give up root's rights must be able to leave a file in this
 * folder; other processes must not. So root's outer folder can be entered but not listed, and only
 * processes with the path in their environment know the inner name. */
static char *make_inner(const char *outer, bool is_shared)
{
    uint8_t random[16];
    char name[2 * sizeof random + 1];
    if (getrandom(random, sizeof random, 0) != (ssize_t)sizeof random) return NULL;
    for (size_t i = 0; i < sizeof random; i++)
        snprintf(name + 2 * i, 3, "%02x", random[i]);
    char *const inner = pt_strf("%s/%s", outer, name);
    const bool is_open = is_shared && geteuid() == 0;
    if (mkdir(inner, 0700) == 0 &&
        (!is_open || (chmod(outer, 0711) == 0 && chmod(inner, 01733) == 0)))
        return inner;
    free(inner);
    return NULL;
}

/* The free bytes of a folder's file system. Memory without a limit reports no blocks: ramfs, and
 * tmpfs of size 0. */
static uint64_t free_bytes(const char *folder)
{
    struct statvfs fs;
    if (statvfs(folder, &fs) != 0 || fs.f_blocks == 0) return UINT64_MAX;
    return (uint64_t)fs.f_bavail * fs.f_frsize;
}

bool pt_folder_has_room(const char *folder)
{
    enum { LITTLE_BYTES = 64 << 10 };
    return free_bytes(folder) >= LITTLE_BYTES;
}

/* Makes the folder at the first place with room for many journals, since a container has 64 MB of
 * /dev/shm; if none has room, at the first place. */
pt_status pt_folder_make(const char *tmpdir, bool is_shared, char **ret_folder, int *ret_lock,
                         pt_error *reterr)
{
    enum { MANY_BYTES = 32 << 20 };
    const char *places[PLACES];
    list_places(tmpdir, places);
    *ret_folder = NULL;
    *ret_lock = -1;
    for (size_t turn = 0; turn < 2 * PLACES; turn++) {
        const char *const place = places[turn % PLACES];
        if (strpbrk(place, " :") != NULL) continue;
        if (turn < PLACES && free_bytes(place) < MANY_BYTES) continue;
        PT_FREE char *outer = pt_strf("%s/" PREFIX "XXXXXX", place);
        if (mkdtemp(outer) == NULL) continue;
        const int lock = open(outer, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (lock >= 0 && flock(lock, LOCK_EX | LOCK_NB) == 0)
            *ret_folder = make_inner(outer, is_shared);
        if (*ret_folder != NULL) {
            PT_FREE char *mark = elsewhere_mark(places[0]);
            if (turn % PLACES != 0) (void)!symlink(place, mark);
            *ret_lock = lock;
            return PT_OK;
        }
        const int error = errno;
        if (lock >= 0) close(lock);
        pt_folder_remove(outer);
        errno = error;
    }
    return pt_error_errno(reterr, errno,
                          "no folder for the samples can be made in /dev/shm, TMPDIR or /tmp");
}
