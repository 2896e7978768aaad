/* wait_kind.c: see wait_kind.h. */
#include "capture/wait_kind.h"

#include <stddef.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "bpf/layout.h"

/* The kinds of system calls that can wait for long; in any other call a thread waits for the
 * kernel. */
static const struct {
    int32_t call;
    const char *kind;
} calls[] = {
    {SYS_futex, "lock"},
    {SYS_flock, "lock"},
    {SYS_semtimedop, "lock"},
    {SYS_nanosleep, "sleep"},
    {SYS_clock_nanosleep, "sleep"},
    {SYS_ppoll, "poll"},
    {SYS_pselect6, "poll"},
    {SYS_epoll_pwait, "poll"},
    {SYS_io_getevents, "poll"},
    {SYS_wait4, "child"},
    {SYS_waitid, "child"},
    {SYS_rt_sigtimedwait, "signal"},
    {SYS_rt_sigsuspend, "signal"},
    {SYS_accept, "socket"},
    {SYS_accept4, "socket"},
    {SYS_connect, "socket"},
    {SYS_recvfrom, "socket"},
    {SYS_recvmsg, "socket"},
    {SYS_recvmmsg, "socket"},
    {SYS_sendto, "socket"},
    {SYS_sendmsg, "socket"},
    {SYS_sendmmsg, "socket"},
    {SYS_fsync, "file"},
    {SYS_fdatasync, "file"},
    {SYS_pread64, "file"},
    {SYS_pwrite64, "file"},
#ifdef SYS_semop
    {SYS_semop, "lock"},
#endif
#ifdef SYS_poll
    {SYS_poll, "poll"},
    {SYS_select, "poll"},
    {SYS_epoll_wait, "poll"},
    {SYS_pause, "signal"},
#endif
#ifdef SYS_futex_waitv
    {SYS_futex_waitv, "lock"},
#endif
#ifdef SYS_epoll_pwait2
    {SYS_epoll_pwait2, "poll"},
#endif
#ifdef SYS_io_uring_enter
    {SYS_io_uring_enter, "poll"},
#endif
};

/* The kind of a call that reads or writes a file of that mode; NULL if no kind has that mode. */
static const char *kind_of_mode(uint16_t mode)
{
    switch (mode & S_IFMT) {
    case S_IFIFO: return "pipe";
    case S_IFSOCK: return "socket";
    case S_IFCHR: return "device";
    case S_IFREG:
    case S_IFBLK: return "file";
    default: return NULL;
    }
}

const char *pt_wait_kind(int32_t call, uint16_t mode, bool is_io)
{
    if (call == PT_BPF_CALL_PREEMPTED) return NULL;
    if (is_io) return "block I/O";
    if (call == PT_BPF_CALL_FAULT) return "page fault";
    if (kind_of_mode(mode) != NULL) return kind_of_mode(mode);
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++)
        if (calls[i].call == call) return calls[i].kind;
    return "other";
}
