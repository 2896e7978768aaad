/* help.h: help, man pages and completion scripts, made from the tables of commands and options. */
#pragma once

#include "cmd/cmd.h"

/* Puts a command's help: its own options in full, a line for each topic of shared options. columns:
 * the width at which lines are wrapped, 40 to 100 (0 means 80). */
void pt_help_command(pt_out *out, const pt_command *command, unsigned columns);

/* Put man pages in roff: pitot(1), and pitot-COMMAND(1). */
void pt_man_main(pt_out *out);
void pt_man_command(pt_out *out, const pt_command *command);

/* Puts a completion script; returns false if the shell is not bash, zsh or fish. */
bool pt_completion(pt_out *out, const char *shell);

extern const char *const pt_group_titles[PT_GROUP_COUNT];

/* The exit statuses, for help and man pages. */
typedef struct {
    int status;
    const char *meaning;
} pt_exit_text;
extern const pt_exit_text pt_exit_texts[];
extern const size_t pt_exit_text_count;
