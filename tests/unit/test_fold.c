/* test_fold.c: which row each frame belongs to, and what the row is called, by every rule. The
 * answers are what view/fold.h says of the text above each test. */
#include "profile_text.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "view/fold.h"

/* The rows of all locations, in their order: "main;a~b" where b was inlined into a. */
static void expect_rows(const pt_profile *p, pt_fold_rule rule, const char *expected)
{
    pt_fold fold;
    pt_error error = PT_ERROR_INIT;
    pt_buf text = PT_BUF_INIT;
    assert_int_equal(pt_fold_init(&fold, p, &rule, &error), PT_OK);
    for (uint32_t l = 0; l < p->location->t.count; l++) {
        uint32_t one, count;
        const uint32_t *rows = pt_fold_rows(&fold, l, &one, &count);
        for (uint32_t i = count; i-- > 0;) {
            PT_FREE char *name = pt_fold_text(&fold, rows[i]);
            pt_putf(&text, "%s%s", i + 1 < count ? "~" : text.size > 0 ? ";" : "", name);
        }
    }
    assert_string_equal(pt_buf_text(&text), expected);
    pt_buf_done(&text);
    pt_fold_done(&fold);
}

static uint32_t rows_of(const pt_profile *p, pt_fold_rule rule)
{
    pt_fold fold;
    pt_error error = PT_ERROR_INIT;
    assert_int_equal(pt_fold_init(&fold, p, &rule, &error), PT_OK);
    const uint32_t count = fold.count;
    pt_fold_done(&fold);
    return count;
}

static void frames_are_called_by_what_they_are_folded_by(void **state)
{
    PT_UNREF_PROFILE const pt_profile *p =
        profile_of("samples/count", "main@m.c:3;a@m.c:9~b@b.c:2;/lib/x.so!c;/lib/x.so+0x12 1\n");
    expect_rows(p, (pt_fold_rule){.by = PT_BY_FUNCTION}, "main;a~b;c;[x.so+0x12]");
    expect_rows(p, (pt_fold_rule){.by = PT_BY_FILEFUNCTION}, "main m.c;a m.c~b b.c;c;[x.so+0x12]");
    expect_rows(p, (pt_fold_rule){.by = PT_BY_FILE}, "m.c;m.c~b.c;c;[x.so+0x12]");
    expect_rows(p, (pt_fold_rule){.by = PT_BY_LINE}, "main m.c:3;a m.c:9~b b.c:2;c;[x.so+0x12]");
    expect_rows(p, (pt_fold_rule){.by = PT_BY_ADDRESS},
                "[unknown] main;[unknown] a~[unknown] b;[unknown] c;[x.so+0x12]");
    expect_rows(p, (pt_fold_rule){.by = PT_BY_MAPPING},
                "[unknown];[unknown]~[unknown];[x.so];[x.so]");
    expect_rows(p, (pt_fold_rule){.unnamed = PT_UNNAMED_OBJECT}, "main;a~b;c;[x.so]");
    expect_rows(p, (pt_fold_rule){.no_inlines = true}, "main;a;c;[x.so+0x12]");
    assert_int_equal(rows_of(p, (pt_fold_rule){.by = PT_BY_FILE}), 4);
    assert_int_equal(rows_of(p, (pt_fold_rule){.by = PT_BY_MAPPING}), 2);
}

static void what_is_called_the_same_is_one_row(void **state)
{
    PT_UNREF_PROFILE const pt_profile *p =
        profile_of("samples/count", "/a/x.so!f;/b/x.so!f;/a/x.so+0x12;/b/x.so+0x12;[vdso]+0x1;"
                                    "/b/x.so+0x13;y.so+0x12 1\n");
    expect_rows(p, (pt_fold_rule){0},
                "f;f;[x.so+0x12];[x.so+0x12];[vdso+0x1];[x.so+0x13];[y.so+0x12]");
    assert_int_equal(rows_of(p, (pt_fold_rule){0}), 5);
    expect_rows(p, (pt_fold_rule){.unnamed = PT_UNNAMED_OBJECT},
                "f;f;[x.so];[x.so];[vdso];[x.so];[y.so]");
    assert_int_equal(rows_of(p, (pt_fold_rule){.unnamed = PT_UNNAMED_OBJECT}), 4);
}

/* internal/graph/graph.go of google/pprof: NodeInfo.PrintableName and nodeInfo. */
static void pprof_folds_and_spells_by_its_own_rules(void **state)
{
    PT_UNREF_PROFILE const pt_profile *p = profile_of(
        "samples/count", "main@m.c:3;/a/x.so!c;/a/x.so+0x12;/a/x.so+0x13;[vdso]+0x1 1\n");
    expect_rows(p, (pt_fold_rule){.pprof = true}, "main;c;[x.so];[x.so];[[vdso]]");
    assert_int_equal(rows_of(p, (pt_fold_rule){.pprof = true}), 4);
    expect_rows(p, (pt_fold_rule){.pprof = true, .by = PT_BY_LINE},
                "main m.c:3;c;[x.so];[x.so];[[vdso]]");
}

static int sign(int number)
{
    return (number > 0) - (number < 0);
}

/* Also where the texts are not made: of addresses in one file, and of names. */
static void rows_are_in_the_order_of_their_texts(void **state)
{
    PT_UNREF_PROFILE const pt_profile *p = profile_of(
        "samples/count",
        "x.so+0x1;x.so+0x10;x.so+0x15;x.so+0x1a;x.so+0x1f0;x.so+0x2;x.so+0xa;x.so+0xab;x.so+0x9;"
        "x.so+0x100;x.so+0x1a0;x.so+0xfedcba9876543;y.so+0x1;y.so+0x15;main;[x@m.c:3;x.so!c 1\n");
    const pt_fold_rule rules[] = {{0},
                                  {.by = PT_BY_LINE},
                                  {.by = PT_BY_FILE},
                                  {.by = PT_BY_ADDRESS},
                                  {.by = PT_BY_MAPPING},
                                  {.unnamed = PT_UNNAMED_ADDRESS},
                                  {.unnamed = PT_UNNAMED_OBJECT},
                                  {.pprof = true}};
    for (size_t r = 0; r < sizeof rules / sizeof rules[0]; r++) {
        pt_fold fold;
        pt_error error = PT_ERROR_INIT;
        assert_int_equal(pt_fold_init(&fold, p, &rules[r], &error), PT_OK);
        for (uint32_t a = 0; a < fold.count; a++)
            for (uint32_t b = 0; b < fold.count; b++) {
                PT_FREE char *x = pt_fold_text(&fold, a);
                PT_FREE char *y = pt_fold_text(&fold, b);
                if (sign(pt_fold_compare(&fold, a, b)) != sign(strcmp(x, y)))
                    fail_msg("rule %zu: %s and %s: %d", r, x, y, pt_fold_compare(&fold, a, b));
            }
        pt_fold_done(&fold);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(frames_are_called_by_what_they_are_folded_by),
        cmocka_unit_test(what_is_called_the_same_is_one_row),
        cmocka_unit_test(pprof_folds_and_spells_by_its_own_rules),
        cmocka_unit_test(rows_are_in_the_order_of_their_texts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
