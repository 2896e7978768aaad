/* graph_reports.h: our own reports on callers and callees, whole stacks and labels, as text, JSON
 * and CSV (report.h describes the form). */
#pragma once

#include "render/report.h"
#include "view/labels.h"
#include "view/peek.h"
#include "view/traces.h"

/* Write each function with its callers above and its callees below. */
void pt_peek_text(pt_out *out, const pt_look *look, const pt_report_head *head,
                  const pt_peek *peek);
void pt_peek_json(pt_out *out, const pt_report_head *head, const pt_peek *peek);
void pt_peek_csv(pt_out *out, const pt_report_head *head, const pt_peek *peek);

/* Write whole stacks, the heaviest first, each with the labels of its trace. */
void pt_traces_text(pt_out *out, const pt_look *look, const pt_report_head *head,
                    const pt_traces *traces);
void pt_traces_json(pt_out *out, const pt_report_head *head, const pt_traces *traces);
void pt_traces_csv(pt_out *out, const pt_traces *traces);

/* Write each key of labels with its values, and for each value the sum of its samples. */
void pt_labels_text(pt_out *out, const pt_look *look, const pt_report_head *head,
                    const pt_labels_view *labels);
void pt_labels_json(pt_out *out, const pt_report_head *head, const pt_labels_view *labels);
void pt_labels_csv(pt_out *out, const pt_labels_view *labels);
