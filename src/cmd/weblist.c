/* weblist.c: pitot weblist, a page with source lines and their instructions. */
#include "render/weblist.h"

#include "base/file.h"
#include "base/units.h"
#include "cmd/cmd.h"
#include "cmd/source.h"
#include "view/weblist.h"

/* What is disassembled, at most: a page of more is slow to open. */
#define SYMBOL_LIMIT 100

typedef struct {
    const char *output;
    pt_text_settings text;
    pt_code_settings code;
} weblist_settings;

static const pt_option weblist_rows[] = {
    {.name = "output",
     .letter = 'o',
     .type = PT_OPT_STRING,
     .offset = offsetof(weblist_settings, output),
     .initial = "weblist.html",
     .metavar = "FILE",
     .help = "write to this file; - is standard output",
     .details = "The file appears under its name only when it is complete."},
    PT_TEXT_ROWS(weblist_settings, "lines"),
    PT_CODE_ROWS(weblist_settings),
};
static const pt_option_table weblist_options = PT_OPTION_TABLE(weblist_rows);

static int write_page(pt_cmd_context *context, const char *path, const pt_weblist *list)
{
    pt_error error = PT_ERROR_INIT;
    if (strcmp(path, "-") == 0) {
        pt_weblist_html(context->out, &context->head, list);
        return PT_EXIT_OK;
    }
    pt_file_writer writer;
    if (pt_file_create(path, PT_MODE_USUAL, &writer, &error) != PT_OK) return pt_cmd_fail(&error);
    pt_weblist_html(&writer.out, &context->head, list);
    const uint64_t bytes = writer.out.count;
    if (pt_file_commit(&writer, true, &error) != PT_OK) return pt_cmd_fail(&error);
    pt_buf line = PT_BUF_INIT;
    const size_t count = list->listing.count;
    pt_putf(&line, "%s: %zu function%s, ", path, count, count == 1 ? "" : "s");
    pt_put_value(&line, (int64_t)bytes, "bytes", NULL, PT_STYLE_SHORT);
    pt_put_text(&line, "; open it in a browser: xdg-open ");
    pt_put_quoted(&line, path);
    pt_put_u8(&line, '\n');
    pt_out_put(context->out, line.data, line.size);
    pt_buf_done(&line);
    return PT_EXIT_OK;
}

static int show_weblist(pt_cmd_context *context, const char *path,
                        const pt_weblist_request *request)
{
    pt_weblist list;
    pt_error error = PT_ERROR_INIT;
    const pt_status status = pt_weblist_init(&list, context->answer, request, &error);
    if (status == PT_ERR_NOTFOUND) return pt_cmd_unmatched(context);
    if (status != PT_OK) return pt_cmd_fail(&error);
    const int result = write_page(context, path, &list);
    pt_weblist_done(&list);
    return result;
}

static int weblist_run(pt_cmd_context *context, void *own)
{
    const weblist_settings *settings = own;
    pt_regex *pattern = pt_cmd_name_pattern(context);
    pt_cmd_code code;
    pt_cmd_code_init(&code, context, &settings->code);
    pt_source_texts *texts = pt_cmd_texts(context, &code.search, &settings->text);
    const pt_weblist_request request = {
        .listing =
            {
                .event = context->event,
                .whole = context->whole,
                .name = context->pattern,
                .pattern = pattern,
                .texts = texts,
                .context = settings->text.whole ? -1 : settings->text.context,
                .limit = (size_t)settings->text.functions,
            },
        .code = &code.options,
        .symbol_limit = SYMBOL_LIMIT,
    };
    const int status = show_weblist(context, settings->output, &request);
    pt_source_texts_free(texts);
    pt_cmd_code_done(&code);
    pt_regex_free(pattern);
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
    .name = "weblist",
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
    .options = &weblist_options,
    .settings_bytes = sizeof(weblist_settings),
    .run = weblist_run,
};
