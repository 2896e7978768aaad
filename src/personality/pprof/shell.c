/* shell.c: makes reports of typed lines. The rules are those of google/pprof's
 * internal/driver/interactive.go; `| command` at the end of a line is pitot's addition.
 *
 *     (pprof) focus=parse              an option: stays
 *     (pprof) top10 -cum malloc -gc    command, rows, order, focus, ignore: of this line only
 *     (pprof) tree >tree.txt           to a file
 *     (pprof) peek parse | less        through a program
 */
#include "personality/pprof/shell.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/shell_words.h"
#include "base/text.h"
#include "personality/pprof/as_pprof.h"
#include "terminal/line.h"
#include "terminal/message.h"
#include "terminal/state.h"
#include "terminal/viewer.h"

typedef struct {
    const pt_pprof_session *session;
    pt_pprof_config config;
    PT_VECTOR(char *) values; /* values of options, which the configuration borrows */
} shell;

static const char *keep_text(shell *s, const char *text)
{
    PT_GROW(s->values, s->values.count + 1);
    return s->values.items[s->values.count++] = pt_strdup(text);
}

static void say_text(const char *text)
{
    const size_t length = strlen(text);
    pt_print_error("%s%s", text, length > 0 && text[length - 1] == '\n' ? "" : "\n");
}

/* ---- Assignments ---- */

/* The type of the event with that number or name; NULL, with the reason, if there is none. */
static const char *event_type(const shell *s, const char *value, pt_error *reterr)
{
    uint32_t event;
    if (pt_pprof_event(s->session->profile, value, &event, reterr) != PT_OK) return NULL;
    return pt_text(s->session->profile, s->session->profile->event->row[event].type);
}

static void assign_option(shell *s, const char *name, const char *value)
{
    pt_error error = PT_ERROR_INIT;
    if (strcmp(name, "sample_index") == 0) value = event_type(s, value, &error);
    if (value == NULL || pt_pprof_set(&s->config, name, keep_text(s, value), &error) != PT_OK)
        say_text(error.message);
}

/* Sets an option if the line is NAME=VALUE or the name of a switch. Returns false for other lines.
 */
static bool try_assignment(shell *s, const char *line)
{
    const char *equals = strchr(line, '=');
    PT_FREE char *name =
        pt_shell_trimmed(line, equals != NULL ? (size_t)(equals - line) : strlen(line));
    if (!pt_pprof_is_option(name)) return false;
    if (equals == NULL && !pt_pprof_is_switch(name)) {
        pt_print_error("please specify a value, e.g. %s=<val>\n", name);
        return true;
    }
    const char *value = equals != NULL ? equals + 1 : "";
    size_t length = strlen(value);
    for (const char *comment = value; (comment = strstr(comment, "//:")) != NULL; comment++)
        length = (size_t)(comment - value);
    PT_FREE char *text = pt_shell_trimmed(value, length);
    assign_option(s, name, text);
    return true;
}

/* ---- Commands ---- */

/* A command as it was typed. */
typedef struct {
    const pt_pprof_command *command;
    pt_pprof_config config;
    const char *pattern;
    char *focus, *ignore; /* owned */
    const char *pipe;     /* the text after a |, or NULL */
} request;

static void join_pattern(char **pattern, const char *more)
{
    char *joined = *pattern != NULL && (*pattern)[0] != '\0' && more[0] != '\0'
                       ? pt_strf("%s|%s", *pattern, more)
                       : pt_strf("%s%s", *pattern != NULL ? *pattern : "", more);
    free(*pattern);
    *pattern = joined;
}

static bool read_number(const char *text, int64_t *ret_number)
{
    char *end;
    errno = 0;
    const long number = strtol(text, &end, 10);
    if (end == text || *end != '\0' || errno != 0 || number != (int32_t)number) return false;
    *ret_number = number;
    return true;
}

/* The command of that name. "top10" is top with the first argument 10: *ret_digits is then "10".
 * *ret_name is the name without digits, which the caller frees. */
static const pt_pprof_command *command_named(const char *name, const char **ret_digits,
                                             char **ret_name)
{
    const pt_pprof_command *command = pt_pprof_command_find(name);
    size_t length = strlen(name);
    *ret_digits = NULL;
    *ret_name = pt_strdup(name);
    if (command != NULL) return command;
    while (length > 0 && isdigit((unsigned char)name[length - 1]))
        length--;
    if (length == 0 || name[length] == '\0') return NULL;
    *ret_digits = name + length;
    (*ret_name)[length] = '\0';
    return pt_pprof_command_find(*ret_name);
}

static pt_status read_argument(request *r, const pt_shell_words *w, size_t *at, pt_error *reterr)
{
    const char *word = w->items[*at];
    if (read_number(word, &r->config.nodecount)) return PT_OK;
    if (word[0] == '>') {
        if (word[1] == '\0' && *at + 1 >= w->count)
            return pt_error_set(reterr, PT_ERR_USAGE, "unexpected end of line after >");
        r->config.output = word[1] != '\0' ? word + 1 : w->items[++*at];
    } else if (strcmp(word, "-cum") == 0 || strcmp(word, "--cum") == 0) {
        r->config.cum = true;
        r->config.flat = false;
    } else if (word[0] == '-') {
        join_pattern(&r->ignore, word + 1);
    } else {
        join_pattern(&r->focus, word);
    }
    return PT_OK;
}

static void apply_patterns(request *r)
{
    const bool tags = r->command->format == PT_PPROF_TAGS;
    if (r->focus != NULL && r->focus[0] != '\0')
        *(tags ? &r->config.tagfocus : &r->config.focus) = r->focus;
    if (r->ignore != NULL && r->ignore[0] != '\0')
        *(tags ? &r->config.tagignore : &r->config.ignore) = r->ignore;
    if (r->config.nodecount == -1 && r->command->format == PT_PPROF_TEXT) r->config.nodecount = 10;
}

static pt_status read_request(const shell *s, const pt_shell_words *w, request *r, pt_error *reterr)
{
    const char *digits;
    PT_FREE char *name = NULL;
    r->command = command_named(w->items[0], &digits, &name);
    r->config = s->config;
    if (r->command == NULL && pt_pprof_is_option(name))
        return pt_error_set(reterr, PT_ERR_USAGE, "did you mean: %s=%s", name,
                            digits != NULL ? digits
                            : w->count > 1 ? w->items[1]
                                           : "<val>");
    if (r->command == NULL)
        return pt_error_set(reterr, PT_ERR_USAGE, "unrecognized command: \"%s\"", name);
    size_t at = 1;
    if (r->command->takes_pattern) {
        if (digits == NULL && w->count < 2)
            return pt_error_set(reterr, PT_ERR_USAGE, "command %s requires an argument", name);
        r->pattern = digits != NULL ? digits : w->items[at++];
    } else if (digits != NULL) {
        read_number(digits, &r->config.nodecount);
    }
    for (; at < w->count; at++) {
        const pt_status status = read_argument(r, w, &at, reterr);
        if (status != PT_OK) return status;
    }
    apply_patterns(r);
    return PT_OK;
}

static void run_request(const shell *s, request *r)
{
    PT_AUTO(pt_buf) report = PT_BUF_INIT;
    pt_out out;
    pt_error error = PT_ERROR_INIT;
    pt_out_to_buf(&out, &report);
    r->config.one_line = r->pipe == NULL && pt_pprof_shows(r->command, &r->config);
    pt_status status = pt_pprof_run(s->session, &r->config, r->command, r->pattern, &out, &error);
    pt_out_done(&out, NULL);
    if (status == PT_OK && r->pipe != NULL)
        pt_shell_send(&report, r->pipe);
    else if (status == PT_OK)
        status = pt_pprof_deliver(r->command, &r->config, true, &report, &error);
    if (status != PT_OK) say_text(error.message);
}

/* ---- Help ---- */

static void put_help_line(void *context, const char *name)
{
    (void)context;
    const char *help = pt_pprof_option_help(name);
    pt_print_error("    %-16s %s\n", name, help != NULL ? help : "");
}

static void say_all_help(void)
{
    pt_print_error("  Commands:\n");
    for (size_t i = 0; i < pt_pprof_command_count; i++)
        pt_print_error("    %-16s %s\n", pt_pprof_commands[i].name, pt_pprof_commands[i].help);
    pt_print_error(
        "    o/options        all options and what they are set to\n"
        "    q/quit/exit/^D   leave\n"
        "\n  A command takes rows, -cum, patterns to focus on, -patterns to ignore, >FILE, | "
        "PROGRAM.\n"
        "\n  Options:\n");
    pt_pprof_each_option(put_help_line, NULL);
    pt_print_error("\n    :                no focus, ignore, hide, tagfocus, tagignore any more\n"
                   "\n  \"help NAME\" explains a command or an option\n");
}

static void show_help(const char *name)
{
    const pt_pprof_command *command = pt_pprof_command_find(name);
    const char *option = pt_pprof_option_help(name);
    if (name[0] == '\0') {
        say_all_help();
    } else if (command != NULL) {
        pt_print_error("%s\n  %s%s [ROWS] [FOCUS...] [-IGNORE...] [-cum] [>FILE] [| PROGRAM]\n",
                       command->help, command->name, command->takes_pattern ? " PATTERN" : "");
    } else if (option != NULL) {
        pt_print_error("%s\n", option);
    } else {
        pt_print_error("Unknown command: %s\n", name);
    }
}

/* ---- Lines ---- */

/* Runs one line. Returns true if the shell must end. */
static bool obey_line(shell *s, char *line)
{
    if (try_assignment(s, line)) return false;
    const char *pipe = pt_shell_cut_pipe(line);
    PT_AUTO(pt_shell_words) w = {0};
    pt_shell_split(line, false, &w);
    bool leave = false;
    const char *first = w.count > 0 ? w.items[0] : "";
    if (strcmp(first, "o") == 0 || strcmp(first, "options") == 0) {
        PT_FREE char *text = pt_pprof_options_text(&s->config, s->session->profile);
        say_text(text);
    } else if (strcmp(first, "q") == 0 || strcmp(first, "quit") == 0 ||
               strcmp(first, "exit") == 0) {
        leave = true;
    } else if (strcmp(first, "help") == 0) {
        show_help(w.count > 1 ? w.items[1] : "");
    } else if (w.count > 0) {
        request r = {.pipe = pipe};
        pt_error error = PT_ERROR_INIT;
        if (read_request(s, &w, &r, &error) == PT_OK)
            run_request(s, &r);
        else
            say_text(error.message);
        PT_FREE_ALL(r.focus, r.ignore);
    }
    return leave;
}

static bool obey_text(shell *s, const char *text)
{
    PT_FREE char *line = pt_strdup(text);
    return obey_line(s, line);
}

/* Expands a line: ":" forgets the filters; an event's name, and "total_" or "mean_" before it,
 * choose the event. */
static bool expand_line(shell *s, const char *line)
{
    if (strcmp(line, ":") == 0) {
        static const char *const clear[] = {
            "focus=", "ignore=", "hide=", "tagfocus=", "tagignore="};
        for (size_t i = 0; i < PT_COUNT(clear); i++)
            obey_text(s, clear[i]);
        return true;
    }
    const pt_profile *p = s->session->profile;
    const bool total = pt_begins(line, "total_"), mean = pt_begins(line, "mean_");
    for (uint32_t e = 0; e < p->event->t.count; e++) {
        const char *type = pt_text(p, p->event->row[e].type);
        const bool plain = strcmp(line, type) == 0;
        if (!plain && !(total && strcmp(line + 6, type) == 0) &&
            !(mean && strcmp(line + 5, type) == 0))
            continue;
        if (!plain) obey_text(s, total ? "mean=0" : "mean=1");
        PT_FREE char *choose = pt_strf("sample_index=%s", type);
        obey_text(s, choose);
        return true;
    }
    return false;
}

/* ---- Completion ---- */

typedef struct {
    const char *prefix;
    pt_line_choices *choices;
} completing;

static void offer_choice(void *context, const char *name)
{
    const completing *c = context;
    if (strncasecmp(name, c->prefix, strlen(c->prefix)) == 0) pt_line_choice(c->choices, name);
}

static void complete_first(const char *word, pt_line_choices *choices)
{
    completing c = {.prefix = word, .choices = choices};
    for (size_t i = 0; i < pt_pprof_command_count; i++)
        offer_choice(&c, pt_pprof_commands[i].name);
    pt_pprof_each_option(offer_choice, &c);
}

#define MOST_CHOICES 1000

/* Adds the functions whose names contain the word. */
static void complete_function(const shell *s, const char *word, pt_line_choices *choices)
{
    const pt_profile *p = s->session->profile;
    for (uint32_t f = 0; f < p->function->t.count && choices->count < MOST_CHOICES; f++) {
        PT_FREE char *pattern = pt_shell_pattern(pt_text(p, p->function->name[f]));
        if (strstr(pattern, word) != NULL) pt_line_choice(choices, pattern);
    }
}

static void complete_line(void *context, const char *line, pt_line_choices *ret)
{
    const shell *s = context;
    const char *word = line + strlen(line);
    while (word > line && !isspace((unsigned char)word[-1]))
        word--;
    PT_AUTO(pt_shell_words) w = {0};
    pt_shell_split(line, false, &w);
    const bool first = line + strspn(line, " \t") == word;
    const bool of_help = w.count > 0 && strcmp(w.items[0], "help") == 0;
    if (!first && !of_help && word[0] == '-') word++;
    ret->start = (size_t)(word - line);
    if (first || of_help)
        complete_first(word, ret);
    else if (w.count > 0 && pt_pprof_command_find(w.items[0]) != NULL &&
             strcmp(w.items[0], "tags") != 0)
        complete_function(s, word, ret);
}

/* ---- The loop ---- */

static void greet_user(const shell *s)
{
    pt_error error = PT_ERROR_INIT;
    int64_t total = 0;
    PT_FREE char *labels = pt_pprof_legend(s->session, &s->config, &total, &error);
    if (labels != NULL) say_text(labels);
    if (labels != NULL && total == 0 && s->session->profile->event->t.count > 1)
        say_text("No samples were found with the default sample value type.\n"
                 "Try \"sample_index\" command to analyze different sample values.\n");
    say_text("Entering interactive mode (type \"help\" for commands, \"o\" for options)");
}

int pt_pprof_shell(const pt_pprof_session *session, const pt_pprof_config *config)
{
    shell s = {.session = session, .config = *config};
    s.config.compact_labels = true;
    greet_user(&s);
    PT_FREE char *history = pt_state_path("pprof_history");
    const pt_line_options options = {
        .prompt = "(pprof) ", .history_path = history, .complete = complete_line, .context = &s};
    pt_line *input = pt_line_open(&options);
    bool leave = false;
    for (const char *got; !leave && (got = pt_line_read(input)) != NULL;) {
        PT_FREE char *line = pt_shell_trimmed(got, strlen(got));
        if (!expand_line(&s, line)) leave = obey_line(&s, line);
    }
    pt_line_close(input);
    for (size_t i = 0; i < s.values.count; i++)
        free(s.values.items[i]);
    free(s.values.items);
    return 0;
}
