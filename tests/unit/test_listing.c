/* test_listing.c: source lines with their values, by arithmetic on small profiles. */
#include "profile_text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "model/sums.h"
#include "view/listing.h"
#include "view/table.h"

#define SAMPLES "samples/count"

static char source_folder[] = "/tmp/pitot-listing.XXXXXX";

/* One row a line: "name self total", then " line self total text" and "  -> callee value". */
static void expect_listing(const pt_profile *p, const char *pattern, int64_t context,
                           const char *expected)
{
    pt_regex *regex;
    pt_listing listing;
    pt_error error = PT_ERROR_INIT;
    assert_int_equal(pt_regex_new(pattern, 0, &regex, &error), PT_OK);
    pt_source_texts *texts = pt_source_texts_new(source_folder, NULL, NULL, NULL);
    const pt_listing_request request = {.whole = pt_profile_magnitude(p, 0),
                                        .pattern = regex,
                                        .with_lines = true,
                                        .texts = texts,
                                        .context = context,
                                        .with_calls = true};
    assert_int_equal(pt_listing_init(&listing, p, &request, &error), PT_OK);
    pt_buf text = PT_BUF_INIT;
    for (size_t i = 0; i < listing.count; i++) {
        const pt_code_function *f = &listing.function[i];
        pt_putf(&text, "%s %lld %lld\n", f->name, (long long)f->self, (long long)f->total);
        for (size_t k = 0; k < f->row_count; k++) {
            const pt_code_row *l = &f->row[k];
            if (l->after_gap) pt_put_text(&text, " ...\n");
            pt_putf(&text, " %lld %lld %lld", (long long)l->at, (long long)l->self,
                    (long long)l->total);
            if (l->text != NULL) pt_putf(&text, " %.*s", (int)l->text_size, l->text);
            pt_put_text(&text, "\n");
            for (size_t c = 0; c < l->call_count; c++) {
                const pt_listing_call *call = &listing.call[l->call_first + c];
                pt_putf(&text, "  %s %s %lld\n", call->inlined ? "~>" : "->", call->name,
                        (long long)call->value);
            }
        }
    }
    assert_string_equal(pt_buf_text(&text), expected);
    pt_buf_done(&text);
    pt_listing_done(&listing);
    pt_source_texts_free(texts);
    pt_regex_free(regex);
}

static void a_line_has_what_ends_on_it_and_what_passes_through_it(void **state)
{
    PT_UNREF_PROFILE const pt_profile *p = profile_of(SAMPLES, "main;run@x.c:7;fib 3\n"
                                                               "main;run@x.c:10 1\n"
                                                               "main;other@x.c:30 5\n");
    expect_listing(p, "run", 0, "run 1 4\n 7 0 3 seven\n  -> fib 3\n ...\n 10 1 1 ten\n");
}

static void recursion_counts_a_line_and_a_function_once_a_sample(void **state)
{
    PT_UNREF_PROFILE const pt_profile *p = profile_of(SAMPLES, "main;f@x.c:2;f@x.c:2;f@x.c:5 10\n");
    expect_listing(p, "^f$", 0, "f 10 10\n 2 0 10 two\n  -> f 10\n ...\n 5 10 10 five\n");
}

static void what_is_inlined_counts_for_the_line_of_the_call_and_in_its_own_function(void **state)
{
    PT_UNREF_PROFILE const pt_profile *p =
        profile_of(SAMPLES, "main;run@x.c:3~square@x.c:8 2\nmain;run@x.c:3;leaf 1\n");
    expect_listing(p, "run|square", 0,
                   "run 0 3\n 3 0 3 three\n  ~> square 2\n  -> leaf 1\n"
                   "square 2 2\n 8 2 2 eight\n");
}

static void context_is_shown_around_and_a_gap_of_one_line_is_filled(void **state)
{
    PT_UNREF_PROFILE const pt_profile *p =
        profile_of(SAMPLES, "main;g@x.c:2 1\nmain;g@x.c:6 1\nmain;g@x.c:9 1\n");
    expect_listing(p, "g", 1,
                   "g 3 3\n 1 0 0 one\n 2 1 1 two\n 3 0 0 three\n 4 0 0 four\n 5 0 0 five\n"
                   " 6 1 1 six\n 7 0 0 seven\n 8 0 0 eight\n 9 1 1 nine\n 10 0 0 ten\n");
}

static void the_whole_function_goes_to_its_last_sample(void **state)
{
    PT_UNREF_PROFILE const pt_profile *p = profile_of(SAMPLES, "main;g@x.c:2 1\nmain;g@x.c:5 1\n");
    expect_listing(p, "g", -1, "g 2 2\n 2 1 1 two\n 3 0 0 three\n 4 0 0 four\n 5 1 1 five\n");
}

static void lines_past_the_end_and_without_a_number_are_kept(void **state)
{
    PT_UNREF_PROFILE const pt_profile *p = profile_of(SAMPLES, "main;g@x.c:0 1\nmain;g@x.c:99 2\n");
    expect_listing(p, "g", 2, "g 3 3\n 0 1 1\n 99 2 2\n");
}

static void a_missing_source_leaves_the_numbers(void **state)
{
    PT_UNREF_PROFILE const pt_profile *p =
        profile_of(SAMPLES, "main;g@gone.c:5 1\nmain;g@gone.c:7 1\nmain;h 3\n");
    expect_listing(p, "g|h", 2, "h 3 3\n 0 3 3\ng 2 2\n 5 1 1\n ...\n 7 1 1\n");
}

static void functions_of_one_name_in_two_files_are_two(void **state)
{
    PT_UNREF_PROFILE const pt_profile *p =
        profile_of(SAMPLES, "main;init@x.c:1 1\nmain;init@gone.c:1 2\n");
    expect_listing(p, "init", 0, "init 2 2\n 1 2 2\ninit 1 1\n 1 1 1 one\n");
}

static void a_pattern_that_names_no_function_may_name_a_file(void **state)
{
    PT_UNREF_PROFILE const pt_profile *p =
        profile_of(SAMPLES, "main@y.c:1;f@x.c:1 1\nmain@y.c:1;g@x.c:2 2\n");
    expect_listing(p, "x\\.c", 0, "g 2 2\n 2 2 2 two\nf 1 1\n 1 1 1 one\n");
}

static void what_matches_nothing_is_not_found(void **state)
{
    PT_UNREF_PROFILE const pt_profile *p = profile_of(SAMPLES, "main;f 1\n");
    pt_regex *regex;
    pt_listing listing;
    assert_int_equal(pt_regex_new("zebra", 0, &regex, NULL), PT_OK);
    pt_source_texts *texts = pt_source_texts_new("", NULL, NULL, NULL);
    const pt_listing_request request = {.pattern = regex, .with_lines = true, .texts = texts};
    assert_int_equal(pt_listing_init(&listing, p, &request, NULL), PT_ERR_NOTFOUND);
    pt_source_texts_free(texts);
    pt_regex_free(regex);
}

static void the_limit_counts_what_it_leaves_out(void **state)
{
    PT_UNREF_PROFILE const pt_profile *p = profile_of(SAMPLES, "a 1\nb 2\nc 3\n");
    pt_regex *regex;
    pt_listing listing;
    assert_int_equal(pt_regex_new(".", 0, &regex, NULL), PT_OK);
    pt_source_texts *texts = pt_source_texts_new("", NULL, NULL, NULL);
    const pt_listing_request request = {
        .pattern = regex, .with_lines = true, .texts = texts, .limit = 2};
    assert_int_equal(pt_listing_init(&listing, p, &request, NULL), PT_OK);
    assert_int_equal(listing.count, 2);
    assert_int_equal(listing.more, 1);
    assert_string_equal(listing.function[0].name, "c");
    pt_listing_done(&listing);
    pt_source_texts_free(texts);
    pt_regex_free(regex);
}

static int make_source(void **state)
{
    char path[64];
    if (mkdtemp(source_folder) == NULL) return -1;
    snprintf(path, sizeof path, "%s/x.c", source_folder);
    FILE *f = fopen(path, "w");
    if (f == NULL) return -1;
    fputs("one\ntwo\nthree\nfour\nfive\nsix\nseven\neight\nnine\nten\n", f);
    return fclose(f);
}

static int remove_source(void **state)
{
    char path[64];
    snprintf(path, sizeof path, "%s/x.c", source_folder);
    unlink(path);
    return rmdir(source_folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_line_has_what_ends_on_it_and_what_passes_through_it),
        cmocka_unit_test(recursion_counts_a_line_and_a_function_once_a_sample),
        cmocka_unit_test(what_is_inlined_counts_for_the_line_of_the_call_and_in_its_own_function),
        cmocka_unit_test(context_is_shown_around_and_a_gap_of_one_line_is_filled),
        cmocka_unit_test(the_whole_function_goes_to_its_last_sample),
        cmocka_unit_test(lines_past_the_end_and_without_a_number_are_kept),
        cmocka_unit_test(a_missing_source_leaves_the_numbers),
        cmocka_unit_test(functions_of_one_name_in_two_files_are_two),
        cmocka_unit_test(a_pattern_that_names_no_function_may_name_a_file),
        cmocka_unit_test(what_matches_nothing_is_not_found),
        cmocka_unit_test(the_limit_counts_what_it_leaves_out),
    };
    return cmocka_run_group_tests(tests, make_source, remove_source);
}
