/* first.h: what the first word of a command line asks for. */
#ifndef PT_CMD_FIRST_H
#define PT_CMD_FIRST_H

#include "cmd/cmd.h"

typedef struct pt_first {
    const pt_command *command; /* NULL: what is wrong was said; exit with status */
    int skip;   /* arguments before the command's own: 1 (its name was not said) or 2 */
    bool brief; /* help in ten lines */
    int status;
} pt_first;

/* A command's name; `pitot FILE` is `pitot top FILE`; `pitot` alone shows the profile that lies
 * here, else help; a program is told how to be recorded; other words get the nearest command. */
pt_first pt_first_word(int argc, char **argv);

#endif
