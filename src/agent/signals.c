/* signals.c: the signals of ticks. The host must not remove the library's handler, nor be ended by
 * a tick.
 *
 * The action that the host believes is installed is kept in pt_tick.host; the library's handler
 * stays. A host that sets every signal to its default (many hosts do so before exec, or at start)
 * must not be ended by the next tick. A host that installs a handler (bash does so for every signal
 * that could end it) gets every signal that is no tick. */
#include "agent/agent.h"

#include <errno.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

typedef pt_sigaction_fn sigaction_fn;
typedef sighandler_t signal_fn(int, sighandler_t);
typedef signal_fn __sysv_signal_fn;
typedef int sigtimedwait_fn(const sigset_t *, siginfo_t *, const struct timespec *);
PT_SECOND_NAME(sigaction, "__sigaction");
PT_SECOND_NAME(sigtimedwait, "__sigtimedwait");
__asm__(".hidden __sigtimedwait"); /* a shared libc's is private */
PT_SECOND_NAME(signal, "__bsd_signal");
PT_SECOND_NAME(__sysv_signal, "sysv_signal");

/* The signals that the library has taken: pt_tick.signo, then SIGTRAP, as in pt_tick.host. */
static struct {
    int signo; /* 0: not taken; else the library's handler is installed */
    struct sigaction as_host;
} ours[2];

int pt_real_sigaction(int signo, const struct sigaction *act, struct sigaction *old)
{
    sigaction_fn *const next = PT_NEXT(sigaction);
    if (next == NULL) {
        errno = ENOSYS;
        return -1;
    }
    return next(signo, act, old);
}

static bool is_handler(const struct sigaction *act)
{
    return act->sa_handler != SIG_DFL && act->sa_handler != SIG_IGN;
}

/* ---- handlers of the host leave ticks alone ---- */

/* A handler of the host may block the tick's signal. A tick then comes when the handler ends. That
 * tick seems to have interrupted the wait that the handler's signal had ended, so the wait would go
 * on (tick/wait.c). Therefore the tick's signal is removed from the masks of the host's handlers.
 * If the host installs a handler for the tick's signal itself, the masks are put back, since that
 * handler must not interrupt the host's other handlers. */
static bool frees_ticks;

/* The functions that set actions hold this mutex, with most signals blocked, so that no handler
 * runs between reading an action and replacing that action. */
static pt_agent_mutex setting;

typedef struct {
    sighandler_t handler;
    int flags;
    uint64_t mask; /* bit 0 is signal 1 */
} action;

/* By signal: the action installed in place of a host's action that blocks the tick's signal. If the
 * kernel has another action, the host has set that action without the functions below. */
static PT_FAR action freed[NSIG];

static uint64_t bit_of(int signo)
{
    return UINT64_C(1) << (signo - 1);
}

static action action_of(const struct sigaction *act)
{
    enum {
        SA_RESTORER_BIT = 0x04000000
    }; /* libc sets SA_RESTORER; siginterrupt(3) changes
        * SA_RESTART */
    action a = {.handler = act->sa_handler,
                .flags = act->sa_flags & ~(SA_RESTORER_BIT | SA_RESTART)};
    memcpy(&a.mask, &act->sa_mask, sizeof a.mask);  /* the kernel's words lie at its beginning */
    a.mask &= ~(bit_of(SIGKILL) | bit_of(SIGSTOP)); /* as in the kernel */
    return a;
}

static bool is_same(action a, action b)
{
    return a.handler == b.handler && a.flags == b.flags && a.mask == b.mask;
}

/* May a tick come while the host's handler runs? Not if the handler runs on a signal stack, which
 * may be just large enough for the handler. */
static bool may_be_freed(const struct sigaction *act)
{
    return frees_ticks && is_handler(act) && act->sa_sigaction != pt_tick_handler &&
           sigismember(&act->sa_mask, pt_tick.signo) == 1 && (act->sa_flags & SA_ONSTACK) == 0 &&
           !is_handler(&ours[0].as_host);
}

/* The action with the tick's signal removed from its mask, if ticks may interrupt its handler. */
static struct sigaction without_ticks(const struct sigaction *act)
{
    struct sigaction changed = *act;
    if (may_be_freed(act)) sigdelset(&changed.sa_mask, pt_tick.signo);
    return changed;
}

/* Replaces an action that the kernel reported by the host's own action. */
static void show_as_host(int signo, struct sigaction *act)
{
    if (is_handler(act) && is_same(action_of(act), freed[signo]))
        sigaddset(&act->sa_mask, pt_tick.signo);
}

static void note_freed(int signo, const struct sigaction *wanted, const struct sigaction *put)
{
    const action a = action_of(put);
    freed[signo] = is_same(action_of(wanted), a) ? (action){0} : a;
}

/* Removes the tick's signal from the mask of a host's handler, or puts the signal back. */
static void settle_mask(int signo)
{
    struct sigaction now, wanted, put, replaced;
    if (pt_real_sigaction(signo, NULL, &now) != 0 || !is_handler(&now)) return;
    wanted = now;
    show_as_host(signo, &wanted);
    put = without_ticks(&wanted);
    if (is_same(action_of(&put), action_of(&now))) return;
    while (pt_real_sigaction(signo, &put, &replaced) == 0) {
        note_freed(signo, &wanted, &put);
        if (is_same(action_of(&replaced), action_of(&now))) return;
        now = put; /* the host has set another action without these functions: that action is
                    * installed again */
        wanted = put = replaced;
    }
}

static pt_caller begin_setting(void)
{
    pt_caller caller;
    pt_agent_be_undisturbed(&caller);
    pt_agent_mutex_take(&setting, PT_AGENT_FOR_EVER);
    return caller;
}

static void end_setting(const pt_caller *caller)
{
    pt_agent_mutex_give(&setting);
    pt_agent_be_as_before(caller);
}

static void settle_masks(void)
{
    const pt_caller caller = begin_setting();
    for (int signo = 1; signo < NSIG; signo++)
        settle_mask(signo);
    end_setting(&caller);
}

void pt_signals_free_ticks(void)
{
    frees_ticks = true;
    settle_masks();
}

PT_NEAR void pt_signals_after_fork(void)
{
    PT_SET(setting.state, 0); /* another thread may have held the mutex in the parent */
}

/* sigaction for a signal that the library does not use. act and old may be the same. */
static int set_free(int signo, const struct sigaction *act, struct sigaction *old,
                    pt_sigaction_fn *real)
{
    if (signo < 1 || signo >= NSIG || pt_tick_getpid() != pt_agent.pid)
        return real(signo, act, old);
    pt_caller caller = begin_setting();
    struct sigaction wanted = {0}, put = {0};
    if (act != NULL) {
        wanted = *act;
        put = without_ticks(&wanted);
    }
    const int result = real(signo, act != NULL ? &put : NULL, old);
    if (result == 0 && old != NULL) show_as_host(signo, old);
    if (result == 0 && act != NULL) note_freed(signo, &wanted, &put);
    if (result != 0) caller.error = errno;
    end_setting(&caller);
    return result;
}

bool pt_signal_is_free(int signo)
{
    struct sigaction now;
    return signo == ours[0].signo || signo == ours[1].signo ||
           (pt_real_sigaction(signo, NULL, &now) == 0 && !is_handler(&now));
}

static void note_host(size_t i, const struct sigaction *act)
{
    const bool has_info = is_handler(act) && (act->sa_flags & SA_SIGINFO) != 0;
    const bool was_handler = is_handler(&ours[i].as_host);
    pt_tick_host *const host = &pt_tick.host[i];
    uint64_t mask;
    memcpy(&mask, &act->sa_mask, sizeof mask);
    if ((act->sa_flags & SA_NODEFER) == 0) mask |= bit_of(i == 0 ? pt_tick.signo : SIGTRAP);
    ours[i].as_host = *act;
    if (frees_ticks && is_handler(act) != was_handler) settle_masks();
    atomic_store(&host->mask, mask);
    atomic_store(&host->action, has_info ? act->sa_sigaction : NULL);
    atomic_store(&host->handler, !has_info && is_handler(act) ? act->sa_handler : NULL);
    atomic_store(&host->is_ignored, act->sa_handler == SIG_IGN);
    atomic_store(&host->is_once, (act->sa_flags & (int)SA_RESETHAND) != 0);
}

static bool install_handler(int signo)
{
    struct sigaction act = {.sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK};
    act.sa_sigaction = pt_tick_handler;
    /* All signals, also libc's own two, which sigfillset leaves out: if the thread were cancelled
     * in the handler, its slot would be busy for ever. */
    memset(&act.sa_mask, 0xff, sizeof act.sa_mask);
    return pt_real_sigaction(signo, &act, NULL) == 0;
}

bool pt_signal_take(int signo)
{
    const size_t i = signo != pt_tick.signo;
    struct sigaction now;
    if (ours[i].signo != 0) return true;
    if (pt_real_sigaction(signo, NULL, &now) != 0 || is_handler(&now)) return false;
    note_host(i, &now);
    if (!install_handler(signo)) return false;
    ours[i].signo = signo;
    return true;
}

/* If a signal is set to be ignored, the system discards a pending signal of that number (POSIX
 * 2.4.3). */
void pt_signals_forget_pending(void)
{
    static const struct sigaction ignore = {.sa_handler = SIG_IGN};
    for (size_t i = 0; i < 2; i++) {
        struct sigaction act;
        if (ours[i].signo == 0) continue;
        pt_real_sigaction(ours[i].signo, &ignore, &act);
        pt_real_sigaction(ours[i].signo, &act, NULL);
    }
}

/* The host may have replaced the handler without libc's functions or syscall(), by an instruction
 * of its own. If a POSIX timer's signal is ignored, Linux stops the timer, and starts the timer
 * again only after SIG_IGN, not after a default action that ignores the signal (do_sigaction in
 * kernel/signal.c, 6.13 and later). */
void pt_signals_keep(void)
{
    static const struct sigaction ignore = {.sa_handler = SIG_IGN};
    for (size_t i = 0; i < 2; i++) {
        struct sigaction now;
        if (ours[i].signo == 0 || pt_real_sigaction(ours[i].signo, NULL, &now) != 0 ||
            ((now.sa_flags & SA_SIGINFO) != 0 && now.sa_sigaction == pt_tick_handler))
            continue;
        note_host(i, &now);
        pt_real_sigaction(ours[i].signo, &ignore, NULL);
        install_handler(ours[i].signo);
    }
}

/* Unblocks the signals of ticks in the calling thread. */
void pt_signals_allow(void)
{
    sigset_t set, before;
    unsigned was_blocked = 0;
    sigemptyset(&set);
    for (size_t i = 0; i < 2; i++)
        if (ours[i].signo != 0) sigaddset(&set, ours[i].signo);
    /* Noted before a signal can come. */
    sigprocmask(SIG_SETMASK, NULL, &before);
    for (size_t i = 0; i < 2; i++)
        if (ours[i].signo != 0 && sigismember(&before, ours[i].signo) == 1) was_blocked |= 1U << i;
    if (pt_tick_self != NULL) atomic_fetch_or(&pt_tick_self->was_blocked, was_blocked);
    sigprocmask(SIG_UNBLOCK, &set, NULL);
}

/* ---- what the host calls ---- */

bool pt_signal_is_ours(int signo)
{
    return signo != 0 && (signo == ours[0].signo || signo == ours[1].signo) &&
           pt_tick_getpid() == pt_agent.pid;
}

int pt_signal_set(int signo, const struct sigaction *act, struct sigaction *old,
                  pt_sigaction_fn *real)
{
    if (!pt_signal_is_ours(signo)) return set_free(signo, act, old, real);
    const size_t i = signo != ours[0].signo;
    pt_caller caller;
    pt_agent_lock(&caller);
    const struct sigaction before = ours[i].as_host;
    if (act != NULL) note_host(i, act);
    if (old != NULL) *old = before;
    pt_agent_unlock(&caller);
    return 0;
}

PT_EXPORT int sigaction(int signo, const struct sigaction *act, struct sigaction *old)
{
    return pt_signal_set(signo, act, old, pt_real_sigaction);
}

/* `signal` for both semantics. For a signal that the library does not use, libc's function sets the
 * handler: its mask holds no other signal, so there is nothing to remove from the mask. */
static sighandler_t set_handler(signal_fn *next, int signo, sighandler_t handler, int flags)
{
    if (next != NULL && pt_tick_getpid() != pt_agent.pid) return next(signo, handler);
    if (next != NULL && !pt_signal_is_ours(signo)) {
        pt_caller caller = begin_setting();
        const sighandler_t old = next(signo, handler);
        if (old == SIG_ERR) caller.error = errno;
        end_setting(&caller);
        return old;
    }
    struct sigaction act = {.sa_flags = flags}, old;
    act.sa_handler = handler;
    sigemptyset(&act.sa_mask);
    if ((flags & SA_NODEFER) == 0) sigaddset(&act.sa_mask, signo);
    return sigaction(signo, &act, &old) != 0 ? SIG_ERR : old.sa_handler;
}

PT_EXPORT sighandler_t signal(int signo, sighandler_t handler)
{
    return set_handler(PT_NEXT(signal), signo, handler, SA_RESTART); /* signal(2): BSD semantics */
}

/* `signal` of a program compiled for System V or X/Open. */
PT_EXPORT sighandler_t __sysv_signal(int signo, sighandler_t handler)
{
    return set_handler(PT_NEXT(__sysv_signal), signo, handler, (int)SA_RESETHAND | SA_NODEFER);
}

/* ---- what the host waits for ---- */

/* sigtimedwait of the host, which a tick does not end: a tick may be pending in the thread when the
 * wait begins. */
PT_PASSING static int timed_wait(const sigset_t *set, siginfo_t *ret_info,
                                 const struct timespec *timeout)
{
    sigtimedwait_fn *const next = PT_NEXT(sigtimedwait);
    const uint64_t until_ns = timeout == NULL ? 0
                                              : pt_agent_clock_ns(CLOCK_MONOTONIC) +
                                                    (uint64_t)timeout->tv_sec * 1000000000 +
                                                    (uint64_t)timeout->tv_nsec;
    struct timespec left = timeout != NULL ? *timeout : (struct timespec){0};
    for (;;) {
        siginfo_t info;
        if (timeout != NULL)
            pt_tick_wait_begins(
                (int64_t)((uint64_t)left.tv_sec * 1000000000 + (uint64_t)left.tv_nsec));
        const int signo = next(set, &info, timeout != NULL ? &left : NULL);
        pt_tick_wait_ended();
        const bool is_ours = signo > 0 && pt_signal_is_ours(signo);
        if (!is_ours || !pt_tick_is_tick(signo, &info)) {
            if (signo > 0 && ret_info != NULL) *ret_info = info;
            return signo;
        }
        if (timeout == NULL) continue;
        const uint64_t now_ns = pt_agent_clock_ns(CLOCK_MONOTONIC);
        const uint64_t left_ns = until_ns > now_ns ? until_ns - now_ns : 0;
        left.tv_sec = (time_t)(left_ns / 1000000000);
        left.tv_nsec = (long)(left_ns % 1000000000);
    }
}

PT_EXPORT int sigtimedwait(const sigset_t *set, siginfo_t *info, const struct timespec *timeout)
{
    return timed_wait(set, info, timeout);
}

PT_EXPORT int sigwaitinfo(const sigset_t *set, siginfo_t *info)
{
    return timed_wait(set, info, NULL);
}

/* Unlike sigwaitinfo, sigwait goes on waiting after EINTR, and returns an error instead of setting
 * errno (POSIX). */
PT_EXPORT int sigwait(const sigset_t *set, int *ret_signo)
{
    const int saved_errno = errno;
    int signo;
    do {
        signo = timed_wait(set, NULL, NULL);
    } while (signo < 0 && errno == EINTR);
    const int error = signo < 0 ? errno : 0;
    errno = saved_errno;
    if (error == 0) *ret_signo = signo;
    return error;
}

void pt_signals_init(void)
{
    (void)PT_NEXT(sigaction);
    (void)PT_NEXT(signal);
}

void pt_signals_find_rest(void)
{
    (void)PT_NEXT(sigtimedwait);
    (void)PT_NEXT(__sysv_signal);
}
