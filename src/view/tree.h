/* tree.h: the call tree as rows of text: root first, one row for each node. Siblings below the
 * least share are folded into one row; this row is shown if it reaches the least share. The tree is
 * made from the stacks, or from the call arcs (calls_tree.h). */
#pragma once

#include "view/calls_tree.h"
#include "view/calltree.h"

typedef struct pt_tree_request {
    uint32_t event;
    int64_t whole;      /* the value of 100 %; see pt_profile_magnitude */
    double min_share;   /* nodes below this share of the whole are folded, e.g. 0.005 */
    uint32_t max_depth; /* 0 = none */
    bool inverted;      /* from the leaf up; for stacks only */
    pt_fold_rule fold;
    bool from_calls; /* made from arcs; see pt_summary_from_calls */
} pt_tree_request;

typedef struct pt_tree_row {
    const char *name; /* owned by the tree; "" for a folded row */
    const char *file; /* as of pt_top_row */
    uint32_t depth;   /* 1 for outermost functions */
    uint32_t folded;  /* 0, or how many siblings the row stands for */
    int64_t self, total;
    double self_share, total_share;
    int64_t part_self[PT_EVENT_PARTS_MAX]; /* for each event of the sum */
    int64_t part_total[PT_EVENT_PARTS_MAX];
    bool inlined;    /* in every stack with this path the frame is inlined into its caller */
    bool last;       /* no sibling follows */
    bool only;       /* the row has no sibling: the row has its parent's indent, so that long chains
                      * of calls do not move to the right */
    uint32_t indent; /* number of branches from the root to the row; 0 for outermost functions */
    /* Of arcs only: */
    bool is_call;   /* the row is a call from the row above it */
    uint64_t calls; /* number of calls; 0 = unknown */
    bool elsewhere; /* another row shows the function's self and its calls */
} pt_tree_row;

/* A tree whose rows pt_tree_next makes one by one: a whole tree may have many more rows than a
 * screen. */
typedef struct pt_tree {
    pt_fold fold;   /* of stacks ... */
    pt_calls calls; /* ... or of arcs, with the values of each node */
    pt_calls_node *call_node;
    bool from_calls;
    pt_calltree nodes;
    pt_calltree part[PT_EVENT_PARTS_MAX]; /* the same nodes with the values of one event of the
                                           * sum */
    size_t part_count;
    uint64_t min_weight;
    int64_t whole;
    char **name_text;  /* per row of the fold: its text, which is made when it is first needed */
    uint32_t *indent;  /* per node */
    uint32_t next;     /* the node to show next */
    int64_t rootless;  /* value of samples without any frame */
    uint64_t left_out; /* number of functions that no row stands for: their folded row is itself
                        * below the least share */
} pt_tree;

/* *ret_tree borrows the profile; the caller calls pt_tree_done. */
pt_status pt_tree_init(pt_tree *ret_tree, const pt_profile *profile, const pt_tree_request *request,
                       pt_error *reterr);
void pt_tree_done(pt_tree *tree);

/* The next row, root first. Returns false after the last row; the call after that begins again at
 * the root. */
bool pt_tree_next(pt_tree *tree, pt_tree_row *ret_row);
