/* marks.c: see marks.h. */
#include "formats/marks.h"

#include <string.h>

#include "formats/plain.h"

enum { LABELS_MAX = 64 }; /* of a mark */

static uint32_t add_event(pt_builder *b, const char *type, const char *unit)
{
    const uint32_t event = pt_builder_event_count(b);
    pt_plain_event(b, type, unit);
    return event;
}

void pt_marks_open(pt_marks *m, pt_builder *b, unsigned needed)
{
    *m = (pt_marks){.b = b, .marker = PT_NONE, .length = PT_NONE};
    for (int k = 0; k < PT_COUNTER_KINDS; k++)
        if (needed & (unsigned)PT_MARKS_COUNTERS << k)
            m->counter[k] = add_event(b, pt_counter_event((pt_counter_kind)k),
                                      pt_counter_unit((pt_counter_kind)k));
    if (needed & PT_MARKS_MARKS) {
        m->length = add_event(b, PT_MARKER_TIME_EVENT, "nanoseconds");
        m->marker = add_event(b, PT_MARKER_EVENT, "count");
    }
    m->values = pt_alloc((size_t)pt_builder_event_count(b) + 1, sizeof *m->values);
}

void pt_marks_done(pt_marks *m)
{
    PT_FREE_ALL(m->values, m->label.items, m->frame.items);
}

void pt_marks_label(pt_marks *m, const char *key, uint32_t text)
{
    if (text == 0 || m->label.count >= LABELS_MAX) return;
    PT_PUSH(m->label,
            (pt_label){.key = pt_builder_text(m->b, key).v, .kind = PT_LABEL_STRING, .str = text});
}

void pt_marks_picture(pt_marks *m, uint32_t text)
{
    const char *const picture = pt_builder_get_text(m->b, (pt_string_id){text});
    const bool is_picture = pt_is_picture(picture, strlen(picture));
    const uint32_t url = pt_builder_text(m->b, PT_MARKER_DATA "url").v;
    size_t kept = 0;
    for (size_t i = 0; i < m->label.count; i++)
        if (m->label.items[i].key != url) m->label.items[kept++] = m->label.items[i];
    m->label.count = kept;
    if (is_picture) pt_marks_label(m, PT_MARKER_PICTURE, text);
}

void pt_marks_member(pt_marks *m, pt_json_r *r, const char *key, size_t key_bytes)
{
    pt_label label = {.kind = PT_LABEL_STRING};
    if (r->token == PT_JSON_INT)
        label = (pt_label){.kind = PT_LABEL_NUMBER, .num = r->integer};
    else if (r->token == PT_JSON_STRING || r->token == PT_JSON_NUMBER)
        label.str = pt_builder_string(m->b, r->text, r->length).v;
    else if (r->token == PT_JSON_BOOL)
        label.str = pt_builder_text(m->b, r->boolean ? "true" : "false").v;
    const bool is_kept = label.kind == PT_LABEL_NUMBER || label.str != 0;
    pt_json_skip(r);
    if (!is_kept || m->label.count >= LABELS_MAX) return;
    PT_AUTO(pt_buf) name = PT_BUF_INIT;
    pt_put_text(&name, PT_MARKER_DATA);
    pt_put(&name, key, key_bytes);
    label.key = pt_builder_string(m->b, (const char *)name.data, name.size).v;
    PT_PUSH(m->label, label);
}

static uint32_t location_of(pt_marks *m, uint32_t name)
{
    if (name == 0) name = pt_builder_text(m->b, "[unknown]").v;
    return pt_plain_location(m->b, &(pt_function){.name = name}, 0, 0);
}

void pt_marks_put(pt_marks *m, const pt_sample *of, uint32_t name, int64_t length_ns)
{
    size_t depth = 0;
    /* After an error of the builder, the stack of the cause does not exist. */
    const uint32_t *const cause =
        of->stack < pt_builder_stack_count(m->b)
            ? pt_builder_stack_frames(m->b, (pt_stack_id){of->stack}, &depth)
            : NULL;
    m->frame.count = 0;
    PT_PUSH(m->frame, location_of(m, name));
    const uint64_t most = pt_builder_depth_max(m->b);
    pt_stack_end end = PT_STACK_END_UNKNOWN;
    for (size_t i = 0; i < depth && end == PT_STACK_END_UNKNOWN; i++) {
        if (m->frame.count == most)
            end = pt_builder_cut_stack(m->b);
        else
            PT_PUSH(m->frame, cause[i]);
    }
    pt_sample mark = *of;
    mark.stack = pt_builder_stack(m->b, m->frame.items, m->frame.count, end).v;
    pt_marks_label(m, PT_MARKER_LABEL, name);
    mark.labels = pt_builder_labels(m->b, m->label.items, m->label.count).v;
    m->label.count = 0;
    m->values[m->marker] = 1;
    m->values[m->length] = length_ns;
    mark.values = m->values;
    pt_builder_timed_sample(m->b, &mark);
    m->values[m->marker] = m->values[m->length] = 0;
}

void pt_marks_count(pt_marks *m, const pt_sample *of, pt_counter_kind kind, uint32_t name,
                    int64_t change)
{
    if (change == 0) return;
    const uint32_t location = location_of(m, name);
    const pt_label label = {.key = pt_builder_text(m->b, PT_COUNTER_LABEL).v,
                            .kind = PT_LABEL_STRING,
                            .str = name != 0 ? name : pt_builder_text(m->b, "[unknown]").v};
    pt_sample sample = *of;
    sample.stack = pt_builder_stack(m->b, &location, 1, PT_STACK_END_UNKNOWN).v;
    sample.labels = pt_builder_labels(m->b, &label, 1).v;
    m->values[m->counter[kind]] = change;
    sample.values = m->values;
    pt_builder_timed_sample(m->b, &sample);
    m->values[m->counter[kind]] = 0;
}
