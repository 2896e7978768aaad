/* perf_data_sample.c: parses a sample's body, in the order of perf_event_open(2),
 * PERF_RECORD_SAMPLE.
 *
 *   fields at fixed offsets | READ | CALLCHAIN | RAW | BRANCH_STACK | REGS_USER | STACK_USER |
 *   WEIGHT | DATA_SRC | TRANSACTION | REGS_INTR | PHYS_ADDR | CGROUP | ...
 */
#include "formats/perf_data.h"

#include "base/saturate.h"
#include "machine/machine.h"

enum { PCS_MAX = 1024 };

/* The parts of a sample's body after the fields at fixed offsets. */
typedef struct {
    const uint8_t *chain, *branches, *stack, *group;
    uint64_t chain_count, branch_count, stack_bytes, group_count;
    uint64_t abi;
    const uint8_t *regs;
    uint64_t cgroup;
    bool has_cgroup;
    uint64_t counter; /* READ without GROUP */
    uint64_t counter_id;
} sample_parts;

/* A position in the body. After a read beyond the end, which sets is_short, the position stays at
 * the end. */
typedef struct {
    const uint8_t *at, *end;
    bool swap, is_short;
} cursor;

static const uint8_t *take_items(cursor *c, uint64_t count, uint64_t item_bytes)
{
    if (count > (size_t)(c->end - c->at) / item_bytes) {
        c->is_short = true;
        c->at = c->end;
        return NULL;
    }
    const uint8_t *const at = c->at;
    c->at += count * item_bytes;
    return at;
}

static uint64_t take_u64(cursor *c)
{
    const uint8_t *const at = take_items(c, 1, 8);
    return at != NULL ? pt_perf_u64(at, c->swap) : 0;
}

/* ---- the parts ---- */

static unsigned read_value_words(uint64_t format)
{
    return 1 + ((format & PT_PERF_READ_ID) != 0) + ((format & PT_PERF_READ_LOST) != 0);
}

static void take_read(cursor *c, const pt_perf_attr *a, sample_parts *p)
{
    const uint64_t format = a->read_format;
    const unsigned times =
        ((format & PT_PERF_READ_ENABLED) != 0) + ((format & PT_PERF_READ_RUNNING) != 0);
    if (format & PT_PERF_READ_GROUP) {
        p->group_count = take_u64(c);
        take_items(c, times, 8);
        p->group = take_items(c, p->group_count, 8 * (uint64_t)read_value_words(format));
        if (p->group == NULL) p->group_count = 0;
        return;
    }
    p->counter = take_u64(c);
    take_items(c, times, 8);
    if (format & PT_PERF_READ_ID) p->counter_id = take_u64(c);
    if (format & PT_PERF_READ_LOST) take_items(c, 1, 8);
}

static void take_branches(cursor *c, const pt_perf_attr *a, sample_parts *p)
{
    p->branch_count = take_u64(c);
    if (a->branch_type & PT_PERF_BRANCH_HW_INDEX) take_items(c, 1, 8);
    p->branches = take_items(c, p->branch_count, 24);
    if (p->branches == NULL) p->branch_count = 0;
    if (a->branch_type & PT_PERF_BRANCH_COUNTERS) take_items(c, p->branch_count, 8);
}

static void take_raw(cursor *c)
{
    const uint8_t *const size = take_items(c, 1, 4);
    if (size != NULL) take_items(c, pt_perf_u32(size, c->swap), 1);
}

static void take_regs(cursor *c, uint64_t mask, uint64_t *ret_abi, const uint8_t **ret_regs)
{
    *ret_abi = take_u64(c);
    if (*ret_abi != 0) *ret_regs = take_items(c, (uint64_t)__builtin_popcountll(mask), 8);
}

static void take_stack(cursor *c, sample_parts *p)
{
    const uint64_t room = take_u64(c);
    if (room == 0) return;
    p->stack = take_items(c, room, 1);
    const uint64_t copied = take_u64(c);
    if (p->stack != NULL) p->stack_bytes = copied < room ? copied : room;
}

static void take_parts(cursor *c, const pt_perf_attr *a, sample_parts *p)
{
    const uint64_t type = a->sample_type;
    if (type & PT_PERF_READ) take_read(c, a, p);
    if (type & PT_PERF_CALLCHAIN) {
        p->chain_count = take_u64(c);
        p->chain = take_items(c, p->chain_count, 8);
        if (p->chain == NULL) p->chain_count = 0;
    }
    if (type & PT_PERF_RAW) take_raw(c);
    if (type & PT_PERF_BRANCHES) take_branches(c, a, p);
    if (type & PT_PERF_REGS_USER) take_regs(c, a->regs_user, &p->abi, &p->regs);
    if (type & PT_PERF_STACK_USER) take_stack(c, p);
    if (!(type & PT_PERF_CGROUP)) return;
    take_items(c, (type & (PT_PERF_WEIGHT | PT_PERF_WEIGHT_PARTS)) != 0, 8);
    take_items(c, (type & PT_PERF_DATA_SRC) != 0, 8);
    take_items(c, (type & PT_PERF_TRANSACTION) != 0, 8);
    if (type & PT_PERF_REGS_INTR) {
        uint64_t abi;
        const uint8_t *regs;
        take_regs(c, a->regs_intr, &abi, &regs);
    }
    take_items(c, (type & PT_PERF_PHYS_ADDR) != 0, 8);
    p->cgroup = take_u64(c);
    p->has_cgroup = !c->is_short;
}

/* ---- user stacks ---- */

/* Unwinds the copied stack into c->user. Returns false if the stack could not be unwound; the
 * caller then uses the chain that the kernel recorded. */
static bool unwind_stack(pt_perf_data *d, const pt_perf_attr *a, const pt_perf_proc *proc,
                         const sample_parts *p, pt_perf_chain *c)
{
    enum { ABI_64 = 2 };
    uint64_t registers[PT_MACHINE_REGS_MAX] = {0};
    if (p->stack == NULL || p->regs == NULL || p->stack_bytes == 0) return false;
    /* The file's machine; the host's if the file does not state it. */
    const pt_machine *const machine = d->arch == NULL ? PT_MACHINE_HOST : pt_machine_named(d->arch);
    pt_stack_end end = PT_STACK_END_UNKNOWN;
    size_t count = 0;
    if (d->hooks->unwind != NULL && p->abi == ABI_64 && machine != NULL && !d->swap) {
        pt_machine_perf_regs(machine, a->regs_user, p->regs, registers);
        const size_t mapped = proc->maps->map.count;
        const pt_read_stack stack = {.machine = machine->elf_machine,
                                     .generation = proc->maps->generation,
                                     .maps = mapped > 0 ? &proc->maps->map.items->where : NULL,
                                     .map_count = mapped,
                                     .map_bytes = sizeof *proc->maps->map.items,
                                     .registers = registers,
                                     .bytes = p->stack,
                                     .byte_count = (size_t)p->stack_bytes,
                                     .room = a->stack_user};
        if (d->pcs == NULL) d->pcs = pt_alloc(PCS_MAX, sizeof *d->pcs);
        count = d->hooks->unwind(d->hooks->context, &stack, d->pcs, PCS_MAX, &end);
    }
    if (count == 0) {
        d->not_unwound++;
        return false;
    }
    c->user = d->pcs;
    c->user_count = (uint32_t)count;
    c->user_end = (uint8_t)end;
    return true;
}

/* The address at which user code was interrupted: the address after the user mark of the chain,
 * else the sample's own address. Returns false if there is neither. */
static bool user_address(const pt_perf_data *d, const pt_perf_chain *c, uint64_t *ret)
{
    for (uint64_t i = 0; i + 1 < c->chain_count; i++) {
        if (pt_perf_u64(c->chain + 8 * i, d->swap) != PT_PERF_CONTEXT_USER) continue;
        *ret = pt_perf_u64(c->chain + 8 * (i + 1), d->swap);
        return *ret < PT_PERF_CONTEXT_MAX;
    }
    *ret = c->ip;
    return c->has_ip && c->cpumode == PT_PERF_USER;
}

/* Makes the user part of the stack from the calls of --call-graph=lbr: the processor records the
 * calls that have not returned, the latest first. The chain has the kernel's part and a single user
 * address (perf's resolve_lbr_callchain_sample). The depth of the stack beyond these calls is
 * unknown. */
static void take_calls(pt_perf_data *d, const sample_parts *p, pt_perf_chain *c)
{
    uint64_t address;
    if (p->branch_count == 0 || !user_address(d, c, &address)) return;
    if (d->pcs == NULL) d->pcs = pt_alloc(PCS_MAX, sizeof *d->pcs);
    uint32_t count = 0;
    d->pcs[count++] = address;
    for (uint64_t i = 0; i < p->branch_count && count < PCS_MAX; i++) {
        const uint64_t from = pt_perf_u64(p->branches + 24 * i, d->swap);
        if (from != 0) d->pcs[count++] = from;
    }
    c->user = d->pcs;
    c->user_count = count;
    c->user_end = PT_STACK_END_UNKNOWN;
    c->has_calls = true;
}

/* ---- values ---- */

static int64_t as_value(uint64_t period)
{
    return period <= INT64_MAX ? (int64_t)period : INT64_MAX;
}

/* Adds the difference between the counter and its last value for the id. */
static void add_counter(pt_perf_data *d, uint64_t id, uint64_t counter)
{
    const uint32_t attr = pt_perf_attr_of_id(d, id);
    if (attr == PT_NONE || d->attr.items[attr].event == PT_NONE) return;
    pt_perf_attr *const a = &d->attr.items[attr];
    struct pt_perf_id *const row = &d->id.items[d->last_id_row];
    const uint64_t moved = counter - row->counter;
    row->counter = counter;
    if (moved == 0) return;
    a->samples++;
    pt_saturating_into(&d->values[a->event], as_value(moved));
}

/* If samples hold the values of counters, adds for each counter the difference from its last value,
 * which perf uses as the period. Returns false if samples hold no counters. */
static bool add_counters(pt_perf_data *d, const pt_perf_attr *a, const sample_parts *p)
{
    if (!(a->sample_type & PT_PERF_READ) || !(a->read_format & PT_PERF_READ_ID)) return false;
    if (!(a->read_format & PT_PERF_READ_GROUP)) {
        add_counter(d, p->counter_id, p->counter);
        return true;
    }
    const unsigned words = read_value_words(a->read_format);
    for (uint64_t i = 0; i < p->group_count; i++) {
        const uint8_t *const at = p->group + 8 * words * i;
        add_counter(d, pt_perf_u64(at + 8, d->swap), pt_perf_u64(at, d->swap));
    }
    return true;
}

static void add_values(pt_perf_data *d, pt_perf_attr *a, const uint8_t *body, const sample_parts *p)
{
    d->values[0] = 1;
    if (add_counters(d, a, p) || a->event == PT_NONE) return;
    d->values[a->event] =
        as_value(a->period_at >= 0 ? pt_perf_u64(body + a->period_at, d->swap) : a->period);
    a->samples++;
}

/* ---- the sample ---- */

static void add_branches(pt_perf_data *d, pt_perf_proc *proc, const sample_parts *p)
{
    for (uint64_t i = 0; i < p->branch_count; i++) {
        const uint64_t from = pt_perf_u64(p->branches + 24 * i, d->swap);
        const uint64_t to = pt_perf_u64(p->branches + 24 * i + 8, d->swap);
        if (from != 0 && to != 0) pt_perf_branch(d, proc, from, to);
    }
}

static void note_time(pt_perf_data *d, int64_t time)
{
    if (time == 0) return;
    if (d->first_ns == 0 || time < d->first_ns) d->first_ns = time;
    if (time > d->last_ns) d->last_ns = time;
}

static void add_sample(pt_perf_data *d, pt_perf_attr *a, const uint8_t *body, uint16_t misc,
                       const sample_parts *p)
{
    uint32_t pid = PT_NONE, tid = PT_NONE;
    if (a->tid_at >= 0) {
        pid = pt_perf_u32(body + a->tid_at, d->swap);
        tid = pt_perf_u32(body + a->tid_at + 4, d->swap);
    }
    const uint32_t row = pt_perf_thread_get(d, pid, tid);
    const pt_perf_thread *const thread = &d->procs.thread.items[row];
    pt_perf_proc *const proc = &d->procs.proc.items[thread->proc];
    pt_perf_chain chain = {.chain = p->chain,
                           .chain_count = p->chain_count,
                           .ip = a->ip_at >= 0 ? pt_perf_u64(body + a->ip_at, d->swap) : 0,
                           .has_ip = a->ip_at >= 0,
                           .cpumode = misc & PT_PERF_CPUMODE,
                           .max_stack = a->max_stack};
    if (a->sample_type & PT_PERF_STACK_USER) unwind_stack(d, a, proc, p, &chain);
    const bool has_calls = a->branch_type & PT_PERF_BRANCH_CALL_STACK;
    if (has_calls && chain.user == NULL) take_calls(d, p, &chain);
    const pt_stack_id stack = pt_perf_stack_of(d, proc, &chain);
    if (!has_calls) add_branches(d, proc, p);
    add_values(d, a, body, p);
    const pt_sample sample = {
        .stack = stack.v,
        .labels = p->has_cgroup ? pt_perf_cgroup_labels(d, p->cgroup) : 0,
        .values = d->values,
        .time_ns = a->time_at >= 0 ? as_value(pt_perf_u64(body + a->time_at, d->swap)) : 0,
        .pid = pid,
        .tid = tid,
        .cpu = a->cpu_at >= 0 ? pt_perf_u32(body + a->cpu_at, d->swap) : PT_NONE,
        .comm = thread->comm};
    note_time(d, sample.time_ns);
    if (stack.v != PT_NONE) pt_builder_timed_sample(d->builder, &sample);
    memset(d->values, 0, pt_builder_event_count(d->builder) * sizeof *d->values);
}

/* Parses a sample's body. Returns false if the body has no usable part. */
static bool take_body(pt_perf_data *d, const uint8_t *body, size_t size, pt_perf_attr **ret_attr,
                      sample_parts *ret_parts)
{
    pt_perf_attr *const a = pt_perf_attr_of_sample(d, body, size);
    if (a == NULL) {
        d->no_event++;
        return false;
    }
    pt_perf_events_define(d);
    *ret_parts = (sample_parts){0};
    cursor c = {.at = body + a->read_at, .end = body + size, .swap = d->swap};
    if (size < (size_t)a->read_at) {
        d->odd++;
        return false;
    }
    take_parts(&c, a, ret_parts);
    d->odd += c.is_short;
    *ret_attr = a;
    return true;
}

void pt_perf_on_sample(pt_perf_data *d, uint16_t misc, const uint8_t *body, size_t size)
{
    pt_perf_attr *a;
    sample_parts parts;
    uint64_t cookie;
    if (!take_body(d, body, size, &a, &parts)) return;
    if (pt_perf_is_deferred(parts.chain, parts.chain_count, d->swap, &cookie))
        pt_perf_defer(&d->deferred, cookie, misc, body, size);
    else
        add_sample(d, a, body, misc, &parts);
}

void pt_perf_on_joined_sample(pt_perf_data *d, uint16_t misc, const uint8_t *body, size_t size,
                              const uint8_t *user, uint64_t user_count)
{
    pt_perf_attr *a;
    sample_parts parts;
    uint64_t cookie;
    if (!take_body(d, body, size, &a, &parts)) return;
    if (user != NULL && pt_perf_is_deferred(parts.chain, parts.chain_count, d->swap, &cookie))
        parts.chain =
            pt_perf_deferred_join(&d->deferred, parts.chain, &parts.chain_count, user, user_count);
    add_sample(d, a, body, misc, &parts);
}
