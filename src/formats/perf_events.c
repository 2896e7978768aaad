/* perf_events.c: see perf_events.h. */
#include "formats/perf_events.h"

#include <string.h>

#include "base/buf.h"
#include "base/text.h"

uint32_t pt_perf_event_name(pt_builder *b, const char *name, size_t size)
{
    static const char modifiers[] = "pPukhGHSDWeI";
    size_t colon = size;
    while (colon > 0 && name[colon - 1] != ':')
        colon--;
    bool is_modified = colon > 1 && colon < size;
    for (size_t i = colon; i < size && is_modified; i++)
        is_modified = name[i] != '\0' && strchr(modifiers, name[i]) != NULL;
    if (!is_modified) return pt_builder_string(b, name, size).v;
    PT_AUTO(pt_buf) kept = PT_BUF_INIT;
    pt_put(&kept, name, colon);
    for (size_t i = colon; i < size; i++)
        if (name[i] != 'p' && name[i] != 'P') pt_put_u8(&kept, (uint8_t)name[i]);
    const size_t bytes = kept.size == colon ? colon - 1 : kept.size;
    return pt_builder_string(b, (const char *)kept.data, bytes).v;
}

void pt_perf_events_of_names(pt_builder *b, const uint32_t *names, size_t most)
{
    const uint32_t count = pt_builder_text(b, "count").v;
    const pt_event samples = {.type = pt_builder_text(b, "samples").v, .unit = count, .period = 1};
    pt_builder_event(b, &samples);
    for (size_t i = 0; i < most && names[i] != 0; i++) {
        const char *const name = pt_builder_get_text(b, (pt_string_id){names[i]});
        const bool is_clock = pt_begins(name, "cpu-clock") || pt_begins(name, "task-clock");
        const pt_event event = {.type = names[i],
                                .unit = is_clock ? pt_builder_text(b, "nanoseconds").v : count,
                                .period_varies = true};
        pt_builder_event(b, &event);
    }
    if (names[0] == 0) return;
    pt_provenance *const p = pt_builder_provenance(b);
    const pt_event *const first = pt_builder_event_at(b, 1);
    p->default_event = p->period_type = first->type;
    p->period_unit = first->unit;
    p->has_period_type = true;
}
