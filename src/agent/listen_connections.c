/* listen_connections.c: the clients, and the bytes that each has sent and received. The states of a
 * connection:
 *
 *   head ----> body ----> answer ----> rest ----> closed
 *     |  `-- collects --'  |
 *     `-- 400, 404 --------'
 *
 *   head, body   the request arrives      collects   the answer is a profile that is not complete
 *   400, 404     the head is malformed, or the client does not know the token
 *   rest         the answer is sent, and the remainder of the request is read and ignored
 *
 * All connections are polled together, so a client that sends nothing, or a byte now and then,
 * costs the other clients no more than a row of the table. When all rows are taken, a new client
 * gets the row of the oldest connection that has not shown its permission or has received its
 * answer. Memory is used for the table, and for requests of permitted clients. */
#include "agent/listen.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    HEAD_MAX_BYTES = 8 << 10, /* of a request, up to its empty line */
    REQUEST_MS = 5000, /* for a head to arrive, and as long for a body: the client's machine may be
                        * busy */
    SEND_MS = 30000,   /* for an answer to be taken */
    PIECE_BYTES = 32 << 10,
};

typedef enum { IS_FREE, READS_HEAD, READS_BODY, COLLECTS, SENDS, TAKES_REST } connection_state;

typedef struct {
    int fd;
    connection_state state;
    uint64_t number;   /* grows: the oldest has the least */
    uint64_t until_ms; /* when the connection is closed; in the state COLLECTS, when the profile is
                        * complete */
    pt_listen_request request;
    size_t head_bytes, body_held;
    char *body; /* in memory of its own */
    pt_listen_answer answer;
    size_t answer_head_bytes;
    uint64_t sent_bytes; /* of head and answer */
    bool is_known;       /* the client is permitted */
    char head[HEAD_MAX_BYTES + 1];
    char answer_head[512];
} connection;

static PT_FAR connection table[PT_LISTEN_CONNECTIONS];
static char token[PT_LISTEN_TOKEN_MAX_BYTES + 1];
static uint64_t next_number;

static void forget_request(connection *c)
{
    if (c->body != NULL) pt_agent_unmap(c->body, c->request.body_bytes + 1);
    c->body = NULL;
    pt_listen_answer_done(&c->answer);
}

static void drop_connection(connection *c)
{
    if (c->state == COLLECTS) c->answer = pt_listen_collected();
    forget_request(c);
    close(c->fd);
    c->fd = -1;
    c->state = IS_FREE;
}

void pt_connections_open(const char *asked_token)
{
    pt_agent_join(token, sizeof token, asked_token, "");
    for (size_t i = 0; i < PT_LISTEN_CONNECTIONS; i++)
        table[i] = (connection){.fd = -1, .answer.file = -1};
}

void pt_connections_close(void)
{
    for (size_t i = 0; i < PT_LISTEN_CONNECTIONS; i++)
        if (table[i].state != IS_FREE) drop_connection(&table[i]);
}

/* ---- answers ---- */

/* Called when the answer is sent. If bytes of the request are still to come, they are read before
 * the connection is closed: otherwise the client might also lose the answer. */
static void has_sent(connection *c)
{
    const bool is_whole = c->body_held >= c->request.body_bytes;
    forget_request(c);
    if (is_whole || shutdown(c->fd, SHUT_WR) != 0) {
        drop_connection(c);
        return;
    }
    c->state = TAKES_REST;
    c->until_ms = pt_listen_now_ms() + REQUEST_MS;
}

/* Finds the next bytes to send. Returns their number; 0 at the end of the answer; a negative number
 * if the bytes cannot be read. */
static ssize_t next_piece(const connection *c, const char **ret_bytes)
{
    static PT_FAR char piece[PIECE_BYTES];
    if (c->sent_bytes < c->answer_head_bytes) {
        *ret_bytes = c->answer_head + c->sent_bytes;
        return (ssize_t)(c->answer_head_bytes - c->sent_bytes);
    }
    const uint64_t at = c->sent_bytes - c->answer_head_bytes;
    const uint64_t left = c->answer.size_bytes - at;
    if (c->answer.bytes != NULL) {
        *ret_bytes = (const char *)c->answer.bytes + at;
        return (ssize_t)left;
    }
    *ret_bytes = piece;
    const ssize_t got = left == 0 ? 0
                                  : pread(c->answer.file, piece,
                                          left < sizeof piece ? left : sizeof piece, (off_t)at);
    return got == 0 && left > 0 ? -1 : got; /* the file has become shorter */
}

static void go_on_sending(connection *c)
{
    for (;;) {
        const char *bytes;
        const ssize_t size = next_piece(c, &bytes);
        if (size < 0) {
            drop_connection(c);
            return;
        }
        if (size == 0) {
            has_sent(c);
            return;
        }
        const ssize_t done = send(c->fd, bytes, (size_t)size, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (done < 0 && errno == EINTR) continue;
        if (done < 0 && errno == EAGAIN) return;
        if (done <= 0) {
            drop_connection(c);
            return;
        }
        c->sent_bytes += (uint64_t)done;
    }
}

static void begin_answer(connection *c, const pt_listen_answer *answer)
{
    c->answer = *answer;
    c->answer_head_bytes =
        (size_t)snprintf(c->answer_head, sizeof c->answer_head,
                         "HTTP/1.1 %s\r\nContent-Type: %s\r\nContent-Length: %llu\r\n"
                         "X-Content-Type-Options: nosniff\r\nConnection: close\r\n\r\n",
                         answer->status, answer->type, (unsigned long long)answer->size_bytes);
    c->sent_bytes = 0;
    c->state = SENDS;
    c->until_ms = pt_listen_now_ms() + SEND_MS;
    go_on_sending(c);
}

static void answer_text(connection *c, const char *status, const char *text)
{
    const pt_listen_answer answer = pt_listen_text(status, text);
    begin_answer(c, &answer);
}

/* ---- requests ---- */

/* Receives the bytes that have arrived, at most size. *ret_bytes is 0 if none has arrived yet.
 * Returns false if the client has closed the connection, or receiving failed. */
static bool receive_bytes(connection *c, char *to, size_t size, size_t *ret_bytes)
{
    *ret_bytes = 0;
    const ssize_t got = recv(c->fd, to, size, MSG_DONTWAIT);
    if (got > 0) *ret_bytes = (size_t)got;
    return got > 0 || (got < 0 && (errno == EAGAIN || errno == EINTR));
}

static size_t content_length(const char *head)
{
    static const char name[] = "\r\nContent-Length:";
    const char *const at = strcasestr(head, name);
    if (at == NULL) return 0;
    const char *digit = at + sizeof name - 1;
    uint64_t value = 0;
    while (*digit == ' ')
        digit++;
    for (; *digit >= '0' && *digit <= '9'; digit++) {
        if (value <= UINT32_MAX) value = value * 10 + (uint64_t)(*digit - '0');
    }
    return (size_t)value;
}

/* Splits the head, which ends with the empty line at `end`, in place. Returns false if the head is
 * malformed. */
static bool parse_head(connection *c, char *end)
{
    pt_listen_request *const r = &c->request;
    *end = '\0';
    if (strlen(c->head) != (size_t)(end - c->head)) return false; /* a zero byte */
    r->body_bytes = content_length(c->head);
    char *const line_end = strstr(c->head, "\r\n");
    if (line_end != NULL) *line_end = '\0';
    char *const path = strchr(c->head, ' ');
    char *const version = path != NULL ? strchr(path + 1, ' ') : NULL;
    if (version == NULL || strncmp(version + 1, "HTTP/1.", 7) != 0) return false;
    *path = *version = '\0';
    r->is_post = strcmp(c->head, "POST") == 0;
    if (!r->is_post && strcmp(c->head, "GET") != 0) return false;
    r->path = path + 1;
    char *const mark = strchr(path + 1, '?');
    r->query = mark != NULL ? mark + 1 : "";
    if (mark != NULL) *mark = '\0';
    return true;
}

/* Changes "/TOKEN/page" to "/page". Returns false if the token is wrong. The time does not depend
 * on how much of the token is right: all characters are compared. */
static bool take_token(pt_listen_request *r)
{
    const size_t length = strlen(token), given = strlen(r->path);
    unsigned wrong = 0;
    for (size_t i = 0; i < length + 2; i++) {
        const char want = i == 0 || i == length + 1 ? '/' : token[i - 1];
        wrong |= (unsigned char)(i < given ? r->path[i] : '\0') ^ (unsigned char)want;
    }
    if (length == 0) return true;
    if (wrong != 0) return false;
    r->path += length + 1;
    return true;
}

static void ask_page(connection *c)
{
    pt_listen_answer answer = {.file = -1};
    switch (pt_listen_page(&c->request, &answer)) {
    case PT_LISTEN_ANSWERED: begin_answer(c, &answer); break;
    case PT_LISTEN_COLLECTS:
        c->state = COLLECTS;
        c->until_ms = pt_listen_collects_until_ms();
        break;
    case PT_LISTEN_WANTS_BODY:
        c->body = pt_agent_map(c->request.body_bytes + 1);
        c->state = READS_BODY;
        c->until_ms = pt_listen_now_ms() + REQUEST_MS;
        if (c->body == NULL) drop_connection(c);
        break;
    }
}

static void has_whole_body(connection *c)
{
    c->request.body = c->body;
    ask_page(c);
}

static void has_head(connection *c, char *end)
{
    const char *const rest = end + 4;
    const size_t rest_bytes = c->head_bytes - (size_t)(rest - c->head);
    c->body_held = rest_bytes;
    if (!parse_head(c, end)) {
        answer_text(c, "400 Bad Request", "not understood\n");
        return;
    }
    if (!take_token(&c->request)) {
        answer_text(c, "404 Not Found", "404 page not found\n");
        return;
    }
    c->is_known = true;
    ask_page(c);
    if (c->state != READS_BODY) return;
    if (c->body_held > c->request.body_bytes) c->body_held = c->request.body_bytes;
    memcpy(c->body, rest, c->body_held);
    if (c->body_held == c->request.body_bytes) has_whole_body(c);
}

static void read_head(connection *c)
{
    size_t got;
    if (c->head_bytes == HEAD_MAX_BYTES ||
        !receive_bytes(c, c->head + c->head_bytes, HEAD_MAX_BYTES - c->head_bytes, &got)) {
        drop_connection(c);
        return;
    }
    /* Up to three bytes of the empty line may have arrived before. */
    const size_t from = c->head_bytes > 3 ? c->head_bytes - 3 : 0;
    c->head_bytes += got;
    c->head[c->head_bytes] = '\0';
    char *const end = memmem(c->head + from, c->head_bytes - from, "\r\n\r\n", 4);
    if (end != NULL) has_head(c, end);
}

static void read_body(connection *c)
{
    size_t got;
    if (!receive_bytes(c, c->body + c->body_held, c->request.body_bytes - c->body_held, &got)) {
        drop_connection(c);
        return;
    }
    c->body_held += got;
    if (c->body_held == c->request.body_bytes) has_whole_body(c);
}

static void take_rest(connection *c)
{
    static PT_FAR char bytes[PIECE_BYTES];
    size_t got;
    if (!receive_bytes(c, bytes, sizeof bytes, &got)) drop_connection(c);
}

/* ---- the table ---- */

/* The oldest connection that may be closed for a new one; NULL if all are permitted clients that
 * wait for an answer. */
static connection *oldest_to_go(void)
{
    connection *oldest = NULL;
    for (size_t i = 0; i < PT_LISTEN_CONNECTIONS; i++) {
        connection *const c = &table[i];
        const bool may_go =
            c->state == READS_HEAD || c->state == TAKES_REST || (c->state == SENDS && !c->is_known);
        if (may_go && (oldest == NULL || c->number < oldest->number)) oldest = c;
    }
    return oldest;
}

static connection *free_row(void)
{
    for (size_t i = 0; i < PT_LISTEN_CONNECTIONS; i++)
        if (table[i].state == IS_FREE) return &table[i];
    return NULL;
}

bool pt_connections_have_room(void)
{
    return free_row() != NULL || oldest_to_go() != NULL;
}

static bool is_of_this_user(int fd)
{
    struct ucred peer;
    socklen_t length = sizeof peer;
    return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &length) == 0 &&
           (peer.uid == geteuid() || peer.uid == 0);
}

bool pt_connections_accept(int socket_fd)
{
    const int flags = SOCK_CLOEXEC | SOCK_NONBLOCK;
    int fd = accept4(socket_fd, NULL, NULL, flags);
    if (fd < 0 && (errno == EMFILE || errno == ENFILE) && oldest_to_go() != NULL) {
        drop_connection(oldest_to_go());
        fd = accept4(socket_fd, NULL, NULL, flags);
    }
    if (fd < 0) return errno == EINTR || errno == ECONNABORTED || errno == EAGAIN;
    if (token[0] == '\0' && !is_of_this_user(fd)) {
        close(fd);
        return true;
    }
    if (free_row() == NULL && oldest_to_go() != NULL) drop_connection(oldest_to_go());
    connection *const c = free_row();
    if (c == NULL) {
        close(fd);
        return true;
    }
    c->fd = fd;
    c->state = READS_HEAD;
    c->is_known = false;
    c->number = next_number++;
    c->until_ms = pt_listen_now_ms() + REQUEST_MS;
    c->head_bytes = c->body_held = 0;
    c->request = (pt_listen_request){.query = ""};
    read_head(c); /* most clients send the request at once, so the head is there */
    return true;
}

uint64_t pt_connections_wanted(struct pollfd rows[PT_LISTEN_CONNECTIONS])
{
    static const short events[] = {[READS_HEAD] = POLLIN,
                                   [READS_BODY] = POLLIN,
                                   [COLLECTS] = POLLRDHUP,
                                   [SENDS] = POLLOUT,
                                   [TAKES_REST] = POLLIN};
    uint64_t until_ms = 0;
    for (size_t i = 0; i < PT_LISTEN_CONNECTIONS; i++) {
        const connection *const c = &table[i];
        rows[i] =
            (struct pollfd){.fd = c->state == IS_FREE ? -1 : c->fd, .events = events[c->state]};
        if (c->state != IS_FREE && (until_ms == 0 || c->until_ms < until_ms))
            until_ms = c->until_ms;
    }
    return until_ms;
}

static void serve_row(connection *c)
{
    switch (c->state) {
    case READS_HEAD: read_head(c); break;
    case READS_BODY: read_body(c); break;
    case SENDS: go_on_sending(c); break;
    case TAKES_REST: take_rest(c); break;
    case COLLECTS: drop_connection(c); break; /* the client has gone */
    case IS_FREE: break;
    }
}

static void end_row(connection *c)
{
    if (c->state != COLLECTS) {
        drop_connection(c);
        return;
    }
    const pt_listen_answer answer = pt_listen_collected();
    begin_answer(c, &answer);
}

void pt_connections_serve(const struct pollfd rows[PT_LISTEN_CONNECTIONS])
{
    for (size_t i = 0; i < PT_LISTEN_CONNECTIONS; i++) {
        connection *const c = &table[i];
        if (c->state != IS_FREE && rows[i].fd == c->fd && rows[i].revents != 0) serve_row(c);
    }
    const uint64_t now_ms = pt_listen_now_ms();
    for (size_t i = 0; i < PT_LISTEN_CONNECTIONS; i++)
        if (table[i].state != IS_FREE && now_ms >= table[i].until_ms) end_row(&table[i]);
}
