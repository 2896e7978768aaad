/* symbolize_process.c: what is mapped where in a process, by /proc/PID/maps (proc(5)). */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/grow.h"
#include "cmd/symbolize_int.h"
#include "process/maps.h"

static void add_line(process *p, const char *text, size_t bytes)
{
    pt_maps_line line;
    if (!pt_maps_line_parse(text, bytes, &line)) return;
    const pt_mapped as = pt_mapped_as(line.path, line.path_bytes, line.start, line.file_offset);
    PT_PUSH(*p, (process_map){.range = {.start = line.start,
                                        .limit = line.limit,
                                        .file_offset = line.file_offset},
                              .kind = as.kind,
                              .path = pt_strndup(line.path, line.path_bytes),
                              .name = pt_strndup(as.name, as.name_bytes)});
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
        add_line(&p, line, (size_t)length - (line[length - 1] == '\n'));
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
    for (size_t i = 0; i < p->count; i++) {
        free(p->items[i].path);
        free(p->items[i].name);
    }
    free(p->items);
    *p = (process){0};
}

const process_map *process_find(const process *p, uint64_t addr)
{
    return pt_mappings_at(p->items, p->count, sizeof *p->items, addr);
}
