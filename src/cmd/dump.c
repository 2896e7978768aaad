/* dump.c: pitot dump, the profile as it is. */
#include "render/dump.h"
#include "cmd/cmd.h"
#include "cmd/shape.h"

typedef struct {
    bool raw;
    int64_t samples;
    pt_shape shape;
} dump_settings;

static const pt_option dump_rows[] = {
    PT_ROW("raw", FLAG, dump_settings, raw,
           .help = "show all tables with every column, one row a line",
           .details = "Each table has its name and number of rows, a line of column names, then a "
                      "line for each row: its number and the columns, separated by tabs. Texts are "
                      "quoted as in JSON, addresses are hexadecimal, - means none, lists are "
                      "separated by blanks. diff(1) compares two dumps."),
    PT_ROW("samples", INT, dump_settings, samples, .letter = 'n', .min = 0, .max = UINT32_MAX,
           .help = "show this many samples; 0 shows all", .details = "Not with --raw."),
    PT_SHAPE_JSON_ROW(dump_settings),
};
static const pt_option_table dump_options = PT_OPTION_TABLE(dump_rows);

static int dump_run(pt_cmd_context *context, void *own)
{
    const dump_settings *settings = own;
    const pt_profile *p = context->answer;
    const uint32_t limit = (uint32_t)settings->samples;
    const bool json = settings->shape == PT_SHAPE_JSON;
    if (settings->raw && limit > 0)
        return pt_cmd_usage(context, "dump: --samples does not apply to --raw, which shows tables");
    if (settings->raw && json)
        pt_dump_tables_json(context->out, p);
    else if (settings->raw)
        pt_dump_tables_text(context->out, p);
    else if (json)
        pt_dump_samples_json(context->out, p, limit);
    else
        pt_dump_samples_text(context->out, &context->look, p, limit);
    return PT_EXIT_OK;
}

const pt_command pt_command_dump = {
    PT_COMMAND(dump),
    .group = PT_GROUP_ANSWER,
    .summary = "every sample with its stack; every table",
    .arguments = "[PROGRAM] [PROFILE...]",
    .description =
        "A paragraph for each sample: its values, thread and labels, then its frames from the "
        "innermost to the root, with file and line and a mark for inlined frames, and the reason "
        "why the stack ended, if the file has one. --raw shows the tables that pitot made of the "
        "file. Values are exact, in the event's own unit.",
    .examples =
        (const char *const[]){"pitot dump -n 3 a.pb.gz", "the first three samples",
                              "pitot dump --json a.pb.gz | jq '.samples[].values'",
                              "only the values", "diff <(pitot dump --raw a) <(pitot dump --raw b)",
                              "what differs between two profiles", NULL},
    .needs =
        PT_NEEDS_PROFILE | PT_NEEDS_SYMBOLS | PT_NEEDS_QUERY | PT_NEEDS_ALL_FRAMES | PT_TELLS_ALL,
    .max_args = SIZE_MAX,
};
