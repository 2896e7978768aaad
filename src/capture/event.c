/* event.c: see event.h; calls perf_event_open in the few forms that a recording needs. */
#include "capture/event.h"
#include "machine/machine.h"

#include <asm/perf_regs.h>
#include <errno.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

const pt_event_source pt_event_sources[] = {
    {"cpu-clock", PERF_COUNT_SW_CPU_CLOCK, PERF_TYPE_SOFTWARE, true, false},
    {"task-clock", PERF_COUNT_SW_TASK_CLOCK, PERF_TYPE_SOFTWARE, true, false},
    {"cycles", PERF_COUNT_HW_CPU_CYCLES, PERF_TYPE_HARDWARE, false, true},
    {"instructions", PERF_COUNT_HW_INSTRUCTIONS, PERF_TYPE_HARDWARE, false, true},
    {"cache-misses", PERF_COUNT_HW_CACHE_MISSES, PERF_TYPE_HARDWARE, false, true},
    {"branch-misses", PERF_COUNT_HW_BRANCH_MISSES, PERF_TYPE_HARDWARE, false, true},
    {"page-faults", PERF_COUNT_SW_PAGE_FAULTS, PERF_TYPE_SOFTWARE, false, false},
    {"major-faults", PERF_COUNT_SW_PAGE_FAULTS_MAJ, PERF_TYPE_SOFTWARE, false, false},
    {"context-switches", PERF_COUNT_SW_CONTEXT_SWITCHES, PERF_TYPE_SOFTWARE, false, false},
    {"cpu-migrations", PERF_COUNT_SW_CPU_MIGRATIONS, PERF_TYPE_SOFTWARE, false, false},
    {NULL, 0, 0, false, false},
};

const pt_event_source *pt_event_source_named(const char *name)
{
    for (const pt_event_source *source = pt_event_sources; source->name != NULL; source++)
        if (strcmp(source->name, name) == 0) return source;
    return NULL;
}

/* ---- attributes ---- */

static uint64_t sample_type(const pt_event_plan *plan)
{
    uint64_t type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME |
                    PERF_SAMPLE_CPU;
    /* With PERF_SAMPLE_PERIOD, a software event with a fixed period makes a sample at each event,
     * whatever the period (perf_swevent_event in kernel/events/core.c). */
    if (plan->period == 0) type |= PERF_SAMPLE_PERIOD;
    /* The value of an event's own clock shows which of its ticks were lost or late. The kernel
     * cannot read an inherited event, and a cpu's clock is not the CPU time of any thread. */
    if (plan->is_each_thread) type |= PERF_SAMPLE_READ;
    if (plan->kernel) type |= PERF_SAMPLE_CALLCHAIN;
    if (plan->may_walk) type |= PERF_SAMPLE_RAW;
    if (plan->has_user_stack) type |= PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER;
    return type;
}

pt_perf_layout pt_event_layout(const pt_event_plan *plan)
{
    return (pt_perf_layout){.sample_type = sample_type(plan),
                            .regs_count =
                                (uint32_t)__builtin_popcountll(PT_MACHINE_HOST->perf_mask)};
}

static struct perf_event_attr common_attr(const pt_event_plan *plan)
{
    return (struct perf_event_attr){
        .size = sizeof(struct perf_event_attr),
        .sample_type = sample_type(plan),
        .sample_regs_user = plan->has_user_stack ? PT_MACHINE_HOST->perf_mask : 0,
        .sample_stack_user = plan->has_user_stack ? plan->stack_bytes : 0,
        .sample_id_all = 1,
        .exclude_hv = 1,
        .exclude_guest = 1,
        .exclude_callchain_user = 1, /* user stacks are unwound from the copy, by tables */
        .use_clockid = 1,
        .clockid = CLOCK_MONOTONIC,
        .watermark = 1,
        .disabled = 1,
    };
}

static int open_event(struct perf_event_attr *attr, pid_t tid, int cpu)
{
    return (int)syscall(SYS_perf_event_open, attr, tid, cpu, -1, PERF_FLAG_FD_CLOEXEC);
}

/* Opens an event, restricted to the plan's control group if it is per cpu. leader_fd: -1 for none.
 */
static int open_narrowed(const pt_event_plan *plan, struct perf_event_attr *attr, pid_t tid,
                         int cpu, int leader_fd)
{
    const bool is_narrow = tid == -1 && plan->has_group;
    return (int)syscall(SYS_perf_event_open, attr, is_narrow ? plan->group_fd : tid, cpu, leader_fd,
                        PERF_FLAG_FD_CLOEXEC | (is_narrow ? PERF_FLAG_PID_CGROUP : 0));
}

static struct perf_event_attr sampling_attr(const pt_event_plan *plan, uint64_t period)
{
    struct perf_event_attr attr = common_attr(plan);
    attr.type = plan->source->type;
    attr.config = plan->source->config;
    /* The same timer with the thread's own clock, which excludes the kernel's work of switching
     * events.
     */
    if (plan->is_each_thread && attr.type == PERF_TYPE_SOFTWARE &&
        attr.config == PERF_COUNT_SW_CPU_CLOCK)
        attr.config = PERF_COUNT_SW_TASK_CLOCK;
    attr.exclude_kernel = !plan->kernel;
    attr.exclude_user = !plan->user;
    attr.exclude_idle = 1;
    attr.freq = period == 0;
    if (period == 0)
        attr.sample_freq = plan->hz;
    else
        attr.sample_period = period;
    return attr;
}

int pt_event_open_inherited(const pt_event_plan *plan, pid_t tid, int cpu, uint64_t period,
                            bool *ret_has_clock)
{
    struct perf_event_attr attr = sampling_attr(plan, period);
    attr.inherit = 1;
    /* Many ticks of an inherited event are dropped, and each takes this room in a ring. */
    if (attr.sample_stack_user > PT_STACK_BYTES_FIRST)
        attr.sample_stack_user = PT_STACK_BYTES_FIRST;
    int fd = open_event(&attr, tid, cpu);
    *ret_has_clock = fd >= 0;
    if (fd >= 0 || errno != EINVAL) return fd;
    /* A kernel before 6.13 refuses to read an inherited event. Instead of the event's own clock
     * (PERF_SAMPLE_READ) a sample then has the period, at the same place: both fields have eight
     * bytes, and the kernel writes one directly after the other. */
    attr.sample_type &= ~(uint64_t)PERF_SAMPLE_READ;
    attr.sample_type |= PERF_SAMPLE_PERIOD;
    return open_event(&attr, tid, cpu);
}

int pt_event_open_sampling(const pt_event_plan *plan, pid_t tid, int cpu, uint64_t period,
                           int leader_fd)
{
    struct perf_event_attr attr = sampling_attr(plan, period);
    attr.disabled = leader_fd < 0;
    const int fd = open_narrowed(plan, &attr, tid, cpu, leader_fd);
    if (fd < 0 || plan->walker == NULL || pt_event_walk(plan, fd)) return fd;
    const int error = errno;
    close(fd);
    errno = error;
    return -1;
}

bool pt_event_walk(const pt_event_plan *plan, int fd)
{
    return ioctl(fd, PERF_EVENT_IOC_SET_BPF, pt_bpf_engine_program(plan->walker)) == 0;
}

int pt_event_open_output(const pt_event_plan *plan, pt_bpf_output output, int cpu)
{
    struct perf_event_attr attr = common_attr(plan);
    attr.type = PERF_TYPE_SOFTWARE;
    attr.config = PERF_COUNT_SW_BPF_OUTPUT;
    attr.disabled = 0;
    if (output != PT_BPF_COPIES) {
        attr.sample_stack_user = 0;
        /* The kernel demands a register; no reader needs any. */
        attr.sample_regs_user &= ~(attr.sample_regs_user - 1);
    }
    attr.exclude_callchain_kernel = output == PT_BPF_PLAIN;
    return open_event(&attr, -1, cpu);
}

int pt_event_open_switches(const pt_event_plan *plan, pid_t tid, int cpu)
{
    struct perf_event_attr attr = common_attr(plan);
    attr.type = PERF_TYPE_SOFTWARE;
    attr.config = PERF_COUNT_SW_CONTEXT_SWITCHES;
    attr.sample_period = 1;
    attr.context_switch = 1;
    return open_narrowed(plan, &attr, tid, cpu, -1);
}

int pt_event_open_dummy(const pt_event_plan *plan, pid_t tid, int cpu, bool is_reporting,
                        uint32_t wakeup_bytes)
{
    struct perf_event_attr attr = common_attr(plan);
    attr.type = PERF_TYPE_SOFTWARE;
    attr.config = PERF_COUNT_SW_DUMMY;
    attr.exclude_kernel = 1; /* permitted to every user; exclude_kernel does not restrict the
                              * reports */
    attr.sample_stack_user = attr.sample_stack_user > 0 ? 8 : 0;
    /* Samples cannot read an inherited event; this event makes no samples. */
    attr.sample_type &= ~(uint64_t)PERF_SAMPLE_READ;
    attr.inherit = is_reporting && plan->is_each_thread;
    attr.mmap = attr.mmap2 = attr.comm = attr.comm_exec = attr.task = is_reporting;
    attr.build_id = is_reporting;
    attr.wakeup_watermark = wakeup_bytes;
    attr.disabled = 0;
    int fd = open_event(&attr, tid, cpu);
    if (fd < 0 && errno == EINVAL && is_reporting) { /* kernels before Linux 5.12 */
        attr.build_id = 0;
        fd = open_event(&attr, tid, cpu);
    }
    return fd;
}

int pt_event_open_clock(pid_t tid)
{
    struct perf_event_attr attr = {.size = sizeof attr,
                                   .type = PERF_TYPE_SOFTWARE,
                                   .config = PERF_COUNT_SW_TASK_CLOCK,
                                   /* Permitted to every user; exclude_kernel does not restrict
                                    * clocks. */
                                   .exclude_kernel = 1,
                                   .exclude_hv = 1,
                                   .inherit = 1};
    return open_event(&attr, tid, -1);
}

int pt_event_open_count(const pt_event_plan *plan, pid_t tid, int cpu, bool awaits_exec)
{
    struct perf_event_attr attr = {.size = sizeof attr,
                                   .type = plan->source->type,
                                   .config = plan->source->config,
                                   .exclude_kernel = !plan->kernel,
                                   .exclude_user = !plan->user,
                                   .exclude_hv = 1,
                                   .exclude_guest = 1,
                                   .exclude_idle = 1,
                                   .disabled = awaits_exec,
                                   .enable_on_exec = awaits_exec,
                                   .inherit = tid != -1};
    return open_narrowed(plan, &attr, tid, cpu, -1);
}

uint64_t pt_event_read(int fd)
{
    uint64_t value = 0;
    return read(fd, &value, sizeof value) == (ssize_t)sizeof value ? value : 0;
}

uint64_t pt_event_id(int fd)
{
    uint64_t id = 0;
    return ioctl(fd, PERF_EVENT_IOC_ID, &id) == 0 ? id : 0;
}

void pt_event_close(int *fd)
{
    if (*fd >= 0) close(*fd);
    *fd = -1;
}
