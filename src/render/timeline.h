/* timeline.h: renders view/timeline.h. */
#pragma once

#include "render/report.h"
#include "view/marks.h"
#include "view/timeline.h"

/* The largest number of steps, from 10 to 60, with which the bars and a label fit the width of the
 * look. */
uint32_t pt_timeline_fitting_steps(const pt_look *look);

/* Write a line for each track. Its sums are bars of eight heights; the largest sum of the track has
 * a full bar. */
void pt_timeline_text(pt_out *out, const pt_look *look, const pt_report_head *head,
                      const pt_timeline *timeline);
/* As JSON: the sums of each step, and of each part of each second, then the marks. */
void pt_timeline_json(pt_out *out, const pt_report_head *head, const pt_timeline *timeline,
                      const pt_profile *profile, const pt_marks_view *marks);
/* Write a line for each name and thread of marks, for each counter, and for each listed mark.
 */
void pt_marks_text(pt_out *out, const pt_look *look, const pt_timeline *timeline,
                   const pt_marks_view *marks);
void pt_marks_json(pt_json_w *json, const pt_profile *profile, const pt_timeline *timeline,
                   const pt_marks_view *marks);
/* Puts the values of steps as bars; the bar of the largest value is full. */
void pt_timeline_bars(pt_out *out, const int64_t *values, uint32_t steps);
enum { PT_TIMELINE_BEFORE_BARS = 18 }; /* columns of a line */
