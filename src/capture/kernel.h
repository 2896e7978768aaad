/* kernel.h: the running kernel as a mapping of a profile. */
#ifndef PT_CAPTURE_KERNEL_H
#define PT_CAPTURE_KERNEL_H

#include "model/builder.h"

/* Makes "[kernel.kallsyms]" with the build id of the running kernel. It reaches from the start of
 * the kernel's text (by /proc/kallsyms; else from the lowest kernel address) to the end of memory,
 * modules included. */
pt_mapping pt_kernel_mapping(pt_builder *builder);

#endif
