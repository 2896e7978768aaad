/* hidden.h: how much of a profile passes through what a cut graph does not show. */
#pragma once

#include "view/graph.h"

/* The sum of |value| over the samples with a frame, between or below frames that the graph lists,
 * of a node that it does not list: what residual edges stand for. Not for call trees. PT_ERR_LIMIT
 * as pt_fold_init. */
pt_status pt_graph_hidden(const pt_graph *graph, const pt_profile *profile,
                          const pt_graph_request *request, int64_t *ret_value, pt_error *reterr);

/* Does a listed node have an edge that stands for a path through nodes that are not listed? */
bool pt_graph_has_residual(const pt_graph *graph);
