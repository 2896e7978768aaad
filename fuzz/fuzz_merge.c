/* fuzz_merge.c: bytes taken for profile.proto, gmon.out or callgrind, merged with themselves: every
 * total doubles, of samples, calls, costs, bins and blocks. A merged gmon.out is written with the
 * same totals. */
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

/* Calls, costs, counts of bins and of blocks; as large as they are, or nothing if they are larger.
 */
static void check_sides(const pt_profile *one, const pt_profile *both)
{
    uint64_t sum[2][4] = {{0}};
    const pt_profile *const p[] = {one, both};
    for (int k = 0; k < 2; k++) {
        for (uint32_t i = 0; i < p[k]->arc->t.count; i++) {
            if (p[k]->arc->calls[i] >= UINT64_C(1) << 40) return;
            sum[k][0] += p[k]->arc->calls[i];
            if (p[k]->event->t.count == 0 || p[k]->arc->cost[0] == NULL) continue;
            if (p[k]->arc->cost[0][i] >= INT64_C(1) << 40 || p[k]->arc->cost[0][i] < 0) return;
            sum[k][1] += (uint64_t)p[k]->arc->cost[0][i];
        }
        for (uint32_t i = 0; i < p[k]->bin->t.count; i++)
            sum[k][2] += p[k]->bin->row[i].count;
        for (uint32_t i = 0; i < p[k]->block->t.count; i++) {
            if (p[k]->block->row[i].count >= UINT64_C(1) << 40) return;
            sum[k][3] += p[k]->block->row[i].count;
        }
    }
    for (int i = 0; i < 4; i++)
        if (sum[1][i] != 2 * sum[0][i] && !(i == 2 && both->bin->t.count == 0))
            fuzz_fail("merge", "calls, costs, bins or blocks have not doubled");
}

/* The file of the sum says the same. */
static void check_written(const pt_profile *both)
{
    pt_status status;
    fuzz_files files = {.bytes = PT_BUF_INIT};
    const pt_format *const gmon = pt_format_find("gmon");
    if (fuzz_write(gmon, both, &files)) {
        const pt_profile *again = fuzz_read(gmon, files.bytes.data, files.bytes.size, &status);
        if (again == NULL || status != PT_OK) fuzz_fail("merge", "what was written cannot be read");
        if (both->bin->t.count > 0 && pt_profile_total(again, 0) != pt_profile_total(both, 0))
            fuzz_fail("merge", "samples were lost on the way");
        pt_profile_unref(again);
    }
    pt_buf_done(&files.bytes);
}

static const pt_format *format_of(const uint8_t *data, size_t size)
{
    if (size >= 4 && memcmp(data, "gmon", 4) == 0) return pt_format_find("gmon");
    if (size >= 10 && memcmp(data, "# callgrin", 10) == 0) return pt_format_find("callgrind");
    return pt_format_find("pprof");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    pt_status status;
    pt_error error = PT_ERROR_INIT;
    const pt_profile *one = fuzz_read(format_of(data, size), data, size, &status);
    if (!one) return 0;
    pt_merge *merge = pt_merge_new(NULL);
    for (int twice = 0; twice < 2; twice++) {
        if (pt_merge_add(merge, one, &error) != PT_OK) fuzz_fail("merge", error.message);
    }
    const pt_profile *both = NULL;
    if (pt_merge_finish(merge, &both, &error) != PT_OK) fuzz_fail("merge", error.message);
    if (pt_profile_check(both, &error) != PT_OK) fuzz_fail("check", error.message);
    check_totals(one, both);
    check_sides(one, both);
    if (format_of(data, size) == pt_format_find("gmon") && status == PT_OK) check_written(both);
    pt_profile_unref(both);
    pt_profile_unref(one);
    return 0;
}
