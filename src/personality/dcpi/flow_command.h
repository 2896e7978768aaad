/* flow_command.h: runs a command that shows procedures with their flow (flow.h): dcpilist,
 * dcpicalc, dcpiwhatcg, dcpitopstalls. */
#pragma once

#include "cmd/source.h"
#include "personality/dcpi/dcpi.h"
#include "personality/dcpi/print_flow.h"

typedef struct pt_flow_settings {
    double width, mhz;
} pt_flow_settings;

/* Rows for a settings struct with a field `flow` of this type. */
#define PT_FLOW_ROWS(settings)                                                                     \
    PT_ROW("width", DOUBLE, settings, flow.width, .initial = "4", .metavar = "N",                  \
           .help = "instructions that the machine can begin in a cycle",                           \
           .details = "What code takes at best follows from it, and from that how often it ran."), \
        PT_ROW("mhz", DOUBLE, settings, flow.mhz, .initial = "0", .metavar = "N",                  \
               .help = "clock of the machine, for samples of time",                                \
               .details = "With it, or where samples count cycles, executions are numbers; "       \
                          "without, they are relative to those of the procedure's entry.")

/* Calls `show` with a report on the procedures that match context->pattern (NULL: all), at most
 * `limit` (0 = all). Returns the exit status. */
typedef void pt_flow_show(pt_cmd_context *context, const pt_flow_report *report,
                          const void *settings);
int pt_dcpi_flow(pt_cmd_context *context, const pt_dcpi_settings *dcpi,
                 const pt_flow_settings *flow, const pt_code_settings *code, size_t limit,
                 pt_flow_show *show, const void *settings);
