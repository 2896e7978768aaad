/* part.h: marks a profile as a part of a recording. */
#pragma once

#include "model/profile.h"

/* The same samples with a comment that states the query, "a part of the recording: QUERY", and
 * without the CPU time that the whole recording used and saw. The caller unrefs the result. */
const pt_profile *pt_profile_part(const pt_profile *profile, const char *query);
