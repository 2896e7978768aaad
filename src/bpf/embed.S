/* embed.S: the program for the kernel (tools/build-bpf), as bytes with a beginning and an end. The build makes
 * object_hash.h from it, so that this is assembled again when it changes.
 */
#include "object_hash.h"

    .section .rodata
    .global pt_bpf_sample_object
    .global pt_bpf_sample_object_end
    .balign 16
pt_bpf_sample_object:
#if defined(__x86_64__)
    .incbin "sample.x86_64.bpf"
#elif defined(__aarch64__)
    .incbin "sample.aarch64.bpf"
#endif
pt_bpf_sample_object_end:
    .byte 0

    .section .note.GNU-stack, "", %progbits
