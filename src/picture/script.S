/* script.S: web/dist/picture.js as bytes of the binary (script.h). The build makes picture_hash.h from the file, so that this is
 * assembled again when the file changes.
 */
#include "picture_hash.h"

    .section .rodata
    .global pt_picture_js
    .global pt_picture_js_end
pt_picture_js:
    .incbin "picture.js"
pt_picture_js_end:
    .byte 0

    .section .note.GNU-stack, "", %progbits
