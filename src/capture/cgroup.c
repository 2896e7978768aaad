/* cgroup.c: see cgroup.h. */
#include "capture/cgroup.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cgroup_mount.h"
#include "base/file.h"
#include "base/text.h"

enum { TEXT_MAX_BYTES = 4 << 20 };

static char *read_text(const char *path)
{
    pt_blob blob = PT_BLOB_INIT;
    if (pt_file_read(path, PT_FILE_EMPTY_OK, TEXT_MAX_BYTES, &blob, NULL) != PT_OK) return NULL;
    char *const text = pt_strndup((const char *)blob.data, blob.size);
    pt_blob_done(&blob);
    return text;
}

/* ---- mounted hierarchies ---- */

/* Calls `matches` for each mounted hierarchy until `matches` returns true. Returns false if it
 * never does. *ret_any: a hierarchy is mounted. */
static bool search_mounts(const char *root, bool (*matches)(void *arg, const pt_cgroup_mount *at),
                          void *arg, bool *ret_any)
{
    PT_FREE char *path = pt_strf("%s/self/mountinfo", root);
    PT_FREE char *text = read_text(path);
    char *state = NULL;
    bool is_yes = false;
    *ret_any = false;
    for (char *line = text != NULL ? strtok_r(text, "\n", &state) : NULL; line != NULL && !is_yes;
         line = strtok_r(NULL, "\n", &state)) {
        pt_cgroup_mount at;
        if (!pt_cgroup_mount_parse(line, &at)) continue;
        *ret_any = true;
        is_yes = matches(arg, &at);
    }
    return is_yes;
}

typedef struct {
    const char *typed;
    const char *name; /* of the group, if it exists */
} wanted_group;

static bool is_there(void *arg, const pt_cgroup_mount *at)
{
    wanted_group *const w = arg;
    PT_FREE char *folder = pt_strf("%s%s", at->path, w->typed);
    w->name = w->typed;
    if (access(folder, F_OK) == 0) return true;
    /* a folder was given: the group is its path without the hierarchy's path */
    if (!pt_is_below(w->typed, strlen(w->typed), at->path)) return false;
    w->name = w->typed + strlen(at->path);
    return access(w->typed, F_OK) == 0;
}

pt_status pt_cgroup_find(const char *root, const char *typed, char **ret_group, pt_error *reterr)
{
    PT_FREE char *group = pt_strf("%s%s", typed[0] == '/' ? "" : "/", typed);
    size_t length = strlen(group);
    while (length > 0 && group[length - 1] == '/')
        group[--length] = '\0';
    wanted_group wanted = {.typed = group, .name = group};
    bool any;
    if (!search_mounts(root, is_there, &wanted, &any) && any)
        return pt_error_set(reterr, PT_ERR_NOTFOUND,
                            "there is no control group %s (names are those of /proc/PID/cgroup)",
                            typed);
    *ret_group = pt_strdup(any ? wanted.name : group);
    return PT_OK;
}

/* ---- membership ---- */

/* True if the process is gone or ending: version 1 then lists it in no group. From /proc/PID/stat
 * (proc(5)): "PID (COMM) STATE ppid pgrp session tty tpgid FLAGS"; COMM may contain any character.
 */
static bool is_ending(const char *root, uint32_t pid)
{
    enum { PF_EXITING = 4 }; /* include/linux/sched.h */
    PT_FREE char *path = pt_strf("%s/%" PRIu32 "/stat", root, pid);
    PT_FREE char *text = read_text(path);
    const char *const name_end = text != NULL ? strrchr(text, ')') : NULL;
    unsigned flags;
    return name_end == NULL ||
           (sscanf(name_end, ") %*c %*d %*d %*d %*d %*d %u", &flags) == 1 && flags & PF_EXITING);
}

bool pt_cgroup_has(const char *root, const char *group, uint32_t pid, bool was)
{
    PT_FREE char *path = pt_strf("%s/%" PRIu32 "/cgroup", root, pid);
    PT_FREE char *text = read_text(path);
    const char *at = text != NULL ? text : "";
    pt_cgroup_line line;
    while (pt_cgroup_line_next(&at, &line))
        if (pt_is_below(line.group, line.group_bytes, group)) return true;
    return was && is_ending(root, pid);
}

/* ---- a group's folder for events ---- */

typedef struct {
    const char *group;
    char *second, *perf; /* the group's folder in version 2, and in the perf_event hierarchy of
                          * version 1; NULL if it has none there */
    bool is_elsewhere, is_first_perf;
} group_places;

/* Notes the folders of all hierarchies; never returns true. */
static bool note_place(void *arg, const pt_cgroup_mount *at)
{
    group_places *const places = arg;
    PT_FREE char *folder = pt_strf("%s%s", at->path, places->group);
    const bool has_perf = pt_cgroup_mount_has(at, "perf_event");
    places->is_first_perf |= has_perf;
    if (access(folder, F_OK) != 0) return false;
    char **const place = at->is_second ? &places->second : has_perf ? &places->perf : NULL;
    places->is_elsewhere |= place == NULL;
    if (place != NULL && *place == NULL) {
        *place = folder;
        folder = NULL;
    }
    return false;
}

/* True unless cgroup.events says "populated 0" (cgroups(7)). The root group has no such file. */
static bool is_populated(const char *folder)
{
    PT_FREE char *path = pt_strf("%s/cgroup.events", folder);
    PT_FREE char *text = read_text(path);
    return text == NULL || strstr(text, "populated 1") != NULL;
}

int pt_cgroup_open(const char *root, const char *group)
{
    group_places places = {.group = group};
    bool any;
    search_mounts(root, note_place, &places, &any);
    const char *folder = places.is_first_perf ? places.perf : places.second;
    /* With version 1, a group of version 2 may have this name although it is empty, because the
     * processes of the group of that name are in hierarchies of version 1. */
    if (folder != NULL && places.is_elsewhere && !is_populated(folder)) folder = NULL;
    const int fd = folder != NULL ? open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    free(places.second);
    free(places.perf);
    return fd;
}

/* ---- CPU time ---- */

typedef struct {
    const char *group;
    uint64_t used_ns;
} group_use;

static bool has_use(void *arg, const pt_cgroup_mount *at)
{
    group_use *const use = arg;
    PT_FREE char *stat_path = pt_strf("%s%s/cpu.stat", at->path, use->group);
    PT_FREE char *usage_path = pt_strf("%s%s/cpuacct.usage", at->path, use->group);
    PT_FREE char *stat = read_text(stat_path);
    PT_FREE char *usage = read_text(usage_path);
    const char *const usec = stat != NULL ? strstr(stat, "usage_usec ") : NULL;
    if (usage != NULL)
        use->used_ns = strtoull(usage, NULL, 10);
    else if (usec != NULL)
        use->used_ns = strtoull(usec + strlen("usage_usec "), NULL, 10) * 1000;
    return use->used_ns > 0;
}

uint64_t pt_cgroup_used_ns(const char *root, const char *group)
{
    group_use use = {.group = group};
    bool any;
    search_mounts(root, has_use, &use, &any);
    return use.used_ns;
}
