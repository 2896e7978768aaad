/* tree.c: pitot tree, the call tree. */
#include "view/tree.h"
#include "cmd/cmd.h"
#include "cmd/query.h"
#include "cmd/shape.h"

typedef struct {
    double min_share;
    int64_t depth;
    bool inverted;
    pt_fold_rule fold;
    pt_shape shape;
} tree_settings;

static const pt_option tree_rows[] = {
    PT_ROW("min", PERCENT, tree_settings, min_share, .letter = 'm', .initial = "0.5%",
           .help = "fold functions below this share",
           .details =
               "A share of the whole profile, or with --relative of the remaining samples. One "
               "line stands for the folded functions and shows their number. 0 shows all."),
    PT_ROW("depth", INT, tree_settings, depth, .letter = 'n', .min = 0, .max = UINT32_MAX,
           .help = "fold functions below this depth; 0 shows all",
           .details = "The outermost function is at depth 1."),
    PT_ROW("inverted", FLAG, tree_settings, inverted,
           .help = "from the leaf up: functions by their own time, with their callers below",
           .details = "The outermost rows are the functions that run; a row below them is the part "
                      "of their time in which it is the caller. Call arcs cannot be inverted."),
    PT_FOLD_ROWS(tree_settings, "node", "function"),
    PT_SHAPE_JSON_ROW(tree_settings),
    PT_SHAPE_CSV_ROW(tree_settings),
};
static const pt_option_table tree_options = PT_OPTION_TABLE(tree_rows);

static int tree_run(pt_cmd_context *context, void *own)
{
    const tree_settings *settings = own;
    context->head.shows_calls = pt_summary_from_calls(&context->head.summary);
    if (settings->inverted && context->head.shows_calls)
        return pt_cmd_usage(context, "--inverted: %s has call arcs, not stacks", context->title);
    const pt_tree_request request = {
        .event = context->event,
        .whole = context->whole,
        .min_share = settings->min_share,
        .max_depth = (uint32_t)settings->depth,
        .inverted = settings->inverted,
        .fold = settings->fold,
        .from_calls = context->head.shows_calls,
    };
    PT_AUTO(pt_tree) tree = {0};
    pt_error error = PT_ERROR_INIT;
    if (pt_tree_init(&tree, context->answer, &request, &error) != PT_OK) return pt_fail(&error);
    switch (settings->shape) {
    case PT_SHAPE_JSON: pt_tree_json(context->out, &context->head, &tree); break;
    case PT_SHAPE_CSV: pt_tree_csv(context->out, &context->head, &tree); break;
    case PT_SHAPE_MARKDOWN: /* has no option here */
    case PT_SHAPE_TEXT: pt_tree_text(context->out, &context->look, &context->head, &tree); break;
    }
    return PT_EXIT_OK;
}

const pt_command pt_command_tree = {
    PT_COMMAND(tree),
    .group = PT_GROUP_ANSWER,
    .summary = "who called what, from the root down",
    .arguments = "[PROGRAM] [PROFILE...]",
    .description =
        "Merges the stacks of the profile from the root. Each function is a line below its caller, "
        "the heaviest first, with its total and its own share. An arrow marks an only callee, "
        "which stays in the column of its caller. Functions inlined into their caller are marked. "
        "Functions below --min are folded into one line.\n\n"
        "In profiles with call arcs instead of stacks (gmon.out, callgrind), a row is a call from "
        "the function above, with the number of calls and their cost (callgrind only). The calls "
        "of a function are shown once, below its heaviest caller, with its whole self. Below other "
        "callers its row is marked (elsewhere).\n\n"
        "CSV and JSON have the same order; the column depth holds the level.",
    .examples =
        (const char *const[]){"pitot tree --min=5% a.pb.gz", "only heavy functions",
                              "pitot tree --focus=parse -n 6 a.pb.gz",
                              "the paths that lead to parse, down to the sixth function", NULL},
    .needs = PT_NEEDS_PROFILE | PT_NEEDS_SYMBOLS | PT_NEEDS_QUERY | PT_READS_CALLS,
    .max_args = SIZE_MAX,
};
