/* serve.c: see serve.h. */
#include "serve/serve.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/grow.h"
#include "serve/address.h"
#ifdef PT_WITH_MICROHTTPD
#include "serve/connections.h"
#include "serve/gate.h"
#include "serve/lazy_microhttpd.h"
#include "serve/workers.h"
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

pt_status pt_serve_open(const char *address, uint64_t most_body, pt_serve_fn *answer, void *context,
                        pt_server **ret_server, pt_error *reterr)
{
    return pt_error_set(reterr, PT_ERR_UNSUPPORTED, "this pitot was built without libmicrohttpd");
}

const char *pt_serve_url(const pt_server *server)
{
    return "";
}

int pt_serve_opened_fd(const pt_server *server)
{
    return -1;
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
    uint64_t most_body; /* limit of the body of a POST in bytes; 0: no POST is allowed */
    char url[320];
    pt_gate gate;
    pt_connections connections;
    pt_workers *workers;
    int opened; /* an eventfd */
};

/* ---- listening ---- */

/* The port that the system selected. */
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

/* Listens at an address of the host, IPv4 before IPv6. Returns the socket or -1 with errno;
 * *ret_unknown is getaddrinfo's code when the host has no address. */
static int listen_on_host(const char *host, const char *port, int flags, int *ret_unknown)
{
#ifdef PT_STATIC /* looking up a name would load libraries of the system's libc */
    flags |= AI_NUMERICHOST;
#endif
    const struct addrinfo hints = {.ai_socktype = SOCK_STREAM,
                                   .ai_flags = AI_PASSIVE | AI_NUMERICSERV | flags};
    struct addrinfo *found = NULL;
    *ret_unknown = getaddrinfo(host, port, &hints, &found);
    if (*ret_unknown != 0) return -1;
    int fd = -1;
    errno = EADDRNOTAVAIL;
    for (int six = 0; six <= 1 && fd < 0; six++)
        for (const struct addrinfo *at = found; at != NULL && fd < 0; at = at->ai_next)
            if ((at->ai_family == AF_INET6) == (six == 1)) fd = listen_at(at);
    const int why = errno;
    freeaddrinfo(found);
    errno = why;
    return fd;
}

/* Listens at an address. Returns the socket or -1. "localhost" means 127.0.0.1, or ::1 if this
 * machine has no such address. The name is not looked up, since a machine may have neither
 * /etc/hosts nor a DNS server. Browsers try both addresses for "localhost". */
static int listen_on(const pt_serve_address *address, pt_error *reterr)
{
    const bool local = strcasecmp(address->host, "localhost") == 0;
    int unknown, fd = listen_on_host(local ? "127.0.0.1" : address->host, address->port,
                                     local ? AI_NUMERICHOST : 0, &unknown);
    if (fd < 0 && local && (errno == EADDRNOTAVAIL || errno == EAFNOSUPPORT))
        fd = listen_on_host("::1", address->port, AI_NUMERICHOST, &unknown);
    if (fd >= 0) return fd;
    if (unknown != 0)
        pt_error_set(reterr, PT_ERR_SYSTEM, "%s: %s", address->host, gai_strerror(unknown));
    else
        pt_error_errno(reterr, errno, "listen on %s:%s", address->host, address->port);
    return -1;
}

/* ---- one request ---- */

static const char TOO_LARGE[] =
    "The file is larger than the page takes, or TMPDIR has no room for it: "
    "name it on the command line, pitot serve FILE.\n";

/* A request, from its headers until its answer was sent. */
typedef struct {
    pt_server *server;
    struct MHD_Connection *connection;
    pt_job *job;      /* NULL until the request is complete */
    bool give_cookie; /* the address had the token */
    bool from_elsewhere;
    bool posts;
    int body; /* of a POST: a file without a name; else -1 */
    uint64_t body_bytes;
    bool body_is_whole; /* false: it was too large, or could not be written */
} http_request;

typedef struct {
    pt_serve_parameter *items;
    size_t count, cap;
    const char *token; /* value of the token parameter, which pages do not get */
    bool has_zero;     /* a byte 0 in a name or value would end the text */
} parameters;

static enum MHD_Result add_parameter(void *into, enum MHD_ValueKind kind, const char *name,
                                     size_t name_bytes, const char *value, size_t value_bytes)
{
    parameters *p = into;
    if (value == NULL) value = "";
    p->has_zero |= strlen(name) != name_bytes || strlen(value) != value_bytes;
    if (strcmp(name, PT_GATE_PARAMETER) == 0) {
        p->token = value;
        return MHD_YES;
    }
    PT_PUSH(*p, (pt_serve_parameter){name, value});
    return MHD_YES;
}

static void put_headers(const http_request *r, struct MHD_Response *response, const pt_answered *a)
{
    const pt_microhttpd *http = r->server->http;
    const pt_gate *gate = &r->server->gate;
    PT_FREE char *policy = pt_strf("%s; %s", a->policy != NULL ? a->policy : "default-src 'none'",
                                   a->place != NULL ? a->place : "sandbox; frame-ancestors 'self'");
    const struct {
        const char *name, *value;
    } headers[] = {
        {"Content-Type", a->type != NULL ? a->type : "text/plain; charset=utf-8"},
        {"Content-Security-Policy", policy},
        {"X-Content-Type-Options", "nosniff"},
        {"Referrer-Policy", "no-referrer"},
        {"Cross-Origin-Resource-Policy", "same-origin"},
        {"Cache-Control", "no-store"},
        {"Location", a->location},
        {"Pitot-Said", a->note},
    };
    for (size_t i = 0; i < PT_COUNT(headers); i++)
        if (headers[i].value != NULL)
            http->add_response_header(response, headers[i].name, headers[i].value);
    if (a->attachment != NULL) {
        PT_FREE char *text = pt_strf("attachment; filename=\"%s\"", a->attachment);
        http->add_response_header(response, "Content-Disposition", text);
    }
    if (r->give_cookie) {
        PT_FREE char *text =
            pt_strf("%s=%s; Path=/; HttpOnly; SameSite=Strict", gate->cookie, gate->token);
        http->add_response_header(response, "Set-Cookie", text);
    }
    if (a->status == 403 || a->status == 503)
        http->add_response_header(response, "Connection", "close");
}

/* libmicrohttpd takes over the descriptor of the body. */
static enum MHD_Result send_answer(http_request *r, pt_answered *a)
{
    const pt_microhttpd *http = r->server->http;
    struct MHD_Response *response =
        a->fd >= 0 ? http->create_response_from_fd_at_offset64(a->body_bytes, a->fd, a->body_at)
                   : http->create_response_from_buffer(
                         a->body_bytes, (void *)(uintptr_t)a->body_text, MHD_RESPMEM_PERSISTENT);
    if (response == NULL) return MHD_NO;
    a->fd = -1;
    put_headers(r, response, a);
    const enum MHD_Result done = http->queue_response(r->connection, a->status, response);
    http->destroy_response(response);
    const uint64_t one = 1;
    if (r->job != NULL && r->from_elsewhere && write(r->server->opened, &one, sizeof one) < 0) {
    } /* then it is readable already */
    return done;
}

static enum MHD_Result send_short(http_request *r, unsigned status, const char *text)
{
    pt_answered a = {.status = status, .fd = -1, .body_text = text, .body_bytes = strlen(text)};
    return send_answer(r, &a);
}

static const char *header_of(const http_request *r, const char *name)
{
    return r->server->http->lookup_connection_value(r->connection, MHD_HEADER_KIND, name);
}

/* ---- what a POST brings ---- */

/* A file that only this process can open: without a name where the file system allows it, else in
 * memory. */
static int open_body(void)
{
    const char *folder = getenv("TMPDIR");
    if (folder == NULL || folder[0] != '/') folder = "/tmp";
    const int fd = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    return fd >= 0 ? fd : memfd_create("pitot-file", MFD_CLOEXEC);
}

/* NULL if the request's body may come; else a line that refuses it, and the status. */
static const char *refusal_of_body(const http_request *r, unsigned *ret_status)
{
    const char *const length = header_of(r, "Content-Length");
    *ret_status = 405;
    if (r->server->most_body == 0) return "This server takes no files.\n";
    *ret_status = 413;
    if (length != NULL && strtoull(length, NULL, 10) > r->server->most_body) return TOO_LARGE;
    return NULL;
}

static void keep_body(http_request *r, const char *bytes, size_t size)
{
    r->body_bytes += size;
    r->body_is_whole &= r->body_bytes <= r->server->most_body;
    while (r->body_is_whole && size > 0) {
        const ssize_t put = write(r->body, bytes, size);
        if (put < 0 && errno == EINTR) continue;
        if (put <= 0) r->body_is_whole = false;
        if (put > 0) bytes += put, size -= (size_t)put;
    }
}

/* NULL if the request may be answered; else a line that refuses it, and the status. */
static const char *refusal_of(http_request *r, const char *method, const parameters *p,
                              unsigned *ret_status)
{
    const pt_gate_request asked = {.host = header_of(r, "Host"),
                                   .origin = header_of(r, "Origin"),
                                   .site = header_of(r, "Sec-Fetch-Site"),
                                   .mode = header_of(r, "Sec-Fetch-Mode"),
                                   .destination = header_of(r, "Sec-Fetch-Dest"),
                                   .cookie = header_of(r, "Cookie"),
                                   .authorization = header_of(r, "Authorization"),
                                   .token = p->token};
    const char *refusal = pt_gate_refusal(&r->server->gate, &asked);
    r->from_elsewhere = pt_gate_is_from_elsewhere(&asked);
    *ret_status = 403;
    if (refusal != NULL) return refusal;
    *ret_status = 405;
    r->posts = strcmp(method, "POST") == 0;
    if (!r->posts && strcmp(method, "GET") != 0 && strcmp(method, "HEAD") != 0)
        return "This server answers only GET, HEAD and POST.\n";
    if (r->posts && (refusal = refusal_of_body(r, ret_status)) != NULL) return refusal;
    *ret_status = 400;
    return p->has_zero ? "A parameter contains a byte 0 (%00).\n" : NULL;
}

static pt_connection *connection_of(const http_request *r)
{
    const union MHD_ConnectionInfo *info =
        r->server->http->get_connection_info(r->connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    return info != NULL ? info->socket_context : NULL;
}

/* Submits a complete request; the connection is suspended until it is answered. */
static enum MHD_Result submit_request(http_request *r, const char *path, const parameters *p)
{
    pt_connection *c = connection_of(r);
    const pt_serve_request request = {.path = path,
                                      .parameter = p->items,
                                      .parameter_count = p->count,
                                      .by_token = p->token != NULL,
                                      .from_elsewhere = r->from_elsewhere,
                                      .posts = r->posts,
                                      .body = r->body};
    if (c == NULL) return send_short(r, 500, "This connection is unknown.\n");
    r->give_cookie = p->token != NULL && pt_gate_is_token(&r->server->gate, p->token);
    r->job = pt_job_new(&request, c->fd, r);
    pt_connection_set_busy(&r->server->connections, c, true);
    r->server->http->suspend_connection(r->connection);
    if (pt_workers_submit(r->server->workers, r->job)) return MHD_YES;
    r->server->http->resume_connection(r->connection);
    pt_job_free(r->job);
    r->job = NULL;
    return send_short(r, 503, "Too many reports are being made: try again in a moment.\n");
}

/* Opens a file for the body. The connection counts as busy: a body may take longer than a silent
 * connection may last. */
static void begin_body(http_request *r)
{
    pt_connection *c = connection_of(r);
    r->body = open_body();
    r->body_is_whole = r->body >= 0;
    if (c != NULL) pt_connection_set_busy(&r->server->connections, c, true);
}

static void on_answered(pt_job *job)
{
    const http_request *r = job->context;
    r->server->http->resume_connection(r->connection);
}

/* libmicrohttpd calls this function when the headers are complete, for each part of a body, when
 * the request is complete, and after the workers have answered it. */
static enum MHD_Result on_request(void *context, struct MHD_Connection *connection,
                                  const char *path, const char *method, const char *version,
                                  const char *upload, size_t *upload_size, void **memory)
{
    http_request *r = *memory;
    const bool first = r == NULL;
    if (first) {
        r = *memory = pt_alloc(1, sizeof *r);
        *r = (http_request){.server = context, .connection = connection, .body = -1};
    }
    if (r->job != NULL) return r->job->finished ? send_answer(r, &r->job->answered) : MHD_YES;
    if (*upload_size > 0) {
        if (r->body >= 0) keep_body(r, upload, *upload_size);
        *upload_size = 0;
        return MHD_YES;
    }
    parameters p = {0};
    unsigned status;
    r->server->http->get_connection_values_n(connection, MHD_GET_ARGUMENT_KIND, add_parameter, &p);
    const char *refusal = refusal_of(r, method, &p, &status);
    enum MHD_Result done = MHD_YES;
    if (refusal != NULL)
        done = send_short(r, status, refusal);
    else if (first && r->posts)
        begin_body(r);
    else if (!first && r->posts && !r->body_is_whole)
        done = send_short(r, 413, TOO_LARGE);
    else if (!first)
        done = submit_request(r, path, &p);
    free(p.items);
    return done;
}

static void on_completed(void *context, struct MHD_Connection *connection, void **memory,
                         enum MHD_RequestTerminationCode how)
{
    PT_FREE http_request *r = *memory;
    if (r == NULL) return;
    pt_connection *c = connection_of(r);
    if (c != NULL && (r->job != NULL || r->posts)) {
        pt_connection_set_busy(&r->server->connections, c, false);
        pt_workers_wake(r->server->workers);
    }
    pt_job_free(r->job);
    if (r->body >= 0) close(r->body);
    *memory = NULL;
}

static void on_connection(void *context, struct MHD_Connection *connection, void **socket_context,
                          enum MHD_ConnectionNotificationCode code)
{
    pt_server *s = context;
    if (code == MHD_CONNECTION_NOTIFY_CLOSED) {
        if (*socket_context != NULL) pt_connection_leave(&s->connections, *socket_context);
        *socket_context = NULL;
        return;
    }
    const union MHD_ConnectionInfo *info =
        s->http->get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    if (info == NULL) return;
    *socket_context = pt_connection_enter(&s->connections, info->connect_fd);
    pt_workers_wake(s->workers);
}

/* ---- the server ---- */

/* More than connections.h keeps, so that a new connection is accepted before an old one is closed.
 */
enum { MOST_SOCKETS = 4 * PT_MOST_CONNECTIONS };
/* A client that reads nothing of its answer for this time is disconnected. */
enum { STALLED_S = 30 };

static pt_status start_server(pt_server *s, int fd, pt_error *reterr)
{
    const bool six = strchr(s->address.host, ':') != NULL;
    const uint16_t port = port_of(fd);
    pt_status status = pt_gate_init(&s->gate, s->address.host, port, reterr);
    if (status != PT_OK) return status;
    snprintf(s->url, sizeof s->url,
             six ? "http://[%s]:%u/?" PT_GATE_PARAMETER "=%s"
                 : "http://%s:%u/?" PT_GATE_PARAMETER "=%s",
             s->address.host, (unsigned)port, s->gate.token);
    s->daemon = s->http->start_daemon(
        MHD_USE_POLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME, 0, NULL, NULL, on_request, s,
        MHD_OPTION_LISTEN_SOCKET, fd, MHD_OPTION_CONNECTION_LIMIT, (unsigned)MOST_SOCKETS,
        MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)STALLED_S, MHD_OPTION_NOTIFY_COMPLETED,
        on_completed, s, MHD_OPTION_NOTIFY_CONNECTION, on_connection, s, MHD_OPTION_END);
    if (s->daemon != NULL) return PT_OK;
    return pt_error_set(reterr, PT_ERR_SYSTEM, "libmicrohttpd cannot serve at %s:%u",
                        s->address.host, (unsigned)port);
}

static void free_server(pt_server *s)
{
    pt_workers_free(s->workers);
    if (s->opened >= 0) close(s->opened);
    pt_connections_done(&s->connections);
    free(s);
}

pt_status pt_serve_open(const char *address, uint64_t most_body, pt_serve_fn *answer, void *context,
                        pt_server **ret_server, pt_error *reterr)
{
    pt_server *s = pt_alloc(1, sizeof *s);
    const char *missing;
    int fd = -1;
    pt_connections_init(&s->connections);
    s->opened = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    pt_status status = pt_serve_parse(address, &s->address, reterr);
    if (status == PT_OK && (s->http = pt_microhttpd_load(&missing)) == NULL)
        status = pt_error_set(reterr, PT_ERR_UNSUPPORTED, "%s", missing);
    s->most_body = most_body;
    if (status == PT_OK && (fd = listen_on(&s->address, reterr)) < 0) status = PT_ERR_SYSTEM;
    if (status == PT_OK)
        status = pt_workers_new(answer, context, on_answered, &s->connections, &s->workers, reterr);
    if (status == PT_OK && (status = start_server(s, fd, reterr)) != PT_OK)
        pt_workers_stop(s->workers);
    if (status != PT_OK) {
        if (fd >= 0) close(fd);
        free_server(s);
        return status;
    }
    *ret_server = s;
    return PT_OK;
}

const char *pt_serve_url(const pt_server *server)
{
    return server->url;
}

int pt_serve_opened_fd(const pt_server *server)
{
    return server->opened;
}

bool pt_serve_is_private(const pt_server *server)
{
    return pt_serve_is_loopback(server->address.host);
}

void pt_serve_close(pt_server *server)
{
    if (server == NULL) return;
    pt_workers_stop(server->workers);
    server->http->stop_daemon(server->daemon);
    free_server(server);
}

#endif
