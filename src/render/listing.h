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
void pt_listing_csv(pt_out *out, const pt_report_head *head, const pt_listing *listing);

/* What listings of lines and of instructions share: four columns, blank where there is nothing; a
 * heading over them and what follows; the same four as fields of an object. */
typedef struct pt_listing_values {
    int64_t self, total;
    double self_share, total_share;
} pt_listing_values;
void pt_listing_put_values(pt_out *out, const pt_summary *summary, int width,
                           const pt_listing_values *v);
void pt_listing_put_heading(pt_out *out, const pt_look *look, int width, const char *last);
void pt_listing_json_values(pt_json_w *w, const pt_summary *summary, const pt_listing_values *v);

/* Appends source text for a terminal or a page: tabs become spaces up to the next column that 8
 * divides. */
void pt_put_source(pt_buf *buf, const char *text, size_t size);

#endif
