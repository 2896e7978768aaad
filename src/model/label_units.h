/* label_units.h: the one unit of each numeric label key, as pprof has it: the first that a sample
 * set names; without any "bytes" for alignment and request, else the key itself. */
#ifndef PT_MODEL_LABEL_UNITS_H
#define PT_MODEL_LABEL_UNITS_H

#include "base/error.h"
#include "model/profile.h"

/* Static, the key, or text of the profile. */
const char *pt_label_unit(const pt_profile *profile, const char *key);

#endif
