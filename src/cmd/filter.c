/* filter.c: pitot filter: the samples of a query as a profile. */
#include <stddef.h>

#include "base/units.h"
#include "cmd/output.h"
#include "transform/part.h"

typedef struct {
    pt_output_settings output;
} filter_settings;

static const pt_option filter_rows[] = {
    PT_OUTPUT_FILE_ROWS(filter_settings),
};
static const pt_option_table filter_options = PT_OPTION_TABLE(filter_rows);

static int filter_run(pt_cmd_context *context, void *own)
{
    filter_settings *settings = own;
    if (context->query.event != NULL) settings->output.event = context->query.event;
    PT_UNREF_PROFILE const pt_profile *part =
        context->query_text[0] != '\0' ? pt_profile_part(context->answer, context->query_text)
                                       : pt_profile_ref(context->answer);
    const int status = pt_cmd_write(context, &settings->output, part, "pprof");
    const int64_t kept = context->head.kept, all = pt_summary_samples(context->profile);
    if (status == PT_EXIT_OK && !pt_cmd_writes_stdout(&settings->output))
        pt_outf(context->out, "%s: %s of %s\n", settings->output.output, pt_count_of(kept).text,
                pt_count_noun(all, "samples").text);
    return status;
}

const pt_command pt_command_filter = {
    PT_COMMAND(filter),
    .group = PT_GROUP_FILES,
    .summary = "write the samples of a query as a profile",
    .arguments = "[PROGRAM] [PROFILE...] -o FILE",
    .description =
        "Writes the samples and frames that --focus, --ignore, --hide, --time and the other "
        "options of `pitot help samples` keep, with the names of functions. Frames of an "
        "interpreter's own code stay. Without --event the file has the values of all events. "
        "Several profiles are added up.",
    .examples = (const char *const[]){"pitot filter --focus=parse app.pb.gz -o parse.pb.gz",
                                      "only stacks with a function named parse",
                                      "pitot filter --time=2,3 app.pb.gz -o second.speedscope.json",
                                      "the third second of a recording, for speedscope", NULL},
    .needs = PT_NEEDS_PROFILE | PT_NEEDS_SYMBOLS | PT_NEEDS_QUERY | PT_NEEDS_ALL_FRAMES |
             PT_NEEDS_NATIVE_FRAMES,
    .max_args = SIZE_MAX,
};
