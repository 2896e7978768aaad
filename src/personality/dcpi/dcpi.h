/* dcpi.h: shared by the commands that stand in for DCPI's tools: the choice of events and images,
 * and their counts. */
#pragma once

#include "cmd/cmd.h"
#include "cmd/shape.h"
#include "personality/dcpi/counts.h"
#include "personality/dcpi/print_counts.h"

typedef struct pt_dcpi_settings {
    const char *event; /* names of events, joined by commas; NULL = all events that are counts */
    const char *sort;  /* name of the event to sort by; NULL = the first */
    pt_option_list image;
} pt_dcpi_settings;

/* Rows for a settings struct with a field `dcpi` of this type. */
#define PT_DCPI_EVENT_ROW(settings)                                                                \
    PT_ROW("event", STRING, settings, dcpi.event, .letter = 'e', .metavar = "EVENT[,EVENT...]",    \
           .help = "show these events (default: all with counts)",                                 \
           .details = "By name or number. Several profiles of one event each are one profile of "  \
                      "all their events.")
#define PT_DCPI_SORT_ROW(settings)                                                                 \
    PT_ROW("sort", STRING, settings, dcpi.sort, .letter = 's', .aliases = "st",                    \
           .metavar = "EVENT", .help = "sort by this event (default: the first)",                  \
           .details = "By name or number. It has the first column, and a cumulative share.")
#define PT_DCPI_IMAGE_ROW(settings)                                                                \
    PT_ROW("image", LIST, settings, dcpi.image, .metavar = "NAME",                                 \
           .help = "only this image: a path or its last part",                                     \
           .details = "May be given several times. A program among the arguments is one, too.")

/* Rows for a settings struct with fields `no_header` and `shape` (shape.h). */
#define PT_DCPI_TABLE_ROWS(settings)                                                               \
    PT_ROW("no_header", FLAG, settings, no_header, .help = "rows only",                            \
           .details = "Neither the events nor the titles of the columns."),                        \
        PT_SHAPE_JSON_ROW(settings),                                                               \
        PT_ROW("csv", SET, settings, shape, .min = PT_SHAPE_CSV, .aliases = "csl",                 \
               .help = "write CSV",                                                                \
               .details = "RFC 4180 with a line of column names; values are whole numbers.")

/* The fields that all these commands have. */
#define PT_DCPI_COMMAND(command)                                                                   \
    PT_COMMAND(command), .group = PT_GROUP_DCPI, .syntax = PT_SYNTAX_PERL, .stands_in = true,      \
                         .max_args = SIZE_MAX

/* Counts the events of context->profile. *ret_column: the column to sort by. Returns PT_EXIT_OK, or
 * prints a message and returns its exit status. */
int pt_dcpi_count(const pt_cmd_context *context, const pt_dcpi_settings *settings,
                  pt_counts *ret_counts, uint32_t *ret_column);

/* Like pt_dcpi_count; also finds the images that options or arguments name. *ret_in_image has a
 * flag for each image, true if the image is named, and the caller frees it; it is NULL if no image
 * is named, so that all are wanted. Prints a message and fails if a named image has no samples. The
 * caller calls pt_counts_done, even after a failure. */
int pt_dcpi_count_images(const pt_cmd_context *context, const pt_dcpi_settings *settings,
                         pt_counts *ret_counts, uint32_t *ret_column, bool **ret_in_image);

/* Writes the table as text, CSV or JSON. */
void pt_dcpi_show(pt_cmd_context *context, pt_shape shape, const pt_counts_table *table);
