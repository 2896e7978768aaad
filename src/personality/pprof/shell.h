/* shell.h: pprof's interactive mode: one resident profile, commands and options by name.
 *
 *   shell.c         the loop; a line -> assignment, macro, or command with its arguments
 *   set.c           options by name
 */
#pragma once

#include "personality/pprof/pprof.h"

/* Reads commands until the end of the input. Errors of commands are printed on standard error and
 * do not end the shell. config: the options of the command line. Returns the exit status. */
int pt_pprof_shell(const pt_pprof_session *session, const pt_pprof_config *config);

/* Is there an option of this name? Groups of choices (sort, granularity) are options, and so are
 * their choices. */
bool pt_pprof_is_option(const char *name);
/* Does the option take no value, or a truth value? Flags and choices of groups do. */
bool pt_pprof_is_switch(const char *name);
/* Sets an option. value is borrowed. Errors have pprof's messages. */
pt_status pt_pprof_set(pt_pprof_config *config, const char *name, const char *value,
                       pt_error *reterr);
/* All options with their values, a line for each; the caller frees. */
char *pt_pprof_options_text(const pt_pprof_config *config, const pt_profile *profile);
void pt_pprof_each_option(void (*each)(void *context, const char *name), void *context);
/* The help of an option; NULL if there is no such option. */
const char *pt_pprof_option_help(const char *name);
