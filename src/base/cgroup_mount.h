/* cgroup_mount.h: where a hierarchy of control groups is mounted, by a line of /proc/PID/mountinfo
 * (proc(5)):
 *
 *   36 35 0:31 /ROOT /PATH rw,nosuid shared:9 - cgroup cgroup rw,cpu,cpuacct
 *                                               type   source options
 */
#ifndef PT_BASE_CGROUP_MOUNT_H
#define PT_BASE_CGROUP_MOUNT_H

#include <stdbool.h>
#include <stddef.h>

typedef struct pt_cgroup_mount {
    const char *root; /* the group that path shows, "/" for the hierarchy's own */
    const char *path;
    const char *options; /* version 1: its controllers are among them; "" if there are none */
    bool is_second;      /* version 2 */
} pt_cgroup_mount;

/* Cuts the line up: the mount points into it. False, if another file system is mounted there. */
bool pt_cgroup_mount_parse(char *line, pt_cgroup_mount *ret_mount);

/* Is the word in the list "rw,cpu,cpuacct"? */
bool pt_comma_list_has(const char *list, size_t length, const char *word);

/* Has the hierarchy, of version 1, that controller? */
bool pt_cgroup_mount_has(const pt_cgroup_mount *mount, const char *controller);

#endif
