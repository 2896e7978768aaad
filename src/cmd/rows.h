/* rows.h: the declarations of the structs of pitot's own commands. */
#pragma once

#include "cmd/cmd.h"

#define X(name) extern const pt_command pt_command_##name;
#include "cmd/commands.def"
#undef X
