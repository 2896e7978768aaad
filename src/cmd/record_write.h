/* record_write.h: a recording becomes a file. */
#pragma once

#include "cmd/cmd.h"

/* The `write` of pt_recording. A format without addresses gets names, since nobody can name them
 * later; what it cannot hold is added to the diag of the context. cmd_context: pt_cmd_context. */
pt_status pt_record_write(void *cmd_context, const pt_profile *profile, const char *path,
                          mode_t mode, pt_error *reterr);
