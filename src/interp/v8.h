/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 */
/* v8.h: the JavaScript function of a stack frame of V8, read from the process's memory by a
 * callback.
 *
 *   frame ---> function ---> shared function info ---> script: name, id, source
 *                               `- scope info: name, first and last position in the source
 *
 * A frame of JavaScript is a frame of the native stack with a frame pointer. The offsets come from
 * the program itself: Node exports them as symbols whose names begin with v8dbg_. 64-bit V8 without
 * compressed pointers.
 *
 * The collector moves objects. An object that has moved has the new address in place of its map;
 * the reader follows it once. Each object must have the type that its place requires. The memory
 * may hold anything: each function makes a limited number of reads, all through the callback.
 *
 * Freestanding, async-signal-safe: no allocation, no lock, no system call, no recursion.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "interp/text.h"

/* Offsets in bytes from an object's tagged address; types of objects; tags of strings. */
typedef struct pt_v8_layout {
    int32_t frame_context, frame_function;  /* from the frame pointer */
    int32_t frame_bytecode, frame_position; /* likewise, of a frame whose code is bytecode */
    int32_t map_type;                       /* in a map: the object's type, 16 bits */
    int32_t function_shared;
    int32_t shared_name, shared_script; /* shared_name: a string or a scope info */
    int32_t shared_flags; /* 32 bits; the next field is the number of the function in its script */
    int32_t script_name, script_source, script_line_ends;
    int32_t scope_locals, scope_first; /* numbers of fields: the count of locals, the first local */
    int32_t string_length, string_chars;
    int32_t cons_first, cons_second, sliced_offset, thin_actual, external_resource;
    int32_t type_shared, type_script, type_scope, type_oddball, type_bytecode;
    int32_t not_string_mask, representation_mask, encoding_mask;
    int32_t tag_cons, tag_external, tag_sliced, tag_thin, tag_one_byte;
    int32_t tagged_bytes, heap_tag, small_shift;
} pt_v8_layout;

/* A symbol whose 32-bit value is a field of the layout. A layout is complete if each field's symbol
 * was found, by any of its names. */
typedef struct {
    const char *names[3]; /* in different versions; NULL: no more */
    uint16_t offset;      /* of the field in pt_v8_layout */
} pt_v8_symbol;

extern const pt_v8_symbol pt_v8_symbols[];
extern const size_t pt_v8_symbol_count;

/* A symbol that only programs with V8 and such symbols have. */
#define PT_V8_MARK "v8dbg_class_Script__name__Object"

/* A symbol of node, or the beginning of one, that is not V8's. */
#define PT_V8_NODE "_ZN4node5Start"

/* The lines for the user: REASON: MISSING. */
#define PT_V8_HIDDEN  "pitot cannot find the objects of this V8 (it has no v8dbg_ symbols)"
#define PT_V8_UNKNOWN "this V8 keeps its objects in another way than the builds that pitot knows"
#define PT_V8_LIES    "this V8 keeps its objects in another way than its symbols say"
#define PT_V8_MISSING "names of JavaScript functions will be missing"

/* Is path the name of a file that may contain V8: node, or its library? */
bool pt_v8_is_file(const char *path);

/* Can this reader use the complete layout? */
bool pt_v8_layout_is_known(const pt_v8_layout *layout);

/* A function. Addresses are tagged. */
typedef struct {
    uint64_t shared, name, script; /* the shared function info's address, and fields of it */
    uint64_t positions; /* address of the two positions in the scope info; 0: it has none */
    uint64_t text;      /* the name's string; 0: the function has no name */
    bool has_script;    /* false: it is V8's own, and has neither position nor text */
    int32_t id;         /* of the script: unique in a thread's V8 */
    int32_t start, end; /* positions in the script's source, in characters; -1: unknown */
} pt_v8_function;

/* Identifies a shared function info, since other objects may lie at its address at other times. A
 * script's id is unique in a V8, and a function's number in its script. */
typedef struct pt_v8_key {
    uint64_t shared;       /* its address, which is not part of the check */
    uint64_t map;          /* of the object; not part of the check, either */
    uint64_t name, script; /* the fields */
    uint64_t id;           /* the script's, as V8 stores it; for V8's own functions another word */
    uint64_t id_of;        /* the script whose id was read; 0: none */
    uint32_t number;       /* of the function */
    uint64_t scope;        /* a sum over the beginning of its scope info; 0: it has none */
} pt_v8_key;

enum { PT_V8_OBJECT_WORDS = 8 }; /* room for the beginning of an object */

/* Reads the key of the shared function info at `shared`, and computes a check of it. Returns false
 * if it is unreadable, or another object is there. */
bool pt_v8_check(const pt_v8_layout *layout, pt_interp_read *read, void *arg, uint64_t shared,
                 uint64_t *ret_check);

/* Can the word be the tagged address of an object? */
static inline bool pt_v8_is_tagged(uint64_t word)
{
    enum { TAG_BITS = 3, TAG = 1, FIRST_PAGE = 4096 };
    return (word & TAG_BITS) == TAG && word > FIRST_PAGE;
}

/* The tagged address of the function of a frame of JavaScript. below_fp: the two words below the
 * frame pointer. 0: the frame is of another kind. */
uint64_t pt_v8_frame_function(const uint64_t below_fp[2]);

/* The form of a function's code in which a frame runs. */
typedef enum {
    PT_V8_NO_TIER,     /* unknown */
    PT_V8_INTERPRETER, /* bytecode, interpreted (Ignition) */
    PT_V8_BASELINE,    /* machine code, compiled from bytecode without optimization (Sparkplug) */
    PT_V8_OPTIMIZED,   /* Maglev, TurboFan */
    PT_V8_TIERS
} pt_v8_tier;

/* The label of samples, and its values by tier; NULL: no label. */
#define PT_V8_TIER_KEY "tier"
extern const char *const pt_v8_tier_names[PT_V8_TIERS];

enum { PT_V8_TIER_BELOW = 5 }; /* words below the frame pointer that tell the tier */

/* The tier of a frame of JavaScript. below_fp: the PT_V8_TIER_BELOW words below the frame pointer.
 * is_in_file: its pc is in V8's file, and not in code that V8 has made. */
pt_v8_tier pt_v8_tier_of(const pt_v8_layout *layout, pt_interp_read *read, void *arg,
                         const uint64_t below_fp[PT_V8_TIER_BELOW], bool is_in_file);

/* Reads a function. Returns false if the memory does not fit the layout. */
bool pt_v8_function_at(const pt_v8_layout *layout, pt_interp_read *read, void *arg,
                       uint64_t function, pt_v8_function *ret);

/* The same, for a shared function info. */
bool pt_v8_shared_at(const pt_v8_layout *layout, pt_interp_read *read, void *arg, uint64_t shared,
                     pt_v8_function *ret);

/* True if the object `function` still is the function `known`. Reads the object, its shared
 * function info, positions and script. Inline, so that the compiler can inline the callback, too.
 */
static inline bool pt_v8_function_is(const pt_v8_layout *layout, pt_interp_read *read, void *arg,
                                     uint64_t function, const pt_v8_function *known)
{
    enum { TAG = 1 };
    uint64_t shared, name, script, id, positions[2];
    if (!read(arg, function - TAG + (uint64_t)layout->function_shared, &shared, sizeof shared) ||
        shared != known->shared ||
        !read(arg, shared - TAG + (uint64_t)layout->shared_name, &name, sizeof name) ||
        name != known->name ||
        !read(arg, shared - TAG + (uint64_t)layout->shared_script, &script, sizeof script) ||
        script != known->script)
        return false;
    if (!known->has_script) return true;
    if (!read(arg, script - TAG + (uint64_t)layout->script_line_ends + sizeof id, &id, sizeof id) ||
        id != (uint64_t)(uint32_t)known->id << 32)
        return false;
    return known->positions == 0 || (read(arg, known->positions, positions, sizeof positions) &&
                                     positions[0] == (uint64_t)(uint32_t)known->start << 32 &&
                                     positions[1] == (uint64_t)(uint32_t)known->end << 32);
}

/* Copies a string as UTF-8, cut between two characters at cap bytes, not terminated. Of a string of
 * very many parts it copies only a beginning. Returns false if the object is no string, or is
 * unreadable; `to` is then undefined. */
bool pt_v8_text(const pt_v8_layout *layout, pt_interp_read *read, void *arg, uint64_t string,
                char *to, size_t cap, size_t *ret_bytes);

/* The name of a function's script. An empty one: the code comes from eval or `new Function`. */
bool pt_v8_script_name(const pt_v8_layout *layout, pt_interp_read *read, void *arg, uint64_t script,
                       char *to, size_t cap, size_t *ret_bytes);

/* Makes a path of a "file:" URL, in place: without scheme, with %XX decoded. Returns its length. */
size_t pt_v8_path(char *name, size_t bytes);

/* Room for a text, which is not terminated. */
typedef struct {
    char *text;
    size_t cap, bytes;
} pt_v8_text_room;

/* Copies name and file of a function that has a script, as reports show them. Returns false like
 * pt_v8_text. */
bool pt_v8_names(const pt_v8_layout *layout, pt_interp_read *read, void *arg,
                 const pt_v8_function *f, pt_v8_text_room *name, pt_v8_text_room *file);

/* ---- lines ---- */

/* A script's source as characters in a row. */
typedef struct {
    uint64_t addr;
    uint32_t length; /* in characters */
    uint8_t unit;    /* bytes of a character: 1 or 2 */
} pt_v8_source;

/* Finds the source of a script. Returns false if the source is in pieces, or is unreadable. */
bool pt_v8_source_of(const pt_v8_layout *layout, pt_interp_read *read, void *arg, uint64_t script,
                     pt_v8_source *ret);

/* Counts the ends of lines in the characters [from, to): LF, CR without LF, U+2028, U+2029. Returns
 * false if they are unreadable. */
bool pt_v8_count_lines(const pt_v8_source *source, pt_interp_read *read, void *arg, uint32_t from,
                       uint32_t to, uint32_t *ret_lines);

/* The number of the first line of a script's source, counted from 0. */
int32_t pt_v8_first_line(const pt_v8_layout *layout, pt_interp_read *read, void *arg,
                         uint64_t script);

/* The number of lines in a script's source before one of its parts (v8_lines.c). */
typedef struct {
    uint64_t key; /* script's id, source's length and part; 0 = empty */
    uint32_t lines;
} pt_v8_part;

enum { PT_V8_PARTS = 1024 };

/* The counted parts; all zero is empty. */
typedef struct {
    pt_v8_part part[PT_V8_PARTS];
    uint32_t budget; /* characters that may still be searched */
} pt_v8_lines;

typedef struct {
    pt_interp_read *read;
    void *arg;
} pt_v8_reader;

/* The line of a function's beginning, as in V8's own profiler; 0: the source is not there. source:
 * reads the characters, which may be many. Returns false if the budget is used up. */
bool pt_v8_line_of(pt_v8_lines *lines, const pt_v8_layout *layout, const pt_v8_reader *objects,
                   const pt_v8_reader *source, const pt_v8_function *f, int32_t *ret_line);
