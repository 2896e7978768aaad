/* cgroup_mount.h: parsers for control groups. A line of /proc/PID/mountinfo (proc(5)) gives the
 * mount point of a hierarchy; a line of /proc/PID/cgroup (cgroups(7)) gives the group of a process
 * in it:
 *
 *   36 35 0:31 /ROOT /PATH rw,nosuid shared:9 - cgroup cgroup rw,cpu,cpuacct
 *                                               type   source options
 *
 *   4:cpu,cpuacct:/a/b     version 1: one line for each hierarchy, with its controllers
 *   0::/a/b                version 2
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

typedef struct pt_cgroup_mount {
    const char *root; /* the group at the mount point; "/" is the root of the hierarchy */
    /* mount point */
    const char *path;
    const char
        *options;   /* version 1: the controllers are among the options; "" if there are none */
    bool is_second; /* version 2 */
} pt_cgroup_mount;

/* Parses a mountinfo line. The line is modified, and the texts of *ret_mount point into it. Returns
 * false if the file system is not a cgroup hierarchy. */
bool pt_cgroup_mount_parse(char *line, pt_cgroup_mount *ret_mount);

/* Is word an element of the comma-separated list of length bytes, such as "rw,cpu,cpuacct"? */
bool pt_comma_list_has(const char *list, size_t length, const char *word);

/* A line of /proc/PID/cgroup. Both texts point into the file's text and have no NUL at their end.
 */
typedef struct pt_cgroup_line {
    const char *controllers, *group;
    size_t controllers_bytes, group_bytes;
} pt_cgroup_line;

/* Parses the line at *at and moves *at to the next. Returns false at the end of the text. */
bool pt_cgroup_line_next(const char **at, pt_cgroup_line *ret_line);

/* Does the hierarchy, of version 1, have that controller? */
bool pt_cgroup_mount_has(const pt_cgroup_mount *mount, const char *controller);
