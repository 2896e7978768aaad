/* test_load.c: names become a profile: files, several files, programs, damage, merging. */
#include "formats_check.h"

#include "base/compress.h"
#include "load/load.h"
#include "transform/merge.h"

#include <sys/stat.h>
#include <unistd.h>

static char folder[64];

static int make_folder(void **state)
{
    (void)state;
    snprintf(folder, sizeof folder, "/tmp/pitot-test-load-XXXXXX");
    return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
    (void)state;
    char command[128];
    snprintf(command, sizeof command, "rm -rf %s", folder);
    return system(command); // NOLINT(cert-env33-c): a fixed command on our own folder
}

static const char *path_of(const char *name)
{
    static char paths[8][128];
    static unsigned next;
    char *const path = paths[next++ % 8];
    snprintf(path, sizeof paths[0], "%s/%s", folder, name);
    return path;
}

static void put_file(const char *name, const void *data, size_t size)
{
    FILE *file = fopen(path_of(name), "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(data, 1, size, file), size);
    fclose(file);
}

static void put_proto(const char *name, const char *text)
{
    proto_bytes bytes = proto_text(text);
    put_file(name, bytes.data, bytes.size);
    free(bytes.data);
}

static void put_gzip(const char *name, const char *text, size_t cut)
{
    proto_bytes bytes = proto_text(text);
    pt_buf buf = PT_BUF_INIT;
    pt_out out;
    pt_out_to_buf(&out, &buf);
    pt_gzip(bytes.data, bytes.size, 6, NULL, &out);
    pt_out_done(&out, NULL);
    put_file(name, buf.data, buf.size - cut);
    pt_buf_done(&buf);
    free(bytes.data);
}

#define ONE                                                                                        \
    "1{1:1 2:2} 2{1[1 2 2] 2:5} 2{1[2 2 2] 2:7} 3{1:1 2:0x1000 3:0x2000 5:3} 4{1:1 2:1 3:0x1010} " \
    "4{1:2 2:1 3:0x1020} 6\"\" 6\"cpu\" 6\"count\" 6\"/bin/x\" 9:2000 10:10 12:3 13:3 14:0 "
/* The same image at another address; ids and order differ. */
#define TWO                                                                                        \
    "1{1:2 2:1} 2{1[8 8 8] 2:1} 2{1[8 8 9] 2:2} 3{1:4 2:0x7000 3:0x8000 5:3} 4{1:8 2:4 3:0x7020} " \
    "4{1:9 2:4 3:0x7010} 6\"\" 6\"count\" 6\"cpu\" 6\"/bin/x\" 9:1000 10:5 12:4 13:3 13:2 14:0 "

static pt_status load(const char *const *names, size_t count, bool strict, pt_loaded *loaded,
                      pt_error *error)
{
    const pt_load_options options = {.strict = strict};
    *error = PT_ERROR_INIT;
    return pt_load(names, count, &options, loaded, error);
}

static void assert_fails(const char *name, pt_status status, const char *message)
{
    pt_loaded loaded;
    pt_error error;
    assert_int_equal(load((const char *[]){name}, 1, false, &loaded, &error), status);
    char text[1200];
    pt_error_text(&error, text, sizeof text);
    if (!strstr(text, message)) fail_msg("no \"%s\" in \"%s\"", message, text);
    assert_non_null(strstr(text, name));
    assert_null(loaded.profile);
    pt_loaded_done(&loaded);
}

static void what_is_no_profile_gets_one_clear_line(void **state)
{
    (void)state;
    put_file("empty", "", 0);
    put_file("text", "hello\n", 6);
    assert_fails(path_of("missing"), PT_ERR_NOTFOUND, "no such file");
    assert_fails(folder, PT_ERR_SYSTEM, "is a directory");
    assert_fails(path_of("empty"), PT_ERR_FORMAT, "empty");
    assert_fails(path_of("text"), PT_ERR_FORMAT, "not a profile in any format known here");
    assert_fails("http://localhost:1/debug/pprof/profile", PT_ERR_UNSUPPORTED, "names a server");
}

static void a_program_among_the_names_is_set_aside(void **state)
{
    (void)state;
    put_file("prog", "\177ELF\2\1\1\0\0\0\0\0\0\0\0\0", 16);
    put_proto("one.pb", ONE);
    pt_loaded loaded;
    pt_error error;
    const char *const names[] = {path_of("prog"), path_of("one.pb")};
    assert_int_equal(load(names, 2, false, &loaded, &error), PT_OK);
    assert_string_equal(pt_loaded_program(&loaded), names[0]);
    assert_int_equal(loaded.profile->sample->t.count, 2);
    assert_string_equal(loaded.inputs[1].format->name, "pprof");
    assert_string_equal(loaded.inputs[1].compression, "none");
    pt_loaded_done(&loaded);
    assert_int_equal(load(names, 1, false, &loaded, &error), PT_OK);
    assert_null(loaded.profile);
    pt_loaded_done(&loaded);
}

static void gzip_is_peeled_and_a_cut_one_gives_what_is_there(void **state)
{
    (void)state;
    put_gzip("one.gz", ONE, 0);
    put_gzip("cut.gz", ONE, 12);
    pt_loaded loaded;
    pt_error error;
    assert_int_equal(load((const char *[]){path_of("one.gz")}, 1, true, &loaded, &error), PT_OK);
    assert_string_equal(loaded.inputs[0].compression, "gzip");
    assert_true(loaded.inputs[0].peeled_bytes > 50);
    assert_int_equal(loaded.damaged_count, 0);
    pt_loaded_done(&loaded);
    assert_int_equal(load((const char *[]){path_of("cut.gz")}, 1, false, &loaded, &error), PT_OK);
    assert_int_equal(loaded.damaged_count, 1);
    assert_non_null(strstr(loaded.inputs[0].error->message, "kept 2 samples (--strict refuses)"));
    assert_string_equal(loaded.inputs[0].error->path, path_of("cut.gz"));
    assert_true(pt_profile_provenance(loaded.profile)->damaged);
    pt_loaded_done(&loaded);
    assert_int_equal(load((const char *[]){path_of("cut.gz")}, 1, true, &loaded, &error),
                     PT_ERR_DAMAGED);
    assert_null(loaded.profile);
    pt_loaded_done(&loaded);
}

static void inflating_stops_at_the_limit(void **state)
{
    (void)state;
    put_gzip("one.gz", ONE, 0);
    pt_loaded loaded;
    pt_error error = PT_ERROR_INIT;
    const pt_load_options options = {.inflated_bytes = 20};
    assert_int_equal(pt_load((const char *[]){path_of("one.gz")}, 1, &options, &loaded, &error),
                     PT_ERR_LIMIT);
    pt_loaded_done(&loaded);
}

static void assert_utf16(const void *text, size_t size)
{
    put_file("utf16", text, size);
    pt_loaded loaded;
    pt_error error;
    assert_int_equal(load((const char *[]){path_of("utf16")}, 1, false, &loaded, &error), PT_OK);
    const pt_profile *const p = loaded.profile;
    assert_string_equal(pt_text(p, p->source->row.source_format), "folded");
    static const char *const names[] = {"a", "\xf0\x9f\x98\x80", "\xe2\x82\xac"};
    assert_int_equal(p->function->t.count, 3);
    for (uint32_t f = 0; f < 3; f++)
        assert_string_equal(pt_text(p, p->function->name[f]), names[f]);
    assert_int_equal(pt_profile_total(p, 0), 3);
    pt_loaded_done(&loaded);
}

/* "a;U+1F600 2\r\nU+20AC 1", in both orders. */
static void text_of_any_format_may_be_utf16(void **state)
{
    (void)state;
    const char little[] = "\xff\xfe"
                          "a\0;\0\x3d\xd8\x00\xde \0"
                          "2\0\r\0\n\0\xac\x20 \0"
                          "1";
    const char big[] = "\xfe\xff\0a\0;\xd8\x3d\xde\x00\0 \0"
                       "2\0\r\0\n\x20\xac\0 \0"
                       "1";
    assert_utf16(little, sizeof little);
    assert_utf16(big, sizeof big - 1);
}

static void assert_stack_value(const pt_profile *p, uint64_t leaf, int64_t value)
{
    for (uint32_t i = 0; i < p->sample->t.count; i++) {
        if (p->location->address[pt_stack_frames(p, p->sample->stack[i])[0]] == leaf) {
            assert_int_equal(p->sample->value[0][i], value);
            return;
        }
    }
    fail_msg("no sample at %#llx", (unsigned long long)leaf);
}

static void several_profiles_are_added_up_by_content(void **state)
{
    (void)state;
    put_proto("one.pb", ONE);
    put_proto("two.pb", TWO);
    pt_loaded loaded;
    pt_error error;
    const char *const names[] = {path_of("one.pb"), path_of("two.pb")};
    assert_int_equal(load(names, 2, false, &loaded, &error), PT_OK);
    const pt_profile *p = loaded.profile;
    /* 0x1020,0x1020,0x1020 in both (7 + 1); 0x1010,... only in one; 0x1020,0x1020,0x1010 in two */
    assert_int_equal(p->sample->t.count, 3);
    assert_int_equal(p->mapping->t.count, 1);
    assert_int_equal(p->location->t.count, 2);
    assert_int_equal(pt_profile_total(p, 0), 15);
    assert_stack_value(p, 0x1010, 5);
    const pt_provenance *h = pt_profile_provenance(p);
    assert_int_equal(h->start_ns, 1000);
    assert_int_equal(h->duration_ns, 15);
    assert_int_equal(h->period, 4);
    assert_int_equal(h->comment_count, 2);
    pt_loaded_done(&loaded);
}

static void zero_sums_are_dropped_and_events_not_shared_left_out(void **state)
{
    (void)state;
    put_proto("a.pb", "1{1:1} 1{1:2} 2{1:1 2:5 2:1} 2{1:2 2:3 2:0} 4{1:1 3:1} 4{1:2 3:2} "
                      "6\"\" 6\"cpu\" 6\"other\"");
    put_proto("b.pb", "1{1:1} 2{1:1 2:-5} 4{1:1 3:1} 6\"\" 6\"cpu\"");
    pt_loaded loaded;
    pt_error error;
    assert_int_equal(
        load((const char *[]){path_of("a.pb"), path_of("b.pb")}, 2, false, &loaded, &error), PT_OK);
    assert_int_equal(loaded.profile->event->t.count, 1);
    assert_int_equal(loaded.profile->sample->t.count, 1);
    assert_int_equal(loaded.profile->location->t.count, 1);
    assert_int_equal(fact(&loaded.diag, "(other) left out"), 1);
    pt_loaded_done(&loaded);
}

static void profiles_with_nothing_in_common_are_refused(void **state)
{
    (void)state;
    put_proto("a.pb", "1{1:1 2:2} 2{2:5} 6\"\" 6\"cpu\" 6\"nanoseconds\"");
    put_proto("b.pb", "1{1:1 2:2} 2{2:5} 6\"\" 6\"space\" 6\"bytes\"");
    pt_loaded loaded;
    pt_error error;
    assert_int_equal(
        load((const char *[]){path_of("a.pb"), path_of("b.pb")}, 2, false, &loaded, &error),
        PT_ERR_USAGE);
    assert_non_null(strstr(error.message, "space/bytes"));
    assert_non_null(strstr(error.message, "cpu/nanoseconds"));
    assert_string_equal(error.path, path_of("b.pb"));
    pt_loaded_done(&loaded);
}

static void labels_are_the_same_in_any_order(void **state)
{
    (void)state;
    put_proto("a.pb", "1{1:1} 2{1:1 2:5 3{1:2 3:9} 3{1:1 2:2}} 4{1:1 3:1} 6\"\" 6\"x\" 6\"y\"");
    put_proto("b.pb", "1{1:1} 2{1:1 2:6 3{1:1 2:2} 3{1:2 3:9}} 4{1:1 3:1} 6\"\" 6\"x\" 6\"y\"");
    pt_loaded loaded;
    pt_error error;
    assert_int_equal(
        load((const char *[]){path_of("a.pb"), path_of("b.pb")}, 2, false, &loaded, &error), PT_OK);
    assert_int_equal(loaded.profile->sample->t.count, 1);
    assert_int_equal(loaded.profile->sample->value[0][0], 11);
    pt_loaded_done(&loaded);
}

/* 40 files whose stacks overlap, each with a fact of its own. */
static void any_number_of_threads_gives_the_same_bytes(void **state)
{
    (void)state;
    const char *names[40];
    char paths[40][128];
    for (int i = 0; i < 40; i++) {
        char name[16], text[512];
        snprintf(name, sizeof name, "t%d.pb", i);
        snprintf(text, sizeof text,
                 "1{1:1} 2{1[1 2 1] 2:%d} 2{1[2 %d 1] 2:1} 4{1:1 3:%d} 4{1:2 3:%d} 6\"\" 6\"x\" "
                 "6\"comment %d\" 13:2",
                 i + 1, i % 3, i % 5 + 1, i % 7 + 1, i);
        put_proto(name, text);
        snprintf(paths[i], sizeof paths[i], "%s/%s", folder, name);
        names[i] = paths[i];
    }
    pt_buf bytes[2];
    uint64_t missing[2];
    for (unsigned k = 0; k < 2; k++) {
        pt_pool *pool = pt_pool_new(k == 0 ? 1 : 8);
        const pt_load_options options = {.pool = pool};
        pt_loaded loaded;
        pt_error error = PT_ERROR_INIT;
        assert_int_equal(pt_load(names, 40, &options, &loaded, &error), PT_OK);
        bytes[k] = written_as("pprof", loaded.profile, NULL);
        missing[k] = fact(&loaded.diag, "missing locations");
        assert_int_equal(loaded.damaged_count, 14); /* i % 3 == 0: location 0 */
        pt_loaded_done(&loaded);
        pt_pool_free(pool);
    }
    assert_int_equal(missing[0], 14);
    assert_int_equal(missing[1], 14);
    assert_int_equal(bytes[0].size, bytes[1].size);
    assert_memory_equal(bytes[0].data, bytes[1].data, bytes[0].size);
    pt_buf_done(&bytes[0]);
    pt_buf_done(&bytes[1]);
}

static void the_first_name_that_fails_is_the_one_reported(void **state)
{
    (void)state;
    put_proto("one.pb", ONE);
    pt_pool *pool = pt_pool_new(4);
    const char *const names[] = {path_of("one.pb"), path_of("gone1"), path_of("gone2")};
    const pt_load_options options = {.pool = pool};
    pt_loaded loaded;
    pt_error error = PT_ERROR_INIT;
    assert_int_equal(pt_load(names, 3, &options, &loaded, &error), PT_ERR_NOTFOUND);
    assert_string_equal(error.path, names[1]);
    assert_null(loaded.profile);
    pt_loaded_done(&loaded);
    pt_pool_free(pool);
}

/* A gperftools profile of one sample, then a record that claims five frames. */
static const uint64_t cut_gperftools[] = {0, 3, 0, 1000, 0, 2, 1, 0x1000, 1, 5};

static void damage_and_format_are_noted_whatever_the_format(void **state)
{
    (void)state;
    put_file("cut.prof", cut_gperftools, sizeof cut_gperftools);
    pt_loaded loaded;
    pt_error error;
    const char *const names[] = {path_of("cut.prof"), path_of("cut.prof")};
    for (size_t count = 1; count <= 2; count++) {
        assert_int_equal(load(names, count, false, &loaded, &error), PT_OK);
        const pt_provenance *h = pt_profile_provenance(loaded.profile);
        assert_int_equal(loaded.damaged_count, count);
        assert_true(h->damaged);
        assert_string_equal(pt_text(loaded.profile, h->source_format), "gperftools");
        pt_loaded_done(&loaded);
    }
    put_file("whole.prof", cut_gperftools, 8 * sizeof cut_gperftools[0]);
    assert_int_equal(load((const char *[]){path_of("whole.prof")}, 1, true, &loaded, &error),
                     PT_OK);
    assert_false(pt_profile_provenance(loaded.profile)->damaged);
    pt_loaded_done(&loaded);
}

static void damaged_gzip_is_noted_though_the_profile_in_it_is_whole(void **state)
{
    (void)state;
    pt_buf buf = PT_BUF_INIT;
    pt_out out;
    pt_out_to_buf(&out, &buf);
    pt_gzip(cut_gperftools, 8 * sizeof cut_gperftools[0], 6, NULL, &out);
    pt_out_done(&out, NULL);
    buf.data[buf.size - 5] ^= 1; /* of the checksum */
    put_file("sum.prof.gz", buf.data, buf.size);
    pt_buf_done(&buf);
    pt_loaded loaded;
    pt_error error;
    assert_int_equal(load((const char *[]){path_of("sum.prof.gz")}, 1, false, &loaded, &error),
                     PT_OK);
    assert_int_equal(loaded.damaged_count, 1);
    assert_true(pt_profile_provenance(loaded.profile)->damaged);
    pt_loaded_done(&loaded);
}

static void put_dcpi(const char *name, const char *epoch_and_more, uint32_t count)
{
    char header[512];
    int n = snprintf(header, sizeof header,
                     "version pdb-0.07\nimage 77\nevent cycles\ntsize 4096\ntstart 1000\n%s"
                     "samples\n",
                     epoch_and_more);
    const uint32_t numbers[] = {0, 1, count, 1, count};
    memcpy(header + n, numbers, sizeof numbers);
    put_file(name, header, (size_t)n + sizeof numbers);
}

static void lines_that_only_the_format_understands_survive_a_merge(void **state)
{
    (void)state;
    put_dcpi("a.dcpi", "epoch 9705221030\nperiod 4096\nfuture thing\n", 5);
    put_dcpi("b.dcpi", "epoch 9705220930\nperiod 8192\nfuture thing\nother\n", 6);
    pt_loaded loaded;
    pt_error error;
    const char *const names[] = {path_of("a.dcpi"), path_of("b.dcpi")};
    assert_int_equal(load(names, 2, false, &loaded, &error), PT_OK);
    pt_buf bytes = written_as("dcpi", loaded.profile, NULL);
    static const char want[] = "version pdb-0.07\nimage 77\nevent cycles\ntsize 4096\n"
                               "tstart 1000\nepoch 9705220930\nperiod 8192\nfuture thing\nother\n"
                               "samples";
    assert_true(bytes.size > sizeof want);
    assert_memory_equal(bytes.data, want, sizeof want - 1);
    pt_buf_done(&bytes);
    pt_loaded_done(&loaded);
}

/* One sample of one event; the caller sets what the test is about. */
static const pt_profile *one_sample(const pt_event *facts, const pt_provenance *header)
{
    pt_builder *b = pt_builder_new();
    pt_event event = *facts;
    event.type = pt_builder_text(b, "cpu").v;
    event.unit = pt_builder_text(b, "nanoseconds").v;
    pt_builder_event(b, &event);
    *pt_builder_provenance(b) = *header;
    const pt_location_id l =
        pt_builder_location(b, &(pt_location){.mapping = PT_NONE, .address = 0x1000}, NULL, 0);
    pt_builder_add(b, pt_builder_stack(b, &l.v, 1, PT_STACK_END_ROOT), PT_NO_LABELS,
                   (int64_t[]){1});
    const pt_profile *p;
    assert_int_equal(pt_builder_freeze(b, &p, NULL), PT_OK);
    return p;
}

static const pt_profile *merged(const pt_profile *a, const pt_profile *b, pt_diag *diag)
{
    pt_merge *m = pt_merge_new(diag);
    assert_int_equal(pt_merge_add(m, a, NULL), PT_OK);
    assert_int_equal(pt_merge_add(m, b, NULL), PT_OK);
    const pt_profile *p;
    assert_int_equal(pt_merge_finish(m, &p, NULL), PT_OK);
    return p;
}

static void facts_that_profiles_do_not_share_hold_for_neither(void **state)
{
    (void)state;
    pt_diag diag;
    pt_diag_init(&diag);
    PT_UNREF_PROFILE const pt_profile *a =
        one_sample(&(pt_event){.period = 10, .rate_hz = 3e9, .monitored_fraction = 1},
                   &(pt_provenance){.cpu_used_ns = 5, .cpu_seen_ns = 4, .big_endian = true});
    PT_UNREF_PROFILE const pt_profile *b =
        one_sample(&(pt_event){.period = 20, .rate_hz = 2e9, .monitored_fraction = 0.5},
                   &(pt_provenance){.cpu_seen_ns = 7});
    PT_UNREF_PROFILE const pt_profile *p = merged(a, b, &diag);
    assert_int_equal(p->event->row[0].period, 20); /* pprof's rule: the longest */
    assert_true(p->event->row[0].period_varies);
    assert_true(p->event->row[0].rate_hz == 0);
    assert_true(p->event->row[0].monitored_fraction == 0);
    const pt_provenance *h = pt_profile_provenance(p);
    assert_int_equal(h->cpu_used_ns, 0); /* 5 and unknown */
    assert_int_equal(h->cpu_seen_ns, 11);
    assert_false(h->big_endian);
    assert_int_equal(fact(&diag, "CPU time used left out"), 1);
    assert_int_equal(fact(&diag, "CPU time sampled left out"), 0);
    PT_UNREF_PROFILE const pt_profile *same = merged(a, a, &diag);
    assert_int_equal(same->event->row[0].period, 10);
    assert_false(same->event->row[0].period_varies);
    assert_true(same->event->row[0].rate_hz == 3e9);
    pt_diag_done(&diag);
}

static void inputs_read_at_once_share_the_memory(void **state)
{
    (void)state;
    assert_int_equal(pt_load_share(1000, 4, 1), 1000);
    assert_int_equal(pt_load_share(1000, 4, 2), 500);
    assert_int_equal(pt_load_share(1000, 4, 100), 250);
    assert_int_equal(pt_load_share(1000, 1, 100), 1000);
}

/* A sample of so many frames, all of one location of 250 lines, below one of two; and its file. */
static void put_inlined(const char *name, unsigned depth)
{
    pt_buf text = PT_BUF_INIT;
    pt_put_text(&text, "1{1:1 2:2} 2{1[2");
    for (unsigned i = 0; i < depth; i++)
        pt_put_text(&text, " 1");
    pt_put_text(&text, "] 2:5} 4{1:1 3:0x1010");
    for (unsigned i = 0; i < 250; i++)
        pt_put_text(&text, " 4{1:1}");
    pt_put_text(&text, "} 4{1:2 3:0x1020 4{1:1 2:7} 4{1:1 2:8}} 5{1:1 2:3} "
                       "6\"\" 6\"cpu\" 6\"count\" 6\"f\" ");
    put_proto(name, pt_buf_text(&text));
    pt_buf_done(&text);
}

static void inlined_functions_of_a_deep_stack_are_bounded_by_the_size_of_the_file(void **state)
{
    (void)state;
    put_inlined("deep.pb", 300);
    pt_loaded loaded;
    pt_error error;
    assert_int_equal(load((const char *[]){path_of("deep.pb")}, 1, false, &loaded, &error), PT_OK);
    struct stat s;
    assert_int_equal(stat(path_of("deep.pb"), &s), 0);
    const uint64_t most = 32 * (uint64_t)s.st_size;
    assert_true(300 * 250 + 2 > most);
    const pt_profile *const p = loaded.profile;
    const uint32_t *const first = p->location->line_first;
    assert_int_equal(first[1] - first[0], (most - 2) / 300);
    assert_int_equal(first[2] - first[1], 2);
    assert_int_equal(pt_profile_total(p, 0), 5);
    assert_int_equal(pt_stack_depth(p, p->sample->stack[0]), 301);
    assert_int_equal(loaded.diag.count, 1);
    pt_loaded_done(&loaded);

    put_inlined("flat.pb", 20);
    assert_int_equal(load((const char *[]){path_of("flat.pb")}, 1, false, &loaded, &error), PT_OK);
    assert_int_equal(loaded.profile->line->t.count, 252);
    pt_loaded_done(&loaded);
}

/* As many samples as are asked for, of a function whose name is so many times "name", and of one
 * that ends otherwise. */
static void put_long_names(const char *name, unsigned samples, unsigned repeats)
{
    pt_buf text = PT_BUF_INIT;
    pt_put_text(&text, "1{1:1 2:2} ");
    for (unsigned i = 0; i < samples; i++)
        pt_put_text(&text, "2{1[1 2] 2:5} ");
    pt_put_text(&text, "4{1:1 3:0x1010 4{1:1}} 4{1:2 3:0x1020 4{1:2}} 5{1:1 2:3} 5{1:2 2:4} "
                       "6\"\" 6\"cpu\" 6\"count\" ");
    for (unsigned k = 0; k < 2; k++) {
        pt_put_text(&text, "6\"");
        for (unsigned i = 0; i < repeats; i++)
            pt_put_text(&text, "name");
        pt_put_text(&text, k == 0 ? "one\" " : "two\" ");
    }
    put_gzip(name, pt_buf_text(&text), 0);
    pt_buf_done(&text);
}

static void names_of_all_frames_are_bounded_by_the_size_of_the_file(void **state)
{
    (void)state;
    put_long_names("long.gz", 200, 3000);
    pt_loaded loaded;
    pt_error error;
    assert_int_equal(load((const char *[]){path_of("long.gz")}, 1, false, &loaded, &error), PT_OK);
    const pt_profile *const p = loaded.profile;
    struct stat s;
    assert_int_equal(stat(path_of("long.gz"), &s), 0);
    const uint64_t most = 4096 * (uint64_t)s.st_size;
    assert_true(most < UINT64_C(2) * 200 * 12003);
    for (uint32_t f = 0; f < 2; f++) {
        const size_t bytes = pt_text_bytes(p, p->function->name[f]);
        assert_true(bytes >= 64 && bytes * 200 * 2 <= most);
        assert_true((bytes + 1) * 200 * 2 > most);
        assert_int_equal(strlen(pt_text(p, p->function->name[f])), bytes);
        assert_memory_equal(pt_text(p, p->function->name[f]), "namename", 8);
    }
    assert_string_not_equal(pt_text(p, p->function->name[0]), pt_text(p, p->function->name[1]));
    assert_int_equal(pt_profile_total(p, 0), 1000);
    assert_int_equal(loaded.diag.count, 1);
    pt_loaded_done(&loaded);

    put_long_names("few.gz", 10, 3000);
    assert_int_equal(load((const char *[]){path_of("few.gz")}, 1, false, &loaded, &error), PT_OK);
    assert_int_equal(pt_text_bytes(loaded.profile, loaded.profile->function->name[0]), 12003);
    pt_loaded_done(&loaded);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_no_profile_gets_one_clear_line),
        cmocka_unit_test(a_program_among_the_names_is_set_aside),
        cmocka_unit_test(gzip_is_peeled_and_a_cut_one_gives_what_is_there),
        cmocka_unit_test(inflating_stops_at_the_limit),
        cmocka_unit_test(text_of_any_format_may_be_utf16),
        cmocka_unit_test(several_profiles_are_added_up_by_content),
        cmocka_unit_test(zero_sums_are_dropped_and_events_not_shared_left_out),
        cmocka_unit_test(profiles_with_nothing_in_common_are_refused),
        cmocka_unit_test(labels_are_the_same_in_any_order),
        cmocka_unit_test(any_number_of_threads_gives_the_same_bytes),
        cmocka_unit_test(the_first_name_that_fails_is_the_one_reported),
        cmocka_unit_test(damage_and_format_are_noted_whatever_the_format),
        cmocka_unit_test(damaged_gzip_is_noted_though_the_profile_in_it_is_whole),
        cmocka_unit_test(lines_that_only_the_format_understands_survive_a_merge),
        cmocka_unit_test(facts_that_profiles_do_not_share_hold_for_neither),
        cmocka_unit_test(inputs_read_at_once_share_the_memory),
        cmocka_unit_test(inlined_functions_of_a_deep_stack_are_bounded_by_the_size_of_the_file),
        cmocka_unit_test(names_of_all_frames_are_bounded_by_the_size_of_the_file),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
