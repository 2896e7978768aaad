/* cgroup.c: see cgroup.h. */
#include "capture/cgroup.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/file.h"

enum { TEXT_MAX_BYTES = 4 << 20 };

static char *read_text(const char *path)
{
    pt_blob blob = PT_BLOB_INIT;
    if (pt_file_read(path, PT_FILE_EMPTY_OK, TEXT_MAX_BYTES, &blob, NULL) != PT_OK) return NULL;
    char *const text = pt_strndup((const char *)blob.data, blob.size);
    pt_blob_done(&blob);
    return text;
}

/* ---- where they are ---- */

/* "36 35 98:0 /ROOT /MOUNT OPTIONS ... - TYPE SOURCE SUPER" (proc(5), mountinfo): the MOUNT if TYPE
 * is a control group's, else NULL. Cuts the line up. */
static const char *mount_of(char *line)
{
    enum { MOUNT_FIELD = 4 };
    const char *const dash = strstr(line, " - ");
    if (dash == NULL || strncmp(dash + 3, "cgroup", 6) != 0) return NULL;
    char *state = NULL;
    const char *field = strtok_r(line, " ", &state);
    for (int i = 0; i < MOUNT_FIELD && field != NULL; i++)
        field = strtok_r(NULL, " ", &state);
    return field;
}

/* Asks of each hierarchy's folder until one says yes; false if none does. *ret_any: there are some.
 */
static bool ask_mounts(const char *root, bool (*ask)(void *arg, const char *mount), void *arg,
                       bool *ret_any)
{
    PT_FREE char *path = pt_strf("%s/self/mountinfo", root);
    PT_FREE char *text = read_text(path);
    char *state = NULL;
    bool is_yes = false;
    *ret_any = false;
    for (char *line = text != NULL ? strtok_r(text, "\n", &state) : NULL; line != NULL && !is_yes;
         line = strtok_r(NULL, "\n", &state)) {
        const char *const mount = mount_of(line);
        if (mount == NULL) continue;
        *ret_any = true;
        is_yes = ask(arg, mount);
    }
    return is_yes;
}

typedef struct {
    const char *typed;
    const char *name; /* of the group, if it is there */
} wanted_group;

static bool is_there(void *arg, const char *mount)
{
    wanted_group *const w = arg;
    const size_t length = strlen(mount);
    PT_FREE char *folder = pt_strf("%s%s", mount, w->typed);
    w->name = w->typed;
    if (access(folder, F_OK) == 0) return true;
    /* Its folder was named. */
    w->name = w->typed + length;
    return strncmp(w->typed, mount, length) == 0 && (w->name[0] == '/' || w->name[0] == '\0') &&
           access(w->typed, F_OK) == 0;
}

pt_status pt_cgroup_find(const char *root, const char *typed, char **ret_group, pt_error *reterr)
{
    PT_FREE char *group = pt_strf("%s%s", typed[0] == '/' ? "" : "/", typed);
    size_t length = strlen(group);
    while (length > 0 && group[length - 1] == '/')
        group[--length] = '\0';
    wanted_group wanted = {.typed = group, .name = group};
    bool any;
    if (!ask_mounts(root, is_there, &wanted, &any) && any)
        return pt_error_set(reterr, PT_ERR_NOTFOUND,
                            "there is no control group %s (names are those of /proc/PID/cgroup)",
                            typed);
    *ret_group = pt_strdup(any ? wanted.name : group);
    return PT_OK;
}

/* ---- who is in one ---- */

bool pt_cgroup_has(const char *root, const char *group, uint32_t pid)
{
    const size_t length = strlen(group);
    PT_FREE char *path = pt_strf("%s/%" PRIu32 "/cgroup", root, pid);
    PT_FREE char *text = read_text(path);
    char *state = NULL;
    for (const char *line = text != NULL ? strtok_r(text, "\n", &state) : NULL; line != NULL;
         line = strtok_r(NULL, "\n", &state)) {
        const char *name = strchr(line, ':');
        name = name != NULL ? strchr(name + 1, ':') : NULL;
        if (name != NULL && strncmp(name + 1, group, length) == 0 &&
            (name[1 + length] == '\0' || name[1 + length] == '/'))
            return true;
    }
    return false;
}

/* ---- what it has used ---- */

typedef struct {
    const char *group;
    uint64_t used_ns;
} group_use;

static bool has_use(void *arg, const char *mount)
{
    group_use *const use = arg;
    PT_FREE char *stat_path = pt_strf("%s%s/cpu.stat", mount, use->group);
    PT_FREE char *usage_path = pt_strf("%s%s/cpuacct.usage", mount, use->group);
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
    ask_mounts(root, has_use, &use, &any);
    return use.used_ns;
}
