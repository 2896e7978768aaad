/* timer_perf.c: ticks from a perf_event CPU clock of each thread, through an ordinary signal.
 *
 * The event's timer is a high-resolution one: rates above the kernel's tick are reached. Kernel
 * time is sampled too, so that system calls are charged to their callers; where that is not allowed
 * (perf_event_paranoid above 1 without CAP_PERFMON) the engine says no and POSIX timers are used.
 *
 * Its descriptor raises SIGPROF in the thread. What a tick stands for is read from the thread's CPU
 * clock by the handler: the event's own timer runs on while a virtual machine's processor is taken
 * away, is late when the whole machine was, and raises no second signal while one is pending.
 * Once it is set up the descriptor is closed: the mapping keeps the event alive, and a host that
 * counts or closes descriptors never meets it. The mapping is not inherited by fork.
 *
 * First period: an event cannot begin in the middle of one, so a thread that is met at its birth
 * has two. The first expires once, after a random time of less than a period; its tick removes it
 * and enables the second with prctl(PR_TASK_PERF_EVENTS_ENABLE), which needs no descriptor (and
 * would enable a disabled event of the host's own, should that thread have one). Without this,
 * threads that live for less than a period would never be seen.
 */
#include "agent/agent.h"

#include <fcntl.h>
#include <linux/perf_event.h>
#include <stdatomic.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

static int open_event(int tid, uint64_t period_ns)
{
    struct perf_event_attr attr = {
        .type = PERF_TYPE_SOFTWARE,
        .size = sizeof attr,
        .config = PERF_COUNT_SW_CPU_CLOCK,
        .sample_period = period_ns,
        .disabled = 1,
    };
    return (int)syscall(SYS_perf_event_open, &attr, tid, -1, -1, PERF_FLAG_FD_CLOEXEC);
}

static bool probe(uint64_t period_ns)
{
    const int fd = open_event(0, period_ns);
    if (fd < 0) return false;
    close(fd);
    return true;
}

/* The event's control page; records are not asked for. */
static size_t page_bytes(void)
{
    return (size_t)sysconf(_SC_PAGESIZE);
}

static bool arm(int fd, int tid, unsigned long request, unsigned long argument)
{
    const struct f_owner_ex owner = {.type = F_OWNER_TID, .pid = tid};
    return fcntl(fd, F_SETFL, O_ASYNC) == 0 && fcntl(fd, F_SETSIG, SIGPROF) == 0 &&
           fcntl(fd, F_SETOWN_EX, &owner) == 0 &&
           (request == 0 || ioctl(fd, request, argument) == 0);
}

/* An event of the thread that lives as long as the mapping returned; NULL if it cannot be. request
 * is the ioctl that starts it, 0 for none. */
static void *make_event(int tid, uint64_t period_ns, unsigned long request, unsigned long argument)
{
    const int fd = open_event(tid, period_ns);
    if (fd < 0) return NULL;
    void *page = mmap(NULL, page_bytes(), PROT_READ, MAP_SHARED, fd, 0);
    if (page == MAP_FAILED)
        page = NULL;
    else if (!arm(fd, tid, request, argument)) {
        munmap(page, page_bytes());
        page = NULL;
    }
    close(fd);
    return page;
}

static void detach(pt_thread *thread)
{
    atomic_store(&thread->by_clock, 0);
    if (thread->first_event != NULL) munmap(thread->first_event, page_bytes());
    if (thread->timer != NULL) munmap(thread->timer, page_bytes());
    thread->first_event = NULL;
    thread->timer = NULL;
}

static bool attach(pt_thread *thread, uint64_t period_ns, uint64_t first_ns)
{
    const int tid = atomic_load_explicit(&thread->tid, memory_order_relaxed);
    const bool is_self = tid == gettid(); /* then all signals are blocked until we are done */
    const clockid_t clock = (clockid_t)(~(unsigned)tid << 3 | 6); /* as in timer_posix.c */
    /* So that the first tick is one period, like the others. */
    thread->clock_seen_ns =
        (int64_t)(pt_agent_clock_ns(clock) + (is_self ? first_ns - period_ns : 0));
    thread->first_event_bytes = page_bytes();
    atomic_store(&thread->by_clock, 1);
    thread->timer = make_event(tid, period_ns, is_self ? 0 : PERF_EVENT_IOC_ENABLE, 0);
    if (is_self && thread->timer != NULL)
        thread->first_event = make_event(tid, first_ns, PERF_EVENT_IOC_REFRESH, 1);
    const bool ok = thread->timer != NULL && (!is_self || thread->first_event != NULL);
    if (!ok) detach(thread);
    return ok;
}

const pt_timer_engine pt_timer_perf = {
    .id = PT_JOURNAL_ENGINE_PERF, .probe = probe, .attach = attach, .detach = detach};
