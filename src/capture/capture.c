/* capture.c: a recording from its beginning to its end. See capture.h. */
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/grow.h"
#include "base/memory.h"
#include "capture/capture_int.h"
#include "capture/cgroup.h"
#include "capture/kernel.h"

enum {
    WAKE_MS = 25,            /* after this wait without new records, the youngest records are fed */
    CALM_WAKE_MS = 600,      /* the same wait if no record is urgent: an urgent record ends the
                              * wait */
    IDLE_WAKE_MS = 1000,     /* longest sleep */
    ASKING_WAKE_MS = 100,    /* longest sleep while /proc is polled for the end of targets */
    HASTY_WAKE_MS = 4,       /* longest sleep while is_hasty, which lasts: */
    FIRST_NS = 300000000,    /* until this long after the start, if copies of stacks may grow; */
    TICKED_NS = 5000000,     /* else until this long after the first tick of all timers; */
    GROWN_NS = 100000000,    /* and this long after copies grew */
    URGENT = -15,            /* nice(2), where permitted */
    PROGRESS_NS = 250000000, /* between two progress reports */
    WEIGH_NS = 200000000,    /* between two readings of the memory that is held */
    KEEP_MS = 400,           /* between two writes of the kept recording */
    LOAD_MS = 150, /* a recording that ends sooner never begins to load the kernel's walker */
    /* A record gets its time before it becomes visible. So a record waits this long: then all older
     * records are visible. */
    SETTLED_NS = 2000000,
};

/* ---- opening ---- */

/* The period of a rate. A period that is a divisor or multiple of the kernel's tick would sample
 * the machine at the same point of each tick. Such a period would sample a program with a rhythm of
 * milliseconds at the same few places. So the period is shortened, as far as the rate stays within
 * 1 % of the request: the larger the difference, the sooner every place is sampled. The period is
 * not lengthened, since sleeps and rhythms are themselves a little longer than nominal. */
static uint64_t period_of(uint64_t hz, bool is_each_thread)
{
    static const uint64_t ticks_ns[] = {1000000, 3333333, 4000000, 10000000};
    uint64_t period = (1000000000 + hz / 2) / hz;
    for (size_t i = 0; i < sizeof ticks_ns / sizeof ticks_ns[0] && !is_each_thread; i++) {
        if (ticks_ns[i] % period != 0 && period % ticks_ns[i] != 0) continue;
        period -= period / 111;
        break;
    }
    return period;
}

static pt_event_plan plan_of(const pt_capture_options *o, const pt_event_source *source)
{
    pt_event_plan plan = {.source = source,
                          .hz = o->hz,
                          .user = o->user,
                          .kernel = o->kernel,
                          .is_each_thread = o->each_thread,
                          .has_user_stack = true,
                          .may_walk = o->walks != PT_WALK_NEVER,
                          .walks_waits = o->off_cpu && o->walks != PT_WALK_NEVER,
                          .stack_bytes = PT_STACK_BYTES_FIRST};
    if (o->period != 0)
        plan.period = o->period;
    else if (source->is_clock)
        plan.period = period_of(o->hz, o->each_thread);
    else if (!source->is_hardware)
        plan.period = 1;
    return plan;
}

typedef PT_VECTOR(pid_t) tid_list;

static void list_threads(pid_t pid, tid_list *list)
{
    PT_FREE char *path = pt_strf("/proc/%d/task", pid);
    DIR *const dir = opendir(path);
    const struct dirent *entry;
    while (dir != NULL && (entry = readdir(dir)) != NULL) {
        if (entry->d_name[0] == '.') continue;
        PT_GROW(*list, list->count + 1);
        list->items[list->count++] = (pid_t)strtol(entry->d_name, NULL, 10);
    }
    if (dir != NULL) closedir(dir);
}

/* Reads a target's mappings and unwind tables before the first sample needs these. */
static void read_target(pt_capture *c, pid_t pid)
{
    pt_proc *const proc = pt_procs_get(&c->procs, (uint32_t)pid);
    proc->is_judged = true;
    proc->awaits_exec = c->options.awaits_exec;
    proc->is_wanted = !proc->awaits_exec;
    pt_feed_heed(c, proc);
    if (c->walker != NULL) pt_bpf_engine_adopt(c->walker, proc->pid);
    if (proc->awaits_exec) return;
    pt_procs_read(&c->procs, proc);
    const pt_unwind_modules modules = pt_proc_modules(&c->procs, proc, true);
    pt_feed_walker(c, proc, &modules);
}

/* Reads the mappings of all processes: mappings cannot be read after their process ends, its
 * children have the same mappings, and a process may be moved into the control group later. If the
 * waits of the whole machine are recorded, also reads the unwind tables, since samples of all
 * threads' switches come at once. */
static void read_all_processes(pt_capture *c)
{
    DIR *const dir = opendir(c->procs.root);
    const struct dirent *entry;
    while (dir != NULL && (entry = readdir(dir)) != NULL) {
        const long pid = strtol(entry->d_name, NULL, 10);
        if (pid <= 0) continue;
        pt_proc *const proc = pt_procs_get(&c->procs, (uint32_t)pid);
        pt_procs_read(&c->procs, proc);
        if (!c->set.plan.walks_waits || !c->options.targets.all || proc->map.count == 0) continue;
        const pt_unwind_modules modules = pt_proc_modules(&c->procs, proc, true);
        pt_feed_walker(c, proc, &modules);
    }
    if (dir != NULL) closedir(dir);
}

/* Opens a pidfd of a target. The descriptor is -1 on kernels before 5.3, in some sandboxes, and
 * without free descriptors. */
static void watch_process(pt_capture *c, pid_t pid)
{
    PT_GROW(c->target, c->target.count + 1);
    c->target.items[c->target.count++] =
        (pt_watched){.pid = pid, .fd = (int)syscall(SYS_pidfd_open, pid, 0)};
}

static bool is_process_gone(const pt_capture *c, pid_t pid)
{
    char who[24], state[32], threads[16];
    snprintf(who, sizeof who, "%d", pid);
    pt_proc_status(c->procs.root, who, "State", state, sizeof state);
    pt_proc_status(c->procs.root, who, "Threads", threads, sizeof threads);
    return state[0] == '\0' ||
           ((state[0] == 'Z' || state[0] == 'X') && strtol(threads, NULL, 10) <= 1);
}

static void define_events(pt_capture *c)
{
    pt_builder *const b = c->builder;
    const pt_event_plan *const plan = &c->set.plan;
    const bool is_clock = plan->source->is_clock;
    const pt_event samples = {.type = pt_builder_text(b, "samples").v,
                              .unit = pt_builder_text(b, "count").v,
                              .period = 1};
    const pt_event main_event = {.type =
                                     pt_builder_text(b, is_clock ? "cpu" : plan->source->name).v,
                                 .unit = pt_builder_text(b, is_clock ? "nanoseconds" : "count").v,
                                 .period = (int64_t)plan->period,
                                 .period_varies = plan->period == 0};
    pt_builder_event(b, &samples);
    pt_builder_event(b, &main_event);
    if (!c->options.off_cpu) return;
    static const struct {
        const char *type, *unit;
    } waiting[] = {{"off-cpu", "nanoseconds"},
                   {"ready", "nanoseconds"},
                   {"waits", "count"},            /* times in off-cpu */
                   {"preemptions", "count"},      /* times in ready */
                   {PT_WAITS_GIL, "nanoseconds"}, /* part of off-cpu: for CPython's lock */
                   /* with wakers: the time of waits that a stack ended */
                   {"woken", "nanoseconds"}};
    const size_t count = sizeof waiting / sizeof waiting[0] - !c->options.wakers;
    for (size_t i = 0; i < count; i++)
        pt_builder_event(b, &(pt_event){.type = pt_builder_text(b, waiting[i].type).v,
                                        .unit = pt_builder_text(b, waiting[i].unit).v});
}

/* Restricts the events to the control group, if the kernel has events for that group. */
static void narrow_plan(pt_capture *c, pt_event_plan *plan)
{
    const char *const group = c->options.targets.cgroup;
    c->group_fd = group != NULL ? pt_cgroup_open(c->procs.root, group) : -1;
    if (c->group_fd < 0) return;
    plan->group_fd = c->group_fd;
    plan->has_group = true;
    const int fd = pt_event_open_count(plan, -1, sched_getcpu(), false);
    plan->has_group = fd >= 0;
    if (fd >= 0) close(fd);
}

/* Adds a running process that a target has started. Returns false if the process is gone, or the
 * kernel denies access to it. */
static bool add_started(pt_capture *c, pid_t pid, tid_list *tids)
{
    const size_t before = tids->count;
    bool is_denied = false;
    size_t taken = before;
    list_threads(pid, tids);
    for (size_t i = before; i < tids->count; i++) {
        const bool is_followed = pt_event_set_follow(&c->set, tids->items[i]);
        if (is_followed) tids->items[taken++] = tids->items[i];
        is_denied |= !is_followed && errno != ESRCH;
    }
    tids->count = taken;
    c->facts.denied += is_denied && taken == before;
    return taken > before;
}

/* Adds the processes that the targets have started. The kernel already reports new processes: with
 * events per cpu all new processes, with events per thread those that are started by threads with
 * events. So a process that starts during this call is found in the next round, or reported. */
static void add_all_started(pt_capture *c, tid_list *tids)
{
    pt_capture_targets *const t = &c->options.targets;
    pt_pid_list looked_at = {0};
    for (size_t i = 0; i < t->pid_count; i++) {
        PT_PUSH(c->pids, t->pids[i]);
        PT_PUSH(looked_at, t->pids[i]);
    }
    for (size_t found = 1; found > 0;) {
        pt_pid_list more;
        pt_record_descendants(c->procs.root, &looked_at, &more);
        found = more.count;
        for (size_t i = 0; i < more.count; i++) {
            PT_PUSH(looked_at, more.items[i]);
            if (add_started(c, more.items[i], tids)) PT_PUSH(c->pids, more.items[i]);
        }
        free(more.items);
    }
    free(looked_at.items);
    t->pids = c->pids.items;
    t->pid_count = c->pids.count;
}

static pt_status open_set(pt_capture *c, const pt_event_source *source, pt_error *reterr)
{
    const pt_capture_targets *const t = &c->options.targets;
    pt_event_plan plan = plan_of(&c->options, source);
    narrow_plan(c, &plan);
    tid_list tids = {0};
    for (size_t i = 0; i < t->pid_count; i++)
        list_threads(t->pids[i], &tids);
    pt_status status = PT_OK;
    if (t->pid_count > 0 && tids.count == 0)
        status = pt_error_set(reterr, PT_ERR_NOTFOUND, "all processes to record have ended");
    if (status == PT_OK)
        status = pt_event_set_open(&c->set, &plan, c->options.off_cpu && !plan.walks_waits,
                                   tids.items, tids.count, reterr);
    if (status == PT_OK && t->with_started) add_all_started(c, &tids);
    for (size_t i = 0; i < tids.count && status == PT_OK; i++)
        pt_event_set_count(&c->set, tids.items[i], c->options.awaits_exec);
    if (status == PT_OK && t->pid_count == 0 && (t->cgroup == NULL || plan.has_group))
        pt_event_set_count(&c->set, -1, false);
    /* Adds threads that were started in between by threads without events. */
    tids.count = 0;
    for (size_t i = 0; i < t->pid_count && plan.is_each_thread && status == PT_OK; i++)
        list_threads(t->pids[i], &tids);
    for (size_t i = 0; i < tids.count; i++)
        pt_event_set_add(&c->set, tids.items[i]);
    free(tids.items);
    return status;
}

/* Makes the files that keep the recording (keep.h); without them a killed recorder loses all
 * samples. */
static void open_keep(pt_capture *c)
{
    pt_error error = PT_ERROR_INIT;
    const pt_event_plan *const plan = &c->set.plan;
    const pt_keep_head head = {.is_timeline = c->options.timeline,
                               .is_clock = plan->source->is_clock,
                               .has_waits = c->options.off_cpu,
                               .period = plan->period,
                               .hz = c->options.hz,
                               .start_ns = pt_clock_ns(CLOCK_REALTIME),
                               .typed = c->options.typed};
    if (c->options.keep_folder == NULL ||
        pt_keep_new(c->options.keep_folder, &head, c->builder, &c->keep, &error) != PT_OK)
        return;
    /* The kernel's sums of waits are added to the rows of their stacks until the end. So with such
     * sums the rows stay in memory. */
    pt_sink_keep_in(c->sink, c->keep, !(c->options.off_cpu && plan->walks_waits));
}

static bool read_thread_clock(void *arg, uint32_t pid, uint32_t tid, pt_thread_clock *ret_clock)
{
    const pt_capture *const c = arg;
    return pt_thread_clock_read(c->procs.root, pid, tid, ret_clock);
}

static uint64_t record_clock_ns(void *arg)
{
    (void)arg;
    return (uint64_t)pt_clock_ns(CLOCK_MONOTONIC);
}

/* Opens the ledger. There is none for events per cpu that sample only user mode or only the kernel:
 * no clock measures that part of the time. */
static void open_ledger(pt_capture *c)
{
    const pt_event_plan *const plan = &c->set.plan;
    if (!plan->source->is_clock || (!plan->is_each_thread && (!plan->user || !plan->kernel)))
        return;
    const pt_ledger_options options = {.period_ns = plan->period,
                                       .is_each_thread = plan->is_each_thread,
                                       .has_kernel = plan->kernel,
                                       .look = read_thread_clock,
                                       .now_ns = record_clock_ns,
                                       .arg = c};
    c->ledger = pt_ledger_new(&options, c->sink);
}

static uint32_t cpu_limit(void)
{
    return (uint32_t)sysconf(_SC_NPROCESSORS_CONF);
}

/* Takes over a walker. If the kernel refuses it, notes the refusal; then stacks are copied. */
static pt_status use_walker(pt_capture *c, pt_bpf_engine *walker, pt_error *reterr)
{
    const pt_status status = pt_event_set_walk(&c->set, walker, reterr);
    if (status != PT_OK) {
        pt_bpf_engine_free(walker);
    } else {
        c->walker = walker;
        c->procs.images.wants_interp = true;
        c->known = pt_known_new(cpu_limit());
        pt_feed_follow(c);
    }
    c->facts.has_walker = c->walker != NULL;
    return status;
}

static void note_refusal(pt_capture *c, const pt_error *refusal)
{
    snprintf(c->facts.why_copied, sizeof c->facts.why_copied, "%s", refusal->message);
}

/* Converts a limit of stacks per second to a limit of stacks in 2^23 ns (8.4 ms). 0 is no limit. */
static uint32_t stacks_max(uint64_t a_second)
{
    const uint64_t max = (a_second << 23) / 1000000000;
    return a_second == 0 ? 0 : max > 0 ? (uint32_t)max : 1;
}

/* Loads the kernel's walker, or begins to load it. Fails only if the options demand the walker. */
static pt_status load_walker(pt_capture *c, pt_error *reterr)
{
    const pt_walk_wish wish = c->options.walks;
    pt_bpf_engine *walker = NULL;
    pt_error refusal = PT_ERROR_INIT;
    if (wish == PT_WALK_NEVER) return PT_OK;
    if (wish == PT_WALK_SOON) {
        c->loader = pt_loader_new(cpu_limit(), LOAD_MS);
        if (c->loader == NULL)
            snprintf(c->facts.why_copied, sizeof c->facts.why_copied,
                     "no thread could be made to load the BPF program");
        return PT_OK;
    }
    pt_bpf_wait_settings waits = {
        .is_each = c->options.timeline,
        .has_wakers = c->options.wakers,
        .stacks_max = c->options.timeline ? 0 : stacks_max(c->options.switch_stacks),
        .only_known = c->options.targets.pid_count > 0};
    if (c->options.wakers && !pt_kernel_interrupts(&waits))
        return pt_error_set(
            reterr, PT_ERR_SYSTEM,
            "--wakers needs the kernel's addresses, which kernel.kptr_restrict hides: "
            "run with sudo, or: sudo sysctl kernel.kptr_restrict=0");
    pt_status status =
        pt_bpf_engine_new(cpu_limit(), c->set.plan.walks_waits ? &waits : NULL, &walker, &refusal);
    if (status == PT_OK && c->options.expects_frames) pt_bpf_engine_read_frames(walker);
    if (status == PT_OK) status = use_walker(c, walker, &refusal);
    if (status == PT_OK) return PT_OK;
    note_refusal(c, &refusal);
    if (wish != PT_WALK_OR_FAIL) return PT_OK;
    if (reterr != NULL) *reterr = refusal;
    return status;
}

/* Takes the walker from its loader once it is loaded. */
static void take_walker(pt_capture *c)
{
    pt_bpf_engine *walker = NULL;
    pt_error refusal = PT_ERROR_INIT;
    if (c->loader == NULL || !pt_loader_take(c->loader, &walker, &refusal)) return;
    pt_loader_free(c->loader);
    c->loader = NULL;
    if (walker == NULL || use_walker(c, walker, &refusal) != PT_OK)
        note_refusal(c, &refusal);
    else
        pt_bpf_engine_load_beside(c->walker);
}

pt_status pt_capture_new(const pt_capture_options *options, pt_capture **ret_capture,
                         pt_error *reterr)
{
    const pt_event_source *const source = pt_event_source_named(options->event);
    if (source == NULL)
        return pt_error_set(reterr, PT_ERR_USAGE, "there is no event %s", options->event);
    pt_capture *const c = pt_alloc(1, sizeof *c);
    c->options = *options;
    c->cache = pt_alloc(1, sizeof *c->cache);
    pt_procs_init(&c->procs, "/proc");
    c->procs.images.cache = options->tables;
    c->procs.images.wants_interp = c->procs.images.wants_locks = options->off_cpu;
    pt_index_init(&c->kernel_waits.of_key);
    pt_index_init(&c->kernel_waits.sum_of);
    pt_index_init(&c->kernel_waits.owed_of);
    c->group_fd = -1;
    c->builder = pt_builder_new();
    pt_file_allow_most(); /* each thread and cpu needs a descriptor */
    pt_status status = open_set(c, source, reterr);
    if (status == PT_OK) status = load_walker(c, reterr);
    if (status != PT_OK) {
        pt_capture_free(c);
        return status;
    }
    define_events(c);
    const pt_mapping kernel = pt_kernel_mapping(c->builder);
    c->named = pt_named_new(c->builder);
    c->sink = pt_sink_new(c->builder, &c->procs, &kernel, options->timeline);
    pt_sink_name_by(c->sink, c->named);
    open_keep(c);
    open_ledger(c);
    const pt_capture_targets *const t = &c->options.targets;
    for (size_t i = 0; i < t->pid_count; i++)
        read_target(c, t->pids[i]);
    if (t->pid_count == 0) read_all_processes(c);
    pt_spool_shun(c->set.spool, (uint32_t)getpid(), true); /* it is never recorded */
    for (size_t i = 0; i < t->pid_count && options->until == 0; i++)
        watch_process(c, t->pids[i]);
    if (options->until != 0) watch_process(c, options->until);
    c->facts.is_each_thread = c->set.plan.is_each_thread;
    c->facts.is_beside_others = t->pid_count > 0 && !c->facts.is_each_thread;
    c->facts.has_kernel = c->set.plan.kernel;
    c->facts.stack_bytes = c->set.plan.stack_bytes;
    c->facts.period = c->set.plan.period;
    c->facts.period_ns = source->is_clock ? c->set.plan.period : 0;
    *ret_capture = c;
    return PT_OK;
}

void pt_capture_free(pt_capture *c)
{
    if (c == NULL) return;
    pt_event_set_close(&c->set);
    pt_loader_free(c->loader);
    pt_bpf_engine_free(c->walker);
    pt_known_free(c->known);
    if (c->group_fd >= 0) close(c->group_fd);
    pt_procs_done(&c->procs);
    pt_ledger_free(c->ledger);
    pt_sink_free(c->sink);
    pt_named_free(c->named);
    pt_keep_free(c->keep);
    pt_builder_free(c->builder);
    pt_waits_done(c);
    pt_between_done(&c->between);
    for (size_t i = 0; i < c->target.count; i++)
        if (c->target.items[i].fd >= 0) close(c->target.items[i].fd);
    free(c->target.items);
    free(c->pids.items);
    free(c->cache);
    free(c);
}

/* ---- running ---- */

/* CPU time of the recorder, with that of the task that reads memory. */
static uint64_t own_ns(const pt_capture *c)
{
    return (uint64_t)pt_clock_ns(CLOCK_PROCESS_CPUTIME_ID) +
           pt_target_memory_used_ns(c->procs.memory);
}

/* CPU time of all processes since boot (proc(5), /proc/stat, in ticks of USER_HZ). */
static uint64_t machine_ns(void)
{
    uint64_t user = 0, nice = 0, kernel = 0, idle = 0, iowait = 0, irq = 0, softirq = 0;
    FILE *const file = fopen("/proc/stat", "re");
    if (file == NULL) return 0;
    const int got = fscanf(file,
                           "cpu %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64
                           " %" SCNu64 " %" SCNu64,
                           &user, &nice, &kernel, &idle, &iowait, &irq, &softirq);
    fclose(file);
    if (got != 7) return 0;
    return (user + nice + kernel + irq + softirq) * (1000000000 / (uint64_t)sysconf(_SC_CLK_TCK));
}

static uint64_t used_ns(const pt_capture *c)
{
    const pt_capture_targets *const t = &c->options.targets;
    if (t->pid_count > 0) return pt_event_set_used_ns(&c->set);
    return t->cgroup == NULL ? machine_ns() : pt_cgroup_used_ns(c->procs.root, t->cgroup);
}

/* Lets the walker see context switches. */
static void watch_waits(pt_capture *c)
{
    pt_error refusal = PT_ERROR_INIT;
    if (c->walker == NULL || !c->set.plan.walks_waits) return;
    if (pt_bpf_engine_watch(c->walker, &refusal) == PT_OK)
        pt_feed_resting(c);
    else
        note_refusal(c, &refusal);
    if (refusal.status != PT_OK) c->followed_ns = 0; /* the walker sees no forks any more */
}

void pt_capture_start(pt_capture *c)
{
    c->held_before = pt_memory_held();
    c->start_ns = pt_clock_ns(CLOCK_MONOTONIC);
    c->facts.start_ns = pt_clock_ns(CLOCK_REALTIME);
    c->unix_offset_ns = c->facts.start_ns - c->start_ns;
    c->used_before_ns = used_ns(c);
    c->own_before_ns = own_ns(c);
    c->events_before = pt_event_set_events(&c->set);
    /* On a busy machine the spool needs a high priority to empty the rings in time; it uses little
     * CPU time. */
    errno = 0;
    c->priority = getpriority(PRIO_PROCESS, 0);
    c->has_priority = errno == 0 && setpriority(PRIO_PROCESS, 0, URGENT) == 0;
    if (c->walker != NULL) pt_bpf_engine_load_beside(c->walker);
    pt_event_set_enable(&c->set);
    if (c->options.awaits_exec) pt_event_set_await(&c->set, c->options.targets.pids[0]);
    watch_waits(c);
}

static bool all_ended(const pt_capture *c)
{
    for (size_t i = 0; i < c->target.count; i++)
        if (!c->target.items[i].has_ended) return false;
    return c->target.count > 0;
}

static uint64_t seen_ns(const pt_capture *c)
{
    const int64_t moved_ns = c->ledger != NULL ? pt_ledger_moved_ns(c->ledger) : 0;
    return c->facts.samples * c->facts.period_ns + (uint64_t)moved_ns;
}

/* Is the recorder itself among the recorded processes? It always is if the whole machine is
 * recorded; with a control group it is if it is a member. */
static bool is_self_among(const pt_capture *c)
{
    const pt_capture_targets *const t = &c->options.targets;
    if (t->pid_count > 0) return false;
    return t->cgroup == NULL || pt_cgroup_has(c->procs.root, t->cgroup, (uint32_t)getpid(), false);
}

static void fill_facts(pt_capture *c)
{
    pt_capture_facts *const f = &c->facts;
    f->duration_ns = pt_clock_ns(CLOCK_MONOTONIC) - c->start_ns;
    f->missed_threads = c->set.missed;
    f->is_out_of_descriptors = c->set.is_out_of_descriptors;
    f->seen_ns = seen_ns(c);
    const uint64_t used = used_ns(c);
    f->used_ns = used > c->used_before_ns ? used - c->used_before_ns : 0;
    f->own_ns = own_ns(c) - c->own_before_ns;
    if (is_self_among(c)) f->used_ns -= f->own_ns < f->used_ns ? f->own_ns : f->used_ns;
    f->events = pt_event_set_events(&c->set) - c->events_before;
}

/* Takes the CPU time that the kernel reports of an ended command, if it is more than the events
 * have counted. With events of threads, a report that is far above the count has the time of
 * programs with more rights than the recorder, which have no events: no row gets that time. */
static void take_reported(pt_capture *c)
{
    const pt_capture_options *const o = &c->options;
    const uint64_t reported_ns = o->reported_ns != NULL ? o->reported_ns(o->reported_arg) : 0;
    const uint64_t counted_ns = c->facts.used_ns;
    const bool has_others = c->set.plan.is_each_thread && reported_ns > counted_ns + counted_ns / 4;
    if (reported_ns > counted_ns) c->facts.used_ns = reported_ns;
    c->settled_ns = has_others ? counted_ns : c->facts.used_ns;
}

uint64_t pt_capture_lost(const pt_capture_facts *f, uint64_t used_ns)
{
    if (!f->is_beside_others || f->period_ns == 0 || used_ns == 0) return f->lost;
    const uint64_t missing_ns = used_ns > f->seen_ns ? used_ns - f->seen_ns : 0;
    const uint64_t most = (missing_ns + f->period_ns / 2) / f->period_ns;
    return f->lost < most ? f->lost : most;
}

/* Drops used_ns if it is too low. The clocks of a process miss the time after a thread other than
 * its first has called exec. */
static void check_used(pt_capture_facts *f)
{
    enum { LITTLE_NS = 100000000 };
    if (f->seen_ns > LITTLE_NS && f->used_ns < f->seen_ns / 3 * 2) f->used_ns = 0;
}

/* Does the recording hold more memory than it may? The memory of distinct stacks and of the samples
 * of a timeline grows. The rings, and memory that was mapped before the first sample, do not
 * count. */
static bool is_full(pt_capture *c, int64_t now_ns)
{
    if (c->options.memory_bytes == 0 || now_ns - c->weighed_ns < WEIGH_NS) return c->facts.is_full;
    const uint64_t held = pt_memory_held();
    c->weighed_ns = now_ns;
    c->facts.is_full = held > c->held_before && held - c->held_before > c->options.memory_bytes;
    return c->facts.is_full;
}

static bool is_over(pt_capture *c, int64_t now_ns)
{
    if (*c->options.stop != 0 || all_ended(c) || is_full(c, now_ns)) return true;
    return c->options.duration_ns > 0 && now_ns - c->start_ns >= c->options.duration_ns;
}

static void report_progress(pt_capture *c, int64_t now_ns)
{
    if (c->options.progress == NULL || now_ns - c->said_ns < PROGRESS_NS) return;
    c->said_ns = now_ns;
    fill_facts(c);
    c->options.progress(c->options.progress_arg, &c->facts);
}

static pt_keep_facts kept_facts(const pt_capture *c)
{
    return (pt_keep_facts){.duration_ns = c->facts.duration_ns,
                           .used_ns = c->facts.used_ns,
                           .seen_ns = c->facts.seen_ns,
                           .lost = pt_capture_lost(&c->facts, c->facts.used_ns)};
}

static void write_keep(pt_capture *c, int64_t now_ns)
{
    if (c->keep == NULL || !pt_keep_is_behind(c->keep) ||
        now_ns - c->kept_ns < KEEP_MS * INT64_C(1000000))
        return;
    c->kept_ns = now_ns;
    pt_waits_read(c);
    fill_facts(c);
    const pt_keep_facts facts = kept_facts(c);
    if (pt_sink_should_put_away(c->sink))
        pt_sink_put_away(c->sink, &facts);
    else
        pt_sink_write_kept(c->sink, &facts);
}

/* How long the first ticks of all timers of cpus take together; 0 if the event is not a timer. */
static int64_t first_ticks_ns(const pt_capture *c)
{
    return (int64_t)(c->facts.period_ns * c->set.timers);
}

/* Have all timers of cpus had their first ticks, and been given their periods since? */
static bool have_all_ticked(const pt_capture *c, int64_t now_ns)
{
    return now_ns - c->start_ns >= first_ticks_ns(c) + TICKED_NS;
}

/* True at the start of a recording, and just after copies of stacks grew. Then the reader must soon
 * notice two things: short copies, before many stacks are cut, and first ticks of timers, which may
 * repeat a short first period. */
static bool is_hasty(const pt_capture *c, int64_t now_ns)
{
    const bool may_grow = c->set.plan.stack_bytes < PT_STACK_BYTES_MAX;
    return (may_grow && c->walker == NULL && now_ns - c->start_ns < FIRST_NS) ||
           !have_all_ticked(c, now_ns) || (may_grow && now_ns - c->grown_ns < GROWN_NS);
}

/* Is it possible that a timer of a cpu has not had its first tick yet? A timer repeats its first
 * period until it gets its lasting period. */
static bool is_first_round(const pt_capture *c, int64_t now_ns)
{
    return c->set.timers > 1 && now_ns - c->start_ns < first_ticks_ns(c) + FIRST_NS;
}

/* Drops the records of processes that are not recorded where they come from: the samples in the
 * kernel, all other records in the spool. Not before all timers have had their first ticks, and all
 * forks have been fed that the walker did not see. With waits the stack of a waker may be of any
 * process. fed_ns: up to when records were fed. */
static void drop_others(pt_capture *c, int64_t now_ns, uint64_t fed_ns)
{
    if (!c->facts.is_beside_others || !have_all_ticked(c, now_ns)) return;
    if (!c->is_narrow && !c->set.plan.walks_waits) pt_spool_narrow(c->set.spool);
    c->is_narrow = true;
    if (c->followed_ns == 0 || fed_ns <= c->followed_ns) return;
    pt_bpf_engine_drop_unknown(c->walker);
    c->followed_ns = 0;
}

static bool polls_proc(const pt_capture *c)
{
    for (size_t i = 0; i < c->target.count; i++)
        if (c->target.items[i].fd < 0 && !c->target.items[i].has_ended) return true;
    return false;
}

/* The next timeout of poll. is_fed: all records were fed. */
static int wait_ms(const pt_capture *c, int64_t now_ns, bool is_fed)
{
    const int64_t left_ns = c->options.duration_ns - (now_ns - c->start_ns);
    const bool is_behind = c->keep != NULL && pt_keep_is_behind(c->keep);
    const bool has_thread = pt_spool_has_thread(c->set.spool);
    const bool is_calm = pt_spool_is_calm(c->set.spool);
    const int most = is_hasty(c, now_ns)                        ? HASTY_WAKE_MS
                     : !has_thread || is_first_round(c, now_ns) ? WAKE_MS
                     : !is_fed                                  ? (is_calm ? CALM_WAKE_MS : WAKE_MS)
                     : polls_proc(c)                            ? ASKING_WAKE_MS
                     : is_behind                                ? KEEP_MS
                                                                : IDLE_WAKE_MS;
    if (c->options.duration_ns == 0 || left_ns > (int64_t)most * 1000000) return most;
    return left_ns > 0 ? (int)(left_ns / 1000000) + 1 : 0;
}

static struct pollfd *make_polled(const pt_capture *c, size_t *ret_count)
{
    struct pollfd *const polled = pt_alloc(1 + c->target.count, sizeof *polled);
    size_t n = 0;
    polled[n++] = (struct pollfd){.fd = pt_spool_fd(c->set.spool), .events = POLLIN};
    for (size_t i = 0; i < c->target.count; i++)
        polled[n++] = (struct pollfd){.fd = c->target.items[i].fd, .events = POLLIN};
    *ret_count = n;
    return polled;
}

static void mark_ended(pt_capture *c, struct pollfd *polled)
{
    struct pollfd *const targets = polled + 1;
    for (size_t i = 0; i < c->target.count; i++) {
        pt_watched *const target = &c->target.items[i];
        if (target->has_ended) continue;
        target->has_ended =
            target->fd >= 0 ? targets[i].revents != 0 : is_process_gone(c, target->pid);
        if (!target->has_ended || target->fd < 0) continue;
        close(target->fd);
        target->fd = targets[i].fd = -1;
    }
}

static void forget_table(void *arg, const pt_unwind_table *table)
{
    const pt_capture *const c = arg;
    if (c->walker != NULL) pt_bpf_engine_forget_table(c->walker, table);
}

void pt_capture_run(pt_capture *c)
{
    size_t count;
    PT_FREE struct pollfd *polled = make_polled(c, &count);
    bool is_fed = false;
    for (int64_t now_ns = pt_clock_ns(CLOCK_MONOTONIC); !is_over(c, now_ns);
         now_ns = pt_clock_ns(CLOCK_MONOTONIC)) {
        /* The spool's thread wakes this thread when the spool has copied records. The youngest
         * records are fed once poll has timed out without new records. */
        is_fed = poll(polled, count, wait_ms(c, now_ns, is_fed)) == 0;
        mark_ended(c, polled);
        take_walker(c);
        pt_spool_noticed(c->set.spool);
        if (is_fed || is_hasty(c, now_ns)) pt_spool_take(c->set.spool);
        /* The order matters: pt_feed_urgent searches the records for urgent ones before the records
         * are fed. */
        const uint64_t upto_ns = pt_spool_upto_ns(c->set.spool);
        pt_feed_urgent(c);
        const uint64_t seen_upto_ns = upto_ns > SETTLED_NS ? upto_ns - SETTLED_NS : 0;
        if (seen_upto_ns > 0) pt_feed_upto(c, seen_upto_ns);
        pt_event_set_stir(&c->set, (uint64_t)pt_clock_ns(CLOCK_MONOTONIC), seen_upto_ns);
        drop_others(c, now_ns, seen_upto_ns);
        write_keep(c, now_ns);
        pt_procs_sweep(&c->procs, forget_table, c);
        report_progress(c, now_ns);
    }
    fill_facts(c);
    take_reported(c);
    if (c->walker != NULL) c->facts.left_out = pt_bpf_engine_left_out(c->walker);
    const uint64_t end_ns = (uint64_t)pt_clock_ns(CLOCK_MONOTONIC);
    if (c->ledger != NULL) pt_ledger_look_at_all(c->ledger);
    pt_event_set_disable(&c->set);
    if (c->walker != NULL) pt_bpf_engine_unwatch(c->walker);
    for (bool is_all = false; !is_all;) {
        is_all = pt_spool_take(c->set.spool);
        pt_feed_upto(c, UINT64_MAX - 1);
    }
    pt_feed_end(c, end_ns);
    c->facts.named_gone = pt_named_gone(c->named);
    const char *const why = c->walker != NULL ? pt_bpf_engine_why_no_frames(c->walker) : "";
    snprintf(c->facts.refused, sizeof c->facts.refused, "%s%s%s%s", pt_named_refused(c->named),
             pt_target_memory_said(c->procs.memory),
             why[0] != '\0' ? "functions of interpreters are not read: " : "", why);
    if (c->has_priority) setpriority(PRIO_PROCESS, 0, c->priority);
    c->facts.seen_ns = seen_ns(c);
    check_used(&c->facts);
}

/* ---- the end ---- */

static void store_facts(pt_capture *c)
{
    const pt_capture_facts *const f = &c->facts;
    pt_builder *const b = c->builder;
    pt_provenance *const p = pt_builder_provenance(b);
    p->source_format = pt_builder_text(b, "perf_event").v;
    p->period_type = pt_builder_text(b, f->period_ns != 0 ? "cpu" : c->set.plan.source->name).v;
    p->period_unit = pt_builder_text(b, f->period_ns != 0 ? "nanoseconds" : "count").v;
    p->has_period_type = true;
    p->period = (int64_t)f->period;
    p->start_ns = f->start_ns;
    p->duration_ns = f->duration_ns;
    p->asked_hz = f->period_ns != 0 ? (double)c->options.hz : 0;
    p->true_hz = f->period_ns != 0 ? 1e9 / (double)f->period_ns : 0;
    p->cpu_used_ns = (int64_t)f->used_ns;
    p->cpu_seen_ns = (int64_t)f->seen_ns;
    p->lost = pt_capture_lost(f, f->used_ns);
    p->throttled = f->throttled;
    p->word_bytes = sizeof(void *);
    /* Waiting is a secondary value: reports show CPU time by default. */
    if (c->options.off_cpu) p->default_event = p->period_type;
}

/* Brings all rows into the builder: rows that were put away are read back from the files. */
static pt_status gather_rows(pt_capture *c, pt_error *reterr)
{
    if (!pt_sink_has_put_away(c->sink)) {
        pt_sink_finish(c->sink);
        return PT_OK;
    }
    pt_builder *whole;
    const pt_keep_facts facts = kept_facts(c);
    if (!pt_sink_write_kept(c->sink, &facts)) c->facts.unwritten = pt_sink_unwritten(c->sink);
    const pt_status status = pt_keep_restore(c->options.keep_folder, &whole, reterr);
    if (status != PT_OK) return status;
    pt_builder_free(c->builder);
    c->builder = whole;
    return PT_OK;
}

pt_status pt_capture_finish(pt_capture *c, pt_capture_facts *ret_facts,
                            const pt_profile **ret_profile, pt_error *reterr)
{
    const pt_status status = gather_rows(c, reterr);
    if (status != PT_OK) return status;
    pt_images_keep(&c->procs.images);
    pt_builder_drop_empty_event(c->builder, PT_WAITS_GIL);
    store_facts(c);
    if (c->options.describe != NULL)
        c->options.describe(c->options.describe_arg, c->builder, &c->facts);
    *ret_facts = c->facts;
    pt_builder *const b = c->builder;
    c->builder = NULL;
    return pt_builder_freeze(b, ret_profile, reterr);
}
