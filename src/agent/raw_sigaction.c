/* raw_sigaction.c: a host that sets its signals' actions by syscall(SYS_rt_sigaction, ...), past
 * sigaction: runtimes of languages do. Like that one, it must neither lose our handler nor be ended
 * by the next tick. All other system calls go on to libc's syscall as they are, by a jump, for some
 * return twice.
 *
 * Not in the static library, where libc's own syscall is another object's.
 */
#include "agent/agent.h"

#if defined(__x86_64__)

#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* As the kernel has it: asm/signal.h. */
typedef struct {
    void *handler;
    unsigned long flags;
    void *restorer;
    uint64_t mask;
} kernel_sigaction;

typedef long syscall_fn(long, ...);

/* Before our constructor has run, and where there is no other: the system call itself. */
extern syscall_fn pt_bare_syscall __attribute__((visibility("hidden")));
extern syscall_fn *pt_next_syscall __attribute__((visibility("hidden")));
syscall_fn *pt_next_syscall = pt_bare_syscall;

long pt_bare_syscall_failed(long error) __attribute__((visibility("hidden")));
long pt_syscall_rt_sigaction(long number, long signo, const kernel_sigaction *act,
                             kernel_sigaction *old, size_t mask_bytes)
    __attribute__((visibility("hidden")));

_Static_assert(SYS_rt_sigaction == 13, "the number below");
__asm__(".text\n"
        ".globl syscall\n"
        ".type syscall, @function\n"
        "syscall:\n"
        "    endbr64\n"
        "    cmp $13, %rdi\n"
        "    je pt_syscall_rt_sigaction\n"
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
    memcpy(&to.sa_handler, &from->handler, sizeof from->handler);
    memcpy(&to.sa_mask, &from->mask, sizeof from->mask);
    return to;
}

static kernel_sigaction kernel_s(const struct sigaction *from)
{
    kernel_sigaction to = {.flags = (unsigned long)from->sa_flags};
    memcpy(&to.handler, &from->sa_handler, sizeof to.handler);
    memcpy(&to.mask, &from->sa_mask, sizeof to.mask);
    return to;
}

long pt_syscall_rt_sigaction(long number, long signo, const kernel_sigaction *act,
                             kernel_sigaction *old, size_t mask_bytes)
{
    if (mask_bytes != sizeof act->mask || !pt_signal_is_ours((int)signo))
        return pt_next_syscall(number, signo, act, old, mask_bytes);
    const struct sigaction wanted = act != NULL ? libc_s(act) : (struct sigaction){0};
    struct sigaction before;
    sigaction((int)signo, act != NULL ? &wanted : NULL, &before);
    if (old != NULL) *old = kernel_s(&before);
    return 0;
}

__attribute__((constructor)) static void find_next(void)
{
    syscall_fn *const next = (syscall_fn *)(uintptr_t)dlsym(RTLD_NEXT, "syscall");
    if (next != NULL) pt_next_syscall = next;
}

#endif
