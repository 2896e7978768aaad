/* losses.c: see losses.h. */
#include "render/losses.h"

#include "render/report.h"

static void put_facts(pt_json_w *w, const char *key, const pt_diag *facts)
{
    PT_JSON_OBJECTS (w, key, i, facts->count) {
        pt_json_key_uint(w, "count", facts->facts[i].count);
        pt_json_key_text(w, "what", facts->facts[i].text);
    }
}

void pt_losses_json(pt_out *out, const char *format, bool is_written, const pt_diag *losses,
                    const pt_diag *changes)
{
    PT_AUTO(pt_json_w) w;
    pt_report_json_begin(&w, out, "losses");
    pt_json_key_text(&w, "format", format);
    pt_json_key_bool(&w, "written", is_written);
    put_facts(&w, "losses", losses);
    put_facts(&w, "changes", changes);
    pt_json_object_end(&w);
}
