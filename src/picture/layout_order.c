/* layout_order.c: orders the nodes of each rank, by medians and by exchanging neighbours. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "picture/layout_int.h"

#define SWEEPS 28

/* ---- Crossings ---- */

/* The number of crossings of links between a rank and the next. In the list of links by their upper
 * ends, each pair whose lower ends are in the opposite order is a crossing. tree: memory for a
 * Fenwick tree, which counts these pairs. */
static uint64_t crossings_below(const pt_part *p, size_t rank, uint32_t *tree)
{
    const uint32_t *order = p->order + p->rank_first[rank];
    const size_t count = p->rank_first[rank + 1] - p->rank_first[rank];
    const size_t below = p->rank_first[rank + 2] - p->rank_first[rank + 1];
    memset(tree, 0, (below + 1) * sizeof *tree);
    uint64_t crossings = 0;
    uint32_t seen = 0;
    for (size_t i = 0; i < count; i++) {
        const uint32_t node = order[i];
        const uint32_t first = p->out_first[node], end = p->out_first[node + 1];
        for (uint32_t k = first; k < end; k++) {
            uint32_t left = 0;
            for (uint32_t at = p->node[p->link[p->out[k]].to].place + 1; at > 0; at &= at - 1)
                left += tree[at];
            crossings += seen - left;
        }
        for (uint32_t k = first; k < end; k++) {
            for (uint32_t at = p->node[p->link[p->out[k]].to].place + 1; at <= below;
                 at += at & (0 - at))
                tree[at]++;
            seen++;
        }
    }
    return crossings;
}

static uint64_t all_crossings(const pt_part *p, uint32_t *tree)
{
    uint64_t sum = 0;
    for (size_t rank = 0; rank + 1 < p->rank_count; rank++)
        sum += crossings_below(p, rank, tree);
    return sum;
}

/* ---- The first order ---- */

/* Orders the nodes of each rank as a depth-first walk from the top nodes reaches them, so that
 * connected nodes are near each other. */
static void first_order(pt_part *p)
{
    PT_FREE uint32_t *filled = pt_alloc(p->rank_count + 1, sizeof *filled);
    PT_FREE bool *seen = pt_alloc(p->node_count + 1, sizeof *seen);
    PT_FREE uint32_t *todo = pt_alloc(p->node_count + 2 * p->link_count + 1, sizeof *todo);
    for (size_t start = 0; start < p->node_count; start++) {
        size_t depth = 0;
        const bool is_root = p->in_first[start] == p->in_first[start + 1];
        if (seen[start] || (!is_root && start < p->box_count)) continue;
        todo[depth++] = (uint32_t)start;
        while (depth > 0) {
            const uint32_t node = todo[--depth];
            if (seen[node]) continue;
            seen[node] = true;
            const int32_t rank = p->node[node].rank;
            p->node[node].place = filled[rank];
            p->order[p->rank_first[rank] + filled[rank]++] = node;
            for (uint32_t k = p->out_first[node + 1]; k-- > p->out_first[node];)
                todo[depth++] = p->link[p->out[k]].to;
        }
    }
}

static void fill_ranks(pt_part *p)
{
    p->rank_first = pt_alloc(p->rank_count + 2, sizeof *p->rank_first);
    p->order = pt_alloc(p->node_count + 1, sizeof *p->order);
    for (size_t i = 0; i < p->node_count; i++)
        p->rank_first[p->node[i].rank + 1]++;
    for (size_t i = 0; i < p->rank_count; i++)
        p->rank_first[i + 1] += p->rank_first[i];
    first_order(p);
}

/* ---- Medians ---- */

typedef struct {
    double value; /* the median of the places of the node's neighbours */
    uint32_t node, place;
} wanted;

static int by_number(const void *a, const void *b)
{
    const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return x < y ? -1 : x > y;
}

/* Gansner's weighted median of the places of a node's neighbours in the rank above (upwards) or
 * below; -1 if it has no neighbours. places: scratch memory. */
static double median_of(const pt_part *p, uint32_t node, bool upwards, uint32_t *places)
{
    const uint32_t *first = upwards ? p->in_first : p->out_first;
    const uint32_t *links = upwards ? p->in : p->out;
    size_t count = 0;
    for (uint32_t k = first[node]; k < first[node + 1]; k++) {
        const pt_layer_edge *link = &p->link[links[k]];
        places[count++] = p->node[upwards ? link->from : link->to].place;
    }
    if (count == 0) return -1;
    qsort(places, count, sizeof *places, by_number);
    const size_t middle = count / 2;
    if (count % 2 == 1) return places[middle];
    if (count == 2) return (places[0] + places[1]) / 2.0;
    const double left = places[middle - 1] - places[0];
    const double right = places[count - 1] - places[middle];
    if (left + right == 0) return (places[middle - 1] + places[middle]) / 2.0;
    return (places[middle - 1] * right + places[middle] * left) / (left + right);
}

PT_ORDER(by_value, wanted, PT_UP(value) ?: PT_UP(place));

static void sort_rank(pt_part *p, size_t rank, bool upwards, wanted *room, uint32_t *places)
{
    uint32_t *order = p->order + p->rank_first[rank];
    const size_t count = p->rank_first[rank + 1] - p->rank_first[rank];
    size_t moving = 0;
    for (size_t i = 0; i < count; i++) {
        const double value = median_of(p, order[i], upwards, places);
        if (value >= 0) room[moving++] = (wanted){value, order[i], (uint32_t)i};
    }
    qsort(room, moving, sizeof *room, by_value);
    size_t next = 0;
    for (size_t i = 0; i < count; i++) {
        const uint32_t *first = upwards ? p->in_first : p->out_first;
        if (first[order[i]] != first[order[i] + 1]) order[i] = room[next++].node;
    }
    for (size_t i = 0; i < count; i++)
        p->node[order[i]].place = (uint32_t)i;
}

/* ---- Exchanges ---- */

/* Counts the crossings between the links of two adjacent nodes to the rank above (upwards) or
 * below. Adds the count for the present order to *ret_now, and for the exchanged order to
 * *ret_then. */
static void crossings_of_pair(const pt_part *p, uint32_t left, uint32_t right, bool upwards,
                              int64_t *ret_now, int64_t *ret_then)
{
    const uint32_t *first = upwards ? p->in_first : p->out_first;
    const uint32_t *links = upwards ? p->in : p->out;
    for (uint32_t a = first[left]; a < first[left + 1]; a++) {
        const pt_layer_edge *x = &p->link[links[a]];
        const uint32_t i = p->node[upwards ? x->from : x->to].place;
        for (uint32_t b = first[right]; b < first[right + 1]; b++) {
            const pt_layer_edge *y = &p->link[links[b]];
            const uint32_t j = p->node[upwards ? y->from : y->to].place;
            *ret_now += i > j;
            *ret_then += j > i;
        }
    }
}

/* Exchanges adjacent nodes of a rank where an exchange removes crossings, until none does, but in
 * at most 12 passes. */
static void exchange_neighbours(pt_part *p)
{
    bool better = true;
    for (int pass = 0; pass < 12 && better; pass++) {
        better = false;
        for (size_t rank = 0; rank < p->rank_count; rank++) {
            uint32_t *order = p->order + p->rank_first[rank];
            const size_t count = p->rank_first[rank + 1] - p->rank_first[rank];
            for (size_t i = 0; i + 1 < count; i++) {
                int64_t now = 0, then = 0;
                crossings_of_pair(p, order[i], order[i + 1], true, &now, &then);
                crossings_of_pair(p, order[i], order[i + 1], false, &now, &then);
                if (then >= now) continue;
                const uint32_t node = order[i];
                order[i] = order[i + 1];
                order[i + 1] = node;
                p->node[order[i]].place = (uint32_t)i;
                p->node[order[i + 1]].place = (uint32_t)i + 1;
                better = true;
            }
        }
    }
}

void pt_layout_order(pt_part *part)
{
    pt_part *p = part;
    fill_ranks(p);
    PT_FREE uint32_t *tree = pt_alloc(p->node_count + 2, sizeof *tree);
    PT_FREE uint32_t *places = pt_alloc(p->link_count + 1, sizeof *places);
    PT_FREE wanted *room = pt_alloc(p->node_count + 1, sizeof *room);
    PT_FREE uint32_t *best = pt_alloc(p->node_count + 1, sizeof *best);
    exchange_neighbours(p);
    uint64_t least = all_crossings(p, tree);
    memcpy(best, p->order, p->node_count * sizeof *best);
    const int sweeps = p->node_count > 20000 ? 4 : SWEEPS;
    for (int sweep = 0; sweep < sweeps && least > 0; sweep++) {
        const bool down = sweep % 2 == 0;
        for (size_t i = 1; i < p->rank_count; i++)
            sort_rank(p, down ? i : p->rank_count - 1 - i, down, room, places);
        exchange_neighbours(p);
        const uint64_t now = all_crossings(p, tree);
        if (now >= least) continue;
        least = now;
        memcpy(best, p->order, p->node_count * sizeof *best);
    }
    memcpy(p->order, best, p->node_count * sizeof *best);
    for (size_t rank = 0; rank < p->rank_count; rank++)
        for (uint32_t i = p->rank_first[rank]; i < p->rank_first[rank + 1]; i++)
            p->node[p->order[i]].place = i - p->rank_first[rank];
}
