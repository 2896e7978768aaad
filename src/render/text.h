/* text.h: text in columns that line up for every script. Control characters of names, which come
 * from files, become visible (base/visible.h: ESC as ^[) on terminals, in pipes and in files, so
 * that a profile can neither move the cursor nor imitate other output. */
#pragma once

#include "base/buf.h"
#include "base/units.h"
#include "render/look.h"

/* The number of columns that a text takes on a terminal. A character takes 0 for combining marks, 2
 * for wide characters (East Asian wide and fullwidth, emoji), else 1. A character that is shown as
 * an escape has the columns of the escape. */
size_t pt_text_width(const char *text);

/* Puts the text without characters that a terminal obeys. If it is wider than `limit` columns
 * (below 8: no limit), "..." replaces its middle, since names differ at their ends. */
void pt_text_put(pt_out *out, const char *text, size_t limit);

/* Like pt_text_put, for a function's name. The name is first made brief (brief.h), unless the look
 * has long_names. */
void pt_text_put_name(pt_out *out, const pt_look *look, const char *name, size_t limit);

/* "util.h:12", without the folders; "util.h" without a line; "" without a file. The caller frees.
 */
char *pt_where_text(const char *file, int64_t line);

/* The parts of a row that fit the terminal. A row is a name, two spaces, a place (file:line) and a
 * mark ("  (inlined)"). */
typedef struct pt_text_fit {
    size_t name, place;       /* limits for pt_text_put_name and pt_text_put; 0 = no limit */
    bool has_place, has_mark; /* false: there is no room for the place or the mark, so do not put
                               * it */
} pt_text_fit;

/* Fits a row to the look's width. used: columns before the name. place, mark: "" = none. If the row
 * is too wide, a mark that comes with a place is left out; a mark without a place stays if 8
 * columns are left for the name. Then the longer of name and place is cut, then both to the same
 * width. If less than 24 columns are left for both, the place is left out. */
pt_text_fit pt_text_fit_row(const pt_look *look, size_t used, const char *name, const char *place,
                            const char *mark);

/* Puts the text and a newline, wrapped at spaces if the terminal has less room. used: columns
 * before the text; indent: columns before the second and further lines. A word wider than a line is
 * cut in the middle. */
void pt_text_put_wrapped(pt_out *out, const pt_look *look, size_t used, size_t indent,
                         const char *text);
/* Puts a text of several lines, and wraps each line that is too wide. Lines keep the spaces that
 * they begin with. */
void pt_text_put_lines(pt_out *out, const pt_look *look, size_t indent, const pt_buf *text);

/* Puts n spaces. */
void pt_text_pad(pt_out *out, size_t n);

typedef enum {
    PT_COLOUR_NONE,
    PT_COLOUR_STRONG, /* titles and names */
    PT_COLOUR_HOT,    /* a large share of the whole: pt_colour_of_share */
    PT_COLOUR_WARM,   /* a smaller share */
    PT_COLOUR_QUIET,  /* details that a reader may skip */
} pt_colour;

/* Put the control sequences that begin and end a colour; nothing if the look has no colours. */
void pt_text_colour(pt_out *out, const pt_look *look, pt_colour colour);
void pt_text_colour_end(pt_out *out, const pt_look *look, pt_colour colour);

/* A share of 0..1 as a percentage: "45.2%", "0.04%", "<0.01%", "100%", "0%"; a negative share as
 * "-3.1%". */
typedef struct {
    char text[16];
} pt_percent;
pt_percent pt_percent_of(double share);
