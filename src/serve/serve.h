/* serve.h: pages over HTTP, for the browser of who sits here. It knows nothing of profiles: a
 * request is a path and parameters, and a function of the caller's answers it.
 *
 * It listens on loopback unless told otherwise, and answers only who knows the token in its address
 * (serve/gate.h): other users of the machine and pages of other servers are refused. Each answer is
 * made in a process of its own (serve/workers.h), so that a long one holds up nobody.
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
    size_t parameter_count; /* without the token */
    bool by_token;          /* the address held the token: a page leads to its address without it */
    bool from_elsewhere;    /* opened by a file or another page: a redirection would be asked for
                               without    the cookie, so a page of ours has to lead on */
} pt_serve_request;

/* What the function fills; all is empty when it is called, but for status 200. */
typedef struct pt_serve_answer {
    unsigned status;    /* 200, 307, 400, 404, ... */
    const char *type;   /* "text/html; charset=utf-8"; may lie in `memory`, as all texts may */
    const char *policy; /* Content-Security-Policy: what may run and be got; NULL = nothing */
    const char
        *place; /* more of it: where the page may stand; NULL = in a sandbox, anywhere here */
    const char *attachment; /* file name to save it under, or NULL */
    const char *location;   /* of a redirection */
    const char *note;       /* header Pitot-Said, escaped as in addresses */
    char *memory;           /* freed by the server */
    pt_buf body;            /* freed by the server */
} pt_serve_answer;

/* Called in a copy of the process, which ends when it returns, or when nobody wants the answer: it
 * changes nothing for anybody else, and no other thread runs beside it. */
typedef void pt_serve_fn(void *context, const pt_serve_request *request, pt_serve_answer *answer);

typedef struct pt_server pt_server;

/* address: HOST:PORT, :PORT, HOST: or "" ; without HOST localhost, without PORT any free one.
 * PT_ERR_USAGE: it is no address; PT_ERR_SYSTEM: nobody can listen there; PT_ERR_UNSUPPORTED:
 * libmicrohttpd is not there. */
pt_status pt_serve_open(const char *address, pt_serve_fn *answer, void *context,
                        pt_server **ret_server, pt_error *reterr);
/* "http://localhost:45123/?t=TOKEN": what to type into a browser; the server's. Whoever has it may
 * read all. */
const char *pt_serve_url(const pt_server *server);
/* Readable when a page was opened from elsewhere by the token, as by pt_view_address. */
int pt_serve_opened_fd(const pt_server *server);
/* False if others than this machine can reach it. */
bool pt_serve_is_private(const pt_server *server);
/* Ends what is being answered. NULL is allowed. */
void pt_serve_close(pt_server *server);

/* The value of a parameter, the first of that name; NULL if there is none. */
const char *pt_serve_get(const pt_serve_request *request, const char *name);

#endif
