/* print_int.h: declarations that the files of gprof's renderer share. */
#pragma once

#include "personality/gprof/print.h"

#define PT_GPROF_NUMBER_MAX 400 /* bytes: a double has up to 309 digits before its point */

/* Both functions write a number to `to`, which has PT_GPROF_NUMBER_MAX bytes, without a NUL, and
 * return the number of bytes. left: the number is followed by blanks, not preceded. decimals: up to
 * 2. */
size_t pt_gprof_put_count(char *to, uint64_t value, size_t width, bool left);
size_t pt_gprof_put_fixed(char *to, double value, size_t width, unsigned decimals);
/* A symbol is prefetched when the PT_GPROF_SOON-th symbol before it is printed, its name at the
 * PT_GPROF_VERY_SOON-th. */
enum { PT_GPROF_SOON = 12, PT_GPROF_VERY_SOON = 4 };

/* Puts a form feed, which begins a new page on printers. Terminals also obey a form feed. */
static inline void pt_gprof_put_page_break(pt_out *out)
{
    pt_out_sequence(out, "\f");
    pt_out_char(out, '\n');
}

static inline size_t pt_gprof_put_blanks(char *to, size_t count)
{
    memset(to, ' ', count);
    return count;
}
