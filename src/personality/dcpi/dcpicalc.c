/* dcpicalc.c: pitot dcpicalc, how often the blocks of procedures ran and where they stalled. */
#include "cmd/shape.h"
#include "personality/dcpi/flow_command.h"

typedef struct {
    pt_dcpi_settings dcpi;
    pt_flow_settings flow;
    pt_code_settings code;
    int64_t procedures;
    pt_shape shape;
} dcpicalc_settings;

static const pt_option dcpicalc_rows[] = {
    PT_FLOW_ROWS(dcpicalc_settings),
    PT_ROW("procedures", INT, dcpicalc_settings, procedures, .letter = 'n', .initial = "10",
           .min = 0, .max = INT64_MAX,
           .help = "show this many procedures, the heaviest first; 0 shows all",
           .details = "Of those that match the pattern."),
    PT_DCPI_IMAGE_ROW(dcpicalc_settings),
    PT_DCPI_EVENT_ROW(dcpicalc_settings),
    PT_DCPI_SORT_ROW(dcpicalc_settings),
    PT_SHAPE_JSON_ROW(dcpicalc_settings),
    PT_CODE_ROWS(dcpicalc_settings),
};
static const pt_option_table dcpicalc_options = PT_OPTION_TABLE(dcpicalc_rows);

static void show_report(pt_cmd_context *context, const pt_flow_report *report, const void *own)
{
    const dcpicalc_settings *settings = own;
    if (settings->shape == PT_SHAPE_JSON)
        pt_flow_calc_json(context->out, report);
    else
        pt_flow_calc_text(context->out, &context->look, report);
}

static int dcpicalc_run(pt_cmd_context *context, void *own)
{
    const dcpicalc_settings *s = own;
    return pt_dcpi_flow(context, &s->dcpi, &s->flow, &s->code, (size_t)s->procedures, show_report,
                        s);
}

const pt_command pt_command_dcpicalc = {
    PT_DCPI_COMMAND(dcpicalc),
    .summary = "how often the blocks of a procedure ran, and where it stalled",
    .arguments = "PROCEDURE [PROGRAM] [PROFILE...]",
    .description =
        "Divides the procedures that match into basic blocks, finds blocks that must run "
        "equally often, and estimates from the samples of the sort event (of time or cycles) how "
        "often that is: the block of a class with the fewest samples for its length is taken not "
        "to have stalled. Each instruction has its cycles for one execution; beyond those that it "
        "takes at best it stalled. Letters tell which counted events were seen there: i, I "
        "instruction cache and its translation, d, D data cache and its translation, p "
        "mispredicted branch; ? none.\n\n"
        "The estimate is an upper bound, and its letter (H, M, L) says how many samples are behind "
        "it, not more. Samples of most machines lie an instruction or more behind their cause. "
        "Why an instruction stalled cannot be told from time alone. x86 and AArch64 only.",
    .examples = (const char *const[]){"pitot dcpicalc '^fib$' app.pb.gz -mhz 3000",
                                      "blocks of fib with executions",
                                      "pitot dcpicalc parse cycles.dcpi dmiss.dcpi",
                                      "with what the data cache may have to do with it", NULL},
    .needs = PT_NEEDS_PROFILE | PT_NEEDS_SYMBOLS | PT_NEEDS_ALL_EVENTS | PT_TAKES_PATTERN,
};
