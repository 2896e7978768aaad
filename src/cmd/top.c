/* top.c: pitot top, the flat table. */
#include "cmd/cmd.h"
#include "cmd/query.h"
#include "cmd/shape.h"
#include "view/intervals.h"
#include "view/own_code.h"
#include "view/table.h"

typedef struct {
    int64_t rows;
    pt_sort sort;
    pt_fold_rule fold;
    bool interval;
    pt_shape shape;
} top_settings;

static const pt_option top_rows[] = {
    PT_ROWS_ROW(top_settings, "20", "The last line shows how many more there are."),
    PT_ROW("sort", CHOICE, top_settings, sort, .letter = 's', .initial = "self",
           .choices = "self total", .help = "the column to sort by",
           .details = "self is the value of the function itself, total adds its callees."),
    PT_ROW("interval", FLAG, top_settings, interval,
           .help = "show how far self and total may be from the truth",
           .details = "+-95% is half of the 95 % interval: of 100 recordings of the same work, 95 "
                      "hold the true value within it. JSON and CSV always have both ends. It is "
                      "the noise of sampling; how much runs differ shows `pitot diff`."),
    PT_FOLD_ROWS(top_settings, "row", "function"),
    PT_SHAPE_JSON_ROW(top_settings),
    PT_SHAPE_CSV_ROW(top_settings),
    PT_SHAPE_MARKDOWN_ROW(top_settings),
};
static const pt_option_table top_options = PT_OPTION_TABLE(top_rows);

static int top_run(pt_cmd_context *context, void *own)
{
    const top_settings *settings = own;
    const pt_top_request request = {
        .event = context->event,
        .whole = context->whole,
        .drawn = context->head.summary.total,
        .sort = settings->sort,
        .fold = settings->fold,
        .limit = (size_t)settings->rows,
        .pool = context->pool,
    };
    PT_AUTO(pt_top) top = {0};
    pt_error error = PT_ERROR_INIT;
    if (pt_top_init(&top, context->answer, &request, &error) != PT_OK) return pt_fail(&error);
    /* A profile with too many names for a second fold has a table without callers. */
    if (request.fold.by == PT_BY_FUNCTION)
        pt_own_callers(&top, context->answer, context->event, &request.fold, NULL);
    bool has_draws = true;
    pt_status status = PT_OK;
    if (settings->interval || settings->shape == PT_SHAPE_JSON || settings->shape == PT_SHAPE_CSV)
        status =
            pt_top_intervals(&top, context->answer, &request, PT_CONFIDENCE, &has_draws, &error);
    if (status != PT_OK) return pt_fail(&error);
    if (settings->interval && !has_draws)
        pt_say("--interval: the profile does not hold the number of samples behind its values, "
               "so noise is unknown");
    switch (settings->shape) {
    case PT_SHAPE_JSON: pt_top_json(context->out, &context->head, &top); break;
    case PT_SHAPE_CSV: pt_top_csv(context->out, &context->head, &top); break;
    case PT_SHAPE_MARKDOWN: pt_top_markdown(context->out, &context->head, &top); break;
    case PT_SHAPE_TEXT: pt_top_text(context->out, &context->look, &context->head, &top); break;
    }
    return PT_EXIT_OK;
}

const pt_command pt_command_top = {
    PT_COMMAND(top),
    .group = PT_GROUP_ANSWER,
    .summary = "functions by their own time",
    .arguments = "[PROGRAM] [PROFILE...]",
    .description =
        "One row for each function. self is the value of the samples in the function itself, total "
        "of the samples with the function anywhere on the stack, a recursive one counted once; "
        "both also as shares of the whole. The line is the one with most self time, else the "
        "function's first. (inlined): everywhere inlined.\n\n"
        "A row of the kernel, a system library, a language's runtime or an installed package also "
        "names the program's own function that calls it most: <- FUNCTION and the line of the "
        "call; a percentage is the part of self below this caller, if it is below 95 %. --mine "
        "counts such rows for their callers. unnamed in the head: the share of samples in "
        "functions whose names are not known.\n\n"
        "Several profiles are added up. Without PROFILE: " PT_DEFAULT_PROFILE ". PROGRAM: see "
        "`pitot help reading`.",
    .examples =
        (const char *const[]){"pitot top", "the profile that pitot record wrote",
                              "pitot top -n 0 --csv a.pb.gz > a.csv",
                              "every row, for a spreadsheet", "pitot top --focus=parse a.pb.gz",
                              "the functions in stacks with a function whose name has parse", NULL},
    .needs = PT_NEEDS_PROFILE | PT_NEEDS_SYMBOLS | PT_NEEDS_QUERY,
    .max_args = SIZE_MAX,
};
