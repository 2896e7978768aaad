/* ledger.c: see ledger.h. */
#include "capture/ledger.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/grow.h"
#include "base/hash.h"

enum {
    BUCKETS = 4096,
    ENDED = 4096,  /* ended threads that are remembered, at most */
    HELD_MIN = 32, /* samples that justify reading the clock */
    /* The least weight of these samples: a running thread's clock is late by up to a tick. */
    HELD_MIN_NS = 32000000,
    ALONE_MIN = 16,    /* periods that a thread needs for a correction of its own */
    POOL_HELD = 64,    /* samples that are corrected together for short threads */
    SWITCH_NS = 25000, /* longest time of a switch, in which no timer interrupts */
};

typedef struct {
    uint64_t weight_ns, share_ns;
    uint32_t row;
    bool is_kernel;
} entry;

typedef PT_VECTOR(entry) entries;
typedef PT_VECTOR(double) shares; /* of each row, the sum of its shares */

typedef struct account {
    struct account *next; /* in its bucket */
    uint32_t pid, tid;
    entries held;
    uint64_t held_ns;
    bool has_begun;        /* the clock is known: it was read, or the thread began at 0 */
    bool has_look;         /* `look` holds a reading that is not used yet */
    pt_thread_clock clock; /* at the last correction */
    pt_thread_clock look;
    uint64_t look_at_ns;
    /* Sums over all corrections: weights of samples, CPU time. */
    uint64_t all_held_ns, all_clock_ns, all_switches;
} account;

struct pt_ledger {
    pt_ledger_options options;
    pt_sink *sink;
    account *of_thread[BUCKETS];
    account *of_process[BUCKETS]; /* short threads; clock.ran_ns: the sum of their clocks */
    account short_ones;           /* short threads of processes that have ended */
    /* Threads that have ended, by tid modulo; 0: none. The kernel reports the end of a thread
     * before the thread's last samples. */
    uint32_t ended[ENDED];
    /* Of each row, the number of samples whose thread ended before its clock was read; with events
     * per thread those of short threads: their clocks lack the time before the events were open. */
    PT_VECTOR(uint32_t) brief;
    shares beside; /* see pt_ledger_beside */
    shares early;  /* see pt_ledger_early */
    bool has_lost; /* samples were lost */
    int64_t moved_ns;
};

bool pt_thread_clock_read(const char *root, uint32_t pid, uint32_t tid, pt_thread_clock *ret_clock)
{
    PT_FREE char *path = pt_strf("%s/%" PRIu32 "/task/%" PRIu32 "/schedstat", root, pid, tid);
    PT_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
    char text[64]; /* ns on a cpu, ns of waiting for a cpu, number of turns on a cpu */
    const ssize_t bytes = fd >= 0 ? read(fd, text, sizeof text - 1) : -1;
    if (bytes <= 0) return false;
    text[bytes] = '\0';
    return sscanf(text, "%" SCNu64 " %*u %" SCNu64, &ret_clock->ran_ns, &ret_clock->switches) == 2;
}

/* ---- accounts ---- */

static account **bucket_of(account **table, uint32_t id)
{
    return &table[pt_hash_u32_pair(id, 11) % BUCKETS];
}

static account *account_of(account **table, uint32_t id, bool make)
{
    account **const bucket = bucket_of(table, id);
    for (account *a = *bucket; a != NULL; a = a->next)
        if (a->tid == id) return a;
    if (!make) return NULL;
    account *const a = pt_alloc(1, sizeof *a);
    a->tid = id;
    a->next = *bucket;
    *bucket = a;
    return a;
}

static void close_account(account **table, uint32_t id)
{
    for (account **at = bucket_of(table, id); *at != NULL; at = &(*at)->next) {
        account *const a = *at;
        if (a->tid != id) continue;
        *at = a->next;
        free(a->held.items);
        free(a);
        return;
    }
}

static void free_table(account **table)
{
    for (size_t i = 0; i < BUCKETS; i++)
        while (table[i] != NULL)
            close_account(table, table[i]->tid);
}

static void hold_entry(account *a, const entry *e)
{
    PT_PUSH(a->held, *e);
    a->held_ns += e->weight_ns;
}

pt_ledger *pt_ledger_new(const pt_ledger_options *options, pt_sink *sink)
{
    pt_ledger *const l = pt_alloc(1, sizeof *l);
    l->options = *options;
    l->sink = sink;
    return l;
}

void pt_ledger_free(pt_ledger *l)
{
    if (l == NULL) return;
    free_table(l->of_thread);
    free_table(l->of_process);
    free(l->short_ones.held.items);
    free(l->brief.items);
    free(l->beside.items);
    free(l->early.items);
    free(l);
}

int64_t pt_ledger_moved_ns(const pt_ledger *l)
{
    return l->moved_ns;
}

/* ---- corrections ---- */

static void weigh_entry(pt_ledger *l, const entry *e, double weight_ns)
{
    const int64_t more_ns = (int64_t)weight_ns - (int64_t)e->weight_ns;
    pt_sink_more(l->sink, e->row, more_ns);
    l->moved_ns += more_ns;
}

/* Distributes clock_ns over the held samples by their shares. Each gets the difference of rounded
 * running sums, so that rounding loses nothing. */
static void settle_held(pt_ledger *l, account *a, double clock_ns, double switches)
{
    double kernel_ns = 0, shares_ns = 0, sum_ns = 0, given_ns = 0;
    for (size_t i = 0; i < a->held.count; i++) {
        const entry *const e = &a->held.items[i];
        kernel_ns += e->is_kernel ? (double)e->share_ns : 0;
        shares_ns += (double)e->share_ns;
    }
    double switching_ns = clock_ns - shares_ns;
    const double most_ns = switches * SWITCH_NS;
    if (switching_ns > most_ns) switching_ns = most_ns;
    if (switching_ns < -most_ns) switching_ns = -most_ns;
    if (switching_ns < -kernel_ns || kernel_ns == 0) switching_ns = -kernel_ns;
    const double kernel_share = kernel_ns > 0 ? 1 + switching_ns / kernel_ns : 1;
    const double held_ns = shares_ns + (kernel_ns > 0 ? switching_ns : 0);
    const double share = held_ns > 0 ? clock_ns / held_ns : 0;
    for (size_t i = 0; i < a->held.count; i++) {
        const entry *const e = &a->held.items[i];
        sum_ns += share * (double)e->share_ns * (e->is_kernel ? kernel_share : 1);
        const double now_ns = (double)(int64_t)(sum_ns + 0.5) - given_ns;
        weigh_entry(l, e, now_ns);
        given_ns += now_ns;
    }
    a->held.count = 0;
    a->held_ns = 0;
}

/* Corrects the held samples by a reading of the clock. */
static void settle_by_reading(pt_ledger *l, account *a)
{
    a->has_look = false;
    if (a->has_begun && a->look.ran_ns > a->clock.ran_ns && a->held_ns > 0) {
        const uint64_t ran_ns = a->look.ran_ns - a->clock.ran_ns;
        const uint64_t switches = a->look.switches - a->clock.switches;
        a->all_held_ns += a->held_ns;
        a->all_clock_ns += ran_ns;
        a->all_switches += switches;
        settle_held(l, a, (double)ran_ns, (double)switches);
    }
    if (!a->has_begun) a->held.count = a->held_ns = 0; /* from before the first reading */
    a->has_begun = true;
    a->clock = a->look;
}

static void read_clock(pt_ledger *l, account *a)
{
    a->has_look = l->options.look(l->options.arg, a->pid, a->tid, &a->look);
    a->look_at_ns = l->options.now_ns(l->options.arg);
}

/* Counts the samples of a thread whose clock was never read, or of threads that ran before their
 * events were open. */
static void count_brief(pt_ledger *l, const account *a)
{
    for (size_t i = 0; i < a->held.count; i++) {
        const uint32_t row = a->held.items[i].row;
        while (l->brief.count <= row)
            PT_PUSH(l->brief, 0);
        l->brief.items[row] += a->held.items[i].weight_ns == l->options.period_ns;
    }
}

/* Corrects the last samples of a thread in the same proportion as the samples before them, since
 * its clock is gone. */
static void settle_last(pt_ledger *l, account *a)
{
    if (a->has_begun && a->all_held_ns == 0) count_brief(l, a);
    if (a->held_ns == 0 || a->all_held_ns == 0) return;
    const double part = (double)a->held_ns / (double)a->all_held_ns;
    settle_held(l, a, part * (double)a->all_clock_ns, part * (double)a->all_switches);
}

/* ---- events per thread ---- */

static void settle_pool(pt_ledger *l, account *pool, size_t least)
{
    if (pool->held.count < least) return;
    count_brief(l, pool);
    settle_held(l, pool, (double)pool->clock.ran_ns, 0);
    pool->clock.ran_ns = 0;
}

static void move_entries(account *from, account *to)
{
    for (size_t i = 0; i < from->held.count; i++)
        hold_entry(to, &from->held.items[i]);
    to->clock.ran_ns += from->clock.ran_ns;
    from->held.count = from->held_ns = from->clock.ran_ns = 0;
}

/* Corrects the samples of a thread that ended. all_held_ns: weight of the samples corrected so far.
 */
static void end_thread(pt_ledger *l, account *a, uint64_t ran_ns)
{
    if (a->all_held_ns + a->held_ns >= ALONE_MIN * l->options.period_ns) {
        if (ran_ns > a->all_held_ns) settle_held(l, a, (double)(ran_ns - a->all_held_ns), 0);
        return;
    }
    account *const pool = account_of(l->of_process, a->pid, true);
    /* The clock of a thread that had no events of its own is not known. Where the kernel may not be
     * sampled, scaling to the clock would show time in the kernel as time of the program. */
    const bool is_sum = ran_ns == 0 || !l->options.has_kernel;
    a->clock.ran_ns = is_sum ? 0 : ran_ns;
    for (size_t i = 0; i < a->held.count && is_sum; i++)
        a->clock.ran_ns += a->held.items[i].share_ns;
    move_entries(a, pool);
    settle_pool(l, pool, POOL_HELD);
}

static void end_process(pt_ledger *l, uint32_t pid)
{
    account *const pool = account_of(l->of_process, pid, false);
    if (pool == NULL) return;
    settle_pool(l, pool, ALONE_MIN);
    move_entries(pool, &l->short_ones);
    settle_pool(l, &l->short_ones, POOL_HELD);
    close_account(l->of_process, pid);
}

/* ---- events of threads and processes ---- */

static uint32_t *ended_slot(pt_ledger *l, uint32_t tid)
{
    return &l->ended[tid % ENDED];
}

void pt_ledger_begin(pt_ledger *l, uint32_t tid)
{
    close_account(l->of_thread, tid); /* of an older thread with that tid */
    account_of(l->of_thread, tid, true)->has_begun = true;
    pt_ledger_exec(l, tid);
}

void pt_ledger_exec(pt_ledger *l, uint32_t tid)
{
    uint32_t *const ended = ended_slot(l, tid);
    if (*ended == tid) *ended = 0;
}

void pt_ledger_add(pt_ledger *l, uint32_t pid, uint32_t tid, uint64_t time_ns, uint32_t row,
                   uint64_t weight_ns, uint64_t share_ns, bool is_kernel,
                   const pt_thread_clock *clock)
{
    const entry e = {
        .weight_ns = weight_ns, .share_ns = share_ns, .row = row, .is_kernel = is_kernel};
    if (*ended_slot(l, tid) == tid) return; /* an account would stay for ever */
    account *const a = account_of(l->of_thread, tid, true);
    a->pid = pid;
    if (a->has_look && time_ns > a->look_at_ns) settle_by_reading(l, a);
    hold_entry(a, &e);
    const bool is_enough = a->held.count >= HELD_MIN && a->held_ns >= HELD_MIN_NS;
    if (l->options.is_each_thread) {
        if (!is_enough) return;
        a->all_held_ns += a->held_ns;
        settle_held(l, a, (double)a->held_ns, 0);
    } else if (!a->has_look && (is_enough || !a->has_begun)) {
        if (clock == NULL) {
            read_clock(l, a);
        } else {
            a->has_look = true;
            a->look = *clock;
            a->look_at_ns = time_ns;
        }
    }
}

static void add_share(shares *all, uint32_t row, double share)
{
    while (all->count <= row)
        PT_PUSH(*all, 0);
    all->items[row] += share;
}

void pt_ledger_beside(pt_ledger *l, uint32_t row, uint64_t share_ns)
{
    add_share(&l->beside, row, (double)share_ns);
}

void pt_ledger_early(pt_ledger *l, uint32_t row)
{
    add_share(&l->early, row, 1);
}

void pt_ledger_end(pt_ledger *l, uint32_t pid, uint32_t tid, uint64_t time_ns, uint64_t ran_ns)
{
    account *const a = account_of(l->of_thread, tid, l->options.is_each_thread && ran_ns > 0);
    if (a != NULL) {
        a->pid = pid;
        if (a->has_look && time_ns > a->look_at_ns) settle_by_reading(l, a);
        if (l->options.is_each_thread)
            end_thread(l, a, ran_ns);
        else
            settle_last(l, a);
    }
    close_account(l->of_thread, tid);
    *ended_slot(l, tid) = tid;
    if (pid == tid) end_process(l, pid);
}

void pt_ledger_lost(pt_ledger *l)
{
    l->has_lost = true;
    for (size_t i = 0; i < BUCKETS && !l->options.is_each_thread; i++)
        for (account *a = l->of_thread[i]; a != NULL; a = a->next) {
            a->held.count = a->held_ns = 0;
            a->has_begun = a->has_look = false;
        }
}

void pt_ledger_look_at_all(pt_ledger *l)
{
    for (size_t i = 0; i < BUCKETS && !l->options.is_each_thread; i++)
        for (account *a = l->of_thread[i]; a != NULL; a = a->next)
            if (a->has_begun) read_clock(l, a);
}

/* Scales the counted samples of all short threads by one factor, so that they get the CPU time that
 * no sample shows (missing_ns). A difference above a quarter has another cause than late timers,
 * and is left. */
static void settle_brief(pt_ledger *l, double missing_ns)
{
    const double most_part = 0.25;
    double brief_ns = 0, sum_ns = 0, given_ns = 0;
    for (size_t i = 0; i < l->brief.count; i++)
        brief_ns += (double)l->brief.items[i] * (double)l->options.period_ns;
    const double part = missing_ns / (brief_ns + 1);
    if (l->has_lost || part > most_part || part < -most_part) return;
    for (size_t row = 0; row < l->brief.count; row++) {
        sum_ns += part * (double)l->brief.items[row] * (double)l->options.period_ns;
        const int64_t more_ns = (int64_t)(sum_ns - given_ns);
        if (more_ns == 0) continue;
        pt_sink_more(l->sink, (uint32_t)row, more_ns);
        l->moved_ns += more_ns;
        given_ns += (double)more_ns;
    }
}

/* Distributes CPU time that no sample shows over rows by their shares. Returns the time that they
 * got. */
static double settle_shares(pt_ledger *l, const shares *rows, double missing_ns)
{
    double all = 0, sum_ns = 0, given_ns = 0;
    for (size_t row = 0; row < rows->count; row++)
        all += rows->items[row];
    if (l->has_lost || all == 0 || missing_ns < 1) return 0;
    for (size_t row = 0; row < rows->count; row++) {
        sum_ns += missing_ns * rows->items[row] / all;
        const int64_t more_ns = (int64_t)(sum_ns - given_ns);
        if (more_ns == 0) continue;
        pt_sink_more(l->sink, (uint32_t)row, more_ns);
        l->moved_ns += more_ns;
        given_ns += (double)more_ns;
    }
    return given_ns;
}

uint64_t pt_ledger_finish(pt_ledger *l, uint64_t used_ns, const pt_ledger_parts *parts,
                          uint64_t added_ns)
{
    for (size_t i = 0; i < BUCKETS; i++)
        for (account *a = l->of_thread[i]; a != NULL; a = a->next) {
            if (a->has_look) settle_by_reading(l, a);
            if (l->options.is_each_thread)
                settle_held(l, a, (double)a->held_ns, 0);
            else
                settle_last(l, a);
        }
    for (size_t i = 0; i < BUCKETS; i++)
        while (l->of_process[i] != NULL)
            end_process(l, l->of_process[i]->tid);
    settle_pool(l, &l->short_ones, ALONE_MIN);
    if (used_ns == 0) return 0;
    const double missing_ns = (double)used_ns - (double)added_ns - (double)l->moved_ns;
    const double beside_ns = settle_shares(l, &l->beside, parts->brief * missing_ns);
    const double early_ns = settle_shares(l, &l->early, parts->early * missing_ns);
    settle_brief(l, parts->brief * missing_ns - beside_ns);
    return (uint64_t)(beside_ns + early_ns);
}
