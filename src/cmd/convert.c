/* convert.c: pitot convert: a profile in another format. */
#include <stddef.h>

#include "cmd/options.h"
#include "cmd/output.h"

typedef struct {
    pt_output_settings output;
} convert_settings;

static const pt_option convert_rows[] = {
    PT_OUTPUT_ROWS(convert_settings),
    PT_PRIVATE_ROWS(convert_settings, output.no_private, output.keep_labels),
};
static const pt_option_table convert_options = PT_OPTION_TABLE(convert_rows);

static int convert_run(pt_cmd_context *context, void *own)
{
    const convert_settings *settings = own;
    return pt_cmd_write(context, &settings->output, context->profile, NULL);
}

const pt_command pt_command_convert = {
    PT_COMMAND(convert),
    .group = PT_GROUP_FILES,
    .summary = "write a profile in another format, and print what is lost",
    .arguments = "[PROFILE] -o FILE",
    .description = "The end of FILE's name (.pb.gz, .folded) or --to chooses the format. convert "
                   "prints each kind of data that the format cannot hold, with its count. With "
                   "--strict a loss is an error, and nothing is written.\n\nA profile.proto of go "
                   "tool pprof gets the same bytes before compression. Unknown fields are kept.",
    .examples =
        (const char *const[]){"pitot convert cpu.pb.gz -o cpu.folded", "for flame graph scripts",
                              "pitot convert stacks.txt -o stacks.pb.gz", "for pprof",
                              "pitot convert a.pb.gz --canonical --raw -o a.pb",
                              "to compare two profiles byte by byte",
                              "pitot convert cpu.pb.gz --private -o send.pb.gz",
                              "without paths, host, command line and foreign labels", NULL},
    .needs = PT_NEEDS_PROFILE | PT_OFFERS_SYMBOLS,
    .max_args = 1,
};
