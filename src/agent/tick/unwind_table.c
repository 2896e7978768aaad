/* unwind_table.c: one step to the next outer frame, by the tables of unwind/.
 *
 * Code without a table is walked by its frame pointers. A walk by tables could go on to the
 * thread's first instruction. But it stops where a walk by frame pointers stops, so that a function
 * has the same callers with both kinds of walk. */
#include "agent/tick/tick.h"

#include <stdatomic.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#include "base/plain/kernel_call.h"
#include "machine/context.h"

/* The drain thread may be writing the bounds that it has found; it writes the limit last, so the
 * limit is read first. */
pt_tick_stack pt_tick_stack_of(const pt_thread *self)
{
    pt_tick_stack stack = {.root_fp = self->stack.root_fp};
    stack.limit = __atomic_load_n(&self->stack.limit, __ATOMIC_ACQUIRE);
    stack.low = __atomic_load_n(&self->stack.low, __ATOMIC_RELAXED);
    return stack;
}

/* The end of the readable pages from a page's beginning on, at most PAGES_MAX pages further. One
 * system call copies a word of each page. The kernel refuses to copy from pages of devices, whose
 * words must not be read. */
static uintptr_t readable_limit(uintptr_t addr)
{
    enum { PAGES_MAX = 4 };
    uint64_t words[PAGES_MAX];
    const struct iovec here = {words, sizeof words};
    struct iovec there[PAGES_MAX];
    for (uintptr_t i = 0; i < PAGES_MAX; i++)
        there[i] = (struct iovec){
            (void *)(addr + i * PT_TICK_PAGE_BYTES), /* NOLINT(performance-no-int-to-ptr) */
            sizeof words[0]};
    const long bytes =
        PT_KERNEL(SYS_process_vm_readv, pt_tick_getpid(), &here, 1, there, PAGES_MAX);
    const uintptr_t pages = bytes > 0 ? (uintptr_t)bytes / sizeof words[0] : 0;
    return addr + pages * PT_TICK_PAGE_BYTES;
}

static bool is_on_stack(const pt_tick_stack *stack, uintptr_t sp)
{
    return sp >= stack->low && sp < stack->limit;
}

enum { STACK_CHANGES_MAX = 16 };

/* Finds the bounds of the stack that the walk is on. They are those of the thread's own stack; or
 * those of the page of the stack pointer, if the thread's own stack is not known or the walk is on
 * the stack of a coroutine or of signals. A walk changes from one stack to another at the frame of
 * a signal. */
static void find_stack(pt_tick_walk *walk)
{
    const uintptr_t sp = (uintptr_t)walk->state.sp, page = sp / PT_TICK_PAGE_BYTES;
    if (is_on_stack(&walk->stack, sp) || walk->stack_changes == STACK_CHANGES_MAX) return;
    walk->stack_changes++;
    walk->stack =
        is_on_stack(&walk->own_stack, sp)
            ? walk->own_stack
            : (pt_tick_stack){.low = page * PT_TICK_PAGE_BYTES,
                              .limit = (page + pt_tick_ask_for_page(page)) * PT_TICK_PAGE_BYTES,
                              .root_fp = walk->own_stack.root_fp};
}

/* Extends the bounds of the walk's stack by further pages. Returns false if no further page can be
 * read, if the bounds are those of the thread's own stack, which are final, or after
 * STACK_CHANGES_MAX extensions. Pages are tested only when they are needed: above the stack's end
 * may be memory that blocks its reader (userfaultfd(2)). */
static bool is_stack_larger(pt_tick_walk *walk)
{
    const uintptr_t limit = walk->stack.limit;
    if (limit == walk->own_stack.limit || walk->stack_changes == STACK_CHANGES_MAX) return false;
    walk->stack_changes++;
    walk->stack.limit = readable_limit(limit);
    return walk->stack.limit > limit;
}

void pt_tick_walk_see_stack(pt_tick_walk *walk, uintptr_t limit)
{
    while (walk->stack.limit < limit && is_stack_larger(walk))
        continue;
}

void pt_tick_walk_begin(pt_tick_walk *walk, const pt_thread *self, const void *context)
{
    pt_tick_regs regs;
    pt_tick_regs_of(context, &regs);
    walk->tables = atomic_load(&pt_tick.tables);
    walk->modules = walk->tables != NULL ? &walk->tables->all : NULL;
    walk->needs_table = false;
    walk->cache = self->unwind_cache;
    walk->python_cache = atomic_load(&self->interp_cache[PT_JOURNAL_LANGUAGE_PYTHON]);
    walk->own_stack = pt_tick_stack_of(self);
    walk->stack_changes = 0;
    walk->stack = (pt_tick_stack){.low = 0};
    walk->pc = regs.pc;
    walk->state =
        (pt_unwind_state){.pc = regs.pc, .sp = regs.sp, .fp = regs.fp, .regs = walk->regs};
    pt_machine_context_regs(context, walk->regs);
    find_stack(walk);
}

static int step_by_fp(pt_tick_walk *walk)
{
    enum { RECORD_BYTES = 2 * sizeof(uintptr_t), FRAME_MAX = 16 * PT_TICK_PAGE_BYTES };
    pt_unwind_state *const state = &walk->state;
    if (state->is_fp_lost) return PT_JOURNAL_END_NO_RULE;
    if (state->fp - state->sp < FRAME_MAX)
        pt_tick_walk_see_stack(walk, (uintptr_t)state->fp + RECORD_BYTES);
    pt_tick_regs regs = {
        .pc = (uintptr_t)state->pc, .sp = (uintptr_t)state->sp, .fp = (uintptr_t)state->fp};
    const int step = pt_tick_step(&regs, &walk->stack);
    if (step >= 0) return step;
    *state = (pt_unwind_state){.pc = regs.pc,
                               .sp = regs.sp,
                               .fp = regs.fp,
                               .is_return = true,
                               .is_fp_walk = true,
                               .is_unchecked = true};
    walk->pc = regs.pc;
    return step;
}

/* Steps out of a trampoline of CPython's -X perf (Python/asm_trampoline.S), which keeps one 8-byte
 * word on the stack during its call; after the call come `add $8, %rsp` and `ret`. Returns false if
 * the code is no such trampoline. */
static bool step_by_aligned_call(pt_tick_walk *walk, const pt_unwind_state *at)
{
#if defined(__x86_64__)
    static const uint8_t rest[] = {0x48, 0x83, 0xc4, 0x08, 0xc3};
    enum { WORD = sizeof(uint64_t) };
    const uint64_t saved = at->sp + WORD;
    uint8_t code[sizeof rest];
    uint64_t pc;
    if (!at->is_return || at->is_fp_walk || saved % WORD != 0 || saved < walk->stack.low ||
        saved >= walk->stack.limit || walk->stack.limit - saved < WORD ||
        !pt_tick_python_peek(walk->python_cache, at->pc, code, sizeof code) ||
        memcmp(code, rest, sizeof rest) != 0)
        return false;
    memcpy(&pc, (const void *)(uintptr_t)saved, sizeof pc);
    walk->state = (pt_unwind_state){.pc = pc,
                                    .sp = saved + WORD,
                                    .fp = at->fp,
                                    .is_return = true,
                                    .is_fp_lost = at->is_fp_lost,
                                    .is_unchecked = at->is_unchecked};
    return pc != 0;
#else
    (void)walk;
    (void)at;
    return false;
#endif
}

static int journal_end(pt_unwind_end end)
{
    switch (end) {
    case PT_UNWIND_END_ROOT: return PT_JOURNAL_END_ROOT;
    case PT_UNWIND_END_BAD_READ: return PT_JOURNAL_END_BAD_READ;
    default: return PT_JOURNAL_END_NO_RULE;
    }
}

/* May the code at pc, which no rule covers, keep a frame pointer? It may if it was mapped after the
 * tables were made. With V8 in the process it also may if it is code of a module without a table,
 * whose caller may have been mapped later, or the program's own code, since V8's builtins keep
 * frame pointers. */
static bool may_have_frame_pointer(const pt_unwind_modules *modules, uint64_t pc)
{
    const pt_tick_v8_facts *const v8 = atomic_load_explicit(
        &pt_tick_languages[PT_JOURNAL_LANGUAGE_JAVASCRIPT].facts, memory_order_acquire);
    if (v8 != NULL && pc - v8->low < v8->limit - v8->low) return true;
    const pt_unwind_module *const module = pt_unwind_module_at(modules, pc);
    return module == NULL || (v8 != NULL && module->table == NULL);
}

/* A frame has no table. Notes that it needs one if its module's table is not made yet. */
static void want_table(pt_tick_walk *walk, uint64_t pc)
{
    const pt_unwind_module *const module = pt_unwind_module_at(walk->modules, pc);
    if (module == NULL) return;
    _Atomic(uint8_t) *const state = &walk->tables->state[module - walk->modules->modules];
    if (atomic_load_explicit(state, memory_order_relaxed) == PT_TICK_TABLE_SETTLED) return;
    atomic_store_explicit(state, PT_TICK_TABLE_WANTED, memory_order_relaxed);
    walk->needs_table = true;
}

int pt_tick_walk_step(pt_tick_walk *walk)
{
    pt_unwind_state *const state = &walk->state;
    if (walk->modules == NULL) return step_by_fp(walk);
    do {
        const pt_unwind_state at = *state;
        pt_unwind_end end;
        do {
            const pt_unwind_limits limits = {.low = walk->stack.low, .limit = walk->stack.limit};
            *state = at;
            end = pt_unwind_step(state, walk->modules, &limits, walk->cache);
        } while (end == PT_UNWIND_END_BAD_READ && is_stack_larger(walk));
        if (end == PT_UNWIND_END_NO_RULE || state->is_fp_walk || state->is_unchecked)
            want_table(walk, at.pc - at.is_return);
        if ((end != PT_UNWIND_END_GOING_ON || state->is_fp_walk) && step_by_aligned_call(walk, &at))
            end = PT_UNWIND_END_GOING_ON;
        if (end == PT_UNWIND_END_NO_RULE &&
            may_have_frame_pointer(walk->modules, state->pc - state->is_return))
            return step_by_fp(walk);
        if (end != PT_UNWIND_END_GOING_ON) return journal_end(end);
        if ((state->pc & PT_INTERP_FRAME) != 0) return PT_JOURNAL_END_BAD_READ; /* no code */
        if (state->sp != walk->stack.limit) find_stack(walk);
        /* The library's thread function is not shown. */
    } while (state->pc - pt_tick.own_start.low < pt_tick.own_start.limit - pt_tick.own_start.low);
    walk->pc = state->pc + !state->is_return;
    return pt_tick_is_start(state->pc) ? PT_TICK_LAST_FRAME : PT_TICK_FRAME;
}
