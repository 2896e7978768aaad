/* test_base_file.c: reading whole files of every kind, and writing them atomically. */
#include "base_check.h"

#include "base/file.h"

#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[64];

static int make_folder(void **state)
{
    snprintf(folder, sizeof folder, "%s", "/tmp/pitot-file-XXXXXX");
    return mkdtemp(folder) == NULL || chdir(folder) != 0;
}

static int remove_folder(void **state)
{
    DIR *const dir = opendir(".");
    for (struct dirent *entry; (entry = readdir(dir)) != NULL;)
        if (unlink(entry->d_name) != 0) rmdir(entry->d_name);
    closedir(dir);
    return chdir("/") != 0 || rmdir(folder) != 0;
}

static void write_file(const char *name, const void *data, size_t size)
{
    FILE *const f = fopen(name, "w");
    assert_non_null(f);
    assert_int_equal(fwrite(data, 1, size, f), size);
    assert_int_equal(fclose(f), 0);
}

static size_t entries_in_folder(void)
{
    size_t n = 0;
    DIR *const dir = opendir(".");
    while (readdir(dir) != NULL)
        n++;
    closedir(dir);
    return n - 2;
}

static void check_refused(const char *path, uint64_t max_bytes, pt_status expected,
                          const char *message)
{
    pt_blob blob = PT_BLOB_INIT;
    pt_error error = PT_ERROR_INIT;
    char text[1200];
    assert_int_equal(pt_file_read(path, 0, max_bytes, &blob, &error), expected);
    assert_null(blob.data);
    pt_error_text(&error, text, sizeof text);
    assert_string_equal(text, message);
}

static void every_reason_not_to_read_has_its_own_line(void **state)
{
    write_file("empty", "", 0);
    write_file("ten", "0123456789", 10);
    mkdir("dir", 0777);
    check_refused("absent", 1000, PT_ERR_NOTFOUND, "absent: no such file");
    check_refused("dir", 1000, PT_ERR_SYSTEM, "dir: is a directory; name a file in it");
    check_refused("empty", 1000, PT_ERR_FORMAT, "empty: is empty");
    check_refused("ten", 9, PT_ERR_LIMIT,
                  "ten: has 10 bytes, more than the limit of 9 bytes of memory");
    check_refused("/dev/zero", 5000000, PT_ERR_LIMIT,
                  "/dev/zero: is longer than the limit of 5000000 bytes of memory");
    check_refused("ten/x", 10, PT_ERR_SYSTEM, "ten/x: cannot open: Not a directory");
    if (geteuid() != 0) {
        chmod("ten", 0);
        check_refused("ten", 10, PT_ERR_SYSTEM, "ten: cannot open: Permission denied");
    }
}

static void reads_regular_files_and_those_of_proc(void **state)
{
    pt_blob blob = PT_BLOB_INIT;
    write_file("ten", "0123456789", 10);
    assert_int_equal(pt_file_read("ten", 0, 10, &blob, NULL), PT_OK);
    assert_int_equal(blob.size, 10);
    assert_memory_equal(blob.data, "0123456789", 10);
    pt_blob_done(&blob);
    /* stat says 0 bytes for it */
    assert_int_equal(pt_file_read("/proc/self/maps", 0, 1 << 24, &blob, NULL), PT_OK);
    assert_true(blob.size > 100);
    pt_blob_done(&blob);
    write_file("empty", "", 0);
    assert_int_equal(pt_file_read("empty", PT_FILE_EMPTY_OK, 10, &blob, NULL), PT_OK);
    assert_int_equal(blob.size, 0);
    pt_blob_done(&blob);
}

static void *feed(void *arg)
{
    FILE *const f = fopen("fifo", "w");
    for (int i = 0; i < 100000; i++)
        fprintf(f, "%06d\n", i);
    fclose(f);
    return NULL;
}

static void reads_a_fifo_to_its_end(void **state)
{
    assert_int_equal(mkfifo("fifo", 0600), 0);
    pthread_t thread;
    pthread_create(&thread, NULL, feed, NULL);
    pt_blob blob = PT_BLOB_INIT;
    assert_int_equal(pt_file_read("fifo", 0, UINT64_MAX, &blob, NULL), PT_OK);
    pthread_join(thread, NULL);
    assert_int_equal(blob.size, 700000);
    assert_memory_equal(blob.data + 699993, "099999\n", 7);
    pt_blob_done(&blob);
}

static void write_big(const char *name, size_t megabytes)
{
    char *const chunk = pt_alloc(1 << 20, 1);
    FILE *const f = fopen(name, "w");
    for (size_t i = 0; i < megabytes; i++) {
        memset(chunk, 'a' + (int)(i % 26), 1 << 20);
        assert_int_equal(fwrite(chunk, 1, 1 << 20, f), 1 << 20);
    }
    fclose(f);
    free(chunk);
}

static void a_large_file_is_mapped_only_under_the_guard_and_survives_being_cut(void **state)
{
    write_big("big", 6);
    pt_blob blob = PT_BLOB_INIT;
    assert_int_equal(pt_file_read("big", 0, UINT64_MAX, &blob, NULL), PT_OK);
    assert_int_equal(blob.kind, PT_BLOB_ANONYMOUS);
    pt_blob_done(&blob);

    pt_file_guard();
    check_refused("big", 1000, PT_ERR_LIMIT,
                  "big: has 6291456 bytes, more than the limit of 1000 bytes of memory");
    assert_int_equal(pt_file_read("big", PT_FILE_OF_ANY_SIZE, 1000, &blob, NULL), PT_OK);
    assert_int_equal(blob.kind, PT_BLOB_MAPPED);
    assert_int_equal(blob.size, 6 << 20);
    assert_int_equal(blob.data[(6 << 20) - 1], 'f');
    assert_true(pt_blob_intact(&blob));
    assert_int_equal(truncate("big", (2 << 20) + 5000), 0);
    unsigned sum = 0;
    for (size_t i = 3 << 20; i < blob.size; i++)
        sum += blob.data[i];
    assert_int_equal(sum, 0);
    assert_false(pt_blob_intact(&blob));
    assert_int_equal(blob.data[5 << 18], 'b');
    pt_blob_done(&blob);

    assert_int_equal(pt_file_read("big", 0, UINT64_MAX, &blob, NULL), PT_OK);
    assert_true(pt_blob_intact(&blob)); /* a new mapping in the old one's slot */
    pt_blob_done(&blob);
}

static size_t resident_pages(const pt_blob *blob)
{
    unsigned char in_core[4096] = {0};
    const size_t pages = blob->map_bytes / 4096;
    assert_true(pages <= sizeof in_core);
    assert_int_equal(mincore((void *)(uintptr_t)blob->data, blob->map_bytes, in_core), 0);
    size_t n = 0;
    for (size_t i = 0; i < pages; i++)
        n += in_core[i] & 1;
    return n;
}

static void discarded_pages_go_back_to_the_system(void **state)
{
    pt_blob blob = PT_BLOB_INIT;
    assert_int_equal(pt_blob_new(4 << 20, &blob, NULL), PT_OK);
    assert_int_equal(resident_pages(&blob), 0);
    memset(pt_blob_bytes(&blob), 'x', blob.size);
    assert_int_equal(resident_pages(&blob), 1024);
    pt_blob_discard(&blob, (1 << 20) + 100);
    assert_int_equal(resident_pages(&blob), 768);
    assert_int_equal(blob.data[(1 << 20) + 100], 'x');
    pt_blob_discard(&blob, SIZE_MAX);
    assert_int_equal(resident_pages(&blob), 0);
    assert_int_equal(pt_blob_resize(&blob, 100, NULL), PT_OK);
    assert_int_equal(blob.map_bytes, 4096);
    pt_blob_done(&blob);
}

static void check_holds(const char *name, const char *text)
{
    pt_blob blob = PT_BLOB_INIT;
    assert_int_equal(pt_file_read(name, PT_FILE_EMPTY_OK, 1000000, &blob, NULL), PT_OK);
    assert_int_equal(blob.size, strlen(text));
    assert_memory_equal(blob.data, text, blob.size);
    pt_blob_done(&blob);
}

static void a_new_file_appears_whole_at_commit(void **state)
{
    pt_file_writer w;
    umask(027);
    write_file("out", "the old text", 12);
    chmod("out", 0604);
    assert_int_equal(pt_file_create("out", PT_MODE_USUAL, &w, NULL), PT_OK);
    pt_out_text(&w.out, "the new");
    pt_out_flush(&w.out, NULL);
    check_holds("out", "the old text");
    assert_int_equal(pt_file_commit(&w, true, NULL), PT_OK);
    check_holds("out", "the new");
    struct stat st;
    stat("out", &st);
    assert_int_equal(st.st_mode & 0777, 0604);

    assert_int_equal(pt_file_create("fresh", PT_MODE_USUAL, &w, NULL), PT_OK);
    assert_int_equal(pt_file_commit(&w, false, NULL), PT_OK);
    stat("fresh", &st);
    assert_int_equal(st.st_mode & 0777, 0640);
    assert_int_equal(entries_in_folder(), 2);
    umask(022);
}

static void an_abandoned_or_failed_write_leaves_the_old_file(void **state)
{
    pt_file_writer w;
    write_file("out", "old", 3);
    assert_int_equal(pt_file_create("out", PT_MODE_USUAL, &w, NULL), PT_OK);
    pt_out_text(&w.out, "new");
    pt_file_abandon(&w);
    check_holds("out", "old");

    assert_int_equal(pt_file_create("out", PT_MODE_USUAL, &w, NULL), PT_OK);
    pt_error_set(&w.out.error, PT_ERR_SYSTEM, "the disk is full");
    pt_error error = PT_ERROR_INIT;
    assert_int_equal(pt_file_commit(&w, false, &error), PT_ERR_SYSTEM);
    assert_string_equal(error.message, "the disk is full");
    assert_string_equal(error.path, "out");
    check_holds("out", "old");
    assert_int_equal(entries_in_folder(), 1);
}

static void a_symbolic_link_is_followed_and_stays(void **state)
{
    mkdir("sub", 0777);
    assert_int_equal(symlink("sub/target", "link"), 0);
    pt_file_writer w;
    assert_int_equal(pt_file_create("link", PT_MODE_USUAL, &w, NULL), PT_OK);
    pt_out_text(&w.out, "through");
    assert_int_equal(pt_file_commit(&w, false, NULL), PT_OK);
    check_holds("sub/target", "through");
    struct stat st;
    lstat("link", &st);
    assert_true(S_ISLNK(st.st_mode));
    unlink("sub/target");

    assert_int_equal(symlink("loop", "loop"), 0);
    pt_error error = PT_ERROR_INIT;
    assert_int_equal(pt_file_create("loop", PT_MODE_USUAL, &w, &error), PT_ERR_SYSTEM);
    assert_string_equal(error.message, "cannot create: Too many levels of symbolic links");
}

static void devices_are_written_directly_and_folders_not_at_all(void **state)
{
    pt_file_writer w;
    pt_error error = PT_ERROR_INIT;
    assert_int_equal(pt_file_create("/dev/null", PT_MODE_USUAL, &w, NULL), PT_OK);
    assert_null(w.temp.name);
    pt_out_text(&w.out, "x");
    assert_int_equal(pt_file_commit(&w, true, NULL), PT_OK);
    assert_int_equal(pt_file_create("/dev/full", PT_MODE_USUAL, &w, NULL), PT_OK);
    pt_out_text(&w.out, "x");
    assert_int_equal(pt_file_commit(&w, false, &error), PT_ERR_SYSTEM);
    assert_string_equal(error.message, "cannot write: No space left on device");
    assert_int_equal(pt_file_create("/", PT_MODE_USUAL, &w, &error), PT_ERR_SYSTEM);
    assert_string_equal(error.message, "cannot create: Is a directory");
    assert_int_equal(pt_file_create("no/such/folder", PT_MODE_USUAL, &w, &error), PT_ERR_NOTFOUND);
}

static void the_previous_file_is_kept_as_old(void **state)
{
    bool kept = true;
    for (int i = 1; i <= 3; i++) {
        char text[2] = {(char)('0' + i), 0};
        pt_file_writer w;
        assert_int_equal(pt_file_create("p", PT_MODE_USUAL, &w, NULL), PT_OK);
        assert_int_equal(pt_file_keep_old(&w, &kept, NULL), PT_OK);
        assert_int_equal(kept, i > 1);
        pt_out_text(&w.out, text);
        assert_int_equal(pt_file_commit(&w, false, NULL), PT_OK);
    }
    check_holds("p", "3");
    check_holds("p.old", "2");
    assert_int_equal(entries_in_folder(), 2);
}

static void base_name_follows_the_last_slash(void **state)
{
    assert_string_equal(pt_base_name("/usr/lib/libc.so.6"), "libc.so.6");
    assert_string_equal(pt_base_name("main.c"), "main.c");
    assert_string_equal(pt_base_name("a/b/"), "a/b/");
    assert_string_equal(pt_base_name(""), "");
}

#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, make_folder, remove_folder)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(base_name_follows_the_last_slash),
        IN_FOLDER(every_reason_not_to_read_has_its_own_line),
        IN_FOLDER(reads_regular_files_and_those_of_proc),
        IN_FOLDER(reads_a_fifo_to_its_end),
        IN_FOLDER(a_large_file_is_mapped_only_under_the_guard_and_survives_being_cut),
        IN_FOLDER(discarded_pages_go_back_to_the_system),
        IN_FOLDER(a_new_file_appears_whole_at_commit),
        IN_FOLDER(an_abandoned_or_failed_write_leaves_the_old_file),
        IN_FOLDER(a_symbolic_link_is_followed_and_stays),
        IN_FOLDER(devices_are_written_directly_and_folders_not_at_all),
        IN_FOLDER(the_previous_file_is_kept_as_old),
    };
    return cmocka_run_group_tests_name("file", tests, NULL, NULL);
}
