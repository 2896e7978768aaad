/* memory_machine.c: memory limits of the machine, the shell and the container.
 *
 *   /proc/self/cgroup      "4:memory:/a/b" (version 1), "0::/a/b" (version 2)
 *   /proc/self/mountinfo   "ID PARENT DEV ROOT MOUNT OPTIONS ... - TYPE SOURCE SUPER" (proc(5))
 *
 * In a container, the mount's ROOT may be the container's own group: a group "/x/y" below a ROOT
 * "/x" is the folder MOUNT/y. Each folder from there up to MOUNT may have a limit. */
#include "base/cgroup_mount.h"
#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/text.h"

#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

enum { TEXT_MAX_BYTES = 4 << 20 };

static char *read_text(const char *root, const char *path)
{
    PT_FREE char *whole = pt_strf("%s%s", root, path);
    PT_AUTO(pt_blob) blob = PT_BLOB_INIT;
    if (pt_file_read(whole, PT_FILE_EMPTY_OK, TEXT_MAX_BYTES, &blob, NULL) != PT_OK) return NULL;
    return pt_strndup(blob.data != NULL ? (const char *)blob.data : "", blob.size);
}

static uint64_t least_of(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* The number in the file root/folder/name; UINT64_MAX for "max", for other text, and if there is no
 * file. */
static uint64_t limit_in(const char *root, const char *folder, const char *name)
{
    PT_FREE char *path = pt_strf("%s/%s", folder, name);
    PT_FREE char *text = read_text(root, path);
    if (text == NULL || text[0] < '0' || text[0] > '9') return UINT64_MAX;
    return strtoull(text, NULL, 10);
}

/* The least limit of the group and its ancestors, up to the mount. */
static uint64_t limit_up_the_path(const char *root, const char *mount, const char *group,
                                  const char *name)
{
    PT_FREE char *folder = pt_strf("%s%s", mount, strcmp(group, "/") == 0 ? "" : group);
    const size_t stem = strlen(mount);
    uint64_t limit = limit_in(root, folder, name);
    while (strlen(folder) > stem) {
        char *const slash = strrchr(folder + stem, '/');
        if (slash == NULL) break;
        *slash = '\0';
        limit = least_of(limit, limit_in(root, folder, name));
    }
    return limit;
}

/* The group of this process in version 1's memory hierarchy, or in version 2's; NULL if none. */
static char *own_group(const char *cgroups, bool is_second)
{
    pt_cgroup_line line;
    while (pt_cgroup_line_next(&cgroups, &line)) {
        if (is_second ? line.controllers_bytes == 0
                      : pt_comma_list_has(line.controllers, line.controllers_bytes, "memory"))
            return pt_strndup(line.group, line.group_bytes);
    }
    return NULL;
}

/* The group's path below a mount whose root is mount_root; NULL if the group is outside. */
static const char *group_in_mount(const char *group, const char *mount_root)
{
    if (strcmp(mount_root, "/") == 0) return group;
    if (pt_is_below(group, strlen(group), mount_root)) return group + strlen(mount_root);
    /* In a cgroup namespace (cgroup_namespaces(7)), the mount's root is shown as "/.." and the
     * process's own group as "/". */
    return strcmp(group, "/") == 0 ? group : NULL;
}

/* The limit that a mounted hierarchy sets for this process; UINT64_MAX if none. line: the line of
 * mountinfo, which is modified. */
static uint64_t limit_of_mount(const char *root, char *line, const char *cgroups)
{
    pt_cgroup_mount mount;
    if (!pt_cgroup_mount_parse(line, &mount) ||
        (!mount.is_second && !pt_cgroup_mount_has(&mount, "memory")))
        return UINT64_MAX;
    PT_FREE char *group = own_group(cgroups, mount.is_second);
    const char *const inside = group != NULL ? group_in_mount(group, mount.root) : NULL;
    if (inside == NULL) return UINT64_MAX;
    return limit_up_the_path(root, mount.path, inside,
                             mount.is_second ? "memory.max" : "memory.limit_in_bytes");
}

static uint64_t limit_of_groups(const char *root)
{
    PT_FREE char *cgroups = read_text(root, "/proc/self/cgroup");
    PT_FREE char *mounts = read_text(root, "/proc/self/mountinfo");
    if (cgroups == NULL || mounts == NULL) return UINT64_MAX;
    uint64_t limit = UINT64_MAX;
    char *state = NULL;
    for (char *line = strtok_r(mounts, "\n", &state); line != NULL;
         line = strtok_r(NULL, "\n", &state))
        limit = least_of(limit, limit_of_mount(root, line, cgroups));
    return limit;
}

static uint64_t limit_of_shell(__rlimit_resource_t resource)
{
    struct rlimit limit;
    if (getrlimit(resource, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return UINT64_MAX;
    return limit.rlim_cur;
}

uint64_t pt_memory_of_machine(const char *root)
{
    const long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    uint64_t limit = pages > 0 && page > 0 ? (uint64_t)pages * (uint64_t)page : UINT64_MAX;
    limit = least_of(limit, limit_of_shell(RLIMIT_AS));
    limit = least_of(limit, limit_of_shell(RLIMIT_DATA));
    return least_of(limit, limit_of_groups(root));
}
