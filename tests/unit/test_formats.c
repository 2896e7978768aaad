/* test_formats.c: what holds for every format: the registry, probing, round trips. Golden files are
 * those of tests/golden/FORMAT; $PITOT_CORPUS/FORMAT, if set, holds real files of others. */
#include "formats_check.h"

#include "base/compress.h"
#include "base/text.h"
#include "base/utf16.h"

#include <dirent.h>
#include <sys/stat.h>

#ifndef PT_GOLDEN_FOLDER
#error "the build names the folder of goldens"
#endif

static void names_and_aliases_belong_to_one_format_each(void **state)
{
    (void)state;
    for (size_t i = 0; i < pt_format_count; i++) {
        assert_ptr_equal(pt_format_find(pt_formats[i]->name), pt_formats[i]);
        const char *alias, *rest = pt_formats[i]->aliases;
        for (size_t n; (n = pt_next_word(&rest, &alias)) > 0;) {
            PT_FREE char *name = pt_strndup(alias, n);
            assert_ptr_equal(pt_format_find(name), pt_formats[i]);
        }
        assert_true(pt_formats[i]->read || pt_formats[i]->write);
    }
    assert_null(pt_format_find("nonsense"));
}

static void the_longest_extension_decides(void **state)
{
    (void)state;
    assert_string_equal(pt_format_for_path("a/b.c/out.pb.gz")->name, "pprof");
    assert_string_equal(pt_format_for_path("OUT.FOLDED")->name, "folded");
    assert_null(pt_format_for_path("out.txt"));
    assert_null(pt_format_for_path("folder.folded/out"));
    assert_null(pt_format_for_path(".folded")); /* a name, not an extension */
}

static void every_capability_has_a_name_and_a_loss(void **state)
{
    (void)state;
    uint32_t bits = 0;
    for (size_t i = 0; i < pt_capability_count; i++) {
        assert_int_equal(bits & pt_capabilities[i].bit, 0);
        bits |= pt_capabilities[i].bit;
    }
    for (size_t i = 0; i < pt_format_count; i++)
        assert_int_equal(pt_formats[i]->capabilities & ~bits, 0);
}

static pt_status probe_bytes(const void *data, size_t size, const pt_format **ret, pt_error *error)
{
    uint8_t padded[64] = {0};
    pt_probe_input input = {
        .head = data, .head_bytes = size < 65536 ? size : 65536, .file_bytes = size, .name = ""};
    if (size < sizeof padded) {
        memcpy(padded, data, size);
        input.head = padded;
    }
    return pt_format_probe(&input, ret, error);
}

static void assert_nobody_claims(const void *data, size_t size, const char *message)
{
    const pt_format *format = NULL;
    pt_error error = PT_ERROR_INIT;
    assert_int_equal(probe_bytes(data, size, &format, &error), PT_ERR_FORMAT);
    assert_non_null(strstr(error.message, message));
    assert_non_null(strstr(error.message, "--from"));
}

#define ASSERT_NOBODY_CLAIMS(literal, message)                                                     \
    assert_nobody_claims(literal, sizeof(literal) - 1, message)

static void other_files_are_named_and_claimed_by_nobody(void **state)
{
    (void)state;
    ASSERT_NOBODY_CLAIMS("\177ELF\2\1\1", "ELF image");
    ASSERT_NOBODY_CLAIMS("{\"a\": 1}\n", "JSON");
    ASSERT_NOBODY_CLAIMS("<html>", "HTML");
    ASSERT_NOBODY_CLAIMS("#!/bin/sh\necho 1\n", "script");
    ASSERT_NOBODY_CLAIMS("int main(void)\n{\n    return 0;\n}\n", "other text");
    ASSERT_NOBODY_CLAIMS("events: Cycles\nfunction=main\n16 400\n17 20\n", "other text");
    ASSERT_NOBODY_CLAIMS("total 12\nfile 4096\nother 12\n", "other text");
    ASSERT_NOBODY_CLAIMS("\0\0\0\0\3\0\0\0", "binary");
    ASSERT_NOBODY_CLAIMS("\n\nhello\n", "other text");
}

/* ---- Files ---- */

typedef void file_fn(const char *path, const char *format, const uint8_t *data, size_t size);

/* Is the file a source of a golden file? Sources lie beside the golden files. */
static bool is_source(const char *name)
{
    static const char *const ends[] = {"README.md", ".go",  ".c",  ".cc", ".h",    ".js",
                                       ".java",     ".jfc", ".py", ".hs", ".html", ".expected"};
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
        const size_t name_bytes = strlen(name), end_bytes = strlen(ends[i]);
        if (name_bytes >= end_bytes && strcmp(name + name_bytes - end_bytes, ends[i]) == 0)
            return true;
    }
    return false;
}

static void each_file_in(const char *folder, const char *format, file_fn *fn, size_t *count)
{
    DIR *dir = opendir(folder);
    if (!dir) return;
    for (struct dirent *entry; (entry = readdir(dir)) != NULL;) {
        char path[4096];
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        struct stat st;
        if (stat(path, &st) != 0 || !S_ISREG(st.st_mode)) continue;
        if (is_source(entry->d_name)) continue;
        pt_blob blob = PT_BLOB_INIT;
        pt_error error = PT_ERROR_INIT;
        if (pt_file_read(path, 0, 1 << 30, &blob, &error) != PT_OK ||
            pt_peel(&blob, 1 << 30, NULL, NULL, &error) != PT_OK ||
            (pt_is_utf16(blob.data, blob.size) && pt_blob_to_utf8(&blob, &error) != PT_OK))
            fail_msg("%s: %s", path, error.message);
        fn(path, format, blob.data, blob.size);
        pt_blob_done(&blob);
        ++*count;
    }
    closedir(dir);
}

/* Every golden, and every file of the corpus that is of the format. */
static void each_file(file_fn *fn)
{
    size_t goldens = 0, others = 0;
    const char *const corpus = getenv("PITOT_CORPUS");
    for (size_t i = 0; i < pt_format_count; i++) {
        char folder[2048];
        snprintf(folder, sizeof folder, "%s/%s", PT_GOLDEN_FOLDER, pt_formats[i]->name);
        each_file_in(folder, pt_formats[i]->name, fn, &goldens);
        if (!corpus) continue;
        snprintf(folder, sizeof folder, "%s/%s", corpus, pt_formats[i]->name);
        each_file_in(folder, pt_formats[i]->name, fn, &others);
    }
    assert_true(goldens > 0);
}

static void claims_only(const char *path, const char *format, const uint8_t *data, size_t size)
{
    const pt_format *found = NULL;
    pt_error error = PT_ERROR_INIT;
    if (probe_bytes(data, size, &found, &error) != PT_OK) fail_msg("%s: %s", path, error.message);
    if (strcmp(found->name, format) != 0) fail_msg("%s is taken for %s", path, found->name);
    pt_probe_input input = {
        .head = data, .head_bytes = size < 65536 ? size : 65536, .file_bytes = size, .name = ""};
    for (size_t i = 0; size >= 64 && i < pt_format_count; i++) {
        if (pt_formats[i] != found && pt_formats[i]->probe(&input) > 0)
            fail_msg("%s is claimed by %s, too", path, pt_formats[i]->name);
    }
}

static void exactly_one_format_claims_each_file(void **state)
{
    (void)state;
    each_file(claims_only);
}

static void is_claimed_once(const char *path, const char *format, const uint8_t *data, size_t size)
{
    (void)format;
    if (size >= 4 && memcmp(data, "\177ELF", 4) == 0) return; /* the program of a gmon.out */
    const pt_format *found = NULL;
    pt_error error = PT_ERROR_INIT;
    if (probe_bytes(data, size, &found, &error) != PT_OK) fail_msg("%s: %s", path, error.message);
    claims_only(path, found->name, data, size);
}

/* Folders of the corpus are called as they please; pprof-goldens holds reports. */
static void exactly_one_format_claims_each_profile_of_the_corpus(void **state)
{
    (void)state;
    const char *const corpus = getenv("PITOT_CORPUS");
    DIR *const dir = corpus != NULL ? opendir(corpus) : NULL;
    if (dir == NULL) {
        print_message("# skip: PITOT_CORPUS is not set\n");
        skip();
        return;
    }
    size_t count = 0;
    for (struct dirent *entry; (entry = readdir(dir)) != NULL;) {
        char folder[4096];
        if (entry->d_name[0] == '.' || strcmp(entry->d_name, "pprof-goldens") == 0) continue;
        snprintf(folder, sizeof folder, "%s/%s", corpus, entry->d_name);
        each_file_in(folder, NULL, is_claimed_once, &count);
    }
    closedir(dir);
    assert_true(count > 0);
}

static void means_the_same(const char *path, const char *format, const uint8_t *data, size_t size)
{
    reading a = read_as(format, data, size);
    /* Files found in the world may be damaged, goldens may not; what was kept has to come back. */
    const bool golden = strncmp(path, PT_GOLDEN_FOLDER, strlen(PT_GOLDEN_FOLDER)) == 0;
    if (a.status != PT_OK && (golden || a.status != PT_ERR_DAMAGED))
        fail_msg("%s: %s", path, a.error.message);
    if (!pt_format_find(format)->write) {
        reading_done(&a);
        return;
    }
    pt_diag changed;
    pt_diag_init(&changed);
    pt_format_losses(a.profile, pt_format_find(format), &changed);
    pt_buf bytes = written_as(format, a.profile, &changed);
    reading b = read_as(format, bytes.data, bytes.size);
    if (b.status != PT_OK) fail_msg("%s, written: %s", path, b.error.message);
    pt_format_losses(a.profile, pt_format_find(format), &changed);
    if (changed.count == 0) assert_same_meaning(a.profile, b.profile);
    pt_diag_done(&changed);
    /* Writing once more changes no byte. */
    pt_buf again = written_as(format, b.profile, NULL);
    assert_int_equal(again.size, bytes.size);
    assert_memory_equal(again.data, bytes.data, bytes.size);
    pt_buf_done(&again);
    pt_buf_done(&bytes);
    reading_done(&a);
    reading_done(&b);
}

static void what_is_read_is_written_with_the_same_meaning(void **state)
{
    (void)state;
    each_file(means_the_same);
}

static void golden_bytes(const char *name, pt_blob *ret)
{
    char path[2048];
    snprintf(path, sizeof path, "%s/pprof/%s", PT_GOLDEN_FOLDER, name);
    pt_error error = PT_ERROR_INIT;
    if (pt_file_read(path, 0, 1 << 20, ret, &error) != PT_OK ||
        pt_peel(ret, 1 << 20, NULL, NULL, &error) != PT_OK)
        fail_msg("%s: %s", path, error.message);
}

static void what_go_pprof_wrote_is_rewritten_byte_for_byte(void **state)
{
    (void)state;
    const char *const names[] = {"cpu-rewritten.pb.gz", "merged.pb.gz"};
    for (size_t i = 0; i < 2; i++) {
        pt_blob blob = PT_BLOB_INIT;
        golden_bytes(names[i], &blob);
        reading r = read_as("pprof", blob.data, blob.size);
        pt_buf bytes = written_as("pprof", r.profile, NULL);
        assert_int_equal(bytes.size, blob.size);
        assert_memory_equal(bytes.data, blob.data, blob.size);
        pt_buf_done(&bytes);
        reading_done(&r);
        pt_blob_done(&blob);
    }
}

int main(void)
{
    if (!getenv("PITOT_CORPUS")) puts("# PITOT_CORPUS is not set: only the goldens are read");
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_and_aliases_belong_to_one_format_each),
        cmocka_unit_test(the_longest_extension_decides),
        cmocka_unit_test(every_capability_has_a_name_and_a_loss),
        cmocka_unit_test(other_files_are_named_and_claimed_by_nobody),
        cmocka_unit_test(exactly_one_format_claims_each_file),
        cmocka_unit_test(exactly_one_format_claims_each_profile_of_the_corpus),
        cmocka_unit_test(what_is_read_is_written_with_the_same_meaning),
        cmocka_unit_test(what_go_pprof_wrote_is_rewritten_byte_for_byte),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
