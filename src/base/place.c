/* place.c: see place.h. */
#include "base/place_int.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/vfs.h>
#include <unistd.h>

enum { LINKS_MAX = 40 }; /* the kernel's limit (path_resolution(7)) */

bool pt_owner_is_trusted(uid_t owner)
{
    return owner == 0 || owner == geteuid();
}

/* ---- the walk ---- */

typedef struct {
    int root_fd;      /* -1: the process's own root */
    int at_fd;        /* the folder that the walk has reached */
    char *rest;       /* the path from there */
    unsigned links;   /* number of links followed so far */
    bool is_wary;     /* refuse links and files that untrusted users planted */
    bool keeps_last;  /* a link in the last part is not followed */
    pt_error *reterr; /* receives a refusal */
} walk;

static bool is_open_to_others(const struct stat *folder)
{
    return (folder->st_mode & S_IWOTH) != 0 ||
           (folder->st_mode & (S_IWGRP | S_ISVTX)) == (S_IWGRP | S_ISVTX);
}

/* Did an untrusted user put the file into a folder that others can write to? If so, sets *reterr.
 * target: the target of a link; else NULL. */
static bool is_planted(const walk *w, const struct stat *status, const char *target)
{
    struct stat folder;
    if (!w->is_wary || pt_owner_is_trusted(status->st_uid)) return false;
    if (fstat(w->at_fd, &folder) != 0 || !is_open_to_others(&folder)) return false;
    if (target != NULL)
        pt_error_set(w->reterr, PT_ERR_SYSTEM,
                     "user %u put a link to %s there, in a folder that others can write to; remove "
                     "it or name another file",
                     (unsigned)status->st_uid, target);
    else
        pt_error_set(w->reterr, PT_ERR_SYSTEM,
                     "belongs to user %u, in a folder that others can write to; remove it or name "
                     "another file",
                     (unsigned)status->st_uid);
    return true;
}

static bool move_to(walk *w, int fd)
{
    if (fd < 0) return false;
    close(w->at_fd);
    w->at_fd = fd;
    return true;
}

static bool is_root(const walk *w)
{
    struct stat root, here;
    return w->root_fd >= 0 && fstat(w->root_fd, &root) == 0 && fstat(w->at_fd, &here) == 0 &&
           root.st_dev == here.st_dev && root.st_ino == here.st_ino;
}

static bool go_to_root(walk *w)
{
    return move_to(w, w->root_fd >= 0 ? fcntl(w->root_fd, F_DUPFD_CLOEXEC, 0)
                                      : open("/", O_PATH | O_DIRECTORY | O_CLOEXEC));
}

static bool is_in_proc(const walk *w)
{
    struct statfs fs;
    return fstatfs(w->at_fd, &fs) == 0 && fs.f_type == PROC_SUPER_MAGIC;
}

typedef enum { WALK_ON, WALK_OVER, WALK_FAILED } step;

/* Follows the link `name`, open as link_fd: puts the link's target before the remaining path. A
 * magic link of /proc has no target as a path; the kernel opens its file. */
static step follow_link(walk *w, int link_fd, const char *name, const struct stat *status,
                        bool is_last, pt_place *place)
{
    char target[PATH_MAX];
    const ssize_t length = readlinkat(link_fd, "", target, sizeof target - 1);
    if (length < 0) return WALK_FAILED;
    target[length] = '\0';
    if (is_planted(w, status, target)) {
        errno = 0;
        return WALK_FAILED;
    }
    errno = ELOOP;
    if (++w->links > LINKS_MAX) return WALK_FAILED;
    if (is_in_proc(w)) {
        if (w->root_fd >= 0) return WALK_FAILED;
        if (!is_last)
            return move_to(w, openat(w->at_fd, name, O_PATH | O_DIRECTORY | O_CLOEXEC))
                       ? WALK_ON
                       : WALK_FAILED;
        place->is_there = place->is_magic = true;
        return fstatat(w->at_fd, name, &place->status, 0) == 0 ? WALK_OVER : WALK_FAILED;
    }
    char *const rest = is_last ? pt_strdup(target) : pt_strf("%s/%s", target, w->rest);
    free(w->rest);
    w->rest = rest;
    return target[0] != '/' || go_to_root(w) ? WALK_ON : WALK_FAILED;
}

/* Resolves a part of the path that is a link or the last part. */
static step resolve_part(walk *w, const char *name, bool is_last, pt_place *place)
{
    PT_CLOSE int fd = openat(w->at_fd, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    struct stat status;
    if (fd < 0 && errno == ENOENT && is_last) return WALK_OVER;
    if (fd < 0 || fstat(fd, &status) != 0) return WALK_FAILED;
    if (S_ISLNK(status.st_mode) && !(is_last && w->keeps_last))
        return follow_link(w, fd, name, &status, is_last, place);
    errno = ENOTDIR;
    if (!is_last) return WALK_FAILED;
    errno = 0;
    if (!S_ISDIR(status.st_mode) && is_planted(w, &status, NULL)) return WALK_FAILED;
    place->is_there = true;
    place->status = status;
    return WALK_OVER;
}

static step walk_part(walk *w, char *name, bool is_last, pt_place *place)
{
    enum { FOLDER = O_PATH | O_DIRECTORY | O_CLOEXEC };
    if (strcmp(name, ".") == 0 || (strcmp(name, "..") == 0 && is_root(w))) return WALK_ON;
    if (strcmp(name, "..") == 0)
        return move_to(w, openat(w->at_fd, "..", FOLDER)) ? WALK_ON : WALK_FAILED;
    if (!is_last) {
        /* O_DIRECTORY triggers the mount of an automounter's folder. */
        const int fd = openat(w->at_fd, name, FOLDER | O_NOFOLLOW);
        if (fd >= 0) return move_to(w, fd) ? WALK_ON : WALK_FAILED;
        if (errno != ENOTDIR && errno != ELOOP) return WALK_FAILED;
    }
    const step next = resolve_part(w, name, is_last, place);
    if (next == WALK_OVER) place->name = pt_strdup(name);
    return next;
}

/* Removes the next part from w->rest and returns it; returns NULL at the end. The caller frees
 * it. */
static char *cut_part(walk *w, bool *ret_is_last)
{
    const char *const begin = w->rest + strspn(w->rest, "/");
    const size_t length = strcspn(begin, "/");
    if (length == 0) return NULL;
    char *const part = pt_strndup(begin, length);
    const char *const after = begin + length;
    *ret_is_last = after[0] == '\0';
    char *const rest = pt_strdup(after + strspn(after, "/"));
    free(w->rest);
    w->rest = rest;
    return part;
}

static bool walk_all(walk *w, pt_place *place)
{
    step next = WALK_ON;
    while (next == WALK_ON) {
        bool is_last = false;
        PT_FREE char *part = cut_part(w, &is_last);
        if (part == NULL) { /* the path ends in a folder */
            place->name = pt_strdup(".");
            place->is_there = true;
            next = fstat(w->at_fd, &place->status) == 0 ? WALK_OVER : WALK_FAILED;
        } else {
            next = walk_part(w, part, is_last, place);
        }
    }
    return next == WALK_OVER;
}

/* Walks the path. On failure returns false with errno set; errno is 0 if *reterr holds a
 * refusal. */
static bool find_place(const char *path, const walk *how, pt_place *ret_place)
{
    walk w = *how;
    pt_place place = PT_PLACE_INIT;
    w.rest = pt_strdup(path);
    w.at_fd = open(path[0] == '/' ? "/" : ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
    errno = w.at_fd < 0 ? errno : ENOENT;
    const bool found = w.at_fd >= 0 && path[0] != '\0' && (w.root_fd < 0 || go_to_root(&w)) &&
                       walk_all(&w, &place);
    const int why = errno;
    free(w.rest);
    if (found) {
        place.folder_fd = w.at_fd;
        *ret_place = place;
    } else {
        if (w.at_fd >= 0) close(w.at_fd);
        free(place.name);
    }
    errno = why;
    return found;
}

pt_status pt_place_find(const char *path, pt_place *ret_place, pt_error *reterr)
{
    pt_error refusal = PT_ERROR_INIT;
    const walk how = {.root_fd = -1, .is_wary = true, .reterr = &refusal};
    if (find_place(path, &how, ret_place)) return PT_OK;
    if (errno != 0) pt_error_errno(&refusal, errno, "cannot create");
    pt_error_where(&refusal, path, NULL, -1);
    if (reterr != NULL) *reterr = refusal;
    return refusal.status;
}

void pt_place_done(pt_place *place)
{
    if (place->folder_fd >= 0) close(place->folder_fd);
    free(place->name);
    *place = PT_PLACE_INIT;
}

/* ---- regular files ---- */

/* Opens, for reading, the regular file that the O_PATH descriptor path_fd refers to, and closes
 * path_fd. */
static int open_if_regular(int path_fd, struct stat *ret_status)
{
    PT_CLOSE int fd = path_fd;
    struct stat status;
    char self[64];
    if (fd < 0 || fstat(fd, &status) != 0) return -1;
    if (!S_ISREG(status.st_mode)) {
        errno = S_ISLNK(status.st_mode) ? ELOOP : EINVAL;
        return -1;
    }
    if (ret_status != NULL) *ret_status = status;
    snprintf(self, sizeof self, "/proc/self/fd/%d", fd);
    return open(self, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
}

int pt_open_regular(const char *path, struct stat *ret_status)
{
    return open_if_regular(open(path, O_PATH | O_CLOEXEC), ret_status);
}

int pt_open_regular_nofollow(const char *path, struct stat *ret_status)
{
    return open_if_regular(open(path, O_PATH | O_NOFOLLOW | O_CLOEXEC), ret_status);
}

int pt_open_regular_in(const char *root, const char *path, struct stat *ret_status)
{
    return pt_open_regular_below(root, path, true, ret_status);
}

int pt_open_regular_below(const char *root, const char *path, bool follows, struct stat *ret_status)
{
    PT_CLOSE int root_fd = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
    pt_place place = PT_PLACE_INIT;
    const walk how = {.root_fd = root_fd, .keeps_last = !follows};
    if (root_fd < 0 || !find_place(path, &how, &place)) return -1;
    const int fd = open_if_regular(
        openat(place.folder_fd, place.name, O_PATH | O_NOFOLLOW | O_CLOEXEC), ret_status);
    const int why = errno;
    pt_place_done(&place);
    errno = why;
    return fd;
}

/* ---- names and folders ---- */

char *pt_path_below(const char *folder, const char *name)
{
    if (name[0] == '/' || name[0] == '\0') return NULL;
    for (const char *part = name; part != NULL; part = strchr(part, '/')) {
        part += part[0] == '/';
        if (part[0] == '.' && part[1] == '.' && (part[2] == '/' || part[2] == '\0')) return NULL;
    }
    return pt_strf("%s/%s", folder, name);
}

static bool is_trusted_folder(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && S_ISDIR(status.st_mode) &&
           pt_owner_is_trusted(status.st_uid);
}

/* May a folder be created at path: does its parent folder belong to a trusted user? */
static bool is_made_in_trusted(const char *path)
{
    const char *const slash = strrchr(path, '/');
    PT_FREE char *above = pt_strndup(path, slash != NULL ? (size_t)(slash - path) : 0);
    return is_trusted_folder(above[0] != '\0' ? above : slash != NULL ? "/" : ".");
}

bool pt_make_folder(const char *path, mode_t mode)
{
    PT_FREE char *part = pt_strdup(path);
    for (char *slash = part; slash != NULL && part[0] != '\0';) {
        slash = strchr(slash + 1, '/');
        if (slash != NULL) *slash = '\0';
        if (access(part, F_OK) != 0 &&
            (!is_made_in_trusted(part) || (mkdir(part, mode) != 0 && errno != EEXIST)))
            return false;
        if (slash != NULL) *slash = '/';
    }
    return is_trusted_folder(path);
}
