/* gate.h: who is answered. Loopback is open to every user of the machine and to every page in a
 * browser here, so an address alone proves nothing:
 *
 *   Host            a name of this machine, or a page from elsewhere has its own name point here
 *   Sec-Fetch-Site  same-origin or none: another page, of another port too, has no request
 * answered; but a whole new page may be opened from elsewhere by who knows the token: the file that
 * hands it to the browser is elsewhere (cmd/viewer.h) Origin          this server token 128 random
 * bits: in the address (?t=...), as a bearer (RFC 6750, section 2.1), or as the cookie that the
 * address is exchanged for
 */
#ifndef PT_SERVE_GATE_H
#define PT_SERVE_GATE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

#define PT_GATE_PARAMETER "t" /* of the address that holds the token */

typedef struct pt_gate {
    char host[256];  /* where the server listens */
    char token[33];  /* 32 hexadecimal digits */
    char cookie[24]; /* its name, which holds the port: browsers give cookies to all ports */
} pt_gate;

/* What a request says about itself; NULL = nothing. */
typedef struct pt_gate_request {
    const char *host, *origin, *site, *mode, *destination, *cookie, *authorization; /* headers */
    const char *token; /* of the address */
} pt_gate_request;

/* Draws the token. PT_ERR_SYSTEM: the kernel has no random bits. */
pt_status pt_gate_init(pt_gate *gate, const char *host, uint16_t port, pt_error *reterr);

/* NULL if the request may be answered, else why not: one line, static. */
const char *pt_gate_refusal(const pt_gate *gate, const pt_gate_request *request);

/* Does a page of elsewhere, or a file, open this as a new page? Browsers keep cookies of ours from
 * such a request and what it is redirected to. */
bool pt_gate_is_from_elsewhere(const pt_gate_request *request);

/* Is it the token? Takes the same time wherever the two differ. NULL is allowed. */
bool pt_gate_is_token(const pt_gate *gate, const char *text);

#endif
