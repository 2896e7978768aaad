/* first.h: the command that the first word of a command line means. */
#pragma once

#include "cmd/cmd.h"

typedef struct pt_first {
    const pt_command *command; /* NULL: an error was printed; exit with status */
    int skip;                  /* arguments before the command's own: 1 (without its name) or 2 */
    bool brief;                /* help in ten lines */
    int status;
} pt_first;

/* A command's name means the command. `pitot FILE` means `pitot top FILE`. `pitot` alone means the
 * profile in the current folder, or help. For a program a message names `pitot record`, for other
 * words the most similar command. */
pt_first pt_first_word(int argc, char **argv);
