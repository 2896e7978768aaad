/* speedscope.h: shared by the reader and the writer of speedscope files. */
#pragma once

#include "formats/format.h"

typedef struct speedscope_unit {
    const char *name;       /* name in the file */
    const char *type;       /* type of the event in files that do not name it */
    const char *model_unit; /* unit in the model */
    int64_t scale;          /* model units in one unit of the file */
} speedscope_unit;

/* The unit of a name; "none" for unknown names. */
const speedscope_unit *speedscope_unit_of(const char *name);

/* The writer (speedscope_write.c). Errors as in pt_format.write. */
pt_status pt_speedscope_write(const pt_profile *profile, const pt_output *output,
                              const pt_write_options *options, pt_error *reterr);
