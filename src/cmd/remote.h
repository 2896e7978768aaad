/* remote.h: commands and profiles from servers: what is asked with which options, what the terminal
 * shows meanwhile, and where the answer is kept. */
#ifndef PT_CMD_REMOTE_H
#define PT_CMD_REMOTE_H

#include "cmd/cmd.h"
#include "load/fetch.h"

/* How a command fetches: the rule of pitot's own commands and what --seconds, --timeout and --tls-x
 * say. Lines go to standard error as the command's own, and so does progress if that is a terminal.
 * Personalities change rule, say and the rest as they like. */
pt_fetch_options pt_remote_options(const pt_cmd_context *context);
/* The progress line of a terminal; for pt_fetch_options.progress. Does nothing if standard error is
 * none. */
void pt_remote_progress(void *unused, const pt_fetch_progress *progress);

/* What is wrong with each server that was left out, then "3 of 4 profiles"; nothing if all are
 * there. For pitot's own commands. */
void pt_remote_say_failures(const pt_loaded *loaded);

/* Names what pt_symbolize left without a name, asking the servers that the profile came from.
 * Replaces context->profile. Returns an exit status. */
int pt_remote_symbolize(pt_cmd_context *context);

/* Folder that fetched profiles are kept in, made if it is not there: $PPROF_TMPDIR, else
 * $HOME/pprof, else /tmp. To be freed; NULL if none of them can be. */
char *pt_remote_folder(void);
/* Keeps a profile as google/pprof does: FOLDER/pprof.MAIN.TYPES.NNN.pb.gz with the first number
 * that is free. The path is to be freed. */
pt_status pt_remote_save(const pt_profile *profile, pt_pool *pool, char **ret_path,
                         pt_error *reterr);

#endif
