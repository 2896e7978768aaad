/* list.c: pitot list, source lines and the time of each. */
#include "cmd/cmd.h"
#include "cmd/query.h"
#include "cmd/shape.h"
#include "cmd/source.h"
#include "render/listing.h"

typedef struct {
    pt_text_settings text;
    bool calls;
    pt_fold_rule fold;
    pt_shape shape;
} list_settings;

static const pt_option list_rows[] = {
    PT_ROW("calls", FLAG, list_settings, calls,
           .help = "below each line, show the functions that it calls",
           .details =
               "Each callee has its total; inlined calls are marked. JSON always has the callees."),
    PT_UNNAMED_ROW(list_settings, "function"),
    PT_SHAPE_JSON_ROW(list_settings),
    PT_SHAPE_CSV_ROW(list_settings),
    PT_TEXT_ROWS(list_settings, "lines"),
};
static const pt_option_table list_options = PT_OPTION_TABLE(list_rows);

static int print_list(pt_cmd_context *context, const void *own, const pt_listing *listing)
{
    const list_settings *settings = own;
    switch (settings->shape) {
    case PT_SHAPE_JSON: pt_listing_json(context->out, &context->head, listing); break;
    case PT_SHAPE_CSV: pt_listing_csv(context->out, &context->head, listing); break;
    case PT_SHAPE_MARKDOWN: /* has no option here */
    case PT_SHAPE_TEXT:
        pt_listing_text(context->out, &context->look, &context->head, listing, settings->calls);
        break;
    }
    return PT_EXIT_OK;
}

static int list_run(pt_cmd_context *context, void *own)
{
    const list_settings *settings = own;
    pt_listing_request request = {
        .with_lines = true,
        .with_calls = settings->calls || settings->shape == PT_SHAPE_JSON,
        .fold = settings->fold,
    };
    return pt_cmd_list(context, &settings->text, NULL, &request, print_list, settings);
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
    PT_COMMAND(list),
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
};
