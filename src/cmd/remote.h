/* remote.h: profiles from servers, for commands: the options of a request, progress on the
 * terminal, and the folder for fetched profiles. */
#pragma once

#include "cmd/cmd.h"
#include "load/fetch.h"

/* The options of requests to servers for pitot's own commands, from --seconds, --timeout and
 * --tls-x. Messages go to standard error; so does progress, if standard error is a terminal.
 * Personalities change fields of the result, such as `rule` and `say`. */
pt_fetch_options pt_remote_options(const pt_cmd_context *context);
/* Shows progress in one line of the terminal; for pt_fetch_options.progress. Does nothing if
 * standard error is not a terminal. */
void pt_remote_progress(void *unused, const pt_fetch_progress *progress);

/* Prints the error of each failed server, then "3 of 4 profiles ..."; nothing if none failed. For
 * pitot's own commands. */
void pt_remote_say_failures(const pt_loaded *loaded);

/* Requests the names that pt_symbolize did not find from the profile's servers. Replaces
 * context->profile by the profile with these names. Returns an exit status. */
int pt_remote_symbolize(pt_cmd_context *context);

/* The folder for fetched profiles, made if missing: $PPROF_TMPDIR, or $HOME/pprof, or $TMPDIR, or
 * /tmp. Returns NULL if no folder can be made. The caller frees the path. */
char *pt_remote_folder(void);
/* Saves a profile as google/pprof does: FOLDER/pprof.MAIN.TYPES.NNN.pb.gz with the first free
 * number. The caller frees *ret_path. */
pt_status pt_remote_save(const pt_profile *profile, pt_pool *pool, char **ret_path,
                         pt_error *reterr);
