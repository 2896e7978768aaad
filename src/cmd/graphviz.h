/* graphviz.h: dot text becomes a picture: by Graphviz's dot where it is installed, else by our own
 * layout (picture/layout.h). */
#ifndef PT_CMD_GRAPHVIZ_H
#define PT_CMD_GRAPHVIZ_H

#include "base/buf.h"
#include "base/error.h"

typedef enum { PT_ENGINE_AUTO, PT_ENGINE_DOT, PT_ENGINE_OWN } pt_engine;

/* How long PT_ENGINE_AUTO waits for dot before it draws svg, ps and pdf itself. */
#define PT_GRAPHVIZ_LIMIT_S 30

/* type: svg, ps, pdf, png, gif, ... ; only the first three without Graphviz. *ret_engine (may be
 * NULL) says who drew it, static. PT_ERR_UNSUPPORTED when nobody here can; PT_ERR_SYSTEM when dot
 * fails, with the last line that it said. dot ends with the thread that calls this. */
pt_status pt_graphviz(const pt_buf *dot, const char *type, pt_engine engine, pt_buf *ret_picture,
                      const char **ret_engine, pt_error *reterr);

/* The executable of that name in a folder of PATH, to be freed; NULL if there is none. */
char *pt_find_program(const char *name);

#endif
