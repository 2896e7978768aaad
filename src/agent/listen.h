/* listen.h: the parts of PITOT_LISTEN, which all run in the serving thread, and their contracts.
 *
 *   listen.c              the thread, its socket, its loop
 *   listen_connections.c  a table of connections: bytes -> request, answer -> bytes; who is
 *                         permitted
 *   listen_pages.c        request -> answer; the profile that is being collected
 *   listen_symbols.c      addresses -> names */
#pragma once

#include "agent/agent.h"

#include <poll.h>

enum {
    PT_LISTEN_TOKEN_MIN_BYTES = 16, /* a shorter token can be guessed */
    PT_LISTEN_TOKEN_MAX_BYTES = 64,
};

/* Writes 32 random hex digits, terminated. Returns false if the kernel gives no random bytes. */
bool pt_listen_random_text(char to[33]);
uint64_t pt_listen_now_ms(void);

/* ---- listen_pages.c ---- */

typedef struct {
    bool is_post;
    const char *path, *query; /* terminated; the query "" if there is none */
    size_t body_bytes;        /* that the head promises */
    const char *body;         /* terminated by 0; NULL until all of the body has come */
} pt_listen_request;

typedef struct {
    const char *status, *type;
    const void *bytes; /* NULL: the answer is in the file */
    uint64_t size_bytes;
    size_t map_bytes; /* size of the memory at `bytes` to unmap; 0 = none */
    int file;         /* to be closed; -1 = none */
} pt_listen_answer;

typedef enum {
    PT_LISTEN_ANSWERED,
    PT_LISTEN_WANTS_BODY, /* the caller repeats the request when the body has come */
    PT_LISTEN_COLLECTS,   /* the answer comes later, by pt_listen_collected */
} pt_listen_verdict;

/* Called when a process begins to serve: no profile is being collected. */
void pt_listen_pages_open(void);
/* The answer to a permitted request. */
pt_listen_verdict pt_listen_page(const pt_listen_request *request, pt_listen_answer *ret_answer);
pt_listen_answer pt_listen_text(const char *status, const char *text);
/* The time at which the profile that is being collected is complete; 0 if no profile is being
 * collected. */
uint64_t pt_listen_collects_until_ms(void);
/* Ends the collection. The answer is the profile, or an error message. */
pt_listen_answer pt_listen_collected(void);
void pt_listen_answer_done(pt_listen_answer *answer);

/* ---- listen_connections.c ---- */

enum { PT_LISTEN_CONNECTIONS = 16 };

/* Begins with an empty table of connections. token "": the socket is a Unix socket, whose client is
 * permitted if the kernel reports this user or root as the client's user. */
void pt_connections_open(const char *token);
void pt_connections_close(void);
/* Is a row of the table free, or can an old connection be closed for a new one? */
bool pt_connections_have_room(void);
/* Accepts a connection that waits at the socket. Returns false if the kernel has no descriptor or
 * no memory for that connection. */
bool pt_connections_accept(int socket_fd);
/* Fills in a row of poll for each connection, with fd -1 for a free row. Returns the time, of
 * pt_listen_now_ms, at which pt_connections_serve must run at the latest; 0 = at no time. */
uint64_t pt_connections_wanted(struct pollfd rows[PT_LISTEN_CONNECTIONS]);
/* Serves the connections that are ready, and closes those whose time is over. */
void pt_connections_serve(const struct pollfd rows[PT_LISTEN_CONNECTIONS]);
