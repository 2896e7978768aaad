/* why.h: findings (view/why.h) as sentences and as JSON. */
#pragma once

#include "render/report.h"
#include "view/why.h"

/* Write each finding with its share, its cause and its place. */
void pt_why_text(pt_out *out, const pt_look *look, const pt_report_head *head, const pt_why *why);
void pt_why_json(pt_out *out, const pt_report_head *head, const pt_why *why);
