/* pprof_int.h: internals of the reader of profile.proto.
 *
 *   Profile  1 sample_type  2 sample  3 mapping  4 location  5 function  6 string_table
 *            7 drop_frames  8 keep_frames  9 time_nanos  10 duration_nanos  11 period_type
 *            12 period  13 comment  14 default_sample_type  15 doc_url
 *   ValueType 1 type 2 unit       Sample 1 location_id 2 value 3 label
 *   Label    1 key 2 str 3 num 4 num_unit
 *   Mapping  1 id 2 memory_start 3 memory_limit 4 file_offset 5 filename 6 build_id
 *            7 has_functions 8 has_filenames 9 has_line_numbers 10 has_inline_frames
 *   Location 1 id 2 mapping_id 3 address 4 line 5 is_folded
 *   Line     1 function_id 2 line 3 column
 *   Function 1 id 2 name 3 system_name 4 filename 5 start_line
 *
 * Fields may come in any order, and writers put samples before the tables that samples refer to.
 * The reader therefore walks the bytes twice. The first walk skips samples by their length and
 * records the positions of the other messages, which are then decoded. The second walk decodes
 * samples directly into the builder's frame column and discards the input that it has decoded.
 */
#pragma once

#include "base/buf.h"
#include "base/grow.h"
#include "formats/facts.h"
#include "formats/format.h"
#include "formats/protobuf.h"

/* Numbers of the fields of Profile. */
enum {
    PPROF_SAMPLE_TYPE = 1,
    PPROF_SAMPLE,
    PPROF_MAPPING,
    PPROF_LOCATION,
    PPROF_FUNCTION,
    PPROF_STRING_TABLE,
    PPROF_DROP_FRAMES,
    PPROF_KEEP_FRAMES,
    PPROF_TIME_NANOS,
    PPROF_DURATION_NANOS,
    PPROF_PERIOD_TYPE,
    PPROF_PERIOD,
    PPROF_COMMENT,
    PPROF_DEFAULT_SAMPLE_TYPE,
    PPROF_DOC_URL,
};

/* Columns of the samples that are stored as labels, since profile.proto has no fields for them. The
 * time is counted from the start of the recording. A comment states that the file has such labels
 * (pprof_facts.c). */
enum {
    PPROF_KEY_PID,
    PPROF_KEY_TID,
    PPROF_KEY_CPU,
    PPROF_KEY_COMM,
    PPROF_KEY_TIME,
    PPROF_COLUMN_KEYS,
};
#define PPROF_COLUMN_KEY_TEXTS                                                                     \
    {                                                                                              \
        "pid", "tid", "cpu", "comm", "time"                                                        \
    }

/* Map from ids of a file (any 64-bit numbers; 0 = none) to rows. Ids below dense_count, which
 * depends on the number of rows, are in an array; other ids are hashed. */
typedef struct pprof_ids {
    size_t in_order; /* ids 1 to in_order are rows 0, 1, ..., without a table, as in most files */
    uint32_t *dense; /* row or PT_NONE */
    size_t dense_count;
    pt_index sparse; /* index of entries in the two columns */
    uint64_t *id;
    uint32_t *row;
    size_t count, id_cap, row_cap;
    uint32_t missing_zero; /* locations only: row of the location that stands for id 0 in stacks */
} pprof_ids;

/* The row of an id that is not in the array, or PT_NONE. */
uint32_t pprof_ids_sparse(const pprof_ids *ids, uint64_t id);
/* Adds an id. Returns false if the id is 0 or already present. */
bool pprof_ids_add(pprof_ids *ids, uint64_t id, uint32_t row);

/* The row of an id, or PT_NONE. */
static inline uint32_t pprof_ids_get(const pprof_ids *ids, uint64_t id)
{
    return __builtin_expect(id < ids->dense_count, 1) ? ids->dense[id] : pprof_ids_sparse(ids, id);
}

/* Counts of inconsistencies. Any of them makes the file damaged. */
typedef struct pprof_damage {
    uint64_t strings, mappings, functions; /* references to missing rows */
    uint64_t locations;                    /* distinct missing locations that samples refer to */
    uint64_t ids;      /* rows dropped, since their id is 0 or already present */
    uint64_t values;   /* samples with a wrong number of values */
    uint64_t messages; /* messages with truncated content */
} pprof_damage;

/* Positions of a table's messages in the input. */
typedef struct pprof_slices {
    struct pprof_slice {
        const uint8_t *data;
        size_t size;
    } * items;
    size_t count, cap;
} pprof_slices;

typedef struct pprof_reader {
    const uint8_t *start, *end; /* the input; end: end of its last complete field */
    uint64_t offset;            /* file offset of start, for hooks->discard */
    pt_builder *builder;
    const pt_read_hooks *hooks;

    /* Found by the first walk. */
    PT_VECTOR(uint32_t) string; /* the file's string number -> string id */
    pprof_slices sample_type, mapping, function, location, header;
    uint64_t sample_count, sample_bytes;
    const uint8_t *cut; /* start of the truncated field at the end; NULL = the file is complete */

    pprof_ids mappings, functions, locations;
    bool functions_by_place; /* no function has an id: function i belongs to location i */
    uint32_t line_count;     /* line rows so far */
    size_t event_count;      /* value columns */
    size_t label_set_count, label_count; /* label sets and rows so far */
    pprof_damage damage;
    uint64_t both_label_values, lost_unknown;
    bool has_columns;                       /* labels with the keys PPROF_KEY_x are columns of the
                                             * samples */
    uint32_t column_key[PPROF_COLUMN_KEYS]; /* strings */
    uint32_t end_key; /* string of PPROF_END_KEY if the file states the ends of stacks; else 0 */
    pt_buf unknown;   /* unknown fields of the current message */
    pt_buf header_unknown; /* unknown fields of Profile itself */
} pprof_reader;

/* The string id of the file's string number `index`. A missing string counts as damage and is "".
 */
uint32_t pprof_string(pprof_reader *r, uint64_t index);
/* Collects an unknown field of the current message ... */
void pprof_keep_unknown(pt_buf *unknown, const pb_cursor *cursor, const pb_field *field);
/* ... and adds the collected fields to the builder under the message's row. */
void pprof_file_unknown(pprof_reader *r, pt_message message, uint32_t row);
/* Adds a value column for values whose type and unit are missing in the file. */
void pprof_made_up_event(pprof_reader *r);
/* Counts the message as damaged if the cursor that read it has failed. */
void pprof_close(pprof_reader *r, const pb_cursor *cursor);

/* Data for which the format has no field (pprof_facts.c). The end of a stack is a label of its
 * samples; a sample without the label reached the thread's start. Numbers about the whole recording
 * are in a comment, "pitot: asked_hz=1000 cpu_used_ns=4610000000 stack_end=root", with
 * "columns=labels" if labels represent columns. */
#define PPROF_END_KEY "stack_end"
/* The text of the comment, which the caller frees; NULL if there are no facts. */
char *pprof_facts_text(const pt_profile *profile);
/* Parses the comment that pprof_facts_text makes. False for a comment of another form, or with an
 * unknown fact. */
bool pprof_take_facts(pprof_reader *r, const char *comment);

/* Second walk (pprof_samples.c). */
void pprof_read_samples(pprof_reader *r);

pt_status pprof_read(pt_reader *reader, pt_builder *builder, const pt_read_hooks *hooks,
                     pt_error *reterr);
pt_status pprof_write(const pt_profile *profile, const pt_output *output,
                      const pt_write_options *options, pt_error *reterr);
