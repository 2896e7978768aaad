/* procs.h: the processes of a recording: names, mappings, and how to unwind them.
 *
 *   FORK   a child begins with its parent's name and mappings
 *   COMM   a name; at exec all mappings go
 *   MMAP2  a mapping, which replaces older ones in its range (the kernel does not report munmap)
 *   EXIT   of the first thread, mostly the last to end: the process is freed after many more ends
 *
 * Mappings from before the recording are read from /proc/PID/maps.
 */
#pragma once

#include <sys/stat.h>

#include "base/grow.h"
#include "bpf/layout.h"
#include "capture/images.h"
#include "capture/ring.h"
#include "capture/target_memory.h"
#include "interp/merge.h"
#include "process/mappings.h"

typedef struct pt_java pt_java; /* interp_java.h */

enum { PT_COMM_BYTES = 16 };
enum {
    PT_PROCS_GONE = 256, /* exited processes that are kept, since last samples may follow */
    PT_PROCS_BUCKETS = 1 << 12,
};

/* A mapping of a process. */
typedef struct pt_proc_map {
    pt_map_range range;
    uint32_t image;
} pt_proc_map;

enum { PT_REPLACED_MAX = 64 };

/* A range of addresses in which a mapping replaced another. */
typedef struct pt_proc_replaced {
    uint64_t start, limit;
    uint32_t generation; /* generation of pt_proc at the replacement */
} pt_proc_replaced;

/* The interpreter of a process (interp.h). Run-time addresses. */
typedef struct pt_proc_interp {
    pt_bpf_interp facts; /* language PT_BPF_NO_LANGUAGE: there is none */
    uint8_t language;    /* PT_JOURNAL_LANGUAGE_X */
    pt_interp_evaluator evaluator;
    uint32_t right, wrong; /* numbers of first frames that fitted the layout, and that did not */
} pt_proc_interp;

typedef struct pt_proc {
    uint32_t pid, ppid;
    uint32_t start; /* a number for each program that a process ran, of all processes */
    char comm[PT_COMM_BYTES];
    bool is_wanted;     /* its samples are kept */
    bool is_judged;     /* is_wanted was decided */
    uint64_t judged_ns; /* time of that decision, on the clock of the records */
    bool awaits_exec;   /* a child of the recorder that has not run its command yet; exec sets
                         * is_wanted */
    bool has_maps;      /* map had all executable mappings when it was last read */
    bool has_exited;
    bool is_leaving;          /* among pt_procs.gone */
    bool is_counted;          /* the kernel reports its threads, so `threads` is right */
    uint32_t threads;         /* number of the process's threads, if is_counted */
    bool is_unreadable;       /* its maps file was unreadable when it was needed */
    bool is_stale;            /* modules are older than map */
    bool is_all;              /* modules have all that files say (pt_proc_modules) */
    bool has_unread;          /* some modules have no table: their files are unread until a stack
                               * has code of them */
    uint32_t brought_in;      /* number of its stack pages that were read so that they exist
                               * (feed.c) */
    pt_target_memory *memory; /* borrowed: reads its memory; NULL: nothing does */
    pt_memory_patience patience;
    uint32_t sampled;    /* samples that came */
    uint32_t generation; /* changes with every change of map */
    struct {
        pt_proc_replaced *items; /* a ring of the last replacements */
        size_t count, cap, next;
    } replaced;
    uint32_t replaced_generation;       /* earlier replacements are no longer in the ring */
    PT_VECTOR(pt_proc_map) map;         /* ascending, without overlaps; executable mappings only */
    PT_VECTOR(pt_unwind_module) module; /* one for each mapping */
    pt_proc_interp interp;
    pt_java *java;              /* owned; NULL: not needed yet */
    uint64_t copies_until_ns;   /* the kernel copies its stacks up to then; 0: walks them */
    uint32_t copies_generation; /* generation at the beginning of that time */
    uint32_t walked_generation; /* generation that the kernel's walker has; 0: none */
    uint32_t put_later;         /* samples until the process is sent again to the walker, which
                                 * refused it */
    bool is_not_walked;         /* the walker had no room for it once */
    bool has_java;        /* libjvm.so is mapped: frames in memory without a file may be Java's */
    bool is_heeded;       /* its records are urgent (spool.h) */
    bool is_dropped;      /* the kernel's walker drops its samples */
    bool is_shunned;      /* the spool drops the stacks of its samples */
    bool is_user_told;    /* the sink has reported its user id */
    uint32_t sink_round;  /* private to the sink: pt_sink.round to which the next three belong */
    uint32_t who;         /* private to the sink: row of its present name + 1; 0: none yet */
    uint32_t last_name;   /* private to the sink: row of its last name + 1; 0: none */
    uint32_t last_stack;  /* private to the sink: place of its last stack + 1; 0: none */
    uint32_t last_code;   /* private to pt_named: last row of its code objects; 0: none */
    uint32_t code_count;  /* private to pt_named: number of its rows */
    uint32_t lines_bytes; /* private to pt_named: bytes of their line tables */
    pt_v8_lines *source_lines; /* of its scripts, owned; NULL: none were counted */
    struct pt_proc *next;      /* of the same bucket */
} pt_proc;

typedef struct pt_procs {
    const char *root;     /* "/proc" */
    struct stat own_root; /* of the recorder's root folder */
    pt_images images;
    pt_target_memory *memory;
    pt_proc *of_pid[PT_PROCS_BUCKETS]; /* by pid modulo, the youngest first */
    pt_proc *gone[PT_PROCS_GONE];      /* the processes that ended last, a ring */
    uint32_t gone_count;
    uint32_t generation; /* the last generation that was assigned */
    uint32_t starts;     /* the last pt_proc.start that was assigned */
} pt_procs;

/* root: "/proc" or a substitute; borrowed. */
void pt_procs_init(pt_procs *procs, const char *root);
void pt_procs_done(pt_procs *procs);

/* The living process with that pid, or NULL. */
pt_proc *pt_procs_find(const pt_procs *procs, uint32_t pid);
/* The living process with that pid; if there is none, a new one without name or mappings. */
pt_proc *pt_procs_get(pt_procs *procs, uint32_t pid);
/* Reads name and mappings from /proc, as far as permitted. False: the process is gone, or its
 * mappings are unreadable. */
bool pt_procs_read(pt_procs *procs, pt_proc *proc);

/* Reads the process's memory; returns as pt_target_memory_read. */
ssize_t pt_proc_read_memory(pt_proc *proc, uint64_t addr, void *to, size_t size);

/* Copies the value of "KEY:\tvalue" in ROOT/PROCESS/status (proc(5)) to buf; "" if there is none.
 * process: a pid as text, or "self". */
void pt_proc_status(const char *root, const char *process, const char *key, char *buf, size_t size);

/* Each pt_procs_on_* applies a record and returns the process concerned; NULL if the record changes
 * no process. */
pt_proc *pt_procs_on_mmap(pt_procs *procs, const pt_perf_record *record);
pt_proc *pt_procs_on_comm(pt_procs *procs, const pt_perf_record *record);
/* Returns the new process; NULL for a new thread. The caller has called pt_procs_end for an older
 * process with that pid. */
pt_proc *pt_procs_on_fork(pt_procs *procs, const pt_perf_record *record);

/* Notes that a process has ended. Returns an older process that the caller frees, after enough
 * others have ended; or NULL. */
pt_proc *pt_procs_end(pt_procs *procs, pt_proc *proc);
/* Frees a process. */
void pt_procs_drop(pt_procs *procs, pt_proc *proc);

/* The mapping that contains addr, or NULL. */
const pt_proc_map *pt_proc_map_at(const pt_proc *proc, uint64_t addr);
/* The number of leading frames that are still right in a stack that was walked by the mappings of
 * `generation`: the frames up to and including the first one in a mapping that was replaced since.
 */
uint32_t pt_proc_right_frames(const pt_proc *proc, uint32_t generation, const uint64_t *pcs,
                              uint32_t count);
/* The modules for pt_unwind. Brings them up to date first, which may read files. all: reads every
 * mapped file. Else files stay unread until pt_proc_read_met, since most are in no stack; their
 * modules have no table. */
pt_unwind_modules pt_proc_modules(pt_procs *procs, pt_proc *proc, bool all);
/* After pt_proc_modules: reads the unread files that contain the pcs of an unwound stack, innermost
 * first. True: some modules get tables, so the stack has to be unwound again with new modules. */
bool pt_proc_read_met(pt_procs *procs, pt_proc *proc, const uint64_t *pcs, uint32_t count);
/* Sometimes frees the tables of files that no process has mapped (pt_images_sweep). Modules must
 * not be in use. */
void pt_procs_sweep(pt_procs *procs, void (*forget)(void *arg, const pt_unwind_table *table),
                    void *arg);
