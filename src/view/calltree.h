/* calltree.h: the stacks of a profile merged from the root: one node for each distinct path of
 * names. Trees and flame graphs are drawn from it.
 *
 *   stacks (root first)        tree
 *   main;parse;read    3       0 (all)         self 0  total 6
 *   main;parse         2       1   main        self 0  total 6
 *   main;emit          1       2     parse     self 2  total 5
 *                              3       read    self 3  total 3
 *                              4     emit      self 1  total 1
 *
 * Nodes are columns in preorder: a parent stands before its children, the subtree of node i is
 * [i, end[i]), children stand in order of weight, heaviest first. Subtrees that are too light to be
 * shown are never walked: a large profile costs what its visible part costs.
 *
 * In order of time the samples of each thread stand side by side, and a node is an uninterrupted
 * run of samples that share a path:
 *
 *   samples of a thread        tree
 *   main;parse        1        main             start 0  total 4
 *   main;parse;read   1          parse          start 0  total 2
 *   main;emit         1            read         start 1  total 1
 *   main;parse        1          emit           start 2  total 1
 *                                parse          start 3  total 1
 */
#pragma once

#include "view/fold.h"

typedef struct pt_calltree_request {
    uint32_t event;
    uint64_t min_weight; /* a subtree whose values' magnitudes sum up to less is folded; 0 = none */
    uint32_t max_depth;  /* nodes below this depth (main is at 1) are folded; 0 = none */
    /* 0 = all; else at least so many nodes, the widest, of equally wide ones those nearest to the
     * root: nodes that equal the last of them in both are there, too. The others are folded. It has
     * no effect in order of time. No value is negative, unless the request splits. */
    uint32_t most_nodes;
    bool inverted;        /* from the leaf up: functions that run, below them their callers */
    bool splits;          /* of a difference: self and total are sums of magnitudes, of which the
                             columns self_base and total_base hold what was negative: the base's */
    const uint32_t *part; /* NULL, or an event that the event adds up: self_base and total_base hold
                             its values */
    /* Only what lies below the node of these names, which becomes the root; NULL = all. Separated
       by ';', with '\\' before a ';' or '\\' of a name. Borrowed. */
    const char *under;
    bool counts_rows; /* row_self and row_total; not in order of time */
    /* In order of thread and time. The profile has times, and no value is negative. */
    bool in_order;
    /* In order: only samples that lie wholly in these values, counted from the left edge.
     * part_end 0 = all. */
    uint64_t part_start, part_end;
} pt_calltree_request;

typedef struct pt_calltree {
    uint32_t count;        /* nodes; at least 1: node 0 is the root, which stands for no frame */
    uint32_t *parent;      /* parent[0] = 0 */
    uint32_t *end;         /* the first node after the subtree */
    uint32_t *depth;       /* 0 for the root */
    uint32_t *name;        /* row of the fold; PT_NONE for the root and for folded nodes */
    uint32_t *location;    /* one location that the node's frame had; PT_NONE as for name */
    uint8_t *inlined;      /* 1: in every stack the frame is inlined into its parent */
    uint32_t *folded;      /* 0, or how many children of the parent this node stands for; what lies
                              below them is in its total, and its self is 0 */
    int64_t *self, *total; /* total = self + totals of the children */
    int64_t *self_base, *total_base; /* NULL unless the request splits, or has a part */
    /* NULL unless in order: the values to the left of the node, and the values from its left edge
     * to its right one: its total, or of a folded node also the gaps between what it stands for,
     * each of them lighter than min_weight. */
    uint64_t *start, *width;
    /* NULL unless the request counts rows: per row of the fold what it costs at or below the root,
     * whichever nodes are folded; of a difference its change. A row that calls itself counts once.
     */
    int64_t *row_self, *row_total;
} pt_calltree;

/* Builds the tree; nothing is borrowed. PT_ERR_LIMIT when there are 2^32-1 nodes or more;
 * PT_ERR_NOTFOUND when there is no node of the names in `under`. */
pt_status pt_calltree_init(pt_calltree *ret_tree, const pt_fold *fold,
                           const pt_calltree_request *request, pt_error *reterr);
void pt_calltree_done(pt_calltree *tree);
