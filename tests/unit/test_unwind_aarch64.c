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
#include "elf/image.h"
#include "elf_maker.h"
#include "unwind/aarch64.h"
#include "unwind/heap.h"
#include "unwind/sources.h"
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

/* ---- rules from code ---- */

enum { CODE_MAX = 1 << 16 };

/* The rules of a function by its code alone. */
typedef struct {
    uint64_t start, limit, at;
    pt_unwind_rule last, rules[CODE_MAX / PT_A64_BYTES];
} rules_of_code;

static void take_row(void *arg, uint64_t addr, const pt_unwind_rule *rule)
{
    rules_of_code *const all = arg;
    for (; all->at < addr && all->at < all->limit; all->at += PT_A64_BYTES)
        all->rules[(all->at - all->start) / PT_A64_BYTES] = all->last;
    all->last = *rule;
}

static bool returns_always(void *arg, uint64_t target)
{
    (void)arg, (void)target;
    return true;
}

static void follow_function(const pt_elf *elf, const pt_code_room *room, uint64_t start,
                            uint32_t size, rules_of_code *all)
{
    const pt_code_hooks hooks = {.returns = returns_always};
    const pt_unwind_function f = {.start_addr = start, .size_bytes = size, .source = PT_FROM_CODE};
    all->start = all->at = start;
    all->limit = start + size;
    all->last = (pt_unwind_rule){0};
    pt_code_follow(elf, &f, &hooks, room);
    pt_code_rows(elf, &f, room, take_row, all);
    take_row(all, all->limit, &all->last);
}

/* Is the link register's value in memory, too, and the other way round? Entries tell a little later
 * that it was saved or restored: between the place and the instruction that saves or restores it is
 * no call. */
static bool is_in_both_places(const uint8_t *code, uint64_t off)
{
    for (unsigned i = 0; i < 64 && off >= PT_A64_BYTES; i++) {
        pt_insn insn;
        off -= PT_A64_BYTES;
        assert_true(pt_a64_decode(code, (size_t)off, (size_t)off + PT_A64_BYTES, &insn));
        if (insn.kind == PT_INSN_CALL) return false;
        if ((insn.kind == PT_INSN_STORE || insn.kind == PT_INSN_LOAD) &&
            insn.access.link_at != PT_INSN_NOT_THERE)
            return true;
    }
    return false;
}

static struct {
    uint64_t same, both_places, other_base, none, wrong;
} by_code;

static void compare_rule(const uint8_t *code, uint64_t off, const pt_unwind_rule *got,
                         const pt_unwind_rule *entry)
{
    const bool is_same_cfa = got->cfa_kind == entry->cfa_kind && got->cfa_off == entry->cfa_off;
    const bool is_kept = got->pc_slot == PT_SLOT_SAME || entry->pc_slot == PT_SLOT_SAME;
    const bool is_same = got->pc_slot == entry->pc_slot && got->pc_off == entry->pc_off &&
                         (got->fp_slot == entry->fp_slot || entry->fp_slot == PT_SLOT_SAME) &&
                         (got->fp_slot != PT_SLOT_AT_CFA || got->fp_off == entry->fp_off);
    if (got->cfa_kind == PT_CFA_NONE)
        by_code.none++;
    else if (entry->pc_slot == PT_SLOT_UNDEFINED || got->pc_slot == PT_SLOT_UNDEFINED ||
             (entry->pc_slot == PT_SLOT_SAME && entry->pc_off != 30)) /* vfork */
        return;
    else if (is_same && is_same_cfa)
        by_code.same++;
    else if (is_same && got->cfa_kind == PT_CFA_SP && entry->cfa_kind == PT_CFA_FP)
        by_code.other_base++; /* the code follows the stack pointer where it can */
    else if (is_same_cfa && is_kept && is_in_both_places(code, off))
        by_code.both_places++;
    else if (by_code.wrong++ < 5)
        print_message("# +%lx: by code cfa %u%+d pc %u%+d, by entry cfa %u%+d pc %u%+d\n", off,
                      got->cfa_kind, got->cfa_off, got->pc_slot, got->pc_off, entry->cfa_kind,
                      entry->cfa_off, entry->pc_slot, entry->pc_off);
}

/* _dl_runtime_resolve begins, behind a nop, with two words that its stub has pushed. */
static bool is_entered_by_stub(const pt_unwind_table *table, uint64_t start)
{
    const pt_unwind_rule *const rule = pt_unwind_table_rule(table, start + PT_A64_BYTES);
    return pt_unwind_table_rule(table, start)->pc_slot == PT_SLOT_SAME &&
           rule->pc_slot == PT_SLOT_AT_CFA && rule->cfa_off == 16 && rule->fp_slot == PT_SLOT_SAME;
}

/* The entries of compilers say what is right. Exceptions' landing pads are reached by no path. */
static void compare_code_with_entries(const uint8_t *bytes, size_t size)
{
    pt_elf elf;
    made_table made;
    pt_unwind_frames frames = {.machine = EM_AARCH64};
    assert_int_equal(pt_elf_open(bytes, size, &elf), PT_ELF_OK);
    assert_true(make_table_of_bytes(bytes, size, &made));
    assert_true(pt_unwind_frames_of_elf(&elf, &frames));
    pt_cfi_reader reader = {.frames = &frames, .machine = &pt_machine_aarch64};
    pt_dictionary states;
    assert_true(pt_code_states_init(&states, &pt_unwind_heap));
    PT_FREE uint64_t *words = malloc(pt_code_room_bytes(CODE_MAX));
    const pt_code_room room = pt_code_room_in(words, CODE_MAX, &states);
    PT_FREE rules_of_code *all = malloc(sizeof *all);
    uint64_t next = 0, entry_off, off;
    pt_cfi_fde fde;
    while (pt_cfi_next_fde(&reader, &next, &entry_off, &fde)) {
        if (fde.size_bytes > CODE_MAX || !pt_elf_offset_of_addr(&elf, fde.start_addr, &off) ||
            is_entered_by_stub(&made.table, fde.start_addr))
            continue;
        follow_function(&elf, &room, fde.start_addr, (uint32_t)fde.size_bytes, all);
        for (uint64_t at = 0; at + PT_A64_BYTES <= fde.size_bytes; at += PT_A64_BYTES) {
            const pt_unwind_rule *const entry =
                pt_unwind_table_rule(&made.table, fde.start_addr + at);
            if (entry->cfa_kind == PT_CFA_SP || entry->cfa_kind == PT_CFA_FP)
                compare_rule(bytes + off, at, &all->rules[at / PT_A64_BYTES], entry);
        }
    }
    /* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): PT_FREE frees all */
    pt_dictionary_done(&states);
    free_table(&made);
}

static void report_and_check(const char *name, double least_share)
{
    const uint64_t sum =
        by_code.same + by_code.both_places + by_code.other_base + by_code.none + by_code.wrong;
    print_message("# %s: %lu instructions: %lu as the entry, %lu in both places, %lu by another "
                  "base, %lu without a rule, %lu wrong\n",
                  name, sum, by_code.same, by_code.both_places, by_code.other_base, by_code.none,
                  by_code.wrong);
    assert_int_equal(by_code.wrong, 0);
    assert_true((double)(sum - by_code.none) >= least_share * (double)sum);
    memset(&by_code, 0, sizeof by_code);
}

static void rules_of_code_are_what_the_compiler_says(void **state)
{
    static const char *const names[] = {"aarch64-O0", "aarch64-O2", "aarch64-nofp", "aarch64-pac"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        pt_blob file = PT_BLOB_INIT;
        PT_FREE char *path = pt_strf("%s/unwind/%s.so", PT_GOLDEN_FOLDER, names[i]);
        assert_int_equal(pt_file_read(path, 0, 1 << 20, &file, NULL), PT_OK);
        compare_code_with_entries(file.data, file.size);
        pt_blob_done(&file);
        report_and_check(names[i], 0.9);
    }
}

static void check_code_of(const char *name, double least_share)
{
    pt_blob file = PT_BLOB_INIT;
    PT_FREE char *path = find_aarch64_library(name);
    if (path == NULL) {
        printf("# skip: there is no %s of aarch64 (libc6-arm64-cross)\n", name);
        skip();
    }
    assert_int_equal(pt_file_read(path, 0, 64 << 20, &file, NULL), PT_OK);
    compare_code_with_entries(file.data, file.size);
    pt_blob_done(&file);
    report_and_check(name, least_share);
}

static void rules_of_the_code_of_libraries_are_what_their_entries_say(void **state)
{
    (void)state;
    check_code_of("libc.so.6", 0.99);
    check_code_of("ld-linux-aarch64.so.1", 0.99);
    check_code_of("libstdc++.so.6", 0.94);
}

/* Stubs (.plt) have no entries: each is left by the link register, and so is the first, which
 * pushes it. AAPCS64 6.4: x30 is the link register. */
static void stubs_are_left_by_the_link_register(void **state)
{
    made_table made = table_of("aarch64-O2");
    pt_elf elf;
    pt_elf_section plt;
    pt_blob file = PT_BLOB_INIT;
    PT_FREE char *path = pt_strf("%s/unwind/aarch64-O2.so", PT_GOLDEN_FOLDER);
    assert_int_equal(pt_file_read(path, 0, 1 << 20, &file, NULL), PT_OK);
    assert_int_equal(pt_elf_open(file.data, file.size, &elf), PT_ELF_OK);
    assert_true(pt_elf_section_named(&elf, ".plt", &plt));
    assert_true(plt.size_bytes >= 48);
    for (uint64_t off = 0; off < plt.size_bytes; off += PT_A64_BYTES) {
        const pt_unwind_rule *const rule = pt_unwind_table_rule(&made.table, plt.addr + off);
        const bool is_pushed = off >= 4 && off < 20; /* behind stp x16, x30, [sp, -16]! */
        if (off >= 20 && off < 32) continue;         /* nops */
        assert_int_equal(rule->cfa_kind, PT_CFA_SP);
        assert_int_equal(rule->cfa_off, is_pushed ? 16 : 0);
        assert_int_equal(rule->pc_slot, is_pushed ? PT_SLOT_AT_CFA : PT_SLOT_SAME);
        assert_int_equal(rule->pc_off, is_pushed ? -1 : 30);
    }
    pt_blob_done(&file);
    free_table(&made);
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
 * behind a nop at TEXT + 4 what handlers return to (arch/arm64/kernel/vdso/sigreturn.S). Linux 6.1
 * has no entries in it. */
enum { FRAMES = 0x1000, TEXT = 0x2000, BEHIND = TEXT + 16 };

static made_table table_of_vdso(bool has_entries)
{
    static const uint8_t code[] = {0xc0, 0x03, 0x5f, 0xd6, /* ret */
                                   0x1f, 0x20, 0x03, 0xd5, /* nop */
                                   0x68, 0x11, 0x80, 0xd2, /* mov x8, 139 */
                                   0x01, 0x00, 0x00, 0xd4, /* svc 0 */
                                   0x00, 0x00, 0x00, 0x00};
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
        {has_entries ? ".eh_frame" : ".rodata", SHT_PROGBITS, SHF_ALLOC, FRAMES, frames,
         sizeof frames, .align = 8},
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

/* Within the call the pc is behind it. */
static void what_a_signal_interrupted_is_in_its_frame(void **state)
{
    (void)state;
    for (int has_entries = 0; has_entries < 2; has_entries++) {
        made_table made = table_of_vdso(has_entries);
        for (uint64_t addr = TEXT + 4; addr <= BEHIND; addr += 4) {
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
        assert_int_equal(pt_unwind_table_rule(&made.table, TEXT)->pc_off, 30);
        free_table(&made);
    }
}

/* The leaf's caller is in its link register alone, which only the signal's frame still has. */
static void a_leaf_that_a_signal_interrupted_is_left_by_its_link_register(void **state)
{
    enum { STACK = 0x7000000 };
    made_table made = table_of_vdso(true);
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

/* A stripped program without entries. Its functions are the targets of calls, of jumps that make a
 * frame, and of addresses that are computed behind a call that does not return. */
static void functions_of_a_stripped_program_are_found(void **state)
{
    static const uint32_t code[] = {
        /* 00: the entry */
        0xd280001d, /* mov x29, 0 */
        0x90000000, /* adrp x0, TEXT */
        0x91008000, /* add x0, x0, 0x20 */
        0x94000002, /* bl 0x14 */
        0xd4200000, /* brk 0 */
        /* 14: called; leaves for 40 */
        0xd10083ff, /* sub sp, sp, 32 */
        0x910083ff, /* add sp, sp, 32 */
        0x14000009, /* b 0x40 */
        /* 20: its address is computed */
        0xa9be53f3, /* stp x19, x20, [sp, -32]! */
        0xf9000bfe, /* str x30, [sp, 16] */
        0x97fffffb, /* bl 0x14 */
        0xf9400bfe, /* ldr x30, [sp, 16] */
        0xa8c253f3, /* ldp x19, x20, [sp], 32 */
        0xd65f03c0, /* ret */
        0xd503201f, /* nop */
        0x97fffff6, /* bl 0x14 */
        /* 40: behind a call */
        0xa9be7bfd, /* stp x29, x30, [sp, -32]! */
        0x910003fd, /* mov x29, sp */
        0xd2820010, /* mov x16, 0x1000 */
        0xcb3063ff, /* sub sp, sp, x16 */
        0x97fffff1, /* bl 0x14 */
        0x910003bf, /* mov sp, x29 */
        0xa8c27bfd, /* ldp x29, x30, [sp], 32 */
        0xd65f03c0, /* ret */
    };
    /* CFA and return address by hand: sp + off; r: in x30, s: saved, off words from the CFA. */
    static const struct {
        uint32_t at;
        int cfa, pc, fp;
    } expected_rules[] = {
        {0x14, 0, 0, 0},      {0x18, 32, 0, 0},     {0x1c, 0, 0, 0},    {0x20, 0, 0, 0},
        {0x24, 32, 0, 0},     {0x28, 32, -2, 0},    {0x2c, 32, -2, 0},  {0x30, 32, 0, 0},
        {0x34, 0, 0, 0},      {0x40, 0, 0, 0},      {0x44, 32, -3, -4}, {0x48, 32, -3, -4},
        {0x50, 4128, -3, -4}, {0x54, 4128, -3, -4}, {0x58, 32, -3, -4}, {0x5c, 0, 0, 0},
    };
    const made_section sections[] = {
        {".text", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, TEXT, code, sizeof code, .align = 16}};
    const made_segment segment = {.type = PT_LOAD,
                                  .flags = PF_R | PF_X,
                                  .addr = TEXT,
                                  .memory_bytes = sizeof code,
                                  .align = 16,
                                  .of_section = 1};
    const made_elf elf = {true, false, ET_EXEC, EM_AARCH64, &segment, 1, sections, 1};
    (void)state;
    made_bytes file = make_elf(&elf);
    made_table made;
    ((Elf64_Ehdr *)(void *)file.bytes)->e_entry = TEXT;
    assert_true(make_table_of_bytes(file.bytes, file.size_bytes, &made));
    assert_int_equal(pt_unwind_table_rule(&made.table, TEXT + 4)->pc_slot, PT_SLOT_UNDEFINED);
    for (size_t i = 0; i < sizeof expected_rules / sizeof expected_rules[0]; i++) {
        const pt_unwind_rule *const rule =
            pt_unwind_table_rule(&made.table, TEXT + expected_rules[i].at);
        const bool is_saved = expected_rules[i].pc != 0;
        assert_int_equal(rule->cfa_kind, PT_CFA_SP);
        assert_int_equal(rule->cfa_off, expected_rules[i].cfa);
        assert_int_equal(rule->pc_slot, is_saved ? PT_SLOT_AT_CFA : PT_SLOT_SAME);
        assert_int_equal(rule->pc_off, is_saved ? expected_rules[i].pc : 30);
        assert_int_equal(rule->fp_slot, expected_rules[i].fp != 0 ? PT_SLOT_AT_CFA : PT_SLOT_SAME);
        assert_int_equal(rule->fp_off, expected_rules[i].fp);
    }
    free(file.bytes);
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
        cmocka_unit_test(rules_of_code_are_what_the_compiler_says),
        cmocka_unit_test(rules_of_the_code_of_libraries_are_what_their_entries_say),
        cmocka_unit_test(stubs_are_left_by_the_link_register),
        cmocka_unit_test(functions_of_a_stripped_program_are_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
