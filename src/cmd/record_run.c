/* record_run.c: running the command with the library in it.
 *
 * The child gets this environment and nothing else of us: LD_PRELOAD (ours behind what is there),
 * PITOT_RECORD_DIR, PITOT_RECORD_HZ. Every process of the tree leaves its journal in that folder.
 */
#include "cmd/record_int.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"

static int64_t clock_now_ns(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* ---- the folder ---- */

static void remove_folder(const char *folder)
{
    DIR *const dir = opendir(folder);
    if (dir == NULL) return;
    const struct dirent *entry;
    while ((entry = readdir(dir)) != NULL)
        if (entry->d_name[0] != '.') unlinkat(dirfd(dir), entry->d_name, 0);
    closedir(dir);
    rmdir(folder);
}

/* What a recorder that was killed left here, of this user, a day ago or more. */
static void remove_stale(const char *place)
{
    static const char prefix[] = "pitot-record-";
    enum { A_DAY_S = 24 * 60 * 60 };
    DIR *const dir = opendir(place);
    if (dir == NULL) return;
    const struct dirent *entry;
    while ((entry = readdir(dir)) != NULL) {
        struct stat st;
        if (strncmp(entry->d_name, prefix, sizeof prefix - 1) != 0 ||
            fstatat(dirfd(dir), entry->d_name, &st, AT_SYMLINK_NOFOLLOW) != 0 ||
            !S_ISDIR(st.st_mode) || st.st_uid != geteuid() || time(NULL) - st.st_mtime < A_DAY_S)
            continue;
        PT_FREE char *folder = pt_strf("%s/%s", place, entry->d_name);
        remove_folder(folder);
    }
    closedir(dir);
}

/* In memory if there is a place, so that no write-back ever stalls a program that is measured. */
static pt_status make_folder(char **ret_folder, pt_error *reterr)
{
    const char *const places[] = {"/dev/shm", getenv("TMPDIR"), "/tmp"};
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        if (places[i] == NULL || places[i][0] != '/' || strpbrk(places[i], " :") != NULL) continue;
        char *const folder = pt_strf("%s/pitot-record-XXXXXX", places[i]);
        if (mkdtemp(folder) != NULL) {
            remove_stale(places[i]);
            /* Processes that drop root's rights must still be able to leave a file here. */
            if (geteuid() == 0) chmod(folder, 01733);
            *ret_folder = folder;
            return PT_OK;
        }
        free(folder);
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

/* Signals for the whole foreground group reach the child by themselves; we stay to write. Those
 * sent to us alone are passed on. */
static volatile sig_atomic_t child_pid;
static const int kept[] = {SIGINT, SIGQUIT};
static const int passed_on[] = {SIGTERM, SIGHUP, SIGUSR1, SIGUSR2};
enum { KEPT = sizeof kept / sizeof kept[0], PASSED_ON = sizeof passed_on / sizeof passed_on[0] };

static void pass_on(int signo)
{
    if (child_pid > 0) kill((pid_t)child_pid, signo);
}

typedef struct {
    struct sigaction kept[KEPT], passed_on[PASSED_ON];
} dispositions;

static void take_signals(dispositions *before)
{
    struct sigaction ignore = {0}, pass = {.sa_flags = SA_RESTART};
    ignore.sa_handler = SIG_IGN;
    pass.sa_handler = pass_on;
    for (size_t i = 0; i < KEPT; i++)
        sigaction(kept[i], &ignore, &before->kept[i]);
    for (size_t i = 0; i < PASSED_ON; i++) {
        sigaction(passed_on[i], NULL, &before->passed_on[i]);
        if (before->passed_on[i].sa_handler != SIG_IGN) sigaction(passed_on[i], &pass, NULL);
    }
}

static void give_signals_back(const dispositions *before)
{
    for (size_t i = 0; i < KEPT; i++)
        sigaction(kept[i], &before->kept[i], NULL);
    for (size_t i = 0; i < PASSED_ON; i++)
        sigaction(passed_on[i], &before->passed_on[i], NULL);
}

/* Never returns in the child. The pipe tells whether exec failed, and why. */
static pid_t start(const char *const *command, const dispositions *before, int *ret_error)
{
    int report[2];
    if (pipe2(report, O_CLOEXEC) != 0) {
        *ret_error = errno;
        return -1;
    }
    const pid_t pid = fork();
    if (pid == 0) {
        give_signals_back(before);
        execvp(command[0], (char *const *)(uintptr_t)command);
        const int error = errno;
        (void)!write(report[1], &error, sizeof error);
        _exit(127);
    }
    *ret_error = pid < 0 ? errno : 0;
    close(report[1]);
    if (pid > 0) {
        child_pid = pid;
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
    dispositions before;
    int error;
    take_signals(&before);
    run->start_ns = clock_now_ns(CLOCK_REALTIME);
    const int64_t start_ns = clock_now_ns(CLOCK_MONOTONIC);
    run->pid = start(command, &before, &error);
    while (run->pid > 0 && wait4(run->pid, &run->wait_status, 0, &run->usage) < 0 && errno == EINTR)
        continue;
    run->duration_ns = clock_now_ns(CLOCK_MONOTONIC) - start_ns;
    child_pid = 0;
    give_signals_back(&before);
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
    *ret_run = (pt_record_run){.pid = -1};
    pt_status status = make_folder(&ret_run->folder, reterr);
    if (status == PT_OK) status = preloadable(library, ret_run->folder, &preload, reterr);
    if (status != PT_OK) return status;
    set_environment(preload, ret_run->folder, hz);
    return run_and_wait(command, ret_run, reterr);
}

static void remove_link(const pt_record_run *run)
{
    PT_FREE char *link = pt_strf("%s/.libprofiler.so.0", run->folder);
    unlink(link);
}

void pt_record_run_keep(pt_record_run *run)
{
    if (run->folder != NULL) remove_link(run);
    free(run->folder);
    run->folder = NULL;
}

void pt_record_run_done(pt_record_run *run)
{
    if (run->folder != NULL) {
        remove_link(run);
        remove_folder(run->folder);
    }
    free(run->folder);
    run->folder = NULL;
}
