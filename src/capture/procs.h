/* procs.h: the processes of a recording: names, what they have mapped, how to unwind them.
 *
 *   FORK   a child begins with its parent's name and mappings
 *   COMM   a name; at exec all mappings go
 *   MMAP2  a mapping, which replaces what it lies over (the kernel does not report munmap)
 *   EXIT   of the first thread, mostly the last: when many more have exited, its mappings go
 *
 * What was there before the recording is read from /proc/PID/maps.
 */
#ifndef PT_CAPTURE_PROCS_H
#define PT_CAPTURE_PROCS_H

#include "capture/images.h"
#include "capture/ring.h"
#include "process/mappings.h"

enum { PT_COMM_BYTES = 16 };
enum { PT_PROCS_GONE = 256 }; /* whose mappings are still known: their last samples may follow */

typedef struct pt_proc_map {
    pt_map_range range;
    uint32_t image;
} pt_proc_map;

enum { PT_REPLACED_MAX = 64 };

/* Addresses where a mapping took the place of another. */
typedef struct pt_proc_replaced {
    uint64_t start, limit;
    uint32_t generation; /* since when */
} pt_proc_replaced;

typedef struct pt_proc {
    uint32_t pid, ppid;
    char comm[PT_COMM_BYTES];
    bool is_wanted;     /* its samples are kept */
    bool is_judged;     /* is_wanted was decided */
    uint64_t judged_ns; /* when; as records have it */
    bool awaits_exec;   /* then is_wanted; until then it is still we */
    bool has_maps;      /* map is all that was mapped when it was last looked at */
    bool has_exited;
    bool is_unreadable;  /* its maps could not be read when they were needed */
    bool is_stale;       /* modules are not those of map */
    uint32_t brought_in; /* pages of its stacks (feed.c) */
    uint32_t sampled;    /* samples since the maps were last read again for an unknown address */
    uint32_t generation; /* another one whenever map changes */
    struct {
        pt_proc_replaced *items; /* the last ones, in turn */
        size_t count, cap, next;
    } replaced;
    uint32_t replaced_generation; /* what was replaced before is not known one by one */
    struct {
        pt_proc_map *items; /* ascending, not overlapping; executable ones only */
        size_t count, cap;
    } map;
    struct {
        pt_unwind_module *items;
        size_t count, cap;
    } module;                   /* one a mapping */
    bool is_dropped;            /* the walker in the kernel drops its samples */
    uint32_t walked_generation; /* that the walker in the kernel has; 0: none */
    bool is_user_told;          /* by the sink */
    uint32_t labels;            /* for the sink: row + 1, 0 = none yet */
    uint32_t last_row;          /* the same: of its stacks */
} pt_proc;

typedef struct pt_procs {
    const char *root; /* "/proc" */
    pt_images images;
    struct {
        pt_proc **items;
        size_t count, cap;
    } all;
    pt_index index;               /* pid -> rows; the last one is the living one */
    pt_proc *gone[PT_PROCS_GONE]; /* those that exited last, in turn */
    uint32_t gone_count;
    uint32_t generation; /* the last one given out */
} pt_procs;

/* root: where processes are looked up, "/proc"; borrowed. */
void pt_procs_init(pt_procs *procs, const char *root);
void pt_procs_done(pt_procs *procs);

/* The living process of that number, or NULL. */
pt_proc *pt_procs_find(const pt_procs *procs, uint32_t pid);
/* The same; a new one without anything known of it if there is none. */
pt_proc *pt_procs_get(pt_procs *procs, uint32_t pid);
/* Name and mappings from /proc, as far as they can be read. False if the process is gone, or its
 * mappings are not ours to read. */
bool pt_procs_read(pt_procs *procs, pt_proc *proc);

/* The value of "KEY:\tvalue" in ROOT/WHO/status (proc(5)); "" if there is none. */
void pt_proc_status(const char *root, const char *who, const char *key, char *buf, size_t size);

/* What the records say. NULL: of no consequence for a process. */
pt_proc *pt_procs_on_mmap(pt_procs *procs, const pt_perf_record *record);
pt_proc *pt_procs_on_comm(pt_procs *procs, const pt_perf_record *record);
/* A new process (not a new thread), else NULL. */
pt_proc *pt_procs_on_fork(pt_procs *procs, const pt_perf_record *record);
/* The process of which nothing is known from now on, since enough others have exited after it; or
 * NULL. */
pt_proc *pt_procs_on_exit(pt_procs *procs, const pt_perf_record *record);

/* The mapping that an address lies in, or NULL. */
const pt_proc_map *pt_proc_map_at(const pt_proc *proc, uint64_t addr);
/* How many frames of a stack that was walked by the mappings of that generation are right by those
 * of now: up to the first in a mapping that was replaced since, with it. */
uint32_t pt_proc_right_frames(const pt_proc *proc, uint32_t generation, const uint64_t *pcs,
                              uint32_t count);
/* What pt_unwind needs; brings the modules up to date, which may mean to read files. */
pt_unwind_modules pt_proc_modules(pt_procs *procs, pt_proc *proc);

#endif
