/* shell.c: pitot shell: commands on one profile that stays in memory.
 *
 *     pitot> focus=parse               an option of the query: stays, for every command
 *     pitot> top10 -s total            a command with its own options, as after `pitot`
 *     pitot> top read|write            bare words are --focus, a bare number is -n
 *     pitot> tree >tree.txt            to a file
 *     pitot> list parse | less         through a program
 *     pitot> :                         forgets what was set
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/args.h"
#include "base/file.h"
#include "base/grow.h"
#include "base/shell_words.h"
#include "base/text.h"
#include "cmd/cmd.h"
#include "cmd/help.h"
#include "cmd/options.h"
#include "terminal/line.h"
#include "terminal/message.h"
#include "terminal/pager.h"
#include "terminal/state.h"
#include "terminal/viewer.h"

/* An option of the query that a line NAME=VALUE has set. */
typedef struct {
    const pt_option *row;
    char *value; /* NULL for a flag that is on */
} setting;

typedef struct {
    pt_cmd_context *base;
    PT_VECTOR(setting) set;
    int status; /* of the last command */
} shell;

/* ---- Options that stay ---- */

static const pt_option *query_row(const char *name)
{
    for (size_t i = 0; i < pt_query_options.count; i++)
        if (strcmp(pt_query_options.rows[i].name, name) == 0) return &pt_query_options.rows[i];
    return NULL;
}

static void forget_setting(shell *s, const pt_option *row)
{
    size_t kept = 0;
    for (size_t i = 0; i < s->set.count; i++) {
        if (row == NULL || s->set.items[i].row == row)
            free(s->set.items[i].value);
        else
            s->set.items[kept++] = s->set.items[i];
    }
    s->set.count = kept;
}

static void keep_setting(shell *s, const pt_option *row, const char *value)
{
    forget_setting(s, row);
    PT_PUSH(s->set, (setting){.row = row, .value = value != NULL ? pt_strdup(value) : NULL});
}

static bool is_no(const char *text)
{
    return strcmp(text, "false") == 0 || strcmp(text, "no") == 0 || strcmp(text, "0") == 0;
}

/* An empty value unsets the option. */
static void assign_setting(shell *s, const pt_option *row, const char *value)
{
    pt_query scratch;
    const pt_option_part part = {.table = &pt_query_options, .into = &scratch};
    const pt_options options = {.parts = &part, .part_count = 1};
    pt_error error = PT_ERROR_INIT;
    const bool flag = row->type == PT_OPT_FLAG;
    if (value != NULL && (value[0] == '\0' || (flag && is_no(value))))
        return forget_setting(s, row);
    pt_options_init(&options);
    if (!flag && value == NULL)
        pt_say("%s takes a value: %s=%s", row->name, row->name,
               row->metavar != NULL ? row->metavar : "VALUE");
    else if (pt_options_set(&options, row->name, value, &error) != PT_OK)
        pt_say("%s", error.message);
    else if (flag && !*(const bool *)((const char *)&scratch + row->offset))
        forget_setting(s, row);
    else
        keep_setting(s, row, flag ? NULL : value);
    pt_options_done(&options);
}

/* NAME=VALUE, or the name of a flag. A command of the same name has priority. */
static bool try_assignment(shell *s, const char *line)
{
    const char *equals = strchr(line, '=');
    const size_t length = equals != NULL ? (size_t)(equals - line) : strlen(line);
    PT_FREE char *name = pt_shell_trimmed(line, length);
    const pt_option *row = query_row(name);
    if (row == NULL || (equals == NULL && pt_command_find(name) != NULL)) return false;
    PT_FREE char *value = equals != NULL ? pt_shell_trimmed(equals + 1, strlen(equals + 1)) : NULL;
    assign_setting(s, row, value);
    return true;
}

static void show_settings(const shell *s)
{
    for (size_t i = 0; i < pt_query_options.count; i++) {
        const pt_option *row = &pt_query_options.rows[i];
        const setting *set = NULL;
        if (row->flags & PT_OPT_HIDDEN) continue;
        for (size_t k = 0; k < s->set.count; k++)
            if (s->set.items[k].row == row) set = &s->set.items[k];
        const char *value = set == NULL ? "" : set->value != NULL ? set->value : "true";
        pt_print("  %-14s %-24s %s\n", row->name, value, row->help);
    }
}

/* ---- Commands ---- */

/* Does the command work on one profile? */
static bool works_here(const pt_command *command)
{
    if (command == NULL || !(command->needs & PT_NEEDS_PROFILE)) return false;
    if (command->needs & PT_LOADS_ITSELF) return false;
    return strcmp(command->name, "shell") != 0 && strcmp(command->name, "merge") != 0;
}

/* The command of this name; NULL if there is none. "top10" is top with -n 10: *ret_digits is then
 * "10". */
static const pt_command *command_named(const char *name, const char **ret_digits)
{
    const pt_command *command = pt_command_find(name);
    size_t length = strlen(name);
    *ret_digits = NULL;
    if (command != NULL) return command;
    while (length > 0 && isdigit((unsigned char)name[length - 1]))
        length--;
    PT_FREE char *word = pt_strndup(name, length);
    if (name[length] == '\0' || (command = pt_command_find(word)) == NULL) return NULL;
    *ret_digits = name + length;
    return command;
}

static bool has_letter(const pt_command *command, char letter)
{
    return command->options != NULL &&
           PT_ANY(i, command->options->count, command->options->rows[i].letter == letter);
}

/* The row of the option that waits for its value; NULL if the word is not an option, or contains
 * the value. */
static const pt_option *option_waiting(const pt_command *command, const char *word)
{
    const pt_option_table *tables[] = {command->options, &pt_query_options, &pt_common_options};
    if (word[0] != '-' || word[1] == '\0' || strchr(word, '=') != NULL) return NULL;
    for (size_t t = 0; t < 3; t++)
        for (size_t i = 0; tables[t] != NULL && i < tables[t]->count; i++) {
            const pt_option *row = &tables[t]->rows[i];
            const bool takes = row->type != PT_OPT_FLAG && row->type != PT_OPT_SET;
            const bool named = word[1] == '-'
                                   ? row->name != NULL && strcmp(word + 2, row->name) == 0
                                   : row->letter == word[1] && word[2] == '\0';
            if (named) return takes && row->bare == NULL ? row : NULL;
        }
    return NULL;
}

/* A command line of pitot, made from a typed line. */
typedef struct {
    pt_args words;
    pt_buf focus;
    const char *file; /* after > */
    bool has_pattern;
} line_args;

static void add_settings(const shell *s, const pt_command *command, line_args *a)
{
    if (!(command->needs & PT_NEEDS_QUERY)) return;
    for (size_t i = 0; i < s->set.count; i++) {
        const setting *set = &s->set.items[i];
        if (set->value != NULL)
            pt_args_make(&a->words, pt_strf("--%s=%s", set->row->name, set->value));
        else
            pt_args_make(&a->words, pt_strf("--%s", set->row->name));
    }
}

/* Adds one typed word. Returns false, after a message, if the word is wrong. */
static bool add_word(const pt_command *command, const pt_shell_words *w, size_t *at, line_args *a)
{
    const char *word = w->items[*at];
    if (word[0] == '>') {
        a->file = word[1] != '\0' ? word + 1 : *at + 1 < w->count ? w->items[++*at] : NULL;
        if (a->file == NULL) pt_say("> needs a file name");
        return a->file != NULL;
    }
    if (word[0] == '-') {
        pt_args_add(&a->words, word);
        if (option_waiting(command, word) != NULL && *at + 1 < w->count)
            pt_args_add(&a->words, w->items[++*at]);
    } else if (command->needs & (PT_TAKES_PATTERN | PT_MAY_TAKE_PATTERN) && !a->has_pattern) {
        pt_args_add(&a->words, word);
        a->has_pattern = true;
    } else if (word[0] != '\0' && word[strspn(word, "0123456789")] == '\0' &&
               has_letter(command, 'n')) {
        pt_args_make(&a->words, pt_strf("-n%s", word));
    } else if (command->needs & PT_NEEDS_QUERY) {
        pt_putf(&a->focus, "%s%s", a->focus.size > 0 ? "|" : "", word);
    } else {
        pt_args_add(&a->words, word);
    }
    return true;
}

static void write_file(const pt_buf *report, const char *path)
{
    pt_error error = PT_ERROR_INIT;
    if (pt_file_replace(path, report->data, report->size, &error) != PT_OK) pt_fail(&error);
}

/* Collects a report and writes it to a file or a program; does nothing if the report is empty. */
static void run_elsewhere(shell *s, const pt_command *command, const line_args *a, const char *pipe)
{
    const pt_look look = {.long_names = s->base->look.long_names};
    PT_AUTO(pt_buf) report = PT_BUF_INIT;
    pt_out out;
    pt_out_to_buf(&out, &report);
    s->status = pt_cmd_run_resident(s->base, command, a->words.items, a->words.count, &out, &look);
    pt_out_done(&out, NULL);
    if (report.size > 0 && pipe != NULL)
        pt_shell_send(&report, pipe);
    else if (report.size > 0)
        write_file(&report, a->file);
}

static void run_here(shell *s, const pt_command *command, const line_args *a)
{
    const pt_cmd_context *base = s->base;
    pt_out out;
    pt_pager *const pager = base->common->pager && pt_pager_is_due() ? pt_pager_begin(&out) : NULL;
    if (pager == NULL) pt_out_to_fd(&out, STDOUT_FILENO);
    s->status =
        pt_cmd_run_resident(base, command, a->words.items, a->words.count, &out, &base->look);
    if (pager != NULL) pt_pager_end(pager);
    pt_out_done(&out, NULL);
}

static void run_command(shell *s, const pt_command *command, const char *digits,
                        const pt_shell_words *w, const char *pipe)
{
    line_args a = {.focus = PT_BUF_INIT};
    bool fine = true;
    add_settings(s, command, &a);
    if (digits != NULL) pt_args_make(&a.words, pt_strf("-n%s", digits));
    for (size_t at = 1; at < w->count && fine; at++)
        fine = add_word(command, w, &at, &a);
    if (a.focus.size > 0) pt_args_make(&a.words, pt_strf("--focus=%s", pt_buf_text(&a.focus)));
    if (fine && (pipe != NULL || a.file != NULL))
        run_elsewhere(s, command, &a, pipe);
    else if (fine)
        run_here(s, command, &a);
    pt_args_done(&a.words);
    pt_buf_done(&a.focus);
}

/* ---- Help ---- */

static void show_commands(void)
{
    pt_print("Commands, with the options of the command line:\n");
    for (const pt_command *const *c = pt_commands; *c != NULL; c++)
        if (works_here(*c)) pt_print("  %-10s %s\n", (*c)->name, (*c)->summary);
    pt_print("\n"
             "  NAME=VALUE sets an option for all commands, NAME= unsets it, : unsets all\n"
             "  o          lists these options and their values\n"
             "  help NAME  shows the help of a command\n"
             "  q          ends the shell\n"
             "\n"
             "A number, as in top10, is the number of rows. Bare words are --focus. >FILE "
             "and\n| PROGRAM receive the report.\n");
}

static void show_help(const shell *s, const char *name)
{
    const pt_command *command = name != NULL ? pt_command_find(name) : NULL;
    const pt_option *row = name != NULL ? query_row(name) : NULL;
    if (name == NULL) {
        show_commands();
    } else if (command != NULL) {
        pt_out out;
        pt_out_to_fd(&out, STDOUT_FILENO);
        pt_help_command(&out, command, s->base->look.width);
        pt_out_done(&out, NULL);
    } else if (row != NULL) {
        pt_print("%s: %s\n%s\n", row->name, row->help, row->details != NULL ? row->details : "");
    } else {
        pt_say("there is no command and no option '%s'; `help` lists them", name);
    }
}

/* ---- Lines ---- */

static void say_unknown(const char *word)
{
    const pt_command *command = pt_command_find(word), *near = pt_command_nearest(word);
    if (command != NULL)
        pt_say("%s does not work in the shell; outside: pitot %s", word, command->name);
    else if (near != NULL && works_here(near))
        pt_say("there is no command '%s'; did you mean %s?", word, near->name);
    else
        pt_say("there is no command '%s'; `help` lists them", word);
}

/* Runs the words of a line. Returns true if the shell must end. */
static bool obey_words(shell *s, const pt_shell_words *w, const char *pipe)
{
    const char *first = w->items[0], *digits;
    if (strcmp(first, "q") == 0 || strcmp(first, "quit") == 0 || strcmp(first, "exit") == 0)
        return true;
    if (strcmp(first, "o") == 0 || strcmp(first, "options") == 0) {
        show_settings(s);
    } else if (strcmp(first, "help") == 0 || strcmp(first, "?") == 0) {
        show_help(s, w->count > 1 ? w->items[1] : NULL);
    } else {
        const pt_command *command = command_named(first, &digits);
        if (works_here(command))
            run_command(s, command, digits, w, pipe);
        else
            say_unknown(first);
    }
    return false;
}

static bool obey_line(shell *s, char *line)
{
    if (strcmp(line, ":") == 0) {
        forget_setting(s, NULL);
        return false;
    }
    if (try_assignment(s, line)) return false;
    const char *pipe = pt_shell_cut_pipe(line);
    PT_AUTO(pt_shell_words) w = {0};
    bool leave = false;
    if (!pt_shell_split(line, true, &w))
        pt_say("a quote is not closed");
    else if (w.count > 0)
        leave = obey_words(s, &w, pipe);
    return leave;
}

/* ---- Completion ---- */

static void complete_first(const char *word, pt_line_choices *choices)
{
    const size_t length = strlen(word);
    for (const pt_command *const *c = pt_commands; *c != NULL; c++)
        if (works_here(*c) && strncmp((*c)->name, word, length) == 0)
            pt_line_choice(choices, (*c)->name);
    for (size_t i = 0; i < pt_query_options.count; i++)
        if (strncmp(pt_query_options.rows[i].name, word, length) == 0)
            pt_line_choice(choices, pt_query_options.rows[i].name);
}

static void complete_option(const pt_command *command, const char *word, pt_line_choices *choices)
{
    const pt_option_table *tables[] = {command->options, &pt_query_options};
    for (size_t t = 0; t < 2; t++)
        for (size_t i = 0; tables[t] != NULL && i < tables[t]->count; i++) {
            const pt_option *row = &tables[t]->rows[i];
            if (row->name == NULL || row->flags & PT_OPT_HIDDEN) continue;
            PT_FREE char *spelled = pt_strf("--%s", row->name);
            if (pt_begins(spelled, word)) pt_line_choice(choices, spelled);
        }
}

#define MOST_CHOICES 1000

/* The part of the line that is completed: its last word, or the part after "=" in an option or
 * assignment. */
static const char *last_word(const char *line)
{
    const char *word = line + strlen(line);
    while (word > line && !isspace((unsigned char)word[-1]) && word[-1] != '=')
        word--;
    return word;
}

static void complete_line(void *context, const char *line, pt_line_choices *ret)
{
    const shell *s = context;
    const char *word = last_word(line), *digits;
    const size_t blank = strspn(line, " \t");
    PT_FREE char *first = pt_strndup(line + blank, strcspn(line + blank, " \t="));
    ret->start = (size_t)(word - line);
    if (word == line + blank || strcmp(first, "help") == 0) return complete_first(word, ret);
    const pt_command *command = command_named(first, &digits);
    if (word[0] == '-' && works_here(command)) return complete_option(command, word, ret);
    const pt_profile *p = s->base->profile;
    for (uint32_t f = 0; f < p->function->t.count && ret->count < MOST_CHOICES; f++) {
        PT_FREE char *pattern = pt_shell_pattern(pt_text(p, p->function->name[f]));
        if (strstr(pattern, word) != NULL) pt_line_choice(ret, pattern);
    }
}

/* ---- The loop ---- */

static int shell_run(pt_cmd_context *context, void *own)
{
    (void)own;
    shell s = {.base = context};
    const pt_cmd_context *c = s.base;
    pt_say("%s: %u samples, %u distinct stacks; `help` lists the commands", c->title,
           c->profile->sample->t.count, c->profile->stack->t.count);
    PT_FREE char *history = pt_state_path("history");
    const bool asks = isatty(STDIN_FILENO); /* otherwise the prompt would be part of the output */
    const pt_line_options options = {.prompt = asks ? "pitot> " : "",
                                     .history_path = history,
                                     .complete = complete_line,
                                     .context = &s};
    pt_line *input = pt_line_open(&options);
    bool leave = false;
    for (const char *got; !leave && (got = pt_line_read(input)) != NULL;) {
        PT_FREE char *line = pt_shell_trimmed(got, strlen(got));
        leave = obey_line(&s, line);
    }
    pt_line_close(input);
    forget_setting(&s, NULL);
    free(s.set.items);
    return s.status;
}

const pt_command pt_command_shell = {
    .name = "shell",
    .group = PT_GROUP_ANSWER,
    .summary = "ask one profile many questions",
    .arguments = "[PROGRAM] [PROFILE...]",
    .description =
        "Reads the profile once, then commands from a terminal (with history and completion) or "
        "from a pipe. The commands are pitot's own, with their options. NAME=VALUE sets an option "
        "(focus, ignore, event, ...) for all following commands; `o` lists these options, `:` "
        "unsets all. A bare word is a pattern for --focus, a number is the number of rows. >FILE "
        "and | PROGRAM receive a report.\n\n"
        "The exit status is that of the last command.",
    .examples =
        (const char *const[]){"pitot shell app.pb.gz", "then: top, focus=parse, list parse",
                              "echo 'top10 malloc' | pitot shell app.pb.gz", "from a script", NULL},
    .needs = PT_NEEDS_PROFILE | PT_NEEDS_SYMBOLS | PT_ANSWERS_LINES,
    .max_args = SIZE_MAX,
    .run = shell_run,
};
