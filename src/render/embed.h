/* embed.h: what embed.S carries. Each is followed by a NUL that is not part of it. */
#ifndef PT_RENDER_EMBED_H
#define PT_RENDER_EMBED_H

extern const char pt_embed_flame_html[], pt_embed_flame_html_end[];
extern const char pt_embed_flame_svg_css[], pt_embed_flame_svg_css_end[];
extern const char pt_embed_flame_svg_js[], pt_embed_flame_svg_js_end[];

#endif
