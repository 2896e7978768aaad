/* pprof_int.h: inside the reader of profile.proto.
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
 * Fields may come in any order, and writers put samples before the tables they refer to. So the
 * bytes are walked twice: the first walk steps over samples by their length and notes where the
 * messages of the small tables lie; those are decoded; the second walk decodes samples straight
 * into the builder's frame column and gives back the input behind it.
 */
#ifndef PT_FORMATS_PPROF_INT_H
#define PT_FORMATS_PPROF_INT_H

#include "base/buf.h"
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

/* Columns of the samples that are labels in a file, which has no place of its own for them. The
 * time is since the beginning of the recording. A comment tells that they are such (pprof_facts.c).
 */
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

/* Ids of a file (any 64-bit numbers; 0 = none) to rows. Ids below dense_count, which is chosen from
 * the number of rows, are looked up in an array; others by hash. */
typedef struct pprof_ids {
    size_t in_order; /* ids 1, 2, ... in_order are rows 0, 1, ...: needs no table. Most files */
    uint32_t *dense; /* row or PT_NONE */
    size_t dense_count;
    pt_index sparse; /* to entries of the two columns */
    uint64_t *id;
    uint32_t *row;
    size_t count, id_cap, row_cap;
    uint32_t missing_zero; /* of locations: the row that stands for id 0 in a stack */
} pprof_ids;

void pprof_ids_init(pprof_ids *ids, size_t expected);
void pprof_ids_done(pprof_ids *ids);
uint32_t pprof_ids_sparse(const pprof_ids *ids, uint64_t id);
/* False if id is 0 or taken. */
bool pprof_ids_add(pprof_ids *ids, uint64_t id, uint32_t row);

/* The row of an id, or PT_NONE. */
static inline uint32_t pprof_ids_get(const pprof_ids *ids, uint64_t id)
{
    return __builtin_expect(id < ids->dense_count, 1) ? ids->dense[id] : pprof_ids_sparse(ids, id);
}

/* What did not hold, each with the number of times. Any of them makes the file damaged. */
typedef struct pprof_damage {
    uint64_t strings, mappings, functions; /* references to what is not there */
    uint64_t locations;                    /* distinct ones that samples refer to */
    uint64_t ids;                          /* rows dropped: their id is 0 or taken */
    uint64_t values;                       /* samples with a wrong number of values */
    uint64_t messages;                     /* messages whose inside is cut short */
} pprof_damage;

/* Where the messages of one table lie in the input. */
typedef struct pprof_slices {
    struct pprof_slice {
        const uint8_t *data;
        size_t size;
    } * items;
    size_t count, cap;
} pprof_slices;

typedef struct pprof_reader {
    const uint8_t *start, *end; /* end: of the last whole field */
    uint64_t offset;            /* of start, for hooks->discard */
    pt_builder *builder;
    const pt_read_hooks *hooks;

    /* Found by the first walk. */
    struct {
        uint32_t *items; /* the file's string number -> string id */
        size_t count, cap;
    } string;
    pprof_slices sample_type, mapping, function, location, header;
    uint64_t sample_count, sample_bytes;
    const uint8_t *cut; /* the field that does not fit its file; NULL = the file is whole */

    pprof_ids mappings, functions, locations;
    bool functions_by_place;             /* no function has an id: function i is location i's */
    uint32_t line_count;                 /* line rows so far */
    size_t event_count;                  /* value columns */
    size_t label_set_count, label_count; /* label sets and rows so far */
    pprof_damage damage;
    uint64_t both_label_values, lost_unknown;
    bool has_columns;                       /* labels of these keys are columns of the samples */
    uint32_t column_key[PPROF_COLUMN_KEYS]; /* strings */
    uint32_t end_key;      /* string of PPROF_END_KEY when the file says why stacks ended; else 0 */
    pt_buf unknown;        /* unknown fields of the message at hand */
    pt_buf header_unknown; /* those of Profile itself, till the end */
} pprof_reader;

/* The id of the file's string number `index`; damage and "" if there is no such string. */
uint32_t pprof_string(pprof_reader *r, uint64_t index);
/* Remembers the field, which nobody knows, for the message at hand ... */
void pprof_keep_unknown(pt_buf *unknown, const pb_cursor *cursor, const pb_field *field);
/* ... and files it under its row. */
void pprof_file_unknown(pprof_reader *r, pt_message message, uint32_t row);
/* Adds a value column for values whose name and unit the file does not have. */
void pprof_made_up_event(pprof_reader *r);
/* Counts the message as damaged if its cursor has failed. */
void pprof_close(pprof_reader *r, const pb_cursor *cursor);

/* What the format has no field for, and pitot does not want to lose (pprof_facts.c). Why a stack
 * ended is a label of its samples; one without it reached its thread's start. Figures of the whole
 * recording are one comment, "pitot: asked_hz=1000 cpu_used_ns=4610000000 stack_end=root", with
 * "columns=labels" where labels stand for columns. */
#define PPROF_END_KEY "stack_end"
/* The comment, to be freed by the caller; NULL when there is nothing to say. */
char *pprof_facts_text(const pt_profile *profile);
/* Takes such a comment in; false if it is not one, or says anything that is not known here. */
bool pprof_take_facts(pprof_reader *r, const char *comment);

/* Second walk (pprof_samples.c). */
void pprof_read_samples(pprof_reader *r);

pt_status pprof_read(pt_reader *reader, pt_builder *builder, const pt_read_hooks *hooks,
                     pt_error *reterr);
pt_status pprof_write(const pt_profile *profile, const pt_output *output,
                      const pt_write_options *options, pt_error *reterr);

#endif
