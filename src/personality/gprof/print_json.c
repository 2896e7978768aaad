/* print_json.c: flat profile and call graph for programs. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "personality/gprof/print.h"

#define SCHEMA 1

static double in_units(const pt_gprof_look *look, double ticks)
{
    return look->rate > 0 ? ticks / look->rate : ticks;
}

static void put_arcs(pt_json_w *w, const pt_gprof_look *look, pt_gprof *g, const uint32_t *arcs,
                     uint32_t count, bool callers)
{
    PT_JSON_OBJECTS (w, callers ? "callers" : "callees", i, count) {
        const pt_gprof_arc *const arc = &g->arc.items[arcs[i]];
        const pt_gprof_symbol *const other = &g->symbol.items[callers ? arc->from : arc->to];
        pt_json_key_uint(w, "number", other->number);
        pt_json_key_text(w, "name", pt_gprof_name(g, other));
        pt_json_key_uint(w, "calls", arc->calls);
        pt_json_key_double(w, "self", in_units(look, arc->ticks));
        pt_json_key_double(w, "children", in_units(look, arc->child_ticks));
        if (g->stack.count > 0) pt_json_key_double(w, "true", in_units(look, arc->true_ticks));
    }
}

static void put_place(pt_json_w *w, const pt_gprof *g, const pt_gprof_symbol *s)
{
    char address[24];
    snprintf(address, sizeof address, "0x%" PRIx64, s->addr);
    pt_json_key_text(w, "address", address);
    if (s->file == PT_NONE) return;
    pt_json_key_text(w, "file", g->file.items[s->file]);
    pt_json_key_uint(w, "line", s->line);
}

static void put_times(pt_json_w *w, const pt_gprof_look *look, const pt_gprof *g,
                      const pt_gprof_symbol *s)
{
    pt_json_key_double(w, "self", in_units(look, s->shown_self));
    pt_json_key_double(w, "children", in_units(look, s->shown_child));
    if (g->stack.count > 0) pt_json_key_double(w, "true", in_units(look, s->true_ticks));
    pt_json_key_uint(w, "calls", s->calls);
    pt_json_key_uint(w, "self_calls", s->self_calls);
}

static void put_function(pt_json_w *w, const pt_gprof_look *look, pt_gprof *g,
                         const pt_gprof_symbol *s)
{
    pt_json_object(w);
    if (g->has_arcs) pt_json_key_uint(w, "number", s->number);
    pt_json_key_text(w, "name", pt_gprof_name(g, s));
    if (strcmp(pt_gprof_name(g, s), s->name) != 0) pt_json_key_text(w, "linkage_name", s->name);
    put_place(w, g, s);
    pt_json_key_double(w, "ticks", s->ticks);
    put_times(w, look, g, s);
    if (s->cycle != 0) pt_json_key_uint(w, "cycle", s->cycle);
    if (g->has_arcs) {
        PT_FREE uint32_t *callers = pt_gprof_callers(g, s);
        PT_FREE uint32_t *callees = pt_gprof_callees(g, s);
        put_arcs(w, look, g, callers, s->in_count, true);
        put_arcs(w, look, g, callees, s->out_count, false);
    }
    pt_json_object_end(w);
}

static void put_cycles(pt_json_w *w, const pt_gprof_look *look, pt_gprof *g)
{
    PT_JSON_OBJECTS (w, "cycles", i, g->cycle_count) {
        const pt_gprof_symbol *const cycle = &g->symbol.items[g->symbol.count + i];
        PT_FREE uint32_t *members = pt_gprof_members(g, cycle);
        pt_json_key_uint(w, "cycle", cycle->cycle);
        pt_json_key_uint(w, "number", cycle->number);
        put_times(w, look, g, cycle);
        pt_json_key_array(w, "members");
        for (uint32_t k = 0; k < cycle->member_count; k++)
            pt_json_uint(w, g->symbol.items[members[k]].number);
        pt_json_array_end(w);
    }
}

void pt_gprof_json(pt_out *out, const pt_gprof_look *look, pt_gprof *g)
{
    PT_AUTO(pt_json_w) w;
    pt_json_w_init(&w, out, PT_JSON_INDENT);
    pt_json_object(&w);
    pt_json_key_uint(&w, "schema", SCHEMA);
    pt_json_key_text(&w, "report", "gprof");
    pt_json_key_text(&w, "unit", look->rate > 0 ? look->dimension : "ticks");
    pt_json_key_double(&w, "rate", look->rate);
    pt_json_key_double(&w, "total", in_units(look, g->ticks));
    if (g->stack.count > 0) {
        pt_json_key_double(&w, "true_total", in_units(look, g->true_ticks));
        pt_json_key_bool(&w, "calls_are_samples", g->is_sampled);
    }
    pt_json_key_uint(&w, "lost_ticks", g->lost_ticks);
    pt_json_key_uint(&w, "lost_arcs", g->lost_arcs);
    pt_json_key_array(&w, "functions");
    PT_FREE uint32_t *order = pt_gprof_flat_order(g);
    for (size_t i = 0; i < g->symbol.count; i++) {
        const pt_gprof_symbol *const s = &g->symbol.items[order[i]];
        const bool is_used = s->calls != 0 || s->self_calls != 0 || s->ticks != 0 ||
                             s->shown_child != 0 || s->true_ticks != 0;
        if (pt_gprof_wants(g, s, PT_GPROF_SHOW_FLAT) && (look->all || is_used))
            put_function(&w, look, g, s);
    }
    pt_json_array_end(&w);
    put_cycles(&w, look, g);
    pt_json_object_end(&w);
}
