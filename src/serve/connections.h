/* connections.h: connections that say nothing are closed, so that nobody can hold them all.
 *
 * Calls from several threads are safe. A connection's socket is shut down, never closed, here: its
 * owner reads the end of it and closes it.
 */
#ifndef PT_SERVE_CONNECTIONS_H
#define PT_SERVE_CONNECTIONS_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

/* More connections than these are not kept: the one that has been idle for longest goes. */
#define PT_MOST_CONNECTIONS 64
#define PT_REQUEST_MS       5000  /* for the first whole request to arrive */
#define PT_IDLE_MS          30000 /* between requests */

typedef struct pt_connection {
    int fd;
    bool busy;       /* a request is being answered */
    bool shut;       /* it was shut down */
    int64_t late_ms; /* when it is too late for its next request, monotonic */
    struct pt_connection *before, *after;
} pt_connection;

typedef struct pt_connections {
    pthread_mutex_t lock;
    pt_connection *first, *last; /* idle for longest first, but for busy ones */
    unsigned count;
} pt_connections;

void pt_connections_init(pt_connections *all);
void pt_connections_done(pt_connections *all);
/* Its memory belongs to *all until pt_connection_leave. */
pt_connection *pt_connection_enter(pt_connections *all, int fd);
void pt_connection_leave(pt_connections *all, pt_connection *c);
/* A request is whole; it was answered. */
void pt_connection_set_busy(pt_connections *all, pt_connection *c, bool busy);
/* Shuts down those that are late. Returns in how many ms the next one will be; -1 = there is none.
 */
int pt_connections_close_late(pt_connections *all);

#endif
