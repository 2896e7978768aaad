/* spawn.c: calls by which a program starts others, allows a tracer, or gives up system calls.
 *
 * This file is not in the static library: the linker would find these names twice, in this file and
 * in libc. */
#include "agent/agent.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdatomic.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <unistd.h>

typedef int posix_spawn_fn(pid_t *, const char *, const posix_spawn_file_actions_t *,
                           const posix_spawnattr_t *, char *const[], char *const[]);
typedef posix_spawn_fn posix_spawnp_fn;
typedef long ptrace_fn(int, long, void *, void *);
static _Atomic(posix_spawn_fn *) next_posix_spawn;
static _Atomic(posix_spawnp_fn *) next_posix_spawnp;
static _Atomic(ptrace_fn *) next_ptrace;
static posix_spawn_fn *const second_posix_spawn = NULL;
static posix_spawnp_fn *const second_posix_spawnp = NULL;
static ptrace_fn *const second_ptrace = NULL;

PT_EXPORT int posix_spawn(pid_t *pid, const char *path, const posix_spawn_file_actions_t *actions,
                          const posix_spawnattr_t *attr, char *const argv[], char *const envp[])
{
    posix_spawn_fn *const next = PT_NEXT(posix_spawn);
    pt_enter_look(AT_FDCWD, path, false);
    return next != NULL ? next(pid, path, actions, attr, argv, envp) : ENOSYS;
}

PT_EXPORT int posix_spawnp(pid_t *pid, const char *file, const posix_spawn_file_actions_t *actions,
                           const posix_spawnattr_t *attr, char *const argv[], char *const envp[])
{
    posix_spawnp_fn *const next = PT_NEXT(posix_spawnp);
    pt_enter_look(AT_FDCWD, file, true);
    return next != NULL ? next(pid, file, actions, attr, argv, envp) : ENOSYS;
}

/* ptrace, by which a program may request a tracer, which would stop at ticks that come by SIGTRAP.
 */
PT_EXPORT long ptrace(enum __ptrace_request request, ...)
{
    va_list args;
    va_start(args, request);
    const long pid = va_arg(args, long);
    void *const addr = va_arg(args, void *);
    void *const data = va_arg(args, void *);
    va_end(args);
    ptrace_fn *const next = PT_NEXT(ptrace);
    if (request == PTRACE_TRACEME) pt_exec_will_be_traced();
    if (next != NULL) return next((int)request, pid, addr, data);
    errno = ENOSYS;
    return -1;
}

/* Before a filter of system calls is installed, the drain thread begins: the filter may end the
 * process for calls that only the library makes. The call is made as libc's wrapper makes it. */
PT_EXPORT int prctl(int option, ...)
{
    unsigned long word[4];
    va_list args;
    va_start(args, option);
    for (size_t i = 0; i < sizeof word / sizeof word[0]; i++)
        word[i] = va_arg(args, unsigned long);
    va_end(args);
    if (option == PR_SET_NO_NEW_PRIVS || option == PR_SET_SECCOMP) {
        const int saved_errno = errno;
        pt_session_wake();
        errno = saved_errno;
    }
    return (int)syscall(SYS_prctl, option, word[0], word[1], word[2], word[3]);
}

void pt_spawn_find_rest(void)
{
    (void)PT_NEXT(posix_spawn);
    (void)PT_NEXT(posix_spawnp);
    (void)PT_NEXT(ptrace);
}
