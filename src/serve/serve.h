/* serve.h: serves pages over HTTP to the local user's browser. It knows nothing of profiles: a
 * request is a path with parameters, and the caller's function answers it.
 *
 * It listens on loopback by default and answers only requests with its token (serve/gate.h): other
 * users of the machine and pages of other servers are refused. Each answer is made in its own
 * process (serve/keeper.h), so a long one delays no other.
 *
 * libmicrohttpd implements the protocol; opening a server loads it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"

typedef struct pt_serve_parameter {
    const char *name;
    const char *value; /* decoded; "" without "=" */
} pt_serve_parameter;

typedef struct pt_serve_request {
    const char *path; /* decoded, begins with / */
    const pt_serve_parameter *parameter;
    size_t parameter_count; /* token excluded */
    bool by_token; /* the address had the token: answer with a redirection to the address without it
                    */
    bool from_elsewhere;  /* a file or another page opened it. A redirection would be requested
                             without the cookie, so a page of ours must navigate instead */
    bool posts;           /* POST; else GET or HEAD */
    int body;             /* of a POST: a file with its body, to be read from the start; else -1 */
    const char *root;     /* below which `path` is: "", or "/3" of a process that stays */
    const char *new_root; /* of a POST: the root of the process if it stays; else "" */
} pt_serve_request;

/* Whether the process of an answer remains, to make others. */
typedef enum {
    PT_STAY_NOT,
    PT_STAY_NEW,  /* at new_root */
    PT_STAY_HERE, /* at root, in place of the process that made answers until now */
} pt_serve_process_stay;

/* The answer. Before the call all fields are empty, except status, which is 200. */
typedef struct pt_serve_answer {
    unsigned status;    /* 200, 307, 400, 404, ... */
    const char *type;   /* "text/html; charset=utf-8"; like all texts, it may point into `memory` */
    const char *policy; /* Content-Security-Policy: what may run and be loaded; NULL: nothing */
    /* More of the policy: which pages may embed this page. NULL: the pages of this server, and this
     * page is in a sandbox. */
    const char *place;
    const char *attachment; /* file name for saving, or NULL */
    const char *location;   /* target of a redirection */
    const char *note;       /* header Pitot-Said, percent-encoded */
    char *memory;           /* freed by the server; may be NULL */
    pt_buf body;            /* freed by the server */
    /* An equal request has the same answer, until another process answers below this root. */
    bool lasts;
    pt_serve_process_stay process_stay; /* of a POST: the process remains after this answer, */
    void *stay_context; /* and makes others with this context, which holds nothing of the request */
} pt_serve_answer;

/* Answers a request. Runs in a copy of the process, which ends when the function has returned,
 * unless the answer stays, and when the client disconnects. So changes have no effect elsewhere,
 * and no other thread runs. */
typedef void pt_serve_fn(void *context, const pt_serve_request *request, pt_serve_answer *answer);

typedef struct pt_server pt_server;

/* Opens a server. address: HOST:PORT, :PORT, HOST: or ""; defaults: localhost, any free port.
 * most_body: limit of the body of a POST in bytes; 0: there is no POST. PT_ERR_USAGE: not an
 * address. PT_ERR_SYSTEM: cannot listen there. PT_ERR_UNSUPPORTED: libmicrohttpd is missing. */
pt_status pt_serve_open(const char *address, uint64_t most_body, pt_serve_fn *answer, void *context,
                        pt_server **ret_server, pt_error *reterr);
/* "http://localhost:45123/?t=TOKEN", the address for a browser. Owned by the server. It grants read
 * access to everything. */
const char *pt_serve_url(const pt_server *server);
/* Readable after a page was opened from elsewhere with the token, as pt_view_address does. */
int pt_serve_opened_fd(const pt_server *server);
/* False if other machines can reach the server. */
bool pt_serve_is_private(const pt_server *server);
/* Ends running answers and frees the server. Accepts NULL. */
void pt_serve_close(pt_server *server);

/* The value of the first parameter with that name; NULL: none. */
const char *pt_serve_get(const pt_serve_request *request, const char *name);
