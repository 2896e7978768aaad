/* jfr.h: decodes the parts of a JFR chunk: integers, texts, types. See jfr.c. */
#pragma once

#include "base/buf.h"
#include "base/index.h"
#include "base/reader.h"

/* How a value of a type is stored. */
typedef enum {
    JFR_STRUCT, /* the fields of the struct, one after the other */
    JFR_BYTE,   /* boolean, byte */
    JFR_SHORT,  /* short, char */
    JFR_INT,
    JFR_LONG,
    JFR_FLOAT,
    JFR_DOUBLE,
    JFR_STRING,
} jfr_storage;

/* The fields and types that the reader uses. */
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
    bool is_constant; /* the file has a key into the type's pool of constants instead of the
                       * value */
    bool is_array;    /* a count, then that many values */
} jfr_field;

typedef struct jfr_type {
    uint64_t id;
    jfr_storage storage;
    int event; /* row of the event in jfr.c's table; -1 = the reader does not use it */
    size_t field_first, field_count;
} jfr_type;

/* The types of a chunk, and the form of its integers. */
typedef struct jfr_types {
    bool is_compressed; /* integers of 2 to 8 bytes are base-128 */
    PT_VECTOR(jfr_type) type;
    PT_VECTOR(jfr_field) field;
    pt_index index; /* id -> row */
    uint64_t steps; /* steps that the chunk may still use: a limit for malicious types and
                     * constants */
    int (*event_of)(const char *name); /* the row of an event by its name; -1 = none */
} jfr_types;

void jfr_types_done(jfr_types *t);
/* Reads the metadata event; the reader must be at the byte after the event's size and type. An
 * error makes the reader fail. */
void jfr_read_metadata(jfr_types *t, pt_reader *r);
/* The row of the type with that id; PT_NONE if there is none. */
uint32_t jfr_type_row(const jfr_types *t, uint64_t id);

/* Uses up `steps` of the chunk's steps (values, bytes of texts). If fewer are left, uses none,
 * makes the reader fail, and returns false. */
bool jfr_take_steps(jfr_types *t, pt_reader *r, uint64_t steps);

/* Reads an integer: of that many bytes (2, 4, 8), sign extended; or a base-128 number in a
 * compressed chunk. */
uint64_t jfr_read_int(const jfr_types *t, pt_reader *r, unsigned bytes);
/* Appends a text as UTF-8. Returns true if the text is a key into the pool of texts instead:
 * *ret_key. */
bool jfr_read_text(jfr_types *t, pt_reader *r, pt_buf *to, uint64_t *ret_key);
/* Skips a field's value. */
void jfr_skip_field(jfr_types *t, pt_reader *r, const jfr_field *field);
/* Skips a value of a type. */
void jfr_skip_value(jfr_types *t, pt_reader *r, uint32_t type);
/* Reads a field's value if it is an integer or the key of a constant. Skips any other value and
 * returns 0. */
uint64_t jfr_read_field(jfr_types *t, pt_reader *r, const jfr_field *field);
