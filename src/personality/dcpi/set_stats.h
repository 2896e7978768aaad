/* set_stats.h: how counts vary from run to run.
 *
 *   set 1: main 60, fib 40         name  sum  mean  deviation  min  max  range
 *   set 2: main 62, fib 20   ->    fib    60    30       14.1   20   40  0.33
 *                                  main  122    61        1.4   60   62  0.016
 *
 * range is (max - min) / sum. A run without samples of a name counts as 0 in all columns. The
 * deviation is the sample standard deviation of the runs (divisor n - 1).
 */
#pragma once

#include "personality/dcpi/counts.h"

typedef struct pt_set_row {
    const char *name, *path; /* procedure ("" in a table of images, or if unknown); image */
    double *value;           /* [sets] */
    uint32_t sets;           /* the number of sets that have samples of the row */
    double sum, share;       /* the sum over the sets, and its share of the sum over all rows */
    double mean, deviation, min, max, range;
} pt_set_row;

typedef struct pt_set_stats {
    pt_set_row *row; /* the largest range first, of equals the largest sum */
    size_t count;
    double *total; /* [sets]: the sum of the set's values, after scaling */
    size_t set_count;
    double sum;
    double *memory;
} pt_set_stats;

typedef struct pt_set {
    const pt_counts *counts;
    uint32_t column;
    double factor; /* the set's values are multiplied by it */
} pt_set;

/* Makes the rows of one level. Procedures of several sets are one row if their names and the paths
 * of their images are equal; images are one row if their paths are equal. */
void pt_set_stats_init(pt_set_stats *ret_stats, const pt_set *sets, size_t set_count,
                       pt_counts_level level);
void pt_set_stats_done(pt_set_stats *stats);
