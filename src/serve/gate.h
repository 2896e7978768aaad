/* gate.h: decides which requests are answered. Every user of the machine and every page in a
 * browser here can reach loopback, so the address alone proves nothing. A request must pass all of:
 *
 *   Host            a name of this machine: a page from elsewhere may have a name that leads here
 *   Sec-Fetch-Site  same-origin or none, so that no other page, even of another port, gets answers.
 *                   Exception: a new page that is opened from elsewhere with the token, since the
 *                   file that passes the token to the browser is elsewhere (terminal/viewer.h)
 *   Origin          this server
 *   token           128 random bits: in the address (?t=...), as a bearer token (RFC 6750, section
 *                   2.1), or as the cookie that replaces the token in the address
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

#define PT_GATE_PARAMETER "t" /* the URL parameter with the token */

typedef struct pt_gate {
    char host[256];  /* listening host */
    char token[33];  /* 32 hexadecimal digits */
    char cookie[24]; /* name of the cookie; contains the port, since browsers send cookies to all
                        ports */
} pt_gate;

/* The facts of a request; NULL: absent. */
typedef struct pt_gate_request {
    const char *host, *origin, *site, *mode, *destination, *cookie, *authorization; /* headers */
    const char *token; /* from the address */
} pt_gate_request;

/* Draws the token. PT_ERR_SYSTEM: the kernel has no random bytes. */
pt_status pt_gate_init(pt_gate *gate, const char *host, uint16_t port, pt_error *reterr);

/* NULL if the request may be answered, else the reason: one line, static. */
const char *pt_gate_refusal(const pt_gate *gate, const pt_gate_request *request);

/* True if a file or a page of another server opened this as a new page. Browsers withhold our
 * cookies from such a request and from its redirections. */
bool pt_gate_is_from_elsewhere(const pt_gate_request *request);

/* True if text is the token. Takes the same time for any difference. text may be NULL. */
bool pt_gate_is_token(const pt_gate *gate, const char *text);
