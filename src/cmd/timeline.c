/* timeline.c: pitot timeline, an event over time. */
#include "view/timeline.h"

#include <stddef.h>

#include "cmd/cmd.h"
#include "cmd/shape.h"
#include "render/timeline.h"

typedef struct {
    int64_t steps, tracks, marks;
    pt_shape shape;
} timeline_settings;

static const pt_option timeline_rows[] = {
    PT_ROW("steps", INT, timeline_settings, steps, .initial = "0", .min = 0, .max = 10000,
           .help = "divide the time into this many steps; 0: 60, or as many as fit the terminal",
           .details = "All steps are of the same length. The first begins with the first sample."),
    PT_ROW("tracks", INT, timeline_settings, tracks, .letter = 'n', .initial = "10", .min = 1,
           .max = 100000, .help = "show this many processes, threads and cpus, the heaviest first",
           .details = "The last line shows how many more there are. Steps times processes, threads "
                      "and cpus are at most 4,000,000: with 10,000 steps 133 of each are shown."),
    PT_ROW("marks", INT, timeline_settings, marks, .initial = "0", .min = 0, .max = 1000000,
           .help = "list this many marks by themselves, the longest first",
           .details = "They are listed in the order of time. Marks are markers of Firefox, events "
                      "of Chrome's traces, and samples of tracepoints and probes beside samples of "
                      "another event."),
    PT_SHAPE_JSON_ROW(timeline_settings),
};
static const pt_option_table timeline_options = PT_OPTION_TABLE(timeline_rows);

/* Makes the marks and counters. Filters by label (threads, processes) apply to them. Filters by
 * frame and by time do not: a mark may explain samples at the same time, and a counter's value
 * comes from earlier changes. */
static int marks_of(pt_cmd_context *context, const pt_timeline *timeline,
                    const timeline_settings *settings, pt_filtered *ret_kept, pt_marks_view *ret)
{
    const pt_query query = {.tag_focus = context->query.tag_focus,
                            .tag_ignore = context->query.tag_ignore};
    const pt_marks_request request = {.event = context->event,
                                      .rows = (uint32_t)settings->tracks,
                                      .listed = (uint32_t)settings->marks};
    pt_error error = PT_ERROR_INIT;
    if (!pt_marks_any(context->profile, context->event)) return PT_EXIT_OK;
    if (pt_filter(context->profile, &query, ret_kept, &context->diag, &error) != PT_OK)
        return pt_fail(&error);
    *ret = pt_marks_view_of(ret_kept->profile, timeline, &request);
    return PT_EXIT_OK;
}

static int timeline_run(pt_cmd_context *context, void *own)
{
    const timeline_settings *settings = own;
    const pt_look endless = {.width = 0};
    const pt_look *const look = settings->shape == PT_SHAPE_JSON ? &endless : &context->look;
    const pt_timeline_request request = {
        .event = context->event,
        .steps = settings->steps > 0 ? (uint32_t)settings->steps : pt_timeline_fitting_steps(look),
        .tracks = (uint32_t)settings->tracks,
        .whole = context->profile,
    };
    pt_timeline timeline = pt_timeline_of(context->answer, &request);
    if (!timeline.has_times) {
        pt_say("%s has no times; pitot record --timeline keeps them", context->title);
        return PT_EXIT_NO_MATCH;
    }
    PT_AUTO(pt_filtered) kept = {0};
    PT_AUTO(pt_marks_view) marks = {0};
    const int status = marks_of(context, &timeline, settings, &kept, &marks);
    if (status == PT_EXIT_OK && settings->shape == PT_SHAPE_JSON) {
        pt_timeline_json(context->out, &context->head, &timeline, kept.profile, &marks);
    } else if (status == PT_EXIT_OK) {
        pt_timeline_text(context->out, &context->look, &context->head, &timeline);
        pt_marks_text(context->out, &context->look, &timeline, &marks);
    }
    pt_timeline_done(&timeline);
    return status;
}

const pt_command pt_command_timeline = {
    PT_COMMAND(timeline),
    .group = PT_GROUP_ANSWER,
    .summary = "when the time was spent: by process, thread and cpu",
    .arguments = "[PROGRAM] [PROFILE...]",
    .description =
        "One line for the whole, for each process, each thread and each cpu, with a bar for each "
        "step of the time; then the marks by name and thread, and the counters. Only profiles "
        "whose samples have times can be shown: pitot record "
        "--timeline, perf.data, Firefox, .cpuprofile, OTLP.\n\n"
        "--time=0.5,1 shows a range in any report; JSON has also the sums of each 20 ms of each "
        "second.",
    .examples = (const char *const[]){"pitot timeline app.pb.gz", "when it ran, and where",
                                      "pitot top --time=2.1,2.2 app.pb.gz",
                                      "what ran from 2.1 s to 2.2 s after the first sample", NULL},
    .needs = PT_NEEDS_PROFILE | PT_NEEDS_SYMBOLS | PT_NEEDS_QUERY,
    .max_args = SIZE_MAX,
};
