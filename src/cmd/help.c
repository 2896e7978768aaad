/* help.c: the help command, and help as text. */
#include "cmd/help.h"

#include <stdio.h>
#include <string.h>

#include "cmd/options.h"

const char *const pt_group_titles[PT_GROUP_COUNT] = {
    [PT_GROUP_COLLECT] = "Collect",   [PT_GROUP_ANSWER] = "Answer", [PT_GROUP_FILES] = "Files",
    [PT_GROUP_DCPI] = "DCPI's tools", [PT_GROUP_HELP] = "Help",
};

const pt_exit_text pt_exit_texts[] = {
    {PT_EXIT_OK, "success"},
    {PT_EXIT_FAILED, "the command failed"},
    {PT_EXIT_USAGE, "wrong usage"},
    {PT_EXIT_NO_MATCH, "nothing matched"},
    {PT_EXIT_DAMAGED, "success, but an input was damaged, or a server did not answer"},
    {PT_EXIT_CHANGED, "diff, ci: a change exceeds the limit that was given"},
};
const size_t pt_exit_text_count = PT_COUNT(pt_exit_texts);

/* Puts a text with its words wrapped at `columns`; empty lines of the text end paragraphs. */
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

static void put_examples(pt_out *out, const char *const *examples)
{
    if (examples == NULL) return;
    pt_out_text(out, "\nExamples:\n");
    for (const char *const *e = examples; e[0] != NULL; e += 2)
        pt_outf(out, "  %s\n      %s\n", e[0], e[1]);
}

/* ---- Topics ---- */

/* A help page of options that many commands share. */
typedef struct {
    const char *name, *summary, *title;
    const char *const *examples;      /* as in pt_command; may be NULL */
    const pt_option_table *tables[2]; /* tables[1]: NULL if the topic has only one table */
} option_topic;

static const char *const samples_examples[] = {
    "pitot top --focus=parse",
    "functions in stacks with a function whose name has parse",
    "pitot top --tag-focus=comm=python3",
    "samples of the processes named python3",
    "pitot tree --tag-root=comm",
    "a tree for each name of a process",
    "pitot top --time=0.5,1 a.pb.gz",
    "from 0.5 s to 1 s after the first sample (record --timeline)",
    "pitot top --base=before.pb.gz after.pb.gz",
    "after minus before",
    NULL,
};

static const option_topic option_topics[] = {
    {.name = "samples",
     .summary = "choose samples: --focus, --hide, --time, --base, ...",
     .title =
         "Options that choose samples and frames, and subtract a profile. All reports take them "
         "(why, top, tree, flame, list, ...); diff, which has two profiles anyway, takes only "
         "those of the first section. The order of the options does not matter.\n\n"
         "PATTERN is a regular expression (Perl's syntax). It matches anywhere in the name of a "
         "function, of its source file or of its program or library. A name that a report shows, "
         "such as operator() or [app+0x1200..], matches itself.\n\n"
         "KEY is the name of a label: each sample of pitot record has comm (the name of the "
         "process) and pid; `pitot tags` lists the labels of a profile. TAG is KEY=PATTERN for a "
         "label that is text, and KEY=RANGE for a number. RANGE is 64kb, 64kb: (at least), :64kb "
         "(at most) or 1kb:2mb. TAG without KEY= is compared with all labels.\n\n"
         "START,STOP are seconds after the first sample (0.5,1), seconds on the clock that `pitot "
         "info` shows, or percentages (10%-20%). Either end may be left out: 0.5, and ,1. The "
         "samples must have times: record --timeline, perf.data.",
     .examples = samples_examples,
     .tables = {&pt_query_options, &pt_base_options}},
    {.name = "reading",
     .summary = "files and servers: --from, --strict, --max-memory, ...",
     .title = "Options for reading profiles from files and servers. [PROGRAM] of a command is the "
              "file of the profiled program; most profiles name it themselves.",
     .tables = {&pt_input_options}},
    {.name = "names",
     .summary = "names and debug files: --demangle, --debug-path, ...",
     .title = "Options for the names of functions, and the files that names come from.",
     .tables = {&pt_symbol_options, &pt_place_options}},
};
enum { TOPIC_COUNT = PT_COUNT(option_topics) };

/* The topic of the commands that stand in for DCPI's tools. */
static const char dcpi_topic[] = "dcpi";
static const char dcpi_summary[] = "events by image, procedure and instruction: DCPI's tools";

static bool is_of_topic(const option_topic *topic, const pt_option_table *table)
{
    return table == topic->tables[0] || (table == topic->tables[1] && table != NULL);
}

/* The topic that explains a part of a command's options; NULL for the command's own options. */
static const option_topic *topic_of(const pt_option_table *table)
{
    for (size_t i = 0; i < TOPIC_COUNT; i++)
        if (is_of_topic(&option_topics[i], table)) return &option_topics[i];
    return NULL;
}

static void put_topic_line(pt_out *out, const char *name, const char *summary)
{
    pt_outf(out, "  pitot help %-8s  %s\n", name, summary);
}

static void put_topic(pt_out *out, const option_topic *topic, unsigned columns)
{
    pt_option_part parts[2] = {{.table = topic->tables[0]}, {.table = topic->tables[1]}};
    const pt_options options = {.parts = parts, .part_count = topic->tables[1] != NULL ? 2 : 1};
    put_wrapped(out, topic->title, columns);
    put_examples(out, topic->examples);
    pt_out_char(out, '\n');
    pt_options_help(&options, columns, out);
    pt_out_text(out, "\nMore on each option: pitot help --man top | man -l -\n");
}

static void put_commands_of(pt_out *out, pt_command_group group)
{
    for (const pt_command *const *c = pt_commands; *c != NULL; c++)
        if ((*c)->group == group) pt_outf(out, "  %-13s %s\n", (*c)->name, (*c)->summary);
}

static bool has_commands_of(pt_command_group group)
{
    for (const pt_command *const *c = pt_commands; *c != NULL; c++)
        if ((*c)->group == group) return true;
    return false;
}

/* Writes the page of a topic; returns false if there is no topic of this name. */
static bool put_topic_named(pt_out *out, const char *name, unsigned columns)
{
    if (strcmp(name, dcpi_topic) == 0 && has_commands_of(PT_GROUP_DCPI)) {
        pt_out_text(out, "Commands with the names of DCPI's tools. They read any profile with "
                         "addresses.\n\n");
        put_commands_of(out, PT_GROUP_DCPI);
        pt_out_text(out, "\n`pitot help COMMAND` shows the options of a command.\n");
        return true;
    }
    for (size_t i = 0; i < TOPIC_COUNT; i++) {
        if (strcmp(name, option_topics[i].name) != 0) continue;
        put_topic(out, &option_topics[i], columns);
        return true;
    }
    return false;
}

static void put_topic_lines(pt_out *out)
{
    for (size_t i = 0; i < TOPIC_COUNT; i++)
        put_topic_line(out, option_topics[i].name, option_topics[i].summary);
    if (has_commands_of(PT_GROUP_DCPI)) put_topic_line(out, dcpi_topic, dcpi_summary);
}

/* Puts a line for each topic that explains a part of the command's shared options. */
static void put_shared(pt_out *out, const pt_command_options *o)
{
    const option_topic *last = NULL;
    for (size_t i = 0; i < o->options.part_count; i++) {
        const option_topic *const topic = topic_of(o->parts[i].table);
        if (topic == NULL || topic == last) continue;
        if (last == NULL) pt_out_text(out, "\nOptions shared with other commands:\n");
        put_topic_line(out, topic->name, topic->summary);
        last = topic;
    }
}

/* ---- Commands ---- */

static unsigned column_count(unsigned columns)
{
    return columns == 0 ? 80 : columns < 40 ? 40 : columns > 100 ? 100 : columns;
}

static void put_usage(pt_out *out, const pt_command *command, unsigned columns)
{
    const size_t length =
        strlen("pitot  [OPTION...] ") + strlen(command->name) + strlen(command->arguments);
    pt_outf(out, "pitot %s [OPTION...]%s%s\n", command->name,
            command->arguments[0] == '\0' ? ""
            : length > columns            ? "\n      "
                                          : " ",
            command->arguments);
}

void pt_help_command(pt_out *out, const pt_command *command, unsigned columns)
{
    columns = column_count(columns);
    pt_command_options o;
    pt_command_options_init(&o, command, NULL, NULL);
    put_usage(out, command, columns);
    pt_outf(out, "%s", command->summary);
    for (const char *const *a = command->aliases; a != NULL && *a != NULL; a++)
        pt_outf(out, "%s%s", a == command->aliases ? " (also: " : ", ", *a);
    pt_out_text(out, command->aliases != NULL ? ")\n\n" : "\n\n");
    put_wrapped(out, command->description, columns);
    put_examples(out, command->examples);
    pt_out_char(out, '\n');
    /* The options that no topic explains. */
    pt_option_part own[PT_COUNT(o.parts)];
    pt_options options = {.parts = own};
    for (size_t i = 0; i < o.options.part_count; i++)
        if (topic_of(o.parts[i].table) == NULL) own[options.part_count++] = o.parts[i];
    pt_options_help(&options, columns, out);
    put_shared(out, &o);
    pt_outf(out, "\nMore on each option: pitot help --man %s | man -l -\n", command->name);
}

/* Puts the list of all commands, by group, and of the topics. */
static void put_list(pt_out *out)
{
    pt_out_text(out, "pitot COMMAND [OPTION...] [ARGUMENT...]\n"
                     "pitot FILE                 the same as: pitot top FILE\n");
    for (int g = 0; g < PT_GROUP_COUNT; g++) {
        if (g == PT_GROUP_DCPI || !has_commands_of((pt_command_group)g)) continue;
        pt_outf(out, "\n%s:\n", pt_group_titles[g]);
        put_commands_of(out, (pt_command_group)g);
    }
    pt_out_text(out,
                "\nHelp pages:\n  pitot help COMMAND   a command, with examples and its options\n");
    put_topic_lines(out);
    pt_out_text(out, "\nExit status:\n");
    for (size_t i = 0; i < pt_exit_text_count; i++)
        pt_outf(out, "  %d  %s\n", pt_exit_texts[i].status, pt_exit_texts[i].meaning);
}

/* Puts a line about a command; puts nothing if this build lacks the command. */
static void put_line_if(pt_out *out, const char *command, const char *arguments,
                        const char *summary)
{
    if (pt_command_find(command) == NULL) return;
    char line[80];
    snprintf(line, sizeof line, "pitot %s%s%s", command, arguments[0] ? " " : "", arguments);
    pt_outf(out, "  %-32s %s\n", line, summary);
}

/* Puts the help of `pitot` without arguments: ten lines. */
static void put_brief(pt_out *out)
{
    pt_out_text(out, "pitot shows where a program's CPU time goes.\n\n");
    put_line_if(out, "record", "./program ARGUMENT...", "run it and write pitot.pb.gz");
    put_line_if(out, "why", "[FILE]", "causes, and the lines of your code behind them");
    put_line_if(out, "top", "[FILE]", "functions by their own time");
    put_line_if(out, "tree", "[FILE]", "who called what");
    put_line_if(out, "flame", "[FILE]", "a flame graph to open in a browser");
    put_line_if(out, "info", "[FILE]", "what a profile holds");
    put_line_if(out, "help", "[COMMAND]", "all commands; the options of one");
    pt_out_text(out, "\nThere is no " PT_DEFAULT_PROFILE " here; FILE is any CPU profile.\n");
}

/* ---- The command ---- */

typedef struct {
    bool man;
    const char *completion;
} help_settings;

static const pt_option help_rows[] = {
    PT_ROW("man", FLAG, help_settings, man, .help = "write a man page, for man -l -",
           .details = "The page of COMMAND; without COMMAND the page of the whole program."),
    PT_ROW("completion", STRING, help_settings, completion, .metavar = "SHELL",
           .help = "write a completion script for bash, zsh or fish",
           .details = "For bash: eval \"$(pitot help --completion=bash)\". `make install` installs "
                      "the scripts of all three."),
};
static const pt_option_table help_options = PT_OPTION_TABLE(help_rows);

static int fail_to_find(const char *name)
{
    const pt_command *const near = pt_command_nearest(name);
    if (near != NULL)
        pt_say("there is no command '%s'; did you mean '%s'?", name, near->name);
    else
        pt_say("there is no command '%s'; `pitot help` lists them", name);
    return PT_EXIT_USAGE;
}

static int put_help_on(pt_cmd_context *context, const help_settings *settings, const char *name)
{
    const pt_command *const command = pt_command_find(name);
    if (command == NULL)
        return put_topic_named(context->out, name, column_count(context->look.width))
                   ? PT_EXIT_OK
                   : fail_to_find(name);
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
        return pt_cmd_usage(context, "--completion=%s: use bash, zsh or fish",
                            settings->completion);
    }
    if (context->arg_count > 0) return put_help_on(context, settings, context->args[0]);
    if (settings->man)
        pt_man_main(context->out);
    else if (context->brief)
        put_brief(context->out);
    else
        put_list(context->out);
    return PT_EXIT_OK;
}

const pt_command pt_command_help = {
    PT_COMMAND(help),
    .group = PT_GROUP_HELP,
    .summary = "the commands, or the options of one",
    .arguments = "[COMMAND | TOPIC]",
    .description =
        "Lists the commands, or shows the description and the options of one. A topic is "
        "a page about options that many commands share.",
    .max_args = 1,
};
