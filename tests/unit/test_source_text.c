/* Source files are found and cut into lines by google/pprof's rules (internal/report/source.go). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "source/text.h"

static void trims(const char *name, const char *trim_path, const char *source_path,
                  const char *wanted)
{
    assert_string_equal(pt_source_trim(name, trim_path, source_path), wanted);
}

static void a_prefix_of_the_trim_path_is_taken_off_at_a_slash(void **state)
{
    trims("/build/app/src/x.c", "/build/app", NULL, "src/x.c");
    trims("/build/app/src/x.c", "/build/app/", NULL, "src/x.c");
    trims("/build/application/x.c", "/build/app", NULL, "/build/application/x.c");
    trims("/build/app/src/x.c", "/other:/build", NULL, "app/src/x.c");
}

static void the_first_prefix_that_fits_is_the_one(void **state)
{
    trims("/a/b/c/x.c", "/a:/a/b", NULL, "b/c/x.c");
}

static void proc_self_cwd_is_always_a_prefix(void **state)
{
    trims("/proc/self/cwd/src/x.c", NULL, NULL, "src/x.c");
    trims("/proc/self/cwd/./src/x.c", "/a", "/home/me/src", "src/x.c");
}

static void without_a_trim_path_what_lies_behind_the_searched_folders_name_stays(void **state)
{
    trims("/some/remote/app/foo/bar.c", NULL, "/home/me/app", "foo/bar.c");
    trims("/some/remote/app/foo/bar.c", "", "/x:/home/me/app/", "foo/bar.c");
    trims("/some/app/app/bar.c", NULL, "/home/app", "app/bar.c");
    trims("/some/remote/app2/bar.c", NULL, "/home/me/app", "/some/remote/app2/bar.c");
}

static void a_trim_path_turns_the_guess_off(void **state)
{
    trims("/some/remote/app/foo/bar.c", "/other", "/home/me/app", "/some/remote/app/foo/bar.c");
}

static void cleans(const char *path, const char *wanted)
{
    char *got = pt_source_clean(path);
    assert_string_equal(got, wanted);
    free(got);
}

/* The examples of Go's path/filepath documentation and its rules, one each. */
static void paths_are_cleaned_as_go_does(void **state)
{
    cleans("", ".");
    cleans("a//b/./c/", "a/b/c");
    cleans("a/b/../c", "a/c");
    cleans("/../a", "/a");
    cleans("../../a/..", "../..");
    cleans("/", "/");
    cleans("a/..", ".");
    cleans("//a", "/a");
    cleans("..a/b", "..a/b");
}

/* ---- Files ---- */

typedef struct {
    char folder[64];
} place;

static void write_file(const char *folder, const char *name, const char *text)
{
    char path[256];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

static int make_place(void **state)
{
    place *p = calloc(1, sizeof *p);
    snprintf(p->folder, sizeof p->folder, "/tmp/pitot-text.XXXXXX");
    if (mkdtemp(p->folder) == NULL) return -1;
    char path[256];
    snprintf(path, sizeof path, "%s/top", p->folder);
    mkdir(path, 0700);
    snprintf(path, sizeof path, "%s/top/deep", p->folder);
    mkdir(path, 0700);
    write_file(p->folder, "x.c", "one\ntwo\r\n\nfour");
    write_file(p->folder, "top/y.c", "why\n");
    write_file(p->folder, "empty.c", "");
    *state = p;
    return 0;
}

static int remove_place(void **state)
{
    place *p = *state;
    static const char *const names[] = {"x.c", "top/y.c", "empty.c", "long.c", "top/deep", "top"};
    char path[256];
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        snprintf(path, sizeof path, "%s/%s", p->folder, names[i]);
        remove(path);
    }
    rmdir(p->folder);
    free(p);
    return 0;
}

static void line_is(const pt_source_file *file, int64_t number, const char *wanted)
{
    const char *text;
    size_t size;
    assert_true(pt_source_line(file, number, &text, &size));
    assert_int_equal(size, strlen(wanted));
    assert_memory_equal(text, wanted, size);
}

static void a_file_is_cut_into_lines_without_their_ends(void **state)
{
    place *p = *state;
    const char *text;
    size_t size;
    pt_source_texts *texts = pt_source_texts_new(p->folder, NULL, NULL, NULL);
    const pt_source_file *file = pt_source_texts_file(texts, "x.c", "");
    assert_null(file->error);
    assert_int_equal(file->line_count, 4);
    line_is(file, 1, "one");
    line_is(file, 2, "two");
    line_is(file, 3, "");
    line_is(file, 4, "four");
    assert_false(pt_source_line(file, 0, &text, &size));
    assert_false(pt_source_line(file, 5, &text, &size));
    assert_false(pt_source_line(file, -1, &text, &size));
    const pt_source_file *empty = pt_source_texts_file(texts, "empty.c", "");
    assert_null(empty->error);
    assert_int_equal(empty->line_count, 0);
    assert_ptr_equal(file, pt_source_texts_file(texts, "x.c", ""));
    pt_source_texts_free(texts);
}

static void relative_names_are_looked_for_in_each_folder_and_all_above(void **state)
{
    place *p = *state;
    char list[256];
    snprintf(list, sizeof list, "/nowhere:%s/top/deep", p->folder);
    pt_source_texts *texts = pt_source_texts_new(list, NULL, NULL, NULL);
    line_is(pt_source_texts_file(texts, "y.c", ""), 1, "why");
    line_is(pt_source_texts_file(texts, "x.c", ""), 1, "one");
    line_is(pt_source_texts_file(texts, "/else/where/deep/y.c", ""), 1, "why");
    pt_source_texts_free(texts);
}

/* Words of Go's os and of openSourceFile. */
static void a_missing_file_is_told_in_pprofs_words(void **state)
{
    pt_source_texts *texts = pt_source_texts_new("/nowhere", NULL, NULL, NULL);
    assert_string_equal(pt_source_texts_file(texts, "/no/x.c", "")->error,
                        "open /no/x.c: no such file or directory");
    assert_string_equal(pt_source_texts_file(texts, "no/x.c", "")->error,
                        "could not find file no/x.c on path /nowhere");
    pt_source_texts_free(texts);
}

static char *from_place(void *context, const char *build_id, const char *name)
{
    assert_string_equal(build_id, "abcd");
    assert_string_equal(name, "/gone/x.c");
    return pt_strdup(context);
}

static void the_last_resort_is_asked_when_nothing_was_found(void **state)
{
    place *p = *state;
    char path[256];
    snprintf(path, sizeof path, "%s/x.c", p->folder);
    pt_source_texts *texts = pt_source_texts_new(NULL, NULL, from_place, path);
    const pt_source_file *file = pt_source_texts_file(texts, "/gone/x.c", "abcd");
    assert_null(file->error);
    assert_string_equal(file->path, path);
    line_is(file, 1, "one");
    pt_source_texts_free(texts);
}

/* bufio.Scanner of Go gives up at a line that does not fit into 64 KiB with its end. */
static void where_pprof_stops_reading_is_known(void **state)
{
    place *p = *state;
    char path[256];
    snprintf(path, sizeof path, "%s/long.c", p->folder);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fprintf(f, "first\n%*s\n%*s\nlast\n", 65535, "x", 65536, "y");
    fclose(f);
    pt_source_texts *texts = pt_source_texts_new(p->folder, NULL, NULL, NULL);
    const pt_source_file *file = pt_source_texts_file(texts, "long.c", "");
    assert_int_equal(file->line_count, 4);
    assert_int_equal(file->short_count, 2);
    pt_source_texts_free(texts);
}

static void a_fifo_is_not_waited_for(void **state)
{
    place *p = *state;
    char path[256];
    snprintf(path, sizeof path, "%s/long.c", p->folder);
    assert_int_equal(mkfifo(path, 0600), 0);
    pt_source_texts *texts = pt_source_texts_new(p->folder, NULL, NULL, NULL);
    assert_int_equal(pt_source_texts_file(texts, "long.c", "")->line_count, 0);
    pt_source_texts_free(texts);
}

#define WITH_PLACE(test) cmocka_unit_test_setup_teardown(test, make_place, remove_place)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_prefix_of_the_trim_path_is_taken_off_at_a_slash),
        cmocka_unit_test(the_first_prefix_that_fits_is_the_one),
        cmocka_unit_test(proc_self_cwd_is_always_a_prefix),
        cmocka_unit_test(without_a_trim_path_what_lies_behind_the_searched_folders_name_stays),
        cmocka_unit_test(a_trim_path_turns_the_guess_off),
        cmocka_unit_test(paths_are_cleaned_as_go_does),
        WITH_PLACE(a_file_is_cut_into_lines_without_their_ends),
        WITH_PLACE(relative_names_are_looked_for_in_each_folder_and_all_above),
        cmocka_unit_test(a_missing_file_is_told_in_pprofs_words),
        WITH_PLACE(the_last_resort_is_asked_when_nothing_was_found),
        WITH_PLACE(where_pprof_stops_reading_is_known),
        WITH_PLACE(a_fifo_is_not_waited_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
