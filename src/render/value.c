/* value.c: values as texts. */
#include "render/value.h"

#include <math.h>
#include <stdio.h>

#include "base/units.h"

/* The latest texts. A row often has the same values as the row above it: for instance all rows of a
 * deep stack have the same total. */
typedef struct {
    char unit[32]; /* "" = empty */
    int64_t value;
    pt_value_text text;
} known_text;

pt_value_text pt_value_of(const char *unit, int64_t value)
{
    static _Thread_local known_text latest[2]; /* [0] for zero, [1] for another value */
    known_text *const known = &latest[value != 0];
    if (known->unit[0] != '\0' && known->value == value && strcmp(known->unit, unit) == 0)
        return known->text;
    pt_value_text v;
    pt_buf buf = PT_BUF_INIT;
    pt_put_value(&buf, value, unit, NULL, PT_STYLE_SHORT);
    snprintf(v.text, sizeof v.text, "%s", pt_buf_text(&buf));
    pt_buf_done(&buf);
    if (strlen(unit) < sizeof known->unit) {
        snprintf(known->unit, sizeof known->unit, "%s", unit);
        known->value = value;
        known->text = v;
    }
    return v;
}

pt_value_text pt_half_title(double confidence)
{
    pt_value_text title;
    snprintf(title.text, sizeof title.text, "+-%g%%", 100 * confidence);
    return title;
}

pt_value_text pt_total_of(const pt_summary *summary, int64_t value)
{
    return summary->has_stacks ? pt_value_of(summary->unit, value) : (pt_value_text){"-"};
}

pt_percent pt_total_share_of(const pt_summary *summary, double share)
{
    return summary->has_stacks ? pt_percent_of(share) : (pt_percent){"-"};
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
