/* cgroup_mount.h: control groups: where a hierarchy of them is mounted, by a line of
 * /proc/PID/mountinfo (proc(5)), and which group of each a process is in, by /proc/PID/cgroup
 * (cgroups(7)):
 *
 *   36 35 0:31 /ROOT /PATH rw,nosuid shared:9 - cgroup cgroup rw,cpu,cpuacct
 *                                               type   source options
 *
 *   4:cpu,cpuacct:/a/b     version 1: a line a hierarchy, which has these controllers
 *   0::/a/b                version 2
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

/* A line of /proc/PID/cgroup: parts of its text, without a NUL at their end. */
typedef struct pt_cgroup_line {
    const char *controllers, *group;
    size_t controllers_bytes, group_bytes;
} pt_cgroup_line;

/* The next line of the text, which *at goes through; false at its end. */
bool pt_cgroup_line_next(const char **at, pt_cgroup_line *ret_line);

/* Has the hierarchy, of version 1, that controller? */
bool pt_cgroup_mount_has(const pt_cgroup_mount *mount, const char *controller);

#endif
