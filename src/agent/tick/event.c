/* event.c: a thread's perf event: a counter of its CPU time that ticks at high resolution.
 *
 * Kernel time is also sampled where that is allowed, so that the time of system calls counts for
 * their callers. The signal is one of two:
 *
 *   SIGTRAP   raised by the kernel in the thread itself when it returns to user space (sigtrap,
 *             Linux 5.13): the cheapest, and no system call of the host ends with EINTR by it
 *   SIGPROF   through the event's descriptor (F_SETSIG), for hosts that use SIGTRAP themselves or
 *             that a debugger traces
 *
 * When the event is set up, its descriptor is closed: the mapping keeps the event alive, and a host
 * that counts or closes descriptors does not see it. fork does not copy the mapping; the event does
 * not survive exec.
 *
 * An event cannot begin in the middle of a period, so each thread has two events, one after the
 * other. The first expires once, after a random time of less than a period; its tick opens the
 * second. With the second event alone, threads that live for less than a period would have no
 * sample. The second event is a little faster than the period, and some of its ticks have no
 * weight: ticks that kept step with the kernel's tick would sample the work that the kernel's tick
 * starts either always or never.
 *
 * A program that works in rounds could keep step with ticks of one period. So after a few ticks the
 * keeper of the library replaces the second event by one with a random period, and does so again
 * after a few more ticks. */
#include <fcntl.h>
#include <linux/perf_event.h>
#include <stdatomic.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "agent/tick/tick_int.h"

enum { OUT_OF_STEP = 113 };

/* The struct of Linux 5.13 (perf_event_open(2)). The struct in the headers of older systems lacks
 * the last 64-bit word. */
typedef union {
    struct perf_event_attr attr;
    uint64_t words[16];
} event_attr;

enum { FLAGS_WORD = 5, REMOVE_ON_EXEC_BIT = 36, SIGTRAP_BIT = 37, SIG_DATA_WORD = 15 };

PT_NEAR static int open_event(const pt_thread *thread, int tid, uint64_t period_ns,
                              bool skip_kernel)
{
    event_attr attr = {.words = {0}};
    attr.attr.type = PERF_TYPE_SOFTWARE;
    attr.attr.size = sizeof attr.words;
    attr.attr.config = PERF_COUNT_SW_CPU_CLOCK;
    attr.attr.sample_period = period_ns;
    attr.attr.disabled = 1;
    attr.attr.exclude_kernel = skip_kernel;
    attr.attr.exclude_hv = skip_kernel;
    if (pt_tick.events_trap) /* without events_trap the signal comes through the descriptor */
        attr.words[FLAGS_WORD] |= 1ULL << SIGTRAP_BIT | 1ULL << REMOVE_ON_EXEC_BIT;
    attr.words[SIG_DATA_WORD] = PT_TICK_TRAP_DATA(thread);
    return (int)PT_KERNEL(SYS_perf_event_open, &attr, tid, -1, -1, PERF_FLAG_FD_CLOEXEC);
}

PT_NEAR static bool start_event(int fd, int tid, bool once)
{
    const struct f_owner_ex owner = {.type = F_OWNER_TID, .pid = tid};
    if (!pt_tick.events_trap && (PT_KERNEL(SYS_fcntl, fd, F_SETFL, O_ASYNC) != 0 ||
                                 PT_KERNEL(SYS_fcntl, fd, F_SETSIG, pt_tick.signo) != 0 ||
                                 PT_KERNEL(SYS_fcntl, fd, F_SETOWN_EX, &owner) != 0))
        return false;
    return PT_KERNEL(SYS_ioctl, fd, once ? PERF_EVENT_IOC_REFRESH : PERF_EVENT_IOC_ENABLE,
                     once ? 1 : 0) == 0;
}

static void *map_event(int fd)
{
#ifdef SYS_mmap2
    const long call = SYS_mmap2;
#else
    const long call = SYS_mmap;
#endif
    const long at = PT_KERNEL(call, NULL, pt_tick.page_bytes, PROT_READ, MAP_SHARED, fd, 0);
    return at < 0 && at > -(long)pt_tick.page_bytes
               ? NULL
               : (void *)at; /* NOLINT(performance-no-int-to-ptr) */
}

PT_NEAR void pt_tick_event_close(void *event)
{
    PT_KERNEL(SYS_munmap, event, pt_tick.page_bytes);
}

static void *open_started(const pt_thread *thread, int tid, uint64_t period_ns, bool skip_kernel)
{
    const int fd = open_event(thread, tid, period_ns, skip_kernel);
    if (fd < 0) return NULL;
    void *const page = start_event(fd, tid, false) ? map_event(fd) : NULL;
    PT_KERNEL(SYS_close, fd); /* close() is a cancellation point: it may end the thread */
    return page;
}

void *pt_tick_event_open(const pt_thread *thread, int tid, uint64_t period_ns)
{
    return open_started(thread, tid, period_ns, pt_tick.events_skip_kernel);
}

/* The event is stored in its field before it starts: its only tick may come at once, in another
 * thread, which must find the event in that field. */
PT_NEAR bool pt_tick_event_open_first(pt_thread *thread, int tid, uint64_t first_ns)
{
    const int fd = open_event(thread, tid, first_ns, pt_tick.events_skip_kernel);
    if (fd < 0) return false;
    thread->first_event = map_event(fd);
    const bool is_started = thread->first_event != NULL && start_event(fd, tid, true);
    PT_KERNEL(SYS_close, fd);
    return is_started;
}

/* Opens the event that ticks each period. The process may have dropped its rights since the start
 * of the session; then the event may count only user mode. */
static void *open_repeated(const pt_thread *thread, int tid, uint64_t period_ns)
{
    void *const page = pt_tick_event_open(thread, tid, period_ns);
    return page != NULL ? page : open_started(thread, tid, period_ns, true);
}

void pt_tick_event_arm(pt_thread *self)
{
    void *const first = self->first_event;
    self->first_event = NULL;
    self->event_ns = pt_tick.period_ns - pt_tick.period_ns / OUT_OF_STEP;
    self->event = open_repeated(self, pt_tick_gettid(), self->event_ns);
    if (self->event == NULL) atomic_store(&self->wants_timer, 1);
    pt_tick_event_close(first);
}

void pt_tick_event_replace(pt_thread *thread, int tid, uint64_t period_ns)
{
    void *const former = thread->event, *const page = open_repeated(thread, tid, period_ns);
    if (page == NULL) return;
    thread->event = page;
    thread->event_ns = period_ns;
    pt_tick_event_close(former);
}
