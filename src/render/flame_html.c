/* flame_html.c: the page with the data in place of its marker. The data are one JSON object inside
 * a script element of type application/json: so no part of the data runs as code. The data have no
 * "<", so that no name can end the element.
 */
#include "render/flame_html.h"

#include <string.h>

#include "base/json.h"
#include "render/embed.h"

static void put_string(pt_json_w *w, const pt_flame *f, uint32_t string)
{
    pt_json_text_n(w, pt_flame_text(f, string), pt_flame_text_bytes(f, string));
}

/* A column of numbers; a macro, since columns differ in type. */
#define PUT_COLUMN(w, name, count, item)                                                           \
    PT_JSON_EACH (w, name, i, count)                                                               \
    pt_json_int(w, (item))

static void put_fact(void *context, const char *text)
{
    pt_json_text(context, text);
}

static void put_head(pt_json_w *w, const pt_flame *f, const pt_report_head *head)
{
    pt_json_key_int(w, "schema", 1);
    pt_json_key_text(w, "title", head->title);
    pt_json_key_object(w, "event");
    pt_json_key(w, "type");
    put_string(w, f, f->event_type);
    pt_json_key(w, "unit");
    put_string(w, f, f->event_unit);
    pt_json_object_end(w);
    pt_json_key_int(w, "total", f->total);
    pt_json_key_int(w, "whole", f->whole);
    if (f->total_base != NULL) pt_json_key_int(w, "base", f->base);
    pt_json_key_bool(w, "totals_known", head->summary.has_stacks);
    pt_json_key_array(w, "facts");
    pt_report_facts(head, put_fact, w);
    pt_json_array_end(w);
    pt_report_profile_json(w, head);
    PT_JSON_EACH (w, "strings", i, f->string_count)
        put_string(w, f, i);
}

static void put_frames(pt_json_w *w, const pt_flame *f)
{
    pt_json_key_object(w, "groups");
    PUT_COLUMN(w, "name", f->group_count, f->group[i].name);
    PUT_COLUMN(w, "hue", f->group_count, f->group[i].hue);
    pt_json_object_end(w);
    pt_json_key_object(w, "frames");
    PUT_COLUMN(w, "name", f->frame_count, f->frame[i].name);
    PUT_COLUMN(w, "file", f->frame_count, f->frame[i].file);
    PUT_COLUMN(w, "line", f->frame_count, f->frame[i].line);
    PUT_COLUMN(w, "module", f->frame_count, f->frame[i].module);
    PUT_COLUMN(w, "group", f->frame_count, f->frame[i].group);
    PUT_COLUMN(w, "kind", f->frame_count, f->frame[i].kind);
    PUT_COLUMN(w, "shade", f->frame_count, f->frame[i].shade);
    pt_json_object_end(w);
}

static void put_nodes(pt_json_w *w, const pt_flame *f)
{
    pt_json_key_object(w, "nodes");
    PUT_COLUMN(w, "parent", f->node_count, f->parent[i]);
    PUT_COLUMN(w, "frame", f->node_count, f->node_frame[i]);
    PUT_COLUMN(w, "self", f->node_count, f->self[i]);
    PUT_COLUMN(w, "total", f->node_count, f->node_total[i]);
    if (f->total_base != NULL) {
        PUT_COLUMN(w, "self_base", f->node_count, f->self_base[i]);
        PUT_COLUMN(w, "total_base", f->node_count, f->total_base[i]);
    }
    if (f->start != NULL) PUT_COLUMN(w, "start", f->node_count, (int64_t)f->start[i]);
    pt_json_object_end(w);
    if (f->start != NULL) {
        pt_json_key_object(w, "narrow");
        PUT_COLUMN(w, "parent", f->narrow_count, f->narrow[i].parent);
        PUT_COLUMN(w, "start", f->narrow_count, (int64_t)f->narrow[i].start);
        PUT_COLUMN(w, "width", f->narrow_count, (int64_t)f->narrow[i].width);
        pt_json_object_end(w);
    }
    pt_json_key_object(w, "cut");
    pt_json_key_uint(w, "nodes", f->cut_nodes);
    pt_json_key_int(w, "total", f->cut_total);
    pt_json_object_end(w);
}

static void put_functions(pt_json_w *w, const pt_flame *f)
{
    pt_json_key_object(w, "functions");
    PUT_COLUMN(w, "name", f->function_count, f->function[i].name);
    PUT_COLUMN(w, "self", f->function_count, f->function[i].self);
    PUT_COLUMN(w, "total", f->function_count, f->function[i].total);
    pt_json_key_uint(w, "more", f->more_functions);
    pt_json_object_end(w);
}

void pt_render_flame_json(pt_out *out, const pt_flame *f, const pt_report_head *head)
{
    PT_AUTO(pt_json_w) w;
    pt_json_w_init(&w, out, PT_JSON_IN_HTML);
    pt_json_object(&w);
    put_head(&w, f, head);
    put_frames(&w, f);
    put_nodes(&w, f);
    put_functions(&w, f);
    pt_json_object_end(&w);
}

void pt_render_flame_html(pt_out *out, const pt_flame *flame, const pt_report_head *head)
{
    const char *const rest = pt_embed_until_data(out, pt_embed_flame_html, pt_embed_flame_html_end);
    pt_render_flame_json(out, flame, head);
    pt_out_put(out, rest, (size_t)(pt_embed_flame_html_end - rest));
}
