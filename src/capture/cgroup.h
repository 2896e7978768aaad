/* cgroup.h: control groups: which processes are in one, and what CPU time it has used (cgroups(7)).
 *
 *   /proc/PID/cgroup      "0::/system.slice/nginx.service", and in version 1 a line a hierarchy
 *   /proc/self/mountinfo  where their folders are
 *
 * A process can be moved at any time. The kernel has perf events of the groups of one hierarchy,
 * which count only while what runs is in the group: that with the controller perf_event, in version
 * 2 the one there is. Of groups elsewhere, membership must be asked for again and again.
 */
#ifndef PT_CAPTURE_CGROUP_H
#define PT_CAPTURE_CGROUP_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

/* The group as processes have it, "/system.slice/x" ("" is the root's), from its name or its
 * folder. root: "/proc". PT_ERR_NOTFOUND: there is no such group. Caller frees. */
pt_status pt_cgroup_find(const char *root, const char *typed, char **ret_group, pt_error *reterr);

/* Is the process in the group, or one below it? One that is gone or about to be cannot be asked:
 * then it is as it was. */
bool pt_cgroup_has(const char *root, const char *group, uint32_t pid, bool was);

/* The group's folder, open, in the hierarchy that the kernel has perf events of; -1: it is in none,
 * or what is in the group is so elsewhere only. */
int pt_cgroup_open(const char *root, const char *group);

/* CPU time of all that ever ran in the group or below it; 0: not known. */
uint64_t pt_cgroup_used_ns(const char *root, const char *group);

#endif
