/* address.c: see address.h. */
#include "serve/address.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* The end of the host in HOST:PORT or HOST; NULL if brackets do not match. */
static const char *end_of_host(const char *text)
{
    if (text[0] != '[') return text + strcspn(text, ":");
    const char *close = strchr(text, ']');
    return close != NULL && (close[1] == ':' || close[1] == '\0') ? close + 1 : NULL;
}

/* Copies a host without its brackets; false if it does not fit. */
static bool take_host(const char *text, const char *end, char host[256])
{
    if (text[0] == '[') text++, end--;
    if (end - text > 255) return false;
    snprintf(host, 256, "%.*s", (int)(end - text), text);
    return true;
}

static bool is_port(const char *text)
{
    const size_t digits = strspn(text, "0123456789");
    return text[digits] == '\0' && digits <= 5 && (digits == 0 || atoi(text) <= 65535);
}

pt_status pt_serve_parse(const char *text, pt_serve_address *ret, pt_error *reterr)
{
    const char *end = end_of_host(text);
    if (end == NULL || (end[0] == '\0' && text[0] != '\0') || !take_host(text, end, ret->host))
        return pt_error_set(reterr, PT_ERR_USAGE, "'%s' is not HOST:PORT", text);
    const char *port = end[0] == ':' ? end + 1 : end;
    if (strchr(port, ':') != NULL)
        return pt_error_set(reterr, PT_ERR_USAGE,
                            "'%s' is not HOST:PORT; an IPv6 address needs brackets", text);
    if (!is_port(port))
        return pt_error_set(reterr, PT_ERR_USAGE, "'%s' is not a port (0 to 65535)", port);
    if (ret->host[0] == '\0') snprintf(ret->host, sizeof ret->host, "localhost");
    snprintf(ret->port, sizeof ret->port, "%s", port[0] != '\0' ? port : "0");
    return PT_OK;
}

bool pt_serve_is_loopback(const char *host)
{
    struct in_addr four;
    if (strcasecmp(host, "localhost") == 0 || strcmp(host, "::1") == 0) return true;
    return inet_pton(AF_INET, host, &four) == 1 && ntohl(four.s_addr) >> 24 == 127;
}

bool pt_serve_may_ask(const char *header, const char *host)
{
    char asked[256];
    if (header == NULL || !pt_serve_is_loopback(host)) return true;
    const char *end = end_of_host(header);
    return end != NULL && take_host(header, end, asked) &&
           (pt_serve_is_loopback(asked) || strcasecmp(asked, host) == 0);
}
