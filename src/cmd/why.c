/* why.c: pitot why, findings in sentences. */
#include "view/why.h"

#include "cmd/cmd.h"
#include "cmd/shape.h"
#include "cmd/source.h"
#include "render/why.h"
#include "transform/waits.h"

typedef struct {
    int64_t findings;
    double least; /* a share from 0 to 1 */
    pt_shape shape;
} why_settings;

static const pt_option why_rows[] = {
    PT_ROW("findings", INT, why_settings, findings, .letter = 'n', .initial = "5", .min = 1,
           .max = 1000, .help = "show at most this many findings",
           .details = "Those with the largest shares come first."),
    PT_ROW("least", PERCENT, why_settings, least, .initial = "5%", .metavar = "PERCENT",
           .help = "the least share of a finding",
           .details = "A finding also has at least 8 samples, and with a certainty of 95 % more "
                      "than half of this share: less would be chance."),
    PT_SHAPE_JSON_ROW(why_settings),
};
static const pt_option_table why_options = PT_OPTION_TABLE(why_rows);

/* The most paths to one function that are shown. */
enum { PATHS_SHOWN = 5 };

static int why_run(pt_cmd_context *context, void *own)
{
    const why_settings *settings = own;
    pt_regex *pattern = context->pattern != NULL ? pt_cmd_name_pattern(context) : NULL;
    const pt_why_request request = {
        .event = context->event,
        .whole = context->whole,
        .limit = (size_t)settings->findings,
        .least = settings->least,
        .name = context->pattern,
        .pattern = pattern,
        .paths = PATHS_SHOWN,
    };
    PT_AUTO(pt_why) why = {0};
    pt_error error = PT_ERROR_INIT;
    /* PT_NEEDS_NATIVE_FRAMES has also kept the scheduler's frames, which all reports hide. */
    PT_UNREF_PROFILE const pt_profile *shown =
        pt_fold_waits(context->answer, context->event, NULL, &context->diag);
    const pt_status status = pt_why_init(&why, shown, &request, &error);
    pt_regex_free(pattern);
    if (status == PT_ERR_NOTFOUND) return pt_cmd_unmatched(context);
    if (status != PT_OK) return pt_fail(&error);
    if (settings->shape == PT_SHAPE_JSON)
        pt_why_json(context->out, &context->head, &why);
    else
        pt_why_text(context->out, &context->look, &context->head, &why);
    return PT_EXIT_OK;
}

const pt_command pt_command_why = {
    PT_COMMAND(why),
    .group = PT_GROUP_ANSWER,
    .summary = "what the time is spent on, in at most five findings",
    .arguments = "[FUNCTION] [PROGRAM] [PROFILE...]",
    .description =
        "Each finding is a sentence: its share, what the time is spent on, the function of the "
        "program's own code below which that happens, and the line of the call. Below it stand the "
        "heaviest path, the most that could be saved, and the first change to try.\n\n"
        "A sample belongs to one finding. The frames between the leaf and the program's own code "
        "show the cause: copying memory, arrays that grow, regular expressions that are compiled, "
        "exceptions, allocation, garbage collection, page faults, system calls, locks, processes "
        "that start. Where they show none, it is the function of the library that is called; where "
        "there are no such frames, the time is in the program's own function itself. What is not "
        "the program's own: the kernel, the system's libraries, a language's runtime and standard "
        "library, installed packages.\n\n"
        "With FUNCTION (its name as any report shows it, or else an expression): the five heaviest "
        "ways to it through the program's own functions, and what its time is spent on. A first "
        "argument that is the name of a file is a profile.",
    .examples =
        (const char *const[]){"pitot why", "the profile that pitot record wrote",
                              "pitot why parse app.pb.gz",
                              "how parse is reached, and what it spends its time on",
                              "pitot why -e off-cpu app.pb.gz", "what threads wait for", NULL},
    .needs = PT_NEEDS_PROFILE | PT_NEEDS_SYMBOLS | PT_NEEDS_QUERY | PT_MAY_TAKE_PATTERN |
             PT_NEEDS_NATIVE_FRAMES,
    .max_args = SIZE_MAX,
};
