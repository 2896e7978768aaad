/* registry.c: finding a command by its name in the table of src/main/commands.c. */
#include <string.h>

#include "cmd/cmd.h"

static bool is_called(const pt_command *command, const char *word)
{
    if (strcmp(command->name, word) == 0) return true;
    for (const char *const *a = command->aliases; a != NULL && *a != NULL; a++)
        if (strcmp(*a, word) == 0) return true;
    return false;
}

const pt_command *pt_command_find(const char *name)
{
    for (const pt_command *const *c = pt_commands; *c != NULL; c++)
        if (is_called(*c, name)) return *c;
    return NULL;
}

const pt_command *pt_command_nearest(const char *word)
{
    const char *names[64];
    size_t count = 0;
    for (const pt_command *const *c = pt_commands; *c != NULL; c++) {
        names[count++] = (*c)->name;
        for (const char *const *a = (*c)->aliases; a != NULL && *a != NULL; a++)
            names[count++] = *a;
        PT_BUG_IF(count > PT_COUNT(names) - 4);
    }
    const char *near = pt_nearest(word, names, count);
    return near != NULL ? pt_command_find(near) : NULL;
}
