/* flame.c: the call tree, limited to its visible part, with the facts that are needed to draw a
 * box.
 *
 *   call tree (calltree.h)  ->  nodes kept: wide enough, and at most a given number
 *   name + kind             ->  frames, each with its file, module, group and colour */
#include "view/flame.h"

#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/grow.h"
#include "base/hash.h"
#include "base/saturate.h"
#include "model/sums.h"
#include "transform/filter.h"
#include "view/calltree.h"
#include "view/fold.h"
#include "view/own_code.h"
#include "view/table.h"

typedef struct {
    const pt_profile *profile;
    const pt_fold *fold;
    const pt_calltree *tree;
    pt_flame *flame;
    pt_index strings, groups;
    size_t string_cap, group_cap, frame_cap;
    uint32_t *frame_of_row; /* [row * KINDS + kind]: the frame's number plus 1; 0 = none yet */
    uint8_t *naming;        /* per row: NAMING_UNKNOWN, NAMED or UNNAMED */
    PT_VECTOR(pt_flame_narrow) narrow;
} building;

enum { KINDS = PT_FLAME_UNRESOLVED + 1 };
enum { NAMING_UNKNOWN, NAMED, UNNAMED }; /* does the row have a name? */

static uint32_t add_string(building *b, const char *text, size_t bytes)
{
    pt_flame *f = b->flame;
    const uint64_t hash = pt_hash_bytes(text, bytes);
    const uint32_t known = PT_INDEX_FIND(&b->strings, hash, id,
                                         pt_flame_text_bytes(f, id) == bytes &&
                                             memcmp(pt_flame_text(f, id), text, bytes) == 0);
    if (known != PT_NONE) return known;
    const uint32_t id = f->string_count++;
    f->string = pt_grow(f->string, &b->string_cap, (size_t)id + 2, sizeof *f->string);
    if (id == 0) f->string[0] = 0;
    pt_put(&f->bytes, text, bytes);
    pt_put_u8(&f->bytes, 0);
    f->string[id + 1] = f->bytes.size;
    pt_index_add(&b->strings, hash, id);
    return id;
}

static uint32_t add_text(building *b, const char *text)
{
    return add_string(b, text, strlen(text));
}

static uint32_t add_profile_string(building *b, uint32_t string)
{
    return add_string(b, pt_text(b->profile, string), pt_text_bytes(b->profile, string));
}

/* ---- groups and colours ---- */

/* The hash is stable across runs and versions, so that a package keeps its colour: FNV-1a. */
static uint32_t stable_hash(const char *text, size_t bytes)
{
    uint32_t h = 2166136261u;
    for (size_t i = 0; i < bytes; i++)
        h = (h ^ (uint8_t)text[i]) * 16777619u;
    return h ^ h >> 15;
}

static uint32_t add_group(building *b, const char *name, size_t bytes)
{
    pt_flame *f = b->flame;
    const uint32_t string = add_string(b, name, bytes);
    const uint64_t hash = pt_hash_u32_pair(string, 0);
    const uint32_t known = PT_INDEX_FIND(&b->groups, hash, id, f->group[id].name == string);
    if (known != PT_NONE) return known;
    const uint32_t id = f->group_count++;
    f->group = pt_grow(f->group, &b->group_cap, f->group_count, sizeof *f->group);
    f->group[id] =
        (pt_flame_group){.name = string, .hue = stable_hash(name, bytes) % PT_FLAME_HUES};
    pt_index_add(&b->groups, hash, id);
    return id;
}

/* ---- frames ---- */

static pt_flame_kind kind_of(const building *b, uint32_t node)
{
    const uint32_t location = b->tree->location[node];
    uint8_t *const naming = &b->naming[b->tree->name[node]];
    if (*naming == NAMING_UNKNOWN)
        *naming = pt_fold_is_unnamed(b->fold, b->tree->name[node]) ? UNNAMED : NAMED;
    if (*naming == UNNAMED) return PT_FLAME_UNRESOLVED;
    if (pt_is_kernel_code(b->profile, location)) return PT_FLAME_KERNEL;
    return b->tree->inlined[node] ? PT_FLAME_INLINED : PT_FLAME_FUNCTION;
}

static void fill_frame(building *b, pt_flame_frame *frame, uint32_t name, uint32_t location)
{
    const pt_profile *p = b->profile;
    PT_FREE char *text = pt_fold_text(b->fold, name);
    const uint32_t mapping = p->location->mapping[location];
    const char *module = mapping == PT_NONE ? "" : pt_text(p, p->mapping->row[mapping].file);
    frame->name = add_text(b, text);
    frame->module = add_text(b, module);
    frame->shade = (uint8_t)(stable_hash(text, strlen(text)) / PT_FLAME_HUES % PT_FLAME_SHADES);
    if (frame->kind != PT_FLAME_UNRESOLVED) {
        const uint32_t line = pt_fold_line_at(b->fold, name, location);
        const uint32_t function = line == PT_NONE ? PT_NONE : p->line->function[line];
        if (function != PT_NONE) {
            frame->file = add_profile_string(b, p->function->file[function]);
            frame->line = p->function->start_line[function];
        }
    }
    size_t bytes = 0;
    const char *package = "kernel";
    if (frame->kind == PT_FLAME_KERNEL)
        bytes = strlen(package);
    else if (frame->kind != PT_FLAME_UNRESOLVED)
        package = pt_flame_package(text, &bytes);
    frame->group = bytes > 0 ? add_group(b, package, bytes)
                             : add_group(b, pt_base_name(module), strlen(pt_base_name(module)));
}

static uint32_t frame_of(building *b, uint32_t node)
{
    pt_flame *f = b->flame;
    const uint32_t name = b->tree->name[node];
    const pt_flame_kind kind = kind_of(b, node);
    uint32_t *const known = &b->frame_of_row[(size_t)name * KINDS + kind];
    if (*known != 0) return *known - 1;
    const uint32_t id = f->frame_count++;
    *known = f->frame_count;
    f->frame = pt_grow(f->frame, &b->frame_cap, f->frame_count, sizeof *f->frame);
    f->frame[id] = (pt_flame_frame){.kind = (uint8_t)kind};
    fill_frame(b, &f->frame[id], name, b->tree->location[node]);
    return id;
}

/* ---- which nodes are kept ---- */

/* The `most` widest nodes: all wider than `width`; among those of that width, all at a smaller
 * depth than `depth`, and the first `equal` at that depth. A parent is at least as wide as its
 * children, less deep, and before them in the order, so each kept node has a kept parent. */
typedef struct {
    int64_t width;
    uint32_t depth;
    uint64_t equal;
} limit;

static bool is_folded(const pt_calltree *tree, uint32_t node)
{
    return node > 0 && tree->name[node] == PT_NONE;
}

/* Folded nodes are never kept, so folded nodes get the lowest rank. */
static int64_t width_of(const pt_calltree *tree, uint32_t node)
{
    return is_folded(tree, node) ? -1 : tree->total[node];
}

#define SIGN_BIT (UINT64_C(1) << 63)

/* A key that orders widths as unsigned numbers. */
static uint64_t ascending_key(int64_t width)
{
    return (uint64_t)width ^ SIGN_BIT;
}

/* The width of the node with this rank, the widest being rank 0. *ret_wider is the number of wider
 * nodes. A radix selection finds the width digit by digit, without a sort. */
static int64_t width_of_rank(const pt_calltree *tree, uint32_t rank, uint64_t *ret_wider)
{
    enum { BITS = 16, DIGITS = 1 << BITS, ALL_BITS = 64 };
    PT_FREE uint32_t *nodes_of = pt_alloc(DIGITS, sizeof *nodes_of);
    uint64_t found = 0, known = 0; /* the digits found so far, and a mask of their bits */
    uint64_t left = rank;
    *ret_wider = 0;
    for (int shift = ALL_BITS - BITS; shift >= 0; shift -= BITS) {
        memset(nodes_of, 0, DIGITS * sizeof *nodes_of);
        for (uint32_t i = 0; i < tree->count; i++) {
            const uint64_t width = ascending_key(width_of(tree, i));
            if ((width & known) == found) nodes_of[width >> shift & (DIGITS - 1)]++;
        }
        uint64_t digit = DIGITS - 1;
        for (; nodes_of[digit] <= left; digit--)
            left -= nodes_of[digit];
        found |= digit << shift;
        known |= (uint64_t)(DIGITS - 1) << shift;
    }
    *ret_wider = rank - left;
    return (int64_t)(found ^ SIGN_BIT);
}

static limit find_limit(const pt_calltree *tree, uint32_t most)
{
    limit found = {.width = INT64_MIN, .depth = UINT32_MAX};
    if (most == 0 || tree->count <= most) return found;
    uint64_t wider;
    found.width = width_of_rank(tree, most - 1, &wider);
    found.equal = most - wider;
    uint32_t deepest = 0;
    for (uint32_t i = 0; i < tree->count; i++)
        if (tree->depth[i] > deepest) deepest = tree->depth[i];
    PT_FREE uint32_t *at_depth = pt_alloc((size_t)deepest + 1, sizeof *at_depth);
    for (uint32_t i = 0; i < tree->count; i++)
        if (width_of(tree, i) == found.width) at_depth[tree->depth[i]]++;
    for (found.depth = 0; at_depth[found.depth] < found.equal; found.depth++)
        found.equal -= at_depth[found.depth];
    return found;
}

/* Is the node within the limit? Call it for all nodes in preorder, since it counts the nodes that
 * are equal to the limit. */
static bool is_wide_enough(limit *l, int64_t width, uint32_t depth)
{
    if (width != l->width) return width > l->width;
    if (depth != l->depth) return depth < l->depth;
    if (l->equal == 0) return false;
    l->equal--;
    return true;
}

/* In order of time: the most nodes that the call tree may have (about 200 MB). The graph gets the
 * widest of these nodes. */
#define TREE_NODES_MAX 4000000

/* In order of time: the largest depth with which the call tree stays below TREE_NODES_MAX; 0 = no
 * limit. A level has at most `slots` nodes (0 = no limit), since narrower nodes are folded, and
 * folded nodes lie between them. */
static uint32_t depth_limit(uint64_t slots)
{
    return slots == 0 ? 0 : (uint32_t)(TREE_NODES_MAX / (2 * slots)) + 1;
}

/* In order of time: cut nodes that are next to each other, or have less than `least` between them,
 * become one narrow place. */
static void add_narrow(building *b, uint32_t parent, uint32_t node, uint64_t least)
{
    const uint64_t start = b->tree->start[node], width = b->tree->width[node];
    pt_flame_narrow *const last =
        b->narrow.count > 0 ? &b->narrow.items[b->narrow.count - 1] : NULL;
    if (last != NULL && last->parent == parent && start - (last->start + last->width) < least)
        last->width = start + width - last->start;
    else
        PT_PUSH(b->narrow, (pt_flame_narrow){parent, start, width});
}

static void keep_nodes(building *b, const pt_flame_request *request)
{
    const pt_calltree *tree = b->tree;
    pt_flame *f = b->flame;
    limit l = find_limit(tree, request->max_nodes);
    const uint32_t room = request->max_nodes == 0 || tree->count < request->max_nodes
                              ? tree->count
                              : request->max_nodes;
    f->parent = pt_alloc(room, sizeof *f->parent);
    f->node_frame = pt_alloc(room, sizeof *f->node_frame);
    f->depth = pt_alloc(room, sizeof *f->depth);
    f->self = pt_alloc(room, sizeof *f->self);
    f->node_total = pt_alloc(room, sizeof *f->node_total);
    if (tree->self_base != NULL) {
        f->self_base = pt_alloc(room, sizeof *f->self_base);
        f->total_base = pt_alloc(room, sizeof *f->total_base);
        f->base = tree->total_base[0];
    }
    if (tree->start != NULL) f->start = pt_alloc(room, sizeof *f->start);
    PT_FREE uint32_t *kept_as = pt_alloc(tree->count, sizeof *kept_as);
    for (uint32_t i = 0; i < tree->count;) {
        const int64_t total = tree->total[i];
        const bool folded = is_folded(tree, i);
        if (folded || !is_wide_enough(&l, total, tree->depth[i])) {
            f->cut_nodes += folded ? tree->folded[i] : 1;
            f->cut_total += total;
            if (tree->start != NULL)
                add_narrow(b, kept_as[tree->parent[i]], i, l.width > 0 ? (uint64_t)l.width : 0);
            i = tree->end[i];
            continue;
        }
        const uint32_t node = kept_as[i] = f->node_count++;
        f->parent[node] = i == 0 ? 0 : kept_as[tree->parent[i]];
        f->node_frame[node] = i == 0 ? 0 : frame_of(b, i);
        f->depth[node] = tree->depth[i];
        f->self[node] = tree->self[i];
        f->node_total[node] = total;
        if (tree->start != NULL) f->start[node] = tree->start[i];
        if (f->self_base != NULL) {
            f->self_base[node] = tree->self_base[i];
            f->total_base[node] = tree->total_base[i];
            const int64_t change = llabs(pt_flame_change(f, node));
            if (change > f->most_change) f->most_change = change;
        }
        if (tree->depth[i] >= f->rows) f->rows = tree->depth[i] + 1;
        i++;
    }
}

/* ---- functions ---- */

static void add_function(building *b, const char *name, int64_t self, int64_t total)
{
    b->flame->function[b->flame->function_count++] =
        (pt_flame_function){.name = add_text(b, name), .self = self, .total = total};
}

/* Adds the first rows by self, then those of the first rows by total that are not added yet. */
static pt_status add_functions(building *b, const pt_flame_request *asked, pt_error *reterr)
{
    const pt_top_request request = {.event = asked->event,
                                    .whole = b->flame->total,
                                    .fold = asked->fold,
                                    .limit = PT_FLAME_FUNCTIONS};
    pt_top self, total;
    const pt_status status = pt_top_leaders(&self, &total, b->profile, &request, reterr);
    if (status != PT_OK) return status;
    b->flame->function = pt_alloc(2 * PT_FLAME_FUNCTIONS, sizeof *b->flame->function);
    for (size_t i = 0; i < self.count; i++)
        add_function(b, self.row[i].name, self.row[i].self, self.row[i].total);
    for (size_t i = 0; i < total.count; i++) {
        bool is_there = false;
        for (size_t k = 0; k < self.count; k++)
            is_there |= self.row[k].id == total.row[i].id;
        if (!is_there) add_function(b, total.row[i].name, total.row[i].self, total.row[i].total);
    }
    b->flame->more_functions = self.count + self.more - b->flame->function_count;
    pt_top_done(&self);
    pt_top_done(&total);
    return PT_OK;
}

typedef struct {
    const building *b;
    const int64_t *first, *second; /* the columns of the tree's rows that give the order */
} row_order;

static int compare_rows(const void *left, const void *right, void *context)
{
    const row_order *const order = context;
    const uint32_t x = *(const uint32_t *)left, y = *(const uint32_t *)right;
    const int first = pt_compare_magnitudes(order->first[x], order->first[y]);
    if (first != 0) return first;
    const int second = pt_compare_magnitudes(order->second[x], order->second[y]);
    return second != 0 ? second : pt_fold_compare(order->b->fold, x, y);
}

/* As add_functions, for the rows at and below the root's box only, from the tree's sums of rows. */
static void add_functions_below(building *b)
{
    const int64_t *const self = b->tree->row_self, *const total = b->tree->row_total;
    PT_FREE uint32_t *row = pt_alloc(b->fold->count, sizeof *row);
    PT_FREE bool *is_there = pt_alloc(b->fold->count, sizeof *is_there);
    uint32_t count = 0;
    for (uint32_t i = 0; i < b->fold->count; i++)
        if (self[i] != 0 || total[i] != 0) row[count++] = i;
    b->flame->function = pt_alloc(2 * PT_FLAME_FUNCTIONS, sizeof *b->flame->function);
    for (int by_total = 0; by_total < 2; by_total++) {
        row_order order = {b, by_total ? total : self, by_total ? self : total};
        if (count > 1) qsort_r(row, count, sizeof *row, compare_rows, &order);
        for (uint32_t i = 0; i < count && i < PT_FLAME_FUNCTIONS; i++) {
            if (is_there[row[i]]) continue;
            is_there[row[i]] = true;
            PT_FREE char *name = pt_fold_text(b->fold, row[i]);
            add_function(b, name, self[row[i]], total[row[i]]);
        }
    }
    b->flame->more_functions = count - b->flame->function_count;
}

/* ---- building ---- */

/* Sums the magnitudes of the event's values. Negative values are the values of a difference's
 * base. */
static pt_status sum_values(const pt_profile *p, uint32_t event, int64_t *ret_total,
                            bool *ret_has_base, pt_error *reterr)
{
    *ret_has_base = pt_profile_has_negative(p, event);
    *ret_total = pt_profile_magnitude(p, event);
    if (*ret_total < INT64_MAX) return PT_OK;
    return pt_error_set(
        reterr, PT_ERR_LIMIT,
        "the values add up to more than 64 bits hold; choose samples by --focus or --time");
}

/* Finds the least visible weight below the requested box, and the box's total. */
static pt_status find_width(const pt_fold *fold, pt_calltree_request *wanted, uint64_t slots,
                            int64_t *ret_total, pt_error *reterr)
{
    const pt_calltree_request box = {.event = wanted->event,
                                     .max_depth = 1,
                                     .min_weight = UINT64_MAX,
                                     .inverted = wanted->inverted,
                                     .splits = wanted->splits,
                                     .under = wanted->under,
                                     .in_order = wanted->in_order,
                                     .part_start = wanted->part_start,
                                     .part_end = wanted->part_end};
    PT_AUTO(pt_calltree) tree = {0};
    const pt_status status = pt_calltree_init(&tree, fold, &box, reterr);
    if (status != PT_OK) return status;
    *ret_total = tree.total[0];
    wanted->min_weight = slots == 0 ? 0 : ((uint64_t)tree.total[0] + slots - 1) / slots;
    return PT_OK;
}

static pt_status fill_flame(building *b, const pt_flame_request *request, pt_error *reterr)
{
    const pt_event *event = &b->profile->event->row[request->event];
    add_string(b, "", 0);
    b->flame->event_type = add_profile_string(b, event->type);
    b->flame->event_unit = add_profile_string(b, event->unit);
    /* The root's box stands for no function. */
    pt_flame *f = b->flame;
    f->frame = pt_grow(f->frame, &b->frame_cap, 1, sizeof *f->frame);
    f->frame[f->frame_count++] =
        (pt_flame_frame){.name = add_text(b, "all"), .group = add_group(b, "", 0)};
    keep_nodes(b, request);
    b->flame->narrow = b->narrow.items;
    b->flame->narrow_count = (uint32_t)b->narrow.count;
    if (b->flame->cut_nodes == 0 || request->part_end != 0) return PT_OK;
    if (request->under == NULL) return add_functions(b, request, reterr);
    if (b->tree->row_self != NULL) add_functions_below(b);
    return PT_OK;
}

static pt_status check_order(const pt_profile *p, bool has_negative, pt_error *reterr)
{
    if (has_negative)
        return pt_error_set(reterr, PT_ERR_USAGE,
                            "--in-order: values below 0, as those of --base, have no place in an "
                            "order of time");
    if (pt_has_times(p)) return PT_OK;
    return pt_error_set(reterr, PT_ERR_USAGE,
                        "--in-order: the samples have no times; pitot record --timeline keeps "
                        "them");
}

pt_status pt_flame_new(const pt_profile *profile, const pt_flame_request *request,
                       pt_flame **ret_flame, pt_error *reterr)
{
    if (request->event >= profile->event->t.count)
        return pt_error_set(reterr, PT_ERR_NOTFOUND, "the profile has no event %u", request->event);
    int64_t total = 0;
    bool has_base = false;
    pt_status status = sum_values(profile, request->event, &total, &has_base, reterr);
    if (status != PT_OK) return status;
    PT_AUTO(pt_fold) fold = {0};
    if (request->in_order) status = check_order(profile, has_base, reterr);
    if (status == PT_OK) status = pt_fold_init(&fold, profile, &request->fold, reterr);
    if (status != PT_OK) return status;
    const uint64_t slots = 2 * (uint64_t)request->width_px;
    pt_calltree_request wanted = {
        .event = request->event,
        .min_weight = slots == 0 ? 0 : ((uint64_t)total + slots - 1) / slots,
        .max_depth = request->in_order && request->max_nodes > 0 ? depth_limit(slots) : 0,
        .most_nodes = request->max_nodes,
        .inverted = request->inverted,
        .splits = has_base,
        .under = request->under,
        .counts_rows = request->under != NULL && !request->in_order,
        .in_order = request->in_order,
        .part_start = request->part_start,
        .part_end = request->part_end,
    };
    pt_calltree tree;
    if (request->under != NULL || request->part_end != 0)
        status = find_width(&fold, &wanted, slots, &total, reterr);
    if (status == PT_OK) status = pt_calltree_init(&tree, &fold, &wanted, reterr);
    if (status == PT_OK) {
        building b = {.profile = profile, .fold = &fold, .tree = &tree};
        b.flame = pt_alloc(1, sizeof *b.flame);
        b.flame->total = total;
        b.flame->whole = request->whole > 0 ? request->whole : total;
        pt_index_init(&b.strings);
        pt_index_init(&b.groups);
        b.frame_of_row = pt_alloc((size_t)fold.count * KINDS, sizeof *b.frame_of_row);
        b.naming = pt_alloc(fold.count, sizeof *b.naming);
        status = fill_flame(&b, request, reterr);
        pt_index_done(&b.strings);
        pt_index_done(&b.groups);
        PT_FREE_ALL(b.frame_of_row, b.naming);
        pt_calltree_done(&tree);
        if (status == PT_OK)
            *ret_flame = b.flame;
        else
            pt_flame_free(b.flame);
    }
    return status;
}

void pt_flame_free(pt_flame *flame)
{
    if (flame == NULL) return;
    pt_buf_done(&flame->bytes);
    PT_FREE_ALL(flame->string, flame->frame, flame->group, flame->function, flame->parent,
                flame->node_frame, flame->depth, flame->self, flame->node_total, flame->self_base,
                flame->total_base, flame->start, flame->narrow, flame);
}

void pt_flame_freep(pt_flame **flame)
{
    pt_flame_free(*flame);
}
