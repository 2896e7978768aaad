/* waits.c: see waits.h. */
#include "transform/waits.h"

#include <string.h>

#include "base/text.h"
#include "transform/frames.h"

enum { USER, KERNEL, SCHEDULER };

typedef struct {
    const pt_profile *profile;
    const uint8_t *kind; /* by location */
    const bool *has_cpu; /* by stack: a sample has CPU time */
    bool *is_shortened;  /* by stack */
} folding;

/* Beginnings of the names of the kernel's functions that put a thread to sleep, or wake it, on
 * behalf of other functions (kernel/sched, kernel/time, kernel/futex, kernel/locking). */
static const char *const scheduler[] = {
    "__schedule",
    "__traceiter_sched",
    "finish_task_switch",
    "futex_wait_queue",
    "io_schedule",
    "preempt_schedule",
    "schedule",
    "__cond_resched",
    "bit_wait",
    "wait_woken",
    "prepare_to_wait",
    "perf_event_task_sched",
    "bpf_trace_run",
    "__bpf_trace_sched",
    "try_to_wake_up",
    "default_wake_function",
    "autoremove_wake_function",
    "__wake_up",
    "wake_up_q",
};

static bool is_scheduler_name(const char *name)
{
    return PT_ANY(i, PT_COUNT(scheduler), pt_begins(name, scheduler[i]));
}

static bool is_of_kernel(const pt_profile *p, uint32_t location)
{
    const uint32_t mapping = p->location->mapping[location];
    if (mapping == PT_NONE) return false;
    const pt_mapping *const m = &p->mapping->row[mapping];
    return (m->flags & PT_MAPPING_KERNEL) != 0 || pt_begins(pt_text(p, m->file), "[kernel");
}

static uint8_t *kinds_of_locations(const pt_profile *p)
{
    uint8_t *const kind = pt_alloc((size_t)p->location->t.count + 1, 1);
    for (uint32_t i = 0; i < p->location->t.count; i++) {
        const uint32_t line = p->location->line_first[i];
        const uint32_t function =
            line < p->location->line_first[i + 1] ? p->line->function[line] : PT_NONE;
        if (!is_of_kernel(p, i)) continue;
        kind[i] = KERNEL;
        if (function != PT_NONE && is_scheduler_name(pt_text(p, p->function->name[function])))
            kind[i] = SCHEDULER;
    }
    return kind;
}

static bool *find_cpu(const pt_profile *p, uint32_t cpu)
{
    bool *const has_cpu = pt_alloc((size_t)p->stack->t.count + 1, sizeof *has_cpu);
    for (uint32_t i = 0; i < p->sample->t.count; i++)
        has_cpu[p->sample->stack[i]] |= cpu != PT_NONE && p->sample->value[cpu][i] != 0;
    return has_cpu;
}

/* Keeps the frames of user space, and the innermost frame of the kernel that is not of the
 * scheduler. */
static uint32_t keep_frames(const void *context, uint32_t stack, uint32_t *ret_frames)
{
    const folding *const f = context;
    const uint32_t *const frames = pt_stack_frames(f->profile, stack);
    const uint32_t depth = pt_stack_depth(f->profile, stack);
    uint32_t kernel = 0; /* number of frames of the kernel */
    uint32_t first = 0;  /* index of the kernel's frame that stays */
    uint32_t kept = 0;   /* number of frames written */
    while (!f->has_cpu[stack] && kernel < depth && f->kind[frames[kernel]] != USER)
        kernel++;
    while (first + 1 < kernel && f->kind[frames[first]] == SCHEDULER)
        first++;
    if (kernel > 0) ret_frames[kept++] = frames[first];
    f->is_shortened[stack] = kernel > 1;
    memcpy(ret_frames + kept, frames + kernel, (depth - kernel) * sizeof *frames);
    return kept + depth - kernel;
}

const pt_profile *pt_fold_waits(const pt_profile *profile, uint32_t event, bool *ret_shortened,
                                pt_diag *diag)
{
    bool is_seen = false;
    if (ret_shortened != NULL) *ret_shortened = false;
    if (pt_profile_find_event(profile, "off-cpu") == PT_NONE) return pt_profile_ref(profile);
    PT_FREE uint8_t *kind = kinds_of_locations(profile);
    PT_FREE bool *has_cpu = find_cpu(profile, pt_profile_find_event(profile, "cpu"));
    PT_FREE bool *is_shortened =
        pt_alloc((size_t)profile->stack->t.count + 1, sizeof *is_shortened);
    const folding f = {
        .profile = profile, .kind = kind, .has_cpu = has_cpu, .is_shortened = is_shortened};
    const pt_frames_edit edit = {.edit_stack = keep_frames, .context = &f};
    const pt_profile *const folded = pt_frames_apply(profile, &edit, diag);
    const pt_samples *const samples = profile->sample;
    for (uint32_t i = 0; i < samples->t.count && !is_seen; i++)
        is_seen = samples->value[event][i] != 0 && is_shortened[samples->stack[i]];
    if (ret_shortened != NULL) *ret_shortened = is_seen;
    return folded;
}
