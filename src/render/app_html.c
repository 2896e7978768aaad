/* app_html.c: see app_html.h. The data are JSON in a script element that nothing runs. */
#include "render/app_html.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "render/embed.h"

static void put_event(pt_json_w *w, const pt_profile *p, uint32_t event)
{
    const pt_event *row = &p->event->row[event];
    pt_json_object(w);
    pt_json_key_text_n(w, "type", pt_text(p, row->type), pt_text_bytes(p, row->type));
    pt_json_key_text_n(w, "unit", pt_text(p, row->unit), pt_text_bytes(p, row->unit));
    pt_json_object_end(w);
}

/* Puts the reports that the file holds: "top": REPORT, "peek": {"main": REPORT, ...} */
static void put_answers(pt_json_w *w, const pt_app *app)
{
    pt_json_key_object(w, "answers");
    const char *open = NULL; /* the kind whose functions are being put */
    for (size_t i = 0; i < app->answer_count; i++) {
        const pt_app_answer *answer = &app->answers[i];
        if (open != NULL && strcmp(open, answer->report) != 0) {
            pt_json_object_end(w);
            open = NULL;
        }
        if (answer->function != NULL && open == NULL) {
            pt_json_key_object(w, answer->report);
            open = answer->report;
        }
        pt_json_key(w, answer->function != NULL ? answer->function : answer->report);
        pt_json_copy(w, answer->json.data, answer->json.size);
    }
    if (open != NULL) pt_json_object_end(w);
    pt_json_object_end(w);
}

/* Puts "live": null, or "live": {"state": "recording", "seconds": 12, "growth": "8fa0"} */
static void put_live(pt_json_w *w, const pt_app *app)
{
    char growth[24];
    pt_json_key(w, "live");
    if (app->live == NULL) return pt_json_null(w);
    snprintf(growth, sizeof growth, "%" PRIx64, app->growth);
    pt_json_object(w);
    pt_json_key_text(w, "state", app->live);
    if (app->seconds >= 0) pt_json_key_int(w, "seconds", app->seconds);
    pt_json_key_text(w, "growth", growth); /* numbers of JavaScript have 53 bits */
    pt_json_object_end(w);
}

static void put_facts(pt_json_w *w, const pt_app *app)
{
    const pt_profile *const profile = app->profile;
    const uint32_t event = pt_profile_default_event(profile);
    pt_json_key_text(w, "title", app->title);
    pt_json_key_text(w, "version", app->version);
    pt_json_key(w, "before");
    if (app->before != NULL)
        pt_json_text(w, app->before);
    else
        pt_json_null(w);
    pt_json_key_bool(w, "times", app->has_times);
    pt_json_key_uint(w, "files", app->file_bytes);
    put_live(w, app);
    PT_JSON_EACH (w, "events", e, profile->event->t.count)
        put_event(w, profile, e);
    pt_json_key_uint(w, "event", event != PT_NONE ? event : 0);
}

void pt_render_app_facts(pt_out *out, const pt_app *app)
{
    PT_AUTO(pt_json_w) w;
    pt_json_w_init(&w, out, 0);
    pt_json_object(&w);
    put_facts(&w, app);
    pt_json_object_end(&w);
}

void pt_render_app_html(pt_out *out, const pt_app *app)
{
    const char *const rest = pt_embed_until_data(out, pt_embed_app_html, pt_embed_app_html_end);
    pt_json_w w;
    pt_json_w_init(&w, out, PT_JSON_IN_HTML);
    pt_json_object(&w);
    put_facts(&w, app);
    if (app->query != NULL) pt_json_key_text(&w, "query", app->query);
    if (app->answers != NULL) put_answers(&w, app);
    pt_json_object_end(&w);
    pt_json_w_done(&w);
    pt_out_put(out, rest, (size_t)(pt_embed_app_html_end - rest));
}
