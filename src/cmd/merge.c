/* merge.c: pitot merge: several profiles become one. */
#include "transform/merge.h"

#include <stddef.h>

#include "base/units.h"
#include "cmd/output.h"

typedef struct {
    pt_output_settings output;
} merge_settings;

static const pt_option merge_rows[] = {
    PT_OUTPUT_ROWS(merge_settings),
};
static const pt_option_table merge_options = PT_OPTION_TABLE(merge_rows);

/* Adds up the equal samples of a single profile, which loading does not merge. */
static pt_status merge_one(pt_cmd_context *context, pt_error *reterr)
{
    pt_merge *merge = pt_merge_new(&context->diag);
    pt_status status = pt_merge_add(merge, context->profile, reterr);
    const pt_profile *merged = NULL;
    if (status == PT_OK)
        status = pt_merge_finish(merge, &merged, reterr);
    else
        pt_merge_free(merge);
    if (status != PT_OK) return status;
    pt_profile_unref(context->profile);
    context->profile = merged;
    return PT_OK;
}

static int merge_run(pt_cmd_context *context, void *own)
{
    const merge_settings *settings = own;
    if (pt_loaded_program(&context->loaded) != NULL)
        return pt_cmd_usage(context, "%s is a program; merge takes profiles",
                            pt_loaded_program(&context->loaded));
    const size_t profiles = context->loaded.input_count;
    pt_error error = PT_ERROR_INIT;
    if (profiles == 1 && merge_one(context, &error) != PT_OK) return pt_fail(&error);
    const uint32_t samples = context->profile->sample->t.count;
    const int status = pt_cmd_write(context, &settings->output, context->profile, "pprof");
    if (status == PT_EXIT_OK && !pt_cmd_writes_stdout(&settings->output))
        pt_outf(context->out, "%s: %s of %s\n", settings->output.output,
                pt_count_noun(samples, "samples").text, pt_count_noun(profiles, "profiles").text);
    return status;
}

const pt_command pt_command_merge = {
    PT_COMMAND(merge),
    .group = PT_GROUP_FILES,
    .summary = "add several profiles up",
    .arguments = "PROFILE... -o FILE",
    .description =
        "Adds up samples with the same stack and labels. An image at different addresses is one "
        "image. The result has the earliest start, the sum of the durations and all comments, and "
        "the events that all profiles have. The order of the profiles decides the order of the "
        "result; the number of threads (-j) changes no byte.",
    .examples = (const char *const[]){"pitot merge *.pb.gz -o all.pb.gz", "one profile of all runs",
                                      "pitot merge a.folded b.folded -o both.folded",
                                      "folded stacks stay folded", NULL},
    .needs = PT_NEEDS_PROFILE | PT_OFFERS_SYMBOLS,
    .max_args = SIZE_MAX,
};
