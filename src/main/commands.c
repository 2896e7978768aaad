/* commands.c: the table of all commands: pitot's own, then those of other tools. */
#include "cmd/cmd.h"
#include "cmd/rows.h"

#define X(name) extern const pt_command pt_command_##name;
#include "main/personalities.def"
#undef X

const pt_command *const pt_commands[] = {
#define X(name) &pt_command_##name,
#include "cmd/commands.def"
#include "main/personalities.def"
#undef X
    NULL,
};
