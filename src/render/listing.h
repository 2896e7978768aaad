/* listing.h: prints a listing (view/listing.h): source lines or instructions with their values, as
 * text, JSON and CSV. render/weblist.h prints both as a page. */
#pragma once

#include "render/report.h"
#include "view/listing.h"

/* Prints source lines or, if the listing has none, instructions. with_calls: the calls of each line
 * are printed below the line. Before an instruction of another source line, this source line is
 * printed. */
void pt_listing_text(pt_out *out, const pt_look *look, const pt_report_head *head,
                     const pt_listing *listing, bool with_calls);
/* The same as the report `list` or `disasm`. */
void pt_listing_json(pt_out *out, const pt_report_head *head, const pt_listing *listing);
/* Source lines that have a value. */
void pt_listing_csv(pt_out *out, const pt_report_head *head, const pt_listing *listing);

/* ---- What the page shares ---- */

/* The width of a column of values that fits the values of `count` functions and their rows. */
int pt_listing_width(const pt_summary *summary, const pt_code_function *function, size_t count);
/* Digits of the largest line number of a function, at least 4. */
int pt_listing_digits(const pt_code_function *function);
/* Puts four columns: self, self's share of the whole, total, total's share of the whole. A value of
 * 0 is blank. */
void pt_listing_put_values(pt_out *out, const pt_summary *summary, int width, int64_t whole,
                           int64_t self, int64_t total);
/* Puts source text for a terminal or a page: a tab becomes spaces up to the next multiple of 8
 * columns. */
void pt_put_source(pt_buf *buf, const char *text, size_t size);
/* Puts "  y += x;": two blanks and the source of an instruction without its
 * indentation. Puts nothing if the source is not known. */
void pt_put_row_source(pt_buf *buf, const pt_code_row *row);
