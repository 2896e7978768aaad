/* firefox.h: what reader and writer of firefox.c share. */
#ifndef PT_FORMATS_FIREFOX_H
#define PT_FORMATS_FIREFOX_H

#include "formats/format.h"

/* The version of the processed format that is written; the Firefox Profiler upgrades it when it
 * loads it. */
enum { FIREFOX_PROCESSED_VERSION = 48, FIREFOX_GECKO_VERSION = 29 };

/* How a thread weighs its samples ("weightType"), and what event that is. */
typedef struct firefox_weight {
    const char *name, *type, *unit;
    int64_t scale; /* of ours in one of the file's */
} firefox_weight;

/* NULL or unknown names are "samples". */
const firefox_weight *firefox_weight_of(const char *name);

pt_status pt_firefox_write(const pt_profile *profile, const pt_output *output,
                           const pt_write_options *options, pt_error *reterr);

#endif
