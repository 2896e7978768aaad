/* disasm.h: instructions of chosen functions, each with the value of the samples that were taken on
 * it (self) and of those that pass through it (total: its own, and those in what it calls).
 *
 * A function is a symbol of its image. Chosen are those whose name, or whose function's name in the
 * profile, matches; where there is none, those that a matching function was inlined into. A sample
 * counts once for an instruction and once for a function; one that lies inside an instruction
 * counts for that.
 */
#ifndef PT_VIEW_DISASM_H
#define PT_VIEW_DISASM_H

#include "base/regex.h"
#include "source/text.h"
#include "view/code.h"

typedef struct pt_disasm_request {
    uint32_t event;
    int64_t whole;    /* what 100 % is */
    const char *name; /* as of pt_listing_request */
    const pt_regex *pattern;
    uint64_t address; /* not 0: the function that holds this address, as linked or in the process,
                         is chosen, too */
    const pt_code_options *code;
    pt_source_texts *texts;
    int64_t context;   /* instructions shown around those with a value; -1: all */
    size_t limit;      /* functions; 0 = all */
    bool with_inlined; /* also those that a matching function was inlined into */
} pt_disasm_request;

typedef struct pt_disasm_line {
    uint64_t addr;
    uint32_t size_bytes;
    const char *text;
    int64_t self, total;
    double self_share, total_share;
    const pt_code_frame *frame; /* innermost first; NULL with a count of 0 */
    uint32_t frame_count;
    const char *source; /* the innermost frame's line, not terminated, or NULL */
    size_t source_size;
    bool after_gap; /* instructions between the one before and this are left out */
} pt_disasm_line;

typedef struct pt_disasm_function {
    const char *name, *linkage_name;
    const char *path; /* of the image */
    uint64_t start, end;
    int64_t self, total;
    double self_share, total_share;
    pt_disasm_line *line;
    size_t line_count;
    char *error; /* why there are no instructions, or NULL */
    pt_code_text text;
} pt_disasm_function;

typedef struct pt_disassembly {
    pt_disasm_function *function; /* the largest total first */
    size_t count;
    size_t more; /* functions beyond the limit */
    pt_code code;
} pt_disassembly;

/* PT_ERR_NOTFOUND when nothing matches. Borrows texts of the profile and of request->texts; done
 * with pt_disassembly_done. */
pt_status pt_disassembly_init(pt_disassembly *ret_disassembly, const pt_profile *profile,
                              const pt_disasm_request *request, pt_error *reterr);
void pt_disassembly_done(pt_disassembly *disassembly);

#endif
