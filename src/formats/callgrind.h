/* callgrind.h: what reader and writer of callgrind.c share. */
#ifndef PT_FORMATS_CALLGRIND_H
#define PT_FORMATS_CALLGRIND_H

#include "formats/format.h"

/* What begins the keys of header lines that are kept as extras. */
#define CALLGRIND_EXTRA "callgrind."
/* What a line desc: that names the event to show begins with; then its word of the line events: */
#define CALLGRIND_SHOWN "Default event: "

pt_status pt_callgrind_write(const pt_profile *profile, const pt_output *output,
                             const pt_write_options *options, pt_error *reterr);

#endif
