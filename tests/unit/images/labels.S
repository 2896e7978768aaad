// labels.S: symbols as assembler leaves them, for x86-64. Every function is 16 bytes.
//   .text   sized (16 bytes) | gap of 16 | unsized ... next | next (16) | overlong says 4096
//   alone_text  alone: no size, nothing after it
        .text
        .globl  sized, sized_alias, next, overlong
        .weak   weak_of_sized
        .type   sized, @function
        .type   sized_alias, @function
        .type   weak_of_sized, @function
sized:
sized_alias:
weak_of_sized:
        .fill   8, 1, 0x90
label_inside:
        .fill   7, 1, 0x90
        ret
        .size   sized, 16
        .size   sized_alias, 16
        .size   weak_of_sized, 16
        .fill   16, 1, 0xcc
unsized:
        .fill   15, 1, 0x90
        ret
        .type   next, @function
next:
        .fill   15, 1, 0x90
        ret
        .size   next, 16
        .type   overlong, @function
overlong:
        .fill   15, 1, 0x90
        ret
        .size   overlong, 4096
        .section alone_text, "ax", @progbits
alone:
        .fill   15, 1, 0x90
        ret
        .section .note.GNU-stack, "", @progbits
