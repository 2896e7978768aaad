/* listen.h: the parts of PITOT_LISTEN, which all run in the thread that serves, and what they
 * promise each other.
 *
 *   listen.c              the thread, its socket, its loop
 *   listen_connections.c  a table of connections: bytes -> request, answer -> bytes; who may ask
 *   listen_pages.c        request -> answer; the profile that is being collected
 *   listen_symbols.c      addresses -> names
 */
#pragma once

#include "agent/agent.h"

#include <poll.h>

enum {
    PT_LISTEN_TOKEN_MIN_BYTES = 16, /* one that is shorter can be guessed */
    PT_LISTEN_TOKEN_MAX_BYTES = 64,
};

/* 32 hex digits by chance; false if the kernel has none to give. */
bool pt_listen_random_text(char to[33]);
uint64_t pt_listen_now_ms(void);

/* ---- listen_pages.c ---- */

typedef struct {
    bool is_post;
    const char *path, *query; /* terminated; the query "" if there is none */
    size_t body_bytes;        /* that the head promises */
    const char *body;         /* terminated; NULL until all of it has come */
} pt_listen_request;

typedef struct {
    const char *status, *type;
    const void *bytes; /* NULL: the file's */
    uint64_t size_bytes;
    size_t map_bytes; /* size of the memory at `bytes` to unmap; 0 = none */
    int file;         /* to be closed; -1 = none */
} pt_listen_answer;

typedef enum {
    PT_LISTEN_ANSWERED,
    PT_LISTEN_WANTS_BODY, /* ask again when it has come */
    PT_LISTEN_COLLECTS,   /* the answer comes later, by pt_listen_collected */
} pt_listen_verdict;

/* None is collected: this process has just begun to serve. */
void pt_listen_pages_open(void);
/* The answer to a permitted request. */
pt_listen_verdict pt_listen_page(const pt_listen_request *request, pt_listen_answer *ret_answer);
pt_listen_answer pt_listen_text(const char *status, const char *text);
/* When the profile that is being collected has come to its end; 0: none is. */
uint64_t pt_listen_collects_until_ms(void);
/* Ends it: the profile, or what went wrong. */
pt_listen_answer pt_listen_collected(void);
void pt_listen_answer_done(pt_listen_answer *answer);

/* ---- listen_connections.c ---- */

enum { PT_LISTEN_CONNECTIONS = 16 };

/* token "": who has connected may ask if it is of this user or root, by the kernel's word. */
void pt_connections_open(const char *token);
void pt_connections_close(void);
/* Is there place for one more, if need be another's? */
bool pt_connections_have_room(void);
/* Takes one that waits at the socket. False: the kernel has no descriptor, or memory, for it. */
bool pt_connections_accept(int socket_fd);
/* What to wait for: a row for each connection, fd -1 where there is none; and until when, 0 = for
 * ever. */
uint64_t pt_connections_wanted(struct pollfd rows[PT_LISTEN_CONNECTIONS]);
/* Goes on with those that something has come for, and with those whose time is over. */
void pt_connections_serve(const struct pollfd rows[PT_LISTEN_CONNECTIONS]);
