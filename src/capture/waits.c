/* waits.c: the time that threads wait. See capture_int.h.
 *
 *   perf   a sample at each switch away, a record at each switch back, which ends the wait
 *   bpf    each stack once; sums of waits for each stack, which are read now and then, and the
 *          ends of single waits
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "capture/capture_int.h"
#include "capture/kernel.h"
#include "capture/wait_kind.h"

enum { OFF_CPU = 2, READY, WAITS, PREEMPTIONS, GIL, WOKEN }; /* values */

/* Does the thread wait for the lock of its interpreter? pcs: kernel's, then user space's. */
static bool is_for_lock(const pt_capture *c, const pt_proc *proc, const uint64_t *pcs,
                        uint32_t kernel_count, uint32_t count)
{
    enum { IN_LIBC = 6 }; /* frames of libc, at most, inside the interpreter's call */
    for (uint32_t i = kernel_count; i < count && i <= kernel_count + IN_LIBC; i++) {
        uint64_t bias;
        const pt_proc_map *const map = pt_proc_map_at(proc, pcs[i]);
        if (map == NULL) continue;
        const pt_image *const image = c->procs.images.all.items[map->image];
        const uint64_t *const waits = image->interp.lock_waits;
        if (waits[0] == 0 || !pt_image_bias(image, map->range.start, map->range.file_offset, &bias))
            continue;
        for (int k = 0; k < PT_INTERP_LOCK_WAITS_MAX; k++)
            if (waits[k] != 0 && pcs[i] == waits[k] + bias) return true;
        return false;
    }
    return false;
}

/* ---- events of switches ---- */

static pt_waiting **place_of(pt_capture *c, uint32_t tid)
{
    pt_waiting **at = &c->waiting.of_tid[tid % PT_WAITING_BUCKETS];
    while (*at != NULL && (*at)->tid != tid)
        at = &(*at)->next;
    return at;
}

static pt_waiting *waiting_of(pt_capture *c, uint32_t tid)
{
    pt_waiting **const at = place_of(c, tid);
    if (*at == NULL) {
        *at = pt_alloc(1, sizeof **at);
        (*at)->tid = tid;
    }
    return *at;
}

static void drop_waiting(pt_waiting **at)
{
    pt_waiting *const w = *at;
    if (w == NULL) return;
    *at = w->next;
    free(w->pcs);
    free(w);
}

void pt_waits_begin(pt_capture *c, pt_proc *proc, const pt_perf_record *r)
{
    if (r->tid == UINT32_MAX) return; /* the tid of a thread that has ended */
    pt_waiting *const w = waiting_of(c, r->tid);
    if (w->is_gone) return;
    if (w->room < c->stack.count) {
        w->room = c->stack.count;
        w->pcs = pt_realloc(w->pcs, w->room, sizeof *w->pcs);
    }
    if (c->stack.count > 0) memcpy(w->pcs, c->stack.pcs, c->stack.count * sizeof *w->pcs);
    w->count = c->stack.count;
    w->kernel_count = c->stack.kernel_count;
    w->has_words = c->stack.has_words;
    w->end = c->stack.end;
    w->pid = proc->pid;
    w->start = proc->start;
    w->since_ns = r->time_ns;
    w->is_ready = false;
}

static void end_wait(pt_capture *c, pt_waiting *w, uint32_t cpu, uint64_t now_ns)
{
    if (w == NULL || w->since_ns == 0) return;
    const uint64_t since_ns = w->since_ns;
    pt_proc *const proc = pt_procs_find(&c->procs, w->pid);
    w->since_ns = 0;
    if (now_ns <= since_ns || proc == NULL || proc->start != w->start) return;
    const int64_t waited_ns = (int64_t)(now_ns - since_ns);
    const bool has_lock_wait =
        !w->is_ready && is_for_lock(c, proc, w->pcs, w->kernel_count, w->count);
    const pt_sink_sample sample = {.proc = proc,
                                   .tid = w->tid,
                                   .cpu = cpu,
                                   .time_ns = (int64_t)since_ns + c->unix_offset_ns,
                                   .pcs = w->pcs,
                                   .kernel_count = w->kernel_count,
                                   .count = w->count,
                                   .end = w->end,
                                   .has_words = w->has_words,
                                   .values = {[OFF_CPU] = w->is_ready ? 0 : waited_ns,
                                              [READY] = w->is_ready ? waited_ns : 0,
                                              [WAITS] = !w->is_ready,
                                              [PREEMPTIONS] = w->is_ready,
                                              [GIL] = has_lock_wait ? waited_ns : 0}};
    *(w->is_ready ? &c->facts.ready_ns : &c->facts.off_cpu_ns) += now_ns - since_ns;
    pt_sink_add(c->sink, &sample);
}

/* Counts the waits of a new thread before its events were open, in a row of their own, since their
 * stacks are unknown. They end no later than its first record of a switch. */
static void end_first_waits(pt_capture *c, pt_waiting *w, bool is_out, uint32_t cpu,
                            uint64_t now_ns)
{
    static const uint64_t pc = PT_SINK_START_NOT_SAMPLED;
    if (w == NULL || w->born_ns == 0) return;
    const pt_event_before before = pt_event_set_before(&c->set, (pid_t)w->tid);
    const uint64_t until_ns = is_out && before.opened_ns < now_ns ? before.opened_ns : now_ns;
    const uint64_t begun_ns = w->born_ns + before.ran_ns;
    pt_proc *const proc = pt_procs_find(&c->procs, w->pid);
    w->born_ns = 0;
    /* A thread that has not run yet waits for its first turn on a cpu. */
    if (before.ran_ns == 0 || until_ns <= begun_ns || proc == NULL) return;
    const int64_t waited_ns = (int64_t)(until_ns - begun_ns);
    const pt_sink_sample sample = {.proc = proc,
                                   .tid = w->tid,
                                   .cpu = cpu,
                                   .time_ns = (int64_t)begun_ns + c->unix_offset_ns,
                                   .pcs = &pc,
                                   .kernel_count = 1,
                                   .count = 1,
                                   .end = PT_STACK_END_ROOT,
                                   .values = {[OFF_CPU] = waited_ns, [WAITS] = 1}};
    c->facts.off_cpu_ns += (uint64_t)waited_ns;
    pt_sink_add(c->sink, &sample);
}

void pt_waits_born(pt_capture *c, const pt_proc *proc, uint32_t tid, uint64_t now_ns)
{
    if (!c->options.off_cpu || !c->set.plan.is_each_thread) return;
    pt_waiting *const w = waiting_of(c, tid);
    w->born_ns = now_ns;
    w->pid = proc->pid;
}

void pt_waits_on_switch(pt_capture *c, const pt_perf_record *r)
{
    pt_waiting *const w = *place_of(c, r->tid);
    end_first_waits(c, w, r->sched.is_out, r->cpu, r->time_ns);
    if (!r->sched.is_out)
        end_wait(c, w, r->cpu, r->time_ns);
    else if (w != NULL)
        w->is_ready = r->sched.is_preempted;
}

void pt_waits_reset(pt_capture *c, uint32_t tid, bool is_gone)
{
    if (!c->options.off_cpu || c->set.plan.walks_waits) return;
    drop_waiting(place_of(c, tid));
    if (!is_gone) return;
    waiting_of(c, tid)->is_gone = true;
    uint32_t *const slot = &c->waiting.gone[c->waiting.gone_count++ % PT_WAITING_GONE];
    pt_waiting **const oldest = place_of(c, *slot);
    if (*slot != tid && *oldest != NULL && (*oldest)->is_gone) drop_waiting(oldest);
    *slot = tid;
}

/* Ends the waits that have no end yet. A thread that has ended waits in do_task_dead: the record of
 * its end may be lost. */
static void end_open_waits(pt_capture *c, uint64_t now_ns)
{
    uint64_t start, limit;
    const bool is_known = pt_kernel_function("do_task_dead", &start, &limit);
    for (size_t i = 0; i < PT_WAITING_BUCKETS; i++)
        for (pt_waiting *w = c->waiting.of_tid[i]; w != NULL; w = w->next) {
            bool is_dead = false;
            for (uint32_t at = 0; is_known && at < w->kernel_count; at++)
                is_dead |= w->pcs[at] - 1 >= start && w->pcs[at] - 1 < limit; /* of the call */
            if (is_dead) continue;
            end_first_waits(c, w, w->since_ns != 0, PT_NONE, now_ns);
            end_wait(c, w, PT_NONE, now_ns);
        }
}

/* ---- waits that the program in the kernel counts ---- */

static uint32_t place_of_stack(const pt_kernel_waits *waits, uint64_t key)
{
    return PT_INDEX_FIND(&waits->of_key, key, i, waits->stack.items[i].key == key);
}

void pt_waits_stack(pt_capture *c, pt_proc *proc, const pt_perf_record *r)
{
    pt_kernel_waits *const waits = &c->kernel_waits;
    const pt_bpf_stack *const wait = r->sample.wait;
    /* The innermost frame is the BPF program itself, unless the thread was resting: it is left
     * out. */
    const uint32_t own =
        wait->role != PT_BPF_RESTING && c->stack.kernel_count > 0 && c->stack.count > 1;
    if (place_of_stack(waits, wait->key) != PT_NONE) return; /* two cpus sent it at once */
    const pt_sink_sample sample = {
        .proc = proc,
        .pcs = c->stack.pcs + own,
        .kernel_count = c->stack.kernel_count - own,
        .count = c->stack.count - own,
        .end = c->stack.end,
        .has_words = c->stack.has_words,
        .is_uncertain = c->stack.is_uncertain,
        .wait = wait->role == PT_BPF_WAKER
                    ? NULL
                    : pt_wait_kind(wait->call, wait->mode, wait->is_io != 0)};
    pt_wait_stack added = {.key = wait->key,
                           .pid = proc->pid,
                           .row = pt_sink_stack(c->sink, &sample),
                           .is_for_lock =
                               wait->role != PT_BPF_WAKER &&
                               is_for_lock(c, proc, sample.pcs, sample.kernel_count, sample.count)};
    if (wait->role == PT_BPF_WAKER) memcpy(added.waker, proc->comm, sizeof added.waker);
    PT_INDEX_PUSH(&waits->of_key, wait->key, waits->stack, added);
}

/* The name of a waker; NULL: unknown. *ret_row: its stack in the sink; PT_NONE: none. */
static const char *waker_of(const pt_kernel_waits *waits, uint64_t key, uint32_t *ret_row)
{
    *ret_row = PT_NONE;
    if (key == PT_BPF_INTERRUPT) return "interrupt";
    const uint32_t place = key != 0 ? place_of_stack(waits, key) : PT_NONE;
    if (place == PT_NONE) return NULL;
    *ret_row = waits->stack.items[place].row;
    return waits->stack.items[place].waker;
}

/* Adds the times of waits to the waiting stack, and to the stack of the waker. row: of the waiting
 * stack with its waker; PT_NONE: the row is made. since_ns: monotonic. */
static void add_waits(pt_capture *c, const pt_bpf_count *one, uint32_t tid, uint32_t cpu,
                      uint64_t since_ns, uint32_t *row)
{
    const pt_kernel_waits *const waits = &c->kernel_waits;
    const uint32_t place = place_of_stack(waits, one->stack);
    if (place == PT_NONE) return; /* of a process that is not recorded */
    const pt_wait_stack *const stack = &waits->stack.items[place];
    uint32_t waker_row;
    const char *const waker = waker_of(waits, one->waker, &waker_row);
    if (*row == PT_NONE)
        *row = waker != NULL ? pt_sink_woken(c->sink, stack->row, waker) : stack->row;
    int64_t values[PT_SINK_VALUES] = {[OFF_CPU] = (int64_t)one->off_ns,
                                      [READY] = (int64_t)one->ready_ns,
                                      [WAITS] = (int64_t)one->waits,
                                      [PREEMPTIONS] = (int64_t)one->preemptions,
                                      [GIL] = stack->is_for_lock ? (int64_t)one->off_ns : 0};
    const pt_sink_moment moment = {
        .tid = tid, .cpu = cpu, .time_ns = (int64_t)since_ns + c->unix_offset_ns, .values = values};
    pt_sink_count(c->sink, *row, &moment);
    c->facts.off_cpu_ns += one->off_ns;
    c->facts.ready_ns += one->ready_ns;
    if (waker_row == PT_NONE) return;
    memset(values, 0, sizeof values);
    values[WOKEN] = (int64_t)one->off_ns;
    pt_sink_count(c->sink, waker_row, &moment);
}

void pt_waits_ended(pt_capture *c, const pt_bpf_wait_end *ended)
{
    if (ended->one.stack == 0) {
        c->facts.lost_waits += ended->one.waits + ended->one.preemptions;
        return;
    }
    uint32_t row = PT_NONE;
    add_waits(c, &ended->one, ended->tid, ended->cpu, ended->since_ns, &row);
}

/* Adds the growth of a sum since its last reading. */
static void add_sum(void *arg, const void *key, const void *value)
{
    pt_capture *const c = arg;
    const pt_bpf_count *const count = value;
    pt_kernel_waits *const waits = &c->kernel_waits;
    uint64_t which;
    memcpy(&which, key, sizeof which);
    /* If the record of the stack has not arrived yet, the sum is read later. */
    if (count->stack != 0 && place_of_stack(waits, count->stack) == PT_NONE) return;
    uint32_t place = PT_INDEX_FIND(&waits->sum_of, which, i, waits->sum.items[i].key == which);
    if (place == PT_NONE) {
        const pt_wait_sum none = {.key = which, .row = PT_NONE};
        place = PT_INDEX_PUSH(&waits->sum_of, which, waits->sum, none);
    }
    pt_bpf_count *const before = &waits->sum.items[place].before;
    pt_bpf_count more = *count;
    more.off_ns -= before->off_ns;
    more.ready_ns -= before->ready_ns;
    more.waits -= before->waits;
    more.preemptions -= before->preemptions;
    if (more.off_ns + more.ready_ns + more.waits + more.preemptions == 0) return;
    *before = *count;
    if (count->stack == 0)
        c->facts.lost_waits += more.waits + more.preemptions;
    else
        add_waits(c, &more, 0, PT_NONE, 0, &waits->sum.items[place].row);
}

/* Notes how far the sums of a process differ from its rows. */
static void add_owed(void *arg, const void *key, const void *value)
{
    pt_capture *const c = arg;
    const pt_bpf_count *const more = value;
    pt_kernel_waits *const waits = &c->kernel_waits;
    uint32_t pid;
    memcpy(&pid, key, sizeof pid);
    const uint64_t hash = pt_hash_mix(pid, 0);
    uint32_t row = PT_INDEX_FIND(&waits->owed_of, hash, i, waits->owed.items[i].pid == pid);
    if (row == PT_NONE) {
        const pt_wait_owed none = {.pid = pid};
        row = PT_INDEX_PUSH(&waits->owed_of, hash, waits->owed, none);
    }
    int64_t *const values = waits->owed.items[row].values;
    values[0] += (int64_t)more->off_ns;
    values[1] += (int64_t)more->ready_ns;
    values[2] += (int64_t)more->waits;
    values[3] += (int64_t)more->preemptions;
}

/* Adds a wait that has not ended. */
static void add_open(void *arg, const void *key, const void *value)
{
    pt_capture *const c = arg;
    const pt_bpf_wait *const w = value;
    const uint64_t end_ns = c->kernel_waits.end_ns;
    uint32_t tid;
    memcpy(&tid, key, sizeof tid);
    if (w->since_ns == 0 || w->since_ns >= end_ns) return;
    const uint64_t ready_from =
        w->woken_ns >= w->since_ns && w->woken_ns < end_ns ? w->woken_ns : end_ns;
    const pt_bpf_count one = {.stack = w->stack,
                              .waker = w->waker,
                              .off_ns = ready_from - w->since_ns,
                              .ready_ns = end_ns - ready_from,
                              .waits = w->is_preempted == 0,
                              .preemptions = w->is_preempted != 0};
    uint32_t row = PT_NONE;
    if (w->weight == 0)
        add_owed(c, &w->pid, &one);
    else
        add_waits(c, &one, tid, PT_NONE, w->since_ns, &row);
}

/* A sum of a process, and the row of its stack. */
typedef struct {
    uint32_t pid, sum, stack;
} sum_of_pid;

PT_ORDER(by_pid, sum_of_pid, PT_UP(pid) ?: PT_UP(sum));
PT_ORDER(owed_by_pid, pt_wait_owed, PT_UP(pid));

/* If not every wait has its stack taken: distributes the difference of a process over its rows in
 * proportion to their values, so that all rows together are exact. No value becomes negative.
 * own_sums: the sums of the process. */
static void settle_owed(pt_capture *c, const pt_wait_owed *owed, const sum_of_pid *own_sums,
                        size_t sum_count)
{
    const pt_kernel_waits *const waits = &c->kernel_waits;
    double all[PT_WAIT_VALUES] = {0}, passed[PT_WAIT_VALUES] = {0};
    int64_t given[PT_WAIT_VALUES] = {0}, values[PT_SINK_VALUES];
    for (int pass = 0; pass < 2; pass++) {
        for (size_t i = 0; i < sum_count; i++) {
            const pt_wait_sum *const sum = &waits->sum.items[own_sums[i].sum];
            const uint32_t place = own_sums[i].stack;
            const uint64_t own[PT_WAIT_VALUES] = {sum->before.off_ns, sum->before.ready_ns,
                                                  sum->before.waits, sum->before.preemptions};
            memset(values, 0, sizeof values);
            for (int v = 0; v < PT_WAIT_VALUES; v++) {
                if (pass == 0) all[v] += (double)own[v];
                if (pass == 0 || all[v] == 0) continue;
                passed[v] += (double)own[v];
                const double lack = fmax((double)owed->values[v], -all[v]);
                values[OFF_CPU + v] = (int64_t)(lack * (passed[v] / all[v])) - given[v];
                given[v] += values[OFF_CPU + v];
            }
            if (waits->stack.items[place].is_for_lock) values[GIL] = values[OFF_CPU];
            const pt_sink_moment moment = {.cpu = PT_NONE, .values = values};
            if (pass == 1) pt_sink_count(c->sink, sum->row, &moment);
        }
    }
    c->facts.off_cpu_ns += (uint64_t)given[0];
    c->facts.ready_ns += (uint64_t)given[1];
    for (int v = 2; v < PT_WAIT_VALUES; v++)
        if (all[v] == 0 && owed->values[v] > 0) c->facts.lost_waits += (uint64_t)owed->values[v];
}

/* Distributes the differences of all processes, in one pass over both lists by pid. */
static void settle_by_pid(pt_capture *c)
{
    pt_kernel_waits *const waits = &c->kernel_waits;
    PT_VECTOR(sum_of_pid) sums = {0};
    PT_GROW(sums, waits->sum.count + 1);
    for (size_t i = 0; i < waits->sum.count; i++) {
        const uint32_t place = place_of_stack(waits, waits->sum.items[i].before.stack);
        if (place == PT_NONE) continue;
        const sum_of_pid one = {waits->stack.items[place].pid, (uint32_t)i, place};
        PT_PUSH(sums, one);
    }
    PT_SORT(sums, by_pid);
    PT_SORT(waits->owed, owed_by_pid);
    pt_index_done(&waits->owed_of); /* its rows have moved */
    size_t first = 0, limit = 0;
    for (size_t i = 0; i < waits->owed.count; i++, first = limit) {
        const pt_wait_owed *const owed = &waits->owed.items[i];
        while (first < sums.count && sums.items[first].pid < owed->pid)
            first++;
        limit = first;
        while (limit < sums.count && sums.items[limit].pid == owed->pid)
            limit++;
        settle_owed(c, owed, sums.items + first, limit - first);
    }
    free(sums.items);
}

static void settle_all_owed(pt_capture *c)
{
    const pt_bpf_wait_settings told = pt_bpf_engine_told(c->walker);
    c->facts.lost_waits += told.lost;
    c->facts.passed_waits = told.passed;
    c->facts.wait_weight = told.weight_max;
    if (c->kernel_waits.owed.count > 0) settle_by_pid(c);
}

void pt_waits_read(pt_capture *c)
{
    if (c->walker != NULL && c->set.plan.walks_waits)
        pt_bpf_engine_each(c->walker, PT_BPF_COUNTS, add_sum, c);
}

void pt_waits_finish(pt_capture *c, uint64_t now_ns)
{
    if (c->options.off_cpu && !c->set.plan.walks_waits) end_open_waits(c, now_ns);
    pt_waits_read(c);
    c->kernel_waits.end_ns = now_ns;
    if (c->walker == NULL || !c->set.plan.walks_waits) return;
    pt_bpf_engine_each(c->walker, PT_BPF_OWED, add_owed, c);
    pt_bpf_engine_each(c->walker, PT_BPF_WAITING, add_open, c);
    settle_all_owed(c);
}

void pt_waits_done(pt_capture *c)
{
    for (size_t i = 0; i < PT_WAITING_BUCKETS; i++)
        while (c->waiting.of_tid[i] != NULL)
            drop_waiting(&c->waiting.of_tid[i]);
    free(c->kernel_waits.stack.items);
    free(c->kernel_waits.sum.items);
    free(c->kernel_waits.owed.items);
    pt_index_done(&c->kernel_waits.of_key);
    pt_index_done(&c->kernel_waits.sum_of);
    pt_index_done(&c->kernel_waits.owed_of);
}
