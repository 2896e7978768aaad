/* app_html.h: the page of `pitot serve`, which asks the server for each report. */
#ifndef PT_RENDER_APP_HTML_H
#define PT_RENDER_APP_HTML_H

#include "base/buf.h"
#include "model/profile.h"

/* web/dist/app.html with the profile's events and what is to be known about it. */
void pt_render_app_html(pt_out *out, const pt_profile *profile, const char *title,
                        const char *version);

#endif
