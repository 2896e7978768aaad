/* called.c: see called.h. */
#include "transform/called.h"

#include <inttypes.h>
#include <string.h>

#define PLACE_BYTES 4096

static uint32_t function_of(const pt_profile *p, uint32_t line)
{
    return line == PT_NONE ? PT_NONE : p->line->function[line];
}

static bool is_object(const pt_profile *p, uint32_t location, const char *text)
{
    const uint32_t m = p->location->mapping[location];
    PT_FREE char *object = pt_object_text(m == PT_NONE ? "" : pt_text(p, p->mapping->row[m].file));
    return strcmp(object, text) == 0;
}

/* Is text the place that reports show after a function's name and a space? The place is the file,
 * the file with a line, the line alone (":12") if the file is unknown, or the mapped file in
 * brackets. */
static bool is_place(const pt_profile *p, uint32_t location, uint32_t line, const char *text)
{
    const char *const file = pt_text(p, p->function->file[p->line->function[line]]);
    const size_t bytes = strlen(file);
    if (text[0] == '[') return is_object(p, location, text);
    if (strncmp(text, file, bytes) != 0) return false;
    if (text[bytes] == '\0') return bytes > 0;
    PT_FREE char *number = pt_strf(":%" PRId64, p->line->line[line]);
    return strcmp(text + bytes, number) == 0;
}

/* Does a report show the frame, and no other frames, by this name? */
static bool is_called(const pt_profile *p, uint32_t location, uint32_t line, const char *name)
{
    const uint32_t function = function_of(p, line);
    const char *const own = function == PT_NONE ? "" : pt_text(p, p->function->name[function]);
    const size_t bytes = strlen(own);
    if (bytes > 0 && strncmp(name, own, bytes) == 0) {
        if (name[bytes] == '\0') return true;
        if (name[bytes] == ' ' && is_place(p, location, line, name + bytes + 1)) return true;
    }
    if (name[0] != '[') return false;
    for (int by_code = 0; by_code <= (bytes == 0); by_code++) {
        char place[PLACE_BYTES];
        const int length = pt_location_text(p, location, by_code, place, sizeof place);
        if (length <= 0 || (size_t)length >= sizeof place ||
            strncmp(name, place, (size_t)length) != 0)
            continue;
        const char *const rest = name + length;
        if (bytes == 0 ? rest[0] == '\0' : rest[0] == ' ' && strcmp(rest + 1, own) == 0)
            return true;
    }
    return false;
}

/* Is it a frame without a name in the mapped file `name`? */
static bool is_nameless_in(const pt_profile *p, uint32_t location, uint32_t line, const char *name)
{
    const uint32_t function = function_of(p, line);
    if (function != PT_NONE && pt_text_bytes(p, p->function->name[function]) > 0) return false;
    return name[0] == '[' && is_object(p, location, name);
}

/* Is the frame in the mapped file, or in the source file, of that name? */
static bool lies_in(const pt_profile *p, uint32_t location, uint32_t line, const char *name)
{
    const uint32_t function = function_of(p, line);
    if (name[0] == '[') return is_object(p, location, name);
    return function != PT_NONE && strcmp(pt_text(p, p->function->file[function]), name) == 0;
}

pt_called_fn *const pt_called[PT_CALLED_COUNT] = {is_called, is_nameless_in, lies_in};

/* Does the name mean any frame of the profile? */
static bool is_meant(const pt_profile *p, const char *name, pt_called_fn *is_it)
{
    for (uint32_t l = 0; l < p->location->t.count; l++) {
        const uint32_t first = p->location->line_first[l], end = p->location->line_first[l + 1];
        if (first == end && is_it(p, l, PT_NONE, name)) return true;
        for (uint32_t line = first; line < end; line++)
            if (is_it(p, l, line, name)) return true;
    }
    return false;
}

pt_called_fn *pt_called_find(const pt_profile *p, const char *name)
{
    for (size_t i = 0; i < PT_CALLED_COUNT && name[0] != '\0'; i++)
        if (is_meant(p, name, pt_called[i])) return pt_called[i];
    return NULL;
}
