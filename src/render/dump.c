/* dump.c: samples as paragraphs of text and as JSON objects. */
#include "render/dump.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/json.h"
#include "render/text.h"

static uint32_t samples_to_write(const pt_profile *p, uint32_t limit)
{
    return limit == 0 || limit > p->sample->t.count ? p->sample->t.count : limit;
}

/* ---- Text ---- */

static void put_values(pt_out *out, const pt_profile *p, uint32_t sample)
{
    for (uint32_t e = 0; e < p->sample->event_count; e++) {
        pt_out_text(out, "  ");
        pt_text_put(out, pt_text(p, p->event->row[e].type), 0);
        pt_outf(out, "=%" PRId64 " ", p->sample->value[e][sample]);
        pt_text_put(out, pt_text(p, p->event->row[e].unit), 0);
    }
}

static void put_optional(pt_out *out, const pt_profile *p, uint32_t i)
{
    const pt_samples *s = p->sample;
    if (s->pid != NULL && s->pid[i] != PT_NONE) pt_outf(out, "  pid %u", s->pid[i]);
    if (s->tid != NULL && s->tid[i] != PT_NONE) pt_outf(out, "  tid %u", s->tid[i]);
    if (s->cpu != NULL && s->cpu[i] != PT_NONE) pt_outf(out, "  on cpu %u", s->cpu[i]);
    if (s->comm != NULL && s->comm[i] != 0) {
        pt_out_text(out, "  comm ");
        pt_text_put(out, pt_text(p, s->comm[i]), 0);
    }
    if (s->time_ns != NULL && s->time_ns[i] != 0)
        pt_outf(out, "  at %" PRId64 ".%09" PRId64, s->time_ns[i] / 1000000000,
                s->time_ns[i] % 1000000000);
}

static void put_labels(pt_out *out, const pt_profile *p, uint32_t set)
{
    for (uint64_t i = p->labels->offset[set]; i < p->labels->offset[set + 1]; i++) {
        const pt_label *label = &p->labels->row[i];
        pt_out_text(out, "  label ");
        pt_text_put(out, pt_text(p, label->key), 0);
        pt_out_text(out, " = ");
        if (label->kind == PT_LABEL_STRING)
            pt_text_put(out, pt_text(p, label->str), 0);
        else
            pt_outf(out, "%" PRId64, label->num);
        if (label->unit != 0) pt_out_char(out, ' ');
        pt_text_put(out, pt_text(p, label->unit), 0);
        pt_out_char(out, '\n');
    }
}

/* Puts the location of a frame without a name. */
static void put_unnamed(pt_out *out, const pt_profile *p, uint32_t location)
{
    char text[256];
    pt_location_text(p, location, false, text, sizeof text);
    pt_text_put(out, text, 0);
}

static void put_line(pt_out *out, const pt_look *look, const pt_profile *p, uint32_t location,
                     uint32_t line)
{
    const uint32_t function = p->line->function[line];
    const bool named = function != PT_NONE && pt_text_bytes(p, p->function->name[function]) > 0;
    if (named)
        pt_text_put(out, pt_text(p, p->function->name[function]), 0);
    else
        put_unnamed(out, p, location);
    if (function == PT_NONE || pt_text_bytes(p, p->function->file[function]) == 0) return;
    pt_text_colour(out, look, PT_COLOUR_QUIET);
    pt_out_text(out, "  ");
    pt_text_put(out, pt_text(p, p->function->file[function]), 0);
    if (p->line->line[line] > 0) pt_outf(out, ":%" PRId64, p->line->line[line]);
    pt_text_colour_end(out, look, PT_COLOUR_QUIET);
}

static void put_frame(pt_out *out, const pt_look *look, const pt_profile *p, uint32_t location)
{
    const uint32_t first = p->location->line_first[location];
    const uint32_t end = p->location->line_first[location + 1];
    if (first == end) {
        pt_out_text(out, "    ");
        put_unnamed(out, p, location);
        pt_out_char(out, '\n');
    }
    for (uint32_t line = first; line < end; line++) {
        pt_out_text(out, "    ");
        put_line(out, look, p, location, line);
        if (line + 1 < end) pt_out_text(out, "  inlined");
        pt_out_char(out, '\n');
    }
}

void pt_dump_samples_text(pt_out *out, const pt_look *look, const pt_profile *p, uint32_t limit)
{
    const uint32_t count = samples_to_write(p, limit);
    for (uint32_t i = 0; i < count && pt_out_ok(out); i++) {
        const uint32_t stack = p->sample->stack[i];
        pt_text_colour(out, look, PT_COLOUR_STRONG);
        pt_outf(out, "sample %u", i);
        put_values(out, p, i);
        pt_text_colour_end(out, look, PT_COLOUR_STRONG);
        put_optional(out, p, i);
        pt_out_char(out, '\n');
        put_labels(out, p, p->sample->labels[i]);
        for (uint32_t f = 0; f < pt_stack_depth(p, stack); f++)
            put_frame(out, look, p, pt_stack_frames(p, stack)[f]);
        if (p->stack->end[stack] != PT_STACK_END_UNKNOWN)
            pt_outf(out, "  end %s\n", pt_stack_end_name((pt_stack_end)p->stack->end[stack]));
        pt_out_char(out, '\n');
    }
    if (count < p->sample->t.count)
        pt_outf(out, "%s more (-n 0)\n", pt_count_of(p->sample->t.count - count).text);
}

/* ---- JSON ---- */

static void json_string(pt_json_w *w, const char *key, const pt_profile *p, uint32_t string)
{
    pt_json_key_text_n(w, key, pt_text(p, string), pt_text_bytes(p, string));
}

static void json_events(pt_json_w *w, const pt_profile *p)
{
    PT_JSON_OBJECTS (w, "events", e, p->event->t.count) {
        json_string(w, "type", p, p->event->row[e].type);
        json_string(w, "unit", p, p->event->row[e].unit);
    }
}

static void json_labels(pt_json_w *w, const pt_profile *p, uint32_t set)
{
    if (set == 0) return;
    pt_json_key_array(w, "labels");
    for (uint64_t i = p->labels->offset[set]; i < p->labels->offset[set + 1]; i++) {
        const pt_label *label = &p->labels->row[i];
        pt_json_object(w);
        json_string(w, "key", p, label->key);
        if (label->kind == PT_LABEL_STRING) {
            json_string(w, "text", p, label->str);
        } else {
            pt_json_key_int(w, "number", label->num);
        }
        if (label->unit != 0) json_string(w, "unit", p, label->unit);
        pt_json_object_end(w);
    }
    pt_json_array_end(w);
}

static void json_id(pt_json_w *w, const char *key, const uint32_t *column, uint32_t i)
{
    if (column == NULL || column[i] == PT_NONE) return;
    pt_json_key_uint(w, key, column[i]);
}

static void json_line(pt_json_w *w, const pt_profile *p, uint32_t line, bool inlined)
{
    const uint32_t function = p->line->function[line];
    if (function != PT_NONE) {
        json_string(w, "function", p, p->function->name[function]);
        if (p->function->file[function] != 0)
            json_string(w, "file", p, p->function->file[function]);
    }
    if (p->line->line[line] != 0) {
        pt_json_key_int(w, "line", p->line->line[line]);
    }
    if (inlined) {
        pt_json_key_bool(w, "inlined", true);
    }
}

/* Puts an object for each function of a location. An inlined function has the address of the frame
 * into which it was inlined. */
static void json_frame(pt_json_w *w, const pt_profile *p, uint32_t location)
{
    const uint32_t first = p->location->line_first[location];
    const uint32_t end = p->location->line_first[location + 1];
    const uint32_t mapping = p->location->mapping[location];
    for (uint32_t line = first; line < end || line == first; line++) {
        pt_json_object(w);
        if (line < end) json_line(w, p, line, line + 1 < end);
        if (p->location->address[location] != 0) {
            char text[24];
            snprintf(text, sizeof text, "0x%" PRIx64, p->location->address[location]);
            pt_json_key_text(w, "address", text);
        }
        if (mapping != PT_NONE) json_string(w, "object", p, p->mapping->row[mapping].file);
        pt_json_object_end(w);
    }
}

static void json_sample(pt_json_w *w, const pt_profile *p, uint32_t i)
{
    const pt_samples *s = p->sample;
    const uint32_t stack = s->stack[i];
    pt_json_object(w);
    PT_JSON_EACH (w, "values", e, s->event_count)
        pt_json_int(w, s->value[e][i]);
    json_id(w, "pid", s->pid, i);
    json_id(w, "tid", s->tid, i);
    json_id(w, "cpu", s->cpu, i);
    if (s->comm != NULL && s->comm[i] != 0) json_string(w, "comm", p, s->comm[i]);
    if (s->time_ns != NULL && s->time_ns[i] != 0) {
        pt_json_key_int(w, "time_ns", s->time_ns[i]);
    }
    json_labels(w, p, s->labels[i]);
    PT_JSON_EACH (w, "frames", f, pt_stack_depth(p, stack))
        json_frame(w, p, pt_stack_frames(p, stack)[f]);
    pt_json_key_text(w, "end", pt_stack_end_name((pt_stack_end)p->stack->end[stack]));
    pt_json_object_end(w);
}

void pt_dump_samples_json(pt_out *out, const pt_profile *p, uint32_t limit)
{
    pt_json_w w;
    pt_json_w_init(&w, out, 0);
    pt_json_object(&w);
    pt_json_key_int(&w, "schema", PT_DUMP_SCHEMA);
    json_events(&w, p);
    pt_json_key_array(&w, "samples");
    const uint32_t count = samples_to_write(p, limit);
    for (uint32_t i = 0; i < count && pt_out_ok(out); i++)
        json_sample(&w, p, i);
    pt_json_array_end(&w);
    pt_json_object_end(&w);
    pt_json_w_done(&w);
    pt_out_char(out, '\n');
}
