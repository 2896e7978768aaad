/* value.h: values of one event as texts that line up. */
#pragma once

#include "base/json.h"
#include "render/text.h"
#include "view/summary.h"

typedef struct {
    char text[48];
} pt_value_text;

/* The text of a value: three significant digits in a suitable unit, or a whole count: "1.23s",
 * "45.6ms", "2.00MB", "1,234". */
pt_value_text pt_value_of(const char *unit, int64_t value);

/* The title of a column of half intervals: "+-95%". */
pt_value_text pt_half_title(double confidence);

/* The texts of a total and of its share; "-" if the profile has no stacks, since no total is known
 * then. */
pt_value_text pt_total_of(const pt_summary *summary, int64_t value);
pt_percent pt_total_share_of(const pt_summary *summary, double share);

/* Widens *width to the text of the value, if that is wider. *width begins with the width of the
 * column's title. Call it for each value of the column. */
void pt_value_fit(int *width, const char *unit, int64_t value);

/* The colour of a row with this share of the whole: hot from 10 % on, warm from 2 % on. */
pt_colour pt_colour_of_share(double share);
