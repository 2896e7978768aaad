/* value.h: values of one event as texts that line up. */
#pragma once

#include "base/json.h"
#include "render/text.h"
#include "view/summary.h"

typedef struct {
    char text[48];
} pt_value_text;

/* "1.23s", "45.6ms", "2.00MB", "1,234": three significant digits in the unit that suits it, or the
 * whole count. */
pt_value_text pt_value_of(const char *unit, int64_t value);

/* "+-95%", the title of a column of half intervals. */
pt_value_text pt_half_title(double confidence);

/* The same for a function's total; "-" if the profile has no stacks, which totals need. */
pt_value_text pt_total_of(const pt_summary *summary, int64_t value);
pt_percent pt_total_share_of(const pt_summary *summary, double share);

/* The width of a column of such texts: call for each value, starting with the header's. */
void pt_value_fit(int *width, const char *unit, int64_t value);

/* How a row is painted: what takes 10 % is hot, 2 % warm. */
pt_colour pt_colour_of_share(double share);
