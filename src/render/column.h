/* column.h: a report's columns as data: a table with one line for each column. From this table are
 * made: the head and the cells of text, the members of JSON, the cells of CSV, and the table of
 * `pitot serve`'s page.
 *
 *     static const pt_column columns[] = {
 *         PT_COLUMN("self", "self", VALUE, pt_top_row, self, .width = 1),
 *         PT_COLUMN("name", "function", NAME, pt_top_row, name, .marks = PT_JSON_FIRST, .gap = 2),
 *         PT_COLUMN("line", NULL, NUMBER, pt_top_row, line, .marks = PT_JSON_FIRST),
 *     };
 *
 * CSV has the order of the table. Text shows the columns that have a title, and ends before the
 * name's column, whose cell the report puts itself: only the report knows the texts around a name.
 */
#pragma once

#include <stddef.h>

#include "base/json.h"
#include "render/value.h"

typedef enum pt_cell_kind {
    PT_CELL_VALUE,   /* int64_t in the event's unit */
    PT_CELL_MEAN,    /* double in the event's unit */
    PT_CELL_BOUND,   /* an end of an interval: a PT_CELL_MEAN with 10 digits in CSV */
    PT_CELL_SHARE,   /* double: 0.25 is 25 % */
    PT_CELL_CALLS,   /* uint64_t: a number of calls; 0 = unknown */
    PT_CELL_NUMBER,  /* int64_t; in JSON with PT_ZERO_UNKNOWN null for 0 */
    PT_CELL_COUNT,   /* uint64_t */
    PT_CELL_COUNT32, /* uint32_t */
    PT_CELL_ADDRESS, /* uint64_t; in JSON the text "0x7f00" */
    PT_CELL_FLAG,    /* bool */
    PT_CELL_NOT,     /* bool, of which the opposite is shown */
    PT_CELL_TEXT,    /* const char *; NULL = unknown */
    PT_CELL_NAME,    /* const char *: the row's name */
    PT_CELL_FILE,    /* const char *: the row's file, which text shows next to the name */
    PT_CELL_GROUP,   /* a struct with columns of its own: an object in JSON; in CSV columns like
                      * "self_change". If the column has no key, only its text is shown */
} pt_cell_kind;

typedef enum {
    PT_JSON_FIRST = 1,   /* in JSON the column comes before columns without this mark */
    PT_JSON_ONLY = 2,    /* is not in CSV */
    PT_CSV_ONLY = 4,     /* is not in JSON */
    PT_ZERO_UNKNOWN = 8, /* 0 stands for unknown */
} pt_column_marks;

typedef struct pt_columns pt_columns;
typedef struct pt_column pt_column;

struct pt_column {
    const char *key;   /* key of the member in JSON, and of the column in CSV; NULL if only text has
                        * the column */
    const char *title; /* shown above the cells of text and of the page; NULL if neither shows the
                        * column */
    pt_cell_kind kind;
    size_t offset; /* offset of the cell in the row's struct */
    pt_column_marks marks;
    uint8_t width; /* in text: the index of the column's width in pt_columns.width; 0: the column is
                    * 7 wide */
    uint8_t gap;   /* in text: number of spaces before the column; 0 means 1 space */
    uint8_t place; /* in text: columns come in the order of their places; those with equal places as
                    * in the table */
    const char *csv_key;      /* the key in CSV if it differs from `key`; else NULL */
    const pt_column *members; /* PT_CELL_GROUP: the columns of the struct, ended by a column without
                               * key */
    /* Is the cell known? An unknown cell is "-" in text, null in JSON and empty in CSV. NULL =
     * always known. */
    bool (*is_known)(const pt_columns *columns, const void *row);
    /* Has this row's object in JSON a member for this column? NULL = always. */
    bool (*in_json)(const pt_columns *columns, const void *row);
    /* Makes the cell of text if the usual form of the kind does not fit. If row is NULL, makes the
     * title of a column that has no fixed title. */
    pt_value_text (*text)(const pt_columns *columns, const pt_column *column, const void *row);
};

/* A column whose cell is the field FIELD of the struct ROW. KIND: a pt_cell_kind without PT_CELL_.
 * The further arguments are initialisers of other members of pt_column. A field whose type is not
 * that of the kind does not compile. */
#define PT_COLUMN(KEY, TITLE, KIND, ROW, FIELD, ...)                                               \
    {                                                                                              \
        .key = (KEY), .title = (TITLE), .kind = PT_CELL_##KIND,                                    \
        .offset = offsetof(ROW, FIELD) * _Generic(((ROW *)NULL)->FIELD, PT_TYPE_##KIND : 1),       \
        __VA_ARGS__                                                                                \
    }
#define PT_TYPE_VALUE   int64_t
#define PT_TYPE_NUMBER  int64_t
#define PT_TYPE_MEAN    double
#define PT_TYPE_BOUND   double
#define PT_TYPE_SHARE   double
#define PT_TYPE_CALLS   uint64_t
#define PT_TYPE_COUNT   uint64_t
#define PT_TYPE_COUNT32 uint32_t
#define PT_TYPE_ADDRESS uint64_t
#define PT_TYPE_FLAG    bool
#define PT_TYPE_NOT     bool
#define PT_TYPE_TEXT    char * : 1, const char *
#define PT_TYPE_NAME    char * : 1, const char *
#define PT_TYPE_FILE    char * : 1, const char *
#define PT_TYPE_GROUP   default

enum { PT_COLUMN_WIDTHS = 8 };

/* The columns of one report. */
struct pt_columns {
    const pt_column *column;
    size_t count;
    const char *unit;    /* of values; "" = none */
    bool totals_known;   /* for pt_totals_known */
    const void *context; /* for the functions of the report's columns */
    /* Widths of columns of text, from [1] on. The report sets the least widths, and pt_columns_fit
     * widens them. A column of width 0 is not shown. */
    int width[PT_COLUMN_WIDTHS];
};

/* The first two members of a pt_columns. */
#define PT_COLUMNS(table) .column = (table), .count = sizeof(table) / sizeof *(table)

/* For pt_column.is_known: columns->totals_known, for every row. */
bool pt_totals_known(const pt_columns *columns, const void *row);

/* Widens the columns of text so that the row's cells fit. Call it for each row before the head is
 * put. */
void pt_columns_fit(pt_columns *columns, const void *row);
/* Puts the head: the titles, then the text `rest` and a newline. */
void pt_columns_head(pt_out *out, const pt_look *look, const pt_columns *columns, const char *rest);
/* Puts the cells of a row up to the name's, and the spaces before the name. */
void pt_columns_text(pt_out *out, const pt_columns *columns, const void *row);
/* The number of terminal columns before the name. */
size_t pt_columns_used(const pt_columns *columns);
/* The cell of text in the usual form of the column's kind. */
pt_value_text pt_cell_text(const pt_columns *columns, const pt_column *column, const void *row);

/* For markdown.h: the first function puts the two lines above a table; the second puts the cells of
 * a row up to the name's cell, and returns the name. */
void pt_columns_markdown_head(pt_out *out, const pt_columns *columns);
const char *pt_columns_markdown(pt_out *out, const pt_columns *columns, const void *row);

/* Puts the member "columns": key, title and kind of each column, from which a page makes its table.
 */
void pt_columns_json_schema(pt_json_w *w, const pt_columns *columns);
/* Puts the members of a row's object. */
void pt_columns_json(pt_json_w *w, const pt_columns *columns, const void *row);
/* Puts a member with this key, whose value is an array with an object for each row. stride: size of
 * a row in bytes. */
void pt_columns_json_rows(pt_json_w *w, const char *key, const pt_columns *columns,
                          const void *rows, size_t count, size_t stride);

/* The first function puts the line with the keys of the columns, the second puts the line of a
 * row. */
void pt_columns_csv_head(pt_out *out, const pt_columns *columns);
void pt_columns_csv(pt_out *out, const pt_columns *columns, const void *row);
/* Puts the line of keys and the lines of all rows. stride: size of a row in bytes. */
void pt_columns_csv_rows(pt_out *out, const pt_columns *columns, const void *rows, size_t count,
                         size_t stride);
