/* permission.h: finds out which events the kernel allows, by trying them, and advises the user
 * where it refuses.
 *
 *   perf_event_paranoid   events of own threads   kernel time in them   events of cpus
 *        -1, 0            yes                     yes                   yes
 *         1               yes                     yes                   no
 *         2               yes                     no                    no
 *         3, 4            no (kernels of Debian and Ubuntu)
 *   CAP_PERFMON (or root) allows all; other users' processes need CAP_SYS_PTRACE besides
 *
 * (perf_event_open(2), "perf_event related configuration files"; ptrace(2), access mode checking.)
 */
#pragma once

#include <sys/types.h>

#include "base/error.h"
#include "capture/event.h"

/* The command that gives a program the rights for every recording; the program's path is appended.
 */
#define PT_PERMISSION_SETCAP "sudo setcap cap_bpf,cap_perfmon,cap_sys_ptrace=ep "

/* The kernel as this module queries it; a test can substitute it. */
typedef struct pt_permission_kernel {
    /* Opens an event and closes it again. Returns 0, or errno. tid -1: all threads of a cpu. */
    int (*try_event)(void *arg, const pt_event_plan *plan, pid_t tid);
    void *arg;
    const char *root; /* of /proc; reads PID/status, self/status, sys/kernel/perf_event_paranoid */
} pt_permission_kernel;

/* The running kernel. */
extern const pt_permission_kernel pt_permission_running;

/* The permitted form of a recording. */
typedef struct pt_permission {
    bool is_each_thread; /* events per thread instead of per cpu */
    bool has_kernel;     /* time in the kernel is included */
    char note[512];      /* what is missing, and the command that would allow it; "": nothing */
} pt_permission;

/* Finds the best permitted form of a plan; user, kernel and is_each_thread of the plan are the
 * wishes. pids: the processes to record; count 0: all, which needs events per cpu. program: path of
 * this program, for messages. Fails with advice if nothing is permitted: PT_ERR_SYSTEM
 * (PT_ERR_NOTFOUND: no such process). */
pt_status pt_permission_ask(const pt_permission_kernel *kernel, const pt_event_plan *plan,
                            const pid_t *pids, size_t pid_count, const char *program,
                            pt_permission *ret_permission, pt_error *reterr);
