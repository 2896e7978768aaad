/* embed.S: files of web/dist that the binary carries, as bytes with a beginning and an end. The build makes
 * embed_hashes.h from them, so that this is assembled again when one of them changes.
 */
#include "embed_hashes.h"

    .macro embed symbol, file
    .global \symbol
    .global \symbol\()_end
    .balign 16
\symbol:
    .incbin "\file"
\symbol\()_end:
    .byte 0
    .endm

    .section .rodata
    embed pt_embed_app_html, "app.html"
    embed pt_embed_flame_html, "flame.html"
    embed pt_embed_flame_svg_css, "flame_svg.css"
    embed pt_embed_flame_svg_js, "flame_svg.js"
    embed pt_embed_weblist_css, "weblist.css"
    embed pt_embed_weblist_js, "weblist.js"

/* The policies of policy.h, with the hashes of the scripts and styles above and of pictures' script
 * (picture/script.S). */
#define NOTHING "default-src 'none'; base-uri 'none'; form-action 'none'; object-src 'none'"
#define POLICY(symbol, ...) .global symbol; symbol: .ascii NOTHING, __VA_ARGS__; .byte 0
    POLICY(pt_policy_app, "; script-src ", PT_HASH_APP_SCRIPT, "; style-src ", PT_HASH_APP_STYLE, \
           "; connect-src 'self'; frame-src 'self'; img-src blob:")
    POLICY(pt_policy_flame, "; script-src ", PT_HASH_FLAME_SCRIPT, "; style-src ", PT_HASH_FLAME_STYLE)
    POLICY(pt_policy_picture, "; script-src ", PT_HASH_PICTURE_SCRIPT)
    POLICY(pt_policy_weblist, "; script-src ", PT_HASH_WEBLIST_SCRIPT, "; style-src ", PT_HASH_WEBLIST_STYLE)
    POLICY(pt_policy_nothing, "")

    .section .note.GNU-stack, "", %progbits
