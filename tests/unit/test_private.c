/* test_private.c: a secret is planted in every field of a profile that has text; no format that can
 * be written has it afterwards, and all that shall stay is there. */
#include "formats_check.h"
#include "model/marks.h"
#include "profile_lines.h"
#include "transform/private.h"

#define SECRET "hunter2"

static uint32_t text(pt_builder *b, const char *value)
{
    return pt_builder_text(b, value).v;
}

static pt_label label(pt_builder *b, const char *key, const char *value)
{
    return (pt_label){.key = text(b, key), .kind = PT_LABEL_STRING, .str = text(b, value)};
}

static uint32_t add_frame(pt_builder *b, const char *name, const char *file, uint32_t mapping,
                          uint64_t address)
{
    const pt_function f = {.name = text(b, name),
                           .system_name = text(b, name),
                           .file = text(b, file),
                           .start_line = 1};
    const pt_line line = {.function = pt_builder_function(b, &f).v, .line = 7};
    const pt_location location = {.mapping = mapping, .address = address};
    return pt_builder_location(b, &location, &line, 1).v;
}

static const pt_profile *profile_with_secrets(void)
{
    pt_builder *const b = pt_builder_new();
    pt_builder_event(b, &(pt_event){.type = text(b, "cpu"), .unit = text(b, "nanoseconds")});
    pt_builder_event(b, &(pt_event){.type = text(b, PT_MARKER_EVENT), .unit = text(b, "count")});
    const uint32_t program =
        pt_builder_mapping(b, &(pt_mapping){.start = 0x1000,
                                            .limit = 0x9000,
                                            .file = text(b, "/home/" SECRET "/bin/app"),
                                            .build_id = text(b, "c0ffee00c0ffee00"),
                                            .foreign_id = text(b, "inode:" SECRET)})
            .v;
    const uint32_t library =
        pt_builder_mapping(
            b, &(pt_mapping){.start = 0x20000,
                             .limit = 0x30000,
                             .file = text(b, "/usr/lib/" SECRET "/x86_64-linux-gnu/libc.so.6")})
            .v;
    const uint32_t frame[] = {
        add_frame(b, "read", "../" SECRET "/io/read.c", library, 0x21000),
        add_frame(b, "go (https://" SECRET ":8443/a.js?b=c:3)", "https://x/" SECRET "/a.js?" SECRET,
                  program, 0x2000),
        add_frame(b, "run:/root/" SECRET " b/x.py", "C:\\Users\\" SECRET "\\x.py", program, 0x3000),
        add_frame(b, "main", "/home/" SECRET "/main.c", program, 0x4000),
    };
    const pt_label foreign[] = {label(b, "user", SECRET),       label(b, SECRET, "x"),
                                label(b, "cgroup", "/" SECRET), label(b, "team", "kept"),
                                label(b, "merge", "uncertain"), label(b, "tier", SECRET)};
    const pt_label mark[] = {
        label(b, PT_MARKER_LABEL, "Load 1: https://" SECRET "/?q"),
        label(b, PT_MARKER_CATEGORY, "Network"),
        label(b, PT_MARKER_DATA "URI", "https://" SECRET "/?q"),
        {.key = text(b, PT_MARKER_DATA SECRET), .kind = PT_LABEL_NUMBER, .num = 4},
    };
    const uint32_t stack = pt_builder_stack(b, frame, 4, PT_STACK_END_ROOT).v;
    const pt_sample samples[] = {
        {.stack = stack,
         .labels = pt_builder_labels(b, foreign, 6).v,
         .values = (int64_t[]){10000000, 0},
         .time_ns = 5000000000,
         .pid = 7,
         .tid = 8,
         .cpu = PT_NONE,
         .comm = text(b, "worker")},
        {.stack = stack,
         .labels = pt_builder_labels(b, mark, 4).v,
         .values = (int64_t[]){0, 1},
         .time_ns = 6000000000,
         .pid = 7,
         .tid = 8,
         .cpu = PT_NONE,
         .comm = text(b, "Web (https://" SECRET ")")},
    };
    for (size_t i = 0; i < 2; i++)
        pt_builder_timed_sample(b, &samples[i]);
    pt_builder_extra(b, pt_builder_text(b, SECRET), pt_builder_text(b, SECRET));
    pt_builder_unknown(b, PT_IN_PROFILE, 0, "\xfa\x3e\x07" SECRET, 10);
    pt_builder_comment(b, pt_builder_text(b, "recorded with: app --password=" SECRET));
    pt_provenance *const from = pt_builder_provenance(b);
    from->host = text(b, SECRET);
    from->os = text(b, "Linux " SECRET);
    from->cpu_model = text(b, SECRET " CPU");
    from->command_line = text(b, "app " SECRET);
    from->doc_url = text(b, "https://" SECRET);
    from->drop_frames = text(b, "^" SECRET);
    from->keep_frames = text(b, SECRET "$");
    from->period_type = text(b, "cpu");
    from->period_unit = text(b, "nanoseconds");
    from->period = 10000000;
    from->start_ns = 5000000000;
    const pt_profile *profile = NULL;
    pt_error error = PT_ERROR_INIT;
    if (pt_builder_freeze(b, &profile, &error) != PT_OK) fail_msg("%s", error.message);
    return profile;
}

static const pt_profile *clean_of(const pt_profile *profile, const char *keep)
{
    const pt_profile *clean = NULL;
    pt_error error = PT_ERROR_INIT;
    if (pt_without_private(profile, keep, &clean, &error) != PT_OK) fail_msg("%s", error.message);
    if (pt_profile_check(clean, &error) != PT_OK) fail_msg("check: %s", error.message);
    return clean;
}

static bool has_secret(const pt_buf *bytes)
{
    return bytes->size > 0 && memmem(bytes->data, bytes->size, SECRET, sizeof SECRET - 1) != NULL;
}

/* Writes in every format that takes the profile, and returns the number of those in whose bytes the
 * secret is. */
static unsigned count_leaks(const pt_profile *profile, unsigned *ret_written)
{
    unsigned leaks = 0;
    *ret_written = 0;
    for (size_t i = 0; i < pt_format_count; i++) {
        if (pt_formats[i]->write == NULL) continue;
        pt_diag diag;
        pt_diag_init(&diag);
        pt_buf bytes = PT_BUF_INIT;
        pt_out out;
        pt_out_to_buf(&out, &bytes);
        const pt_output output = {.context = &out, .open = open_buffer};
        const pt_write_options options = {.event = PT_NONE, .raw = true, .diag = &diag};
        pt_error error = PT_ERROR_INIT;
        *ret_written += pt_formats[i]->write(profile, &output, &options, &error) == PT_OK;
        pt_out_done(&out, NULL);
        if (has_secret(&bytes)) leaks++;
        pt_diag_done(&diag);
        pt_buf_done(&bytes);
    }
    return leaks;
}

static void no_format_has_the_secret(void **state)
{
    (void)state;
    PT_UNREF_PROFILE const pt_profile *profile = profile_with_secrets();
    PT_UNREF_PROFILE const pt_profile *clean = clean_of(profile, NULL);
    unsigned written, before;
    const unsigned leaks = count_leaks(profile, &before);
    assert_true(leaks >= 8); /* the secret is where formats write it */
    assert_int_equal(count_leaks(clean, &written), 0);
    assert_int_equal(written, before);
    assert_null(memmem(clean->string->bytes, clean->string->offset[clean->string->t.count], SECRET,
                       sizeof SECRET - 1));
}

static void names_of_code_and_threads_stay(void **state)
{
    (void)state;
    PT_UNREF_PROFILE const pt_profile *profile = profile_with_secrets();
    PT_UNREF_PROFILE const pt_profile *clean = clean_of(profile, "team,none");
    ASSERT_LINES(clean,
                 "read@read.c:7<go ([address])@a.js:7<run:x.py@x.py:7<main@main.c:7=10000000,0 "
                 "{team=kept} {merge=uncertain}\n"
                 "read@read.c:7<go ([address])@a.js:7<run:x.py@x.py:7<main@main.c:7=0,1 "
                 "{marker=Load 1: [address]} {category=Network}\n");
    assert_string_equal(pt_text(clean, clean->mapping->row[0].file), "app");
    assert_string_equal(pt_text(clean, clean->mapping->row[0].build_id), "c0ffee00c0ffee00");
    assert_string_equal(pt_text(clean, clean->mapping->row[1].file), "/usr/lib/libc.so.6");
    assert_int_equal(clean->sample->time_ns[1], 6000000000);
    assert_int_equal(clean->sample->tid[1], 8);
    assert_string_equal(pt_text(clean, clean->sample->comm[0]), "worker");
    assert_string_equal(pt_text(clean, clean->sample->comm[1]), "Web ([address])");
    assert_int_equal(pt_profile_provenance(clean)->period, 10000000);
    PT_UNREF_PROFILE const pt_profile *again = clean_of(clean, "team");
    char difference[200];
    assert_true(pt_profile_equal(clean, again, difference, sizeof difference));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_format_has_the_secret),
        cmocka_unit_test(names_of_code_and_threads_stay),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
