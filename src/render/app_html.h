/* app_html.h: the page of `pitot serve` (web/src/app). */
#ifndef PT_RENDER_APP_HTML_H
#define PT_RENDER_APP_HTML_H

#include "base/buf.h"
#include "model/profile.h"

typedef struct pt_app {
    const pt_profile *profile;
    const char *title, *version;
    const char *before; /* what it is compared with; NULL = nothing */
    bool has_times;     /* the samples have times */
} pt_app;

/* Writes the page for a profile; errors stay in out. The title may be anything. */
void pt_render_app_html(pt_out *out, const pt_app *app);

#endif
