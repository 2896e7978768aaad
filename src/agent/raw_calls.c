/* raw_calls.c: libc's syscall(). Runtimes of languages make system calls by number,
 * syscall(SYS_rt_sigaction, ...), and so would bypass the functions of libc that the library
 * replaces. Such a call must not remove the library's handler, and the next tick must not end the
 * host or the program after exec. All other system calls go on to libc's syscall unchanged, by a
 * jump, since some return twice.
 *
 * This file is not in the static library: there syscall is an object file of libc's own. */
#include "agent/agent.h"

#if defined(__x86_64__)

#include <errno.h>
#include <linux/seccomp.h>
#include <stdbool.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The kernel's struct: asm/signal.h. */
typedef struct {
    void *handler;
    unsigned long flags;
    void *restorer;
    uint64_t mask;
} kernel_sigaction;

typedef long syscall_fn(long, ...);

/* pt_bare_syscall makes the system call itself; it is used before the constructor has run and where
 * there is no other syscall(). */
extern syscall_fn pt_bare_syscall __attribute__((visibility("hidden")));
extern syscall_fn *pt_next_syscall __attribute__((visibility("hidden")));
syscall_fn *pt_next_syscall = pt_bare_syscall;

long pt_bare_syscall_failed(long error) __attribute__((visibility("hidden")));
long pt_syscall_rt_sigaction(long number, long signo, const kernel_sigaction *act,
                             kernel_sigaction *old, size_t mask_bytes)
    __attribute__((visibility("hidden")));

long pt_syscall_exec(long number, long a, long b, long c, long d, long e)
    __attribute__((visibility("hidden")));

long pt_syscall_seccomp(long number, long operation, long flags, void *filter)
    __attribute__((visibility("hidden")));

_Static_assert(SYS_rt_sigaction == 13 && SYS_execve == 59 && SYS_seccomp == 317 &&
                   SYS_execveat == 322,
               "the numbers below");
__asm__(".text\n"
        ".globl syscall\n"
        ".type syscall, @function\n"
        "syscall:\n"
        "    endbr64\n"
        "    cmp $13, %rdi\n"
        "    je pt_syscall_rt_sigaction\n"
        "    cmp $59, %rdi\n"
        "    je pt_syscall_exec\n"
        "    cmp $317, %rdi\n"
        "    je pt_syscall_seccomp\n"
        "    cmp $322, %rdi\n"
        "    je pt_syscall_exec\n"
        "    jmp *pt_next_syscall(%rip)\n"
        ".size syscall, . - syscall\n"
        ".hidden pt_bare_syscall\n"
        ".globl pt_bare_syscall\n"
        ".type pt_bare_syscall, @function\n"
        "pt_bare_syscall:\n"
        "    endbr64\n"
        "    mov %rdi, %rax\n"
        "    mov %rsi, %rdi\n"
        "    mov %rdx, %rsi\n"
        "    mov %rcx, %rdx\n"
        "    mov %r8, %r10\n"
        "    mov %r9, %r8\n"
        "    mov 8(%rsp), %r9\n"
        "    syscall\n"
        "    cmp $-4095, %rax\n"
        "    jae 1f\n"
        "    ret\n"
        "1:  mov %rax, %rdi\n"
        "    neg %rdi\n"
        "    jmp pt_bare_syscall_failed\n"
        ".size pt_bare_syscall, . - pt_bare_syscall\n");

long pt_bare_syscall_failed(long error)
{
    errno = (int)error;
    return -1;
}

static struct sigaction libc_s(const kernel_sigaction *from)
{
    struct sigaction to = {.sa_flags = (int)from->flags};
    memcpy(&to.sa_restorer, &from->restorer, sizeof from->restorer);
    memcpy(&to.sa_handler, &from->handler, sizeof from->handler);
    memcpy(&to.sa_mask, &from->mask, sizeof from->mask);
    return to;
}

static kernel_sigaction kernel_s(const struct sigaction *from)
{
    kernel_sigaction to = {.flags = (unsigned)from->sa_flags};
    memcpy(&to.restorer, &from->sa_restorer, sizeof to.restorer);
    memcpy(&to.handler, &from->sa_handler, sizeof to.handler);
    memcpy(&to.mask, &from->sa_mask, sizeof to.mask);
    return to;
}

/* Can the kernel read *act? The kernel reads a new action before it checks the signal's number, and
 * there is no signal 0. */
static bool can_be_read(const kernel_sigaction *act)
{
    const int saved_errno = errno;
    pt_bare_syscall(SYS_rt_sigaction, 0, act, NULL, sizeof act->mask);
    const bool is_bad = errno == EFAULT;
    errno = saved_errno;
    return !is_bad;
}

/* Can the kernel write to *old? Finds out by requesting the signal's present action there. */
static bool can_be_written(long signo, kernel_sigaction *old)
{
    return pt_bare_syscall(SYS_rt_sigaction, signo, NULL, old, sizeof old->mask) == 0;
}

static int set_raw(int signo, const struct sigaction *act, struct sigaction *old)
{
    kernel_sigaction wanted = {0}, before;
    if (act != NULL) wanted = kernel_s(act);
    if (pt_next_syscall(SYS_rt_sigaction, signo, act != NULL ? &wanted : NULL, &before,
                        sizeof wanted.mask) != 0)
        return -1;
    if (old != NULL) *old = libc_s(&before);
    return 0;
}

/* rt_sigaction for a host that calls it by number. Checks in the kernel's order: a bad `act`
 * changes nothing; a bad `old` fails after the change. */
long pt_syscall_rt_sigaction(long number, long signo, const kernel_sigaction *act,
                             kernel_sigaction *old, size_t mask_bytes)
{
    if (mask_bytes != sizeof act->mask || pt_tick_getpid() != pt_agent.pid)
        return pt_next_syscall(number, signo, act, old, mask_bytes);
    if (act != NULL && !can_be_read(act)) return pt_bare_syscall_failed(EFAULT);
    const struct sigaction wanted = act != NULL ? libc_s(act) : (struct sigaction){0};
    struct sigaction before;
    if (pt_signal_set((int)signo, act != NULL ? &wanted : NULL, &before, set_raw) != 0) return -1;
    if (old == NULL) return 0;
    if (!can_be_written(signo, old)) return -1;
    *old = kernel_s(&before);
    return 0;
}

long pt_syscall_exec(long number, long a, long b, long c, long d, long e)
{
    const bool paused = pt_exec_begins();
    return pt_exec_failed(paused, (int)pt_next_syscall(number, a, b, c, d, e));
}

/* A filter for all threads also applies to the library's. The keeper opens no more events, since
 * the filter may end the process for that. */
long pt_syscall_seccomp(long number, long operation, long flags, void *filter)
{
    const int saved_errno = errno;
    if (operation == SECCOMP_SET_MODE_FILTER && (flags & SECCOMP_FILTER_FLAG_TSYNC) != 0)
        pt_session_keep_periods();
    errno = saved_errno;
    return pt_next_syscall(number, operation, flags, filter);
}

__attribute__((constructor)) static void find_next(void)
{
    syscall_fn *const next = (syscall_fn *)(uintptr_t)pt_find_next("syscall", NULL);
    if (next != NULL) pt_next_syscall = next;
}

#endif
