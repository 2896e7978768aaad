/* process_user.c: see process_user.h. */
#include "model/process_user.h"

#include <inttypes.h>
#include <stdio.h>

#define FORMAT(pid, user) "user of process %" pid ": %" user

void pt_builder_process_user(pt_builder *builder, uint32_t pid, uint32_t user)
{
    PT_FREE char *text = pt_strf(FORMAT(PRIu32, PRIu32), pid, user);
    pt_builder_comment(builder, pt_builder_text(builder, text));
}

bool pt_profile_process_user(const pt_profile *profile, uint32_t pid, uint32_t *ret_user)
{
    const pt_provenance *const from = pt_profile_provenance(profile);
    for (uint32_t i = 0; i < from->comment_count; i++) {
        uint32_t said_pid, user;
        if (sscanf(pt_text(profile, from->comments[i]), FORMAT(SCNu32, SCNu32), &said_pid, &user) !=
                2 ||
            said_pid != pid)
            continue;
        *ret_user = user;
        return true;
    }
    return false;
}
