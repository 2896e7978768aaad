/* Tests of src/bpf in user space: the walk that runs in the kernel is compiled here, with a pool in
 * ordinary memory, and must say what the walk of user space says of the same bytes. */
#include "base_check.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

#include "bpf_frames.h"
#include "unwind/copied.h"
#include "unwind_deep.h"
#include "unwind_maker.h"

enum { SECOND_NS = 1000000000 };

static void *make_chunk(void *arg, uint32_t number)
{
    (void)arg, (void)number;
    return pt_alloc(PT_BPF_CHUNK_BYTES, 1);
}

/* Two chunks, and no more. */
static void *make_few_chunks(void *arg, uint32_t number)
{
    return number < 2 ? make_chunk(arg, number) : NULL;
}

static void free_pool(void)
{
    for (uint32_t i = 0; i < pool.count; i++)
        free(pool.chunks[i]);
    pt_bpf_pool_done(&pool);
}

/* ---- this process, at each instruction ---- */

enum { COPIED_MAX = 32 << 10, DEPTH = 512 };

static made_process process;
static pt_bpf_process in_kernel;
static pt_unwind_cache *cache;
static uint8_t stack_bytes[COPIED_MAX];
static uint64_t user_pcs[DEPTH];
static struct {
    uint32_t compared, different, whole, frames, second_tries, unchecked;
} seen;

/* The result of the failed walk, for the message. */
static struct {
    uint32_t user_count, kernel_count;
    pt_unwind_end user_end, kernel_end;
    uint64_t pc;
} first_difference;

static pt_unwind_end walk_as_in_the_kernel(const pt_unwind_state *from, uint64_t low,
                                           uint64_t limit, bool follows_fp)
{
    cpu->pc = from->pc;
    cpu->sp = from->sp;
    cpu->fp = from->fp;
    memcpy(cpu->regs, from->regs, sizeof cpu->regs);
    begin_walk(cpu, &in_kernel);
    cpu->follows_fp = follows_fp;
    cpu->low = low;
    cpu->limit = limit;
    pt_unwind_end end = PT_UNWIND_END_GOING_ON;
    while (end == PT_UNWIND_END_GOING_ON && cpu->stack.count < DEPTH)
        end = step_frame(cpu);
    return end != PT_UNWIND_END_GOING_ON ? end : PT_UNWIND_END_TRUNCATED;
}

/* Both walks of the first so many bytes. */
static void compare_walks(const pt_unwind_state *from, uint64_t low, uint64_t byte_count)
{
    const pt_unwind_limits limits = {.low = low, .limit = low + byte_count, .copy = stack_bytes};
    copied.low = low;
    copied.limit = low + byte_count;
    copied.bytes = stack_bytes;
    pt_unwind_state state = *from;
    pt_unwind_end user_end;
    const uint32_t count =
        pt_unwind(&state, &process.all, &limits, cache, user_pcs, DEPTH, &user_end);
    const pt_unwind_end end = walk_as_in_the_kernel(from, low, low + byte_count, false);
    const bool is_same = count == cpu->stack.count && end == user_end &&
                         state.is_unchecked == (cpu->is_unchecked != 0) &&
                         memcmp(user_pcs, cpu->stack.pcs, count * sizeof *user_pcs) == 0;
    if (!is_same && seen.different++ == 0) {
        first_difference.user_count = count;
        first_difference.kernel_count = cpu->stack.count;
        first_difference.user_end = user_end;
        first_difference.kernel_end = end;
        first_difference.pc = from->pc;
    }
    seen.compared++;
    seen.frames += count;
    seen.whole += end == PT_UNWIND_END_ROOT;
}

/* With the second try, a whole stack is that of pt_unwind_copied, which begins at sp. */
static void compare_second_try(const pt_unwind_state *from, uint64_t low, uint64_t byte_count)
{
    static pt_copied_scratch scratch;
    const uint64_t red_zone = from->sp - low;
    const pt_copied_stack stack = {.regs = from->regs,
                                   .bytes = stack_bytes + red_zone,
                                   .byte_count = byte_count - red_zone,
                                   .room = COPIED_MAX};
    copied.low = low;
    copied.limit = low + byte_count;
    copied.bytes = stack_bytes;
    const pt_unwind_end end = walk_as_in_the_kernel(from, from->sp, low + byte_count, true);
    if (end != PT_UNWIND_END_ROOT) return;
    pt_copied_end user_end;
    const uint32_t count =
        pt_unwind_copied(&stack, &process.all, cache, &scratch, user_pcs, DEPTH, &user_end);
    seen.second_tries++;
    seen.unchecked += cpu->is_unchecked != 0;
    seen.different += count != cpu->stack.count || user_end.why != end ||
                      user_end.is_unchecked != (cpu->is_unchecked != 0) ||
                      memcmp(user_pcs, cpu->stack.pcs, count * sizeof *user_pcs) != 0;
}

/* Of the stack that was interrupted, between its variables, too: a word at a time, for the address
 * sanitizer has its own memcpy. */
__attribute__((no_sanitize("address"))) static void copy_stack(uint64_t low, uint64_t byte_count)
{
    const volatile uint64_t *const from = (const volatile uint64_t *)(uintptr_t)low;
    uint64_t word;
    for (uint64_t i = 0; i < byte_count / sizeof word; i++) {
        word = from[i];
        __builtin_memcpy(stack_bytes + i * sizeof word, &word, sizeof word);
    }
}

/* Of the thread that is stepped; read before, for the reader allocates. */
static pt_unwind_limits stack_limits;

static void copy_and_compare(void *context)
{
    static uint32_t turn;
    uint64_t regs[PT_MACHINE_REGS_MAX] = {0};
    pt_unwind_state from;
    state_of_context(context, regs, &from);
    const uint64_t low = from.sp - PT_MACHINE_HOST->red_zone_bytes;
    uint64_t byte_count = stack_limits.limit - low;
    if (low % 8 != 0) return;
    if (byte_count > COPIED_MAX) byte_count = COPIED_MAX;
    copy_stack(low, byte_count);
    compare_walks(&from, low, byte_count);
    compare_second_try(&from, low, byte_count);
    if (++turn % 16 != 0) return; /* and of a copy that is too short */
    compare_walks(&from, low, (byte_count / 3 + turn / 16 * 8 % 512) / 8 * 8);
    if (turn % 64 != 0) return; /* and of one that is not what it was */
    for (uint64_t i = turn % 512; i + 8 < byte_count; i += 720)
        stack_bytes[i] ^= (uint8_t)turn;
    compare_walks(&from, low, byte_count);
}

static void on_step(int signo, siginfo_t *info, void *context)
{
    (void)signo, (void)info;
    copy_and_compare(context);
}

static void on_user(int signo)
{
    (void)signo;
}

#if defined(__x86_64__)
enum { TRAP_FLAG = 0x100 };
#define SINGLE_STEP(is_on)                                                                         \
    __asm__ volatile(                                                                              \
        "pushfq; andq %0, (%%rsp); orq %1, (%%rsp); popfq" ::"r"((uint64_t)~TRAP_FLAG),            \
        "r"((uint64_t)((is_on) ? TRAP_FLAG : 0))                                                   \
        : "memory", "cc")
#else
#define SINGLE_STEP(is_on)
#endif

static void begin_process(void)
{
    uint32_t words;
    make_process(&process);
    cpu = pt_alloc(1, sizeof *cpu);
    cache = pt_alloc(1, sizeof *cache);
    pt_bpf_pool_init(&pool, make_chunk, NULL);
    assert_true(pt_bpf_pool_put(&pool, &process.all, 0, &in_kernel.mappings, &words));
    in_kernel.mapping_count = process.all.count;
    in_kernel.generation = process.all.generation;
}

static void end_process(void)
{
    free(cpu);
    free(cache);
    free_pool();
    free_process(&process);
}

static void kernel_and_user_space_walk_the_same_stacks_alike(void **state)
{
    (void)state;
#if !defined(__x86_64__)
    skip(); /* there is no program for it yet */
#endif
#ifdef SIGNALS_COME_LATE
    skip();
#endif
    begin_process();
    struct sigaction step = {.sa_sigaction = on_step, .sa_flags = SA_SIGINFO}, old;
    struct sigaction user = {.sa_handler = on_user}, old_user;
    stack_limits = limits_of_thread();
    sigaction(SIGTRAP, &step, &old);
    sigaction(SIGUSR1, &user, &old_user);
    SINGLE_STEP(true);
    unwind_deep(40);
    SINGLE_STEP(false);
    sigaction(SIGTRAP, &old, NULL);
    sigaction(SIGUSR1, &old_user, NULL);
    print_message("%u stacks of %u frames, %u whole\n", seen.compared, seen.frames, seen.whole);
    assert_true(seen.compared > 2000);
    assert_true(seen.whole > seen.compared / 2);
    assert_true(seen.second_tries > 2000);
    if (seen.different > 0)
        fail_msg("%u differ; at pc %#lx %u frames, end %d; in the kernel %u, %d", seen.different,
                 (unsigned long)first_difference.pc, first_difference.user_count,
                 (int)first_difference.user_end, first_difference.kernel_count,
                 (int)first_difference.kernel_end);
    end_process();
}

/* Makes the pool, and a CPU that walks over these words. */
static void put_modules(const pt_unwind_modules *modules, uint64_t low, const uint64_t *words,
                        size_t bytes)
{
    uint32_t word_count;
    pt_bpf_pool_init(&pool, make_chunk, NULL);
    assert_true(pt_bpf_pool_put(&pool, modules, 0, &in_kernel.mappings, &word_count));
    in_kernel.mapping_count = modules->count;
    in_kernel.generation = modules->generation;
    cpu = pt_alloc(1, sizeof *cpu);
    copied.low = low;
    copied.limit = low + bytes;
    copied.bytes = (const uint8_t *)words;
}

/* Main, which has rules, calls code without one that keeps a frame pointer, and it a leaf. */
static void code_without_rules_is_left_by_its_frame_pointer(void **state)
{
    (void)state;
    enum { LOW = 0x70000, MAIN = 0x10000, LEAF = 0x12000, BARE = 0x11000 };
    /* Pages: main is the thread's start; nothing; the leaf has CFA = sp + 8. */
    const uint32_t pages[] = {0, 1, 2, 3}, rows[] = {1 << 16, 0, 2 << 16};
    const pt_unwind_rule rules[3] = {
        {.cfa_kind = PT_CFA_NONE},
        {.cfa_kind = PT_CFA_SP, .cfa_off = 8, .pc_slot = PT_SLOT_UNDEFINED},
        {.cfa_kind = PT_CFA_SP,
         .cfa_off = 8,
         .pc_slot = PT_SLOT_AT_CFA,
         .pc_off = -1,
         .fp_slot = PT_SLOT_SAME}};
    const pt_unwind_table table = {.page_count = 3,
                                   .row_count = 3,
                                   .rule_count = 3,
                                   .pages = pages,
                                   .rows = rows,
                                   .rules = rules};
    const pt_unwind_module module = {MAIN, MAIN + 0x3000, MAIN, &table, NULL, false};
    const pt_unwind_modules modules = {&module, 1, 9, NULL};
    const uint64_t words[] = {BARE + 5, 7, 0, MAIN + 9, 0, 0};
    uint64_t regs[PT_MACHINE_REGS_MAX] = {0};
    const pt_unwind_state from = {.pc = LEAF, .sp = LOW, .fp = LOW + 16, .regs = regs};
    put_modules(&modules, LOW, words, sizeof words);
    assert_int_equal(walk_as_in_the_kernel(&from, copied.low, copied.limit, true),
                     PT_UNWIND_END_ROOT);
    assert_int_equal(cpu->stack.count, 3);
    assert_int_equal(cpu->stack.pcs[1], BARE + 5);
    assert_int_equal(cpu->stack.pcs[2], MAIN + 9);
    assert_true(cpu->is_unchecked);
    assert_int_equal(walk_as_in_the_kernel(&from, LOW, copied.limit, false), PT_UNWIND_END_NO_RULE);
    free(cpu);
    free_pool();
}

#if defined(__x86_64__)
/* As in the loader's code that binds a symbol: a function that saves rbx, below one that keeps it,
 * below one that finds its caller by rbx, below the thread's start. */
static void the_base_register_is_followed_through_the_code_that_needs_it(void **state)
{
    (void)state;
    enum { LOW = 0x70000, CODE = 0x10000, RBX = 3, ROWS = 4 };
    const uint32_t pages[] = {0, ROWS};
    const uint32_t rows[] = {1 << 16, 2 << 16 | 0x10, 3 << 16 | 0x20, 4 << 16 | 0x30};
    const uint32_t base_rows[] = {rows[0], rows[1], rows[2],
                                  rows[3]}; /* a table is known by them */
    const pt_unwind_rule rules[] = {
        {.cfa_kind = PT_CFA_NONE},
        {PT_CFA_SP, 0, PT_SLOT_AT_CFA, PT_SLOT_SAME, 0, 24, -1, 0},
        {PT_CFA_SP, 0, PT_SLOT_AT_CFA, PT_SLOT_SAME, 0, 16, -1, 0},
        {PT_CFA_REG, RBX, PT_SLOT_AT_CFA, PT_SLOT_SAME, 0, 16, -1, 0},
        {PT_CFA_SP, 0, PT_SLOT_UNDEFINED, PT_SLOT_SAME, 0, 8, 0, 0},
    };
    const pt_unwind_rule base_rules[] = {
        {.cfa_kind = PT_CFA_NONE},
        {PT_CFA_SP, 0, PT_SLOT_AT_CFA, PT_SLOT_AT_CFA, 0, 24, -1, -2},
        {PT_CFA_SP, 0, PT_SLOT_AT_CFA, PT_SLOT_SAME, 0, 16, -1, 0},
        {PT_CFA_FP, 0, PT_SLOT_AT_CFA, PT_SLOT_AT_CFA, 0, 16, -1, -2},
        {PT_CFA_SP, 0, PT_SLOT_UNDEFINED, PT_SLOT_SAME, 0, 8, 0, 0},
    };
    const pt_unwind_table tables[] = {{0, 1, ROWS, 5, 0, pages, rules, rows, NULL, 0},
                                      {0, 1, ROWS, 5, 0, pages, base_rules, base_rows, NULL, 0}};
    const pt_unwind_module list[] = {{CODE, CODE + 0x1000, CODE, &tables[0], &tables[1], false}};
    const uint64_t words[] = {0, LOW + 64, CODE + 0x15, 0, CODE + 0x25, 0, 0, 0, 7, CODE + 0x35};
    uint64_t regs[PT_MACHINE_REGS_MAX] = {[RBX] = 99};
    const pt_unwind_state from = {.pc = CODE + 5, .sp = LOW, .regs = regs};
    put_modules(&(pt_unwind_modules){list, 1, 10, NULL}, LOW, words, sizeof words);
    for (int turn = 0; turn < 2; turn++) { /* the second one finds all rules in the cache */
        assert_int_equal(walk_as_in_the_kernel(&from, LOW, copied.limit, false),
                         PT_UNWIND_END_ROOT);
        assert_int_equal(cpu->stack.count, 4);
        assert_int_equal(cpu->stack.pcs[1], words[2]);
        assert_int_equal(cpu->stack.pcs[2], words[4]);
        assert_int_equal(cpu->stack.pcs[3], words[9]);
    }
    free(cpu);
    free_pool();
}
#endif

/* ---- the pool ---- */

static void rows_may_lie_in_two_chunks(void **state)
{
    (void)state;
    enum { PAGES = 1000, ROWS = PAGES * 2000 }; /* two million rows: 8 MB */
    pt_unwind_table table = {.page_count = PAGES, .row_count = ROWS, .rule_count = 3};
    uint32_t *const pages = pt_alloc(PAGES + 1, sizeof *pages);
    uint32_t *const rows = pt_alloc(ROWS, sizeof *rows);
    const pt_unwind_rule rules[3] = {
        {.cfa_kind = PT_CFA_NONE},
        {.cfa_kind = PT_CFA_SP, .cfa_off = 8, .pc_slot = PT_SLOT_AT_CFA, .pc_off = -1},
        {.cfa_kind = PT_CFA_SP, .cfa_off = 16, .pc_slot = PT_SLOT_AT_CFA, .pc_off = -1}};
    for (uint32_t i = 0; i <= PAGES; i++)
        pages[i] = i * 2000;
    for (uint32_t i = 0; i < ROWS; i++)
        rows[i] = (i % 2000 * 2) | (1 + i * 7 % 2) << 16;
    table.pages = pages;
    table.rows = rows;
    table.rules = rules;
    const pt_unwind_module module = {
        0x10000000, 0x10000000 + PAGES * 4096, 0x10000000, &table, NULL, false};
    const pt_unwind_modules modules = {&module, 1, 7, NULL};
    uint32_t words;
    pt_bpf_pool_init(&pool, make_chunk, NULL);
    assert_true(pt_bpf_pool_put(&pool, &modules, 0, &in_kernel.mappings, &words));
    assert_true(pool.count >= 3);
    cpu = pt_alloc(1, sizeof *cpu);
    cpu->mappings = in_kernel.mappings;
    cpu->mapping_count = 1;
    for (uint32_t i = 0; i < ROWS; i += 613) {
        const uint64_t addr = module.start + i / 2000 * 4096 + i % 2000 * 2;
        pt_unwind_rule rule;
        assert_true(find_mapping(cpu, addr));
        read_rule(cpu, rule_number(cpu, addr), &rule);
        assert_memory_equal(&rule, pt_unwind_table_rule(&table, addr - module.bias), sizeof rule);
    }
    assert_false(find_mapping(cpu, module.start - 1));
    assert_false(find_mapping(cpu, module.limit));
    free(cpu);
    free_pool();
    /* Without room the table is left out, once, and user space walks. */
    pt_bpf_pool_init(&pool, make_few_chunks, NULL);
    assert_true(pt_bpf_pool_put(&pool, &modules, 0, &in_kernel.mappings, &words));
    assert_true(pt_bpf_pool_put(&pool, &modules, 0, &in_kernel.mappings, &words));
    assert_int_equal(pool.left_out, 1);
    const pt_bpf_mapping *const mapping = pool_at(in_kernel.mappings, sizeof *mapping);
    assert_int_equal(mapping->kind, PT_BPF_LATER);
    free_pool();
    free(pages);
    free(rows);
}

/* The stack's outermost frame is marked if user space finds no more. */
static void compare_end(bool is_last)
{
    const uint32_t count = cpu->stack.frame_count;
    if (count == 0 || count == PT_BPF_FRAMES_BAD) return;
    const uint64_t first = cpu->stack.pcs[cpu->stack.count + 2 * (size_t)(count - 1)];
    assert_int_equal((first & PT_BPF_FRAME_LAST) != 0, is_last);
    for (uint32_t i = 0; i + 1 < count; i++)
        assert_int_equal(cpu->stack.pcs[cpu->stack.count + 2 * (size_t)i] & PT_BPF_FRAME_LAST, 0);
}

/* ---- code that was met ---- */

static void code_is_new_once_for_a_program_and_again_after_a_minute(void **state)
{
    enum { PID = 7, CODE = 0x7000, CHECK = 9 };
    pt_bpf_process runs = {.mm = 0x1000, .program = 1};
    cpu = pt_alloc(1, sizeof *cpu);
    meet_process(cpu, PID, &runs, SECOND_NS);
    assert_true(meet_code(cpu, CODE, CHECK));
    assert_false(meet_code(cpu, CODE, CHECK));
    assert_true(meet_code(cpu, CODE, CHECK + 1));
    runs.program = 2; /* exec has got the same address space again */
    meet_process(cpu, PID, &runs, SECOND_NS);
    assert_true(meet_code(cpu, CODE, CHECK));
    assert_false(meet_code(cpu, CODE, CHECK));
    meet_process(cpu, PID, &runs, 71 * (uint64_t)SECOND_NS);
    assert_true(meet_code(cpu, CODE, CHECK));
    forget_code(cpu); /* the ring was full */
    assert_true(meet_code(cpu, CODE, CHECK));
    free(cpu);
}

static void a_process_sends_a_limited_number_of_copies_a_second(void **state)
{
    pt_bpf_process one = {.mm = 1}, other = {.mm = 2};
    uint32_t sent = 0;
    for (int i = 0; i < 100000; i++)
        sent += may_copy(&one, SECOND_NS);
    assert_int_equal(sent, 2048);
    assert_true(may_copy(&other, SECOND_NS));
    assert_true(may_copy(&one, 3 * (uint64_t)SECOND_NS));
}

/* ---- Python ---- */

/* Random words, half of them the addresses of others; a quarter of the objects are code, some of
 * which has one text as its name and its file. */
static void fill_python_memory(uint64_t *seed, uint64_t code_type)
{
    enum { FILE_BEFORE = 16 }; /* bytes from a code object's file to its name since 3.11 */
    for (size_t i = 0; i < MEMORY_BYTES; i += 8) {
        const uint64_t random = next_random(seed);
        const uint64_t word = i % 64 == 8 && random % 4 != 0    ? code_type
                              : i % 64 == 16 && random % 2 == 0 ? random / 8 % 600 /* a length */
                              : random % 8 == 0
                                  ? random
                                  : MEMORY_ADDR + random / 8 % (MEMORY_BYTES / 64) * 64;
        memcpy(interp_memory + i, &word, sizeof word);
        if (i % 64 == 0 && i >= FILE_BEFORE && random % 4 == 1)
            memcpy(interp_memory + i, interp_memory + i - FILE_BEFORE, sizeof word);
    }
}

/* A code object that was met is in the record to be sent, and is not met again. */
static bool copies_new_code(const pt_python_code *code)
{
    if (cpu->is_code_new == 0) return false;
    pt_bpf_code *const copy = &cpu->code;
    memset(copy->name, 0, sizeof *copy - offsetof(pt_bpf_code, name));
    copy_python_code(cpu);
    assert_memory_equal(&copy->python.type, &code->type, offsetof(pt_python_code, first_line));
    check_copy(copy->name, &copy->name_from, code->name, PT_BPF_NAME_BYTES);
    check_copy(copy->file, &copy->file_from, code->file, PT_BPF_FILE_BYTES);
    check_copy(copy->more, &copy->more_from, code->lines, PT_BPF_MORE_BYTES);
    assert_false(meet_code(cpu, copy->code, copy->check));
    return copy->name_from.bytes > 0 || copy->more_from.bytes > 0;
}

/* Reads the next frame and its code. Code that is shown to nobody is none, with an entry mark. Is
 * the frame part of the stack? */
static bool next_python_frame(pt_python_walk *walk, pt_python_frame *frame, pt_python_code *code,
                              uint32_t *check)
{
    *code = (pt_python_code){.type = 0};
    *check = 0;
    assert_int_equal(pt_python_walk_next(walk, frame), PT_PYTHON_FRAME);
    if (frame->code == 0) return true;
    if (!pt_python_code_read(walk->layout, read_for_user_space, NULL, frame->code, code, check))
        *check = 0;
    if (!pt_python_is_hidden(walk->layout, read_for_user_space, NULL, frame->code, code))
        return true;
    *check = 0;
    frame->code = 0;
    frame->place = -1;
    return frame->is_entry;
}

static void frames_of_python_are_those_that_user_space_reads(void **state)
{
    enum { THREAD = MEMORY_ADDR + 0x400, CODE_TYPE = 0x12345678 };
    uint64_t seed = 1, compared = 0, sent = 0, hidden = 0;
    const pt_bpf_process of = {.mm = 1};
    cpu = pt_alloc(1, sizeof *cpu);
    for (unsigned round = 0; round < 3000; round++) {
        const pt_python_layout *const layout = pt_python_layout_of(3, 8 + round % 7);
        fill_python_memory(&seed, CODE_TYPE);
        meet_process(cpu, 1, &of, 1 + round);
        cpu->python.layout = *layout;
        cpu->python.code_type = CODE_TYPE;
        cpu->stack.count = round % PT_BPF_DEPTH_MAX;
        cpu->stack.frame_count = 0;
        pt_python_walk walk;
        const pt_python_step begun = pt_python_walk_begin(&walk, layout, read_for_user_space, NULL,
                                                          THREAD, 2 * PT_BPF_FRAMES_MAX);
        assert_int_equal(begin_frames(&cpu->python, THREAD, 2 * PT_BPF_FRAMES_MAX), begun);
        if (begun != PT_PYTHON_FRAME) continue;
        pt_python_frame frame;
        for (int i = 0; i < PT_BPF_FRAMES_MAX && step_python(cpu); i++) {
            pt_python_code code;
            uint32_t check;
            const bool is_in_stack = next_python_frame(&walk, &frame, &code, &check);
            hidden += frame.code == 0 && code.name != 0;
            if (!is_in_stack) continue;
            const uint64_t *const two =
                cpu->stack.pcs + cpu->stack.count + 2 * (size_t)(cpu->stack.frame_count - 1);
            assert_int_equal(PT_BPF_FRAME_CODE(two[0]), frame.code);
            assert_int_equal((two[0] & PT_BPF_FRAME_ENTRY) != 0, frame.is_entry);
            assert_int_equal(PT_BPF_FRAME_PLACE(two[1]), frame.place);
            assert_int_equal(PT_BPF_FRAME_CHECK(two[1]), check);
            sent += copies_new_code(&code);
            compared++;
        }
        if (cpu->stack.frame_count < PT_BPF_FRAMES_MAX)
            compare_end(pt_python_walk_next(&walk, &frame) == PT_PYTHON_END);
    }
    free(cpu);
    assert_true(compared > 1000 && sent > 100 && hidden > 5);
}

/* ---- PHP ---- */

/* Blocks of 64 bytes, by turns a frame or a function or a class, and a string. Most words are the
 * addresses of blocks; some are random. */
static void fill_php_memory(uint64_t *seed)
{
    enum {
        BLOCK = 64,
        BLOCKS = MEMORY_BYTES / BLOCK,
        NAME = 8,
        CLASS_OR_LENGTH = 0x10,
        CALLER = 0x30
    };
    enum { FLAGS = 0x28 };
    static const uint64_t kinds[] = {PT_PHP_INTERNAL, PT_PHP_USER, PT_PHP_USER, PT_PHP_EVAL};
    for (size_t i = 0; i < MEMORY_BYTES; i += 8) {
        const uint64_t random = next_random(seed), dice = random % 64, rest = random / 64;
        const bool is_string = i / BLOCK % 2 == 1;
        const size_t field = i % BLOCK;
        uint64_t block = rest % BLOCKS;
        if (field == NAME) block |= 1;
        if (field == CLASS_OR_LENGTH || field == CALLER) block &= ~UINT64_C(1);
        uint64_t word = dice == 0 ? random : dice == 1 ? 0 : MEMORY_ADDR + block * BLOCK;
        if (field == 0 && dice < 60) word = kinds[rest % 4];
        if (field == CLASS_OR_LENGTH && is_string) word = rest % 600;
        if (field == FLAGS && dice < 60) word = rest % 4 * 0x20000 | (rest / 4 % 2) * 8;
        memcpy(interp_memory + i, &word, sizeof word);
    }
}

/* The function is in the record to be sent, and is not new again. */
static bool copies_new_function(const pt_php_function *f)
{
    if (cpu->is_code_new == 0) return false;
    pt_bpf_code *const copy = &cpu->code;
    memset(copy->name, 0, sizeof *copy - offsetof(pt_bpf_code, name));
    copy_php_code(cpu);
    assert_int_equal(copy->php.kind, f->kind);
    assert_int_equal(copy->php.first_line, f->first_line);
    check_copy(copy->name, &copy->name_from, f->name, PT_BPF_NAME_BYTES);
    check_copy(copy->file, &copy->file_from, f->file, PT_BPF_FILE_BYTES);
    check_copy(copy->more, &copy->more_from, f->class_name, PT_BPF_MORE_BYTES);
    assert_false(meet_code(cpu, copy->code, copy->check));
    return copy->name_from.bytes > 0;
}

static void compare_php_frame(const uint64_t *two, const pt_php_frame *frame, bool is_first)
{
    pt_php_function f;
    uint64_t check;
    const bool is_held = is_first && cpu->php.frame_register == frame->addr;
    assert_true(
        pt_php_function_at(&cpu->php.layout, read_for_user_space, NULL, frame->function, &f));
    const bool is_checked = pt_php_check(read_for_user_space, NULL, &f, &check);
    assert_int_equal(PT_BPF_FRAME_CODE(two[0]),
                     f.kind == PT_PHP_INTERNAL ? frame->function : f.first);
    assert_int_equal((two[0] & PT_BPF_FRAME_ENTRY) != 0, frame->is_entry);
    assert_int_equal((two[0] & PT_BPF_FRAME_HELD) != 0, is_held);
    assert_int_equal(PT_BPF_FRAME_CHECK(two[1]), is_checked ? pt_interp_short_check(check) : 0);
    const bool has_instruction =
        is_held && pt_php_has_instruction(&f, cpu->php.instruction_register);
    assert_int_equal(
        PT_BPF_FRAME_PLACE(two[1]),
        pt_php_line(&cpu->php.layout, read_for_user_space, NULL, MEMORY_ADDR, &f,
                    has_instruction ? cpu->php.instruction_register : frame->instruction));
}

static void frames_of_php_are_those_that_user_space_reads(void **state)
{
    static const uint32_t apis[] = {20190902, 20220829, 20240924};
    pt_bpf_interp php = {.language = PT_BPF_PHP,
                         .state = MEMORY_ADDR,
                         .php = {.generator_class = MEMORY_ADDR + 0x100}};
    uint64_t seed = 1, compared = 0, sent = 0;
    cpu = pt_alloc(1, sizeof *cpu);
    for (unsigned round = 0; round < 20000; round++) {
        fill_php_memory(&seed);
        php.php.layout = *pt_php_layout_of(apis[round % 3]);
        cpu->stack.count = round % PT_BPF_DEPTH_MAX;
        cpu->stack.frame_count = 0;
        pt_php_walk walk;
        pt_php_frame frame;
        uint64_t class;
        memcpy(&class, interp_memory + 0x100, sizeof class);
        if (!begin_php(cpu, &php)) continue;
        assert_int_equal(pt_php_walk_begin(&walk, &cpu->php.layout, read_for_user_space, NULL,
                                           MEMORY_ADDR, class, 2 * PT_BPF_FRAMES_MAX),
                         PT_INTERP_FRAME_READ);
        cpu->php.frame_register = round % 2 == 0 ? cpu->php.next : 0;
        cpu->php.instruction_register = MEMORY_ADDR + round % 64 * 64;
        for (int i = 0; i < 2 * PT_BPF_FRAMES_MAX; i++) {
            const uint32_t count = cpu->stack.frame_count;
            if (!step_php(cpu)) break;
            if (cpu->stack.frame_count == count) continue; /* a frame of no function */
            assert_int_equal(pt_php_walk_next(&walk, &frame), PT_INTERP_FRAME_READ);
            const uint64_t *const two = cpu->stack.pcs + cpu->stack.count + 2 * (size_t)count;
            compare_php_frame(two, &frame, count == 0);
            pt_php_function f = {.name = 0};
            assert_true(pt_php_function_at(&cpu->php.layout, read_for_user_space, NULL,
                                           frame.function, &f));
            sent += copies_new_function(&f);
            compared++;
        }
        /* A function whose texts are unreadable ends no walk. */
        pt_php_function f = {.name = 0};
        if (cpu->stack.frame_count == PT_BPF_FRAMES_MAX) continue;
        const pt_interp_step last = pt_php_walk_next(&walk, &frame);
        compare_end(last == PT_INTERP_END);
        if (last == PT_INTERP_FRAME_READ)
            assert_false(pt_php_function_at(&cpu->php.layout, read_for_user_space, NULL,
                                            frame.function, &f) &&
                         PT_BPF_FRAME_CODE(f.first) == f.first);
    }
    free(cpu);
    assert_true(compared > 1000 && sent > 100);
}

static void put_word(uint64_t addr, uint64_t word)
{
    memcpy(interp_memory + (addr - MEMORY_ADDR), &word, sizeof word);
}

/* A generator runs within `between` others that delegate to each other: one function's code. */
static uint32_t count_php_generators(uint32_t between)
{
    enum { CLASS = MEMORY_ADDR + 0x3f00, FUNCTION = CLASS + 0x40, CODE_OF_ALL = CLASS + 0xe0 };
    enum { CODE = 1 << 17, GENERATOR = 1 << 24, OBJECT = 8, STEP = 0x40 };
    const pt_php_layout *const layout = pt_php_layout_of(20220829);
    const pt_bpf_interp php = {.language = PT_BPF_PHP,
                               .state = MEMORY_ADDR,
                               .php = {.generator_class = CLASS, .layout = *layout}};
    const uint64_t frame = MEMORY_ADDR + 0x300, first = MEMORY_ADDR + 0x800;
    const uint64_t placeholder = first + layout->generator_placeholder;
    memset(interp_memory, 0, sizeof interp_memory);
    put_word(CLASS, CLASS + 8);
    put_word(MEMORY_ADDR + 0x1e8, frame);
    put_word(FUNCTION, PT_PHP_USER);
    put_word(FUNCTION + layout->function_count, 1);
    put_word(FUNCTION + layout->function_first, CODE_OF_ALL);
    put_word(FUNCTION + layout->function_file, CLASS + 0x20);
    put_word(frame + 0x18, FUNCTION);
    put_word(frame + 0x28, CODE | GENERATOR);
    put_word(frame + 0x30, placeholder);
    put_word(placeholder + 0x20, first);
    put_word(placeholder + 0x28, OBJECT);
    put_word(first + 0x10, CLASS + 8);
    /* Generators overlap: each has a word for its frame and one for its parent. */
    for (uint64_t i = 0, at = first; i < between; i++, at = MEMORY_ADDR + 0xa00 + i * STEP) {
        put_word(at + layout->generator_frame, frame);
        put_word(at + layout->generator_parent, MEMORY_ADDR + 0xa00 + (i + 1) * STEP);
    }
    cpu->stack.count = cpu->stack.frame_count = 0;
    assert_true(begin_php(cpu, &php));
    for (int i = 0; i < PT_BPF_FRAMES_MAX && step_php(cpu);)
        i++;
    return cpu->stack.frame_count;
}

/* The walk went through 32 at most, and had no callers then. */
static void generators_of_php_may_delegate_many_times(void **state)
{
    cpu = pt_alloc(1, sizeof *cpu);
    assert_int_equal(count_php_generators(1), 2);
    compare_end(true);
    assert_int_equal(count_php_generators(190), 191);
    compare_end(true);
    free(cpu);
}

/* ---- Perl ---- */

/* A third of the words are addresses, the others types of contexts, of values, and indexes. */
static void fill_perl_memory(uint64_t *seed)
{
    static const uint64_t types[] = {0x10, 9,          9,           0xb,        0xcb,
                                     1,    9ULL << 32, 12ULL << 32, 13ULL << 32};
    for (size_t i = 0; i < MEMORY_BYTES; i += 8) {
        const uint64_t random = next_random(seed), rest = random / 4;
        const uint64_t addr = MEMORY_ADDR + rest % (MEMORY_BYTES / 8) * 8;
        const uint64_t word = random % 4 < 2    ? addr
                              : random % 4 == 2 ? types[rest % (sizeof types / sizeof types[0])]
                                                : rest % 30;
        memcpy(interp_memory + i, &word, sizeof word);
    }
}

static void compare_perl_frame(const uint64_t *two, const pt_perl_layout *layout,
                               const pt_perl_frame *frame)
{
    pt_perl_code code;
    uint64_t check;
    if (frame->kind == PT_PERL_EMPTY) {
        assert_int_equal(two[0], PT_BPF_FRAME_ENTRY);
        return;
    }
    assert_true(pt_perl_code_at(layout, read_for_user_space, NULL, frame, &code));
    const bool is_checked = pt_perl_check(read_for_user_space, NULL, &code, &check);
    assert_int_equal(PT_BPF_FRAME_CODE(two[0]), pt_perl_key(frame, &code));
    assert_int_equal((two[0] & PT_BPF_FRAME_ENTRY) != 0, frame->is_entry);
    assert_int_equal(PT_BPF_FRAME_CHECK(two[1]), is_checked ? pt_interp_short_check(check) : 0);
    assert_int_equal(PT_BPF_FRAME_PLACE(two[1]), code.line);
}

static void frames_of_perl_are_those_that_user_space_reads(void **state)
{
    const pt_perl_layout *const layout = pt_perl_layout_of(36);
    uint64_t seed = 1, compared = 0;
    cpu = pt_alloc(1, sizeof *cpu);
    for (unsigned round = 0; round < 15000; round++) {
        fill_perl_memory(&seed);
        cpu->stack.count = round % PT_BPF_DEPTH_MAX;
        cpu->stack.frame_count = 0;
        cpu->perl.layout = *layout;
        pt_perl_walk walk;
        pt_perl_frame frame;
        const pt_interp_step begun =
            pt_perl_walk_begin(&walk, layout, read_for_user_space, NULL, MEMORY_ADDR, 100);
        assert_int_equal(begin_perl_frames(&cpu->perl, MEMORY_ADDR, 100), begun);
        if (begun != PT_INTERP_FRAME_READ) continue;
        for (int i = 0; i < 100; i++) {
            const uint32_t count = cpu->stack.frame_count;
            if (!step_perl(cpu) || cpu->stack.frame_count == PT_BPF_FRAMES_BAD) break;
            if (cpu->stack.frame_count == count) continue; /* contexts that are no frames */
            assert_int_equal(pt_perl_walk_next(&walk, &frame), PT_INTERP_FRAME_READ);
            compare_perl_frame(cpu->stack.pcs + cpu->stack.count + 2 * (size_t)count, layout,
                               &frame);
            compared++;
        }
        pt_perl_code code;
        const pt_interp_step last = pt_perl_walk_next(&walk, &frame);
        compare_end(last == PT_INTERP_END);
        if (last == PT_INTERP_FRAME_READ)
            assert_false(pt_perl_code_at(layout, read_for_user_space, NULL, &frame, &code));
    }
    free(cpu);
    assert_true(compared > 1000);
}

/* ---- Ruby ---- */

/* Every second word is flags of an environment or an object, or an address; the others are
 * addresses of such words, and some numbers. */
static void fill_ruby_memory(uint64_t *seed)
{
    enum { METHOD = 6 << 12, VARIABLES = 2 << 12, WITHIN = 1 << 13 };
    static const uint64_t flags[] = {0x11110003,       0x22220021,    5 | 9 << 14,
                                     5 | 3 << 14,      5 | WITHIN,    7 | WITHIN,
                                     0x1a | VARIABLES, 0x1a | METHOD, 2};
    for (size_t i = 0; i < MEMORY_BYTES; i += 8) {
        const uint64_t random = next_random(seed), rest = random / 8;
        uint64_t word = MEMORY_ADDR + rest % (MEMORY_BYTES / 16) * 16;
        const bool is_of_frame = i % 64 == 0x10 || i % 64 == 0x20; /* iseq, environment */
        if (i % 16 == 0 && !is_of_frame && random % 8 < 5)
            word = flags[rest % (sizeof flags / sizeof flags[0])];
        if (i % 16 != 0 && random % 8 == 0) word = rest % 200;
        memcpy(interp_memory + i, &word, sizeof word);
    }
}

static void compare_ruby_frame(const uint64_t *two, const pt_ruby_layout *layout,
                               const pt_ruby_frame *frame)
{
    pt_ruby_code code;
    uint64_t check;
    assert_true(pt_ruby_code_at(layout, read_for_user_space, NULL, frame->body, &code));
    const uint64_t owner = pt_ruby_owner(read_for_user_space, NULL, frame->env);
    const bool is_checked = pt_ruby_check(layout, read_for_user_space, NULL, &cpu->ruby.keys, &code,
                                          cpu->ruby.owner, &check);
    if (cpu->ruby.owner == owner)
        assert_int_equal(PT_BPF_FRAME_CODE(two[0]), pt_ruby_key(frame, owner));
    else
        assert_int_equal(cpu->ruby.owner, 0); /* it is deeper than the kernel looks */
    assert_int_equal((two[0] & PT_BPF_FRAME_ENTRY) != 0, frame->is_entry);
    assert_int_equal(PT_BPF_FRAME_CHECK(two[1]), is_checked ? pt_interp_short_check(check) : 0);
    assert_int_equal(PT_BPF_FRAME_PLACE(two[1]),
                     pt_ruby_line(layout, read_for_user_space, NULL, &code, frame->pc));
}

/* The texts are in the record to be sent. */
static bool copies_ruby_code(const pt_ruby_layout *layout)
{
    if (cpu->is_code_new == 0) return false;
    pt_bpf_code *const copy = &cpu->code;
    pt_ruby_names names;
    cpu->ruby.keys_of = cpu->process;
    copy_ruby_code(cpu);
    if (!pt_ruby_names_at(layout, read_for_user_space, NULL, &cpu->ruby.keys, &cpu->ruby.code,
                          cpu->ruby.owner, &names))
        return false;
    check_copy(copy->name, &copy->name_from, names.label.addr, PT_BPF_NAME_BYTES);
    check_copy(copy->file, &copy->file_from, names.path.addr, PT_BPF_FILE_BYTES);
    check_copy(copy->more, &copy->more_from, names.class_name.addr, PT_BPF_MORE_BYTES);
    return copy->name_from.bytes > 0;
}

static void frames_of_ruby_are_those_that_user_space_reads(void **state)
{
    const pt_ruby_layout *const layout = pt_ruby_layout_of(3, 1);
    uint64_t seed = 1, compared = 0, sent = 0;
    cpu = pt_alloc(1, sizeof *cpu);
    for (unsigned round = 0; round < 40000; round++) {
        fill_ruby_memory(&seed);
        const uint64_t stack[] = {MEMORY_ADDR, MEMORY_BYTES / 8,
                                  MEMORY_ADDR + seed % (MEMORY_BYTES / 64) * 64};
        memcpy(interp_memory, stack, sizeof stack);
        cpu->stack.count = round % PT_BPF_DEPTH_MAX;
        cpu->stack.frame_count = 0;
        cpu->ruby.layout = *layout;
        cpu->ruby.keys = (pt_ruby_keys){.name = round % 200, .attached = round % 199};
        pt_ruby_walk walk;
        pt_ruby_frame frame;
        const pt_interp_step begun =
            pt_ruby_walk_begin(&walk, layout, read_for_user_space, NULL, MEMORY_ADDR, 100);
        assert_int_equal(begin_ruby_frames(&cpu->ruby, MEMORY_ADDR, 100), begun);
        if (begun != PT_INTERP_FRAME_READ) continue;
        for (int i = 0; i < 100; i++) {
            const uint32_t count = cpu->stack.frame_count;
            if (!step_ruby(cpu) || cpu->stack.frame_count == PT_BPF_FRAMES_BAD) break;
            if (cpu->stack.frame_count == count) continue; /* frames without code */
            assert_int_equal(pt_ruby_walk_next(&walk, &frame), PT_INTERP_FRAME_READ);
            compare_ruby_frame(cpu->stack.pcs + cpu->stack.count + 2 * (size_t)count, layout,
                               &frame);
            sent += copies_ruby_code(layout);
            compared++;
        }
        pt_ruby_code code;
        const pt_interp_step last = pt_ruby_walk_next(&walk, &frame);
        compare_end(last == PT_INTERP_END);
        if (last == PT_INTERP_FRAME_READ)
            assert_false(pt_ruby_code_at(layout, read_for_user_space, NULL, frame.body, &code));
    }
    free(cpu);
    assert_true(compared > 1000 && sent > 15);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kernel_and_user_space_walk_the_same_stacks_alike),
        cmocka_unit_test(code_without_rules_is_left_by_its_frame_pointer),
#if defined(__x86_64__)
        cmocka_unit_test(the_base_register_is_followed_through_the_code_that_needs_it),
#endif
        cmocka_unit_test(frames_of_python_are_those_that_user_space_reads),
        cmocka_unit_test(frames_of_php_are_those_that_user_space_reads),
        cmocka_unit_test(generators_of_php_may_delegate_many_times),
        cmocka_unit_test(frames_of_perl_are_those_that_user_space_reads),
        cmocka_unit_test(frames_of_ruby_are_those_that_user_space_reads),
        cmocka_unit_test(code_is_new_once_for_a_program_and_again_after_a_minute),
        cmocka_unit_test(a_process_sends_a_limited_number_of_copies_a_second),
        cmocka_unit_test(rows_may_lie_in_two_chunks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
