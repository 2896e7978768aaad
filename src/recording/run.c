/* run.c: runs the command with the library in its processes.
 *
 * This program adds only these variables to the child's environment: LD_PRELOAD (the library after
 * those that are there), PITOT_RECORD_DIR, PITOT_RECORD_HZ, PITOT_RECORD_WALL and
 * PITOT_RECORD_ENGINE. Every process of the tree leaves its journal in PITOT_RECORD_DIR. */
#include "recording/recording.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/file.h"
#include "capture/child.h"
#include "capture/signals.h"
#include "terminal/message.h"

static void say_cut_off(void *is_again, const char *folder, time_t last_s, bool is_told)
{
    char when[32] = "";
    struct tm local;
    if (is_told && !*(const bool *)is_again) return;
    if (localtime_r(&last_s, &local) != NULL) strftime(when, sizeof when, "%H:%M", &local);
    pt_say("a recording was killed at %s; to save its samples: pitot recover %s", when, folder);
}

size_t pt_record_tell_cut_off(bool is_again)
{
    return pt_folder_each_left(getenv("TMPDIR"), is_again, say_cut_off, &is_again);
}

pt_status pt_record_run_folder(bool is_shared, pt_record_run *run, pt_error *reterr)
{
    *run = (pt_record_run){.pid = -1, .lock_fd = -1};
    return pt_folder_make(getenv("TMPDIR"), is_shared, &run->folder, &run->lock_fd, reterr);
}

/* Makes a file that the processes only append to. Without the file PT_JOURNAL_BRIEF, a process that
 * ends before its first sample leaves a journal. */
static void make_shared_file(const char *folder, const char *name)
{
    const mode_t mode = geteuid() == 0 ? 0622 : 0600; /* a process may give up root's rights */
    PT_FREE char *path = pt_strf("%s/%s", folder, name);
    PT_CLOSE int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd >= 0 && fchmod(fd, mode) != 0) unlink(path);
}

/* ---- the child ---- */

/* Makes a path for LD_PRELOAD. The dynamic linker splits the variable at spaces and colons, so for
 * a library whose path has a space or a colon a link without them is made. */
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

/* Is this process traced, for example by strace -f, which then also traces the command?
 * "TracerPid:\t0" in /proc/self/status. */
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

static void set_environment(const char *library, const char *folder, uint32_t hz, bool is_wall)
{
    const char *const present = getenv("LD_PRELOAD");
    const bool any = present != NULL && present[0] != '\0';
    PT_FREE char *preload = pt_strf("%s%s%s", any ? present : "", any ? ":" : "", library);
    PT_FREE char *rate = pt_strf("%u", hz);
    setenv("LD_PRELOAD", preload, 1);
    setenv("PITOT_RECORD_DIR", folder, 1);
    setenv("PITOT_RECORD_HZ", rate, 1);
    if (is_wall)
        setenv("PITOT_RECORD_WALL", "1", 1);
    else
        unsetenv("PITOT_RECORD_WALL");
    /* The library writes into this variable (agent/environment.c): the letter of an engine, whether
     * a tracer must be looked for, and the user in eight digits. */
    setenv("PITOT_RECORD_ENGINE", is_traced() ? ".t........" : "..........", 1);
}

static pt_status run_and_wait(const char *const *command, pt_record_run *run, pt_error *reterr)
{
    pt_record_signals before;
    pt_record_child child;
    pt_status status = pt_record_child_start(command, &child, reterr);
    if (status != PT_OK) return status;
    pt_record_signals_pass_to(child.pid);
    pt_record_signals_take(true, &before);
    run->pid = child.pid;
    run->start_ns = pt_clock_ns(CLOCK_REALTIME);
    const int64_t start_ns = pt_clock_ns(CLOCK_MONOTONIC);
    status = pt_record_child_go(&child, command[0], reterr);
    if (status == PT_OK) pt_record_child_wait(&child);
    run->duration_ns = pt_clock_ns(CLOCK_MONOTONIC) - start_ns;
    run->wait_status = child.wait_status;
    run->usage = child.usage;
    pt_record_signals_pass_to(0);
    pt_record_signals_give_back(&before);
    return status;
}

void pt_record_run_begins(const pt_recording *recording, const pt_record_run *run)
{
    const char *const output = recording->settings->output;
    if (run->folder == NULL) return;
    PT_FREE char *here = output[0] != '/' ? getcwd(NULL, 0) : pt_strdup("");
    PT_FREE char *result =
        here != NULL ? pt_strf("%s%s%s", here, here[0] != '\0' ? "/" : "", output) : NULL;
    if (result != NULL && !pt_record_to_stdout(output)) pt_folder_name_result(run->folder, result);
    if (recording->begins != NULL) recording->begins(recording->begins_context, run->folder);
}

pt_status pt_record_run_command(const pt_recording *recording, const char *library,
                                pt_record_run *ret_run, pt_error *reterr)
{
    const uint32_t hz = (uint32_t)recording->settings->hz;
    PT_FREE char *preload = NULL;
    pt_status status = pt_record_run_folder(true, ret_run, reterr);
    if (status == PT_OK) status = preloadable_path(library, ret_run->folder, &preload, reterr);
    if (status != PT_OK) return status;
    make_shared_file(ret_run->folder, PT_JOURNAL_BRIEF);
    make_shared_file(ret_run->folder, PT_JOURNAL_NOT_ENTERED);
    make_shared_file(ret_run->folder, PT_JOURNAL_SHORT);
    pt_table_offer(&recording->tables, ret_run->folder);
    set_environment(preload, ret_run->folder, hz, recording->settings->wall);
    ret_run->period_ns = pt_journal_period_ns(hz);
    PT_FREE const char **command = pt_alloc(recording->arg_count + 1, sizeof *command);
    memcpy(command, recording->args, recording->arg_count * sizeof *command);
    pt_record_run_begins(recording, ret_run);
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
        *strrchr(run->folder, '/') = '\0'; /* the outer folder, with everything in it */
        pt_folder_remove(run->folder);
    }
    forget_run(run);
}
