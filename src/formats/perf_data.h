/* perf_data.h: internals of the reader of perf.data.
 *
 *   file --header--> attrs, ids, features                        perf_data_header.c
 *     `--records--> queue, in the order of time                  perf_data.c, perf_data_queue.c
 *                     |-- MMAP, COMM, FORK: processes            perf_data_procs.c
 *                     |-- CALLCHAIN_DEFERRED: waiting samples    perf_data_deferred.c
 *                     `-- SAMPLE: by its attr's layout           perf_data_sample.c
 *                            `-- chain of addresses -> stack     perf_data_stacks.c
 *                                  `-- names, by simpleperf     perf_data_simpleperf.c
 *
 * Records are parsed in place. A chain is resolved only once for each state of a process's
 * mappings: the raw chain is hashed, and only a chain with a new hash is decoded.
 */
#pragma once

#include "base/compress.h"
#include "base/grow.h"
#include "base/index.h"
#include "formats/format.h"
#include "formats/perf_data_layout.h"

struct pt_perf_data;

/* ---- bytes in the file's order ---- */

/* A number in the file's byte order, at any alignment. */
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

/* An event's attributes (perf_event_attr), and the offsets of fields in its samples. */
typedef struct pt_perf_attr {
    uint32_t type;
    uint64_t config;
    uint64_t period; /* or the frequency, if is_freq */
    uint64_t sample_type, read_format, branch_type, regs_user, regs_intr;
    uint64_t flags; /* bit n is PT_PERF_FLAG_x == n, whatever the file's byte order */
    uint32_t stack_user;
    uint16_t max_stack; /* 0 = 127 */
    bool is_freq;
    char *name;     /* name in the file; NULL = none */
    uint32_t event; /* event of the builder; PT_NONE = an event that counts nothing */
    /* Offsets from the body's start; -1 = absent. read_at: start of the part with variable layout.
     */
    int32_t ip_at, tid_at, time_at, id_at, cpu_at, period_at, read_at;
    /* Offsets from the end of records other than samples; -1 = absent. */
    int32_t other_tid_at, other_time_at, other_id_at;
    uint64_t samples; /* number of samples read */
} pt_perf_attr;

/* Fills the offsets from sample_type. */
void pt_perf_attr_lay_out(pt_perf_attr *attr);
/* Defines the attrs' events in the profile, in ascending order, before the first sample. */
void pt_perf_events_define(struct pt_perf_data *d);
/* Completes the events after all records: names may come late, and the default event depends on the
 * samples. */
void pt_perf_events_finish(struct pt_perf_data *d);

/* ---- strings with fixed addresses ---- */

/* Distinct strings, each at an address that never changes. */
typedef struct pt_perf_pool {
    PT_VECTOR(char *) text;
    pt_index index;
} pt_perf_pool;

/* The pooled copy of a text. */
const char *pt_perf_pool_text(pt_perf_pool *pool, const char *text, size_t size);
void pt_perf_pool_done(pt_perf_pool *pool);

/* ---- processes ---- */

typedef struct pt_perf_map {
    pt_read_map where;  /* path and build id are in the pool */
    uint32_t mapping;   /* row in the builder; PT_NONE = not added yet */
    const char *name;   /* name of all code in the mapping (KSYMBOL), in the pool; NULL = none */
    pt_map_range whole; /* the mapping's range before later mappings cut it */
    uint32_t pid;       /* owner of anonymous memory; 0 = a file */
    uint8_t flags;      /* PT_MAPPING_x */
} pt_perf_map;

/* The mappings of a process, ascending and not overlapping. Processes share such a list until one
 * of the processes changes its mappings. */
typedef struct pt_perf_maps {
    uint32_t refs;
    uint32_t generation; /* changes with every change of the mappings */
    PT_VECTOR(pt_perf_map) map;
} pt_perf_maps;

typedef struct pt_perf_proc {
    uint32_t pid;
    pt_perf_maps *maps;
} pt_perf_proc;

typedef struct pt_perf_thread {
    uint32_t tid, pid;
    uint32_t proc; /* row in procs.proc */
    uint32_t comm; /* string of the builder; 0 = unknown */
} pt_perf_thread;

typedef struct pt_perf_procs {
    PT_VECTOR(pt_perf_proc) proc;
    PT_VECTOR(pt_perf_thread) thread;
    pt_index by_pid, by_tid;
    pt_perf_maps *kernel;
    uint32_t generation;
    uint64_t map_count, left_out; /* mappings in all lists; mappings dropped beyond the limit */
    struct {
        uint32_t key, thread; /* cache: tid and row */
    } recent[256];
} pt_perf_procs;

/* No processes yet. pt_perf_procs_done frees the lists and the mappings in them. */
void pt_perf_procs_init(pt_perf_procs *procs);
void pt_perf_procs_done(pt_perf_procs *procs);
/* The row of a thread, added if it is new. */
uint32_t pt_perf_thread_get(struct pt_perf_data *d, uint32_t pid, uint32_t tid);
/* The mapping that holds addr, or NULL. */
pt_perf_map *pt_perf_map_at(pt_perf_maps *maps, uint64_t addr);

/* Handlers of records. body: the bytes after the header, at least as many as the record's type
 * requires. */
void pt_perf_on_mmap(struct pt_perf_data *d, uint32_t type, uint16_t misc, const uint8_t *body,
                     size_t size);
void pt_perf_on_comm(struct pt_perf_data *d, uint16_t misc, const uint8_t *body, size_t size);
void pt_perf_on_fork(struct pt_perf_data *d, uint16_t misc, const uint8_t *body, size_t size);
void pt_perf_on_ksymbol(struct pt_perf_data *d, const uint8_t *body, size_t size);
/* pt_perf_on_cgroup handles a record with a cgroup's name. pt_perf_cgroup_labels returns the label
 * set with the name of the cgroup of that id. */
void pt_perf_on_cgroup(struct pt_perf_data *d, const uint8_t *body, size_t size);
uint32_t pt_perf_cgroup_labels(struct pt_perf_data *d, uint64_t id);

/* ---- stacks ---- */

/* The parts of a sample that determine its stack. */
typedef struct pt_perf_chain {
    const uint8_t *chain; /* chain_count addresses and context marks, in the file's byte order */
    uint64_t chain_count;
    uint64_t ip;
    bool has_ip;
    uint8_t cpumode;
    uint16_t max_stack;
    const uint64_t *user; /* user frames from an unwinder, in place of the chain's user part; NULL =
                           * use the chain's user part */
    uint32_t user_count;
    uint8_t user_end; /* pt_stack_end */
    bool has_calls;   /* the callers in `user` are addresses of calls, not return addresses */
} pt_perf_chain;

typedef struct pt_perf_stacks {
    /* A slot of the table of known chains, by their keys. A look-up reads only this table. */
    struct pt_perf_known {
        uint64_t key_a, key_b;
        uint32_t stack; /* the chain's stack + 1; 0 = an empty slot */
    } * known;
    size_t known_count, known_mask; /* mask: slots - 1; 0 = none yet */
    /* A direct-mapped cache of addresses; seen_count is a power of two. */
    struct pt_perf_seen_addr {
        uint64_t addr;
        uint32_t generation, kind, location;
    } * seen;
    size_t seen_count;
    pt_index shared; /* index of `image` */
    struct {
        struct pt_perf_shared {
            const char *path, *build_id;
            uint64_t file_offset, bytes, start;
            uint32_t pid, mapping;
        } * items;
        size_t count, cap;
    } image;
    uint32_t rest_of_kernel; /* mapping for kernel addresses outside all kernel mappings; PT_NONE =
                                none yet */
    pt_index arc_index;
    struct {
        struct pt_perf_arc {
            uint32_t from, to;
            uint64_t count;
        } * items;
        size_t count, cap;
    } arc;
} pt_perf_stacks;

/* Initializes a zeroed struct. file_bytes: size of the file, which decides how many addresses the
 * cache of addresses holds. */
void pt_perf_stacks_init(pt_perf_stacks *stacks, uint64_t file_bytes);
void pt_perf_stacks_done(pt_perf_stacks *stacks);
/* The builder's stack of a chain. */
pt_stack_id pt_perf_stack_of(struct pt_perf_data *d, pt_perf_proc *proc, const pt_perf_chain *c);
/* Adds a branch that the processor recorded, as an arc. */
void pt_perf_branch(struct pt_perf_data *d, pt_perf_proc *proc, uint64_t from, uint64_t to);
/* The build id that the header's features state for a path (of the pool); NULL = none. */
const char *pt_perf_late_build_id(const struct pt_perf_data *d, const char *path);
/* Adds the arcs to the builder, and the build ids that came after the mappings. */
void pt_perf_stacks_finish(struct pt_perf_data *d);

/* ---- symbols in the file (perf_data_simpleperf.c) ---- */

typedef struct pt_perf_symbol {
    uint64_t start;   /* ascending within a file */
    const char *name; /* in the file's bytes, name_bytes long */
    uint32_t bytes, name_bytes;
} pt_perf_symbol;

typedef struct pt_perf_symbol_file {
    const char *path; /* in the pool */
    uint32_t kind;
    uint64_t address, offset; /* the lowest address of the code; its offset in the file, UINT64_MAX
                               * = unknown */
    size_t first, count;      /* range of the file's symbols */
} pt_perf_symbol_file;

typedef struct pt_perf_symbols {
    PT_VECTOR(pt_perf_symbol_file) file;
    PT_VECTOR(pt_perf_symbol) symbol;
    pt_index by_path;
} pt_perf_symbols;

/* Handles a feature of the header that simpleperf defines, from PT_PERF_FEATURE_SIMPLEPERF on.
 * `bytes` stays valid while the file is read. */
void pt_perf_on_simpleperf_feature(struct pt_perf_data *d, unsigned feature, const uint8_t *bytes,
                                   size_t size);
/* The name (a string of the builder) that perf.data states for an address in a mapping; 0 =
 * none. */
uint32_t pt_perf_symbol_name(const struct pt_perf_data *d, const pt_perf_map *map,
                             uint64_t address);
void pt_perf_symbols_done(pt_perf_symbols *symbols);

/* ---- the queue, in the order of time ---- */

typedef struct pt_perf_queued {
    uint64_t time;
    const uint8_t *record;
    uint32_t chunk; /* chunk that holds the record; PT_NONE = the file */
} pt_perf_queued;

typedef struct pt_perf_queue {
    pt_perf_queued *items, *spare;
    size_t count, cap, spare_cap;
    uint64_t newest, limit; /* newest: the latest time of all records so far; limit: the value of
                             * `newest` when the latest round ended */
    bool is_sorted;
} pt_perf_queue;

/* Frees the queue; the records are the file's or the chunks'. A zeroed queue is empty. */
void pt_perf_queue_done(pt_perf_queue *queue);
/* Adds a record, which must stay valid until it is dropped. */
void pt_perf_queue_add(pt_perf_queue *queue, uint64_t time, const uint8_t *record, uint32_t chunk);
/* Sorts stably and returns the number n of records with time <= limit. The caller processes
 * items[0, n), then drops them. */
size_t pt_perf_queue_ready(pt_perf_queue *queue, uint64_t limit);
void pt_perf_queue_drop(pt_perf_queue *queue, size_t count);

/* ---- samples with deferred user stacks (perf_data_deferred.c) ---- */

typedef struct pt_perf_deferred {
    struct pt_perf_waiting {
        uint64_t cookie;
        pt_buf samples; /* copied sample records; empty after the chain came */
    } * items;
    size_t count, cap;
    pt_index index; /* cookie -> row */
    pt_buf joined;  /* scratch for a joined chain */
} pt_perf_deferred;

/* Does the chain end in a mark for a deferred user stack? *ret_cookie is the cookie after the
 * mark. */
bool pt_perf_is_deferred(const uint8_t *chain, uint64_t count, bool swap, uint64_t *ret_cookie);
/* Stores a copy of the sample's record. */
void pt_perf_defer(pt_perf_deferred *deferred, uint64_t cookie, uint16_t misc, const uint8_t *body,
                   size_t size);
/* The chain with the user stack in place of the mark at its end; valid until the next call. *count:
 * the number of words of the chain; before the call without, after it with the user stack. */
const uint8_t *pt_perf_deferred_join(pt_perf_deferred *deferred, const uint8_t *chain,
                                     uint64_t *count, const uint8_t *user, uint64_t user_count);
void pt_perf_deferred_done(pt_perf_deferred *deferred);

/* ---- the reader ---- */

/* A buffer of inflated records. */
typedef struct pt_perf_chunk {
    uint8_t *bytes;
    size_t size, parsed;
    uint32_t queued; /* records still in the queue */
} pt_perf_chunk;

typedef struct pt_perf_data {
    pt_builder *builder;
    const pt_read_hooks *hooks;
    pt_diag *diag;
    pt_error *reterr;
    const uint8_t *start, *end; /* bounds of the file */
    bool swap, is_pipe, is_big_endian;
    bool are_events_defined;
    bool is_in_files;    /* written by perf record --threads: the records are in several files */
    const uint8_t *more; /* is_in_files: start of the second file's records; NULL = unknown */
    bool is_feature_cut; /* the header's features about the machine and the programs are incomplete
                          */
    PT_VECTOR(pt_perf_attr) attr;
    struct {
        struct pt_perf_id {
            uint64_t id, counter; /* counter: its last value */
            uint32_t attr;
        } * items;
        size_t count, cap;
    } id;
    pt_index id_index;
    uint32_t last_id_row; /* attr of the id of the last look-up; PT_NONE = none yet */
    pt_perf_pool pool;
    pt_perf_procs procs;
    pt_perf_stacks stacks;
    pt_perf_symbols symbols;
    pt_perf_queue queue;
    pt_perf_deferred deferred;
    pt_unzstd *zstd;
    PT_VECTOR(pt_perf_chunk) chunk;
    uint64_t inflated_bytes;
    struct { /* build ids from the features, by path */
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
    int64_t unix_offset_ns; /* Unix time minus the file's clock; 0 = unknown */
    int64_t first_ns, last_ns;
    uint64_t lost, throttled;
    uint64_t more_events; /* events beyond the limit of columns */
    uint64_t odd, unknown, no_event, aux_bytes, not_unwound;
    int64_t *values; /* values of a sample, all 0 between samples */
    uint64_t *pcs;   /* scratch for unwinding */
} pt_perf_data;

/* Reads the header, attrs and features of a file, or the header of a pipe; [*ret_at, *ret_end) are
 * then the records. */
pt_status pt_perf_header_read(pt_perf_data *d, const uint8_t **ret_at, const uint8_t **ret_end,
                              bool *ret_is_cut);
/* Handlers of records that only a pipe has: an attr with its ids, a name, a feature. */
void pt_perf_on_attr(pt_perf_data *d, const uint8_t *body, size_t size);
void pt_perf_on_event_update(pt_perf_data *d, const uint8_t *body, size_t size);
void pt_perf_on_feature(pt_perf_data *d, uint64_t feature, const uint8_t *bytes, size_t size);
void pt_perf_on_build_id(pt_perf_data *d, uint16_t misc, const uint8_t *body, size_t size);
/* The attr of an id; PT_NONE for an unknown id. */
uint32_t pt_perf_attr_of_id(pt_perf_data *d, uint64_t id);

/* The attr that defines a sample's layout; NULL if it is unknown. */
pt_perf_attr *pt_perf_attr_of_sample(pt_perf_data *d, const uint8_t *body, size_t size);
/* The time of a record; 0 = unknown. */
uint64_t pt_perf_time_of(pt_perf_data *d, uint32_t type, const uint8_t *body, size_t size);
void pt_perf_on_sample(pt_perf_data *d, uint16_t misc, const uint8_t *body, size_t size);
/* Handles a sample whose user stack was deferred. user: the stack; NULL if it never came. */
void pt_perf_on_joined_sample(pt_perf_data *d, uint16_t misc, const uint8_t *body, size_t size,
                              const uint8_t *user, uint64_t user_count);
/* pt_perf_on_deferred handles a record with a deferred user stack, and the samples that wait for
 * it. pt_perf_deferred_finish handles, at the end, the samples whose user stack never came. */
void pt_perf_on_deferred(pt_perf_data *d, const uint8_t *body, size_t size);
void pt_perf_deferred_finish(pt_perf_data *d);

/* The writer (perf_data_write.c). Errors as in pt_format.write. */
pt_status pt_perf_data_write(const pt_profile *profile, const pt_output *output,
                             const pt_write_options *options, pt_error *reterr);
/* The event that pitot and perf show by default in the written file: the first with samples. */
uint32_t pt_perf_data_shown_event(const pt_profile *profile);
