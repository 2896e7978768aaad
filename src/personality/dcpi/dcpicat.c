/* dcpicat.c: pitot dcpicat, a profile in DCPI's text format. */
#include "cmd/output.h"
#include "personality/dcpi/dcpi.h"

typedef struct {
    pt_output_settings output;
} dcpicat_settings;

static const pt_option dcpicat_rows[] = {
    PT_ROW("output", STRING, dcpicat_settings, output.output, .letter = 'o', .metavar = "FILE",
           .help = "write to this file",
           .details = "It appears whole or not at all. - is standard output."),
    PT_ROW("event", STRING, dcpicat_settings, output.event, .letter = 'e', .metavar = "EVENT",
           .help = "only this event, by number or name",
           .details = "Without it each event that counts has a column."),
};
static const pt_option_table dcpicat_options = PT_OPTION_TABLE(dcpicat_rows);

static int dcpicat_run(pt_cmd_context *context, void *own)
{
    dcpicat_settings *settings = own;
    settings->output.to = "dcpicat";
    return pt_cmd_write(context, &settings->output, context->profile, "dcpicat");
}

const pt_command pt_command_dcpicat = {
    PT_DCPI_COMMAND(dcpicat),
    .summary = "header and counts of a profile as text",
    .arguments = "[PROFILE...]",
    .description =
        "Prints for each image its header and then a line for each address with samples, with a "
        "count for each event, in the form of DCPI's dcpicat, which pitot reads, too. Several "
        "profiles are added up; those of different events get a column each. Of other formats the "
        "address that each sample was taken at counts.",
    .examples = (const char *const[]){"pitot dcpicat cycles.dcpi imiss.dcpi",
                                      "two profiles of an image side by side", NULL},
    .needs = PT_NEEDS_PROFILE | PT_NEEDS_ALL_EVENTS,
};
