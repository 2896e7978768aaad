/* kernel.h: the running kernel, as a mapping of a profile. */
#ifndef PT_CAPTURE_KERNEL_H
#define PT_CAPTURE_KERNEL_H

#include "model/builder.h"

/* "[kernel.kallsyms]" with the build id of the running kernel: from where its text starts (when
 * /proc/kallsyms tells; else from where kernel addresses begin) to the end of memory, modules and
 * all. */
pt_mapping pt_kernel_mapping(pt_builder *builder);

#endif
