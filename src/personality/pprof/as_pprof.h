/* as_pprof.h: a profile as google/pprof has it in memory, so that everything after it can follow
 * pprof's rules to the letter. */
#pragma once

#include "model/profile.h"

/* What pprof makes of a profile that it has read, before merging (profile/encode.go, postDecode;
 * internal/driver/fetch.go, locateBinaries):
 *
 *   labels    texts before numbers, each by key; a number 0 without a unit is no label
 *   mappings  a profile without any has one that all locations lie in, without file and range
 *   legacy    of formats other than profile.proto: a frame's address is that of its call, equal
 *             ones are one location, and the list of mappings is repaired (remapMappingIDs)
 *   events    those whose type another has, too, are left out
 *   unknown   fields that pprof does not know are not kept
 *
 * One reference. */
const pt_profile *pt_as_pprof(const pt_profile *profile);

/* The event that -sample_index=name means: "" the default one, a number, a type, a type without
 * "inuse_" before it. PT_ERR_USAGE with pprof's own message. (profile/index.go) */
pt_status pt_pprof_event(const pt_profile *profile, const char *name, uint32_t *ret_event,
                         pt_error *reterr);
