/* dcpi.c: events and images by their names. */
#include "personality/dcpi/dcpi.h"

#include <stdlib.h>
#include <string.h>

/* The event with that name, number, or shown name; PT_NONE if there is none. */
static uint32_t find_event(const pt_profile *p, const char *name)
{
    const uint32_t event = pt_profile_find_event(p, name);
    if (event != PT_NONE) return event;
    const char *const between = pt_text(p, pt_profile_provenance(p)->period_type);
    if (between[0] == '\0' || strcmp(between, name) != 0) return PT_NONE;
    return pt_profile_find_event(p, "samples");
}

static int no_such_event(const pt_cmd_context *context, const char *option, const char *name)
{
    const pt_profile *const p = context->profile;
    PT_AUTO(pt_buf) list = PT_BUF_INIT;
    for (uint32_t e = 0; e < p->event->t.count; e++)
        pt_putf(&list, "%s%s", e > 0 ? ", " : "", pt_text(p, p->event->row[e].type));
    return pt_cmd_usage(context, "%s=%s: the profile has no such event; its events: %s", option,
                        name, pt_buf_text(&list));
}

static int choose_events(const pt_cmd_context *context, const char *names, uint32_t *ret_events,
                         uint32_t *ret_count)
{
    *ret_count = 0;
    if (names == NULL) {
        *ret_count = pt_counts_events(context->profile, ret_events);
        return PT_EXIT_OK;
    }
    PT_FREE char *list = pt_strdup(names);
    char *rest = NULL;
    for (char *name = strtok_r(list, ",", &rest); name != NULL; name = strtok_r(NULL, ",", &rest)) {
        const uint32_t event = find_event(context->profile, name);
        if (event == PT_NONE) return no_such_event(context, "--event", name);
        bool known = false;
        for (uint32_t i = 0; i < *ret_count; i++)
            known |= ret_events[i] == event;
        if (!known) ret_events[(*ret_count)++] = event;
    }
    return PT_EXIT_OK;
}

int pt_dcpi_count(const pt_cmd_context *context, const pt_dcpi_settings *settings,
                  pt_counts *ret_counts, uint32_t *ret_column)
{
    const pt_profile *const p = context->profile;
    PT_FREE uint32_t *events = pt_alloc((size_t)p->event->t.count + 1, sizeof *events);
    uint32_t count;
    *ret_column = 0;
    const int status = choose_events(context, settings->event, events, &count);
    if (status != PT_EXIT_OK) return status;
    if (count == 0 || p->sample->t.count == 0) {
        pt_say("%s: no samples in it", context->title);
        return PT_EXIT_NO_MATCH;
    }
    if (settings->sort != NULL) {
        const uint32_t event = find_event(p, settings->sort);
        uint32_t column = 0;
        while (column < count && events[column] != event)
            column++;
        if (column == count) return no_such_event(context, "--sort", settings->sort);
        *ret_column = column;
    }
    pt_counts_init(ret_counts, p, events, count);
    return PT_EXIT_OK;
}

/* ---- Images ---- */

static bool is_called(const char *path, const char *name)
{
    if (strcmp(path, name) == 0) return true;
    const char *const end = strrchr(path, '/');
    const char *const last = strrchr(name, '/');
    if (end == NULL) return last != NULL && strcmp(path, last + 1) == 0;
    return strcmp(end + 1, last != NULL ? last + 1 : name) == 0;
}

static int flag_images(const pt_cmd_context *context, const pt_counts *counts, const char *name,
                       bool *flags)
{
    bool found = false;
    for (size_t i = 0; i < counts->count[PT_COUNTS_IMAGES]; i++) {
        if (!is_called(counts->image[i].path, name)) continue;
        flags[i] = found = true;
    }
    if (found) return PT_EXIT_OK;
    pt_say("%s: no samples in an image called %s", context->title, name);
    return PT_EXIT_NO_MATCH;
}

static int flag_named(const pt_cmd_context *context, const pt_dcpi_settings *settings,
                      const pt_counts *counts, bool **ret_flags)
{
    const char *const program = pt_loaded_program(&context->loaded);
    *ret_flags = NULL;
    if (settings->image.count == 0 && program == NULL) return PT_EXIT_OK;
    bool *const flags = pt_alloc(counts->count[PT_COUNTS_IMAGES] + 1, sizeof *flags);
    int status = PT_EXIT_OK;
    for (size_t i = 0; i < settings->image.count && status == PT_EXIT_OK; i++)
        status = flag_images(context, counts, settings->image.items[i], flags);
    if (program != NULL && settings->image.count == 0)
        status = flag_images(context, counts, program, flags);
    if (status == PT_EXIT_OK)
        *ret_flags = flags;
    else
        free(flags);
    return status;
}

int pt_dcpi_count_images(const pt_cmd_context *context, const pt_dcpi_settings *settings,
                         pt_counts *ret_counts, uint32_t *ret_column, bool **ret_in_image)
{
    *ret_counts = (pt_counts){0};
    *ret_in_image = NULL;
    const int status = pt_dcpi_count(context, settings, ret_counts, ret_column);
    return status == PT_EXIT_OK ? flag_named(context, settings, ret_counts, ret_in_image) : status;
}

void pt_dcpi_show(pt_cmd_context *context, pt_shape shape, const pt_counts_table *table)
{
    switch (shape) {
    case PT_SHAPE_JSON: pt_counts_json(context->out, table); break;
    case PT_SHAPE_CSV: pt_counts_csv(context->out, table); break;
    case PT_SHAPE_MARKDOWN: /* has no option here */
    case PT_SHAPE_TEXT: pt_counts_text(context->out, &context->look, table); break;
    }
}
