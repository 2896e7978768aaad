/* answers.h: the function, file and line of single addresses, as llvm-symbolizer and addr2line
 * print them, or as JSON.
 */
#pragma once

#include "base/buf.h"

/* The order is that of the choices of --output-style. */
typedef enum { PT_STYLE_LLVM, PT_STYLE_GNU, PT_STYLE_JSON, PT_STYLE_ADDR2LINE } pt_answer_style;

/* A symbol of data. */
typedef struct pt_data_symbol {
    uint64_t addr, size_bytes;
    const char *name;
} pt_data_symbol;

typedef struct pt_answer_frame {
    const char *function; /* "" = unknown */
    const char *file;     /* "" = unknown */
    uint32_t line, column, start_line;
    uint64_t start_addr; /* 0 = unknown */
} pt_answer_frame;

typedef struct pt_answer {
    const char *module;
    uint64_t addr; /* the address as the user asked for it */
    const pt_answer_frame *frames;
    size_t frame_count;         /* 0 = nothing is known */
    const pt_data_symbol *data; /* the symbol at the address if is_data; NULL = none */
    bool is_data, is_32;        /* is_data: the question was for data (DATA); is_32: the module is a
                                 * 32-bit module */
    bool is_alone;              /* for JSON: the answer is a document of its own, not an element of
                                 * an array */
} pt_answer;

typedef struct pt_answer_printer {
    pt_out *out;
    pt_answer_style style;
    bool functions, addresses, basenames, pretty;
    size_t printed; /* number of answers so far */
} pt_answer_printer;

/* Puts an answer in the printer's style, between pt_print_begin and pt_print_end. */
void pt_print_answer(pt_answer_printer *p, const pt_answer *a);
/* Put the text before and after all answers: JSON of addresses on a command line is one array. */
void pt_print_begin(pt_answer_printer *p);
void pt_print_end(pt_answer_printer *p);
