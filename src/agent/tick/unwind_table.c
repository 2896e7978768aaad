/* unwind_table.c: one step outwards by the tables of unwind/.
 *
 * Code of which no table is known yet, or that has none, is walked by its frame pointers. A walk by
 * tables would go on to the kernel's first instruction of the thread; it stops where that by frame
 * pointers does, so that a function has the same callers either way.
 */
#include "agent/tick/tick.h"

#include <stdatomic.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#include "agent/tick/kernel.h"
#include "machine/context.h"

/* The drain thread may be writing the bounds that it has found, the limit last. */
pt_tick_stack pt_tick_stack_of(const pt_thread *self)
{
    pt_tick_stack stack = {.root_fp = self->stack.root_fp};
    stack.limit = __atomic_load_n(&self->stack.limit, __ATOMIC_ACQUIRE);
    stack.low = __atomic_load_n(&self->stack.low, __ATOMIC_RELAXED);
    return stack;
}

/* The end of the readable pages from a page's beginning on, or of the first PAGES_MAX of them. The
 * kernel copies a word of each, all by one call. It refuses pages of devices, whose words it would
 * not do to read. */
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

/* Finds the bounds of the stack that the walk is on: of the thread's own, or, where that is not
 * known yet, on the stack of a coroutine and on one for signals, of the page of the stack pointer.
 * A walk comes from one stack to another at the frame of a signal. */
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

/* Has the stack more pages than were looked at? Not the thread's own. They are looked at only now,
 * for another program's memory may lie above its end, which blocks its readers (userfaultfd(2)). */
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
    walk->modules = atomic_load(&pt_tick.modules);
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

/* Out of a trampoline of CPython's -X perf (Python/asm_trampoline.S), which keeps one word on the
 * stack when it calls: what follows the call are `add $8, %rsp` and `ret`. False: it is none. */
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

/* Code that was mapped since the tables were made. Beside V8 also code without tables, for its
 * caller may have been mapped since, and the program's own code without a rule, for V8's builtins
 * keep frame pointers. */
static bool may_have_frame_pointer(const pt_unwind_modules *modules, uint64_t pc)
{
    const pt_tick_v8_facts *const v8 = atomic_load_explicit(
        &pt_tick_languages[PT_JOURNAL_LANGUAGE_JAVASCRIPT].facts, memory_order_acquire);
    if (v8 != NULL && pc - v8->low < v8->limit - v8->low) return true;
    const pt_unwind_module *const module = pt_unwind_module_at(modules, pc);
    return module == NULL || (v8 != NULL && module->table == NULL);
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
        if ((end != PT_UNWIND_END_GOING_ON || state->is_fp_walk) && step_by_aligned_call(walk, &at))
            end = PT_UNWIND_END_GOING_ON;
        if (end == PT_UNWIND_END_NO_RULE &&
            may_have_frame_pointer(walk->modules, state->pc - state->is_return))
            return step_by_fp(walk);
        if (end != PT_UNWIND_END_GOING_ON) return journal_end(end);
        if (state->sp != walk->stack.limit) find_stack(walk);
        /* Our own thread function is not shown. */
    } while (state->pc - pt_tick.own_start.low < pt_tick.own_start.limit - pt_tick.own_start.low);
    walk->pc = state->pc + !state->is_return;
    return pt_tick_is_start(state->pc) ? PT_TICK_LAST_FRAME : PT_TICK_FRAME;
}
