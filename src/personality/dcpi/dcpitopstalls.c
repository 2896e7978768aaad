/* dcpitopstalls.c: pitot dcpitopstalls, the instructions that stalled most. */
#include "cmd/shape.h"
#include "personality/dcpi/flow_command.h"

typedef struct {
    pt_dcpi_settings dcpi;
    pt_flow_settings flow;
    pt_code_settings code;
    int64_t rows;
    pt_shape shape;
} dcpitopstalls_settings;

static const pt_option dcpitopstalls_rows[] = {
    PT_ROWS_ROW(dcpitopstalls_settings, "100", "A last line says how many more there are."),
    PT_FLOW_ROWS(dcpitopstalls_settings),
    PT_DCPI_IMAGE_ROW(dcpitopstalls_settings),
    PT_DCPI_EVENT_ROW(dcpitopstalls_settings),
    PT_DCPI_SORT_ROW(dcpitopstalls_settings),
    PT_SHAPE_JSON_ROW(dcpitopstalls_settings),
    PT_SHAPE_CSV_ROW(dcpitopstalls_settings),
    PT_CODE_ROWS(dcpitopstalls_settings),
};
static const pt_option_table dcpitopstalls_options = PT_OPTION_TABLE(dcpitopstalls_rows);

static void show_report(pt_cmd_context *context, const pt_flow_report *report, const void *own)
{
    const dcpitopstalls_settings *settings = own;
    pt_flow_report r = *report;
    r.rows = settings->rows > 0 ? (size_t)settings->rows : SIZE_MAX;
    switch (settings->shape) {
    case PT_SHAPE_JSON: pt_flow_stalls_json(context->out, &r); break;
    case PT_SHAPE_CSV: pt_flow_stalls_csv(context->out, &r); break;
    case PT_SHAPE_MARKDOWN: /* has no option here */
    case PT_SHAPE_TEXT: pt_flow_stalls_text(context->out, &context->look, &r); break;
    }
}

static int dcpitopstalls_run(pt_cmd_context *context, void *own)
{
    const dcpitopstalls_settings *s = own;
    return pt_dcpi_flow(context, &s->dcpi, &s->flow, &s->code, 0, show_report, s);
}

const pt_command pt_command_dcpitopstalls = {
    PT_DCPI_COMMAND(dcpitopstalls),
    .summary = "the instructions that stalled most",
    .arguments = "[PROGRAM] [PROFILE...]",
    .description =
        "One row an instruction: samples beyond what it takes at best, as pitot dcpicalc estimates "
        "it, their share of all samples, its samples, how sure the estimate is (H, M, L), the "
        "cycles it stalled in one execution, the letters of the events seen there (see dcpicalc), "
        "and where it is.",
    .examples =
        (const char *const[]){"pitot dcpitopstalls -n 20 app.pb.gz", "the worst twenty", NULL},
    .needs = PT_NEEDS_PROFILE | PT_NEEDS_SYMBOLS | PT_NEEDS_ALL_EVENTS,
};
