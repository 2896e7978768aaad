/* filter_int.h: the steps of pt_filter. Each step replaces step->result->profile by the step's
 * result, and adds its counts to step->result. A step is called only if the query has one of its
 * options. */
#pragma once

#include "transform/filter.h"
#include "transform/frames.h"
#include "transform/pattern.h"

typedef struct pt_filter_step {
    const pt_profile *whole; /* the given profile, which provides the units of labels */
    const pt_query *query;
    pt_filtered *result;
    pt_diag *diag;
} pt_filter_step;

pt_status pt_filter_by_time(pt_filter_step *step, pt_error *reterr);   /* filter_time.c */
pt_status pt_filter_by_names(pt_filter_step *step, pt_error *reterr);  /* filter_names.c */
pt_status pt_filter_show_from(pt_filter_step *step, pt_error *reterr); /* filter_cut.c */
pt_status pt_filter_prune_from(pt_filter_step *step, pt_error *reterr);
pt_status pt_filter_by_tags(pt_filter_step *step, pt_error *reterr); /* filter_tags.c */
pt_status pt_filter_tag_keys(pt_filter_step *step, pt_error *reterr);

/* Compiles the pattern of one option for the current profile. */
pt_status pt_filter_compile(const pt_filter_step *step, pt_filter_kind kind,
                            pt_pattern *ret_pattern, pt_error *reterr);
/* Makes `profile` the current profile of the step and takes over the caller's reference to it. */
void pt_filter_replace(pt_filter_step *step, const pt_profile *profile);
/* Drops all call arcs: arcs have neither times nor labels, so a query cannot select them. */
void pt_filter_drop_arcs(pt_filter_step *step);
/* The number of samples of each stack (or each label set). The caller frees the array. */
uint32_t *pt_filter_count(const uint32_t *row_of_sample, uint32_t samples, uint32_t rows);
