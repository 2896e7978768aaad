/* embed.h: the files of web/dist, which embed.S includes in the binary. Each file is followed by a
 * NUL that is not part of it. */
#pragma once

#include "base/buf.h"

extern const char pt_embed_app_html[], pt_embed_app_html_end[];
extern const char pt_embed_flame_html[], pt_embed_flame_html_end[];
extern const char pt_embed_flame_svg_css[], pt_embed_flame_svg_css_end[];
extern const char pt_embed_flame_svg_js[], pt_embed_flame_svg_js_end[];
extern const char pt_embed_weblist_css[], pt_embed_weblist_css_end[];
extern const char pt_embed_weblist_js[], pt_embed_weblist_js_end[];

/* Puts a page up to the place for its data. Returns the part of the page that follows this
 * place. */
const char *pt_embed_until_data(pt_out *out, const char *page, const char *end);
