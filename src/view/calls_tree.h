/* calls_tree.h: call arcs as a tree (calls.h) in the columns of calltree.h.
 *
 * A node is a function that nobody calls, or a call from the node above. name is the function's row
 * in pt_calls; total what the call costs, 0 where that is not known. Each function is shown once
 * with its own calls and its self; further calls to it are marked elsewhere and have nothing below
 * them, so that selfs add up to the whole. */
#pragma once

#include "view/calls.h"
#include "view/calltree.h"

typedef struct pt_calls_node {
    uint32_t call; /* PT_NONE for outermost functions and folded nodes */
    bool elsewhere;
} pt_calls_node;

/* Nodes that are lighter than the least weight are folded as in calltree.h; where no costs are
 * known a node weighs what the heaviest function that it leads to costs by itself, and nothing is
 * folded if none costs anything. ret_tree is done with pt_calltree_done, *ret_node (one a
 * node) freed. */
void pt_calls_tree(const pt_calls *calls, const pt_calltree_request *request, pt_calltree *ret_tree,
                   pt_calls_node **ret_node);
