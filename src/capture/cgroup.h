/* cgroup.h: control groups: which processes are in one, and what CPU time it has used (cgroups(7)).
 *
 *   /proc/PID/cgroup      "0::/system.slice/nginx.service", and in version 1 a line a hierarchy
 *   /proc/self/mountinfo  where their folders are
 *
 * A process can be moved at any time, and groups come and go: membership is asked for again.
 */
#ifndef PT_CAPTURE_CGROUP_H
#define PT_CAPTURE_CGROUP_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

/* The group as processes have it, "/system.slice/x" ("" is the root's), from its name or its
 * folder. root: "/proc". PT_ERR_NOTFOUND: there is no such group. Caller frees. */
pt_status pt_cgroup_find(const char *root, const char *typed, char **ret_group, pt_error *reterr);

/* Is the process in the group, or one below it? */
bool pt_cgroup_has(const char *root, const char *group, uint32_t pid);

/* CPU time of all that ever ran in the group or below it; 0: not known. */
uint64_t pt_cgroup_used_ns(const char *root, const char *group);

#endif
