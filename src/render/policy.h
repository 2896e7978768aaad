/* policy.h: what the pages that we write may do, as directives of a Content Security Policy: of
 * each its own script and style run, by their hashes; nothing else runs, and nothing is loaded, but
 * that the page of `pitot serve` asks its own server. Whoever serves a page adds where it may stand
 * (frame-ancestors, sandbox). embed.S makes them of the hashes that the build computes
 * (tools/embed-hashes).
 */
#ifndef PT_RENDER_POLICY_H
#define PT_RENDER_POLICY_H

extern const char pt_policy_app[];     /* render/app_html.h */
extern const char pt_policy_flame[];   /* render/flame_html.h */
extern const char pt_policy_picture[]; /* picture/picture.h */
extern const char pt_policy_weblist[]; /* render/weblist.h */
extern const char pt_policy_nothing[]; /* text: no script and no style at all */

#endif
