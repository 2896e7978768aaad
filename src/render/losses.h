/* losses.h: as JSON, what a profile loses in another format (convert --losses). */
#pragma once

#include "base/buf.h"
#include "base/error.h"

/* losses: what the format has no place for; changes: what its writer had to change. */
void pt_losses_json(pt_out *out, const char *format, bool is_written, const pt_diag *losses,
                    const pt_diag *changes);
