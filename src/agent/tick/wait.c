/* wait.c: lets a waiting system call go on after a tick of the wall clock, as if no signal had
 * come.
 *
 * The kernel ends some system calls with EINTR when a handler has run, even with SA_RESTART
 * (signal(7)). The handler's context then has the address after the SYSCALL instruction, and -EINTR
 * in rax; the arguments are still in their registers. The number of the call is in an instruction
 * before the SYSCALL instruction, or on the stack.
 *
 * First way, by the kernel: nanosleep, poll and futex. The kernel keeps the data with which it can
 * go on with such a call (restart_syscall(2)), but drops this data in rt_sigreturn, the end of
 * every handler. So this handler ends without rt_sigreturn: it restores the registers itself
 * (pt_tick_resume) and executes the host's SYSCALL instruction with the number of restart_syscall.
 * If a handler of the host runs in between, its rt_sigreturn makes restart_syscall fail with EINTR,
 * as the host expects.
 *
 * Second way, by another call: the other calls of the table. The context is set back to the SYSCALL
 * instruction. If the kernel does not shorten the call's time limit itself, this handler replaces
 * the limit by the time that is left. The kernel does not show when the call began:
 *
 *   some functions of the library note when (pt_tick_wait_begins)
 *   else, if the thread has slept once since its last tick here, and was not driven off its CPU, it
 *   has slept for the time by which the wall clock went ahead of its CPU clock
 *   else the limit counts from this tick, so that the wait is at most a period too long
 *
 * A limit that this handler has shortened bears a mark, so that the next tick does not take another
 * wait for the same wait. A call of the first way goes the second way if the handler runs on a
 * signal stack and the interrupted stack may lack room for the registers.
 *
 * A call that is not in the table ends with EINTR. So does a call of the second way if its SYSCALL
 * instruction is not libc's, since code of the host may rely on its registers, which keep the
 * shortened limit; or if a signal of the host is pending. A signal of the host that comes between
 * this handler and the SYSCALL instruction runs its handler there, and the wait begins after that
 * handler. A tick that comes when a handler of the host returns looks like a tick that interrupted
 * the wait: so handlers of the host do not block ticks (pt_signals_free_ticks).
 */
#include <errno.h>
#include <linux/futex.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <ucontext.h>

#include "agent/tick/peek.h"
#include "agent/tick/tick_int.h"
#include "base/plain/kernel_call.h"
#include "machine/context.h"

static int64_t clock_ns(clockid_t clock)
{
    struct timespec now = {0};
    clock_gettime(clock, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

void pt_tick_wait_begins(int64_t limit_ns)
{
    enum { CALLER_BYTES = 64 }; /* from this function's frame to an address in its caller's frame */
    pt_thread *const self = pt_tick_self;
    if (self == NULL || atomic_load(&self->weighing) != PT_TICK_BY_TIMER) return;
    self->wait.begun_ns = clock_ns(CLOCK_MONOTONIC);
    self->wait.begun_limit_ns = limit_ns;
    self->wait.begun_at = (uintptr_t)__builtin_frame_address(0) + CALLER_BYTES;
}

void pt_tick_wait_ended(void)
{
    if (pt_tick_self != NULL) pt_tick_self->wait.begun_ns = 0;
}

#if defined(__x86_64__)

#ifndef SS_AUTODISARM /* linux/signal.h */
#define SS_AUTODISARM (1U << 31)
#endif

/* The form of a call's time limit, which a second call must not have in full again. */
typedef enum {
    NO_LIMIT,     /* there is none */
    IN_PLACE,     /* in memory, where the kernel shortens the limit unless limits are sticky */
    MILLISECONDS, /* an int; a negative value is no limit */
    TIMESPEC,     /* the address of a struct timespec; NULL: no limit */
} limit_kind;

/* limit: the register of the time limit. */
static const struct {
    uint16_t number;
    uint8_t kind, limit;
} calls[] = {
    {SYS_poll, MILLISECONDS, REG_RDX},
    {SYS_nanosleep, TIMESPEC, REG_RDI},
    {SYS_clock_nanosleep, TIMESPEC, REG_RDX},
    {SYS_futex, TIMESPEC, REG_R10},
    {SYS_ppoll, IN_PLACE, 0},
    {SYS_select, IN_PLACE, 0},
    {SYS_pselect6, IN_PLACE, 0},
    {SYS_epoll_wait, MILLISECONDS, REG_R10},
    {SYS_epoll_pwait, MILLISECONDS, REG_R10},
#ifdef SYS_epoll_pwait2
    {SYS_epoll_pwait2, TIMESPEC, REG_R10},
#endif
    {SYS_pause, NO_LIMIT, 0},
    {SYS_rt_sigsuspend, NO_LIMIT, 0},
    {SYS_rt_sigtimedwait, TIMESPEC, REG_RDX},
    {SYS_semop, NO_LIMIT, 0},
    {SYS_semtimedop, TIMESPEC, REG_R10},
    {SYS_msgrcv, NO_LIMIT, 0},
    {SYS_msgsnd, NO_LIMIT, 0},
};

static const uint8_t syscall_code[] = {0x0f, 0x05};
enum { SYSCALL_BYTES = sizeof syscall_code };

/* ---- which call it was ---- */

enum { CODE_BYTES = 48 };

/* Copies the CODE_BYTES bytes of code before an address. Bytes that cannot be read become zeros. */
static void read_code(uintptr_t behind, uint8_t *ret)
{
    const unsigned there = behind % PT_TICK_PAGE_BYTES;
    const uint8_t *const end = (const uint8_t *)behind; /* NOLINT(performance-no-int-to-ptr) */
    memset(ret, 0, CODE_BYTES);
    if (there >= CODE_BYTES)
        memcpy(ret, end - CODE_BYTES, CODE_BYTES);
    else if (!pt_tick_copy_memory(behind - CODE_BYTES, ret, CODE_BYTES))
        memcpy(ret + CODE_BYTES - there, end - there, there);
}

static uint64_t word_at(greg_t base, int offset)
{
    uint64_t word;
    memcpy(&word, (const char *)(uintptr_t)base + offset, /* NOLINT(performance-no-int-to-ptr) */
           sizeof word);
    return word;
}

/* The size of the instruction that ends at `end`, if it moves a register or a word on the stack to
 * a register; else 0. */
static unsigned move_before(const uint8_t *end)
{
    enum { MODRM_TO = 0x38, OF_REGISTER = 0xc0, OF_STACK = 0x44, REX = 0x40, REX_BITS = 0xf };
    unsigned bytes = 0;
    if (end[-2] == 0x89 && (end[-1] & OF_REGISTER) == OF_REGISTER)
        bytes = 2;
    else if (end[-4] == 0x8b && (end[-3] & ~MODRM_TO) == OF_STACK && end[-2] == 0x24)
        bytes = 4;
    return bytes == 0 ? 0 : bytes + ((*(end - bytes - 1) & ~REX_BITS) == REX);
}

/* The number in a "mov $NUMBER, %eax" before `end`; libc's wrappers may move arguments after that
 * instruction. -1 if there is no such instruction. */
static long loaded_number(const uint8_t *end)
{
    enum { MOVES_MAX = 3, OTHER_REGISTER = 0x41 };
    unsigned bytes = 0;
    for (int moves = 0; moves <= MOVES_MAX; moves++) {
        end -= bytes;
        if (end[-5] == 0xb8 && end[-6] != OTHER_REGISTER) {
            int32_t number;
            memcpy(&number, end - 4, sizeof number);
            return number;
        }
        bytes = move_before(end);
        if (bytes == 0) break;
    }
    return -1;
}

/* The number of a call that glibc's __syscall_cancel_arch makes: the last argument of its caller.
 * The number lies on the stack just above the caller's own return address. That address is
 * recognised by the call instruction before it, whose target is the caller. -1 if the stack has no
 * such address. */
static long number_of_caller(const greg_t *regs)
{
    enum { FIRST = 3, LAST = 10, CALL_BYTES = 5, FAR_BYTES = 1 << 24, FUNCTION_BYTES = 512 };
    const greg_t sp = regs[REG_RSP];
    const uint64_t caller = word_at(sp, 0);
    for (int i = FIRST; i <= LAST; i++) {
        const uint64_t back = word_at(sp, i * 8);
        uint8_t call[CALL_BYTES];
        int32_t distance;
        if (back - caller + FAR_BYTES > 2 * FAR_BYTES ||
            !pt_tick_copy_memory(back - CALL_BYTES, call, CALL_BYTES) || call[0] != 0xe8)
            continue;
        memcpy(&distance, call + 1, sizeof distance);
        if (caller - (back + (uint64_t)(int64_t)distance) < FUNCTION_BYTES)
            return (long)word_at(sp, (i + 1) * 8);
    }
    return -1;
}

/* The number of the call whose SYSCALL instruction ends at the pc; -1 if the number cannot be
 * found. */
static long number_of_call(const greg_t *regs)
{
    /* The instructions of __syscall_cancel_arch before SYSCALL, glibc 2.41 and later. Its caller,
     * __internal_syscall_cancel, has the number as an argument on the stack. */
    static const uint8_t cancellable[] = {0x48, 0x89, 0xf0, 0x48, 0x89, 0xd7, 0x48, 0x89,
                                          0xce, 0x4c, 0x89, 0xc2, 0x4d, 0x89, 0xca, 0x4c,
                                          0x8b, 0x44, 0x24, 0x08, 0x4c, 0x8b, 0x4c, 0x24,
                                          0x10, 0x4c, 0x89, 0x5c, 0x24, 0x08},
                         of_stack[] = {0x48, 0x8b, 0x44, 0x24}, of_frame[] = {0x48, 0x8b, 0x45};
    uint8_t code[CODE_BYTES];
    const uint8_t *const end = code + CODE_BYTES - SYSCALL_BYTES;
    read_code((uintptr_t)regs[REG_RIP], code);
    if (memcmp(end, syscall_code, SYSCALL_BYTES) != 0) return -1;
    if (memcmp(end - sizeof cancellable, cancellable, sizeof cancellable) == 0)
        return number_of_caller(regs);
    if (memcmp(end - 1 - sizeof of_stack, of_stack, sizeof of_stack) == 0)
        return (long)word_at(regs[REG_RSP], (int8_t)end[-1]);
    if (memcmp(end - 1 - sizeof of_frame, of_frame, sizeof of_frame) == 0)
        return (long)word_at(regs[REG_RBP], (int8_t)end[-1]);
    return loaded_number(end);
}

/* ---- by the kernel ---- */

/* The registers that pt_tick_resume restores, in the order of its frame. The frame lies on the
 * host's stack below the red zone. */
static const uint8_t restored[] = {REG_R8,  REG_R9,  REG_R10, REG_R12, REG_R13, REG_R14,
                                   REG_R15, REG_RDI, REG_RSI, REG_RBP, REG_RBX, REG_RDX};
enum {
    RED_ZONE_BYTES = 128,
    FRAME_WORDS = 2 + sizeof restored, /* the mask of signals, the SYSCALL instruction's address */
    FRAME_BYTES = FRAME_WORDS * sizeof(uint64_t),
};

/* Restores the components of the FPU's state (0: those of FXSAVE), copies `words` to `frame`, and
 * makes `frame` the stack: unblocks signals, restores registers, and jumps to the SYSCALL
 * instruction. From pt_tick_window to before pt_tick_window_tail the stack pointer is `frame`. */
__attribute__((noreturn)) void pt_tick_resume(const uint64_t *words, uint64_t *frame,
                                              const void *fpu, uint64_t components);
extern const uint8_t pt_tick_window[], pt_tick_window_tail[];

/* clang-format off */
__asm__(".pushsection pt_passing,\"ax\",@progbits\n"
        ".hidden pt_tick_resume, pt_tick_window, pt_tick_window_tail\n"
        ".globl pt_tick_resume, pt_tick_window, pt_tick_window_tail\n"
        ".type pt_tick_resume, @function\n"
        ".type pt_tick_window, @function\n"
        "pt_tick_resume:\n"
        "    mov %rdx, %r8\n"
        "    mov %ecx, %eax\n"
        "    shr $32, %rcx\n"
        "    mov %ecx, %edx\n"
        "    test %eax, %eax\n"
        "    jz 1f\n"
        "    xrstor64 (%r8)\n"
        "    jmp 2f\n"
        "1:  fxrstor64 (%r8)\n"
        "2:  xchg %rdi, %rsi\n"
        "    mov $14, %ecx\n" /* FRAME_WORDS */
        "    cld\n"
        "    rep movsq\n"
        "    lea -112(%rdi), %rsp\n" /* FRAME_BYTES */
        "    jmp pt_tick_window\n"
        ".size pt_tick_resume, . - pt_tick_resume\n"
        ".cfi_startproc\n"
        ".cfi_signal_frame\n"
        ".cfi_def_cfa %rsp, 240\n" /* FRAME_BYTES + RED_ZONE_BYTES: the host's stack pointer */
        ".cfi_offset %rip, 8 - 240\n"
        ".cfi_offset %r12, 40 - 240\n"
        ".cfi_offset %r13, 48 - 240\n"
        ".cfi_offset %r14, 56 - 240\n"
        ".cfi_offset %r15, 64 - 240\n"
        ".cfi_offset %rbp, 88 - 240\n"
        ".cfi_offset %rbx, 96 - 240\n"
        "pt_tick_window:\n"
        "    mov $14, %eax\n" /* SYS_rt_sigprocmask */
        "    mov $2, %edi\n"  /* SIG_SETMASK */
        "    mov %rsp, %rsi\n"
        "    xor %edx, %edx\n"
        "    mov $8, %r10d\n" /* PT_KERNEL_MASK_BYTES */
        "    syscall\n"
        "    mov 8(%rsp), %r11\n"
        "    mov 16(%rsp), %r8\n"
        "    mov 24(%rsp), %r9\n"
        "    mov 32(%rsp), %r10\n"
        "    mov 40(%rsp), %r12\n"
        "    mov 48(%rsp), %r13\n"
        "    mov 56(%rsp), %r14\n"
        "    mov 64(%rsp), %r15\n"
        "    mov 72(%rsp), %rdi\n"
        "    mov 80(%rsp), %rsi\n"
        "    mov 88(%rsp), %rbp\n"
        "    mov 96(%rsp), %rbx\n"
        "    mov 104(%rsp), %rdx\n"
        "    mov $219, %eax\n" /* SYS_restart_syscall */
        "    lea 240(%rsp), %rsp\n"
        ".cfi_def_cfa %rsp, 0\n"
        ".cfi_register %rip, %r11\n"
        ".cfi_same_value %r12\n"
        ".cfi_same_value %r13\n"
        ".cfi_same_value %r14\n"
        ".cfi_same_value %r15\n"
        ".cfi_same_value %rbp\n"
        ".cfi_same_value %rbx\n"
        "pt_tick_window_tail:\n"
        "    jmp *%r11\n"
        ".cfi_endproc\n"
        ".size pt_tick_window, . - pt_tick_window\n"
        ".popsection\n");
/* clang-format on */
_Static_assert(FRAME_BYTES == 112 && FRAME_BYTES + RED_ZONE_BYTES == 240 &&
                   SYS_rt_sigprocmask == 14 && SYS_restart_syscall == 219,
               "numbers in the code above");

/* The components of the FPU's state in a signal's frame (struct _fpx_sw_bytes of the kernel's
 * asm/sigcontext.h). */
static uint64_t fpu_components(const void *fpu)
{
    enum { WORDS_AT = 464, MAGIC = 0x46505853 };
    struct {
        uint32_t magic, bytes;
        uint64_t components;
    } words;
    memcpy(&words, (const char *)fpu + WORDS_AT, sizeof words);
    return words.magic == MAGIC ? words.components : 0;
}

/* Has the thread a shadow stack? A handler that ends without rt_sigreturn would leave its entry
 * there. */
static bool has_shadow_stack(void)
{
    uint64_t pointer = 0;
    __asm__("rdsspq %0" : "+r"(pointer)); /* does nothing where there is none */
    return pointer != 0;
}

/* Leaves the handler and makes restart_syscall by the SYSCALL instruction at syscall_pc. Returns if
 * the handler can be left by rt_sigreturn only. */
static void resume_at(const ucontext_t *context, uint64_t syscall_pc)
{
    const greg_t *const regs = context->uc_mcontext.gregs;
    const void *const fpu = context->uc_mcontext.fpregs;
    const uintptr_t frame = (uintptr_t)regs[REG_RSP] - RED_ZONE_BYTES - FRAME_BYTES;
    const uintptr_t page = frame / PT_TICK_PAGE_BYTES;
    const bool leaves_page = page != (uintptr_t)regs[REG_RSP] / PT_TICK_PAGE_BYTES;
    const int saved_errno = errno;
    uint64_t words[FRAME_WORDS];
    /* Only rt_sigreturn gives back a signal stack with SS_AUTODISARM, which the signal took away.
     */
    if (fpu == NULL || ((unsigned)context->uc_stack.ss_flags & SS_AUTODISARM) != 0 ||
        has_shadow_stack() || (leaves_page && !pt_tick_ask_for_page(page))) {
        errno = saved_errno;
        return;
    }
    errno = saved_errno;
    memcpy(&words[0], &context->uc_sigmask, sizeof words[0]);
    words[1] = syscall_pc;
    for (unsigned i = 0; i < sizeof restored; i++)
        words[2 + i] = (uint64_t)regs[restored[i]];
    pt_tick_resume(words, (uint64_t *)frame, fpu, /* NOLINT(performance-no-int-to-ptr) */
                   fpu_components(fpu));
}

/* If this tick came after an earlier tick's handler and before the SYSCALL instruction to which
 * that handler jumped: leaves this handler to restart_syscall in the same way. Else returns. */
static void resume_again(const ucontext_t *context)
{
    const greg_t *const regs = context->uc_mcontext.gregs;
    const uintptr_t pc = pt_machine_context_pc(context), window = (uintptr_t)pt_tick_window;
    const uintptr_t tail = (uintptr_t)pt_tick_window_tail;
    if (pc - window < tail - window) {
        uint64_t *const frame =
            (uint64_t *)(uintptr_t)regs[REG_RSP]; /* NOLINT(performance-no-int-to-ptr) */
        const void *const fpu = context->uc_mcontext.fpregs;
        pt_tick_resume(frame, frame, fpu, fpu_components(fpu));
    }
    if (pc == tail) resume_at(context, (uint64_t)regs[REG_R11]);
    if (regs[REG_RAX] == SYS_restart_syscall && pc % PT_TICK_PAGE_BYTES != PT_TICK_PAGE_BYTES - 1 &&
        memcmp((const void *)pc, syscall_code, SYSCALL_BYTES) ==
            0) /* NOLINT(performance-no-int-to-ptr) */
        resume_at(context, pc);
}

/* Can the kernel go on with the call (restart_syscall)? Of futex and clock_nanosleep only with some
 * uses. */
static bool is_known_to_kernel(long number, const greg_t *regs)
{
    const int command = (int)regs[REG_RSI] & FUTEX_CMD_MASK;
    if (number == SYS_futex) return command == FUTEX_WAIT || command == FUTEX_WAIT_BITSET;
    if (number == SYS_clock_nanosleep) return (regs[REG_RSI] & TIMER_ABSTIME) == 0;
    return number == SYS_poll || number == SYS_nanosleep;
}

/* Has the interrupted stack room for the frame of pt_tick_resume? If the handler runs on a signal
 * stack, the host may run coroutines, whose stacks end anywhere. */
static bool has_room(const pt_thread *self, const ucontext_t *context)
{
    const uintptr_t sp = (uintptr_t)context->uc_mcontext.gregs[REG_RSP];
    const uintptr_t low = (uintptr_t)context->uc_stack.ss_sp, size = context->uc_stack.ss_size;
    const pt_tick_stack own = pt_tick_stack_of(self);
    const bool is_other = (uintptr_t)context - low < size && sp - low - 1 >= size;
    return !is_other || own.low == own.limit ||
           (sp < own.limit && sp > own.low && sp - own.low > RED_ZONE_BYTES + FRAME_BYTES);
}

/* ---- by another call ---- */

/* Notes the thread's clocks, and in wait->slept_ns how long the thread has slept, at least; 0 if
 * that is not known. */
static void note_moment(pt_tick_wait *wait)
{
    struct rusage usage = {0};
    const pt_tick_moment before = wait->now;
    PT_KERNEL(SYS_getrusage, RUSAGE_THREAD, &usage);
    wait->now = (pt_tick_moment){.wall_ns = pt_tick_clock_ns(CLOCK_MONOTONIC),
                                 .cpu_ns = pt_tick_clock_ns(CLOCK_THREAD_CPUTIME_ID),
                                 .sleeps = usage.ru_nvcsw,
                                 .preemptions = usage.ru_nivcsw};
    const bool has_slept_once = before.wall_ns != 0 && wait->now.sleeps == before.sleeps + 1 &&
                                wait->now.preemptions == before.preemptions;
    const int64_t slept_ns =
        (wait->now.wall_ns - before.wall_ns) - (wait->now.cpu_ns - before.cpu_ns);
    wait->slept_ns = has_slept_once && slept_ns > 0 ? slept_ns : 0;
}

/* Is this the call whose beginning pt_tick_wait_begins has noted, not far above on the stack? */
static bool is_begun(const pt_tick_wait *wait, const greg_t *regs, int64_t limit_ns)
{
    enum { FRAMES_BYTES = 1024 };
    return wait->begun_ns != 0 && wait->begun_limit_ns == limit_ns &&
           wait->begun_at - (uintptr_t)regs[REG_RSP] < FRAMES_BYTES;
}

/* The time that is left of a limit of limit_ns. goes_on: this wait is the same as at the last tick,
 * so its deadline is known. */
static int64_t left_of(pt_tick_wait *wait, const greg_t *regs, bool goes_on, int64_t limit_ns)
{
    note_moment(wait);
    const int64_t now = wait->now.wall_ns;
    const int64_t begin = is_begun(wait, regs, limit_ns) ? wait->begun_ns : now - wait->slept_ns;
    if (!goes_on && __builtin_add_overflow(begin, limit_ns, &wait->deadline_ns))
        wait->deadline_ns = INT64_MAX;
    return wait->deadline_ns > now ? wait->deadline_ns - now : 0;
}

/* Replaces a limit by the time that is left. The mark of a shortened limit is in the half of the
 * register that the kernel does not read. */
static void shorten_milliseconds(pt_tick_wait *wait, const greg_t *regs, greg_t *limit)
{
    const uint64_t mark = UINT64_C(0x7069746f) << 32;
    const int32_t ms = (int32_t)*limit;
    if (ms < 0) return;
    const bool goes_on = (uint64_t)*limit == (mark | (uint32_t)wait->left_ms);
    wait->left_ms =
        (int32_t)((left_of(wait, regs, goes_on, (int64_t)ms * 1000000) + 999999) / 1000000);
    *limit = (greg_t)(mark | (uint32_t)wait->left_ms);
}

/* Likewise. The mark of a shortened limit is its address, which is &wait->left. */
static void shorten_timespec(pt_tick_wait *wait, const greg_t *regs, greg_t *limit)
{
    const struct timespec *const asked =
        (const struct timespec *)(uintptr_t)*limit; /* NOLINT(performance-no-int-to-ptr) */
    int64_t limit_ns;
    if (asked == NULL) return;
    if (__builtin_mul_overflow((int64_t)asked->tv_sec, INT64_C(1000000000), &limit_ns) ||
        __builtin_add_overflow(limit_ns, asked->tv_nsec, &limit_ns))
        return;
    const int64_t left_ns = left_of(wait, regs, asked == &wait->left, limit_ns);
    wait->left = (struct timespec){.tv_sec = (time_t)(left_ns / 1000000000),
                                   .tv_nsec = (long)(left_ns % 1000000000)};
    *limit = (greg_t)(uintptr_t)&wait->left;
}

/* Is a signal of the host pending that the thread does not block? That signal's handler runs when
 * this handler ends. */
static bool has_other_signal(const ucontext_t *context)
{
    uint64_t pending = 0, blocked;
    memcpy(&blocked, &context->uc_sigmask, sizeof blocked);
    PT_KERNEL(SYS_rt_sigpending, &pending, sizeof pending);
    return (pending & ~blocked & ~(UINT64_C(1) << (pt_tick.signo - 1))) != 0;
}

static bool is_of_libc(uintptr_t pc)
{
    for (size_t i = 0; i < sizeof pt_tick.libc_code / sizeof pt_tick.libc_code[0]; i++)
        if (pc - pt_tick.libc_code[i].low < pt_tick.libc_code[i].limit - pt_tick.libc_code[i].low)
            return true;
    return false;
}

/* Replaces the call's time limit by the time that is left. A limit that is a point in time stays.
 */
static void shorten_limit(pt_tick_wait *wait, size_t row, greg_t *regs)
{
    greg_t *const limit = &regs[calls[row].limit];
    const long number = calls[row].number;
    const bool sleeps = number == SYS_clock_nanosleep;
    const greg_t rest = sleeps ? regs[REG_R10] : number == SYS_nanosleep ? regs[REG_RSI] : 0;
    if ((sleeps && (regs[REG_RSI] & TIMER_ABSTIME) != 0) ||
        (number == SYS_futex && ((int)regs[REG_RSI] & FUTEX_CMD_MASK) != FUTEX_WAIT))
        return;
    if (rest != 0)
        *limit = rest; /* where the kernel has written the time that is left */
    else if (calls[row].kind == MILLISECONDS)
        shorten_milliseconds(wait, regs, limit);
    else if (calls[row].kind == TIMESPEC)
        shorten_timespec(wait, regs, limit);
}

/* Is the time limit measured by a CPU clock? Only the kernel can keep such a limit. */
static bool is_of_cpu_clock(long number, const greg_t *regs)
{
    const int clock = (int)regs[REG_RDI];
    return number == SYS_clock_nanosleep && (regs[REG_RSI] & TIMER_ABSTIME) == 0 &&
           (clock < 0 || clock == CLOCK_PROCESS_CPUTIME_ID || clock == CLOCK_THREAD_CPUTIME_ID);
}

void pt_tick_wait_on(pt_thread *self, void *context)
{
    ucontext_t *const interrupted = context;
    greg_t *const regs = interrupted->uc_mcontext.gregs;
    const int saved_errno = errno;
    resume_again(interrupted);
    /* SYSCALL leaves the address of the next instruction in rcx. */
    if (regs[REG_RAX] != -EINTR || regs[REG_RCX] != regs[REG_RIP]) return;
    const uintptr_t pc = pt_machine_context_pc(interrupted);
    const long number = number_of_call(regs);
    errno = saved_errno;
    size_t row = 0;
    while (row < sizeof calls / sizeof calls[0] && calls[row].number != number)
        row++;
    if (row == sizeof calls / sizeof calls[0]) return;
    const bool is_known = is_known_to_kernel(number, regs);
    if (is_known && has_room(self, interrupted)) {
        resume_at(interrupted, pc - SYSCALL_BYTES);
        return;
    }
    if ((number == SYS_futex && !is_known) || is_of_cpu_clock(number, regs) || !is_of_libc(pc) ||
        (calls[row].kind == IN_PLACE && pt_tick.has_sticky_limits))
        return;
    greg_t *const limit = &regs[calls[row].limit];
    const greg_t whole_limit = *limit;
    shorten_limit(&self->wait, row, regs);
    if (has_other_signal(
            interrupted)) { /* tested last: a signal that comes later does not end the wait */
        *limit = whole_limit;
        return;
    }
    regs[REG_RAX] = number;
    regs[REG_RIP] -= SYSCALL_BYTES;
}

#else

void pt_tick_wait_on(pt_thread *self, void *context)
{
    (void)self;
    (void)context; /* aarch64 loses the call's first argument */
}

#endif
