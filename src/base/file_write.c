/* file_write.c: writes files that atomically replace existing files. See file.h. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"

/* ---- written directly ---- */

/* The number of the process's own descriptor that a link of /proc refers to, or -1. */
static int own_descriptor(const pt_place *place)
{
    char self[64], folder[64], ours[64];
    snprintf(self, sizeof self, "/proc/self/fd/%d", place->folder_fd);
    const ssize_t length = readlink(self, folder, sizeof folder - 1);
    if (length < 0) return -1;
    folder[length] = '\0';
    snprintf(ours, sizeof ours, "/proc/%d/fd", (int)getpid());
    return strcmp(folder, ours) == 0 ? atoi(place->name) : -1;
}

/* Opens the target of a magic link. The process's own descriptors are duplicated, which keeps their
 * position and O_APPEND. */
static int open_magic(const pt_place *place)
{
    const int own = own_descriptor(place);
    if (own >= 0) return fcntl(own, F_DUPFD_CLOEXEC, 0);
    return openat(place->folder_fd, place->name, O_WRONLY | O_TRUNC | O_CLOEXEC | O_NOCTTY);
}

/* Opens a FIFO or device, and checks that it is the file that was resolved. */
static int open_special(const pt_place *place)
{
    const int fd =
        openat(place->folder_fd, place->name, O_WRONLY | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY);
    struct stat status;
    if (fd < 0 || (fstat(fd, &status) == 0 && status.st_dev == place->status.st_dev &&
                   status.st_ino == place->status.st_ino))
        return fd;
    close(fd);
    errno = EEXIST;
    return -1;
}

/* ---- creating ---- */

static int open_writer(pt_file_writer *w, mode_t mode)
{
    const bool is_usual = mode == PT_MODE_USUAL;
    const struct stat *const there = w->place.is_there ? &w->place.status : NULL;
    if (there != NULL && S_ISDIR(there->st_mode)) {
        errno = EISDIR;
        return -1;
    }
    if (w->place.is_magic) return open_magic(&w->place);
    if (there != NULL && !S_ISREG(there->st_mode)) return open_special(&w->place);
    const int fd =
        pt_temp_open(w->place.folder_fd, w->place.name, is_usual ? 0666 : 0600, &w->temp);
    const bool keeps_mode = is_usual && there != NULL && there->st_uid == geteuid();
    if (fd >= 0 && (keeps_mode || !is_usual) &&
        fchmod(fd, keeps_mode ? there->st_mode & 0777 : mode) != 0) {
        const int why = errno;
        pt_temp_remove(&w->temp);
        close(fd);
        errno = why;
        return -1;
    }
    return fd;
}

static void free_writer(pt_file_writer *w)
{
    pt_place_done(&w->place);
    free(w->path);
    *w = (pt_file_writer){.place = PT_PLACE_INIT, .fd = -1};
}

pt_status pt_file_create(const char *path, mode_t mode, pt_file_writer *ret_writer,
                         pt_error *reterr)
{
    pt_file_writer w = {.place = PT_PLACE_INIT, .fd = -1};
    pt_status status = pt_place_find(path, &w.place, reterr);
    if (status != PT_OK) return status;
    w.path = pt_strdup(path);
    w.fd = open_writer(&w, mode);
    if (w.fd < 0) {
        status = pt_error_errno(reterr, errno, "cannot create");
        if (reterr != NULL) pt_error_where(reterr, path, NULL, -1);
        free_writer(&w);
        return status;
    }
    pt_out_to_fd(&w.out, w.fd);
    *ret_writer = w;
    return PT_OK;
}

pt_status pt_file_may_create(const char *path, pt_error *reterr)
{
    pt_place place;
    pt_status status = pt_place_find(path, &place, reterr);
    if (status != PT_OK) return status;
    if (place.is_there && S_ISDIR(place.status.st_mode)) {
        status = pt_error_errno(reterr, EISDIR, "cannot create");
        if (reterr != NULL) pt_error_where(reterr, path, NULL, -1);
    }
    pt_place_done(&place);
    return status;
}

void pt_file_allow_most(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == limit.rlim_max) return;
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
}

/* ---- ending ---- */

/* A number that sudo put into an environment variable; 0 if the variable is not set. */
static unsigned sudo_number(const char *variable)
{
    const char *const text = getenv(variable);
    char *end = NULL;
    const unsigned long number = text != NULL ? strtoul(text, &end, 10) : 0;
    return end != text && end != NULL && *end == '\0' && number < UINT_MAX ? (unsigned)number : 0;
}

/* Under sudo, makes the user who called sudo the owner of a new file in that user's folder. The
 * user could not replace a file of root there. */
static void give_to_caller(const pt_file_writer *w)
{
    const uid_t user = geteuid() == 0 ? sudo_number("SUDO_UID") : 0;
    const gid_t group = sudo_number("SUDO_GID");
    struct stat folder;
    if (user == 0 || group == 0 || w->temp.name == NULL) return;
    if (fstat(w->place.folder_fd, &folder) != 0 || folder.st_uid != user) return;
    /* The call fails on a file system without owners; the file then needs no change. */
    if (fchown(w->fd, user, group) != 0) errno = 0;
}

/* pt_file_end_bytes, but the error does not name the path. */
static pt_status end_bytes(pt_file_writer *w, bool sync, pt_error *reterr)
{
    if (w->fd < 0) return PT_OK;
    pt_status status = pt_out_done(&w->out, reterr);
    if (status == PT_OK) give_to_caller(w);
    if (status == PT_OK && sync && w->temp.name != NULL && fsync(w->fd) != 0)
        status = pt_error_errno(reterr, errno, "cannot write");
    if (close(w->fd) != 0 && status == PT_OK)
        status = pt_error_errno(reterr, errno, "cannot write");
    w->fd = -1;
    return status;
}

pt_status pt_file_end_bytes(pt_file_writer *w, bool sync, pt_error *reterr)
{
    const pt_status status = end_bytes(w, sync, reterr);
    if (status != PT_OK && reterr != NULL) pt_error_where(reterr, w->path, NULL, -1);
    return status;
}

pt_status pt_file_commit(pt_file_writer *w, bool sync, pt_error *reterr)
{
    pt_error error = PT_ERROR_INIT;
    const bool has_temp = w->temp.name != NULL;
    pt_status status = end_bytes(w, sync, &error);
    if (has_temp && status != PT_OK)
        pt_temp_remove(&w->temp);
    else if (has_temp && pt_temp_rename(&w->temp, w->place.name, !w->is_addition) != 0)
        status = pt_error_errno(&error, errno, "cannot create");
    const int why = errno;
    if (status != PT_OK) {
        pt_error_where(&error, w->path, NULL, -1);
        if (reterr != NULL) *reterr = error;
    }
    free_writer(w);
    errno = why;
    return status;
}

void pt_file_abandon(pt_file_writer *w)
{
    if (w->path == NULL) return;
    if (w->fd >= 0) {
        /* Discards the pending bytes: the file is removed as well. */
        w->out.pending_count = 0;
        pt_out_done(&w->out, NULL);
        close(w->fd);
    }
    if (w->temp.name != NULL) pt_temp_remove(&w->temp);
    free_writer(w);
}

pt_status pt_file_replace(const char *path, const void *bytes, size_t size, pt_error *reterr)
{
    pt_file_writer w;
    const pt_status status = pt_file_create(path, PT_MODE_USUAL, &w, reterr);
    if (status != PT_OK) return status;
    pt_out_put(&w.out, bytes, size);
    return pt_file_commit(&w, true, reterr);
}

pt_status pt_file_add(const char *path, mode_t mode, const void *bytes, size_t size,
                      bool *ret_taken, pt_error *reterr)
{
    pt_file_writer w = {.fd = -1};
    *ret_taken = false;
    pt_status status = pt_file_create(path, mode, &w, reterr);
    if (status != PT_OK) return status;
    w.is_addition = true;
    *ret_taken = w.place.is_there;
    if (w.place.is_there) {
        pt_file_abandon(&w);
        return pt_error_set(reterr, PT_ERR_SYSTEM, "exists already");
    }
    pt_out_put(&w.out, bytes, size);
    status = pt_file_commit(&w, true, reterr);
    *ret_taken = status != PT_OK && errno == EEXIST;
    return status;
}

/* ---- the file before ---- */

/* Makes `old` another name of the file, atomically where the file system has hard links. */
static int link_as(int folder_fd, const char *name, const char *old)
{
    PT_FREE char *beside = pt_strf(".%.200s.%d.old", name, (int)getpid());
    unlinkat(folder_fd, beside, 0); /* left by a killed process with the same pid */
    if (linkat(folder_fd, name, folder_fd, beside, 0) != 0)
        return renameat(folder_fd, name, folder_fd, old);
    const int result = renameat(folder_fd, beside, folder_fd, old);
    const int why = errno;
    unlinkat(folder_fd, beside, 0); /* still exists if `old` was a link to the same file */
    errno = why;
    return result;
}

pt_status pt_file_keep_old(pt_file_writer *w, bool *ret_kept, pt_error *reterr)
{
    const bool kept = w->temp.name != NULL && w->place.is_there;
    PT_FREE char *old = pt_strf("%s.old", w->place.name);
    if (kept && link_as(w->place.folder_fd, w->place.name, old) != 0 && errno != ENOENT) {
        const pt_status status = pt_error_errno(reterr, errno, "cannot keep it as %s", old);
        if (reterr != NULL) pt_error_where(reterr, w->path, NULL, -1);
        return status;
    }
    if (ret_kept != NULL) *ret_kept = kept;
    return PT_OK;
}
