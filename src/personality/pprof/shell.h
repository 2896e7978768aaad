/* shell.h: pprof's interactive mode: one resident profile, commands and options by name.
 *
 *   shell.c         the loop; a line -> assignment, macro, or command with its arguments
 *   set.c           options by name
 */
#pragma once

#include "personality/pprof/pprof.h"

/* Reads commands until the end of the input. Never fails: what goes wrong with a command is said on
 * standard error. config: as the command line left it. Returns the exit status. */
int pt_pprof_shell(const pt_pprof_session *session, const pt_pprof_config *config);

/* Options by name; groups of which one choice holds (sort, granularity) are options, and so are
 * their choices. */
bool pt_pprof_is_option(const char *name);
/* Takes no value, or a truth value: flags and choices. */
bool pt_pprof_is_switch(const char *name);
/* value is borrowed. Errors are in pprof's words. */
pt_status pt_pprof_set(pt_pprof_config *config, const char *name, const char *value,
                       pt_error *reterr);
/* All options and their values, a line each; the caller frees. */
char *pt_pprof_options_text(const pt_pprof_config *config, const pt_profile *profile);
void pt_pprof_each_option(void (*each)(void *context, const char *name), void *context);
/* NULL if there is no such option. */
const char *pt_pprof_option_help(const char *name);
