/* symbolize_process.c: what is mapped where in a process, by /proc/PID/maps (proc(5)). */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/grow.h"
#include "cmd/symbolize_int.h"

/* "start-limit perms offset dev inode   path" */
static void add_line(process *p, const char *line)
{
    process_map map;
    int path_at = 0;
    if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %*s %" SCNx64 " %*s %*s %n", &map.start, &map.limit,
               &map.offset, &path_at) < 3 ||
        path_at == 0)
        return;
    map.path = pt_strdup(line + path_at);
    PT_GROW(*p, p->count + 1);
    p->items[p->count++] = map;
}

pt_status process_open(int64_t pid, process *ret_process, pt_error *reterr)
{
    PT_FREE char *path = pt_strf("/proc/%" PRId64 "/maps", pid);
    FILE *maps = fopen(path, "re");
    if (maps == NULL) {
        const int why = errno;
        return why == ENOENT
                   ? pt_error_set(reterr, PT_ERR_NOTFOUND, "there is no process %" PRId64, pid)
                   : pt_error_errno(reterr, why,
                                    "process %" PRId64 " may not be looked into; run "
                                    "with sudo",
                                    pid);
    }
    struct stat st;
    process p = {.pid = pid, .user = fstat(fileno(maps), &st) == 0 ? (int64_t)st.st_uid : -1};
    char *line = NULL;
    size_t cap = 0;
    ssize_t length;
    errno = 0;
    while ((length = getline(&line, &cap, maps)) > 0) {
        if (line[length - 1] == '\n') line[length - 1] = '\0';
        add_line(&p, line);
    }
    const int why = ferror(maps) ? errno : 0;
    free(line);
    fclose(maps);
    if (why != 0 || p.count == 0) {
        process_done(&p);
        return pt_error_errno(reterr, why != 0 ? why : ESRCH,
                              "the mappings of process %" PRId64 " cannot be read", pid);
    }
    *ret_process = p;
    return PT_OK;
}

void process_done(process *p)
{
    for (size_t i = 0; i < p->count; i++)
        free(p->items[i].path);
    free(p->items);
    *p = (process){0};
}

const process_map *process_find(const process *p, uint64_t addr)
{
    size_t low = 0, high = p->count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (p->items[middle].limit <= addr)
            low = middle + 1;
        else
            high = middle;
    }
    return low < p->count && addr >= p->items[low].start ? &p->items[low] : NULL;
}
