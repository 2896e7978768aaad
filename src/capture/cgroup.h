/* cgroup.h: control groups: their processes, and the CPU time they have used (cgroups(7)).
 *
 *   /proc/PID/cgroup      "0::/system.slice/nginx.service"; version 1 has a line for each hierarchy
 *   /proc/self/mountinfo  the folders of the hierarchies
 *
 * A process can be moved to another group at any time. The kernel has perf events for the groups of
 * one hierarchy; such an event counts only while a thread of the group runs. That hierarchy is the
 * one with the controller perf_event; version 2 has one hierarchy only. For groups of other
 * hierarchies, membership must be read again and again.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

/* Finds a group by its name or folder. *ret_group: the group as in /proc/PID/cgroup,
 * "/system.slice/x" ("" is the root); the caller frees it. root: "/proc". Fails with
 * PT_ERR_NOTFOUND if there is no such group. */
pt_status pt_cgroup_find(const char *root, const char *typed, char **ret_group, pt_error *reterr);

/* True if the process is in the group or in a group below it. Returns `was`, the previous answer,
 * if the process is gone or ending. */
bool pt_cgroup_has(const char *root, const char *group, uint32_t pid, bool was);

/* Opens the folder of the group in the hierarchy that has perf events. Returns its descriptor,
 * which the caller closes; -1 if that hierarchy lacks the group, or the group has its processes in
 * another hierarchy only. */
int pt_cgroup_open(const char *root, const char *group);

/* The CPU time of all processes that were ever in the group or in a group below it; 0 if
 * unknown. */
uint64_t pt_cgroup_used_ns(const char *root, const char *group);
