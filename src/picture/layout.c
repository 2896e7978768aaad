/* layout.c: splits a drawing into parts that no arrow connects, lays each part out, and places the
 * parts side by side. */
#include "picture/layout.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "picture/layout_int.h"

#define MARGIN    8.0
#define PART_GAP  24.0
#define LOOP_ROOM 26.0 /* room to the right of a box with an arrow to itself */

/* ---- Parts ---- */

static uint32_t root_of(uint32_t *parent, uint32_t node)
{
    while (parent[node] != node)
        node = parent[node] = parent[parent[node]];
    return node;
}

static bool is_loop(const pt_drawing_edge *edge)
{
    return edge->from == edge->to;
}

static void add_box(pt_part *p, uint32_t box, const double *loop_room)
{
    const pt_drawing_node *node = &p->drawing->node[box];
    p->node = pt_grow(p->node, &p->node_cap, p->node_count + 1, sizeof *p->node);
    p->node[p->node_count++] = (pt_layer_node){.box = box,
                                               .left = node->width / 2,
                                               .right = node->width / 2 + loop_room[box],
                                               .height = node->height};
    p->box_count = p->node_count;
}

static void part_done(pt_part *p)
{
    PT_FREE_ALL(p->node, p->edge, p->link, p->in_first, p->in, p->out_first, p->out, p->rank_first,
                p->order, p->rank_y, p->rank_height);
}

typedef struct {
    pt_part *items;
    size_t count;
    double *loop_room; /* by node */
    uint32_t *local;   /* by node: the node's number in its part */
} parts;

/* The connected parts, in the order of their first nodes. Nodes of the legend belong to no part. */
static parts split_parts(pt_drawing *d)
{
    parts all = {.loop_room = pt_alloc(d->node_count + 1, sizeof *all.loop_room),
                 .local = pt_alloc(d->node_count + 1, sizeof *all.local)};
    PT_FREE uint32_t *parent = pt_alloc_numbers(d->node_count);
    PT_FREE uint32_t *part_of = pt_alloc(d->node_count + 1, sizeof *part_of);
    for (size_t i = 0; i < d->edge_count; i++) {
        const pt_drawing_edge *e = &d->edge[i];
        if (is_loop(e))
            all.loop_room[e->from] = fmax(all.loop_room[e->from], LOOP_ROOM + e->label.width);
        parent[root_of(parent, e->from)] = root_of(parent, e->to);
    }
    memset(part_of, 0xff, (d->node_count + 1) * sizeof *part_of);
    all.items = pt_alloc(d->node_count + 1, sizeof *all.items);
    for (uint32_t i = 0; i < d->node_count; i++) {
        if (d->node[i].is_legend) continue;
        const uint32_t root = root_of(parent, i);
        if (part_of[root] == PT_NONE) {
            part_of[root] = (uint32_t)all.count;
            all.items[all.count++].drawing = d;
        }
        pt_part *p = &all.items[part_of[root]];
        all.local[i] = (uint32_t)p->node_count;
        add_box(p, i, all.loop_room);
    }
    for (uint32_t i = 0; i < d->edge_count; i++) {
        const pt_drawing_edge *e = &d->edge[i];
        if (is_loop(e) || d->node[e->from].is_legend) continue;
        pt_part *p = &all.items[part_of[root_of(parent, e->from)]];
        p->edge = pt_grow(p->edge, &p->edge_cap, p->edge_count + 1, sizeof *p->edge);
        p->edge[p->edge_count++] =
            (pt_part_edge){.edge = i, .from = all.local[e->from], .to = all.local[e->to]};
    }
    return all;
}

static void parts_done(parts *all)
{
    for (size_t i = 0; i < all->count; i++)
        part_done(&all->items[i]);
    PT_FREE_ALL(all->items, all->loop_room, all->local);
}

/* ---- Setting side by side ---- */

static void move_edge(pt_drawing_edge *e, double dx, double dy)
{
    for (size_t i = 0; i < e->curve_count; i++) {
        e->curve[i].x += dx;
        e->curve[i].y += dy;
    }
    e->tip.x += dx;
    e->tip.y += dy;
    e->label_at.x += dx;
    e->label_at.y += dy;
}

/* Copies a part's places to the drawing, moved so that the part's upper left corner is at (x, y).
 */
static void place_part(pt_part *p, double x, double y)
{
    for (size_t i = 0; i < p->box_count; i++) {
        pt_drawing_node *node = &p->drawing->node[p->node[i].box];
        node->x = p->node[i].x + x;
        node->y = p->rank_y[p->node[i].rank] + y;
    }
    for (size_t i = 0; i < p->edge_count; i++)
        move_edge(&p->drawing->edge[p->edge[i].edge], x, y);
}

/* Finds the size of a laid-out part, and moves its left edge to 0. */
static void measure_part(pt_part *p)
{
    double left = INFINITY, right = -INFINITY;
    for (size_t i = 0; i < p->node_count; i++) {
        left = fmin(left, p->node[i].x - p->node[i].left);
        right = fmax(right, p->node[i].x + p->node[i].right);
    }
    for (size_t i = 0; i < p->node_count; i++)
        p->node[i].x -= left;
    p->width = right - left;
    const size_t last = p->rank_count - 1;
    p->height = p->rank_y[last] + p->rank_height[last] / 2;
}

PT_ORDER(by_area, __typeof__(const pt_part *),
         PT_COMPARE((*b)->box_count, (*a)->box_count) ?: PT_COMPARE(*a, *b));

static double place_legend(pt_drawing *d)
{
    double y = MARGIN;
    for (size_t i = 0; i < d->node_count; i++) {
        pt_drawing_node *node = &d->node[i];
        if (!node->is_legend) continue;
        node->x = MARGIN + node->width / 2;
        node->y = y + node->height / 2;
        d->width = fmax(d->width, node->width + 2 * MARGIN);
        y += node->height + PART_GAP;
    }
    return y;
}

/* Places the parts in rows, the largest part first. A row is as wide as the widest part, or 1.4
 * times as wide as a square that has the area of all parts together, if that is wider. */
static void place_parts(parts *all, pt_drawing *d)
{
    PT_FREE pt_part **order = pt_alloc(all->count + 1, sizeof *order);
    double area = 0, widest = 0;
    for (size_t i = 0; i < all->count; i++) {
        order[i] = &all->items[i];
        area += (order[i]->width + PART_GAP) * (order[i]->height + PART_GAP);
        widest = fmax(widest, order[i]->width);
    }
    qsort(order, all->count, sizeof *order, by_area);
    const double limit = fmax(widest, 1.4 * sqrt(area)) + 2 * PART_GAP;
    double x = MARGIN, y = place_legend(d), row = 0;
    for (size_t i = 0; i < all->count; i++) {
        if (x > MARGIN && x + order[i]->width > limit) {
            x = MARGIN;
            y += row + PART_GAP;
            row = 0;
        }
        place_part(order[i], x, y);
        x += order[i]->width + PART_GAP;
        row = fmax(row, order[i]->height);
        d->width = fmax(d->width, x - PART_GAP + MARGIN);
    }
    d->height = y + row + MARGIN;
}

/* ---- Loops ---- */

static void route_loop(const pt_drawing *d, pt_drawing_edge *e)
{
    const pt_drawing_node *node = &d->node[e->from];
    const double right = node->x + node->width / 2, quarter = fmin(node->height / 4, 10);
    e->tip = (pt_point){right, node->y + quarter};
    e->curve = pt_alloc(4, sizeof *e->curve);
    e->curve_count = 4;
    e->curve[0] = (pt_point){right, node->y - quarter};
    e->curve[1] = (pt_point){right + 22, node->y - quarter - 4};
    e->curve[2] = (pt_point){right + 24, node->y + quarter + 4};
    e->curve[3] = (pt_point){right + 7.5, node->y + quarter + 1};
    e->label_at = (pt_point){right + 22 + e->label.width / 2, node->y};
}

pt_status pt_layout(pt_drawing *drawing, pt_error *reterr)
{
    parts all = split_parts(drawing);
    pt_status status = PT_OK;
    for (size_t i = 0; i < all.count && status == PT_OK; i++) {
        pt_part *p = &all.items[i];
        status = pt_layout_ranks(p, reterr);
        if (status != PT_OK) break;
        pt_layout_order(p);
        pt_layout_place(p);
        measure_part(p);
        pt_layout_route(p);
    }
    if (status == PT_OK) {
        place_parts(&all, drawing);
        for (size_t i = 0; i < drawing->edge_count; i++)
            if (is_loop(&drawing->edge[i])) route_loop(drawing, &drawing->edge[i]);
    }
    parts_done(&all);
    return status;
}
