/* profile.h: the frozen profile, a set of tables of columns.
 *
 *   string     bytes, offset[n+1]                        id 0 is ""
 *   event      type, unit, kind, period ...              a row for each value column of samples
 *   mapping    start, limit, file offset, file, build id row 0 is the main binary
 *   function   name, system name, file, start line
 *   location   mapping, address, lines [first, first+n)  innermost inlined frame first
 *   line       function, line, column
 *   stack      frame[] (location ids, leaf first)        whole, with the reason of its end
 *   sample     stack, label set, a value for each event  time, thread, cpu where known
 *   label set  key -> string | number with unit          order and duplicates are kept
 *   arc, bin, block, extra, unknown                      data without stacks
 *   provenance                                           origin of the profile, and its losses
 *
 * Every id is a 32-bit row number; PT_NONE (base/index.h) means "none". A frozen profile never
 * changes, so threads read it without locks. Tables are reference counted, so a derived profile
 * shares each table that does not differ. Columns are read directly (p->location->address[i]) and
 * never written through a profile. Rows keep the order of their first appearance.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/index.h"

/* Typed ids for parameters. Columns hold plain uint32_t. */
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

/* Distinct strings of any bytes. */
typedef struct pt_strings {
    pt_table t;
    const uint64_t *offset; /* [count + 1]; string i is bytes[offset[i] .. offset[i+1] - 1) */
    const char *bytes;      /* each string is followed by a NUL that is not part of it */
} pt_strings;

typedef enum {
    PT_EVENT_COUNT, /* events of any kind: samples, calls, allocations */
    PT_EVENT_TIME,  /* the unit is a unit of time */
    PT_EVENT_BYTES, /* the unit is a unit of memory */
} pt_event_kind;

/* An event: the meaning of a value column. */
typedef struct pt_event {
    uint32_t type, unit;       /* strings: "cpu", "nanoseconds" */
    pt_event_kind kind;        /* derived from the unit by pt_event_kind_of_unit */
    bool period_varies;        /* each sample has its own weight; period is an average */
    int64_t period;            /* period of this event, in the event's unit; 0 = see
                                * pt_provenance.period */
    double rate_hz;            /* rate of the sampling clock; 0 = unknown */
    double monitored_fraction; /* share of the time during which the event was counted; 0 = unknown,
                                  treated as 1 */
    uint64_t sum_of;           /* bit e: the values include the values of event e (transform/sum.h);
                                * 0: the event is not a sum. Not stored in files */
} pt_event;

enum { PT_EVENT_PARTS_MAX = 4 }; /* events that a sum can have */

typedef struct pt_events {
    pt_table t;
    const pt_event *row;
} pt_events;

enum {
    PT_MAPPING_HAS_FUNCTIONS = 1 << 0, /* the profile has all names of the mapping's locations */
    PT_MAPPING_HAS_FILENAMES = 1 << 1,
    PT_MAPPING_HAS_LINES = 1 << 2,
    PT_MAPPING_HAS_INLINES = 1 << 3,
    PT_MAPPING_KERNEL = 1 << 4,
    PT_MAPPING_JIT = 1 << 5,
    PT_MAPPING_HAS_BIAS = 1 << 6, /* bias is known, since the image was read */
};

/* A mapped file, or another range of addresses, in a process. */
typedef struct pt_mapping {
    uint64_t start, limit; /* addresses in the process: [start, limit) */
    uint64_t file_offset;  /* file offset of start */
    uint64_t bias;         /* address in the process - address in the image's headers */
    uint64_t source_id;    /* id in the source file; 0 = row + 1 */
    uint32_t file;         /* string: a path, or "[vdso]", "[kernel]" */
    uint32_t build_id;     /* string: lower-case hex, or the source's own form; "" = unknown */
    uint32_t foreign_id;   /* string "kind:value": DCPI image, Breakpad id, inode; or "" */
    uint32_t flags;        /* PT_MAPPING_x */
    int64_t valid_from_ns, valid_to_ns; /* Unix time of the first and last use; 0 = unbounded */
} pt_mapping;

typedef struct pt_mappings {
    pt_table t;
    const pt_mapping *row;
} pt_mappings;

/* Functions by name and source file. */
typedef struct pt_functions {
    pt_table t;
    const uint32_t *name, *system_name, *file; /* strings */
    const int64_t *start_line;                 /* 0 = unknown */
    const uint64_t *source_id;                 /* NULL, or the ids in the source file */
} pt_functions;

enum {
    PT_LOCATION_FOLDED = 1 << 0, /* several symbols share the code (identical code folding) */
    PT_LOCATION_RETURN_ADDR =
        1 << 1, /* `address` is a return address; the call is at address - 1, so look that up. Not
                 * set for leaves, nor if the source already moved the address into the call
                 * instruction (profile.proto, gperftools as Go reads it) */
    PT_LOCATION_KERNEL = 1 << 2,
    PT_LOCATION_USER = 1 << 3,
    PT_LOCATION_GUEST = 1 << 4,
    PT_LOCATION_HYPERVISOR = 1 << 5,
    PT_LOCATION_LABEL = 1 << 6, /* made of a label (transform/tags.h); not stored in files */
};

/* Locations: a location is an address, with its lines if the address has symbols. */
typedef struct pt_locations {
    pt_table t;
    const uint32_t *mapping; /* PT_NONE = none */
    const uint64_t *address; /* 0 and mapping PT_NONE: only a name, as in folded stacks */
    const uint32_t
        *line_first;      /* [count + 1]; lines of location i: [line_first[i], line_first[i+1]) */
    const uint8_t *flags; /* PT_LOCATION_x */
    const uint64_t *code_offset; /* NULL, or for code without a name: 1 + the address's offset in
                                    the piece of code (mostly a function) around it; 0 = unknown */
    const uint64_t *source_id;   /* NULL, or the ids in the source file */
} pt_locations;

/* Lines of locations: a line is a function and a place in the function's source. */
typedef struct pt_lines {
    pt_table t;
    const uint32_t *function; /* PT_NONE = none */
    const int64_t *line;      /* 0 = unknown */
    const int64_t *column;    /* NULL if no line has a column */
} pt_lines;

typedef enum {
    PT_STACK_END_UNKNOWN, /* the source has no such information */
    PT_STACK_END_ROOT,    /* the unwinder reached the thread's start */
    PT_STACK_END_TRUNCATED,
    PT_STACK_END_NO_RULE,
    PT_STACK_END_BAD_READ,
    PT_STACK_END_UNCHECKED, /* like ROOT, but code without unwind rules was passed by its frame
                             * pointers, so that frames may be missing */
} pt_stack_end;
#define PT_STACK_END_COUNT 6
/* The name for reports and JSON: "root", "truncated", ... */
const char *pt_stack_end_name(pt_stack_end end);

/* Distinct stacks. */
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

/* Distinct sets of labels. */
typedef struct pt_label_sets {
    pt_table t;             /* set 0 is the empty one */
    const uint64_t *offset; /* [count + 1] */
    const pt_label *row;
} pt_label_sets;

/* Samples: references to a stack and a label set, and a value for each event. */
typedef struct pt_samples {
    pt_table t;
    uint32_t event_count;
    const uint32_t *stack;
    const uint32_t *labels;      /* label set ids */
    const int64_t *const *value; /* [event_count] columns of t.count values */
    /* Optional columns; each is NULL if no sample has a value for it. */
    const int64_t *time_ns;          /* Unix time or the source's clock; 0 = unknown */
    const uint32_t *pid, *tid, *cpu; /* PT_NONE = unknown */
    const uint32_t *comm;            /* string */
} pt_samples;

/* Calls, from gmon, callgrind and branch records. */
typedef struct pt_arcs {
    pt_table t;
    uint32_t event_count;
    const uint32_t *from, *to; /* locations */
    const uint64_t *calls;     /* exact number of traversals; 0 = unknown */
    const int64_t *const
        *cost; /* [event_count] columns of inclusive cost; a NULL column = unknown */
} pt_arcs;

typedef struct pt_bin {
    uint64_t low, high; /* a histogram bin covers the addresses [low, high) */
    uint64_t count;
    double scale;     /* bytes of text for each bin before edges are rounded; 0 = high - low */
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

/* Unknown header lines, in order, for a writer of the same format. */
typedef struct pt_extras {
    pt_table t;
    const uint32_t *key, *value; /* strings (values are bytes) */
} pt_extras;

/* The message of profile.proto to which unknown protobuf fields (pt_unknowns) belong. Unknown
 * fields stay when a profile is only read and written; a transform that renumbers rows drops these
 * fields and counts them. */
typedef enum {
    PT_IN_PROFILE,
    PT_IN_EVENT,
    PT_IN_SAMPLE,
    PT_IN_MAPPING,
    PT_IN_LOCATION,
    PT_IN_LINE,
    PT_IN_FUNCTION,
    PT_IN_LABEL, /* row is in the label table, not a label set */
    PT_IN_PERIOD_TYPE,
} pt_message;

typedef struct pt_unknowns {
    pt_table t;
    const uint8_t *message; /* pt_message */
    const uint32_t *row;    /* row in that message's table */
    const uint32_t *bytes;  /* string: whole fields with their tags, in order */
} pt_unknowns;

/* Origin and losses of the profile. Strings are ids; 0 = "" = unknown. */
typedef struct pt_provenance {
    uint32_t tool, host, os, cpu_model, command_line, source_format;
    uint32_t period_type,
        period_unit;          /* the unit of the period, which says what is counted between two
                               * samples: "cpu", "nanoseconds" */
    int64_t period;           /* amount between two samples; 0 = unknown */
    bool has_period_type;     /* the source has a period type, possibly empty */
    int64_t start_ns;         /* Unix time; 0 = unknown */
    int64_t duration_ns;      /* 0 = unknown */
    uint64_t lost, throttled; /* number of lost samples; number of throttling events */
    double asked_hz, true_hz; /* 0 = unknown */
    int64_t cpu_used_ns, cpu_seen_ns; /* CPU time that the processes used, and CPU time that the
                                       * samples represent; 0 = unknown */
    uint32_t word_bytes;              /* word size of the source: 4, 8; 0 = not applicable */
    bool big_endian;
    uint32_t drop_frames, keep_frames; /* regular expressions in the source (profile.proto) */
    uint32_t default_event;            /* string: type of the default event; "" = the last event */
    uint32_t doc_url;
    const uint32_t *comments; /* strings */
    uint32_t comment_count;
    bool damaged; /* only a part of the source could be read */
} pt_provenance;

typedef struct pt_source {
    pt_table t; /* count is 1 */
    pt_provenance row;
} pt_source;

typedef struct pt_event_sums pt_event_sums;

/* A profile: its tables, each of which may be shared with other profiles. */
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
    _Atomic(pt_event_sums *) sums; /* sums for each event; NULL if none is computed yet (sums.h) */
} pt_profile;

/* Takes a reference and returns the profile. */
const pt_profile *pt_profile_ref(const pt_profile *profile);
/* Releases a reference. The last one frees the tables that no other profile shares. Accepts NULL.
 */
void pt_profile_unref(const pt_profile *profile);
void pt_profile_unrefp(const pt_profile **profile);
#define PT_UNREF_PROFILE __attribute__((cleanup(pt_profile_unrefp)))

/* A string as C text, valid as long as the string table. A string with NUL bytes inside appears
 * shortened. */
static inline const char *pt_text(const pt_profile *p, uint32_t string)
{
    return p->string->bytes + p->string->offset[string];
}

/* Length in bytes, without the closing NUL. */
static inline size_t pt_text_bytes(const pt_profile *p, uint32_t string)
{
    return (size_t)(p->string->offset[string + 1] - p->string->offset[string] - 1);
}

/* The number of frames of a stack, and its location ids, leaf first. */
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

/* The kind that a unit's name ("nanoseconds", "KB") implies; PT_EVENT_COUNT for unknown units. */
pt_event_kind pt_event_kind_of_unit(const char *unit);
/* The events that the event adds up, in the profile's order. Returns the number of these events; 0
 * if the event is not a sum. */
size_t pt_event_parts(const pt_profile *p, uint32_t event, uint32_t ret_part[PT_EVENT_PARTS_MAX]);

/* The event shown by default: the source's choice, else the last event, as profile.proto specifies.
 * PT_NONE without events. */
uint32_t pt_profile_default_event(const pt_profile *p);

/* Finds an event by the user's name for it: its number, its type ("cpu"), or type/unit. Returns
 * PT_NONE if no event matches. */
uint32_t pt_profile_find_event(const pt_profile *p, const char *name);

/* Sum of an event's values over all samples; saturates. */
int64_t pt_profile_total(const pt_profile *p, uint32_t event);

/* ---- Names of code without symbols ---- */

/* The base name of a mapped file, without the brackets of names such as "[vdso]": *ret_bytes bytes
 * within path. */
const char *pt_object_name(const char *path, size_t *ret_bytes);

/* "[libfoo.so]" for a mapped file's path, "[unknown]" for ""; the caller frees it. */
char *pt_object_text(const char *path);

/* Writes "[libfoo.so+0x1234]" for an address in a mapped file. If path is "", writes "[0x1234]", or
 * "[unknown]" for the address 0. whole_code: writes "[libfoo.so+0x1234..]", which stands for all
 * code of the piece that begins at the address. Returns snprintf's result. */
int pt_place_text(const char *path, uint64_t address, bool whole_code, char *buf, size_t size);

/* A location's address in its image: the link-time address if the mapping's bias is known, else the
 * offset in the mapped file. If there is no mapped file, the address itself. */
uint64_t pt_location_in_image(const pt_profile *p, uint32_t location);

/* Has the location an address, but no lines that name its functions? */
static inline bool pt_location_is_nameless(const pt_profile *p, uint32_t location)
{
    return p->location->line_first[location] == p->location->line_first[location + 1] &&
           p->location->address[location] != 0;
}

/* The address in the location's image where the piece of code around the location begins (see
 * code_offset). False: unknown. */
bool pt_location_code_start(const pt_profile *p, uint32_t location, uint64_t *ret_address);

/* pt_place_text for a location; "[unknown]" for address 0. by_code: the text for the whole piece of
 * code around the location, if that piece is known. */
int pt_location_text(const pt_profile *p, uint32_t location, bool by_code, char *buf, size_t size);

/* Checks every invariant of this header: ids in range, offsets that ascend, string 0 and label set
 * 0 empty, required columns present. If one is violated, fails with PT_ERR_DAMAGED and names the
 * first violation. Every freeze calls it. */
pt_status pt_profile_check(const pt_profile *p, pt_error *reterr);

/* A canonical copy: equal rows are merged; samples with equal stack, labels and optional columns
 * are added up, and dropped if their sums are 0; unused rows are dropped; all tables are sorted by
 * content; default_event is "" if the default is the last event. Two profiles with the same content
 * give the same tables. The caller unrefs the copy. */
const pt_profile *pt_profile_canonical(const pt_profile *p);
