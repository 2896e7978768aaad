/* rows.h: the declarations of the structs of pitot's own commands. */
#ifndef PT_CMD_ROWS_H
#define PT_CMD_ROWS_H

#include "cmd/cmd.h"

#define X(name) extern const pt_command pt_command_##name;
#include "cmd/commands.def"
#undef X

#endif
