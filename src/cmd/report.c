/* report.c: pitot report: makes the page of `pitot serve` with its reports inside, as one file.
 *
 * Each report is made by the command and the options that the page would request from a server
 * (web/src/app). Reports on single functions are made for the functions with the largest values, as
 * long as there is room.
 */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/args.h"
#include "base/file.h"
#include "base/grow.h"
#include "cmd/cmd.h"
#include "cmd/input.h"
#include "cmd/options.h"
#include "cmd/output.h"
#include "cmd/query.h"
#include "render/app_html.h"
#include "view/peek.h"
#include "view/table.h"

typedef struct {
    const char *output, *source_path, *trim_path;
    int64_t functions;
} report_settings;

static const pt_option report_rows[] = {
    PT_ROW("output", STRING, report_settings, output, .letter = 'o', .initial = "report.html",
           .metavar = "FILE", .help = "write to this file; - is standard output",
           .details = "The file appears under its name only when it is complete."),
    PT_ROW("functions", INT, report_settings, functions, .letter = 'n', .initial = "40", .min = 0,
           .max = 1000, .help = "hold callers, source and instructions of this many functions",
           .details = "Callers and callees also of those with the most time with what they call. "
                      "Functions that would make the file exceed a megabyte are left out."),
    PT_ROW("source-path", STRING, report_settings, source_path, .metavar = "DIR[:DIR...]",
           .help = "where source files are (default: the current folder)",
           .details =
               "The report takes source text from files below these folders, from files below the "
               "current folder, and from files that the debug information of a program names. It "
               "takes none from another file, even if the profile names it.",
           .group = "Sources"),
    PT_ROW("trim-path", STRING, report_settings, trim_path, .metavar = "PREFIX[:PREFIX...]",
           .help = "remove these prefixes from the names of source files",
           .details = "pitot removes the first prefix that matches, then searches for the file."),
};
static const pt_option_table report_options = PT_OPTION_TABLE(report_rows);

/* The largest size of the call tree. */
enum { TREE_BYTES = 300000 };
/* For each kind of report: a report of the kind is added only if all reports together are then at
 * most this large. With the page itself the file has a megabyte. The kinds are listed in the order
 * in which they are made. */
enum {
    MOST_WITH_CODE = 550000,
    MOST_WITH_SOURCE = 700000,
    MOST_WITH_CALLERS = 790000,
    MOST_BYTES = 845000,
};

typedef struct {
    pt_cmd_context *context;
    pt_cmd_context base; /* of the reports: without threads, and confined */
    const report_settings *settings;
    pt_app_answer *items;
    size_t count, cap;
    size_t bytes;
    size_t most; /* the limit of `bytes`: an answer that exceeds it is left out; 0 = no limit */
} answers;

static void add_option(void *args, const pt_option *row, const char *value)
{
    pt_args_make(args, row->type == PT_OPT_FLAG ? pt_strf("--%s", row->name)
                                                : pt_strf("--%s=%s", row->name, value));
}

/* Runs the command with these words and adds its report as the answer `report`. Returns false if
 * the report was not added, because it is empty, failed or does not fit. */
static bool add_answer(answers *a, const char *report, const char *function, const char *command,
                       const char *const *words)
{
    static const pt_look look = {.width = 0};
    PT_AUTO(pt_args) args = {0};
    PT_AUTO(pt_buf) said = PT_BUF_INIT;
    pt_buf body = PT_BUF_INIT;
    pt_out out;
    for (; *words != NULL; words++)
        pt_args_add(&args, *words);
    /* If two ranges are compared, the profile is already their difference, which has no times. */
    pt_query rest = a->context->query;
    if (pt_query_has_base(&a->context->query)) rest.time = rest.base_time = NULL;
    pt_query_each(&rest, add_option, &args);
    if (function != NULL) {
        pt_args_add(&args, "--");
        pt_args_add(&args, function);
    }
    pt_out_to_json(&out, &body, a->most > a->bytes ? a->most - a->bytes : a->most > 0);
    pt_say_into(&said);
    const int status = pt_cmd_run_resident(&a->base, pt_command_find(command), args.items,
                                           args.count, &out, &look);
    pt_say_into(NULL);
    const bool is_whole = pt_out_done(&out, NULL) == PT_OK && body.size > 0 &&
                          (status == PT_EXIT_OK || status == PT_EXIT_DAMAGED);
    if (is_whole) {
        a->items = pt_grow(a->items, &a->cap, a->count + 1, sizeof *a->items);
        a->items[a->count++] =
            (pt_app_answer){.report = report, .function = function, .json = body};
        a->bytes += body.size;
    } else {
        pt_buf_done(&body);
    }
    return is_whole;
}

/* Adds the call tree, cut to as many levels as there is room for: stacks can have many thousand
 * frames. */
static void add_tree(answers *a)
{
    static const char *const depths[] = {"--depth=0", "--depth=100", "--depth=30", "--depth=10"};
    a->most = a->bytes + TREE_BYTES;
    for (size_t i = 0; i < PT_COUNT(depths); i++)
        if (add_answer(a, "tree", NULL, "tree", (const char *const[]){"--json", depths[i], NULL}))
            break;
    a->most = 0;
}

static void add_whole_reports(answers *a)
{
    static const char *const flame[] = {"--format=json", "--output=-", NULL};
    static const char *const top[] = {"--json", "--rows=300", NULL};
    static const char *const json[] = {"--json", NULL};
    static const char *const timeline[] = {"--json", "--steps=600", "--tracks=24", "--marks=500",
                                           NULL};
    static const char *const changes[] = {"--json", "--rows=500", NULL};
    add_answer(a, "flame", NULL, "flame", flame);
    add_answer(a, "top", NULL, "top", top);
    add_tree(a);
    if (a->context->side[0] != NULL) add_answer(a, "diff", NULL, "diff", changes);
    add_answer(a, "timeline", NULL, "timeline", timeline);
    add_answer(a, "why", NULL, "why", json);
    add_answer(a, "tags", NULL, "tags", json);
    add_answer(a, "info", NULL, "info", json);
}

/* Adds the inverted reports and the traces, if there is room for them. */
static void add_inverted_reports(answers *a)
{
    static const char *const inverted[] = {"--format=json", "--output=-", "--inverted", NULL};
    static const char *const callers[] = {"--json", "--inverted", "--min=1%", NULL};
    static const char *const traces[] = {"--json", "--stacks=12", NULL};
    a->most = MOST_BYTES;
    add_answer(a, "tree inverted", NULL, "tree", callers);
    add_answer(a, "flame inverted", NULL, "flame", inverted);
    add_answer(a, "traces", NULL, "traces", traces);
}

/* May the row's function have source text? */
static bool has_source(const pt_top_row *row)
{
    return !row->unnamed;
}

/* May the row have instructions: is the image of its code known? */
static bool has_code(const pt_top_row *row)
{
    return row->has_image;
}

/* Adds a report on each function of a table; if `has` is given, only on those for which `has` is
 * true. */
static void add_functions(answers *a, const pt_top *top, bool (*has)(const pt_top_row *row),
                          const char *command, const char *const *words)
{
    for (size_t i = 0; i < top->count; i++)
        if (has == NULL || has(&top->row[i]))
            add_answer(a, command, top->row[i].name, command, words);
}

static void add_function_reports(answers *a, const pt_top tops[2])
{
    PT_FREE char *source = pt_strf(
        "--source-path=%s", a->settings->source_path != NULL ? a->settings->source_path : "");
    PT_FREE char *trim =
        pt_strf("--trim-path=%s", a->settings->trim_path != NULL ? a->settings->trim_path : "");
    static const char *const peek[] = {"--json", "--functions=1", NULL};
    const char *const list[] = {"--json", "--calls", "--functions=1", source, trim, NULL};
    const char *const disasm[] = {"--json", "--functions=1", NULL};
    const bool shows_code = !a->context->query.no_private;
    a->most = MOST_WITH_CODE;
    if (shows_code) add_functions(a, &tops[0], has_code, "disasm", disasm);
    a->most = MOST_WITH_SOURCE;
    if (shows_code) add_functions(a, &tops[0], has_source, "list", list);
    a->most = MOST_WITH_CALLERS;
    PT_FREE const char **names = pt_alloc(tops[0].count + tops[1].count + 1, sizeof *names);
    size_t count = 0;
    for (int by = 0; by < 2; by++)
        for (size_t i = 0; i < tops[by].count; i++)
            names[count++] = tops[by].row[i].name;
    pt_peek_shared peeks = {.names = names};
    a->base.peeks = &peeks;
    for (int by = 0; by < 2; by++)
        add_functions(a, &tops[by], NULL, "peek", peek);
    a->base.peeks = NULL;
    pt_peek_shared_done(&peeks);
}

/* Removes the rows of `from` that `other`, the table in the other order, also has. */
static void drop_doubles(pt_top *from, const pt_top *other)
{
    size_t kept = 0;
    for (size_t i = 0; i < from->count; i++) {
        bool is_double = false;
        for (size_t k = 0; k < other->count; k++)
            is_double |= from->row[i].id == other->row[k].id;
        if (!is_double) {
            from->row[kept++] = from->row[i];
            continue;
        }
        PT_FREE_ALL(from->row[i].name, from->row[i].caller.name);
    }
    from->count = kept;
}

static int make_answers(answers *a, pt_top tops[2])
{
    const pt_cmd_context *context = a->context;
    const pt_top_request request = {
        .event = context->event, .whole = context->whole, .limit = (size_t)a->settings->functions};
    pt_error error = PT_ERROR_INIT;
    add_whole_reports(a);
    if (request.limit == 0) { /* no functions are wanted; a table's limit of 0 would be all rows */
        add_inverted_reports(a);
        return PT_EXIT_OK;
    }
    if (pt_top_leaders(&tops[0], &tops[1], context->answer, &request, &error) != PT_OK)
        return pt_fail(&error);
    drop_doubles(&tops[1], &tops[0]);
    add_function_reports(a, tops);
    add_inverted_reports(a);
    return PT_EXIT_OK;
}

static int write_report(const answers *a)
{
    pt_cmd_context *context = a->context;
    const char *const path = a->settings->output;
    const pt_app app = {.profile = context->profile,
                        .title = context->title,
                        .version = PT_VERSION,
                        .before = pt_cmd_before_title(context),
                        .query = context->query_text,
                        .answers = a->items,
                        .answer_count = a->count};
    pt_error error = PT_ERROR_INIT;
    if (pt_cmd_is_stdout(path)) {
        pt_render_app_html(context->out, &app);
        return PT_EXIT_OK;
    }
    pt_file_writer writer;
    if (pt_file_create(path, PT_MODE_USUAL, &writer, &error) != PT_OK) return pt_fail(&error);
    pt_render_app_html(&writer.out, &app);
    const uint64_t bytes = writer.out.count;
    if (pt_file_commit(&writer, true, &error) != PT_OK) return pt_fail(&error);
    pt_cmd_say_page(context, path, a->count, "reports", bytes);
    return PT_EXIT_OK;
}

static int report_run(pt_cmd_context *context, void *settings)
{
    answers a = {.context = context, .base = *context, .settings = settings};
    a.base.confined = true;
    pt_top tops[2] = {0};
    int status = make_answers(&a, tops);
    if (status == PT_EXIT_OK) status = write_report(&a);
    for (size_t i = 0; i < a.count; i++)
        pt_buf_done(&a.items[i].json);
    free(a.items);
    pt_top_done(&tops[0]);
    pt_top_done(&tops[1]);
    return status;
}

const pt_command pt_command_report = {
    PT_COMMAND(report),
    .group = PT_GROUP_ANSWER,
    .summary = "all reports on one profile as one page to send",
    .arguments = "[PROGRAM] [PROFILE...]",
    .description =
        "Writes one file that works offline, without pitot and without the profile: the page of "
        "pitot serve with its reports inside. It has the flame graph, the "
        "table, the tree, stacks, labels and findings, and the callers, callees, source and "
        "instructions of the functions that take most.\n\n"
        "The options that choose samples choose what the report is about. With --base it shows "
        "the difference, and its changes with their noise.",
    .examples =
        (const char *const[]){"pitot report app.pb.gz -o app.html", "open or send app.html",
                              "pitot report --base=before.pb.gz after.pb.gz", "what changed", NULL},
    .needs = PT_NEEDS_PROFILE | PT_NEEDS_SYMBOLS | PT_NEEDS_QUERY | PT_MARKS_BASE | PT_KEEPS_SIDES |
             PT_KEEPS_READ,
    .max_args = SIZE_MAX,
};
