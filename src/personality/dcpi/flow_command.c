/* flow_command.c: counts the events, finds the procedures, estimates their flow and calls the
 * command's report. */
#include "personality/dcpi/flow_command.h"

#include <string.h>

/* Cycles between two samples of the event: the event's period; if the period is a time, the period
 * times mhz; 0 = unknown. */
static double count_cycles_per_sample(const pt_counts_event *event, double mhz)
{
    if (event->period <= 0) return 0;
    if (strcmp(event->period_unit, "nanoseconds") == 0)
        return mhz > 0 ? (double)event->period * mhz / 1000 : 0;
    return strstr(event->name, "cycles") != NULL ? (double)event->period : 0;
}

static void with_flows(pt_cmd_context *context, const pt_procedures *procedures, uint32_t column,
                       const pt_flow_settings *flow, pt_flow_show *show, const void *settings)
{
    PT_FREE pt_flow *flows = pt_alloc(procedures->count + 1, sizeof *flows);
    PT_FREE const pt_flow **known = pt_alloc(procedures->count + 1, sizeof *known);
    for (size_t i = 0; i < procedures->count; i++)
        if (pt_flow_init(&flows[i], procedures, &procedures->items[i], column, flow->width))
            known[i] = &flows[i];
    const pt_flow_report report = {
        .title = context->title,
        .procedures = procedures,
        .flow = known,
        .column = column,
        .cycles_per_sample = count_cycles_per_sample(&procedures->counts->event[column], flow->mhz),
    };
    show(context, &report, settings);
    for (size_t i = 0; i < procedures->count; i++)
        if (known[i] != NULL) pt_flow_done(&flows[i]);
}

int pt_dcpi_flow(pt_cmd_context *context, const pt_dcpi_settings *dcpi,
                 const pt_flow_settings *flow, const pt_code_settings *code_settings, size_t limit,
                 pt_flow_show *show, const void *settings)
{
    if (!(flow->width > 0))
        return pt_cmd_usage(context, "%s: -width is more than 0", context->command->name);
    pt_regex *pattern = NULL;
    int status = context->pattern != NULL ? pt_cmd_pattern(context, &pattern) : PT_EXIT_OK;
    if (status != PT_EXIT_OK) return status;
    pt_counts counts;
    uint32_t column;
    PT_FREE bool *in_image;
    status = pt_dcpi_count_images(context, dcpi, &counts, &column, &in_image);
    PT_AUTO(pt_cmd_code) code;
    pt_cmd_code_init(&code, context, code_settings);
    pt_procedures_request request = {
        .pattern = pattern,
        .address = context->pattern != NULL ? pt_cmd_address(context->pattern) : 0,
        .in_image = in_image,
        .column = column,
        .limit = limit,
        .code = &code.options,
    };
    pt_procedures procedures;
    pt_error error = PT_ERROR_INIT;
    if (status == PT_EXIT_OK) {
        const pt_status found = pt_procedures_init(&procedures, &counts, &request, &error);
        if (found == PT_ERR_NOTFOUND && context->pattern != NULL)
            status = pt_cmd_unmatched(context);
        else if (found != PT_OK)
            status = pt_fail(&error);
        if (found == PT_OK) {
            with_flows(context, &procedures, column, flow, show, settings);
            pt_diag_add(&context->diag, (uint64_t)(procedures.lost > 0 ? procedures.lost : 0),
                        "samples in no image or symbol that could be read");
            pt_procedures_done(&procedures);
        }
    }
    pt_counts_done(&counts);
    pt_regex_free(pattern);
    return status;
}
