/* permission.h: what the kernel allows, found out by asking it, and what to say where it does not.
 *
 *   perf_event_paranoid   events of own threads   kernel time in them   events of cpus
 *        -1, 0            yes                     yes                   yes
 *         1               yes                     yes                   no
 *         2               yes                     no                    no
 *         3, 4            no (kernels of Debian and Ubuntu)
 *   CAP_PERFMON (or root) has all of it; other users' processes need CAP_SYS_PTRACE besides
 *
 * (perf_event_open(2), "perf_event related configuration files"; ptrace(2), access mode checking.)
 */
#ifndef PT_CAPTURE_PERMISSION_H
#define PT_CAPTURE_PERMISSION_H

#include <sys/types.h>

#include "base/error.h"
#include "capture/event.h"

/* What is asked, for a test to answer instead of the kernel. */
typedef struct pt_permission_kernel {
    /* Opens an event and closes it again: 0, or errno. tid -1: of a cpu, all threads. */
    int (*try_event)(void *arg, const pt_event_plan *plan, pid_t tid);
    void *arg;
    const char *root; /* of /proc: PID/status, self/status, sys/kernel/perf_event_paranoid */
} pt_permission_kernel;

extern const pt_permission_kernel pt_permission_running;

/* What can be done. */
typedef struct pt_permission {
    bool is_each_thread; /* events of threads, not of cpus */
    bool has_kernel;     /* time in the kernel, too */
    char note[512];      /* what is missed, and the command that would allow it; "" = nothing */
} pt_permission;

/* The best that is allowed for such a plan, whose user, kernel and is_each_thread say what is
 * wanted. pids: what would be recorded; 0 of them: everything, which takes events of cpus. program:
 * this program's path, for messages. PT_ERR_SYSTEM (PT_ERR_NOTFOUND: no such process) and what to
 * do, if nothing is. */
pt_status pt_permission_ask(const pt_permission_kernel *kernel, const pt_event_plan *plan,
                            const pid_t *pids, size_t pid_count, const char *program,
                            pt_permission *ret_permission, pt_error *reterr);

#endif
