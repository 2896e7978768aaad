/* head.c: the lines above every report: the profile, its values, and the quality of its stacks.
 *
 *     pitot.pb.gz: cpu, 12.3s in 3.10s, 12,340 samples at 1000 Hz
 *     complete stacks 90.1%, unchecked 9.7%, unnamed 0.3%, 12 samples lost
 *     --focus=parse: 1.20s of it, 9.7% (1,200 samples)
 *     callers and callees are of 12 call arcs, which have ...
 */
#include <math.h>
#include <stdarg.h>
#include <string.h>

#include "base/units.h"
#include "render/report.h"
#include "render/value.h"

static void format_fact(pt_fact_fn *tell, void *context, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
static void format_fact(pt_fact_fn *tell, void *context, const char *format, ...)
{
    PT_AUTO(pt_buf) text = PT_BUF_INIT;
    va_list args;
    va_start(args, format);
    pt_vputf(&text, format, args);
    va_end(args);
    tell(context, pt_buf_text(&text));
}

static void put_samples(pt_out *out, int64_t count)
{
    pt_outf(out, "%s", pt_count_noun((uint64_t)count, "samples").text);
}

/* If the event is the samples themselves, their number is the total. */
static void put_title_and_total(pt_out *out, const pt_report_head *head)
{
    const pt_summary *s = &head->summary;
    const bool counts_samples = s->kind == PT_EVENT_COUNT && strcmp(s->type, "samples") == 0;
    pt_text_put(out, head->title, 0);
    pt_out_text(out, ": ");
    if (!counts_samples) {
        pt_text_put(out, s->type[0] != '\0' ? s->type : "value", 0);
        pt_outf(out, ", %s", pt_value_of(s->unit, s->total).text);
    } else {
        put_samples(out, s->samples);
    }
    if (s->duration_ns > 0) pt_outf(out, " in %s", pt_value_of("nanoseconds", s->duration_ns).text);
    for (size_t k = 0; k < s->part_count; k++) {
        pt_out_text(out, k > 0 ? ", " : ": ");
        pt_text_put(out, s->part_type[k], 0);
        pt_outf(out, " %s", pt_value_of(s->unit, s->part_total[k]).text);
    }
    if (!counts_samples) {
        pt_out_text(out, ", ");
        put_samples(out, s->samples);
    }
    if (s->rate_hz > 0) pt_outf(out, " at %.4g Hz", s->rate_hz);
    pt_out_char(out, '\n');
}

static void pass_quality_facts(const pt_summary *s, pt_fact_fn *tell, void *context)
{
    if (s->ends_known)
        format_fact(tell, context, "complete stacks %s", pt_percent_of(s->complete_share).text);
    if (s->unchecked_share > 0)
        format_fact(tell, context, "unchecked %s", pt_percent_of(s->unchecked_share).text);
    format_fact(tell, context, "unnamed %s", pt_percent_of(s->unnamed_share).text);
    if (s->cpu_used_ns > 0 && s->cpu_seen_ns > 0)
        format_fact(tell, context, "CPU time seen %s of %s",
                    pt_value_of("nanoseconds", s->cpu_seen_ns).text,
                    pt_value_of("nanoseconds", s->cpu_used_ns).text);
    if (s->lost > 0) format_fact(tell, context, "%s lost", pt_count_noun(s->lost, "samples").text);
    if (s->damaged) tell(context, "damaged file: only a part of it was read");
}

void pt_report_facts(const pt_report_head *head, pt_fact_fn *tell, void *context)
{
    const pt_summary *s = &head->summary;
    if (head->query[0] != '\0')
        format_fact(tell, context, "%.1f%% of the profile: %s", 100 * head->kept_share,
                    head->query);
    format_fact(tell, context, "%s in %s", pt_count_noun((uint64_t)s->samples, "samples").text,
                pt_count_noun(s->stacks, "distinct stacks").text);
    if (s->duration_ns > 0)
        format_fact(tell, context, "%s long", pt_value_of("nanoseconds", s->duration_ns).text);
    if (!s->has_stacks) tell(context, "no stacks: what a function's calls cost is not known");
    pass_quality_facts(s, tell, context);
}

typedef struct {
    pt_out *out;
    bool has_one;
} fact_line;

static void put_fact(void *context, const char *text)
{
    fact_line *line = context;
    pt_outf(line->out, "%s%s", line->has_one ? ", " : "", text);
    line->has_one = true;
}

static void put_query(pt_out *out, const pt_report_head *head)
{
    pt_text_put(out, head->query, 0);
    pt_outf(out, ": %s of it, ", pt_value_of(head->summary.unit, head->kept_total).text);
    pt_outf(out, "%s (", pt_percent_of(head->kept_share).text);
    put_samples(out, head->kept);
    pt_out_text(out, head->relative ? "); percentages are of these\n" : ")\n");
}

/* Puts the source of callers and callees when the profile has no stacks. */
static void put_calls(pt_out *out, const pt_summary *s)
{
    pt_outf(out, "no stacks: callers and callees are of %s, which have ",
            pt_count_noun(s->arcs, "call arcs").text);
    pt_out_text(out, s->arc_costs ? "the number of calls and what they cost with all that they "
                                    "called\n"
                                  : "the number of calls but not what they cost (-)\n");
}

void pt_report_facts_text(pt_out *out, const pt_report_head *head)
{
    put_title_and_total(out, head);
    fact_line line = {.out = out};
    pass_quality_facts(&head->summary, put_fact, &line);
    pt_out_char(out, '\n');
    if (head->query[0] != '\0') put_query(out, head);
    if (head->shows_calls) put_calls(out, &head->summary);
}

void pt_report_head_text(pt_out *out, const pt_look *look, const pt_report_head *head)
{
    PT_AUTO(pt_buf) text = PT_BUF_INIT;
    pt_out to_text;
    pt_out_to_buf(&to_text, &text);
    pt_report_facts_text(&to_text, head);
    pt_out_done(&to_text, NULL);
    pt_text_colour(out, look, PT_COLOUR_QUIET);
    pt_text_put_lines(out, look, 2, &text);
    pt_text_colour_end(out, look, PT_COLOUR_QUIET);
    pt_out_char(out, '\n');
}

/* A fact, or null if the source lacks it. */
static void put_known(pt_json_w *w, const char *key, double value, bool known)
{
    pt_json_key_double(w, key, known ? value : NAN);
}

void pt_report_json_begin(pt_json_w *w, pt_out *out, const char *name)
{
    pt_json_w_init(w, out, PT_JSON_INDENT);
    pt_json_object(w);
    pt_json_key_int(w, "schema", PT_REPORT_SCHEMA);
    pt_json_key_text(w, "report", name);
}

void pt_report_head_json(pt_json_w *w, const char *name, const pt_report_head *head)
{
    pt_json_object(w);
    pt_json_key_int(w, "schema", PT_REPORT_SCHEMA);
    pt_json_key_text(w, "report", name);
    pt_report_profile_json(w, head);
}

void pt_report_profile_json(pt_json_w *w, const pt_report_head *head)
{
    const pt_summary *s = &head->summary;
    pt_json_key_object(w, "profile");
    pt_json_key_text(w, "name", head->title);
    pt_json_key_text(w, "event", s->type);
    pt_json_key_text(w, "unit", s->unit);
    pt_json_key_int(w, "total", s->total);
    pt_json_key_int(w, "samples", s->samples);
    pt_json_key_int(w, "rows", s->rows);
    pt_json_key_int(w, "stacks", s->stacks);
    if (s->part_count > 0) pt_json_key_array(w, "parts");
    for (size_t k = 0; k < s->part_count; k++) {
        pt_json_object(w);
        pt_json_key_text(w, "event", s->part_type[k]);
        pt_json_key_int(w, "total", s->part_total[k]);
        pt_json_object_end(w);
    }
    if (s->part_count > 0) pt_json_array_end(w);
    put_known(w, "duration_ns", (double)s->duration_ns, s->duration_ns > 0);
    put_known(w, "rate_hz", s->rate_hz, s->rate_hz > 0);
    put_known(w, "complete_share", s->complete_share, s->ends_known);
    put_known(w, "unchecked_share", s->unchecked_share, s->ends_known);
    pt_json_key_double(w, "unnamed_share", s->unnamed_share);
    put_known(w, "cpu_used_ns", (double)s->cpu_used_ns, s->cpu_used_ns > 0);
    put_known(w, "cpu_seen_ns", (double)s->cpu_seen_ns, s->cpu_used_ns > 0);
    if (head->shows_calls) {
        pt_json_key_int(w, "call_arcs", s->arcs);
        pt_json_key_bool(w, "call_arcs_have_cost", s->arc_costs);
    }
    pt_json_key_uint(w, "lost", s->lost);
    pt_json_key_bool(w, "damaged", s->damaged);
    pt_json_object_end(w);
    pt_json_key_text(w, "query", head->query);
    pt_json_key_int(w, "kept_samples", head->kept);
    pt_json_key_int(w, "kept_total", head->kept_total);
    pt_json_key_double(w, "kept_share", head->kept_share);
    pt_json_key_bool(w, "relative", head->relative);
}
