/* peek.c: pitot peek, functions between their callers and callees. */
#include "view/peek.h"

#include "cmd/cmd.h"
#include "cmd/query.h"
#include "cmd/shape.h"
#include "cmd/source.h"
#include "render/graph_reports.h"

typedef struct {
    int64_t functions, others;
    pt_fold_rule fold;
    pt_shape shape;
} peek_settings;

static const pt_option peek_rows[] = {
    PT_ROW("functions", INT, peek_settings, functions, .letter = 'n', .initial = "10", .min = 0,
           .max = INT64_MAX, .help = "show this many functions; 0 shows all that match",
           .details =
               "The largest totals come first. The last line shows how many more there are."),
    PT_ROW("others", INT, peek_settings, others, .initial = "10", .min = 0, .max = INT64_MAX,
           .help = "show this many callers, and callees, of each; 0 shows all",
           .details = "The heaviest come first."),
    PT_FOLD_ROWS(peek_settings, "row", "function"),
    PT_SHAPE_JSON_ROW(peek_settings),
    PT_SHAPE_CSV_ROW(peek_settings),
};
static const pt_option_table peek_options = PT_OPTION_TABLE(peek_rows);

static int show_peek(pt_cmd_context *context, const peek_settings *settings,
                     const pt_peek_request *request)
{
    PT_AUTO(pt_peek) peek = {0};
    pt_error error = PT_ERROR_INIT;
    const pt_status status = pt_peek_init(&peek, context->answer, request, &error);
    if (status == PT_ERR_NOTFOUND) return pt_cmd_unmatched(context);
    if (status != PT_OK) return pt_fail(&error);
    switch (settings->shape) {
    case PT_SHAPE_JSON: pt_peek_json(context->out, &context->head, &peek); break;
    case PT_SHAPE_CSV: pt_peek_csv(context->out, &context->head, &peek); break;
    case PT_SHAPE_MARKDOWN: /* has no option here */
    case PT_SHAPE_TEXT: pt_peek_text(context->out, &context->look, &context->head, &peek); break;
    }
    return PT_EXIT_OK;
}

static int peek_run(pt_cmd_context *context, void *own)
{
    const peek_settings *settings = own;
    pt_regex *pattern = pt_cmd_name_pattern(context);
    context->head.shows_calls = pt_summary_from_calls(&context->head.summary);
    const pt_peek_request request = {
        .event = context->event,
        .whole = context->whole,
        .name = context->pattern,
        .pattern = pattern,
        .fold = settings->fold,
        .limit = (size_t)settings->functions,
        .other_limit = (size_t)settings->others,
        .from_calls = context->head.shows_calls,
        .shared = context->peeks,
    };
    const int status = show_peek(context, settings, &request);
    pt_regex_free(pattern);
    return status;
}

const pt_command pt_command_peek = {
    PT_COMMAND(peek),
    .group = PT_GROUP_ANSWER,
    .summary = "functions between their callers and callees",
    .arguments = "PATTERN [PROGRAM] [PROFILE...]",
    .description =
        "Shows a function with its callers above and its callees below. PATTERN is a name as any "
        "report shows it, or a regular expression that matches anywhere in names. total is the "
        "value of the samples with the function on the stack. Beside a caller or callee stands the "
        "part of total that passes through it, and its share of total. A recursive call counts "
        "once a sample; a function is not its own caller.\n\n"
        "In profiles with call arcs instead of stacks (gmon.out, callgrind), callers and callees "
        "come from the arcs, with the number of calls. The values are the costs of the calls "
        "(callgrind), or a dash. Inlined functions are then part of the function around them.",
    .examples = (const char *const[]){"pitot peek malloc", "who allocates",
                                      "pitot peek '^parse$' --others=0 --json app.pb.gz",
                                      "all callers and callees of one function", NULL},
    .needs =
        PT_NEEDS_PROFILE | PT_NEEDS_SYMBOLS | PT_NEEDS_QUERY | PT_TAKES_PATTERN | PT_READS_CALLS,
    .max_args = SIZE_MAX,
};
