/* feed.c: processes the records of the rings in the order of time. See capture_int.h. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "capture/capture_int.h"
#include "capture/cgroup.h"
#include "capture/interp_java.h"

/* An address outside all mappings causes the maps file to be read again, at most once per this many
 * samples of a process. */
enum { REREAD_EVERY = 4096 };

/* A process may move into the control group or out of it: its membership is read again after this
 * time. */
enum { REJUDGE_NS = 50000000 };

/* After a stack was walked by mappings that are gone, the stacks of its process are copied for this
 * time. */
enum { COPY_NS = 2000000000 };

/* Copies grow when one in this many stacks was cut. */
enum { CUT_SHARE = 1000 };

/* ---- selection of processes ---- */

/* Decides whether a process is recorded. now_ns: time of the current record. */
static void decide_process(pt_capture *c, pt_proc *proc, uint64_t now_ns)
{
    const pt_capture_targets *const t = &c->options.targets;
    const bool was = proc->is_judged && proc->is_wanted;
    const bool is_self =
        proc->pid == (uint32_t)getpid() || pt_target_memory_is_task(c->procs.memory, proc->pid);
    proc->is_judged = true;
    proc->judged_ns = now_ns;
    proc->is_wanted = t->all || c->set.plan.has_group;
    for (size_t i = 0; i < t->pid_count; i++)
        proc->is_wanted |= (uint32_t)t->pids[i] == proc->pid;
    if (t->cgroup != NULL && !c->set.plan.has_group)
        proc->is_wanted = pt_cgroup_has(c->procs.root, t->cgroup, proc->pid, was);
    proc->is_wanted &= !is_self; /* the recorder's CPU time is counted, but not shown */
}

/* ---- samples ---- */

static void count_sample(pt_capture *c, pt_proc *proc, uint64_t weight, bool is_walked)
{
    pt_capture_facts *const f = &c->facts;
    if (proc->sampled == 0) {
        f->processes++;
        f->unreadable += proc->is_unreadable && c->stack.count > c->stack.kernel_count;
    }
    proc->sampled++;
    f->samples += weight;
    f->stacks++;
    f->walked += is_walked;
    if (c->stack.end == PT_STACK_END_ROOT) f->complete += weight;
    if (c->stack.end == PT_STACK_END_UNCHECKED) f->unchecked += weight;
    if (!c->stack.has_frames) return;
    pt_capture_frames *const frames = &f->frames[c->stack.language];
    frames->all += weight;
    if (c->stack.is_uncertain) frames->uncertain += weight;
}

/* Grows the copies if stacks are cut often; a rare cut is accepted. Samples with copies from before
 * the last growth do not count. */
static void count_short_copy(pt_capture *c, const pt_perf_record *r)
{
    c->facts.short_copy += c->stack.is_copy_short;
    if (r->sample.stack_room < pt_event_set_stack_bytes(&c->set, (pid_t)r->tid)) return;
    c->cut_window++;
    c->cut_count += c->stack.is_copy_short;
    /* Another thread has larger copies already. */
    const bool is_behind = r->sample.stack_room < c->set.plan.stack_bytes / 8 * 8;
    if (!c->stack.is_copy_short || (!is_behind && c->cut_count * CUT_SHARE < c->cut_window)) return;
    if (pt_event_set_grow(&c->set, (pid_t)r->tid)) {
        c->cut_window = c->cut_count = 0;
        c->grown_ns = (int64_t)r->time_ns;
    }
    c->facts.stack_bytes = c->set.plan.stack_bytes;
}

/* True in the middle of execve, when the old program's stack is gone and the new program's stack
 * does not exist yet. The user registers are stale; the kernel's part is the whole stack. */
static bool is_between_programs(const pt_capture *c, const pt_proc *proc, const pt_perf_record *r,
                                uint64_t pc)
{
    return c->stack.kernel_count > 0 && c->stack.count == c->stack.kernel_count + 1 &&
           r->sample.stack_bytes == 0 && pt_proc_map_at(proc, pc) == NULL;
}

/* Reads a page of the target's stack, so that the page exists. The kernel's copy of a stack ends
 * before a page that was never written, which may be in the middle of a large frame: copying does
 * not fault pages in. This reading does, and later copies continue past the page. */
static void fault_in_page(const pt_capture *c, pt_proc *proc, const pt_perf_sample *s)
{
    enum { TRIES_MAX = 1024, FAILURE = 64 }; /* a failure counts as this many attempts */
    if (c->stack.end != PT_STACK_END_BAD_READ || s->stack_bytes == 0 ||
        s->stack_bytes >= s->stack_room || proc->brought_in >= TRIES_MAX)
        return;
    char byte;
    const bool is_there =
        pt_proc_read_memory(proc, pt_sample_user_sp(s) + s->stack_bytes, &byte, 1) == 1;
    proc->brought_in += is_there ? 1 : FAILURE;
}

void pt_feed_walker(pt_capture *c, pt_proc *proc, const pt_unwind_modules *modules)
{
    enum {
        AGAIN_AFTER = 256
    }; /* samples until the next try, since each try takes memory of the pool */
    if (c->walker == NULL || proc->has_exited || proc->copies_until_ns != 0 ||
        proc->walked_generation == modules->generation)
        return;
    if (proc->put_later > 0) {
        proc->put_later--;
        return;
    }
    pt_named_find(c->named, &c->procs, proc);
    if (pt_named_is_hurried(proc)) pt_spool_hurry(c->set.spool, proc->pid, true);
    if (pt_bpf_engine_put(c->walker, proc->pid, proc->start, modules, pt_named_wanted(proc))) {
        proc->walked_generation = modules->generation;
        return;
    }
    c->facts.not_walked += !proc->is_not_walked;
    proc->is_not_walked = true;
    proc->put_later = AGAIN_AFTER;
}

void pt_feed_follow(pt_capture *c)
{
    if (c->options.targets.pid_count == 0 || !pt_bpf_engine_follow(c->walker)) return;
    c->followed_ns = (uint64_t)pt_clock_ns(CLOCK_MONOTONIC);
    for (size_t i = 0; i < PT_PROCS_BUCKETS; i++)
        for (const pt_proc *proc = c->procs.of_pid[i]; proc != NULL; proc = proc->next)
            if (!proc->has_exited && (proc->is_wanted || proc->awaits_exec))
                pt_bpf_engine_adopt(c->walker, proc->pid);
}

/* Lets the kernel copy the stacks of a process whose mappings are replaced while it runs, for
 * example by plug-ins that are loaded and unloaded: the walker would walk such stacks by mappings
 * that are gone. */
static void copy_for_a_while(pt_capture *c, pt_proc *proc, uint64_t now_ns)
{
    const pt_unwind_modules none = {.count = 0}; /* without mappings the kernel cannot walk */
    if (proc->has_exited || !pt_bpf_engine_put(c->walker, proc->pid, proc->start, &none, NULL))
        return;
    proc->copies_until_ns = now_ns + COPY_NS;
    proc->copies_generation = proc->generation;
}

/* Lets the kernel walk the stacks of a process again, after a while without new mappings. */
static void end_copies(pt_proc *proc, uint64_t now_ns)
{
    if (proc->copies_until_ns == 0 || now_ns < proc->copies_until_ns) return;
    const bool has_changed = proc->generation != proc->copies_generation;
    proc->copies_generation = proc->generation;
    proc->copies_until_ns = has_changed ? now_ns + COPY_NS : 0;
    if (!has_changed) proc->walked_generation = 0;
}

/* Takes a stack that the walker in the kernel has walked by the mappings that the walker knew at
 * that time. */
static void use_walked(pt_capture *c, pt_proc *proc, const pt_perf_record *r)
{
    const pt_bpf_stack *const walked = r->sample.walked;
    pt_unwind_kernel(&r->sample, &c->stack);
    const uint32_t room = PT_SINK_DEPTH_MAX - c->stack.kernel_count;
    const uint32_t right =
        pt_proc_right_frames(proc, walked->generation, walked->pcs, walked->count);
    pt_named_chain *const joined = &c->joined;
    const bool was_wanted = pt_named_wanted(proc) != NULL;
    const bool is_whole = walked->end == PT_UNWIND_END_ROOT && right == walked->count;
    pt_named_join(c->named, proc, walked, right, is_whole, room, joined);
    if (was_wanted && pt_named_wanted(proc) == NULL) proc->walked_generation = 0; /* refused */
    memcpy(c->stack.pcs + c->stack.kernel_count, joined->words,
           joined->count * sizeof *joined->words);
    c->stack.count += joined->count;
    c->stack.has_frames = joined->has_frames;
    c->stack.has_words = true;
    c->stack.language = proc->interp.language;
    c->stack.is_uncertain = !joined->is_certain;
    c->stack.is_unchecked = walked->is_unchecked != 0;
    c->stack.end = walked->end;
    if (walked->end == PT_UNWIND_END_ROOT) pt_unwound_set_root(&c->stack);
    if (right < walked->count) {
        c->stack.end = PT_STACK_END_NO_RULE;
        copy_for_a_while(c, proc, r->time_ns);
    } else if (joined->is_cut)
        c->stack.end = PT_STACK_END_TRUNCATED;
}

/* Unwinds the kernel's copy of a stack. With a walker all mapped files are read, since the walker
 * needs their tables; else only the files that stacks have code of. */
static void unwind_copy(pt_capture *c, pt_proc *proc, pt_perf_record *r)
{
    const pt_unwind_modules modules = pt_proc_modules(&c->procs, proc, c->walker != NULL);
    pt_feed_walker(c, proc, &modules);
    const pt_copied_runtime *const runtime = pt_java_runtime(c->named, &c->procs, proc, &modules);
    pt_unwind_sample(&r->sample, &modules, runtime, c->cache, &c->stack);
}

/* True if the stack led to files that had not been read, and were read now. */
static bool has_met_files(pt_capture *c, pt_proc *proc)
{
    const pt_unwound *const stack = &c->stack;
    const uint64_t *const user_pcs = stack->pcs + stack->kernel_count;
    return pt_proc_read_met(&c->procs, proc, user_pcs, stack->count - stack->kernel_count) ||
           pt_proc_read_met(&c->procs, proc, &stack->stuck_pc, 1);
}

static void unwind_record(pt_capture *c, pt_proc *proc, pt_perf_record *r)
{
    const uint64_t pc = pt_sample_user_pc(&r->sample);
    if (!proc->has_maps ||
        (pc != 0 && pt_proc_map_at(proc, pc) == NULL && proc->sampled % REREAD_EVERY == 1))
        pt_procs_read(&c->procs, proc);
    end_copies(proc, r->time_ns);
    do
        unwind_copy(c, proc, r);
    while (has_met_files(c, proc));
    c->stack.has_frames = c->stack.has_words;
    c->stack.language = PT_JOURNAL_LANGUAGE_JAVA;
    if (c->stack.end == PT_STACK_END_ROOT || c->stack.end == PT_STACK_END_UNCHECKED ||
        c->stack.count == c->stack.kernel_count)
        return;
    if (is_between_programs(c, proc, r, pc)) {
        c->stack.count = c->stack.kernel_count;
        c->stack.end = PT_STACK_END_ROOT;
        return;
    }
    const uint64_t last = c->stack.pcs[c->stack.count - 1];
    const pt_proc_map *const map = pt_proc_map_at(proc, last - 1);
    if (map != NULL && pt_image_is_entry(c->procs.images.all.items[map->image], map->range.start,
                                         map->range.file_offset, last))
        pt_unwound_set_root(&c->stack);
    fault_in_page(c, proc, &r->sample);
}

void pt_feed_end(pt_capture *c, uint64_t now_ns)
{
    pt_between_end(&c->between, c->sink);
    /* The time of threads that the kernel refused events belongs to no sample. */
    const double all = (double)(c->set.brief + c->set.missed);
    const pt_ledger_parts parts = {.brief = c->set.missed > 0 ? (double)c->set.brief / all : 1,
                                   .early = c->set.missed > 0 ? (double)c->set.early / all : 0};
    const bool has_used = c->options.targets.pid_count > 0;
    if (c->ledger != NULL)
        c->facts.not_sampled_ns += pt_ledger_finish(c->ledger, has_used ? c->settled_ns : 0, &parts,
                                                    c->facts.samples * c->facts.period_ns);
    pt_waits_finish(c, now_ns);
}

static bool is_in_kernel(const pt_perf_record *r)
{
    return (r->misc & PERF_RECORD_MISC_CPUMODE_MASK) == PERF_RECORD_MISC_KERNEL;
}

/* Makes the spool drop the stacks of a process that is not recorded. From the second sample of the
 * process on, the kernel's walker also drops its samples: most short processes have only one. */
static void drop_samples(pt_capture *c, pt_proc *proc)
{
    const bool may_be_wanted_later = proc->awaits_exec || c->options.targets.cgroup != NULL;
    if (may_be_wanted_later || proc->has_exited) return;
    if (!proc->is_shunned) pt_spool_shun(c->set.spool, proc->pid, true);
    proc->is_shunned = true;
    if (c->walker == NULL || proc->is_dropped || proc->sampled++ == 0) return;
    proc->is_dropped = pt_bpf_engine_put(c->walker, proc->pid, proc->start, NULL, NULL);
}

/* Adds a row for CPU time of a thread that no sample shows. pc: PT_SINK_KERNEL_NOT_SAMPLED, ... */
static uint32_t add_row_of_none(pt_capture *c, pt_proc *proc, const pt_perf_record *r, uint64_t pc)
{
    const pt_sink_sample sample = {.proc = proc,
                                   .tid = r->tid,
                                   .cpu = r->cpu,
                                   .time_ns = (int64_t)r->time_ns + c->unix_offset_ns,
                                   .pcs = &pc,
                                   .kernel_count = 1,
                                   .count = 1,
                                   .end = PT_STACK_END_ROOT};
    return pt_sink_add(c->sink, &sample);
}

/* Adds CPU time of a thread that no sample shows to a row of its own (add_row_of_none). */
static void add_not_sampled(pt_capture *c, pt_proc *proc, const pt_perf_record *r, uint64_t pc,
                            uint64_t ns)
{
    if (ns == 0 || c->ledger == NULL) return;
    c->facts.not_sampled_ns += ns;
    pt_ledger_add(c->ledger, proc->pid, r->tid, r->time_ns, add_row_of_none(c, proc, r, pc), 0, ns,
                  false, NULL);
}

/* The process of a sample, if that process is recorded; else NULL. */
static pt_proc *find_wanted(pt_capture *c, const pt_perf_record *r)
{
    pt_proc *const proc = pt_procs_get(&c->procs, r->pid);
    const bool may_have_moved = c->options.targets.cgroup != NULL && !c->set.plan.has_group &&
                                !proc->has_exited && r->time_ns > proc->judged_ns + REJUDGE_NS;
    if (!proc->is_judged || may_have_moved) decide_process(c, proc, r->time_ns);
    if (proc->is_wanted) return proc;
    drop_samples(c, proc);
    return NULL;
}

/* Takes a stack at which a thread waits, or from which a thread woke another thread. */
static void on_wait(pt_capture *c, pt_perf_record *r)
{
    const bool is_waker = r->sample.wait->role == PT_BPF_WAKER;
    pt_proc *const proc = is_waker ? pt_procs_get(&c->procs, r->pid) : find_wanted(c, r);
    if (proc == NULL) return;
    if (proc->comm[0] == '\0') pt_procs_read(&c->procs, proc);
    if (r->sample.walked != NULL)
        use_walked(c, proc, r);
    else
        unwind_record(c, proc, r);
    if (c->stack.count > 0) pt_waits_stack(c, proc, r);
}

/* Reads the stack of a thread from the process's memory, at most ret_stack's room. Returns the
 * number of bytes; 0 if the stack is unreadable. */
static size_t read_stack_of(pt_capture *c, uint32_t pid, uint64_t sp, void *ret_stack, size_t room)
{
    const ssize_t got = pt_proc_read_memory(pt_procs_get(&c->procs, pid), sp, ret_stack, room);
    return got > 0 ? (size_t)got / 8 * 8 : 0;
}

/* Makes a sample of a thread that waits already, as if the thread left its cpu now. */
static void add_resting(void *arg, const pt_bpf_resting *resting)
{
    pt_capture *const c = arg;
    const uint32_t kernel_count = resting->kernel_count < PT_BPF_KERNEL_DEPTH_MAX
                                      ? resting->kernel_count
                                      : PT_BPF_KERNEL_DEPTH_MAX;
    uint64_t regs[PT_PERF_REGS_MAX] = {0};
    uint64_t chain[1 + PT_BPF_KERNEL_DEPTH_MAX] = {(uint64_t)PERF_CONTEXT_KERNEL};
    PT_FREE pt_bpf_stack *wait = pt_alloc(1, sizeof *wait);
    PT_FREE uint8_t *stack = pt_alloc(1, PT_STACK_BYTES_MAX);
    wait->role = PT_BPF_RESTING;
    wait->key = resting->key;
    wait->call = resting->call;
    wait->mode = resting->mode;
    wait->is_io = resting->is_io;
    memcpy(chain + 1, resting->kernel, kernel_count * sizeof *chain);
    for (unsigned reg = 0; reg < PT_MACHINE_REGS_MAX; reg++) {
        const unsigned place = pt_machine_perf_place(PT_MACHINE_HOST, reg);
        if (place != PT_MACHINE_NO_REG) regs[place] = resting->regs[reg];
    }
    pt_perf_record record = {.type = PERF_RECORD_SAMPLE,
                             .pid = resting->pid,
                             .tid = resting->tid,
                             .time_ns = (uint64_t)pt_clock_ns(CLOCK_MONOTONIC),
                             .sample = {.chain = chain,
                                        .chain_count = 1 + kernel_count,
                                        .wait = wait,
                                        .abi = PERF_SAMPLE_REGS_ABI_64,
                                        .regs = regs,
                                        .stack = stack,
                                        .stack_bytes = read_stack_of(c, resting->pid, resting->sp,
                                                                     stack, PT_STACK_BYTES_MAX),
                                        .stack_room = PT_STACK_BYTES_MAX}};
    on_wait(c, &record);
}

void pt_feed_resting(pt_capture *c)
{
    pt_bpf_engine_resting(c->walker, add_resting, c);
}

/* Takes the kernel's frames of the sample, and the facts of its known stack. True if there are no
 * kernel frames and the sink still has the stack's row: then nothing has to be unwound or looked
 * up. */
static bool recall_stack(pt_capture *c, const pt_proc *proc, const pt_perf_record *r,
                         const pt_known_stack *known)
{
    pt_unwind_kernel(&r->sample, &c->stack);
    if (c->stack.count > 0 || !pt_sink_is_marked(c->sink, proc, &known->mark)) return false;
    c->stack.has_frames = known->has_frames;
    c->stack.is_uncertain = known->is_uncertain;
    c->stack.language = known->language;
    c->stack.end = known->end;
    return true;
}

static void mark_stack(const pt_capture *c, const pt_proc *proc, pt_known_stack *known,
                       uint32_t row)
{
    if (c->stack.kernel_count > 0 || known->stack->frame_count == PT_BPF_FRAMES_BAD) return;
    known->mark = pt_sink_mark_row(c->sink, proc, row);
    known->end = c->stack.end;
    known->has_frames = c->stack.has_frames;
    known->is_uncertain = c->stack.is_uncertain;
    known->language = c->stack.language;
}

/* Keeps a sample's walked stack. If the record has only the key of a stack, returns the kept stack
 * with that key. Returns NULL if there is none, or the kernel did not walk the stack. */
static pt_known_stack *find_known(pt_capture *c, pt_perf_record *r)
{
    pt_perf_sample *const s = &r->sample;
    if (s->known == NULL)
        return s->walked != NULL ? pt_known_put(c->known, r->cpu, s->walked) : NULL;
    pt_known_stack *const known = pt_known_find(c->known, r->cpu, s->known->key);
    if (known != NULL) s->walked = known->stack;
    return known;
}

static void on_sample(pt_capture *c, pt_perf_record *r)
{
    if (r->sample.code != NULL) {
        pt_named_learn(c->named, pt_procs_get(&c->procs, r->pid), r->sample.code);
        return;
    }
    if (r->sample.ended != NULL || r->sample.wait != NULL) {
        if (r->sample.ended != NULL)
            pt_waits_ended(c, r->sample.ended);
        else
            on_wait(c, r);
        return;
    }
    const pt_bpf_stack *const head = r->sample.known != NULL ? r->sample.known : r->sample.walked;
    const pt_thread_clock clock =
        head != NULL ? (pt_thread_clock){head->ran_ns, head->turns} : (pt_thread_clock){0};
    pt_known_stack *const known = head != NULL && c->known != NULL ? find_known(c, r) : NULL;
    if (r->sample.known != NULL && known == NULL) {
        c->facts.lost++;
        return;
    }
    const bool is_switch = pt_event_set_is_switch(&c->set, r);
    if (!is_switch && !pt_event_set_counts(&c->set, r)) return;
    pt_proc *const proc = find_wanted(c, r);
    if (proc == NULL) return;
    pt_event_shares shares = {0};
    const uint64_t weight = is_switch ? 0 : pt_event_set_weight(&c->set, r, &shares);
    add_not_sampled(c, proc, r, PT_SINK_KERNEL_NOT_SAMPLED, shares.kernel);
    add_not_sampled(c, proc, r, PT_SINK_START_NOT_SAMPLED, shares.start);
    if (shares.is_of_start && shares.sample > 0 && c->ledger != NULL)
        pt_ledger_beside(c->ledger, add_row_of_none(c, proc, r, PT_SINK_KERNEL_NOT_SAMPLED),
                         shares.sample);
    if (weight == 0 && !is_switch && (shares.sample == 0 || c->ledger == NULL)) return;
    const bool is_again = known != NULL && recall_stack(c, proc, r, known);
    const uint64_t gone = pt_named_gone(c->named);
    if (!is_again && r->sample.walked != NULL) {
        use_walked(c, proc, r);
    } else if (!is_again) {
        unwind_record(c, proc, r);
        count_short_copy(c, r);
    }
    if (c->stack.count == 0 && !is_again) return;
    if (is_switch) {
        pt_waits_begin(c, proc, r);
        return;
    }
    const pt_event_plan *const plan = &c->set.plan;
    const uint64_t each = plan->period != 0 ? plan->period : r->sample.period;
    count_sample(c, proc, weight, r->sample.walked != NULL);
    c->facts.events_seen += plan->source->is_clock ? 0 : each;
    const pt_sink_sample sample = {.proc = proc,
                                   .tid = r->tid,
                                   .cpu = r->cpu,
                                   .time_ns = (int64_t)r->time_ns + c->unix_offset_ns,
                                   .pcs = c->stack.pcs,
                                   .kernel_count = c->stack.kernel_count,
                                   .count = c->stack.count,
                                   .end = c->stack.end,
                                   .has_words = c->stack.has_words,
                                   .is_uncertain = c->stack.is_uncertain,
                                   .values = {(int64_t)weight, (int64_t)(weight * each)}};
    if (!is_again && !proc->has_exited && pt_between_might_be(&sample, &r->sample)) {
        pt_between_hold(&c->between, c->sink, &sample);
        return;
    }
    pt_between_release(&c->between, c->sink, r->tid, false);
    const uint32_t of_stack = is_again ? known->mark.row : pt_sink_stack(c->sink, &sample);
    const bool has_names = pt_named_gone(c->named) == gone; /* else names of functions may come
                                                             * later */
    if (!is_again && known != NULL && has_names) mark_stack(c, proc, known, of_stack);
    const pt_sink_moment moment = {r->tid, r->cpu, sample.time_ns, sample.values};
    const uint32_t row = pt_sink_count(c->sink, of_stack, &moment);
    if (c->ledger != NULL)
        pt_ledger_add(c->ledger, proc->pid, r->tid, r->time_ns, row, weight * each, shares.sample,
                      is_in_kernel(r), clock.switches > 0 ? &clock : NULL);
}

/* ---- records ---- */

/* True for a process that is not recorded and never will be: events of cpus report all processes of
 * the machine. proc is NULL if no record or sample of the process came before. */
static bool is_foreign(const pt_capture *c, const pt_proc *proc)
{
    return c->facts.is_beside_others &&
           (proc == NULL || (proc->is_judged && !proc->is_wanted && !proc->awaits_exec));
}

static bool is_unknown(const pt_capture *c, uint32_t pid)
{
    return is_foreign(c, NULL) && pt_procs_find(&c->procs, pid) == NULL;
}

void pt_feed_heed(pt_capture *c, pt_proc *proc)
{
    if (c->options.targets.pid_count == 0 || proc->is_heeded) return;
    proc->is_heeded = true;
    pt_spool_heed(c->set.spool, proc->pid);
}

/* May a process whose first thread has ended have others? */
static bool may_go_on(const pt_proc *proc)
{
    return !proc->has_exited && (!proc->is_counted || proc->threads > 0);
}

/* Notes that a process has ended, and frees one that ended long ago. */
static void end_process(pt_capture *c, pt_proc *proc)
{
    pt_proc *const old = pt_procs_end(&c->procs, proc);
    pt_spool_shun(c->set.spool, proc->pid, false);
    pt_spool_hurry(c->set.spool, proc->pid, false);
    proc->is_shunned = false;
    if (c->walker != NULL) pt_bpf_engine_forget(c->walker, proc->pid);
    if (proc->is_counted && proc->threads > 0)
        proc->walked_generation = 0; /* its other threads go on */
    if (c->walker != NULL && proc->is_wanted && may_go_on(proc))
        pt_bpf_engine_adopt(c->walker, proc->pid);
    if (old == NULL) return;
    /* Late samples of an ended process may have made the recorder send the process to the walker
     * again. */
    if (c->walker != NULL && pt_procs_find(&c->procs, old->pid) == old)
        pt_bpf_engine_forget(c->walker, old->pid);
    pt_between_forget(&c->between, c->sink, old);
    pt_sink_forget(c->sink, old);
    pt_named_forget(c->named, old);
    if (old->is_heeded) pt_spool_ignore(c->set.spool, old->pid);
    pt_procs_drop(&c->procs, old);
}

/* Ends an older process with that pid: the pid is used again. */
static void end_older(pt_capture *c, uint32_t pid)
{
    pt_proc *const old = pt_procs_find(&c->procs, pid);
    if (old == NULL) return;
    old->has_exited = true;
    end_process(c, old);
}

/* Children of recorded processes are recorded, until they move to another control group. */
static void on_fork(pt_capture *c, const pt_perf_record *r)
{
    if (r->task.pid != r->task.ppid) pt_spool_shun(c->set.spool, r->task.pid, false);
    if (is_foreign(c, pt_procs_find(&c->procs, r->task.ppid)) && is_unknown(c, r->task.pid)) return;
    pt_waits_reset(c, r->task.tid, false);
    /* These samples were held for an older thread with that tid. */
    pt_between_release(&c->between, c->sink, r->task.tid, false);
    if (r->task.pid != r->task.ppid) end_older(c, r->task.pid);
    pt_proc *const child = pt_procs_on_fork(&c->procs, r);
    if (child != NULL && !child->is_judged) decide_process(c, child, r->time_ns);
    if (child != NULL && child->is_wanted) pt_feed_heed(c, child);
    if (child != NULL && child->is_wanted && c->walker != NULL)
        pt_bpf_engine_adopt(c->walker, child->pid);
    const pt_proc *const proc = child != NULL ? child : pt_procs_find(&c->procs, r->task.pid);
    if (proc == NULL || !proc->is_wanted) return;
    pt_waits_born(c, proc, r->task.tid, r->time_ns);
    if (c->ledger != NULL) pt_ledger_begin(c->ledger, r->task.tid);
}

/* Adds a row for a thread that ended before any of its time could be sampled. */
static void note_early(pt_capture *c, pt_proc *proc, const pt_perf_record *r)
{
    if (!pt_event_set_was_early(&c->set, (pid_t)r->task.tid) || c->ledger == NULL || proc == NULL ||
        !proc->is_wanted)
        return;
    pt_perf_record whole = *r;
    whole.tid = r->task.tid;
    pt_ledger_early(c->ledger, add_row_of_none(c, proc, &whole, PT_SINK_START_NOT_SAMPLED));
}

static void on_end(pt_capture *c, const pt_perf_record *r)
{
    pt_proc *const proc = pt_procs_find(&c->procs, r->task.pid);
    const bool is_last = proc != NULL && r->task.pid == r->task.tid;
    if (!is_foreign(c, proc)) {
        const uint64_t ran_ns = pt_event_set_remove(&c->set, (pid_t)r->task.tid);
        pt_between_release(&c->between, c->sink, r->task.tid, false);
        pt_waits_reset(c, r->task.tid, true);
        note_early(c, proc, r);
        if (c->ledger != NULL)
            pt_ledger_end(c->ledger, r->task.pid, r->task.tid, r->time_ns, ran_ns);
    }
    if (proc != NULL && proc->threads > 0) proc->threads--;
    if (is_last) end_process(c, proc);
}

static void on_lost(pt_capture *c, const pt_perf_record *r)
{
    c->facts.lost += r->lost;
    if (c->ledger != NULL) pt_ledger_lost(c->ledger);
}

/* A thread that calls exec gets the tid of its process's first thread, whose end has been reported
 * already. */
static void on_comm(pt_capture *c, const pt_perf_record *r)
{
    if (is_unknown(c, r->pid)) return;
    if (r->comm.is_exec)
        c->facts.complete += pt_between_release(&c->between, c->sink, r->tid, true);
    pt_proc *const proc = pt_procs_on_comm(&c->procs, r);
    if (!r->comm.is_exec) return;
    pt_sink_forget(c->sink, proc);
    pt_named_forget(c->named, proc);
    pt_waits_reset(c, r->tid, false);
    if (c->ledger != NULL) pt_ledger_exec(c->ledger, r->tid);
    if (proc->is_wanted) pt_event_set_exec(&c->set, (pid_t)r->pid);
}

static void on_mmap(pt_capture *c, const pt_perf_record *r)
{
    if (!is_foreign(c, pt_procs_find(&c->procs, r->pid))) pt_procs_on_mmap(&c->procs, r);
}

static void on_record(pt_capture *c, pt_perf_record *r)
{
    switch (r->type) {
    case PERF_RECORD_SAMPLE: on_sample(c, r); break;
    case PERF_RECORD_MMAP2: on_mmap(c, r); break;
    case PERF_RECORD_COMM: on_comm(c, r); break;
    case PERF_RECORD_FORK: on_fork(c, r); break;
    case PERF_RECORD_EXIT: on_end(c, r); break;
    case PERF_RECORD_LOST:
    case PERF_RECORD_LOST_SAMPLES: on_lost(c, r); break;
    case PERF_RECORD_THROTTLE: c->facts.throttled++; break;
    case PERF_RECORD_SWITCH:
    case PERF_RECORD_SWITCH_CPU_WIDE: pt_waits_on_switch(c, r); break;
    default: break;
    }
}

static pt_ring *ring_at(pt_capture *c, uint32_t i)
{
    pt_ring_pair *const pair = &c->set.pairs[i / 2];
    return i % 2 == 0 ? &pair->side : &pair->samples;
}

void pt_feed_upto(pt_capture *c, uint64_t limit_ns)
{
    const uint32_t count = c->set.pair_count * 2;
    const pt_perf_layout *const layout = &c->set.layout;
    PT_FREE uint64_t *time_ns = pt_alloc(count, sizeof *time_ns);
    for (uint32_t i = 0; i < count; i++) {
        pt_ring *const ring = ring_at(c, i);
        pt_ring_look(ring);
        const struct perf_event_header *const record = pt_ring_peek(ring);
        time_ns[i] = record != NULL ? pt_perf_record_time(layout, record) : UINT64_MAX;
    }
    for (uint32_t n = 1;; n++) {
        uint32_t first = 0;
        for (uint32_t i = 1; i < count; i++)
            if (time_ns[i] < time_ns[first]) first = i;
        if (time_ns[first] > limit_ns || time_ns[first] == UINT64_MAX) break;
        pt_ring *const ring = ring_at(c, first);
        const struct perf_event_header *record = pt_ring_peek(ring);
        const struct perf_event_header head = *record;
        pt_perf_record parsed;
        if (pt_perf_record_read(layout, record, &parsed)) on_record(c, &parsed);
        pt_ring_next(ring, &head);
        if (n % 16 == 0) pt_ring_release(ring);
        if (n % 256 == 0) pt_feed_urgent(c);
        record = pt_ring_peek(ring);
        time_ns[first] = record != NULL ? pt_perf_record_time(layout, record) : UINT64_MAX;
    }
    for (uint32_t i = 0; i < count; i++)
        pt_ring_release(ring_at(c, i));
}

void pt_feed_urgent(pt_capture *c)
{
    if (!c->set.plan.is_each_thread) return;
    for (uint32_t i = 0; i < c->set.pair_count; i++) {
        pt_ring_pair *const pair = &c->set.pairs[i];
        pt_ring ahead = pair->side; /* continues where the last search ended */
        pt_ring_look(&ahead);
        if (pair->seen > ahead.tail && pair->seen <= ahead.head) ahead.tail = pair->seen;
        const struct perf_event_header *record;
        while ((record = pt_ring_peek(&ahead)) != NULL) {
            pt_perf_record parsed;
            const struct perf_event_header head = *record;
            if (head.type == PERF_RECORD_FORK || head.type == PERF_RECORD_SAMPLE) {
                if (pt_perf_record_read(&c->set.layout, record, &parsed)) {
                    if (head.type == PERF_RECORD_FORK)
                        pt_event_set_fork(&c->set, &parsed);
                    else
                        pt_event_set_settle(&c->set, &parsed);
                }
            }
            pt_ring_next(&ahead, &head);
        }
        pair->seen = ahead.tail;
        pair->side.scratch = ahead.scratch; /* both share it */
    }
}
