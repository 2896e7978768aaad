/* address.h: parses HOST:PORT, and recognises names of this machine. */
#pragma once

#include <stdbool.h>

#include "base/error.h"

/* A listening address. */
typedef struct pt_serve_address {
    char host[256]; /* "localhost", "127.0.0.1", "::1": without brackets */
    char port[8];   /* "0": any free port */
} pt_serve_address;

/* Parses HOST:PORT, :PORT, HOST:, [::1]:PORT, or "". Defaults: localhost, any free port.
 * PT_ERR_USAGE: another form. */
pt_status pt_serve_parse(const char *text, pt_serve_address *ret, pt_error *reterr);
/* True for localhost, 127.x.y.z and ::1. */
bool pt_serve_is_loopback(const char *host);
/* Whether a request with this Host header may be answered by a server that listens on `host`.
 * Always true if `host` is no loopback name. header NULL: HTTP/1.0, which no browser uses. */
bool pt_serve_may_ask(const char *header, const char *host);
