/* process_maps.c: see process_maps.h. */
#include "source/process_maps.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/grow.h"
#include "process/maps.h"

static void add_line(pt_process *p, const char *text, size_t bytes)
{
    pt_maps_line line;
    if (!pt_maps_line_parse(text, bytes, &line)) return;
    const pt_mapped as = pt_mapped_as(line.path, line.path_bytes, line.start, line.file_offset);
    PT_PUSH(*p, (pt_process_map){.range = {.start = line.start,
                                           .limit = line.limit,
                                           .file_offset = line.file_offset},
                                 .kind = as.kind,
                                 .path = pt_strndup(line.path, line.path_bytes),
                                 .name = pt_strndup(as.name, as.name_bytes)});
}

pt_status pt_process_open(int64_t pid, pt_process *ret_process, pt_error *reterr)
{
    PT_FREE char *path = pt_strf("/proc/%" PRId64 "/maps", pid);
    FILE *maps = fopen(path, "re");
    if (maps == NULL) {
        const int why = errno;
        return why == ENOENT
                   ? pt_error_set(reterr, PT_ERR_NOTFOUND, "there is no process %" PRId64, pid)
                   : pt_error_errno(reterr, why,
                                    "access to process %" PRId64 " is denied; run with sudo", pid);
    }
    struct stat st;
    pt_process p = {.pid = pid, .user = fstat(fileno(maps), &st) == 0 ? (int64_t)st.st_uid : -1};
    char *line = NULL;
    size_t cap = 0;
    ssize_t length;
    errno = 0;
    while ((length = getline(&line, &cap, maps)) > 0) {
        add_line(&p, line, (size_t)length - (line[length - 1] == '\n'));
    }
    const int why = ferror(maps) ? errno : 0;
    free(line);
    fclose(maps);
    if (why != 0 || p.count == 0) {
        pt_process_done(&p);
        return pt_error_errno(reterr, why != 0 ? why : ESRCH,
                              "cannot read the mappings of process %" PRId64, pid);
    }
    *ret_process = p;
    return PT_OK;
}

void pt_process_done(pt_process *p)
{
    for (size_t i = 0; i < p->count; i++)
        PT_FREE_ALL(p->items[i].path, p->items[i].name);
    free(p->items);
    *p = (pt_process){0};
}

const pt_process_map *pt_process_find(const pt_process *p, uint64_t addr)
{
    return pt_mappings_at(p->items, p->count, sizeof *p->items, addr);
}
