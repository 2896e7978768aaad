/* layout_place.c: coordinates of nodes.
 *
 * The wish of a node is the weighted mean of the x coordinates of its neighbours in the ranks above
 * and below. A rank is settled in one pass: the nodes keep their order and the least distances
 * between each other, and the weighted sum of the squares of the nodes' distances from their wishes
 * becomes minimal. Nodes that would come too close form a pool, which moves as a whole. The ranks
 * are settled one after the other, in several rounds. A chain is a sequence of nodes in which the
 * heaviest link of each node leads to the next node and back. At the end chains are made straight,
 * as far as other nodes leave room.
 */
#include <math.h>
#include <stdlib.h>

#include "base/error.h"
#include "picture/layout_int.h"

#define GAP      13.0 /* least gap between two boxes; BEND_GAP: next to a bend */
#define BEND_GAP 7.0
#define ROUNDS   48

/* The least distance of the centres of two neighbours. */
static double least_distance(const pt_layer_node *left, const pt_layer_node *right)
{
    const bool boxes = left->box != PT_NONE && right->box != PT_NONE;
    return left->right + right->left + (boxes ? GAP : BEND_GAP);
}

/* Nodes of a rank that touch and move together. */
typedef struct {
    double sum, weight; /* weighted sum of the nodes' wishes less their offsets; sum of weights */
    size_t count;
} pool;

typedef struct {
    double *value, *weight, *offset;
    pool *pools;
} rank_arrays;

/* Places the nodes of a rank as near to r->value as order and distances allow. */
static void settle_rank(pt_part *p, size_t rank, rank_arrays *r)
{
    const uint32_t *order = p->order + p->rank_first[rank];
    const size_t count = p->rank_first[rank + 1] - p->rank_first[rank];
    size_t pools = 0;
    for (size_t i = 0; i < count; i++) {
        r->offset[i] =
            i > 0 ? r->offset[i - 1] + least_distance(&p->node[order[i - 1]], &p->node[order[i]])
                  : 0;
        pool now = {(r->value[i] - r->offset[i]) * r->weight[i], r->weight[i], 1};
        while (pools > 0 &&
               r->pools[pools - 1].sum / r->pools[pools - 1].weight > now.sum / now.weight) {
            const pool *before = &r->pools[--pools];
            now = (pool){now.sum + before->sum, now.weight + before->weight,
                         now.count + before->count};
        }
        r->pools[pools++] = now;
    }
    for (size_t k = 0, i = 0; k < pools; k++)
        for (size_t end = i + r->pools[k].count; i < end; i++)
            p->node[order[i]].x = r->pools[k].sum / r->pools[k].weight + r->offset[i];
}

static void add_wish(const pt_part *p, const uint32_t *links, uint32_t first, uint32_t end,
                     bool upwards, double *sum, double *weight)
{
    for (uint32_t k = first; k < end; k++) {
        const pt_layer_edge *link = &p->link[links[k]];
        *sum += link->weight * p->node[upwards ? link->from : link->to].x;
        *weight += link->weight;
    }
}

/* Computes the wishes of a rank's nodes (r->value, r->weight) from their neighbours in the rank
 * above, the rank below, or both. */
static void find_wishes(const pt_part *p, size_t rank, bool above, bool below, rank_arrays *r)
{
    for (uint32_t i = p->rank_first[rank]; i < p->rank_first[rank + 1]; i++) {
        const uint32_t node = p->order[i];
        const size_t at = i - p->rank_first[rank];
        double sum = 0, weight = 0;
        if (above)
            add_wish(p, p->in, p->in_first[node], p->in_first[node + 1], true, &sum, &weight);
        if (below)
            add_wish(p, p->out, p->out_first[node], p->out_first[node + 1], false, &sum, &weight);
        r->value[at] = weight > 0 ? sum / weight : p->node[node].x;
        r->weight[at] = weight > 0 ? weight : 0.05;
    }
}

static void place_nodes_across(pt_part *p)
{
    rank_arrays r = {.value = pt_alloc(p->node_count + 1, sizeof *r.value),
                     .weight = pt_alloc(p->node_count + 1, sizeof *r.weight),
                     .offset = pt_alloc(p->node_count + 1, sizeof *r.offset),
                     .pools = pt_alloc(p->node_count + 1, sizeof *r.pools)};
    for (size_t rank = 0; rank < p->rank_count; rank++) {
        double x = 0;
        for (uint32_t i = p->rank_first[rank]; i < p->rank_first[rank + 1]; i++) {
            if (i > p->rank_first[rank])
                x += least_distance(&p->node[p->order[i - 1]], &p->node[p->order[i]]);
            p->node[p->order[i]].x = x;
        }
    }
    for (int round = 0; round < ROUNDS; round++) {
        const bool both = round >= ROUNDS / 2, down = round % 2 == 0;
        for (size_t i = 0; i < p->rank_count; i++) {
            const size_t rank = down ? i : p->rank_count - 1 - i;
            find_wishes(p, rank, both || down, both || !down, &r);
            settle_rank(p, rank, &r);
        }
    }
    PT_FREE_ALL(r.value, r.weight, r.offset, r.pools);
}

/* ---- Straight chains ---- */

/* The heaviest of the links[first] to links[end - 1], which are the links of a node to one side;
 * PT_NONE if there are no links. */
static uint32_t heaviest_link(const pt_part *p, const uint32_t *links, uint32_t first, uint32_t end)
{
    uint32_t best = PT_NONE;
    for (uint32_t k = first; k < end; k++)
        if (best == PT_NONE || p->link[links[k]].weight > p->link[best].weight) best = links[k];
    return best;
}

typedef struct {
    uint32_t head;
    double weight;
} chain;

PT_ORDER(by_weight, chain, PT_DOWN(weight) ?: PT_UP(head));

/* Fills next[node], the node below `node` in its chain (PT_NONE = none), and the list of chains,
 * the heaviest first. Returns the number of chains. */
static size_t find_chains(const pt_part *p, uint32_t *next, chain *chains)
{
    PT_FREE bool *has_above = pt_alloc(p->node_count + 1, sizeof *has_above);
    for (uint32_t i = 0; i < p->node_count; i++) {
        const uint32_t link = heaviest_link(p, p->out, p->out_first[i], p->out_first[i + 1]);
        next[i] = PT_NONE;
        if (link == PT_NONE) continue;
        const uint32_t below = p->link[link].to;
        if (heaviest_link(p, p->in, p->in_first[below], p->in_first[below + 1]) != link) continue;
        next[i] = below;
        has_above[below] = true;
    }
    size_t count = 0;
    for (uint32_t i = 0; i < p->node_count; i++) {
        if (has_above[i] || next[i] == PT_NONE) continue;
        double weight = 0;
        for (uint32_t node = i; next[node] != PT_NONE; node = next[node]) {
            const uint32_t link =
                heaviest_link(p, p->out, p->out_first[node], p->out_first[node + 1]);
            weight += p->link[link].weight;
        }
        chains[count++] = (chain){i, weight};
    }
    qsort(chains, count, sizeof *chains, by_weight);
    return count;
}

/* The least and the largest x that a node may have while its neighbours stay where they are. */
static void find_free_room(const pt_part *p, uint32_t node, double *ret_low, double *ret_high)
{
    const pt_layer_node *n = &p->node[node];
    const uint32_t *order = p->order + p->rank_first[n->rank];
    const uint32_t count = p->rank_first[n->rank + 1] - p->rank_first[n->rank];
    *ret_low = -INFINITY;
    *ret_high = INFINITY;
    if (n->place > 0) {
        const pt_layer_node *left = &p->node[order[n->place - 1]];
        *ret_low = left->x + least_distance(left, n);
    }
    if (n->place + 1 < count) {
        const pt_layer_node *right = &p->node[order[n->place + 1]];
        *ret_high = right->x - least_distance(n, right);
    }
}

/* Splits a chain into vertical runs, each of which goes on as long as there is an x at which all
 * its nodes have room. */
static void straighten_chain(pt_part *p, const uint32_t *next, uint32_t head)
{
    while (head != PT_NONE) {
        double low = -INFINITY, high = INFINITY, sum = 0;
        size_t count = 0;
        uint32_t end = head;
        for (; end != PT_NONE; end = next[end], count++) {
            double node_low, node_high;
            find_free_room(p, end, &node_low, &node_high);
            node_low = fmin(node_low, p->node[end].x); /* node_low may exceed x by a rounding
                                                        * error */
            node_high = fmax(node_high, p->node[end].x);
            if (fmax(low, node_low) > fmin(high, node_high)) break;
            low = fmax(low, node_low);
            high = fmin(high, node_high);
            sum += p->node[end].x;
        }
        const double x = fmin(fmax(sum / (double)count, low), high);
        for (; head != end; head = next[head])
            p->node[head].x = x;
    }
}

static void straighten_links(pt_part *p)
{
    PT_FREE uint32_t *next = pt_alloc(p->node_count + 1, sizeof *next);
    PT_FREE chain *chains = pt_alloc(p->node_count + 1, sizeof *chains);
    const size_t count = find_chains(p, next, chains);
    for (int pass = 0; pass < 6; pass++)
        for (size_t i = 0; i < count; i++)
            straighten_chain(p, next, chains[i].head);
}

/* ---- Heights ---- */

/* For each rank, the largest horizontal distance that a link to the next rank covers. The caller
 * frees the array. */
static double *steps_below(const pt_part *p)
{
    double *step = pt_alloc(p->rank_count + 1, sizeof *step);
    for (size_t i = 0; i < p->link_count; i++) {
        const pt_layer_edge *link = &p->link[i];
        const double aside = fabs(p->node[link->from].x - p->node[link->to].x);
        double *most = &step[p->node[link->from].rank];
        if (aside > *most) *most = aside;
    }
    return step;
}

/* Gives each rank the height of its highest node, and room below the rank. The room grows with the
 * largest horizontal distance that a link covers there. */
static void place_ranks_down(pt_part *p)
{
    p->rank_y = pt_alloc(p->rank_count + 1, sizeof *p->rank_y);
    p->rank_height = pt_alloc(p->rank_count + 1, sizeof *p->rank_height);
    for (size_t i = 0; i < p->node_count; i++) {
        double *height = &p->rank_height[p->node[i].rank];
        if (p->node[i].height > *height) *height = p->node[i].height;
    }
    PT_FREE double *step = steps_below(p);
    double y = 0;
    for (size_t rank = 0; rank < p->rank_count; rank++) {
        p->rank_y[rank] = y + p->rank_height[rank] / 2;
        y += p->rank_height[rank] + fmin(fmax(7, step[rank] / 14), 40);
    }
}

void pt_layout_place(pt_part *part)
{
    place_nodes_across(part);
    straighten_links(part);
    place_ranks_down(part);
}
