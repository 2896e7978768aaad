/* graph_int.h: shared by graph.c, graph_edges.c, graph_tags.c and graph_order.c. */
#pragma once

#include "base/saturate.h"
#include "view/graph.h"

/* The memory that a graph owns apart from its public arrays. */
struct pt_graph_memory {
    pt_fold places;
    pt_node_info *info; /* per row of places */
    uint32_t *lists;    /* edges of all nodes' lists */
    char **text;        /* of tags */
    size_t text_count, text_cap;
};

#define PT_GRAPH_CUT_LEAF 0x80000000u

/* The state while a graph is built. */
typedef struct pt_graph_making {
    const pt_profile *profile;
    const pt_graph_request *request;
    pt_graph *graph;
    pt_fold *places;
    /* Per stack: the sums of its samples; a stack whose sums are 0 is skipped. */
    int64_t *value, *div; /* div: NULL without mean */
    bool *counts;
    uint8_t *may_inline; /* per node: true if the node is inlined at some location; only for
                          * PT_EDGES_INLINED */
    bool *kept;          /* per node; NULL = all */
    bool *chosen;        /* per node: true if the node's edges are needed; NULL = all edges */
    /* Call tree only. */
    uint32_t *parent;        /* per node: its caller, always an earlier node; or PT_NONE */
    int64_t total;           /* the flat of all listed nodes, before any was removed */
    uint32_t *leaf_of_stack; /* per stack: the node that the stack ends in; PT_NONE if there is
                              * none; if that node was removed, PT_GRAPH_CUT_LEAF | the nearest kept
                              * node above it */
} pt_graph_making;

/* graph.c: pt_graph_is_listed: is a node with these values listed? pt_graph_cutoff: the least
 * magnitude that is kept, a fraction of the total. */
bool pt_graph_is_listed(const pt_graph_making *m, int64_t flat, int64_t cum);
uint64_t pt_graph_cutoff(int64_t total, double fraction);

/* graph_edges.c: edges between kept nodes, from the stacks; replaces graph->edge. */
void pt_graph_make_edges(pt_graph_making *m);
/* Drops edges into listed nodes that are lighter than cutoff; returns their number. */
uint32_t pt_graph_trim_edges(pt_graph *graph, uint64_t cutoff);
/* Fills the nodes' lists of edges, sorted. */
void pt_graph_list_edges(pt_graph *graph);
/* Drops residual edges whose target is reached another way, and fills the lists again. */
void pt_graph_trim_redundant_edges(pt_graph *graph);

/* graph_tags.c */
void pt_graph_make_tags(pt_graph_making *m);
void pt_graph_trim_tags(pt_graph *graph, uint64_t cutoff);
/* The number of tags with a flat value. */
size_t pt_graph_count_tags(const pt_graph_node *node);
void pt_graph_free_tags(pt_graph *graph);

/* graph_order.c: texts of nodes, and graph->listed in order. */
void pt_graph_name(pt_graph *graph, uint32_t node);
void pt_graph_sort(pt_graph_making *m);

/* Sets pt_graph_node.function: equal for nodes of one function. */
void pt_graph_find_functions(pt_graph_making *m);

/* graph_tree.c: makes the nodes of a call tree that remain after rule 1, with their values and
 * edges; edge[n] leads to node n. */
pt_status pt_graph_make_tree(pt_graph_making *m, pt_error *reterr);
/* Removes the nodes that are not kept from the tree: their callees become callees of their
 * callers. */
void pt_graph_trim_tree(pt_graph_making *m);
