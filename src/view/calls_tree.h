/* calls_tree.h: call arcs as a tree (calls.h) in the columns of calltree.h.
 *
 * A node is a function without callers, or a call from the node above. `name` is the function's row
 * in pt_calls; `total` is the cost of the call, 0 if it is unknown. Each function is shown once
 * with the calls that it makes and its self. Other nodes of the function are marked `elsewhere` and
 * have nothing below them, so that all selfs add up to the whole. */
#pragma once

#include "view/calls.h"
#include "view/calltree.h"

typedef struct pt_calls_node {
    uint32_t call; /* PT_NONE for outermost functions and folded nodes */
    bool elsewhere;
} pt_calls_node;

/* Nodes lighter than the least weight are folded as in calltree.h. If no costs are known, the
 * weight of a node is the largest self of the functions that it leads to; if all selfs are 0,
 * nothing is folded. The caller calls pt_calltree_done on *ret_tree and frees *ret_node (one for
 * each node). */
void pt_calls_tree(const pt_calls *calls, const pt_calltree_request *request, pt_calltree *ret_tree,
                   pt_calls_node **ret_node);
