/* first.h: the command that the first word of a command line means. */
#pragma once

#include "cmd/cmd.h"

typedef struct pt_first {
    const pt_command *command; /* NULL if an error was printed; the program then ends with
                                * `status` */
    int skip;                  /* number of arguments before the command's own: 1 if the command is
                                * not named, else 2 */
    bool brief;                /* help in ten lines */
    int status;
} pt_first;

/* A command's name means the command. `pitot FILE` means `pitot top FILE`. `pitot` alone means the
 * profile in the current folder, or help. For a program a message names `pitot record`, for other
 * words the most similar command. */
pt_first pt_first_word(int argc, char **argv);
