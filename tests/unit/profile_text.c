/* profile_text.c: see profile_text.h. */
#include "profile_text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FRAMES_MAX  64
#define INLINES_MAX 8

/* "name@file:line": the function and the line. */
static pt_line line_of(pt_builder *b, char *text)
{
    int64_t number = 0;
    char *at = strchr(text, '@');
    if (at != NULL) {
        *at++ = '\0';
        char *colon = strchr(at, ':');
        if (colon != NULL) {
            *colon++ = '\0';
            number = strtoll(colon, NULL, 10);
        }
    }
    const uint32_t name = pt_builder_text(b, text).v;
    const pt_function function = {
        .name = name, .system_name = name, .file = pt_builder_text(b, at != NULL ? at : "").v};
    return (pt_line){.function = pt_builder_function(b, &function).v, .line = number};
}

static uint32_t mapping_of(pt_builder *b, const char *file)
{
    return pt_builder_mapping(b, &(pt_mapping){.start = 0x1000,
                                               .limit = 0x100000,
                                               .file = pt_builder_text(b, file).v,
                                               .build_id = 0})
        .v;
}

static uint32_t location_of(pt_builder *b, char *frame)
{
    pt_location location = {.mapping = PT_NONE};
    char *plus = strstr(frame, "+0x");
    if (plus != NULL) {
        *plus = '\0';
        location.mapping = mapping_of(b, frame);
        location.address = 0x1000 + strtoull(plus + 1, NULL, 16);
        return pt_builder_location(b, &location, NULL, 0).v;
    }
    char *bang = strchr(frame, '!');
    if (bang != NULL) {
        *bang = '\0';
        location.mapping = mapping_of(b, frame);
        frame = bang + 1;
    }
    pt_line lines[INLINES_MAX]; /* innermost first: filled from the end */
    size_t count = 0;
    char *save = NULL;
    for (char *name = strtok_r(frame, "~", &save); name != NULL; name = strtok_r(NULL, "~", &save))
        lines[INLINES_MAX - ++count] = line_of(b, name);
    return pt_builder_location(b, &location, lines + INLINES_MAX - count, count).v;
}

/* "key:text" or "key:number/unit"; the unit may be empty. */
static pt_label label_of(pt_builder *b, char *text)
{
    char *value = strchr(text, ':');
    *value++ = '\0';
    pt_label label = {.key = pt_builder_text(b, text).v, .kind = PT_LABEL_STRING};
    char *unit = strchr(value, '/');
    if (unit == NULL) {
        label.str = pt_builder_text(b, value).v;
        return label;
    }
    *unit++ = '\0';
    label.kind = PT_LABEL_NUMBER;
    label.num = strtoll(value, NULL, 10);
    label.unit = pt_builder_text(b, unit).v;
    return label;
}

static void add_sample(pt_builder *b, char *line)
{
    uint32_t frames[FRAMES_MAX]; /* leaf first: filled from the end */
    size_t depth = 0;
    int64_t values[8];
    char *save = NULL;
    char *stack = strtok_r(line, " ", &save);
    const uint32_t events = pt_builder_event_count(b);
    for (uint32_t e = 0; e < events; e++)
        values[e] = strtoll(strtok_r(NULL, " ", &save), NULL, 10);
    pt_label labels[INLINES_MAX];
    size_t label_count = 0;
    for (char *l = strtok_r(NULL, " ", &save); l != NULL; l = strtok_r(NULL, " ", &save))
        labels[label_count++] = label_of(b, l);
    char *inner = NULL;
    if (strcmp(stack, "-") != 0)
        for (char *f = strtok_r(stack, ";", &inner); f != NULL; f = strtok_r(NULL, ";", &inner))
            frames[FRAMES_MAX - ++depth] = location_of(b, f);
    const pt_stack_id id =
        pt_builder_stack(b, frames + FRAMES_MAX - depth, depth, PT_STACK_END_UNKNOWN);
    pt_builder_sample(b, id, pt_builder_labels(b, labels, label_count), values);
}

const pt_profile *profile_of(const char *events, const char *text)
{
    pt_builder *b = pt_builder_new();
    PT_FREE char *event_copy = pt_strdup(events);
    char *save = NULL;
    for (char *e = strtok_r(event_copy, " ", &save); e != NULL; e = strtok_r(NULL, " ", &save)) {
        char *unit = strchr(e, '/');
        *unit++ = '\0';
        pt_builder_event(
            b, &(pt_event){.type = pt_builder_text(b, e).v, .unit = pt_builder_text(b, unit).v});
    }
    PT_FREE char *copy = pt_strdup(text);
    for (char *line = strtok_r(copy, "\n", &save); line != NULL; line = strtok_r(NULL, "\n", &save))
        add_sample(b, line);
    const pt_profile *profile = NULL;
    pt_error error = PT_ERROR_INIT;
    if (pt_builder_freeze(b, &profile, &error) != PT_OK) fail_msg("%s", error.message);
    if (pt_profile_check(profile, &error) != PT_OK) fail_msg("%s", error.message);
    return profile;
}

int64_t total_of(const pt_profile *profile, uint32_t event)
{
    int64_t sum = 0;
    for (uint32_t i = 0; i < profile->sample->t.count; i++)
        sum += profile->sample->value[event][i];
    return sum;
}
