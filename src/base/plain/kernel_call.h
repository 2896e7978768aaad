/* kernel_call.h: system calls by an instruction in the caller's own code, for code that runs in
 * every process and in every child of fork. libc's wrappers lie in many pages of code, and the
 * first use of each page costs such a process a page fault. A task that shares the thread-local
 * data of another thread also uses these functions, since they do not change errno. Other code, and
 * machines without a row in this file, use libc's wrappers.
 */
#pragma once

#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The kernel's answer; -errno if the call failed. errno itself does not change. */
static inline __attribute__((always_inline)) long pt_kernel(long number, long a, long b, long c,
                                                            long d, long e, long f)
{
#if defined(__x86_64__)
    long result;
    register long r10 __asm__("r10") = d;
    register long r8 __asm__("r8") = e;
    register long r9 __asm__("r9") = f;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                     : "rcx", "r11", "memory");
    return result;
#else
    const int saved_errno = errno;
    const long result = syscall(number, a, b, c, d, e, f);
    const int error = errno;
    errno = saved_errno;
    return result == -1 ? -error : result;
#endif
}

/* A call with up to six arguments, numbers or pointers. */
#define PT_KERNEL(...) PT_KERNEL_6(__VA_ARGS__, 0, 0, 0, 0, 0, 0)
#define PT_KERNEL_6(number, a, b, c, d, e, f, ...)                                                 \
    pt_kernel((number), (long)(a), (long)(b), (long)(c), (long)(d), (long)(e), (long)(f))

enum { PT_KERNEL_MASK_BYTES = 8 }; /* at the beginning of a sigset_t */

/* Sets the thread's signal mask and returns the former one; either argument may be NULL. */
static inline __attribute__((always_inline)) void pt_kernel_set_mask(const sigset_t *mask,
                                                                     sigset_t *ret_before)
{
    PT_KERNEL(SYS_rt_sigprocmask, SIG_SETMASK, mask, ret_before, PT_KERNEL_MASK_BYTES);
}

/* All signals but the two by which libc cancels threads and changes their user (NPTL's). */
static inline sigset_t pt_kernel_most_signals(void)
{
    enum { FIRST_OF_LIBC = 32 };
    const uint64_t most = ~(UINT64_C(3) << (FIRST_OF_LIBC - 1));
    sigset_t set;
    __builtin_memset(&set, 0xff, sizeof set);
    __builtin_memcpy(&set, &most, sizeof most);
    return set;
}
