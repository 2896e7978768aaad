/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 */
/* wait.bpf.h: the programs that run in the kernel when it switches threads, and when it wakes one.
 *
 *   switch away   the thread's stack is walked, and sent if it was not sent before; where a cpu
 *                 switches too often, at each n-th switch, which then counts n times
 *   waking        the time is noted; with wakers, the waking thread's stack is walked and sent, too
 *   switch to     the wait is over: its times are added to the sums of its stack and waker, or sent
 *   fork          the child of a recorded process is recorded, too (also without waits)
 *   each thread   that waits when the recording begins: user space walks its stack
 *
 * Part of sample.bpf.c, whose walk and tables it uses.
 */
#pragma once

struct {
    MAP_NUMBER(type, BPF_MAP_TYPE_HASH);
    MAP_NUMBER(max_entries, PT_BPF_THREADS_MAX);
    MAP_TYPE(key, uint32_t);
    MAP_TYPE(value, pt_bpf_wait);
} waiting SECTION(".maps");

struct {
    MAP_NUMBER(type, BPF_MAP_TYPE_HASH);
    MAP_NUMBER(max_entries, PT_BPF_STACKS_MAX);
    MAP_TYPE(key, uint64_t);
    MAP_TYPE(value, pt_bpf_count);
} counts SECTION(".maps");

struct {
    MAP_NUMBER(type, BPF_MAP_TYPE_HASH);
    MAP_NUMBER(max_entries, PT_BPF_STACKS_MAX);
    MAP_TYPE(key, uint64_t);
    MAP_TYPE(value, uint32_t);
} sent SECTION(".maps");

struct {
    MAP_NUMBER(type, BPF_MAP_TYPE_HASH);
    MAP_NUMBER(max_entries, PT_BPF_ADOPTING_MAX);
    MAP_TYPE(key, uint32_t);
    MAP_TYPE(value, pt_bpf_count);
} owed SECTION(".maps");

struct {
    MAP_NUMBER(type, BPF_MAP_TYPE_ARRAY);
    MAP_NUMBER(max_entries, 1);
    MAP_TYPE(key, uint32_t);
    MAP_TYPE(value, pt_bpf_wait_settings);
} wait_settings SECTION(".maps");

struct {
    MAP_NUMBER(type, BPF_MAP_TYPE_PERF_EVENT_ARRAY);
    MAP_NUMBER(key_size, 4);
    MAP_NUMBER(value_size, 4);
} plain SECTION(".maps");

struct {
    MAP_NUMBER(type, BPF_MAP_TYPE_PERF_EVENT_ARRAY);
    MAP_NUMBER(key_size, 4);
    MAP_NUMBER(value_size, 4);
} copies SECTION(".maps");

enum { RUNNING = 0, DEAD = 0x80 }; /* of task_struct.__state (include/linux/sched.h) */
enum { NO_EXIST = 1 };             /* of updates: only if there is no entry (BPF_NOEXIST) */

/* Task structures that the kernel passes to a program here can be read without a helper. */

static inline uint64_t state_of_task(const struct task_struct *task)
{
    const struct task_struct___old *const old = (const void *)task;
    return HAS_FIELD(task, __state) ? task->__state : (uint64_t)old->state;
}

/* st_mode of the file behind a descriptor; 0: unknown. */
static inline uint16_t mode_of_file(const struct task_struct *task, uint64_t fd)
{
    const struct files_struct *const files = task->files;
    const struct fdtable *const table = files != NULL ? files->fdt : NULL;
    struct file *file = NULL;
    struct inode *inode = NULL;
    uint16_t mode = 0;
    if (table == NULL || fd >= table->max_fds) return 0;
    bpf_probe_read_kernel(&file, sizeof file, table->fd + fd);
    if (file == NULL) return 0;
    KERNEL_FIELD(inode, file, f_inode);
    if (inode != NULL) KERNEL_FIELD(mode, inode, i_mode);
    return mode;
}

static inline bool is_waiting_for_disk(const struct task_struct *task)
{
    uint64_t bits;
    const void *const at = (const uint8_t *)task +
                           __builtin_preserve_field_info(task->in_iowait, CORE_FIELD_BYTE_OFFSET);
    switch (__builtin_preserve_field_info(task->in_iowait, CORE_FIELD_BYTE_SIZE)) {
    case 1: bits = *(const uint8_t *)at; break;
    case 4: bits = *(const uint32_t *)at; break;
    case 8: bits = *(const uint64_t *)at; break;
    default: return false;
    }
    bits <<= __builtin_preserve_field_info(task->in_iowait, CORE_FIELD_LEFT_SHIFT);
    return bits >> __builtin_preserve_field_info(task->in_iowait, CORE_FIELD_RIGHT_SHIFT) != 0;
}

/* st_mode of the file that a thread in a system call reads or writes; 0: none. */
static inline uint16_t mode_in_call(const struct task_struct *task, int32_t call,
                                    const uint64_t *regs)
{
    const bool has_file =
        call == CALL_READ || call == CALL_WRITE || call == CALL_READV || call == CALL_WRITEV;
    return has_file ? mode_of_file(task, regs[FIRST_ARGUMENT]) : 0;
}

/* Sends a copy of the stack with a key that no other stack has. Returns false if the ring is full,
 * or has received enough copies for now. */
static inline bool send_copy(void *context, pt_bpf_cpu *c, uint32_t tid, uint64_t now_ns)
{
    enum { PERIOD_BITS = 23, COPIES_MAX = 16 }; /* in 8 ms */
    const uint64_t period = now_ns >> PERIOD_BITS;
    if (c->copy_period != period) c->copy_count = 0;
    c->copy_period = period;
    if (c->copy_count >= COPIES_MAX) return false;
    c->copy_count++;
    c->stack.key = mix_hash(mix_hash(c->cpu, now_ns), tid) | 1;
    c->stack.count = c->stack.generation = 0;
    c->stack.frame_count = 0;
    c->stack.end = PT_BPF_COPIED_END;
    return bpf_perf_event_output(context, &copies, BPF_F_CURRENT_CPU, &c->stack.generation,
                                 PT_BPF_STACK_HEAD_BYTES) == 0;
}

/* Sends a stack, unless it was sent before. Returns false if the ring is full. */
static inline bool send_once(void *context, pt_bpf_cpu *c, uint32_t pid, uint64_t mm)
{
    const uint32_t one = 1;
    c->stack.key = key_of_stack(c, pid, mm);
    if (bpf_map_lookup_elem(&sent, &c->stack.key) != NULL) return true;
    if (send_stack(context, c) != 0) return false;
    bpf_map_update_elem(&sent, &c->stack.key, &one, 0);
    return true;
}

/* Sends the stack of the current thread, unless it was sent before; its key is in c->stack. A stack
 * that can be neither walked nor copied gets one frame. Returns false if the ring is full. */
static inline bool take_stack(void *context, pt_bpf_cpu *c, bool has_regs, uint32_t pid,
                              uint32_t tid, const pt_bpf_process *process,
                              const struct task_struct *task, uint64_t mm, uint64_t now_ns,
                              bool reads_frames, uint8_t *ret_is_single)
{
    *ret_is_single = 0;
    if (process != NULL && has_regs && walk_stack(context, c, pid, process, task, reads_frames))
        return send_once(context, c, pid, mm);
    *ret_is_single = 1;
    if (send_copy(context, c, tid, now_ns)) return true;
    *ret_is_single = 0;
    c->stack.pcs[0] = has_regs ? c->regs[PT_MACHINE_HOST->pc] : 0;
    c->stack.count = has_regs;
    c->stack.generation = 0;
    c->stack.frame_count = 0;
    c->stack.is_unchecked = 0;
    c->stack.end = PT_UNWIND_END_NO_RULE;
    c->hash = mix_hash(0, c->stack.pcs[0]);
    return send_once(context, c, pid, mm);
}

/* Sets the pace of this cpu at a switch, by the number of switches in the last period. */
static inline void set_pace(pt_bpf_cpu *c, pt_bpf_wait_settings *settings, uint64_t now_ns)
{
    enum { PERIOD_BITS = 23, PACE_MAX = 1000 };
    const uint64_t period = now_ns >> PERIOD_BITS;
    if (c->pace_period != period) {
        const uint32_t most = settings->stacks_max;
        const uint32_t before = c->pace_period + 1 == period ? c->pace_count : 0;
        const uint32_t pace = most > 0 && before > most ? (before + most - 1) / most : 1;
        c->pace = pace < PACE_MAX ? pace : PACE_MAX;
        if (settings->weight_max < c->pace) settings->weight_max = c->pace;
        c->pace_period = period;
        c->pace_count = 0;
    }
    c->pace_count++;
}

/* Decides at random whether the stack of a wait is taken, and sets the wait's weight: the inverse
 * of the probability. A thread whose last stack is old has its next one taken for certain. */
static inline void weigh_wait(pt_bpf_cpu *c, uint32_t tid, uint64_t now_ns)
{
    enum { OLD_NS = 1000000 };
    c->wait.weight = 1;
    c->wait.taken_ns = now_ns;
    if (c->pace <= 1) return;
    const pt_bpf_wait *const before = bpf_map_lookup_elem(&waiting, &tid);
    if (before == NULL || now_ns - before->taken_ns >= OLD_NS) return;
    c->wait.weight = mix_hash(now_ns, tid) % c->pace == 0 ? (uint16_t)c->pace : 0;
    if (c->wait.weight == 0) c->wait.taken_ns = before->taken_ns;
}

/* A thread is switched away from. task: the thread. */
static inline void switch_away(void *context, pt_bpf_cpu *c, pt_bpf_wait_settings *settings,
                               const struct task_struct *task, bool is_preempted, uint64_t now_ns,
                               bool reads_frames)
{
    const uint32_t pid = (uint32_t)task->tgid, tid = (uint32_t)task->pid;
    if (pid == 0) return;
    /* The pointer goes through a map, to become a number: the verifier forbids arithmetic on
     * pointers. */
    *(volatile uint64_t *)&c->mm = (uint64_t)task->mm;
    const uint64_t mm = *(volatile uint64_t *)&c->mm;
    const uint64_t state = state_of_task(task);
    if (mm == 0 || (state & DEAD) != 0) { /* a thread of the kernel, or one that ends */
        bpf_map_delete_elem(&waiting, &tid);
        return;
    }
    pt_bpf_process *process = bpf_map_lookup_elem(&processes, &pid);
    if (process != NULL && process->mm == 0) process->mm = mm;
    if (process == NULL && settings->only_known != 0) return;
    if (process != NULL && process->mm != mm) process = NULL; /* it has called exec */
    if (process != NULL && process->is_wanted == 0) return;
    is_preempted |= state == RUNNING;
    c->stack.role = PT_BPF_WAITER;
    c->stack.call = PT_BPF_CALL_FAULT;
    const bool has_regs = take_entry_regs(c, task);
    c->stack.is_io = is_waiting_for_disk(task);
    c->stack.mode = has_regs ? mode_in_call(task, c->stack.call, c->regs) : 0;
    if (is_preempted) c->stack.call = PT_BPF_CALL_PREEMPTED;
    c->wait.since_ns = now_ns;
    c->wait.woken_ns = is_preempted ? now_ns : 0;
    c->wait.waker = 0;
    c->wait.pid = pid;
    c->wait.is_preempted = is_preempted;
    set_pace(c, settings, now_ns);
    weigh_wait(c, tid, now_ns);
    c->wait.stack = 0;
    c->wait.is_single = 0;
    if (c->wait.weight != 0 && take_stack(context, c, has_regs, pid, tid, process, task, mm, now_ns,
                                          reads_frames, &c->wait.is_single))
        c->wait.stack = c->stack.key;
    pt_bpf_wait *const known = bpf_map_lookup_elem(&waiting, &tid);
    if (known != NULL)
        *known = c->wait;
    else if (bpf_map_update_elem(&waiting, &tid, &c->wait, 0) != 0)
        __sync_fetch_and_add(&settings->lost, 1);
}

static inline void add_count(pt_bpf_count *to, const pt_bpf_count *one)
{
    __sync_fetch_and_add(&to->off_ns, one->off_ns);
    __sync_fetch_and_add(&to->ready_ns, one->ready_ns);
    __sync_fetch_and_add(&to->waits, one->waits);
    __sync_fetch_and_add(&to->preemptions, one->preemptions);
}

/* Adds the difference that a wait makes to `owed`: the wait, less its weight times the wait. */
static inline void add_owed(pt_bpf_cpu *c, pt_bpf_wait_settings *settings, uint32_t pid,
                            uint64_t weight, pt_bpf_count *one)
{
    const uint64_t missing = 1 - weight;
    pt_bpf_count *const more = &c->owed;
    more->off_ns = one->off_ns * missing;
    more->ready_ns = one->ready_ns * missing;
    more->waits = one->waits * missing;
    more->preemptions = one->preemptions * missing;
    pt_bpf_count *known = bpf_map_lookup_elem(&owed, &pid);
    if (known == NULL && bpf_map_update_elem(&owed, &pid, more, NO_EXIST) != 0) {
        known = bpf_map_lookup_elem(&owed, &pid); /* another cpu added the entry first, or there is
                                                   * no room */
        if (known == NULL) __sync_fetch_and_add(&settings->lost, 1);
    }
    if (known != NULL) add_count(known, more);
    one->off_ns *= weight;
    one->ready_ns *= weight;
    one->waits *= weight;
    one->preemptions *= weight;
}

static inline void switch_to(void *context, pt_bpf_cpu *c, pt_bpf_wait_settings *settings,
                             uint32_t tid, uint64_t now_ns)
{
    pt_bpf_wait *const w = bpf_map_lookup_elem(&waiting, &tid);
    if (w == NULL || w->since_ns == 0) return;
    const uint64_t since_ns = w->since_ns, woken_ns = w->woken_ns;
    const uint64_t ready_from = woken_ns >= since_ns && woken_ns < now_ns ? woken_ns : now_ns;
    pt_bpf_count *const one = &c->ended.one;
    w->since_ns = 0;
    one->stack = w->stack;
    one->waker = w->waker;
    one->off_ns = ready_from - since_ns;
    one->ready_ns = now_ns - ready_from;
    one->waits = w->is_preempted == 0;
    one->preemptions = w->is_preempted != 0;
    if (w->weight != 1) add_owed(c, settings, w->pid, w->weight, one);
    if (w->weight == 0) {
        __sync_fetch_and_add(&settings->passed, 1);
        return;
    }
    if (w->is_single == 0 && settings->is_each == 0) {
        const uint64_t key = w->waker != 0 ? mix_hash(w->stack, w->waker) : w->stack;
        pt_bpf_count *const known = bpf_map_lookup_elem(&counts, &key);
        if (known != NULL) {
            add_count(known, one);
            return;
        }
        if (bpf_map_update_elem(&counts, &key, one, NO_EXIST) == 0) return;
    }
    c->ended.generation = c->ended.count = 0;
    c->ended.end = PT_BPF_WAIT_END;
    c->ended.tid = tid;
    c->ended.cpu = bpf_get_smp_processor_id();
    c->ended.since_ns = since_ns;
    if (bpf_perf_event_output(context, &plain, BPF_F_CURRENT_CPU, &c->ended.generation,
                              PT_BPF_WAIT_END_BYTES) != 0)
        __sync_fetch_and_add(&settings->lost, 1);
}

/* The state of this cpu for waits. */
static inline pt_bpf_cpu *state_for_waits(const pt_bpf_wait_settings *settings)
{
    const uint32_t at = settings->cpu_limit + bpf_get_smp_processor_id();
    pt_bpf_cpu *const c = bpf_map_lookup_elem(&cpus, &at);
    if (c != NULL) c->cpu = at;
    return c;
}

static inline int switch_threads(struct tracepoint_args *context, bool reads_frames)
{
    const uint32_t zero = 0;
    const uint64_t now_ns = bpf_ktime_get_ns();
    const bool is_preempted = context->at[0] != 0;
    const struct task_struct *const task = (const void *)context->at[1];
    const struct task_struct *const next = (const void *)context->at[2];
    pt_bpf_wait_settings *const settings = bpf_map_lookup_elem(&wait_settings, &zero);
    pt_bpf_cpu *const c = settings != NULL ? state_for_waits(settings) : NULL;
    if (c == NULL) return 0;
    const uint32_t tid = (uint32_t)next->pid;
    if (tid != 0) switch_to(context, c, settings, tid, now_ns);
    switch_away(context, c, settings, task, is_preempted, now_ns, reads_frames);
    return 0;
}

PLACE_FOR_READER(switch_reader);

/* Called at sched_switch, whose arguments are preempt, prev, next. */
SECTION("tp_btf/sched_switch") int pt_bpf_switch(struct tracepoint_args *context)
{
    bpf_tail_call(context, &switch_reader, 0);
    return switch_threads(context, false);
}

SECTION("tp_btf/sched_switch") int pt_bpf_switch_reader(struct tracepoint_args *context)
{
    return switch_threads(context, true);
}

/* Called at sched_process_fork, whose arguments are parent, child. */
SECTION("tp_btf/sched_process_fork") int pt_bpf_fork(struct tracepoint_args *context)
{
    const uint32_t zero = 0, pid = (uint32_t)(bpf_get_current_pid_tgid() >> 32);
    const struct task_struct *const child = (const void *)context->at[1];
    const pt_bpf_wait_settings *const settings = bpf_map_lookup_elem(&wait_settings, &zero);
    const pt_bpf_process *const parent = bpf_map_lookup_elem(&processes, &pid);
    if (settings == NULL || parent == NULL || parent->is_wanted == 0) return 0;
    const uint32_t key = (uint32_t)child->tgid, missed = PT_BPF_MISSED, yes = 1;
    if (key != pid && bpf_map_update_elem(&processes, &key, &settings->adopted, 0) != 0)
        bpf_map_update_elem(&facts, &missed, &yes, 0);
    return 0;
}

struct {
    MAP_NUMBER(type, BPF_MAP_TYPE_ARRAY);
    MAP_NUMBER(max_entries, 1);
    MAP_TYPE(key, uint32_t);
    MAP_TYPE(value, pt_bpf_resting);
} resting SECTION(".maps");

/* Fills in the registers and the system call of a waiting thread. Returns false if it has no 64-bit
 * user space. */
static inline bool describe_resting(pt_bpf_resting *r, const struct task_struct *task,
                                    const void *task_regs)
{
    struct user_regs *const regs = (struct user_regs *)(void *)r->kernel;
    _Static_assert(sizeof r->kernel >= sizeof *regs, "it holds the registers first");
    if (!read_entry_regs(task, task_regs, regs) || !IS_64_BIT(regs)) return false;
    COPY_REGS(r, regs);
    r->call = call_of(regs);
    r->is_io = is_waiting_for_disk(task);
    r->mode = mode_in_call(task, r->call, r->regs);
    const long bytes = bpf_get_task_stack(task, r->kernel, sizeof r->kernel, 0);
    r->kernel_count = bytes > 0 ? (uint32_t)bytes / 8 : 0;
    return true;
}

static inline bool rests(const struct task_struct *task)
{
    const uint64_t state = state_of_task(task);
    return state != RUNNING && (state & DEAD) == 0;
}

/* Called for each thread that exists when the recording begins. Sends the thread, unless it has
 * been switched since then. */
SECTION("iter/task") int pt_bpf_thread(struct bpf_iter__task *context)
{
    const uint32_t zero = 0;
    const struct task_struct *const task = context->task;
    const pt_bpf_wait_settings *const settings = bpf_map_lookup_elem(&wait_settings, &zero);
    pt_bpf_resting *const r = bpf_map_lookup_elem(&resting, &zero);
    if (task == NULL || settings == NULL || r == NULL) return 0;
    r->pid = (uint32_t)task->tgid;
    r->tid = (uint32_t)task->pid;
    const pt_bpf_process *const process = bpf_map_lookup_elem(&processes, &r->pid);
    const bool is_wanted = process != NULL ? process->is_wanted != 0 : settings->only_known == 0;
    if (task->mm == NULL || !is_wanted || !rests(task)) return 0;
    const void *regs = NULL;
    if (HAS_TASK_PT_REGS) regs = bpf_task_pt_regs(task);
    if (!describe_resting(r, task, regs)) return 0;
    pt_bpf_wait wait = {.since_ns = settings->begin_ns, .pid = r->pid, .weight = 1, .is_single = 1};
    r->key = wait.stack = mix_hash(mix_hash(1, bpf_ktime_get_ns()), r->tid) | 1;
    if (bpf_map_update_elem(&waiting, &r->tid, &wait, NO_EXIST) != 0) return 0;
    if (rests(task))
        bpf_seq_write(context->meta->seq, r, sizeof *r);
    else
        bpf_map_delete_elem(&waiting, &r->tid);
    return 0;
}

/* Is an interrupt running in the middle of an unrelated thread? Then its functions are on the
 * kernel's stack. */
static inline bool is_in_interrupt(void *context, pt_bpf_cpu *c,
                                   const pt_bpf_wait_settings *settings)
{
    const long bytes = bpf_get_stack(context, c->kernel, sizeof c->kernel, 0);
    for (int i = 0; i < PT_BPF_KERNEL_DEPTH_MAX; i++) {
        if (i * 8 >= bytes) break;
        const uint64_t pc = c->kernel[i];
        if (pc - settings->hard.start < settings->hard.bytes ||
            pc - settings->soft.start < settings->soft.bytes)
            return true;
    }
    return false;
}

/* Sends the stack of the current thread, which wakes another, unless it was sent before. For a
 * process that is not recorded the stack has only the kernel's frames. Returns the stack's key; 0:
 * it is unknown. */
static inline uint64_t take_waker(void *context, pt_bpf_cpu *c,
                                  const pt_bpf_wait_settings *settings, bool reads_frames)
{
    const uint32_t pid = (uint32_t)(bpf_get_current_pid_tgid() >> 32);
    const struct task_struct *const task = bpf_get_current_task();
    uint64_t mm = 0;
    if (pid == 0 || is_in_interrupt(context, c, settings)) return PT_BPF_INTERRUPT;
    KERNEL_FIELD(mm, task, mm);
    const pt_bpf_process *const process = bpf_map_lookup_elem(&processes, &pid);
    const bool is_known = process != NULL && process->is_wanted != 0 && process->mm == mm;
    const bool is_walked = is_known && take_entry_regs(c, task) &&
                           walk_stack(context, c, pid, process, task, reads_frames);
    if (!is_walked) {
        c->stack.count = c->stack.generation = 0;
        c->stack.frame_count = 0;
        c->stack.is_unchecked = 0;
        c->stack.end = mm == 0 ? PT_UNWIND_END_ROOT : PT_UNWIND_END_NO_RULE;
        c->hash = 0;
    }
    c->stack.role = PT_BPF_WAKER;
    c->stack.call = 0;
    c->stack.mode = c->stack.is_io = 0;
    return send_once(context, c, pid, mm) ? c->stack.key : 0;
}

static inline int note_waking(struct tracepoint_args *context, bool reads_frames)
{
    const struct task_struct *const woken = (const void *)context->at[0];
    const uint32_t tid = (uint32_t)woken->pid;
    pt_bpf_wait *const w = bpf_map_lookup_elem(&waiting, &tid);
    if (w == NULL || w->since_ns == 0 || w->woken_ns != 0) return 0;
    w->woken_ns = bpf_ktime_get_ns();
    const uint32_t zero = 0;
    const pt_bpf_wait_settings *const settings = bpf_map_lookup_elem(&wait_settings, &zero);
    if (settings == NULL || settings->has_wakers == 0 || w->weight == 0) return 0;
    pt_bpf_cpu *const c = state_for_waits(settings);
    if (c != NULL) w->waker = take_waker(context, c, settings, reads_frames);
    return 0;
}

PLACE_FOR_READER(waking_reader);

/* Called at sched_waking, whose argument is the woken thread. */
SECTION("tp_btf/sched_waking") int pt_bpf_waking(struct tracepoint_args *context)
{
    bpf_tail_call(context, &waking_reader, 0);
    return note_waking(context, false);
}

SECTION("tp_btf/sched_waking") int pt_bpf_waking_reader(struct tracepoint_args *context)
{
    return note_waking(context, true);
}
