/* diff.c: the changes between two sides, their sizes, and how sure they are.
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
#include <string.h>

#include "base/units.h"
#include "render/column.h"
#include "render/markdown.h"

static int64_t whole_number(double value)
{
    if (!(fabs(value) < 9e18)) return value < 0 ? INT64_MIN : INT64_MAX;
    return (int64_t)llround(value);
}

static pt_value_text value_of(const char *unit, double value)
{
    return pt_value_of(unit, whole_number(value));
}

/* A change with its sign: "+12ms", "-3", "0". */
static pt_value_text change_text(const char *unit, double value)
{
    pt_value_text text = value_of(unit, value), with_sign;
    snprintf(with_sign.text, sizeof with_sign.text, "%s%.46s", whole_number(value) > 0 ? "+" : "",
             text.text);
    return with_sign;
}

/* The change as a share of the value before; "new" if there was none, "gone" if none is left. */
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

/* "+1.2s (+3.4%), 95% interval +0.9s to +1.5s", for messages; the caller frees. */
static char *describe_change(const pt_change *c, const char *unit, double confidence)
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

char *pt_verdict_text(const pt_diff_verdict *verdict, const char *unit, double confidence)
{
    PT_FREE char *change = describe_change(verdict->grown, unit, confidence);
    return pt_strf("%s; that is at least %s, the limit is %s", change,
                   value_of(unit, verdict->grown->at_least).text,
                   value_of(unit, verdict->limit).text);
}

char *pt_verdict_blind_text(const pt_diff_verdict *verdict, const pt_diff *diff)
{
    const double little = 0.05; /* of the whole */
    const double limit = verdict->limit_share, found = verdict->found_share;
    const size_t before = diff->run_count[PT_BEFORE], after = diff->run_count[PT_AFTER];
    const size_t runs = before < after ? before : after;
    if (!(found - limit > fmax(limit, little))) return NULL;
    return pt_strf("with %s a side, the limit finds a growth of the whole from about %.0f%% on; "
                   "%s smaller growths",
                   pt_count_noun(runs, "runs").text, 100 * found,
                   runs < 5 ? "five runs a side, or longer ones, find"
                            : "more runs, or longer ones, find");
}

/* ---- Text ---- */

static uint64_t whole_count(double count)
{
    return count < 0x1p63 ? (uint64_t)count : INT64_MAX;
}

/* Is the effective number of samples of a side below 80 % of its samples? Unequal weights of the
 * samples lower the effective number.
 */
static bool are_uneven(const pt_diff *diff)
{
    return PT_ANY(side, 2, diff->effective_count[side] < 0.8 * diff->sample_count[side]);
}

static void put_facts(pt_out *out, const pt_diff_head *head, const pt_diff *diff)
{
    const char *unit = head->summary[PT_AFTER].unit;
    PT_FREE char *change = describe_change(&diff->all, unit, head->confidence);
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
    for (int side = 0; side < 2; side++)
        if (head->summary[side].damaged)
            pt_outf(out, "a file from %s is damaged: only a part of it was read\n",
                    side == PT_BEFORE ? "before" : "after");
    if (head->normalized)
        pt_outf(out, "normalized: after times %.4g, so that both have %s\n", diff->scale[PT_AFTER],
                value_of(unit, diff->all.value[PT_BEFORE]).text);
    if (!diff->has_errors) {
        pt_out_text(out,
                    "the number of samples behind the values is unknown: no row can be compared "
                    "with noise\n");
        return;
    }
    pt_outf(out, "%s -> %s ", pt_count_of(whole_count(diff->sample_count[PT_BEFORE])).text,
            pt_count_of(whole_count(diff->sample_count[PT_AFTER])).text);
    pt_text_put(out, diff->draws_name, 0);
    pt_outf(out, "; %s of %s functions changed by more than noise (~ marks noise)\n",
            pt_count_of(diff->real_count).text, pt_count_of(diff->count + diff->more).text);
    if (are_uneven(diff))
        pt_outf(out, "they differ in weight: as good as %s -> %s of equal weight\n",
                pt_count_of(whole_count(diff->effective_count[PT_BEFORE])).text,
                pt_count_of(whole_count(diff->effective_count[PT_AFTER])).text);
    enum { MOST_GROWTH = 10 }; /* as a multiple of the value; a larger growth is not printed */
    if (diff->seen_share > MOST_GROWTH)
        pt_out_text(out, "too few samples to find a growth of a function with 5% of the time\n");
    else if (diff->seen_share > 0)
        pt_outf(out, "a growth by %s of a function with 5%% of the time is found 4 times in 5\n",
                pt_percent_of(diff->seen_share).text);
    if (diff->run_count[PT_BEFORE] == 1 && diff->run_count[PT_AFTER] == 1)
        pt_out_text(out,
                    "noise of sampling only: one run a side does not show how much runs differ\n");
}

/* ---- Columns ---- */

enum { BEFORE = 1, AFTER, SELF, TOTAL, HALF, MARK }; /* widths */

static const pt_change *change_at(const pt_column *column, const void *row)
{
    return (const void *)((const char *)row + column->offset);
}

static pt_value_text before_text(const pt_columns *columns, const pt_column *column,
                                 const void *row)
{
    return value_of(columns->unit, change_at(column, row)->value[PT_BEFORE]);
}

static pt_value_text after_text(const pt_columns *columns, const pt_column *column, const void *row)
{
    return value_of(columns->unit, change_at(column, row)->value[PT_AFTER]);
}

static bool change_known(const pt_columns *columns, const pt_column *column, const void *row)
{
    return column->is_known == NULL || column->is_known(columns, row);
}

static pt_value_text sum_text(const pt_columns *columns, const pt_column *column, const void *row)
{
    if (!change_known(columns, column, row)) return (pt_value_text){"-"};
    return change_text(columns->unit, change_at(column, row)->change);
}

/* Makes the cell: half of the interval. The column's title states the confidence. */
static pt_value_text half_text(const pt_columns *columns, const pt_column *column, const void *row)
{
    const pt_diff_head *const head = columns->context;
    pt_value_text text = {""};
    if (row == NULL) return pt_half_title(head->confidence);
    const pt_change *const c = change_at(column, row);
    if (!change_known(columns, column, row) || !has_any(c)) return text;
    return isnan(c->p) ? (pt_value_text){"?"}
                       : value_of(columns->unit, (c->interval.high - c->interval.low) / 2);
}

static pt_value_text part_text(const pt_columns *columns, const pt_column *column, const void *row)
{
    pt_value_text text = {""};
    memcpy(text.text, part_of(change_at(column, row)).text, sizeof(pt_percent));
    return text;
}

static pt_value_text mark_text(const pt_columns *columns, const pt_column *column, const void *row)
{
    const pt_change *const c = change_at(column, row);
    const bool is_noise =
        change_known(columns, column, row) && !c->is_real && !isnan(c->p) && has_any(c);
    return is_noise ? (pt_value_text){"~"} : (pt_value_text){""};
}

static bool error_known(const pt_columns *columns, const void *change)
{
    return !isnan(((const pt_change *)change)->p);
}

static const pt_column change_columns[] = {
    PT_COLUMN("before", NULL, MEAN, pt_change, value[PT_BEFORE]),
    PT_COLUMN("after", NULL, MEAN, pt_change, value[PT_AFTER]),
    PT_COLUMN("change", NULL, MEAN, pt_change, change),
    PT_COLUMN("low", NULL, BOUND, pt_change, interval.low, .is_known = error_known),
    PT_COLUMN("high", NULL, BOUND, pt_change, interval.high, .is_known = error_known),
    PT_COLUMN("p", NULL, SHARE, pt_change, p, .is_known = error_known),
    PT_COLUMN("noise", NULL, NOT, pt_change, is_real, .is_known = error_known),
    {0},
};

/* Text has a column for each number of a change. JSON and CSV have the change as one group. */
static const pt_column columns[] = {
    PT_COLUMN("self", NULL, GROUP, pt_diff_row, self, .members = change_columns),
    PT_COLUMN("total", NULL, GROUP, pt_diff_row, total, .members = change_columns,
              .is_known = pt_totals_known),
    PT_COLUMN(NULL, "self", GROUP, pt_diff_row, self, .width = BEFORE, .text = before_text),
    PT_COLUMN(NULL, "after", GROUP, pt_diff_row, self, .width = AFTER, .text = after_text),
    PT_COLUMN(NULL, "change", GROUP, pt_diff_row, self, .width = SELF, .text = sum_text),
    PT_COLUMN(NULL, NULL, GROUP, pt_diff_row, self, .width = HALF, .text = half_text),
    PT_COLUMN(NULL, "", GROUP, pt_diff_row, self, .text = part_text),
    PT_COLUMN(NULL, "", GROUP, pt_diff_row, self, .width = MARK, .text = mark_text),
    PT_COLUMN(NULL, "total", GROUP, pt_diff_row, total, .width = TOTAL, .is_known = pt_totals_known,
              .text = sum_text),
    PT_COLUMN(NULL, NULL, GROUP, pt_diff_row, total, .width = HALF, .is_known = pt_totals_known,
              .text = half_text),
    PT_COLUMN(NULL, "", GROUP, pt_diff_row, total, .width = MARK, .is_known = pt_totals_known,
              .text = mark_text),
    PT_COLUMN("name", "function", NAME, pt_diff_row, name, .marks = PT_JSON_FIRST),
    PT_COLUMN("file", "where", FILE, pt_diff_row, file, .marks = PT_JSON_FIRST),
    PT_COLUMN("line", NULL, NUMBER, pt_diff_row, line, .marks = PT_JSON_FIRST),
};

/* Are all totals known? They are if both sides have stacks, or no samples. */
static bool totals_known(const pt_diff_head *head)
{
    return !PT_ANY(side, 2, head->summary[side].stacks > 0 && !head->summary[side].has_stacks);
}

static pt_columns columns_of(const pt_diff_head *head, const pt_diff *diff)
{
    return (pt_columns){PT_COLUMNS(columns), .unit = head->summary[PT_AFTER].unit,
                        .totals_known = totals_known(head), .context = head,
                        .width = {[BEFORE] = 6,
                                  [AFTER] = 6,
                                  [SELF] = 6,
                                  [TOTAL] = 6,
                                  [MARK] = 1,
                                  [HALF] = diff->has_errors ? 6 : 0}};
}

/* ---- Text ---- */

static void put_row(pt_out *out, const pt_look *look, const pt_columns *c, const pt_diff *diff,
                    const pt_diff_row *row)
{
    const bool real = row->self.is_real || row->total.is_real;
    const pt_colour colour = !diff->has_errors       ? PT_COLOUR_NONE
                             : !real                 ? PT_COLOUR_QUIET
                             : row->total.change > 0 ? PT_COLOUR_HOT
                                                     : PT_COLOUR_STRONG;
    PT_FREE char *place = pt_where_text(row->file, row->line);
    pt_text_colour(out, look, colour);
    pt_columns_text(out, c, row);
    const pt_text_fit fit = pt_text_fit_row(look, pt_columns_used(c), row->name, place, "");
    pt_text_put_name(out, look, row->name, fit.name);
    if (fit.has_place) pt_out_text(out, "  ");
    if (fit.has_place) pt_text_put(out, place, fit.place);
    pt_text_colour_end(out, look, colour);
    pt_out_char(out, '\n');
}

void pt_diff_text(pt_out *out, const pt_look *look, const pt_diff_head *head, const pt_diff *diff)
{
    enum { WITH_HALVES = 72 }; /* columns of a terminal with room for the halves of intervals */
    pt_columns c = columns_of(head, diff);
    if (look->width > 0 && look->width < WITH_HALVES) c.width[HALF] = 0;
    for (size_t i = 0; i < diff->count; i++)
        pt_columns_fit(&c, &diff->row[i]);
    PT_AUTO(pt_buf) facts = PT_BUF_INIT;
    pt_out to_facts;
    pt_out_to_buf(&to_facts, &facts);
    put_facts(&to_facts, head, diff);
    pt_out_done(&to_facts, NULL);
    pt_text_put_lines(out, look, 2, &facts);
    pt_out_char(out, '\n');
    pt_columns_head(out, look, &c, "");
    for (size_t i = 0; i < diff->count && pt_out_ok(out); i++)
        put_row(out, look, &c, diff, &diff->row[i]);
    if (diff->more > 0) pt_outf(out, "%s more (-n 0)\n", pt_count_of(diff->more).text);
}

/* ---- Markdown ---- */

/* Does more of the event mean slower? More bytes or contentions need not. */
static bool counts_time(const pt_summary *summary)
{
    return summary->kind == PT_EVENT_TIME || strcmp(summary->type, "samples") == 0;
}

void pt_diff_verdict_markdown(pt_out *out, const pt_diff_head *head, const pt_diff *diff,
                              const pt_diff_verdict *verdict)
{
    const char *unit = head->summary[PT_AFTER].unit;
    const size_t all = diff->count + diff->more;
    if (!diff->has_errors) {
        pt_out_text(out, "### Not decided: the profiles do not show what is noise\n\n");
    } else if (verdict->grown != NULL) {
        PT_FREE char *text = pt_verdict_text(verdict, unit, head->confidence);
        const bool is_time = counts_time(&head->summary[PT_AFTER]);
        pt_out_text(out, verdict->is_sure ? "### " : "### Not sure: ");
        pt_out_text(out, !verdict->is_sure ? "" : is_time ? "Slower: " : "Grew: ");
        if (verdict->name != NULL)
            pt_markdown_title(out, verdict->name);
        else
            pt_out_text(out, "the whole");
        pt_outf(out, "%s%s%s\n\n", verdict->is_total ? " and what it calls" : "",
                is_time || !verdict->is_sure ? " grew" : "",
                verdict->is_sure ? "" : ", perhaps beyond the limit");
        pt_outf(out, "%s (%g%% of the base).\n\n", text, 100 * verdict->limit_share);
    } else if (diff->real_count == 0 && head->normalized) {
        pt_out_text(out, "### No share changed beyond noise\n\n");
    } else if (diff->real_count == 0 && diff->all.is_real) {
        pt_out_text(out, "### The whole changed, but did not grow beyond the limit\n\n");
    } else if (diff->real_count == 0) {
        pt_out_text(out, "### No change beyond noise\n\n");
    } else {
        pt_outf(out, "### %s of %s functions changed, none grew beyond the limit\n\n",
                pt_count_of(diff->real_count).text, pt_count_of(all).text);
    }
    PT_FREE char *blind =
        verdict->is_sure || !diff->has_errors ? NULL : pt_verdict_blind_text(verdict, diff);
    if (blind != NULL) pt_outf(out, "Note: %s.\n\n", blind);
}

static char *place_beside(const void *context, const void *row)
{
    const pt_diff_row *const r = row;
    (void)context;
    return pt_where_text(r->file, r->line);
}

void pt_diff_markdown(pt_out *out, const pt_diff_head *head, const pt_diff *diff, bool only_real)
{
    const pt_columns c = columns_of(head, diff);
    size_t count = 0; /* real changes come first */
    while (count < diff->count &&
           (!only_real || diff->row[count].self.is_real || diff->row[count].total.is_real))
        count++;
    pt_markdown_lines(out);
    put_facts(out, head, diff);
    pt_markdown_lines(out);
    if (count == 0) return;
    const size_t more = only_real ? diff->real_count - count : diff->more;
    pt_out_char(out, '\n');
    pt_markdown_table(out, &c, diff->row, count, sizeof *diff->row, place_beside, NULL);
    if (more > 0) pt_outf(out, "\n%s more\n", pt_count_of(more).text);
}

/* ---- JSON and CSV ---- */

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
    static const pt_column whole_column[] = {
        {.key = "whole", .kind = PT_CELL_GROUP, .members = change_columns}};
    const pt_columns c = columns_of(head, diff), whole = {PT_COLUMNS(whole_column)};
    PT_AUTO(pt_json_w) w;
    pt_report_json_begin(&w, out, "diff");
    pt_json_key_text(&w, "event", head->summary[PT_AFTER].type);
    pt_json_key_text(&w, "unit", head->summary[PT_AFTER].unit);
    pt_json_key_text(&w, "query", head->query);
    pt_json_key_double(&w, "confidence", head->confidence);
    pt_json_key_bool(&w, "normalized", head->normalized);
    put_side(&w, "before", head, diff, PT_BEFORE);
    put_side(&w, "after", head, diff, PT_AFTER);
    pt_columns_json(&w, &whole, &diff->all);
    pt_columns_json_schema(&w, &c);
    pt_columns_json_rows(&w, "rows", &c, diff->row, diff->count, sizeof *diff->row);
    pt_json_key_uint(&w, "more", diff->more);
    pt_json_object_end(&w);
}

void pt_diff_csv(pt_out *out, const pt_diff_head *head, const pt_diff *diff)
{
    const pt_columns c = columns_of(head, diff);
    pt_columns_csv_rows(out, &c, diff->row, diff->count, sizeof *diff->row);
}
