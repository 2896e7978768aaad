/* inherited.c: see inherited.h. */
#include "capture/inherited.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/grow.h"
#include "base/hash.h"
#include "base/plain/tick.h"

enum {
    LIFE_NS = 100000000, /* of events, from their opening to their closing */
    YOUNG_NS = LIFE_NS / 4,
    REDRAW_NS = 200000, /* between draws of periods */
    BIRTH_NS = 1000000, /* from the moment when a child inherits to the record of the fork */
    GROUPS = 16,        /* threads whose children inherit events at the same time */
    REMEMBERED = 256,   /* groups whose samples are recognised, open or closed */
    THREADS = 4096,     /* threads whose ticks are remembered */
};

/* The inherited events of a thread: one for each cpu. */
typedef struct {
    uint32_t number; /* 0: closed */
    pid_t tid;
    uint64_t opened_ns, forked_ns, drawn_ns; /* when the last fork was noticed, periods drawn */
    uint64_t retires_ns; /* from when all new children inherit the events that replace it; 0: none
                          * replace it */
    int *fds;            /* -1: none */
} event_group;

/* The facts of a group, which are kept after it was closed: its samples, and the records of forks,
 * arrive later. */
typedef struct {
    uint32_t number; /* 0: none */
    pid_t tid;
    uint64_t opened_ns, closed_ns; /* UINT64_MAX: not yet */
    uint64_t varies_ns;            /* since when its periods are random; UINT64_MAX: not yet */
    bool has_clock;                /* the samples have the thread's clock, else the period */
    uint64_t *ids;                 /* of each cpu */
} known_group;

/* The CPU time of a thread on a cpu at its last tick. */
typedef struct {
    uint32_t tid, cpu;
    uint64_t ran_ns;
} tick_state;

struct pt_inherited {
    pt_inherited_options options;
    int *cpus, *samples_fds;
    event_group *groups; /* GROUPS items */
    uint32_t last_number;
    uint64_t refused_ns;           /* when events could not be opened; 0: never */
    known_group known[REMEMBERED]; /* by their numbers modulo */
    tick_state threads[THREADS];
};

static int *copy_numbers(const int *numbers, uint32_t count)
{
    int *const copy = pt_alloc(count, sizeof *copy);
    memcpy(copy, numbers, count * sizeof *copy);
    return copy;
}

pt_inherited *pt_inherited_new(const pt_inherited_options *options)
{
    pt_inherited *const all = pt_alloc(1, sizeof *all);
    all->options = *options;
    all->groups = pt_alloc(GROUPS, sizeof *all->groups);
    all->cpus = copy_numbers(options->cpus, options->cpu_count);
    all->samples_fds = copy_numbers(options->samples_fds, options->cpu_count);
    return all;
}

/* The facts of a group; NULL: they are forgotten, or number is 0. */
static known_group *known_of(pt_inherited *all, uint32_t number)
{
    known_group *const known = &all->known[number % REMEMBERED];
    return number != 0 && known->number == number ? known : NULL;
}

static void close_group(pt_inherited *all, event_group *group)
{
    known_group *const known = known_of(all, group->number);
    if (known != NULL) known->closed_ns = (uint64_t)pt_clock_ns(CLOCK_MONOTONIC);
    for (uint32_t i = 0; group->number != 0 && i < all->options.cpu_count; i++)
        if (group->fds[i] >= 0) close(group->fds[i]);
    free(group->fds);
    *group = (event_group){.number = 0};
}

void pt_inherited_stop(pt_inherited *all)
{
    for (size_t i = 0; i < GROUPS; i++)
        close_group(all, &all->groups[i]);
}

void pt_inherited_free(pt_inherited *all)
{
    if (all == NULL) return;
    pt_inherited_stop(all);
    for (size_t i = 0; i < REMEMBERED; i++)
        free(all->known[i].ids);
    free(all->groups);
    free(all->cpus);
    free(all->samples_fds);
    free(all);
}

/* ---- events ---- */

/* The last open events that the children of a thread inherit: those that the thread inherited, or
 * its own. */
static event_group *find_group(const pt_inherited *all, pid_t tid, uint32_t cover)
{
    event_group *found = NULL;
    for (size_t i = 0; i < GROUPS; i++) {
        event_group *const group = &all->groups[i];
        if (group->number == 0 || (group->number != cover && group->tid != tid)) continue;
        if (found == NULL || group->number > found->number) found = group;
    }
    return found;
}

pt_inherited_birth pt_inherited_at_birth(const pt_inherited *all, pid_t tid,
                                         const pt_inherited_birth *parent, uint64_t time_ns)
{
    const known_group *found = NULL;
    for (size_t i = 0; i < REMEMBERED; i++) {
        const known_group *const known = &all->known[i];
        if (known->number == 0 || (known->number != parent->cover && known->tid != tid)) continue;
        if (time_ns < BIRTH_NS || known->opened_ns >= time_ns - BIRTH_NS ||
            known->closed_ns <= time_ns)
            continue;
        if (found == NULL || known->number > found->number) found = known;
    }
    if (found == NULL) return (pt_inherited_birth){.cover = 0};
    /* The period that was drawn last goes to the children of children, too: the kernel copies it
     * from the event that was opened (inherit_event in kernel/events/core.c). */
    return (pt_inherited_birth){.cover = found->number,
                                .has_whole_period = time_ns < found->varies_ns};
}

static uint64_t draw_period(const pt_inherited *all, uint64_t *random)
{
    const uint64_t most_ns = all->options.plan->period;
    if (most_ns <= PT_FIRST_PERIOD_MIN_NS) return most_ns;
    return PT_FIRST_PERIOD_MIN_NS + pt_random_below(random, most_ns - PT_FIRST_PERIOD_MIN_NS);
}

/* Opens a group's event of a cpu. Returns its descriptor, or -1. */
static int open_event(const pt_inherited *all, pid_t tid, known_group *known, uint32_t cpu_index,
                      uint64_t period_ns)
{
    const int fd = pt_event_open_inherited(all->options.plan, tid, all->cpus[cpu_index], period_ns,
                                           &known->has_clock);
    if (fd < 0) return -1;
    known->ids[cpu_index] = pt_event_id(fd);
    if (fd < all->options.fd_limit && known->ids[cpu_index] != 0 &&
        ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, all->samples_fds[cpu_index]) == 0 &&
        ioctl(fd, PERF_EVENT_IOC_ENABLE, 0) == 0)
        return fd;
    close(fd);
    return -1;
}

/* A free place; else the place of the oldest group, which is closed. NULL: all groups are young. */
static event_group *make_room(pt_inherited *all, uint64_t now_ns)
{
    event_group *oldest = &all->groups[0];
    for (size_t i = 1; i < GROUPS; i++)
        if (all->groups[i].number < oldest->number) oldest = &all->groups[i];
    if (oldest->number != 0 && now_ns < oldest->opened_ns + YOUNG_NS) return NULL;
    close_group(all, oldest);
    return oldest;
}

/* Opens a group of events of thread tid. random: the state of a random generator; NULL: the events
 * have the whole period. Returns the time when all were open; 0: they could not be opened. */
static uint64_t open_group(pt_inherited *all, pid_t tid, uint64_t forked_ns, uint64_t *random)
{
    const uint64_t now_ns = (uint64_t)pt_clock_ns(CLOCK_MONOTONIC);
    if (all->refused_ns != 0 && now_ns < all->refused_ns + LIFE_NS) return 0;
    event_group *const group = make_room(all, now_ns);
    if (group == NULL) return 0;
    *group = (event_group){.number = ++all->last_number,
                           .tid = tid,
                           .forked_ns = forked_ns,
                           .drawn_ns = random != NULL ? now_ns : 0,
                           .fds = pt_alloc(all->options.cpu_count, sizeof *group->fds)};
    known_group *const known = &all->known[group->number % REMEMBERED];
    free(known->ids);
    *known = (known_group){.number = group->number,
                           .tid = tid,
                           .opened_ns = UINT64_MAX,
                           .closed_ns = UINT64_MAX,
                           .varies_ns = random != NULL ? 0 : UINT64_MAX,
                           .ids = pt_alloc(all->options.cpu_count, sizeof *known->ids)};
    bool is_open = true;
    for (uint32_t i = 0; i < all->options.cpu_count; i++) {
        const uint64_t period_ns =
            random != NULL ? draw_period(all, random) : all->options.plan->period;
        group->fds[i] = is_open ? open_event(all, tid, known, i, period_ns) : -1;
        is_open &= group->fds[i] >= 0;
    }
    if (is_open) {
        known->opened_ns = group->opened_ns = (uint64_t)pt_clock_ns(CLOCK_MONOTONIC);
        return group->opened_ns;
    }
    close_group(all, group);
    all->refused_ns = now_ns;
    return 0;
}

void pt_inherited_begin(pt_inherited *all, pid_t tid)
{
    open_group(all, tid, 0, NULL);
}

void pt_inherited_fork(pt_inherited *all, pid_t tid, uint32_t cover, uint64_t *random)
{
    const uint64_t now_ns = (uint64_t)pt_clock_ns(CLOCK_MONOTONIC);
    event_group *const group = find_group(all, tid, cover);
    if (group == NULL || group->retires_ns != 0) {
        open_group(all, tid, now_ns, random);
        return;
    }
    group->forked_ns = now_ns;
    if (now_ns < group->drawn_ns + REDRAW_NS) return;
    group->drawn_ns = now_ns;
    known_group *const known = known_of(all, group->number);
    if (known != NULL && known->varies_ns == UINT64_MAX) known->varies_ns = now_ns;
    for (uint32_t i = 0; i < all->options.cpu_count; i++) {
        uint64_t period_ns = draw_period(all, random);
        ioctl(group->fds[i], PERF_EVENT_IOC_PERIOD, &period_ns);
    }
}

void pt_inherited_renew(pt_inherited *all, uint64_t seen_ns, uint64_t *random)
{
    for (size_t i = 0; i < GROUPS; i++) {
        event_group *const old = &all->groups[i];
        const uint64_t due_ns = old->retires_ns != 0 ? old->retires_ns : old->opened_ns + LIFE_NS;
        if (old->number == 0 || seen_ns < due_ns) continue;
        if (old->retires_ns != 0 || seen_ns >= old->forked_ns + LIFE_NS) {
            close_group(all, old);
            continue;
        }
        const uint32_t number = old->number;
        const uint64_t opened_ns = open_group(all, old->tid, old->forked_ns, random);
        if (old->number != number) continue; /* the others took its place */
        old->retires_ns = (opened_ns != 0 ? opened_ns : seen_ns) + BIRTH_NS;
    }
}

/* ---- samples ---- */

/* The group whose event made the record; NULL: none. */
static const known_group *group_of(const pt_inherited *all, const pt_perf_record *record)
{
    uint32_t cpu = 0;
    while (cpu < all->options.cpu_count && (uint32_t)all->cpus[cpu] != record->cpu)
        cpu++;
    if (cpu == all->options.cpu_count || record->id == 0) return NULL;
    /* The youngest groups make most samples. */
    for (uint32_t i = 0; i < REMEMBERED && i < all->last_number; i++) {
        const known_group *const known = &all->known[(all->last_number - i) % REMEMBERED];
        if (known->ids != NULL && known->ids[cpu] == record->id) return known;
    }
    return NULL;
}

bool pt_inherited_has_made(const pt_inherited *all, const pt_perf_record *record)
{
    return group_of(all, record) != NULL;
}

static tick_state *state_of(pt_inherited *all, uint32_t tid, uint32_t cpu)
{
    return &all->threads[pt_hash_u32_pair(tid, cpu) % THREADS];
}

void pt_inherited_end(pt_inherited *all, uint32_t tid)
{
    for (uint32_t i = 0; i < all->options.cpu_count; i++) {
        tick_state *const state = state_of(all, tid, (uint32_t)all->cpus[i]);
        if (state->tid == tid) *state = (tick_state){0};
    }
}

uint64_t pt_inherited_tick_ns(uint64_t ran_ns, uint64_t most_ns)
{
    if (ran_ns < PT_FIRST_PERIOD_MIN_NS || ran_ns > LIFE_NS) return 0;
    if (most_ns <= PT_FIRST_PERIOD_MIN_NS) return most_ns;
    /* For each n from `first` to `last`, one of the possible periods makes tick number n fall on
     * this time: with a density of 1 / (n * part_ns). */
    enum { EXACT_MAX = 16 };
    const double part_ns = (double)(most_ns - PT_FIRST_PERIOD_MIN_NS);
    const uint64_t first = (ran_ns + most_ns - 1) / most_ns, last = ran_ns / PT_FIRST_PERIOD_MIN_NS;
    const uint64_t exact = last < EXACT_MAX ? last : EXACT_MAX;
    double density = 0;
    for (uint64_t n = first; n <= exact; n++)
        density += 1 / (double)n;
    const uint64_t rest = first > exact ? first : exact + 1;
    if (rest <= last) density += log(((double)last + 0.5) / ((double)rest - 0.5));
    /* No tick falls into the time before PT_FIRST_PERIOD_MIN_NS: the ticks soon after it stand for
     * that time. */
    const double times = ran_ns < 2 * PT_FIRST_PERIOD_MIN_NS ? 2 : 1;
    return density > 0 ? (uint64_t)(times * part_ns / density) : 0;
}

/* The time for which a tick stands. Each tick of the whole period stands for a period. */
static uint64_t share_of(const pt_inherited *all, const pt_inherited_birth *birth, uint64_t ran_ns)
{
    const uint64_t most_ns = all->options.plan->period;
    if (birth->has_whole_period) return ran_ns <= LIFE_NS ? most_ns : 0;
    return pt_inherited_tick_ns(ran_ns, most_ns);
}

uint64_t pt_inherited_share(pt_inherited *all, const pt_perf_record *record,
                            const pt_inherited_birth *birth, uint64_t own_ns)
{
    const known_group *const group = group_of(all, record);
    if (group == NULL || group->number != birth->cover || record->time_ns >= own_ns) return 0;
    if (group->has_clock) return share_of(all, birth, record->sample.count);
    /* Ticks in the kernel are missing where it may not be sampled. */
    tick_state *const state = state_of(all, record->tid, record->cpu);
    if (state->tid != record->tid || state->cpu != record->cpu)
        *state = (tick_state){record->tid, record->cpu, 0};
    state->ran_ns += record->sample.count;
    return share_of(all, birth, state->ran_ns);
}
