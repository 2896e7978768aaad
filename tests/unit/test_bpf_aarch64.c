/* test_bpf_aarch64.c: the walk that runs in the kernel, compiled for aarch64's stacks, in user
 * space: it must say what the walk of user space says of the same bytes. */
#include "base_check.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "bpf_memory.h"
#include "unwind_maker.h"

#define PT_BPF_MACHINE (&pt_machine_aarch64)

enum { BIAS = 0x10000, STACK = 0x7000000, STACK_WORDS = 256, DEPTH = 16 };

static uint64_t stack[STACK_WORDS];

#include "bpf_walk.h"

static void *make_chunk(void *arg, uint32_t number)
{
    (void)arg, (void)number;
    return pt_alloc(PT_BPF_CHUNK_BYTES, 1);
}

static uint64_t regs[PT_MACHINE_REGS_MAX];

/* Walks in both ways. Returns the depth; the pcs are in cpu->stack.pcs. */
static uint32_t walk_both(const pt_unwind_table *table, uint64_t pc, uint64_t sp, uint64_t fp)
{
    const pt_unwind_module module = {
        .start = BIAS, .limit = BIAS + 0x10000, .bias = BIAS, .table = table};
    const pt_unwind_modules modules = {
        .modules = &module, .count = 1, .generation = 1, .machine = &pt_machine_aarch64};
    const pt_unwind_limits limits = {
        .low = STACK, .limit = STACK + sizeof stack, .copy = (const uint8_t *)stack};
    pt_unwind_state at = {.pc = pc, .sp = sp, .fp = fp, .regs = regs};
    pt_bpf_process process = {.generation = 1, .mapping_count = 1};
    uint64_t pcs[DEPTH];
    uint32_t words;
    pt_unwind_end user_end, end = PT_UNWIND_END_GOING_ON;
    const uint32_t count = pt_unwind(&at, &modules, &limits, NULL, pcs, DEPTH, &user_end);

    pt_bpf_pool_init(&pool, make_chunk, NULL);
    assert_true(pt_bpf_pool_put(&pool, &modules, 0, &process.mappings, &words));
    cpu = pt_alloc(1, sizeof *cpu);
    cpu->pc = pc;
    cpu->sp = sp;
    cpu->fp = fp;
    memcpy(cpu->regs, regs, sizeof regs);
    begin_walk(cpu, &process);
    cpu->low = STACK;
    cpu->limit = STACK + sizeof stack;
    while (end == PT_UNWIND_END_GOING_ON && cpu->stack.count < DEPTH)
        end = step_frame(cpu);
    assert_int_equal(end, user_end);
    assert_int_equal(cpu->stack.count, count);
    assert_memory_equal(cpu->stack.pcs, pcs, count * sizeof *pcs);
    assert_int_equal(end, PT_UNWIND_END_ROOT);
    for (uint32_t i = 0; i < pool.count; i++)
        free(pool.chunks[i]);
    pt_bpf_pool_done(&pool);
    return count;
}

static made_table table_of_golden(void)
{
    made_table made;
    pt_blob file = PT_BLOB_INIT;
    PT_FREE char *path = pt_strf("%s/unwind/aarch64-O2.so", PT_GOLDEN_FOLDER);
    assert_int_equal(pt_file_read(path, 0, 1 << 20, &file, NULL), PT_OK);
    assert_true(make_table_of_bytes(file.data, file.size, &made));
    pt_blob_done(&file);
    return made;
}

/* leaf, called by dynamic, called by calls, called by nobody: see test_unwind_aarch64.c. One return
 * address is signed. */
static void a_leaf_is_left_by_its_link_register(void **state)
{
    (void)state;
    made_table made = table_of_golden();
    const uint64_t words[] = {0xaaaa, 0xaaaa, 0xf00d, (BIAS + 0x400) | UINT64_C(0x2a) << 48,
                              0x13,   0x14,   0,      0};
    memset(stack, 0, sizeof stack);
    memcpy(stack, words, sizeof words);
    memset(regs, 0, sizeof regs);
    regs[30] = BIAS + 0x470;
    assert_int_equal(walk_both(&made.table, BIAS + 0x3e4, STACK, STACK + 16), 3);
    assert_int_equal(cpu->stack.pcs[1], BIAS + 0x470);
    assert_int_equal(cpu->stack.pcs[2], BIAS + 0x400);
    free(cpu);
    free_table(&made);
}

/* A handler in the middle of a leaf, whose caller is in the registers of the signal's frame alone.
 * struct rt_sigframe: x0 from word 39 on, then sp, pc (asm/sigcontext.h of arm64). Page 0: the
 * trampoline; page 1: the leaf; page 2: the thread's start. */
static void a_leaf_that_a_signal_interrupted_is_left_by_the_register_of_the_frame(void **state)
{
    enum { X0 = (128 + 184) / 8, SAVED_SP = X0 + 31, SAVED_PC = X0 + 32, PAGE = 0x1000 };
    const uint32_t pages[] = {0, 1, 2, 3}, rows[] = {1 << 16, 2 << 16, 3 << 16};
    const pt_unwind_rule rules[] = {
        {.cfa_kind = PT_CFA_NONE},
        {.cfa_kind = PT_CFA_DEREF,
         .cfa_reg = 31,
         .cfa_off = SAVED_SP * 8,
         .pc_slot = PT_SLOT_AT_SP,
         .pc_off = SAVED_PC,
         .fp_slot = PT_SLOT_AT_SP,
         .fp_off = X0 + 29,
         .is_signal = 1},
        {.cfa_kind = PT_CFA_SP, .pc_slot = PT_SLOT_SAME, .pc_off = 30, .fp_slot = PT_SLOT_SAME},
        {.cfa_kind = PT_CFA_SP, .pc_slot = PT_SLOT_UNDEFINED}};
    const pt_unwind_table table = {.machine = EM_AARCH64,
                                   .page_count = 3,
                                   .row_count = 3,
                                   .rule_count = 4,
                                   .pages = pages,
                                   .rows = rows,
                                   .rules = rules};
    (void)state;
    memset(stack, 0, sizeof stack);
    memset(regs, 0, sizeof regs);
    regs[30] = 0xbad;
    stack[X0 + 30] = BIAS + 2 * PAGE + 8;
    stack[SAVED_SP] = STACK + 200 * 8;
    stack[SAVED_PC] = BIAS + PAGE + 4;
    assert_int_equal(walk_both(&table, BIAS, STACK, 0), 3);
    assert_int_equal(cpu->stack.pcs[1], BIAS + PAGE + 4 + 1); /* interrupted, so + 1 */
    assert_int_equal(cpu->stack.pcs[2], BIAS + 2 * PAGE + 8);
    free(cpu);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_leaf_is_left_by_its_link_register),
        cmocka_unit_test(a_leaf_that_a_signal_interrupted_is_left_by_the_register_of_the_frame),
    };
    copied.low = STACK;
    copied.limit = STACK + sizeof stack;
    copied.bytes = (const uint8_t *)stack;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
