/* ids.c: calls that change the user or group, or what the process may do, for all threads at once.
 *
 * libc makes each of its threads do the same system call, and ends the program when they do not
 * all get the same answer. Capabilities and filters are a thread's own: a program with one thread
 * that gives up what it may do, and then tries to change its user in vain, would be ended by our
 * threads, which still may. So they are not there while such a call is made; those that begin
 * afterwards are the caller's in all of that, too.
 *
 * Not in the static library: there our names could stand beside libc's own.
 */
#include "agent/agent.h"

#include <errno.h>
#include <grp.h>
#include <stdatomic.h>
#include <unistd.h>

static bool before(void)
{
    return pt_agent.pid == getpid() && pt_session_rest();
}

static int after(bool rested, int result)
{
    const int saved_errno = errno;
    if (rested) pt_session_go_on();
    errno = saved_errno;
    return result;
}

/* One of libc's functions, by this name. */
#define CHANGES_IDS(name, parameters, arguments)                                                   \
    typedef int name##_fn parameters;                                                              \
    static _Atomic(name##_fn *) next_##name;                                                       \
    static name##_fn *const second_##name = NULL;                                                  \
    PT_EXPORT int name parameters                                                                  \
    {                                                                                              \
        name##_fn *const next = PT_NEXT(name);                                                     \
        if (next == NULL) return errno = ENOSYS, -1;                                               \
        const bool rested = before();                                                              \
        return after(rested, next arguments);                                                      \
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
