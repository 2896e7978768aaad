/* permission.c: see permission.h. */
#include "capture/permission.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"
#include "capture/procs.h"

static int try_event(void *arg, const pt_event_plan *plan, pid_t tid)
{
    (void)arg;
    const int fd = pt_event_open_sampling(plan, tid, tid < 0 ? 0 : -1, plan->period, -1);
    if (fd < 0) return errno;
    close(fd);
    return 0;
}

const pt_permission_kernel pt_permission_running = {.try_event = try_event, .root = "/proc"};

/* ---- facts for messages ---- */

enum { LEVEL_UNKNOWN = -100 };

static char *read_text(const pt_permission_kernel *kernel, const char *name)
{
    pt_blob blob = PT_BLOB_INIT;
    PT_FREE char *path = pt_strf("%s/%s", kernel->root, name);
    if (pt_file_read(path, PT_FILE_EMPTY_OK, 1 << 20, &blob, NULL) != PT_OK) return NULL;
    char *const text = pt_strndup((const char *)blob.data, blob.size);
    pt_blob_done(&blob);
    return text;
}

static int paranoid_level(const pt_permission_kernel *kernel)
{
    PT_FREE char *text = read_text(kernel, "sys/kernel/perf_event_paranoid");
    return text != NULL ? (int)strtol(text, NULL, 10) : LEVEL_UNKNOWN;
}

static bool has_seccomp(const pt_permission_kernel *kernel)
{
    char mode[16];
    pt_proc_status(kernel->root, "self", "Seccomp", mode, sizeof mode);
    return strcmp(mode, "2") == 0;
}

/* ---- messages ---- */

#define SECCOMP_HELP                                                                               \
    "to allow them in a container, start the container with --cap-add=PERFMON "                    \
    "--cap-add=SYS_PTRACE --security-opt seccomp=unconfined"

static pt_status refuse_process(const pt_permission_kernel *kernel, pid_t pid, int error,
                                const char *program, pt_error *reterr)
{
    char name[64], uids[64], own[64], who[24];
    snprintf(who, sizeof who, "%d", pid);
    pt_proc_status(kernel->root, who, "Name", name, sizeof name);
    pt_proc_status(kernel->root, who, "Uid", uids, sizeof uids);
    pt_proc_status(kernel->root, "self", "Uid", own, sizeof own);
    if (error == ESRCH || name[0] == '\0')
        return pt_error_set(reterr, PT_ERR_NOTFOUND, "there is no process %d", pid);
    uids[strcspn(uids, " \t")] = own[strcspn(own, " \t")] = '\0';
    if (strcmp(uids, own) != 0)
        return pt_error_set(reterr, PT_ERR_SYSTEM,
                            "%d (%s, uid %s) is not yours; run with sudo, or "
                            "once: " PT_PERMISSION_SETCAP "%s",
                            pid, name, uids, program);
    return pt_error_set(reterr, PT_ERR_SYSTEM,
                        "%d (%s) is yours but the kernel protects it: it has more rights than you, "
                        "or gave some up; run with sudo, or once: " PT_PERMISSION_SETCAP "%s",
                        pid, name, program);
}

static bool is_refusal(int error)
{
    return error == EACCES || error == EPERM;
}

/* Reports that nothing is permitted. own_error: result of a trial on this process itself. */
static pt_status refuse_events(const pt_permission_kernel *kernel, const pt_event_plan *plan,
                               pid_t pid, int error, int own_error, const char *program,
                               pt_error *reterr)
{
    const int level = paranoid_level(kernel);
    if (own_error == ENOSYS || (is_refusal(own_error) && level <= 2 && has_seccomp(kernel))) {
        if (has_seccomp(kernel))
            return pt_error_set(reterr, PT_ERR_SYSTEM,
                                "a seccomp filter forbids perf events here; " SECCOMP_HELP);
        return pt_error_set(reterr, PT_ERR_UNSUPPORTED,
                            "this kernel has no perf events (CONFIG_PERF_EVENTS)");
    }
    if (own_error == ENOENT || own_error == EOPNOTSUPP || own_error == ENODEV)
        return pt_error_set(reterr, PT_ERR_UNSUPPORTED,
                            "this machine has no event %s (virtual machines often have no "
                            "hardware counters); every machine has -e cpu-clock",
                            plan->source->name);
    if (is_refusal(own_error))
        return pt_error_set(
            reterr, PT_ERR_SYSTEM,
            "kernel.perf_event_paranoid is %d, which restricts perf events to root; "
            "run with sudo, or: sudo sysctl kernel.perf_event_paranoid=2",
            level);
    if (pid == 0)
        return pt_error_set(reterr, PT_ERR_SYSTEM,
                            "recording the whole machine needs kernel.perf_event_paranoid at 0 or "
                            "less (it is %d); run with sudo, or once: " PT_PERMISSION_SETCAP "%s",
                            level, program);
    if (is_refusal(error) || error == ESRCH)
        return refuse_process(kernel, pid, error, program, reterr);
    return pt_error_errno(reterr, error, "the kernel refuses event %s", plan->source->name);
}

/* ---- trials ---- */

/* Tries an event of a process; its first thread may have ended before others. */
static int try_threads(const pt_permission_kernel *kernel, const pt_event_plan *plan, pid_t pid)
{
    int error = kernel->try_event(kernel->arg, plan, pid);
    if (error != ESRCH) return error;
    PT_FREE char *path = pt_strf("%s/%d/task", kernel->root, pid);
    DIR *const dir = opendir(path);
    for (const struct dirent *entry;
         dir != NULL && error == ESRCH && (entry = readdir(dir)) != NULL;)
        if (isdigit((unsigned char)entry->d_name[0]))
            error = kernel->try_event(kernel->arg, plan, (pid_t)strtol(entry->d_name, NULL, 10));
    if (dir != NULL) closedir(dir);
    return error;
}

/* While a thread other than the first calls exec, no listed thread can be opened: retries for a
 * while. */
static int try_process(const pt_permission_kernel *kernel, const pt_event_plan *plan, pid_t pid)
{
    enum { TRIES = 20 };
    const struct timespec pause = {.tv_nsec = 1000000};
    PT_FREE char *path = pt_strf("%s/%d", kernel->root, pid);
    int error = try_threads(kernel, plan, pid);
    for (int i = 1; i < TRIES && error == ESRCH && access(path, F_OK) == 0; i++) {
        nanosleep(&pause, NULL);
        error = try_threads(kernel, plan, pid);
    }
    return error;
}

/* Tries all processes. Returns the first error other than "gone", or "gone" if all are gone.
 * *ret_pid: the process concerned.
 */
static int try_all(const pt_permission_kernel *kernel, const pt_event_plan *plan, const pid_t *pids,
                   size_t pid_count, pid_t *ret_pid)
{
    size_t gone = 0;
    for (size_t i = 0; i < pid_count; i++) {
        const int error = try_process(kernel, plan, pids[i]);
        *ret_pid = pids[i];
        if (error != 0 && error != ESRCH) return error;
        gone += error == ESRCH;
    }
    return gone == pid_count ? ESRCH : 0;
}

pt_status pt_permission_ask(const pt_permission_kernel *kernel, const pt_event_plan *plan,
                            const pid_t *pids, size_t pid_count, const char *program,
                            pt_permission *ret_permission, pt_error *reterr)
{
    pt_event_plan wanted = *plan;
    pt_permission p = {.is_each_thread = true, .has_kernel = plan->kernel};
    pid_t pid = 0;
    int error = EACCES;
    if (!plan->is_each_thread) error = kernel->try_event(kernel->arg, &wanted, -1);
    /* Events per cpu see every process, but access to the memory and mappings of foreign processes
     * is checked for each. */
    if (error == 0) {
        p.is_each_thread = false;
        if (pid_count > 0) error = try_all(kernel, &wanted, pids, pid_count, &pid);
    } else if (pid_count > 0) {
        wanted.is_each_thread = true;
        error = try_all(kernel, &wanted, pids, pid_count, &pid);
        if (is_refusal(error) && wanted.kernel && wanted.user) {
            wanted.kernel = p.has_kernel = false;
            error = try_all(kernel, &wanted, pids, pid_count, &pid);
            snprintf(p.note, sizeof p.note,
                     "no kernel time: kernel.perf_event_paranoid is %d; to include it, run with "
                     "sudo, or: sudo sysctl kernel.perf_event_paranoid=1 (--user leaves it out "
                     "without this line)",
                     paranoid_level(kernel));
        }
    }
    if (error == 0) {
        *ret_permission = p;
        return PT_OK;
    }
    pt_event_plan least = *plan;
    least.kernel = false;
    least.user = least.is_each_thread = true;
    int own_error = kernel->try_event(kernel->arg, &least, 0);
    if (own_error == 0 && !plan->user && is_refusal(error) && pid_count > 0) {
        const int as_user = try_all(kernel, &least, pids, pid_count, &pid);
        if (as_user == 0)
            return pt_error_set(reterr, PT_ERR_SYSTEM,
                                "sampling the kernel needs kernel.perf_event_paranoid at 1 or less "
                                "(it is %d); run with sudo, or: sudo sysctl "
                                "kernel.perf_event_paranoid=1",
                                paranoid_level(kernel));
    }
    return refuse_events(kernel, plan, pid_count > 0 ? pid : 0, error, own_error, program, reterr);
}
