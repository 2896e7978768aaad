/* jfr.h: the parts of JFR that say what a chunk's bytes are: integers, texts, types. See jfr.c. */
#pragma once

#include "base/buf.h"
#include "base/index.h"
#include "base/reader.h"

/* How a value of a type is stored. */
typedef enum {
    JFR_STRUCT, /* its fields, one after the other */
    JFR_BYTE,   /* boolean, byte */
    JFR_SHORT,  /* short, char */
    JFR_INT,
    JFR_LONG,
    JFR_FLOAT,
    JFR_DOUBLE,
    JFR_STRING,
} jfr_storage;

/* The fields and types that mean something to the reader. */
typedef enum {
    JFR_OTHER,
    JFR_START_TIME,
    JFR_DURATION,
    JFR_EVENT_THREAD, /* of samples: sampledThread */
    JFR_STACK_TRACE,
    JFR_ALLOCATION_SIZE,
    JFR_TLAB_SIZE,
    JFR_WEIGHT,
    JFR_SAMPLES,
    JFR_TRUNCATED,
    JFR_FRAMES,
    JFR_METHOD,
    JFR_LINE_NUMBER,
    JFR_TYPE,
    JFR_NAME,
    JFR_STRING_FIELD,
    JFR_OS_NAME,
    JFR_OS_THREAD_ID,
    JFR_JAVA_NAME,
    JFR_JAVA_THREAD_ID,
    JFR_ROLES,
} jfr_role;

typedef struct jfr_field {
    uint64_t type_id;
    uint32_t type; /* row of types; PT_NONE = unknown */
    jfr_role role;
    bool is_constant; /* a key of the type's pool stands for the value */
    bool is_array;    /* a count, then so many values */
} jfr_field;

typedef struct jfr_type {
    uint64_t id;
    jfr_storage storage;
    int event; /* row of the table of events in jfr.c; -1 = none */
    size_t field_first, field_count;
} jfr_type;

/* The types of a chunk, and how its integers are stored. */
typedef struct jfr_types {
    bool is_compressed; /* integers of 2 to 8 bytes are base-128 */
    PT_VECTOR(jfr_type) type;
    PT_VECTOR(jfr_field) field;
    pt_index index; /* id -> row */
    uint64_t steps; /* that the chunk may still take: a bound for hostile types and constants */
    int (*event_of)(const char *name); /* the row of an event's name, -1 = none */
} jfr_types;

void jfr_types_done(jfr_types *t);
/* Reads the metadata event; the reader is behind its size and type. Failures are the reader's. */
void jfr_read_metadata(jfr_types *t, pt_reader *r);
/* PT_NONE: there is no such type. */
uint32_t jfr_type_row(const jfr_types *t, uint64_t id);

/* Counts steps (values, bytes of texts) that a chunk takes. If there are not so many left, none is,
 * and the reader fails: returns false. */
bool jfr_take_steps(jfr_types *t, pt_reader *r, uint64_t steps);

/* An integer of so many bytes (2, 4, 8) when not compressed; sign extended then. */
uint64_t jfr_read_int(const jfr_types *t, pt_reader *r, unsigned bytes);
/* Appends a text as UTF-8. True: it is a key of the pool of texts instead, in *ret_key. */
bool jfr_read_text(jfr_types *t, pt_reader *r, pt_buf *to, uint64_t *ret_key);
/* Skips a field's value. */
void jfr_skip_field(jfr_types *t, pt_reader *r, const jfr_field *field);
/* Skips a value of a type. */
void jfr_skip_value(jfr_types *t, pt_reader *r, uint32_t type);
/* Reads a field's value if it is an integer or the key of a constant; else skips it and is 0. */
uint64_t jfr_read_field(jfr_types *t, pt_reader *r, const jfr_field *field);
