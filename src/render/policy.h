/* policy.h: the Content Security Policy of each page that pitot writes. A page runs its own script
 * and style, by their hashes, and no others. It loads nothing; only the page of `pitot serve` may
 * send requests, to its own server. The server of a page adds where the page may be embedded
 * (frame-ancestors, sandbox). embed.S makes the policies from the hashes that the build computes
 * (tools/embed-hashes).
 */
#pragma once

extern const char pt_policy_app[];     /* render/app_html.h */
extern const char pt_policy_flame[];   /* render/flame_html.h */
extern const char pt_policy_picture[]; /* picture/picture.h */
extern const char pt_policy_weblist[]; /* render/weblist.h */
extern const char pt_policy_nothing[]; /* text: no script and no style at all */
