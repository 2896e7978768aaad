/* disasm.c: pitot disasm, instructions and what each took. */
#include "render/disasm.h"

#include <stdlib.h>
#include <string.h>

#include "cmd/cmd.h"
#include "cmd/shape.h"
#include "cmd/source.h"
#include "view/disasm.h"

typedef struct {
    pt_text_settings text;
    pt_code_settings code;
    pt_shape shape;
} disasm_settings;

static const pt_option disasm_rows[] = {
    PT_SHAPE_JSON_ROW(disasm_settings),
    PT_TEXT_ROWS(disasm_settings, "instructions"),
    PT_CODE_ROWS(disasm_settings),
};
static const pt_option_table disasm_options = PT_OPTION_TABLE(disasm_rows);

static int show_disasm(pt_cmd_context *context, const disasm_settings *settings,
                       const pt_disasm_request *request)
{
    pt_disassembly disassembly;
    pt_error error = PT_ERROR_INIT;
    const pt_status status = pt_disassembly_init(&disassembly, context->answer, request, &error);
    if (status == PT_ERR_NOTFOUND) return pt_cmd_unmatched(context);
    if (status != PT_OK) return pt_cmd_fail(&error);
    if (settings->shape == PT_SHAPE_JSON)
        pt_disassembly_json(context->out, &context->head, &disassembly);
    else
        pt_disassembly_text(context->out, &context->look, &context->head, &disassembly);
    pt_disassembly_done(&disassembly);
    return PT_EXIT_OK;
}

static int disasm_run(pt_cmd_context *context, void *own)
{
    const disasm_settings *settings = own;
    pt_regex *pattern = pt_cmd_name_pattern(context);
    pt_cmd_code code;
    pt_cmd_code_init(&code, context, &settings->code);
    pt_source_texts *texts = pt_cmd_texts(context, &code.search, &settings->text);
    const pt_disasm_request request = {
        .event = context->event,
        .whole = context->whole,
        .name = context->pattern,
        .pattern = pattern,
        .address = pt_cmd_address(context->pattern),
        .code = &code.options,
        .texts = texts,
        .context = settings->text.whole ? -1 : settings->text.context,
        .limit = (size_t)settings->text.functions,
    };
    const int status = show_disasm(context, settings, &request);
    pt_source_texts_free(texts);
    pt_cmd_code_done(&code);
    pt_regex_free(pattern);
    return status;
}

static const char *const disasm_examples[] = {
    "pitot disasm '^parse' app.pb.gz",
    "the instructions of functions whose names begin with parse",
    "pitot disasm memcpy --intel --whole app.pb.gz",
    "all of them, in Intel's syntax",
    NULL,
};

const pt_command pt_command_disasm = {
    .name = "disasm",
    .group = PT_GROUP_ANSWER,
    .summary = "instructions with the time of each",
    .arguments = "PATTERN [PROGRAM] [PROFILE...]",
    .description =
        "Shows the machine code of the function of this name, as any report shows it, or else of "
        "those whose name matches the pattern (a regular expression that may match anywhere in "
        "it); where there is none, of those that a matching function was inlined into. A "
        "hexadecimal number (0x...) stands for the function that holds this address, too. self is "
        "the value of the samples that were taken at an instruction, total that of the samples "
        "that were there or in what it called. Above the first instruction of a source line stands "
        "the line, with what it was inlined through.\n\n"
        "A sample is often taken an instruction or two after the one that took the time. The "
        "programs are read where they lie; one that is another build than the profile's is not "
        "used.",
    .examples = disasm_examples,
    .needs = PT_NEEDS_PROFILE | PT_NEEDS_SYMBOLS | PT_NEEDS_QUERY | PT_TAKES_PATTERN,
    .max_args = SIZE_MAX,
    .options = &disasm_options,
    .settings_bytes = sizeof(disasm_settings),
    .run = disasm_run,
};
