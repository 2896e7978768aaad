/* calltree.h: the stacks of a profile merged from the root on: one node for each distinct path of
 * names. Call trees and flame graphs are drawn from this tree.
 *
 *   stacks (root first)        tree
 *   main;parse;read    3       0 (all)         self 0  total 6
 *   main;parse         2       1   main        self 0  total 6
 *   main;emit          1       2     parse     self 2  total 5
 *                              3       read    self 3  total 3
 *                              4     emit      self 1  total 1
 *
 * Nodes are columns in preorder: a parent comes before its children, the subtree of node i is [i,
 * end[i]), and children are ordered by weight, the heaviest first. Subtrees that are too light to
 * be shown are never walked: the time for a large profile depends on its visible part.
 *
 * In order of time, the samples of each thread are next to each other, and a node is an
 * uninterrupted run of samples that share a path:
 *
 *   samples of a thread        tree
 *   main;parse        1        main             start 0  total 4
 *   main;parse;read   1          parse          start 0  total 2
 *   main;emit         1            read         start 1  total 1
 *   main;parse        1          emit           start 2  total 1
 *                                parse          start 3  total 1 */
#pragma once

#include "view/fold.h"

typedef struct pt_calltree_request {
    uint32_t event;
    uint64_t min_weight; /* a subtree is folded if the magnitudes of its values add up to less; 0
                          * folds none */
    uint32_t max_depth;  /* nodes below this depth (main is at 1) are folded; 0 folds none */
    /* 0 = all; else the number of widest nodes that are wanted; of equally wide nodes, those
     * nearest to the root come first. Nodes as wide and as deep as the last wanted node are also
     * kept; all other nodes are folded. Has no effect in order of time. No value may be negative,
     * unless the request splits. */
    uint32_t most_nodes;
    bool inverted;        /* from the leaf up: the functions that ran, with their callers below */
    bool splits;          /* for a difference: self and total are sums of magnitudes, and the
                           * columns self_base and total_base hold the part of these sums that comes
                           * from negative values: the base's part */
    const uint32_t *part; /* NULL, or an event that is a part of the event's sum: self_base and
                           * total_base hold the values of that part */
    /* Only stacks below the node with this path are used, and this node becomes the root; NULL =
     * all stacks. Names are separated by ';'; a ';' or '\\' in a name has a '\\' before it.
     * Borrowed. */
    const char *under;
    bool counts_rows; /* fill row_self and row_total; not in order of time */
    /* In order of thread and time. The profile must have times, and no negative value. */
    bool in_order;
    /* In order of time: only samples that lie wholly between these two places are used. A place is
     * the sum of the values of all samples to the left of it. part_end 0 = all. */
    uint64_t part_start, part_end;
} pt_calltree_request;

typedef struct pt_calltree {
    uint32_t count;        /* nodes; at least 1: node 0 is the root, which is no frame */
    uint32_t *parent;      /* parent[0] = 0 */
    uint32_t *end;         /* the first node after the subtree */
    uint32_t *depth;       /* 0 for the root */
    uint32_t *name;        /* row of the fold; PT_NONE for the root and for folded nodes */
    uint32_t *location;    /* a location of the node's frame, one of several; PT_NONE where `name`
                            * is PT_NONE */
    uint8_t *inlined;      /* 1: in every stack the frame is inlined into its parent */
    uint32_t *folded;      /* 0, or the number of the parent's children that this node stands for:
                            * its total includes all that is below these children, and its self is
                            * 0 */
    int64_t *self, *total; /* total = self + totals of the children */
    int64_t *self_base, *total_base; /* NULL unless the request splits, or has a part */
    /* NULL unless in order of time. start: the sum of the values to the left of the node. width:
     * the sum from the node's left edge to its right edge, which is its total; the width of a
     * folded node also has the gaps, each lighter than min_weight, between the children that it
     * stands for. */
    uint64_t *start, *width;
    /* NULL unless the request counts rows: for each row of the fold, its self and total at and
     * below the root, including folded nodes; for a difference, their changes. A recursive row
     * counts once for a stack. */
    int64_t *row_self, *row_total;
} pt_calltree;

/* Builds the tree; nothing is borrowed. Fails with PT_ERR_LIMIT if there are 2^32-1 nodes or more,
 * and with PT_ERR_NOTFOUND if no node has the path `under`. */
pt_status pt_calltree_init(pt_calltree *ret_tree, const pt_fold *fold,
                           const pt_calltree_request *request, pt_error *reterr);
void pt_calltree_done(pt_calltree *tree);
