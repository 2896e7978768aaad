/* fuzz_listen.c: any bytes over any connections to PITOT_LISTEN, in any pieces and at any time: who
 * does not know the token reaches no page, every answer is HTTP, and nothing is left behind.
 *
 *   pieces: connection u8 (its high bits let time pass) | bytes u8 | bytes
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "agent/listen.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define TOKEN "0123456789abcdef"

enum { CLIENTS = 8, ROUNDS_MAX = 64 };

static uint64_t now_ms;
static uint64_t collects_until_ms;
static bool some_knows_token; /* the token was among what a client sent */

static void check(bool holds)
{
    if (!holds) abort();
}

/* ---- in the place of the pages, and of the library around them ---- */

void *pt_agent_map(size_t bytes)
{
    return calloc(1, bytes);
}

void pt_agent_unmap(void *at, size_t bytes)
{
    (void)bytes;
    free(at);
}

bool pt_agent_join(char *to, size_t size, const char *first, const char *second)
{
    return (size_t)snprintf(to, size, "%s%s", first, second) < size;
}

uint64_t pt_listen_now_ms(void)
{
    return now_ms;
}

pt_listen_answer pt_listen_text(const char *status, const char *text)
{
    return (pt_listen_answer){.status = status,
                              .type = "text/plain",
                              .bytes = text,
                              .size_bytes = strlen(text),
                              .file = -1};
}

void pt_listen_answer_done(pt_listen_answer *answer)
{
    *answer = (pt_listen_answer){.file = -1};
}

uint64_t pt_listen_collects_until_ms(void)
{
    return collects_until_ms;
}

pt_listen_answer pt_listen_collected(void)
{
    check(collects_until_ms != 0);
    collects_until_ms = 0;
    return pt_listen_text("200 OK", "collected");
}

pt_listen_verdict pt_listen_page(const pt_listen_request *request, pt_listen_answer *ret_answer)
{
    check(some_knows_token);
    check(request->path[0] == '/' && strchr(request->path, ' ') == NULL);
    check(strchr(request->path, '?') == NULL);
    if (request->body != NULL) check(strlen(request->body) <= request->body_bytes);
    if (strcmp(request->path, "/pprof/profile") == 0 && collects_until_ms == 0) {
        collects_until_ms = now_ms + 1000;
        return PT_LISTEN_COLLECTS;
    }
    if (request->is_post && request->body_bytes <= 1 << 16 && request->body == NULL)
        return PT_LISTEN_WANTS_BODY;
    *ret_answer = pt_listen_text("200 OK", request->is_post ? "posted" : "got");
    return PT_LISTEN_ANSWERED;
}

/* ---- sockets ---- */

static int listening = -1;
static struct sockaddr_un place;
static socklen_t place_bytes;

/* In the abstract name space, at a name that the kernel chooses (unix(7)). */
static void open_listening(void)
{
    struct sockaddr_un any = {.sun_family = AF_UNIX};
    listening = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    check(bind(listening, (struct sockaddr *)&any, sizeof any.sun_family) == 0);
    check(listen(listening, CLIENTS) == 0);
    place_bytes = sizeof place;
    check(getsockname(listening, (struct sockaddr *)&place, &place_bytes) == 0);
}

static int connect_client(void)
{
    const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    check(fd >= 0 && connect(fd, (struct sockaddr *)&place, place_bytes) == 0);
    check(pt_connections_accept(listening));
    return fd;
}

static bool serve_once(void)
{
    struct pollfd rows[PT_LISTEN_CONNECTIONS];
    const bool is_busy = pt_connections_wanted(rows) != 0;
    check(poll(rows, PT_LISTEN_CONNECTIONS, 0) >= 0);
    pt_connections_serve(rows);
    return is_busy;
}

static void take_answer(int fd)
{
    char answer[4096];
    const ssize_t got = recv(fd, answer, sizeof answer, MSG_DONTWAIT);
    if (got >= 9) check(memcmp(answer, "HTTP/1.1 ", 9) == 0);
}

static void send_piece(int *fd, const uint8_t *bytes, size_t size)
{
    if (*fd < 0) *fd = connect_client();
    if (size == 0) {
        close(*fd);
        *fd = -1;
        return;
    }
    if (memmem(bytes, size, TOKEN, sizeof TOKEN - 1) != NULL) some_knows_token = true;
    if (send(*fd, bytes, size, MSG_NOSIGNAL | MSG_DONTWAIT) < 0) check(errno != EBADF);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    int clients[CLIENTS];
    if (listening < 0) open_listening();
    for (size_t i = 0; i < CLIENTS; i++)
        clients[i] = -1;
    /* Pieces of a token that come apart are one as well. */
    some_knows_token = memmem(data, size, "0123", 4) != NULL;
    pt_connections_open(TOKEN);
    while (size >= 2) {
        const size_t bytes = data[1] < size - 2 ? data[1] : size - 2;
        int *const client = &clients[data[0] % CLIENTS];
        now_ms += (uint64_t)(data[0] / CLIENTS) * 200;
        send_piece(client, data + 2, bytes);
        serve_once();
        if (*client >= 0) take_answer(*client);
        data += 2 + bytes;
        size -= 2 + bytes;
    }
    for (size_t i = 0; i < CLIENTS; i++)
        if (clients[i] >= 0) close(clients[i]);
    for (int round = 0; round < ROUNDS_MAX && serve_once(); round++)
        now_ms += 40000; /* whatever is waited for is over */
    check(!serve_once());
    check(collects_until_ms == 0);
    pt_connections_close();
    return 0;
}
