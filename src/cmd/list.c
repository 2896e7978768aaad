/* list.c: pitot list, source lines and what each took. */
#include "cmd/cmd.h"
#include "cmd/query.h"
#include "cmd/shape.h"
#include "cmd/source.h"
#include "render/listing.h"
#include "view/listing.h"

typedef struct {
    pt_text_settings text;
    bool calls;
    pt_fold_rule fold;
    pt_shape shape;
} list_settings;

static const pt_option list_rows[] = {
    {.name = "calls",
     .type = PT_OPT_FLAG,
     .offset = offsetof(list_settings, calls),
     .help = "below each line, show the functions that it calls",
     .details =
         "Each callee has its total; inlined calls are marked. JSON always has the callees."},
    PT_UNNAMED_ROW(list_settings, "address"),
    PT_SHAPE_JSON_ROW(list_settings),
    PT_SHAPE_CSV_ROW(list_settings),
    PT_TEXT_ROWS(list_settings, "lines"),
};
static const pt_option_table list_options = PT_OPTION_TABLE(list_rows);

static int show_listing(pt_cmd_context *context, const list_settings *settings,
                        const pt_listing_request *request)
{
    pt_listing listing;
    pt_error error = PT_ERROR_INIT;
    const pt_status status = pt_listing_init(&listing, context->answer, request, &error);
    if (status == PT_ERR_NOTFOUND) return pt_cmd_unmatched(context);
    if (status != PT_OK) return pt_cmd_fail(&error);
    switch (settings->shape) {
    case PT_SHAPE_JSON: pt_listing_json(context->out, &context->head, &listing); break;
    case PT_SHAPE_CSV: pt_listing_csv(context->out, &context->head, &listing); break;
    case PT_SHAPE_TEXT:
        pt_listing_text(context->out, &context->look, &context->head, &listing, settings->calls);
        break;
    }
    pt_listing_done(&listing);
    return PT_EXIT_OK;
}

static int list_run(pt_cmd_context *context, void *own)
{
    const list_settings *settings = own;
    pt_regex *pattern = pt_cmd_name_pattern(context);
    PT_LOOKUP pt_lookup lookup;
    pt_lookup_init(&lookup, context->place);
    pt_source_search search = {.options = &lookup.source, .diag = &context->diag};
    pt_source_texts *texts = pt_cmd_texts(context, &search, &settings->text);
    const pt_listing_request request = {
        .event = context->event,
        .whole = context->whole,
        .name = context->pattern,
        .pattern = pattern,
        .texts = texts,
        .context = settings->text.whole ? -1 : settings->text.context,
        .limit = (size_t)settings->text.functions,
        .fold = settings->fold,
        .with_calls = settings->calls || settings->shape == PT_SHAPE_JSON,
    };
    const int status = show_listing(context, settings, &request);
    pt_source_texts_free(texts);
    pt_regex_free(pattern);
    return status;
}

static const char *const list_examples[] = {
    "pitot list parse app.pb.gz",
    "the lines of functions named parse",
    "pitot list '^main$' --calls app.pb.gz",
    "with the callees of each line",
    "pitot list json.c --whole app.pb.gz",
    "every function of a source file, if no function has this name",
    NULL,
};

const pt_command pt_command_list = {
    .name = "list",
    .aliases = (const char *const[]){"annotate", NULL},
    .group = PT_GROUP_ANSWER,
    .summary = "source lines with the time of each",
    .arguments = "PATTERN [PROGRAM] [PROFILE...]",
    .description =
        "Shows the source of functions. PATTERN is a name as any report shows it, or a regular "
        "expression that matches anywhere in names; if no name matches, it is matched against "
        "source files. self is the value of the samples on a line, total adds the callees of the "
        "line. A sample counts once for a line and once for a function. An inlined function counts "
        "for the line that calls it, and is listed by itself, too.\n\n"
        "Debug information names the source files. If a file is missing, its lines are shown by "
        "number.",
    .examples = list_examples,
    .needs = PT_NEEDS_PROFILE | PT_NEEDS_SYMBOLS | PT_NEEDS_QUERY | PT_TAKES_PATTERN,
    .max_args = SIZE_MAX,
    .options = &list_options,
    .settings_bytes = sizeof(list_settings),
    .run = list_run,
};
