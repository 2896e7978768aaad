/* firefox.h: shared by the reader and the writer of Firefox profiles. */
#pragma once

#include "formats/format.h"

/* Versions of the written formats. The Firefox Profiler upgrades the processed format when it loads
 * a file. */
enum { FIREFOX_PROCESSED_VERSION = 48, FIREFOX_GECKO_VERSION = 29 };

/* A thread's unit of weights ("weightType") and the event that it stands for. */
typedef struct firefox_weight {
    const char *name, *type, *unit;
    int64_t scale; /* number of the model's units in one unit of the file */
} firefox_weight;

/* The weight of a name; "samples" for NULL and unknown names. */
const firefox_weight *firefox_weight_of(const char *name);

/* Is the event one of marks or counters, which the file holds in addition to the written event? */
bool pt_firefox_holds_event(const pt_profile *profile, uint32_t event);

/* The writer (firefox_write.c). Errors as in pt_format.write. */
pt_status pt_firefox_write(const pt_profile *profile, const pt_output *output,
                           const pt_write_options *options, pt_error *reterr);
