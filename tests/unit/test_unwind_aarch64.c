/* test_unwind_aarch64.c: rules of aarch64 against readelf, and lookups that a walk makes there. The
 * files and what readelf says of them lie in tests/golden/unwind (README.md says how they were
 * made).
 */
#include "base_check.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "elf_maker.h"
#include "unwind_maker.h"
#include "unwind_readelf.h"

static made_table table_of(const char *name)
{
    made_table made;
    pt_blob file = PT_BLOB_INIT;
    PT_FREE char *path = pt_strf("%s/unwind/%s.so", PT_GOLDEN_FOLDER, name);
    assert_int_equal(pt_file_read(path, 0, 1 << 20, &file, NULL), PT_OK);
    assert_true(make_table_of_bytes(file.data, file.size, &made));
    pt_blob_done(&file);
    assert_int_equal(made.table.machine, EM_AARCH64);
    return made;
}

static void tables_are_what_readelf_says(void **state)
{
    static const char *const names[] = {"aarch64-O0", "aarch64-O2", "aarch64-nofp", "aarch64-pac"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        made_table made = table_of(names[i]);
        PT_FREE char *path = pt_strf("%s/unwind/%s.rows", PT_GOLDEN_FOLDER, names[i]);
        FILE *const rows = fopen(path, "r");
        assert_non_null(rows);
        const compared sum = compare_rows(rows, &made.table, &readelf_aarch64);
        fclose(rows);
        print_message("# %s: %u functions, %u rows\n", names[i], sum.functions, sum.rows);
        assert_int_equal(sum.functions, 10);
        assert_true(sum.rows >= 30);
        assert_int_equal(sum.wrong, 0);
        assert_int_equal(sum.without_rule, 0);
        free_table(&made);
    }
}

static FILE *run_readelf(const char *what, const char *path)
{
    PT_FREE char *command = pt_strf("readelf -W --debug-dump=%s '%s' 2>/dev/null", what, path);
    FILE *const out = popen(command, "r");
    assert_non_null(out);
    return out;
}

/* How many entries say that nobody called their function. */
static unsigned count_undefined(const char *path)
{
    char line[4096];
    unsigned count = 0;
    FILE *const entries = run_readelf("frames", path);
    while (fgets(line, sizeof line, entries))
        count += strstr(line, "DW_CFA_undefined: r30 ") != NULL;
    pclose(entries);
    return count;
}

/* The path of a library for aarch64, from libc6-arm64-cross or of this machine; NULL if there is
 * none. The caller frees it. */
static char *find_aarch64_library(const char *name)
{
    static const char *const folders[] = {"/usr/aarch64-linux-gnu/lib",
                                          "/usr/lib/aarch64-linux-gnu", "/lib/aarch64-linux-gnu"};
    for (size_t i = 0; i < sizeof folders / sizeof folders[0]; i++) {
        char *const path = pt_strf("%s/%s", folders[i], name);
        if (access(path, R_OK) == 0) return path;
        free(path);
    }
    return NULL;
}

/* skip() leaves by longjmp, which runs no cleanup: nothing may be allocated when it is called. */
static void check_file(const char *name)
{
    if (access("/usr/bin/readelf", X_OK) != 0) {
        printf("# skip: readelf is not installed\n");
        skip();
    }
    PT_FREE char *path = find_aarch64_library(name);
    if (path == NULL) {
        printf("# skip: there is no %s of aarch64 (libc6-arm64-cross)\n", name);
        skip();
    }
    made_table made;
    assert_true(make_table_of_file(path, &made));
    FILE *const rows = run_readelf("frames-interp", path);
    const compared sum = compare_rows(rows, &made.table, &readelf_aarch64);
    pclose(rows);
    print_message("# %s: %u functions, %u rows, %u without a rule in %u functions that return by "
                  "another register; %zu bytes of %zu\n",
                  path, sum.functions, sum.rows, sum.without_rule, sum.foreign, made.blob_bytes,
                  made.eh_frame_bytes);
    assert_true(sum.rows > 100);
    assert_int_equal(sum.wrong, 0);
    assert_int_equal(sum.roots, count_undefined(path));
    if (sum.foreign == 0) assert_int_equal(sum.without_rule, 0);
    free_table(&made);
}

static void table_of_libc_is_what_readelf_says(void **state)
{
    (void)state;
    check_file("libc.so.6");
}

static void table_of_the_loader_is_what_readelf_says(void **state)
{
    (void)state;
    check_file("ld-linux-aarch64.so.1");
}

static void table_of_the_cxx_library_is_what_readelf_says(void **state)
{
    (void)state;
    check_file("libstdc++.so.6");
}

/* leaf, called by dynamic, called by calls, called by nobody: as the procedure call standard lays
 * their frames out (AAPCS64, 6.4.6), at addresses in aarch64-O2.rows. One return address is signed:
 * its bits above 48 are no address. Any machine walks this stack. */
static void a_stack_is_followed_by_link_register_frame_pointer_and_sp(void **state)
{
    enum { BIAS = 0x10000, STACK = 0x7000000 };
    made_table made = table_of("aarch64-O2");
    const pt_unwind_module module = {
        .start = BIAS, .limit = BIAS + 0x1000, .bias = BIAS, .table = &made.table};
    const pt_unwind_modules modules = {
        .modules = &module, .count = 1, .generation = 1, .machine = &pt_machine_aarch64};
    const uint64_t signature = UINT64_C(0x2a) << 48;
    const uint64_t stack[] = {
        0xaaaa, 0xaaaa,                     /* what dynamic allocated */
        0xf00d, (BIAS + 0x400) | signature, /* dynamic's frame record, 32 bytes below its CFA */
        0x13,   0x14,                       /* x19, x20 */
        0,      0,                          /* calls' frame record: the outermost */
        0xbbbb, 0xbbbb,
    };
    uint64_t regs[PT_MACHINE_REGS_MAX] = {[30] = BIAS + 0x470};
    const pt_unwind_limits limits = {
        .low = STACK, .limit = STACK + sizeof stack, .copy = (const uint8_t *)stack};
    pt_unwind_state at = {.pc = BIAS + 0x3e4, .sp = STACK, .fp = STACK + 16, .regs = regs};
    pt_unwind_cache *const cache = calloc(1, sizeof *cache);
    uint64_t pcs[8];
    pt_unwind_end end;
    assert_int_equal(pt_unwind(&at, &modules, &limits, cache, pcs, 8, &end), 3);
    assert_int_equal(end, PT_UNWIND_END_ROOT);
    assert_int_equal(pcs[0], BIAS + 0x3e4);
    assert_int_equal(pcs[1], BIAS + 0x470);
    assert_int_equal(pcs[2], BIAS + 0x400);
    free(cache);
    free_table(&made);
}

/* A vDSO: a leaf at TEXT, of which its entry says what the ABI says at a function's begin, and
 * behind a nop at TEXT + 4 what handlers return to (arch/arm64/kernel/vdso/sigreturn.S). */
enum { FRAMES = 0x1000, TEXT = 0x2000 };

static made_table table_of_vdso(void)
{
    static const uint8_t code[] = {0xc0, 0x03, 0x5f, 0xd6,  /* ret */
                                   0x1f, 0x20, 0x03, 0xd5,  /* nop */
                                   0x68, 0x11, 0x80, 0xd2,  /* mov x8, 139 */
                                   0x01, 0x00, 0x00, 0xd4}; /* svc 0 */
    static const uint8_t frames[] = {
        0x10, 0,    0,  0, 0,    0,    0,  0, 1, 'z', 'R', 0,
        1,    0x78, 30, 1, 0x1b, 0x0c, 31, 0,                 /* CFA = sp + 0 */
        0x10, 0,    0,  0, 0x18, 0,    0,  0,                 /* of the entry above */
        0xe4, 0x0f, 0,  0, 4,    0,    0,  0, 0, 0,   0,   0, /* TEXT, 4 bytes */
        0,    0,    0,  0};
    const made_symbol symbols[] = {{"__kernel_gettimeofday", TEXT, 4, 2, STB_GLOBAL, STT_FUNC},
                                   {"__kernel_rt_sigreturn", TEXT + 8, 8, 2, STB_GLOBAL, STT_FUNC}};
    made_bytes entries, strings;
    make_symbols(true, false, symbols, 2, &entries, &strings);
    const made_section sections[] = {
        {".eh_frame", SHT_PROGBITS, SHF_ALLOC, FRAMES, frames, sizeof frames, .align = 8},
        {".text", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, TEXT, code, sizeof code, .align = 16},
        {".dynsym", SHT_DYNSYM, .data = entries.bytes, .size_bytes = entries.size_bytes, .link = 4,
         .align = 8, .entry_bytes = sizeof(Elf64_Sym)},
        {".dynstr", SHT_STRTAB, .data = strings.bytes, .size_bytes = strings.size_bytes,
         .align = 1},
    };
    const made_segment segment = {.type = PT_LOAD,
                                  .flags = PF_R | PF_X,
                                  .addr = TEXT,
                                  .memory_bytes = sizeof code,
                                  .align = 16,
                                  .of_section = 2};
    const made_elf elf = {true, false, ET_DYN, EM_AARCH64, &segment, 1, sections, 4};
    made_bytes file = make_elf(&elf);
    made_table made;
    assert_true(make_table_of_bytes(file.bytes, file.size_bytes, &made));
    free(entries.bytes);
    free(strings.bytes);
    free(file.bytes);
    return made;
}

/* struct rt_sigframe: siginfo_t of 128 bytes, ucontext_t up to its uc_mcontext 176 bytes, the
 * address of a fault, x0 to x30, sp, pc (asm/sigcontext.h of arm64). */
enum { X0 = (128 + 176 + 8) / 8, X29 = X0 + 29, X30, SAVED_SP, SAVED_PC, SIGFRAME_WORDS = 200 };

static void what_a_signal_interrupted_is_in_its_frame(void **state)
{
    made_table made = table_of_vdso();
    for (uint64_t addr = TEXT + 4; addr < TEXT + 16; addr += 4) {
        const pt_unwind_rule *const rule = pt_unwind_table_rule(&made.table, addr);
        assert_int_equal(rule->cfa_kind, PT_CFA_DEREF);
        assert_int_equal(rule->cfa_reg, 31);
        assert_int_equal(rule->cfa_off, SAVED_SP * 8);
        assert_int_equal(rule->pc_slot, PT_SLOT_AT_SP);
        assert_int_equal(rule->pc_off, SAVED_PC);
        assert_int_equal(rule->fp_slot, PT_SLOT_AT_SP);
        assert_int_equal(rule->fp_off, X29);
        assert_true(rule->is_signal);
    }
    assert_int_equal(pt_unwind_table_rule(&made.table, TEXT)->pc_slot, PT_SLOT_SAME);
    free_table(&made);
}

/* The leaf's caller is in its link register alone, which only the signal's frame still has. */
static void a_leaf_that_a_signal_interrupted_is_left_by_its_link_register(void **state)
{
    enum { STACK = 0x7000000 };
    made_table made = table_of_vdso();
    const pt_unwind_module module = {.start = TEXT, .limit = TEXT + 16, .table = &made.table};
    const pt_unwind_modules modules = {
        .modules = &module, .count = 1, .generation = 1, .machine = &pt_machine_aarch64};
    uint64_t stack[SIGFRAME_WORDS] = {[X29] = 0xf00d,
                                      [X30] = TEXT + 4,
                                      [SAVED_SP] = STACK + SIGFRAME_WORDS * 8 - 16,
                                      [SAVED_PC] = TEXT};
    pt_unwind_limits limits = {
        .low = STACK, .limit = STACK + sizeof stack, .copy = (const uint8_t *)stack};
    pt_unwind_state at = {.pc = TEXT + 8, .sp = STACK, .is_return = true};
    assert_int_equal(pt_unwind_step(&at, &modules, &limits, NULL), PT_UNWIND_END_GOING_ON);
    assert_int_equal(at.pc, TEXT);
    assert_int_equal(at.fp, 0xf00d);
    assert_false(at.is_return);
    assert_int_equal(pt_unwind_step(&at, &modules, &limits, NULL), PT_UNWIND_END_GOING_ON);
    assert_int_equal(at.pc, TEXT + 4);
    assert_int_equal(at.sp, stack[SAVED_SP]);
    /* A copy that ends in the frame has them not. */
    limits.limit = STACK + SAVED_PC * 8;
    at = (pt_unwind_state){.pc = TEXT + 8, .sp = STACK, .is_return = true};
    assert_int_equal(pt_unwind_step(&at, &modules, &limits, NULL), PT_UNWIND_END_BAD_READ);
    free_table(&made);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tables_are_what_readelf_says),
        cmocka_unit_test(table_of_libc_is_what_readelf_says),
        cmocka_unit_test(table_of_the_loader_is_what_readelf_says),
        cmocka_unit_test(table_of_the_cxx_library_is_what_readelf_says),
        cmocka_unit_test(what_a_signal_interrupted_is_in_its_frame),
        cmocka_unit_test(a_leaf_that_a_signal_interrupted_is_left_by_its_link_register),
        cmocka_unit_test(a_stack_is_followed_by_link_register_frame_pointer_and_sp),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
