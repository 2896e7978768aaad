/* test_name_index.c: what was written comes back; what is damaged, foreign or too much does not.
 * The columns are written down here; the damage is done to every byte of a file. */
#include "base_check.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/index.h"
#include "source/name_index.h"

static const uint64_t addresses[] = {0x10, 0x20, 0xffffffff81000000};
static const pt_name_symbol symbols[] = {{0x10, 8}, {0}, {0xffffffff81000000, 64}};
static const uint32_t firsts[] = {0, 2, 2, 3}; /* the second address has no name */
static const pt_name_frame frames[] = {{0, 7, 3}, {1, 12, 0}, {1, 14, 1}};
static const pt_name_text functions[] = {
    {"_Z5inneri", "inner", "/src/a.c", 5, {NULL, "inner", "inner(int)"}},
    {"outer", "outer", "/src/a.c", 0, {"outer", NULL, NULL}},
};
static const pt_name_columns columns = {3, 3, 2, addresses, symbols, firsts, frames, functions};

/* A copy at an aligned place. */
static uint8_t *aligned(const pt_buf *bytes)
{
    uint8_t *copy = pt_alloc(bytes->size + 1, 1);
    memcpy(copy, bytes->data, bytes->size);
    return copy;
}

static pt_buf file_of_columns(void)
{
    pt_buf bytes = PT_BUF_INIT;
    pt_error error = PT_ERROR_INIT;
    assert_int_equal(pt_name_index_put(&bytes, &columns, "test 1", &error), PT_OK);
    return bytes;
}

static void what_was_put_is_found(void **state)
{
    (void)state;
    pt_buf bytes = file_of_columns();
    PT_FREE uint8_t *copy = aligned(&bytes);
    pt_name_index x;
    pt_name_row row;
    pt_name_text text;
    assert_int_equal(pt_name_index_parse(copy, bytes.size, "test 1", &x, NULL), PT_OK);
    assert_int_equal(pt_name_index_find(&x, 0x11), PT_NONE);
    assert_int_equal(pt_name_index_find(&x, 0), PT_NONE);
    assert_int_equal(pt_name_index_find(&x, UINT64_MAX), PT_NONE);
    assert_int_equal(pt_name_index_find(&x, 0xffffffff81000000), 2);
    assert_true(pt_name_index_row(&x, pt_name_index_find(&x, 0x10), &row));
    assert_int_equal(row.frame_count, 2);
    assert_int_equal(row.symbol.size_bytes, 8);
    assert_int_equal(row.frames[0].line, 7);
    assert_true(pt_name_index_function(&x, row.frames[0].function, &text));
    assert_string_equal(text.linkage_name, "_Z5inneri");
    assert_string_equal(text.file, "/src/a.c");
    assert_int_equal(text.start_line, 5);
    assert_null(text.readable[0]);
    assert_string_equal(text.readable[2], "inner(int)");
    assert_true(pt_name_index_row(&x, 1, &row));
    assert_int_equal(row.frame_count, 0);
    assert_true(pt_name_index_verify(&x));
    pt_name_index_done(&x);
    pt_buf_done(&bytes);
}

static void another_stamp_is_another_file(void **state)
{
    (void)state;
    pt_buf bytes = file_of_columns();
    PT_FREE uint8_t *copy = aligned(&bytes);
    pt_name_index x;
    assert_int_equal(pt_name_index_parse(copy, bytes.size, "test 2", &x, NULL), PT_ERR_FORMAT);
    assert_int_equal(pt_name_index_parse(copy, bytes.size, NULL, &x, NULL), PT_ERR_FORMAT);
    pt_buf_done(&bytes);
}

/* Opens and reads all; true if nothing was found to be wrong. */
static bool survives(const uint8_t *bytes, size_t size_bytes)
{
    pt_name_index x;
    if (pt_name_index_parse(bytes, size_bytes, "test 1", &x, NULL) != PT_OK) return false;
    const bool ok = pt_name_index_verify(&x);
    assert_int_equal(ok, !x.is_broken);
    pt_name_index_done(&x);
    return ok;
}

static void every_changed_byte_is_noticed(void **state)
{
    (void)state;
    pt_buf bytes = file_of_columns();
    PT_FREE uint8_t *copy = aligned(&bytes);
    assert_true(survives(copy, bytes.size));
    /* The padding between the checks and the body is nobody's. */
    for (size_t i = 0; i < bytes.size; i++) {
        if (i >= 84 && i < 88) continue;
        copy[i] ^= 0x10;
        if (survives(copy, bytes.size)) fail_msg("byte %zu may be anything", i);
        copy[i] ^= 0x10;
    }
    for (size_t i = 0; i < bytes.size; i++)
        assert_false(survives(copy, i));
    pt_buf_done(&bytes);
}

/* ---- the folder ---- */

static char folder[64];
static pt_name_cache cache;

static int make_folder(void **state)
{
    (void)state;
    strcpy(folder, "/tmp/pitot-names.XXXXXX");
    if (mkdtemp(folder) == NULL) return -1;
    cache = (pt_name_cache){.folder = folder, .stamp = "test 1"};
    return 0;
}

static int remove_folder(void **state)
{
    (void)state;
    PT_FREE char *command = pt_strf("rm -rf '%s'", folder);
    return system(command) == 0 ? 0 : -1;
}

static void a_file_is_kept_under_its_key(void **state)
{
    (void)state;
    pt_name_index x;
    pt_error error = PT_ERROR_INIT;
    assert_int_equal(pt_name_index_open(&cache, "abcd", &x, &error), PT_ERR_NOTFOUND);
    assert_int_equal(pt_name_index_save(&cache, "abcd", &columns, &error), PT_OK);
    assert_int_equal(pt_name_index_open(&cache, "abcd", &x, &error), PT_OK);
    assert_int_equal(x.address_count, 3);
    pt_name_index_done(&x);
    assert_int_equal(pt_name_index_open(&cache, "abce", &x, &error), PT_ERR_NOTFOUND);
    const pt_name_cache nowhere = {.folder = NULL};
    assert_int_equal(pt_name_index_save(&nowhere, "abcd", &columns, &error), PT_ERR_USAGE);
    assert_int_equal(pt_name_index_open(&nowhere, "abcd", &x, &error), PT_ERR_NOTFOUND);
}

/* Sets when a file was used. */
static void used_at(const char *key, time_t when)
{
    PT_FREE char *path = pt_strf("%s/%s.2.names", folder, key);
    const struct timespec times[2] = {{.tv_sec = when}, {.tv_sec = when}};
    assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
}

static bool is_kept(const char *key)
{
    PT_FREE char *path = pt_strf("%s/%s.2.names", folder, key);
    return access(path, R_OK) == 0;
}

static void what_was_used_least_recently_goes_first(void **state)
{
    (void)state;
    pt_error error = PT_ERROR_INIT;
    pt_buf bytes = file_of_columns();
    cache.max_bytes = bytes.size * 4;
    for (const char *const *key = (const char *const[]){"one", "two", "three", "four", NULL};
         *key != NULL; key++)
        assert_int_equal(pt_name_index_save(&cache, *key, &columns, &error), PT_OK);
    used_at("one", 1000);
    used_at("two", 3000);
    used_at("three", 2000);
    used_at("four", 4000);
    pt_name_index x;
    assert_int_equal(pt_name_index_open(&cache, "one", &x, &error), PT_OK); /* it is in use again */
    pt_name_index_done(&x);
    assert_int_equal(pt_name_index_save(&cache, "five", &columns, &error), PT_OK);
    assert_true(is_kept("one") && is_kept("two") && !is_kept("three") && is_kept("four"));
    assert_true(is_kept("five"));
    cache.max_bytes = bytes.size * 4 - 1;
    assert_int_equal(pt_name_index_save(&cache, "six", &columns, &error), PT_ERR_LIMIT);
    assert_false(is_kept("six"));
    pt_buf_done(&bytes);
}

static void only_our_files_are_counted_and_removed(void **state)
{
    (void)state;
    pt_error error = PT_ERROR_INIT;
    pt_name_cache_facts facts;
    PT_FREE char *other = pt_strf("%s/notes.txt", folder);
    FILE *f = fopen(other, "w");
    fputs("mine", f);
    fclose(f);
    assert_int_equal(pt_name_index_save(&cache, "abcd", &columns, &error), PT_OK);
    pt_name_cache_look(&cache, false, &facts);
    assert_int_equal(facts.file_count, 1);
    pt_name_cache_look(&cache, true, &facts);
    assert_int_equal(facts.file_count, 1);
    pt_name_cache_look(&cache, false, &facts);
    assert_int_equal(facts.file_count, 0);
    assert_int_equal(access(other, R_OK), 0);
}

static void a_folder_that_others_may_write_to_is_not_used(void **state)
{
    (void)state;
    pt_error error = PT_ERROR_INIT;
    assert_int_equal(chmod(folder, 0777), 0);
    assert_int_equal(pt_name_index_save(&cache, "abcd", &columns, &error), PT_ERR_SYSTEM);
    assert_false(is_kept("abcd"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_put_is_found),
        cmocka_unit_test(another_stamp_is_another_file),
        cmocka_unit_test(every_changed_byte_is_noticed),
        cmocka_unit_test_setup_teardown(a_file_is_kept_under_its_key, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(what_was_used_least_recently_goes_first, make_folder,
                                        remove_folder),
        cmocka_unit_test_setup_teardown(only_our_files_are_counted_and_removed, make_folder,
                                        remove_folder),
        cmocka_unit_test_setup_teardown(a_folder_that_others_may_write_to_is_not_used, make_folder,
                                        remove_folder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
