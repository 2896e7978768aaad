/* test_perf_data.c: the reader of perf.data on files put together here record by record: both byte
 * orders, both versions, pipes, and what each kind of record does. What real files hold is compared
 * with perf itself in tests/cli/perf_data.t.sh. */
#include "formats_check.h"

#include <zstd.h>

#include "perf_maker.h"

#define CHAIN_TYPE (PT_PERF_IP | PT_PERF_TID | PT_PERF_TIME | PT_PERF_CALLCHAIN)

static const char *const le_magic = PT_PERF_DATA_MAGIC2, *const be_magic = "2ELIFREP";

static perf_maker new_file(uint64_t sample_type)
{
    perf_maker m = {.buf = PT_BUF_INIT, .sample_type = sample_type};
    begin_file(&m, le_magic, 96);
    return m;
}

/* Two samples of a program: in main, and in the kernel on its behalf. */
static void put_program(perf_maker *m)
{
    put_comm(m, PT_PERF_MISC_EXEC, 7, 7, "prog", 10);
    put_mmap(m, 7, 0x400000, 0x1000, 0x2000, "/bin/prog", 11);
    put_sample(m, PT_PERF_USER, 0x400010, 7, 7, 20,
               (const uint64_t[]){PT_PERF_CONTEXT_USER, 0x400010, 0x400020}, 3);
    put_sample(m, PT_PERF_KERNEL, 0xffffffff81000010, 7, 8, 30,
               (const uint64_t[]){PT_PERF_CONTEXT_KERNEL, 0xffffffff81000010, 0xffffffff81000020,
                                  PT_PERF_CONTEXT_USER, 0x400014, 0x400020},
               6);
}

static reading read_whole(perf_maker *m)
{
    end_file(m);
    reading r = read_as("perf.data", m->buf.data, m->buf.size);
    if (r.status != PT_OK) fail_msg("%s", r.error.message);
    pt_buf_done(&m->buf);
    return r;
}

/* "0x400010 0x400020+" leaf first; + is a return address, k the kernel's. */
static const char *stack_text(const pt_profile *p, uint32_t sample, char *text, size_t size)
{
    const uint32_t stack = p->sample->stack[sample];
    size_t used = 0;
    text[0] = '\0';
    for (uint32_t i = 0; i < pt_stack_depth(p, stack); i++) {
        const uint32_t at = pt_stack_frames(p, stack)[i], flags = p->location->flags[at];
        used += (size_t)snprintf(text + used, size - used, "%s%#llx%s%s", i > 0 ? " " : "",
                                 (unsigned long long)p->location->address[at],
                                 flags & PT_LOCATION_RETURN_ADDR ? "+" : "",
                                 flags & PT_LOCATION_KERNEL ? "k" : "");
    }
    return text;
}

static const char *file_of(const pt_profile *p, uint32_t sample, uint32_t frame)
{
    const uint32_t at = pt_stack_frames(p, p->sample->stack[sample])[frame];
    const uint32_t mapping = p->location->mapping[at];
    return mapping == PT_NONE ? "none" : pt_text(p, p->mapping->row[mapping].file);
}

#define ASSERT_STACK(p, sample, expected)                                                          \
    do {                                                                                           \
        char text_[1024];                                                                          \
        assert_string_equal(stack_text(p, sample, text_, sizeof text_), expected);                 \
    } while (0)

static void assert_is_program(const pt_profile *p)
{
    assert_int_equal(p->sample->t.count, 2);
    ASSERT_STACK(p, 0, "0x400010 0x400020+");
    ASSERT_STACK(p, 1, "0xffffffff81000010k 0xffffffff81000020+k 0x400014 0x400020+");
    assert_string_equal(file_of(p, 0, 0), "/bin/prog");
    assert_int_equal(p->mapping->row[0].start, 0x400000);
    assert_int_equal(p->mapping->row[0].limit, 0x401000);
    assert_int_equal(p->mapping->row[0].file_offset, 0x2000);
    assert_int_equal(p->sample->time_ns[1], 30);
    assert_int_equal(p->sample->pid[1], 7);
    assert_int_equal(p->sample->tid[1], 8);
    assert_string_equal(pt_text(p, p->sample->comm[0]), "prog");
    assert_string_equal(pt_text(p, p->event->row[1].type), "cpu-clock");
    assert_string_equal(pt_text(p, p->event->row[1].unit), "nanoseconds");
    assert_int_equal(pt_profile_total(p, 0), 2);
    assert_int_equal(pt_profile_total(p, 1), 2000000);
    assert_int_equal(p->event->row[1].period, 1000000);
}

static void files_of_both_versions_and_byte_orders_say_the_same(void **state)
{
    (void)state;
    static const struct {
        const char *magic;
        bool big;
        unsigned attr_bytes;
    } kinds[] = {{PT_PERF_DATA_MAGIC2, false, 64},
                 {PT_PERF_DATA_MAGIC2, false, 136},
                 {"2ELIFREP", true, 64},
                 {"2ELIFREP", true, 112},
                 {PT_PERF_DATA_MAGIC1, false, 72},
                 {PT_PERF_DATA_MAGIC1, true, 72},
                 {PT_PERF_DATA_MAGIC2, false, 200},
                 {PT_PERF_DATA_MAGIC2, false, 80}};
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        perf_maker m = {.buf = PT_BUF_INIT, .big = kinds[i].big, .sample_type = CHAIN_TYPE};
        begin_file(&m, kinds[i].magic, kinds[i].attr_bytes);
        put_program(&m);
        reading r = read_whole(&m);
        assert_is_program(r.profile);
        assert_int_equal(pt_profile_provenance(r.profile)->big_endian, kinds[i].big);
        reading_done(&r);
    }
}

static void begin_pipe(perf_maker *m)
{
    *m = (perf_maker){.buf = PT_BUF_INIT, .big = m->big, .sample_type = CHAIN_TYPE};
    pt_put(&m->buf, m->big ? be_magic : le_magic, 8);
    put(m, PT_PERF_PIPE_HEADER_BYTES, 8);
    begin_record(m, PT_PERF_ATTR, 0);
    put_attr(m, 112, PT_PERF_TYPE_SOFTWARE, 0, 1000000);
    end_record(m);
}

static void pipes_say_the_same(void **state)
{
    (void)state;
    for (int big = 0; big < 2; big++) {
        perf_maker m = {.big = big};
        begin_pipe(&m);
        put_program(&m);
        reading r = read_as("perf.data", m.buf.data, m.buf.size);
        assert_int_equal(r.status, PT_OK);
        assert_is_program(r.profile);
        reading_done(&r);
        pt_buf_done(&m.buf);
    }
}

/* Records of a cpu follow those of another; what was mapped counts at its time. */
static void records_count_in_the_order_of_time(void **state)
{
    (void)state;
    perf_maker m = new_file(CHAIN_TYPE);
    put_sample(&m, PT_PERF_USER, 0x400010, 7, 7, 20, NULL, 0);
    put_sample(&m, PT_PERF_USER, 0x400010, 7, 7, 40, NULL, 0);
    put_mmap(&m, 7, 0x400000, 0x1000, 0, "/bin/first", 10);
    put_mmap(&m, 7, 0x400000, 0x1000, 0, "/bin/second", 30);
    begin_record(&m, PT_PERF_FINISHED_ROUND, 0);
    end_record(&m);
    put_mmap(&m, 7, 0x400000, 0x1000, 0, "/bin/third", 35);
    reading r = read_whole(&m);
    assert_string_equal(file_of(r.profile, 0, 0), "/bin/first");
    assert_string_equal(file_of(r.profile, 1, 0), "/bin/third");
    reading_done(&r);
}

static void a_mapping_cuts_those_it_lies_over(void **state)
{
    (void)state;
    perf_maker m = new_file(CHAIN_TYPE);
    put_mmap(&m, 7, 0x1000, 0x9000, 0, "/lib/big.so", 10);
    put_mmap(&m, 7, 0x4000, 0x1000, 0, "/lib/small.so", 11);
    const uint64_t at[] = {0x3fff, 0x4000, 0x4fff, 0x5000, 0xa000};
    for (size_t i = 0; i < 5; i++)
        put_sample(&m, PT_PERF_USER, at[i], 7, 7, 20 + i, NULL, 0);
    reading r = read_whole(&m);
    static const char *const files[] = {"/lib/big.so", "/lib/small.so", "/lib/small.so",
                                        "/lib/big.so", "none"};
    for (uint32_t i = 0; i < 5; i++)
        assert_string_equal(file_of(r.profile, i, 0), files[i]);
    assert_int_equal(r.profile->mapping->t.count, 2);
    reading_done(&r);
}

static void children_begin_with_what_the_parent_has(void **state)
{
    (void)state;
    perf_maker m = new_file(CHAIN_TYPE);
    put_program(&m);
    put_fork(&m, 7, 7, 9, 7, 40);
    put_fork(&m, 10, 7, 10, 7, 41);
    put_sample(&m, PT_PERF_USER, 0x400030, 7, 9, 50, NULL, 0);
    put_sample(&m, PT_PERF_USER, 0x400030, 10, 10, 51, NULL, 0);
    put_comm(&m, PT_PERF_MISC_EXEC, 10, 10, "other", 52);
    put_sample(&m, PT_PERF_USER, 0x400030, 10, 10, 53, NULL, 0);
    put_sample(&m, PT_PERF_USER, 0x400030, 7, 9, 54, NULL, 0);
    reading r = read_whole(&m);
    const pt_profile *const p = r.profile;
    assert_string_equal(file_of(p, 2, 0), "/bin/prog");
    assert_string_equal(file_of(p, 3, 0), "/bin/prog");
    assert_string_equal(file_of(p, 4, 0), "none");
    assert_string_equal(file_of(p, 5, 0), "/bin/prog");
    assert_string_equal(pt_text(p, p->sample->comm[2]), "prog");
    assert_string_equal(pt_text(p, p->sample->comm[3]), "prog");
    assert_string_equal(pt_text(p, p->sample->comm[4]), "other");
    reading_done(&r);
}

static void a_library_of_several_processes_is_one_mapping(void **state)
{
    (void)state;
    perf_maker m = new_file(CHAIN_TYPE);
    put_mmap(&m, 7, 0x7f0000, 0x1000, 0x3000, "/lib/a.so", 10);
    put_mmap(&m, 8, 0x8f0000, 0x1000, 0x3000, "/lib/a.so", 11);
    put_sample(&m, PT_PERF_USER, 0x7f0010, 7, 7, 20, NULL, 0);
    put_sample(&m, PT_PERF_USER, 0x8f0010, 8, 8, 21, NULL, 0);
    reading r = read_whole(&m);
    assert_int_equal(r.profile->mapping->t.count, 1);
    assert_int_equal(r.profile->stack->t.count, 1);
    ASSERT_STACK(r.profile, 1, "0x7f0010");
    reading_done(&r);
}

static void the_sample_itself_is_the_leaf(void **state)
{
    (void)state;
    perf_maker m = new_file(CHAIN_TYPE);
    /* precise events: the instruction before the one that the chain has */
    put_sample(&m, PT_PERF_USER, 0x400010, 7, 7, 20,
               (const uint64_t[]){PT_PERF_CONTEXT_USER, 0x400013, 0x400020}, 3);
    /* exclude_callchain_kernel */
    put_sample(&m, PT_PERF_KERNEL, 0xffffffff81000010, 7, 7, 21,
               (const uint64_t[]){PT_PERF_CONTEXT_USER, 0x400013, 0x400020}, 3);
    reading r = read_whole(&m);
    ASSERT_STACK(r.profile, 0, "0x400010 0x400020+");
    ASSERT_STACK(r.profile, 1, "0xffffffff81000010k 0x400013 0x400020+");
    reading_done(&r);
}

static void what_was_lost_or_throttled_is_counted(void **state)
{
    (void)state;
    perf_maker m = new_file(CHAIN_TYPE);
    put_program(&m);
    begin_record(&m, PT_PERF_LOST, 0);
    PUT_WORDS(&m, 1, 40);
    put_when(&m, 7, 7, 60);
    begin_record(&m, PT_PERF_LOST_SAMPLES, 0);
    PUT_WORDS(&m, 2);
    put_when(&m, 7, 7, 61);
    begin_record(&m, PT_PERF_THROTTLE, 0);
    PUT_WORDS(&m, 62, 1, 1);
    put_when(&m, 7, 7, 62);
    reading r = read_whole(&m);
    assert_int_equal(pt_profile_provenance(r.profile)->lost, 42);
    assert_int_equal(pt_profile_provenance(r.profile)->throttled, 1);
    assert_int_equal(fact(&r.diag, "throttled"), 1);
    reading_done(&r);
}

static void kernel_symbols_name_their_code(void **state)
{
    (void)state;
    perf_maker m = new_file(CHAIN_TYPE);
    begin_record(&m, PT_PERF_KSYMBOL, 0);
    put(&m, 0xffffffffc0001000, 8);
    put(&m, 0x100, 4);
    put(&m, 1, 2);
    put(&m, 0, 2);
    put_text(&m, "bpf_prog_6deef7357e7b4530");
    put_when(&m, 0, 0, 5);
    put_sample(&m, PT_PERF_KERNEL, 0xffffffffc0001010, 7, 7, 20, NULL, 0);
    reading r = read_whole(&m);
    const pt_profile *const p = r.profile;
    assert_string_equal(file_of(p, 0, 0), "[bpf]");
    const uint32_t line = p->location->line_first[p->stack->frame[0]];
    assert_string_equal(pt_text(p, p->function->name[p->line->function[line]]),
                        "bpf_prog_6deef7357e7b4530");
    reading_done(&r);
}

static void build_ids_come_with_the_mapping(void **state)
{
    (void)state;
    perf_maker m = new_file(CHAIN_TYPE);
    begin_record(&m, PT_PERF_MMAP2, PT_PERF_USER | PT_PERF_MISC_BUILD_ID);
    put(&m, 7, 4);
    put(&m, 7, 4);
    PUT_WORDS(&m, 0x400000, 0x1000, 0);
    put(&m, 3, 1);
    put(&m, 0, 3);
    pt_put(&m.buf, "\xab\xcd\xef\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 20);
    put(&m, 5, 4);
    put(&m, 2, 4);
    put_text(&m, "/bin/prog (deleted)");
    put_when(&m, 7, 7, 5);
    put_sample(&m, PT_PERF_USER, 0x400010, 7, 7, 20, NULL, 0);
    reading r = read_whole(&m);
    const pt_profile *const p = r.profile;
    assert_string_equal(pt_text(p, p->mapping->row[0].file), "/bin/prog");
    assert_string_equal(pt_text(p, p->mapping->row[0].build_id), "abcdef");
    reading_done(&r);
}

/* As perf's resolve_lbr_callchain_sample has it, but for the innermost: that is exact here. */
static void put_lbr_sample(perf_maker *m, uint16_t cpumode, uint64_t ip, uint64_t time,
                           const uint64_t *chain, uint64_t count)
{
    put_sample(m, cpumode, ip, 7, 7, time, chain, count);
    PUT_WORDS(m, 2, 0x400100, 0x400200, 0, 0x400300, 0x400080, 0); /* from, to, flags */
    end_record(m);
}

static void calls_that_the_processor_keeps_are_callers(void **state)
{
    (void)state;
    enum { BRANCH_TYPE_AT = PT_PERF_FILE_HEADER_BYTES + PT_PERF_ATTR_BRANCH_TYPE };
    perf_maker m = new_file(CHAIN_TYPE | PT_PERF_BRANCHES);
    patch(&m, BRANCH_TYPE_AT, PT_PERF_BRANCH_CALL_STACK, 8);
    put_mmap(&m, 7, 0x400000, 0x1000, 0x2000, "/bin/prog", 11);
    put_lbr_sample(&m, PT_PERF_USER, 0x400210, 20,
                   (const uint64_t[]){PT_PERF_CONTEXT_USER, 0x400210}, 2);
    put_lbr_sample(&m, PT_PERF_KERNEL, 0xffffffff81000010, 30,
                   (const uint64_t[]){PT_PERF_CONTEXT_KERNEL, 0xffffffff81000010,
                                      0xffffffff81000020, PT_PERF_CONTEXT_USER, 0x400214},
                   5);
    /* A thread of the kernel has no such calls, whatever the registers still hold. */
    put_lbr_sample(&m, PT_PERF_KERNEL, 0xffffffff81000010, 40,
                   (const uint64_t[]){PT_PERF_CONTEXT_KERNEL, 0xffffffff81000010}, 2);
    reading r = read_whole(&m);
    assert_int_equal(r.profile->sample->t.count, 3);
    ASSERT_STACK(r.profile, 0, "0x400210 0x400100 0x400300");
    ASSERT_STACK(r.profile, 1,
                 "0xffffffff81000010k 0xffffffff81000020+k 0x400214 0x400100 0x400300");
    ASSERT_STACK(r.profile, 2, "0xffffffff81000010k");
    assert_int_equal(r.profile->arc->t.count, 0);
    reading_done(&r);
}

static void put_deferred_sample(perf_maker *m, uint64_t time, uint64_t cookie)
{
    put_sample(m, PT_PERF_KERNEL, 0xffffffff81000010, 7, 7, time,
               (const uint64_t[]){PT_PERF_CONTEXT_KERNEL, 0xffffffff81000010, 0xffffffff81000020,
                                  PT_PERF_CONTEXT_USER_DEFERRED, cookie},
               5);
}

static void put_user_side(perf_maker *m, uint64_t time, uint64_t cookie, uint64_t said_count)
{
    begin_record(m, PT_PERF_CALLCHAIN_DEFERRED, PT_PERF_USER);
    PUT_WORDS(m, cookie, said_count, PT_PERF_CONTEXT_USER, 0x400014, 0x400020);
    put_when(m, 7, 7, time);
}

/* The layout and the rules are those of linux/perf_event.h: one chain for all samples of a way
 * through the kernel. */
static void user_stacks_told_later_join_their_samples(void **state)
{
    (void)state;
    for (int big = 0; big < 2; big++) {
        perf_maker m = {.buf = PT_BUF_INIT, .big = big, .sample_type = CHAIN_TYPE};
        begin_file(&m, big ? PT_PERF_DATA_MAGIC2_SWAPPED : PT_PERF_DATA_MAGIC2, 136);
        put_mmap(&m, 7, 0x400000, 0x1000, 0x2000, "/bin/prog", 11);
        put_deferred_sample(&m, 20, 0x100000007);
        put_deferred_sample(&m, 21, 0x200000007); /* on another CPU; no record follows */
        put_deferred_sample(&m, 22, 0x100000007);
        put_user_side(&m, 23, 0x100000007, 3);
        put_sample(&m, PT_PERF_USER, 0x400014, 7, 7, 24,
                   (const uint64_t[]){PT_PERF_CONTEXT_USER_DEFERRED, 0x300000007}, 2);
        put_user_side(&m, 25, 0x300000007, 3);
        put_user_side(&m, 26, 0x300000007, 3);        /* nothing waits any more */
        put_user_side(&m, 27, 0x200000007, 1u << 30); /* more than the record holds */
        reading r = read_whole(&m);
        const pt_profile *const p = r.profile;
        assert_int_equal(p->sample->t.count, 4);
        for (uint32_t i = 0; i < 2; i++)
            ASSERT_STACK(p, i, "0xffffffff81000010k 0xffffffff81000020+k 0x400014 0x400020+");
        assert_int_equal(p->sample->time_ns[0], 20);
        assert_int_equal(p->sample->time_ns[1], 22);
        ASSERT_STACK(p, 2, "0x400014 0x400020+");
        ASSERT_STACK(p, 3, "0xffffffff81000010k 0xffffffff81000020+k");
        assert_int_equal(p->sample->time_ns[3], 21);
        assert_int_equal(p->stack->end[p->sample->stack[3]], PT_STACK_END_TRUNCATED);
        assert_int_equal(p->stack->end[p->sample->stack[0]], PT_STACK_END_UNKNOWN);
        reading_done(&r);
    }
}

static void events_beyond_a_profiles_columns_count_as_samples(void **state)
{
    (void)state;
    perf_maker m = {.buf = PT_BUF_INIT, .sample_type = PT_PERF_IDENTIFIER | CHAIN_TYPE};
    pt_put(&m.buf, le_magic, 8);
    put(&m, PT_PERF_PIPE_HEADER_BYTES, 8);
    for (uint64_t i = 0; i < 300; i++) {
        begin_record(&m, PT_PERF_ATTR, 0);
        put_attr(&m, 96, PT_PERF_TYPE_RAW, i, 5);
        PUT_WORDS(&m, 1000 + i);
        end_record(&m);
    }
    for (uint64_t i = 0; i < 300; i++) {
        begin_record(&m, PT_PERF_SAMPLE, PT_PERF_USER);
        PUT_WORDS(&m, 1000 + i, 0x400010, 7 | UINT64_C(7) << 32, 20 + i, 0);
        end_record(&m);
    }
    reading r = read_as("perf.data", m.buf.data, m.buf.size);
    pt_buf_done(&m.buf);
    assert_int_equal(r.status, PT_OK);
    assert_int_equal(r.profile->event->t.count, 256);
    assert_int_equal(pt_profile_total(r.profile, 0), 300);
    assert_int_equal(pt_profile_total(r.profile, 255), 5);
    assert_int_equal(fact(&r.diag, "beyond the 255th"), 45);
    reading_done(&r);
}

static void branches_are_arcs(void **state)
{
    (void)state;
    perf_maker m = new_file(PT_PERF_IP | PT_PERF_TID | PT_PERF_TIME | PT_PERF_BRANCHES);
    put_mmap(&m, 7, 0x400000, 0x1000, 0, "/bin/prog", 10);
    for (uint64_t i = 0; i < 2; i++) {
        begin_record(&m, PT_PERF_SAMPLE, PT_PERF_USER);
        PUT_WORDS(&m, 0x400010);
        put(&m, 7, 4);
        put(&m, 7, 4);
        PUT_WORDS(&m, 20 + i, 2, 0x400010, 0x400100, 0, 0x400120, 0x400014, 0);
        end_record(&m);
    }
    reading r = read_whole(&m);
    const pt_profile *const p = r.profile;
    assert_int_equal(p->arc->t.count, 2);
    assert_int_equal(p->arc->calls[0], 2);
    assert_int_equal(p->location->address[p->arc->from[0]], 0x400010);
    assert_int_equal(p->location->address[p->arc->to[0]], 0x400100);
    reading_done(&r);
}

static void cgroups_are_labels(void **state)
{
    (void)state;
    perf_maker m = new_file(PT_PERF_IP | PT_PERF_TID | PT_PERF_TIME | PT_PERF_CGROUP);
    begin_record(&m, PT_PERF_CGROUP_NAME, 0);
    PUT_WORDS(&m, 99);
    put_text(&m, "/system.slice/web.service");
    put_when(&m, 0, 0, 5);
    begin_record(&m, PT_PERF_SAMPLE, PT_PERF_USER);
    PUT_WORDS(&m, 0x400010);
    put(&m, 7, 4);
    put(&m, 7, 4);
    PUT_WORDS(&m, 20, 99);
    end_record(&m);
    reading r = read_whole(&m);
    const pt_profile *const p = r.profile;
    const pt_label *const label = &p->labels->row[p->labels->offset[p->sample->labels[0]]];
    assert_string_equal(pt_text(p, label->key), "cgroup");
    assert_string_equal(pt_text(p, label->str), "/system.slice/web.service");
    reading_done(&r);
}

static void an_event_is_known_by_its_id(void **state)
{
    (void)state;
    perf_maker m = {.buf = PT_BUF_INIT,
                    .sample_type = PT_PERF_IDENTIFIER | PT_PERF_IP | PT_PERF_PERIOD};
    pt_put(&m.buf, le_magic, 8);
    put(&m, PT_PERF_PIPE_HEADER_BYTES, 8);
    for (uint64_t i = 0; i < 2; i++) {
        begin_record(&m, PT_PERF_ATTR, 0);
        put_attr(&m, 112, PT_PERF_TYPE_HARDWARE, i, 1);
        PUT_WORDS(&m, 100 + i, 200 + i);
        end_record(&m);
    }
    begin_record(&m, PT_PERF_EVENT_UPDATE, 0);
    PUT_WORDS(&m, 2, 101);
    put_text(&m, "insn:Pu");
    end_record(&m);
    const uint64_t ids[] = {100, 201, 101, 999};
    for (uint64_t i = 0; i < 4; i++) {
        begin_record(&m, PT_PERF_SAMPLE, PT_PERF_USER);
        PUT_WORDS(&m, ids[i], 0x400010, 10 + i);
        end_record(&m);
    }
    reading r = read_as("perf.data", m.buf.data, m.buf.size);
    assert_int_equal(r.status, PT_OK);
    assert_string_equal(pt_text(r.profile, r.profile->event->row[1].type), "cycles");
    assert_string_equal(pt_text(r.profile, r.profile->event->row[2].type), "insn:u");
    assert_int_equal(pt_profile_total(r.profile, 1), 10);
    assert_int_equal(pt_profile_total(r.profile, 2), 11 + 12);
    assert_int_equal(fact(&r.diag, "unknown event id"), 1);
    reading_done(&r);
    pt_buf_done(&m.buf);
}

/* ---- compressed ---- */

/* The records of put_program as one zstd stream, cut in pieces of a few bytes. */
static void put_compressed(perf_maker *m, uint32_t type, size_t piece)
{
    perf_maker inside = {.buf = PT_BUF_INIT, .sample_type = CHAIN_TYPE};
    char packed[1024];
    put_program(&inside);
    const size_t size = ZSTD_compress(packed, sizeof packed, inside.buf.data, inside.buf.size, 3);
    assert_false(ZSTD_isError(size));
    for (size_t at = 0; at < size; at += piece) {
        const size_t bytes = at + piece < size ? piece : size - at;
        begin_record(m, type, 0);
        if (type == PT_PERF_COMPRESSED2) put(m, bytes, 8);
        pt_put(&m->buf, packed + at, bytes);
        while (type == PT_PERF_COMPRESSED2 && m->buf.size % 8 != 0)
            pt_put_u8(&m->buf, 0);
        end_record(m);
    }
    pt_buf_done(&inside.buf);
}

static void compressed_records_may_be_cut_anywhere(void **state)
{
    (void)state;
    const uint32_t types[] = {PT_PERF_COMPRESSED, PT_PERF_COMPRESSED2};
    for (size_t i = 0; i < 4; i++) {
        perf_maker m = {0};
        begin_pipe(&m);
        put_compressed(&m, types[i % 2], i < 2 ? 5 : 1000);
        reading r = read_as("perf.data", m.buf.data, m.buf.size);
        if (r.status != PT_OK) fail_msg("%s", r.error.message);
        assert_is_program(r.profile);
        reading_done(&r);
        pt_buf_done(&m.buf);
    }
}

/* A megabyte of records in a few hundred bytes is inflated in several chunks. */
static void large_compressed_data_goes_through_chunks(void **state)
{
    (void)state;
    enum { SAMPLES = 40000 };
    perf_maker inside = {.buf = PT_BUF_INIT, .sample_type = CHAIN_TYPE}, m = {0};
    for (uint64_t i = 0; i < SAMPLES; i++)
        put_sample(&inside, PT_PERF_USER, 0x400010, 7, 7, 1 + i,
                   (const uint64_t[]){PT_PERF_CONTEXT_USER, 0x400010, 0x400020}, 3);
    const size_t room = ZSTD_compressBound(inside.buf.size);
    char *const packed = malloc(room);
    const size_t size = ZSTD_compress(packed, room, inside.buf.data, inside.buf.size, 3);
    begin_pipe(&m);
    for (size_t at = 0; at < size; at += 60000) {
        begin_record(&m, PT_PERF_COMPRESSED, 0);
        pt_put(&m.buf, packed + at, at + 60000 < size ? 60000 : size - at);
        end_record(&m);
    }
    reading r = read_as("perf.data", m.buf.data, m.buf.size);
    assert_int_equal(r.status, PT_OK);
    assert_int_equal(r.profile->sample->t.count, SAMPLES);
    assert_int_equal(r.profile->stack->t.count, 1);
    reading_done(&r);
    free(packed);
    pt_buf_done(&inside.buf);
    pt_buf_done(&m.buf);
}

/* ---- writing ---- */

static void what_is_written_says_the_same(void **state)
{
    (void)state;
    perf_maker m = new_file(CHAIN_TYPE);
    put_program(&m);
    reading r = read_whole(&m);
    pt_buf written = written_as("perf.data", r.profile, NULL);
    reading again = read_as("perf.data", written.data, written.size);
    if (again.status != PT_OK) fail_msg("%s", again.error.message);
    assert_is_program(again.profile);
    reading_done(&r);
    reading_done(&again);
    pt_buf_done(&written);
}

/* The kernel may count nothing for a sample that it took; another is worth 7. */
static void samples_of_no_period_are_samples(void **state)
{
    (void)state;
    perf_maker m = {.buf = PT_BUF_INIT,
                    .sample_type = PT_PERF_IDENTIFIER | PT_PERF_PERIOD | CHAIN_TYPE};
    pt_put(&m.buf, le_magic, 8);
    put(&m, PT_PERF_PIPE_HEADER_BYTES, 8);
    begin_record(&m, PT_PERF_ATTR, 0);
    put_attr(&m, 96, PT_PERF_TYPE_RAW, 0, 5);
    PUT_WORDS(&m, 1000);
    end_record(&m);
    for (uint64_t period = 0; period <= 7; period += 7) {
        begin_record(&m, PT_PERF_SAMPLE, PT_PERF_USER);
        PUT_WORDS(&m, 1000, 0x400010, 7 | UINT64_C(7) << 32, 20, period, 0);
        end_record(&m);
    }
    reading r = read_as("perf.data", m.buf.data, m.buf.size);
    pt_buf_done(&m.buf);
    pt_buf written = written_as("perf.data", r.profile, NULL);
    reading again = read_as("perf.data", written.data, written.size);
    pt_buf_done(&written);
    for (int i = 0; i < 2; i++) {
        const reading *const one = i == 0 ? &r : &again;
        assert_int_equal(one->status, PT_OK);
        assert_int_equal(pt_profile_total(one->profile, 0), 2);
        assert_int_equal(pt_profile_total(one->profile, 1), 7);
    }
    reading_done(&r);
    reading_done(&again);
}

static void only_addresses_can_be_written(void **state)
{
    (void)state;
    reading r = read_as("folded", "main;leaf 3\n", 12);
    pt_error error = PT_ERROR_INIT;
    pt_buf buf = PT_BUF_INIT;
    pt_out out;
    pt_out_to_buf(&out, &buf);
    const pt_output output = {.context = &out, .open = open_buffer};
    const pt_write_options options = {.event = PT_NONE};
    assert_int_equal(pt_format_find("perf.data")->write(r.profile, &output, &options, &error),
                     PT_ERR_UNSUPPORTED);
    assert_non_null(strstr(error.message, "no addresses"));
    pt_out_done(&out, NULL);
    pt_buf_done(&buf);
    reading_done(&r);
}

/* ---- damage ---- */

static void a_file_cut_anywhere_gives_what_came_before(void **state)
{
    (void)state;
    perf_maker m = new_file(CHAIN_TYPE);
    put_program(&m);
    end_file(&m);
    for (size_t size = m.data_at; size < m.buf.size; size++) {
        reading r = read_as("perf.data", m.buf.data, size);
        assert_int_equal(r.status, PT_ERR_DAMAGED);
        assert_non_null(r.profile);
        assert_true(r.profile->sample->t.count <= 1 || size > m.buf.size - 8);
        reading_done(&r);
    }
    pt_buf_done(&m.buf);
}

static void text_behind_the_records_of_a_pipe_is_no_damage(void **state)
{
    (void)state;
    perf_maker m = {0};
    begin_pipe(&m);
    put_program(&m);
    pt_put_text(&m.buf, "[ perf record: Woken up 1 times to write data ]\n");
    reading r = read_as("perf.data", m.buf.data, m.buf.size);
    assert_int_equal(r.status, PT_OK);
    assert_is_program(r.profile);
    assert_int_equal(fact(&r.diag, "bytes of text"), 48);
    reading_done(&r);
    pt_buf_done(&m.buf);
}

static void a_file_without_events_is_refused(void **state)
{
    (void)state;
    perf_maker m = {.buf = PT_BUF_INIT};
    pt_put(&m.buf, le_magic, 8);
    put(&m, PT_PERF_PIPE_HEADER_BYTES, 8);
    put_comm(&m, 0, 7, 7, "prog", 1);
    reading r = read_as("perf.data", m.buf.data, m.buf.size);
    assert_int_equal(r.status, PT_ERR_FORMAT);
    reading_done(&r);
    pt_buf_done(&m.buf);
}

/* A record of simpleperf's own, 70,000 bytes large: the upper half of its size in place of misc. */
static void simpleperfs_own_records_may_be_larger_than_others(void **state)
{
    (void)state;
    enum { KERNEL_SYMBOLS = 32769, BYTES = 70000 };
    for (int big = 0; big < 2; big++) {
        perf_maker m = {.buf = PT_BUF_INIT, .big = big, .sample_type = CHAIN_TYPE};
        begin_file(&m, big ? be_magic : le_magic, 96);
        begin_record(&m, KERNEL_SYMBOLS, BYTES >> 16);
        while (m.buf.size < m.record_at + BYTES)
            pt_put_u8(&m.buf, 0);
        patch(&m, m.record_at + 6, BYTES & 0xffff, 2);
        put_program(&m);
        reading r = read_whole(&m);
        assert_int_equal(r.profile->sample->t.count, 2);
        reading_done(&r);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(files_of_both_versions_and_byte_orders_say_the_same),
        cmocka_unit_test(pipes_say_the_same),
        cmocka_unit_test(records_count_in_the_order_of_time),
        cmocka_unit_test(a_mapping_cuts_those_it_lies_over),
        cmocka_unit_test(children_begin_with_what_the_parent_has),
        cmocka_unit_test(a_library_of_several_processes_is_one_mapping),
        cmocka_unit_test(the_sample_itself_is_the_leaf),
        cmocka_unit_test(what_was_lost_or_throttled_is_counted),
        cmocka_unit_test(kernel_symbols_name_their_code),
        cmocka_unit_test(build_ids_come_with_the_mapping),
        cmocka_unit_test(calls_that_the_processor_keeps_are_callers),
        cmocka_unit_test(user_stacks_told_later_join_their_samples),
        cmocka_unit_test(events_beyond_a_profiles_columns_count_as_samples),
        cmocka_unit_test(branches_are_arcs),
        cmocka_unit_test(cgroups_are_labels),
        cmocka_unit_test(an_event_is_known_by_its_id),
        cmocka_unit_test(compressed_records_may_be_cut_anywhere),
        cmocka_unit_test(large_compressed_data_goes_through_chunks),
        cmocka_unit_test(what_is_written_says_the_same),
        cmocka_unit_test(samples_of_no_period_are_samples),
        cmocka_unit_test(only_addresses_can_be_written),
        cmocka_unit_test(a_file_cut_anywhere_gives_what_came_before),
        cmocka_unit_test(text_behind_the_records_of_a_pipe_is_no_damage),
        cmocka_unit_test(a_file_without_events_is_refused),
        cmocka_unit_test(simpleperfs_own_records_may_be_larger_than_others),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
