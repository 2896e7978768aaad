/* layout_route.c: makes arrows smooth curves. An arrow's curve gives x as a function of y. It
 * consists of cubic pieces between the arrow's bends; the x of a piece stays between the x of the
 * piece's two ends (F. Fritsch, R. Carlson, "Monotone Piecewise Cubic Interpolation", 1980). */
#include <math.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/grow.h"
#include "picture/layout_int.h"

#define ARROW_LENGTH 8.0
#define PORT_GAP     11.0

typedef PT_VECTOR(pt_point) points;

static void add_point(points *list, double x, double y)
{
    if (list->count > 0 && y - list->items[list->count - 1].y < 0.5) return;
    PT_PUSH(*list, (pt_point){x, y});
}

/* ---- Where arrows leave and reach a box ---- */

typedef struct {
    uint32_t edge; /* of the part */
    double wanted; /* x of the arrow at the box */
} port;

PT_ORDER(by_x, port, PT_UP(wanted) ?: PT_UP(edge));

/* The largest horizontal distance between a node's centre and the ends of its arrows: for a box a
 * little less than half of its width, for a bend 0. */
static double half_width(const pt_part *p, const pt_layer_node *node)
{
    return node->box != PT_NONE ? 0.42 * p->drawing->node[node->box].width : 0;
}

/* The x at which an arrow between a box and the node `beside` of the next rank should leave the
 * box. The arrow is vertical if there is an x that is possible at both ends. */
static double wanted_x(const pt_part *p, const pt_layer_node *box, const pt_layer_node *beside)
{
    const double mine = half_width(p, box), its = half_width(p, beside);
    const double low = fmax(box->x - mine, beside->x - its);
    const double high = fmin(box->x + mine, beside->x + its);
    if (low <= high) return fmin(fmax((box->x + beside->x) / 2, low), high);
    return beside->x < box->x ? box->x - mine : box->x + mine;
}

/* Moves sorted ports apart within [low, high]: the gap between two ports becomes at least PORT_GAP,
 * or an equal share of the range if that is less. */
static void spread_ports(port *list, size_t count, double low, double high)
{
    const double gap = count > 1 ? fmin(PORT_GAP, (high - low) / (double)(count - 1)) : 0;
    for (size_t k = 0; k < count; k++) {
        const double least = k > 0 ? list[k - 1].wanted + gap : low;
        list[k].wanted = fmax(list[k].wanted, least);
    }
    for (size_t k = count; k-- > 0;) {
        const double most = k + 1 < count ? list[k + 1].wanted - gap : high;
        list[k].wanted = fmin(list[k].wanted, most);
    }
}

/* The x of each arrow's ends: [2 * edge] at the upper box, [2 * edge + 1] at the lower box. The
 * caller frees the array. */
static double *ports_of(const pt_part *p)
{
    double *at = pt_alloc(2 * p->edge_count + 1, sizeof *at);
    PT_FREE port *list = pt_alloc(p->edge_count + 1, sizeof *list);
    for (size_t side = 0; side < 2; side++) {
        PT_FREE uint32_t *head = pt_alloc(p->box_count + 1, sizeof *head); /* edges by box */
        PT_FREE uint32_t *next = pt_alloc(p->edge_count + 1, sizeof *next);
        for (uint32_t i = 0; i < p->edge_count; i++) {
            const uint32_t box = side == 0 ? p->edge[i].from : p->edge[i].to;
            next[i] = head[box];
            head[box] = i + 1;
        }
        for (uint32_t box = 0; box < p->box_count; box++) {
            const pt_layer_node *node = &p->node[box];
            size_t count = 0;
            for (uint32_t i = head[box]; i != 0; i = next[i - 1]) {
                const pt_part_edge *e = &p->edge[i - 1];
                const uint32_t beside = e->bend_count == 0 ? (side == 0 ? e->to : e->from)
                                        : side == 0        ? e->bend_first
                                                           : e->bend_first + e->bend_count - 1;
                list[count++] =
                    (port){.edge = i - 1, .wanted = wanted_x(p, node, &p->node[beside])};
            }
            qsort(list, count, sizeof *list, by_x);
            spread_ports(list, count, node->x - half_width(p, node), node->x + half_width(p, node));
            for (size_t k = 0; k < count; k++)
                at[2 * (size_t)list[k].edge + side] = list[k].wanted;
        }
    }
    return at;
}

/* ---- Curves ---- */

/* Finds the slopes dx/dy at the points. */
static void find_slopes(const points *list, double *slope)
{
    const size_t last = list->count - 1;
    PT_FREE double *secant = pt_alloc(list->count, sizeof *secant);
    for (size_t i = 0; i < last; i++)
        secant[i] =
            (list->items[i + 1].x - list->items[i].x) / (list->items[i + 1].y - list->items[i].y);
    slope[0] = 0.8 * secant[0];
    slope[last] = 0.8 * secant[last - 1];
    for (size_t i = 1; i < last; i++) {
        const double before = secant[i - 1], after = secant[i];
        slope[i] = before * after <= 0 ? 0 : 2 * before * after / (before + after);
    }
}

static void put_curve(pt_drawing_edge *edge, const points *list, const double *slope, bool up)
{
    edge->curve = pt_alloc(3 * list->count, sizeof *edge->curve);
    edge->curve_count = 0;
    for (size_t k = 0; k + 1 < list->count; k++) {
        const size_t i = up ? list->count - 1 - k : k, j = up ? i - 1 : i + 1;
        const pt_point a = list->items[i], b = list->items[j];
        const double third = (b.y - a.y) / 3;
        if (k == 0) edge->curve[edge->curve_count++] = a;
        edge->curve[edge->curve_count++] = (pt_point){a.x + slope[i] * third, a.y + third};
        edge->curve[edge->curve_count++] = (pt_point){b.x - slope[j] * third, b.y - third};
        edge->curve[edge->curve_count++] = b;
    }
}

/* Moves the last point of the arrow's line back from the tip, so that the line ends inside the
 * arrowhead. up: the arrow points upwards, and its tip is the first point. Returns the old last
 * point, which is the tip. */
static pt_point cut_tip(points *list, bool up)
{
    const size_t last = list->count - 1;
    pt_point *tip = &list->items[up ? 0 : last];
    const pt_point *before = &list->items[up ? 1 : last - 1];
    const pt_point at = *tip;
    const double dx = at.x - before->x, dy = at.y - before->y;
    const double length = sqrt(dx * dx + dy * dy);
    const double cut = fmin(ARROW_LENGTH, length * 0.6);
    tip->x -= dx / length * cut;
    tip->y -= dy / length * cut;
    return at;
}

static void route_edge(pt_part *p, const pt_part_edge *e, double leaves, double ends, points *list)
{
    const pt_layer_node *from = &p->node[e->from], *to = &p->node[e->to];
    pt_drawing_edge *edge = &p->drawing->edge[e->edge];
    list->count = 0;
    add_point(list, leaves, p->rank_y[from->rank] + from->height / 2);
    for (uint32_t i = e->bend_first; i < e->bend_first + e->bend_count; i++) {
        const pt_layer_node *bend = &p->node[i];
        const double y = p->rank_y[bend->rank], half = p->rank_height[bend->rank] / 2;
        add_point(list, bend->x, y - half);
        add_point(list, bend->x, y + half);
        if (bend->has_label) edge->label_at = (pt_point){bend->x + 4 + edge->label.width / 2, y};
    }
    const double end_y = p->rank_y[to->rank] - to->height / 2;
    if (end_y - list->items[list->count - 1].y < 1 && list->count > 1) list->count--;
    add_point(list, ends, end_y);
    if (list->count < 2) return;
    edge->tip = cut_tip(list, e->turned);
    PT_FREE double *slope = pt_alloc(list->count, sizeof *slope);
    find_slopes(list, slope);
    put_curve(edge, list, slope, e->turned);
}

void pt_layout_route(pt_part *part)
{
    points list = {0};
    PT_FREE double *port_x = ports_of(part);
    for (size_t i = 0; i < part->edge_count; i++)
        route_edge(part, &part->edge[i], port_x[2 * i], port_x[2 * i + 1], &list);
    free(list.items);
}
