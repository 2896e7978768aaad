/* set.c: opens, closes and weighs the events of a recording. See set.h. */
#include "capture/set.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/grow.h"
#include "base/hash.h"
#include "base/plain/tick.h"
#include "capture/ledger.h"
#include "capture/procs.h"
#include "capture/set_rings.h"

enum {
    RING_PARTS = 32, /* the kernel's ring holds the samples of this part of a second */
    YOUNG_PERIODS = 8,
    ROW_TICKS = 16, /* of a thread's event, until its period is drawn anew */
    /* CPU time of a thread that counts as long-lived; few threads reach it. */
    SHORT_LIFE_NS = 20000000,
};

static pt_ring_pair *pair_of(const pt_event_set *set, uint32_t cpu)
{
    const uint32_t i = cpu < set->cpu_limit ? set->pair_of_cpu[cpu] : PT_NONE;
    return i != PT_NONE ? &set->pairs[i] : NULL;
}

/* ---- threads ---- */

static size_t home_of(const pt_event_set *set, pid_t tid)
{
    return (size_t)pt_hash_u32_pair((uint32_t)tid, 7) & set->threads.mask;
}

static size_t slot_of(const pt_event_set *set, pid_t tid)
{
    size_t i = home_of(set, tid);
    while (set->threads.slots[i] != NULL && set->threads.slots[i]->tid != tid)
        i = (i + 1) & set->threads.mask;
    return i;
}

static pt_event_thread *thread_of(const pt_event_set *set, pid_t tid)
{
    return set->threads.slots[slot_of(set, set->plan.is_each_thread ? tid : -1)];
}

static void put_thread(pt_event_set *set, pt_event_thread *thread)
{
    if (set->threads.count * 2 >= set->threads.mask) {
        pt_event_thread **const old = set->threads.slots;
        const size_t old_count = set->threads.mask + 1;
        set->threads.mask = set->threads.mask * 2 + 1;
        set->threads.slots = pt_alloc(set->threads.mask + 1, sizeof *set->threads.slots);
        for (size_t i = 0; i < old_count; i++)
            if (old[i] != NULL) set->threads.slots[slot_of(set, old[i]->tid)] = old[i];
        free(old);
    }
    set->threads.slots[slot_of(set, thread->tid)] = thread;
    set->threads.count++;
}

/* Removes a slot. Linear probing allows no gap, so later entries move up if their home is not after
 * the gap. */
static void remove_slot(pt_event_set *set, size_t gap)
{
    pt_event_thread **const slots = set->threads.slots;
    const size_t mask = set->threads.mask;
    slots[gap] = NULL;
    set->threads.count--;
    for (size_t i = (gap + 1) & mask; slots[i] != NULL; i = (i + 1) & mask) {
        const size_t home = home_of(set, slots[i]->tid);
        if (((i - home) & mask) < ((i - gap) & mask)) continue;
        slots[gap] = slots[i];
        slots[i] = NULL;
        gap = i;
    }
}

/* ---- opening ---- */

static void put_fd(pt_event_fds *fds, int fd)
{
    if (fd < 0) return;
    PT_PUSH(*fds, fd);
}

static void close_all(pt_event_fds *fds)
{
    for (size_t i = 0; i < fds->count; i++)
        close(fds->items[i]);
    free(fds->items);
    *fds = (pt_event_fds){0};
}

static uint32_t row_count(const pt_event_set *set)
{
    return set->pair_count * set->timers;
}

/* The period of a row's ticks. With events per thread, weights come from the threads' clocks, so
 * the ticks need not be exact. */
static uint64_t ticks_of_row(pt_event_set *set, uint32_t index, bool is_new)
{
    const uint64_t period = set->plan.period;
    if (!set->plan.source->is_clock) return period;
    if (set->plan.is_each_thread) return is_new ? period : pt_random_period(&set->random, period);
    return pt_rhythm_period(&set->pairs[index % set->pair_count].rhythm, index / set->pair_count,
                            period);
}

/* Opens the events of row number index; its clock starts at 0. first_period 0: use the row's
 * period, or with several timers a first one of their rhythm. leader_fd: see
 * pt_event_open_sampling.
 */
static bool open_row(pt_event_set *set, pt_event_row *row, pid_t tid, uint32_t index,
                     uint64_t first_period, int leader_fd)
{
    const pt_ring_pair *const pair = &set->pairs[index % set->pair_count];
    const uint32_t timer = index / set->pair_count;
    row->period = ticks_of_row(set, index, first_period != 0);
    if (set->timers > 1 && first_period == 0)
        first_period = pt_rhythm_first(&set->random, timer, set->plan.period);
    const uint64_t period = first_period != 0 ? first_period : row->period;
    row->fd = pt_event_open_sampling(&set->plan, tid, pair->cpu, period, leader_fd);
    row->is_led = leader_fd >= 0;
    row->switches_fd = -1;
    row->taken = row->passed = 0;
    row->is_first = first_period != 0;
    row->is_beside = row->is_first && set->plan.is_each_thread;
    row->has_ticked = false;
    row->first = first_period;
    row->settled_ns = row->is_first ? UINT64_MAX : 0;
    row->fresh = 0;
    if (row->fd >= set->fd_limit) {
        pt_event_close(&row->fd);
        errno = EMFILE;
    }
    if (row->fd < 0) {
        set->is_out_of_descriptors |= errno == EMFILE;
        return false;
    }
    row->id = pt_event_id(row->fd);
    /* The first sample must wake the recorder, since samples come at the short period until it is
     * noticed. */
    ioctl(row->fd, PERF_EVENT_IOC_SET_OUTPUT, row->is_beside ? pair->side_fd : pair->samples_fd);
    if (set->off_cpu && timer == 0) {
        row->switches_fd = pt_event_open_switches(&set->plan, tid, pair->cpu);
        if (row->switches_fd >= 0) {
            row->switches_id = pt_event_id(row->switches_fd);
            ioctl(row->switches_fd, PERF_EVENT_IOC_SET_OUTPUT, pair->samples_fd);
        }
    }
    if (row->is_beside && set->first != NULL)
        pt_first_await(set->first, row->id, row->fd, row->period);
    if (set->is_enabled) {
        ioctl(row->fd, PERF_EVENT_IOC_ENABLE, 0);
        if (row->switches_fd >= 0) ioctl(row->switches_fd, PERF_EVENT_IOC_ENABLE, 0);
    }
    row->opened_ns = (uint64_t)pt_clock_ns(CLOCK_MONOTONIC);
    return true;
}

static void close_row(const pt_event_set *set, pt_event_row *row)
{
    if (row->is_first && row->fd >= 0 && set->first != NULL) pt_first_end(set->first, row->id);
    pt_event_close(&row->fd);
    pt_event_close(&row->switches_fd);
}

static void close_rows(const pt_event_set *set, pt_event_thread *thread)
{
    for (uint32_t i = row_count(set); i-- > 0;) /* leaders last */
        close_row(set, &thread->rows[i]);
}

static void free_thread(pt_event_set *set, pt_event_thread *thread)
{
    close_rows(set, thread);
    free(thread->rows);
    free(thread);
}

/* Opens the events of a new thread, in the middle of a period. If a sample was due before the
 * events were open, the first tick comes at once and counts for that sample, too, unless inherited
 * events make samples of that time. */
static bool open_new(pt_event_set *set, pt_event_thread *thread)
{
    const uint64_t period = set->plan.period;
    pt_thread_clock clock = {0};
    pt_thread_clock_read("/proc", (uint32_t)thread->pid, (uint32_t)thread->tid, &clock);
    const uint64_t before_ns = clock.ran_ns;
    thread->former_ns = before_ns;
    if (thread->birth.cover == 0)
        thread->credit = (before_ns + pt_random_below(&set->random, period)) / period;
    for (uint32_t i = 0; i < set->pair_count; i++) {
        pt_event_row *const row = &thread->rows[i];
        uint64_t first = 1 + pt_random_below(&set->random, period);
        row->offset = period - first;
        if (thread->credit > 0 || first < PT_FIRST_PERIOD_MIN_NS) first = PT_FIRST_PERIOD_MIN_NS;
        if (!open_row(set, row, thread->tid, i, first, -1)) return false;
    }
    thread->before = (pt_event_before){before_ns, (uint64_t)pt_clock_ns(CLOCK_MONOTONIC)};
    return true;
}

void pt_event_set_await(pt_event_set *set, pid_t tid)
{
    if (set->inherited != NULL) pt_inherited_begin(set->inherited, tid);
}

pt_event_before pt_event_set_before(const pt_event_set *set, pid_t tid)
{
    const pt_event_thread *const thread = thread_of(set, tid);
    return thread != NULL ? thread->before : (pt_event_before){0};
}

static pid_t process_of(pid_t tid)
{
    char who[24], pid[24];
    snprintf(who, sizeof who, "%d", tid);
    pt_proc_status("/proc", who, "Tgid", pid, sizeof pid);
    return (pid_t)strtol(pid, NULL, 10);
}

/* Makes the entry of a thread, or of the cpus (tid -1), without events yet. */
static pt_event_thread *make_thread(const pt_event_set *set, pid_t pid, pid_t tid)
{
    pt_event_thread *const thread = pt_alloc(1, sizeof *thread);
    thread->pid = pid;
    thread->tid = tid;
    thread->stack_bytes = set->plan.stack_bytes;
    thread->rows = pt_alloc(row_count(set), sizeof *thread->rows);
    for (uint32_t i = 0; i < row_count(set); i++)
        thread->rows[i] = (pt_event_row){.fd = -1, .switches_fd = -1};
    return thread;
}

/* Opens the events of a thread that are not open yet, and puts the thread into the table. If the
 * kernel refuses, frees the thread; but a thread that inherited events stays in the table, without
 * events of its own. */
static bool open_rows(pt_event_set *set, pt_event_thread *thread, bool is_open)
{
    for (uint32_t i = 0; i < row_count(set) && is_open; i++) {
        /* One call to a cpu starts all its timers. */
        const bool has_leader = i >= set->pair_count && !set->is_enabled;
        const int leader_fd = has_leader ? thread->rows[i % set->pair_count].fd : -1;
        if (thread->rows[i].fd < 0)
            is_open = open_row(set, &thread->rows[i], thread->tid, i, 0, leader_fd);
    }
    if (is_open) {
        put_thread(set, thread);
        return true;
    }
    const int error = errno;
    if (thread->birth.cover == 0) {
        free_thread(set, thread);
    } else {
        close_rows(set, thread);
        thread->before = (pt_event_before){0};
        thread->former_ns = 0;
        thread->is_missed = error != ESRCH;
        put_thread(set, thread);
    }
    errno = error;
    return false;
}

static bool add_running(pt_event_set *set, pid_t pid, pid_t tid)
{
    return thread_of(set, tid) != NULL || open_rows(set, make_thread(set, pid, tid), true);
}

bool pt_event_set_add(pt_event_set *set, pid_t tid)
{
    return add_running(set, process_of(tid), tid);
}

static void open_events(pt_event_set *set, pt_event_thread *thread)
{
    const bool has_cover = thread->birth.cover != 0;
    const pid_t tid = thread->tid;
    const bool is_open = !set->plan.source->is_clock || open_new(set, thread);
    if (open_rows(set, thread, is_open)) return;
    /* If the thread has ended already, inherited events have made all its samples. */
    const bool has_ended = errno == ESRCH;
    *(has_cover && has_ended ? &set->brief : &set->missed) += 1;
    if (has_cover || !has_ended) return;
    set->early++;
    set->early_tids[(uint32_t)tid % PT_EVENT_EARLY_TIDS] = tid;
}

bool pt_event_set_was_early(pt_event_set *set, pid_t tid)
{
    pid_t *const early = &set->early_tids[(uint32_t)tid % PT_EVENT_EARLY_TIDS];
    const bool was_early = *early == tid;
    if (was_early) *early = 0;
    return was_early;
}

static void add_new(pt_event_set *set, pid_t pid, pid_t tid, pt_inherited_birth birth)
{
    pt_event_thread *const thread = make_thread(set, pid, tid);
    thread->birth = birth;
    open_events(set, thread);
}

void pt_event_set_fork(pt_event_set *set, const pt_perf_record *fork)
{
    if (thread_of(set, (pid_t)fork->task.tid) != NULL) return;
    pt_event_thread *const parent = thread_of(set, (pid_t)fork->task.ptid);
    const bool inherits = set->inherited != NULL && parent != NULL && set->is_enabled;
    const pid_t ptid = (pid_t)fork->task.ptid;
    const pt_inherited_birth birth =
        inherits ? pt_inherited_at_birth(set->inherited, ptid, &parent->birth, fork->time_ns)
                 : (pt_inherited_birth){.cover = 0};
    add_new(set, (pid_t)fork->task.pid, (pid_t)fork->task.tid, birth);
    if (inherits) pt_inherited_fork(set->inherited, ptid, parent->birth.cover, &set->random);
}

uint64_t pt_event_set_remove(pt_event_set *set, pid_t tid)
{
    if (!set->plan.is_each_thread) return 0;
    const size_t slot = slot_of(set, tid);
    pt_event_thread *const thread = set->threads.slots[slot];
    if (set->inherited != NULL) pt_inherited_end(set->inherited, (uint32_t)tid);
    if (thread == NULL) return 0;
    uint64_t ran_ns = thread->former_ns;
    for (uint32_t i = 0; i < set->pair_count; i++)
        if (thread->rows[i].fd >= 0) ran_ns += pt_event_read(thread->rows[i].fd);
    free_thread(set, thread);
    remove_slot(set, slot);
    return ran_ns;
}

/* Tries the events of a thread again that could not be opened. */
static void open_missed(pt_event_set *set, pt_event_thread *thread)
{
    if (!thread->is_missed) return;
    remove_slot(set, slot_of(set, thread->tid));
    thread->is_missed = false;
    set->missed--;
    open_events(set, thread);
}

void pt_event_set_exec(pt_event_set *set, pid_t pid)
{
    if (!set->plan.is_each_thread) return;
    pt_event_thread *const first = thread_of(set, pid);
    if (first != NULL) {
        open_missed(set, first);
        return;
    }
    for (size_t i = 0; i <= set->threads.mask; i++) {
        pt_event_thread *const thread = set->threads.slots[i];
        if (thread == NULL || thread->pid != pid) continue;
        remove_slot(set, i);
        thread->tid = pid;
        put_thread(set, thread);
        open_missed(set, thread);
        return;
    }
    if (set->early_tids[(uint32_t)pid % PT_EVENT_EARLY_TIDS] == pid) return; /* it is counted */
    add_new(set, pid, pid, (pt_inherited_birth){.cover = 0}); /* the thread had no events yet */
}

/* Opens dummy events that report fork, exec, exit and mappings of a thread and all its children. */
static void report_on(pt_event_set *set, pid_t tid)
{
    for (uint32_t i = 0; i < set->pair_count; i++) {
        const pt_ring_pair *const pair = &set->pairs[i];
        const int fd = pt_event_open_dummy(&set->plan, tid, pair->cpu, true, 1);
        if (fd < 0) continue;
        ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, pair->side_fd);
        put_fd(&set->reporters, fd);
    }
}

/* The number of descriptors for events; the rest is for reading the files of programs. */
static int fd_limit(void)
{
    enum { KEPT = 24, KEPT_PART = 4 };
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur > INT_MAX) return INT_MAX;
    const int all = (int)limit.rlim_cur;
    return all - (all / KEPT_PART < KEPT ? all / KEPT_PART : KEPT);
}

/* Draws the periods of the cpus' timers. With a control group the kernel stops and starts each of
 * them at each switch to another group, so there are fewer. */
static void begin_rhythms(pt_event_set *set)
{
    enum { GROUP_TIMERS = 2, FD_PART = 4 };
    const bool is_alone = set->plan.is_each_thread || !set->plan.source->is_clock;
    set->timers = is_alone ? 1 : set->plan.has_group ? GROUP_TIMERS : PT_RHYTHM_TIMERS;
    while (set->timers > 1 && row_count(set) > (uint32_t)set->fd_limit / FD_PART)
        set->timers /= 2;
    for (uint32_t i = 0; i < set->pair_count; i++)
        pt_rhythm_begin(&set->pairs[i].rhythm, set->timers, &set->random);
}

bool pt_event_set_follow(pt_event_set *set, pid_t tid)
{
    if (!set->plan.is_each_thread) return true;
    report_on(set, tid);
    return pt_event_set_add(set, tid);
}

static pt_inherited *make_inherited(const pt_event_set *set)
{
    PT_FREE int *cpus = pt_alloc(set->pair_count, sizeof *cpus);
    PT_FREE int *samples_fds = pt_alloc(set->pair_count, sizeof *samples_fds);
    for (uint32_t i = 0; i < set->pair_count; i++) {
        cpus[i] = set->pairs[i].cpu;
        samples_fds[i] = set->pairs[i].samples_fd;
    }
    return pt_inherited_new(&(pt_inherited_options){.plan = &set->plan,
                                                    .cpus = cpus,
                                                    .samples_fds = samples_fds,
                                                    .cpu_count = set->pair_count,
                                                    .fd_limit = set->fd_limit / 2});
}

static pt_status set_refused(const pt_event_plan *plan, pt_error *reterr)
{
    if (errno == EMFILE)
        return pt_error_set(reterr, PT_ERR_SYSTEM, "too few descriptors: raise ulimit -n");
    return pt_error_errno(reterr, errno, "the kernel refuses events of %s", plan->source->name);
}

pt_status pt_event_set_open(pt_event_set *set, const pt_event_plan *plan, bool off_cpu,
                            const pid_t *tids, size_t tid_count, pt_error *reterr)
{
    *set = (pt_event_set){.plan = *plan, .layout = pt_event_layout(plan), .off_cpu = off_cpu};
    if (getrandom(&set->random, sizeof set->random, GRND_NONBLOCK) < 0) set->random = 1;
    set->fd_limit = fd_limit();
    set->threads.mask = 63;
    set->threads.slots = pt_alloc(set->threads.mask + 1, sizeof *set->threads.slots);
    pt_set_rings_make(set);
    begin_rhythms(set);
    if (plan->is_each_thread) set->first = pt_first_new();
    const pt_status status = pt_set_rings_open(set, reterr);
    if (status != PT_OK) return status;
    if (plan->is_each_thread) set->mover = pt_mover_new();
    if (plan->is_each_thread && plan->source->is_clock) set->inherited = make_inherited(set);
    size_t opened = 0;
    for (size_t i = 0; i < tid_count && plan->is_each_thread; i++) {
        if (pt_event_set_follow(set, tids[i]))
            opened++;
        else if (errno != ESRCH)
            return set_refused(plan, reterr);
    }
    if (!plan->is_each_thread) return add_running(set, 0, -1) ? PT_OK : set_refused(plan, reterr);
    if (opened > 0) return PT_OK;
    return pt_error_set(reterr, PT_ERR_NOTFOUND, "all processes to record have ended");
}

void pt_event_set_close(pt_event_set *set)
{
    pt_spool_free(set->spool);
    pt_mover_free(set->mover);
    pt_inherited_free(set->inherited);
    for (size_t i = 0; set->threads.slots != NULL && i <= set->threads.mask; i++)
        if (set->threads.slots[i] != NULL) free_thread(set, set->threads.slots[i]);
    pt_set_rings_close(set);
    close_all(&set->reporters);
    close_all(&set->clocks);
    close_all(&set->counters);
    pt_first_free(set->first);
    free(set->threads.slots);
    *set = (pt_event_set){0};
}

/* ---- running ---- */

static void control_all(pt_event_set *set, unsigned long request)
{
    for (size_t i = 0; i <= set->threads.mask; i++) {
        const pt_event_thread *const thread = set->threads.slots[i];
        for (uint32_t r = 0; thread != NULL && r < row_count(set); r++) {
            const pt_event_row *const row = &thread->rows[r];
            if (row->fd >= 0 && !row->is_led) ioctl(row->fd, request, 0);
            if (row->switches_fd >= 0) ioctl(row->switches_fd, request, 0);
        }
    }
}

/* Attaches the plan's walker to all sampling events; false if none of them takes it. */
static bool attach_walker(pt_event_set *set)
{
    const pt_event_thread *const thread = thread_of(set, -1);
    uint32_t count = 0;
    for (uint32_t i = 0; thread != NULL && i < row_count(set); i++)
        count += thread->rows[i].fd >= 0 && pt_event_walk(&set->plan, thread->rows[i].fd);
    return count > 0;
}

pt_status pt_event_set_walk(pt_event_set *set, pt_bpf_engine *walker, pt_error *reterr)
{
    errno = ESRCH; /* if no event is open */
    set->plan.walker = walker;
    if (pt_set_rings_open_outputs(set) && attach_walker(set)) return PT_OK;
    const int error = errno;
    pt_set_rings_close_outputs(set);
    set->plan.walker = NULL;
    return pt_error_errno(reterr, error, "the kernel refuses events of BPF programs");
}

void pt_event_set_enable(pt_event_set *set)
{
    pt_event_thread *const cpus = set->timers > 1 ? thread_of(set, -1) : NULL;
    set->is_enabled = true;
    for (uint32_t i = 0; cpus != NULL && i < row_count(set); i++)
        cpus->rows[i].opened_ns = (uint64_t)pt_clock_ns(CLOCK_MONOTONIC);
    control_all(set, PERF_EVENT_IOC_ENABLE);
}

void pt_event_set_disable(pt_event_set *set)
{
    set->is_enabled = false;
    control_all(set, PERF_EVENT_IOC_DISABLE);
    if (set->inherited != NULL) pt_inherited_stop(set->inherited);
}

/* Finds the thread of a record in the middle of execve: it has the tid of its process's first
 * thread already, but its events are still listed under its old tid; see pt_event_set_exec. */
static pt_event_thread *thread_in_exec(const pt_event_set *set, const pt_perf_record *record,
                                       size_t pair)
{
    for (size_t i = 0; i <= set->threads.mask; i++) {
        pt_event_thread *const thread = set->threads.slots[i];
        if (thread == NULL || thread->pid != (pid_t)record->pid) continue;
        const pt_event_row *const row = &thread->rows[pair];
        if (row->id == record->id || (row->switches_fd >= 0 && row->switches_id == record->id))
            return thread;
    }
    return NULL;
}

/* If the walker wrote the record: the period with which the sampling event was opened; else 0. Such
 * a record has the id of the walker's output event. */
static uint64_t period_of_walked(const pt_perf_record *record)
{
    const pt_perf_sample *const s = &record->sample;
    if (record->type != PERF_RECORD_SAMPLE) return 0;
    return s->walked != NULL ? s->walked->period : s->known != NULL ? s->known->period : 0;
}

static bool is_of_row(const pt_event_row *row, const pt_perf_record *record)
{
    const uint64_t first = period_of_walked(record);
    return row->id == record->id || (first != 0 && row->first == first);
}

/* With events per cpu: the row whose event made the record; if no row did, the first row of the
 * cpu. */
static pt_event_row *timer_of(const pt_event_set *set, const pt_event_thread *cpus, size_t pair,
                              const pt_perf_record *record)
{
    for (size_t i = pair; i < row_count(set); i += set->pair_count)
        if (is_of_row(&cpus->rows[i], record)) return &cpus->rows[i];
    return &cpus->rows[pair];
}

static pt_event_row *row_of(const pt_event_set *set, const pt_perf_record *record,
                            pt_event_thread **ret_thread)
{
    const pt_ring_pair *const pair = pair_of(set, record->cpu);
    pt_event_thread *thread = thread_of(set, (pid_t)record->tid);
    if (thread == NULL && pair != NULL && record->tid == record->pid)
        thread = thread_in_exec(set, record, (size_t)(pair - set->pairs));
    *ret_thread = thread;
    if (thread == NULL || pair == NULL) return NULL;
    return timer_of(set, thread, (size_t)(pair - set->pairs), record);
}

bool pt_event_set_is_switch(const pt_event_set *set, const pt_perf_record *record)
{
    pt_event_thread *thread;
    if (!set->off_cpu) return false;
    const pt_event_row *const row = row_of(set, record, &thread);
    return row != NULL && row->switches_fd >= 0 &&
           (row->switches_id == record->id || row->former_switches_id == record->id);
}

/* Notes that a row ticks with a period since a time. */
static void note_settled(pt_event_row *row, uint64_t period, uint64_t settled_ns)
{
    row->former = row->is_first ? row->first : row->period;
    row->period = period;
    row->is_first = false;
    row->settled_ns = settled_ns;
    row->fresh = 0;
}

/* Makes a row tick with a period from now on. */
static void settle_row(pt_event_row *row, uint64_t period)
{
    ioctl(row->fd, PERF_EVENT_IOC_PERIOD, &period);
    note_settled(row, period, (uint64_t)pt_clock_ns(CLOCK_MONOTONIC));
}

/* Makes a row of a thread tick with its period, unless the spool has done so. */
static void settle_first(const pt_event_set *set, pt_event_row *row)
{
    const uint64_t settled_ns = set->first != NULL ? pt_first_end(set->first, row->id) : 0;
    if (settled_ns != 0)
        note_settled(row, row->period, settled_ns);
    else
        settle_row(row, row->period);
}

bool pt_event_set_counts(pt_event_set *set, const pt_perf_record *record)
{
    pt_event_thread *cpus;
    pt_ring_pair *const pair = set->timers > 1 ? pair_of(set, record->cpu) : NULL;
    if (pair == NULL) return true;
    pair->fresh += record->time_ns > pair->stirred_ns;
    pt_event_row *const row = row_of(set, record, &cpus);
    if (row == NULL || !is_of_row(row, record) || record->time_ns >= row->settled_ns) return true;
    const bool is_repeated = row->has_ticked;
    row->has_ticked = true;
    return !is_repeated || pt_random_below(&set->random, row->period) < row->first;
}

/* Draws two periods of a cpu, or more, up to all, if many samples have come since the last draw. */
static void stir_cpu(pt_event_set *set, pt_event_thread *cpus, uint32_t pair_index, uint64_t now_ns)
{
    pt_ring_pair *const pair = &set->pairs[pair_index];
    const uint32_t due = pair->fresh / PT_RHYTHM_TICKS;
    const uint32_t most = set->timers / 2;
    const uint32_t draws = due < most ? due : most;
    const uint64_t ticks = (now_ns - pair->stirred_ns) / set->plan.period;
    for (uint32_t n = 0; n < draws; n++) {
        uint32_t timers[2];
        pt_rhythm_redraw(&pair->rhythm, &set->random, ticks / draws, timers);
        for (size_t i = 0; i < 2; i++) {
            pt_event_row *const row = &cpus->rows[timers[i] * set->pair_count + pair_index];
            settle_row(row, pt_rhythm_period(&pair->rhythm, timers[i], set->plan.period));
        }
    }
    pair->stirred_ns = now_ns;
    pair->fresh = 0;
}

void pt_event_set_stir(pt_event_set *set, uint64_t now_ns, uint64_t seen_ns)
{
    enum { LATE_NS = 100000 }; /* a tick may come by so much later than its period says */
    pt_event_thread *const cpus = set->timers > 1 ? thread_of(set, -1) : NULL;
    if (set->inherited != NULL) pt_inherited_renew(set->inherited, seen_ns, &set->random);
    for (uint32_t i = 0; cpus != NULL && i < row_count(set); i++) {
        pt_event_row *const row = &cpus->rows[i];
        const uint64_t ticked_ns = row->opened_ns + row->first;
        if (!row->is_first || now_ns <= ticked_ns + LATE_NS) continue;
        settle_row(row, row->period);
        const uint64_t uncounted_ns = (row->settled_ns - ticked_ns) % row->first;
        pt_rhythm_late(&set->pairs[i % set->pair_count].rhythm,
                       (double)uncounted_ns / (double)row->period);
    }
    for (uint32_t i = 0; cpus != NULL && i < set->pair_count; i++)
        if (set->pairs[i].fresh >= PT_RHYTHM_TICKS) stir_cpu(set, cpus, i, now_ns);
}

void pt_event_set_settle(pt_event_set *set, const pt_perf_record *record)
{
    pt_event_thread *thread;
    pt_event_row *const row = row_of(set, record, &thread);
    if (row == NULL || !row->is_beside || row->id != record->id) return;
    if (row->is_first) settle_first(set, row);
    if (record->sample.count >= SHORT_LIFE_NS)
        row->is_beside = !pt_mover_add(set->mover, row->fd, pair_of(set, record->cpu)->samples_fd);
}

/* The CPU time in the kernel before a sample, where the kernel may not be sampled. The event's
 * timer also runs in the kernel, where its ticks are dropped: so the time of the ticks that were
 * due since the last sample and did not come was spent in the kernel. */
static uint64_t time_in_kernel(const pt_event_row *row, const pt_perf_record *record,
                               uint64_t since)
{
    uint64_t due = row->passed == 0 ? record->sample.count : since;
    if (row->is_first) return pt_dropped_ns(row->first, due, since);
    if (record->time_ns <= row->settled_ns) return pt_dropped_ns(row->former, due, since);
    if (record->time_ns < row->settled_ns + due) due = record->time_ns - row->settled_ns;
    return pt_dropped_ns(row->period, due, since);
}

/* The weight of a sample of an inherited event, rounded to periods at random. A thread that is not
 * known to have inherited the event has a row for its start instead (credit). */
static uint64_t weight_of_inherited(pt_event_set *set, const pt_perf_record *record,
                                    pt_event_shares *ret_shares)
{
    const pt_event_thread *const thread = thread_of(set, (pid_t)record->tid);
    const pt_ring_pair *const pair = pair_of(set, record->cpu);
    uint64_t own_ns = UINT64_MAX;
    ret_shares->sample = 0;
    if (thread == NULL || thread->birth.cover == 0) return 0;
    if (thread->before.opened_ns != 0 && pair != NULL) {
        const uint64_t opened_ns = thread->rows[pair - set->pairs].opened_ns;
        own_ns = opened_ns < thread->before.opened_ns ? opened_ns : thread->before.opened_ns;
    }
    ret_shares->sample = pt_inherited_share(set->inherited, record, &thread->birth, own_ns);
    ret_shares->is_of_start = !set->plan.kernel;
    return (ret_shares->sample + pt_random_below(&set->random, set->plan.period)) /
           set->plan.period;
}

/* Is the record of an event that its thread has on its cpu? */
static bool is_of_own_row(const pt_event_set *set, const pt_perf_record *record)
{
    const pt_event_thread *const thread = thread_of(set, (pid_t)record->tid);
    const pt_ring_pair *const pair = pair_of(set, record->cpu);
    return thread != NULL && pair != NULL && thread->rows[pair - set->pairs].id == record->id;
}

uint64_t pt_event_set_weight(pt_event_set *set, const pt_perf_record *record,
                             pt_event_shares *ret_shares)
{
    pt_event_thread *thread;
    *ret_shares = (pt_event_shares){.sample = set->plan.period};
    if (!set->plan.is_each_thread || !set->plan.source->is_clock) return 1;
    if (set->inherited != NULL && !is_of_own_row(set, record) &&
        pt_inherited_has_made(set->inherited, record))
        return weight_of_inherited(set, record, ret_shares);
    pt_event_row *const row = row_of(set, record, &thread);
    if (row == NULL || row->id != record->id) return 1; /* the row was opened again since */
    const uint64_t passed = record->sample.count + row->offset;
    const uint64_t due = passed / set->plan.period;
    const uint64_t taken = row->taken;
    uint64_t weight = due > taken ? due - taken : 0;
    if (due > taken) row->taken = due;
    const uint64_t since = passed > row->passed ? passed - row->passed : 0;
    /* The first ticks of a thread come at random times of its life. Each stands for a period: the
     * time since the last tick would give more to the middle of short lives than to their ends. */
    const bool is_young =
        thread->before.opened_ns != 0 && record->sample.count < YOUNG_PERIODS * set->plan.period;
    ret_shares->sample = is_young ? weight * set->plan.period : since;
    weight += thread->credit;
    ret_shares->start = thread->credit * set->plan.period;
    if (!set->plan.kernel) ret_shares->kernel = time_in_kernel(row, record, since);
    if (is_young && ret_shares->kernel > 0) { /* whole periods, too */
        const uint64_t dropped = (row->passed + ret_shares->kernel) / set->plan.period;
        ret_shares->kernel = dropped > taken ? (dropped - taken) * set->plan.period : 0;
    }
    if (ret_shares->kernel > ret_shares->sample) ret_shares->kernel = ret_shares->sample;
    ret_shares->sample -= ret_shares->kernel;
    if (passed > row->passed) row->passed = passed;
    thread->credit = 0;
    row->fresh += record->time_ns > row->settled_ns;
    if (row->fresh >= ROW_TICKS && !row->is_first) {
        settle_row(row, pt_random_period(&set->random, set->plan.period));
    }
    return weight;
}

/* Opens a row's events again; the new events continue its clock. */
static void open_again(pt_event_set *set, pt_event_thread *thread, uint32_t i)
{
    const uint64_t period = set->plan.period;
    pt_event_row *const row = &thread->rows[i];
    pt_event_row next = {.fd = -1, .switches_fd = -1};
    uint64_t first = 0;
    /* A timer of a cpu would repeat a random first period until the recorder notices its tick, so
     * it begins with its lasting period. */
    if (set->timers > 1)
        first =
            pt_rhythm_period(&set->pairs[i % set->pair_count].rhythm, i / set->pair_count, period);
    if (set->plan.is_each_thread && set->plan.source->is_clock && row->fd >= 0) {
        next.offset = (pt_event_read(row->fd) + row->offset) % period;
        first = period - next.offset;
        if (first < PT_FIRST_PERIOD_MIN_NS) first = PT_FIRST_PERIOD_MIN_NS;
    }
    if (row->fd >= 0) ioctl(row->fd, PERF_EVENT_IOC_DISABLE, 0);
    const uint64_t ran_ns = row->fd >= 0 ? pt_event_read(row->fd) : 0;
    next.former_switches_id = row->switches_id;
    if (open_row(set, &next, thread->tid, i, first, -1)) {
        close_row(set, row);
        *row = next;
        thread->former_ns += ran_ns;
    } else if (row->fd >= 0) {
        ioctl(row->fd, PERF_EVENT_IOC_ENABLE, 0);
        row->is_led = false;
    }
}

bool pt_event_set_grow(pt_event_set *set, pid_t tid)
{
    pt_event_thread *const thread = thread_of(set, tid);
    if (thread == NULL || thread->stack_bytes >= PT_STACK_BYTES_MAX) return false;
    if (thread->rows[0].fd < 0) return false;
    const uint32_t more = thread->stack_bytes * 2;
    const uint32_t bytes = more < PT_STACK_BYTES_MAX ? more : PT_STACK_BYTES_MAX;
    /* Cut stacks are better than lost samples. */
    if (set->plan.hz / RING_PARTS * bytes > set->pairs[0].kernel_samples.bytes) return false;
    /* New threads get the size too. */
    if (set->plan.stack_bytes < bytes) set->plan.stack_bytes = bytes;
    thread->stack_bytes = set->plan.stack_bytes;
    for (uint32_t i = row_count(set); i-- > 0;) /* leaders last: an event without its leader
                                                 * pauses */
        open_again(set, thread, i);
    return true;
}

uint32_t pt_event_set_stack_bytes(const pt_event_set *set, pid_t tid)
{
    const pt_event_thread *const thread = thread_of(set, tid);
    return thread != NULL ? thread->stack_bytes / 8 * 8 : 0;
}

void pt_event_set_count(pt_event_set *set, pid_t tid, bool awaits_exec)
{
    if (tid >= 0) put_fd(&set->clocks, pt_event_open_clock(tid));
    const pt_event_source *const source = set->plan.source;
    /* A thread's own event misses its last switch, which an event per cpu counts. */
    const bool is_switch =
        source->type == PERF_TYPE_SOFTWARE && source->config == PERF_COUNT_SW_CONTEXT_SWITCHES;
    if (source->is_clock || (is_switch && tid >= 0 && !set->plan.is_each_thread)) return;
    for (uint32_t i = 0; i < set->pair_count && tid < 0; i++)
        put_fd(&set->counters, pt_event_open_count(&set->plan, tid, set->pairs[i].cpu, false));
    if (tid >= 0) put_fd(&set->counters, pt_event_open_count(&set->plan, tid, -1, awaits_exec));
}

static uint64_t sum_of(const pt_event_fds *fds)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < fds->count; i++)
        sum += pt_event_read(fds->items[i]);
    return sum;
}

uint64_t pt_event_set_used_ns(const pt_event_set *set)
{
    return sum_of(&set->clocks);
}

uint64_t pt_event_set_events(const pt_event_set *set)
{
    return sum_of(&set->counters);
}
