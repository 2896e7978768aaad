/* web_routes.h: views of the page, and how an address becomes the arguments of a command. */
#pragma once

#include "base/args.h"
#include "cmd/web.h"
#include "serve/serve.h"

/* The most boxes of a graph that an address may ask for: Graphviz's time grows with the square of
 * their number.
 */
#define PT_WEB_MOST_NODES 500

typedef struct pt_web_route {
    const char *name; /* "flamegraph": of /ui/NAME and /api/NAME */
    const pt_command *command;
    const char *type;       /* of the answer */
    const char *policy;     /* policy of the view's page (render/policy.h) */
    const char *fixed[3];   /* arguments that are always given */
    const char *options[7]; /* those of the command's own options that an address may contain */
} pt_web_route;

/* The route with this name; NULL if there is none. */
const pt_web_route *pt_web_route_find(const char *name);

typedef struct pt_web_args {
    pt_args words;
    bool json;    /* json=1 was among the parameters */
    bool limited; /* nodes= asked for more than PT_WEB_MOST_NODES */
} pt_web_args;

/* Makes the arguments for the route's command from those parameters that the route takes;
 * parameters of other views are ignored. The caller frees ret_args->words. Returns false, with the
 * reason in *said, if a parameter belongs to no view, or if the view needs a function and none is
 * named. */
bool pt_web_args_of(const pt_web_route *route, const pt_serve_request *request,
                    const pt_web_options *options, pt_web_args *ret_args, pt_buf *said);

/* Put "?f=parse&si=cpu", from the options of a query that are set, or from the parameters of a
 * request; nothing if there are none. */
void pt_web_put_query(pt_buf *to, const pt_query *query);
void pt_web_put_parameters(pt_buf *to, const pt_serve_request *request);
/* Puts the text with the escapes that are necessary in an address (RFC 3986, section 2.3). */
void pt_web_put_escaped(pt_buf *to, const char *text);
