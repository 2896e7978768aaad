/* help.c: the help command, and help as text. */
#include "cmd/help.h"

#include <stdio.h>
#include <string.h>

#include "cmd/options.h"
#include "cmd/rows.h"

const char *const pt_group_titles[PT_GROUP_COUNT] = {
    [PT_GROUP_COLLECT] = "Collect",   [PT_GROUP_ANSWER] = "Answer", [PT_GROUP_FILES] = "Files",
    [PT_GROUP_DCPI] = "DCPI's tools", [PT_GROUP_HELP] = "Help",
};

const pt_exit_text pt_exit_texts[] = {
    {PT_EXIT_OK, "fine"},
    {PT_EXIT_FAILED, "it could not be done"},
    {PT_EXIT_USAGE, "wrong usage"},
    {PT_EXIT_NO_MATCH, "nothing matched"},
    {PT_EXIT_DAMAGED, "answered, from damaged input"},
    {PT_EXIT_CHANGED, "diff: changed by more than --fail-above"},
};
const size_t pt_exit_text_count = sizeof pt_exit_texts / sizeof *pt_exit_texts;

/* Words of a paragraph, wrapped; empty lines of the text end paragraphs. */
static void put_wrapped(pt_out *out, const char *text, unsigned columns)
{
    size_t at = 0;
    while (*text != '\0') {
        if (text[0] == '\n') {
            pt_out_text(out, at > 0 ? "\n\n" : "\n");
            text += strspn(text, "\n");
            at = 0;
            continue;
        }
        const size_t word = strcspn(text, " \n");
        if (at > 0 && at + 1 + word > columns) {
            pt_out_char(out, '\n');
            at = 0;
        }
        if (at > 0) pt_out_char(out, ' ');
        at += word + (at > 0);
        pt_out_put(out, text, word);
        text += word;
        text += strspn(text, " ");
    }
    if (at > 0) pt_out_char(out, '\n');
}

static void put_examples(pt_out *out, const pt_command *command)
{
    if (command->examples == NULL) return;
    pt_out_text(out, "\nExamples:\n");
    for (const char *const *e = command->examples; e[0] != NULL; e += 2)
        pt_outf(out, "  %s\n      %s\n", e[0], e[1]);
}

void pt_help_command(pt_out *out, const pt_command *command, unsigned columns)
{
    if (columns < 40 || columns > 100) columns = columns == 0 ? 80 : columns < 40 ? 40 : 100;
    pt_command_options o;
    pt_command_options_init(&o, command, NULL, NULL);
    pt_outf(out, "pitot %s [OPTION...]%s%s\n", command->name, command->arguments[0] ? " " : "",
            command->arguments);
    pt_outf(out, "%s", command->summary);
    for (const char *const *a = command->aliases; a != NULL && *a != NULL; a++)
        pt_outf(out, "%s%s", a == command->aliases ? " (also: " : ", ", *a);
    pt_out_text(out, command->aliases != NULL ? ")\n\n" : "\n\n");
    put_wrapped(out, command->description, columns);
    put_examples(out, command);
    pt_out_char(out, '\n');
    pt_options_help(&o.options, columns, out);
}

void pt_help_list(pt_out *out)
{
    pt_out_text(out, "pitot COMMAND [OPTION...] [ARGUMENT...]\n"
                     "pitot FILE                 the same as: pitot top FILE\n");
    for (int g = 0; g < PT_GROUP_COUNT; g++) {
        bool titled = false;
        for (const pt_command *const *c = pt_commands; *c != NULL; c++) {
            if ((int)(*c)->group != g) continue;
            if (!titled) pt_outf(out, "\n%s:\n", pt_group_titles[g]);
            titled = true;
            pt_outf(out, "  %-13s %s\n", (*c)->name, (*c)->summary);
        }
    }
    pt_out_text(out, "\nExit status:");
    for (size_t i = 0; i < pt_exit_text_count; i++)
        pt_outf(out, "%s %d %s", i > 0 ? ";" : "", pt_exit_texts[i].status,
                pt_exit_texts[i].meaning);
    pt_out_text(out, "\n`pitot help COMMAND` shows a command's options.\n");
}

/* Only what this build can do is offered. */
static void put_line_if(pt_out *out, const char *command, const char *arguments, const char *what)
{
    if (pt_command_find(command) == NULL) return;
    char line[80];
    snprintf(line, sizeof line, "pitot %s%s%s", command, arguments[0] ? " " : "", arguments);
    pt_outf(out, "  %-32s %s\n", line, what);
}

void pt_help_brief(pt_out *out)
{
    pt_out_text(out, "pitot shows where a program's CPU time goes.\n\n");
    put_line_if(out, "record", "./program ARGUMENT...", "run it and write pitot.pb.gz");
    put_line_if(out, "top", "[FILE]", "functions by their own time");
    put_line_if(out, "tree", "[FILE]", "who called what");
    put_line_if(out, "flame", "[FILE]", "a flame graph to open in a browser");
    put_line_if(out, "info", "[FILE]", "what a profile holds");
    put_line_if(out, "help", "[COMMAND]", "all commands; a command's options");
    pt_out_text(out, "\nThere is no " PT_DEFAULT_PROFILE " here; FILE is any CPU profile.\n");
}

/* ---- The command ---- */

typedef struct {
    bool man;
    const char *completion;
} help_settings;

static const pt_option help_rows[] = {
    {.name = "man",
     .type = PT_OPT_FLAG,
     .offset = offsetof(help_settings, man),
     .help = "write the man page, for man -l -",
     .details = "Of the whole program, or of the command that is named."},
    {.name = "completion",
     .type = PT_OPT_STRING,
     .offset = offsetof(help_settings, completion),
     .metavar = "SHELL",
     .help = "write a completion script for bash, zsh or fish",
     .details = "For bash: eval \"$(pitot help --completion=bash)\". make install puts them where "
                "the shells look."},
};
static const pt_option_table help_options = PT_OPTION_TABLE(help_rows);

static int help_on(pt_cmd_context *context, const help_settings *settings, const char *name)
{
    const pt_command *command = pt_command_find(name);
    if (command == NULL) {
        const pt_command *near = pt_command_nearest(name);
        if (near != NULL)
            pt_cmd_say("there is no command '%s'; did you mean '%s'?", name, near->name);
        else
            pt_cmd_say("there is no command '%s'; `pitot help` lists them", name);
        return PT_EXIT_USAGE;
    }
    if (settings->man)
        pt_man_command(context->out, command);
    else
        pt_help_command(context->out, command, context->look.width);
    return PT_EXIT_OK;
}

static int help_run(pt_cmd_context *context, void *own)
{
    const help_settings *settings = own;
    if (settings->completion != NULL) {
        if (pt_completion(context->out, settings->completion)) return PT_EXIT_OK;
        return pt_cmd_usage(context, "--completion=%s: bash, zsh or fish", settings->completion);
    }
    if (context->arg_count > 0) return help_on(context, settings, context->args[0]);
    if (settings->man)
        pt_man_main(context->out);
    else if (context->brief)
        pt_help_brief(context->out);
    else
        pt_help_list(context->out);
    return PT_EXIT_OK;
}

const pt_command pt_command_help = {
    .name = "help",
    .group = PT_GROUP_HELP,
    .summary = "the commands, or the options of one",
    .arguments = "[COMMAND]",
    .description = "Without an argument lists the commands; with one shows what it does and its "
                   "options. Man pages and completion scripts are printed from the same tables.",
    .max_args = 1,
    .options = &help_options,
    .settings_bytes = sizeof(help_settings),
    .run = help_run,
};
