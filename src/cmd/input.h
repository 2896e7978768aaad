/* input.h: arguments become the profile that a command works on. */
#ifndef PT_CMD_INPUT_H
#define PT_CMD_INPUT_H

#include "cmd/cmd.h"

/* What a path is, by a look at its first bytes. */
typedef enum {
    PT_PATH_MISSING,
    PT_PATH_FOLDER,
    PT_PATH_IMAGE,  /* an ELF image: a program or shared object */
    PT_PATH_SCRIPT, /* begins with #! */
    PT_PATH_OTHER,  /* maybe a profile */
} pt_path_kind;
pt_path_kind pt_path_look(const char *path);

/* Loads context->args (or the default profile, and says so) into ->loaded, ->profile, ->title;
 * symbolizes if the command needs it. Returns an exit status: PT_EXIT_OK, or what was said. */
int pt_cmd_load(pt_cmd_context *context);

/* Says what is wrong with each damaged input; the rest of it is used. */
void pt_cmd_say_damage(const pt_loaded *loaded);

/* Gives ->profile functions, lines and inlined frames, as --symbols and its like say. Returns an
 * exit status. */
int pt_cmd_symbolize(pt_cmd_context *context);

#endif
