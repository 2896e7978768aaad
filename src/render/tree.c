/* tree.c: the call tree: numbers in columns, then guides that show which rows hang below which. An
 * only child goes on in its parent's column.
 *
 *      total%    total   self%    self
 *      100.0%        6      0%       0  start
 *      100.0%        6      0%       0  ↓ main
 *       83.3%        5   33.3%       2  ├─ parse
 *       50.0%        3   50.0%       3  │  ↓ read
 *       16.7%        1   16.7%       1  └─ emit
 *
 * Of call arcs each row has its number of calls before the name.
 */
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "render/report.h"
#include "render/text.h"
#include "render/value.h"

/* Which branches have siblings to come: a byte an indent. */
typedef struct {
    bool *items;
    size_t count, cap;
} guides;

static void put_guides(pt_out *out, const pt_look *look, guides *open, const pt_tree_row *row)
{
    const bool branches = row->indent > 0 && !row->only;
    const uint32_t before = branches ? row->indent - 1 : row->indent;
    PT_GROW(*open, (size_t)row->indent + 1);
    if (branches) open->items[row->indent] = !row->last;
    pt_text_colour(out, look, PT_COLOUR_QUIET);
    for (uint32_t i = 1; i <= before; i++)
        pt_out_text(out, open->items[i] ? "│  " : "   ");
    if (branches) pt_out_text(out, row->last ? "└─ " : "├─ ");
    if (row->only) pt_out_text(out, "↓ ");
    pt_text_colour_end(out, look, PT_COLOUR_QUIET);
}

/* A call from elsewhere does not tell how much of the function's self it is for. */
static void put_self(pt_out *out, const char *unit, int width, const pt_tree_row *row)
{
    if (row->folded > 0)
        pt_outf(out, "%7s %*s  ", "", width, "");
    else if (row->elsewhere)
        pt_outf(out, "%7s %*s  ", "-", width, "-");
    else
        pt_outf(out, "%7s %*s  ", pt_percent_of(row->self_share).text, width,
                pt_value_of(unit, row->self).text);
}

/* The number of calls from the row above; nothing for what is no call. */
static pt_count_text calls_of(const pt_tree_row *row)
{
    return row->is_call ? pt_calls_of(row->calls) : (pt_count_text){""};
}

static bool total_known(const pt_report_head *head, const pt_tree *tree)
{
    return tree->from_calls ? tree->calls.has_cost : head->summary.has_stacks;
}

static void put_row(pt_out *out, const pt_look *look, const pt_report_head *head,
                    const pt_tree *tree, int width, int calls_width, guides *open,
                    const pt_tree_row *row)
{
    const pt_summary *const summary = &head->summary;
    const bool known = total_known(head, tree);
    const pt_colour colour = pt_colour_of_share(row->self_share);
    const pt_value_text total = pt_known_value(summary->unit, row->total, known);
    pt_outf(out, "%7s %*s ", pt_known_share(row->total_share, known).text, width, total.text);
    put_self(out, summary->unit, width, row);
    if (calls_width > 0) pt_outf(out, "%*s  ", calls_width, calls_of(row).text);
    put_guides(out, look, open, row);
    if (row->folded > 0) {
        pt_text_colour(out, look, PT_COLOUR_QUIET);
        pt_outf(out, "(%s more, folded)\n", pt_count_of(row->folded).text);
        pt_text_colour_end(out, look, PT_COLOUR_QUIET);
        return;
    }
    pt_text_colour(out, look, colour);
    const size_t used = 19 + 2 * (size_t)width + (calls_width > 0 ? (size_t)calls_width + 2 : 0) +
                        3 * (size_t)row->indent + (row->only ? 2 : 0);
    const char *const mark = row->inlined ? "  (inlined)" : row->elsewhere ? "  (elsewhere)" : "";
    const pt_text_fit fit = pt_text_fit_row(look, used, row->name, "", mark);
    pt_text_put_name(out, look, row->name, fit.name);
    pt_text_colour_end(out, look, colour);
    pt_outf(out, "%s\n", fit.has_mark ? mark : "");
}

void pt_tree_text(pt_out *out, const pt_look *look, const pt_report_head *head, pt_tree *tree)
{
    pt_report_head_text(out, look, head);
    const char *unit = head->summary.unit;
    int width = 6, calls_width = tree->from_calls ? 5 : 0;
    pt_tree_row row;
    while (pt_tree_next(tree, &row)) {
        pt_value_fit(&width, unit, row.total);
        pt_value_fit(&width, unit, row.self);
        if (tree->from_calls) pt_calls_fit(&calls_width, row.calls);
    }
    pt_text_colour(out, look, PT_COLOUR_STRONG);
    pt_outf(out, "%7s %*s %7s %*s  ", "total%", width, "total", "self%", width, "self");
    if (tree->from_calls) pt_outf(out, "%*s  ", calls_width, "calls");
    pt_out_text(out, "function\n");
    pt_text_colour_end(out, look, PT_COLOUR_STRONG);
    guides open = {0};
    while (pt_out_ok(out) && pt_tree_next(tree, &row))
        put_row(out, look, head, tree, width, calls_width, &open, &row);
    free(open.items);
    if (tree->left_out > 0)
        pt_outf(out, "%s lighter function%s not shown (--min=0)\n",
                pt_count_of(tree->left_out).text, tree->left_out == 1 ? "" : "s");
    if (tree->rootless != 0)
        pt_outf(out, "%s in samples without any frame\n", pt_value_of(unit, tree->rootless).text);
}

static void json_call(pt_json_w *w, const pt_tree_row *row)
{
    pt_json_key(w, "calls");
    if (row->is_call && row->calls > 0)
        pt_json_uint(w, row->calls);
    else
        pt_json_null(w);
    pt_json_key_bool(w, "elsewhere", row->elsewhere);
}

/* Rows stand in preorder; "depth" says where they hang. */
void pt_tree_json(pt_out *out, const pt_report_head *head, pt_tree *tree)
{
    pt_json_w w;
    pt_json_w_init(&w, out, PT_JSON_INDENT);
    pt_report_head_json(&w, "tree", head);
    pt_json_key_array(&w, "rows");
    pt_tree_row row;
    while (pt_out_ok(out) && pt_tree_next(tree, &row)) {
        pt_json_object(&w);
        pt_json_key_uint(&w, "depth", row.depth);
        if (row.folded > 0) {
            pt_json_key_uint(&w, "folded", row.folded);
        } else {
            pt_json_key_text(&w, "name", row.name);
            pt_json_key_text(&w, "file", row.file);
            pt_json_key_bool(&w, "inlined", row.inlined);
        }
        pt_json_known(&w, "self", row.self, row.self_share, !row.elsewhere);
        pt_json_known(&w, "total", row.total, row.total_share, total_known(head, tree));
        if (tree->from_calls) json_call(&w, &row);
        pt_json_object_end(&w);
    }
    pt_json_array_end(&w);
    pt_json_key_uint(&w, "left_out", tree->left_out);
    pt_json_key_int(&w, "without_frames", tree->rootless);
    pt_json_object_end(&w);
    pt_json_w_done(&w);
}

void pt_tree_csv(pt_out *out, const pt_report_head *head, pt_tree *tree)
{
    pt_out_text(out, "depth,self,self_share,total,total_share,name,file,inlined,folded");
    pt_out_text(out, tree->from_calls ? ",calls,elsewhere\n" : "\n");
    pt_tree_row row;
    while (pt_out_ok(out) && pt_tree_next(tree, &row)) {
        pt_outf(out, "%u,", row.depth);
        pt_csv_known(out, row.self, row.self_share, !row.elsewhere);
        pt_out_char(out, ',');
        pt_csv_known(out, row.total, row.total_share, total_known(head, tree));
        pt_out_char(out, ',');
        pt_csv_put(out, row.name);
        pt_out_char(out, ',');
        pt_csv_put(out, row.file);
        pt_outf(out, ",%s,%u", row.inlined ? "true" : "false", row.folded);
        if (tree->from_calls) {
            pt_out_char(out, ',');
            if (row.is_call && row.calls > 0) pt_outf(out, "%llu", (unsigned long long)row.calls);
            pt_out_text(out, row.elsewhere ? ",true" : ",false");
        }
        pt_out_char(out, '\n');
    }
}
