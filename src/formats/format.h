/* format.h: what a profile format is to the rest of pitot: a constant struct. One file a format;
 * src/formats/formats.def lists them, one X(name) a line.
 *
 * Formats turn bytes into a model and back. They open no paths and symbolize nothing. What the
 * bytes alone cannot give comes through hooks.
 */
#ifndef PT_FORMATS_FORMAT_H
#define PT_FORMATS_FORMAT_H

#include "base/buf.h"
#include "base/error.h"
#include "base/pool.h"
#include "base/reader.h"
#include "model/builder.h"
#include "model/profile.h"
#include "process/mappings.h"

typedef enum {
    PT_PROBE_MAGIC,     /* the bytes identify themselves; asked first */
    PT_PROBE_HEURISTIC, /* structure or text that looks right; asked only if no magic claimed */
} pt_probe_kind;

/* What a format can hold; pt_capabilities names them. convert compares what a profile uses with
 * what the writer holds and reports the difference (pt_format_losses). */
enum {
    PT_CAN_STACKS = 1 << 0,
    PT_CAN_LABELS = 1 << 1,
    PT_CAN_EVENTS = 1 << 2, /* several values a sample */
    PT_CAN_LINES = 1 << 3,
    PT_CAN_INLINES = 1 << 4,
    PT_CAN_ADDRESSES = 1 << 5,
    PT_CAN_MAPPINGS = 1 << 6,
    PT_CAN_ARCS = 1 << 7,
    PT_CAN_BINS = 1 << 8,
    PT_CAN_BLOCKS = 1 << 9,
    PT_CAN_TIME = 1 << 10, /* time, thread, cpu of each sample as such, not as labels */
    PT_CAN_EXTRA = 1 << 11,
    PT_CAN_NAMES = 1 << 12, /* function names */
    PT_CAN_UNITS = 1 << 13, /* says what its values are */
    PT_CAN_END = 1 << 14,   /* why a stack ended */
    PT_CAN_COMMENTS = 1 << 15,
    PT_CAN_HEADER = 1 << 16,  /* when, how long, at what period */
    PT_CAN_UNKNOWN = 1 << 17, /* unknown protobuf fields */
    PT_CAN_IMAGES = 1 << 18,  /* which file code is from, if not MAPPINGS */
    PT_CAN_CALLS = 1 << 19,   /* what calls from function to function cost, if not STACKS */
    PT_CAN_CLOCK = 1 << 20,   /* the time of each sample, not its thread, if not TIME */
    PT_CAN_DEFAULT = 1 << 21, /* which of several events is shown when nobody chooses */
};

/* What a probe may look at: the first bytes after peeling, zero padded to at least 64. */
typedef struct pt_probe_input {
    const uint8_t *head;
    size_t head_bytes;   /* at most 65536; bytes that are really there */
    uint64_t file_bytes; /* of the peeled input; UINT64_MAX = unknown */
    const char *name;    /* file name without folders, or "" */
} pt_probe_input;

/* A mapping of code in a process. */
typedef struct pt_read_map {
    pt_map_range range;
    const char *path, *build_id; /* build id in hex; "" = unknown. They live while it is read */
} pt_read_map;

/* Registers and stack bytes as they were when a sample was taken. */
typedef struct pt_read_stack {
    uint16_t machine;            /* EM_X86_64, EM_AARCH64 */
    uint32_t generation;         /* another one whenever maps are others */
    const pt_read_map *maps;     /* ascending, not overlapping */
    size_t map_count, map_bytes; /* bytes from one to the next */
    const uint64_t *registers;   /* 33, by DWARF number; those that were not recorded are 0 */
    const uint8_t *bytes;        /* from the stack pointer on */
    size_t byte_count, room;     /* copied, and asked for */
} pt_read_stack;

/* What a reader may ask of its caller. Any pointer may be NULL. */
typedef struct pt_read_hooks {
    pt_diag *diag;
    void *context;
    /* The reader will not look at the input before this offset again: what is there afterwards is
     * undefined (zeros, where a copy in memory was given back). */
    void (*discard)(void *context, uint64_t upto);
    /* Walks a copied stack (perf.data). Writes return addresses behind the pc, innermost first, at
     * most cap; returns how many. 0 = it has no image of the code that runs, or cannot tell. */
    size_t (*unwind)(void *context, const pt_read_stack *stack, uint64_t *ret_pcs, size_t cap,
                     pt_stack_end *ret_end);
    uint64_t inflated_bytes; /* the most that compressed records may become; 0 = 8 GiB */
    uint32_t word_bytes;     /* of the executable, for formats that do not say; 0 = unknown */
    /* Take what google/pprof leaves in the text of a profile: names in comments (Go, debug=1),
       names and labels of threads, what pitot says of its own recordings (pprof_facts.c). */
    bool annotate;
    /* Histograms stay bins, and an address may be several locations: no samples are made, for those
     * who look at bins and arcs only. */
    bool bins_only;
} pt_read_hooks;

typedef struct pt_write_options {
    uint32_t event; /* for formats without PT_CAN_EVENTS; PT_NONE = the default one */
    bool raw;       /* profile.proto: not gzipped */
    pt_pool *pool;  /* for compression; NULL = inline */
    pt_diag *diag;  /* what was changed on the way, beyond pt_format_losses; may be NULL */
} pt_write_options;

/* Where a writer's files go. One profile may become several files (DCPI). */
typedef struct pt_output {
    void *context;
    /* Opens the next file; suffix is "" for the only one. The sink belongs to the output. */
    pt_out *(*open)(void *context, const char *suffix, pt_error *reterr);
} pt_output;

typedef struct pt_format {
    const char *name;              /* "pprof" */
    const char *const *aliases;    /* other names for --from and --to; NULL-terminated */
    const char *const *extensions; /* ".pb.gz": what `-o FILE` implies; NULL-terminated */
    const char *summary;           /* one line for `pitot formats` */
    pt_probe_kind kind;
    uint32_t capabilities; /* PT_CAN_x */
    /* Keys of labels that it holds all the same, where it holds none as such: a thread's name.
     * NULL-terminated; NULL = none. */
    const char *const *held_labels;
    /* What it may call values, as "type/unit", with "*" for any type or unit; others are read again
     * under one of these names. NULL-terminated; NULL = whatever they are called. */
    const char *const *held_events;
    /* Does it hold this event beside the one that it writes, without holding several as such? NULL
     * = no. */
    bool (*holds_event)(const pt_profile *profile, uint32_t event);
    /* Without DEFAULT: the event that is shown of what it writes of the profile. NULL = the last.
     */
    uint32_t (*shown_event)(const pt_profile *profile);
    /* 0 = no; 1..100 = how sure. */
    int (*probe)(const pt_probe_input *input);
    /* Reads into an empty builder. PT_ERR_DAMAGED after keeping something: the caller freezes what
     * is there and reports. NULL = write only. */
    pt_status (*read)(pt_reader *reader, pt_builder *builder, const pt_read_hooks *hooks,
                      pt_error *reterr);
    /* NULL = read only. */
    pt_status (*write)(const pt_profile *profile, const pt_output *output,
                       const pt_write_options *options, pt_error *reterr);
} pt_format;

/* All formats, in the order of formats.def. */
extern const pt_format *const pt_formats[];
extern const size_t pt_format_count;

/* The bits of `capabilities`, lowest first: a word and a line for `pitot formats`. */
typedef struct pt_capability {
    uint32_t bit;
    const char *name, *help;
} pt_capability;
extern const pt_capability pt_capabilities[];
extern const size_t pt_capability_count;

/* By name or alias; NULL if there is none. */
const pt_format *pt_format_find(const char *name);
/* By the extension of a file name; NULL if none claims it. */
const pt_format *pt_format_for_path(const char *path);

/* The one format that claims the input. Magics are asked before any heuristic; a tie is an error
 * that names both and --from=. PT_ERR_FORMAT if nobody claims it, with what the bytes look like. */
pt_status pt_format_probe(const pt_probe_input *input, const pt_format **ret_format,
                          pt_error *reterr);

/* What writing the profile in this format loses, as counted facts; empty = nothing. */
void pt_format_losses(const pt_profile *profile, const pt_format *format, pt_diag *ret_losses);

#endif
