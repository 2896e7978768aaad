/* policy.h: what the pages that we write may do, as directives of a Content Security Policy: of each
 * its own script and style run, by their hashes; nothing else runs, and nothing is loaded. Whoever
 * serves a page adds directives for what its place allows (frame-ancestors, connect-src, sandbox).
 */
#ifndef PT_RENDER_POLICY_H
#define PT_RENDER_POLICY_H

extern const char pt_policy_app[];     /* render/app_html.h */
extern const char pt_policy_flame[];   /* render/flame_html.h */
extern const char pt_policy_picture[]; /* render/picture.h */
extern const char pt_policy_weblist[]; /* render/weblist.h */
extern const char pt_policy_nothing[]; /* text: no script and no style at all */

#endif
