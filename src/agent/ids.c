/* ids.c: calls that change the user or the groups of all threads at once; and chroot.
 *
 * libc makes each of its threads do the same system call, and ends the program if the results
 * differ. Each thread has its own capabilities and filters. If a program with one thread gives up
 * its rights and then tries in vain to change its user, the same call would succeed in the
 * library's threads, and libc would end the program. So the library's threads are ended before such
 * a call, and begun after it with the rights of the caller. The listener stays if it has the
 * caller's rights, because its socket may lie in a place that cannot be reached any more.
 *
 * This file is not in the static library: its names could conflict with libc's own.
 */
#include "agent/agent.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The number of system call filters of a thread (proc(5)). -1: not known. */
static long filters_of(pid_t tid)
{
    static const char name[] = "\nSeccomp_filters:";
    char path[64], text[4096];
    snprintf(path, sizeof path, "/proc/self/task/%d/status", (int)tid);
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    const ssize_t got = fd >= 0 ? read(fd, text, sizeof text - 1) : 0;
    if (fd >= 0) close(fd);
    text[got > 0 ? got : 0] = '\0';
    const char *const line = strstr(text, name);
    return line != NULL ? strtol(line + sizeof name - 1, NULL, 10) : -1;
}

/* Has the thread the rights of the caller? A difference could make libc's calls give different
 * results. */
static bool may_what_caller_may(pid_t tid)
{
    struct {
        uint32_t version;
        int tid;
    } own = {_LINUX_CAPABILITY_VERSION_3, 0}, other = {_LINUX_CAPABILITY_VERSION_3, tid};
    uint32_t own_sets[6] = {0}, other_sets[6] = {1};
    if (syscall(SYS_capget, &own, own_sets) != 0 || syscall(SYS_capget, &other, other_sets) != 0 ||
        memcmp(own_sets, other_sets, sizeof own_sets) != 0)
        return false;
    const long filters = filters_of(pt_tick_gettid());
    return filters >= 0 ? filters == filters_of(tid) : prctl(PR_GET_SECCOMP, 0, 0, 0, 0) == 0;
}

typedef struct {
    bool session, listener, toggle;
} rested;

__attribute__((noinline)) static rested before(void)
{
    if (pt_agent.pid != pt_tick_getpid()) return (rested){0};
    const int saved_errno = errno;
    int cancel; /* the thread must not be cancelled in this function, which calls many cancellation
                 * points */
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
    const pid_t listens = pt_listen_tid();
    rested r = {.toggle = pt_toggle_rest()};
    r.listener = listens != 0 && !may_what_caller_may(listens) && pt_listen_rest();
    r.session = pt_session_rest();
    pthread_setcancelstate(cancel, NULL);
    errno = saved_errno;
    return r;
}

__attribute__((noinline)) static int after(rested r, int result)
{
    const int saved_errno = errno;
    int cancel;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
    if (r.session) pt_session_go_on();
    if (r.listener) pt_listen_go_on();
    if (r.toggle) pt_toggle_go_on();
    pthread_setcancelstate(cancel, NULL);
    errno = saved_errno;
    return result;
}

/* Defines one of libc's functions, under its name. */
#define CHANGES_IDS(name, parameters, arguments)                                                   \
    typedef int name##_fn parameters;                                                              \
    static _Atomic(name##_fn *) next_##name;                                                       \
    static name##_fn *const second_##name = NULL;                                                  \
    PT_EXPORT int name parameters                                                                  \
    {                                                                                              \
        name##_fn *const next = PT_NEXT(name);                                                     \
        if (next == NULL) return errno = ENOSYS, -1;                                               \
        const rested r = before();                                                                 \
        return after(r, next arguments);                                                           \
    }

CHANGES_IDS(setuid, (uid_t uid), (uid))
CHANGES_IDS(seteuid, (uid_t uid), (uid))
CHANGES_IDS(setreuid, (uid_t real, uid_t effective), (real, effective))
CHANGES_IDS(setresuid, (uid_t real, uid_t effective, uid_t saved), (real, effective, saved))
CHANGES_IDS(setgid, (gid_t gid), (gid))
CHANGES_IDS(setegid, (gid_t gid), (gid))
CHANGES_IDS(setregid, (gid_t real, gid_t effective), (real, effective))
CHANGES_IDS(setresgid, (gid_t real, gid_t effective, gid_t saved), (real, effective, saved))
CHANGES_IDS(setgroups, (size_t count, const gid_t *groups), (count, groups))
CHANGES_IDS(initgroups, (const char *user, gid_t group), (user, group))

/* ---- another root ---- */

typedef int chroot_fn(const char *path);
static _Atomic(chroot_fn *) next_chroot;
static chroot_fn *const second_chroot = NULL;

/* The mappings are read first: the new root may have no /proc. */
PT_EXPORT int chroot(const char *path)
{
    chroot_fn *const next = PT_NEXT(chroot);
    if (next == NULL) return errno = ENOSYS, -1;
    const int saved_errno = errno;
    pt_session_wake();
    errno = saved_errno;
    return next(path);
}
