/* gate.c: see gate.h. */
#include "serve/gate.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/random.h>

#include "serve/address.h"

pt_status pt_gate_init(pt_gate *gate, const char *host, uint16_t port, pt_error *reterr)
{
    uint8_t bits[16];
    if (getrandom(bits, sizeof bits, 0) != (ssize_t)sizeof bits)
        return pt_error_errno(reterr, errno, "getrandom");
    snprintf(gate->host, sizeof gate->host, "%s", host);
    for (size_t i = 0; i < sizeof bits; i++)
        snprintf(gate->token + 2 * i, 3, "%02x", bits[i]);
    snprintf(gate->cookie, sizeof gate->cookie, "pitot-%u", (unsigned)port);
    return PT_OK;
}

/* ---- the token ---- */

static bool is_token(const pt_gate *gate, const char *text, size_t size)
{
    unsigned differing = 0;
    if (size != sizeof gate->token - 1) return false;
    for (size_t i = 0; i < size; i++)
        differing |= (unsigned char)gate->token[i] ^ (unsigned char)text[i];
    return differing == 0;
}

bool pt_gate_is_token(const pt_gate *gate, const char *text)
{
    return text != NULL && is_token(gate, text, strlen(text));
}

/* Parses "a=1; pitot-8080=TOKEN"; tries all cookies of our name, since a page of another port may
 * have set some. */
static bool cookie_has_token(const pt_gate *gate, const char *header)
{
    const size_t name_size = strlen(gate->cookie);
    for (const char *at = header; at != NULL && *at != '\0';) {
        at += strspn(at, " \t;");
        const size_t size = strcspn(at, ";");
        if (size > name_size && strncmp(at, gate->cookie, name_size) == 0 && at[name_size] == '=' &&
            is_token(gate, at + name_size + 1, size - name_size - 1))
            return true;
        at += size;
    }
    return false;
}

static bool is_bearer(const pt_gate *gate, const char *header)
{
    static const char scheme[] = "Bearer ";
    return header != NULL && strncasecmp(header, scheme, sizeof scheme - 1) == 0 &&
           pt_gate_is_token(gate, header + sizeof scheme - 1);
}

/* ---- the request ---- */

static bool is_own_origin(const pt_gate_request *request)
{
    static const char scheme[] = "http://";
    return request->host != NULL && strncasecmp(request->origin, scheme, sizeof scheme - 1) == 0 &&
           strcasecmp(request->origin + sizeof scheme - 1, request->host) == 0;
}

bool pt_gate_is_from_elsewhere(const pt_gate_request *request)
{
    const char *site = request->site;
    return site != NULL && strcmp(site, "same-origin") != 0 && strcmp(site, "none") != 0;
}

/* True if the request opens a new page, whose content the opener cannot see (Fetch Metadata,
 * sections 2.1 and 2.2). */
static bool is_new_page(const pt_gate_request *request)
{
    return request->mode != NULL && strcmp(request->mode, "navigate") == 0 &&
           request->destination != NULL && strcmp(request->destination, "document") == 0;
}

const char *pt_gate_refusal(const pt_gate *gate, const pt_gate_request *request)
{
    const bool opens_by_token = is_new_page(request) && pt_gate_is_token(gate, request->token);
    if (!pt_serve_may_ask(request->host, gate->host))
        return "This page is for this machine only: open it as localhost.\n";
    if (pt_gate_is_from_elsewhere(request) && !opens_by_token)
        return "Another page sent this request: copy the address that pitot printed into the "
               "browser.\n";
    if (request->origin != NULL && !is_own_origin(request))
        return "A page of another server sent this request; pitot answers its own pages only.\n";
    if (!pt_gate_is_token(gate, request->token) && !is_bearer(gate, request->authorization) &&
        !cookie_has_token(gate, request->cookie))
        return "This page needs its token: open the address that pitot printed, which ends in "
               "?t=...\n";
    return NULL;
}
