/* timer_perf.c: ticks from a perf_event CPU clock of each thread, through an ordinary signal.
 *
 * The event's timer is a high-resolution one: rates above the kernel's tick are reached. Kernel
 * time is sampled too, so that system calls are charged to their callers; where that is not allowed
 * (perf_event_paranoid above 1 without CAP_PERFMON) the engine says no and POSIX timers are used.
 *
 * The event writes an empty record, 8 bytes of header, into its own buffer each period, and its
 * descriptor raises SIGPROF in the thread. The buffer's head therefore counts periods exactly, also
 * those whose signal found one still pending; the handler reads it and needs no system call.
 * Once it is set up the descriptor is closed: the mapping keeps the event alive, and a host that
 * counts or closes descriptors never meets it. The mapping is not inherited by fork.
 *
 * First period: the event is opened with a period of first_ns and, while it is disabled, given the
 * true one. The first expiry keeps the former (hw.period_left in kernel/events/core.c).
 */
#include "agent/agent.h"

#include <fcntl.h>
#include <linux/perf_event.h>
#include <stdatomic.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

static int open_event(int tid, uint64_t first_ns)
{
    struct perf_event_attr attr = {
        .type = PERF_TYPE_SOFTWARE,
        .size = sizeof attr,
        .config = PERF_COUNT_SW_CPU_CLOCK,
        .sample_period = first_ns,
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

static size_t buffer_bytes(void)
{
    return 2 * (size_t)sysconf(_SC_PAGESIZE); /* the control page and one of records */
}

static bool arm(int fd, int tid, uint64_t period_ns)
{
    const struct f_owner_ex owner = {.type = F_OWNER_TID, .pid = tid};
    return fcntl(fd, F_SETFL, O_ASYNC) == 0 && fcntl(fd, F_SETSIG, SIGPROF) == 0 &&
           fcntl(fd, F_SETOWN_EX, &owner) == 0 && ioctl(fd, PERF_EVENT_IOC_PERIOD, &period_ns) == 0;
}

static bool attach(pt_thread *thread, uint64_t period_ns, uint64_t first_ns)
{
    const int tid = atomic_load_explicit(&thread->tid, memory_order_relaxed);
    const int fd = open_event(tid, first_ns);
    if (fd < 0) return false;
    /* Read-only: the kernel overwrites old records and never waits for a reader. */
    void *const buffer = mmap(NULL, buffer_bytes(), PROT_READ, MAP_SHARED, fd, 0);
    bool ok = buffer != MAP_FAILED && arm(fd, tid, period_ns);
    if (ok) {
        const struct perf_event_mmap_page *const page = buffer;
        thread->event_seen = *(const volatile uint64_t *)&page->data_head; /* faults the page in */
        thread->event_head = (const volatile uint64_t *)&page->data_head;
        thread->timer = buffer;
        ok = ioctl(fd, PERF_EVENT_IOC_ENABLE, 0) == 0;
    }
    if (!ok && buffer != MAP_FAILED) {
        thread->event_head = NULL;
        munmap(buffer, buffer_bytes());
    }
    close(fd);
    return ok;
}

static void detach(pt_thread *thread)
{
    thread->event_head = NULL;
    munmap(thread->timer, buffer_bytes());
    thread->timer = NULL;
}

const pt_timer_engine pt_timer_perf = {
    .id = PT_JOURNAL_ENGINE_PERF, .probe = probe, .attach = attach, .detach = detach};
