/* serve.c: see serve.h. */
#include "serve/serve.h"

#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/grow.h"
#include "serve/address.h"
#ifdef PT_WITH_MICROHTTPD
#include "serve/lazy_microhttpd.h"
#endif

const char *pt_serve_get(const pt_serve_request *request, const char *name)
{
    for (size_t i = 0; i < request->parameter_count; i++)
        if (strcmp(request->parameter[i].name, name) == 0) return request->parameter[i].value;
    return NULL;
}

#ifndef PT_WITH_MICROHTTPD

struct pt_server {
    int nothing;
};

pt_status pt_serve_open(const char *address, pt_serve_fn *answer, void *context,
                        pt_server **ret_server, pt_error *reterr)
{
    return pt_error_set(reterr, PT_ERR_UNSUPPORTED, "this pitot was built without libmicrohttpd");
}

const char *pt_serve_url(const pt_server *server)
{
    return "";
}

bool pt_serve_is_private(const pt_server *server)
{
    return true;
}

void pt_serve_close(pt_server *server)
{
}

#else

struct pt_server {
    const pt_microhttpd *http;
    struct MHD_Daemon *daemon;
    pt_serve_address address;
    char url[320];
    pt_serve_fn *answer;
    void *context;
};

/* ---- Listening ---- */

/* The port that the system chose. */
static uint16_t port_of(int fd)
{
    struct sockaddr_storage at;
    socklen_t size = sizeof at;
    char port[8];
    if (getsockname(fd, (struct sockaddr *)&at, &size) != 0 ||
        getnameinfo((struct sockaddr *)&at, size, NULL, 0, port, sizeof port, NI_NUMERICSERV) != 0)
        return 0;
    return (uint16_t)atoi(port);
}

static int listen_at(const struct addrinfo *at)
{
    const int one = 1, fd = socket(at->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0) return -1;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    if (bind(fd, at->ai_addr, at->ai_addrlen) == 0 && listen(fd, 64) == 0) return fd;
    const int why = errno;
    close(fd);
    errno = why;
    return -1;
}

/* IPv4 before IPv6: "localhost" in a browser finds either. Returns the socket or -1. */
static int listen_on(const pt_serve_address *address, pt_error *reterr)
{
    const struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE};
    struct addrinfo *found = NULL;
    const int code = getaddrinfo(address->host, address->port, &hints, &found);
    if (code != 0) {
        pt_error_set(reterr, PT_ERR_SYSTEM, "%s: %s", address->host, gai_strerror(code));
        return -1;
    }
    int fd = -1;
    errno = EADDRNOTAVAIL;
    for (int six = 0; six <= 1 && fd < 0; six++)
        for (const struct addrinfo *at = found; at != NULL && fd < 0; at = at->ai_next)
            if ((at->ai_family == AF_INET6) == (six == 1)) fd = listen_at(at);
    if (fd < 0) pt_error_errno(reterr, errno, "listen on %s:%s", address->host, address->port);
    freeaddrinfo(found);
    return fd;
}

/* ---- One request ---- */

typedef struct {
    pt_serve_parameter *items;
    size_t count, cap;
    bool has_zero; /* a byte 0 in a name or value: text would end there */
} parameters;

static enum MHD_Result add_parameter(void *into, enum MHD_ValueKind kind, const char *name,
                                     size_t name_bytes, const char *value, size_t value_bytes)
{
    parameters *p = into;
    p->has_zero |= strlen(name) != name_bytes || (value != NULL && strlen(value) != value_bytes);
    PT_GROW(*p, p->count + 1);
    p->items[p->count++] = (pt_serve_parameter){name, value != NULL ? value : ""};
    return MHD_YES;
}

static void refuse(pt_serve_answer *answer, unsigned status, const char *why)
{
    answer->status = status;
    answer->type = "text/plain; charset=utf-8";
    pt_put_text(&answer->body, why);
}

static void ask(const pt_server *s, struct MHD_Connection *connection, const char *path,
                const char *method, pt_serve_answer *answer)
{
    const char *host = s->http->lookup_connection_value(connection, MHD_HEADER_KIND, "Host");
    parameters p = {0};
    if (!pt_serve_may_ask(host, s->address.host))
        return refuse(answer, 403, "This page is for this machine: ask for it as localhost.\n");
    if (strcmp(method, "GET") != 0 && strcmp(method, "HEAD") != 0)
        return refuse(answer, 405, "Only GET and HEAD are answered.\n");
    s->http->get_connection_values_n(connection, MHD_GET_ARGUMENT_KIND, add_parameter, &p);
    const pt_serve_request request = {path, p.items, p.count};
    if (p.has_zero)
        refuse(answer, 400, "A parameter holds a byte 0 (%00), which no name has.\n");
    else
        s->answer(s->context, &request, answer);
    free(p.items);
}

static void put_headers(const pt_microhttpd *http, struct MHD_Response *response,
                        const pt_serve_answer *answer)
{
    const char *const policy =
        answer->policy != NULL ? answer->policy : "default-src 'none'; frame-ancestors 'self'";
    http->add_response_header(response, "Content-Type",
                              answer->type != NULL ? answer->type : "text/plain; charset=utf-8");
    http->add_response_header(response, "Content-Security-Policy", policy);
    http->add_response_header(response, "X-Content-Type-Options", "nosniff");
    http->add_response_header(response, "Referrer-Policy", "no-referrer");
    http->add_response_header(response, "Cross-Origin-Resource-Policy", "same-origin");
    http->add_response_header(response, "Cache-Control", "no-store");
    if (answer->location != NULL) http->add_response_header(response, "Location", answer->location);
    if (answer->note != NULL) http->add_response_header(response, "Pitot-Said", answer->note);
    if (answer->attachment != NULL) {
        PT_FREE char *text = pt_strf("attachment; filename=\"%s\"", answer->attachment);
        http->add_response_header(response, "Content-Disposition", text);
    }
}

/* The body is ours to give away: libmicrohttpd frees it. */
static enum MHD_Result on_request(void *context, struct MHD_Connection *connection,
                                  const char *path, const char *method, const char *version,
                                  const char *upload, size_t *upload_size, void **memory)
{
    static int seen; /* the first call of a request tells its headers only */
    const pt_server *s = context;
    if (*memory == NULL) {
        *memory = &seen;
        return MHD_YES;
    }
    *upload_size = 0;
    pt_serve_answer answer = {.status = 200};
    ask(s, connection, path, method, &answer);
    size_t size = 0;
    char *body = pt_buf_take(&answer.body, &size);
    struct MHD_Response *response =
        s->http->create_response_from_buffer(size, body, MHD_RESPMEM_MUST_FREE);
    enum MHD_Result done = MHD_NO;
    if (response != NULL) {
        put_headers(s->http, response, &answer);
        done = s->http->queue_response(connection, answer.status, response);
        s->http->destroy_response(response);
    } else {
        free(body);
    }
    free(answer.memory);
    return done;
}

/* ---- The server ---- */

enum { MOST_CONNECTIONS = 64, IDLE_S = 60 };

static pt_status start(pt_server *s, int fd, pt_error *reterr)
{
    const bool six = strchr(s->address.host, ':') != NULL;
    snprintf(s->url, sizeof s->url, six ? "http://[%s]:%u" : "http://%s:%u", s->address.host,
             (unsigned)port_of(fd));
    s->daemon = s->http->start_daemon(MHD_USE_POLL_INTERNAL_THREAD, 0, NULL, NULL, on_request, s,
                                      MHD_OPTION_LISTEN_SOCKET, fd, MHD_OPTION_CONNECTION_LIMIT,
                                      (unsigned)MOST_CONNECTIONS, MHD_OPTION_CONNECTION_TIMEOUT,
                                      (unsigned)IDLE_S, MHD_OPTION_END);
    if (s->daemon != NULL) return PT_OK;
    close(fd);
    return pt_error_set(reterr, PT_ERR_SYSTEM, "libmicrohttpd cannot serve at %s", s->url);
}

pt_status pt_serve_open(const char *address, pt_serve_fn *answer, void *context,
                        pt_server **ret_server, pt_error *reterr)
{
    pt_server *s = pt_alloc(1, sizeof *s);
    const char *missing;
    s->answer = answer;
    s->context = context;
    pt_status status = pt_serve_parse(address, &s->address, reterr);
    if (status == PT_OK && (s->http = pt_microhttpd_load(&missing)) == NULL)
        status = pt_error_set(reterr, PT_ERR_UNSUPPORTED, "%s", missing);
    if (status == PT_OK) {
        const int fd = listen_on(&s->address, reterr);
        status = fd >= 0 ? start(s, fd, reterr) : PT_ERR_SYSTEM;
    }
    if (status != PT_OK) {
        free(s);
        return status;
    }
    *ret_server = s;
    return PT_OK;
}

const char *pt_serve_url(const pt_server *server)
{
    return server->url;
}

bool pt_serve_is_private(const pt_server *server)
{
    return pt_serve_is_loopback(server->address.host);
}

void pt_serve_close(pt_server *server)
{
    if (server == NULL) return;
    server->http->stop_daemon(server->daemon);
    free(server);
}

#endif
