/* perf_data.h: inside the reader of perf.data.
 *
 *   file --header--> attrs, ids, features                        perf_data_header.c
 *     `--records--> queue, in the order of time                  perf_data.c, perf_data_queue.c
 *                     |-- MMAP, COMM, FORK: processes            perf_data_procs.c
 *                     |-- CALLCHAIN_DEFERRED: samples waited     perf_data_deferred.c
 *                     `-- SAMPLE: by its attr's layout           perf_data_sample.c
 *                            `-- chain of addresses -> stack     perf_data_stacks.c
 *
 * Records are looked at where they lie. What costs is done once for each distinct chain of a state
 * of a process's mappings: a sample's raw chain is hashed as it stands, and only a new one is taken
 * apart.
 */
#ifndef PT_FORMATS_PERF_DATA_H
#define PT_FORMATS_PERF_DATA_H

#include "base/compress.h"
#include "base/grow.h"
#include "base/index.h"
#include "formats/format.h"
#include "formats/perf_data_layout.h"

struct pt_perf_data;

/* ---- bytes in the file's order ---- */

static inline uint16_t pt_perf_u16(const uint8_t *at, bool swap)
{
    uint16_t value;
    memcpy(&value, at, sizeof value);
    return swap ? __builtin_bswap16(value) : value;
}

static inline uint32_t pt_perf_u32(const uint8_t *at, bool swap)
{
    uint32_t value;
    memcpy(&value, at, sizeof value);
    return swap ? __builtin_bswap32(value) : value;
}

static inline uint64_t pt_perf_u64(const uint8_t *at, bool swap)
{
    uint64_t value;
    memcpy(&value, at, sizeof value);
    return swap ? __builtin_bswap64(value) : value;
}

/* ---- events ---- */

/* An event as it was opened, and where its samples have what. */
typedef struct pt_perf_attr {
    uint32_t type;
    uint64_t config;
    uint64_t period; /* or frequency: is_freq */
    uint64_t sample_type, read_format, branch_type, regs_user, regs_intr;
    uint64_t flags; /* bit n is PT_PERF_FLAG_x == n, whatever the file's byte order */
    uint32_t stack_user;
    uint16_t max_stack; /* 0 = 127 */
    bool is_freq;
    char *name;     /* what the file calls it; NULL = it does not */
    uint32_t event; /* of the builder; PT_NONE = it counts nothing */
    /* Bytes from the body's start; -1 = not there. read_at: where the part begins that varies. */
    int32_t ip_at, tid_at, time_at, id_at, cpu_at, period_at, read_at;
    /* Bytes from the end of what is no sample; -1 = not there. */
    int32_t other_tid_at, other_time_at, other_id_at;
    uint64_t samples; /* read */
} pt_perf_attr;

/* Fills the offsets from sample_type. */
void pt_perf_attr_lay_out(pt_perf_attr *attr);
/* Its name, unit and kind as events of the profile, in ascending order: before the first sample. */
void pt_perf_events_define(struct pt_perf_data *d);
/* Names may come late, and which is shown depends on what there was. */
void pt_perf_events_finish(struct pt_perf_data *d);

/* ---- text that stays ---- */

/* Distinct strings, each at an address of its own for good. */
typedef struct pt_perf_pool {
    struct {
        char **items;
        size_t count, cap;
    } text;
    pt_index index;
} pt_perf_pool;

const char *pt_perf_pool_text(pt_perf_pool *pool, const char *text, size_t size);
void pt_perf_pool_done(pt_perf_pool *pool);

/* ---- processes ---- */

typedef struct pt_perf_map {
    pt_read_map where;  /* path and build id lie in the pool */
    uint32_t mapping;   /* in the builder; PT_NONE = not yet */
    const char *name;   /* of all its code (KSYMBOL), in the pool; NULL = none */
    pt_map_range whole; /* before others were put over it */
    uint32_t pid;       /* whose anonymous memory it is; 0 = a file */
    uint8_t flags;      /* PT_MAPPING_x */
} pt_perf_map;

/* What is mapped, ascending and not overlapping. Shared by processes until one of them changes it.
 */
typedef struct pt_perf_maps {
    uint32_t refs;
    uint32_t generation; /* another one whenever anything changes */
    struct {
        pt_perf_map *items;
        size_t count, cap;
    } map;
} pt_perf_maps;

typedef struct pt_perf_proc {
    uint32_t pid;
    pt_perf_maps *maps;
} pt_perf_proc;

typedef struct pt_perf_thread {
    uint32_t tid, pid;
    uint32_t proc; /* row of procs */
    uint32_t comm; /* string of the builder; 0 = unknown */
} pt_perf_thread;

typedef struct pt_perf_procs {
    struct {
        pt_perf_proc *items;
        size_t count, cap;
    } proc;
    struct {
        pt_perf_thread *items;
        size_t count, cap;
    } thread;
    pt_index by_pid, by_tid;
    pt_perf_maps *kernel;
    uint32_t generation;
    uint64_t map_count, left_out; /* in all maps; mappings that were too many */
    struct {
        uint32_t key, thread; /* tid, row */
    } recent[256];
} pt_perf_procs;

void pt_perf_procs_init(pt_perf_procs *procs);
void pt_perf_procs_done(pt_perf_procs *procs);
/* The row of the thread; made if there is none. */
uint32_t pt_perf_thread_get(struct pt_perf_data *d, uint32_t pid, uint32_t tid);
/* The mapping that holds addr, or NULL. */
pt_perf_map *pt_perf_map_at(pt_perf_maps *maps, uint64_t addr);

/* What the records say; body is what follows the header, at least of the size given. */
void pt_perf_on_mmap(struct pt_perf_data *d, uint32_t type, uint16_t misc, const uint8_t *body,
                     size_t size);
void pt_perf_on_comm(struct pt_perf_data *d, uint16_t misc, const uint8_t *body, size_t size);
void pt_perf_on_fork(struct pt_perf_data *d, uint16_t misc, const uint8_t *body, size_t size);
void pt_perf_on_ksymbol(struct pt_perf_data *d, const uint8_t *body, size_t size);
/* Labels of a sample: its cgroup's name. */
void pt_perf_on_cgroup(struct pt_perf_data *d, const uint8_t *body, size_t size);
uint32_t pt_perf_cgroup_labels(struct pt_perf_data *d, uint64_t id);

/* ---- stacks ---- */

/* What tells a stack, as the file has it. */
typedef struct pt_perf_chain {
    const uint8_t *chain; /* chain_count addresses and marks, in the file's order */
    uint64_t chain_count;
    uint64_t ip;
    bool has_ip;
    uint8_t cpumode;
    uint16_t max_stack;
    const uint64_t *user; /* unwound, instead of the chain's user part; NULL = the chain's */
    uint32_t user_count;
    uint8_t user_end; /* pt_stack_end */
    bool has_calls;   /* the callers in `user` are calls, not return addresses */
} pt_perf_chain;

typedef struct pt_perf_stacks {
    /* Chains that were seen, by their keys: a slot is what a lookup touches, and nothing else. */
    struct pt_perf_known {
        uint64_t key_a, key_b;
        uint32_t stack; /* + 1; 0 = an empty slot */
    } * known;
    size_t known_count, known_mask; /* mask: slots - 1; 0 = none yet */
    /* A cache, direct mapped; seen_count is a power of two. */
    struct pt_perf_seen_addr {
        uint64_t addr;
        uint32_t generation, kind, location;
    } * seen;
    size_t seen_count;
    pt_index shared; /* mappings of the builder by image */
    struct {
        struct pt_perf_shared {
            const char *path, *build_id;
            uint64_t file_offset, bytes, start;
            uint32_t pid, mapping;
        } * items;
        size_t count, cap;
    } image;
    uint32_t rest_of_kernel; /* mapping for what no kernel mapping holds; PT_NONE = none yet */
    pt_index arc_index;
    struct {
        struct pt_perf_arc {
            uint32_t from, to;
            uint64_t count;
        } * items;
        size_t count, cap;
    } arc;
} pt_perf_stacks;

void pt_perf_stacks_init(pt_perf_stacks *stacks, uint64_t file_bytes);
void pt_perf_stacks_done(pt_perf_stacks *stacks);
/* The builder's stack. */
pt_stack_id pt_perf_stack_of(struct pt_perf_data *d, pt_perf_proc *proc, const pt_perf_chain *c);
/* A jump that the processor recorded. */
void pt_perf_branch(struct pt_perf_data *d, pt_perf_proc *proc, uint64_t from, uint64_t to);
/* What the features say of the build at a path (of the pool); NULL = nothing. */
const char *pt_perf_late_build_id(const struct pt_perf_data *d, const char *path);
/* Arcs and build ids that came late. */
void pt_perf_stacks_finish(struct pt_perf_data *d);

/* ---- the order of time ---- */

typedef struct pt_perf_queued {
    uint64_t time;
    const uint8_t *record;
    uint32_t chunk; /* that holds it; PT_NONE = the file */
} pt_perf_queued;

typedef struct pt_perf_queue {
    pt_perf_queued *items, *spare;
    size_t count, cap, spare_cap;
    uint64_t newest, limit; /* time seen; and before the last finished round */
    bool is_sorted;
} pt_perf_queue;

void pt_perf_queue_done(pt_perf_queue *queue);
void pt_perf_queue_add(pt_perf_queue *queue, uint64_t time, const uint8_t *record, uint32_t chunk);
/* Sorts, stably; the caller takes items[0, n) whose time is at most limit, and drops them. */
size_t pt_perf_queue_ready(pt_perf_queue *queue, uint64_t limit);
void pt_perf_queue_drop(pt_perf_queue *queue, size_t count);

/* ---- samples that wait for their user side (perf_data_deferred.c) ---- */

typedef struct pt_perf_deferred {
    struct pt_perf_waiting {
        uint64_t cookie;
        pt_buf samples; /* records, one after the other; empty once the chain has come */
    } * items;
    size_t count, cap;
    pt_index index; /* by cookie */
    pt_buf joined;  /* scratch: a whole chain */
} pt_perf_deferred;

/* Is the user side of the chain still to come, under a cookie? */
bool pt_perf_is_deferred(const uint8_t *chain, uint64_t count, bool swap, uint64_t *ret_cookie);
/* Keeps a copy of the sample's record. */
void pt_perf_defer(pt_perf_deferred *deferred, uint64_t cookie, uint16_t misc, const uint8_t *body,
                   size_t size);
/* The deferred chain with the user side in place of the mark: valid until the next call. */
const uint8_t *pt_perf_deferred_join(pt_perf_deferred *deferred, const uint8_t *chain,
                                     uint64_t *count, const uint8_t *user, uint64_t user_count);
void pt_perf_deferred_done(pt_perf_deferred *deferred);

/* ---- all of it ---- */

/* Inflated records. */
typedef struct pt_perf_chunk {
    uint8_t *bytes;
    size_t size, parsed;
    uint32_t queued; /* records that are still to be looked at */
} pt_perf_chunk;

typedef struct pt_perf_data {
    pt_builder *builder;
    const pt_read_hooks *hooks;
    pt_diag *diag;
    pt_error *reterr;
    const uint8_t *start, *end; /* of the file */
    bool swap, is_pipe, is_big_endian;
    bool are_events_defined;
    bool is_in_files;    /* of perf record --threads: records are in several files, those of */
    const uint8_t *more; /* the others here, behind the first; NULL = not known to be */
    bool is_feature_cut; /* of what the header says of the machine and of programs a part is missing
                          */
    struct {
        pt_perf_attr *items;
        size_t count, cap;
    } attr;
    struct {
        struct pt_perf_id {
            uint64_t id, counter; /* counter: as it was last read */
            uint32_t attr;
        } * items;
        size_t count, cap;
    } id;
    pt_index id_index;
    uint32_t last_id_row; /* of the id that was asked for last; PT_NONE = none yet */
    pt_perf_pool pool;
    pt_perf_procs procs;
    pt_perf_stacks stacks;
    pt_perf_queue queue;
    pt_perf_deferred deferred;
    pt_unzstd *zstd;
    struct {
        pt_perf_chunk *items;
        size_t count, cap;
    } chunk;
    uint64_t inflated_bytes;
    struct { /* build ids that features tell, by path */
        struct pt_perf_build_id {
            const char *path, *build_id;
        } * items;
        size_t count, cap;
    } build_id;
    pt_index build_id_index;
    struct {
        struct pt_perf_cgroup {
            uint64_t id;
            uint32_t path, labels;
        } * items;
        size_t count, cap;
    } cgroup;
    pt_index cgroup_index;
    const char *arch;
    int64_t unix_offset_ns; /* Unix time - the file's clock; 0 = unknown */
    int64_t first_ns, last_ns;
    uint64_t lost, throttled;
    uint64_t more_events; /* than a profile of them may have columns */
    uint64_t odd, unknown, no_event, aux_bytes, unwound, not_unwound;
    int64_t *values; /* a sample's, all 0 between samples */
    uint64_t *pcs;   /* scratch for unwinding */
} pt_perf_data;

/* Reads the header, attrs and features of a file, or the header of a pipe; *ret_at and *ret_end are
 * then where the records lie. */
pt_status pt_perf_header_read(pt_perf_data *d, const uint8_t **ret_at, const uint8_t **ret_end,
                              bool *ret_is_cut);
/* What is a record in a pipe: an attr with its ids, a name, a feature. */
void pt_perf_on_attr(pt_perf_data *d, const uint8_t *body, size_t size);
void pt_perf_on_event_update(pt_perf_data *d, const uint8_t *body, size_t size);
void pt_perf_on_feature(pt_perf_data *d, uint64_t feature, const uint8_t *bytes, size_t size);
void pt_perf_on_build_id(pt_perf_data *d, uint16_t misc, const uint8_t *body, size_t size);
/* The attr of an id; PT_NONE if there is no such id. */
uint32_t pt_perf_attr_of_id(pt_perf_data *d, uint64_t id);

/* The attr that tells a record's layout. NULL: none does. */
pt_perf_attr *pt_perf_attr_of_sample(pt_perf_data *d, const uint8_t *body, size_t size);
/* When a record was written; 0 = it does not say. */
uint64_t pt_perf_time_of(pt_perf_data *d, uint32_t type, const uint8_t *body, size_t size);
void pt_perf_on_sample(pt_perf_data *d, uint16_t misc, const uint8_t *body, size_t size);
/* A sample that waited; user: the chain of its user side, NULL if that never came. */
void pt_perf_on_told_sample(pt_perf_data *d, uint16_t misc, const uint8_t *body, size_t size,
                            const uint8_t *user, uint64_t user_count);
/* The chain that samples wait for; and at the end those for which none came. */
void pt_perf_on_deferred(pt_perf_data *d, const uint8_t *body, size_t size);
void pt_perf_deferred_finish(pt_perf_data *d);

/* The format's writer: perf_data_write.c. */
pt_status pt_perf_data_write(const pt_profile *profile, const pt_output *output,
                             const pt_write_options *options, pt_error *reterr);
/* The event that perf.data's reader, and perf, show of what it writes: the first with samples. */
uint32_t pt_perf_data_shown_event(const pt_profile *profile);

#endif
