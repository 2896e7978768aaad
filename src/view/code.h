/* code.h: the parts of every code listing: functions made of rows, where a row is a source line or
 * an instruction; and the images that the instructions come from.
 *
 *   location 7: mapping app, 0x5581...1310   ->   image app, 0x1310
 *   image app, [0x1310, 0x1600)              ->   1310  pushq %r15     frames [fib app.cc:7]
 *                                                 16e0  mulsd ...      frames [square shapes.hh:7,
 *                                                                              run app.cc:28]
 *
 * Listings are made by view/listing.h (pitot's own) and by pprof's and DCPI's personalities, each
 * of which has its own rules of choosing and counting. */
#pragma once

#include "model/profile.h"
#include "object/demangle.h"
#include "object/disasm.h"
#include "source/images.h"
#include "source/objdump.h"

typedef struct pt_code_options {
    const pt_source_options *images;
    pt_syntax syntax;
    const pt_objdump_tool *objdump; /* disassembles where capstone cannot; NULL if there is no such
                                     * tool */
    bool prefers_objdump;           /* objdump disassembles everything */
    pt_demangle_mode demangle;
    pt_pool *pool;
    pt_diag *diag;
} pt_code_options;

/* ---- Images ---- */

typedef struct pt_code_image {
    const char *path; /* of the file that was found */
    const char *build_id;
    pt_object *object;
    struct pt_code_names *names;
} pt_code_image;

typedef struct pt_code {
    pt_code_image *image;
    size_t image_count;
    uint32_t *image_of; /* per location; PT_NONE: not wanted, or without an image */
    uint64_t *addr;     /* per location: its linked address; for a return address minus 1 */
    pt_source_search *search;
} pt_code;

/* Opens the images of the wanted locations (one flag for each location). The diag gets a fact for
 * each image that cannot be opened. Borrows *options and the profile's texts. */
void pt_code_init(pt_code *ret_code, const pt_profile *profile, const bool *wanted,
                  const pt_code_options *options);
void pt_code_done(pt_code *code);

/* The readable form of a name in the image's symbol table; lives as long as the code. */
const char *pt_code_name(const pt_code_image *image, const char *linkage_name,
                         pt_demangle_mode mode);

/* Keeps a copy of the name of code without a symbol; lives as long as the code. */
const char *pt_code_own_name(const pt_code_image *image, const char *name);

/* ---- Functions ---- */

/* A function that an instruction belongs to: a function that is inlined there, or the symbol's own
 * function. */
typedef struct pt_code_frame {
    const char *function; /* readable; "" = unknown */
    const char *brief;    /* the same without template arguments */
    const char *linkage_name;
    const char *file; /* "" = unknown */
    int64_t line;     /* 0 = unknown */
} pt_code_frame;

/* A source line or an instruction. */
typedef struct pt_code_row {
    uint64_t at;      /* the line's number (0: samples without a line), or the instruction's linked
                       * address */
    const char *text; /* of a line: its text without the newline and without a NUL, or NULL if there
                       * is no text; of an instruction: its text with the names of its targets,
                       * ending in a NUL */
    size_t text_size;
    int64_t self, total; /* self: of samples that were taken in the row; total: also of samples in
                          * functions that were called from the row */
    bool after_gap;      /* rows between this row and the row before it are left out */
    bool owns_text;
    /* Of a source line. */
    size_t call_first, call_count;   /* its calls (listing.h) */
    size_t piece_first, piece_count; /* its instructions (listing.h) */
    /* Of an instruction. */
    uint32_t size_bytes, frame_count; /* no frame: the function is not known */
    const pt_code_frame *frame;       /* the innermost inlined function, then its callers */
    const char *source;               /* the line of the first frame, not terminated, or NULL */
    size_t source_size;
    bool has_target; /* it jumps to or calls a fixed address */
    uint64_t target;
} pt_code_row;

/* A function as source lines, or a symbol as instructions. */
typedef struct pt_code_function {
    const char *name;
    char *made_name;          /* NULL, or the name, which the function owns */
    const char *linkage_name; /* of a symbol */
    const char *file;         /* the file of source lines, as the profile names it; "" = unknown */
    const char *path;         /* of the source file or the image; NULL: not found */
    char *error;              /* the reason why rows or their texts are missing, or NULL */
    bool source_is_newer;     /* the source was written to after the profile began */
    int64_t start_line;       /* 0 = unknown */
    uint64_t start, end;      /* of a symbol, as linked */
    int64_t self, total;
    pt_code_row *row; /* `at` ascends */
    size_t row_count, row_cap;
    pt_code_frame *frame; /* of all rows */
    size_t frame_count, frame_cap;
} pt_code_function;

/* Frees all that the function owns. */
void pt_code_function_done(pt_code_function *function);

/* Disassembles [start, end), at most 4 MiB, into rows without values. Texts of frames live as long
 * as the code. If the code cannot be disassembled, fails with the reason, and the function has no
 * rows. */
pt_status pt_code_disassemble(pt_code_function *function, const pt_code_image *image,
                              uint64_t start, uint64_t end, const pt_code_options *options,
                              pt_error *reterr);

/* The row of the instruction that contains addr: the last row, from row `from` on, that begins at
 * or before addr. Called with ascending addresses, and with the previous result as `from`. The
 * function must have rows. */
static inline size_t pt_code_row_of(const pt_code_function *function, size_t from, uint64_t addr)
{
    while (from + 1 < function->row_count && function->row[from + 1].at <= addr)
        from++;
    return from;
}

/* The first frame of a row, or NULL. */
static inline const pt_code_frame *pt_code_innermost(const pt_code_row *row)
{
    return row->frame_count > 0 ? row->frame : NULL;
}

/* Returns a flag for each row: true if the row is at most `context` rows from a row with a value
 * (all rows if context is -1). With fills_gap, a single row between two shown parts is also shown.
 * has_value: one flag for each row. The caller frees the flags. */
bool *pt_code_rows_near(const bool *has_value, size_t count, int64_t context, bool fills_gap);

/* The text of the instruction at addr, which the caller frees; NULL if the instruction cannot be
 * disassembled. */
char *pt_code_instruction_text(const pt_code_image *image, uint64_t addr,
                               const pt_code_options *options);
