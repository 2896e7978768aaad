/* graph.h: pprof's call graph: callers and callees with the values of their calls, cut to a
 * readable size.
 *
 *   stack  main > run > alloc        one distinct stack at a time, never one sample at a time
 *   node   a row of the fold (view/fold.h): a function, a file, a line, an address
 *          flat: stacks that end there; cum: stacks with it anywhere, once each
 *   edge   caller -> callee, counted once per stack; inlined if all its calls were inlined;
 *          residual if it passes frames whose nodes were cut
 *
 * The rules are those of google/pprof (internal/graph/graph.go and newTrimmedGraph of
 * internal/report/report.go), down to the order of equal nodes, because reports must be equal byte
 * for byte:
 *
 *   1. remove nodes with |cum| below the share node_fraction of all flat
 *   2. sort by flat, by cum, or (visual) by the entropy of the edges
 *   3. remove nodes beyond node_count; in a visual graph each tag of a node counts too, up to 4
 *   4. remove edges with |weight| below the share edge_fraction; in a visual graph also residual
 *      ones whose target is reached another way
 *
 * After each removal of nodes the edges are made again from the stacks, so that their weights are
 * exact. */
#pragma once

#include "view/fold.h"

typedef enum {
    PT_EDGES_NONE,
    PT_EDGES_INLINED, /* only edges into nodes that are inlined at some location: enough for the
                       * marks `inlined`, and much faster */
    PT_EDGES_ALL,
} pt_graph_edges;

struct pt_graph;

/* Selects nodes: sets flags by node, which are all false at first. The graph's listed nodes have
 * texts. */
typedef pt_status pt_graph_choose(void *context, const struct pt_graph *graph, bool *chosen,
                                  pt_error *reterr);

typedef struct pt_graph_request {
    uint32_t event;
    bool mean; /* values are averages: sums divided by the sums of event 0, which are the fields
                * with names in _div */
    pt_fold_rule fold;
    bool call_tree;     /* a node for each path, instead of a node for each place */
    bool drop_negative; /* nodes whose flat is negative, or whose flat is 0 and cum is negative, are
                         * not listed */
    bool visual;        /* the graph is for a picture */
    bool by_cum;
    pt_graph_edges edges;
    pt_graph_choose *choose; /* NULL = all nodes; else only the selected nodes are listed and have
                              * edges. Not together with visual, call_tree or node_count */
    void *choose_context;
    size_t choose_limit; /* the number of selected nodes that are listed, in order; 0 = all */
    bool tags;           /* collect labels of the samples at each node; implied by visual */
    int64_t node_count;  /* 0 or less = all */
    double node_fraction, edge_fraction;
    const char *unit;     /* the unit in which numeric tags are shown (pt_unit_convert) */
    const char *tag_unit; /* of the label "bytes", the only numeric tag; NULL = "bytes" */
} pt_graph_request;

/* A label of samples at a node. */
typedef struct pt_graph_tag {
    const char *name; /* "key:value"; for several labels of one sample, joined by "\n" (two
                       * characters) in order; for a number, its text in the requested unit */
    const char *unit; /* of the number; "" for texts */
    int64_t value;    /* the number */
    int64_t flat, flat_div, cum, cum_div;
} pt_graph_tag;

/* The tags of a node, in no particular order. */
typedef struct pt_graph_tags {
    const char *of; /* of numeric tags: the text tag of the same samples, or "" */
    pt_graph_tag *tag;
    size_t count;
} pt_graph_tags;

typedef struct pt_graph_edge {
    uint32_t from, to; /* nodes */
    int64_t weight, weight_div;
    bool residual, inlined;
    bool dropped; /* no node's lists have the edge */
} pt_graph_edge;

typedef struct pt_graph_node {
    const pt_node_info *info;
    char *text;        /* the row's name; NULL: the node is not listed, and has no edges */
    uint32_t function; /* a number that is equal for nodes of one function (in a tree, of one
                        * function and one caller) */
    bool inlined;      /* some edge into it is inlined ... */
    bool called;       /* ... and some is not */
    int64_t flat, flat_div, cum, cum_div;
    const uint32_t *in, *out; /* edges, the heaviest first */
    uint32_t in_count, out_count;
    pt_graph_tags texts;    /* tags of text labels */
    pt_graph_tags *numbers; /* tags of numeric labels, by the text tags of the same samples */
    size_t number_count;
} pt_graph_node;

typedef struct pt_graph {
    pt_graph_node *node; /* all nodes; edges may lead to nodes that are not listed */
    uint32_t node_count;
    uint32_t *listed; /* the graph's nodes, in order */
    uint32_t listed_count;
    uint32_t chosen_more; /* selected nodes beyond choose_limit */
    pt_graph_edge *edge;
    uint32_t edge_count;
    uint32_t original_count; /* listed after rule 1 */
    uint32_t dropped_nodes;  /* by rule 1 */
    uint32_t dropped_edges;  /* by the last application of rule 4 */
    bool is_pprof;           /* texts and addresses of nodes are pprof's (pt_fold_rule) */
    struct pt_graph_memory *memory;
} pt_graph;

/* Builds and cuts the graph. It borrows texts of the profile; the caller calls pt_graph_done. Fails
 * with PT_ERR_LIMIT for more than 2^31 nodes. */
pt_status pt_graph_init(pt_graph *ret_graph, const pt_profile *profile,
                        const pt_graph_request *request, pt_error *reterr);
void pt_graph_done(pt_graph *graph);

/* For graphs by pitot's own rules: the fold's row of a node, and pt_fold_find among listed
 * nodes. */
uint32_t pt_graph_row(const pt_graph *graph, const pt_graph_node *node);
bool *pt_graph_find(const pt_graph *graph, const char *name);

/* The value of 100 %: the sum of |value| over all samples or, if samples with a value have the
 * label pprof::base=true, over these samples only; with `mean` divided by the same sum of event
 * 0. */
int64_t pt_graph_total(const pt_profile *profile, uint32_t event, bool mean);

/* The unit of all values in a report on a graph, if `unit` is "minimum"; any other unit is returned
 * unchanged. The result is the natural unit of the smallest shown value. But if the total has
 * another natural unit and is more than 100 times as large as this value, and whole_numbers is
 * false, the result is the unit of 100 times the smallest value. ratio: a factor for all values; 0
 * or less means 1. The result is static, or one of the arguments. */
const char *pt_graph_unit(const pt_graph *graph, int64_t total, const char *unit,
                          const char *sample_unit, double ratio, bool whole_numbers);

/* value / div, or value when div is 0. */
static inline int64_t pt_graph_mean(int64_t value, int64_t div)
{
    return div == 0 ? value : div == -1 ? (int64_t)(0 - (uint64_t)value) : value / div;
}

/* Orders tags by |flat|, or by |cum| first, then by name. */
void pt_graph_sort_tags(pt_graph_tag *tags, size_t count, bool by_flat);

enum { PT_GRAPH_NODELETS = 4 }; /* tags that are drawn at a node */

/* Several numeric tags that are drawn as one tag: "1kB..4kB". */
typedef struct pt_graph_tag_group {
    char *name; /* the caller frees */
    int64_t flat, cum;
} pt_graph_tag_group;

/* Sorts the tags and groups them: the first four, each with the later tags that are nearest to it.
 * Fills at most PT_GRAPH_NODELETS groups and returns their number. */
size_t pt_graph_group_tags(pt_graph_tag *tags, size_t count, bool by_flat,
                           pt_graph_tag_group *ret_groups);

/* Puts edges in the order of lists: the heaviest first, then by the texts of their ends. */
void pt_graph_sort_edges(const pt_graph *graph, uint32_t *edges, size_t count);
