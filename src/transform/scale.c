/* scale.c: see scale.h. */
#include "transform/scale.h"

#include <math.h>
#include <string.h>

#include "base/saturate.h"
#include "transform/frames.h"
#include "transform/merge.h"

static int64_t to_int(double value)
{
    if (value >= 0x1p63) return INT64_MAX;
    if (value <= -0x1p63) return INT64_MIN;
    return (int64_t)value;
}

static int64_t scale_value(int64_t value, double ratio)
{
    return to_int(round((double)value * ratio));
}

static const pt_profile *with_samples(const pt_profile *profile, pt_samples *samples)
{
    pt_profile_tables tables = {.sample = samples};
    if (samples->t.count != profile->sample->t.count)
        tables.unknown = pt_unknowns_without(profile->unknown, 1u << PT_IN_SAMPLE, NULL);
    return pt_profile_derive(profile, &tables);
}

static pt_samples *copy_samples(const pt_samples *old)
{
    PT_FREE uint32_t *rows = pt_alloc_numbers(old->t.count);
    return pt_samples_pick(old, rows, old->t.count);
}

/* The samples that keep a nonzero value in an event that was multiplied. */
static pt_samples *pick_scaled(const pt_samples *old, const double *ratios)
{
    PT_FREE uint32_t *rows = pt_alloc(old->t.count, sizeof *rows);
    uint32_t count = 0;
    for (uint32_t i = 0; i < old->t.count; i++) {
        bool keep = false;
        for (uint32_t e = 0; e < old->event_count && !keep; e++)
            keep = ratios[e] != 1 && scale_value(old->value[e][i], ratios[e]) != 0;
        if (keep) rows[count++] = i;
    }
    return pt_samples_pick(old, rows, count);
}

const pt_profile *pt_scale(const pt_profile *profile, const double *ratios)
{
    bool all_ones = true;
    for (uint32_t e = 0; e < profile->event->t.count; e++)
        all_ones &= ratios[e] == 1;
    if (all_ones) return pt_profile_ref(profile);
    pt_samples *const samples = pick_scaled(profile->sample, ratios);
    for (uint32_t e = 0; e < samples->event_count; e++) {
        int64_t *const value = (int64_t *)samples->value[e];
        for (uint32_t i = 0; ratios[e] != 1 && i < samples->t.count; i++)
            value[i] = scale_value(value[i], ratios[e]);
    }
    return with_samples(profile, samples);
}

const pt_profile *pt_divide(const pt_profile *profile, double by)
{
    const double ratio = 1 / by;
    if (!(ratio > 0) || ratio == 1) return pt_profile_ref(profile);
    pt_samples *const samples = copy_samples(profile->sample);
    for (uint32_t e = 0; e < samples->event_count; e++) {
        int64_t *const value = (int64_t *)samples->value[e];
        for (uint32_t i = 0; i < samples->t.count; i++)
            value[i] = to_int((double)value[i] * ratio);
    }
    return with_samples(profile, samples);
}

/* ---- normalizing ---- */

static bool same_text(const pt_profile *a, uint32_t x, const pt_profile *b, uint32_t y)
{
    return strcmp(pt_text(a, x), pt_text(b, y)) == 0;
}

static pt_status check_same_events(const pt_profile *a, const pt_profile *b, pt_error *reterr)
{
    const pt_provenance *const of_a = pt_profile_provenance(a), *const of_b =
                                                                    pt_profile_provenance(b);
    if (!same_text(a, of_a->period_type, b, of_b->period_type) ||
        !same_text(a, of_a->period_unit, b, of_b->period_unit))
        return pt_error_set(reterr, PT_ERR_USAGE,
                            "incompatible period types &{%s %s 0 0} and &{%s %s 0 0}",
                            pt_text(a, of_a->period_type), pt_text(a, of_a->period_unit),
                            pt_text(b, of_b->period_type), pt_text(b, of_b->period_unit));
    bool same = a->event->t.count == b->event->t.count;
    for (uint32_t e = 0; same && e < a->event->t.count; e++)
        same = same_text(a, a->event->row[e].type, b, b->event->row[e].type) &&
               same_text(a, a->event->row[e].unit, b, b->event->row[e].unit);
    if (same) return PT_OK;
    return pt_error_set(reterr, PT_ERR_USAGE,
                        "the base does not measure the same events in the same order");
}

static int64_t wrapping_sum(const pt_profile *p, uint32_t event)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < p->sample->t.count; i++)
        sum += (uint64_t)p->sample->value[event][i];
    return (int64_t)sum;
}

/* Scales each event of `profile` so that its sum is the sum of the same event in `base`. Fails with
 * PT_ERR_USAGE unless both have the same events in the same order and the same period type. */
static pt_status normalize_totals(const pt_profile *profile, const pt_profile *base,
                                  const pt_profile **ret_profile, pt_error *reterr)
{
    const pt_status status = check_same_events(profile, base, reterr);
    if (status != PT_OK) return status;
    const uint32_t count = profile->event->t.count;
    PT_FREE double *ratios = pt_alloc((size_t)count + 1, sizeof *ratios);
    for (uint32_t e = 0; e < count; e++) {
        const int64_t ours = wrapping_sum(profile, e);
        ratios[e] = ours == 0 ? 0 : (double)wrapping_sum(base, e) / (double)ours;
    }
    *ret_profile = pt_scale(profile, ratios);
    return PT_OK;
}

/* ---- one label on all samples ---- */

/* The label sets without any other text for that key, and with the label key=text. */
static pt_label_sets *sets_with(const pt_profile *p, uint32_t key, uint32_t text)
{
    const pt_label_sets *const old = p->labels;
    const pt_label label = {.key = key, .kind = PT_LABEL_STRING, .str = text};
    pt_label_sets *const sets = pt_table_new(sizeof *sets, old->t.count + 1);
    uint64_t *const offset = pt_alloc((size_t)old->t.count + 2, sizeof *offset);
    pt_label *const row = pt_alloc((size_t)old->offset[old->t.count] + old->t.count, sizeof *row);
    uint64_t to = 0;
    for (uint32_t set = 0; set < old->t.count; set++) { /* new row: set + 1; row 0 is empty */
        offset[set + 1] = to;
        for (uint64_t l = old->offset[set]; l < old->offset[set + 1]; l++)
            if (old->row[l].key != key || old->row[l].kind != PT_LABEL_STRING)
                row[to++] = old->row[l];
        row[to++] = label;
    }
    offset[old->t.count + 1] = to;
    sets->offset = offset;
    sets->row = row;
    return sets;
}

/* Sets the text label key=text on each sample, in place of other texts of that key. */
static const pt_profile *set_label(const pt_profile *profile, const char *key, const char *text)
{
    pt_builder *const b = pt_builder_extend(profile);
    const uint32_t key_id = pt_builder_text(b, key).v, text_id = pt_builder_text(b, text).v;
    PT_UNREF_PROFILE const pt_profile *extended = NULL;
    if (pt_builder_freeze(b, &extended, NULL) != PT_OK) return pt_profile_ref(profile);
    pt_samples *const samples = copy_samples(profile->sample);
    for (uint32_t i = 0; i < samples->t.count; i++)
        ((uint32_t *)samples->labels)[i]++;
    const pt_profile_tables tables = {
        .sample = samples,
        .labels = sets_with(extended, key_id, text_id),
        .unknown = pt_unknowns_without(profile->unknown, 1u << PT_IN_LABEL, NULL),
    };
    return pt_profile_derive(extended, &tables);
}

/* ---- subtracting ---- */

pt_status pt_subtract(const pt_profile *profile, const pt_profile *base,
                      const pt_subtract_options *options, const pt_profile **ret_profile,
                      pt_diag *diag, pt_error *reterr)
{
    PT_UNREF_PROFILE const pt_profile *marked =
        options->marks_base ? set_label(base, PT_BASE_KEY, PT_BASE_TEXT) : pt_profile_ref(base);
    PT_UNREF_PROFILE const pt_profile *scaled = NULL;
    pt_status status = PT_OK;
    if (options->normalizes)
        status = normalize_totals(profile, marked, &scaled, reterr);
    else
        scaled = pt_profile_ref(profile);
    if (status != PT_OK) return status;
    PT_FREE double *ratios = pt_alloc((size_t)marked->event->t.count + 1, sizeof *ratios);
    for (uint32_t e = 0; e < marked->event->t.count; e++)
        ratios[e] = -1;
    PT_UNREF_PROFILE const pt_profile *less = pt_scale(marked, ratios);
    pt_merge *const merge = pt_merge_new_by(options->rules, diag);
    pt_merge_samples_only(merge);
    status = pt_merge_add(merge, scaled, reterr);
    if (status == PT_OK) status = pt_merge_add(merge, less, reterr);
    if (status == PT_OK) return pt_merge_finish(merge, ret_profile, reterr);
    pt_merge_free(merge);
    return status;
}

/* ---- the value of 100 % ---- */

static bool marks_base(const pt_profile *p, uint32_t set)
{
    for (uint64_t l = p->labels->offset[set]; l < p->labels->offset[set + 1]; l++) {
        const pt_label *const label = &p->labels->row[l];
        if (label->kind == PT_LABEL_STRING && strcmp(pt_text(p, label->key), PT_BASE_KEY) == 0 &&
            strcmp(pt_text(p, label->str), PT_BASE_TEXT) == 0)
            return true;
    }
    return false;
}

int64_t pt_whole(const pt_profile *p, uint32_t event)
{
    PT_FREE bool *is_base = pt_alloc(p->labels->t.count, sizeof *is_base);
    for (uint32_t set = 0; set < p->labels->t.count; set++)
        is_base[set] = marks_base(p, set);
    int64_t all = 0, of_base = 0;
    for (uint32_t i = 0; i < p->sample->t.count; i++) {
        const int64_t value = p->sample->value[event][i];
        const int64_t size = value == INT64_MIN ? INT64_MAX : value < 0 ? -value : value;
        all = pt_saturating_add(all, size);
        if (is_base[p->sample->labels[i]]) of_base = pt_saturating_add(of_base, size);
    }
    return of_base > 0 ? of_base : all;
}
