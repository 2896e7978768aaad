/* traces.c: whole stacks, leaf first, and labels. */
#include <inttypes.h>
#include <stdlib.h>

#include "base/units.h"
#include "render/column.h"
#include "render/graph_reports.h"

/* ---- Labels of a set ---- */

/* The text of a label's number: "4.00kB" for 4096 with the unit bytes. A number without a unit may
 * be a process or thread, so its digits are not grouped: "16607". The caller frees the text. */
static char *number_text(int64_t number, const char *unit)
{
    pt_buf buf = PT_BUF_INIT;
    if (unit[0] == '\0')
        pt_putf(&buf, "%" PRId64, number);
    else
        pt_put_value(&buf, number, unit, NULL, PT_STYLE_SHORT);
    return pt_buf_take(&buf, NULL);
}

static char *label_text(const pt_profile *p, const pt_label *label)
{
    if (label->kind == PT_LABEL_STRING) return pt_strdup(pt_text(p, label->str));
    return number_text(label->num, pt_text(p, label->unit));
}

/* Puts the labels of a set: "user=ann, bytes=4.00kB". */
static void put_labels(pt_buf *to, const pt_profile *p, uint32_t set)
{
    const uint64_t first = p->labels->offset[set], end = p->labels->offset[set + 1];
    for (uint64_t i = first; i < end; i++) {
        const pt_label *label = &p->labels->row[i];
        PT_FREE char *text = label_text(p, label);
        pt_putf(to, "%s%s=%s", i == first ? "" : ", ", pt_text(p, label->key), text);
    }
}

/* ---- Frames ---- */

/* A frame as it is shown. */
typedef struct {
    char *name;
    const char *file;
    int64_t line; /* 0 = unknown */
    bool inlined;
} shown_frame;

static const pt_column frame_columns[] = {
    PT_COLUMN("name", NULL, NAME, shown_frame, name),
    PT_COLUMN("file", NULL, FILE, shown_frame, file),
    PT_COLUMN("line", NULL, NUMBER, shown_frame, line),
    PT_COLUMN("inlined", NULL, FLAG, shown_frame, inlined),
};

/* The stack in a row of CSV: the names of its frames, leaf first, separated by semicolons. */
typedef struct {
    pt_trace of;
    const char *stack, *labels;
} csv_trace;

static const pt_column trace_columns[] = {
    PT_COLUMN("value", NULL, VALUE, csv_trace, of.value),
    PT_COLUMN("share", NULL, SHARE, csv_trace, of.share),
    PT_COLUMN("records", NULL, COUNT, csv_trace, of.records),
    PT_COLUMN("stack", NULL, TEXT, csv_trace, stack, .marks = PT_CSV_ONLY),
    PT_COLUMN("labels", NULL, TEXT, csv_trace, labels, .marks = PT_CSV_ONLY),
};

typedef void frame_fn(void *context, const shown_frame *frame);

static void each_frame(const pt_traces *traces, uint32_t stack, frame_fn *fn, void *context)
{
    const pt_profile *p = traces->profile;
    const uint32_t *frames = pt_stack_frames(p, stack);
    for (uint32_t i = 0; i < pt_stack_depth(p, stack); i++) {
        uint32_t one, count;
        const uint32_t *rows = pt_fold_rows(&traces->fold, frames[i], &one, &count);
        for (uint32_t k = 0; k < count; k++) {
            const shown_frame frame = {
                .name = pt_fold_text(&traces->fold, rows[k]),
                .file = pt_fold_file_at(&traces->fold, rows[k], frames[i]),
                .line = pt_fold_line_number(&traces->fold, rows[k]),
                .inlined = k + 1 < count,
            };
            fn(context, &frame);
            free(frame.name);
        }
    }
}

typedef struct {
    pt_out *out;
    const pt_look *look;
} text_frames;

static void put_frame(void *context, const shown_frame *frame)
{
    const text_frames *t = context;
    pt_out_text(t->out, "    ");
    pt_text_put_name(t->out, t->look, frame->name, t->look->width > 40 ? t->look->width - 4 : 0);
    pt_out_text(t->out, frame->inlined ? "  (inlined)\n" : "\n");
}

void pt_traces_text(pt_out *out, const pt_look *look, const pt_report_head *head,
                    const pt_traces *traces)
{
    pt_report_head_text(out, look, head);
    text_frames frames = {out, look};
    for (size_t i = 0; i < traces->count && pt_out_ok(out); i++) {
        const pt_trace *t = &traces->trace[i];
        const pt_colour colour = pt_colour_of_share(t->share);
        if (i > 0) pt_out_char(out, '\n');
        pt_text_colour(out, look, colour);
        pt_outf(out, "%s  %s", pt_value_of(head->summary.unit, t->value).text,
                pt_percent_of(t->share).text);
        pt_text_colour_end(out, look, colour);
        PT_AUTO(pt_buf) labels = PT_BUF_INIT;
        put_labels(&labels, traces->profile, t->labels);
        if (labels.size > 0) pt_out_text(out, "  ");
        pt_text_put(out, pt_buf_text(&labels), 0);
        pt_out_char(out, '\n');
        each_frame(traces, t->stack, put_frame, &frames);
    }
    if (traces->more > 0)
        pt_outf(out, "\n%s, %s (-n 0)\n", pt_count_noun(traces->more, "more stacks").text,
                pt_percent_of(traces->more_share).text);
}

static void json_frame(void *context, const shown_frame *frame)
{
    static const pt_columns columns = {PT_COLUMNS(frame_columns)};
    pt_json_w *w = context;
    pt_json_object(w);
    pt_columns_json(w, &columns, frame);
    pt_json_object_end(w);
}

static void json_label_value(pt_json_w *w, const char *text, int64_t number, const char *unit)
{
    if (text != NULL) {
        pt_json_key_text(w, "text", text);
    } else {
        pt_json_key_int(w, "number", number);
        pt_json_key_text(w, "unit", unit);
    }
}

static void json_labels(pt_json_w *w, const pt_profile *p, uint32_t set)
{
    pt_json_key_array(w, "labels");
    for (uint64_t i = p->labels->offset[set]; i < p->labels->offset[set + 1]; i++) {
        const pt_label *label = &p->labels->row[i];
        pt_json_object(w);
        pt_json_key_text(w, "key", pt_text(p, label->key));
        json_label_value(w, label->kind == PT_LABEL_STRING ? pt_text(p, label->str) : NULL,
                         label->num, pt_text(p, label->unit));
        pt_json_object_end(w);
    }
    pt_json_array_end(w);
}

void pt_traces_json(pt_out *out, const pt_report_head *head, const pt_traces *traces)
{
    static const pt_columns columns = {PT_COLUMNS(trace_columns)};
    PT_AUTO(pt_json_w) w;
    pt_json_w_init(&w, out, PT_JSON_INDENT);
    pt_report_head_json(&w, "traces", head);
    PT_JSON_OBJECTS (&w, "traces", i, traces->count) {
        const pt_trace *t = &traces->trace[i];
        pt_columns_json(&w, &columns, &(csv_trace){.of = *t});
        json_labels(&w, traces->profile, t->labels);
        pt_json_key_array(&w, "frames");
        each_frame(traces, t->stack, json_frame, &w);
        pt_json_array_end(&w);
    }
    pt_json_key_uint(&w, "more", traces->more);
    pt_json_object_end(&w);
}

static void csv_frame(void *context, const shown_frame *frame)
{
    pt_buf *buf = context;
    if (buf->size > 0) pt_put_u8(buf, ';');
    pt_put_text(buf, frame->name);
}

void pt_traces_csv(pt_out *out, const pt_traces *traces)
{
    static const pt_columns columns = {PT_COLUMNS(trace_columns)};
    pt_columns_csv_head(out, &columns);
    for (size_t i = 0; i < traces->count && pt_out_ok(out); i++) {
        const pt_trace *t = &traces->trace[i];
        PT_AUTO(pt_buf) stack = PT_BUF_INIT, labels = PT_BUF_INIT;
        each_frame(traces, t->stack, csv_frame, &stack);
        put_labels(&labels, traces->profile, t->labels);
        pt_columns_csv(out, &columns, &(csv_trace){*t, pt_buf_text(&stack), pt_buf_text(&labels)});
    }
}

/* ---- Labels of all samples ---- */

static void put_row(pt_out *out, const pt_look *look, const char *unit, int width, int64_t value,
                    double share, const char *name, bool is_key)
{
    const pt_colour colour = is_key ? PT_COLOUR_STRONG : pt_colour_of_share(share);
    pt_outf(out, "%*s %7s  ", width, pt_value_of(unit, value).text, pt_percent_of(share).text);
    pt_text_colour(out, look, colour);
    pt_out_text(out, is_key ? "" : "  ");
    const size_t used = (size_t)width + strlen(" 100.0%  ") + (is_key ? 1 : 3);
    pt_text_put(out, name, pt_text_fit_row(look, used, name, "", "").name);
    pt_text_colour_end(out, look, colour);
    pt_out_char(out, '\n');
}

void pt_labels_text(pt_out *out, const pt_look *look, const pt_report_head *head,
                    const pt_labels_view *labels)
{
    pt_report_head_text(out, look, head);
    if (labels->count == 0) {
        pt_out_text(out, "no sample has a label\n");
        return;
    }
    const char *unit = head->summary.unit;
    int width = 6;
    for (size_t i = 0; i < labels->count; i++)
        pt_value_fit(&width, unit, labels->key[i].value);
    pt_text_colour(out, look, PT_COLOUR_STRONG);
    pt_outf(out, "%*s %7s  label\n", width, "total", "total%");
    pt_text_colour_end(out, look, PT_COLOUR_STRONG);
    for (size_t i = 0; i < labels->count && pt_out_ok(out); i++) {
        const pt_label_key *k = &labels->key[i];
        put_row(out, look, unit, width, k->value, k->share, k->key, true);
        for (size_t r = 0; r < k->count; r++) {
            const pt_label_value *v = &k->row[r];
            PT_FREE char *text =
                v->text != NULL ? pt_strdup(v->text) : number_text(v->number, v->unit);
            put_row(out, look, unit, width, v->value, v->share, text, false);
        }
        if (k->more > 0)
            pt_outf(out, "%*s %7s    %s more (-n 0)\n", width, "", "", pt_count_of(k->more).text);
    }
}

/* The sum of the samples of a key, or of a value of a key. CSV has rows of values only. */
typedef struct {
    const char *key, *text;
    pt_label_value of;
} label_row;

static const pt_column label_columns[] = {
    PT_COLUMN("key", NULL, TEXT, label_row, key, .marks = PT_CSV_ONLY),
    PT_COLUMN("text", NULL, TEXT, label_row, text, .marks = PT_CSV_ONLY),
    PT_COLUMN("unit", NULL, TEXT, label_row, of.unit, .marks = PT_CSV_ONLY),
    PT_COLUMN("value", NULL, VALUE, label_row, of.value),
    PT_COLUMN("share", NULL, SHARE, label_row, of.share),
    PT_COLUMN("records", NULL, COUNT, label_row, of.records),
};
static const pt_columns label_sums = {PT_COLUMNS(label_columns)};

void pt_labels_json(pt_out *out, const pt_report_head *head, const pt_labels_view *labels)
{
    PT_AUTO(pt_json_w) w;
    pt_json_w_init(&w, out, PT_JSON_INDENT);
    pt_report_head_json(&w, "tags", head);
    PT_JSON_OBJECTS (&w, "keys", i, labels->count) {
        const pt_label_key *k = &labels->key[i];
        const pt_label_value all = {.value = k->value, .share = k->share, .records = k->records};
        pt_json_key_text(&w, "key", k->key);
        pt_columns_json(&w, &label_sums, &(label_row){.of = all});
        pt_json_key_array(&w, "values");
        for (size_t r = 0; r < k->count; r++) {
            pt_json_object(&w);
            json_label_value(&w, k->row[r].text, k->row[r].number, k->row[r].unit);
            pt_columns_json(&w, &label_sums, &(label_row){.of = k->row[r]});
            pt_json_object_end(&w);
        }
        pt_json_array_end(&w);
        pt_json_key_uint(&w, "more", k->more);
    }
    pt_json_object_end(&w);
}

void pt_labels_csv(pt_out *out, const pt_labels_view *labels)
{
    pt_columns_csv_head(out, &label_sums);
    for (size_t i = 0; i < labels->count && pt_out_ok(out); i++) {
        const pt_label_key *k = &labels->key[i];
        for (size_t r = 0; r < k->count; r++) {
            const pt_label_value *v = &k->row[r];
            PT_FREE char *text = v->text == NULL ? pt_strf("%" PRId64, v->number) : NULL;
            pt_columns_csv(out, &label_sums,
                           &(label_row){k->key, v->text != NULL ? v->text : text, *v});
        }
    }
}
