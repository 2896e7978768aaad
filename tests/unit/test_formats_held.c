/* test_formats_held.c: conversions about which nothing is told. Profiles with every combination of
 * some facts are written in every format of the registry. Where neither the losses nor the writer
 * say anything, the totals of all events are there again, and what was read is written and read
 * once more with the same meaning. */
#include "formats_check.h"

/* Facts that a profile may have or not. */
enum {
    HAS_DEFAULT = 1 << 0, /* the first event is shown, not the last */
    HAS_NAMES = 1 << 1,   /* functions */
    HAS_LINES = 1 << 2,   /* their files and lines */
    HAS_INLINES = 1 << 3, /* two functions at one location */
    HAS_ADDRESS = 1 << 4,
    HAS_MAPPING = 1 << 5, /* in an image that is mapped, with a build id */
    HAS_LABELS = 1 << 6,  /* text and a number with a unit; the CPU */
    HAS_THREADS = 1 << 7, /* processes, threads and their names */
    HAS_TIMES = 1 << 8,
    HAS_STACKS = 1 << 9,  /* more than one frame */
    HAS_PERIOD = 1 << 10, /* that of the clock behind times: 10 ms */
    FACTS = 11,
};

/* Events that samples have values of. */
static const struct {
    const char *type, *unit;
} event_sets[][3] = {
    {{"samples", "count"}},
    {{"cpu", "nanoseconds"}},
    {{"time", "nanoseconds"}},
    {{"samples", "count"}, {"cpu", "nanoseconds"}},
    {{"time", "nanoseconds"}, {"cycles", "count"}, {"space", "bytes"}},
    {{"contentions", "count"}, {"delay", "nanoseconds"}},
    {{"cycles", "samples"}},
    {{"objects", "count"}, {"space", "bytes"}},
};
enum { EVENT_SETS = sizeof event_sets / sizeof event_sets[0], PERIOD_NS = 10000000 };

static uint32_t text(pt_builder *b, const char *s)
{
    return pt_builder_text(b, s).v;
}

static void add_events(pt_builder *b, size_t set, unsigned facts)
{
    for (size_t e = 0; e < 3 && event_sets[set][e].type; e++)
        pt_builder_event(b, &(pt_event){.type = text(b, event_sets[set][e].type),
                                        .unit = text(b, event_sets[set][e].unit)});
    if (facts & HAS_DEFAULT) pt_builder_set_default_event(b, 0);
}

static uint32_t add_location(pt_builder *b, unsigned facts, uint32_t mapping, unsigned i)
{
    static const char *const names[] = {"main", "work", "leaf"};
    pt_line lines[2] = {{.function = PT_NONE}, {.function = PT_NONE}};
    unsigned count = 0;
    if (facts & HAS_NAMES) count = facts & HAS_INLINES && i == 2 ? 2 : 1;
    for (unsigned k = 0; k < count; k++) {
        const uint32_t name = text(b, k == 0 ? names[i] : "outer");
        pt_function f = {.name = name, .system_name = name};
        if (facts & HAS_LINES) {
            f.file = text(b, "a.c");
            lines[k].line = 10 + i + k;
        }
        lines[k].function = pt_builder_function(b, &f).v;
    }
    const pt_location location = {.mapping = mapping,
                                  .address = facts & HAS_ADDRESS ? 0x401000 + 16 * i : 0};
    return pt_builder_location(b, &location, lines, count).v;
}

static pt_labels_id add_labels(pt_builder *b, unsigned facts)
{
    const pt_label labels[] = {
        {.key = text(b, "request"), .kind = PT_LABEL_STRING, .str = text(b, "/index")},
        {.key = text(b, "size"), .kind = PT_LABEL_NUMBER, .unit = text(b, "bytes"), .num = 7},
    };
    return facts & HAS_LABELS ? pt_builder_labels(b, labels, 2) : PT_NO_LABELS;
}

/* Events that are first are samples, or the time that is theirs. */
static void add_samples(pt_builder *b, const uint32_t at[3], pt_labels_id labels, unsigned facts)
{
    const bool is_time = pt_builder_event_at(b, 0)->kind == PT_EVENT_TIME;
    const int64_t first = is_time ? PERIOD_NS : 1;
    for (unsigned i = 0; i < 4; i++) {
        const uint32_t deep[] = {at[2], at[i % 2], at[0]};
        const bool stacks = facts & HAS_STACKS, threads = facts & HAS_THREADS;
        const pt_sample sample = {
            .stack = pt_builder_stack(b, stacks ? deep : &at[i % 3], stacks ? 3 : 1,
                                      PT_STACK_END_UNKNOWN)
                         .v,
            .labels = i % 2 ? labels.v : 0,
            .values = (int64_t[]){first * (i + 1), PERIOD_NS * (i + 1), 4096},
            .time_ns = facts & HAS_TIMES ? INT64_C(1700000000000000000) + i * INT64_C(10000000) : 0,
            .pid = threads ? 12 : PT_NONE,
            .tid = threads ? 12 + i % 2 : PT_NONE,
            .cpu = facts & HAS_LABELS ? i : PT_NONE,
            .comm = threads ? text(b, "work") : 0};
        pt_builder_timed_sample(b, &sample);
    }
}

static void add_period(pt_builder *b, unsigned facts)
{
    pt_provenance *const from = pt_builder_provenance(b);
    if (!(facts & HAS_PERIOD)) return;
    from->period = PERIOD_NS;
    from->period_type = text(b, "cpu");
    from->period_unit = text(b, "nanoseconds");
    from->has_period_type = true;
}

static const pt_profile *make(size_t set, unsigned facts)
{
    pt_builder *b = pt_builder_new();
    uint32_t at[3], mapping = PT_NONE;
    add_events(b, set, facts);
    if (facts & HAS_MAPPING)
        mapping = pt_builder_mapping(b, &(pt_mapping){.start = 0x400000,
                                                      .limit = 0x500000,
                                                      .file = text(b, "/bin/work"),
                                                      .build_id = text(b, "c0ffee00c0ffee00")})
                      .v;
    for (unsigned i = 0; i < 3; i++)
        at[i] = add_location(b, facts, mapping, i);
    add_samples(b, at, add_labels(b, facts), facts);
    add_period(b, facts);
    const pt_profile *profile = NULL;
    pt_error error = PT_ERROR_INIT;
    if (pt_builder_freeze(b, &profile, &error) != PT_OK) fail_msg("%s", error.message);
    return profile;
}

/* Writes the profile; false if the format refuses it, or loses or changes data. */
static bool write_whole(const pt_format *format, const pt_profile *profile, pt_buf *into)
{
    pt_diag diag;
    pt_diag_init(&diag);
    pt_format_losses(profile, format, &diag);
    pt_out out;
    pt_out_to_buf(&out, into);
    const pt_output output = {.context = &out, .open = open_buffer};
    const pt_write_options options = {.event = PT_NONE, .raw = true, .diag = &diag};
    pt_error error = PT_ERROR_INIT;
    const pt_status status = format->write(profile, &output, &options, &error);
    const bool whole = status == PT_OK && diag.count == 0;
    pt_out_done(&out, NULL);
    pt_diag_done(&diag);
    return whole;
}

static bool is_called(const pt_profile *a, uint32_t x, const pt_profile *b, uint32_t y)
{
    const pt_event *const one = &a->event->row[x], *const other = &b->event->row[y];
    return strcmp(pt_text(a, one->type), pt_text(b, other->type)) == 0 &&
           strcmp(pt_text(a, one->unit), pt_text(b, other->unit)) == 0;
}

/* All events are there, with their totals; of several the same one is shown. */
static void has_the_totals_of(const pt_format *format, const pt_profile *before,
                              const pt_profile *after, const char *which)
{
    for (uint32_t e = 0; e < before->event->t.count; e++) {
        bool there = false;
        for (uint32_t k = 0; k < after->event->t.count; k++)
            there |= is_called(before, e, after, k) &&
                     pt_profile_total(before, e) == pt_profile_total(after, k);
        if (!there)
            fail_msg("%s, %s: no total as of %s", format->name, which,
                     pt_text(before, before->event->row[e].type));
    }
    const uint32_t shown = pt_profile_default_event(before);
    if (before->event->t.count > 1 &&
        !is_called(before, shown, after, pt_profile_default_event(after)))
        fail_msg("%s, %s: shows another event", format->name, which);
}

/* Writes and reads once more what was read. */
static void comes_back(const pt_format *format, const pt_profile *profile, const char *which)
{
    char difference[256] = "";
    pt_buf bytes = PT_BUF_INIT;
    if (write_whole(format, profile, &bytes)) {
        reading again = read_as(format->name, bytes.data, bytes.size);
        const pt_profile *x = pt_profile_canonical(profile),
                         *y = pt_profile_canonical(again.profile);
        if (!pt_profile_equal(x, y, difference, sizeof difference))
            fail_msg("%s, %s: %s", format->name, which, difference);
        pt_profile_unref(x);
        pt_profile_unref(y);
        reading_done(&again);
    }
    pt_buf_done(&bytes);
}

/* Is the conversion free of reported losses? */
static bool try_format(const pt_format *format, const pt_profile *profile, const char *which)
{
    pt_buf bytes = PT_BUF_INIT;
    const bool whole = write_whole(format, profile, &bytes);
    if (whole) {
        reading r = read_as(format->name, bytes.data, bytes.size);
        if (r.status != PT_OK) fail_msg("%s, %s: %s", format->name, which, r.error.message);
        has_the_totals_of(format, profile, r.profile, which);
        comes_back(format, r.profile, which);
        reading_done(&r);
    }
    pt_buf_done(&bytes);
    return whole;
}

static void what_is_not_lost_comes_back(void **state)
{
    (void)state;
    unsigned *const whole = pt_alloc(pt_format_count, sizeof *whole);
    for (unsigned n = 0; n < EVENT_SETS << FACTS; n++) {
        char which[64];
        if (n & (HAS_LINES | HAS_INLINES) && !(n & HAS_NAMES)) continue; /* nothing to have them */
        const pt_profile *profile = make(n >> FACTS, n % (1 << FACTS));
        snprintf(which, sizeof which, "events %u, facts %x", n >> FACTS, n % (1 << FACTS));
        for (size_t i = 0; i < pt_format_count; i++)
            whole[i] += pt_formats[i]->write && try_format(pt_formats[i], profile, which);
        pt_profile_unref(profile);
    }
    /* No format escapes by always losing something. */
    for (size_t i = 0; i < pt_format_count; i++) {
        if (pt_formats[i]->write && whole[i] == 0)
            fail_msg("%s: something is lost of every profile", pt_formats[i]->name);
    }
    free(whole);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_not_lost_comes_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
