/* set_rings.h: the rings of an event set: for each cpu a ring of samples and a side ring for
 * records of processes and first samples of threads. Both exist twice: as the kernel's ring, and as
 * the larger ring that the spool fills. The rings outlive the events that write into them.
 */
#pragma once

#include "capture/set.h"

/* Sets pairs, pair_count, pair_of_cpu and cpu_limit: a pair for each online cpu, without rings. */
void pt_set_rings_make(pt_event_set *set);
/* Opens all rings, and starts the spool. The caller calls pt_set_rings_close, also after a
 * failure. */
pt_status pt_set_rings_open(pt_event_set *set, pt_error *reterr);
/* Closes all rings, and frees the pairs. Free the spool before. */
void pt_set_rings_close(pt_event_set *set);

/* Opens the output events of the plan's walker, which write into the rings of samples. Returns
 * false with errno if the kernel refused; some of these events may be open then. */
bool pt_set_rings_open_outputs(pt_event_set *set);
void pt_set_rings_close_outputs(pt_event_set *set);
