/* hidden.h: the part of a profile that passes through nodes that a cut graph does not list. */
#pragma once

#include "view/graph.h"

/* The sum of |value| over the samples with a frame of an unlisted node that is called, directly
 * or not, by a frame of a listed node. Not for call trees. Fails with PT_ERR_LIMIT like
 * pt_fold_init. */
pt_status pt_graph_hidden(const pt_graph *graph, const pt_profile *profile,
                          const pt_graph_request *request, int64_t *ret_value, pt_error *reterr);

/* Has a listed node an edge that stands for a path through unlisted nodes? */
bool pt_graph_has_residual(const pt_graph *graph);
