/* web_routes.h: views of the page, and how an address becomes the arguments of a command. */
#ifndef PT_CMD_WEB_ROUTES_H
#define PT_CMD_WEB_ROUTES_H

#include "cmd/web.h"
#include "serve/serve.h"

/* What the page may do: its own script and style (its meta element names them), reports of this
 * server in frames. */
#define PT_WEB_PAGE_POLICY                                                                         \
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; "                  \
    "connect-src 'self'; frame-src 'self'; base-uri 'none'; form-action 'none'; "                  \
    "frame-ancestors 'none'"
/* What a report may: what is in it, and nothing fetched. */
#define PT_WEB_REPORT_POLICY                                                                       \
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; "                  \
    "img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'self'"

typedef struct pt_web_route {
    const char *name; /* "flamegraph": of /ui/NAME and /api/NAME */
    const pt_command *command;
    const char *type;       /* of the answer */
    const char *fixed[3];   /* arguments that are always given */
    const char *options[6]; /* the command's own options that an address may give */
} pt_web_route;

/* NULL if there is none. */
const pt_web_route *pt_web_route_find(const char *name);

typedef struct pt_web_args {
    const char **items;
    size_t count, cap;
    char **memory;
    size_t memory_count, memory_cap;
    bool json; /* json=1 was among them */
} pt_web_args;

/* The arguments for the route's command: of the parameters those that it takes; others' are for
 * other views. False, and why in *said: a parameter is nobody's, or functions are to be named. */
bool pt_web_args_of(const pt_web_route *route, const pt_serve_request *request,
                    const pt_web_options *options, pt_web_args *ret_args, pt_buf *said);
void pt_web_args_done(pt_web_args *args);

/* "?f=parse&si=cpu"; nothing if nothing is asked. */
void pt_web_put_query(pt_buf *to, const pt_query *query);
void pt_web_put_parameters(pt_buf *to, const pt_serve_request *request);
/* Text as it may stand in an address (RFC 3986, section 2.3). */
void pt_web_put_escaped(pt_buf *to, const char *text);

#endif
