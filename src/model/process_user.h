/* process_user.h: the owner of a recorded process. The owner is stored as a comment of the profile,
 * "user of process 812: 1000", since every format that keeps processes also keeps comments. */
#pragma once

#include "model/builder.h"
#include "model/profile.h"

/* Adds the comment with the process's user id. */
void pt_builder_process_user(pt_builder *builder, uint32_t pid, uint32_t user);
/* Reads the user id from the comments. Returns false if there is none for the process. */
bool pt_profile_process_user(const pt_profile *profile, uint32_t pid, uint32_t *ret_user);
