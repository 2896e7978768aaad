/* cycles.c: functions that call each other in a circle, and an order in which callees come
 * before callers.
 *
 * A depth-first search over the arcs, each function's latest arc first. An arc to a function that
 * is still on the search's path closes a circle: the functions between both ends on the path become
 * one component with it (Gabow's path-based algorithm; its second stack, `begins`, holds the index
 * at which each component of the path begins). Members of a cycle are in the order in which they
 * were joined, as in gprof. The search's path is kept on the heap, since a file decides how deep it
 * is.
 */

#include "personality/gprof/gprof_int.h"

#define NOT_ON_PATH UINT32_MAX

typedef struct {
    pt_gprof *g;
    uint32_t count;   /* symbols */
    uint32_t *head;   /* per symbol: the member of its cycle that it was joined to; a tree whose
                       * roots are the first members */
    uint32_t *next;   /* the next member, or PT_NONE */
    uint32_t *last;   /* for a first member: the last member */
    uint32_t *path;   /* the symbols whose arcs are being followed, outermost first */
    uint32_t *arc;    /* for each symbol on the path: the number of arcs followed */
    uint32_t *place;  /* per symbol: its index in the path, or NOT_ON_PATH */
    uint32_t *begins; /* for each component on the path: the index of its first symbol */
    uint32_t depth, begin_count, numbered;
    bool *seen, *left; /* seen: the search has reached the symbol; left: the symbol has left the
                        * path and has its number */
} search;

static uint32_t head_of(search *s, uint32_t symbol)
{
    while (s->head[symbol] != symbol) {
        s->head[symbol] = s->head[s->head[symbol]];
        symbol = s->head[symbol];
    }
    return symbol;
}

static void enter_symbol(search *s, uint32_t symbol)
{
    s->seen[symbol] = true;
    s->place[symbol] = s->depth;
    s->path[s->depth] = symbol;
    s->arc[s->depth++] = 0;
    s->begins[s->begin_count++] = s->place[symbol];
}

/* Joins the last components of the path to one, beginning with the component that contains index
 * `place`. */
static void join_cycle(search *s, uint32_t place)
{
    uint32_t kept = s->begin_count;
    while (s->begins[kept - 1] > place)
        kept--;
    const uint32_t head = head_of(s, s->path[s->begins[kept - 1]]);
    for (uint32_t i = kept; i < s->begin_count; i++) {
        const uint32_t child = s->path[s->begins[i]];
        s->next[s->last[head]] = child;
        s->last[head] = s->last[child];
        s->head[child] = head;
    }
    s->begin_count = kept;
}

/* Takes a symbol whose arcs are all followed off the path. The members of a cycle get the number of
 * its first member. */
static void leave_symbol(search *s)
{
    const uint32_t symbol = s->path[--s->depth];
    s->place[symbol] = NOT_ON_PATH;
    if (s->head[symbol] != symbol) return;
    s->begin_count--;
    s->numbered++;
    for (uint32_t m = symbol; m != PT_NONE; m = s->next[m]) {
        s->g->symbol.items[m].order = s->numbered;
        s->left[m] = true;
    }
}

/* Follows an arc to a symbol that was seen and has no number yet. */
static void close_circle(search *s, uint32_t symbol)
{
    /* A member that has left the path is represented by its first member. */
    const uint32_t on_path = s->place[symbol] != NOT_ON_PATH ? symbol : head_of(s, symbol);
    if (s->place[on_path] != NOT_ON_PATH) join_cycle(s, s->place[on_path]);
}

static void search_from(search *s, uint32_t symbol)
{
    const pt_gprof *const g = s->g;
    enter_symbol(s, symbol);
    while (s->depth > 0) {
        const pt_gprof_symbol *const at = &g->symbol.items[s->path[s->depth - 1]];
        uint32_t *const followed = &s->arc[s->depth - 1];
        if (*followed == at->out_count) {
            leave_symbol(s);
            continue;
        }
        const uint32_t to = g->arc.items[g->out[at->first_out + (*followed)++]].to;
        if (!s->seen[to])
            enter_symbol(s, to);
        else if (!s->left[to])
            close_circle(s, to);
    }
}

/* ---- Cycles as symbols ---- */

static void count_calls(pt_gprof *g, pt_gprof_symbol *cycle, uint32_t number)
{
    for (uint32_t i = 0; i < cycle->member_count; i++) {
        const uint32_t member = g->member[cycle->first_member + i];
        const pt_gprof_symbol *const m = &g->symbol.items[member];
        for (uint32_t k = 0; k < m->in_count; k++) {
            const pt_gprof_arc *const arc = &g->arc.items[g->in[m->first_in + k]];
            if (arc->from == member) continue;
            if (g->symbol.items[arc->from].cycle == number)
                cycle->self_calls += arc->calls;
            else
                cycle->calls += arc->calls;
        }
    }
}

static void add_cycles(search *s)
{
    pt_gprof *const g = s->g;
    for (uint32_t i = 0; i < s->count; i++)
        g->cycle_count += s->head[i] == i && s->next[i] != PT_NONE;
    g->symbol.cap = s->count + (size_t)g->cycle_count + 1;
    g->symbol.items = pt_realloc(g->symbol.items, g->symbol.cap, sizeof *g->symbol.items);
    g->member = pt_alloc((size_t)s->count + 1, sizeof *g->member);
    uint32_t cycle = 0, member_count = 0;
    for (uint32_t i = 0; i < s->count; i++) {
        if (s->head[i] != i || s->next[i] == PT_NONE) continue;
        pt_gprof_symbol *const c = &g->symbol.items[s->count + cycle++];
        *c = (pt_gprof_symbol){
            .cycle = cycle, .file = PT_NONE, .is_shown = true, .first_member = member_count};
        for (uint32_t m = i; m != PT_NONE; m = s->next[m]) {
            g->symbol.items[m].cycle = cycle;
            g->member[member_count++] = m;
        }
        c->member_count = member_count - c->first_member;
        count_calls(g, c, cycle);
    }
}

void pt_gprof_find_cycles(pt_gprof *g)
{
    const uint32_t n = (uint32_t)g->symbol.count;
    const size_t room = (size_t)n + 1;
    PT_FREE uint32_t *memory = pt_alloc(7 * room, sizeof *memory);
    PT_FREE bool *seen = pt_alloc(2 * room, sizeof *seen);
    search s = {.g = g,
                .count = n,
                .head = memory,
                .next = memory + room,
                .last = memory + 2 * room,
                .path = memory + 3 * room,
                .arc = memory + 4 * room,
                .place = memory + 5 * room,
                .begins = memory + 6 * room,
                .seen = seen,
                .left = seen + room};
    for (uint32_t i = 0; i < n; i++) {
        s.head[i] = s.last[i] = i;
        s.next[i] = PT_NONE;
        s.place[i] = NOT_ON_PATH;
    }
    for (uint32_t i = 0; i < n; i++)
        if (!seen[i]) search_from(&s, i);
    add_cycles(&s);
}
