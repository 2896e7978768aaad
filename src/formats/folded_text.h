/* folded_text.h: a line of folded stacks, for the reader and the writer of folded.c. */
#ifndef PT_FORMATS_FOLDED_TEXT_H
#define PT_FORMATS_FOLDED_TEXT_H

#include "formats/format.h"

typedef enum {
    PT_FOLDED_EMPTY,
    PT_FOLDED_COMMENT,
    PT_FOLDED_INVALID,
    PT_FOLDED_STACK,
} pt_folded_kind;

typedef struct pt_folded_line {
    size_t stack_bytes; /* of the names, if the line has one count ... */
    int64_t last;
    bool last_rounded;
    bool has_two; /* ... and, if there is a number before it, if it has two */
    size_t first_stack_bytes;
    int64_t first;
    bool first_rounded;
} pt_folded_line;

/* Takes a line apart; *ret_line is filled for PT_FOLDED_STACK only. */
pt_folded_kind pt_folded_parse(const char *text, size_t size, pt_folded_line *ret_line);

pt_status pt_folded_write(const pt_profile *profile, const pt_output *output,
                          const pt_write_options *options, pt_error *reterr);

#endif
