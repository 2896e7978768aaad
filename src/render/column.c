/* column.c: see column.h. */
#include "render/column.h"

#include <inttypes.h>
#include <string.h>

#include "render/report.h"

#define SHARE_WIDTH 7

bool pt_totals_known(const pt_columns *columns, const void *row)
{
    return columns->totals_known;
}

static const void *cell_of(const pt_column *c, const void *row)
{
    return (const char *)row + c->offset;
}

static int64_t int_of(const void *cell)
{
    return *(const int64_t *)cell;
}

static uint64_t uint_of(const pt_column *c, const void *cell)
{
    return c->kind == PT_CELL_COUNT32 ? *(const uint32_t *)cell : *(const uint64_t *)cell;
}

static double double_of(const void *cell)
{
    return *(const double *)cell;
}

static bool flag_of(const pt_column *c, const void *cell)
{
    return *(const bool *)cell != (c->kind == PT_CELL_NOT);
}

static const char *text_of(const void *cell)
{
    return *(const char *const *)cell;
}

static bool is_known(const pt_columns *columns, const pt_column *c, const void *row)
{
    if (c->is_known != NULL && !c->is_known(columns, row)) return false;
    if (c->kind == PT_CELL_CALLS) return uint_of(c, cell_of(c, row)) != 0;
    if (c->marks & PT_ZERO_UNKNOWN) return int_of(cell_of(c, row)) != 0;
    return true;
}

/* ---- Text ---- */

/* The next column of text after the column `after`, or the first column if `after` is NULL. Returns
 * NULL after the last column.
 */
static const pt_column *next_shown(const pt_columns *columns, const pt_column *after)
{
    const pt_column *next = NULL;
    for (const pt_column *c = columns->column; c < columns->column + columns->count; c++) {
        const bool is_later =
            after == NULL || c->place > after->place || (c->place == after->place && c > after);
        if (is_later && (next == NULL || c->place < next->place)) next = c;
    }
    return next;
}

/* The width of a column of text; 0 if the column is not shown. */
static int width_of(const pt_columns *columns, const pt_column *c)
{
    if (c->kind == PT_CELL_NAME || c->kind == PT_CELL_FILE) return 0;
    if (c->title == NULL && c->text == NULL) return 0;
    return c->width == 0 ? SHARE_WIDTH : columns->width[c->width];
}

static int gap_of(const pt_column *c)
{
    return c->gap == 0 ? 1 : c->gap;
}

pt_value_text pt_cell_text(const pt_columns *columns, const pt_column *column, const void *row)
{
    const void *const cell = cell_of(column, row);
    pt_value_text text = {"-"};
    if (!is_known(columns, column, row)) return text;
    switch (column->kind) {
    case PT_CELL_VALUE: return pt_value_of(columns->unit, int_of(cell));
    case PT_CELL_SHARE:
        memcpy(text.text, pt_percent_of(double_of(cell)).text, sizeof(pt_percent));
        return text;
    default: /* Counts are shown as numbers; columns of all other kinds have functions that make
              * their text. */
        memcpy(text.text, pt_count_of(uint_of(column, cell)).text, sizeof(pt_count_text));
        return text;
    }
}

static pt_value_text shown_text(const pt_columns *columns, const pt_column *c, const void *row)
{
    return c->text != NULL ? c->text(columns, c, row) : pt_cell_text(columns, c, row);
}

void pt_columns_fit(pt_columns *columns, const void *row)
{
    for (size_t i = 0; i < columns->count; i++) {
        const pt_column *const c = &columns->column[i];
        if (c->width == 0 || width_of(columns, c) == 0) continue;
        const int needed = (int)pt_text_width(shown_text(columns, c, row).text);
        if (needed > columns->width[c->width]) columns->width[c->width] = needed;
    }
}

static void put_right(pt_out *out, int width, const char *text)
{
    const size_t length = strlen(text);
    if (length < (size_t)width) pt_text_pad(out, (size_t)width - length);
    pt_out_put(out, text, length);
}

/* Puts the cells of a row, or the titles if row is NULL. */
static void put_cells(pt_out *out, const pt_columns *columns, const void *row)
{
    bool is_first = true;
    const pt_column *c = NULL;
    while ((c = next_shown(columns, c)) != NULL) {
        const bool is_name = c->kind == PT_CELL_NAME;
        const int width = width_of(columns, c);
        if (width == 0 && !is_name) continue;
        if (!is_first) pt_text_pad(out, (size_t)gap_of(c));
        is_first = false;
        if (is_name && row == NULL) pt_out_text(out, c->title);
        if (is_name) return;
        const bool is_title = row == NULL && c->title != NULL;
        put_right(out, width, is_title ? c->title : shown_text(columns, c, row).text);
    }
}

void pt_columns_text(pt_out *out, const pt_columns *columns, const void *row)
{
    put_cells(out, columns, row);
}

void pt_columns_head(pt_out *out, const pt_look *look, const pt_columns *columns, const char *rest)
{
    pt_text_colour(out, look, PT_COLOUR_STRONG);
    put_cells(out, columns, NULL);
    pt_out_text(out, rest);
    pt_out_char(out, '\n');
    pt_text_colour_end(out, look, PT_COLOUR_STRONG);
}

size_t pt_columns_used(const pt_columns *columns)
{
    size_t used = 0;
    const pt_column *c = NULL;
    while ((c = next_shown(columns, c)) != NULL) {
        if (c->kind == PT_CELL_NAME) return used + (size_t)gap_of(c);
        const int width = width_of(columns, c);
        if (width > 0) used += (size_t)width + (used > 0 ? (size_t)gap_of(c) : 0);
    }
    return used;
}

/* ---- Markdown ---- */

static void put_titles(pt_out *out, const pt_columns *columns, bool is_rule)
{
    const pt_column *c = NULL;
    pt_out_char(out, '|');
    while ((c = next_shown(columns, c)) != NULL) {
        const bool is_name = c->kind == PT_CELL_NAME;
        if (width_of(columns, c) == 0 && !is_name) continue;
        const pt_value_text shown =
            c->title == NULL ? shown_text(columns, c, NULL) : (pt_value_text){""};
        const char *title = c->title != NULL ? c->title : shown.text;
        if (is_rule) title = is_name ? ":--" : "--:";
        pt_outf(out, " %s |", title);
        if (is_name) break;
    }
    pt_out_char(out, '\n');
}

void pt_columns_markdown_head(pt_out *out, const pt_columns *columns)
{
    put_titles(out, columns, false);
    put_titles(out, columns, true);
}

const char *pt_columns_markdown(pt_out *out, const pt_columns *columns, const void *row)
{
    const pt_column *c = NULL;
    while ((c = next_shown(columns, c)) != NULL) {
        if (c->kind == PT_CELL_NAME) return text_of(cell_of(c, row));
        if (width_of(columns, c) > 0) pt_outf(out, " %s |", shown_text(columns, c, row).text);
    }
    return "";
}

/* ---- JSON ---- */

static const char *const kind_words[] = {
    [PT_CELL_VALUE] = "value", [PT_CELL_MEAN] = "value",    [PT_CELL_BOUND] = "value",
    [PT_CELL_SHARE] = "share", [PT_CELL_CALLS] = "count",   [PT_CELL_NUMBER] = "number",
    [PT_CELL_COUNT] = "count", [PT_CELL_COUNT32] = "count", [PT_CELL_ADDRESS] = "address",
    [PT_CELL_FLAG] = "flag",   [PT_CELL_NOT] = "flag",      [PT_CELL_TEXT] = "text",
    [PT_CELL_NAME] = "name",   [PT_CELL_FILE] = "file",     [PT_CELL_GROUP] = "group",
};

/* NOLINTNEXTLINE(misc-no-recursion): a group holds no group */
static void json_schema_of(pt_json_w *w, const pt_column *c)
{
    pt_json_object(w);
    pt_json_key_text(w, "key", c->key);
    if (c->title != NULL) pt_json_key_text(w, "title", c->title);
    pt_json_key_text(w, "kind", kind_words[c->kind]);
    if (c->kind == PT_CELL_GROUP) {
        pt_json_key_array(w, "columns");
        for (const pt_column *m = c->members; m->key != NULL; m++)
            json_schema_of(w, m);
        pt_json_array_end(w);
    }
    pt_json_object_end(w);
}

/* The n-th column of a row's object, n from 0 to twice the count; NULL if there is no column at
 * that place. */
static const pt_column *json_column(const pt_columns *columns, size_t n)
{
    const pt_column *const c = &columns->column[n < columns->count ? n : n - columns->count];
    const bool is_first = c->marks & PT_JSON_FIRST;
    if (c->key == NULL || (c->marks & PT_CSV_ONLY) || is_first != (n < columns->count)) return NULL;
    return c;
}

void pt_columns_json_schema(pt_json_w *w, const pt_columns *columns)
{
    PT_JSON_EACH (w, "columns", i, columns->count) {
        const pt_column *const c = &columns->column[i];
        if (c->key != NULL && !(c->marks & PT_CSV_ONLY)) json_schema_of(w, c);
    }
}

/* NOLINTNEXTLINE(misc-no-recursion): a group holds no group */
static void json_cell(pt_json_w *w, const pt_columns *columns, const pt_column *c, const void *row)
{
    const void *const cell = cell_of(c, row);
    if (c->in_json != NULL && !c->in_json(columns, row)) return;
    if (!is_known(columns, c, row)) {
        pt_json_key_null(w, c->key);
        return;
    }
    switch (c->kind) {
    case PT_CELL_VALUE:
    case PT_CELL_NUMBER: pt_json_key_int(w, c->key, int_of(cell)); break;
    case PT_CELL_MEAN:
    case PT_CELL_BOUND:
    case PT_CELL_SHARE: pt_json_key_double(w, c->key, double_of(cell)); break;
    case PT_CELL_CALLS:
    case PT_CELL_COUNT:
    case PT_CELL_COUNT32: pt_json_key_uint(w, c->key, uint_of(c, cell)); break;
    case PT_CELL_ADDRESS: pt_json_key_hex(w, c->key, uint_of(c, cell)); break;
    case PT_CELL_FLAG:
    case PT_CELL_NOT: pt_json_key_bool(w, c->key, flag_of(c, cell)); break;
    case PT_CELL_TEXT:
    case PT_CELL_NAME:
    case PT_CELL_FILE: pt_json_key_text(w, c->key, text_of(cell)); break;
    case PT_CELL_GROUP:
        pt_json_key_object(w, c->key);
        for (const pt_column *m = c->members; m->key != NULL; m++)
            json_cell(w, columns, m, cell);
        pt_json_object_end(w);
    }
}

void pt_columns_json(pt_json_w *w, const pt_columns *columns, const void *row)
{
    for (size_t n = 0; n < 2 * columns->count; n++) {
        const pt_column *const c = json_column(columns, n);
        if (c != NULL) json_cell(w, columns, c, row);
    }
}

void pt_columns_json_rows(pt_json_w *w, const char *key, const pt_columns *columns,
                          const void *rows, size_t count, size_t stride)
{
    PT_JSON_OBJECTS (w, key, i, count)
        pt_columns_json(w, columns, (const char *)rows + i * stride);
}

/* ---- CSV ---- */

static void csv_title(pt_out *out, const char *group, const pt_column *c)
{
    const char *const key = c->csv_key != NULL ? c->csv_key : c->key;
    if (group[0] != '\0') pt_outf(out, "%s_", group);
    pt_csv_put(out, key);
}

static void csv_cell(pt_out *out, const pt_columns *columns, const pt_column *c, const void *row)
{
    const void *const cell = cell_of(c, row);
    if (!is_known(columns, c, row)) return;
    switch (c->kind) {
    case PT_CELL_VALUE:
    case PT_CELL_NUMBER: pt_outf(out, "%" PRId64, int_of(cell)); break;
    case PT_CELL_MEAN: pt_outf(out, "%.17g", double_of(cell)); break;
    case PT_CELL_BOUND: pt_outf(out, "%.10g", double_of(cell)); break;
    case PT_CELL_SHARE: pt_outf(out, "%.6g", double_of(cell)); break;
    case PT_CELL_CALLS:
    case PT_CELL_COUNT:
    case PT_CELL_COUNT32: pt_outf(out, "%" PRIu64, uint_of(c, cell)); break;
    case PT_CELL_ADDRESS: pt_outf(out, "0x%" PRIx64, uint_of(c, cell)); break;
    case PT_CELL_FLAG:
    case PT_CELL_NOT: pt_out_text(out, flag_of(c, cell) ? "true" : "false"); break;
    case PT_CELL_TEXT:
    case PT_CELL_NAME:
    case PT_CELL_FILE:
        if (text_of(cell) != NULL) pt_csv_put(out, text_of(cell));
        break;
    case PT_CELL_GROUP: PT_BUG_IF(true);
    }
}

/* Puts a line with the titles, or (if row is not NULL) with the row's cells. A column of a group
 * gives a cell for each of its members. */
static void csv_line(pt_out *out, const pt_columns *columns, const void *row)
{
    bool is_first = true;
    for (size_t i = 0; i < columns->count; i++) {
        const pt_column *const c = &columns->column[i];
        if (c->key == NULL || (c->marks & PT_JSON_ONLY)) continue;
        const bool is_group = c->kind == PT_CELL_GROUP;
        const bool has_cells = row != NULL && is_known(columns, c, row);
        for (const pt_column *m = is_group ? c->members : c; m->key != NULL; m++) {
            if (!is_first) pt_out_char(out, ',');
            is_first = false;
            if (row == NULL)
                csv_title(out, is_group ? c->key : "", m);
            else if (has_cells)
                csv_cell(out, columns, m, is_group ? cell_of(c, row) : row);
            if (!is_group) break;
        }
    }
    pt_out_char(out, '\n');
}

void pt_columns_csv_head(pt_out *out, const pt_columns *columns)
{
    csv_line(out, columns, NULL);
}

void pt_columns_csv(pt_out *out, const pt_columns *columns, const void *row)
{
    csv_line(out, columns, row);
}

void pt_columns_csv_rows(pt_out *out, const pt_columns *columns, const void *rows, size_t count,
                         size_t stride)
{
    pt_columns_csv_head(out, columns);
    for (size_t i = 0; i < count && pt_out_ok(out); i++)
        pt_columns_csv(out, columns, (const char *)rows + i * stride);
}
