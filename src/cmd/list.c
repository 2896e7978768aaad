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
     .help = "under each line, the functions that it called",
     .details = "With what the samples in them, and in what they called, add up to; inlined calls "
                "are marked. JSON always has them."},
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
    "and what each line called",
    "pitot list json.c --whole app.pb.gz",
    "every function of a source file, if no function is named so",
    NULL,
};

const pt_command pt_command_list = {
    .name = "list",
    .aliases = (const char *const[]){"annotate", NULL},
    .group = PT_GROUP_ANSWER,
    .summary = "source lines with the time of each",
    .arguments = "PATTERN [PROGRAM] [PROFILE...]",
    .description =
        "Shows the source of the function of this name, as any report shows it, or else of those "
        "whose name matches the pattern (a regular expression that may match anywhere in it), or, "
        "when there is none, of those in source files that match. self is the value of the samples "
        "that were taken on a line, total that of the samples that were on it or in what it "
        "called. A sample counts once for a line and once for a function. What was inlined into a "
        "line counts for it, and is listed in its own function, too.\n\n"
        "Source files are those that the debug information names. Where one is missing, its lines "
        "are shown by number.",
    .examples = list_examples,
    .needs = PT_NEEDS_PROFILE | PT_NEEDS_SYMBOLS | PT_NEEDS_QUERY | PT_TAKES_PATTERN,
    .max_args = SIZE_MAX,
    .options = &list_options,
    .settings_bytes = sizeof(list_settings),
    .run = list_run,
};
