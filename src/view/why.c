/* why.c: see why.h. */
#include "view/why.h"

#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/hash.h"
#include "base/index.h"
#include "base/saturate.h"
#include "model/sums.h"
#include "view/draws.h"
#include "view/own_code.h"
#include "view/runtimes.h"
#include "view/table.h"

/* The least share of a finding that must be below its place, or in the process that is named. */
#define PLACE_SHARE 0.8
/* If every function has less than this share below it, the finding has no place. */
#define SPREAD_SHARE 0.3
/* The least share of a listed direct caller. */
#define SOURCE_SHARE 0.1
/* The least share of the whole time that a thread needs to be reported as busy. */
#define BUSY_SHARE 0.85
enum { BUSY_THREADS_MIN = 3 };
/* The least number of equal samples of a finding. */
#define DRAWS_MIN 8
/* 95 % of the values of a normal variable are within this many deviations of the mean. */
#define Z95 1.959964

/* ---- A stack, line by line ---- */

typedef struct {
    uint32_t row;      /* of the fold */
    uint32_t location; /* of the profile */
    uint32_t line;     /* of the profile; PT_NONE: the location has none */
    bool own;          /* the program's code, not code of a library that was compiled into the
                        * program */
    bool runtime;      /* the mapping shows that it is code of an interpreter or virtual machine
                        * itself */
    uint8_t cause;     /* row of pt_why_causes */
    bool known;        /* in step_of: the other fields are set */
} step;

typedef struct {
    const pt_profile *profile;
    pt_fold fold;
    bool *own_line, *own_nameless, *runtime_mapping;
    /* [origin][function]: the cause that the function shows, a row of pt_why_causes; UNKNOWN: not
     * searched yet. */
    uint8_t *cause[PT_WHY_ORIGINS];
    uint32_t event;
    uint64_t *pid;         /* per label set: the number of its label "pid", or NO_PID */
    bool has_causes;       /* the event is of time: causes mean something */
    int64_t *value;        /* value of each stack; 0 for stacks without the requested function */
    step *step_of;         /* per location that is a single step */
    PT_VECTOR(step) steps; /* leaf first */
} reader;

#define UNKNOWN 0xff
#define NO_PID  UINT64_MAX

/* For hashes of numbers that a file chooses. */
#define LINE_SEED UINT64_C(0x9e3779b97f4a7c15)

/* The most steps that are read of a stack, from its leaf on. */
enum { STEPS_MAX = 1 << 18 };

static uint8_t cause_of_function(reader *r, uint32_t function, pt_why_origin origin)
{
    const pt_profile *const p = r->profile;
    const pt_functions *const f = p->function;
    const char *const file = pt_text(p, f->file[function]);
    if (origin == PT_WHY_OF_PROGRAM && file[0] == '\0') origin = PT_WHY_OF_LIBRARY;
    uint8_t *const known = &r->cause[origin][function];
    if (*known == UNKNOWN)
        *known = pt_why_cause_of(pt_text(p, f->name[function]),
                                 pt_text(p, f->system_name[function]), file, origin);
    return *known;
}

static void add_location(reader *r, uint32_t location)
{
    const pt_profile *const p = r->profile;
    step *const single = &r->step_of[location];
    if (single->known) {
        PT_PUSH(r->steps, *single);
        return;
    }
    uint32_t one, count;
    const uint32_t *const rows = pt_fold_rows(&r->fold, location, &one, &count);
    const uint32_t first = p->location->line_first[location];
    const uint32_t lines = p->location->line_first[location + 1] - first;
    const bool is_kernel = pt_is_kernel_code(p, location);
    for (uint32_t i = 0; i < count && r->steps.count < STEPS_MAX; i++) {
        step s = {.row = rows[i], .location = location, .line = PT_NONE};
        const uint32_t mapping = p->location->mapping[location];
        if (i < lines) {
            s.line = first + i;
            s.own = r->own_line[s.line];
            const uint32_t function = p->line->function[s.line];
            if (function != PT_NONE && r->has_causes)
                s.cause = cause_of_function(r, function,
                                            is_kernel ? PT_WHY_OF_KERNEL
                                            : s.own   ? PT_WHY_OF_PROGRAM
                                                      : PT_WHY_OF_LIBRARY);
        } else {
            s.own = mapping != PT_NONE && r->own_nameless[mapping] && !is_kernel;
        }
        if (s.cause != PT_WHY_NO_CAUSE) s.own = false;
        s.runtime = !s.own && mapping != PT_NONE && r->runtime_mapping[mapping];
        s.known = true;
        if (count == 1) *single = s;
        PT_PUSH(r->steps, s);
    }
}

static void read_stack(reader *r, uint32_t stack)
{
    const uint32_t *const frames = pt_stack_frames(r->profile, stack);
    r->steps.count = 0;
    for (uint32_t i = 0; i < pt_stack_depth(r->profile, stack); i++)
        if (r->steps.count < STEPS_MAX) add_location(r, frames[i]);
}

/* Is the step an interpreter's? Its work then counts as the own time of the program's function. */
static bool is_transparent(const step *s)
{
    return s->cause == PT_WHY_INTERPRETER || (s->cause == PT_WHY_NO_CAUSE && s->runtime);
}

/* Is the step an interpreter's loop, or code without a name that a runtime made? Such a step shows
 * no cause. */
static bool says_nothing(const reader *r, const step *s)
{
    return s->cause == PT_WHY_INTERPRETER || (s->runtime && pt_fold_is_unnamed(&r->fold, s->row));
}

/* ---- The group of a stack ---- */

typedef struct {
    pt_why_kind kind;
    uint32_t id; /* row of a cause, or row of the fold */
    int64_t value;
    uint32_t heaviest; /* the stack with the largest value */
} group;

typedef struct {
    pt_why_kind kind;
    uint32_t id;
    size_t own; /* index of the innermost own step, the caller of the steps before it; steps.count =
                   none */
    size_t called; /* index of the step that own code called, plus 1; 0 = none */
} membership;

static size_t first_own(const reader *r, size_t from)
{
    while (from < r->steps.count && !r->steps.items[from].own)
        from++;
    return from;
}

/* The cause that steps [from, end) show; PT_WHY_NO_CAUSE: none. */
static uint8_t cause_of_steps(const reader *r, size_t from, size_t end)
{
    uint8_t best = PT_WHY_NO_CAUSE;
    bool is_interpreted = false; /* an interpreter runs the steps before */
    for (size_t i = from; i < end; i++) {
        const uint8_t cause = r->steps.items[i].cause;
        is_interpreted |= cause == PT_WHY_INTERPRETER;
        if (cause < PT_WHY_FIRST_CAUSE) continue;
        const pt_why_cause *const c = &pt_why_causes[cause], *const b = &pt_why_causes[best];
        if (c->is_of_memory && (is_interpreted || b->is_of_files)) continue;
        if (c->is_of_text && b->is_of_files) continue;
        if (c->rank >= b->rank) best = cause;
    }
    return best;
}

/* The group of a stack with own code at the leaf. The own code may be a callback, such as the
 * comparison of a sort. */
static membership of_own_leaf(const reader *r, size_t own)
{
    const membership itself = {PT_WHY_OWN, r->steps.items[own].row, own, 0};
    size_t caller = own;
    while (caller < r->steps.count &&
           (r->steps.items[caller].own || is_transparent(&r->steps.items[caller])))
        caller++;
    const size_t outer = first_own(r, caller);
    if (outer == r->steps.count) return itself;
    const uint8_t cause = cause_of_steps(r, caller, outer);
    if (cause == PT_WHY_NO_CAUSE || !pt_why_causes[cause].calls_back) return itself;
    return (membership){PT_WHY_CAUSE, cause, outer, 0};
}

/* Was the function of step `at` inlined into the function of step `own`? If the inlined function
 * shows no cause, its work counts as work of the own function. */
static bool is_inlined_into(const reader *r, size_t at, size_t own)
{
    return own < r->steps.count && r->steps.items[at].location == r->steps.items[own].location;
}

/* The group of the stack. `called` is set only for PT_WHY_LIBRARY; of_steps sets it for the other
 * kinds. */
static membership group_of_steps(const reader *r)
{
    const size_t own = first_own(r, 0);
    const uint8_t cause = cause_of_steps(r, 0, own);
    if (cause != PT_WHY_NO_CAUSE) return (membership){PT_WHY_CAUSE, cause, own, 0};
    const bool has_own = own < r->steps.count;
    size_t via = own; /* after the loop: the index, plus 1, of the step that own code called */
    while (via > 0 &&
           (is_transparent(&r->steps.items[via - 1]) || is_inlined_into(r, via - 1, own)))
        via--;
    if (via > 0 && r->has_causes)
        return (membership){PT_WHY_LIBRARY, r->steps.items[has_own ? via - 1 : 0].row, own, via};
    if (has_own) return of_own_leaf(r, own);
    return (membership){PT_WHY_LIBRARY, r->steps.items[0].row, own, 0};
}

static membership of_steps(const reader *r)
{
    membership m = group_of_steps(r);
    if (m.own == r->steps.count) m.called = 0;
    if (m.own == r->steps.count || m.kind == PT_WHY_LIBRARY) return m;
    m.called = m.own;
    while (m.called > 1 && says_nothing(r, &r->steps.items[m.called - 1]))
        m.called--;
    return m;
}

typedef struct {
    PT_VECTOR(group) group;
    pt_index index;
    uint32_t *of_stack; /* per stack: its group; PT_NONE = none */
} grouping;

static uint32_t group_with(grouping *g, membership m)
{
    const uint64_t hash = pt_hash_u32_pair(m.id, (uint32_t)m.kind);
    const uint32_t known = PT_INDEX_FIND(
        &g->index, hash, id, g->group.items[id].id == m.id && g->group.items[id].kind == m.kind);
    if (known != PT_NONE) return known;
    return PT_INDEX_PUSH(&g->index, hash, g->group,
                         (group){.kind = m.kind, .id = m.id, .heaviest = PT_NONE});
}

static void make_groups(grouping *g, reader *r)
{
    const uint32_t stacks = r->profile->stack->t.count;
    *g = (grouping){.of_stack = pt_alloc(stacks + 1, sizeof *g->of_stack)};
    pt_index_init(&g->index);
    for (uint32_t s = 0; s < stacks; s++) {
        g->of_stack[s] = PT_NONE;
        if (r->value[s] <= 0 || pt_stack_depth(r->profile, s) == 0) continue;
        read_stack(r, s);
        const uint32_t id = g->of_stack[s] = group_with(g, of_steps(r));
        group *const to = &g->group.items[id];
        to->value = pt_saturating_add(to->value, r->value[s]);
        if (to->heaviest == PT_NONE || r->value[s] > r->value[to->heaviest]) to->heaviest = s;
    }
}

/* ---- The facts of one group ---- */

/* The values of a group in each row of the fold. */
typedef struct {
    int64_t *below;   /* own rows: the stacks that have the row among their own steps */
    int64_t *direct;  /* own rows: the stacks with the row as innermost own step */
    int64_t *via;     /* rows that own code called */
    int64_t *leaf;    /* rows at the leaf */
    uint32_t *marked; /* the last stack that counted the row, plus 1 */
} tallies;

static void tallies_init(tallies *t, uint32_t rows)
{
    *t = (tallies){
        .below = pt_alloc(rows + 1, sizeof *t->below),
        .direct = pt_alloc(rows + 1, sizeof *t->direct),
        .via = pt_alloc(rows + 1, sizeof *t->via),
        .leaf = pt_alloc(rows + 1, sizeof *t->leaf),
        .marked = pt_alloc(rows + 1, sizeof *t->marked),
    };
}

static void tally_stack(tallies *t, reader *r, uint32_t stack)
{
    const int64_t value = r->value[stack];
    read_stack(r, stack);
    const membership m = of_steps(r);
    pt_saturating_into(&t->leaf[r->steps.items[0].row], value);
    if (m.own < r->steps.count) pt_saturating_into(&t->direct[r->steps.items[m.own].row], value);
    if (m.called > 0) pt_saturating_into(&t->via[r->steps.items[m.called - 1].row], value);
    for (size_t i = m.own; i < r->steps.count; i++) {
        const step *const s = &r->steps.items[i];
        if (!s->own || t->marked[s->row] == stack + 1) continue;
        t->marked[s->row] = stack + 1;
        pt_saturating_into(&t->below[s->row], value);
    }
}

static uint32_t heaviest_row(const int64_t *value, uint32_t rows)
{
    uint32_t best = PT_NONE;
    for (uint32_t i = 0; i < rows; i++)
        if (value[i] > 0 && (best == PT_NONE || value[i] > value[best])) best = i;
    return best;
}

/* The place of a group: the innermost row of the program's own code, in the group's heaviest stack,
 * that has nearly all of the group below it; else the direct caller with the largest value. */
static uint32_t place_of_group(reader *r, const tallies *t, const group *g)
{
    read_stack(r, g->heaviest);
    for (size_t i = of_steps(r).own; i < r->steps.count; i++) {
        const step *const s = &r->steps.items[i];
        if (s->own && !pt_fold_is_unnamed(&r->fold, s->row) &&
            (double)t->below[s->row] >= PLACE_SHARE * (double)g->value)
            return s->row;
    }
    const uint32_t caller = heaviest_row(t->direct, r->fold.count);
    if (caller == PT_NONE || pt_fold_is_unnamed(&r->fold, caller)) return PT_NONE;
    return (double)t->below[caller] >= SPREAD_SHARE * (double)g->value ? caller : PT_NONE;
}

/* Source lines of a row, by the value of the samples that pass through them. */
typedef struct {
    uint32_t line;
    int64_t value;
} line_sum;

typedef struct {
    line_sum *items;
    size_t count, cap;
    pt_index index;
} line_sums;

static void add_to_line(const pt_profile *p, line_sums *sums, uint32_t line, int64_t value)
{
    const int64_t number = p->line->line[line];
    const uint64_t hash =
        pt_hash_mix((uint64_t)number ^ LINE_SEED, p->line->function[line] ^ LINE_SEED);
    uint32_t id =
        PT_INDEX_FIND(&sums->index, hash, at,
                      p->line->line[sums->items[at].line] == number &&
                          p->line->function[sums->items[at].line] == p->line->function[line]);
    if (id == PT_NONE) id = PT_INDEX_PUSH(&sums->index, hash, *sums, (line_sum){.line = line});
    sums->items[id].value = pt_saturating_add(sums->items[id].value, value);
}

/* Gives the row's name, and its line through which most of the group's samples pass. */
static pt_why_place describe_place(reader *r, const grouping *g, uint32_t of_group, uint32_t row,
                                   double share)
{
    const pt_profile *const p = r->profile;
    pt_why_place place = {.name = pt_fold_text(&r->fold, row), .file = "", .share = share};
    line_sums sums = {0};
    pt_index_init(&sums.index);
    for (uint32_t s = 0; s < p->stack->t.count; s++) {
        if (g->of_stack[s] != of_group) continue;
        read_stack(r, s);
        for (size_t i = 0; i < r->steps.count; i++) {
            const step *const at = &r->steps.items[i];
            if (at->row != row || !at->own || at->line == PT_NONE) continue;
            if (p->line->function[at->line] != PT_NONE)
                add_to_line(p, &sums, at->line, r->value[s]);
            break;
        }
    }
    const line_sum *best = NULL;
    for (size_t i = 0; i < sums.count; i++)
        if (best == NULL || sums.items[i].value > best->value) best = &sums.items[i];
    if (best != NULL) {
        place.file = pt_text(p, p->function->file[p->line->function[best->line]]);
        place.line = p->line->line[best->line];
    }
    free(sums.items);
    pt_index_done(&sums.index);
    return place;
}

static void describe_sources(reader *r, const grouping *g, uint32_t of_group, const tallies *t,
                             uint32_t place, pt_why_finding *f)
{
    PT_FREE int64_t *direct = pt_alloc(r->fold.count + 1, sizeof *direct);
    memcpy(direct, t->direct, r->fold.count * sizeof *direct);
    while (f->source_count < PT_WHY_SOURCES_MAX) {
        const uint32_t row = heaviest_row(direct, r->fold.count);
        if (row == PT_NONE) return;
        const double share = pt_share(direct[row], f->value);
        direct[row] = 0;
        if (pt_fold_is_unnamed(&r->fold, row)) continue;
        if (share < SOURCE_SHARE || (f->source_count == 0 && row == place && share > PLACE_SHARE))
            return;
        f->source[f->source_count++] = describe_place(r, g, of_group, row, share);
    }
}

/* ---- Paths ---- */

/* Rows of a path from the root on. */
typedef struct {
    uint32_t row[PT_WHY_PATH_MAX];
    size_t count;
    bool is_cut;
} row_path;

/* The own rows among steps [from, count), without repeats: the outermost one, and as many innermost
 * ones as there is room for. */
static row_path own_rows(const reader *r, size_t from, size_t room)
{
    row_path path = {0};
    uint32_t last = PT_NONE;
    for (size_t i = r->steps.count; i-- > from;) {
        const step *const s = &r->steps.items[i];
        if (!s->own || s->row == last || pt_fold_is_unnamed(&r->fold, s->row)) continue;
        last = s->row;
        if (path.count == room) {
            memmove(&path.row[1], &path.row[2], (room - 2) * sizeof path.row[0]);
            path.count--;
            path.is_cut = true;
        }
        path.row[path.count++] = last;
    }
    return path;
}

static void add_row(row_path *path, uint32_t row)
{
    if (path->count == 0 || path->row[path->count - 1] != row) path->row[path->count++] = row;
}

static pt_why_path name_path(const reader *r, const row_path *rows)
{
    pt_why_path path = {.count = rows->count, .is_cut = rows->is_cut};
    for (size_t i = 0; i < rows->count; i++)
        path.name[i] = pt_fold_text(&r->fold, rows->row[i]);
    return path;
}

/* The heaviest stack of the group that has the place. */
static uint32_t stack_with_place(reader *r, const grouping *g, uint32_t of_group, uint32_t place)
{
    uint32_t best = g->group.items[of_group].heaviest;
    int64_t most = 0;
    for (uint32_t s = 0; s < r->profile->stack->t.count; s++) {
        if (g->of_stack[s] != of_group || r->value[s] <= most) continue;
        read_stack(r, s);
        for (size_t i = 0; i < r->steps.count; i++)
            if (r->steps.items[i].row == place && r->steps.items[i].own) {
                best = s;
                most = r->value[s];
                break;
            }
    }
    return best;
}

/* Adds the outermost step that shows the cause. */
static void add_cause(row_path *path, const reader *r, uint32_t cause)
{
    for (size_t i = r->steps.count; i-- > 0;)
        if (r->steps.items[i].cause == cause) {
            add_row(path, r->steps.items[i].row);
            return;
        }
}

/* The path of a group. If no code of the program called the cause, the path begins with the
 * function that shows the cause. */
static pt_why_path path_of_group(reader *r, const grouping *g, uint32_t of_group, uint32_t place)
{
    const group *const of = &g->group.items[of_group];
    read_stack(r, place == PT_NONE ? of->heaviest : stack_with_place(r, g, of_group, place));
    const membership m = of_steps(r);
    row_path path = own_rows(r, m.own, PT_WHY_PATH_MAX - 2);
    if (m.own == r->steps.count && of->kind == PT_WHY_CAUSE) add_cause(&path, r, of->id);
    if (m.called > 0) add_row(&path, r->steps.items[m.called - 1].row);
    if (m.own > 0) add_row(&path, r->steps.items[0].row);
    return name_path(r, &path);
}

/* ---- Findings ---- */

static char *row_text(const reader *r, uint32_t row)
{
    return row == PT_NONE ? NULL : pt_fold_text(&r->fold, row);
}

/* The average number of the row's frames in a stack of the group, weighted by value. */
static double depth_of_place(reader *r, const grouping *g, uint32_t of_group, uint32_t place)
{
    double times = 0, value = 0;
    for (uint32_t s = 0; s < r->profile->stack->t.count; s++) {
        if (g->of_stack[s] != of_group) continue;
        read_stack(r, s);
        for (size_t i = 0; i < r->steps.count; i++)
            if (r->steps.items[i].row == place) times += (double)r->value[s];
        value += (double)r->value[s];
    }
    return value > 0 ? times / value : 0;
}

static pt_why_finding describe_group(reader *r, const grouping *g, uint32_t id, const pt_why *why)
{
    const group *const of = &g->group.items[id];
    pt_why_finding f = {.kind = of->kind, .value = of->value, .symptom_object = ""};
    if (f.kind == PT_WHY_CAUSE) f.cause = &pt_why_causes[of->id];
    f.share = pt_share(of->value, why->whole);
    f.interval = why->draws > 0 ? pt_binomial_interval(f.share, why->draws, Z95)
                                : (pt_interval){f.share, f.share};
    tallies t;
    tallies_init(&t, r->fold.count);
    for (uint32_t s = 0; s < r->profile->stack->t.count; s++)
        if (g->of_stack[s] == id) tally_stack(&t, r, s);
    const uint32_t place = f.kind == PT_WHY_OWN ? of->id : place_of_group(r, &t, of);
    if (place != PT_NONE)
        f.place = describe_place(r, g, id, place, pt_share(t.below[place], of->value));
    if (f.kind == PT_WHY_CAUSE) describe_sources(r, g, id, &t, place, &f);
    const uint32_t leaf = heaviest_row(t.leaf, r->fold.count);
    f.via = row_text(r, heaviest_row(t.via, r->fold.count));
    f.symptom = row_text(r, leaf);
    if (leaf != PT_NONE) f.symptom_object = pt_fold_info(&r->fold, leaf).object;
    f.path = path_of_group(r, g, id, place);
    if (f.kind == PT_WHY_OWN && !pt_fold_is_unnamed(&r->fold, place))
        f.depth = depth_of_place(r, g, id, place);
    PT_FREE_ALL(t.below, t.direct, t.via, t.leaf, t.marked);
    return f;
}

/* ---- Processes of the findings ---- */

typedef struct {
    uint32_t finding;
    uint64_t pid;
    int64_t value;
} process_sum;

/* Has a sample the process that it belongs to, in a column or a label? */
static bool knows_processes(const reader *r)
{
    if (r->profile->sample->pid != NULL) return true;
    return PT_ANY(set, r->profile->labels->t.count, r->pid[set] != NO_PID);
}

/* Returns for each stack its finding, or PT_NONE. The caller frees the array. order: the groups,
 * those of the findings first. */
static uint32_t *find_findings_of_stacks(const pt_why *why, const reader *r, const grouping *g,
                                         const uint32_t *order)
{
    PT_FREE uint32_t *of_group = pt_alloc(g->group.count + 1, sizeof *of_group);
    memset(of_group, 0xff, g->group.count * sizeof *of_group);
    for (uint32_t i = 0; i < why->count; i++)
        of_group[order[i]] = i;
    const uint32_t stacks = r->profile->stack->t.count;
    uint32_t *const finding = pt_alloc(stacks + 1, sizeof *finding);
    for (uint32_t s = 0; s < stacks; s++)
        finding[s] = g->of_stack[s] == PT_NONE ? PT_NONE : of_group[g->of_stack[s]];
    return finding;
}

/* Counts the processes of each finding; 1 if one process has nearly all of the finding's value. */
static void count_processes(pt_why *why, const reader *r, const grouping *g, const uint32_t *order)
{
    const pt_profile *const p = r->profile;
    if (!knows_processes(r)) return;
    PT_FREE uint32_t *finding_of_stack = find_findings_of_stacks(why, r, g, order);
    PT_AUTO(pt_index) seen;
    PT_VECTOR(process_sum) process = {0};
    pt_index_init(&seen);
    for (uint32_t i = 0; i < p->sample->t.count; i++) {
        const int64_t value = p->sample->value[r->event][i];
        const uint32_t finding = finding_of_stack[p->sample->stack[i]];
        if (value <= 0 || finding == PT_NONE) continue;
        const uint64_t pid = p->sample->pid != NULL && p->sample->pid[i] != PT_NONE
                                 ? p->sample->pid[i]
                                 : r->pid[p->sample->labels[i]];
        if (pid == NO_PID) continue;
        const uint64_t hash = pt_hash_mix(pid ^ LINE_SEED, finding ^ LINE_SEED);
        uint32_t id = PT_INDEX_FIND(
            &seen, hash, at, process.items[at].pid == pid && process.items[at].finding == finding);
        if (id == PT_NONE)
            id = PT_INDEX_PUSH(&seen, hash, process, (process_sum){.finding = finding, .pid = pid});
        process.items[id].value = pt_saturating_add(process.items[id].value, value);
    }
    for (size_t i = 0; i < process.count; i++)
        why->finding[process.items[i].finding].processes++;
    for (size_t i = 0; i < process.count; i++) {
        pt_why_finding *const f = &why->finding[process.items[i].finding];
        if ((double)process.items[i].value >= PLACE_SHARE * (double)f->value) f->processes = 1;
    }
    free(process.items);
}

static int by_value(const void *left, const void *right, void *context)
{
    const grouping *const g = context;
    const group *const a = &g->group.items[*(const uint32_t *)left];
    const group *const b = &g->group.items[*(const uint32_t *)right];
    return PT_DOWN(value) ?: PT_UP(kind) ?: PT_UP(id);
}

/* Is the finding larger than chance could make it? The lower end of its interval must be above half
 * the least share, and the group must be worth DRAWS_MIN equal samples. Returns true if the number
 * of samples is unknown. */
static bool is_beyond_chance(const pt_why *why, double share, double least)
{
    if (why->draws <= 0) return true;
    return share * why->draws >= DRAWS_MIN &&
           pt_binomial_interval(share, why->draws, Z95).low >= least / 2;
}

static void find_groups(pt_why *why, reader *r, const pt_why_request *request)
{
    grouping g;
    make_groups(&g, r);
    PT_FREE uint32_t *order = pt_alloc_numbers(g.group.count);
    qsort_r(order, g.group.count, sizeof *order, by_value, &g);
    why->finding = pt_alloc(request->limit + 1, sizeof *why->finding);
    why->rest = 1;
    for (size_t i = 0; i < g.group.count && why->count < request->limit; i++) {
        const double share = pt_share(g.group.items[order[i]].value, why->whole);
        if (share < request->least || !is_beyond_chance(why, share, request->least)) break;
        why->finding[why->count++] = describe_group(r, &g, order[i], why);
        why->rest -= share;
    }
    if (why->rest < 0) why->rest = 0;
    count_processes(why, r, &g, order);
    PT_FREE_ALL(g.group.items, g.of_stack);
    pt_index_done(&g.index);
}

/* ---- One function ---- */

/* A path to the function: own rows, with the function's at the end. */
typedef struct {
    row_path path;
    int64_t value;
} way;

typedef struct {
    way *items;
    size_t count, cap;
    pt_index index;
} ways;

static void add_way(ways *w, const row_path *path, int64_t value)
{
    const uint64_t hash = pt_hash_bytes(path->row, path->count * sizeof path->row[0]);
    uint32_t id = PT_INDEX_FIND(
        &w->index, hash, at,
        w->items[at].path.count == path->count && w->items[at].path.is_cut == path->is_cut &&
            memcmp(w->items[at].path.row, path->row, path->count * sizeof path->row[0]) == 0);
    if (id == PT_NONE) id = PT_INDEX_PUSH(&w->index, hash, *w, (way){.path = *path});
    w->items[id].value = pt_saturating_add(w->items[id].value, value);
}

PT_ORDER(by_way, way, PT_DOWN(value) ?: memcmp(a->path.row, b->path.row, sizeof a->path.row));

static void keep_ways(pt_why *why, const reader *r, ways *w, size_t limit)
{
    if (w->count > 0) qsort(w->items, w->count, sizeof *w->items, by_way);
    why->path_count = w->count < limit ? w->count : limit;
    why->more_paths = w->count - why->path_count;
    why->path = pt_alloc(why->path_count + 1, sizeof *why->path);
    for (size_t i = 0; i < why->path_count; i++) {
        why->path[i] = name_path(r, &w->items[i].path);
        why->path[i].value = w->items[i].value;
        why->path[i].share = pt_share(w->items[i].value, why->whole);
    }
    free(w->items);
    pt_index_done(&w->index);
}

/* Sets the values of stacks without the function to 0. The whole becomes the sum of the remaining
 * values. */
static pt_status keep_stacks_of_function(pt_why *why, reader *r, const pt_why_request *request,
                                         pt_error *reterr)
{
    PT_FREE bool *rows = NULL;
    const pt_status status =
        pt_fold_choose(&r->fold, request->name, request->pattern, &rows, reterr);
    if (status != PT_OK) return status;
    ways w = {0};
    PT_FREE int64_t *total = pt_alloc(r->fold.count + 1, sizeof *total);
    pt_index_init(&w.index);
    why->whole = 0;
    for (uint32_t s = 0; s < r->profile->stack->t.count; s++) {
        if (r->value[s] <= 0 || rows == NULL) {
            r->value[s] = 0;
            continue;
        }
        read_stack(r, s);
        size_t target = r->steps.count;
        for (size_t i = 0; i < r->steps.count; i++)
            if (rows[r->steps.items[i].row]) target = i;
        if (target == r->steps.count) {
            r->value[s] = 0;
            continue;
        }
        why->whole = pt_saturating_add(why->whole, r->value[s]);
        pt_saturating_into(&total[r->steps.items[target].row], r->value[s]);
        if (rows[r->steps.items[0].row]) why->self = pt_saturating_add(why->self, r->value[s]);
        row_path path = own_rows(r, target + 1, PT_WHY_PATH_MAX - 1);
        add_row(&path, r->steps.items[target].row);
        add_way(&w, &path, r->value[s]);
    }
    why->function = row_text(r, heaviest_row(total, r->fold.count));
    for (uint32_t i = 0; i < r->fold.count; i++)
        why->functions += total[i] > 0;
    keep_ways(why, r, &w, request->paths);
    return why->function != NULL ? PT_OK
                                 : pt_error_set(reterr, PT_ERR_NOTFOUND, "no function matches '%s'",
                                                request->name != NULL ? request->name : "");
}

/* ---- The whole ---- */

/* Does the event hold each wait with its length? Then its values are measured, not sampled, and
 * have no error of chance. */
static bool is_measured(const pt_profile *p, uint32_t event)
{
    const char *const type = pt_text(p, p->event->row[event].type);
    return strcmp(type, "off-cpu") == 0 || strcmp(type, "ready") == 0;
}

static void note_busy_thread(pt_why *why, const pt_profile *p, uint32_t event)
{
    if (p->sample->tid == NULL) return;
    struct {
        uint32_t tid;
        int64_t value;
    } *thread = NULL, *most = NULL;
    size_t count = 0, cap = 0;
    PT_AUTO(pt_index) index;
    int64_t all = 0;
    pt_index_init(&index);
    for (uint32_t i = 0; i < p->sample->t.count; i++) {
        const uint32_t tid = p->sample->tid[i];
        const int64_t value = p->sample->value[event][i];
        if (tid == PT_NONE || value <= 0) continue;
        const uint64_t hash = pt_hash_u32_pair(tid, 0);
        uint32_t id = PT_INDEX_FIND(&index, hash, at, thread[at].tid == tid);
        if (id == PT_NONE) {
            id = (uint32_t)count;
            thread = pt_grow(thread, &cap, ++count, sizeof *thread);
            thread[id].tid = tid;
            thread[id].value = 0;
            pt_index_add(&index, hash, id);
        }
        thread[id].value = pt_saturating_add(thread[id].value, value);
        all = pt_saturating_add(all, value);
    }
    for (size_t i = 0; i < count; i++)
        if (most == NULL || thread[i].value > most->value) most = &thread[i];
    why->thread_count = (uint32_t)count;
    if (count >= BUSY_THREADS_MIN && pt_share(most->value, all) >= BUSY_SHARE)
        why->busy_thread_share = pt_share(most->value, all);
    free(thread);
}

/* The number of samples of equal weight that carry as much information as the event's values; 0 =
 * unknown. */
static double equal_draws(const pt_profile *p, uint32_t event)
{
    PT_FREE double *squares = pt_alloc_table(p->sample->t.count + 1, sizeof *squares);
    pt_draws draws;
    if (!pt_draws_of(p, event, squares, NULL, &draws) || draws.squares <= 0) return 0;
    return draws.value * draws.value / draws.squares;
}

/* The process of each label set, from a column of the samples or from a label. The caller frees the
 * array. */
static uint64_t *pids_of_label_sets(const pt_profile *p)
{
    const pt_label_sets *const sets = p->labels;
    uint64_t *const pid = pt_alloc(sets->t.count + 1, sizeof *pid);
    for (uint32_t set = 0; set < sets->t.count; set++) {
        pid[set] = NO_PID;
        for (uint64_t l = sets->offset[set]; l < sets->offset[set + 1]; l++)
            if (sets->row[l].kind == PT_LABEL_NUMBER &&
                strcmp(pt_text(p, sets->row[l].key), "pid") == 0)
                pid[set] = (uint64_t)sets->row[l].num;
    }
    return pid;
}

static pt_status reader_init(reader *r, const pt_profile *p, uint32_t event, bool of_one,
                             pt_error *reterr)
{
    /* By default code without function names has one row for each mapped file. If the user asked
     * about one function (of_one), each unnamed function has a row, since it may be that one. */
    const pt_fold_rule rule = {.by = PT_BY_FUNCTION,
                               .unnamed = of_one ? PT_UNNAMED_FUNCTION : PT_UNNAMED_OBJECT};
    *r = (reader){.profile = p, .event = event};
    const pt_status status = pt_fold_init(&r->fold, p, &rule, reterr);
    if (status != PT_OK) return status;
    r->own_line = pt_own_lines(p, false);
    r->own_nameless = pt_own_nameless(p);
    r->runtime_mapping = pt_alloc(p->mapping->t.count + 1, sizeof *r->runtime_mapping);
    for (uint32_t m = 0; m < p->mapping->t.count; m++)
        r->runtime_mapping[m] = pt_is_runtime_file(pt_text(p, p->mapping->row[m].file)) ||
                                (pt_is_made_code(p, m) && !r->own_nameless[m]);
    for (size_t i = 0; i < PT_WHY_ORIGINS; i++) {
        r->cause[i] = pt_alloc(p->function->t.count + 1, 1);
        memset(r->cause[i], UNKNOWN, p->function->t.count);
    }
    r->has_causes = p->event->row[event].kind != PT_EVENT_BYTES;
    const uint32_t stacks = p->stack->t.count;
    r->value = pt_alloc((size_t)stacks + 1, sizeof *r->value);
    memcpy(r->value, pt_profile_stack_values(p, event), stacks * sizeof *r->value);
    r->pid = pids_of_label_sets(p);
    r->step_of = pt_alloc(p->location->t.count + 1, sizeof *r->step_of);
    return PT_OK;
}

pt_status pt_why_init(pt_why *ret_why, const pt_profile *profile, const pt_why_request *request,
                      pt_error *reterr)
{
    reader r;
    pt_status status = reader_init(&r, profile, request->event, request->name != NULL, reterr);
    if (status != PT_OK) return status;
    pt_why why = {
        .whole = request->whole,
        .draws = is_measured(profile, request->event) ? 0 : equal_draws(profile, request->event)};
    if (request->name != NULL) status = keep_stacks_of_function(&why, &r, request, reterr);
    if (status == PT_OK) {
        if (request->name != NULL) why.draws *= pt_share(why.whole, request->whole);
        find_groups(&why, &r, request);
        if (request->name == NULL && profile->event->row[request->event].kind == PT_EVENT_TIME &&
            !is_measured(profile, request->event))
            note_busy_thread(&why, profile, request->event);
        *ret_why = why;
    } else {
        pt_why_done(&why);
    }
    pt_fold_done(&r.fold);
    PT_FREE_ALL(r.own_line, r.own_nameless, r.runtime_mapping);
    for (size_t i = 0; i < PT_WHY_ORIGINS; i++)
        free(r.cause[i]);
    PT_FREE_ALL(r.value, r.pid, r.step_of, r.steps.items);
    return status;
}

static void path_done(pt_why_path *path)
{
    for (size_t i = 0; i < path->count; i++)
        free(path->name[i]);
}

static void finding_done(pt_why_finding *f)
{
    PT_FREE_ALL(f->place.name, f->via, f->symptom);
    for (size_t i = 0; i < f->source_count; i++)
        free(f->source[i].name);
    path_done(&f->path);
}

void pt_why_done(pt_why *why)
{
    for (size_t i = 0; i < why->count; i++)
        finding_done(&why->finding[i]);
    for (size_t i = 0; i < why->path_count; i++)
        path_done(&why->path[i]);
    PT_FREE_ALL(why->finding, why->path, why->function);
}
