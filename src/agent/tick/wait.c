/* wait.c: a wait that a tick of the clock on the wall interrupted goes on, as if no signal had
 * come.
 *
 * The kernel ends some system calls with EINTR when a handler has run, whatever SA_RESTART says
 * (signal(7)). The handler's context then lies behind the SYSCALL instruction with -EINTR in rax;
 * the arguments are still in their registers. The number of the call is in the instruction before:
 * libc's wrappers load it into eax. So the context is set back to the SYSCALL instruction. A time
 * limit that the kernel does not shorten itself becomes the time that is left.
 *
 * The kernel does not say when the call began. If the thread has slept once since its tick before,
 * and was not driven off its CPU, it has slept for all the time that its CPU clock does not have.
 * Otherwise the limit counts from this tick, so that the wait is at most a period too long.
 *
 * A wait keeps its EINTR if a signal of the host is pending, too, or its call is not in the table.
 */
#include <errno.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <ucontext.h>

#include "agent/tick/kernel.h"
#include "agent/tick/tick_int.h"
#include "machine/context.h"

#if defined(__x86_64__)

/* What becomes of the call's time limit. */
typedef enum {
    NO_LIMIT,     /* there is none, or the kernel has shortened it in place */
    MILLISECONDS, /* an int; negative: no limit */
    TIMESPEC,     /* the address of a struct timespec; NULL: no limit */
    SLEEP,        /* the same, or absolute by its flags; the rest of it is in another struct */
    FUTEX,        /* the same, absolute for FUTEX_WAIT_BITSET */
} limit_kind;

/* limit: the register of the time limit. */
static const struct {
    uint16_t number;
    uint8_t kind, limit;
} calls[] = {
    {SYS_poll, MILLISECONDS, REG_RDX},
    {SYS_ppoll, NO_LIMIT, 0},
    {SYS_select, NO_LIMIT, 0},
    {SYS_pselect6, NO_LIMIT, 0},
    {SYS_epoll_wait, MILLISECONDS, REG_R10},
    {SYS_epoll_pwait, MILLISECONDS, REG_R10},
#ifdef SYS_epoll_pwait2
    {SYS_epoll_pwait2, TIMESPEC, REG_R10},
#endif
    {SYS_pause, NO_LIMIT, 0},
    {SYS_rt_sigsuspend, NO_LIMIT, 0},
    {SYS_rt_sigtimedwait, TIMESPEC, REG_RDX},
    {SYS_nanosleep, SLEEP, REG_RDI},
    {SYS_clock_nanosleep, SLEEP, REG_RDX},
    {SYS_semop, NO_LIMIT, 0},
    {SYS_semtimedop, TIMESPEC, REG_R10},
    {SYS_msgrcv, NO_LIMIT, 0},
    {SYS_msgsnd, NO_LIMIT, 0},
    {SYS_io_getevents, TIMESPEC, REG_R8},
    {SYS_futex, FUTEX, REG_R10},
};

/* The number of the call that was interrupted, from "mov $NUMBER, %eax; syscall"; -1: it cannot be
 * known. */
static long call_before(uintptr_t behind)
{
    enum { CODE_BYTES = 7, SMALLEST_PAGE = 4096 };
    static const uint8_t syscall_code[] = {0x0f, 0x05};
    const uint8_t *const pc = (const uint8_t *)behind; /* NOLINT(performance-no-int-to-ptr) */
    int32_t number;
    if (behind % SMALLEST_PAGE < CODE_BYTES) return -1; /* the page before may not be there */
    if (memcmp(pc - 2, syscall_code, sizeof syscall_code) != 0 || pc[-7] != 0xb8) return -1;
    memcpy(&number, pc - 6, sizeof number);
    return number;
}

static int64_t clock_ns(clockid_t clock)
{
    struct timespec now = {0};
    clock_gettime(clock, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* Notes the thread's clocks. Finds out for how long it has slept, at least. */
static void note_moment(pt_tick_wait *wait)
{
    struct rusage usage = {0};
    const pt_tick_moment before = wait->now;
    PT_KERNEL(SYS_getrusage, RUSAGE_THREAD, &usage);
    wait->now = (pt_tick_moment){.wall_ns = clock_ns(CLOCK_MONOTONIC),
                                 .cpu_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID),
                                 .sleeps = usage.ru_nvcsw,
                                 .preemptions = usage.ru_nivcsw};
    const bool has_slept_once = before.wall_ns != 0 && wait->now.sleeps == before.sleeps + 1 &&
                                wait->now.preemptions == before.preemptions;
    const int64_t slept_ns =
        (wait->now.wall_ns - before.wall_ns) - (wait->now.cpu_ns - before.cpu_ns);
    wait->slept_ns = has_slept_once && slept_ns > 0 ? slept_ns : 0;
}

/* The time that is left of a limit of limit_ns: of the same wait as at the last tick, if `goes_on`.
 */
static int64_t left_of(pt_tick_wait *wait, bool goes_on, int64_t limit_ns)
{
    const int64_t now = wait->now.wall_ns;
    if (!goes_on && __builtin_add_overflow(now - wait->slept_ns, limit_ns, &wait->deadline_ns))
        wait->deadline_ns = INT64_MAX;
    return wait->deadline_ns > now ? wait->deadline_ns - now : 0;
}

static void shorten_milliseconds(pt_tick_wait *wait, bool is_same_place, greg_t *limit)
{
    const int32_t ms = (int32_t)*limit;
    if (ms < 0) return;
    const bool goes_on = is_same_place && ms == wait->left_ms;
    wait->left_ms = (int32_t)((left_of(wait, goes_on, (int64_t)ms * 1000000) + 999999) / 1000000);
    *limit = wait->left_ms;
}

static void shorten_timespec(pt_tick_wait *wait, bool is_same_place, greg_t *limit)
{
    const struct timespec *const asked =
        (const struct timespec *)(uintptr_t)*limit; /* NOLINT(performance-no-int-to-ptr) */
    int64_t limit_ns;
    if (asked == NULL) return;
    if (__builtin_mul_overflow((int64_t)asked->tv_sec, INT64_C(1000000000), &limit_ns) ||
        __builtin_add_overflow(limit_ns, asked->tv_nsec, &limit_ns))
        return;
    const int64_t left_ns = left_of(wait, is_same_place && asked == &wait->left, limit_ns);
    wait->left = (struct timespec){.tv_sec = (time_t)(left_ns / 1000000000),
                                   .tv_nsec = (long)(left_ns % 1000000000)};
    *limit = (greg_t)(uintptr_t)&wait->left;
}

/* The kernel has written what is left where the caller asked for it, if it did. */
static void shorten_sleep(pt_tick_wait *wait, bool is_same_place, long number, greg_t *regs,
                          greg_t *limit)
{
    const bool is_absolute = number == SYS_clock_nanosleep && (regs[REG_RSI] & TIMER_ABSTIME) != 0;
    const greg_t rest = number == SYS_nanosleep ? regs[REG_RSI] : regs[REG_R10];
    if (is_absolute) return;
    if (rest != 0)
        *limit = rest;
    else
        shorten_timespec(wait, is_same_place, limit);
}

/* A signal that the thread does not block waits for the end of this handler. */
static bool has_other_signal(const ucontext_t *context)
{
    uint64_t pending = 0, blocked;
    memcpy(&blocked, &context->uc_sigmask, sizeof blocked);
    PT_KERNEL(SYS_rt_sigpending, &pending, sizeof pending);
    return (pending & ~blocked & ~(UINT64_C(1) << (pt_tick.signo - 1))) != 0;
}

void pt_tick_wait_on(pt_tick_wait *wait, void *context)
{
    enum { WAIT_BITSET = 9, COMMAND = 0x7f, SYSCALL_BYTES = 2 };
    ucontext_t *const interrupted = context;
    greg_t *const regs = interrupted->uc_mcontext.gregs;
    const uintptr_t pc = pt_machine_context_pc(interrupted);
    note_moment(wait);
    /* SYSCALL leaves the address behind it in rcx. */
    if (regs[REG_RAX] != -EINTR || regs[REG_RCX] != regs[REG_RIP]) return;
    const long number = call_before(pc);
    size_t row = 0;
    while (row < sizeof calls / sizeof calls[0] && calls[row].number != number)
        row++;
    if (row == sizeof calls / sizeof calls[0] || has_other_signal(interrupted)) return;
    const bool is_same_place = wait->pc == pc && wait->sp == (uintptr_t)regs[REG_RSP];
    greg_t *const limit = &regs[calls[row].limit];
    if (calls[row].kind == MILLISECONDS)
        shorten_milliseconds(wait, is_same_place, limit);
    else if (calls[row].kind == TIMESPEC)
        shorten_timespec(wait, is_same_place, limit);
    else if (calls[row].kind == SLEEP)
        shorten_sleep(wait, is_same_place, number, regs, limit);
    else if (calls[row].kind == FUTEX && (regs[REG_RSI] & COMMAND) != WAIT_BITSET)
        shorten_timespec(wait, is_same_place, limit);
    wait->pc = pc;
    wait->sp = (uintptr_t)regs[REG_RSP];
    regs[REG_RAX] = number;
    regs[REG_RIP] -= SYSCALL_BYTES;
}

#else

void pt_tick_wait_on(pt_tick_wait *wait, void *context)
{
    (void)wait;
    (void)context; /* aarch64 loses the call's first argument */
}

#endif
