/* print_set_stats.c: prints a row for each procedure or image. */
#include "personality/dcpi/print_set_stats.h"

#include "base/json.h"
#include "personality/dcpi/print_counts.h"
#include "render/report.h"
#include "render/text.h"

void pt_set_stats_text(pt_out *out, const pt_look *look, const pt_set_table *t)
{
    const pt_set_stats *const s = t->stats;
    pt_out_text(out, "samples of type ");
    pt_text_put(out, t->event, 0);
    pt_out_char(out, '\n');
    for (size_t i = 0; i < s->set_count; i++) {
        pt_outf(out, "set %zu = %.0f  ", i + 1, s->total[i]);
        pt_text_put(out, t->title[i], 0);
        pt_out_char(out, '\n');
    }
    pt_outf(out, "total %.0f of %zu sets\n", s->sum, s->set_count);
    pt_outf(out, "%8s %12s %8s %4s %12s %11s %10s %10s  %s\n", "range%", "sum", "sum%", "N", "mean",
            "std-dev", "min", "max", t->images ? "image" : "procedure                    image");
    for (size_t i = 0; i < t->rows && pt_out_ok(out); i++) {
        const pt_set_row *const r = &s->row[i];
        pt_outf(out, "%7.2f%% %12.0f %7.2f%% %4u %12.1f %11.2f %10.0f %10.0f  ", 100 * r->range,
                r->sum, 100 * r->share, r->sets, r->mean, r->deviation, r->min, r->max);
        if (!t->images) {
            const char *const name = pt_counts_name(r->name);
            pt_text_put_name(out, look, name, look->long_names ? 0 : 60);
            const size_t used = pt_text_width(name);
            pt_text_pad(out, used < 28 ? 29 - used : 1);
        }
        pt_text_put(out, pt_counts_name(r->path), 0);
        pt_out_char(out, '\n');
    }
    if (t->more > 0) pt_outf(out, "%s more (-n 0)\n", pt_count_of(t->more).text);
}

void pt_set_stats_csv(pt_out *out, const pt_set_table *t)
{
    pt_out_text(out, "range,sum,share,sets,mean,deviation,min,max,procedure,image\n");
    for (size_t i = 0; i < t->rows && pt_out_ok(out); i++) {
        const pt_set_row *const r = &t->stats->row[i];
        pt_outf(out, "%.6g,%.15g,%.6g,%u,%.15g,%.6g,%.15g,%.15g,", r->range, r->sum, r->share,
                r->sets, r->mean, r->deviation, r->min, r->max);
        pt_csv_put(out, r->name);
        pt_out_char(out, ',');
        pt_csv_put(out, r->path);
        pt_out_char(out, '\n');
    }
}

void pt_set_stats_json(pt_out *out, const pt_set_table *t)
{
    PT_AUTO(pt_json_w) w;
    pt_report_json_begin(&w, out, "dcpistats");
    pt_json_key_text(&w, "event", t->event);
    PT_JSON_OBJECTS (&w, "sets", i, t->stats->set_count) {
        pt_json_key_text(&w, "name", t->title[i]);
        pt_json_key_double(&w, "total", t->stats->total[i]);
    }
    PT_JSON_OBJECTS (&w, "rows", i, t->rows) {
        const pt_set_row *const r = &t->stats->row[i];
        pt_json_key_text(&w, "procedure", r->name);
        pt_json_key_text(&w, "image", r->path);
        pt_json_key_double(&w, "range", r->range);
        pt_json_key_double(&w, "sum", r->sum);
        pt_json_key_double(&w, "share", r->share);
        pt_json_key_uint(&w, "sets", r->sets);
        pt_json_key_double(&w, "mean", r->mean);
        pt_json_key_double(&w, "deviation", r->deviation);
        pt_json_key_double(&w, "min", r->min);
        pt_json_key_double(&w, "max", r->max);
        pt_json_key_array(&w, "values");
        for (size_t k = 0; k < t->stats->set_count; k++)
            pt_json_double(&w, r->value[k]);
        pt_json_array_end(&w);
    }
    pt_json_key_uint(&w, "more", t->more);
    pt_json_object_end(&w);
}
