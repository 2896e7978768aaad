/* perf_events.h: names of perf's events, as perf.data and perf script have them. */
#ifndef PT_FORMATS_PERF_EVENTS_H
#define PT_FORMATS_PERF_EVENTS_H

#include "model/builder.h"

/* The string of an event's name, without what only says how precisely it was sampled: "cycles:Pu"
 * counts what "cycles:u" does. */
uint32_t pt_perf_event_name(pt_builder *builder, const char *name, size_t size);

/* Appends "samples", and an event for each of the strings up to the first 0, at most most; cpu and
 * task clock count nanoseconds. The first of them is the default. */
void pt_perf_events_of_names(pt_builder *builder, const uint32_t *names, size_t most);

#endif
