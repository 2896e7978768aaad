/* run.c: from the command line to the exit status: finds the command, parses its options, loads its
 * profile, runs it, prints messages, and checks that the output was written. */
#include <malloc.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/units.h"
#include "cmd/cmd.h"
#include "cmd/first.h"
#include "cmd/habits.h"
#include "cmd/help.h"
#include "cmd/input.h"
#include "cmd/options.h"
#include "cmd/query.h"
#include "load/fetch.h"
#include "recording/recording.h"
#include "symbolize/symbolize.h"
#include "terminal/pager.h"
#include "terminal/progress.h"

/* ---- Standard output ---- */

static bool wants_colour(pt_when when)
{
    if (when != PT_WHEN_AUTO) return when == PT_WHEN_ALWAYS;
    const char *no_color = getenv("NO_COLOR"); /* any value except the empty text turns colours off:
                                                * no-color.org */
    const char *term = getenv("TERM");
    return (no_color == NULL || no_color[0] == '\0') && isatty(STDOUT_FILENO) &&
           (term == NULL || strcmp(term, "dumb") != 0);
}

static pt_look look_of_output(pt_when when)
{
    struct winsize size = {0};
    const bool terminal = isatty(STDOUT_FILENO) && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0;
    return (pt_look){.colour = wants_colour(when), .width = terminal ? size.ws_col : 0};
}

/* A handler instead of SIG_IGN, because exec resets handlers but keeps SIG_IGN. */
static void write_has_failed(int signal_number)
{
    (void)signal_number;
}

static bool writes_a_report(const pt_command *command)
{
    return (command->needs & PT_NEEDS_PROFILE || command->group == PT_GROUP_HELP) &&
           (command->needs & PT_ANSWERS_LINES) == 0;
}

/* Starts a pager for a report, if one is due. The caller has not put anything to context->out
 * yet. */
static void open_pager(pt_cmd_context *context)
{
    if (!context->common->pager || !pt_pager_is_due()) return;
    if (!context->common->help && !writes_a_report(context->command)) return;
    pt_out_done(context->out, NULL);
    context->pager = pt_pager_begin(context->out);
}

static void end_progress(void *context)
{
    pt_progress_set_idle_text(context, NULL);
}

/* Shows on the terminal that a report is being computed, until its first bytes are written, since
 * these go to the terminal, or to a program that may use the terminal. */
static void begin_progress(pt_cmd_context *context)
{
    if (!writes_a_report(context->command)) return;
    pt_progress_set_idle_text(context->progress, "computing");
    context->out->before_first = end_progress;
    context->out->before_ctx = context->progress;
}

/* Ends standard output and reports its failure; returns the exit status. A closed pipe is not a
 * failure: in `pitot top x | head -1`, head closes the pipe after one line. */
static int finish_output(pt_out *out, int status)
{
    const bool reader_left = out->broken_pipe;
    pt_error error = PT_ERROR_INIT;
    if (pt_out_done(out, &error) == PT_OK || reader_left || out->broken_pipe) return status;
    /* The writer has printed all errors except those of the system. */
    if (status != PT_EXIT_OK && error.status != PT_ERR_SYSTEM) return status;
    pt_say("cannot write to standard output: %s", error.message);
    return PT_EXIT_FAILED;
}

/* ---- Messages ---- */

int pt_cmd_usage(const pt_cmd_context *context, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    pt_vsay(format, args);
    va_end(args);
    if (context->command != NULL && pt_says_to_stderr())
        pt_say("`pitot help %s` shows how it is used", context->command->name);
    return PT_EXIT_USAGE;
}

/* ---- Memory ---- */

int pt_cmd_memory_allowed(uint64_t chosen, uint64_t *ret_bytes, bool *ret_is_chosen)
{
    const char *const text = getenv(PT_MEMORY_VARIABLE);
    pt_error error = PT_ERROR_INIT;
    if (chosen == 0 && text != NULL && text[0] != '\0' &&
        pt_parse_size(text, &chosen, &error) != PT_OK) {
        pt_say(PT_MEMORY_VARIABLE ": %s", error.message);
        return PT_EXIT_USAGE;
    }
    *ret_is_chosen = chosen != 0;
    *ret_bytes = chosen != 0 ? chosen : pt_memory_of_machine("") / PT_MEMORY_SHARE;
    return PT_EXIT_OK;
}

/* Sets the memory limit: --max-memory, PITOT_MAX_MEMORY, or a share of the machine's memory. The
 * limit does not end a recorder, because a lost recording cannot be repeated (recording/perf.c). */
static int limit_memory(uint64_t chosen, const char *hint)
{
    uint64_t bytes;
    bool is_chosen;
    const int status = pt_cmd_memory_allowed(chosen, &bytes, &is_chosen);
    if (status == PT_EXIT_OK) pt_memory_limit_set(bytes, is_chosen, hint);
    return status;
}

/* ---- One command ---- */

/* Addresses without names are reported for each file, unless there are many files, as in a
 * recording of the whole machine. */
enum { NAMELESS_FEW = 3, NAMELESS_BYTES = sizeof PT_SYMBOLIZE_NAMELESS - 1 };

static bool is_nameless(const pt_diag_fact *fact)
{
    return strncmp(fact->text, PT_SYMBOLIZE_NAMELESS, NAMELESS_BYTES) == 0;
}

/* Prints one line about all files with nameless addresses. */
static void say_nameless(const pt_cmd_context *context)
{
    const pt_diag *const diag = &context->diag;
    uint64_t sum = 0;
    size_t reasons = 0;
    const pt_diag_fact *most = NULL;
    for (size_t i = 0; i < diag->count; i++) {
        const pt_diag_fact *const fact = &diag->facts[i];
        if (!is_nameless(fact)) continue;
        if (most == NULL || fact->count > most->count) most = fact;
        sum += fact->count;
        reasons++;
    }
    const bool is_one = context->title != NULL && context->title_memory == NULL;
    const bool is_usual = !is_one || strcmp(context->title, PT_DEFAULT_PROFILE) == 0;
    PT_FREE char *name = is_usual ? pt_strdup("") : pt_record_command_text(&context->title, 1);
    pt_say("%s without a name; %s of them: %s; `pitot dump -n 1%s%s` lists %zu more reasons",
           pt_count_noun(sum, "addresses").text, pt_count_of(most->count).text,
           most->text + NAMELESS_BYTES, is_usual ? "" : " ", name, reasons - 1);
}

static void say_facts(const pt_cmd_context *context, bool lists_all)
{
    const pt_diag *const diag = &context->diag;
    size_t reasons = 0;
    for (size_t i = 0; i < diag->count; i++)
        reasons += is_nameless(&diag->facts[i]);
    const bool is_short = reasons > NAMELESS_FEW && !lists_all;
    bool is_said = false;
    for (size_t i = 0; i < diag->count; i++) {
        const pt_diag_fact *const fact = &diag->facts[i];
        if (!is_short || !is_nameless(fact)) {
            PT_AUTO(pt_buf) text = PT_BUF_INIT;
            pt_put_count_noun(&text, fact->count, fact->text);
            pt_say("%s", pt_buf_text(&text));
        } else if (!is_said) {
            say_nameless(context);
            is_said = true;
        }
    }
}

static int check_arguments(const pt_cmd_context *context)
{
    const pt_command *command = context->command;
    if (context->arg_count <= command->max_args) return PT_EXIT_OK;
    if (command->max_args == 0)
        return pt_cmd_usage(context, "%s takes no argument: '%s'", command->name, context->args[0]);
    return pt_cmd_usage(context, "%s takes at most %s: '%s' is too many", command->name,
                        pt_count_noun(command->max_args, "arguments").text,
                        context->args[command->max_args]);
}

/* Moves the first argument to context->pattern. */
static int take_pattern(pt_cmd_context *context)
{
    const char *name = context->command->name;
    if (context->arg_count == 0)
        return pt_cmd_usage(context, "%s: name a function: pitot %s PATTERN [PROFILE...]", name,
                            name);
    if (context->arg_count == 1 && !context->resident &&
        pt_path_look(context->args[0]) != PT_PATH_MISSING &&
        pt_path_look(context->args[0]) != PT_PATH_FOLDER)
        return pt_cmd_usage(context, "%s: name a function of %s: pitot %s PATTERN %s", name,
                            context->args[0], name, context->args[0]);
    context->pattern = context->args[0];
    context->args++;
    context->arg_count--;
    return PT_EXIT_OK;
}

/* Is the argument a profile: a file, a server, or standard input? */
static bool names_a_profile(const char *argument)
{
    return strcmp(argument, "-") == 0 || strcmp(argument, PT_RECORDING_NAME) == 0 ||
           strchr(argument, '/') != NULL || pt_fetch_is_remote(PT_FETCH_OWN, argument) ||
           pt_path_look(argument) != PT_PATH_MISSING;
}

/* Takes the first argument as the pattern if it is not a profile and may be the name of a
 * function. */
static void take_possible_pattern(pt_cmd_context *context)
{
    if (context->arg_count == 0) return;
    const char *const first = context->args[0];
    if (!context->resident && names_a_profile(first)) return;
    context->pattern = first;
    context->args++;
    context->arg_count--;
}

static int prepare_and_run(pt_cmd_context *context, void *settings)
{
    const pt_command *command = context->command;
    if (context->common->help) {
        pt_help_command(context->out, command, context->look.width);
        return PT_EXIT_OK;
    }
    int status = check_arguments(context);
    if (status == PT_EXIT_OK && command->needs & PT_TAKES_PATTERN) status = take_pattern(context);
    if (status == PT_EXIT_OK && command->needs & PT_MAY_TAKE_PATTERN)
        take_possible_pattern(context);
    const unsigned needs = command->needs & PT_LOADS_ITSELF ? 0 : command->needs;
    if (status == PT_EXIT_OK && context->resident && context->arg_count > 0)
        return pt_cmd_usage(context,
                            "%s: '%s' is one argument too many; the commands here report on %s",
                            command->name, context->args[0], context->title);
    if (status == PT_EXIT_OK && needs & PT_NEEDS_PROFILE && !context->resident)
        status = pt_cmd_load(context);
    if (status == PT_EXIT_OK && needs & PT_NEEDS_QUERY) status = pt_cmd_ask(context);
    if (status == PT_EXIT_OK) status = command->run(context, settings);
    say_facts(context, (command->needs & PT_TELLS_ALL) != 0);
    if (status == PT_EXIT_OK && context->loaded.damaged_count + context->loaded.failed_count > 0)
        status = PT_EXIT_DAMAGED;
    return status;
}

static const char *answer_habit(const void *command, const char *spelling, const char *value)
{
    return pt_habit_option(((const pt_command *)command)->name, spelling, value);
}

static int parse_and_run(pt_cmd_context *context, const char *const *args, size_t count)
{
    const pt_command *command = context->command;
    PT_FREE void *settings = pt_alloc(1, command->settings_bytes);
    pt_command_options o;
    pt_option_list operands = {0};
    pt_error error = PT_ERROR_INIT;
    pt_command_options_init(&o, command, settings, context);
    pt_options_init(&o.options);
    int status;
    const bool is_limited = !context->resident && command->group != PT_GROUP_COLLECT;
    o.options.answer = answer_habit;
    o.options.answer_arg = command;
    if (pt_options_parse(&o.options, args, count, &operands, &error) != PT_OK &&
        error.status == PT_ERR_UNSUPPORTED) {
        pt_say("%s: %s", command->name, error.message);
        status = PT_EXIT_USAGE;
    } else if (error.status != PT_OK) {
        status = pt_cmd_usage(context, "%s: %s", command->name, error.message);
    } else if (is_limited && (status = limit_memory(context->input->max_memory,
                                                    "; --max-memory=SIZE allows more")) != 0) {
        /* parsing has printed the error */
    } else {
        context->args = operands.items;
        context->arg_count = operands.count;
        const pt_when color = context->common->color;
        if (!context->resident) context->look = look_of_output(color);
        if (color != PT_WHEN_AUTO) context->look.colour = color == PT_WHEN_ALWAYS;
        context->look.long_names = context->symbol->long_names;
        if (!context->resident) open_pager(context);
        if (!context->resident) begin_progress(context);
        status = prepare_and_run(context, settings);
    }
    free(operands.items);
    pt_options_done(&o.options);
    return status;
}

static int run_command(const pt_first *first, const char *const *args, size_t count)
{
    pt_out out;
    pt_common_settings common = {0};
    pt_input_settings input = {0};
    pt_symbol_settings symbol = {0};
    pt_place_settings place = {0};
    pt_base_settings base = {0};
    pt_cmd_context context = {
        .command = first->command,
        .out = &out,
        .common = &common,
        .input = &input,
        .symbol = &symbol,
        .place = &place,
        .base = &base,
        .brief = first->brief,
    };
    pt_out_to_fd(&out, STDOUT_FILENO);
    if (first->command->needs & PT_NEEDS_PROFILE) context.progress = pt_progress_line_new();
    int status = parse_and_run(&context, args, count);
    if (context.pager != NULL) pt_pager_end(context.pager);
    status = finish_output(&out, status);
    pt_progress_free(context.progress);
    pt_filtered_done(&context.filtered);
    pt_profile_unref(context.profile);
    pt_profile_unref(context.as_read);
    pt_profile_unref(context.side[0]);
    pt_profile_unref(context.side[1]);
    pt_loaded_done(&context.loaded);
    pt_diag_done(&context.diag);
    pt_pool_free(context.pool);
    PT_FREE_ALL(context.query_text, context.title_memory);
    return status;
}

int pt_cmd_run_resident(const pt_cmd_context *base, const pt_command *command,
                        const char *const *args, size_t count, pt_out *out, const pt_look *look)
{
    pt_common_settings common = {0};
    pt_cmd_context context = {
        .command = command,
        .out = out,
        .common = &common,
        .input = base->input,
        .symbol = base->symbol,
        .place = base->place,
        .resident = true,
        .look = *look,
        .pool = base->pool,
        .loaded = base->loaded,
        .profile = pt_profile_ref(base->profile),
        .as_read = base->as_read,
        .base = base->base,
        .confined = base->confined,
        .peeks = base->peeks,
        .title = base->title,
    };
    for (int side = 0; side < 2; side++)
        if (base->side[side] != NULL) context.side[side] = pt_profile_ref(base->side[side]);
    const int status = parse_and_run(&context, args, count);
    pt_filtered_done(&context.filtered);
    pt_profile_unref(context.profile);
    pt_profile_unref(context.side[0]);
    pt_profile_unref(context.side[1]);
    pt_diag_done(&context.diag);
    free(context.query_text);
    return status;
}

int pt_cmd_main(int argc, char **argv)
{
    /* A pipe without readers (SIGPIPE) and a limit of file sizes (SIGXFSZ) become errors of
     * write(2). */
    const struct sigaction action = {.sa_handler = write_has_failed, .sa_flags = SA_RESTART};
    sigaction(SIGPIPE, &action, NULL);
    sigaction(SIGXFSZ, &action, NULL);
    /* malloc keeps freed blocks of up to 4 MB for the next input: memory from the system costs a
     * page fault a page. Larger blocks are mappings, which grow without a copy. */
    mallopt(M_MMAP_THRESHOLD, 4 << 20);
    mallopt(M_TRIM_THRESHOLD, 64 << 20);
    mallopt(M_TOP_PAD, 1 << 20);
    pt_file_guard();
    const pt_first first = pt_first_word(argc, argv);
    if (first.command == NULL) return first.status;
    const size_t skip = (size_t)first.skip < (size_t)argc ? (size_t)first.skip : (size_t)argc;
    if (first.command->personality != NULL &&
        limit_memory(0, "; " PT_MEMORY_VARIABLE "=SIZE in the environment allows more") != 0)
        return PT_EXIT_USAGE;
    if (first.command->personality != NULL)
        return first.command->personality((const char *const *)argv + skip, (size_t)argc - skip);
    return run_command(&first, (const char *const *)argv + skip, (size_t)argc - skip);
}
