/* profile.c: accessors of a frozen profile. */
#include "model/profile.h"

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
    uint32_t last = p->event->t.count;
    while (last > 1 && p->event->row[last - 1].sum_of != 0)
        last--;
    return last > 0 ? last - 1 : PT_NONE;
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

size_t pt_event_parts(const pt_profile *p, uint32_t event, uint32_t ret_part[PT_EVENT_PARTS_MAX])
{
    const uint64_t sum_of = p->event->row[event].sum_of;
    size_t count = 0;
    for (uint32_t e = 0; e < p->event->t.count && e < 64 && count < PT_EVENT_PARTS_MAX; e++)
        if (sum_of >> e & 1) ret_part[count++] = e;
    return count;
}

int64_t pt_profile_total(const pt_profile *p, uint32_t event)
{
    const int64_t *value = p->sample->value[event];
    __int128 total = 0; /* holds the sum of 2^32 values of 2^63 */
    for (uint32_t i = 0; i < p->sample->t.count; i++)
        total += value[i];
    return total > INT64_MAX ? INT64_MAX : total < INT64_MIN ? INT64_MIN : (int64_t)total;
}

const char *pt_object_name(const char *path, size_t *ret_bytes)
{
    const char *const slash = strrchr(path, '/');
    const char *const base = slash != NULL ? slash + 1 : path;
    *ret_bytes = strlen(base);
    /* Names such as "[vdso]" have brackets of their own. */
    if (*ret_bytes <= 2 || base[0] != '[' || base[*ret_bytes - 1] != ']') return base;
    *ret_bytes -= 2;
    return base + 1;
}

char *pt_object_text(const char *path)
{
    size_t bytes;
    const char *const name = pt_object_name(path, &bytes);
    return bytes == 0 ? pt_strdup("[unknown]") : pt_strf("[%.*s]", (int)bytes, name);
}

/* Writes "[0x7f00]" as snprintf would, in a quarter of the time: in a profile without symbols most
 * names have this form. Returns snprintf's result. */
static int put_address(uint64_t address, char *buf, size_t size)
{
    char text[3 + 16 + 2] = "[0x";
    const int digits = address == 0 ? 1 : (67 - __builtin_clzll(address)) / 4;
    for (int i = 0; i < digits; i++)
        text[3 + i] = "0123456789abcdef"[address >> 4 * (digits - 1 - i) & 15];
    memcpy(text + 3 + digits, "]", 2);
    const size_t bytes = (size_t)digits + 5;
    if (size > 0) memcpy(buf, text, bytes < size ? bytes : size - 1);
    if (size > 0 && bytes > size) buf[size - 1] = '\0';
    return (int)bytes - 1;
}

int pt_place_text(const char *path, uint64_t address, bool whole_code, char *buf, size_t size)
{
    size_t bytes;
    const char *const name = pt_object_name(path, &bytes);
    if (bytes > 0)
        return snprintf(buf, size, "[%.*s+0x%" PRIx64 "%s]", (int)bytes, name, address,
                        whole_code ? ".." : "");
    if (address == 0) return snprintf(buf, size, "[unknown]");
    return put_address(address, buf, size);
}

/* The path of the location's mapped file; "" if unknown. */
static const char *path_at(const pt_profile *p, uint32_t location)
{
    const uint32_t m = p->location->mapping[location];
    return m == PT_NONE ? "" : pt_text(p, p->mapping->row[m].file);
}

uint64_t pt_location_in_image(const pt_profile *p, uint32_t location)
{
    const uint64_t address = p->location->address[location];
    if (path_at(p, location)[0] == '\0') return address;
    const pt_mapping *map = &p->mapping->row[p->location->mapping[location]];
    return map->flags & PT_MAPPING_HAS_BIAS ? address - map->bias
                                            : address - map->start + map->file_offset;
}

bool pt_location_code_start(const pt_profile *p, uint32_t location, uint64_t *ret_address)
{
    const uint64_t *const offset = p->location->code_offset;
    if (offset == NULL || offset[location] == 0) return false;
    const bool is_return = (p->location->flags[location] & PT_LOCATION_RETURN_ADDR) != 0;
    *ret_address = pt_location_in_image(p, location) - is_return - (offset[location] - 1);
    return true;
}

int pt_location_text(const pt_profile *p, uint32_t location, bool by_code, char *buf, size_t size)
{
    const bool is_known = p->location->address[location] != 0;
    uint64_t address;
    const bool whole_code = by_code && pt_location_code_start(p, location, &address);
    if (!whole_code) address = pt_location_in_image(p, location);
    return pt_place_text(is_known ? path_at(p, location) : "", address, whole_code, buf, size);
}
