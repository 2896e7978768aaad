/* flame.c: pitot flame: the flame graph as a file to open, HTML or SVG. */
#include <stddef.h>
#include <string.h>
#include <strings.h>

#include "base/file.h"
#include "base/units.h"
#include "cmd/cmd.h"
#include "cmd/output.h"
#include "cmd/query.h"
#include "render/flame_html.h"
#include "render/flame_svg.h"
#include "transform/tags.h"
#include "view/flame.h"

typedef enum { FORMAT_AUTO, FORMAT_HTML, FORMAT_SVG, FORMAT_JSON } flame_format;

typedef struct {
    const char *output;
    int format; /* flame_format */
    bool inverted;
    bool in_order;
    const char *under, *part;
    int64_t width_px; /* 0 = the default of the format */
    pt_fold_rule fold;
} flame_settings;

#define WIDTH_PX_MAX 1000000

static const pt_option flame_options[] = {
    PT_ROW("output", STRING, flame_settings, output, .letter = 'o', .metavar = "FILE",
           .help = "write to this file, - is standard output (default: flame.html)",
           .details = "The end of the name chooses the format: .html, .htm, .svg or .json."),
    PT_ROW("format", CHOICE, flame_settings, format, .choices = "auto html svg json",
           .initial = "auto",
           .help = "html: a page with search and tables; svg: a picture; json: its data; auto: by "
                   "FILE's name",
           .details = "Page and picture are one file that works offline. auto writes a page unless "
                      "the name ends in .svg or .json."),
    PT_ROW("inverted", FLAG, flame_settings, inverted,
           .help = "from the leaf up: functions by their own time, with their callers below",
           .details = "The outermost boxes are the functions that run; a box below them is the "
                      "part of their time in which it is the caller."),
    PT_ROW(
        "in-order", FLAG, flame_settings, in_order,
        .help =
            "boxes in the order of time, thread by thread, instead of one for each distinct stack",
        .details =
            "A box is a run of samples in which the function stays on the stack. Its width is what "
            "these samples cost: time without samples has no width. The samples need times, as "
            "record --timeline keeps them. If a profile has several threads, each has a box at the "
            "root, by name and number, except with --tag-root and --inverted."),
    PT_ROW("part", STRING, flame_settings, part, .metavar = "START,END",
           .help = "with --in-order: only samples wholly between these values from the left edge",
           .details = "The values are whole numbers in the unit of the event. Boxes that are too "
                      "narrow in the whole graph are there."),
    PT_ROW("under", STRING, flame_settings, under, .metavar = "NAME[;NAME...]",
           .help = "only the box at this path from the root, with all that is below it",
           .details = "Boxes that are too narrow in the whole graph are there. A ; or \\ of a name "
                      "has a \\ before it. With --in-order boxes of threads come first."),
    PT_ROW(
        "width", INT, flame_settings, width_px, .min = 0, .max = WIDTH_PX_MAX, .metavar = "PIXELS",
        .help = "leave out boxes below half a pixel in a graph of this width (page: 32000, "
                "picture: 2400)",
        .details = "With fewer boxes the file is smaller, and zooming shows less. 0 is the default "
                   "width. A page has at most 60,000 boxes at any width, a picture 20,000."),
    PT_FOLD_ROWS(flame_settings, "box", "function"),
};
static const pt_option_table flame_table = PT_OPTION_TABLE(flame_options);

/* The properties of each flame_format. */
static const struct {
    const char *file; /* the default file */
    uint32_t width_px, max_nodes;
    void (*render)(pt_out *out, const pt_flame *flame, const pt_report_head *head);
} formats[] = {
    [FORMAT_HTML] = {"flame.html", PT_FLAME_HTML_WIDTH_PX, PT_FLAME_HTML_MAX_NODES,
                     pt_render_flame_html},
    /* Twice the picture's width: a browser can zoom by a factor of two without a missing box. */
    [FORMAT_SVG] = {"flame.svg", 2 * PT_FLAME_SVG_WIDTH_PX, PT_FLAME_SVG_MAX_NODES,
                    pt_render_flame_svg},
    [FORMAT_JSON] = {"flame.json", PT_FLAME_HTML_WIDTH_PX, PT_FLAME_HTML_MAX_NODES,
                     pt_render_flame_json},
};

static bool ends_with(const char *text, const char *end)
{
    const size_t length = strlen(text), end_length = strlen(end);
    return length > end_length && strcasecmp(text + length - end_length, end) == 0;
}

/* The format that --format or the ending of the output's name chooses; FORMAT_AUTO: neither does.
 */
static flame_format format_of(const flame_settings *settings)
{
    if (settings->format != FORMAT_AUTO) return (flame_format)settings->format;
    const char *file = settings->output;
    if (file == NULL || strcmp(file, "-") == 0) return FORMAT_HTML;
    if (ends_with(file, ".svg")) return FORMAT_SVG;
    if (ends_with(file, ".json")) return FORMAT_JSON;
    return ends_with(file, ".html") || ends_with(file, ".htm") ? FORMAT_HTML : FORMAT_AUTO;
}

/* Writes the file completely or not at all; *ret_bytes is its size. */
static pt_status write_file(const char *path, flame_format format, const pt_flame *flame,
                            const pt_report_head *head, uint64_t *ret_bytes, pt_error *reterr)
{
    pt_file_writer writer;
    const pt_status status = pt_file_create(path, PT_MODE_USUAL, &writer, reterr);
    if (status != PT_OK) return status;
    formats[format].render(&writer.out, flame, head);
    *ret_bytes = writer.out.count;
    return pt_file_commit(&writer, true, reterr);
}

/* Says where the data are, without the command for a browser, since data are for programs. */
static void say_data(pt_cmd_context *context, const char *path, uint32_t boxes, uint64_t bytes)
{
    PT_AUTO(pt_buf) line = PT_BUF_INIT;
    pt_putf(&line, "%s: ", path);
    pt_put_count(&line, boxes);
    pt_put_text(&line, boxes == 1 ? " box, " : " boxes, ");
    pt_put_value(&line, (int64_t)bytes, "bytes", NULL, PT_STYLE_SHORT);
    pt_put_u8(&line, '\n');
    pt_out_put(context->out, line.data, line.size);
}

/* Parses START,END of --part. */
static bool parse_part(const char *text, pt_flame_request *request)
{
    const char *const comma = strchr(text, ',');
    if (comma == NULL) return false;
    PT_FREE char *start = pt_strndup(text, (size_t)(comma - text));
    int64_t first, end;
    if (pt_parse_int(start, &first, NULL) != PT_OK || pt_parse_int(comma + 1, &end, NULL) != PT_OK)
        return false;
    request->part_start = (uint64_t)first;
    request->part_end = (uint64_t)end;
    return first >= 0 && first < end;
}

/* The labels that distinguish a profile's threads. NULL if the profile has only one thread, or no
 * labels of threads. */
static const char *thread_labels(const pt_profile *p)
{
    uint32_t pid, tid, first_pid = PT_NONE, first_tid = PT_NONE;
    for (uint32_t i = 0; i < p->sample->t.count; i++) {
        pt_sample_thread(p, i, &pid, &tid);
        if (i == 0) {
            first_pid = pid;
            first_tid = tid;
        }
        if (pid == first_pid && tid == first_tid) continue;
        if (tid == PT_NONE && first_tid == PT_NONE) return "pid";
        return p->sample->comm != NULL ? "comm,tid" : "tid";
    }
    return NULL;
}

/* In order of time: gives each thread a box at the root, and replaces *profile. */
static pt_status add_thread_frames(pt_cmd_context *context, const pt_profile **profile,
                                   pt_error *reterr)
{
    const pt_query query = {.tag_root = thread_labels(*profile)};
    if (query.tag_root == NULL || context->query.tag_root != NULL) return PT_OK;
    pt_tagged tagged;
    const pt_status status = pt_tag_frames(*profile, &query, &tagged, &context->diag, reterr);
    if (status != PT_OK) return status;
    pt_profile_unref(*profile);
    *profile = tagged.profile;
    return PT_OK;
}

static int flame_run(pt_cmd_context *context, void *settings_)
{
    const flame_settings *settings = settings_;
    const flame_format format = format_of(settings);
    if (format == FORMAT_AUTO)
        return pt_cmd_usage(
            context,
            "'%s' ends in none of .html, .svg and .json; --format=html, svg or json chooses",
            settings->output);
    pt_flame_request request = {.event = context->event,
                                .width_px = settings->width_px > 0 ? (uint32_t)settings->width_px
                                                                   : formats[format].width_px,
                                .max_nodes = formats[format].max_nodes,
                                .whole = context->whole,
                                .inverted = settings->inverted,
                                .in_order = settings->in_order,
                                .under = settings->under,
                                .fold = settings->fold};
    if (settings->part != NULL && !settings->in_order)
        return pt_cmd_usage(context, "--part needs --in-order");
    if (settings->part != NULL && !parse_part(settings->part, &request))
        return pt_cmd_usage(context, "--part=%s: use two whole numbers, START,END", settings->part);
    PT_UNREF_PROFILE const pt_profile *shown =
        pt_cmd_shown(pt_cmd_is_stdout(settings->output), context->answer);
    PT_FREE_FLAME pt_flame *flame = NULL;
    pt_error error = PT_ERROR_INIT;
    if (request.in_order && !request.inverted &&
        add_thread_frames(context, &shown, &error) != PT_OK)
        return pt_fail(&error);
    if (pt_flame_new(shown, &request, &flame, &error) != PT_OK) return pt_fail(&error);
    if (pt_cmd_is_stdout(settings->output)) {
        formats[format].render(context->out, flame, &context->head);
        return PT_EXIT_OK;
    }
    const char *path = settings->output != NULL ? settings->output : formats[format].file;
    uint64_t bytes = 0;
    if (write_file(path, format, flame, &context->head, &bytes, &error) != PT_OK)
        return pt_fail(&error);
    if (format == FORMAT_JSON)
        say_data(context, path, flame->node_count, bytes);
    else
        pt_cmd_say_page(context, path, flame->node_count, flame->node_count == 1 ? "box" : "boxes",
                        bytes);
    return PT_EXIT_OK;
}

static const char *const flame_examples[] = {
    "pitot flame app.pb.gz",
    "writes flame.html; open it in a browser",
    "pitot flame app.pb.gz -o app.svg",
    "a picture, for a document or a ticket",
    "pitot flame app.pb.gz --focus=parse",
    "only samples with a function named parse",
    "pitot flame --diff-base=before.pb.gz after.pb.gz",
    "what changed: red boxes cost more after, green boxes less",
    NULL,
};

const pt_command pt_command_flame = {
    .name = "flame",
    .group = PT_GROUP_ANSWER,
    .summary = "flame graph: a page or picture to open in a browser",
    .arguments = "[PROGRAM] [PROFILE...]",
    .description = "Writes one file that works offline. The page has search, zoom, keys (? lists "
                   "them) and a table of the functions in view. The picture works in any viewer, "
                   "and zooms and searches in a browser.\n\n"
                   "Each box is a function, as wide as its share of the samples, with its callees "
                   "below. The page holds the 60,000 widest boxes, the picture 20,000; narrower "
                   "boxes are dropped and counted.\n\n"
                   "With --base or --diff-base the graph shows a difference: boxes are as wide as "
                   "both sides together, red where the function itself costs more after, green "
                   "where it costs less.",
    .examples = flame_examples,
    .needs = PT_NEEDS_PROFILE | PT_NEEDS_SYMBOLS | PT_NEEDS_QUERY | PT_MARKS_BASE,
    .max_args = SIZE_MAX,
    .options = &flame_table,
    .settings_bytes = sizeof(flame_settings),
    .run = flame_run,
};
