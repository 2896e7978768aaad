/* addr2line.h: the answers of GNU addr2line -f -C [-i] for addresses in an image, made by
 * object/object.h. */
#pragma once

#include "personality/perl/perl.h"

typedef struct pt_perl_addr2line pt_perl_addr2line;

/* Opens the image at path; NULL if the file is not an image. pt_perl_addr2line_free frees the
 * result. */
pt_perl_addr2line *pt_perl_addr2line_new(pt_perl_session *session, const char *path);
void pt_perl_addr2line_free(pt_perl_addr2line *tool);

typedef struct pt_perl_line {
    char *function;  /* "??" when unknown; demangled */
    char *file_line; /* "file:12", "file:0", "??:0" */
} pt_perl_line;

/* Receives the answer for addrs[index]: lines[0, count), the functions at the address, innermost
 * first, at least one. The lines are valid during the call. */
typedef void pt_perl_lines_sink(void *context, size_t index, const pt_perl_line *lines,
                                size_t count);

/* Answers addrs[0, count), which ascend, as one run of addr2line does. inlines: an answer has all
 * functions at the address (-i), else only the innermost. */
void pt_perl_addr2line_ask(pt_perl_addr2line *tool, const uint64_t *addrs, size_t count,
                           bool inlines, pt_perl_lines_sink *sink, void *context);
