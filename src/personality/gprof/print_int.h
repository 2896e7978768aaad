/* print_int.h: what the files of gprof's renderer share. */
#pragma once

#include "personality/gprof/print.h"

#define PT_GPROF_NUMBER_MAX 400 /* bytes: a double has up to 309 digits before its point */

/* Both write to `to`, which has room, and return how many bytes; nothing is terminated. left:
 * blanks behind. decimals: up to 2. */
size_t pt_gprof_put_count(char *to, uint64_t value, size_t width, bool left);
size_t pt_gprof_put_fixed(char *to, double value, size_t width, unsigned decimals);
/* How many symbols before its turn a symbol, and its name, are expected. */
enum { PT_GPROF_SOON = 12, PT_GPROF_VERY_SOON = 4 };

/* A new page, for printers: one control character that a terminal obeys, too. */
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
