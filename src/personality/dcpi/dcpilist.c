/* dcpilist.c: pitot dcpilist, a procedure's instructions or source lines, a column an event. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

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
    {.name = "asm",
     .type = PT_OPT_FLAG,
     .offset = offsetof(dcpilist_settings, instructions),
     .help = "instructions only, without source lines between them",
     .details = "Without it, and without --source, both are shown."},
    {.name = "source",
     .type = PT_OPT_FLAG,
     .offset = offsetof(dcpilist_settings, source),
     .help = "source lines only, with the sums of their instructions",
     .details = "What was inlined counts for the line it was written on."},
    PT_DCPI_IMAGE_ROW(dcpilist_settings),
    PT_DCPI_EVENT_ROW(dcpilist_settings),
    PT_DCPI_SORT_ROW(dcpilist_settings),
    PT_SHAPE_JSON_ROW(dcpilist_settings),
    PT_TEXT_ROWS(dcpilist_settings, "lines"),
    PT_FLOW_ROWS(dcpilist_settings),
    PT_CODE_ROWS(dcpilist_settings),
};
static const pt_option_table dcpilist_options = PT_OPTION_TABLE(dcpilist_rows);

static int show_procedures(pt_cmd_context *context, const dcpilist_settings *settings,
                           const pt_counts *counts, const pt_procedures_request *request,
                           pt_source_texts *texts)
{
    pt_procedures procedures;
    pt_error error = PT_ERROR_INIT;
    const pt_status status = pt_procedures_init(&procedures, counts, request, &error);
    if (status == PT_ERR_NOTFOUND) return pt_cmd_unmatched(context);
    if (status != PT_OK) return pt_cmd_fail(&error);
    PT_FREE pt_flow *flows = pt_alloc(procedures.count + 1, sizeof *flows);
    PT_FREE const pt_flow **known = pt_alloc(procedures.count + 1, sizeof *known);
    for (size_t i = 0; i < procedures.count; i++)
        if (pt_flow_init(&flows[i], &procedures, &procedures.items[i], request->column,
                         settings->flow.width))
            known[i] = &flows[i];
    const pt_procedure_list list = {
        .title = context->title,
        .flow = known,
        .column = request->column,
        .cycles_per_sample =
            pt_dcpi_cycles_per_sample(&counts->event[request->column], settings->flow.mhz),
        .procedures = &procedures,
        .kind = settings->source         ? PT_LIST_SOURCE
                : settings->instructions ? PT_LIST_INSTRUCTIONS
                                         : PT_LIST_BOTH,
        .context = settings->text.whole ? -1 : settings->text.context,
        .texts = texts,
    };
    pt_diag_add(&context->diag, (uint64_t)(procedures.lost > 0 ? procedures.lost : 0),
                "samples of what matches lie in no image or symbol that could be read");
    if (settings->shape == PT_SHAPE_JSON)
        pt_procedure_list_json(context->out, &list);
    else
        pt_procedure_list_text(context->out, &context->look, &list);
    for (size_t i = 0; i < procedures.count; i++)
        if (known[i] != NULL) pt_flow_done(&flows[i]);
    pt_procedures_done(&procedures);
    return PT_EXIT_OK;
}

static int list_with(pt_cmd_context *context, const dcpilist_settings *settings,
                     const pt_counts *counts, uint32_t column, const pt_regex *pattern)
{
    PT_FREE bool *in_image = NULL;
    const int status = pt_dcpi_images(context, &settings->dcpi, counts, &in_image);
    if (status != PT_EXIT_OK) return status;
    pt_cmd_code code;
    pt_cmd_code_init(&code, context, &settings->code);
    pt_source_texts *texts = pt_cmd_texts(context, &code.search, &settings->text);
    const pt_procedures_request request = {
        .pattern = pattern,
        .address = pt_cmd_address(context->pattern),
        .in_image = in_image,
        .column = column,
        .limit = (size_t)settings->text.functions,
        .code = &code.options,
    };
    const int shown = show_procedures(context, settings, counts, &request, texts);
    pt_source_texts_free(texts);
    pt_cmd_code_done(&code);
    return shown;
}

static int dcpilist_run(pt_cmd_context *context, void *own)
{
    const dcpilist_settings *settings = own;
    if (!(settings->flow.width > 0))
        return pt_cmd_usage(context, "dcpilist: --width is more than 0");
    if (settings->instructions && settings->source)
        return pt_cmd_usage(context, "dcpilist: --asm and --source: only one of them");
    pt_regex *pattern;
    int status = pt_cmd_pattern(context, &pattern);
    if (status != PT_EXIT_OK) return status;
    pt_counts counts;
    uint32_t column;
    status = pt_dcpi_count(context, &settings->dcpi, &counts, &column);
    if (status == PT_EXIT_OK) {
        status = list_with(context, settings, &counts, column, pattern);
        pt_counts_done(&counts);
    }
    pt_regex_free(pattern);
    return status;
}

const pt_command pt_command_dcpilist = {
    .name = "dcpilist",
    .group = PT_GROUP_DCPI,
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
    .syntax = PT_SYNTAX_PERL,
    .stands_in = true,
    .max_args = SIZE_MAX,
    .options = &dcpilist_options,
    .settings_bytes = sizeof(dcpilist_settings),
    .run = dcpilist_run,
};
