/* connections.c: see connections.h. */
#include "serve/connections.h"

#include <stdlib.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "base/error.h"

void pt_connections_init(pt_connections *all)
{
    *all = (pt_connections){.count = 0};
    pthread_mutex_init(&all->lock, NULL);
}

void pt_connections_done(pt_connections *all)
{
    while (all->first != NULL)
        pt_connection_leave(all, all->first);
    pthread_mutex_destroy(&all->lock);
}

static void append_connection(pt_connections *all, pt_connection *c)
{
    c->before = all->last;
    c->after = NULL;
    if (all->last != NULL)
        all->last->after = c;
    else
        all->first = c;
    all->last = c;
}

static void unlink_connection(pt_connections *all, pt_connection *c)
{
    if (c->before != NULL)
        c->before->after = c->after;
    else
        all->first = c->after;
    if (c->after != NULL)
        c->after->before = c->before;
    else
        all->last = c->before;
}

static void shut_connection(pt_connection *c)
{
    c->shut = true;
    shutdown(c->fd, SHUT_RDWR);
}

static void shut_oldest_idle(pt_connections *all)
{
    for (pt_connection *c = all->first; c != NULL; c = c->after) {
        if (c->busy || c->shut) continue;
        shut_connection(c);
        return;
    }
}

pt_connection *pt_connection_enter(pt_connections *all, int fd)
{
    pt_connection *c = pt_alloc(1, sizeof *c);
    *c = (pt_connection){.fd = fd, .late_ms = pt_now_ms() + PT_REQUEST_MS};
    pthread_mutex_lock(&all->lock);
    if (++all->count > PT_MOST_CONNECTIONS) shut_oldest_idle(all);
    append_connection(all, c);
    pthread_mutex_unlock(&all->lock);
    return c;
}

void pt_connection_leave(pt_connections *all, pt_connection *c)
{
    pthread_mutex_lock(&all->lock);
    unlink_connection(all, c);
    all->count--;
    pthread_mutex_unlock(&all->lock);
    free(c);
}

void pt_connection_set_busy(pt_connections *all, pt_connection *c, bool busy)
{
    pthread_mutex_lock(&all->lock);
    c->busy = busy;
    if (!busy) {
        c->late_ms = pt_now_ms() + PT_IDLE_MS;
        unlink_connection(all, c);
        append_connection(all, c);
    }
    pthread_mutex_unlock(&all->lock);
}

int pt_connections_close_late(pt_connections *all)
{
    const int64_t now = pt_now_ms();
    int64_t next = INT64_MAX;
    pthread_mutex_lock(&all->lock);
    for (pt_connection *c = all->first; c != NULL; c = c->after) {
        if (c->busy || c->shut) continue;
        if (c->late_ms <= now)
            shut_connection(c);
        else if (c->late_ms < next)
            next = c->late_ms;
    }
    pthread_mutex_unlock(&all->lock);
    return next == INT64_MAX ? -1 : (int)(next - now);
}
