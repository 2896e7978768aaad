/* dcpitopcounts.c: pitot dcpitopcounts, the instructions with the most samples. */
#include <stdlib.h>

#include "cmd/cmd.h"
#include "cmd/source.h"
#include "personality/dcpi/dcpi.h"
#include "view/code.h"

typedef struct {
    pt_dcpi_settings dcpi;
    pt_code_settings code;
    int64_t rows;
    bool no_header;
    pt_shape shape;
} dcpitopcounts_settings;

static const pt_option dcpitopcounts_rows[] = {
    PT_ROWS_ROW(dcpitopcounts_settings, "100", "A last line says how many more there are."),
    PT_DCPI_IMAGE_ROW(dcpitopcounts_settings),
    PT_DCPI_EVENT_ROW(dcpitopcounts_settings),
    PT_DCPI_SORT_ROW(dcpitopcounts_settings),
    PT_DCPI_TABLE_ROWS(dcpitopcounts_settings),
    PT_CODE_ROWS(dcpitopcounts_settings),
};
static const pt_option_table dcpitopcounts_options = PT_OPTION_TABLE(dcpitopcounts_rows);

/* The text of each row's instruction. The caller frees each text and the array. */
static char **find_instructions(const pt_counts_table *t, const pt_code_options *options)
{
    const pt_counts *const c = t->counts;
    char **const text = pt_alloc(t->row_count + 1, sizeof *text);
    PT_FREE bool *wanted = pt_alloc((size_t)c->profile->location->t.count + 1, sizeof *wanted);
    for (size_t i = 0; i < t->row_count; i++)
        wanted[c->address[t->rows[i]].location] = true;
    PT_AUTO(pt_code) code;
    pt_code_init(&code, c->profile, wanted, options);
    for (size_t i = 0; i < t->row_count; i++) {
        const uint32_t location = c->address[t->rows[i]].location;
        const uint32_t image = code.image_of[location];
        if (image != PT_NONE)
            text[i] = pt_code_instruction_text(&code.image[image], code.addr[location], options);
    }
    return text;
}

static void show_table(pt_cmd_context *context, const dcpitopcounts_settings *settings,
                       pt_counts_table *t)
{
    PT_AUTO(pt_cmd_code) code;
    pt_cmd_code_init(&code, context, &settings->code);
    char **const text = find_instructions(t, &code.options);
    t->instruction = (const char *const *)text;
    pt_dcpi_show(context, settings->shape, t);
    for (size_t i = 0; i < t->row_count; i++)
        free(text[i]);
    free(text);
}

static int dcpitopcounts_run(pt_cmd_context *context, void *own)
{
    const dcpitopcounts_settings *settings = own;
    PT_AUTO(pt_counts) counts;
    uint32_t column;
    PT_FREE bool *in_image;
    const int status = pt_dcpi_count_images(context, &settings->dcpi, &counts, &column, &in_image);
    if (status == PT_EXIT_OK) {
        size_t count;
        PT_FREE uint32_t *rows =
            pt_counts_rank(&counts, PT_COUNTS_ADDRESSES, column, in_image, &count);
        const size_t limit = settings->rows > 0 ? (size_t)settings->rows : count;
        const size_t shown = count < limit ? count : limit;
        pt_counts_table t = {.report = "dcpitopcounts",
                             .title = context->title,
                             .counts = &counts,
                             .level = PT_COUNTS_ADDRESSES,
                             .column = column,
                             .rows = rows,
                             .row_count = shown,
                             .more = count - shown,
                             .no_head = settings->no_header};
        show_table(context, settings, &t);
    }
    return status;
}

const pt_command pt_command_dcpitopcounts = {
    PT_DCPI_COMMAND(dcpitopcounts),
    .summary = "the instructions with the most samples",
    .arguments = "[PROGRAM] [PROFILE...]",
    .description =
        "One row an instruction of any image: its count, share and cumulative share of the event "
        "that the rows are sorted by, its counts of the other events, its procedure, address, "
        "text, image and source line. Text needs the image as it was profiled; without it there "
        "is a dash.",
    .examples = (const char *const[]){"pitot dcpitopcounts -n 10 -s imiss *.dcpi",
                                      "where instructions were missed most", NULL},
    .needs = PT_NEEDS_PROFILE | PT_NEEDS_SYMBOLS | PT_NEEDS_ALL_EVENTS,
};
