/* print_flow.h: the reports of dcpicalc, dcpiwhatcg and dcpitopstalls, as text, JSON and CSV. */
#pragma once

#include "base/buf.h"
#include "personality/dcpi/flow.h"
#include "render/look.h"

typedef struct pt_flow_report {
    const char *title;
    const pt_procedures *procedures;
    const pt_flow *const *flow; /* for each procedure; NULL if pt_flow_init failed for the
                                 * procedure */
    uint32_t column;            /* the column of the event that samples time */
    double cycles_per_sample;   /* 0 = unknown: frequencies are then relative to the entry */
    size_t rows;                /* the number of rows of dcpitopstalls */
} pt_flow_report;

/* Each procedure's blocks and instructions, then a summary. */
void pt_flow_calc_text(pt_out *out, const pt_look *look, const pt_flow_report *report);
void pt_flow_calc_json(pt_out *out, const pt_flow_report *report);
/* Print one summary of all procedures. */
void pt_flow_whole_text(pt_out *out, const pt_look *look, const pt_flow_report *report);
void pt_flow_whole_json(pt_out *out, const pt_flow_report *report);
/* Print the instructions with the most samples beyond those that they would have without stalls. */
void pt_flow_stalls_text(pt_out *out, const pt_look *look, const pt_flow_report *report);
void pt_flow_stalls_csv(pt_out *out, const pt_flow_report *report);
void pt_flow_stalls_json(pt_out *out, const pt_flow_report *report);
