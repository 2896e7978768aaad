/* markdown.h: reports for comments and job summaries, in the Markdown of GitHub and GitLab.
 *
 * Names are written as code. Within code, Markdown obeys only the backtick that ends it and, in a
 * table, the bar that ends a cell.
 */
#pragma once

#include "render/column.h"
#include "render/look.h"

/* Puts a function's name, made brief (brief.h) and at most 100 columns wide, as code for a
 * heading. */
void pt_markdown_title(pt_out *out, const char *name);

/* Puts the line of backticks that begins, and that ends, a block of lines that are shown unchanged.
 * The caller puts no line of backticks into the block. */
void pt_markdown_lines(pt_out *out);

/* The source place of a row, which is shown after the row's name; "" = none. The caller frees the
 * text. */
typedef char *pt_markdown_place(const void *context, const void *row);

/* Puts a table: the columns that text has, name and place. stride: size of a row in bytes. */
void pt_markdown_table(pt_out *out, const pt_columns *columns, const void *rows, size_t count,
                       size_t stride, pt_markdown_place *place, const void *context);
