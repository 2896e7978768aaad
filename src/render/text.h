/* text.h: text in columns that line up for every script. Control characters of names, which come
 * from files, become visible (base/visible.h: ESC as ^[) on terminals, in pipes and in files, so
 * that a profile can neither move the cursor nor imitate other output. */
#pragma once

#include "base/buf.h"
#include "base/units.h"
#include "render/look.h"

/* Columns that a text takes on a terminal: 0 for combining marks, 2 for wide characters (East Asian
 * wide and fullwidth, emoji), else 1. What is shown by an escape has the columns of that. */
size_t pt_text_width(const char *text);

/* Puts the text without anything a terminal obeys. If it is wider than limit (below 8: no limit)
 * its middle is replaced by "...", since the ends of names differ. */
void pt_text_put(pt_out *out, const char *text, size_t limit);

/* The same for a function's name, which is made brief first unless the look wants all of it. */
void pt_text_put_name(pt_out *out, const pt_look *look, const char *name, size_t limit);

/* "util.h:12", without the folders; "util.h" without a line; "" without a file. The caller frees.
 */
char *pt_where_text(const char *file, int64_t line);

/* The parts of a row that fit the terminal. A row is a name, two spaces, a place (file:line) and a
 * mark ("  (inlined)"). */
typedef struct pt_text_fit {
    size_t name, place;       /* limits for the two functions above; 0: whole */
    bool has_place, has_mark; /* false: there is none, or no room for it */
} pt_text_fit;

/* used: columns before the name. place may be "", mark ("  (inlined)") too; both "" where there is
 * none. Where the row is too wide a mark beside a place goes; then the longer of name and place is
 * cut, then both to the same width; where less than 24 columns are left, the place goes. */
pt_text_fit pt_text_fit_row(const pt_look *look, size_t used, const char *name, const char *place,
                            const char *mark);

/* Puts the text and a newline, wrapped at spaces where the terminal has less room. used: columns
 * before it; indent: of the lines that follow. A word wider than a line is cut in the middle. */
void pt_text_put_wrapped(pt_out *out, const pt_look *look, size_t used, size_t indent,
                         const char *text);
/* The same with each line of a text that is too wide; lines keep their spaces at the beginning. */
void pt_text_put_lines(pt_out *out, const pt_look *look, size_t indent, const pt_buf *text);

/* Puts n spaces. */
void pt_text_pad(pt_out *out, size_t n);

typedef enum {
    PT_COLOUR_NONE,
    PT_COLOUR_STRONG, /* what the eye looks for */
    PT_COLOUR_HOT,    /* much of the whole */
    PT_COLOUR_WARM,
    PT_COLOUR_QUIET, /* what may be skipped */
} pt_colour;

/* Begin and end of a colour; nothing if the look has none. */
void pt_text_colour(pt_out *out, const pt_look *look, pt_colour colour);
void pt_text_colour_end(pt_out *out, const pt_look *look, pt_colour colour);

/* A share of 0..1 as a percentage: "45.2%", "0.04%", "<0.01%", "100%", "0%"; negative ones as
 * "-3.1%". Returns buf. */
typedef struct {
    char text[16];
} pt_percent;
pt_percent pt_percent_of(double share);
