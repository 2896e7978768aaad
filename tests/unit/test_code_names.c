/* test_code_names.c: kernel symbols, perf maps and jitdumps, written here as the kernel's own texts
 * and the jitdump specification have them. */
#include "base_check.h"

#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "object/code_names.h"

static pt_code_names names;

/* "name+offset [module] file:line" of an address, or "nothing". */
static const char *at(uint64_t addr)
{
    static char text[512];
    pt_code_answer a;
    if (!pt_code_names_find(&names, addr, &a)) return "nothing";
    int n = snprintf(text, sizeof text, "%s+%llu", a.name, (unsigned long long)(addr - a.addr));
    if (a.module[0] != '\0') n += snprintf(text + n, sizeof text - n, " [%s]", a.module);
    if (a.line != 0) snprintf(text + n, sizeof text - n, " %s:%u", a.file, a.line);
    return text;
}

static int done(void **state)
{
    (void)state;
    pt_code_names_done(&names);
    return 0;
}

static void read_kernel(const char *symbols, const char *modules)
{
    pt_error error = PT_ERROR_INIT;
    if (pt_kallsyms_read(symbols, strlen(symbols), modules, modules != NULL ? strlen(modules) : 0,
                         &names, &error) != PT_OK)
        fail_msg("%s", error.message);
}

static void kernel_functions_end_where_the_next_symbol_begins(void **state)
{
    (void)state;
    read_kernel("ffffffff81000000 T _text\n"
                "ffffffff81000000 T startup_64\n"
                "ffffffff81000100 t verify\n"
                "ffffffff81000180 D some_data\n"
                "ffffffff81000200 W weak_one\n"
                "ffffffff81000200 t local_one\n"
                "ffffffff81000240 T __x64_sys_read\n"
                "ffffffff81000240 T ksys_read\n",
                NULL);
    assert_string_equal(at(0xffffffff810000ff), "startup_64+255");
    assert_string_equal(at(0xffffffff81000100), "verify+0");
    assert_string_equal(at(0xffffffff81000180), "nothing");
    assert_string_equal(at(0xffffffff81000210), "weak_one+16");
    assert_string_equal(at(0xffffffff81000240), "ksys_read+0");
    assert_string_equal(at(0xffffffff81000fff), "ksys_read+3519");
    assert_string_equal(at(0xffffffff81001000), "nothing");
    assert_string_equal(at(0xffffffff80ffffff), "nothing");
}

static void module_functions_end_with_their_module(void **state)
{
    (void)state;
    read_kernel("ffffffff81000000 T start\n"
                "ffffffff81000010 T stop\n"
                "ffffffffc0000000 t first\t[ext4]\n"
                "ffffffffc0000020 t last\t[ext4]\n"
                "ffffffffc0010000 T other\t[xfs]\n"
                "ffffffffc0020000 t bpf_prog_1234_main\t[bpf]\n",
                "ext4 4096 1 - Live 0xffffffffc0000000\n"
                "xfs 64 0 - Live 0xffffffffc0010000 (OE)\n");
    assert_string_equal(at(0xffffffffc0000010), "first+16 [ext4]");
    assert_string_equal(at(0xffffffffc0000fff), "last+4063 [ext4]");
    assert_string_equal(at(0xffffffffc0001000), "nothing");
    assert_string_equal(at(0xffffffffc001003f), "other+63 [xfs]");
    assert_string_equal(at(0xffffffffc0010040), "nothing");
    assert_string_equal(at(0xffffffffc0020001), "bpf_prog_1234_main+1 [bpf]");
    assert_string_equal(at(0xffffffff81000011), "stop+1");
}

static void addresses_that_the_kernel_hides_are_a_matter_of_rights(void **state)
{
    (void)state;
    static const char text[] = "0000000000000000 T _text\n0000000000000000 t verify\n";
    pt_error error = PT_ERROR_INIT;
    assert_int_equal(pt_kallsyms_read(text, sizeof text - 1, NULL, 0, &names, &error),
                     PT_ERR_UNSUPPORTED);
    assert_non_null(strstr(error.message, "kptr_restrict"));
    assert_non_null(strstr(error.message, "CAP_SYSLOG"));
    assert_int_equal(pt_kallsyms_read("hello\n", 6, NULL, 0, &names, &error), PT_ERR_FORMAT);
}

static void the_later_line_of_a_map_is_meant(void **state)
{
    (void)state;
    static const char text[] = "7f00000000a0 40 LazyCompile:~first /srv/app.js:1\n"
                               "0x7f0000000100 0x100 outer\n"
                               "7f0000000140 20 inner function\r\n"
                               "7f00000001f0 20 over the edge\n"
                               "not a line\n"
                               "7f0000000300 0 empty\n"
                               "ffffffffffffffff 10 wraps\n";
    pt_error error = PT_ERROR_INIT;
    assert_int_equal(pt_perf_map_read(text, sizeof text - 1, &names, &error), PT_OK);
    assert_string_equal(at(0x7f00000000df), "LazyCompile:~first /srv/app.js:1+63");
    assert_string_equal(at(0x7f00000000e0), "nothing");
    assert_string_equal(at(0x7f000000013f), "outer+63");
    assert_string_equal(at(0x7f0000000140), "inner function+0");
    assert_string_equal(at(0x7f000000015f), "inner function+31");
    assert_string_equal(at(0x7f0000000160), "outer+96");
    assert_string_equal(at(0x7f00000001f0), "over the edge+0");
    assert_string_equal(at(0x7f000000020f), "over the edge+31");
    assert_string_equal(at(0x7f0000000300), "nothing");
    assert_int_equal(names.damaged_count, 2);
}

/* ---- jitdump ---- */

static bool big_endian;

static void put(pt_buf *b, uint64_t value, unsigned width)
{
    if (big_endian)
        pt_put_be(b, value, width);
    else
        pt_put_le(b, value, width);
}

static uint32_t padding;

static void put_header(pt_buf *b)
{
    put(b, 0x4a695444, 4);
    put(b, 1, 4);
    put(b, 40, 4);
    put(b, 62, 4); /* EM_X86_64 */
    put(b, padding, 4);
    put(b, 4242, 4);
    put(b, 1000, 8);
    put(b, 0, 8);
}

static size_t begin_record(pt_buf *b, uint32_t id)
{
    const size_t start = b->size;
    put(b, id, 4);
    put(b, 0, 4);
    put(b, 2000, 8);
    return start;
}

static void end_record(pt_buf *b, size_t start)
{
    pt_buf size = PT_BUF_INIT;
    put(&size, b->size - start, 4);
    memcpy(b->data + start + 4, size.data, 4);
    pt_buf_done(&size);
}

static void put_load(pt_buf *b, uint64_t addr, uint64_t bytes, uint64_t index, const char *name)
{
    const size_t start = begin_record(b, 0);
    put(b, 4242, 4);
    put(b, 4242, 4);
    put(b, addr, 8);
    put(b, addr, 8);
    put(b, bytes, 8);
    put(b, index, 8);
    pt_put(b, name, strlen(name) + 1);
    for (uint64_t i = 0; i < bytes; i++)
        pt_put_u8(b, 0xcc);
    end_record(b, start);
}

static void put_move(pt_buf *b, uint64_t from, uint64_t to, uint64_t bytes, uint64_t index)
{
    const size_t start = begin_record(b, 1);
    put(b, 4242, 4);
    put(b, 4242, 4);
    put(b, to, 8);
    put(b, from, 8);
    put(b, to, 8);
    put(b, bytes, 8);
    put(b, index, 8);
    end_record(b, start);
}

static void put_lines(pt_buf *b, uint64_t addr)
{
    const size_t start = begin_record(b, 2);
    put(b, addr, 8);
    put(b, 3, 8);
    for (unsigned i = 0; i < 3; i++) {
        put(b, addr + i * 8, 8);
        put(b, 10 + i, 4);
        put(b, 0, 4);
        pt_put(b, i == 1 ? "\xff" : "app.js", i == 1 ? 2 : 7);
    }
    end_record(b, start);
}

static pt_buf a_dump(void)
{
    pt_buf b = PT_BUF_INIT;
    put_header(&b);
    put_lines(&b, 0x10000);
    put_load(&b, 0x10000, 32, 1, "hot");
    put_load(&b, 0x20000, 16, 2, "cold");
    put_move(&b, 0x10000, 0x30000, 32, 1);
    put_load(&b, 0x10000, 8, 3, "reused");
    return b;
}

static void read_a_dump(void)
{
    pt_error error = PT_ERROR_INIT;
    pt_buf b = a_dump();
    assert_int_equal(pt_jitdump_read(b.data, b.size, &names, &error), PT_OK);
    pt_buf_done(&b);
    assert_string_equal(at(0x10000), "reused+0");
    assert_string_equal(at(0x10008), "hot+8 app.js:11");
    assert_string_equal(at(0x1001f), "hot+31 app.js:12");
    assert_string_equal(at(0x20000), "cold+0");
    assert_string_equal(at(0x30009), "hot+9 app.js:11");
    assert_string_equal(at(0x30020), "nothing");
    assert_int_equal(names.damaged_count, 0);
}

static void a_dump_tells_functions_lines_and_moves(void **state)
{
    (void)state;
    big_endian = false;
    read_a_dump();
}

static void a_dump_of_the_other_byte_order_is_read_too(void **state)
{
    (void)state;
    big_endian = true;
    read_a_dump();
}

/* As node 20 writes them: lines counted from an ELF header, and names of some files that are none.
 */
static void lines_of_v8_are_shifted_and_names_that_are_none_are_dropped(void **state)
{
    (void)state;
    pt_buf b = PT_BUF_INIT;
    pt_error error = PT_ERROR_INIT;
    big_endian = false;
    padding = 0xdeadbeef;
    put_header(&b);
    padding = 0;
    const size_t start = begin_record(&b, 2);
    put(&b, 0x10000, 8);
    put(&b, 1, 8);
    put(&b, 0x10040, 8);
    put(&b, 3, 4);
    put(&b, 0, 4);
    pt_put(&b, "app.js", 7);
    end_record(&b, start);
    put_load(&b, 0x10000, 32, 1, "hot");
    const size_t bad = begin_record(&b, 2);
    put(&b, 0x20000, 8);
    put(&b, 1, 8);
    put(&b, 0x20040, 8);
    put(&b, 3, 4);
    put(&b, 0, 4);
    pt_put(&b, "uE\003", 4);
    end_record(&b, bad);
    put_load(&b, 0x20000, 32, 2, "cold");
    assert_int_equal(pt_jitdump_read(b.data, b.size, &names, &error), PT_OK);
    assert_string_equal(at(0x10000), "hot+0 app.js:3");
    assert_string_equal(at(0x20000), "cold+0");
    pt_buf_done(&b);
}

static void a_dump_that_was_cut_gives_what_came_before(void **state)
{
    (void)state;
    big_endian = false;
    pt_buf b = a_dump();
    for (size_t size = 0; size < b.size; size++) {
        pt_error error = PT_ERROR_INIT;
        pt_code_names_done(&names);
        if (pt_jitdump_read(b.data, size, &names, &error) != PT_OK) assert_true(size < 40);
    }
    assert_string_equal(at(0x20000), "cold+0");
    assert_int_equal(names.damaged_count, 1);
    pt_buf_done(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(kernel_functions_end_where_the_next_symbol_begins, done),
        cmocka_unit_test_teardown(module_functions_end_with_their_module, done),
        cmocka_unit_test_teardown(addresses_that_the_kernel_hides_are_a_matter_of_rights, done),
        cmocka_unit_test_teardown(the_later_line_of_a_map_is_meant, done),
        cmocka_unit_test_teardown(a_dump_tells_functions_lines_and_moves, done),
        cmocka_unit_test_teardown(a_dump_of_the_other_byte_order_is_read_too, done),
        cmocka_unit_test_teardown(lines_of_v8_are_shifted_and_names_that_are_none_are_dropped,
                                  done),
        cmocka_unit_test_teardown(a_dump_that_was_cut_gives_what_came_before, done),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
