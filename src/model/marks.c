/* marks.c: see marks.h. */
#include "model/marks.h"

#include <string.h>

#include "base/text.h"

static const char *const counter_event[] = {"memory", "network", "counter"};
static const char *const counter_unit[] = {"bytes", "bytes", "count"};

const char *pt_counter_event(pt_counter_kind kind)
{
    return counter_event[kind];
}

const char *pt_counter_unit(pt_counter_kind kind)
{
    return counter_unit[kind];
}

static uint32_t find_column(const pt_profile *p, const char *type, const char *unit)
{
    for (uint32_t e = 0; e < p->event->t.count; e++) {
        if (strcmp(pt_text(p, p->event->row[e].type), type) == 0 &&
            strcmp(pt_text(p, p->event->row[e].unit), unit) == 0)
            return e;
    }
    return PT_NONE;
}

pt_mark_columns pt_mark_columns_of(const pt_profile *profile)
{
    pt_mark_columns columns = {
        .marker = find_column(profile, PT_MARKER_EVENT, "count"),
        .length = find_column(profile, PT_MARKER_TIME_EVENT, "nanoseconds"),
    };
    for (int k = 0; k < PT_COUNTER_KINDS; k++)
        columns.counter[k] = find_column(profile, counter_event[k], counter_unit[k]);
    return columns;
}

bool pt_sample_is_mark(const pt_profile *profile, const pt_mark_columns *columns, uint32_t sample)
{
    return columns->marker != PT_NONE && profile->sample->value[columns->marker][sample] != 0;
}

pt_counter_kind pt_sample_counter(const pt_profile *profile, const pt_mark_columns *columns,
                                  uint32_t sample)
{
    for (int k = 0; k < PT_COUNTER_KINDS; k++) {
        if (columns->counter[k] != PT_NONE &&
            profile->sample->value[columns->counter[k]][sample] != 0 &&
            pt_sample_label_text(profile, sample, PT_COUNTER_LABEL) != 0)
            return (pt_counter_kind)k;
    }
    return PT_COUNTER_KINDS;
}

uint32_t pt_sample_label_text(const pt_profile *profile, uint32_t sample, const char *key)
{
    const pt_label_sets *const sets = profile->labels;
    const uint32_t set = profile->sample->labels[sample];
    for (uint64_t i = sets->offset[set]; i < sets->offset[set + 1]; i++) {
        const pt_label *const label = &sets->row[i];
        if (label->kind == PT_LABEL_STRING && strcmp(pt_text(profile, label->key), key) == 0)
            return label->str;
    }
    return 0;
}

const char *pt_mark_data_key(const pt_profile *profile, const pt_label *label)
{
    const char *const key = pt_text(profile, label->key);
    return pt_begins(key, PT_MARKER_DATA) ? key + sizeof PT_MARKER_DATA - 1 : NULL;
}

static bool is_base64_digit(char c)
{
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '+' ||
           c == '/';
}

bool pt_is_picture(const char *text, size_t bytes)
{
    /* The bytes with which the files begin, in base64: 89 50 4e 47 0d 0a 1a 0a (PNG, 5.2); ff d8 ff
     * (JPEG, SOI and a marker). Firefox writes "jpg" as well. */
    static const char *const begin[] = {"data:image/png;base64,iVBORw0KGg",
                                        "data:image/jpeg;base64,/9j/",
                                        "data:image/jpg;base64,/9j/"};
    enum { PICTURE_MAX_BYTES = 256 << 10 };
    if (bytes > PICTURE_MAX_BYTES) return false;
    for (size_t i = 0; i < PT_COUNT(begin); i++) {
        if (!pt_begins_n(text, bytes, begin[i])) continue;
        size_t at = strlen(begin[i]);
        while (at < bytes && is_base64_digit(text[at]))
            at++;
        while (at < bytes && text[at] == '=')
            at++;
        return at == bytes;
    }
    return false;
}
