/* connections.h: closes silent connections, so that no client can hold them all.
 *
 * Thread-safe. This module shuts a socket down but never closes it: its owner reads end of file and
 * closes it.
 */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

/* The limit of connections; beyond it the one with the longest idle time is shut down. */
#define PT_MOST_CONNECTIONS 64
#define PT_REQUEST_MS       5000  /* time limit for the first complete request */
#define PT_IDLE_MS          30000 /* time limit between requests */

typedef struct pt_connection {
    int fd;
    bool busy;       /* a request is being answered */
    bool shut;       /* shut down already */
    int64_t late_ms; /* deadline of its next request, monotonic */
    struct pt_connection *before, *after;
} pt_connection;

typedef struct pt_connections {
    pthread_mutex_t lock;
    pt_connection *first, *last; /* idle ones by idle time, the longest first; busy ones anywhere */
    unsigned count;
} pt_connections;

/* No connections yet. pt_connections_done frees those that did not leave; it closes none. */
void pt_connections_init(pt_connections *all);
void pt_connections_done(pt_connections *all);
/* Adds a connection. *all owns the result until pt_connection_leave. */
pt_connection *pt_connection_enter(pt_connections *all, int fd);
void pt_connection_leave(pt_connections *all, pt_connection *c);
/* busy true: a request is complete; false: it was answered. */
void pt_connection_set_busy(pt_connections *all, pt_connection *c, bool busy);
/* Shuts down connections past their deadline. Returns the milliseconds to the next deadline; -1:
 * there is none. */
int pt_connections_close_late(pt_connections *all);
