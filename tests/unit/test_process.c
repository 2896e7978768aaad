/* What is mapped in a process: lines of its maps, kinds of paths, mappings over mappings. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

#include "process/mappings.h"
#include "process/maps.h"
#include "process/path_kind.h"

/* Forms from proc(5), and from lists that other programs write. */
static void a_line_of_maps_is_read(void **state)
{
    static const struct {
        const char *line;
        pt_maps_line is;
        const char *path;
    } rows[] = {
        {"00400000-00452000 r-xp 00001000 08:02 173521      /usr/bin/dbus-daemon",
         {0x400000, 0x452000, 0x1000, 173521, 8, 2, PROT_READ | PROT_EXEC, NULL, 0},
         "/usr/bin/dbus-daemon"},
        {"7fffb2c0d000-7fffb2c2e000 rw-p 00000000 00:00 0                          [stack]",
         {0x7fffb2c0d000, 0x7fffb2c2e000, 0, 0, 0, 0, PROT_READ | PROT_WRITE, NULL, 0},
         "[stack]"},
        {"7fffb2d48000-7fffb2d49000 r-xp 00000000 00:00 0",
         {0x7fffb2d48000, 0x7fffb2d49000, 0, 0, 0, 0, PROT_READ | PROT_EXEC, NULL, 0},
         ""},
        {"ffffffffff600000-ffffffffff601000 --xp 00000000 fd:1f 18446744073709551615 /a b "
         "(deleted)",
         {0xffffffffff600000, 0xffffffffff601000, 0, UINT64_MAX, 0xfd, 0x1f, PROT_EXEC, NULL, 0},
         "/a b (deleted)"},
        {"0x1000-0x2000\tR-XP\t0x10\tdevice\tinode\t/x",
         {0x1000, 0x2000, 0x10, 0, 0, 0, PROT_EXEC, NULL, 0},
         "/x"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        pt_maps_line line;
        assert_true(pt_maps_line_parse(rows[i].line, strlen(rows[i].line), &line));
        assert_int_equal(line.path_bytes, strlen(rows[i].path));
        assert_memory_equal(line.path, rows[i].path, line.path_bytes);
        line.path = NULL;
        line.path_bytes = 0;
        assert_memory_equal(&line, &rows[i].is, sizeof line);
    }
}

static void what_lacks_a_column_is_no_line_of_maps(void **state)
{
    static const char *const lines[] = {"",
                                        "1000-2000",
                                        "1000-2000: /bin/prog",
                                        "1000-2000 r-xp",
                                        "1000-2000 r-xp 0 8:2",
                                        "1000-2000 r-xp /bin/prog",
                                        "2000-2000 r-xp 0 8:2 7 /bin/prog",
                                        "10000000000000000-20000000000000000 r-xp 0 8:2 7 /x",
                                        "-2000 r-xp 0 8:2 7 /x"};
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        pt_maps_line line;
        assert_false(pt_maps_line_parse(lines[i], strlen(lines[i]), &line));
        /* Nor is what begins like one and ends too early. */
        for (size_t n = 0; n < strlen(lines[i]); n++)
            assert_false(pt_maps_line_parse(lines[i], n, &line));
    }
}

/* The names are those that kernels (fs/proc/task_mmu.c, kernel/events/core.c, mm/shmem.c) and perf
 * give.
 */
static void a_path_tells_what_is_mapped(void **state)
{
    static const struct {
        const char *path, *name;
        pt_mapped_kind kind;
        uint64_t file_offset; /* of start 0x7000, where the kernel says 0x3000 */
    } rows[] = {
        {"/usr/lib/libm.so.6", "/usr/lib/libm.so.6", PT_MAPPED_FILE, 0x3000},
        {"/tmp/prog (deleted)", "/tmp/prog", PT_MAPPED_FILE, 0x3000},
        {" (deleted)", " (deleted)", PT_MAPPED_FILE, 0x3000},
        {"/dev/shm/plugin.so", "/dev/shm/plugin.so", PT_MAPPED_FILE, 0x3000},
        {"/srv/jit-.dump", "/srv/jit-.dump", PT_MAPPED_FILE, 0x3000},
        {"/srv/jit-1x.dump", "/srv/jit-1x.dump", PT_MAPPED_FILE, 0x3000},
        {"[vdso]", "[vdso]", PT_MAPPED_VDSO, 0x3000},
        {"linux-vdso.so.1", "linux-vdso.so.1", PT_MAPPED_VDSO, 0x3000},
        {"", "[anon:jit]", PT_MAPPED_ANONYMOUS, 0x7000},
        {"//anon", "[anon:jit]", PT_MAPPED_ANONYMOUS, 0x7000},
        {"[anon:v8]", "[anon:jit]", PT_MAPPED_ANONYMOUS, 0x7000},
        {"[anon_shmem:cache]", "[anon:jit]", PT_MAPPED_ANONYMOUS, 0x7000},
        {"/dev/zero (deleted)", "[anon:jit]", PT_MAPPED_ANONYMOUS, 0x7000},
        {"/anon_hugepage (deleted)", "[anon:jit]", PT_MAPPED_ANONYMOUS, 0x7000},
        {"/tmp/perf-123.map", "[anon:jit]", PT_MAPPED_ANONYMOUS, 0x7000},
        {"[heap]", "[heap]", PT_MAPPED_HEAP, 0x7000},
        {"[stack]", "[stack]", PT_MAPPED_HEAP, 0x7000},
        {"/memfd:doublemapper (deleted)", "/memfd:doublemapper", PT_MAPPED_SHARED, 0x3000},
        {"/SYSV0000002a (deleted)", "/SYSV0000002a", PT_MAPPED_SHARED, 0x3000},
        {"/tmp/jit-123.dump", "/tmp/jit-123.dump", PT_MAPPED_JITDUMP, 0x3000},
        {"/dev/dri/card0", "/dev/dri/card0", PT_MAPPED_DEVICE, 0x3000},
        {"[kernel.kallsyms]", "[kernel.kallsyms]", PT_MAPPED_KERNEL, 0x3000},
        {"[guest.kernel.kallsyms]", "[guest.kernel.kallsyms]", PT_MAPPED_KERNEL, 0x3000},
        {"[vsyscall]", "[vsyscall]", PT_MAPPED_OTHER, 0x3000},
        {"//toolong", "//toolong", PT_MAPPED_OTHER, 0x3000},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const pt_mapped as = pt_mapped_as(rows[i].path, strlen(rows[i].path), 0x7000, 0x3000);
        assert_int_equal(as.kind, rows[i].kind);
        assert_int_equal(as.name_bytes, strlen(rows[i].name));
        assert_memory_equal(as.name, rows[i].name, as.name_bytes);
        assert_int_equal(as.file_offset, rows[i].file_offset);
        /* The name in a profile gives the kind again. */
        assert_int_equal(pt_mapped_kind_of(as.name, as.name_bytes), rows[i].kind);
    }
}

static void a_dump_of_compiled_code_tells_its_process(void **state)
{
    assert_int_equal(pt_mapped_jitdump_pid("/a/jit-77.dump", 14), 77);
    assert_int_equal(pt_mapped_jitdump_pid("jit-77.dump", 11), 77);
    assert_int_equal(pt_mapped_jitdump_pid("/a/jit-77.dumps", 15), 0);
    assert_int_equal(pt_mapped_jitdump_pid("/a/jit--7.dump", 14), 0);
    assert_int_equal(pt_mapped_jitdump_pid("/jit-7.dump/a", 13), 0);
    assert_int_equal(pt_mapped_jitdump_pid("/a/jit-99999999999999999999.dump", 32), 0);
}

/* Compared with a table that has an entry for each page. */
static void a_mapping_cuts_splits_and_replaces_what_it_lies_over(void **state)
{
    enum { PAGES = 24, STEPS = 3000 };
    typedef struct {
        pt_map_range range;
        uint32_t id;
    } item;
    item items[PAGES + PT_MAPPINGS_MORE];
    struct {
        uint32_t id; /* 0 = nothing */
        uint64_t offset;
    } page[PAGES] = {0};
    size_t count = 0;
    uint32_t random = 1;
    for (uint32_t step = 1; step <= STEPS; step++) {
        random = random * 1664525 + 1013904223;
        const uint64_t start = (random >> 16) % PAGES;
        const uint64_t limit = start + 1 + (random >> 8) % (PAGES - start);
        const uint64_t offset = (random >> 4) % 1000;
        const item new = {{start, limit, offset}, step};
        count = pt_mappings_put(items, count, sizeof items[0], &new);
        assert_true(count <= PAGES);
        for (uint64_t p = start; p < limit; p++) {
            page[p].id = step;
            page[p].offset = offset + (p - start);
        }
        for (size_t i = 0; i < count; i++) {
            assert_true(items[i].range.start < items[i].range.limit);
            assert_true(i == 0 || items[i - 1].range.limit <= items[i].range.start);
        }
        for (uint64_t p = 0; p < PAGES; p++) {
            const item *const at = pt_mappings_at(items, count, sizeof items[0], p);
            assert_int_equal(at != NULL ? at->id : 0, page[p].id);
            if (at != NULL)
                assert_int_equal(at->range.file_offset + (p - at->range.start), page[p].offset);
        }
        if (step % 100 == 0) { /* an emptier table */
            count = 0;
            memset(page, 0, sizeof page);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_line_of_maps_is_read),
        cmocka_unit_test(what_lacks_a_column_is_no_line_of_maps),
        cmocka_unit_test(a_path_tells_what_is_mapped),
        cmocka_unit_test(a_dump_of_compiled_code_tells_its_process),
        cmocka_unit_test(a_mapping_cuts_splits_and_replaces_what_it_lies_over),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
