/* graph.c: pitot graph, the call graph as a picture. */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/file.h"
#include "base/units.h"
#include "cmd/cmd.h"
#include "cmd/output.h"
#include "cmd/query.h"
#include "model/builder.h"
#include "picture/graphviz.h"
#include "render/brief.h"
#include "render/graph_report.h"
#include "transform/filter.h"
#include "view/graph.h"
#include "view/hidden.h"

typedef struct {
    const char *output;
    int format; /* position in FORMATS */
    int engine; /* pt_engine */
    pt_fold_rule fold;
    int64_t nodes;
    double node_share, edge_share;
    bool labels;
} graph_settings;

#define FORMATS "auto svg pdf ps png gif dot"
static const char *const formats[] = {NULL, "svg", "pdf", "ps", "png", "gif", "dot"};
#define FORMAT_COUNT PT_COUNT(formats)

static const pt_option graph_rows[] = {
    PT_ROW("output", STRING, graph_settings, output, .letter = 'o', .metavar = "FILE",
           .help = "write to this file, - is standard output (default: graph.svg)",
           .details =
               "The end of the name chooses the format: .svg, .pdf, .ps, .png, .gif or .dot."),
    PT_ROW("format", CHOICE, graph_settings, format, .choices = FORMATS, .initial = "auto",
           .help = "the format; auto: from FILE's name",
           .details = "png and gif need Graphviz. dot is the graph in Graphviz's language, as "
                      "pprof writes it."),
    PT_ROW("nodes", INT, graph_settings, nodes, .letter = 'n', .initial = "80", .min = 0,
           .max = 100000, .help = "draw at most this many boxes; 0 draws all",
           .details = "Boxes rank by their own value, and by how their callers and callees divide "
                      "it. A dotted arrow leads over hidden boxes."),
    PT_ROW("node-share", PERCENT, graph_settings, node_share, .initial = "0.5%",
           .help = "hide boxes below this share of the whole",
           .details = "The value of a box includes its callees."),
    PT_ROW("edge-share", PERCENT, graph_settings, edge_share, .initial = "0.1%",
           .help = "hide arrows below this share of the whole",
           .details = "A box may lose all its arrows."),
    PT_FOLD_ROWS(graph_settings, "box", "function"),
    PT_ROW("labels", FLAG, graph_settings, labels, .flags = PT_OPT_NEGATABLE,
           .help = "show the labels of the samples below each box",
           .details =
               "Small boxes with a process, thread or request, if the samples have such labels."),
    PT_ROW("engine", CHOICE, graph_settings, engine, .initial = "auto", .choices = "auto dot own",
           .help = "the layout: Graphviz's dot, or pitot's own",
           .details = "auto: dot if it is installed, otherwise pitot's own. If dot has not "
                      "finished after 30 s, pitot lays out svg, pdf and ps."),
};
static const pt_option_table graph_options = PT_OPTION_TABLE(graph_rows);

/* ---- Which format ---- */

/* The format that the option or the ending of the output's name chooses; NULL if neither does. */
static const char *format_of(const graph_settings *settings)
{
    if (settings->format > 0) return formats[settings->format];
    if (settings->output == NULL || strcmp(settings->output, "-") == 0) return "svg";
    const char *dot = strrchr(settings->output, '.');
    for (size_t i = 1; dot != NULL && i < FORMAT_COUNT; i++)
        if (strcasecmp(dot + 1, formats[i]) == 0) return formats[i];
    return NULL;
}

/* ---- The graph as dot ---- */

/* A text that states the value of the samples with hidden functions between boxes; NULL if the
 * graph has no dotted arrow. The caller frees the text. */
static char *hidden_text(const pt_graph *graph, const pt_graph_request *request,
                         const pt_graph_report *report)
{
    int64_t value;
    if (!pt_graph_has_residual(graph) ||
        pt_graph_hidden(graph, report->profile, request, &value, NULL) != PT_OK)
        return NULL;
    pt_buf text = PT_BUF_INIT;
    pt_graph_put_value(&text, report, value);
    pt_put_text(&text, " (");
    pt_buf percent = PT_BUF_INIT;
    pt_put_percent(&percent, value, report->total);
    pt_put_text(&text, pt_buf_text(&percent) + strspn(pt_buf_text(&percent), " "));
    pt_buf_done(&percent);
    pt_put_text(&text, ") in samples with hidden functions between boxes (dotted arrows)");
    return pt_buf_take(&text, NULL);
}

static char *brief_name(void *context, const pt_profile *p, uint32_t function)
{
    (void)context;
    pt_buf brief = PT_BUF_INIT;
    pt_brief_name(pt_text(p, p->function->name[function]), &brief);
    char *name = pt_buf_take(&brief, NULL);
    /* Boxes break a name at its dots, so the three dots of "..." become one character. */
    for (char *dots = name; (dots = strstr(dots, "...")) != NULL;)
        memcpy(dots, "\u2026", 3);
    return name;
}

/* The profile as the picture shows it: brief names, and labels only with --labels. The caller owns
 * one reference. */
static pt_status to_draw(const pt_cmd_context *context, const graph_settings *settings,
                         const pt_profile **ret_profile, pt_error *reterr)
{
    const pt_query no_labels = {.tag_hide = settings->labels ? NULL : "."};
    PT_AUTO(pt_filtered) filtered = {0};
    PT_UNREF_PROFILE const pt_profile *shown =
        pt_cmd_shown(pt_cmd_is_stdout(settings->output), context->answer);
    pt_status status = pt_filter(shown, &no_labels, &filtered, NULL, reterr);
    if (status != PT_OK) return status;
    if (context->look.long_names)
        *ret_profile = pt_profile_ref(filtered.profile);
    else
        status = pt_profile_rename(filtered.profile, brief_name, NULL, ret_profile, reterr);
    return status;
}

static pt_status make_dot(pt_cmd_context *context, const graph_settings *settings,
                          const pt_profile *p, pt_buf *dot, uint32_t *ret_boxes, char **ret_hidden,
                          pt_error *reterr)
{
    const pt_event *event = &p->event->row[context->event];
    const pt_graph_request request = {
        .event = context->event,
        .fold = settings->fold,
        .visual = true,
        .edges = PT_EDGES_ALL,
        .node_count = settings->nodes,
        .node_fraction = settings->node_share,
        .edge_fraction = settings->edge_share,
        .unit = "minimum",
    };
    PT_AUTO(pt_graph) graph = {0};
    const pt_status status = pt_graph_init(&graph, p, &request, reterr);
    if (status != PT_OK) return status;
    PT_FREE char *filter = context->query_text != NULL ? pt_strdup(context->query_text) : NULL;
    const char *const filters[] = {filter};
    pt_graph_report report = {.profile = p,
                              .event = context->event,
                              .total = context->whole,
                              .type = pt_text(p, event->type),
                              .sample_unit = pt_text(p, event->unit),
                              .ratio = 1,
                              .node_fraction = settings->node_share,
                              .edge_fraction = settings->edge_share,
                              .title = context->title,
                              .filters = filters,
                              .filter_count = filter != NULL && filter[0] != '\0' ? 1 : 0};
    report.unit = pt_graph_unit(&graph, report.total, "minimum", report.sample_unit, 1, false);
    report.last_line = *ret_hidden = hidden_text(&graph, &request, &report);
    pt_out out;
    pt_out_to_buf(&out, dot);
    pt_graph_dot(&out, &report, &graph);
    pt_out_done(&out, NULL);
    *ret_boxes = graph.listed_count;
    return PT_OK;
}

/* ---- The command ---- */

static int say_written(pt_cmd_context *context, const char *path, uint32_t boxes,
                       const char *engine, const char *hidden)
{
    pt_outf(context->out, "%s: %s%s%s", path, pt_count_noun(boxes, "boxes").text,
            engine != NULL ? ", drawn by " : "", engine != NULL ? engine : "");
    if (hidden != NULL) pt_outf(context->out, "; %s", hidden);
    pt_out_char(context->out, '\n');
    return PT_EXIT_OK;
}

static int graph_run(pt_cmd_context *context, void *own)
{
    const graph_settings *settings = own;
    const char *format = format_of(settings);
    if (format == NULL)
        return pt_cmd_usage(context,
                            "'%s' ends in none of .svg .pdf .ps .png .gif .dot; use --format",
                            settings->output);
    pt_buf dot = PT_BUF_INIT, picture = PT_BUF_INIT;
    pt_error error = PT_ERROR_INIT;
    uint32_t boxes = 0;
    PT_FREE char *hidden = NULL;
    const char *engine = NULL;
    const pt_profile *drawn = NULL;
    pt_status status = to_draw(context, settings, &drawn, &error);
    if (status == PT_OK) status = make_dot(context, settings, drawn, &dot, &boxes, &hidden, &error);
    pt_profile_unref(drawn);
    if (status == PT_OK && strcmp(format, "dot") == 0) {
        picture = dot;
        dot = PT_BUF_INIT;
    } else if (status == PT_OK) {
        status = pt_graphviz(&dot, format, (pt_engine)settings->engine, getenv("PATH"),
                             context->progress, &picture, &engine, &error);
    }
    PT_FREE char *usual = pt_strf("graph.%s", format);
    const char *path = settings->output != NULL ? settings->output : usual;
    if (status == PT_OK && pt_cmd_is_stdout(settings->output))
        pt_out_put(context->out, picture.data, picture.size);
    if (status == PT_OK && !pt_cmd_is_stdout(settings->output))
        status = pt_file_replace(path, picture.data, picture.size, &error);
    pt_buf_done(&dot);
    pt_buf_done(&picture);
    if (status != PT_OK) return pt_fail(&error);
    return pt_cmd_is_stdout(settings->output) ? PT_EXIT_OK
                                              : say_written(context, path, boxes, engine, hidden);
}

static const char *const graph_examples[] = {
    "pitot graph app.pb.gz",
    "writes graph.svg; open it in a browser",
    "pitot graph --focus=parse -o parse.pdf app.pb.gz",
    "only samples with a function named parse",
    "pitot graph -n 20 --engine=own app.pb.gz",
    "twenty boxes, without Graphviz",
    NULL,
};

const pt_command pt_command_graph = {
    PT_COMMAND(graph),
    .group = PT_GROUP_ANSWER,
    .summary = "call graph: boxes and arrows, as a picture",
    .arguments = "[PROGRAM] [PROFILE...]",
    .description = "A box is a function. Large letters mean a large value of the function itself; "
                   "red means a large value with callees. An arrow stands for calls, its figure "
                   "for the value of the callee for this caller. A dotted arrow leads over hidden "
                   "boxes; the legend shows the value that passes there.\n\n"
                   "Graphviz's dot lays the picture out if it is installed; otherwise pitot does, "
                   "as svg, pdf or ps. In a browser the wheel zooms, dragging moves, a double "
                   "click resets. Boxes, colours and figures are those of pprof's graphs.",
    .examples = graph_examples,
    .needs = PT_NEEDS_PROFILE | PT_NEEDS_SYMBOLS | PT_NEEDS_QUERY,
    .max_args = SIZE_MAX,
};
