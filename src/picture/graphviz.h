/* graphviz.h: makes a picture of dot text with Graphviz's dot, or with pitot's own layout
 * (picture/layout.h). */
#pragma once

#include "base/buf.h"
#include "base/error.h"
#include "base/progress.h"

typedef enum { PT_ENGINE_AUTO, PT_ENGINE_DOT, PT_ENGINE_OWN } pt_engine;

/* The time that PT_ENGINE_AUTO gives dot before pitot draws svg, ps and pdf itself. */
#define PT_GRAPHVIZ_LIMIT_S 30

/* Draws a graph of dot text. type: svg, ps, ps2, pdf, png, gif, ... ; without Graphviz only these
 * first four. search: folders where dot may be, as in PATH. progress: shows how long dot takes; may
 * be NULL. *ret_engine (may be NULL) is the name of the engine, a static text. dot is killed if the
 * calling thread ends. Fails with PT_ERR_UNSUPPORTED if no engine can draw the type, and with
 * PT_ERR_SYSTEM if dot failed; the message has the last line of dot's output. */
pt_status pt_graphviz(const pt_buf *dot, const char *type, pt_engine engine, const char *search,
                      pt_progress *progress, pt_buf *ret_picture, const char **ret_engine,
                      pt_error *reterr);
