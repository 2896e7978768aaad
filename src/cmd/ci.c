/* ci.c: pitot ci, compares profiles with a base; writes a comment for a change (pull request), and
 * a status for the check of the change.
 */
#include "cmd/diff.h"
#include "cmd/input.h"

static const pt_option ci_rows[] = {
    PT_ROW("base", LIST, pt_diff_settings, before, .metavar = "PROFILE",
           .help = "a profile of the base; may be given several times",
           .details = "With several runs a side, the difference between runs counts as noise, too. "
                      "One run a side cannot show it."),
    PT_ROW("limit", PERCENT, pt_diff_settings, fail_above, .metavar = "PERCENT", .initial = "5%",
           .help = "exit with status 5 if a function, or the whole, grew by more than this share",
           .details =
               "A share of the whole base. It applies to the self and total of each function, and "
               "to the whole; with --normalize to functions alone. Noise exceeds it at most once "
               "in a thousand comparisons, over all functions together."),
    PT_ROW("normalize", FLAG, pt_diff_settings, normalize, .flags = PT_OPT_NEGATABLE,
           .help = "compare shares: scale the change to the total of the base",
           .details = "For runs that do not have the same amount of work."),
    PT_ROW("rows", INT, pt_diff_settings, rows, .letter = 'n', .initial = "10", .min = 0,
           .max = INT64_MAX, .help = "show at most this many functions; 0 shows all",
           .details = "Only functions that changed by more than noise are shown."),
};
static const pt_option_table ci_options = PT_OPTION_TABLE(ci_rows);

static int ci_run(pt_cmd_context *context, void *own)
{
    pt_diff_settings *settings = own;
    if (settings->before.count == 0)
        return pt_cmd_usage(context, "ci: name the profile to compare with: --base=PROFILE");
    settings->confidence = PT_CONFIDENCE;
    settings->shape = PT_SHAPE_MARKDOWN;
    settings->has_verdict = true;
    const bool has_program =
        context->arg_count > 0 && pt_path_look(context->args[0]) == PT_PATH_IMAGE;
    if (context->arg_count > has_program) return pt_cmd_diff(context, settings);
    if (pt_path_look(PT_DEFAULT_PROFILE) == PT_PATH_MISSING)
        return pt_cmd_usage(context, "ci: name a profile; there is no " PT_DEFAULT_PROFILE " here");
    const char *const usual[] = {PT_DEFAULT_PROFILE, has_program ? context->args[0] : NULL};
    pt_cmd_context run = *context;
    run.args = usual;
    run.arg_count = has_program ? 2 : 1;
    const int status = pt_cmd_diff(&run, settings);
    run.args = context->args;
    run.arg_count = context->arg_count;
    *context = run;
    return status;
}

const pt_command pt_command_ci = {
    .name = "ci",
    .group = PT_GROUP_ANSWER,
    .summary = "compare with a base: a comment in Markdown, and a status",
    .arguments = "[PROGRAM] --base=BASE [PROFILE...]",
    .description =
        "Without PROFILE: " PT_DEFAULT_PROFILE ". The text is Markdown for a comment on a change, "
        "or for the summary of a job: a title with the verdict, the figures with their noise, and "
        "the functions that changed by more than noise. The statistics are those of `pitot diff`. "
        "Exit status 0: nothing grew beyond the limit; 5: something did.",
    .examples = (const char *const[]){"pitot ci --base=main.pb.gz change.pb.gz >>comment.md",
                                      "a comment, and a status",
                                      "pitot ci --base=m1.pb.gz --base=m2.pb.gz c1.pb.gz c2.pb.gz",
                                      "two runs a side: noise of the machine counts, too", NULL},
    .needs = PT_NEEDS_PROFILE | PT_NEEDS_SYMBOLS | PT_NEEDS_QUERY | PT_LOADS_ITSELF,
    .max_args = SIZE_MAX,
    .options = &ci_options,
    .settings_bytes = sizeof(pt_diff_settings),
    .run = ci_run,
};
