/* tree.c: the call tree: numbers in columns, then guides from each row to its children. A child
 * without siblings is printed in the column of its parent.
 *
 *      total%    total   self%    self
 *      100.0%        6      0%       0  start
 *      100.0%        6      0%       0  ↓ main
 *       83.3%        5   33.3%       2  ├─ parse
 *       50.0%        3   50.0%       3  │  ↓ read
 *       16.7%        1   16.7%       1  └─ emit
 *
 * In a tree of call arcs the number of calls comes before the name.
 */
#include <stdlib.h>

#include "base/grow.h"
#include "base/units.h"
#include "render/parts.h"
#include "render/report.h"

/* For each indent: has its branch further siblings? */
typedef PT_VECTOR(bool) guides;

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

enum { VALUES = 1, CALLS }; /* widths: of self and total, and of calls */

static const pt_tree_row *row_at(const void *row)
{
    return row;
}

/* Is self known? It is not for a row that is marked `elsewhere`, since another row shows the
 * function's self. */
static bool self_known(const pt_columns *columns, const void *row)
{
    return !row_at(row)->elsewhere;
}

static bool calls_known(const pt_columns *columns, const void *row)
{
    return row_at(row)->is_call;
}

static bool is_folded(const pt_columns *columns, const void *row)
{
    return row_at(row)->folded > 0;
}

static bool is_named(const pt_columns *columns, const void *row)
{
    return !is_folded(columns, row);
}

/* A row that stands for several functions has no self in text. */
static pt_value_text self_text(const pt_columns *columns, const pt_column *column, const void *row)
{
    return is_folded(columns, row) ? (pt_value_text){""} : pt_cell_text(columns, column, row);
}

/* The number of calls from the row above; nothing where there is no call. */
static pt_value_text calls_text(const pt_columns *columns, const pt_column *column, const void *row)
{
    return row_at(row)->is_call ? pt_cell_text(columns, column, row) : (pt_value_text){""};
}

static const pt_column columns[] = {
    PT_COLUMN("depth", NULL, COUNT32, pt_tree_row, depth, .marks = PT_JSON_FIRST),
    PT_COLUMN("self", "self", VALUE, pt_tree_row, self, .width = VALUES, .is_known = self_known,
              .text = self_text, .place = 3),
    PT_COLUMN("self_share", "self%", SHARE, pt_tree_row, self_share, .is_known = self_known,
              .text = self_text, .place = 2),
    PT_COLUMN("total", "total", VALUE, pt_tree_row, total, .width = VALUES,
              .is_known = pt_totals_known, .place = 1),
    PT_COLUMN("total_share", "total%", SHARE, pt_tree_row, total_share,
              .is_known = pt_totals_known),
    PT_COLUMN("name", "function", NAME, pt_tree_row, name, .marks = PT_JSON_FIRST, .gap = 2,
              .in_json = is_named, .place = 5),
    PT_COLUMN("file", NULL, FILE, pt_tree_row, file, .marks = PT_JSON_FIRST, .in_json = is_named),
    PT_COLUMN("inlined", NULL, FLAG, pt_tree_row, inlined, .marks = PT_JSON_FIRST,
              .in_json = is_named),
    PT_COLUMN("folded", NULL, COUNT32, pt_tree_row, folded, .marks = PT_JSON_FIRST,
              .in_json = is_folded),
    PT_COLUMN("calls", "calls", CALLS, pt_tree_row, calls, .width = CALLS, .gap = 2,
              .is_known = calls_known, .text = calls_text, .place = 4),
    PT_COLUMN("elsewhere", NULL, FLAG, pt_tree_row, elsewhere),
};

/* The columns. The last two are shown for trees of call arcs. */
static pt_columns columns_of(const pt_report_head *head, const pt_tree *tree,
                             pt_part_columns *ret_parts)
{
    pt_columns c = {PT_COLUMNS(columns), .unit = head->summary.unit,
                    .totals_known =
                        tree->from_calls ? tree->calls.has_cost : head->summary.has_stacks,
                    .width = {[VALUES] = 6, [CALLS] = tree->from_calls ? 5 : 0}};
    if (!tree->from_calls) c.count -= 2;
    pt_part_columns_init(ret_parts, &c, &head->summary, offsetof(pt_tree_row, part_self),
                         offsetof(pt_tree_row, part_total), 3);
    return c;
}

static void put_row(pt_out *out, const pt_look *look, const pt_columns *c, guides *open,
                    const pt_tree_row *row)
{
    const pt_colour colour = pt_colour_of_share(row->self_share);
    pt_columns_text(out, c, row);
    put_guides(out, look, open, row);
    const size_t used = pt_columns_used(c) + 3 * (size_t)row->indent + (row->only ? 2 : 0);
    if (row->folded > 0) {
        PT_FREE char *text = pt_strf("(%s more, folded)", pt_count_of(row->folded).text);
        pt_text_colour(out, look, PT_COLOUR_QUIET);
        pt_text_put(out, text, pt_text_fit_row(look, used, text, "", "").name);
        pt_text_colour_end(out, look, PT_COLOUR_QUIET);
        pt_out_char(out, '\n');
        return;
    }
    pt_text_colour(out, look, colour);
    const char *const mark = row->inlined ? "  (inlined)" : row->elsewhere ? "  (elsewhere)" : "";
    const pt_text_fit fit = pt_text_fit_row(look, used, row->name, "", mark);
    pt_text_put_name(out, look, row->name, fit.name);
    pt_text_colour_end(out, look, colour);
    pt_outf(out, "%s\n", fit.has_mark ? mark : "");
}

void pt_tree_text(pt_out *out, const pt_look *look, const pt_report_head *head, pt_tree *tree)
{
    PT_AUTO(pt_part_columns) parts = {0};
    pt_columns c = columns_of(head, tree, &parts);
    pt_tree_row row;
    while (pt_tree_next(tree, &row))
        pt_columns_fit(&c, &row);
    pt_report_head_text(out, look, head);
    pt_columns_head(out, look, &c, "");
    guides open = {0};
    while (pt_out_ok(out) && pt_tree_next(tree, &row))
        put_row(out, look, &c, &open, &row);
    free(open.items);
    if (tree->left_out > 0)
        pt_outf(out, "%s not shown (--min=0)\n",
                pt_count_noun(tree->left_out, "lighter functions").text);
    if (tree->rootless != 0)
        pt_outf(out, "%s in samples without any frame\n", pt_value_of(c.unit, tree->rootless).text);
}

/* Rows are in preorder; "depth" gives their parents. */
void pt_tree_json(pt_out *out, const pt_report_head *head, pt_tree *tree)
{
    PT_AUTO(pt_part_columns) parts = {0};
    const pt_columns c = columns_of(head, tree, &parts);
    PT_AUTO(pt_json_w) w;
    pt_json_w_init(&w, out, PT_JSON_INDENT);
    pt_report_head_json(&w, "tree", head);
    pt_columns_json_schema(&w, &c);
    pt_json_key_array(&w, "rows");
    pt_tree_row row;
    while (pt_out_ok(out) && pt_tree_next(tree, &row)) {
        pt_json_object(&w);
        pt_columns_json(&w, &c, &row);
        pt_json_object_end(&w);
    }
    pt_json_array_end(&w);
    pt_json_key_uint(&w, "left_out", tree->left_out);
    pt_json_key_int(&w, "without_frames", tree->rootless);
    pt_json_object_end(&w);
}

void pt_tree_csv(pt_out *out, const pt_report_head *head, pt_tree *tree)
{
    PT_AUTO(pt_part_columns) parts = {0};
    const pt_columns c = columns_of(head, tree, &parts);
    pt_columns_csv_head(out, &c);
    pt_tree_row row;
    while (pt_out_ok(out) && pt_tree_next(tree, &row))
        pt_columns_csv(out, &c, &row);
}
