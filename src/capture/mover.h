/* mover.h: a thread that gives events another ring to write to. The kernel lets nobody go on who
 * asks for that until all cpus have passed a grace period, 10 ms and more, in which threads begin
 * and end that the reader is to notice.
 */
#ifndef PT_CAPTURE_MOVER_H
#define PT_CAPTURE_MOVER_H

#include <stdbool.h>

typedef struct pt_mover pt_mover;

/* NULL: no thread can be had. */
pt_mover *pt_mover_new(void);
/* Ends the thread; accepts NULL. What it has not come to stays as it is. */
void pt_mover_free(pt_mover *mover);

/* The event of fd will write to the ring of to_fd, which must stay open; fd may be closed. False:
 * not now, there is much to do. Accepts NULL. */
bool pt_mover_add(pt_mover *mover, int fd, int to_fd);

#endif
