/* dcpiwhatcg.c: pitot dcpiwhatcg, where the cycles of whole images have gone. */
#include "cmd/shape.h"
#include "personality/dcpi/flow_command.h"

typedef struct {
    pt_dcpi_settings dcpi;
    pt_flow_settings flow;
    pt_code_settings code;
    pt_shape shape;
} dcpiwhatcg_settings;

static const pt_option dcpiwhatcg_rows[] = {
    PT_FLOW_ROWS(dcpiwhatcg_settings),      PT_DCPI_IMAGE_ROW(dcpiwhatcg_settings),
    PT_DCPI_EVENT_ROW(dcpiwhatcg_settings), PT_DCPI_SORT_ROW(dcpiwhatcg_settings),
    PT_SHAPE_JSON_ROW(dcpiwhatcg_settings), PT_CODE_ROWS(dcpiwhatcg_settings),
};
static const pt_option_table dcpiwhatcg_options = PT_OPTION_TABLE(dcpiwhatcg_rows);

static void show_report(pt_cmd_context *context, const pt_flow_report *report, const void *own)
{
    const dcpiwhatcg_settings *settings = own;
    if (settings->shape == PT_SHAPE_JSON)
        pt_flow_whole_json(context->out, report);
    else
        pt_flow_whole_text(context->out, &context->look, report);
}

static int dcpiwhatcg_run(pt_cmd_context *context, void *own)
{
    const dcpiwhatcg_settings *s = own;
    return pt_dcpi_flow(context, &s->dcpi, &s->flow, &s->code, 0, show_report, s);
}

const pt_command pt_command_dcpiwhatcg = {
    PT_DCPI_COMMAND(dcpiwhatcg),
    .summary = "where the cycles of whole images have gone",
    .arguments = "[PROGRAM] [PROFILE...]",
    .description =
        "The summary of pitot dcpicalc over all procedures of the images (those that -image names, "
        "or all): the share of the time that execution takes at best, and for each counted event "
        "the range that its stalls may take. What no event was seen near is unexplained.",
    .examples = (const char *const[]){"pitot dcpiwhatcg -image app cycles.dcpi dmiss.dcpi",
                                      "of one image, with an event", NULL},
    .needs = PT_NEEDS_PROFILE | PT_NEEDS_SYMBOLS | PT_NEEDS_ALL_EVENTS,
};
