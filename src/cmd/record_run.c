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
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/file.h"
#include "cmd/record_signals.h"

static int64_t clock_now_ns(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* ---- the folder ---- */

#define PREFIX "pitot-record-"
#define MARK   ".kept" /* in a folder that was left on purpose */

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

/* What a recorder that was killed left here, of this user: a living one holds the lock. The minute
 * is for one that has yet to take it, the day for whoever was told where the samples are. */
static bool is_stale(int at, const char *name)
{
    enum { A_MINUTE_S = 60, A_DAY_S = 24 * 60 * 60 };
    struct stat st;
    if (strncmp(name, PREFIX, sizeof PREFIX - 1) != 0) return false;
    PT_CLOSE int fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &st) != 0 || st.st_uid != geteuid()) return false;
    const int64_t age_s = (int64_t)time(NULL) - st.st_mtime;
    const bool is_kept = faccessat(fd, MARK, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
    return age_s >= (is_kept ? A_DAY_S : A_MINUTE_S) && flock(fd, LOCK_EX | LOCK_NB) == 0;
}

static void remove_stale(const char *place)
{
    DIR *const dir = opendir(place);
    if (dir == NULL) return;
    const struct dirent *entry;
    while ((entry = readdir(dir)) != NULL) {
        if (!is_stale(dirfd(dir), entry->d_name)) continue;
        PT_FREE char *folder = pt_strf("%s/%s", place, entry->d_name);
        remove_folder(folder);
    }
    closedir(dir);
}

/* outer/RANDOM. Processes that drop root's rights must still be able to leave a file in it, but
 * nobody else: root's outer folder can be gone through and not listed, and only processes that have
 * the path in their environment know the name. */
static char *make_inner(const char *outer)
{
    uint8_t random[16];
    char name[2 * sizeof random + 1];
    if (getrandom(random, sizeof random, 0) != (ssize_t)sizeof random) return NULL;
    for (size_t i = 0; i < sizeof random; i++)
        snprintf(name + 2 * i, 3, "%02x", random[i]);
    char *const inner = pt_strf("%s/%s", outer, name);
    const bool is_root = geteuid() == 0;
    if (mkdir(inner, 0700) == 0 &&
        (!is_root || (chmod(outer, 0711) == 0 && chmod(inner, 01733) == 0)))
        return inner;
    free(inner);
    return NULL;
}

/* In memory if there is a place, so that no write-back ever stalls a program that is measured. */
static pt_status make_folder(pt_record_run *run, pt_error *reterr)
{
    const char *const places[] = {"/dev/shm", getenv("TMPDIR"), "/tmp"};
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        if (places[i] == NULL || places[i][0] != '/' || strpbrk(places[i], " :") != NULL) continue;
        PT_FREE char *outer = pt_strf("%s/" PREFIX "XXXXXX", places[i]);
        if (mkdtemp(outer) == NULL) continue;
        run->lock_fd = open(outer, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (run->lock_fd >= 0 && flock(run->lock_fd, LOCK_EX | LOCK_NB) == 0)
            run->folder = make_inner(outer);
        if (run->folder != NULL) {
            remove_stale(places[i]);
            return PT_OK;
        }
        const int error = errno;
        if (run->lock_fd >= 0) close(run->lock_fd);
        run->lock_fd = -1;
        remove_folder(outer);
        errno = error;
    }
    return pt_error_errno(reterr, errno,
                          "no folder for the samples can be made in /dev/shm or /tmp");
}

/* ---- the child ---- */

/* The linker splits LD_PRELOAD at spaces and colons, so a path with one goes by another name. */
static pt_status preloadable(const char *library, const char *folder, char **ret_path,
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

static void set_environment(const char *library, const char *folder, uint32_t hz)
{
    const char *const present = getenv("LD_PRELOAD");
    const bool any = present != NULL && present[0] != '\0';
    PT_FREE char *preload = pt_strf("%s%s%s", any ? present : "", any ? ":" : "", library);
    PT_FREE char *rate = pt_strf("%u", hz);
    setenv("LD_PRELOAD", preload, 1);
    setenv("PITOT_RECORD_DIR", folder, 1);
    setenv("PITOT_RECORD_HZ", rate, 1);
}

/* Never returns in the child. The pipe tells whether exec failed, and why. */
static pid_t start(const char *const *command, const pt_record_signals *before, int *ret_error)
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
    run->start_ns = clock_now_ns(CLOCK_REALTIME);
    const int64_t start_ns = clock_now_ns(CLOCK_MONOTONIC);
    run->pid = start(command, &before, &error);
    while (run->pid > 0 && wait4(run->pid, &run->wait_status, 0, &run->usage) < 0 && errno == EINTR)
        continue;
    run->duration_ns = clock_now_ns(CLOCK_MONOTONIC) - start_ns;
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
    *ret_run = (pt_record_run){.pid = -1, .lock_fd = -1};
    pt_status status = make_folder(ret_run, reterr);
    if (status == PT_OK) status = preloadable(library, ret_run->folder, &preload, reterr);
    if (status != PT_OK) return status;
    set_environment(preload, ret_run->folder, hz);
    return run_and_wait(command, ret_run, reterr);
}

static void forget(pt_record_run *run)
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
        PT_CLOSE int mark =
            openat(run->lock_fd, MARK, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
        unlink(link);
    }
    forget(run);
}

void pt_record_run_done(pt_record_run *run)
{
    if (run->folder != NULL) {
        *strrchr(run->folder, '/') = '\0'; /* the outer one, with all in it */
        remove_folder(run->folder);
    }
    forget(run);
}
