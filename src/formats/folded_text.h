/* folded_text.h: a line of folded stacks, for the reader and the writer. */
#pragma once

#include "formats/format.h"

/* Kind of a line. */
typedef enum {
    PT_FOLDED_EMPTY,
    PT_FOLDED_COMMENT,
    PT_FOLDED_INVALID,
    PT_FOLDED_STACK,
} pt_folded_kind;

/* The line of a stack. If the line is read with a single count, `last`, the names are text[0,
 * stack_bytes). If it is read with two counts, `first` and `last`, the names are text[0,
 * first_stack_bytes). */
typedef struct pt_folded_line {
    size_t stack_bytes; /* length of the names before the last count */
    int64_t last;
    bool last_rounded;
    bool has_two; /* the line has a second number before the last count */
    size_t first_stack_bytes;
    int64_t first;
    bool first_rounded;
} pt_folded_line;

/* Parses a line; *ret_line is filled for PT_FOLDED_STACK only. */
pt_folded_kind pt_folded_parse(const char *text, size_t size, pt_folded_line *ret_line);

/* The writer (folded_write.c). Errors as in pt_format.write. */
pt_status pt_folded_write(const pt_profile *profile, const pt_output *output,
                          const pt_write_options *options, pt_error *reterr);
