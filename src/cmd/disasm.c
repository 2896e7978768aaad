/* disasm.c: pitot disasm, instructions and the time of each. */
#include "cmd/cmd.h"
#include "cmd/shape.h"
#include "cmd/source.h"
#include "render/listing.h"

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

static int print_disasm(pt_cmd_context *context, const void *own, const pt_listing *listing)
{
    if (((const disasm_settings *)own)->shape == PT_SHAPE_JSON)
        pt_listing_json(context->out, &context->head, listing);
    else
        pt_listing_text(context->out, &context->look, &context->head, listing, false);
    return PT_EXIT_OK;
}

static int disasm_run(pt_cmd_context *context, void *own)
{
    const disasm_settings *settings = own;
    pt_listing_request request = {.address = pt_cmd_address(context->pattern)};
    return pt_cmd_list(context, &settings->text, &settings->code, &request, print_disasm, settings);
}

static const char *const disasm_examples[] = {
    "pitot disasm '^parse' app.pb.gz",
    "the instructions of functions whose names begin with parse",
    "pitot disasm memcpy --intel --whole app.pb.gz",
    "all of them, in Intel's syntax",
    NULL,
};

const pt_command pt_command_disasm = {
    PT_COMMAND(disasm),
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
};
