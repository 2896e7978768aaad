/* diff.h: shared by `diff` and `ci`: the comparison of two sides, each of one or more runs. */
#pragma once

#include "cmd/cmd.h"
#include "cmd/shape.h"
#include "view/diff.h"

typedef struct pt_diff_settings {
    pt_option_list before;
    bool normalize;
    double confidence;
    double fail_above; /* NAN: no limit */
    int64_t rows;
    pt_sort sort;
    pt_fold_rule fold;
    pt_shape shape;
    bool has_verdict; /* ci: Markdown that begins with a verdict */
} pt_diff_settings;

/* Loads both sides, compares them and writes the report. Returns the exit status. */
int pt_cmd_diff(pt_cmd_context *context, const pt_diff_settings *settings);
