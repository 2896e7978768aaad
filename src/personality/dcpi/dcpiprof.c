/* dcpiprof.c: pitot dcpiprof, samples by image or by procedure. */

#include "base/saturate.h"
#include "cmd/cmd.h"
#include "personality/dcpi/dcpi.h"

typedef struct {
    pt_dcpi_settings dcpi;
    bool images, procedures, no_header;
    double keep;
    int64_t rows;
    pt_shape shape;
} dcpiprof_settings;

static const pt_option dcpiprof_rows[] = {
    PT_ROW("images", FLAG, dcpiprof_settings, images, .letter = 'i',
           .help = "a row an image (the default, unless an image is named)",
           .details = "An image that is mapped at several places is one."),
    PT_ROW("procedures", FLAG, dcpiprof_settings, procedures, .letter = 'p',
           .help = "a row a procedure, of all images",
           .details =
               "A procedure is the function that has the code; what was inlined is part of it."),
    PT_DCPI_IMAGE_ROW(dcpiprof_settings),
    PT_DCPI_EVENT_ROW(dcpiprof_settings),
    PT_DCPI_SORT_ROW(dcpiprof_settings),
    PT_ROW("keep", DOUBLE, dcpiprof_settings, keep, .initial = "100", .metavar = "PERCENT",
           .help = "stop when the rows make up this much of the event they are sorted by",
           .details = "The percentage is of the whole profile, even if only some images are shown. "
                      "A last line says how many rows more there are."),
    PT_ROWS_ROW(dcpiprof_settings, "0", "A last line says how many more there are."),
    PT_DCPI_TABLE_ROWS(dcpiprof_settings),
};
static const pt_option_table dcpiprof_options = PT_OPTION_TABLE(dcpiprof_rows);

/* The number of rows, at most `limit`, that make up `keep` percent. */
static size_t rows_to_keep(const pt_counts_table *t, size_t count, double keep, int64_t limit)
{
    const double enough = keep / 100 * (double)t->counts->event[t->column].total;
    size_t n = 0;
    int64_t sum = 0;
    while (n < count && (keep >= 100 || (double)sum < enough) && (limit == 0 || n < (size_t)limit))
        pt_saturating_into(&sum, pt_counts_value(t->counts, t->level, t->rows[n++], t->column));
    return n;
}

static int dcpiprof_run(pt_cmd_context *context, void *own)
{
    const dcpiprof_settings *settings = own;
    if (settings->images && settings->procedures)
        return pt_cmd_usage(context, "dcpiprof: -images and -procedures: only one of them");
    PT_AUTO(pt_counts) counts;
    uint32_t column;
    PT_FREE bool *in_image;
    const int status = pt_dcpi_count_images(context, &settings->dcpi, &counts, &column, &in_image);
    if (status == PT_EXIT_OK) {
        const bool procedures = settings->procedures || (in_image != NULL && !settings->images);
        pt_counts_table t = {.report = "dcpiprof",
                             .title = context->title,
                             .counts = &counts,
                             .level = procedures ? PT_COUNTS_PROCEDURES : PT_COUNTS_IMAGES,
                             .column = column,
                             .no_head = settings->no_header};
        size_t count;
        PT_FREE uint32_t *rows = pt_counts_rank(&counts, t.level, column, in_image, &count);
        t.rows = rows;
        t.row_count = rows_to_keep(&t, count, settings->keep, settings->rows);
        t.more = count - t.row_count;
        pt_diag_add(&context->diag, counts.outside, "samples without an address left out");
        pt_dcpi_show(context, settings->shape, &t);
    }
    return status;
}

const pt_command pt_command_dcpiprof = {
    PT_DCPI_COMMAND(dcpiprof),
    .summary = "samples by image, or by procedure",
    .arguments = "[PROGRAM] [PROFILE...]",
    .description =
        "One row an image, or with -procedures (or where an image is named) a procedure, with a "
        "count and a share for each event. Only where a sample was taken counts, not who called: "
        "what was inlined counts for the procedure that has the code. Addresses that have no name "
        "are one row an image, [unknown].\n\n"
        "Any profile with addresses will do. Several profiles are added up; those of different "
        "events get a column each.",
    .examples =
        (const char *const[]){"pitot dcpiprof cycles.dcpi imiss.dcpi", "two events, an image a row",
                              "pitot dcpiprof -p -keep 90 -s imiss *.dcpi",
                              "the procedures that make up 90 % of imiss", NULL},
    .needs = PT_NEEDS_PROFILE | PT_NEEDS_SYMBOLS | PT_NEEDS_ALL_EVENTS,
};
