/* dcpistats.c: pitot dcpistats, how samples vary from run to run. */

#include "cmd/shape.h"
#include "personality/dcpi/print_set_stats.h"
#include "personality/dcpi/sets.h"

typedef struct {
    pt_dcpi_settings dcpi;
    pt_option_list sets;
    bool images, normalize;
    double range;
    int64_t rows;
    pt_shape shape;
} dcpistats_settings;

static const pt_option dcpistats_rows[] = {
    PT_DCPI_SET_ROW(dcpistats_settings),
    PT_ROW("images", FLAG, dcpistats_settings, images, .letter = 'i',
           .help = "a row an image, not a procedure",
           .details = "Images are the same by their path, whatever was built there."),
    PT_ROW("normalize", FLAG, dcpistats_settings, normalize, .flags = PT_OPT_NEGATABLE,
           .aliases = "factor", .help = "scale each set to the mean of all totals first",
           .details = "So that runs of different length can be compared: what is left is how the "
                      "shares vary."),
    PT_ROW("range", DOUBLE, dcpistats_settings, range, .initial = "0", .metavar = "PERCENT",
           .help = "only rows whose range is at least this much",
           .details = "The range is the largest value less the smallest, as a share of the sum."),
    PT_DCPI_EVENT_ROW(dcpistats_settings),
    PT_ROWS_ROW(dcpistats_settings, "0", "A last line says how many more there are."),
    PT_SHAPE_JSON_ROW(dcpistats_settings),
    PT_SHAPE_CSV_ROW(dcpistats_settings),
};
static const pt_option_table dcpistats_options = PT_OPTION_TABLE(dcpistats_rows);

static void scale_sets(const dcpistats_settings *settings, pt_set *sets, size_t count)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += (double)sets[i].counts->event[sets[i].column].total;
    for (size_t i = 0; i < count; i++) {
        const double total = (double)sets[i].counts->event[sets[i].column].total;
        sets[i].factor = settings->normalize && total > 0 ? sum / (double)count / total : 1;
    }
}

static void answer_sets(pt_cmd_context *context, const dcpistats_settings *settings,
                        const pt_dcpi_sets *loaded)
{
    PT_FREE pt_set *sets = pt_alloc(loaded->count, sizeof *sets);
    PT_FREE const char **titles = pt_alloc(loaded->count, sizeof *titles);
    for (size_t i = 0; i < loaded->count; i++) {
        sets[i] = (pt_set){.counts = &loaded->items[i].counts, .column = loaded->items[i].column};
        titles[i] = loaded->items[i].context.title;
    }
    scale_sets(settings, sets, loaded->count);
    PT_AUTO(pt_set_stats) stats = {0};
    pt_set_stats_init(&stats, sets, loaded->count,
                      settings->images ? PT_COUNTS_IMAGES : PT_COUNTS_PROCEDURES);
    size_t rows = 0; /* the largest range comes first */
    while (rows < stats.count && 100 * stats.row[rows].range >= settings->range &&
           (settings->rows == 0 || rows < (size_t)settings->rows))
        rows++;
    const pt_set_table table = {.stats = &stats,
                                .event = sets[0].counts->event[sets[0].column].name,
                                .title = titles,
                                .rows = rows,
                                .more = stats.count - rows,
                                .images = settings->images};
    switch (settings->shape) {
    case PT_SHAPE_JSON: pt_set_stats_json(context->out, &table); break;
    case PT_SHAPE_CSV: pt_set_stats_csv(context->out, &table); break;
    case PT_SHAPE_MARKDOWN: /* has no option here */
    case PT_SHAPE_TEXT: pt_set_stats_text(context->out, &context->look, &table); break;
    }
}

static int dcpistats_run(pt_cmd_context *context, void *own)
{
    const dcpistats_settings *settings = own;
    PT_AUTO(pt_dcpi_sets) sets = {0};
    int status = pt_dcpi_sets_load(context, &settings->dcpi, &settings->sets, 0, &sets);
    if (status == PT_EXIT_OK && sets.count < 2)
        status = pt_cmd_usage(
            context, "dcpistats compares sets of profiles: name two or more, not %zu", sets.count);
    if (status == PT_EXIT_OK) answer_sets(context, settings, &sets);
    return status;
}

const pt_command pt_command_dcpistats = {
    PT_DCPI_COMMAND(dcpistats),
    .summary = "how samples vary from run to run",
    .arguments = "[PROGRAM] PROFILE PROFILE...",
    .description =
        "One row a procedure (or with -images an image) of all sets of profiles: the range from "
        "the smallest to the largest of them as a share of the sum, the sum, its share of all, the "
        "number of sets that have samples of it, and the mean, standard deviation, smallest and "
        "largest. What varies most stands first. `pitot diff` tells what of a difference is noise.",
    .examples = (const char *const[]){"pitot dcpistats run*.dcpi", "each profile is a run",
                                      "pitot dcpistats -set a1.dcpi,a2.dcpi -set b1.dcpi,b2.dcpi",
                                      "sets of several files", NULL},
    .needs = PT_NEEDS_PROFILE | PT_NEEDS_SYMBOLS | PT_NEEDS_ALL_EVENTS | PT_LOADS_ITSELF,
};
