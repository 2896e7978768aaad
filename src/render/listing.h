/* listing.h: source lines with their values, as text, JSON and CSV. */
#ifndef PT_RENDER_LISTING_H
#define PT_RENDER_LISTING_H

#include "render/report.h"
#include "view/listing.h"

/* calls: under each line, what it called. */
void pt_listing_text(pt_out *out, const pt_look *look, const pt_report_head *head,
                     const pt_listing *listing, bool calls);
void pt_listing_json(pt_out *out, const pt_report_head *head, const pt_listing *listing);
/* Lines with a value only. */
void pt_listing_csv(pt_out *out, const pt_listing *listing);

/* Appends source text for a terminal or a page: tabs become spaces up to the next column that 8
 * divides. */
void pt_put_source(pt_buf *buf, const char *text, size_t size);

#endif
