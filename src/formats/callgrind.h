/* callgrind.h: shared by the reader and the writer of callgrind. */
#pragma once

#include "formats/format.h"

/* Prefix of the keys of extras that hold unknown header lines. */
#define CALLGRIND_EXTRA "callgrind."
/* Begins the text of a "desc:" line that names the default event. The event follows as it stands in
 * the "events:" line. */
#define CALLGRIND_SHOWN "Default event: "

/* The writer (callgrind_write.c). Errors as in pt_format.write. */
pt_status pt_callgrind_write(const pt_profile *profile, const pt_output *output,
                             const pt_write_options *options, pt_error *reterr);
