/* dcpidiff.c: pitot dcpidiff, a procedure in two sets of profiles. */
#include <string.h>

#include "cmd/shape.h"
#include "cmd/source.h"
#include "personality/dcpi/print_procedure_diff.h"
#include "personality/dcpi/sets.h"

typedef struct {
    pt_dcpi_settings dcpi;
    pt_code_settings code;
    pt_option_list sets;
    pt_compare compare;
    double width;
    pt_shape shape;
} dcpidiff_settings;

static const pt_option dcpidiff_rows[] = {
    PT_DCPI_SET_ROW(dcpidiff_settings),
    PT_ROW("compare", CHOICE, dcpidiff_settings, compare, .initial = "samples",
           .choices = "samples cpi frequency", .help = "the value of each block to compare",
           .details = "cpi and frequency are what pitot dcpicalc estimates of the block."),
    PT_ROW("width", DOUBLE, dcpidiff_settings, width, .initial = "4", .metavar = "N",
           .help = "instructions that the machine can begin in a cycle",
           .details = "For --compare=cpi and frequency."),
    PT_DCPI_EVENT_ROW(dcpidiff_settings),
    PT_SHAPE_CSV_ROW(dcpidiff_settings),
    PT_CODE_ROWS(dcpidiff_settings),
};
static const pt_option_table dcpidiff_options = PT_OPTION_TABLE(dcpidiff_rows);

static const pt_procedure *same_procedure(const pt_procedures *all, const char *name)
{
    for (size_t i = 0; i < all->count; i++)
        if (strcmp(all->items[i].code.name, name) == 0) return &all->items[i];
    return NULL;
}

/* Compares two sets. A set without samples of the procedure has nothing to compare. */
static int compare_sets(pt_cmd_context *context, const dcpidiff_settings *settings,
                        const pt_dcpi_sets *sets, const pt_procedures *all)
{
    static const char *const words[] = {"samples", "cpi", "frequency"};
    bool any = false;
    for (size_t i = 0; i < all[0].count; i++) {
        const pt_procedure *const first = &all[0].items[i];
        const pt_procedure *const second = same_procedure(&all[1], first->code.name);
        if (second == NULL) continue;
        const pt_diff_side sides[2] = {{&all[0], first, sets->items[0].column},
                                       {&all[1], second, sets->items[1].column}};
        pt_procedure_diff diff;
        pt_error error = PT_ERROR_INIT;
        if (pt_procedure_diff_init(&diff, sides, settings->compare, settings->width, &error) !=
            PT_OK)
            return pt_fail(&error);
        if (settings->shape == PT_SHAPE_CSV)
            pt_procedure_diff_csv(context->out, first, &diff, !any);
        else
            pt_procedure_diff_text(context->out, &context->look, first, words[settings->compare],
                                   &diff);
        pt_procedure_diff_done(&diff);
        any = true;
    }
    if (any) return PT_EXIT_OK;
    pt_say("dcpidiff: no procedure that matches has samples in both sets");
    return PT_EXIT_NO_MATCH;
}

static int with_code(pt_cmd_context *context, const dcpidiff_settings *settings,
                     const pt_dcpi_sets *sets, const pt_regex *pattern)
{
    pt_procedures all[2];
    pt_cmd_code code[2];
    size_t made = 0;
    int status = PT_EXIT_OK;
    for (size_t s = 0; s < 2 && status == PT_EXIT_OK; s++) {
        pt_cmd_code_init(&code[s], context, &settings->code);
        const pt_procedures_request request = {
            .pattern = pattern, .column = sets->items[s].column, .code = &code[s].options};
        pt_error error = PT_ERROR_INIT;
        const pt_status found =
            pt_procedures_init(&all[s], &sets->items[s].counts, &request, &error);
        if (found == PT_OK) {
            made++;
            continue;
        }
        pt_cmd_code_done(&code[s]);
        if (found != PT_ERR_NOTFOUND) {
            status = pt_fail(&error);
        } else {
            pt_say("%s: no procedure with samples matches '%s'", sets->items[s].context.title,
                   context->pattern);
            status = PT_EXIT_NO_MATCH;
        }
    }
    if (status == PT_EXIT_OK) status = compare_sets(context, settings, sets, all);
    for (size_t s = 0; s < made; s++) {
        pt_procedures_done(&all[s]);
        pt_cmd_code_done(&code[s]);
    }
    return status;
}

static int dcpidiff_run(pt_cmd_context *context, void *own)
{
    const dcpidiff_settings *settings = own;
    if (!(settings->width > 0)) return pt_cmd_usage(context, "dcpidiff: --width is more than 0");
    if (context->arg_count == 0)
        return pt_cmd_usage(context, "dcpidiff: which procedures? pitot dcpidiff PATTERN A B");
    context->pattern = context->args[0];
    pt_regex *pattern;
    int status = pt_cmd_pattern(context, &pattern);
    if (status != PT_EXIT_OK) return status;
    PT_AUTO(pt_dcpi_sets) sets = {0};
    status = pt_dcpi_sets_load(context, &settings->dcpi, &settings->sets, 1, &sets);
    if (status == PT_EXIT_OK && sets.count != 2)
        status = pt_cmd_usage(context, "dcpidiff takes two sets, not %zu", sets.count);
    if (status == PT_EXIT_OK) status = with_code(context, settings, &sets, pattern);
    pt_regex_free(pattern);
    return status;
}

const pt_command pt_command_dcpidiff = {
    PT_DCPI_COMMAND(dcpidiff),
    .summary = "a procedure in two sets of profiles, block by block",
    .arguments = "PROCEDURE [PROGRAM] PROFILE PROFILE",
    .description =
        "Compares the procedures that match in two profiles, or two -set: by basic block where the "
        "code is the same in both, else by source line. Each row has the difference as a share of "
        "the sum (the range), both values and their ratio; what differs most stands first. `pitot "
        "diff` compares whole profiles and tells what of it is noise.",
    .examples = (const char *const[]){"pitot dcpidiff '^parse$' before.dcpi after.dcpi",
                                      "samples of each block of parse", NULL},
    .needs = PT_NEEDS_PROFILE | PT_NEEDS_SYMBOLS | PT_NEEDS_ALL_EVENTS | PT_LOADS_ITSELF,
};
