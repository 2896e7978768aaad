/* filter.c: runs the steps of a query in order. Each step works once per distinct text, location,
 * stack or label set; steps without an option in the query cost nothing. */
#include "transform/filter.h"

#include "model/builder.h"
#include "transform/filter_int.h"

static const struct {
    const char *name;
    size_t at;
} kinds[PT_FILTER_COUNT] = {
    [PT_FILTER_FOCUS] = {"focus", offsetof(pt_query, focus)},
    [PT_FILTER_IGNORE] = {"ignore", offsetof(pt_query, ignore)},
    [PT_FILTER_HIDE] = {"hide", offsetof(pt_query, hide)},
    [PT_FILTER_SHOW] = {"show", offsetof(pt_query, show)},
    [PT_FILTER_SHOW_FROM] = {"show-from", offsetof(pt_query, show_from)},
    [PT_FILTER_TAG_FOCUS] = {"tag-focus", offsetof(pt_query, tag_focus)},
    [PT_FILTER_TAG_IGNORE] = {"tag-ignore", offsetof(pt_query, tag_ignore)},
    [PT_FILTER_TAG_SHOW] = {"tag-show", offsetof(pt_query, tag_show)},
    [PT_FILTER_TAG_HIDE] = {"tag-hide", offsetof(pt_query, tag_hide)},
    [PT_FILTER_PRUNE_FROM] = {"prune-from", offsetof(pt_query, prune_from)},
    [PT_FILTER_TIME] = {"time", offsetof(pt_query, time)},
};

#define ONE(kind) (1u << (kind))

static const struct {
    unsigned kinds; /* the options that need this step */
    pt_status (*run)(pt_filter_step *step, pt_error *reterr);
} steps[] = {
    {ONE(PT_FILTER_TIME), pt_filter_by_time},
    {ONE(PT_FILTER_FOCUS) | ONE(PT_FILTER_IGNORE) | ONE(PT_FILTER_HIDE) | ONE(PT_FILTER_SHOW),
     pt_filter_by_names},
    {ONE(PT_FILTER_SHOW_FROM), pt_filter_show_from},
    {ONE(PT_FILTER_TAG_FOCUS) | ONE(PT_FILTER_TAG_IGNORE), pt_filter_by_tags},
    {ONE(PT_FILTER_TAG_SHOW) | ONE(PT_FILTER_TAG_HIDE), pt_filter_tag_keys},
    {ONE(PT_FILTER_PRUNE_FROM), pt_filter_prune_from},
};

const char *pt_filter_name(pt_filter_kind kind)
{
    return kinds[kind].name;
}

const char *pt_filter_pattern(const pt_query *query, pt_filter_kind kind)
{
    const char *const *pattern = (const char *const *)((const char *)query + kinds[kind].at);
    return *pattern != NULL ? *pattern : "";
}

pt_status pt_filter_compile(const pt_filter_step *step, pt_filter_kind kind,
                            pt_pattern *ret_pattern, pt_error *reterr)
{
    const pt_pattern_kind of = step->query->pprof ? PT_PATTERN_PPROF
                               : kind == PT_FILTER_TAG_SHOW || kind == PT_FILTER_TAG_HIDE
                                   ? PT_PATTERN_KEYS
                                   : PT_PATTERN_FRAMES;
    return pt_pattern_init(ret_pattern, step->result->profile, kinds[kind].name,
                           pt_filter_pattern(step->query, kind), of, reterr);
}

void pt_filter_replace(pt_filter_step *step, const pt_profile *profile)
{
    pt_profile_unref(step->result->profile);
    step->result->profile = profile;
}

void pt_filter_drop_arcs(pt_filter_step *step)
{
    const pt_profile *const p = step->result->profile;
    pt_arcs *const none = pt_table_new(sizeof *none, 0);
    none->event_count = p->event->t.count;
    none->cost = pt_alloc(none->event_count, sizeof *none->cost);
    pt_filter_replace(step, pt_profile_derive(p, &(pt_profile_tables){.arc = none}));
}

uint32_t *pt_filter_count(const uint32_t *row_of_sample, uint32_t samples, uint32_t rows)
{
    uint32_t *count = pt_alloc(rows, sizeof *count);
    for (uint32_t i = 0; i < samples; i++)
        count[row_of_sample[i]]++;
    return count;
}

pt_status pt_filter(const pt_profile *profile, const pt_query *query, pt_filtered *ret_filtered,
                    pt_diag *diag, pt_error *reterr)
{
    pt_filtered result = {.profile = pt_profile_ref(profile)};
    unsigned asked = 0;
    for (int k = 0; k < PT_FILTER_COUNT; k++) {
        result.asked[k] = pt_filter_pattern(query, (pt_filter_kind)k)[0] != '\0';
        asked |= result.asked[k] ? ONE(k) : 0;
    }
    pt_filter_step step = {.whole = profile, .query = query, .result = &result, .diag = diag};
    pt_status status = PT_OK;
    for (size_t i = 0; i < PT_COUNT(steps) && status == PT_OK; i++)
        if (asked & steps[i].kinds) status = steps[i].run(&step, reterr);
    result.kept = result.profile->sample->t.count;
    if (status == PT_OK)
        *ret_filtered = result;
    else
        pt_filtered_done(&result);
    return status;
}

void pt_filtered_done(pt_filtered *filtered)
{
    pt_profile_unref(filtered->profile);
    *filtered = (pt_filtered){0};
}
