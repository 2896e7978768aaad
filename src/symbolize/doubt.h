/* doubt.h: whether a file is the profiled one, when no build id shows it. */
#pragma once

#include "model/profile.h"
#include "object/object.h"

/* True if the file changed after the profile was taken. Unix times; 0: unknown. */
bool pt_doubt_is_newer(int64_t file_ns, int64_t profile_ns);
/* True if the mapping does not end in the page of any segment's end (mmap(2), elf(5)). Always false
 * for synthetic mappings and those of a whole image. */
bool pt_doubt_differs_in_size(const pt_elf *elf, const pt_mapping *mapping);
