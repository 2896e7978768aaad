/* process_user.h: whose a process was when it was recorded. A comment of the profile says it, since
 * every format that keeps processes keeps comments: "user of process 812: 1000". */
#ifndef PT_MODEL_PROCESS_USER_H
#define PT_MODEL_PROCESS_USER_H

#include "model/builder.h"
#include "model/profile.h"

void pt_builder_process_user(pt_builder *builder, uint32_t pid, uint32_t user);
/* False if the profile does not say. */
bool pt_profile_process_user(const pt_profile *profile, uint32_t pid, uint32_t *ret_user);

#endif
