/* weblist.c: pitot weblist, a page with source lines and their instructions. */
#include "render/weblist.h"

#include "base/file.h"
#include "cmd/cmd.h"
#include "cmd/output.h"
#include "cmd/source.h"

/* Symbols that are disassembled, at most: a page with more is slow to open. */
#define SYMBOL_LIMIT 100

typedef struct {
    const char *output;
    pt_text_settings text;
    pt_code_settings code;
} weblist_settings;

static const pt_option weblist_rows[] = {
    PT_ROW("output", STRING, weblist_settings, output, .letter = 'o', .initial = "weblist.html",
           .metavar = "FILE", .help = "write to this file; - is standard output",
           .details = "The file appears under its name only when it is complete."),
    PT_TEXT_ROWS(weblist_settings, "lines"),
    PT_CODE_ROWS(weblist_settings),
};
static const pt_option_table weblist_options = PT_OPTION_TABLE(weblist_rows);

static int write_page(pt_cmd_context *context, const void *own, const pt_listing *list)
{
    const char *path = ((const weblist_settings *)own)->output;
    pt_error error = PT_ERROR_INIT;
    if (pt_cmd_is_stdout(path)) {
        pt_weblist_html(context->out, &context->head, list);
        return PT_EXIT_OK;
    }
    pt_file_writer writer;
    if (pt_file_create(path, PT_MODE_USUAL, &writer, &error) != PT_OK) return pt_fail(&error);
    pt_weblist_html(&writer.out, &context->head, list);
    const uint64_t bytes = writer.out.count;
    if (pt_file_commit(&writer, true, &error) != PT_OK) return pt_fail(&error);
    const size_t count = list->count;
    pt_cmd_say_page(context, path, count, count == 1 ? "function" : "functions", bytes);
    return PT_EXIT_OK;
}

static int weblist_run(pt_cmd_context *context, void *own)
{
    const weblist_settings *settings = own;
    pt_listing_request request = {.with_lines = true, .symbol_limit = SYMBOL_LIMIT};
    const pt_profile *const answer = context->answer;
    PT_UNREF_PROFILE const pt_profile *shown =
        pt_cmd_shown(pt_cmd_is_stdout(settings->output), answer);
    context->answer = shown;
    const int status =
        pt_cmd_list(context, &settings->text, &settings->code, &request, write_page, settings);
    context->answer = answer;
    return status;
}

static const char *const weblist_examples[] = {
    "pitot weblist parse app.pb.gz",
    "writes weblist.html; open it in a browser",
    "pitot weblist . -n 30 --intel app.pb.gz -o app.html",
    "the 30 heaviest functions",
    NULL,
};

const pt_command pt_command_weblist = {
    PT_COMMAND(weblist),
    .group = PT_GROUP_ANSWER,
    .summary = "source lines and their instructions as a page for a browser",
    .arguments = "PATTERN [PROGRAM] [PROFILE...]",
    .description =
        "Writes one page that works offline: the source lines of the functions that match, with "
        "the values of `pitot list`. A line opens and shows its instructions, each with its own "
        "values. Inlined functions are indented below the call. The page lists its keys.\n\n"
        "If a source file is missing, its lines are shown by number; if the program is missing, "
        "there are no instructions.",
    .examples = weblist_examples,
    .needs = PT_NEEDS_PROFILE | PT_NEEDS_SYMBOLS | PT_NEEDS_QUERY | PT_TAKES_PATTERN,
    .max_args = SIZE_MAX,
};
