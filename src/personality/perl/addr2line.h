/* addr2line.h: what GNU addr2line -f -C [-i] says of addresses in an image, from our own
 * reader of DWARF and symbol tables. */
#ifndef PT_PERL_ADDR2LINE_H
#define PT_PERL_ADDR2LINE_H

#include "personality/perl/perl.h"

typedef struct pt_perl_addr2line pt_perl_addr2line;

/* NULL when path is no image. */
pt_perl_addr2line *pt_perl_addr2line_new(pt_perl_session *session, const char *path);
void pt_perl_addr2line_free(pt_perl_addr2line *tool);

typedef struct pt_perl_line {
    char *function;  /* "??" when unknown; demangled */
    char *file_line; /* "file:12", "file:0", "??:0" */
} pt_perl_line;

/* lines[0, count): innermost first; one at least. They live during the call. */
typedef void pt_perl_lines_sink(void *context, size_t index, const pt_perl_line *lines,
                                size_t count);

/* Asks for addrs[0, count), which ascend; nothing is remembered of earlier questions. With inlines
 * all functions at an address are given, else the innermost. */
void pt_perl_addr2line_ask(pt_perl_addr2line *tool, const uint64_t *addrs, size_t count,
                           bool inlines, pt_perl_lines_sink *sink, void *context);

#endif
