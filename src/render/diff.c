/* diff.c: what changed, by how much, and how sure that is.
 *
 *     a.pb.gz -> b.pb.gz: cpu, 4.65s -> 4.80s, +150ms (+3.2%), 95% interval -40ms to +340ms: noise
 *     4,650 -> 4,800 samples; 2 of 61 functions changed by more than noise (~ marks noise)
 *
 *      self   after  change    +-95%               total   +-95%   function
 *     1.20s   1.51s  +310ms    102ms   +25.8%     +310ms   110ms   parse  parse.c:12
 *     100ms   110ms   +10ms     28ms   +10.0% ~    +10ms    28ms ~ emit  emit.c:3
 */
#include "render/diff.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "render/text.h"
#include "render/value.h"

static int64_t whole_number(double value)
{
    if (!(fabs(value) < 9e18)) return value < 0 ? INT64_MIN : INT64_MAX;
    return (int64_t)llround(value);
}

static pt_value_text value_of(const char *unit, double value)
{
    return pt_value_of(unit, whole_number(value));
}

/* "+12ms", "-3", "0" */
static pt_value_text change_text(const char *unit, double value)
{
    pt_value_text text = value_of(unit, value), with_sign;
    snprintf(with_sign.text, sizeof with_sign.text, "%s%.46s", whole_number(value) > 0 ? "+" : "",
             text.text);
    return with_sign;
}

/* How much of what it was before; "new" and "gone" where there was nothing or is nothing. */
static pt_percent part_of(const pt_change *c)
{
    pt_percent p = {""};
    if (c->value[PT_BEFORE] == 0 && c->value[PT_AFTER] != 0) {
        snprintf(p.text, sizeof p.text, "new");
    } else if (c->value[PT_BEFORE] != 0 && c->value[PT_AFTER] == 0) {
        snprintf(p.text, sizeof p.text, "gone");
    } else if (c->value[PT_BEFORE] != 0) {
        const double share = c->change / fabs(c->value[PT_BEFORE]);
        snprintf(p.text, sizeof p.text, "%s%.14s", share > 0 ? "+" : "", pt_percent_of(share).text);
    }
    return p;
}

static bool has_any(const pt_change *c)
{
    return c->value[PT_BEFORE] != 0 || c->value[PT_AFTER] != 0;
}

static double half_of(const pt_change *c)
{
    return (c->interval.high - c->interval.low) / 2;
}

char *pt_change_text(const pt_change *c, const char *unit, double confidence)
{
    const pt_percent part = part_of(c);
    pt_buf buf = PT_BUF_INIT;
    pt_putf(&buf, "%s", change_text(unit, c->change).text);
    if (part.text[0] != '\0') pt_putf(&buf, " (%s)", part.text);
    if (!isnan(c->p))
        pt_putf(&buf, ", %g%% interval %s to %s", 100 * confidence,
                change_text(unit, c->interval.low).text, change_text(unit, c->interval.high).text);
    return pt_buf_take(&buf, NULL);
}

/* ---- Text ---- */

static uint64_t whole_count(double count)
{
    return count < 0x1p63 ? (uint64_t)count : INT64_MAX;
}

/* Is a fifth of the samples or more lost to what they weigh? */
static bool are_uneven(const pt_diff *diff)
{
    for (int side = 0; side < 2; side++)
        if (diff->effective_count[side] < 0.8 * diff->sample_count[side]) return true;
    return false;
}

static void put_head(pt_out *out, const pt_diff_head *head, const pt_diff *diff)
{
    const char *unit = head->summary[PT_AFTER].unit;
    PT_FREE char *change = pt_change_text(&diff->all, unit, head->confidence);
    pt_text_put(out, head->title[PT_BEFORE], 0);
    pt_out_text(out, " -> ");
    pt_text_put(out, head->title[PT_AFTER], 0);
    pt_out_text(out, ": ");
    pt_text_put(out, head->summary[PT_AFTER].type, 0);
    pt_outf(out, ", %s -> %s, %s%s\n", value_of(unit, diff->all.value[PT_BEFORE]).text,
            value_of(unit, diff->all.value[PT_AFTER]).text, change,
            isnan(diff->all.p)  ? ""
            : diff->all.is_real ? ""
                                : ": noise");
    if (head->query[0] != '\0') {
        pt_text_put(out, head->query, 0);
        pt_out_char(out, '\n');
    }
    if (head->normalized)
        pt_outf(out, "normalized: after times %.4g, so that both have %s\n", diff->scale[PT_AFTER],
                value_of(unit, diff->all.value[PT_BEFORE]).text);
    if (!diff->has_errors) {
        pt_out_text(out, "how many samples the values stand for is not known, so that noise cannot "
                         "be told\n\n");
        return;
    }
    pt_outf(out, "%s -> %s ", pt_count_of(whole_count(diff->sample_count[PT_BEFORE])).text,
            pt_count_of(whole_count(diff->sample_count[PT_AFTER])).text);
    pt_text_put(out, diff->draws_name, 0);
    pt_outf(out, "; %s of %s functions changed by more than noise (~ marks noise)\n",
            pt_count_of(diff->real_count).text, pt_count_of(diff->count + diff->more).text);
    if (are_uneven(diff))
        pt_outf(out, "they are of unequal weight, and tell as much as %s -> %s of equal weight\n",
                pt_count_of(whole_count(diff->effective_count[PT_BEFORE])).text,
                pt_count_of(whole_count(diff->effective_count[PT_AFTER])).text);
    if (diff->seen_share > 0)
        pt_outf(out, "a growth by %s of a function with 5%% of the time is found 4 times in 5\n",
                pt_percent_of(diff->seen_share).text);
    if (diff->is_one_run)
        pt_out_text(out,
                    "noise of sampling only: one run a side does not show how much runs differ\n");
    pt_out_char(out, '\n');
}

typedef struct {
    int before, after, self, total, half;
} widths;

/* Both sides tell what is below a function, or have nothing to tell. */
static bool totals_known(const pt_diff_head *head)
{
    for (int side = 0; side < 2; side++)
        if (head->summary[side].stacks > 0 && !head->summary[side].has_stacks) return false;
    return true;
}

static void fit_width(int *width, const char *text)
{
    const int needed = (int)pt_text_width(text);
    if (needed > *width) *width = needed;
}

static widths widths_of(const char *unit, const pt_diff *diff)
{
    widths w = {6, 6, 6, 6, 6};
    for (size_t i = 0; i < diff->count; i++) {
        const pt_diff_row *row = &diff->row[i];
        fit_width(&w.before, value_of(unit, row->self.value[PT_BEFORE]).text);
        fit_width(&w.after, value_of(unit, row->self.value[PT_AFTER]).text);
        fit_width(&w.self, change_text(unit, row->self.change).text);
        fit_width(&w.total, change_text(unit, row->total.change).text);
        if (!diff->has_errors || isnan(row->self.p)) continue;
        fit_width(&w.half, value_of(unit, half_of(&row->self)).text);
        fit_width(&w.half, value_of(unit, half_of(&row->total)).text);
    }
    return w;
}

static void put_error(pt_out *out, const char *unit, int width, const pt_change *c)
{
    if (isnan(c->p) || !has_any(c))
        pt_outf(out, " %*s", width, has_any(c) ? "?" : "");
    else
        pt_outf(out, " %*s", width, value_of(unit, half_of(c)).text);
}

static char *place_of(const pt_diff_row *row)
{
    if (row->file[0] == '\0') return pt_strdup("");
    const char *slash = strrchr(row->file, '/');
    const char *base = slash != NULL && slash[1] != '\0' ? slash + 1 : row->file;
    return row->line > 0 ? pt_strf("%s:%lld", base, (long long)row->line) : pt_strdup(base);
}

static char mark_of(const pt_diff *diff, const pt_change *c)
{
    return diff->has_errors && !c->is_real && !isnan(c->p) && has_any(c) ? '~' : ' ';
}

static void put_total(pt_out *out, const char *unit, const widths *w, const pt_diff *diff,
                      const pt_change *total, bool known)
{
    if (!known) {
        pt_outf(out, "%*s", w->total, "-");
        if (diff->has_errors) pt_outf(out, " %*s", w->half, "");
        pt_out_text(out, "   ");
        return;
    }
    pt_outf(out, "%*s", w->total, change_text(unit, total->change).text);
    if (diff->has_errors) put_error(out, unit, w->half, total);
    pt_outf(out, " %c ", mark_of(diff, total));
}

static void put_row(pt_out *out, const pt_look *look, const char *unit, const widths *w,
                    const pt_diff *diff, const pt_diff_row *row, bool total_known)
{
    const bool real = row->self.is_real || row->total.is_real;
    const pt_colour colour = !diff->has_errors       ? PT_COLOUR_NONE
                             : !real                 ? PT_COLOUR_QUIET
                             : row->total.change > 0 ? PT_COLOUR_HOT
                                                     : PT_COLOUR_STRONG;
    PT_FREE char *place = place_of(row);
    pt_text_colour(out, look, colour);
    pt_outf(out, "%*s %*s %*s", w->before, value_of(unit, row->self.value[PT_BEFORE]).text,
            w->after, value_of(unit, row->self.value[PT_AFTER]).text, w->self,
            change_text(unit, row->self.change).text);
    if (diff->has_errors) put_error(out, unit, w->half, &row->self);
    pt_outf(out, " %7s %c ", part_of(&row->self).text, mark_of(diff, &row->self));
    put_total(out, unit, w, diff, &row->total, total_known);
    const size_t used = (size_t)(w->before + w->after + w->self + w->total) + 16 +
                        (diff->has_errors ? 2 * (size_t)w->half + 2 : 0);
    const pt_text_fit fit = pt_text_fit_row(look, used, row->name, place, "");
    pt_text_put_name(out, look, row->name, fit.name);
    if (fit.has_place) pt_out_text(out, "  ");
    if (fit.has_place) pt_text_put(out, place, fit.place);
    pt_text_colour_end(out, look, colour);
    pt_out_char(out, '\n');
}

void pt_diff_text(pt_out *out, const pt_look *look, const pt_diff_head *head, const pt_diff *diff)
{
    const char *unit = head->summary[PT_AFTER].unit;
    char error[24];
    snprintf(error, sizeof error, "+-%g%%", 100 * head->confidence);
    put_head(out, head, diff);
    const widths w = widths_of(unit, diff);
    const bool total_known = totals_known(head);
    pt_text_colour(out, look, PT_COLOUR_STRONG);
    pt_outf(out, "%*s %*s %*s", w.before, "self", w.after, "after", w.self, "change");
    if (diff->has_errors) pt_outf(out, " %*s", w.half, error);
    pt_outf(out, " %7s   %*s", "", w.total, "total");
    if (diff->has_errors) pt_outf(out, " %*s", w.half, error);
    pt_out_text(out, "   function\n");
    pt_text_colour_end(out, look, PT_COLOUR_STRONG);
    for (size_t i = 0; i < diff->count && pt_out_ok(out); i++)
        put_row(out, look, unit, &w, diff, &diff->row[i], total_known);
    if (diff->more > 0) pt_outf(out, "%s more (-n 0)\n", pt_count_of(diff->more).text);
}

/* ---- JSON and CSV ---- */

static void put_change(pt_json_w *w, const char *key, const pt_change *c)
{
    pt_json_key_object(w, key);
    pt_json_key_double(w, "before", c->value[PT_BEFORE]);
    pt_json_key_double(w, "after", c->value[PT_AFTER]);
    pt_json_key_double(w, "change", c->change);
    pt_json_key_double(w, "low", c->interval.low);
    pt_json_key_double(w, "high", c->interval.high);
    pt_json_key_double(w, "p", c->p);
    pt_json_key(w, "noise");
    if (isnan(c->p))
        pt_json_null(w);
    else
        pt_json_bool(w, !c->is_real);
    pt_json_object_end(w);
}

static void put_side(pt_json_w *w, const char *key, const pt_diff_head *head, const pt_diff *diff,
                     int side)
{
    pt_json_key_object(w, key);
    pt_json_key_text(w, "name", head->title[side]);
    pt_json_key_double(w, "samples", diff->has_errors ? diff->sample_count[side] : NAN);
    pt_json_key_double(w, "effective_samples",
                       diff->has_errors ? diff->effective_count[side] : NAN);
    pt_json_key_double(w, "scale", diff->scale[side]);
    pt_json_object_end(w);
}

void pt_diff_json(pt_out *out, const pt_diff_head *head, const pt_diff *diff)
{
    pt_json_w w;
    pt_report_json_begin(&w, out, "diff");
    pt_json_key_text(&w, "event", head->summary[PT_AFTER].type);
    pt_json_key_text(&w, "unit", head->summary[PT_AFTER].unit);
    pt_json_key_text(&w, "query", head->query);
    pt_json_key_double(&w, "confidence", head->confidence);
    pt_json_key_bool(&w, "normalized", head->normalized);
    put_side(&w, "before", head, diff, PT_BEFORE);
    put_side(&w, "after", head, diff, PT_AFTER);
    put_change(&w, "whole", &diff->all);
    pt_json_key_array(&w, "rows");
    for (size_t i = 0; i < diff->count && pt_out_ok(out); i++) {
        const pt_diff_row *row = &diff->row[i];
        pt_json_object(&w);
        pt_json_key_text(&w, "name", row->name);
        pt_json_key_text(&w, "file", row->file);
        pt_json_key_int(&w, "line", row->line);
        put_change(&w, "self", &row->self);
        if (totals_known(head)) {
            put_change(&w, "total", &row->total);
        } else {
            pt_json_key_null(&w, "total");
        }
        pt_json_object_end(&w);
    }
    pt_json_array_end(&w);
    pt_json_key_uint(&w, "more", diff->more);
    pt_json_object_end(&w);
    pt_json_w_done(&w);
}

static void put_fields(pt_out *out, const pt_change *c)
{
    pt_outf(out, "%.17g,%.17g,%.17g,", c->value[PT_BEFORE], c->value[PT_AFTER], c->change);
    if (isnan(c->p))
        pt_out_text(out, ",,,,");
    else
        pt_outf(out, "%.10g,%.10g,%.6g,%s,", c->interval.low, c->interval.high, c->p,
                c->is_real ? "false" : "true");
}

void pt_diff_csv(pt_out *out, const pt_diff_head *head, const pt_diff *diff)
{
    pt_out_text(out, "self_before,self_after,self_change,self_low,self_high,self_p,self_noise,"
                     "total_before,total_after,total_change,total_low,total_high,total_p,"
                     "total_noise,name,file,line\n");
    for (size_t i = 0; i < diff->count && pt_out_ok(out); i++) {
        const pt_diff_row *row = &diff->row[i];
        put_fields(out, &row->self);
        if (totals_known(head))
            put_fields(out, &row->total);
        else
            pt_out_text(out, ",,,,,,,");
        pt_csv_put(out, row->name);
        pt_out_char(out, ',');
        pt_csv_put(out, row->file);
        pt_outf(out, ",%lld\n", (long long)row->line);
    }
}
