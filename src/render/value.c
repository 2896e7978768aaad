/* value.c: values as texts. */
#include "render/value.h"

#include <math.h>
#include <stdio.h>

#include "base/units.h"

pt_value_text pt_value_of(const char *unit, int64_t value)
{
    pt_value_text v;
    pt_buf buf = PT_BUF_INIT;
    pt_put_value(&buf, value, unit, NULL, PT_STYLE_SHORT);
    snprintf(v.text, sizeof v.text, "%s", pt_buf_text(&buf));
    pt_buf_done(&buf);
    return v;
}

void pt_value_fit(int *width, const char *unit, int64_t value)
{
    const int needed = (int)pt_text_width(pt_value_of(unit, value).text);
    if (needed > *width) *width = needed;
}

pt_colour pt_colour_of_share(double share)
{
    const double size = fabs(share);
    return size >= 0.10 ? PT_COLOUR_HOT : size >= 0.02 ? PT_COLOUR_WARM : PT_COLOUR_NONE;
}
