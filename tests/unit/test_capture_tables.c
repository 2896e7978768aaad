/* test_capture_tables.c: tables that were kept come back as they were, and broken ones never. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dirent.h>
#include <dlfcn.h>
#include <gnu/libc-version.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/plain/kept_key.h"
#include "capture/tables.h"
#include "unwind/heap.h"
#include "unwind_maker.h"

static char folder[64];
static pt_table_cache cache;
static void *blob; /* of the C library */
static size_t blob_bytes;
static const uint8_t id_bytes[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10};
static const pt_elf_id id = {.bytes = id_bytes, .size_bytes = sizeof id_bytes};

static int compile(void **state)
{
    Dl_info libc;
    pt_blob file = PT_BLOB_INIT;
    pt_elf elf;
    strcpy(folder, "/tmp/pitot-test-XXXXXX");
    if (mkdtemp(folder) == NULL || dladdr((void *)(uintptr_t)gnu_get_libc_version, &libc) == 0 ||
        pt_file_read(libc.dli_fname, 0, SIZE_MAX, &file, NULL) != PT_OK ||
        pt_elf_open(file.data, file.size, &elf) != PT_ELF_OK ||
        pt_unwind_compile_elf(&elf, id_bytes, sizeof id_bytes, &pt_unwind_heap, &blob,
                              &blob_bytes) != PT_UNWIND_OK)
        return -1;
    pt_blob_done(&file);
    return 0;
}

static int clean(void **state)
{
    PT_FREE char *command = pt_strf("rm -r '%s'", folder);
    free(blob);
    return system(command);
}

static int empty(void **state)
{
    PT_FREE char *command = pt_strf("rm -rf '%s/tables'", folder);
    PT_FREE char *tables = pt_strf("%s/tables", folder);
    free((char *)(uintptr_t)cache.folder);
    cache = (pt_table_cache){.folder = pt_strdup(tables), .stamp = "test 1"};
    return system(command);
}

/* The one file in the folder; the caller frees. */
static char *the_file(void)
{
    DIR *const dir = opendir(cache.folder);
    const struct dirent *entry;
    char *path = NULL;
    while (dir != NULL && path == NULL && (entry = readdir(dir)) != NULL)
        if (entry->d_name[0] != '.') path = pt_strf("%s/%s", cache.folder, entry->d_name);
    if (dir != NULL) closedir(dir);
    return path;
}

/* A file of ours of that size, last changed in 2001. */
static struct stat file_of(off_t size)
{
    return (struct stat){.st_mode = S_IFREG | 0755,
                         .st_uid = geteuid(),
                         .st_ino = 17,
                         .st_size = size,
                         .st_ctim.tv_sec = 1000000000};
}

static void keep_of(const pt_table_cache *to, pt_elf_id of, off_t size, size_t bytes)
{
    const struct stat file = file_of(size);
    pt_table_keep(to, of, &file, blob, bytes);
}

static bool is_kept_of(const pt_table_cache *from, pt_elf_id of, const struct stat *file)
{
    void *got = NULL;
    size_t got_bytes = 0;
    pt_unwind_table table;
    const bool is = pt_table_kept(from, of, file, &got, &got_bytes, &table);
    if (is) {
        assert_int_equal(got_bytes, blob_bytes);
        assert_memory_equal(got, blob, blob_bytes);
    }
    free(got);
    return is;
}

static bool is_kept(const pt_table_cache *from, pt_elf_id of, off_t size)
{
    const struct stat file = file_of(size);
    return is_kept_of(from, of, &file);
}

static void a_table_is_of_one_file_as_it_was(void **state)
{
    const struct stat kept = file_of(1000);
    struct stat file = kept;
    pt_table_keep(&cache, id, &file, blob, blob_bytes);
    assert_true(is_kept_of(&cache, id, &file));
    file.st_ctim.tv_nsec++; /* rewritten */
    assert_false(is_kept_of(&cache, id, &file));
    file = kept;
    file.st_ino++; /* another that says it has the same build id */
    assert_false(is_kept_of(&cache, id, &file));
    file.st_uid = geteuid() + 1000; /* another user's claim is neither believed nor kept */
    pt_table_keep(&cache, id, &file, blob, blob_bytes);
    assert_false(is_kept_of(&cache, id, &file));
}

static void a_table_is_found_by_build_id_size_and_who_made_it(void **state)
{
    pt_table_cache other = cache, none = {.stamp = ""};
    const uint8_t other_bytes[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 11};
    const pt_elf_id other_id = {.bytes = other_bytes, .size_bytes = sizeof other_bytes};
    const pt_elf_id no_id = {0};
    other.stamp = "test 2";
    assert_false(is_kept(&cache, id, 1000));
    keep_of(&cache, id, 1000, blob_bytes);
    keep_of(&none, id, 1000, blob_bytes);
    keep_of(&cache, no_id, 1000, blob_bytes);
    assert_true(is_kept(&cache, id, 1000));
    assert_false(is_kept(&cache, id, 1001));
    assert_false(is_kept(&other, id, 1000));
    assert_false(is_kept(&cache, other_id, 1000));
    assert_false(is_kept(&none, id, 1000));
    assert_false(is_kept(&cache, no_id, 1000));
}

/* A program has dozens of them, and each is compiled from code and symbols, too. */
static void a_small_table_is_kept_like_a_large_one(void **state)
{
    enum { SMALL_BYTES = 4 };
    keep_of(&cache, id, 1000, SMALL_BYTES);
    PT_FREE char *path = the_file();
    assert_non_null(path);
}

static void a_broken_file_is_none_and_is_replaced(void **state)
{
    keep_of(&cache, id, 1000, blob_bytes);
    PT_FREE char *path = the_file();
    assert_non_null(path);
    for (size_t at = 0; at < blob_bytes; at += at < 200 ? 1 : 997) { /* one bit, anywhere */
        FILE *const file = fopen(path, "r+");
        const uint8_t bit = (uint8_t)(((const uint8_t *)blob)[at] ^ (1 << at % 8));
        fseek(file, (long)at, SEEK_SET);
        fputc(bit, file);
        fclose(file);
        assert_false(is_kept(&cache, id, 1000));
        FILE *const again = fopen(path, "r+");
        fseek(again, (long)at, SEEK_SET);
        fputc(((const uint8_t *)blob)[at], again);
        fclose(again);
    }
    assert_true(is_kept(&cache, id, 1000));
    for (size_t size = blob_bytes; size > 0; size = size * 3 / 4) { /* cut */
        assert_int_equal(truncate(path, (off_t)size - 1), 0);
        assert_false(is_kept(&cache, id, 1000));
    }
    keep_of(&cache, id, 1000, blob_bytes);
    assert_true(is_kept(&cache, id, 1000));
}

/* However many tables there are. */
static void tables_of_this_program_are_offered_by_one_link(void **state)
{
    char offer[] = "/tmp/pitot-offer.XXXXXX", to[512] = "", key[256];
    assert_non_null(mkdtemp(offer));
    struct stat file = file_of(1000);
    pt_table_keep(&cache, id, &file, blob, blob_bytes);
    PT_FREE char *path = the_file();
    file.st_ino++;
    pt_table_keep(&cache, id, &file, blob, blob_bytes);
    file.st_ino--;
    pt_table_offer(&cache, offer);
    PT_FREE char *link = pt_strf("%s/tables", offer);
    assert_true(readlink(link, to, sizeof to - 1) > 0);
    /* The path of a table, with a star in place of the file's key. */
    char *const star = strrchr(to, '*');
    assert_non_null(star);
    pt_kept_key_put(key, sizeof key, "0102030405060708090a", &file);
    PT_FREE char *named = pt_strf("%.*s%s%s", (int)(star - to), to, key, star + 1);
    assert_string_equal(named, path);
    unlink(link);
    assert_int_equal(rmdir(offer), 0); /* there is no other */
}

static void what_others_may_write_to_is_not_read(void **state)
{
    keep_of(&cache, id, 1000, blob_bytes);
    PT_FREE char *path = the_file();
    assert_int_equal(chmod(path, 0666), 0);
    assert_false(is_kept(&cache, id, 1000));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(a_table_is_found_by_build_id_size_and_who_made_it, empty),
        cmocka_unit_test_setup(a_table_is_of_one_file_as_it_was, empty),
        cmocka_unit_test_setup(a_small_table_is_kept_like_a_large_one, empty),
        cmocka_unit_test_setup(a_broken_file_is_none_and_is_replaced, empty),
        cmocka_unit_test_setup(tables_of_this_program_are_offered_by_one_link, empty),
        cmocka_unit_test_setup(what_others_may_write_to_is_not_read, empty),
    };
    const int failed = cmocka_run_group_tests(tests, compile, clean);
    free((char *)(uintptr_t)cache.folder);
    return failed;
}
