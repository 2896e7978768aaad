/* graphviz.c: runs `dot -TTYPE` on a graph, or draws the graph itself. */
#include "picture/graphviz.h"

#include <string.h>

#include "base/program.h"
#include "picture/layout.h"
#include "picture/picture.h"

/* ---- Our own ---- */

typedef void pt_painter(pt_out *out, const pt_drawing *drawing);

/* The function that draws this type of picture; NULL if only Graphviz draws the type. */
static pt_painter *painter_of(const char *type)
{
    if (strcmp(type, "svg") == 0) return pt_picture_svg;
    if (strcmp(type, "ps") == 0 || strcmp(type, "ps2") == 0) return pt_picture_ps;
    return strcmp(type, "pdf") == 0 ? pt_picture_pdf : NULL;
}

static pt_status draw_picture(const pt_buf *dot, const char *type, pt_buf *ret_picture,
                              pt_error *reterr)
{
    pt_painter *const paint = painter_of(type);
    if (paint == NULL)
        return pt_error_set(reterr, PT_ERR_UNSUPPORTED,
                            "%s pictures need Graphviz (apt-get install graphviz); svg, ps and pdf "
                            "do not",
                            type);
    PT_AUTO(pt_drawing) drawing = {0};
    pt_status status = pt_drawing_read((const char *)dot->data, dot->size, &drawing, reterr);
    if (status != PT_OK) return status;
    status = pt_layout(&drawing, reterr);
    if (status == PT_OK) {
        pt_out out;
        pt_out_to_buf(&out, ret_picture);
        paint(&out, &drawing);
        pt_out_done(&out, NULL);
    }
    return status;
}

/* ---- Graphviz ---- */

static const char *last_line(pt_buf *said)
{
    while (said->size > 0 && said->data[said->size - 1] == '\n')
        said->size--;
    const char *text = pt_buf_text(said);
    const char *newline = strrchr(text, '\n');
    return newline != NULL ? newline + 1 : text;
}

/* Appends dot's output to *ret_picture; of SVG only the elements and attributes of the allow-list
 * (pt_picture_svg_of_dot). */
static pt_status pass_on(const pt_buf *output, const char *type, pt_buf *ret_picture,
                         pt_error *reterr)
{
    if (strcmp(type, "svg") != 0) {
        pt_put(ret_picture, output->data, output->size);
        return PT_OK;
    }
    PT_AUTO(pt_buf) picture = PT_BUF_INIT;
    pt_out out;
    pt_out_to_buf(&out, &picture);
    const pt_status status =
        pt_picture_svg_of_dot(&out, (const char *)output->data, output->size, reterr);
    pt_out_done(&out, NULL);
    if (status == PT_OK) pt_put(ret_picture, picture.data, picture.size);
    return status;
}

/* Draws the graph with dot. limit_s: time limit in seconds; 0 = none. Fails with PT_ERR_LIMIT if
 * dot exceeded the time limit. */
static pt_status run_dot(const char *path, const pt_buf *dot, const char *type, int limit_s,
                         pt_buf *ret_picture, pt_error *reterr)
{
    PT_FREE char *format = pt_strf("-T%s", type);
    char *argv[] = {(char *)(uintptr_t) "dot", format, NULL};
    pt_program_result dots;
    pt_status status = pt_program_run(path, argv, dot, limit_s, &dots, reterr);
    if (status != PT_OK) return status;
    if (!dots.in_time)
        status = pt_error_set(reterr, PT_ERR_LIMIT, "dot took more than %d s", limit_s);
    else if (!dots.has_succeeded || dots.output.size == 0)
        status = pt_error_set(reterr, PT_ERR_SYSTEM, "dot failed: %s", last_line(&dots.said));
    else
        status = pass_on(&dots.output, type, ret_picture, reterr);
    pt_program_result_done(&dots);
    return status;
}

pt_status pt_graphviz(const pt_buf *dot, const char *type, pt_engine engine, const char *search,
                      pt_progress *progress, pt_buf *ret_picture, const char **ret_engine,
                      pt_error *reterr)
{
    PT_FREE char *path = engine != PT_ENGINE_OWN ? pt_program_find("dot", search) : NULL;
    const bool may_draw = engine != PT_ENGINE_DOT && painter_of(type) != NULL;
    if (engine == PT_ENGINE_DOT && path == NULL)
        return pt_error_set(reterr, PT_ERR_UNSUPPORTED,
                            "Graphviz's dot is not installed (apt-get install graphviz)");
    const char *drawn_by = "pitot's own layout";
    pt_status status = PT_ERR_LIMIT;
    if (path != NULL) {
        pt_progress_begin(progress, PT_PROGRESS_TIME, 0, "Graphviz's dot draws the graph");
        status = run_dot(path, dot, type, may_draw ? PT_GRAPHVIZ_LIMIT_S : 0, ret_picture, reterr);
        pt_progress_end(progress);
        drawn_by = status != PT_ERR_LIMIT ? "Graphviz's dot"
                                          : "pitot's own layout, because dot took more than 30 s "
                                            "(fewer boxes take less; graph --engine=dot waits)";
    }
    if (status == PT_ERR_LIMIT) status = draw_picture(dot, type, ret_picture, reterr);
    if (ret_engine != NULL) *ret_engine = drawn_by;
    return status;
}
