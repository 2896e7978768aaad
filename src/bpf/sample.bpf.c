/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 */
/* sample.bpf.c: the program that runs in the kernel at each sample, before the stack is copied.
 *
 *   the process is known, and the stack was walked to its end   ---> the walked stack
 *   the process is not recorded, or it is unknown, and user
 *   space knows all that are recorded                           ---> nothing
 *   anything else                                               ---> the sample unchanged
 *
 * A walked stack goes into the ring, or only its key if this cpu has sent the stack before; the
 * sample itself is dropped then. An unchanged sample has registers and a copy of the stack, which
 * user space walks.
 *
 * A second program also reads the frames of interpreters. User space loads it when the first
 * process with an interpreter comes, because the verifier takes four times as long for it. From
 * then on the first program continues as the second (a tail call).
 *
 * wait.bpf.h has the programs for waits. tools/build-bpf compiles all of them to
 * dist/sample.MACHINE.bpf. */
#include "bpf/kernel.bpf.h"
#include "bpf/layout.h"

struct {
    MAP_NUMBER(type, BPF_MAP_TYPE_HASH);
    MAP_NUMBER(max_entries, PT_BPF_PROCESSES_MAX);
    MAP_TYPE(key, uint32_t);
    MAP_TYPE(value, pt_bpf_process);
} processes SECTION(".maps");

struct {
    MAP_NUMBER(type, BPF_MAP_TYPE_ARRAY);
    MAP_NUMBER(max_entries, 1); /* the loader sets the number of cpus */
    MAP_TYPE(key, uint32_t);
    MAP_TYPE(value, pt_bpf_cpu);
} cpus SECTION(".maps");

struct {
    MAP_NUMBER(type, BPF_MAP_TYPE_PERF_EVENT_ARRAY);
    MAP_NUMBER(key_size, 4);
    MAP_NUMBER(value_size, 4);
} output SECTION(".maps");

/* By pt_bpf_fact. */
struct {
    MAP_NUMBER(type, BPF_MAP_TYPE_ARRAY);
    MAP_NUMBER(max_entries, PT_BPF_FACTS);
    MAP_TYPE(key, uint32_t);
    MAP_TYPE(value, uint32_t);
} facts SECTION(".maps");

struct chunk {
    MAP_NUMBER(type, BPF_MAP_TYPE_ARRAY);
    MAP_NUMBER(max_entries, 1);
    MAP_NUMBER(map_flags, BPF_F_MMAPABLE);
    MAP_NUMBER(key_size, 4);
    MAP_NUMBER(value_size, PT_BPF_CHUNK_BYTES);
};

struct {
    MAP_NUMBER(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
    MAP_NUMBER(max_entries, PT_BPF_CHUNKS_MAX);
    MAP_TYPE(key, uint32_t);
    __typeof__(struct chunk) *values[];
} pool SECTION(".maps");

/* A map with a place for the program that also reads frames. If the place is filled, the program
 * without frames continues as that program (a tail call). */
#define PLACE_FOR_READER(name)                                                                     \
    struct {                                                                                       \
        MAP_NUMBER(type, BPF_MAP_TYPE_PROG_ARRAY);                                                 \
        MAP_NUMBER(max_entries, 1);                                                                \
        MAP_NUMBER(key_size, 4);                                                                   \
        MAP_NUMBER(value_size, 4);                                                                 \
    } name SECTION(".maps")

static inline __attribute__((always_inline)) const uint8_t *pool_chunk(uint32_t number)
{
    const uint32_t first = 0;
    void *const chunk = bpf_map_lookup_elem(&pool, &number);
    return chunk != NULL ? bpf_map_lookup_elem(chunk, &first) : NULL;
}

static inline __attribute__((always_inline)) bool read_stack(uint64_t *to, uint32_t bytes,
                                                             uint64_t addr)
{
    return bpf_probe_read_user(to, bytes, addr) == 0;
}

static inline __attribute__((always_inline)) bool read_memory(void *to, uint32_t bytes,
                                                              uint64_t addr)
{
    return bpf_probe_read_user(to, bytes, addr) == 0;
}

/* Copies a terminated text, as much of it as there is room for. Returns the number of bytes with
 * the terminator; 0: it is unreadable. */
static inline __attribute__((always_inline)) uint32_t read_text(void *to, uint32_t room,
                                                                uint64_t addr)
{
    const long bytes = bpf_probe_read_user_str(to, room, addr);
    return bytes > 0 ? (uint32_t)bytes : 0;
}

#include "bpf/walk.bpf.h"

#include "bpf/perl.bpf.h"
#include "bpf/php.bpf.h"
#include "bpf/python.bpf.h"
#include "bpf/ruby.bpf.h"
#include "bpf/v8.bpf.h"

__attribute__((noinline)) int pt_bpf_search_mapping(uint32_t cpu, uint64_t addr)
{
    pt_bpf_cpu *const c = bpf_map_lookup_elem(&cpus, &cpu);
    return c != NULL ? search_mapping(c, addr) : 0;
}

__attribute__((noinline)) int pt_bpf_search_rule(uint32_t cpu, uint64_t addr)
{
    pt_bpf_cpu *const c = bpf_map_lookup_elem(&cpus, &cpu);
    return c != NULL ? (int)search_rule(c, addr) : 0;
}

__attribute__((noinline)) int pt_bpf_step(uint32_t cpu)
{
    pt_bpf_cpu *const c = bpf_map_lookup_elem(&cpus, &cpu);
    return c != NULL ? (int)step_frame(c) : PT_UNWIND_END_BAD_READ;
}

/* Starts a walk of the frames of the process's interpreter. Returns 0 if there are none. thread:
 * its thread pointer. It is a separate function because the verifier would otherwise follow the
 * loop after it once for each language. */
__attribute__((noinline)) int pt_bpf_begin_frames(uint32_t cpu, uint32_t pid, uint64_t thread)
{
    pt_bpf_cpu *const c = bpf_map_lookup_elem(&cpus, &cpu);
    const pt_bpf_process *const process = bpf_map_lookup_elem(&processes, &pid);
    if (c == NULL || process == NULL) return 0;
    const pt_bpf_interp *const interp = &process->interp;
    c->language = interp->language;
    switch (interp->language) {
    case PT_BPF_PYTHON: return begin_python(c, interp, thread);
    case PT_BPF_PHP: return begin_php(c, interp);
    case PT_BPF_PERL: return begin_perl(c, interp, thread);
    case PT_BPF_RUBY: return begin_ruby(c, interp, thread);
    case PT_BPF_JAVASCRIPT: return begin_v8(c, interp);
    default: return 0;
    }
}

__attribute__((noinline)) int pt_bpf_step_python(uint32_t cpu)
{
    pt_bpf_cpu *const c = bpf_map_lookup_elem(&cpus, &cpu);
    return c != NULL ? step_python(c) : 0;
}

__attribute__((noinline)) int pt_bpf_climb_php(uint32_t cpu)
{
    pt_bpf_cpu *const c = bpf_map_lookup_elem(&cpus, &cpu);
    return c != NULL ? climb_php_delegate(&c->php) : 0;
}

__attribute__((noinline)) int pt_bpf_step_php(uint32_t cpu)
{
    pt_bpf_cpu *const c = bpf_map_lookup_elem(&cpus, &cpu);
    return c != NULL ? step_php(c) : 0;
}

__attribute__((noinline)) int pt_bpf_step_perl(uint32_t cpu)
{
    pt_bpf_cpu *const c = bpf_map_lookup_elem(&cpus, &cpu);
    return c != NULL ? step_perl(c) : 0;
}

__attribute__((noinline)) int pt_bpf_find_ruby_variable(uint32_t cpu, uint64_t class, uint32_t by,
                                                        uint64_t wanted)
{
    pt_bpf_cpu *const c = bpf_map_lookup_elem(&cpus, &cpu);
    return c != NULL ? find_variable_for_ruby(c, class, by, wanted) : 0;
}

__attribute__((noinline)) int pt_bpf_step_ruby(uint32_t cpu)
{
    pt_bpf_cpu *const c = bpf_map_lookup_elem(&cpus, &cpu);
    return c != NULL ? step_ruby(c) : 0;
}

__attribute__((noinline)) int pt_bpf_step_v8(uint32_t cpu)
{
    pt_bpf_cpu *const c = bpf_map_lookup_elem(&cpus, &cpu);
    return c != NULL ? step_v8(c) : 0;
}

/* Reads a frame and appends it. Returns 0 if it was the last, or the memory does not fit the
 * layout. */
__attribute__((noinline)) int pt_bpf_step_frame(uint32_t cpu)
{
    const pt_bpf_cpu *const c = bpf_map_lookup_elem(&cpus, &cpu);
    if (c == NULL) return 0;
    switch (c->language) {
    case PT_BPF_PYTHON: return pt_bpf_step_python(cpu);
    case PT_BPF_PHP: return pt_bpf_step_php(cpu);
    case PT_BPF_PERL: return pt_bpf_step_perl(cpu);
    case PT_BPF_RUBY: return pt_bpf_step_ruby(cpu);
    case PT_BPF_JAVASCRIPT: return pt_bpf_step_v8(cpu);
    default: return 0;
    }
}

/* Completes the copy of the new code. Returns the bytes of its last part; -1: the process has sent
 * as many copies as it may, and the code stays new. */
__attribute__((noinline)) int pt_bpf_copy_code(uint32_t cpu, uint32_t pid)
{
    pt_bpf_cpu *const c = bpf_map_lookup_elem(&cpus, &cpu);
    pt_bpf_process *const process = bpf_map_lookup_elem(&processes, &pid);
    if (c == NULL || process == NULL) return -1;
    if (!may_copy(process, c->now_ns)) {
        forget_code(c);
        c->lacks_code = 1;
        return -1;
    }
    switch (c->language) {
    case PT_BPF_PYTHON: copy_python_code(c); break;
    case PT_BPF_PHP: copy_php_code(c); break;
    case PT_BPF_PERL: copy_perl_code(c); break;
    case PT_BPF_JAVASCRIPT: copy_v8_code(c); break;
    default: copy_ruby_code(c);
    }
    return (int)c->code.more_from.bytes;
}

/* The system call that a thread is in. */
static inline int32_t call_of(const struct user_regs *regs)
{
    const int32_t call = number_of_call(regs);
    return call >= 0 ? call : PT_BPF_CALL_FAULT;
}

/* Reads the registers of user space at the entry to the kernel, which are at the end of the
 * kernel's stack. from: their place, if the kernel provides it. */
static inline bool read_entry_regs(const struct task_struct *task, const void *from,
                                   struct user_regs *ret_regs)
{
    if (!HAS_TASK_PT_REGS) {
        const uint8_t *stack = NULL;
        KERNEL_FIELD(stack, task, stack);
        if (stack == NULL) return false;
        from = stack + KERNEL_STACK_BYTES - USER_REGS_BYTES;
    }
    return bpf_probe_read_kernel(ret_regs, sizeof *ret_regs, from) == 0;
}

/* Reads the user registers of a thread that is in the kernel. Returns false if its code is not
 * 64-bit. */
static inline bool take_entry_regs(pt_bpf_cpu *c, const struct task_struct *task)
{
    struct user_regs *const regs = (struct user_regs *)(void *)c->entry;
    const void *from = NULL;
    _Static_assert(sizeof c->entry >= sizeof *regs, "a word for each register");
    if (HAS_TASK_PT_REGS) from = bpf_task_pt_regs(bpf_get_current_task_btf());
    if (!read_entry_regs(task, from, regs) || !IS_64_BIT(regs)) return false;
    COPY_REGS(c, regs);
    c->stack.call = call_of(regs);
    return true;
}

/* Reads the user registers. Returns false if the code is not 64-bit, or there is no user space. */
static inline bool take_regs(pt_bpf_cpu *c, struct bpf_perf_event_data *context,
                             const struct task_struct *task)
{
    volatile context_regs *const at = &context->regs;
    if (IS_USER_SPACE(at)) {
        if (!IS_64_BIT(at)) return false;
        COPY_REGS(c, at);
        return true;
    }
    return take_entry_regs(c, task);
}

/* Sends the copy of the new code. more_bytes: the size of its last part. If the ring is full, the
 * code stays new. */
static inline void send_code(void *context, pt_bpf_cpu *c, int more_bytes)
{
    uint64_t bytes = ((uint64_t)(uint32_t)more_bytes + 7) / 8 * 8;
    BARRIER(bytes);
    if (bytes > PT_BPF_MORE_BYTES) return;
    bytes += PT_BPF_CODE_HEAD_BYTES;
    if (bpf_perf_event_output(context, &output, BPF_F_CURRENT_CPU, &c->code.generation, bytes) == 0)
        return;
    forget_code(c);
    c->lacks_code = 1;
}

/* Appends the frames of the process's interpreter. All languages share a loop, since the verifier
 * follows each of its rounds. */
static inline void add_frames(void *context, pt_bpf_cpu *c, uint32_t pid,
                              const pt_bpf_process *process, const struct task_struct *task)
{
    uint64_t thread = 0;
    meet_process(c, pid, process, bpf_ktime_get_ns());
    if (process->interp.language == PT_BPF_NO_LANGUAGE) return;
    KERNEL_FIELD(thread, task, THREAD_POINTER);
    if (pt_bpf_begin_frames(c->cpu, pid, thread) == 0) return;
    for (int i = 0; i < PT_BPF_FRAMES_MAX; i++) {
        if (pt_bpf_step_frame(c->cpu) == 0) break;
        if (c->is_code_new != 0) send_code(context, c, pt_bpf_copy_code(c->cpu, pid));
    }
}

/* Walks the stack from the registers on. reads_frames: a constant. Returns false if user space must
 * walk it. */
static inline bool walk_stack(void *context, pt_bpf_cpu *c, uint32_t pid,
                              const pt_bpf_process *process, const struct task_struct *task,
                              bool reads_frames)
{
    c->php.frame_register = c->regs[PT_PHP_REG_FRAME];
    c->php.instruction_register = c->regs[PT_PHP_REG_INSTRUCTION];
    c->v8.is_wanted = reads_frames && process->interp.language == PT_BPF_JAVASCRIPT;
    begin_walk(c, process);
    int end = PT_UNWIND_END_TRUNCATED;
    for (int i = 0; i < PT_BPF_DEPTH_MAX; i++) {
        end = pt_bpf_step(c->cpu);
        if (end != PT_UNWIND_END_GOING_ON) break;
    }
    if (end != PT_UNWIND_END_ROOT && end != PT_UNWIND_END_TRUNCATED) return false;
    c->stack.generation = c->generation;
    c->stack.end = (uint8_t)end;
    c->stack.is_unchecked = c->is_unchecked;
    c->stack.frame_count = 0;
    c->lacks_code = 0;
    if (reads_frames) add_frames(context, c, pid, process, task);
    return true;
}

/* Sends a stack that was walked. */
static inline long send_stack(void *context, pt_bpf_cpu *c)
{
    enum { TOO_LONG = -7 }; /* E2BIG */
    uint64_t bytes = c->stack.count;
    if (c->stack.frame_count != PT_BPF_FRAMES_BAD) bytes += 2 * (uint64_t)c->stack.frame_count;
    BARRIER(bytes);
    if (bytes > PT_BPF_DEPTH_MAX + 2 * PT_BPF_FRAMES_MAX) return TOO_LONG;
    bytes = bytes * 8 + PT_BPF_STACK_HEAD_BYTES;
    return bpf_perf_event_output(context, &output, BPF_F_CURRENT_CPU, &c->stack.generation, bytes);
}

/* A number for the walked stack of process pid. */
static inline uint64_t key_of_stack(const pt_bpf_cpu *c, uint32_t pid, uint64_t mm)
{
    uint64_t key = mix_hash(c->hash, (uint64_t)pid << 32 | c->stack.generation);
    key = mix_hash(key, mm ^ (uint64_t)c->stack.end << 8 ^ c->stack.role ^
                            (uint64_t)c->stack.is_unchecked << 16 ^
                            (uint64_t)c->stack.frame_count << 32);
    key = mix_hash(key,
                   (uint64_t)(uint32_t)c->stack.call << 32 | c->stack.mode << 1 | c->stack.is_io);
    return mix_hash(key, c->hash) | 1;
}

/* Sends the stack of a sample, or its head if this cpu has sent the stack before. */
static inline long send_sample(void *context, pt_bpf_cpu *c, uint32_t pid, uint64_t mm)
{
    c->stack.key = key_of_stack(c, pid, mm);
    uint64_t place = PT_BPF_KNOWN_PLACE(c->stack.key);
    BARRIER(place);
    place &= (1 << PT_BPF_KNOWN_BITS) - 1;
    if (c->known[place] == c->stack.key) {
        c->stack.count = c->stack.frame_count = 0;
        c->stack.end = PT_BPF_KNOWN_END;
        return bpf_perf_event_output(context, &output, BPF_F_CURRENT_CPU, &c->stack.generation,
                                     PT_BPF_STACK_HEAD_BYTES);
    }
    const long error = send_stack(context, c);
    c->known[place] = error == 0 && c->lacks_code == 0 ? c->stack.key : 0;
    return error;
}

#include "bpf/wait.bpf.h"

enum { GO_ON = 1, DROP = 0 };

/* Reads the thread's clock, as /proc/PID/task/TID/schedstat shows it. */
static inline void take_clock(pt_bpf_cpu *c, const struct task_struct *task)
{
    c->stack.ran_ns = c->stack.turns = 0;
    if (!HAS_FIELD(task, sched_info)) return;
    KERNEL_FIELD(c->stack.ran_ns, task, se.sum_exec_runtime);
    KERNEL_FIELD(c->stack.turns, task, sched_info.pcount);
}

/* Is every process that is recorded in `processes`? */
static inline bool are_all_known(void)
{
    const uint32_t all = PT_BPF_ALL_KNOWN, missed = PT_BPF_MISSED;
    const uint32_t *const is_all = bpf_map_lookup_elem(&facts, &all);
    const uint32_t *const has_missed = bpf_map_lookup_elem(&facts, &missed);
    return is_all != NULL && *is_all != 0 && has_missed != NULL && *has_missed == 0;
}

static inline int take_sample(struct bpf_perf_event_data *context, bool reads_frames)
{
    enum { RING_IS_FULL = -28 }; /* ENOSPC: the kernel counts it as lost */
    const uint32_t cpu = bpf_get_smp_processor_id();
    const uint32_t pid = (uint32_t)(bpf_get_current_pid_tgid() >> 32);
    pt_bpf_process *const process = bpf_map_lookup_elem(&processes, &pid);
    pt_bpf_cpu *const c = bpf_map_lookup_elem(&cpus, &cpu);
    if (process == NULL) return are_all_known() ? DROP : GO_ON;
    if (c == NULL) return GO_ON;
    const struct task_struct *const task = bpf_get_current_task();
    uint64_t mm = 0;
    KERNEL_FIELD(mm, task, mm);
    if (process->mm == 0) process->mm = mm;
    if (process->mm != mm) return GO_ON; /* the process has called exec */
    if (process->is_wanted == 0) return DROP;
    if (mm == 0 || !take_regs(c, context, task)) return GO_ON;
    c->cpu = cpu;
    c->stack.role = PT_BPF_SAMPLE;
    c->stack.period = context->sample_period;
    if (!walk_stack(context, c, pid, process, task, reads_frames)) return GO_ON;
    take_clock(c, task);
    const long error = send_sample(context, c, pid, mm);
    return error == 0 || error == RING_IS_FULL ? DROP : GO_ON;
}

PLACE_FOR_READER(sample_reader);

SECTION("perf_event") int pt_bpf_sample(struct bpf_perf_event_data *context)
{
    bpf_tail_call(context, &sample_reader, 0);
    return take_sample(context, false);
}

SECTION("perf_event") int pt_bpf_sample_reader(struct bpf_perf_event_data *context)
{
    return take_sample(context, true);
}

/* The helpers require this text; the file is available under the other licence too. */
const char sample_license[] SECTION("license") = "GPL";
