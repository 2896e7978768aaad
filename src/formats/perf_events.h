/* perf_events.h: names of perf's events in perf.data and perf script. */
#pragma once

#include "model/builder.h"

/* Interns an event's name without the modifiers of sampling precision: "cycles:Pu" counts the same
 * as "cycles:u". */
uint32_t pt_perf_event_name(pt_builder *builder, const char *name, size_t size);

/* Appends the event "samples", and an event for each of the names up to the first 0, at most
 * `most`. cpu-clock and task-clock count nanoseconds. The first named event is the default. */
void pt_perf_events_of_names(pt_builder *builder, const uint32_t *names, size_t most);
