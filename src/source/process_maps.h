/* process_maps.h: what is mapped where in a running process, by /proc/PID/maps (proc(5)). */
#ifndef PT_SOURCE_PROCESS_MAPS_H
#define PT_SOURCE_PROCESS_MAPS_H

#include "base/error.h"
#include "process/mappings.h"
#include "process/path_kind.h"

typedef struct pt_process_map {
    pt_map_range range;
    pt_mapped_kind kind;
    char *path; /* as the kernel says it: a file that replaced a removed one is another */
    char *name; /* as a profile calls it */
} pt_process_map;

typedef struct pt_process {
    int64_t pid, user;     /* user: whose it is; -1 = unknown */
    pt_process_map *items; /* ascending */
    size_t count, cap;
} pt_process;

/* Fails with PT_ERR_NOTFOUND where there is no such process, PT_ERR_SYSTEM where it may not be
 * looked into. Pair with pt_process_done. */
pt_status pt_process_open(int64_t pid, pt_process *ret_process, pt_error *reterr);
void pt_process_done(pt_process *p);
/* The map that holds addr, or NULL. */
const pt_process_map *pt_process_find(const pt_process *p, uint64_t addr);

#endif
