/* layout_rank.c: reverses arrows that close a cycle, gives each box its rank, and adds the
 * bends. */
#include <math.h>

#include "base/grow.h"
#include "picture/layout_int.h"

/* ---- An order in which few arrows point back ---- */

/* The heuristic of Eades, Lin and Smyth for feedback arcs, with weights: boxes are taken out one by
 * one. A sink goes to the end of the order, a source to its front; if there is neither, the box
 * with the largest difference "weight of its outgoing arrows minus weight of its incoming arrows"
 * goes to the front. */
typedef struct {
    double *in, *out; /* by box: the weight of its arrows from (in) and to (out) boxes that are not
                       * taken out yet */
    bool *gone;       /* by box: it was taken out */
    uint32_t *first, *arc; /* edges from and to box n: arc[first[n]] to arc[first[n + 1] - 1] */
} peeling;

static void gather_arcs(const pt_part *p, peeling *s)
{
    s->first = pt_alloc(p->box_count + 2, sizeof *s->first);
    s->arc = pt_alloc(2 * p->edge_count + 1, sizeof *s->arc);
    for (size_t i = 0; i < p->edge_count; i++) {
        s->first[p->edge[i].from + 1]++;
        s->first[p->edge[i].to + 1]++;
    }
    for (size_t i = 0; i < p->box_count; i++)
        s->first[i + 1] += s->first[i];
    PT_FREE uint32_t *at = pt_alloc(p->box_count + 1, sizeof *at);
    for (size_t i = 0; i < p->box_count; i++)
        at[i] = s->first[i];
    for (uint32_t i = 0; i < p->edge_count; i++) {
        s->arc[at[p->edge[i].from]++] = i;
        s->arc[at[p->edge[i].to]++] = i;
    }
}

static double weight_of(const pt_part *p, const pt_part_edge *e)
{
    return p->drawing->edge[e->edge].weight;
}

static void take_node_out(const pt_part *p, peeling *s, uint32_t node)
{
    s->gone[node] = true;
    for (uint32_t i = s->first[node]; i < s->first[node + 1]; i++) {
        const pt_part_edge *e = &p->edge[s->arc[i]];
        if (e->from == node)
            s->in[e->to] -= weight_of(p, e);
        else
            s->out[e->from] -= weight_of(p, e);
    }
}

/* The node to take out next. *ret_back is true if it goes to the end of the order. */
static uint32_t next_node(const pt_part *p, const peeling *s, bool *ret_back)
{
    uint32_t best = PT_NONE;
    double most = -INFINITY;
    *ret_back = false;
    for (uint32_t i = 0; i < p->box_count; i++) {
        if (s->gone[i]) continue;
        if (s->out[i] < 1e-9) {
            *ret_back = true;
            return i;
        }
        const double gain = s->in[i] < 1e-9 ? INFINITY : s->out[i] - s->in[i];
        if (best == PT_NONE || gain > most) {
            most = gain;
            best = i;
        }
    }
    return best;
}

/* The position of each box in the order. The caller frees. */
static uint32_t *stream_order(const pt_part *p)
{
    peeling s = {.in = pt_alloc(p->box_count + 1, sizeof *s.in),
                 .out = pt_alloc(p->box_count + 1, sizeof *s.out),
                 .gone = pt_alloc(p->box_count + 1, sizeof *s.gone)};
    gather_arcs(p, &s);
    for (size_t i = 0; i < p->edge_count; i++) {
        s.out[p->edge[i].from] += weight_of(p, &p->edge[i]);
        s.in[p->edge[i].to] += weight_of(p, &p->edge[i]);
    }
    uint32_t *position = pt_alloc(p->box_count + 1, sizeof *position);
    uint32_t front = 0, back = (uint32_t)p->box_count;
    while (front < back) {
        bool at_end;
        const uint32_t node = next_node(p, &s, &at_end);
        position[node] = at_end ? --back : front++;
        take_node_out(p, &s, node);
    }
    PT_FREE_ALL(s.in, s.out, s.gone, s.first, s.arc);
    return position;
}

static void turn_edges(pt_part *p, const uint32_t *position)
{
    for (size_t i = 0; i < p->edge_count; i++) {
        pt_part_edge *e = &p->edge[i];
        if (position[e->from] < position[e->to]) continue;
        const uint32_t from = e->from;
        e->from = e->to;
        e->to = from;
        e->turned = true;
    }
}

/* ---- Ranks ---- */

static int32_t length_of(const pt_part *p, const pt_part_edge *e)
{
    return 2 * (int32_t)p->drawing->edge[e->edge].min_ranks;
}

/* Gives every box the least rank that lies far enough below its callers (min_ranks). by_position:
 * the boxes in an order in which callers come before callees, so that one pass suffices. */
static void rank_by_longest_path(pt_part *p, const uint32_t *by_position, const peeling *s)
{
    for (size_t k = 0; k < p->box_count; k++) {
        const uint32_t node = by_position[k];
        for (uint32_t i = s->first[node]; i < s->first[node + 1]; i++) {
            const pt_part_edge *e = &p->edge[s->arc[i]];
            const int32_t rank = p->node[node].rank + length_of(p, e);
            if (e->from == node && p->node[e->to].rank < rank) p->node[e->to].rank = rank;
        }
    }
}

/* Moves a box up or down as far as its arrows allow, if the weighted sum of their lengths becomes
 * less. Returns true if the box moved. */
static bool settle_box(pt_part *p, uint32_t node, const peeling *s)
{
    int32_t low = INT32_MIN, high = INT32_MAX;
    double pull_up = 0, pull_down = 0;
    for (uint32_t i = s->first[node]; i < s->first[node + 1]; i++) {
        const pt_part_edge *e = &p->edge[s->arc[i]];
        if (e->to == node) {
            const int32_t least = p->node[e->from].rank + length_of(p, e);
            if (least > low) low = least;
            pull_up += weight_of(p, e);
        } else {
            const int32_t most = p->node[e->to].rank - length_of(p, e);
            if (most < high) high = most;
            pull_down += weight_of(p, e);
        }
    }
    int32_t rank = p->node[node].rank;
    if (pull_down > pull_up && high != INT32_MAX)
        rank = high;
    else if (pull_up > pull_down && low != INT32_MIN)
        rank = low;
    if (rank == p->node[node].rank) return false;
    p->node[node].rank = rank;
    return true;
}

static void assign_ranks(pt_part *p, const uint32_t *position)
{
    peeling s = {0};
    gather_arcs(p, &s);
    PT_FREE uint32_t *by_position = pt_alloc(p->box_count + 1, sizeof *by_position);
    for (uint32_t i = 0; i < p->box_count; i++)
        by_position[position[i]] = i;
    rank_by_longest_path(p, by_position, &s);
    bool moved = true;
    for (int pass = 0; pass < 32 && moved; pass++) {
        moved = false;
        for (size_t k = 0; k < p->box_count; k++) {
            const size_t at = pass % 2 == 0 ? p->box_count - 1 - k : k;
            moved |= settle_box(p, by_position[at], &s);
        }
    }
    PT_FREE_ALL(s.first, s.arc);
    int32_t least = INT32_MAX, most = INT32_MIN;
    for (size_t i = 0; i < p->box_count; i++) {
        if (p->node[i].rank < least) least = p->node[i].rank;
        if (p->node[i].rank > most) most = p->node[i].rank;
    }
    for (size_t i = 0; i < p->box_count; i++)
        p->node[i].rank -= least;
    p->rank_count = p->box_count > 0 ? (size_t)(most - least) + 1 : 0;
}

/* ---- Bends and links ---- */

static void add_link(pt_part *p, uint32_t from, uint32_t to, double weight)
{
    /* Gansner's factors, which make long arrows straighter than short ones. */
    const bool bend_from = p->node[from].box == PT_NONE, bend_to = p->node[to].box == PT_NONE;
    const double straight = bend_from && bend_to ? 8 : bend_from || bend_to ? 2 : 1;
    p->link = pt_grow(p->link, &p->link_cap, p->link_count + 1, sizeof *p->link);
    p->link[p->link_count++] =
        (pt_layer_edge){.from = from, .to = to, .weight = straight * (1 + log2(1 + weight))};
}

/* The rank of an arrow's label: the odd rank at about the middle. */
static int32_t label_rank(int32_t from, int32_t to)
{
    const int32_t middle = (from + to) / 2;
    return middle % 2 != 0 ? middle : middle - 1;
}

static pt_status add_bends(pt_part *p, uint32_t index, pt_error *reterr)
{
    pt_part_edge *e = &p->edge[index];
    const pt_drawing_edge *edge = &p->drawing->edge[e->edge];
    const int32_t from = p->node[e->from].rank, to = p->node[e->to].rank;
    e->bend_first = (uint32_t)p->node_count;
    e->bend_count = (uint32_t)(to - from - 1);
    if (p->node_count + e->bend_count > PT_LAYER_NODES_MAX)
        return pt_error_set(reterr, PT_ERR_LIMIT,
                            "the graph is too large to be laid out; show fewer nodes");
    const int32_t labelled = edge->label.count > 0 ? label_rank(from, to) : INT32_MIN;
    uint32_t above = e->from;
    for (int32_t rank = from + 1; rank < to; rank++) {
        p->node = pt_grow(p->node, &p->node_cap, p->node_count + 1, sizeof *p->node);
        const uint32_t bend = (uint32_t)p->node_count++;
        const bool here = rank == labelled;
        p->node[bend] = (pt_layer_node){.box = PT_NONE,
                                        .edge = index,
                                        .has_label = here,
                                        .left = 3,
                                        .right = here ? edge->label.width + 8 : 3,
                                        .height = here ? edge->label.height + 2 : 0,
                                        .rank = rank};
        add_link(p, above, bend, edge->weight);
        above = bend;
    }
    add_link(p, above, e->to, edge->weight);
    return PT_OK;
}

static void index_links(pt_part *p)
{
    p->in_first = pt_alloc(p->node_count + 2, sizeof *p->in_first);
    p->out_first = pt_alloc(p->node_count + 2, sizeof *p->out_first);
    p->in = pt_alloc(p->link_count + 1, sizeof *p->in);
    p->out = pt_alloc(p->link_count + 1, sizeof *p->out);
    for (size_t i = 0; i < p->link_count; i++) {
        p->out_first[p->link[i].from + 1]++;
        p->in_first[p->link[i].to + 1]++;
    }
    for (size_t i = 0; i < p->node_count; i++) {
        p->out_first[i + 1] += p->out_first[i];
        p->in_first[i + 1] += p->in_first[i];
    }
    PT_FREE uint32_t *at = pt_alloc(2 * p->node_count + 1, sizeof *at);
    for (uint32_t i = 0; i < p->link_count; i++) {
        const uint32_t from = p->link[i].from, to = p->link[i].to;
        p->out[p->out_first[from] + at[2 * (size_t)from]++] = i;
        p->in[p->in_first[to] + at[2 * (size_t)to + 1]++] = i;
    }
}

pt_status pt_layout_ranks(pt_part *part, pt_error *reterr)
{
    PT_FREE uint32_t *position = stream_order(part);
    turn_edges(part, position);
    assign_ranks(part, position);
    for (uint32_t i = 0; i < part->edge_count; i++) {
        const pt_status status = add_bends(part, i, reterr);
        if (status != PT_OK) return status;
    }
    index_links(part);
    return PT_OK;
}
