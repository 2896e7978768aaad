/* process_maps.h: the mappings of a running process, from /proc/PID/maps (proc(5)). */
#pragma once

#include "base/error.h"
#include "process/mappings.h"
#include "process/path_kind.h"

typedef struct pt_process_map {
    pt_map_range range;
    pt_mapped_kind kind;
    char *path; /* as the kernel shows it: " (deleted)" follows the path of a removed file */
    char *name; /* the mapping's name in a profile */
} pt_process_map;

typedef struct pt_process {
    int64_t pid, user;     /* user: owner of the process; -1: unknown */
    pt_process_map *items; /* ascending */
    size_t count, cap;
} pt_process;

/* Reads the mappings of a process. PT_ERR_NOTFOUND: no such process. PT_ERR_SYSTEM: access denied.
 * Pair with pt_process_done. */
pt_status pt_process_open(int64_t pid, pt_process *ret_process, pt_error *reterr);
void pt_process_done(pt_process *p);
/* The mapping that contains addr, or NULL. */
const pt_process_map *pt_process_find(const pt_process *p, uint64_t addr);
