/* embed.h: what embed.S carries. Each is followed by a NUL that is not part of it. */
#ifndef PT_RENDER_EMBED_H
#define PT_RENDER_EMBED_H

#include "base/buf.h"

extern const char pt_embed_app_html[], pt_embed_app_html_end[];
extern const char pt_embed_flame_html[], pt_embed_flame_html_end[];
extern const char pt_embed_flame_svg_css[], pt_embed_flame_svg_css_end[];
extern const char pt_embed_flame_svg_js[], pt_embed_flame_svg_js_end[];
extern const char pt_embed_weblist_css[], pt_embed_weblist_css_end[];
extern const char pt_embed_weblist_js[], pt_embed_weblist_js_end[];

/* Puts what of a page stands before the place of its data; returns what stands behind it. */
const char *pt_embed_until_data(pt_out *out, const char *page, const char *end);

#endif
