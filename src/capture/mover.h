/* mover.h: a thread that redirects events to another ring. The kernel blocks such a request for an
 * RCU grace period, 10 ms and more. The reader must not wait so long, since it must notice threads
 * that begin and end during that time.
 */
#pragma once

#include <stdbool.h>

typedef struct pt_mover pt_mover;

/* Starts the thread. NULL: it cannot be started. */
pt_mover *pt_mover_new(void);
/* Ends the thread; accepts NULL. Pending requests are dropped. */
void pt_mover_free(pt_mover *mover);

/* Requests that the event of fd write to the ring of to_fd. to_fd must stay open; fd may be closed.
 * False: too many requests are pending. Accepts NULL. */
bool pt_mover_add(pt_mover *mover, int fd, int to_fd);
