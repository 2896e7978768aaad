/* fuzz_query.c: any words as a query, on a profile that has something for each option: what is
 * kept and what each rule drops add up to all samples, and the report that asks it keeps its form.
 *
 *   the words of a command line, each ended by a newline
 */
#include "reports_check.h"
#include "resident.h"
#include "transform/filter.h"

extern const pt_command pt_command_top;

enum { WORDS_MAX = 16, FUNCTIONS = 6 };

static uint32_t add_text(pt_builder *b, const char *text)
{
    return pt_builder_text(b, text).v;
}

static void add_events(pt_builder *b)
{
    pt_builder_event(b, &(pt_event){.type = add_text(b, "samples"), .unit = add_text(b, "count")});
    pt_builder_event(b,
                     &(pt_event){.type = add_text(b, "cpu"), .unit = add_text(b, "nanoseconds")});
}

static void add_locations(pt_builder *b, uint32_t *locations)
{
    static const char *const names[FUNCTIONS] = {"main",         "parse",     "std::sort<int>",
                                                 "a.(*B).c[go]", "operator<", "x\\y\"z"};
    const pt_mapping mapping = {
        .start = 0x400000, .limit = 0x500000, .file = add_text(b, "/bin/app")};
    const pt_mapping_id app = pt_builder_mapping(b, &mapping);
    for (size_t i = 0; i < FUNCTIONS; i++) {
        const pt_function function = {.name = add_text(b, names[i]), .file = add_text(b, "a.c")};
        const pt_line lines[] = {{.function = pt_builder_function(b, &function).v, .line = 7},
                                 {.function = 0, .line = 9}};
        const pt_location location = {.mapping = app.v, .address = 0x401000 + 16 * i};
        locations[i] = pt_builder_location(b, &location, lines, i == 2 ? 2 : 1).v;
    }
}

static pt_labels_id add_labels(pt_builder *b, size_t i)
{
    const pt_label labels[] = {
        {.key = add_text(b, "thread"),
         .kind = PT_LABEL_STRING,
         .str = add_text(b, i % 2 ? "main" : "worker,1")},
        {.key = add_text(b, "bytes"),
         .kind = PT_LABEL_NUMBER,
         .unit = add_text(b, i % 3 ? "kilobytes" : ""),
         .num = (int64_t)i * 512},
    };
    return pt_builder_labels(b, labels, i % 4);
}

static const pt_profile *make_profile(void)
{
    pt_builder *b = pt_builder_new();
    uint32_t locations[FUNCTIONS];
    add_events(b);
    add_locations(b, locations);
    for (size_t i = 0; i < 24; i++) {
        uint32_t frames[4];
        for (size_t k = 0; k < i % 4; k++)
            frames[k] = locations[(i / 4 + k * (1 + i % 5)) % FUNCTIONS];
        const int64_t values[] = {1, i % 7 == 0 ? -10000000 : 10000000};
        const pt_sample sample = {
            .stack = pt_builder_stack(b, frames, i % 4, PT_STACK_END_ROOT).v,
            .labels = add_labels(b, i % 3).v,
            .values = values,
            .time_ns = i % 5 ? (int64_t)(1000 + i) * 1000000000 : 0,
            .pid = i % 6 ? (uint32_t)i : PT_NONE,
            .tid = PT_NONE,
            .cpu = PT_NONE,
        };
        pt_builder_timed_sample(b, &sample);
    }
    const pt_profile *profile = NULL;
    pt_error error = PT_ERROR_INIT;
    if (pt_builder_freeze(b, &profile, &error) != PT_OK) fuzz_fail("freeze", error.message);
    return profile;
}

static size_t split_at_newlines(char *text, const char **words)
{
    size_t count = 0;
    while (*text != '\0' && count < WORDS_MAX) {
        words[count++] = text;
        text += strcspn(text, "\n");
        if (*text == '\n') *text++ = '\0';
    }
    return count;
}

static void check_counts(const pt_profile *profile, const pt_query *query)
{
    pt_filtered f;
    pt_error error = PT_ERROR_INIT;
    if (pt_filter(profile, query, &f, NULL, &error) != PT_OK) {
        if (error.message[0] == '\0') fuzz_fail("filter", "no message");
        return;
    }
    const uint64_t sum = (uint64_t)f.kept + f.unfocused + f.ignored + f.emptied + f.unshown +
                         f.tag_dropped + f.untimely;
    if (sum != profile->sample->t.count) fuzz_fail("filter", "samples are lost");
    if (f.kept != f.profile->sample->t.count) fuzz_fail("filter", "kept, and not there");
    if (pt_profile_check(f.profile, &error) != PT_OK) fuzz_fail("check", error.message);
    pt_filtered_done(&f);
}

static void ask_filter(const pt_profile *profile, const char *const *words, size_t count)
{
    pt_query query = {0};
    const pt_option_part part = {.table = &pt_query_options, .into = &query};
    const pt_options options = {.parts = &part, .part_count = 1};
    pt_option_list operands = {0};
    pt_error error = PT_ERROR_INIT;
    pt_options_init(&options);
    if (pt_options_parse(&options, words, count, &operands, &error) == PT_OK) {
        check_counts(profile, &query);
        query.pprof = true;
        check_counts(profile, &query);
    } else if (error.message[0] == '\0') {
        fuzz_fail("options", "no message");
    }
    free(operands.items);
    pt_options_done(&options);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const pt_profile *profile;
    if (profile == NULL) profile = make_profile();
    const char *words[WORDS_MAX];
    char *const text = pt_strndup((const char *)data, size);
    const size_t count = split_at_newlines(text, words);
    ask_filter(profile, words, count);
    pt_buf report = PT_BUF_INIT, said = PT_BUF_INIT;
    if (fuzz_run(profile, &pt_command_top, words, count, &report, &said) == PT_EXIT_OK &&
        report.size > 0 && report.data[0] == '{')
        check_json(&report);
    pt_buf_done(&report);
    pt_buf_done(&said);
    free(text);
    return 0;
}
