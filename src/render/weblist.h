/* weblist.h: a listing of lines and instructions as one HTML page that needs no network and no
 * other file. */
#pragma once

#include "render/report.h"
#include "view/listing.h"

/* A line with instructions is an element that opens (details), also by the keyboard; a short script
 * adds keys that go from line to line. */
void pt_weblist_html(pt_out *out, const pt_report_head *head, const pt_listing *listing);
