/* dcpilist.c: pitot dcpilist, a procedure's instructions or source lines with a column for each
 * event. */
#include "cmd/cmd.h"
#include "cmd/shape.h"
#include "cmd/source.h"
#include "personality/dcpi/flow_command.h"
#include "personality/dcpi/print_procedures.h"

typedef struct {
    pt_dcpi_settings dcpi;
    pt_text_settings text;
    pt_code_settings code;
    pt_flow_settings flow;
    bool instructions, source;
    pt_shape shape;
} dcpilist_settings;

static const pt_option dcpilist_rows[] = {
    PT_ROW("asm", FLAG, dcpilist_settings, instructions,
           .help = "instructions only, without source lines between them",
           .details = "Without it, and without --source, both are shown."),
    PT_ROW("source", FLAG, dcpilist_settings, source,
           .help = "source lines only, with the sums of their instructions",
           .details = "An inlined instruction counts for the line where its source is."),
    PT_DCPI_IMAGE_ROW(dcpilist_settings),
    PT_DCPI_EVENT_ROW(dcpilist_settings),
    PT_DCPI_SORT_ROW(dcpilist_settings),
    PT_SHAPE_JSON_ROW(dcpilist_settings),
    PT_TEXT_ROWS(dcpilist_settings, "lines"),
    PT_FLOW_ROWS(dcpilist_settings),
    PT_CODE_ROWS(dcpilist_settings),
};
static const pt_option_table dcpilist_options = PT_OPTION_TABLE(dcpilist_rows);

static void show_procedures(pt_cmd_context *context, const pt_flow_report *report, const void *own)
{
    const dcpilist_settings *settings = own;
    PT_AUTO(pt_cmd_code) sources;
    pt_cmd_code_init(&sources, context, NULL);
    pt_source_texts *texts = pt_cmd_texts(context, &sources.search, &settings->text);
    const pt_procedure_list list = {
        .flow = report,
        .kind = settings->source         ? PT_LIST_SOURCE
                : settings->instructions ? PT_LIST_INSTRUCTIONS
                                         : PT_LIST_BOTH,
        .context = settings->text.whole ? -1 : settings->text.context,
        .texts = texts,
    };
    if (settings->shape == PT_SHAPE_JSON)
        pt_procedure_list_json(context->out, &list);
    else
        pt_procedure_list_text(context->out, &context->look, &list);
    pt_source_texts_free(texts);
}

static int dcpilist_run(pt_cmd_context *context, void *own)
{
    const dcpilist_settings *s = own;
    if (s->flow.width > 0 && s->instructions && s->source)
        return pt_cmd_usage(context, "dcpilist: --asm and --source: only one of them");
    return pt_dcpi_flow(context, &s->dcpi, &s->flow, &s->code, (size_t)s->text.functions,
                        show_procedures, s);
}

const pt_command pt_command_dcpilist = {
    PT_DCPI_COMMAND(dcpilist),
    .summary = "instructions or source lines with a count for each event",
    .arguments = "PROCEDURE [PROGRAM] [PROFILE...]",
    .description =
        "Shows the procedures whose name matches the pattern (a regular expression that may match "
        "anywhere in it), or that hold a hexadecimal address: each instruction with its count of "
        "each event, how often it ran and the cycles it took each time as pitot dcpicalc estimates "
        "them, and between them the source lines they come from. Only where a sample was taken "
        "counts. A sample is often taken an instruction or two after the one that took the "
        "time.",
    .examples =
        (const char *const[]){"pitot dcpilist '^main$' cycles.dcpi imiss.dcpi",
                              "instructions and source with two events",
                              "pitot dcpilist -source parse app.pb.gz", "source lines alone", NULL},
    .needs = PT_NEEDS_PROFILE | PT_NEEDS_SYMBOLS | PT_NEEDS_ALL_EVENTS | PT_TAKES_PATTERN,
};
