/* traces.c: pitot traces, whole stacks, and pitot tags, the labels of the samples. */
#include "cmd/cmd.h"
#include "cmd/query.h"
#include "cmd/shape.h"
#include "render/graph_reports.h"
#include "transform/tags.h"

/* ---- traces ---- */

typedef struct {
    int64_t stacks;
    bool labels, lines;
    pt_fold_rule fold;
    pt_shape shape;
} traces_settings;

static const pt_option traces_rows[] = {
    PT_ROW("stacks", INT, traces_settings, stacks, .letter = 'n', .initial = "10", .min = 0,
           .max = INT64_MAX, .help = "show this many stacks; 0 shows all",
           .details = "The last line shows how many more there are, and their sum."),
    PT_ROW("labels", FLAG, traces_settings, labels,
           .help = "separate stacks by their labels, and show the labels",
           .details = "Process, thread and command are labels, too."),
    PT_ROW("lines", FLAG, traces_settings, lines, .help = "the same as --by=line",
           .details = "Separates stacks by lines, and shows the lines."),
    PT_FOLD_ROWS(traces_settings, "frame", "function"),
    PT_SHAPE_JSON_ROW(traces_settings),
    PT_SHAPE_CSV_ROW(traces_settings),
};
static const pt_option_table traces_options = PT_OPTION_TABLE(traces_rows);

static int traces_run(pt_cmd_context *context, void *own)
{
    traces_settings *settings = own;
    if (settings->lines) settings->fold.by = PT_BY_LINE;
    const pt_traces_request request = {
        .event = context->event,
        .whole = context->whole,
        .labels = settings->labels,
        .fold = settings->fold,
        .limit = (size_t)settings->stacks,
    };
    PT_UNREF_PROFILE const pt_profile *profile = settings->labels
                                                     ? pt_columns_to_labels(context->answer, false)
                                                     : pt_profile_ref(context->answer);
    PT_AUTO(pt_traces) traces = {0};
    pt_error error = PT_ERROR_INIT;
    if (pt_traces_init(&traces, profile, &request, &error) != PT_OK) return pt_fail(&error);
    switch (settings->shape) {
    case PT_SHAPE_JSON: pt_traces_json(context->out, &context->head, &traces); break;
    case PT_SHAPE_CSV: pt_traces_csv(context->out, &traces); break;
    case PT_SHAPE_MARKDOWN: /* has no option here */
    case PT_SHAPE_TEXT:
        pt_traces_text(context->out, &context->look, &context->head, &traces);
        break;
    }
    return PT_EXIT_OK;
}

const pt_command pt_command_traces = {
    PT_COMMAND(traces),
    .group = PT_GROUP_ANSWER,
    .summary = "whole stacks, the heaviest first",
    .arguments = "[PROGRAM] [PROFILE...]",
    .description = "Shows whole stacks, innermost function first, with the value of their samples. "
                   "Stacks of the same functions in the same order are one stack.",
    .examples = (const char *const[]){"pitot traces", "the ten heaviest stacks",
                                      "pitot traces --focus=malloc --labels -n 0 app.pb.gz",
                                      "every way to malloc, by thread", NULL},
    .needs = PT_NEEDS_PROFILE | PT_NEEDS_SYMBOLS | PT_NEEDS_QUERY,
    .max_args = SIZE_MAX,
};

/* ---- tags ---- */

typedef struct {
    int64_t values;
    pt_shape shape;
} tags_settings;

static const pt_option tags_rows[] = {
    PT_ROW("values", INT, tags_settings, values, .letter = 'n', .initial = "20", .min = 0,
           .max = INT64_MAX, .help = "show this many values of each label; 0 shows all",
           .details = "A line shows how many more there are."),
    PT_SHAPE_JSON_ROW(tags_settings),
    PT_SHAPE_CSV_ROW(tags_settings),
};
static const pt_option_table tags_options = PT_OPTION_TABLE(tags_rows);

static int tags_run(pt_cmd_context *context, void *own)
{
    const tags_settings *settings = own;
    const pt_labels_request request = {
        .event = context->event, .whole = context->whole, .limit = (size_t)settings->values};
    PT_UNREF_PROFILE const pt_profile *profile = pt_columns_to_labels(context->answer, false);
    PT_AUTO(pt_labels_view) labels = pt_labels_view_of(profile, &request);
    switch (settings->shape) {
    case PT_SHAPE_JSON: pt_labels_json(context->out, &context->head, &labels); break;
    case PT_SHAPE_CSV: pt_labels_csv(context->out, &labels); break;
    case PT_SHAPE_MARKDOWN: /* has no option here */
    case PT_SHAPE_TEXT:
        pt_labels_text(context->out, &context->look, &context->head, &labels);
        break;
    }
    return PT_EXIT_OK;
}

const pt_command pt_command_tags = {
    PT_COMMAND(tags),
    .group = PT_GROUP_ANSWER,
    .summary = "labels of the samples, and what each adds up to",
    .arguments = "[PROGRAM] [PROFILE...]",
    .description =
        "Shows each label, with process, thread and command, and the value of its samples, also as "
        "a share of the whole profile. A sample with several labels counts for each.",
    .examples = (const char *const[]){"pitot tags", "time by process and thread",
                                      "pitot tags --focus=malloc -n 0 app.pb.gz",
                                      "who allocates, every label", NULL},
    .needs = PT_NEEDS_PROFILE | PT_NEEDS_SYMBOLS | PT_NEEDS_QUERY,
    .max_args = SIZE_MAX,
};
