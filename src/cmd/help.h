/* help.h: what the command table and the option tables say, as help, man pages and completion. */
#ifndef PT_CMD_HELP_H
#define PT_CMD_HELP_H

#include "cmd/cmd.h"

/* A command's help, wrapped at columns (0 = 80). */
void pt_help_command(pt_out *out, const pt_command *command, unsigned columns);
/* All commands, by group. */
void pt_help_list(pt_out *out);
/* Ten lines for who typed nothing. */
void pt_help_brief(pt_out *out);

/* roff for man(1): pitot(1), or pitot-COMMAND(1). */
void pt_man_main(pt_out *out);
void pt_man_command(pt_out *out, const pt_command *command);

/* A completion script; false if the shell is none of bash, zsh, fish. */
bool pt_completion(pt_out *out, const char *shell);

extern const char *const pt_group_titles[PT_GROUP_COUNT];

/* One of an exit status a line, for help and man page. */
typedef struct {
    int status;
    const char *meaning;
} pt_exit_text;
extern const pt_exit_text pt_exit_texts[];
extern const size_t pt_exit_text_count;

#endif
