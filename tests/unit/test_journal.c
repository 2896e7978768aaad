/* test_journal.c: the journal's reader on journals written here, field by field, in both byte
 * orders: as a process leaves them at its end, and as one leaves them that is killed in between.
 */
#include "base_check.h"

#include "base/buf.h"
#include "formats/format.h"
#include "formats/journal.h"

#include <stdio.h>
#include <stdlib.h>

extern const pt_format pt_format_journal;

/* ---- writing journals ---- */

typedef struct {
    pt_buf buf;
    bool big;
} journal;

static void put(journal *j, uint64_t value, unsigned bytes)
{
    if (j->big)
        pt_put_be(&j->buf, value, bytes);
    else
        pt_put_le(&j->buf, value, bytes);
}

static void pad_to(journal *j, size_t size)
{
    while (j->buf.size < size)
        pt_put_u8(&j->buf, 0);
}

/* A process "prog -x" with pid 7 that used 30 ms, sampled every millisecond. */
static void put_header(journal *j, uint32_t end)
{
    static const char magic[] = PT_JOURNAL_MAGIC;
    pt_put(&j->buf, magic, 8);
    const uint32_t words[] = {PT_JOURNAL_BYTE_ORDER,
                              PT_JOURNAL_VERSION,
                              PT_JOURNAL_HEADER_BYTES,
                              8,
                              62,
                              7,
                              1,
                              0,
                              PT_JOURNAL_ENGINE_POSIX,
                              end,
                              1000,
                              250};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        put(j, words[i], 4);
    const uint64_t longs[] = {1000000,    1700000000000000000,
                              5000000000, 6000000000,
                              1000000,    30000000,
                              0,          1,
                              1,          0,
                              9,          30,
                              4,          2};
    for (size_t i = 0; i < sizeof longs / sizeof longs[0]; i++)
        put(j, longs[i], 8);
    put(j, 9, 4);
    put(j, 8, 4);
    pt_put(&j->buf, "prog\0\0\0\0\0\0\0\0\0\0\0\0", 16);
    pt_put(&j->buf, "/bin/prog", 9);
    pad_to(j, offsetof(pt_journal_header, command));
    pt_put(&j->buf, "prog\0-x\0", 8);
    pad_to(j, PT_JOURNAL_HEADER_BYTES);
}

static size_t begin_area(journal *j, uint32_t kind)
{
    const size_t at = j->buf.size;
    put(j, PT_JOURNAL_AREA_MAGIC, 4);
    put(j, kind, 4);
    for (int i = 0; i < 3; i++)
        put(j, 0, 8);
    return at;
}

static void set(journal *j, size_t at, uint64_t value)
{
    journal number = {.big = j->big};
    put(&number, value, 8);
    memcpy(j->buf.data + at, number.buf.data, 8);
    pt_buf_done(&number.buf);
}

static void end_area(journal *j, size_t at)
{
    set(j, at + offsetof(pt_journal_area, used_bytes), j->buf.size - at - sizeof(pt_journal_area));
    pad_to(j, (j->buf.size + 4095) / 4096 * 4096);
    set(j, at + offsetof(pt_journal_area, size_bytes), j->buf.size - at);
}

static void put_map(journal *j, uint64_t start, uint64_t limit, uint32_t epoch_from,
                    uint32_t epoch_to, const char *path)
{
    const uint64_t longs[] = {start, limit,      0x1000,
                              99,    5000000000, epoch_to == UINT32_MAX ? 0 : 5500000000};
    for (size_t i = 0; i < sizeof longs / sizeof longs[0]; i++)
        put(j, longs[i], 8);
    const uint32_t words[] = {epoch_from, epoch_to, 8, 1, 5};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        put(j, words[i], 4);
    put(j, 2, 2);
    put(j, strlen(path), 2);
    pt_put(&j->buf, "\xc0\xff", 2);
    pt_put(&j->buf, path, strlen(path));
    pad_to(j, (j->buf.size + 7) / 8 * 8);
}

static void put_stack(journal *j, uint64_t count, uint16_t epoch, uint8_t end, const uint64_t *pcs,
                      uint32_t depth)
{
    put(j, count, 8);
    put(j, depth, 4);
    put(j, epoch, 2);
    put(j, end, 1);
    put(j, 0, 1);
    for (uint32_t i = 0; i < depth; i++)
        put(j, pcs[i], 8);
}

static const uint64_t deep[] = {0x401008, 0x401100, 0x7f0000001000}, flat[] = {0x401008},
                      other[] = {0x401010, 0x401020, 0x401030};

static journal whole(bool big, uint32_t end)
{
    journal j = {.big = big};
    put_header(&j, end);
    size_t area = begin_area(&j, PT_JOURNAL_MAPS);
    put_map(&j, 0x401000, 0x402000, 0, UINT32_MAX, "/bin/prog");
    end_area(&j, area);
    area = begin_area(&j, PT_JOURNAL_STACKS);
    put_stack(&j, 4, 1, PT_JOURNAL_END_NO_RULE, other, 3);
    put_stack(&j, 20, 1, PT_JOURNAL_END_ROOT, deep, 3);
    put_stack(&j, 6, 1, PT_JOURNAL_END_BAD_READ, flat, 1);
    end_area(&j, area);
    return j;
}

/* ---- reading them ---- */

static const pt_profile *read_journal(const pt_buf *bytes, size_t size, pt_status want,
                                      pt_diag *diag)
{
    pt_error error = PT_ERROR_INIT;
    pt_reader reader;
    const pt_read_hooks hooks = {.diag = diag};
    pt_builder *const b = pt_builder_new();
    const pt_profile *p = NULL;
    pt_reader_init(&reader, bytes->data, size, &error);
    const pt_status status = pt_format_journal.read(&reader, b, &hooks, &error);
    if (want != PT_OK || status != PT_OK) assert_int_equal(status, want);
    assert_int_equal(pt_builder_freeze(b, &p, &error), PT_OK);
    assert_int_equal(pt_profile_check(p, &error), PT_OK);
    return p;
}

static void assert_frame(const pt_profile *p, uint32_t stack, uint32_t frame, uint64_t address,
                         bool is_return)
{
    const uint32_t location = pt_stack_frames(p, stack)[frame];
    assert_int_equal(p->location->address[location], address);
    assert_int_equal((p->location->flags[location] & PT_LOCATION_RETURN_ADDR) != 0, is_return);
}

static void assert_whole(const pt_profile *p)
{
    assert_int_equal(p->sample->t.count, 3);
    assert_int_equal(pt_profile_total(p, 0), 30);
    assert_int_equal(pt_profile_total(p, 1), 30000000);
    assert_string_equal(pt_text(p, p->mapping->row[0].file), "/bin/prog");
    assert_string_equal(pt_text(p, p->mapping->row[0].build_id), "c0ff");
    const pt_provenance *const from = pt_profile_provenance(p);
    assert_string_equal(pt_text(p, from->command_line), "prog -x");
    assert_int_equal(from->cpu_used_ns, 30000000);
    assert_int_equal(from->cpu_seen_ns, 30000000);
    assert_int_equal(from->period, 1000000);
    assert_int_equal(from->lost, 5);
    assert_int_equal(from->start_ns, 1700000000000000000);
    assert_int_equal(from->duration_ns, 1000000000);
}

static void stacks_come_back_in_both_byte_orders(void **state)
{
    for (int big = 0; big < 2; big++) {
        journal j = whole(big, PT_JOURNAL_EXITED);
        PT_UNREF_PROFILE const pt_profile *p = read_journal(&j.buf, j.buf.size, PT_OK, NULL);
        assert_whole(p);
        assert_int_equal(p->sample->value[0][0], 4);
        const uint32_t first = p->sample->stack[0], second = p->sample->stack[1];
        assert_int_equal(pt_stack_depth(p, first), 3);
        assert_frame(p, first, 0, 0x401010, false);
        assert_frame(p, first, 2, 0x401030, true);
        assert_int_equal(p->stack->end[first], PT_STACK_END_NO_RULE);
        assert_int_equal(p->stack->end[second], PT_STACK_END_ROOT);
        assert_frame(p, second, 1, 0x401100, true);
        assert_int_equal(p->location->mapping[pt_stack_frames(p, second)[2]], PT_NONE);
        pt_buf_done(&j.buf);
    }
}

static void killed_process_s_journal_is_whole_and_said_to_be_of_one(void **state)
{
    journal j = whole(false, PT_JOURNAL_RUNNING);
    pt_diag diag;
    pt_diag_init(&diag);
    PT_UNREF_PROFILE const pt_profile *p = read_journal(&j.buf, j.buf.size, PT_OK, &diag);
    assert_whole(p);
    assert_int_equal(diag.count, 1);
    assert_non_null(strstr(diag.facts[0].text, "killed"));
    pt_diag_done(&diag);
    pt_buf_done(&j.buf);
}

static void area_without_its_magic_was_never_committed(void **state)
{
    journal j = whole(false, PT_JOURNAL_RUNNING);
    const size_t area = begin_area(&j, PT_JOURNAL_STACKS);
    put_stack(&j, 1000, 1, PT_JOURNAL_END_ROOT, deep, 3);
    end_area(&j, area);
    memset(j.buf.data + area, 0, 4);
    PT_UNREF_PROFILE const pt_profile *p = read_journal(&j.buf, j.buf.size, PT_OK, NULL);
    assert_whole(p);
    pt_buf_done(&j.buf);
}

static void record_behind_used_bytes_was_never_committed(void **state)
{
    journal j = whole(false, PT_JOURNAL_RUNNING);
    const size_t area = begin_area(&j, PT_JOURNAL_STACKS);
    put_stack(&j, 1000, 1, PT_JOURNAL_END_ROOT, deep, 3);
    end_area(&j, area);
    set(&j, area + offsetof(pt_journal_area, used_bytes), 0);
    PT_UNREF_PROFILE const pt_profile *p = read_journal(&j.buf, j.buf.size, PT_OK, NULL);
    assert_whole(p);
    pt_buf_done(&j.buf);
}

static void file_may_end_behind_the_records_of_its_last_area(void **state)
{
    journal j = whole(false, PT_JOURNAL_RUNNING);
    const size_t area = 2 * PT_JOURNAL_HEADER_BYTES; /* behind that of mappings */
    const size_t records = sizeof(pt_journal_area) + 3 * sizeof(pt_journal_stack) + 7 * 8;
    PT_UNREF_PROFILE const pt_profile *p = read_journal(&j.buf, area + records, PT_OK, NULL);
    assert_whole(p);
    pt_buf_done(&j.buf);
}

static void record_that_is_cut_loses_itself_alone(void **state)
{
    journal j = whole(false, PT_JOURNAL_RUNNING);
    const size_t records = 2 * PT_JOURNAL_HEADER_BYTES + sizeof(pt_journal_area);
    for (size_t first = 2 * (sizeof(pt_journal_stack) + 3 * 8), cut = 0; cut < 16; cut += 8) {
        PT_UNREF_PROFILE const pt_profile *p =
            read_journal(&j.buf, records + first + cut, PT_ERR_DAMAGED, NULL);
        assert_int_equal(pt_profile_total(p, 0), 24);
    }
    pt_buf_done(&j.buf);
}

static void address_belongs_to_the_library_of_its_epoch(void **state)
{
    static const uint64_t pc[] = {0x500010};
    journal j = {0};
    put_header(&j, PT_JOURNAL_EXITED);
    size_t area = begin_area(&j, PT_JOURNAL_MAPS);
    put_map(&j, 0x500000, 0x501000, 0, 1, "/lib/before.so");
    put_map(&j, 0x500000, 0x502000, 1, UINT32_MAX, "/lib/after.so");
    end_area(&j, area);
    area = begin_area(&j, PT_JOURNAL_STACKS);
    put_stack(&j, 1, 0, PT_JOURNAL_END_ROOT, pc, 1);
    put_stack(&j, 2, 1, PT_JOURNAL_END_ROOT, pc, 1);
    end_area(&j, area);
    PT_UNREF_PROFILE const pt_profile *p = read_journal(&j.buf, j.buf.size, PT_OK, NULL);
    assert_int_equal(p->sample->t.count, 2);
    for (uint32_t i = 0; i < 2; i++) {
        const uint32_t location = pt_stack_frames(p, p->sample->stack[i])[0];
        const pt_mapping *const m = &p->mapping->row[p->location->mapping[location]];
        assert_string_equal(pt_text(p, m->file), i == 0 ? "/lib/before.so" : "/lib/after.so");
        /* The first was unloaded half a second after the start. */
        assert_int_equal(m->valid_to_ns, i == 0 ? 1700000000500000000 : 0);
    }
    pt_buf_done(&j.buf);
}

static void file_that_two_processes_map_elsewhere_is_one_mapping(void **state)
{
    pt_error error = PT_ERROR_INIT;
    pt_builder *const b = pt_builder_new();
    pt_journal_reading *const reading = pt_journal_reading_new(b, true, NULL);
    for (uint64_t base = 0x10000000; base <= 0x20000000; base += 0x10000000) {
        const uint64_t pc[] = {base + 0x123};
        journal j = {0};
        put_header(&j, PT_JOURNAL_EXITED);
        size_t area = begin_area(&j, PT_JOURNAL_MAPS);
        put_map(&j, base, base + 0x1000, 0, UINT32_MAX, "/lib/shared.so");
        end_area(&j, area);
        area = begin_area(&j, PT_JOURNAL_STACKS);
        put_stack(&j, 3, 0, PT_JOURNAL_END_ROOT, pc, 1);
        put_stack(&j, 2, 0, PT_JOURNAL_END_UNCHECKED, pc, 1);
        end_area(&j, area);
        pt_reader reader;
        pt_journal_facts facts;
        pt_reader_init(&reader, j.buf.data, j.buf.size, &error);
        assert_int_equal(pt_journal_reading_add(reading, &reader, &facts, &error), PT_OK);
        assert_int_equal(facts.weight, 5);
        assert_int_equal(facts.complete, 3);
        assert_int_equal(facts.unchecked, 2);
        assert_string_equal(facts.exe, "/bin/prog");
        pt_buf_done(&j.buf);
    }
    pt_journal_reading_free(reading);
    PT_UNREF_PROFILE const pt_profile *p = NULL;
    assert_int_equal(pt_builder_freeze(b, &p, &error), PT_OK);
    assert_int_equal(p->mapping->t.count, 1);
    assert_int_equal(p->location->t.count, 1);
    assert_int_equal(p->location->address[0], 0x10000123);
    assert_int_equal(p->sample->t.count, 2); /* same pid and comm, same stacks */
    assert_int_equal(pt_profile_total(p, 0), 10);
}

static void journal_cut_anywhere_gives_what_is_before_the_cut(void **state)
{
    journal j = whole(false, PT_JOURNAL_EXITED);
    int64_t before = 0;
    for (size_t size = PT_JOURNAL_HEADER_BYTES; size < j.buf.size; size += 8) {
        pt_error error = PT_ERROR_INIT;
        pt_reader reader;
        pt_builder *const b = pt_builder_new();
        PT_UNREF_PROFILE const pt_profile *p = NULL;
        pt_reader_init(&reader, j.buf.data, size, &error);
        const pt_status status = pt_format_journal.read(&reader, b, NULL, &error);
        assert_true(status == PT_OK || status == PT_ERR_DAMAGED);
        assert_int_equal(pt_builder_freeze(b, &p, &error), PT_OK);
        assert_true(pt_profile_total(p, 0) >= before);
        before = pt_profile_total(p, 0);
    }
    assert_int_equal(before, 30);
    pt_buf_done(&j.buf);
}

static void journal_with_any_byte_flipped_is_read_or_refused(void **state)
{
    journal j = whole(false, PT_JOURNAL_EXITED);
    for (size_t at = 0; at < j.buf.size; at++) {
        pt_error error = PT_ERROR_INIT;
        pt_reader reader;
        pt_builder *const b = pt_builder_new();
        PT_UNREF_PROFILE const pt_profile *p = NULL;
        j.buf.data[at] ^= 0x81;
        pt_reader_init(&reader, j.buf.data, j.buf.size, &error);
        const pt_status status = pt_format_journal.read(&reader, b, NULL, &error);
        assert_true(status == PT_OK || error.message[0] != '\0');
        assert_int_equal(pt_builder_freeze(b, &p, &error), PT_OK);
        j.buf.data[at] ^= 0x81;
    }
    pt_buf_done(&j.buf);
}

static void other_versions_and_other_files_are_refused(void **state)
{
    journal j = whole(false, PT_JOURNAL_EXITED);
    pt_error error = PT_ERROR_INIT;
    pt_journal_facts facts;
    pt_reader reader;
    j.buf.data[offsetof(pt_journal_header, version)] = 1;
    pt_reader_init(&reader, j.buf.data, j.buf.size, &error);
    assert_int_equal(pt_journal_read_facts(&reader, &facts, &error), PT_ERR_UNSUPPORTED);
    assert_non_null(strstr(error.message, "version 1"));
    j.buf.data[0] = 'X';
    pt_reader_init(&reader, j.buf.data, j.buf.size, &error);
    assert_int_equal(pt_journal_read_facts(&reader, &facts, &error), PT_ERR_FORMAT);
    pt_buf_done(&j.buf);
}

static void counters_stay_at_their_limit(void **state)
{
    journal j = {0};
    put_header(&j, PT_JOURNAL_EXITED);
    set(&j, offsetof(pt_journal_header, ticks), UINT64_MAX);
    set(&j, offsetof(pt_journal_header, fold_dropped), UINT64_MAX - 1);
    set(&j, offsetof(pt_journal_header, ring_dropped), UINT64_MAX - 1);
    pt_error error = PT_ERROR_INIT;
    pt_journal_facts facts;
    pt_reader reader;
    pt_reader_init(&reader, j.buf.data, j.buf.size, &error);
    assert_int_equal(pt_journal_read_facts(&reader, &facts, &error), PT_OK);
    assert_true(facts.ticks == UINT64_MAX);
    assert_true(facts.dropped == UINT64_MAX);
    assert_int_equal(facts.filtered, 2);
    pt_buf_done(&j.buf);
}

static void time_in_the_kernel_that_no_tick_saw_has_a_row(void **state)
{
    for (int big = 0; big < 2; big++) {
        journal j = whole(big, PT_JOURNAL_EXITED);
        set(&j, offsetof(pt_journal_header, kernel_weight), 12);
        const pt_profile *const p = read_journal(&j.buf, j.buf.size, PT_OK, NULL);
        assert_int_equal(pt_profile_total(p, 0), 42);
        assert_int_equal(pt_profile_total(p, 1), 42000000);
        assert_int_equal(pt_profile_provenance(p)->cpu_seen_ns, 42000000);
        const size_t last = p->sample->t.count - 1;
        const uint32_t location = pt_stack_frames(p, p->sample->stack[last])[0];
        assert_int_equal(p->location->flags[location], PT_LOCATION_KERNEL);
        const uint32_t function = p->line->function[p->location->line_first[location]];
        assert_string_equal(pt_text(p, p->function->name[function]), "[kernel, not sampled]");
        pt_profile_unref(p);
        pt_buf_done(&j.buf);
    }
}

/* ---- copied stacks ---- */

enum { COPIED_WORDS = 3 };

static void put_copy(journal *j, uint32_t weight, uint16_t registers, uint64_t pc)
{
    put(j, weight, 4);
    put(j, COPIED_WORDS, 4);
    put(j, registers, 2);
    put(j, 0, 2);
    put(j, 1, 4); /* it was cut */
    for (unsigned i = 0; i < registers; i++)
        put(j, i == 16 ? pc : i, 8); /* 16: rip (System V ABI, AMD64) */
    for (unsigned i = 0; i < COPIED_WORDS; i++)
        put(j, 0xa0 + i, 8);
}

/* The pc, then what the first register, whose value is 1, and the words of the stack make of it. */
static size_t walk_as_told(void *context, const pt_read_stack *stack, uint64_t *ret_pcs, size_t cap,
                           pt_stack_end *ret_end)
{
    uint32_t *const walked = context;
    uint64_t word;
    (*walked)++;
    assert_int_equal(stack->machine, 62);
    assert_int_equal(stack->byte_count, COPIED_WORDS * sizeof word);
    assert_int_equal(stack->room, stack->byte_count);
    memcpy(&word, stack->bytes + 2 * sizeof word, sizeof word);
    assert_int_equal(word, 0xa2);
    assert_int_equal(stack->registers[1], 1);
    assert_int_equal(stack->map_count, 1);
    assert_string_equal(stack->maps[0].path, "/bin/prog");
    assert_string_equal(stack->maps[0].build_id, "c0ff");
    assert_int_equal(stack->maps[0].range.file_offset, 0x1000);
    const uint64_t rest[] = {0x401100, 0x402000, 0x401300};
    assert_true(cap >= 4);
    ret_pcs[0] = stack->registers[16];
    memcpy(ret_pcs + 1, rest, sizeof rest);
    *ret_end = PT_STACK_END_TRUNCATED;
    return 4;
}

static journal copies_of(uint16_t registers, uint64_t own_code)
{
    journal j = {0};
    put_header(&j, PT_JOURNAL_EXITED);
    set(&j, offsetof(pt_journal_header, spans.own_code), own_code);
    set(&j, offsetof(pt_journal_header, spans.own_code) + 8, own_code + 0x10);
    set(&j, offsetof(pt_journal_header, spans.main_start), 0x402000);
    set(&j, offsetof(pt_journal_header, spans.main_start) + 8, 0x402100);
    size_t area = begin_area(&j, PT_JOURNAL_MAPS);
    put_map(&j, 0x401000, 0x403000, 0, UINT32_MAX, "/bin/prog");
    end_area(&j, area);
    area = begin_area(&j, PT_JOURNAL_COPIES);
    put_copy(&j, 5, registers, 0x401008);
    put_copy(&j, 2, registers, 0x401010);
    end_area(&j, area);
    return j;
}

/* Reads it with someone who walks, or without. */
static const pt_profile *read_copies(const journal *j, bool walks, pt_status expected,
                                     pt_journal_facts *ret_facts)
{
    uint32_t walked = 0;
    const pt_read_hooks hooks = {.context = &walked, .unwind = walk_as_told};
    pt_error error = PT_ERROR_INIT;
    pt_builder *const b = pt_builder_new();
    pt_journal_reading *const reading = pt_journal_reading_new(b, false, walks ? &hooks : NULL);
    pt_reader reader;
    pt_reader_init(&reader, j->buf.data, j->buf.size, &error);
    assert_int_equal(pt_journal_reading_add(reading, &reader, ret_facts, &error), expected);
    pt_journal_reading_free(reading);
    assert_int_equal(walked, walks && expected == PT_OK ? 2 : 0);
    const pt_profile *p = NULL;
    assert_int_equal(pt_builder_freeze(b, &p, &error), PT_OK);
    return p;
}

static void copied_stack_is_walked_and_ends_where_main_was_called(void **state)
{
    pt_journal_facts facts;
    journal j = copies_of(33, 0);
    PT_UNREF_PROFILE const pt_profile *p = read_copies(&j, true, PT_OK, &facts);
    assert_int_equal(facts.weight, 7);
    assert_int_equal(facts.complete, 7);
    assert_int_equal(facts.own_copied_ns, 0);
    assert_int_equal(pt_profile_total(p, 0), 7);
    assert_int_equal(p->sample->t.count, 2);
    const uint32_t stack = p->sample->stack[0];
    assert_int_equal(pt_stack_depth(p, stack), 3);
    assert_frame(p, stack, 0, 0x401008, false);
    assert_frame(p, stack, 2, 0x402000, true);
    assert_int_equal(p->stack->end[stack], PT_STACK_END_ROOT);
    pt_buf_done(&j.buf);
}

static void copied_stack_of_the_library_s_work_is_counted_apart(void **state)
{
    pt_journal_facts facts;
    journal j = copies_of(33, 0x401010); /* the leaf of the second */
    PT_UNREF_PROFILE const pt_profile *p = read_copies(&j, true, PT_OK, &facts);
    assert_int_equal(facts.weight, 5);
    assert_int_equal(facts.own_copied_ns, 2 * 1000000);
    assert_int_equal(pt_profile_total(p, 0), 5);
    pt_buf_done(&j.buf);
}

static void copied_stack_that_nobody_walks_is_its_first_frame(void **state)
{
    pt_journal_facts facts;
    journal j = copies_of(33, 0);
    PT_UNREF_PROFILE const pt_profile *p = read_copies(&j, false, PT_OK, &facts);
    assert_int_equal(facts.weight, 7);
    assert_int_equal(facts.complete, 0);
    assert_int_equal(pt_stack_depth(p, p->sample->stack[0]), 1);
    assert_int_equal(p->stack->end[p->sample->stack[0]], PT_STACK_END_NO_RULE);
    pt_buf_done(&j.buf);
}

static void copy_of_other_registers_or_of_an_unknown_machine_is_damage(void **state)
{
    pt_journal_facts facts;
    journal j = copies_of(31, 0);
    PT_UNREF_PROFILE const pt_profile *p = read_copies(&j, true, PT_ERR_DAMAGED, &facts);
    assert_int_equal(p->sample->t.count, 0);
    pt_buf_done(&j.buf);
    j = copies_of(33, 0);
    j.buf.data[offsetof(pt_journal_header, machine)] = 250;
    PT_UNREF_PROFILE const pt_profile *foreign = read_copies(&j, true, PT_ERR_DAMAGED, &facts);
    assert_int_equal(foreign->sample->t.count, 0);
    pt_buf_done(&j.buf);
}

/* ---- Python ---- */

/* A function "Job.run" of app.py, whose instructions at 4 and at 8 lie in the lines 8 and 11. */
static void put_code(journal *j, uint32_t number, uint16_t minor)
{
    static const uint8_t lines[] = {4, 1, 4, 3, 4, 0, 0, 0}; /* co_lnotab of 3.8 */
    put(j, number, 4);
    put(j, sizeof lines, 4);
    put(j, 7, 4);
    put(j, 7, 2);
    put(j, 6, 2);
    put(j, minor, 2);
    put(j, 0, 2);
    put(j, 0, 4);
    pt_put(&j->buf, "Job.runapp.py", 13);
    pt_put(&j->buf, lines, sizeof lines);
    pad_to(j, (j->buf.size + 7) / 8 * 8);
}

static uint64_t python_word(uint32_t number, uint32_t place)
{
    return PT_JOURNAL_CODE_FRAME | (uint64_t)number << 32 | (place + 1);
}

static journal with_python(bool big, uint32_t number, uint16_t minor)
{
    journal j = {.big = big};
    put_header(&j, PT_JOURNAL_EXITED);
    size_t area = begin_area(&j, PT_JOURNAL_STACKS);
    const uint64_t words[] = {0x401008, python_word(2, 4), 0x401100, python_word(2, 8),
                              python_word(3, 8)};
    put_stack(&j, 20, 1, PT_JOURNAL_END_ROOT, words, 5);
    j.buf.data[j.buf.size - sizeof words - 1] = PT_JOURNAL_MERGED;
    put_stack(&j, 10, 1, PT_JOURNAL_END_ROOT, words + 3, 2);
    j.buf.data[j.buf.size - 2 * sizeof words[0] - 1] = PT_JOURNAL_MERGED_UNCERTAIN;
    const uint64_t in_evaluator[] = {python_word(2, 8), 0x401100, 0x401108};
    put_stack(&j, 1, 1, PT_JOURNAL_END_ROOT, in_evaluator, 3);
    j.buf.data[j.buf.size - sizeof in_evaluator - 1] = PT_JOURNAL_MERGED;
    end_area(&j, area);
    area = begin_area(&j, PT_JOURNAL_CODES); /* behind the stacks that name it */
    put_code(&j, number, minor);
    end_area(&j, area);
    return j;
}

static void assert_python(const pt_profile *p, uint32_t stack, uint32_t frame, const char *name,
                          const char *file, int64_t line)
{
    const uint32_t location = pt_stack_frames(p, stack)[frame];
    const uint32_t first = p->location->line_first[location];
    const uint32_t function = p->line->function[first];
    assert_int_equal(p->location->line_first[location + 1], first + 1);
    assert_string_equal(pt_text(p, p->function->name[function]), name);
    assert_string_equal(pt_text(p, p->function->file[function]), file);
    assert_int_equal(p->line->line[first], line);
    assert_string_equal(pt_text(p, p->mapping->row[p->location->mapping[location]].file),
                        "[python]");
}

static void frames_of_python_have_name_file_and_line(void **state)
{
    for (int big = 0; big < 2; big++) {
        journal j = with_python(big, 2, 8);
        PT_UNREF_PROFILE const pt_profile *p = read_journal(&j.buf, j.buf.size, PT_OK, NULL);
        const uint32_t first = p->sample->stack[0], second = p->sample->stack[1];
        assert_frame(p, first, 0, 0x401008, false);
        assert_python(p, first, 1, "Job.run", "app.py", 8);
        assert_frame(p, first, 2, 0x401100, true);
        assert_python(p, first, 3, "Job.run", "app.py", 11);
        assert_python(p, first, 4, "[Python code]", "", 0); /* its code found no room */
        assert_python(p, second, 0, "Job.run", "app.py", 11);
        assert_frame(p, p->sample->stack[2], 1, 0x401100, false); /* the innermost pc */
        assert_frame(p, p->sample->stack[2], 2, 0x401108, true);
        assert_int_equal(p->sample->labels[0], 0);
        const pt_label *const label = &p->labels->row[p->labels->offset[p->sample->labels[1]]];
        assert_string_equal(pt_text(p, label->key), "merge");
        assert_string_equal(pt_text(p, label->str), "uncertain");
        pt_buf_done(&j.buf);
    }
}

static void code_of_an_unknown_version_has_its_first_line(void **state)
{
    journal j = with_python(false, 2, 99);
    PT_UNREF_PROFILE const pt_profile *p = read_journal(&j.buf, j.buf.size, PT_OK, NULL);
    assert_python(p, p->sample->stack[0], 1, "Job.run", "app.py", 7);
    pt_buf_done(&j.buf);
}

static void code_of_a_number_that_no_process_gives_is_damage(void **state)
{
    journal j = with_python(false, PT_JOURNAL_CODES_MAX + 1, 8);
    PT_UNREF_PROFILE const pt_profile *p = read_journal(&j.buf, j.buf.size, PT_ERR_DAMAGED, NULL);
    assert_int_equal(pt_profile_total(p, 0), 31);
    pt_buf_done(&j.buf);
}

static void journal_of_version_2_is_read(void **state)
{
    journal j = whole(false, PT_JOURNAL_EXITED);
    j.buf.data[offsetof(pt_journal_header, version)] = 2;
    PT_UNREF_PROFILE const pt_profile *p = read_journal(&j.buf, j.buf.size, PT_OK, NULL);
    assert_whole(p);
    pt_buf_done(&j.buf);
}

/* ---- processes without a journal ---- */

static void add_up_pids(const pt_journal_brief *brief, void *arg)
{
    *(uint64_t *)arg += brief->pid;
}

static void brief_record_that_was_cut_loses_itself_alone(void **state)
{
    const pt_journal_brief one = {.magic = PT_JOURNAL_BRIEF_MAGIC, .pid = 1},
                           two = {.magic = PT_JOURNAL_BRIEF_MAGIC, .pid = 20};
    uint8_t bytes[3 * sizeof one];
    uint64_t sum = 0;
    memcpy(bytes, &one, sizeof one);
    memcpy(bytes + sizeof one, &one, 12); /* the disk was full */
    memcpy(bytes + sizeof one + 12, &two, sizeof two);
    pt_journal_each_brief(bytes, 2 * sizeof one + 12, add_up_pids, &sum);
    assert_int_equal(sum, 21);
    pt_journal_each_brief(bytes, sizeof one - 1, add_up_pids, &sum);
    assert_int_equal(sum, 21);
    pt_journal_each_brief(bytes, sizeof one, add_up_pids, &sum);
    assert_int_equal(sum, 22);
}

/* A record of a file of short journals: its process, a path, and an area of eight bytes. */
static void put_short(pt_buf *file, uint32_t pid)
{
    pt_journal_header header = {.magic = PT_JOURNAL_MAGIC, .pid = pid, .exe_bytes = 5};
    const pt_journal_area area = {.magic = PT_JOURNAL_AREA_MAGIC,
                                  .kind = PT_JOURNAL_COPIES,
                                  .size_bytes = 4096,
                                  .used_bytes = 8};
    const size_t at = file->size;
    header.own_ns = 77;
    pt_buf_extend(file, sizeof(pt_journal_short));
    pt_put(file, &header, offsetof(pt_journal_header, exe));
    pt_put(file, &header.own_weight, sizeof header - offsetof(pt_journal_header, own_weight));
    pt_put(file, "/prog", header.exe_bytes);
    pt_put(file, &area, sizeof area);
    pt_put(file, "8 bytes.", 8);
    while ((file->size - at) % 8 != 0)
        pt_put_u8(file, 0);
    const pt_journal_short head = {.magic = PT_JOURNAL_SHORT_MAGIC,
                                   .bytes = (uint32_t)(file->size - at)};
    memcpy(file->data + at, &head, sizeof head);
}

static void short_journal_becomes_an_ordinary_one(void **state)
{
    pt_buf file = PT_BUF_INIT, unfolded = PT_BUF_INIT;
    pt_journal_short_at found;
    pt_journal_header header;
    pt_journal_area area;
    size_t at = 0;
    (void)state;
    put_short(&file, 3);
    put_short(&file, 4);
    for (uint32_t pid = 3; pid <= 4; pid++) {
        assert_true(pt_journal_next_short(file.data, file.size, &at, &found));
        pt_journal_unfold_short(&found, &unfolded);
        assert_int_equal(unfolded.size, sizeof header + sizeof area + 8);
        memcpy(&header, unfolded.data, sizeof header);
        memcpy(&area, unfolded.data + sizeof header, sizeof area);
        assert_int_equal(header.pid, pid);
        assert_int_equal(header.header_bytes, sizeof header);
        assert_int_equal(header.own_ns, 77);
        assert_memory_equal(header.exe, "/prog", 6);
        assert_int_equal(area.size_bytes, sizeof area + 8);
        assert_memory_equal(unfolded.data + sizeof header + sizeof area, "8 bytes.", 8);
    }
    assert_false(pt_journal_next_short(file.data, file.size, &at, &found));
    pt_buf_done(&file);
    pt_buf_done(&unfolded);
}

static void short_journal_that_claims_too_much_hides_nothing(void **state)
{
    pt_buf file = PT_BUF_INIT;
    pt_journal_short_at found;
    size_t at = 0;
    (void)state;
    put_short(&file, 3);
    while (file.size <= PT_JOURNAL_SHORT_MOST_BYTES)
        put_short(&file, 4);
    const uint32_t bytes = (uint32_t)file.size;
    memcpy(file.data + offsetof(pt_journal_short, bytes), &bytes, sizeof bytes);
    assert_true(pt_journal_next_short(file.data, file.size, &at, &found));
    assert_ptr_not_equal(found.record, file.data);
    assert_true(found.bytes < PT_JOURNAL_SHORT_MOST_BYTES);
    pt_buf_done(&file);
}

static void short_journal_that_was_cut_loses_itself_alone(void **state)
{
    pt_buf one = PT_BUF_INIT;
    (void)state;
    put_short(&one, 3);
    for (size_t cut = 0; cut < one.size; cut++) {
        pt_buf file = PT_BUF_INIT, unfolded = PT_BUF_INIT;
        pt_journal_short_at found;
        size_t at = 0, count = 0;
        put_short(&file, 2);
        pt_put(&file, one.data, cut);
        put_short(&file, 4);
        uint8_t *const exact = malloc(file.size); /* a sanitizer sees what lies behind */
        memcpy(exact, file.data, file.size);
        while (pt_journal_next_short(exact, file.size, &at, &found)) {
            pt_journal_unfold_short(&found, &unfolded);
            count++;
        }
        assert_in_range(count, cut == 0 ? 2 : 1, 2);
        assert_int_equal(((const pt_journal_header *)unfolded.data)->pid, 4);
        free(exact);
        pt_buf_done(&file);
        pt_buf_done(&unfolded);
    }
    pt_buf_done(&one);
}

static void short_journal_with_any_byte_flipped_is_read_or_passed_over(void **state)
{
    pt_buf file = PT_BUF_INIT, unfolded = PT_BUF_INIT;
    (void)state;
    put_short(&file, 3);
    uint8_t *const exact = malloc(file.size);
    for (size_t flip = 0; flip < 8 * file.size; flip++) {
        pt_journal_short_at found;
        size_t at = 0;
        memcpy(exact, file.data, file.size);
        exact[flip / 8] ^= (uint8_t)(1 << flip % 8);
        while (pt_journal_next_short(exact, file.size, &at, &found)) {
            pt_journal_unfold_short(&found, &unfolded);
            assert_in_range(unfolded.size, sizeof(pt_journal_header),
                            sizeof(pt_journal_header) + file.size);
        }
    }
    free(exact);
    pt_buf_done(&file);
    pt_buf_done(&unfolded);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(brief_record_that_was_cut_loses_itself_alone),
        cmocka_unit_test(short_journal_becomes_an_ordinary_one),
        cmocka_unit_test(short_journal_that_claims_too_much_hides_nothing),
        cmocka_unit_test(short_journal_that_was_cut_loses_itself_alone),
        cmocka_unit_test(short_journal_with_any_byte_flipped_is_read_or_passed_over),
        cmocka_unit_test(copied_stack_is_walked_and_ends_where_main_was_called),
        cmocka_unit_test(copied_stack_of_the_library_s_work_is_counted_apart),
        cmocka_unit_test(copied_stack_that_nobody_walks_is_its_first_frame),
        cmocka_unit_test(copy_of_other_registers_or_of_an_unknown_machine_is_damage),
        cmocka_unit_test(frames_of_python_have_name_file_and_line),
        cmocka_unit_test(code_of_an_unknown_version_has_its_first_line),
        cmocka_unit_test(code_of_a_number_that_no_process_gives_is_damage),
        cmocka_unit_test(journal_of_version_2_is_read),
        cmocka_unit_test(stacks_come_back_in_both_byte_orders),
        cmocka_unit_test(killed_process_s_journal_is_whole_and_said_to_be_of_one),
        cmocka_unit_test(area_without_its_magic_was_never_committed),
        cmocka_unit_test(record_behind_used_bytes_was_never_committed),
        cmocka_unit_test(file_may_end_behind_the_records_of_its_last_area),
        cmocka_unit_test(record_that_is_cut_loses_itself_alone),
        cmocka_unit_test(address_belongs_to_the_library_of_its_epoch),
        cmocka_unit_test(file_that_two_processes_map_elsewhere_is_one_mapping),
        cmocka_unit_test(journal_cut_anywhere_gives_what_is_before_the_cut),
        cmocka_unit_test(journal_with_any_byte_flipped_is_read_or_refused),
        cmocka_unit_test(other_versions_and_other_files_are_refused),
        cmocka_unit_test(counters_stay_at_their_limit),
        cmocka_unit_test(time_in_the_kernel_that_no_tick_saw_has_a_row),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
