/* embed.S: files of web/dist that the binary carries, as bytes with a beginning and an end. The build makes
 * embed_stamp.h from their checksums, so that this is assembled again when one of them changes. */
#include "embed_stamp.h"

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

    .section .note.GNU-stack, "", %progbits
