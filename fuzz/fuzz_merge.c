/* fuzz_merge.c: bytes taken for profile.proto, merged with themselves: every total doubles. */
#include "formats_fuzz.h"
#include "transform/merge.h"

/* Sum of the magnitudes of an event's values; large if it does not fit. */
static uint64_t magnitude(const pt_profile *p, uint32_t event)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < p->sample->t.count; i++) {
        const int64_t value = p->sample->value[event][i];
        const uint64_t part = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
        if (part >= UINT64_C(1) << 61 || sum >= UINT64_C(1) << 61) return UINT64_MAX;
        sum += part;
    }
    return sum;
}

static void check_totals(const pt_profile *one, const pt_profile *both)
{
    if (both->event->t.count != one->event->t.count) fuzz_fail("merge", "events are lost");
    for (uint32_t e = 0; e < one->event->t.count; e++) {
        if (magnitude(one, e) < UINT64_C(1) << 61 &&
            pt_profile_total(both, e) != 2 * pt_profile_total(one, e))
            fuzz_fail("merge", "a total has not doubled");
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    pt_status status;
    pt_error error = PT_ERROR_INIT;
    const pt_profile *one = fuzz_read(pt_format_find("pprof"), data, size, &status);
    if (!one) return 0;
    pt_merge *merge = pt_merge_new(NULL);
    for (int twice = 0; twice < 2; twice++) {
        if (pt_merge_add(merge, one, &error) != PT_OK) fuzz_fail("merge", error.message);
    }
    const pt_profile *both = NULL;
    if (pt_merge_finish(merge, &both, &error) != PT_OK) fuzz_fail("merge", error.message);
    if (pt_profile_check(both, &error) != PT_OK) fuzz_fail("check", error.message);
    check_totals(one, both);
    pt_profile_unref(both);
    pt_profile_unref(one);
    return 0;
}
