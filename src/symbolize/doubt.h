/* doubt.h: is a file the one that was profiled, where no build id tells? */
#ifndef PT_SYMBOLIZE_DOUBT_H
#define PT_SYMBOLIZE_DOUBT_H

#include "model/profile.h"
#include "object/object.h"

typedef enum {
    PT_DOUBT_NONE,  /* nothing speaks against it, and nothing for it */
    PT_DOUBT_NEWER, /* it was written to after the profile was taken */
    PT_DOUBT_SIZE,  /* what was mapped ends where no segment of it does */
} pt_doubt;

/* Unix times; 0 = unknown. */
bool pt_doubt_is_newer(int64_t file_ns, int64_t profile_ns);
/* Mappings end with the page that a segment ends in (mmap(2), elf(5)). Mappings that are made up,
 * or cover the whole image, tell nothing. */
bool pt_doubt_differs_in_size(const pt_elf *elf, const pt_mapping *mapping);

#endif
