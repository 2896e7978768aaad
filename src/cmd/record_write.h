/* record_write.h: writes the profile of a recording to a file. */
#pragma once

#include "cmd/cmd.h"

/* The `write` of pt_recording. For a format without addresses the profile gets names first, since
 * no reader of the file can find the names later. Data that the format cannot hold is added to the
 * diag of the context. cmd_context: a pt_cmd_context. */
pt_status pt_record_write(void *cmd_context, const pt_profile *profile, const char *path,
                          mode_t mode, pt_error *reterr);
