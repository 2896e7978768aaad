/* format.h: a profile format, as a constant struct. Each format has a file; src/formats/formats.def
 * lists them as X(name).
 *
 * Formats convert bytes to a model and back. A format opens no paths and symbolizes nothing. Hooks
 * (pt_read_hooks) supply everything that is not in the bytes.
 */
#pragma once

#include "base/buf.h"
#include "base/error.h"
#include "base/pool.h"
#include "base/reader.h"
#include "model/builder.h"
#include "model/profile.h"
#include "process/mappings.h"

typedef enum {
    PT_PROBE_MAGIC,     /* a magic number identifies the format; probed first */
    PT_PROBE_HEURISTIC, /* the structure or text is plausible; probed only if no magic number
                           matched */
} pt_probe_kind;

/* The data that a format can hold; pt_capabilities has their names. convert compares a profile's
 * data with the writer's capabilities and reports the difference (pt_format_losses). */
enum {
    PT_CAN_STACKS = 1 << 0,
    PT_CAN_LABELS = 1 << 1,
    PT_CAN_EVENTS = 1 << 2, /* several values for each sample */
    PT_CAN_LINES = 1 << 3,
    PT_CAN_INLINES = 1 << 4,
    PT_CAN_ADDRESSES = 1 << 5,
    PT_CAN_MAPPINGS = 1 << 6,
    PT_CAN_ARCS = 1 << 7,
    PT_CAN_BINS = 1 << 8,
    PT_CAN_BLOCKS = 1 << 9,
    PT_CAN_TIME = 1 << 10, /* time, thread and cpu of each sample, as fields and not as labels */
    PT_CAN_EXTRA = 1 << 11,
    PT_CAN_NAMES = 1 << 12, /* function names */
    PT_CAN_UNITS = 1 << 13, /* types and units of values */
    PT_CAN_END = 1 << 14,   /* the reason of a stack's end */
    PT_CAN_COMMENTS = 1 << 15,
    PT_CAN_HEADER = 1 << 16,    /* start time, duration and period */
    PT_CAN_UNKNOWN = 1 << 17,   /* unknown protobuf fields */
    PT_CAN_IMAGES = 1 << 18,    /* without MAPPINGS: names of the files that hold the code */
    PT_CAN_CALLS = 1 << 19,     /* without STACKS: inclusive cost of calls between functions */
    PT_CAN_TIME_ONLY = 1 << 20, /* for formats without PT_CAN_TIME: the time of each sample, but not
                               * its thread */
    PT_CAN_DEFAULT = 1 << 21,   /* the default event */
};

/* The input of a probe: the first bytes after peeling, zero padded to at least 64. */
typedef struct pt_probe_input {
    const uint8_t *head;
    size_t head_bytes;   /* bytes present in head, at most 65536 */
    uint64_t file_bytes; /* size of the peeled input; UINT64_MAX = unknown */
    const char *name;    /* file name without folders, or "" */
} pt_probe_input;

/* A mapping of code in a process. */
typedef struct pt_read_map {
    pt_map_range range;
    const char *path,
        *build_id; /* build id in hex; "" = unknown. Both live as long as the reading */
} pt_read_map;

/* Registers and a copy of the stack at a sample. */
typedef struct pt_read_stack {
    uint16_t machine;            /* EM_X86_64, EM_AARCH64 */
    uint32_t generation;         /* number that changes whenever maps change */
    const pt_read_map *maps;     /* ascending, not overlapping */
    size_t map_count, map_bytes; /* map_bytes: distance between two elements */
    const uint64_t *registers;   /* 33 registers by DWARF number; 0 if not recorded */
    const uint8_t *bytes;        /* stack bytes from the stack pointer on */
    size_t byte_count, room;     /* bytes copied, and bytes requested */
} pt_read_stack;

/* Services that a reader gets from its caller. Any pointer may be NULL. */
typedef struct pt_read_hooks {
    pt_diag *diag;
    void *context;
    /* Announces that the reader needs no input before this offset any more. The bytes before the
     * offset are undefined from then on (zeros where memory was released). */
    void (*discard)(void *context, uint64_t upto);
    /* Reports that the reader has come to this offset, about once in a thousand records. Readers
     * that call discard do not call reach, nor do readers that take a file in one step. */
    void (*reach)(void *context, uint64_t offset);
    /* Unwinds a copied stack (perf.data). Writes at most cap return addresses of the callers,
     * innermost first, without the pc, and returns their number. Returns 0 if the code's image is
     * missing, or if the stack could not be unwound. */
    size_t (*unwind)(void *context, const pt_read_stack *stack, uint64_t *ret_pcs, size_t cap,
                     pt_stack_end *ret_end);
    uint64_t inflated_bytes; /* limit for compressed records; 0 = 8 GiB */
    uint32_t word_bytes; /* word size of the executable, for formats that lack it; 0 = unknown */
    /* Also read the parts of a profile that google/pprof ignores: names in comments of text
     * profiles (Go, debug=1), names and labels of threads, pitot's facts about its own recordings
     * (pprof_facts.c). */
    bool annotate;
    /* Keep histograms as bins only, without samples, and permit several locations with the same
     * address; for callers that use only bins and arcs. */
    bool bins_only;
} pt_read_hooks;

typedef struct pt_write_options {
    uint32_t event; /* for formats without PT_CAN_EVENTS; PT_NONE = the default event */
    bool raw;       /* profile.proto: not gzipped */
    pt_pool *pool;  /* threads for compression; NULL = only the calling thread */
    pt_diag *diag;  /* receives changes of the data that pt_format_losses does not state; may be
                     * NULL */
} pt_write_options;

/* The destination of a writer's files. A profile may become several files (DCPI). */
typedef struct pt_output {
    void *context;
    /* Opens the next file. suffix is "" if there is only one file. The returned stream belongs to
     * the output. */
    pt_out *(*open)(void *context, const char *suffix, pt_error *reterr);
} pt_output;

typedef struct pt_format {
    const char *name; /* "pprof" */
    /* Lists of words that are separated by spaces; NULL = none. */
    const char *aliases; /* other names for --from and --to */
    const char
        *extensions;     /* such as ".pb.gz .pb": `-o FILE` with one of them implies the format */
    const char *summary; /* one line for `pitot formats` */
    pt_probe_kind kind;
    uint32_t capabilities; /* PT_CAN_x */
    /* If the format lacks PT_CAN_LABELS: a list of the keys of those labels that it holds anyway,
     * such as a thread's name; NULL = none. */
    const char *held_labels;
    /* A list of the names of events that the format can hold, as "type/unit", with "*" for any type
     * or unit. Other events are read back under one of these names. NULL = any name. */
    const char *held_events;
    /* If the format lacks PT_CAN_EVENTS: can it hold this event in addition to the event that is
     * written? NULL = no event. */
    bool (*holds_event)(const pt_profile *profile, uint32_t event);
    /* For formats without PT_CAN_DEFAULT: the event that a reader of the written file shows by
     * default. NULL = the last event. */
    uint32_t (*shown_event)(const pt_profile *profile);
    /* The confidence that the input has this format: 0 = no, 1 to 100. */
    int (*probe)(const pt_probe_input *input);
    /* Reads into an empty builder. On PT_ERR_DAMAGED the builder holds the readable part, which the
     * caller freezes and reports. NULL = the format can only be written. */
    pt_status (*read)(pt_reader *reader, pt_builder *builder, const pt_read_hooks *hooks,
                      pt_error *reterr);
    /* Writes the profile. Fails with PT_ERR_USAGE or PT_ERR_UNSUPPORTED if the format cannot hold
     * the profile; else with the first failure of the output. NULL = the format can only be
     * read. */
    pt_status (*write)(const pt_profile *profile, const pt_output *output,
                       const pt_write_options *options, pt_error *reterr);
} pt_format;

/* All formats, in the order of formats.def. */
extern const pt_format *const pt_formats[];
extern const size_t pt_format_count;

/* The names of capabilities, lowest bit first: a word and a description for `pitot formats`. */
typedef struct pt_capability {
    uint32_t bit;
    const char *name, *help;
} pt_capability;
extern const pt_capability pt_capabilities[];
extern const size_t pt_capability_count;

/* The format with that name or alias; NULL if there is none. */
const pt_format *pt_format_find(const char *name);
/* The name of the format with the most similar name, for a message; NULL if none is similar. */
const char *pt_format_near(const char *name);
/* The format of a file name's extension; NULL if none matches. */
const pt_format *pt_format_for_path(const char *path);

/* Finds the format of the input. Magic numbers take precedence over heuristics. PT_ERR_FORMAT for a
 * tie (the message names both formats and --from=) and if no format matches (the message describes
 * the bytes). */
pt_status pt_format_probe(const pt_probe_input *input, const pt_format **ret_format,
                          pt_error *reterr);

/* The data that is lost when the profile is written in this format, as counted facts; empty if
 * nothing is lost. */
void pt_format_losses(const pt_profile *profile, const pt_format *format, pt_diag *ret_losses);

/* For writers of formats without names. Returns true if a frame of the profile has an address, or
 * if the profile has no frames. Else returns false and sets *reterr to PT_ERR_UNSUPPORTED, with a
 * message that lists formats that hold names. */
bool pt_has_addresses(const pt_profile *profile, pt_error *reterr);
