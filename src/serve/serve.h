/* serve.h: pages over HTTP, for the browser of who sits here. It knows nothing of profiles: a
 * request is a path and parameters, and a function of the caller's answers it.
 *
 * It listens on loopback unless told otherwise, and then answers only who asked for it by a name of
 * this machine: a page from elsewhere, whose name its owner lets point at 127.0.0.1, is refused.
 * Requests are answered one at a time, on a thread of the server's own.
 *
 * libmicrohttpd does the protocol; it is loaded when a server is opened.
 */
#ifndef PT_SERVE_SERVE_H
#define PT_SERVE_SERVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"

typedef struct pt_serve_parameter {
    const char *name;
    const char *value; /* decoded; "" without = */
} pt_serve_parameter;

typedef struct pt_serve_request {
    const char *path; /* decoded, begins with / */
    const pt_serve_parameter *parameter;
    size_t parameter_count;
} pt_serve_request;

/* What the function fills; all is empty when it is called, but for status 200. */
typedef struct pt_serve_answer {
    unsigned status;        /* 200, 307, 400, 404, ... */
    const char *type;       /* static: "text/html; charset=utf-8" */
    const char *policy;     /* static: Content-Security-Policy; NULL = nothing may run or be got */
    const char *attachment; /* file name to save it under, or NULL; may lie in `memory` */
    const char *location;   /* of a redirection; may lie in `memory` */
    const char *note;       /* header Pitot-Said, escaped as in addresses; may lie in `memory` */
    char *memory;           /* freed by the server */
    pt_buf body;            /* freed by the server */
} pt_serve_answer;

typedef void pt_serve_fn(void *context, const pt_serve_request *request, pt_serve_answer *answer);

typedef struct pt_server pt_server;

/* address: HOST:PORT, :PORT, HOST: or "" ; without HOST localhost, without PORT any free one.
 * PT_ERR_USAGE: it is no address; PT_ERR_SYSTEM: nobody can listen there; PT_ERR_UNSUPPORTED:
 * libmicrohttpd is not there. */
pt_status pt_serve_open(const char *address, pt_serve_fn *answer, void *context,
                        pt_server **ret_server, pt_error *reterr);
/* "http://localhost:45123": what to type into a browser; the server's. */
const char *pt_serve_url(const pt_server *server);
/* False if others than this machine can reach it. */
bool pt_serve_is_private(const pt_server *server);
/* Waits for the request that is being answered. NULL is allowed. */
void pt_serve_close(pt_server *server);

/* The value of a parameter, the first of that name; NULL if there is none. */
const char *pt_serve_get(const pt_serve_request *request, const char *name);

#endif
