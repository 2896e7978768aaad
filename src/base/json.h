/* json.h: JSON (RFC 8259): a streaming writer, and a reader that returns one token per call.
 * Neither of them builds a tree or recurses. The locale's LC_NUMERIC must be "C", as it is when a
 * program starts.
 */
#pragma once

#include "base/buf.h"
#include "base/error.h"

/* --- writing ---
 *
 *   pt_json_object(&w);
 *   pt_json_key_int(&w, "schema", 1);
 *   pt_json_key_array(&w, "rows"); ... pt_json_array_end(&w);
 *   pt_json_object_end(&w);
 *
 * The writer puts commas, quotes and indentation. A call out of order (a value without a key in an
 * object) is a bug and aborts. Write errors are sticky in the pt_out.
 */
typedef enum {
    PT_JSON_INDENT = 1,  /* two spaces per level; without the flag there is no white space */
    PT_JSON_IN_HTML = 2, /* "<" becomes \u003c, so that no </script> or <!-- can appear */
} pt_json_flags;

typedef struct pt_json_w {
    pt_out *out;
    pt_json_flags flags;
    pt_buf levels;  /* a byte for each open level: object or array, and whether a member
                     * has been written in it */
    bool after_key; /* the key is written, but its value is not yet */
    bool complete;  /* the top-level value is complete */
} pt_json_w;

/* Begins a document on out, which must outlive the writer. */
void pt_json_w_init(pt_json_w *w, pt_out *out, pt_json_flags flags);
/* Writes the final newline if indented, and frees the writer. The pt_out stays open. */
void pt_json_w_done(pt_json_w *w);

/* These functions write the beginning or the end of an object or an array, a key, or a value. */
void pt_json_object(pt_json_w *w);
void pt_json_object_end(pt_json_w *w);
void pt_json_array(pt_json_w *w);
void pt_json_array_end(pt_json_w *w);
void pt_json_key(pt_json_w *w, const char *key);
/* Keys and strings may be any bytes: invalid UTF-8 becomes U+FFFD. */
void pt_json_key_n(pt_json_w *w, const char *key, size_t length);
void pt_json_text(pt_json_w *w, const char *text);
void pt_json_text_n(pt_json_w *w, const char *text, size_t length);
void pt_json_int(pt_json_w *w, int64_t value);
void pt_json_uint(pt_json_w *w, uint64_t value);
/* Writes the shortest of 15, 16 or 17 digits that reads back as the same double. Infinities and
 * NaN, which JSON cannot express, become null. */
void pt_json_double(pt_json_w *w, double value);
void pt_json_bool(pt_json_w *w, bool value);
void pt_json_null(pt_json_w *w);
void pt_json_int_or_null(pt_json_w *w, int64_t value, bool is_known);
/* Writes a value that another writer wrote to json[0, size): not empty, and without white space
 * (pt_out_to_json). */
void pt_json_copy(pt_json_w *w, const void *json, size_t size);

/* Writes a member of an object: key and value. A NULL text becomes null. */
void pt_json_key_text(pt_json_w *w, const char *key, const char *text);
void pt_json_key_text_n(pt_json_w *w, const char *key, const char *text, size_t length);
void pt_json_key_int(pt_json_w *w, const char *key, int64_t value);
void pt_json_key_int_or_null(pt_json_w *w, const char *key, int64_t value, bool is_known);
void pt_json_key_uint(pt_json_w *w, const char *key, uint64_t value);
void pt_json_key_double(pt_json_w *w, const char *key, double value);
void pt_json_key_bool(pt_json_w *w, const char *key, bool value);
void pt_json_key_null(pt_json_w *w, const char *key);
/* Writes an address as the text "0x7f00", since JSON readers do not hold 64 bits in a number. */
void pt_json_key_hex(pt_json_w *w, const char *key, uint64_t value);
/* Begins a member whose value is an object or an array. If key is NULL, begins a value without a
 * key instead. */
void pt_json_key_object(pt_json_w *w, const char *key);
void pt_json_key_array(pt_json_w *w, const char *key);

/* Writes an array of count items. The statement or block that follows the macro writes item i; it
 * must neither break nor return. key: the key of the array in an object; if it is NULL, the array
 * is a value without a key. The loop ends early when writing fails. The count is evaluated before
 * each item.
 *
 *     PT_JSON_EACH (&w, "lines", i, count)
 *         pt_json_uint(&w, line[i]);
 */
#define PT_JSON_EACH(w, key, i, count)                                                             \
    for (__typeof__((count) + 0) i = (pt_json_key_array((w), (key)), 0);                           \
         (i < (count) && pt_out_ok((w)->out)) || (pt_json_array_end(w), false); i++)
/* PT_JSON_EACH for an array of objects: the following statement writes the members of object i. */
#define PT_JSON_OBJECTS(w, key, i, count)                                                          \
    for (__typeof__((count) + 0) i = (pt_json_key_array((w), (key)), 0);                           \
         i < (count) && pt_out_ok((w)->out) ? (pt_json_object(w), true)                            \
                                            : (pt_json_array_end(w), false);                       \
         pt_json_object_end(w), i++)

/* --- reading --- */

enum { PT_JSON_DEPTH_MAX = 512 };

typedef enum {
    PT_JSON_ERROR = 0, /* the message is in r->error; sticky */
    PT_JSON_EOF,       /* after the top-level value */
    PT_JSON_OBJECT,
    PT_JSON_OBJECT_END,
    PT_JSON_ARRAY,
    PT_JSON_ARRAY_END,
    PT_JSON_KEY,    /* text */
    PT_JSON_STRING, /* text */
    PT_JSON_INT,    /* integer and number are set: digits only, within int64_t */
    PT_JSON_NUMBER, /* number is set; text holds its spelling */
    PT_JSON_BOOL,   /* boolean is set */
    PT_JSON_NULL,
} pt_json_token;

typedef struct pt_json_r {
    pt_json_token token; /* the latest token */
    const char
        *text; /* KEY, STRING: unescaped UTF-8, not NUL-terminated; may contain NUL bytes (\u0000);
                * valid until the next token */
    size_t length; /* bytes of text */
    int64_t integer;
    double number;
    bool boolean;
    unsigned depth;    /* number of open objects and arrays */
    uint64_t replaced; /* invalid UTF-8 sequences and lone surrogates replaced by U+FFFD so far */

    const uint8_t *start, *pos, *end;
    pt_error *error;
    uint8_t in_object[PT_JSON_DEPTH_MAX / 8]; /* a bit for each level: 1 = object */
    int expect;                               /* the tokens that are allowed next */
    pt_buf scratch;
} pt_json_r;

/* Reads data[0, size), which must outlive the reader. error (may be NULL) receives the first
 * failure with its byte offset: PT_ERR_FORMAT, or PT_ERR_DAMAGED when the data ends too early. */
void pt_json_r_init(pt_json_r *r, const void *data, size_t size, pt_error *error);
void pt_json_r_done(pt_json_r *r);

/* Reads the next token, which is also in r->token. */
pt_json_token pt_json_next(pt_json_r *r);
/* Skips the rest of the value that the latest token begins: an object or array to its end. After a
 * key, skips the key's value. Returns the last token of the value, or PT_JSON_ERROR. */
pt_json_token pt_json_skip(pt_json_r *r);
/* Is the latest token (KEY or STRING) exactly this text? */
bool pt_json_is(const pt_json_r *r, const char *text);
/* Position of the reader in bytes from the start. */
static inline size_t pt_json_offset(const pt_json_r *r)
{
    return (size_t)(r->pos - r->start);
}
