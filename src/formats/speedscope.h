/* speedscope.h: what reader and writer of speedscope.c share. */
#ifndef PT_FORMATS_SPEEDSCOPE_H
#define PT_FORMATS_SPEEDSCOPE_H

#include "formats/format.h"

typedef struct speedscope_unit {
    const char *name;       /* in the file */
    const char *type;       /* the event it stands for in files that do not say */
    const char *model_unit; /* what the model counts in */
    int64_t scale;          /* model units in one */
} speedscope_unit;

/* Unknown names are "none". */
const speedscope_unit *speedscope_unit_of(const char *name);

pt_status pt_speedscope_write(const pt_profile *profile, const pt_output *output,
                              const pt_write_options *options, pt_error *reterr);

#endif
