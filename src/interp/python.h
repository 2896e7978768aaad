/* python.h: the frames that a thread of CPython has, read from its memory by a callback.
 *
 *   thread's state ---> frame ---> caller's frame ---> ... ---> end
 *                         |- code object: names, file, line table     pt_python_code_read
 *                         `- the place in its instructions            pt_python_line
 *
 * CPython 3.8 to 3.13 as they are built for 64-bit machines, with the interpreter lock. A layout is
 * a row of a table; a version without a row is refused. The memory may hold anything: a walk ends
 * after the frames that were asked for, and only the callback reads.
 *
 * Freestanding, async-signal-safe: no allocation, no lock, no system call, no recursion.
 */
#ifndef PT_INTERP_PYTHON_H
#define PT_INTERP_PYTHON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Where a version keeps its things: offsets in bytes. */
typedef struct pt_python_layout {
    uint8_t minor;       /* of 3.minor */
    uint8_t owner_shim;  /* this owner marks a frame that only stands for an evaluator's; 0: none */
    bool has_cframe;     /* the thread's state leads to the frame by one word more */
    bool is_entry_field; /* `boundary` says whether the evaluator was called for the frame */
    bool has_qualname;
    bool points_to_instruction; /* `place` is an address; else an int */
    uint8_t place_unit;         /* bytes of code that a step of an int place is */
    uint8_t lines;              /* PT_PYTHON_LINES_X */
    uint16_t key, finalizing; /* in _PyRuntime: the Py_tss_t of the threads' states; the state that
                               ends the interpreter, or NULL */
    uint16_t state_frame, cframe_frame;
    uint16_t frame_back, frame_code, frame_place, frame_boundary;
    uint16_t code_first_line, code_file, code_name, code_qualname, code_lines, code_instructions;
    uint16_t text_ascii, text_compact; /* a str's characters, if they are ASCII, and if not */
} pt_python_layout;

/* What a line table looks like. */
enum { PT_PYTHON_LINES_LNOTAB, PT_PYTHON_LINES_RANGES, PT_PYTHON_LINES_LOCATIONS };

/* NULL: not known, so nothing is to be read. */
const pt_python_layout *pt_python_layout_of(unsigned major, unsigned minor);

/* The version that a file's name tells: "python3.11", "libpython3.11.so.1.0", with a path before
 * it or not. False: it tells none. */
bool pt_python_version_of_name(const char *path, unsigned *ret_major, unsigned *ret_minor);

/* Copies size bytes of the interpreter's memory. False: they cannot be read. */
typedef bool pt_python_read(void *arg, uint64_t addr, void *to, size_t size);

typedef struct {
    uint64_t code; /* the code object's address; 0: the evaluator runs, and no frame yet */
    int32_t place; /* of the instruction, in bytes from the first; -1: before that */
    bool is_entry; /* the evaluator was called for it: it is the last of a run */
} pt_python_frame;

typedef struct {
    const pt_python_layout *layout;
    pt_python_read *read;
    void *arg;
    uint64_t next;  /* the frame to be read; 0 = none */
    uint32_t left;  /* frames that may still be read */
    bool has_ahead; /* `ahead` was read already */
    pt_python_frame ahead;
} pt_python_walk;

typedef enum {
    PT_PYTHON_FRAME,
    PT_PYTHON_END,      /* no more: the thread has shown all */
    PT_PYTHON_CUT,      /* there are more than were asked for */
    PT_PYTHON_BAD_READ, /* the memory is not what the layout says */
} pt_python_step;

/* Of the thread whose state is at that address. most: frames to be read, shims among them. */
pt_python_step pt_python_walk_begin(pt_python_walk *walk, const pt_python_layout *layout,
                                    pt_python_read *read, void *arg, uint64_t state, uint32_t most);
/* The next frame outwards; *ret_frame is set with PT_PYTHON_FRAME only. */
pt_python_step pt_python_walk_next(pt_python_walk *walk, pt_python_frame *ret_frame);

/* ---- code objects ---- */

typedef struct {
    uint64_t type;              /* the object's: that of PyCode_Type, or it is no code */
    uint64_t name, file, lines; /* objects; name: the qualified one, where there is one */
    int32_t first_line;
} pt_python_code;

/* What of a code object is looked at, whatever the version. */
enum { PT_PYTHON_CODE_BYTES = 0x90 };

/* object: PT_PYTHON_CODE_BYTES of it. */
void pt_python_code_at(const pt_python_layout *layout, const void *object,
                       pt_python_code *ret_code);

/* A str as UTF-8, cut at cap bytes between two characters, not terminated. type: PyUnicode_Type's
 * address. False: it is no str, or cannot be read; bytes so far are not to be used. */
bool pt_python_text(const pt_python_layout *layout, pt_python_read *read, void *arg, uint64_t text,
                    uint64_t type, char *to, size_t cap, size_t *ret_bytes);

/* Where the bytes of a bytes object lie and how many they are. type: PyBytes_Type's address. */
bool pt_python_bytes(pt_python_read *read, void *arg, uint64_t object, uint64_t type,
                     uint64_t *ret_addr, uint64_t *ret_bytes);

/* The line of a place, by a line table of that kind (PT_PYTHON_LINES_X); first_line where the table
 * knows none. */
int32_t pt_python_line(unsigned kind, const uint8_t *table, size_t bytes, int32_t first_line,
                       int32_t place);

#endif
