/* test_recursion.c: frames of functions that call themselves. Known answers are the stacks beside
 * them. */
#include "profile_text.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "transform/recursion.h"

static const char *name_of(const pt_profile *p, uint32_t location)
{
    return pt_text(p, p->function->name[p->line->function[p->location->line_first[location]]]);
}

/* The stacks as lines "root;leaf value", in the order of the samples. The caller frees. */
static char *stacks_of(const pt_profile *p)
{
    pt_buf text = PT_BUF_INIT;
    for (uint32_t i = 0; i < p->sample->t.count; i++) {
        const uint32_t stack = p->sample->stack[i];
        for (uint32_t k = pt_stack_depth(p, stack); k-- > 0;)
            pt_putf(&text, "%s%s", name_of(p, pt_stack_frames(p, stack)[k]), k > 0 ? ";" : "");
        pt_putf(&text, " %lld\n", (long long)p->sample->value[0][i]);
    }
    return pt_buf_take(&text, NULL);
}

static void assert_collapsed(const pt_profile *p, pt_recursion which, const char *expected)
{
    const pt_profile *const made = pt_collapse_recursion(p, which, NULL);
    PT_FREE char *text = stacks_of(made);
    assert_string_equal(text, expected);
    pt_profile_unref(made);
}

static void neighbouring_frames_become_one_or_all_frames_between_two_go(void **state)
{
    static const char text[] = "main;expr;term;expr;term;num 5\n"
                               "main;f;f;f;g 3\n"
                               "main;f;g;f;g;h 2\n"
                               "main;f 1\n";
    const pt_profile *const p = profile_of("n/count", text);
    assert_collapsed(p, PT_RECURSION_KEPT, text);
    assert_collapsed(p, PT_RECURSION_DIRECT,
                     "main;expr;term;expr;term;num 5\nmain;f;g 3\nmain;f;g;f;g;h 2\nmain;f 1\n");
    assert_collapsed(p, PT_RECURSION_ALL,
                     "main;expr;term;num 5\nmain;f;g 3\nmain;f;g;h 2\nmain;f 1\n");
    pt_profile_unref(p);
}

static void the_innermost_frame_stays(void **state)
{
    const pt_profile *const p = profile_of("n/count", "main;f@f.c:1;f@f.c:2;g 1\n");
    const pt_profile *const made = pt_collapse_recursion(p, PT_RECURSION_DIRECT, NULL);
    const uint32_t location = pt_stack_frames(made, made->sample->stack[0])[1];
    assert_int_equal(pt_stack_depth(made, made->sample->stack[0]), 3);
    assert_int_equal(made->line->line[made->location->line_first[location]], 2);
    pt_profile_unref(made);
    pt_profile_unref(p);
}

static bool has_frame(const pt_profile *p, uint32_t stack, char name)
{
    for (uint32_t k = 0; k < pt_stack_depth(p, stack); k++)
        if (name_of(p, pt_stack_frames(p, stack)[k])[0] == name) return true;
    return false;
}

/* Values of the samples with this function as their leaf, or anywhere. */
static int64_t value_of(const pt_profile *p, char name, bool anywhere)
{
    int64_t sum = 0;
    for (uint32_t i = 0; i < p->sample->t.count; i++) {
        const uint32_t stack = p->sample->stack[i];
        if (anywhere ? has_frame(p, stack, name)
                     : name_of(p, pt_stack_frames(p, stack)[0])[0] == name)
            sum += p->sample->value[0][i];
    }
    return sum;
}

static void self_and_of_direct_recursion_total_stay(void **state)
{
    pt_buf text = PT_BUF_INIT;
    srand48(9);
    for (int i = 0; i < 500; i++) {
        pt_put_u8(&text, 'm');
        for (long depth = lrand48() % 12; depth > 0; depth--)
            pt_putf(&text, ";%c", 'a' + (char)(lrand48() % 3));
        pt_putf(&text, " %ld\n", 1 + lrand48() % 9);
    }
    const pt_profile *const p = profile_of("n/count", pt_buf_text(&text));
    const pt_profile *const direct = pt_collapse_recursion(p, PT_RECURSION_DIRECT, NULL);
    const pt_profile *const all = pt_collapse_recursion(p, PT_RECURSION_ALL, NULL);
    const pt_profile *const again = pt_collapse_recursion(all, PT_RECURSION_ALL, NULL);
    for (const char *name = "abcm"; *name != '\0'; name++) {
        assert_int_equal(value_of(p, *name, false), value_of(direct, *name, false));
        assert_int_equal(value_of(p, *name, false), value_of(all, *name, false));
        assert_int_equal(value_of(p, *name, true), value_of(direct, *name, true));
    }
    for (uint32_t s = 0; s < all->stack->t.count; s++) {
        assert_true(pt_stack_depth(all, s) <= 4); /* each of the four functions once */
        for (uint32_t k = 0; k + 1 < pt_stack_depth(all, s); k++)
            assert_string_not_equal(name_of(all, pt_stack_frames(all, s)[k]),
                                    name_of(all, pt_stack_frames(all, s)[k + 1]));
    }
    PT_FREE char *once = stacks_of(all);
    PT_FREE char *twice = stacks_of(again);
    assert_string_equal(once, twice);
    pt_profile_unref(again);
    pt_profile_unref(all);
    pt_profile_unref(direct);
    pt_profile_unref(p);
    pt_buf_done(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(neighbouring_frames_become_one_or_all_frames_between_two_go),
        cmocka_unit_test(the_innermost_frame_stays),
        cmocka_unit_test(self_and_of_direct_recursion_total_stay),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
