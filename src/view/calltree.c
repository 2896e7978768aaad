/* calltree.c: sorts stacks into the tree from the root down, level by level.
 *
 * A group is a run of items (stacks) that share a path. A counting pass and a scattering pass,
 * without hashing, deal the group's items into one run for each distinct next name; each run is
 * then a group. A run that is too light is folded at once. A run of one stack becomes a chain
 * without further groups.
 *
 *     items   [ a a b a | c b ]      group of path p: next names of its stacks
 *     dealt   [ a a a | b b | c ]    groups of paths p;a  p;b  p;c
 *
 * Groups wait on an explicit stack with the heaviest child on top, so nodes are made in preorder.
 *
 * If only the widest nodes are wanted, the heaviest group is taken first, whatever its path, and
 * the nodes are put in preorder at the end. So no group is dealt if its children are not wanted.
 *
 * In order of time the items are samples, which keep their places: each child of a group is a run
 * of the group's items. */
#include "view/calltree.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/grow.h"
#include "model/sums.h"
#include "transform/filter.h"
#include "view/table.h"

/* An item: a stack of which the outer frames are in the tree already. In order of time an item is
 * the stack of one sample. */
typedef struct {
    int64_t value;
    int64_t base;    /* of a difference: the base's part of value; else the value of the requested
                      * part */
    uint64_t next;   /* place of the next frame among the frames of all stacks */
    uint32_t frames; /* frames left */
    uint32_t lines;  /* names of the next frame that are already placed, outermost first */
    uint32_t child;  /* while the item's group is dealt: the child that the item belongs to */
} item;

/* A child of the group that is being dealt. Later the child waits as a group itself. */
typedef struct {
    uint64_t weight; /* sum of magnitudes */
    int64_t total, base;
    uint64_t first, count; /* items */
    uint32_t parent;       /* node */
    uint32_t depth;
    uint32_t name, location;
    bool inlined;
    uint32_t folded;
    uint64_t start, width; /* in order of time: as in pt_calltree */
} group;

typedef PT_VECTOR(group) groups;

/* The order in which the widest nodes are taken. */
typedef struct {
    uint64_t weight;
    uint32_t depth;
    uint32_t group; /* the number of a waiting group */
} rank;

/* Children that do not get nodes of their own. */
typedef struct {
    int64_t total, base;
    uint32_t count;
} remnant;

typedef struct {
    const pt_fold *fold;
    const pt_calltree_request *request;
    pt_calltree *tree;
    size_t cap; /* of the tree's columns */
    item *item, *spare;
    /* In order of time, for each item: the sum of the values to the left of the item, and the
     * number of the item's piece. Items have the same piece if they are of one thread and no sample
     * of the thread between them was left out. */
    uint64_t *start;
    uint32_t *piece;
    uint32_t *child_of_name; /* PT_NONE between groups */
    groups waiting, children;
    uint32_t *place; /* per child: its rank after sorting */
    size_t place_cap;
    PT_VECTOR(rank) queue;   /* of the waiting groups, if the heaviest comes first: a heap */
    PT_VECTOR(remnant) left; /* with a queue: for each node, its children that have no node yet */
} planting;

static const pt_stacks *stacks_of(const planting *t)
{
    return t->fold->profile->stack;
}

static item item_of(const planting *t, uint32_t stack, int64_t value, int64_t base)
{
    const uint64_t *const offset = stacks_of(t)->offset + stack;
    return (item){.value = value,
                  .base = base,
                  .next = t->request->inverted ? offset[0] : offset[1] - 1,
                  .frames = (uint32_t)(offset[1] - offset[0])};
}

/* The next frame of a stack with frames left: from the root, or inverted from the leaf. */
static uint32_t next_location(const planting *t, const item *it)
{
    return stacks_of(t)->frame[it->next];
}

/* Takes the next name from an item that has frames left. */
static uint32_t take_name(const planting *t, item *it, uint32_t location, bool *ret_inlined)
{
    uint32_t one, count;
    const uint32_t *rows = pt_fold_rows(t->fold, location, &one, &count);
    const uint32_t line = t->request->inverted ? it->lines : count - 1 - it->lines;
    const uint32_t name = rows[line];
    *ret_inlined = line < count - 1;
    if (++it->lines == count) {
        it->lines = 0;
        it->frames--;
        it->next += t->request->inverted ? 1 : UINT64_MAX;
    }
    return name;
}

/* ---- Nodes ---- */

static bool has_base(const planting *t)
{
    return t->request->splits || t->request->part != NULL;
}

static void grow_nodes(planting *t)
{
    pt_calltree *tree = t->tree;
    if (tree->count < t->cap) return;
    t->cap = t->cap ? t->cap + t->cap / 2 : 256;
#define GROW(column) tree->column = pt_realloc(tree->column, t->cap, sizeof *tree->column)
    GROW(parent);
    GROW(end);
    GROW(depth);
    GROW(name);
    GROW(location);
    GROW(inlined);
    GROW(folded);
    GROW(self);
    GROW(total);
    if (has_base(t)) {
        GROW(self_base);
        GROW(total_base);
    }
    if (t->request->in_order) {
        GROW(start);
        GROW(width);
    }
#undef GROW
}

static uint32_t add_node(planting *t, const group *g)
{
    grow_nodes(t);
    pt_calltree *tree = t->tree;
    const uint32_t node = tree->count++;
    tree->parent[node] = g->parent;
    tree->end[node] = node + 1;
    tree->depth[node] = g->depth;
    tree->name[node] = g->name;
    tree->location[node] = g->location;
    tree->inlined[node] = g->inlined;
    tree->folded[node] = g->folded;
    tree->self[node] = 0;
    tree->total[node] = g->total;
    if (has_base(t)) {
        tree->self_base[node] = 0;
        tree->total_base[node] = g->base;
    }
    if (t->request->in_order) {
        tree->start[node] = g->start;
        tree->width[node] = g->width;
    }
    return node;
}

/* In preorder a node's subtree ends where the subtree of its last child ends. */
static void close_subtrees(pt_calltree *tree)
{
    for (uint32_t i = tree->count - 1; i > 0; i--) {
        const uint32_t parent = tree->parent[i];
        if (tree->end[parent] < tree->end[i]) tree->end[parent] = tree->end[i];
    }
}

/* ---- Dealing a group into its children ---- */

static uint32_t child_for(planting *t, const group *parent, uint32_t node, uint32_t name,
                          uint32_t location)
{
    uint32_t *slot = &t->child_of_name[name];
    if (*slot != PT_NONE) return *slot;
    *slot = (uint32_t)t->children.count;
    PT_PUSH(t->children, (group){.parent = node,
                                 .depth = parent->depth + 1,
                                 .name = name,
                                 .location = location,
                                 .inlined = true});
    return *slot;
}

static void weigh_item(group *child, const item *it, bool inlined)
{
    PT_BUG_IF(child == NULL);
    child->count++;
    child->total = pt_saturating_add(child->total, it->value);
    child->base = pt_saturating_add(child->base, it->base);
    child->weight = pt_saturating_count(child->weight, pt_magnitude(it->value));
    child->inlined &= inlined;
}

static void set_self(pt_calltree *tree, uint32_t node, int64_t self, int64_t base)
{
    tree->self[node] = self;
    if (tree->self_base != NULL) tree->self_base[node] = base;
}

/* Assigns each item of the group to a child. The values of stacks that end here are the self of the
 * node. */
static void count_children(planting *t, const group *g, uint32_t node)
{
    t->children.count = 0;
    int64_t self = 0, base = 0;
    for (uint64_t i = g->first; i < g->first + g->count; i++) {
        item *it = &t->item[i];
        if (it->frames == 0) {
            self = pt_saturating_add(self, it->value);
            base = pt_saturating_add(base, it->base);
            it->child = PT_NONE;
            continue;
        }
        bool inlined;
        const uint32_t location = next_location(t, it);
        const uint32_t name = take_name(t, it, location, &inlined);
        it->child = child_for(t, g, node, name, location);
        weigh_item(&t->children.items[it->child], it, inlined);
    }
    set_self(t->tree, node, self, base);
    for (size_t c = 0; c < t->children.count; c++)
        t->child_of_name[t->children.items[c].name] = PT_NONE;
}

static int compare_children(const void *left, const void *right, void *context)
{
    const planting *t = context;
    const group *a = &t->children.items[*(const uint32_t *)left];
    const group *b = &t->children.items[*(const uint32_t *)right];
    return PT_DOWN(weight) ?: pt_fold_compare(t->fold, a->name, b->name) ?: PT_UP(name);
}

static bool is_folded(const planting *t, const group *child)
{
    return child->weight < t->request->min_weight ||
           (t->request->max_depth != 0 && child->depth > t->request->max_depth);
}

/* Sorts the children that will be shown and lays out their runs. The other children are summed up
 * in *folded and get no run. Returns the number of shown children; their order is in t->place. */
static size_t lay_out_children(planting *t, uint64_t first, group *folded)
{
    size_t shown = 0;
    t->place = pt_grow(t->place, &t->place_cap, t->children.count, sizeof *t->place);
    for (size_t c = 0; c < t->children.count; c++) {
        group *child = &t->children.items[c];
        if (!is_folded(t, child)) {
            t->place[shown++] = (uint32_t)c;
            continue;
        }
        folded->folded++;
        folded->total = pt_saturating_add(folded->total, child->total);
        folded->base = pt_saturating_add(folded->base, child->base);
        folded->parent = child->parent;
        folded->depth = child->depth;
        child->first = UINT64_MAX;
    }
    if (shown > 1) qsort_r(t->place, shown, sizeof *t->place, compare_children, t);
    for (size_t i = 0; i < shown; i++) {
        group *child = &t->children.items[t->place[i]];
        child->first = first;
        first += child->count;
    }
    return shown;
}

static void scatter_items(planting *t, const group *g)
{
    memcpy(t->spare, t->item + g->first, g->count * sizeof *t->item);
    for (uint64_t i = 0; i < g->count; i++) {
        const item *it = &t->spare[i];
        if (it->child == PT_NONE) continue;
        group *child = &t->children.items[it->child];
        if (child->first != UINT64_MAX) t->item[child->first++] = *it;
    }
    for (size_t c = 0; c < t->children.count; c++) {
        group *child = &t->children.items[c];
        if (child->first != UINT64_MAX) child->first -= child->count;
    }
}

static void push_group(planting *t, const group *g)
{
    PT_PUSH(t->waiting, *g);
}

static void deal_groups(planting *t, const group *g, uint32_t node)
{
    count_children(t, g, node);
    group folded = {.name = PT_NONE, .location = PT_NONE};
    const size_t shown = lay_out_children(t, g->first, &folded);
    scatter_items(t, g);
    if (folded.folded > 0) push_group(t, &folded);
    for (size_t i = shown; i-- > 0;)
        push_group(t, &t->children.items[t->place[i]]);
}

/* ---- In order of time ---- */

/* Splits a group into runs of items with the same next name. An item whose stack ends at the node
 * ends the run before it, and belongs to no run. */
static void find_runs(planting *t, const group *g, uint32_t node)
{
    t->children.count = 0;
    int64_t self = 0;
    bool is_open = false;
    for (uint64_t i = g->first; i < g->first + g->count; i++) {
        item *const it = &t->item[i];
        if (it->frames == 0) {
            self = pt_saturating_add(self, it->value);
            is_open = false;
            continue;
        }
        bool inlined;
        const uint32_t location = next_location(t, it);
        const uint32_t name = take_name(t, it, location, &inlined);
        if (!is_open || t->piece[i] != t->piece[i - 1] ||
            t->children.items[t->children.count - 1].name != name)
            PT_PUSH(t->children, (group){.parent = node,
                                         .depth = g->depth + 1,
                                         .name = name,
                                         .location = location,
                                         .inlined = true,
                                         .first = i,
                                         .start = t->start[i]});
        is_open = true;
        group *const child = &t->children.items[t->children.count - 1];
        weigh_item(child, it, inlined);
        child->width = child->weight;
    }
    set_self(t->tree, node, self, 0);
}

/* Adds a child to `folded`, if the child is light and near enough. Else returns false. */
static bool join_folded(const planting *t, group *folded, const group *child)
{
    if (folded->folded == 0) return false;
    const uint64_t gap = child->start - (folded->start + folded->width);
    if (gap > t->request->min_weight) return false;
    folded->folded++;
    folded->total = pt_saturating_add(folded->total, child->total);
    folded->width += gap + child->width;
    return true;
}

/* Children that are too light become one folded child, together with light children next to
 * them. */
static void deal_runs(planting *t, const group *g, uint32_t node)
{
    find_runs(t, g, node);
    size_t kept = 0;
    for (size_t c = 0; c < t->children.count; c++) {
        group child = t->children.items[c];
        if (is_folded(t, &child)) {
            if (kept > 0 && join_folded(t, &t->children.items[kept - 1], &child)) continue;
            child.name = child.location = PT_NONE;
            child.inlined = false;
            child.folded = 1;
        }
        t->children.items[kept++] = child;
    }
    while (kept-- > 0)
        push_group(t, &t->children.items[kept]);
}

typedef struct {
    int64_t time;
    uint32_t pid, tid, sample;
} moment;

PT_ORDER(compare_moments, moment, PT_UP(pid) ?: PT_UP(tid) ?: PT_UP(time) ?: PT_UP(sample));

/* The samples with a value, by thread and time; samples without a time come first. The caller frees
 * the array. */
static moment *sort_samples(const planting *t, uint64_t *ret_count)
{
    const pt_profile *const p = t->fold->profile;
    const pt_samples *const s = p->sample;
    moment *const moments = pt_alloc(s->t.count, sizeof *moments);
    uint64_t count = 0;
    for (uint32_t i = 0; i < s->t.count; i++) {
        if (s->value[t->request->event][i] == 0) continue;
        moment *const m = &moments[count++];
        m->sample = i;
        pt_sample_thread(p, i, &m->pid, &m->tid);
        if (!pt_sample_time(p, i, &m->time)) m->time = INT64_MIN;
    }
    qsort(moments, count, sizeof *moments, compare_moments);
    *ret_count = count;
    return moments;
}

/* Fills the items with the samples of the requested part, and returns their number. */
static uint64_t put_samples_in_order(planting *t)
{
    const pt_samples *const s = t->fold->profile->sample;
    uint64_t all, count = 0, left = 0;
    uint32_t thread = 0;
    PT_FREE moment *moments = sort_samples(t, &all);
    const uint64_t end = t->request->part_end != 0 ? t->request->part_end : UINT64_MAX;
    for (uint64_t i = 0; i < all; i++) {
        const moment *const m = &moments[i];
        const int64_t value = s->value[t->request->event][m->sample];
        if (i > 0 && (m->pid != moments[i - 1].pid || m->tid != moments[i - 1].tid)) thread++;
        const uint64_t start = left;
        left = pt_saturating_count(left, pt_magnitude(value));
        if (start < t->request->part_start || left > end) continue;
        t->start[count] = start;
        t->piece[count] = thread;
        t->item[count++] = item_of(t, s->stack[m->sample], value, 0);
    }
    return count;
}

/* Writes the remaining frames of a single stack as a chain of nodes below `node`. */
static bool plant_chain(planting *t, const group *g, uint32_t node)
{
    item *it = &t->item[g->first];
    group link = *g;
    while (it->frames > 0) {
        if (t->tree->count == UINT32_MAX) return false;
        link.parent = node;
        link.depth++;
        link.location = next_location(t, it);
        link.name = take_name(t, it, link.location, &link.inlined);
        if (is_folded(t, &link)) {
            link.name = link.location = PT_NONE;
            link.inlined = false;
            link.folded = 1;
            add_node(t, &link);
            return true;
        }
        node = add_node(t, &link);
    }
    set_self(t->tree, node, it->value, it->base);
    return true;
}

static bool plant_tree(planting *t)
{
    while (t->waiting.count > 0) {
        const group g = t->waiting.items[--t->waiting.count];
        if (t->tree->count == UINT32_MAX) return false;
        const uint32_t node = add_node(t, &g);
        if (g.folded > 0) continue;
        if (g.count == 1) {
            if (!plant_chain(t, &g, node)) return false;
        } else if (t->request->in_order) {
            deal_runs(t, &g, node);
        } else {
            deal_groups(t, &g, node);
        }
    }
    return true;
}

/* ---- The widest nodes alone ---- */

/* Does a come before b? The heavier node comes first; of equal weights the node nearer to the root;
 * then the node that was added first, so that siblings keep their order. */
static bool is_before(rank a, rank b)
{
    if (a.weight != b.weight) return a.weight > b.weight;
    return a.depth != b.depth ? a.depth < b.depth : a.group < b.group;
}

static void queue_group(planting *t, const group *g)
{
    const rank r = {g->weight, g->depth, (uint32_t)t->waiting.count};
    push_group(t, g);
    PT_PUSH(t->queue, r);
    size_t at = t->queue.count - 1;
    for (; at > 0 && is_before(r, t->queue.items[(at - 1) / 2]); at = (at - 1) / 2)
        t->queue.items[at] = t->queue.items[(at - 1) / 2];
    t->queue.items[at] = r;
}

static rank take_first(planting *t)
{
    const rank first = t->queue.items[0], r = t->queue.items[--t->queue.count];
    size_t at = 0;
    for (size_t child; (child = 2 * at + 1) < t->queue.count; at = child) {
        if (child + 1 < t->queue.count &&
            is_before(t->queue.items[child + 1], t->queue.items[child]))
            child++;
        if (!is_before(t->queue.items[child], r)) break;
        t->queue.items[at] = t->queue.items[child];
    }
    t->queue.items[at] = r;
    return first;
}

static void leave_child(planting *t, uint32_t node, int64_t total, int64_t base, uint32_t count)
{
    remnant *const left = &t->left.items[node];
    left->count += count;
    left->total = pt_saturating_add(left->total, total);
    left->base = pt_saturating_add(left->base, base);
}

static void queue_children(planting *t, const group *g, uint32_t node)
{
    count_children(t, g, node);
    group folded = {.name = PT_NONE};
    const size_t shown = lay_out_children(t, g->first, &folded);
    scatter_items(t, g);
    leave_child(t, node, folded.total, folded.base, folded.folded);
    for (size_t i = 0; i < shown; i++)
        queue_group(t, &t->children.items[t->place[i]]);
}

/* Adds to each node the folded child that stands for its children without nodes. */
static void add_folded(planting *t)
{
    for (uint32_t node = 0; node < t->left.count; node++) {
        const remnant *const left = &t->left.items[node];
        if (left->count > 0)
            add_node(t, &(group){.name = PT_NONE,
                                 .location = PT_NONE,
                                 .parent = node,
                                 .depth = t->tree->depth[node] + 1,
                                 .total = left->total,
                                 .base = left->base,
                                 .folded = left->count});
    }
}

/* Moves column[i] to column[to[i]]. */
static void *permute_column(void *column, const uint32_t *to, uint32_t count, size_t size)
{
    if (column == NULL) return NULL;
    char *const moved = pt_alloc(count, size);
    for (uint32_t i = 0; i < count; i++)
        memcpy(moved + to[i] * size, (char *)column + i * size, size);
    free(column);
    return moved;
}

/* Puts nodes in preorder. Before the call each node comes after its parent, and siblings are in
 * order. */
static void order_nodes(pt_calltree *tree)
{
    const uint32_t count = tree->count;
    PT_FREE uint32_t *nodes = pt_alloc(count, sizeof *nodes); /* of the subtree */
    PT_FREE uint32_t *next = pt_alloc(count, sizeof *next);   /* the place of the next child */
    PT_FREE uint32_t *to = pt_alloc(count, sizeof *to);
    for (uint32_t i = count; i-- > 0;)
        nodes[tree->parent[i]] += ++nodes[i];
    for (uint32_t i = 0; i < count; i++) {
        if (i > 0) to[i] = next[tree->parent[i]];
        if (i > 0) next[tree->parent[i]] += nodes[i];
        next[i] = to[i] + 1;
    }
    for (uint32_t i = 0; i < count; i++)
        tree->parent[i] = to[tree->parent[i]];
#define PERMUTE(column) tree->column = permute_column(tree->column, to, count, sizeof *tree->column)
    PERMUTE(parent);
    PERMUTE(depth);
    PERMUTE(name);
    PERMUTE(location);
    PERMUTE(inlined);
    PERMUTE(folded);
    PERMUTE(self);
    PERMUTE(total);
    PERMUTE(self_base);
    PERMUTE(total_base);
#undef PERMUTE
    for (uint32_t i = 0; i < count; i++)
        tree->end[i] = i + 1;
}

/* Makes the widest nodes. Children as light and as deep as the last wanted node also become
 * nodes. */
static void plant_widest(planting *t)
{
    const uint32_t most = t->request->most_nodes;
    const group root = t->waiting.items[0];
    rank last = {root.weight, 0, 0};
    t->waiting.count = 0;
    queue_group(t, &root);
    while (t->queue.count > 0) {
        const rank r = t->queue.items[0];
        const bool is_enough = t->tree->count >= most;
        if (is_enough && (r.weight != last.weight || r.depth != last.depth)) break;
        last = take_first(t);
        const group g = t->waiting.items[r.group];
        const uint32_t node = add_node(t, &g);
        PT_PUSH(t->left, (remnant){0});
        queue_children(t, &g, node);
    }
    for (size_t i = 0; i < t->queue.count; i++) {
        const group *const g = &t->waiting.items[t->queue.items[i].group];
        leave_child(t, g->parent, g->total, g->base, 1);
    }
    add_folded(t);
    order_nodes(t->tree);
}

/* ---- The root ---- */

/* For a difference: for each stack, the sum of the magnitudes of all values, and of the negative
 * values alone. The caller frees both arrays. */
static void sum_sides(const planting *t, int64_t **ret_value, int64_t **ret_base)
{
    const pt_samples *samples = t->fold->profile->sample;
    const int64_t *of_sample = samples->value[t->request->event];
    const uint32_t stacks = stacks_of(t)->t.count;
    int64_t *const value = *ret_value = pt_alloc(stacks, sizeof *value);
    int64_t *const base = *ret_base = pt_alloc(stacks, sizeof *base);
    for (uint32_t i = 0; i < samples->t.count; i++) {
        const uint64_t magnitude = pt_magnitude(of_sample[i]);
        const int64_t width = magnitude > INT64_MAX ? INT64_MAX : (int64_t)magnitude;
        const uint32_t s = samples->stack[i];
        value[s] = pt_saturating_add(value[s], width);
        if (of_sample[i] < 0) base[s] = pt_saturating_add(base[s], width);
    }
}

/* The next name of the path at *at, which moves past it. The caller frees the name. */
static char *take_step(const char **at)
{
    pt_buf name = PT_BUF_INIT;
    for (; **at != '\0' && **at != ';'; (*at)++) {
        if (**at == '\\' && (*at)[1] != '\0') (*at)++;
        pt_put_u8(&name, (uint8_t) * *at);
    }
    if (**at == ';') (*at)++;
    return pt_buf_take(&name, NULL);
}

/* Adds the value of item i to the row's total, unless marked[row] shows that this value was added
 * before. */
static void count_row(planting *t, uint32_t *marked, uint32_t row, uint64_t i, int64_t value)
{
    if (row == PT_NONE || marked[row] == i + 1) return;
    marked[row] = (uint32_t)i + 1;
    pt_saturating_into(&t->tree->row_total[row], value);
}

/* Sums up row_self and row_total from the first `count` items. top: the row of the root's box,
 * which is the first frame of all these stacks; PT_NONE if the root is not a frame. */
static void count_rows(planting *t, uint64_t count, uint32_t top)
{
    const uint32_t rows = t->fold->count;
    PT_FREE uint32_t *marked = pt_alloc(rows, sizeof *marked); /* the row's last item, plus 1 */
    t->tree->row_self = pt_alloc(rows, sizeof *t->tree->row_self);
    t->tree->row_total = pt_alloc(rows, sizeof *t->tree->row_total);
    for (uint64_t i = 0; i < count; i++) {
        item it = t->item[i];
        const int64_t value = pt_saturating_add(pt_saturating_add(it.value, -it.base), -it.base);
        uint32_t last = top;
        count_row(t, marked, top, i, value);
        while (it.frames > 0) {
            bool inlined;
            last = take_name(t, &it, next_location(t, &it), &inlined);
            count_row(t, marked, last, i, value);
        }
        if (last != PT_NONE) pt_saturating_into(&t->tree->row_self[last], value);
    }
}

static uint32_t find_row(const pt_fold *fold, const char *name)
{
    for (uint32_t row = 0; row < fold->count; row++) {
        PT_FREE char *text = pt_fold_text(fold, row);
        if (strcmp(text, name) == 0) return row;
    }
    return PT_NONE;
}

/* Keeps those of the first `count` items that continue with the names of `path`, and moves these
 * items past the names. *ret_row is the row of the last name, or PT_NONE if the path has no names.
 * Returns the number of kept items. */
static uint64_t follow_path(planting *t, uint64_t count, const char *path, uint32_t *ret_row)
{
    *ret_row = PT_NONE;
    while (*path != '\0') {
        PT_FREE char *name = take_step(&path);
        const uint32_t row = *ret_row = find_row(t->fold, name);
        uint64_t kept = 0;
        for (uint64_t i = 0; i < count; i++) {
            item it = t->item[i];
            bool inlined;
            if (it.frames == 0 || take_name(t, &it, next_location(t, &it), &inlined) != row)
                continue;
            if (t->request->in_order) {
                t->start[kept] = t->start[i];
                t->piece[kept] = t->piece[i];
            }
            t->item[kept++] = it;
        }
        count = kept;
    }
    return count;
}

/* Fills the items with all stacks that have a value, and returns their number. */
static uint64_t put_stacks(planting *t)
{
    const pt_stacks *stacks = stacks_of(t);
    const pt_profile *const p = t->fold->profile;
    PT_FREE int64_t *of_both = NULL, *of_base = NULL;
    const int64_t *value, *base = NULL;
    if (t->request->part != NULL) base = pt_profile_stack_values(p, *t->request->part);
    if (base == NULL && t->request->splits) {
        sum_sides(t, &of_both, &of_base);
        value = of_both;
        base = of_base;
    } else {
        value = pt_profile_stack_values(p, t->request->event);
    }
    uint64_t count = 0;
    for (uint32_t s = 0; s < stacks->t.count; s++) {
        if (value[s] == 0) continue;
        t->item[count++] = item_of(t, s, value[s], base != NULL ? base[s] : 0);
    }
    return count;
}

/* Puts items next to each other between which the whole profile has other samples; such items stay
 * in different pieces. */
static void close_gaps(planting *t, uint64_t count)
{
    uint64_t left = count > 0 ? t->start[0] : 0, whole_end = left;
    uint32_t piece = 0, thread = count > 0 ? t->piece[0] : 0;
    for (uint64_t i = 0; i < count; i++) {
        if (t->start[i] != whole_end || t->piece[i] != thread) piece++;
        const uint64_t width = pt_magnitude(t->item[i].value);
        thread = t->piece[i];
        whole_end = t->start[i] + width;
        t->piece[i] = piece;
        t->start[i] = left;
        left += width;
    }
}

/* The root's group: all items, or those below the requested path. */
static group root_of(planting *t)
{
    uint64_t count = t->request->in_order ? put_samples_in_order(t) : put_stacks(t);
    uint32_t top = PT_NONE;
    if (t->request->under != NULL) count = follow_path(t, count, t->request->under, &top);
    if (t->request->counts_rows) count_rows(t, count, top);
    group root = {.name = PT_NONE, .location = PT_NONE};
    for (uint64_t i = 0; i < count; i++)
        weigh_item(&root, &t->item[i], false);
    if (t->request->in_order) close_gaps(t, count);
    root.start = t->request->in_order && count > 0 ? t->start[0] : 0;
    root.width = root.weight;
    return root;
}

pt_status pt_calltree_init(pt_calltree *ret_tree, const pt_fold *fold,
                           const pt_calltree_request *request, pt_error *reterr)
{
    pt_calltree tree = {0};
    planting t = {.fold = fold, .request = request, .tree = &tree};
    const uint32_t items =
        request->in_order ? fold->profile->sample->t.count : stacks_of(&t)->t.count;
    t.item = pt_alloc(items, sizeof *t.item);
    if (request->in_order) {
        t.start = pt_alloc(items, sizeof *t.start);
        t.piece = pt_alloc(items, sizeof *t.piece);
    } else {
        t.spare = pt_alloc(items, sizeof *t.spare);
    }
    t.child_of_name = pt_alloc(fold->count, sizeof *t.child_of_name);
    memset(t.child_of_name, 0xff, fold->count * sizeof *t.child_of_name);
    const group root = root_of(&t);
    const bool is_there = root.count > 0 || (request->under == NULL && request->part_end == 0);
    push_group(&t, &root);
    bool whole = true;
    if (request->most_nodes > 0 && !request->in_order)
        plant_widest(&t);
    else
        whole = plant_tree(&t);
    PT_FREE_ALL(t.item, t.spare, t.start, t.piece, t.child_of_name, t.waiting.items,
                t.children.items, t.place, t.queue.items, t.left.items);
    if (!is_there) {
        pt_calltree_done(&tree);
        if (request->under == NULL)
            return pt_error_set(reterr, PT_ERR_NOTFOUND, "no sample lies wholly in --part");
        return pt_error_set(reterr, PT_ERR_NOTFOUND, "no stack begins with '%s'", request->under);
    }
    if (!whole) {
        pt_calltree_done(&tree);
        return pt_error_set(reterr, PT_ERR_LIMIT,
                            "the call tree has more than 2^32 nodes; narrow it with --focus or "
                            "--min");
    }
    close_subtrees(&tree);
    *ret_tree = tree;
    return PT_OK;
}

void pt_calltree_done(pt_calltree *tree)
{
    PT_FREE_ALL(tree->parent, tree->end, tree->depth, tree->name, tree->location, tree->inlined,
                tree->folded, tree->self, tree->total, tree->self_base, tree->total_base,
                tree->start, tree->width, tree->row_self, tree->row_total);
    *tree = (pt_calltree){0};
}
