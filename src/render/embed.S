/* embed.S: files of web/dist that the binary carries, as bytes with a beginning and an end. The build makes
 * embed_hashes.h from them, so that this is assembled again when one of them changes. */
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
    embed pt_embed_picture_js, "picture.js"
    embed pt_embed_weblist_css, "weblist.css"
    embed pt_embed_weblist_js, "weblist.js"

    .section .note.GNU-stack, "", %progbits
