/* profile.c: small questions to a frozen profile. */
#include "model/profile.h"

#include "base/file.h"
#include "base/units.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *pt_stack_end_name(pt_stack_end end)
{
    static const char *const names[PT_STACK_END_COUNT] = {
        [PT_STACK_END_UNKNOWN] = "unknown",
        [PT_STACK_END_ROOT] = "root",
        [PT_STACK_END_TRUNCATED] = "truncated",
        [PT_STACK_END_NO_RULE] = "no rule",
        [PT_STACK_END_BAD_READ] = "bad read",
        [PT_STACK_END_UNCHECKED] = "unchecked frame pointers",
    };
    return names[end];
}

pt_event_kind pt_event_kind_of_unit(const char *unit)
{
    const pt_unit *const known = pt_unit_parse(unit);
    if (known == NULL || known->family == PT_FAMILY_GCU) return PT_EVENT_COUNT;
    return known->family == PT_FAMILY_TIME ? PT_EVENT_TIME : PT_EVENT_BYTES;
}

uint32_t pt_profile_default_event(const pt_profile *p)
{
    const uint32_t wanted = p->source->row.default_event;
    for (uint32_t e = 0; wanted != 0 && e < p->event->t.count; e++) {
        if (p->event->row[e].type == wanted) return e;
    }
    return p->event->t.count > 0 ? p->event->t.count - 1 : PT_NONE;
}

uint32_t pt_profile_find_event(const pt_profile *p, const char *name)
{
    for (uint32_t e = 0; e < p->event->t.count; e++) {
        const char *type = pt_text(p, p->event->row[e].type);
        const char *unit = pt_text(p, p->event->row[e].unit);
        const size_t length = strlen(type);
        if (strcmp(name, type) == 0 || (strncmp(name, type, length) == 0 && name[length] == '/' &&
                                        strcmp(name + length + 1, unit) == 0))
            return e;
    }
    char *end;
    const unsigned long number = strtoul(name, &end, 10);
    return isdigit((unsigned char)name[0]) && *end == '\0' && number < p->event->t.count
               ? (uint32_t)number
               : PT_NONE;
}

int64_t pt_profile_total(const pt_profile *p, uint32_t event)
{
    const int64_t *value = p->sample->value[event];
    __int128 total = 0; /* 2^32 rows of 2^63 fit */
    for (uint32_t i = 0; i < p->sample->t.count; i++)
        total += value[i];
    return total > INT64_MAX ? INT64_MAX : total < INT64_MIN ? INT64_MIN : (int64_t)total;
}

int pt_location_text(const pt_profile *p, uint32_t location, char *buf, size_t size)
{
    const uint64_t address = p->location->address[location];
    const uint32_t m = p->location->mapping[location];
    if (address == 0) return snprintf(buf, size, "[unknown]");
    if (m == PT_NONE || pt_text(p, p->mapping->row[m].file)[0] == '\0')
        return snprintf(buf, size, "[0x%" PRIx64 "]", address);
    const pt_mapping *map = &p->mapping->row[m];
    const uint64_t in_image = map->flags & PT_MAPPING_HAS_BIAS
                                  ? address - map->bias
                                  : address - map->start + map->file_offset;
    const char *file = pt_base_name(pt_text(p, map->file));
    const size_t length = strlen(file);
    /* "[vdso]" and its like bring their own brackets. */
    const bool bracketed = length > 2 && file[0] == '[' && file[length - 1] == ']';
    return snprintf(buf, size, "[%.*s+0x%" PRIx64 "]", (int)(bracketed ? length - 2 : length),
                    bracketed ? file + 1 : file, in_image);
}
