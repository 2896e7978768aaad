/* record_run.c: running the command with the library in it.
 *
 * The child gets this environment and nothing else of us: LD_PRELOAD (ours behind what is there),
 * PITOT_RECORD_DIR, PITOT_RECORD_HZ. Every process of the tree leaves its journal in that folder.
 */
#include "cmd/record_int.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/grow.h"
#include "cmd/record_signals.h"

/* ---- the folder ---- */

#define PREFIX "pitot-record-"

/* With what is in it, so deep as a program that was told of the folder may have made it. */
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

static void remove_folder(const char *folder)
{
    enum { DEPTH = 4 };
    remove_below(AT_FDCWD, folder, DEPTH);
}

#define MARK ".told" /* in a folder of which it was said where it is */

/* Is it a recording's folder of this user, whose recorder has ended? A living one holds the lock,
 * which is ours now: *ret_lock, to be closed. The minute is for one that has yet to take it, unless
 * the folder is known to be left (is_named: by whoever asks), or has one in it, made afterwards. */
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

/* Of a folder and those in it. */
/* NOLINTNEXTLINE(misc-no-recursion): goes down one folder */
static void list_journals(const char *folder, int depth, pt_record_left *left)
{
    DIR *const dir = opendir(folder);
    const struct dirent *entry;
    struct stat st;
    while (dir != NULL && (entry = readdir(dir)) != NULL) {
        if (fstatat(dirfd(dir), entry->d_name, &st, AT_SYMLINK_NOFOLLOW) != 0) continue;
        PT_FREE char *path = pt_strf("%s/%s", folder, entry->d_name);
        if (S_ISDIR(st.st_mode) && entry->d_name[0] != '.' && depth > 0)
            list_journals(path, depth - 1, left);
        const char *const dot = strrchr(entry->d_name, '.');
        if (!S_ISREG(st.st_mode) || st.st_size == 0 || dot == NULL || strcmp(dot, ".journal") != 0)
            continue;
        PT_GROW(*left, left->count + 1);
        left->items[left->count++] = pt_strdup(path);
        if (st.st_mtime > left->last_s) left->last_s = st.st_mtime;
    }
    if (dir != NULL) closedir(dir);
}

void pt_record_left_find(const char *folder, pt_record_left *ret_left)
{
    *ret_left = (pt_record_left){0};
    list_journals(folder, 1, ret_left);
}

void pt_record_left_done(pt_record_left *left)
{
    for (size_t i = 0; i < left->count; i++)
        free(left->items[i]);
    free(left->items);
    *left = (pt_record_left){0};
}

bool pt_record_left_remove(const char *folder)
{
    int lock;
    PT_FREE char *copy = pt_strdup(folder);
    size_t length = strlen(copy);
    while (length > 1 && copy[length - 1] == '/')
        copy[--length] = '\0';
    PT_FREE char *parent = pt_strf("%.*s.", (int)(pt_base_name(copy) - copy), copy);
    PT_CLOSE int at = open(parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (at < 0 || !is_cut_off(at, pt_base_name(copy), true, &lock)) return false;
    remove_folder(folder);
    close(lock);
    return true;
}

static void say_cut_off(int folder, const char *path, const pt_record_left *left, bool is_again)
{
    char when[32] = "";
    struct tm local;
    if (!is_again && faccessat(folder, MARK, F_OK, AT_SYMLINK_NOFOLLOW) == 0) return;
    if (localtime_r(&left->last_s, &local) == NULL ||
        strftime(when, sizeof when, "%H:%M", &local) == 0)
        return;
    pt_cmd_say("a recording was cut off at %s; its samples: pitot recover %s", when, path);
    PT_CLOSE int mark =
        openat(folder, MARK, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
}

/* What nobody has read stays; a folder without samples goes. How many stay. */
static size_t look_for_cut_off(const char *place, bool is_again)
{
    size_t count = 0;
    int lock;
    DIR *const dir = opendir(place);
    const struct dirent *entry;
    while (dir != NULL && (entry = readdir(dir)) != NULL) {
        if (!is_cut_off(dirfd(dir), entry->d_name, false, &lock)) continue;
        pt_record_left left;
        PT_FREE char *folder = pt_strf("%s/%s", place, entry->d_name);
        pt_record_left_find(folder, &left);
        if (left.count == 0)
            remove_folder(folder);
        else
            say_cut_off(lock, folder, &left, is_again);
        count += left.count > 0;
        pt_record_left_done(&left);
        close(lock);
    }
    if (dir != NULL) closedir(dir);
    return count;
}

static const char *const *library_places(void)
{
    static const char *all[4];
    all[0] = "/dev/shm";
    all[1] = getenv("TMPDIR");
    all[2] = "/tmp";
    return all;
}

enum { PLACES = 3 };

size_t pt_record_tell_cut_off(bool is_again)
{
    size_t count = 0;
    const char *const *const all = library_places();
    for (size_t i = 0; i < PLACES; i++) {
        const bool is_same = all[i] != NULL && i == 1 && strcmp(all[i], all[2]) == 0;
        if (all[i] != NULL && all[i][0] == '/' && !is_same)
            count += look_for_cut_off(all[i], is_again);
    }
    return count;
}

/* outer/RANDOM. Processes that drop root's rights must still be able to leave a file in it, but
 * nobody else: root's outer folder can be gone through and not listed, and only processes that have
 * the path in their environment know the name. */
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

/* Memory without a limit has no blocks: ramfs, and tmpfs of size 0. */
static uint64_t free_bytes(const char *folder)
{
    struct statvfs fs;
    if (statvfs(folder, &fs) != 0 || fs.f_blocks == 0) return UINT64_MAX;
    return (uint64_t)fs.f_bavail * fs.f_frsize;
}

bool pt_record_run_has_room(const pt_record_run *run)
{
    enum { LITTLE_BYTES = 64 << 10 };
    return free_bytes(run->folder) >= LITTLE_BYTES;
}

/* In memory if there is a place, so that no write-back ever stalls a program that is measured. The
 * first that has room for many journals: a container has 64 MB of /dev/shm. Else the first. */
pt_status pt_record_run_folder(bool is_shared, pt_record_run *run, pt_error *reterr)
{
    enum { MANY_BYTES = 32 << 20 };
    *run = (pt_record_run){.pid = -1, .lock_fd = -1};
    const char *const *const all = library_places();
    for (size_t turn = 0; turn < 2 * PLACES; turn++) {
        const size_t i = turn % PLACES;
        if (all[i] == NULL || all[i][0] != '/' || strpbrk(all[i], " :") != NULL) continue;
        if (turn < PLACES && free_bytes(all[i]) < MANY_BYTES) continue;
        PT_FREE char *outer = pt_strf("%s/" PREFIX "XXXXXX", all[i]);
        if (mkdtemp(outer) == NULL) continue;
        run->lock_fd = open(outer, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (run->lock_fd >= 0 && flock(run->lock_fd, LOCK_EX | LOCK_NB) == 0)
            run->folder = make_inner(outer, is_shared);
        if (run->folder != NULL) return PT_OK;
        const int error = errno;
        if (run->lock_fd >= 0) close(run->lock_fd);
        run->lock_fd = -1;
        remove_folder(outer);
        errno = error;
    }
    return pt_error_errno(reterr, errno,
                          "no folder for the samples can be made in /dev/shm or /tmp");
}

/* Processes only add to it. Those that end before their first sample leave journals where there is
 * no PT_JOURNAL_BRIEF. */
static void make_shared_file(const char *folder, const char *name)
{
    const mode_t mode = geteuid() == 0 ? 0622 : 0600; /* some drop root's rights */
    PT_FREE char *path = pt_strf("%s/%s", folder, name);
    PT_CLOSE int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd >= 0 && fchmod(fd, mode) != 0) unlink(path);
}

/* ---- the child ---- */

/* The linker splits LD_PRELOAD at spaces and colons, so a path with one goes by another name. */
static pt_status preloadable_path(const char *library, const char *folder, char **ret_path,
                                  pt_error *reterr)
{
    if (strpbrk(library, " :") == NULL) {
        *ret_path = pt_strdup(library);
        return PT_OK;
    }
    *ret_path = pt_strf("%s/.libprofiler.so.0", folder);
    if (symlink(library, *ret_path) != 0)
        return pt_error_errno(reterr, errno, "%s cannot be made", *ret_path);
    return PT_OK;
}

/* By strace -f, which traces what the command starts, too: "TracerPid:\t0" in /proc/self/status. */
static bool is_traced(void)
{
    static const char name[] = "\nTracerPid:\t";
    pt_blob status = PT_BLOB_INIT;
    bool traced = true; /* if it cannot be read */
    if (pt_file_read("/proc/self/status", 0, 1 << 16, &status, NULL) == PT_OK) {
        PT_FREE char *text = pt_strndup((const char *)status.data, status.size);
        const char *const at = strstr(text, name);
        traced = at == NULL || at[sizeof name - 1] != '0';
    }
    pt_blob_done(&status);
    return traced;
}

static void set_environment(const char *library, const char *folder, uint32_t hz)
{
    const char *const present = getenv("LD_PRELOAD");
    const bool any = present != NULL && present[0] != '\0';
    PT_FREE char *preload = pt_strf("%s%s%s", any ? present : "", any ? ":" : "", library);
    PT_FREE char *rate = pt_strf("%u", hz);
    setenv("LD_PRELOAD", preload, 1);
    setenv("PITOT_RECORD_DIR", folder, 1);
    setenv("PITOT_RECORD_HZ", rate, 1);
    /* The library writes into it (agent/environment.c): an engine, whether to ask for a tracer, and
     * the user in eight digits. */
    setenv("PITOT_RECORD_ENGINE", is_traced() ? ".t........" : "..........", 1);
}

/* Never returns in the child. The pipe tells whether exec failed, and why. */
static pid_t start_command(const char *const *command, const pt_record_signals *before,
                           int *ret_error)
{
    int report[2];
    if (pipe2(report, O_CLOEXEC) != 0) {
        *ret_error = errno;
        return -1;
    }
    const pid_t pid = fork();
    if (pid == 0) {
        pt_record_signals_give_back(before);
        execvp(command[0], (char *const *)(uintptr_t)command);
        const int error = errno;
        (void)!write(report[1], &error, sizeof error);
        _exit(127);
    }
    *ret_error = pid < 0 ? errno : 0;
    close(report[1]);
    if (pid > 0) {
        pt_record_signals_pass_to(pid);
        ssize_t got;
        do
            got = read(report[0], ret_error, sizeof *ret_error);
        while (got < 0 && errno == EINTR);
        if (got != (ssize_t)sizeof *ret_error) *ret_error = 0;
    }
    close(report[0]);
    return pid;
}

static pt_status run_and_wait(const char *const *command, pt_record_run *run, pt_error *reterr)
{
    pt_record_signals before;
    int error;
    pt_record_signals_take(true, &before);
    run->start_ns = pt_clock_ns(CLOCK_REALTIME);
    const int64_t start_ns = pt_clock_ns(CLOCK_MONOTONIC);
    run->pid = start_command(command, &before, &error);
    while (run->pid > 0 && wait4(run->pid, &run->wait_status, 0, &run->usage) < 0 && errno == EINTR)
        continue;
    run->duration_ns = pt_clock_ns(CLOCK_MONOTONIC) - start_ns;
    pt_record_signals_pass_to(0);
    pt_record_signals_give_back(&before);
    if (error != 0) {
        pt_error_errno(reterr, error, "%s: cannot be run", command[0]);
        return error == ENOENT ? PT_ERR_NOTFOUND : PT_ERR_SYSTEM;
    }
    return PT_OK;
}

pt_status pt_record_run_command(const char *const *command, const char *library, uint32_t hz,
                                pt_record_run *ret_run, pt_error *reterr)
{
    PT_FREE char *preload = NULL;
    pt_status status = pt_record_run_folder(true, ret_run, reterr);
    if (status == PT_OK) status = preloadable_path(library, ret_run->folder, &preload, reterr);
    if (status != PT_OK) return status;
    make_shared_file(ret_run->folder, PT_JOURNAL_BRIEF);
    make_shared_file(ret_run->folder, PT_JOURNAL_NOT_ENTERED);
    make_shared_file(ret_run->folder, PT_JOURNAL_SHORT);
    set_environment(preload, ret_run->folder, hz);
    return run_and_wait(command, ret_run, reterr);
}

static void forget_run(pt_record_run *run)
{
    if (run->lock_fd >= 0) close(run->lock_fd);
    run->lock_fd = -1;
    free(run->folder);
    run->folder = NULL;
}

void pt_record_run_keep(pt_record_run *run)
{
    if (run->folder != NULL) {
        PT_FREE char *link = pt_strf("%s/.libprofiler.so.0", run->folder);
        unlink(link);
    }
    forget_run(run);
}

void pt_record_run_done(pt_record_run *run)
{
    if (run->folder != NULL) {
        *strrchr(run->folder, '/') = '\0'; /* the outer one, with all in it */
        remove_folder(run->folder);
    }
    forget_run(run);
}
