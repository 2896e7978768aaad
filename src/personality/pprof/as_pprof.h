/* as_pprof.h: a profile as google/pprof has it in memory, so that all later steps can follow
 * pprof's rules to the letter. */
#pragma once

#include "model/profile.h"

/* Makes the changes that pprof makes to a profile after reading it and before merging
 * (profile/encode.go, postDecode; internal/driver/fetch.go, locateBinaries):
 *
 *   labels    texts before numbers, each by key; a number 0 without a unit is no label
 *   mappings  a profile without mappings gets one, without file and range, for all locations
 *   legacy    of formats other than profile.proto: a frame's address becomes that of its call,
 *             equal addresses become one location, and mappings are repaired (remapMappingIDs)
 *   events    events with a type that another event also has are left out
 *   unknown   fields that pprof does not know are dropped
 *
 * Returns one reference. */
const pt_profile *pt_as_pprof(const pt_profile *profile);

/* Finds the event that -sample_index=name names. name: "" = the default event; a number; a type; a
 * type without its "inuse_". Fails with PT_ERR_USAGE and pprof's own message if there is none
 * (profile/index.go). */
pt_status pt_pprof_event(const pt_profile *profile, const char *name, uint32_t *ret_event,
                         pt_error *reterr);
