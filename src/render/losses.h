/* losses.h: a list, as JSON, of the data that a profile loses in another format (convert --losses).
 */
#pragma once

#include "base/buf.h"
#include "base/error.h"

/* losses: the data that the format cannot hold; changes: the data that the format's writer has
 * changed. */
void pt_losses_json(pt_out *out, const char *format, bool is_written, const pt_diag *losses,
                    const pt_diag *changes);
