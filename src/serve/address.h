/* address.h: HOST:PORT in words, and which names are this machine's own. */
#ifndef PT_SERVE_ADDRESS_H
#define PT_SERVE_ADDRESS_H

#include <stdbool.h>

#include "base/error.h"

typedef struct pt_serve_address {
    char host[256]; /* "localhost", "127.0.0.1", "::1": without brackets */
    char port[8];   /* "0": any */
} pt_serve_address;

/* HOST:PORT, :PORT, HOST:, [::1]:PORT, or "": localhost and any port stand for what is missing. */
pt_status pt_serve_parse(const char *text, pt_serve_address *ret, pt_error *reterr);
/* Is it localhost, 127.x.y.z or ::1? */
bool pt_serve_is_loopback(const char *host);
/* May a request with this Host header be answered by who listens on `host`? Anything may if that is
 * no loopback name. NULL, no header: HTTP/1.0, which no browser speaks. */
bool pt_serve_may_ask(const char *header, const char *host);

#endif
