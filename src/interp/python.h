/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 */
/* python.h: the CPython frames of a thread, read from the process's memory by a callback.
 *
 *   thread state ---> frame ---> caller's frame ---> ... ---> end
 *                       |- code object: names, file, line table     pt_python_code_at
 *                       `- place in its instructions                pt_python_line
 *
 * CPython 3.8 to 3.14 with the interpreter lock, built for 64-bit machines. Each version has a
 * row of offsets; a version without a row is refused. The memory may hold anything: a walk ends
 * after the requested number of frames, and all reads go through the callback.
 *
 * Freestanding, async-signal-safe: no allocation, no lock, no system call, no recursion.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "interp/text.h"

/* The layout of CPython's structs in one version: offsets in bytes. */
typedef struct pt_python_layout {
    uint8_t minor;       /* of 3.minor */
    uint8_t owner_shim;  /* least value of the owner field of a shim, a frame that only marks an
                            evaluator's entry; 0: no shims */
    uint8_t code_tag;    /* bits of a frame's reference to its code that are not of the address */
    bool has_cframe;     /* the thread state points to a cframe, which points to the frame */
    bool is_entry_field; /* `boundary` is a flag of each frame: the evaluator was called for it */
    bool has_qualname;
    bool points_to_instruction; /* `place` is the address of an instruction; else an int */
    uint8_t place_unit;         /* bytes of code for each step of an int `place` */
    uint8_t lines;              /* PT_PYTHON_LINES_X */
    /* In _PyRuntime: the Py_tss_t whose value is the thread state, and the pointer to the thread
     * state that ends the interpreter (NULL while none does). */
    uint16_t key, finalizing;
    uint16_t state_frame, cframe_frame;
    uint16_t frame_back, frame_code, frame_place, frame_boundary;
    uint16_t code_first_line, code_file, code_name, code_qualname, code_lines, code_instructions;
    uint16_t code_traceable; /* the first instruction that is shown to users; 0 if all are shown */
    /* Where the characters of an ASCII str begin, and those of any other compact str. */
    uint16_t text_ascii, text_compact;
} pt_python_layout;

/* Forms of a line table. */
enum { PT_PYTHON_LINES_LNOTAB, PT_PYTHON_LINES_RANGES, PT_PYTHON_LINES_LOCATIONS };

/* The layout of a version, which is static. NULL if the version is unknown; then read nothing. */
const pt_python_layout *pt_python_layout_of(unsigned major, unsigned minor);

/* Parses the version in a file's name, with or without a path: "python3.11",
 * "libpython3.11.so.1.0". Returns false if the name has no version. */
bool pt_python_version_of_name(const char *path, unsigned *ret_major, unsigned *ret_minor);

/* Words at the beginning of _PyRuntime: since 3.13 CPython publishes offsets of its structs there
 * for debuggers. */
enum { PT_PYTHON_TOLD_WORDS = 81 };

/* The facts of a CPython that its file shows. */
typedef struct {
    bool has_version;
    unsigned major, minor; /* if has_version */
    bool has_types;        /* the file has the symbols of _PyRuntime and of the types code, str,
                            * bytes */
    /* The file exports a function that only builds without the interpreter lock, or debug builds,
     * have.
     */
    bool is_unlocked, is_debug;
    bool has_told; /* `told` was read */
    uint64_t told[PT_PYTHON_TOLD_WORDS];
} pt_python_build;

#define PT_PYTHON_UNLOCKED_MARK "_Py_MergeZeroLocalRefcount"
#define PT_PYTHON_DEBUG_MARK    "_Py_NegativeRefcount"

/* Why frames of a CPython are not read. */
typedef enum {
    PT_PYTHON_READABLE,
    PT_PYTHON_NO_VERSION,
    PT_PYTHON_OTHER_VERSION,
    PT_PYTHON_UNLOCKED,
    PT_PYTHON_DEBUG,
    PT_PYTHON_NO_TYPES,
    PT_PYTHON_NO_KEYS, /* libc does not show where the thread's state is */
    PT_PYTHON_LIES,    /* memory does not fit the version's layout */
    PT_PYTHON_REFUSALS,
} pt_python_refusal;

/* The user sees the line REASON: PT_PYTHON_MISSING. */
#define PT_PYTHON_MISSING "its own frames will be missing"
#define PT_PYTHON_LIE                                                                              \
    "this Python keeps its frames in another way than the builds of its version that pitot knows"

pt_python_refusal pt_python_judge(const pt_python_build *build);
/* Writes the reason, terminated. */
void pt_python_reason(pt_python_refusal refusal, const pt_python_build *build, char *to,
                      size_t bytes);

typedef struct {
    uint64_t code; /* the code object's address; 0 for an evaluator that runs no frame yet */
    int32_t place; /* of the instruction, in bytes from the first; -1: before the first */
    bool is_entry; /* the evaluator was called for this frame, which is the outermost of its run */
} pt_python_frame;

enum { PT_PYTHON_BYTES = 256 + 8 };

/* The state of a walk; its fields are private. */
typedef struct {
    const pt_python_layout *layout;
    pt_interp_read *read;
    void *arg;
    uint64_t next;  /* address of the next frame to read; 0 if none */
    uint32_t left;  /* frames that may still be read */
    bool has_ahead; /* `ahead` holds the next frame */
    pt_python_frame ahead;
    uint64_t bytes[PT_PYTHON_BYTES / 8]; /* what was read last */
} pt_python_walk;

typedef enum {
    PT_PYTHON_FRAME,    /* a frame was read */
    PT_PYTHON_END,      /* the stack has no more frames */
    PT_PYTHON_CUT,      /* the stack has more frames than were asked for */
    PT_PYTHON_BAD_READ, /* the memory does not match the layout */
} pt_python_step;

/* Starts a walk. state: address of the thread state. most: number of frames to read, shims
 * included. */
pt_python_step pt_python_walk_begin(pt_python_walk *walk, const pt_python_layout *layout,
                                    pt_interp_read *read, void *arg, uint64_t state, uint32_t most);
/* Steps outwards. Sets *ret_frame with PT_PYTHON_FRAME only. */
pt_python_step pt_python_walk_next(pt_python_walk *walk, pt_python_frame *ret_frame);

/* ---- code objects ---- */

typedef struct {
    uint64_t type; /* address of its type object; a code object's is PyCode_Type */
    uint64_t name, file,
        lines; /* addresses of objects; name: the qualified name if the version has one */
    int32_t first_line;
} pt_python_code;

/* The first bytes of a code object, which hold all fields that are read in any version. */
enum { PT_PYTHON_CODE_BYTES = 0x90 };

/* Reads the fields of a code object. object: the first PT_PYTHON_CODE_BYTES bytes of the code
 * object, aligned to 8. */
void pt_python_code_at(const pt_python_layout *layout, const void *object,
                       pt_python_code *ret_code);
/* Reads a code object and *ret_check, a number that distinguishes code objects that lie at the same
 * address at different times. Returns false if the object is unreadable. */
bool pt_python_code_read(const pt_python_layout *layout, pt_interp_read *read, void *arg,
                         uint64_t addr, pt_python_code *ret_code, uint32_t *ret_check);

/* Is it code whose frames CPython never shows? Since 3.13 a frame of such code is between a call of
 * a class and its __init__. addr: of the object that has the fields `code`. */
bool pt_python_is_hidden(const pt_python_layout *layout, pt_interp_read *read, void *arg,
                         uint64_t addr, const pt_python_code *code);

/* Copies a str as UTF-8, cut between two characters at cap bytes, not terminated. text: the
 * str's address; type: PyUnicode_Type's. False: the object is not a str, or is unreadable;
 * ignore `to` then. */
bool pt_python_text(const pt_python_layout *layout, pt_interp_read *read, void *arg, uint64_t text,
                    uint64_t type, char *to, size_t cap, size_t *ret_bytes);

/* The address and length of a bytes object's content. type: PyBytes_Type's address. False: not a
 * bytes object, or unreadable. */
bool pt_python_bytes(pt_interp_read *read, void *arg, uint64_t object, uint64_t type,
                     uint64_t *ret_addr, uint64_t *ret_bytes);

/* The line of a place. kind: the table's form, PT_PYTHON_LINES_X. Returns first_line where the
 * table has no line. */
int32_t pt_python_line(unsigned kind, const uint8_t *table, size_t bytes, int32_t first_line,
                       int32_t place);
