/* test_unwind.c: tables against readelf, entry by entry; hand-written entries against the DWARF
 * specification; walks of this process against glibc's backtrace. */
#include "base_check.h"

#include "model/profile.h"
#include "unwind/copied.h"
#include "unwind/unwind.h"
#include "unwind_deep.h"
#include "unwind_maker.h"
#include "unwind_readelf.h"

#include <elf.h>
#include <errno.h>
#include <execinfo.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- against readelf ---- */

static void check_file(const char *path)
{
    made_table made;
    if (access(path, R_OK) != 0 || access("/usr/bin/readelf", X_OK) != 0) skip();
    assert_true(make_table_of_file(path, &made));
    char command[512];
    snprintf(command, sizeof command, "readelf -W --debug-dump=frames-interp '%s' 2>/dev/null",
             path);
    FILE *const rows = popen(command, "r");
    assert_non_null(rows);
    const compared sum = compare_rows(
        rows, &made.table, made.table.machine == EM_AARCH64 ? &readelf_aarch64 : &readelf_x86_64);
    pclose(rows); /* it also fails where a separate debug file is missing */
    print_message("# %s: %u functions, %u rows, %u without a rule; %zu bytes of %zu\n", path,
                  sum.functions, sum.rows, sum.without_rule, made.blob_bytes, made.eh_frame_bytes);
    assert_true(sum.rows > 100);
    assert_int_equal(sum.wrong, 0);
    assert_true(sum.without_rule * 1000 <= sum.rows);
    assert_true(made.blob_bytes * 10 <= made.eh_frame_bytes * 8);
    free_table(&made);
}

static void table_of_libc_is_what_readelf_says(void **state)
{
    (void)state;
    check_file("/usr/lib/x86_64-linux-gnu/libc.so.6");
}

static void table_of_the_cxx_library_is_what_readelf_says(void **state)
{
    (void)state;
    check_file("/usr/lib/x86_64-linux-gnu/libstdc++.so.6");
}

static void table_of_the_loader_is_what_readelf_says(void **state)
{
    (void)state;
    check_file("/usr/lib64/ld-linux-x86-64.so.2");
}

static void table_of_this_program_is_what_readelf_says(void **state)
{
    (void)state;
    char path[4096] = "";
    assert_true(readlink("/proc/self/exe", path, sizeof path - 1) > 0);
    check_file(path);
}

/* ---- hand-written entries ---- */

enum { ADDR = 0x10000 }; /* of the section */

/* Text like "14000000 00 'zR'": hex bytes and quoted letters. */
static size_t bytes_of(const char *text, uint8_t *bytes, size_t cap)
{
    size_t n = 0;
    for (const char *at = text; *at; at++) {
        if (*at == ' ' || *at == '\n') continue;
        assert_true(n < cap);
        if (*at == '\'') {
            for (at++; *at != '\''; at++)
                bytes[n++] = (uint8_t)*at;
            continue;
        }
        const char pair[3] = {at[0], at[1], 0};
        bytes[n++] = (uint8_t)strtoul(pair, NULL, 16);
        at++;
    }
    return n;
}

static bool compile_text(const char *text, bool is_debug_frame, made_table *ret_made)
{
    static uint8_t bytes[8192];
    memset(bytes, 0, sizeof bytes);
    const pt_unwind_frames frames = {.machine = EM_X86_64,
                                     .bytes = bytes,
                                     .size_bytes =
                                         bytes_of(text, bytes, sizeof bytes) + 32, /* of padding */
                                     .addr = ADDR,
                                     .is_debug_frame = is_debug_frame,
                                     .is_whole_section = true};
    return make_table(&frames, ret_made);
}

/* A CIE as gcc makes it: version 1, "zR", code 1, data -8, ra 16, pcrel sdata4; CFA = rsp + 8, ra
 * at CFA - 8; 24 bytes. */
#define CIE "14000000 00000000 01 'zR' 00 01 78 10 01 1b 0c0708 9001 0000 "
/* An FDE behind it for 0x20000 .. 0x20000 + 0x40, with 16 bytes of program; 36 bytes. */
#define FDE "20000000 1c000000 e0ff0000 40000000 00 "

static const pt_unwind_rule *rule_at(const made_table *made, uint64_t addr)
{
    return pt_unwind_table_rule(&made->table, addr);
}

static void assert_cfa(const made_table *made, uint64_t addr, unsigned kind, int off)
{
    assert_int_equal(rule_at(made, addr)->cfa_kind, kind);
    assert_int_equal(rule_at(made, addr)->cfa_off, off);
}

static void rows_hold_until_the_next_one_and_end_with_the_function(void **state)
{
    (void)state;
    made_table made;
    /* advance 1; def_cfa_offset 16; offset rbp -16; advance 3; def_cfa_register rbp; advance1 0x20;
     * def_cfa rsp 8; 0 ... */
    assert_true(compile_text(CIE FDE "41 0e10 8602 43 0d06 0220 0c0708 000000", false, &made));
    assert_cfa(&made, 0x1ffff, PT_CFA_NONE, 0);
    assert_cfa(&made, 0x20000, PT_CFA_SP, 8);
    assert_int_equal(rule_at(&made, 0x20000)->fp_slot, PT_SLOT_SAME);
    assert_cfa(&made, 0x20001, PT_CFA_SP, 16);
    assert_int_equal(rule_at(&made, 0x20001)->fp_slot, PT_SLOT_AT_CFA);
    assert_int_equal(rule_at(&made, 0x20001)->fp_off, -2);
    assert_int_equal(rule_at(&made, 0x20003)->pc_slot, PT_SLOT_AT_CFA);
    assert_int_equal(rule_at(&made, 0x20003)->pc_off, -1);
    assert_cfa(&made, 0x20004, PT_CFA_FP, 16);
    assert_cfa(&made, 0x20023, PT_CFA_FP, 16);
    assert_cfa(&made, 0x20024, PT_CFA_SP, 8);
    assert_cfa(&made, 0x2003f, PT_CFA_SP, 8);
    assert_cfa(&made, 0x20040, PT_CFA_NONE, 0);
    assert_cfa(&made, 0x90000000, PT_CFA_NONE, 0);
    assert_cfa(&made, 0, PT_CFA_NONE, 0);
    free_table(&made);
}

static void restore_goes_back_to_the_common_entry_and_states_nest(void **state)
{
    (void)state;
    made_table made;
    /* offset rbp -16; remember; advance 1; restore rbp; remember; advance 1; undefined rip;
     * restore_state; advance 1; restore_state; 0 */
    assert_true(compile_text(CIE FDE "8602 0a 41 c6 0a 41 0710 41 0b 41 0b 00 00", false, &made));
    assert_int_equal(rule_at(&made, 0x20000)->fp_slot, PT_SLOT_AT_CFA);
    assert_int_equal(rule_at(&made, 0x20001)->fp_slot, PT_SLOT_SAME);
    assert_int_equal(rule_at(&made, 0x20002)->pc_slot, PT_SLOT_UNDEFINED);
    assert_int_equal(rule_at(&made, 0x20003)->fp_slot, PT_SLOT_SAME);
    assert_int_equal(rule_at(&made, 0x20003)->pc_slot, PT_SLOT_AT_CFA);
    assert_int_equal(rule_at(&made, 0x20004)->fp_slot, PT_SLOT_AT_CFA);
    free_table(&made);
}

static void a_program_that_fails_leaves_the_rest_of_its_function_without_a_rule(void **state)
{
    (void)state;
    made_table made;
    /* advance 4; def_cfa_offset 16; advance 4; restore_state with nothing remembered */
    assert_true(compile_text(CIE FDE "44 0e10 44 0b 44 0e08 0000000000000000", false, &made));
    assert_cfa(&made, 0x20007, PT_CFA_SP, 16);
    assert_cfa(&made, 0x20008, PT_CFA_NONE, 0);
    assert_cfa(&made, 0x2000c, PT_CFA_NONE, 0);
    free_table(&made);
}

static void expressions_that_tools_make_are_rules_and_others_none(void **state)
{
    (void)state;
    made_table made;
    /* def_cfa_expression: breg7 8 breg16 0 lit15 and lit11 ge lit3 shl plus (ld's PLT) */
    assert_true(compile_text(CIE FDE "0f0b 77088000 3f1a3b2a 332422 00 00 00", false, &made));
    assert_cfa(&made, 0x20000, PT_CFA_PLT, 8);
    assert_int_equal(rule_at(&made, 0x20000)->cfa_reg, 11);
    free_table(&made);
    /* breg6 -8 deref; expression rbp: breg6 0 (gcc's realigned stacks) */
    assert_true(compile_text(CIE FDE "0f03 7678 06 100602 7600 00 0000000000", false, &made));
    assert_cfa(&made, 0x20000, PT_CFA_DEREF, -8);
    assert_int_equal(rule_at(&made, 0x20000)->cfa_reg, 6);
    assert_int_equal(rule_at(&made, 0x20000)->fp_slot, PT_SLOT_AT_FP);
    free_table(&made);
    /* breg7 8, dup: not one of those */
    assert_true(compile_text(CIE FDE "0f03 7708 12 00000000000000000000 00", false, &made));
    assert_cfa(&made, 0x20000, PT_CFA_NONE, 0);
    free_table(&made);
}

/* The CIE and FDE above, but for the program of the CIE: so many bytes, the last ones no operation.
 */
static bool compile_long_cie(uint32_t program_bytes, made_table *ret_made)
{
    static char text[20000];
    const uint32_t off = 17 + program_bytes; /* of the FDE */
    int length = snprintf(text, sizeof text, "%08x 00000000 01 'zR' 00 01 78 10 01 1b 0c0708 9001 ",
                          __builtin_bswap32(off - 4));
    for (uint32_t i = 5; i < program_bytes; i++)
        length += snprintf(text + length, sizeof text - (size_t)length, "00");
    snprintf(text + length, sizeof text - (size_t)length, " 20000000 %08x %08x 40000000 00 0e20",
             __builtin_bswap32(off + 4), __builtin_bswap32(0x10000 - (off + 8)));
    return compile_text(text, false, ret_made);
}

static void program_of_a_common_entry_has_4096_bytes_at_most(void **state)
{
    (void)state;
    made_table made;
    assert_true(compile_long_cie(4096, &made));
    assert_cfa(&made, 0x20000, PT_CFA_SP, 32);
    free_table(&made);
    assert_false(compile_long_cie(4097, &made) && rule_at(&made, 0x20000)->cfa_kind != PT_CFA_NONE);
    free_table(&made);
}

static void debug_frame_of_version_4_with_64_bit_lengths_is_read(void **state)
{
    (void)state;
    made_table made;
    assert_true(compile_text(
        /* CIE: id ~0, version 4, no augmentation, addresses of 8 bytes, no segments */
        "ffffffff 1400000000000000 ffffffffffffffff 04 00 08 00 01 78 10 0c0708 9001 "
        /* FDE of the CIE at 0, 0x30000 and 0x10 bytes; def_cfa_offset 32 */
        "ffffffff 1c00000000000000 0000000000000000 0000030000000000 1000000000000000 0e20 0000",
        true, &made));
    assert_cfa(&made, 0x30000, PT_CFA_SP, 32);
    assert_int_equal(rule_at(&made, 0x3000f)->pc_off, -1);
    free_table(&made);
}

static void signal_frames_are_marked_and_gaps_under_16_bytes_are_filled(void **state)
{
    (void)state;
    made_table made;
    assert_true(compile_text("14000000 00000000 01 'zRS' 00 01 78 10 01 1b 0c0708 9001 00 "
                             /* 0x20000 .. 0x20008 */
                             "10000000 1c000000 e0ff0000 08000000 00 000000"
                             /* 0x20010 .. 0x20020: 8 bytes further on */
                             "10000000 30000000 dcff0000 10000000 00 0e1800"
                             /* 0x20030 .. 0x20040: 16 bytes further on */
                             "10000000 44000000 e8ff0000 10000000 00 0e2000",
                             false, &made));
    assert_int_equal(rule_at(&made, 0x20000)->is_signal, 1);
    assert_cfa(&made, 0x2000c, PT_CFA_SP, 8);
    assert_cfa(&made, 0x20010, PT_CFA_SP, 24);
    assert_cfa(&made, 0x20020, PT_CFA_NONE, 0);
    assert_cfa(&made, 0x20030, PT_CFA_SP, 32);
    free_table(&made);
}

static void pages_without_rows_go_on_with_the_rule_before(void **state)
{
    (void)state;
    made_table made;
    /* 0x20000 .. 0x60000: 4 pages; def_cfa_offset 48 at once, 8 at 0x50000 */
    assert_true(compile_text(CIE "20000000 1c000000 e0ff0000 00000400 00 "
                                 "0e30 0400000300 0e08 0000000000 0000",
                             false, &made));
    assert_cfa(&made, 0x30000, PT_CFA_SP, 48);
    assert_cfa(&made, 0x4ffff, PT_CFA_SP, 48);
    assert_cfa(&made, 0x50000, PT_CFA_SP, 8);
    assert_cfa(&made, 0x5ffff, PT_CFA_SP, 8);
    assert_cfa(&made, 0x60000, PT_CFA_NONE, 0);
    free_table(&made);
}

static void blob_that_differs_in_one_bit_is_refused(void **state)
{
    (void)state;
    made_table made;
    assert_true(compile_text(CIE FDE "41 0e10 8602 43 0d06 0220 0c0708 000000", false, &made));
    uint8_t *const bytes = made.blob;
    pt_unwind_table table;
    for (size_t i = 0; i < made.blob_bytes * 8; i++) {
        bytes[i / 8] ^= (uint8_t)(1u << i % 8);
        assert_int_not_equal(pt_unwind_table_open(bytes, made.blob_bytes, &table), PT_UNWIND_OK);
        bytes[i / 8] ^= (uint8_t)(1u << i % 8);
    }
    for (size_t n = 0; n < made.blob_bytes; n++)
        assert_int_not_equal(pt_unwind_table_open(bytes, n, &table), PT_UNWIND_OK);
    assert_int_equal(pt_unwind_table_open(bytes, made.blob_bytes, &table), PT_UNWIND_OK);
    free_table(&made);
}

static void no_entries_are_no_table(void **state)
{
    (void)state;
    made_table made;
    assert_false(compile_text(CIE, false, &made));
    assert_false(compile_text("00000000", false, &made));
    assert_false(compile_text("ff", false, &made));
}

/* ---- walks over made stacks ---- */

static void ends_have_the_numbers_of_the_model(void **state)
{
    (void)state;
    assert_int_equal(PT_UNWIND_END_GOING_ON, PT_STACK_END_UNKNOWN);
    assert_int_equal(PT_UNWIND_END_ROOT, PT_STACK_END_ROOT);
    assert_int_equal(PT_UNWIND_END_TRUNCATED, PT_STACK_END_TRUNCATED);
    assert_int_equal(PT_UNWIND_END_NO_RULE, PT_STACK_END_NO_RULE);
    assert_int_equal(PT_UNWIND_END_BAD_READ, PT_STACK_END_BAD_READ);
}

enum { LOW = 0x7000 };

typedef struct {
    uint64_t pcs[16];
    uint32_t depth;
    pt_unwind_end end;
} walked;

/* From pc with rsp = LOW over these words, in a module at 0x20000 of this table (or without one).
 */
static walked walk(const pt_unwind_table *table, uint64_t pc, uint64_t fp, const uint64_t *words,
                   size_t count, uint32_t cap)
{
    const pt_unwind_module module = {0x20000, 0x30000, 0, table, NULL, false};
    const pt_unwind_modules modules = {&module, 1, 7, NULL};
    const pt_unwind_limits limits = {LOW, LOW + count * 8, (const uint8_t *)words};
    pt_unwind_state from = {.pc = pc, .sp = LOW, .fp = fp};
    walked w = {0};
    w.depth = pt_unwind(&from, &modules, &limits, NULL, w.pcs, cap, &w.end);
    return w;
}

static void walk_ends_where_the_stack_does_not_fit_the_rules(void **state)
{
    (void)state;
    made_table made;
    /* CFA = rsp + 16 for 0x20000 .. 0x20020; from there on the thread's start */
    assert_true(compile_text(CIE FDE "0e10 0220 0710 0000000000000000000000", false, &made));
    const uint64_t good[] = {0, 0x20011, 0, 0x20012, 0, 0x20031};
    walked w = walk(&made.table, 0x20010, 0, good, 6, 16);
    assert_int_equal(w.end, PT_UNWIND_END_ROOT);
    assert_int_equal(w.depth, 4);
    assert_int_equal(w.pcs[3], 0x20031);
    w = walk(&made.table, 0x20010, 0, good, 6, 3);
    assert_int_equal(w.end, PT_UNWIND_END_TRUNCATED);
    assert_int_equal(w.depth, 3);
    w = walk(&made.table, 0x20010, 0, good, 4, 16); /* cut before the last */
    assert_int_equal(w.end, PT_UNWIND_END_BAD_READ);
    assert_int_equal(w.depth, 3);
    const uint64_t foreign[] = {0, 0x50000, 0, 0};
    w = walk(&made.table, 0x20010, 0, foreign, 4, 16);
    assert_int_equal(w.end, PT_UNWIND_END_NO_RULE);
    assert_int_equal(w.depth, 2);
    const uint64_t small[] = {0, 12, 0, 0};
    assert_int_equal(walk(&made.table, 0x20010, 0, small, 4, 16).end, PT_UNWIND_END_BAD_READ);
    free_table(&made);
}

static void walk_never_goes_down_the_stack(void **state)
{
    (void)state;
    made_table made;
    /* CFA = rbp + 16 with rbp saved below it: a frame that points to itself */
    assert_true(compile_text(CIE FDE "0c0610 8602 0000000000000000000000 00", false, &made));
    const uint64_t self[] = {0, 0, LOW + 16, 0x20010, 0, 0};
    const walked w = walk(&made.table, 0x20010, LOW + 16, self, 6, 16);
    assert_int_equal(w.end, PT_UNWIND_END_BAD_READ);
    assert_int_equal(w.depth, 2);
    assert_int_equal(walk(&made.table, 0x20010, LOW + 3, self, 6, 16).end, PT_UNWIND_END_BAD_READ);
    assert_int_equal(walk(&made.table, 0x20010, 0, self, 6, 16).end, PT_UNWIND_END_BAD_READ);
    assert_int_equal(walk(&made.table, 0x20010, UINT64_MAX - 7, self, 6, 16).end,
                     PT_UNWIND_END_BAD_READ);
    free_table(&made);
}

static void nothing_below_the_red_zone_is_read(void **state)
{
    (void)state;
    made_table made;
    if (PT_MACHINE_HOST->red_zone_bytes == 0) skip(); /* nothing below sp is */
    /* CFA = the word at rbp - 8, where it is right but dead */
    assert_true(compile_text(CIE FDE "0f03 7678 06 0000000000000000000000", false, &made));
    const uint64_t words[32] = {LOW + 31 * 8, [30] = 0x20020};
    const pt_unwind_module module = {0x20000, 0x30000, 0, &made.table, NULL, false};
    const pt_unwind_modules modules = {&module, 1, 7, NULL};
    const pt_unwind_limits limits = {LOW, LOW + sizeof words, (const uint8_t *)words};
    pt_unwind_state at = {.pc = 0x20010, .sp = LOW + 128, .fp = LOW + 8};
    assert_int_equal(pt_unwind_step(&at, &modules, &limits, NULL), PT_UNWIND_END_GOING_ON);
    assert_int_equal(at.pc, 0x20020);
    at = (pt_unwind_state){.pc = 0x20010, .sp = LOW + 136, .fp = LOW + 8};
    assert_int_equal(pt_unwind_step(&at, &modules, &limits, NULL), PT_UNWIND_END_BAD_READ);
    free_table(&made);
}

static void frame_pointer_restored_before_the_return_is_read_where_it_was_saved(void **state)
{
    (void)state;
    made_table made;
    if (PT_MACHINE_HOST->red_zone_bytes == 0) skip();
    /* offset rbp -16; CFA = rsp + 8: after leave, as gcc writes it */
    assert_true(compile_text(CIE FDE "8602 00000000000000000000000000000000 00", false, &made));
    const uint64_t words[] = {0x1234, 0x20020, 0, 0};
    const pt_unwind_module module = {0x20000, 0x30000, 0, &made.table, NULL, false};
    const pt_unwind_modules modules = {&module, 1, 7, NULL};
    const pt_unwind_limits limits = {LOW, LOW + sizeof words, (const uint8_t *)words};
    pt_unwind_state at = {.pc = 0x20010, .sp = LOW + 8, .fp = 0x1234};
    assert_int_equal(pt_unwind_step(&at, &modules, &limits, NULL), PT_UNWIND_END_GOING_ON);
    assert_int_equal(at.fp, 0x1234);
    free_table(&made);
}

static void frame_pointers_are_followed_in_modules_without_rules(void **state)
{
    (void)state;
    const uint64_t words[] = {5, LOW + 24, 0x20100, LOW + 40, 0x20200, 0, 0x20300, 9};
    walked w = walk(NULL, 0x20010, LOW + 8, words, 8, 16);
    assert_int_equal(w.depth, 4);
    assert_int_equal(w.pcs[3], 0x20300);
    assert_int_equal(w.end, PT_UNWIND_END_ROOT);
    /* A return address in no code is not believed. */
    const uint64_t wild[] = {5, LOW + 24, 0x40100, 0, 0};
    w = walk(NULL, 0x20010, LOW + 8, wild, 5, 16);
    assert_int_equal(w.depth, 1);
    assert_int_equal(w.end, PT_UNWIND_END_NO_RULE);
}

#if defined(__aarch64__) /* return addresses may be signed there, in the bits above 48 */
static void signed_return_addresses_of_frame_pointers_are_plain(void **state)
{
    (void)state;
    const uint64_t sign = UINT64_C(0x2a) << 48;
    const uint64_t words[] = {5, LOW + 24, sign | 0x20100, 0, sign | 0x20200};
    const walked w = walk(NULL, 0x20010, LOW + 8, words, 5, 16);
    assert_int_equal(w.depth, 3);
    assert_int_equal(w.pcs[1], 0x20100);
    assert_int_equal(w.pcs[2], 0x20200);
    assert_int_equal(w.end, PT_UNWIND_END_ROOT);
}
#endif

static void cached_rules_of_other_modules_are_not_used(void **state)
{
    (void)state;
    made_table one, two;
    assert_true(compile_text(CIE FDE "0e10 0000000000000000000000 000000", false, &one));
    assert_true(compile_text(CIE FDE "0e18 0000000000000000000000 000000", false, &two));
    pt_unwind_cache *const cache = calloc(1, sizeof *cache);
    const uint64_t words[] = {0, 0x20001, 0x20002, 0, 0, 0};
    const pt_unwind_limits limits = {LOW, LOW + sizeof words, (const uint8_t *)words};
    const pt_unwind_table *const tables[] = {&one.table, &two.table};
    for (uint32_t i = 0; i < 4; i++) {
        const pt_unwind_module module = {0x20000, 0x30000, 0, tables[i % 2], NULL, false};
        const pt_unwind_modules modules = {&module, 1, i + 1, NULL};
        pt_unwind_state at = {.pc = 0x20010, .sp = LOW};
        assert_int_equal(pt_unwind_step(&at, &modules, &limits, cache), PT_UNWIND_END_GOING_ON);
        assert_int_equal(at.pc, 0x20001 + i % 2);
    }
    free(cache);
    free_table(&one);
    free_table(&two);
}

#if defined(__x86_64__)
enum {
    LOOK_UP = 0x20005,
    POPPED = 0x20009,
    FIX_UP = 0x20015,
    BIND = 0x20025,
    START = 0x20035,
    RBX = 3
};

/* Code as the loader's that binds a symbol lazily: a function that saves rbx, below one that keeps
 * it, below one that finds its caller by rbx, below the thread's start. */
static void make_binder(made_table *made)
{
    /* 0x20000 .. 0x20040: def_cfa_offset 24; offset rbx -16; advance 8; def_cfa_offset 8;
     * advance 8; def_cfa_offset 16; restore rbx; advance 16; def_cfa rbx 16; offset rbx -16;
     * advance 16; undefined rip */
    assert_true(compile_text(CIE "24000000 1c000000 e0ff0000 40000000 00 "
                                 "0e18 8302 48 0e08 48 0e10 c3 50 0c0310 8302 50 0710 000000",
                             false, made));
    assert_cfa(made, BIND, PT_CFA_REG, 16);
    assert_non_null(made->base_blob);
}

/* From pc with rsp = LOW over these words, in that code; the module is also mapped at 0x40000,
 * there without the table of rbx. Walks without a cache, with one, and as a copy alike. */
static walked walk_binder(const made_table *made, uint64_t pc, uint64_t rbx, const uint64_t *words,
                          size_t count)
{
    static pt_copied_scratch scratch;
    static pt_unwind_cache cache;
    static uint32_t generation;
    pt_unwind_module module[] = {{0x20000, 0x30000, 0, NULL, NULL, false},
                                 {0x40000, 0x50000, 0x20000, &made->table, NULL, false}};
    use_table(made, &module[0]);
    const pt_unwind_modules modules = {module, 2, ++generation, NULL};
    const pt_unwind_limits limits = {LOW, LOW + count * 8, (const uint8_t *)words};
    uint64_t regs[PT_MACHINE_REGS_MAX] = {[RBX] = rbx};
    regs[PT_MACHINE_HOST->pc] = pc;
    regs[PT_MACHINE_HOST->sp] = LOW;
    const pt_unwind_state from = {.pc = pc, .sp = LOW, .regs = regs};
    walked w, cached;
    pt_unwind_state at = from;
    w.depth = pt_unwind(&at, &modules, &limits, NULL, w.pcs, 16, &w.end);
    for (int turn = 0; turn < 2; turn++) {
        at = from;
        cached.depth = pt_unwind(&at, &modules, &limits, &cache, cached.pcs, 16, &cached.end);
        assert_int_equal(cached.depth, w.depth);
        assert_int_equal(cached.end, w.end);
        assert_memory_equal(cached.pcs, w.pcs, w.depth * sizeof *w.pcs);
    }
    const pt_copied_stack stack = {regs, (const uint8_t *)words, count * 8, count * 8, NULL};
    pt_copied_end end;
    const uint32_t depth = pt_unwind_copied(&stack, &modules, NULL, &scratch, cached.pcs, 16, &end);
    assert_int_equal(depth, w.depth);
    assert_memory_equal(cached.pcs, w.pcs, w.depth * sizeof *w.pcs);
    assert_false(end.is_unchecked);
    return w;
}

static void the_base_register_is_followed_through_the_code_that_needs_it(void **state)
{
    (void)state;
    enum { FRAME = LOW + 64, FAR = LOW + 0x1000 };
    made_table made;
    make_binder(&made);
    /* rbx as saved by the innermost function, its return; a local, the return to the function that
     * realigned the stack; its room; its caller's rbx and the return. */
    const uint64_t words[] = {0, FRAME, FIX_UP, 0, BIND, 0, 0, 0, 7, START};
    walked w = walk_binder(&made, LOOK_UP, 99, words, 10);
    assert_int_equal(w.end, PT_UNWIND_END_ROOT);
    assert_int_equal(w.depth, 4);
    assert_int_equal(w.pcs[1], FIX_UP);
    assert_int_equal(w.pcs[2], BIND);
    assert_int_equal(w.pcs[3], START);
    /* Behind pop it is in its register, though the rule locates it on the stack. */
    w = walk_binder(&made, POPPED, FRAME - 16, words + 2, 8);
    assert_int_equal(w.end, PT_UNWIND_END_ROOT);
    assert_int_equal(w.depth, 4);
    assert_int_equal(w.pcs[3], START);
    /* Or no code has saved it. */
    w = walk_binder(&made, FIX_UP, FRAME - 24, words + 3, 7);
    assert_int_equal(w.end, PT_UNWIND_END_ROOT);
    assert_int_equal(w.depth, 3);
    assert_int_equal(w.pcs[2], START);
    /* The stack that was bound for is itself bound: twice the same. */
    const uint64_t twice[] = {0, FRAME,    FIX_UP, 0, BIND, 0, 0,
                              0, LOW + 96, FIX_UP, 0, BIND, 7, START};
    w = walk_binder(&made, LOOK_UP, 99, twice, 14);
    assert_int_equal(w.end, PT_UNWIND_END_ROOT);
    assert_int_equal(w.depth, 6);
    assert_int_equal(w.pcs[5], START);
    /* It leads out of the stack, or to the frame itself. */
    const uint64_t out[] = {0, FAR, FIX_UP, 0, BIND, 0, 0, 0, 7, START};
    w = walk_binder(&made, LOOK_UP, 99, out, 10);
    assert_int_equal(w.end, PT_UNWIND_END_BAD_READ);
    assert_int_equal(w.depth, 3);
    const uint64_t back[] = {0, LOW, FIX_UP, 0, BIND, 0, 0, 0, 7, START};
    w = walk_binder(&made, LOOK_UP, 99, back, 10);
    assert_int_equal(w.end, PT_UNWIND_END_BAD_READ);
    assert_int_equal(w.depth, 3);
    /* Code of a module without the table may have changed it. */
    const uint64_t other[] = {0, BIND, 0, 0, 0, 7, START};
    w = walk_binder(&made, FIX_UP + 0x20000, LOW + 40, other, 7);
    assert_int_equal(w.end, PT_UNWIND_END_NO_RULE);
    assert_int_equal(w.depth, 2);
    free_table(&made);
}
#endif

/* ---- walks over copies of stacks ---- */

typedef struct {
    uint64_t pcs[16];
    uint32_t depth;
    pt_copied_end end;
} copied;

/* From pc with sp = LOW over a copy of these words: code with this table from 0x20000 on, and
 * without one from 0x40000 on. */
static copied walk_copy_with(const pt_copied_runtime *runtime, const pt_unwind_table *table,
                             uint64_t pc, uint64_t fp, const uint64_t *words, size_t count)
{
    static pt_copied_scratch scratch;
    const pt_unwind_module list[] = {{0x20000, 0x30000, 0, table, NULL, false},
                                     {0x40000, 0x50000, 0, NULL, NULL, false}};
    const pt_unwind_modules modules = {list, 2, 7, NULL};
    uint64_t regs[PT_MACHINE_REGS_MAX] = {0};
    regs[PT_MACHINE_HOST->pc] = pc;
    regs[PT_MACHINE_HOST->sp] = LOW;
    regs[PT_MACHINE_HOST->fp] = fp;
    const pt_copied_stack stack = {regs, (const uint8_t *)words, count * 8, count * 8, runtime};
    copied c = {.depth = 0};
    c.depth = pt_unwind_copied(&stack, &modules, NULL, &scratch, c.pcs, 16, &c.end);
    return c;
}

static copied walk_copy(const pt_unwind_table *table, uint64_t pc, uint64_t fp,
                        const uint64_t *words, size_t count)
{
    return walk_copy_with(NULL, table, pc, fp, words, count);
}

/* CFA = sp + 16 for 0x20000 .. 0x20020; from there on the thread's start. */
static void make_two_rules(made_table *made)
{
    assert_true(compile_text(CIE FDE "0e10 0220 0710 0000000000000000000000", false, made));
}

static void a_copy_walked_by_rules_alone_is_checked(void **state)
{
    (void)state;
    made_table made;
    make_two_rules(&made);
    const uint64_t words[] = {0, 0x20011, 0, 0x20031};
    const copied c = walk_copy(&made.table, 0x20010, 0, words, 4);
    assert_int_equal(c.depth, 3);
    assert_int_equal(c.end.why, PT_UNWIND_END_ROOT);
    assert_false(c.end.is_unchecked);
    free_table(&made);
}

enum { RUNTIME = 0x60000 };

static bool is_at_runtime(void *arg, uint64_t pc)
{
    return pc / 0x1000 == RUNTIME / 0x1000;
}

static uint32_t give_no_word(void *arg, pt_unwind_state *state, const pt_unwind_limits *limits,
                             uint64_t *words, uint32_t cap, pt_unwind_end *ret_end)
{
    *ret_end = PT_UNWIND_END_NO_RULE;
    return 0;
}

/* A word, and the caller at 0x20010. */
static uint32_t give_word(void *arg, pt_unwind_state *state, const pt_unwind_limits *limits,
                          uint64_t *words, uint32_t cap, pt_unwind_end *ret_end)
{
    *state = (pt_unwind_state){.pc = 0x20010, .sp = state->sp, .is_return = true};
    words[0] = PT_COPIED_WORD | 7;
    *ret_end = PT_UNWIND_END_GOING_ON;
    return 1;
}

static void a_stack_has_its_innermost_pc_if_the_runtime_has_no_word_for_it(void **state)
{
    (void)state;
    const pt_copied_runtime mute = {NULL, is_at_runtime, give_no_word},
                            known = {NULL, is_at_runtime, give_word};
    made_table made;
    make_two_rules(&made);
    const uint64_t words[] = {0, RUNTIME + 0x20}, last[] = {0, 0x20031};
    copied c = walk_copy_with(&mute, &made.table, RUNTIME + 0x10, 0, words, 2);
    assert_int_equal(c.depth, 1);
    assert_int_equal(c.pcs[0], RUNTIME + 0x10);
    assert_int_equal(c.end.why, PT_UNWIND_END_NO_RULE);
    c = walk_copy_with(&mute, &made.table, 0x20010, 0, words, 2);
    assert_int_equal(c.depth, 1);
    assert_int_equal(c.pcs[0], 0x20010);
    c = walk_copy_with(&known, &made.table, RUNTIME + 0x10, 0, last, 2);
    assert_int_equal(c.depth, 3);
    assert_true(c.pcs[0] == (PT_COPIED_WORD | 7));
    assert_int_equal(c.pcs[1], 0x2000f);
    assert_int_equal(c.end.why, PT_UNWIND_END_ROOT);
    free_table(&made);
}

static void a_copy_through_code_without_rules_is_unchecked_to_its_end(void **state)
{
    (void)state;
    made_table made;
    make_two_rules(&made);
    /* by a rule to 0x40010, by the frame pointer to 0x20011, by rules to the start */
    const uint64_t words[] = {0, 0x40010, 5, 0, 0x20011, 0, 0x20012, 0, 0x20031};
    copied c = walk_copy(&made.table, 0x20010, LOW + 24, words, 9);
    assert_int_equal(c.depth, 5);
    assert_int_equal(c.pcs[4], 0x20031);
    assert_int_equal(c.end.why, PT_UNWIND_END_ROOT);
    assert_true(c.end.is_unchecked);
    /* The same cut is still both: the rest is missing, and what is there may have a hole. */
    c = walk_copy(&made.table, 0x20010, LOW + 24, words, 6);
    assert_int_equal(c.end.why, PT_UNWIND_END_TRUNCATED);
    assert_true(c.end.is_short);
    assert_true(c.end.is_unchecked);
    free_table(&made);
}

/* As of CPython's trampolines: sub $8, %rsp; call; add $8, %rsp; ret. */
static void a_copy_through_a_call_that_only_aligns_the_stack_goes_on(void **state)
{
    (void)state;
    made_table made;
    make_two_rules(&made);
    /* by a rule to 0x40010, over one word to 0x20012, by a rule to the start */
    const uint64_t words[] = {0, 0x40010, 9, 0x20012, 0, 0x20031};
    copied c = walk_copy(&made.table, 0x20010, 7, words, 6);
    assert_int_equal(c.depth, 4);
    assert_int_equal(c.pcs[2], 0x20012);
    assert_int_equal(c.pcs[3], 0x20031);
    assert_int_equal(c.end.why, PT_UNWIND_END_ROOT);
    assert_true(c.end.is_unchecked);
    /* Not where the word that would be its return address is none. */
    const uint64_t lost[] = {0, 0x40010, 9, 0x60000, 0, 0x20031};
    c = walk_copy(&made.table, 0x20010, 7, lost, 6);
    assert_int_equal(c.depth, 2);
    assert_int_equal(c.end.why, PT_UNWIND_END_NO_RULE);
    free_table(&made);
}

static void a_frame_pointer_that_says_it_is_the_last_is_unchecked(void **state)
{
    (void)state;
    const uint64_t words[] = {5, 0, 0};
    const copied c = walk_copy(NULL, 0x40010, LOW + 8, words, 3);
    assert_int_equal(c.depth, 1);
    assert_int_equal(c.end.why, PT_UNWIND_END_ROOT);
    assert_true(c.end.is_unchecked);
}

static void a_copy_that_frame_pointers_save_where_a_rule_leads_astray_is_unchecked(void **state)
{
    (void)state;
    made_table made;
    make_two_rules(&made);
    const uint64_t words[] = {0, 0x60000, 5, 0, 0x20031}; /* no code is at 0x60000 */
    const copied c = walk_copy(&made.table, 0x20010, LOW + 24, words, 5);
    assert_int_equal(c.depth, 2);
    assert_int_equal(c.pcs[1], 0x20031);
    assert_int_equal(c.end.why, PT_UNWIND_END_ROOT);
    assert_true(c.end.is_unchecked);
    /* If frame pointers lead nowhere either, the result of the rules stays. */
    const uint64_t lost[] = {0, 0x60000, 5, 0, 0x60000, 0, 0};
    const copied d = walk_copy(&made.table, 0x20010, LOW + 24, lost, 7);
    assert_int_equal(d.depth, 2);
    assert_int_equal(d.pcs[1], 0x60000);
    assert_int_equal(d.end.why, PT_UNWIND_END_NO_RULE);
    assert_false(d.end.is_unchecked);
    free_table(&made);
}

/* ---- this process ---- */

static made_process process;
static pt_unwind_limits stack_limits;
static pt_unwind_cache *walk_cache;
static uint64_t walk_pcs[512];
static void *glibc_pcs[512];
static uint32_t walk_depth;
static int glibc_depth;
static pt_unwind_end walk_end;

static void on_signal(int signo, siginfo_t *info, void *context)
{
    (void)signo;
    (void)info;
    uint64_t regs[PT_MACHINE_REGS_MAX];
    pt_unwind_state from;
    state_of_context(context, regs, &from);
    walk_depth =
        pt_unwind(&from, &process.all, &stack_limits, walk_cache, walk_pcs, 512, &walk_end);
    glibc_depth = backtrace(glibc_pcs, 512);
}

/* glibc's list starts with its own frames: the handler and the signal's return. */
static void check_same_as_glibc(void)
{
    assert_int_equal(walk_end, PT_UNWIND_END_ROOT);
    int skip_frames = 0;
    while (skip_frames < glibc_depth && (uint64_t)(uintptr_t)glibc_pcs[skip_frames] != walk_pcs[0])
        skip_frames++;
    assert_int_equal(glibc_depth - skip_frames, walk_depth);
    for (uint32_t i = 0; i < walk_depth; i++)
        assert_int_equal((uint64_t)(uintptr_t)glibc_pcs[skip_frames + (int)i], walk_pcs[i]);
}

static void walk_from_a_signal_is_that_of_glibc(void **state)
{
    (void)state;
    make_process(&process);
    stack_limits = limits_of_thread();
    walk_cache = calloc(1, sizeof *walk_cache);
    void *warm[1];
    backtrace(warm, 1); /* loads libgcc_s */
    struct sigaction action = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO}, old;
    sigaction(SIGUSR1, &action, &old);
    static const int depths[] = {0, 10, 30, 100};
    for (size_t i = 0; i < 4; i++) {
        for (int again = 0; again < 2; again++) { /* the second time from the cache */
            unwind_deep(depths[i]);
            assert_true(walk_depth > (uint32_t)depths[i]);
            check_same_as_glibc();
        }
    }
    sigaction(SIGUSR1, &old, NULL);
    free(walk_cache);
    free_process(&process);
}

/* The handler above, called while another signal's handler runs. */
static void on_outer_signal(int signo)
{
    (void)signo;
    unwind_deep(5);
}

static void walk_goes_through_the_frame_of_a_signal(void **state)
{
    (void)state;
#if defined(__aarch64__)
    skip(); /* what handlers return to is in no entry there: see test_unwind_aarch64.c */
#endif
#ifdef SIGNALS_COME_LATE
    skip();
#endif
    make_process(&process);
    stack_limits = limits_of_thread();
    walk_cache = calloc(1, sizeof *walk_cache);
    struct sigaction action = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO}, old;
    struct sigaction outer = {.sa_handler = on_outer_signal}, old_outer;
    sigaction(SIGUSR1, &action, &old);
    sigaction(SIGUSR2, &outer, &old_outer);
    raise(SIGUSR2);
    assert_int_equal(walk_end, PT_UNWIND_END_ROOT);
    /* The interrupted pc is written + 1; glibc writes it as it is. */
    uint32_t differ = 0;
    const int skip_frames = glibc_depth - (int)walk_depth;
    for (uint32_t i = 0; i < walk_depth; i++) {
        const uint64_t theirs = (uint64_t)(uintptr_t)glibc_pcs[skip_frames + (int)i];
        differ += walk_pcs[i] != theirs;
        if (walk_pcs[i] != theirs) assert_int_equal(walk_pcs[i], theirs + 1);
    }
    assert_int_equal(differ, 1);
    sigaction(SIGUSR1, &old, NULL);
    sigaction(SIGUSR2, &old_outer, NULL);
    free(walk_cache);
    free_process(&process);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(table_of_libc_is_what_readelf_says),
        cmocka_unit_test(table_of_the_cxx_library_is_what_readelf_says),
        cmocka_unit_test(table_of_the_loader_is_what_readelf_says),
        cmocka_unit_test(table_of_this_program_is_what_readelf_says),
        cmocka_unit_test(rows_hold_until_the_next_one_and_end_with_the_function),
        cmocka_unit_test(restore_goes_back_to_the_common_entry_and_states_nest),
        cmocka_unit_test(a_program_that_fails_leaves_the_rest_of_its_function_without_a_rule),
        cmocka_unit_test(expressions_that_tools_make_are_rules_and_others_none),
        cmocka_unit_test(program_of_a_common_entry_has_4096_bytes_at_most),
        cmocka_unit_test(debug_frame_of_version_4_with_64_bit_lengths_is_read),
        cmocka_unit_test(signal_frames_are_marked_and_gaps_under_16_bytes_are_filled),
        cmocka_unit_test(pages_without_rows_go_on_with_the_rule_before),
        cmocka_unit_test(blob_that_differs_in_one_bit_is_refused),
        cmocka_unit_test(no_entries_are_no_table),
        cmocka_unit_test(ends_have_the_numbers_of_the_model),
        cmocka_unit_test(walk_ends_where_the_stack_does_not_fit_the_rules),
        cmocka_unit_test(walk_never_goes_down_the_stack),
        cmocka_unit_test(nothing_below_the_red_zone_is_read),
        cmocka_unit_test(frame_pointer_restored_before_the_return_is_read_where_it_was_saved),
        cmocka_unit_test(frame_pointers_are_followed_in_modules_without_rules),
#if defined(__aarch64__)
        cmocka_unit_test(signed_return_addresses_of_frame_pointers_are_plain),
#endif
        cmocka_unit_test(cached_rules_of_other_modules_are_not_used),
#if defined(__x86_64__)
        cmocka_unit_test(the_base_register_is_followed_through_the_code_that_needs_it),
#endif
        cmocka_unit_test(a_copy_walked_by_rules_alone_is_checked),
        cmocka_unit_test(a_stack_has_its_innermost_pc_if_the_runtime_has_no_word_for_it),
        cmocka_unit_test(a_copy_through_code_without_rules_is_unchecked_to_its_end),
        cmocka_unit_test(a_copy_through_a_call_that_only_aligns_the_stack_goes_on),
        cmocka_unit_test(a_frame_pointer_that_says_it_is_the_last_is_unchecked),
        cmocka_unit_test(a_copy_that_frame_pointers_save_where_a_rule_leads_astray_is_unchecked),
        cmocka_unit_test(walk_from_a_signal_is_that_of_glibc),
        cmocka_unit_test(walk_goes_through_the_frame_of_a_signal),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
