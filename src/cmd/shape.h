/* shape.h: the options that choose the form and the length of a report. */
#pragma once

typedef enum {
    PT_SHAPE_TEXT,
    PT_SHAPE_JSON,
    PT_SHAPE_CSV,
    PT_SHAPE_MARKDOWN, /* of reports that are a table of columns */
} pt_shape;

/* Rows for a settings struct with a field `shape`. */
#define PT_SHAPE_JSON_ROW(settings)                                                                \
    PT_ROW("json", SET, settings, shape, .min = PT_SHAPE_JSON, .help = "write JSON",               \
           .details = "One object with a schema number; values are whole numbers in the event's "  \
                      "unit, shares are fractions of 1.")
#define PT_SHAPE_CSV_ROW(settings)                                                                 \
    PT_ROW(                                                                                        \
        "csv", SET, settings, shape, .min = PT_SHAPE_CSV, .help = "write CSV",                     \
        .details =                                                                                 \
            "RFC 4180 with a line of column names; values are whole numbers in the event's unit.")
#define PT_SHAPE_MARKDOWN_ROW(settings)                                                            \
    PT_ROW("markdown", SET, settings, shape, .min = PT_SHAPE_MARKDOWN,                             \
           .help = "write Markdown, for a comment or a job's summary",                             \
           .details = "The columns are those of the text. Names are code.")

/* The row of --rows, for a settings struct with a field `rows`. standard: the usual number, a text.
 */
#define PT_ROWS_ROW(settings, standard, more)                                                      \
    PT_ROW("rows", INT, settings, rows, .letter = 'n', .initial = standard, .min = 0,              \
           .max = INT64_MAX, .help = "show this many rows; 0 shows all", .details = more)
