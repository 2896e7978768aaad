/* weblist.h: source lines with their values and, opened, their instructions, as one page that needs
 * nothing else: no network, no other file, and no script to be read. */
#ifndef PT_RENDER_WEBLIST_H
#define PT_RENDER_WEBLIST_H

#include "render/report.h"
#include "view/weblist.h"

/* Lines with instructions are elements that open (details), so that a keyboard can; a short script
 * adds keys that go from line to line. */
void pt_weblist_html(pt_out *out, const pt_report_head *head, const pt_weblist *weblist);

#endif
