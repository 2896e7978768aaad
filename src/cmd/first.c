/* first.c: the first word of a command line: a command, a profile, a program, or a typing error. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "cmd/first.h"
#include "cmd/habits.h"
#include "cmd/input.h"
#include "cmd/rows.h"
#include "terminal/pager.h"

static pt_first first_of(const pt_command *command, int skip)
{
    return (pt_first){.command = command, .skip = skip};
}

/* `pitot` without arguments: the profile in the current folder, or else help. */
static pt_first nothing_said(void)
{
    if (pt_path_look(PT_DEFAULT_PROFILE) == PT_PATH_MISSING)
        return (pt_first){.command = &pt_command_help, .skip = 1, .brief = true};
    return first_of(&pt_command_top, 1);
}

/* The first word is a file of this kind: `pitot FILE` is `pitot top FILE`. */
static pt_first files_said(int argc, char **argv, pt_path_kind kind)
{
    if (kind == PT_PATH_FOLDER) {
        pt_say("%s is a folder; name a profile in it", argv[1]);
        return (pt_first){.status = PT_EXIT_USAGE};
    }
    for (int i = 1; i < argc; i++)
        if (strcmp(argv[i], "-") == 0 || pt_path_look(argv[i]) == PT_PATH_OTHER)
            return first_of(&pt_command_top, 1);
    /* `pitot PROGRAM ...` without a profile among the arguments. */
    const char *const path = argv[1];
    pt_say("%s is a %s, not a profile; to record it: pitot record %s%s", path,
           kind == PT_PATH_SCRIPT ? "script" : "program", strchr(path, '/') ? "" : "./", path);
    return (pt_first){.status = PT_EXIT_USAGE};
}

static pt_first unknown_word(const char *word)
{
    const char *const answer = pt_habit_word(word);
    if (answer != NULL) {
        pt_say("there is no command '%s': %s", word, answer);
        return (pt_first){.status = PT_EXIT_USAGE};
    }
    const pt_command *near = pt_command_nearest(word);
    if (near != NULL)
        pt_say("there is no command and no file '%s'; did you mean `pitot %s`?", word, near->name);
    else
        pt_say("there is no command and no file '%s'; `pitot help` lists the commands", word);
    return (pt_first){.status = PT_EXIT_USAGE};
}

static pt_first option_said(const char *word)
{
    if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0)
        return first_of(&pt_command_help, 2);
    if (strcmp(word, "--version") == 0 || strcmp(word, "-V") == 0)
        return first_of(&pt_command_version, 2);
    return first_of(&pt_command_top, 1);
}

/* The command for the name by which pitot was called: a link to pitot may have the name of a
 * command that stands in for another tool. NULL if the name is not the name of such a command. */
static const pt_command *called_as(const char *path)
{
    const pt_command *command = pt_command_find(pt_base_name(path));
    if (command == NULL) return NULL;
    return command->personality != NULL || command->stands_in ? command : NULL;
}

/* `pitot --no-pager COMMAND`, as with git. */
/* NOLINTNEXTLINE(misc-no-recursion): each call has one argument less */
static pt_first without_pager(int argc, char **argv)
{
    setenv(PT_PAGER_VARIABLE, "", 1);
    pt_first first = pt_first_word(argc - 1, argv + 1);
    first.skip++;
    return first;
}

/* NOLINTNEXTLINE(misc-no-recursion): each call has one argument less */
pt_first pt_first_word(int argc, char **argv)
{
    const pt_command *personality = argc > 0 ? called_as(argv[0]) : NULL;
    if (personality != NULL) return first_of(personality, 1);
    if (argc < 2) return nothing_said();
    const char *word = argv[1];
    if (strcmp(word, "-") == 0) return first_of(&pt_command_top, 1);
    if (strcmp(word, "--no-pager") == 0) return without_pager(argc, argv);
    if (word[0] == '-') return option_said(word);
    const pt_command *command = pt_command_find(word);
    if (command != NULL) return first_of(command, 2);
    const pt_path_kind kind = pt_path_look(word);
    if (kind != PT_PATH_MISSING) return files_said(argc, argv, kind);
    return strchr(word, '/') != NULL ? first_of(&pt_command_top, 1) : unknown_word(word);
}
