/* profile.h: the profile as every other layer sees it: frozen tables of columns.
 *
 *   string     bytes, offset[n+1]                         id 0 is ""
 *   event      type, unit, kind, period ...               one a value column of the samples
 *   mapping    start, limit, file offset, file, build id  slot 0 is the main binary
 *   function   name, system name, file, start line
 *   location   mapping, address, lines [first, first+n)   innermost inlined frame first
 *   line       function, line, column
 *   stack      frame[] (location ids, leaf first)         interned whole, with why it ended
 *   sample     stack, label set, one value an event, and time, thread, cpu when known
 *   label set  key -> string | number with unit           order and duplicates kept
 *   arc, bin, block, extra, unknown                       what is not a stack
 *   provenance                                            where it came from, what is missing
 *
 * Every id is a 32-bit row number; PT_NONE (base/index.h) means "none". A profile never changes
 * once frozen: threads read it without locks. Tables are reference counted, so a derived profile
 * shares each table that it did not change. Columns are reached directly (p->location->address[i])
 * and are never written through a profile. Rows keep the order in which they first appeared.
 */
#ifndef PT_MODEL_PROFILE_H
#define PT_MODEL_PROFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/index.h"

/* Typed ids, for parameters; columns are plain uint32_t. */
typedef struct {
    uint32_t v;
} pt_string_id;
typedef struct {
    uint32_t v;
} pt_mapping_id;
typedef struct {
    uint32_t v;
} pt_function_id;
typedef struct {
    uint32_t v;
} pt_location_id;
typedef struct {
    uint32_t v;
} pt_stack_id;
typedef struct {
    uint32_t v;
} pt_labels_id;

/* The head of every table. */
typedef struct pt_table {
    _Atomic uint32_t refs;
    uint32_t count; /* rows */
} pt_table;

typedef struct pt_strings {
    pt_table t;
    const uint64_t *offset; /* [count + 1]; string i is bytes[offset[i] .. offset[i+1] - 1) */
    const char *bytes;      /* each string is followed by a NUL that is not part of it */
} pt_strings;

typedef enum {
    PT_EVENT_COUNT, /* events of any kind: samples, calls, allocations */
    PT_EVENT_TIME,  /* unit is one of time */
    PT_EVENT_BYTES, /* unit is one of memory */
} pt_event_kind;

typedef struct pt_event {
    uint32_t type, unit;       /* strings: "cpu", "nanoseconds" */
    pt_event_kind kind;        /* follows from unit; see pt_event_kind_of_unit */
    bool period_varies;        /* each sample carries its own weight; period is only an average */
    int64_t period;            /* of this event, in its own unit; 0 = see provenance or unknown */
    double rate_hz;            /* rate of the clock behind it; 0 = unknown */
    double monitored_fraction; /* share of the time it was counted; 0 = unknown = 1 */
} pt_event;

typedef struct pt_events {
    pt_table t;
    const pt_event *row;
} pt_events;

enum {
    PT_MAPPING_HAS_FUNCTIONS = 1 << 0, /* its locations carry all the names there are */
    PT_MAPPING_HAS_FILENAMES = 1 << 1,
    PT_MAPPING_HAS_LINES = 1 << 2,
    PT_MAPPING_HAS_INLINES = 1 << 3,
    PT_MAPPING_KERNEL = 1 << 4,
    PT_MAPPING_JIT = 1 << 5,
    PT_MAPPING_HAS_BIAS = 1 << 6, /* bias is known (the image was looked at) */
};

typedef struct pt_mapping {
    uint64_t start, limit; /* addresses in the process: [start, limit) */
    uint64_t file_offset;  /* of start, in the file */
    uint64_t bias;         /* address in the process - address in the image's headers */
    uint64_t source_id;    /* the id it had in its file; 0 = row + 1 */
    uint32_t file;         /* string: a path, or "[vdso]", "[kernel]" */
    uint32_t build_id;     /* string: lower-case hex, or what the source had; "" = unknown */
    uint32_t foreign_id;   /* string "kind:value": DCPI image, Breakpad id, inode; or "" */
    uint32_t flags;        /* PT_MAPPING_x */
    int64_t valid_from_ns, valid_to_ns; /* Unix time; 0 = open */
} pt_mapping;

typedef struct pt_mappings {
    pt_table t;
    const pt_mapping *row;
} pt_mappings;

typedef struct pt_functions {
    pt_table t;
    const uint32_t *name, *system_name, *file; /* strings */
    const int64_t *start_line;                 /* 0 = unknown */
    const uint64_t *source_id;                 /* NULL, or the ids of the source file */
} pt_functions;

enum {
    PT_LOCATION_FOLDED = 1 << 0,      /* several symbols share its code (identical code folding) */
    PT_LOCATION_RETURN_ADDR = 1 << 1, /* address is a raw return address: look up address - 1.
                                         Not set for leaves, nor where the source already moved it
                                         into the call (profile.proto, gperftools as Go reads it) */
    PT_LOCATION_KERNEL = 1 << 2,
    PT_LOCATION_USER = 1 << 3,
    PT_LOCATION_GUEST = 1 << 4,
    PT_LOCATION_HYPERVISOR = 1 << 5,
};

typedef struct pt_locations {
    pt_table t;
    const uint32_t *mapping; /* PT_NONE = none */
    const uint64_t *address; /* 0 with no mapping: a name only (folded stacks) */
    const uint32_t
        *line_first;      /* [count + 1]; lines of location i: [line_first[i], line_first[i+1]) */
    const uint8_t *flags; /* PT_LOCATION_x */
    const uint64_t *symbol_bytes; /* NULL, or the size of the symbol that it lies in; 0 = unknown */
    const uint64_t *source_id;    /* NULL, or the ids of the source file */
} pt_locations;

typedef struct pt_lines {
    pt_table t;
    const uint32_t *function; /* PT_NONE = none */
    const int64_t *line;      /* 0 = unknown */
    const int64_t *column;    /* NULL when no line has one */
} pt_lines;

typedef enum {
    PT_STACK_END_UNKNOWN, /* the source does not say */
    PT_STACK_END_ROOT,    /* reached the thread's start */
    PT_STACK_END_TRUNCATED,
    PT_STACK_END_NO_RULE,
    PT_STACK_END_BAD_READ,
    PT_STACK_END_UNCHECKED, /* as root, but by frame pointers of code that has no unwind rules:
                               frames may be missing */
} pt_stack_end;
#define PT_STACK_END_COUNT 6
/* "root", "truncated", ...; what reports and JSON say. */
const char *pt_stack_end_name(pt_stack_end end);

typedef struct pt_stacks {
    pt_table t;
    const uint64_t *offset; /* [count + 1] */
    const uint32_t *frame;  /* location ids, leaf first */
    const uint8_t *end;     /* pt_stack_end */
} pt_stacks;

typedef enum { PT_LABEL_STRING, PT_LABEL_NUMBER } pt_label_kind;

typedef struct pt_label {
    uint32_t key;  /* string */
    uint32_t kind; /* pt_label_kind */
    uint32_t str;  /* string; 0 for numbers */
    uint32_t unit; /* string; 0 for strings and for numbers without a unit */
    int64_t num;   /* 0 for strings */
} pt_label;

typedef struct pt_label_sets {
    pt_table t;             /* set 0 is the empty one */
    const uint64_t *offset; /* [count + 1] */
    const pt_label *row;
} pt_label_sets;

typedef struct pt_samples {
    pt_table t;
    uint32_t event_count;
    const uint32_t *stack;
    const uint32_t *labels;      /* label set ids */
    const int64_t *const *value; /* [event_count] columns of t.count values */
    /* Optional columns: NULL when no sample has one. */
    const int64_t *time_ns;          /* Unix time or the source's clock; 0 = unknown */
    const uint32_t *pid, *tid, *cpu; /* PT_NONE = unknown */
    const uint32_t *comm;            /* string */
} pt_samples;

/* gmon, callgrind, branch records. */
typedef struct pt_arcs {
    pt_table t;
    uint32_t event_count;
    const uint32_t *from, *to;  /* locations */
    const uint64_t *calls;      /* exact number of traversals; 0 = unknown */
    const int64_t *const *cost; /* [event_count] inclusive cost columns; NULL entries: unknown */
} pt_arcs;

typedef struct pt_bin {
    uint64_t low, high; /* a histogram bin covers [low, high), not an address */
    uint64_t count;
    double scale;     /* bytes of text a bin would cover before edges are rounded; 0 = high - low */
    uint32_t mapping; /* or PT_NONE */
    uint32_t event;
} pt_bin;

typedef struct pt_bins {
    pt_table t;
    const pt_bin *row;
} pt_bins;

typedef struct pt_block {
    uint64_t address, count; /* executions of the basic block that begins at address */
    uint32_t mapping;        /* or PT_NONE */
} pt_block;

typedef struct pt_blocks {
    pt_table t;
    const pt_block *row;
} pt_blocks;

/* What a writer of the same format must give back: unknown header lines, in order. */
typedef struct pt_extras {
    pt_table t;
    const uint32_t *key, *value; /* strings (values are bytes) */
} pt_extras;

/* Unknown protobuf fields. Rewriting keeps them; transforms that renumber rows drop and count them.
 */
typedef enum {
    PT_IN_PROFILE,
    PT_IN_EVENT,
    PT_IN_SAMPLE,
    PT_IN_MAPPING,
    PT_IN_LOCATION,
    PT_IN_LINE,
    PT_IN_FUNCTION,
    PT_IN_LABEL, /* row = row in the label table, not a set */
    PT_IN_PERIOD_TYPE,
} pt_message;

typedef struct pt_unknowns {
    pt_table t;
    const uint8_t *message; /* pt_message */
    const uint32_t *row;    /* of that message's table */
    const uint32_t *bytes;  /* string: whole fields, tag and all, in order */
} pt_unknowns;

/* Where the profile came from and what it misses. Strings are ids; 0 = "" = unknown. */
typedef struct pt_provenance {
    uint32_t tool, host, os, cpu_model, command_line, source_format;
    uint32_t period_type, period_unit; /* what lies between two samples: "cpu", "nanoseconds" */
    int64_t period;                    /* that much; 0 = unknown */
    bool has_period_type;              /* the source had one, even if it is empty */
    int64_t start_ns;                  /* Unix time; 0 = unknown */
    int64_t duration_ns;               /* 0 = unknown */
    uint64_t lost, throttled;          /* samples known to be lost; events of throttling */
    double asked_hz, true_hz;          /* 0 = unknown */
    int64_t cpu_used_ns, cpu_seen_ns;  /* CPU time the processes used, and what samples stand for;
                                          0 = unknown */
    uint32_t word_bytes;               /* of the source: 4, 8; 0 = not applicable */
    bool big_endian;
    uint32_t drop_frames, keep_frames; /* regular expressions of the source */
    uint32_t default_event;            /* string: type of the event to show; "" = the last one */
    uint32_t doc_url;
    const uint32_t *comments; /* strings */
    uint32_t comment_count;
    bool damaged; /* only part of the source could be read */
} pt_provenance;

typedef struct pt_source {
    pt_table t; /* count is 1 */
    pt_provenance row;
} pt_source;

typedef struct pt_profile {
    _Atomic uint32_t refs;
    const pt_strings *string;
    const pt_events *event;
    const pt_mappings *mapping;
    const pt_functions *function;
    const pt_locations *location;
    const pt_lines *line;
    const pt_stacks *stack;
    const pt_samples *sample;
    const pt_label_sets *labels;
    const pt_arcs *arc;
    const pt_bins *bin;
    const pt_blocks *block;
    const pt_extras *extra;
    const pt_unknowns *unknown;
    const pt_source *source;
} pt_profile;

/* Takes a reference and returns the profile. */
const pt_profile *pt_profile_ref(const pt_profile *profile);
/* Gives a reference back; the last one frees what nobody else shares. Accepts NULL. */
void pt_profile_unref(const pt_profile *profile);
void pt_profile_unrefp(const pt_profile **profile);
#define PT_UNREF_PROFILE __attribute__((cleanup(pt_profile_unrefp)))

/* A string as C text (strings with NUL bytes inside are longer than this shows). Lives as long as
 * the profile's string table. */
static inline const char *pt_text(const pt_profile *p, uint32_t string)
{
    return p->string->bytes + p->string->offset[string];
}

/* Bytes without the closing NUL. */
static inline size_t pt_text_bytes(const pt_profile *p, uint32_t string)
{
    return (size_t)(p->string->offset[string + 1] - p->string->offset[string] - 1);
}

static inline uint32_t pt_stack_depth(const pt_profile *p, uint32_t stack)
{
    return (uint32_t)(p->stack->offset[stack + 1] - p->stack->offset[stack]);
}

static inline const uint32_t *pt_stack_frames(const pt_profile *p, uint32_t stack)
{
    return p->stack->frame + p->stack->offset[stack];
}

static inline const pt_provenance *pt_profile_provenance(const pt_profile *p)
{
    return &p->source->row;
}

/* time, bytes or count, from a unit's name ("nanoseconds", "KB"); unknown units count. */
pt_event_kind pt_event_kind_of_unit(const char *unit);

/* The event to show when nobody chose: the source's default, else the last one (as profile.proto
 * says). PT_NONE when there is none. */
uint32_t pt_profile_default_event(const pt_profile *p);

/* The event named by the user: its number, its type ("cpu"), or type/unit. PT_NONE if none fits. */
uint32_t pt_profile_find_event(const pt_profile *p, const char *name);

/* Sum of one event's values over all samples; saturates. */
int64_t pt_profile_total(const pt_profile *p, uint32_t event);

/* ---- What code without a name is called ---- */

/* The base name of a mapped file, without the brackets of "[vdso]" and its like: *ret_bytes of
 * path. */
const char *pt_object_name(const char *path, size_t *ret_bytes);

/* "[libfoo.so]" of a mapped file's path, "[unknown]" of ""; the caller frees. */
char *pt_object_text(const char *path);

/* "[libfoo.so+0x1234]" of an address in a mapped file; of path "" "[0x1234]", or "[unknown]" for
 * address 0. Returns what snprintf does. */
int pt_place_text(const char *path, uint64_t address, char *buf, size_t size);

/* A location's address as its image was linked, when the mapping's bias is known, else its offset
 * in the mapped file. Without a mapped file: the address as it is. */
uint64_t pt_location_in_image(const pt_profile *p, uint32_t location);

/* pt_place_text of a location; "[unknown]" for address 0. */
int pt_location_text(const pt_profile *p, uint32_t location, char *buf, size_t size);

/* Verifies every promise of this header: ids in range, offsets that ascend, string 0 and label set
 * 0 empty, columns there. PT_ERR_DAMAGED and the first broken promise otherwise. For tests, and for
 * debug builds after each freeze. */
pt_status pt_profile_check(const pt_profile *p, pt_error *reterr);

/* An ordered copy for equality: equal rows merged, samples with equal stack, labels and optional
 * columns added up (zero sums dropped), all tables sorted by content, unused rows dropped, a
 * default event that is the last one's left to be so. Two profiles that mean the same give the same
 * tables. Caller unrefs. */
const pt_profile *pt_profile_canonical(const pt_profile *p);

/* Compares two profiles table by table, as they are (canonicalise both first for meaning). true if
 * equal; else the first difference is described in buf. */
bool pt_profile_equal(const pt_profile *a, const pt_profile *b, char *buf, size_t size);

#endif
