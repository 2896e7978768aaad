/* code.h: the machine code that locations of a profile lie in: images opened, addresses as linked,
 * instructions with their source lines.
 *
 *   location 7: mapping app, 0x5581...1310   ->   image app, 0x1310
 *   image app, [0x1310, 0x1600)              ->   1310  pushq %r15     frames [fib app.cc:7]
 *                                                 16e0  mulsd ...      frames [square shapes.hh:7,
 *                                                                              run app.cc:28]
 */
#ifndef PT_VIEW_CODE_H
#define PT_VIEW_CODE_H

#include "model/profile.h"
#include "object/demangle.h"
#include "object/disasm.h"
#include "source/images.h"
#include "source/objdump.h"

typedef struct pt_code_options {
    const pt_source_options *images;
    pt_syntax syntax;
    const pt_objdump_tool *objdump; /* where capstone is not there or does not know the machine;
                                       NULL: there is none */
    bool prefers_objdump;           /* asks it first */
    pt_demangle_mode demangle;
    pt_pool *pool;
    pt_diag *diag;
} pt_code_options;

typedef struct pt_code_image {
    const char *path; /* of the file that was found */
    const char *build_id;
    pt_object *object;
    struct pt_code_names *names;
} pt_code_image;

typedef struct pt_code {
    pt_code_image *image;
    size_t image_count;
    uint32_t *image_of; /* per location; PT_NONE: not asked for, or without an image */
    uint64_t *addr;     /* per location: as linked; of a return address one less */
    pt_source_search *search;
} pt_code;

/* Opens the images of the locations that are wanted (one flag a location). What cannot be opened is
 * a fact for the diag. *options must stay. */
void pt_code_init(pt_code *ret_code, const pt_profile *profile, const bool *wanted,
                  const pt_code_options *options);
void pt_code_done(pt_code *code);

typedef struct pt_code_frame {
    const char *function; /* as people read it */
    const char *brief;    /* the same without template arguments */
    const char *linkage_name;
    const char *file; /* "" = unknown */
    uint32_t line;    /* 0 = unknown */
} pt_code_frame;

typedef struct pt_code_instruction {
    uint64_t addr;
    uint32_t size_bytes;
    char *text;           /* with the names of what it calls and jumps to */
    uint32_t frame_first; /* the innermost inlined function, then its callers */
    uint32_t frame_count; /* 0: no name is known */
    bool has_target;      /* it jumps to or calls a fixed address */
    uint64_t target;
} pt_code_instruction;

typedef struct pt_code_text {
    pt_code_instruction *instruction; /* ascending */
    size_t count, cap;
    pt_code_frame *frame;
    size_t frame_count, frame_cap;
} pt_code_text;

/* Disassembles [start, end), which is cut to 4 MiB. Texts of frames live as long as the code.
 * Fails with why it cannot be disassembled. */
pt_status pt_code_text_init(pt_code_text *ret_text, const pt_code_image *image, uint64_t start,
                            uint64_t end, const pt_code_options *options, pt_error *reterr);
void pt_code_text_done(pt_code_text *text);

/* The one instruction at addr, to be freed; NULL if it cannot be disassembled. */
char *pt_code_instruction_text(const pt_code_image *image, uint64_t addr,
                               const pt_code_options *options);

/* A name of the image's symbol table as people read it; lives as long as the code. */
const char *pt_code_name(const pt_code_image *image, const char *linkage_name,
                         pt_demangle_mode mode);

#endif
