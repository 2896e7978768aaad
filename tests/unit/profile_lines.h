/* profile_lines.h: a profile as lines of text for comparisons:
 *
 *   leaf@file:line<caller=value,value {key=text}        a sample
 *   from@file:line>to@file:line calls=3 cost=20         an arc */
#pragma once

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "model/profile.h"

static inline void lines_put_location(pt_buf *into, const pt_profile *p, uint32_t location)
{
    const uint32_t from = p->location->line_first[location];
    const uint32_t to = p->location->line_first[location + 1];
    if (from == to) pt_putf(into, "0x%" PRIx64, p->location->address[location]);
    for (uint32_t i = from; i < to; i++) {
        const uint32_t f = p->line->function[i];
        pt_putf(into, "%s%s", i > from ? "/" : "", pt_text(p, p->function->name[f]));
        const char *const file = pt_text(p, p->function->file[f]);
        if (file[0] != '\0') pt_putf(into, "@%s", file);
        if (p->line->line[i] != 0) pt_putf(into, ":%" PRId64, p->line->line[i]);
    }
}

static inline void lines_put_labels(pt_buf *into, const pt_profile *p, uint32_t set)
{
    for (uint64_t i = p->labels->offset[set]; i < p->labels->offset[set + 1]; i++) {
        const pt_label *const label = &p->labels->row[i];
        pt_putf(into, " {%s=", pt_text(p, label->key));
        if (label->kind == PT_LABEL_STRING)
            pt_putf(into, "%s}", pt_text(p, label->str));
        else
            pt_putf(into, "%" PRId64 "%s}", label->num, pt_text(p, label->unit));
    }
}

/* To be freed. */
static inline char *profile_lines(const pt_profile *p)
{
    pt_buf into = PT_BUF_INIT;
    for (uint32_t i = 0; i < p->sample->t.count; i++) {
        const uint32_t stack = p->sample->stack[i];
        for (uint32_t k = 0; k < pt_stack_depth(p, stack); k++) {
            if (k > 0) pt_put_u8(&into, '<');
            lines_put_location(&into, p, pt_stack_frames(p, stack)[k]);
        }
        for (uint32_t e = 0; e < p->event->t.count; e++)
            pt_putf(&into, "%s%" PRId64, e > 0 ? "," : "=", p->sample->value[e][i]);
        lines_put_labels(&into, p, p->sample->labels[i]);
        pt_put_u8(&into, '\n');
    }
    for (uint32_t i = 0; i < p->arc->t.count; i++) {
        lines_put_location(&into, p, p->arc->from[i]);
        pt_put_u8(&into, '>');
        lines_put_location(&into, p, p->arc->to[i]);
        pt_putf(&into, " calls=%" PRIu64, p->arc->calls[i]);
        for (uint32_t e = 0; e < p->arc->event_count; e++)
            if (p->arc->cost[e]) pt_putf(&into, " cost=%" PRId64, p->arc->cost[e][i]);
        pt_put_u8(&into, '\n');
    }
    pt_put_u8(&into, '\0');
    return pt_buf_take(&into, NULL);
}

/* "type/unit type/unit". To be freed. */
static inline char *event_names(const pt_profile *p)
{
    pt_buf into = PT_BUF_INIT;
    for (uint32_t e = 0; e < p->event->t.count; e++)
        pt_putf(&into, "%s%s/%s", e > 0 ? " " : "", pt_text(p, p->event->row[e].type),
                pt_text(p, p->event->row[e].unit));
    pt_put_u8(&into, '\0');
    return pt_buf_take(&into, NULL);
}

#define ASSERT_LINES(profile, ...)                                                                 \
    do {                                                                                           \
        char *const got_ = profile_lines(profile);                                                 \
        assert_string_equal(got_, __VA_ARGS__);                                                    \
        free(got_);                                                                                \
    } while (0)
#define ASSERT_EVENTS(profile, ...)                                                                \
    do {                                                                                           \
        char *const got_ = event_names(profile);                                                   \
        assert_string_equal(got_, __VA_ARGS__);                                                    \
        free(got_);                                                                                \
    } while (0)
