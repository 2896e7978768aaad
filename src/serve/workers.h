/* workers.h: has each answer made by a process of its own (keeper.h), PT_MOST_RUNNING at once;
 * other requests wait. A process ends when its client disconnects.
 *
 * Processes that stay are keepers, too. Each has a number, its root: 0 is the first keeper, and a
 * request for "/3/..." goes to keeper 3. If there are more than PT_MOST_STAYING, the one whose last
 * request is the oldest ends.
 *
 * An answer that lasts is given again without a process (answers.h).
 */
#pragma once

#include "serve/connections.h"
#include "serve/keeper.h"
#include "serve/serve.h"

#define PT_MOST_RUNNING 4
#define PT_MOST_WAITING 32
#define PT_MOST_STAYING 8

void pt_answered_done(pt_answered *answered); /* accepts zeros with fd -1 */

/* A keeper, and the number of its users: its place in the list, and each of its unfinished answers.
 */
typedef struct pt_kept {
    pt_keeper keeper;
    unsigned users;
} pt_kept;

/* A request and its result. */
typedef struct pt_job {
    pt_serve_request request; /* copied; freed by pt_job_free */
    int socket;               /* of the client */
    void *context;            /* the submitter's */
    bool finished;
    pt_answered answered; /* valid when finished */
    /* private to the workers */
    uint32_t id;
    unsigned root, new_root;
    pt_kept *kept;
    char *key; /* of the answer (answers.h); NULL: it is not kept */
    int pipe, memory, successor;
    struct pt_job *next;
} pt_job;

/* request->path is the path that the client asked for; it begins with the root, if that is not 0.
 */
pt_job *pt_job_new(const pt_serve_request *request, int socket, void *context);
void pt_job_free(pt_job *job); /* accepts NULL */

typedef struct pt_workers pt_workers;

/* Starts the first keeper and the thread. done: called on the thread when a job is finished.
 * connections (may be NULL): the thread closes those that are past their deadline. */
pt_status pt_workers_new(pt_serve_fn *answer, void *context, void (*done)(pt_job *job),
                         pt_connections *connections, pt_workers **ret_workers, pt_error *reterr);
/* Queues a job. False: too many wait, or the workers have stopped. */
bool pt_workers_submit(pt_workers *workers, pt_job *job);
/* Wakes the thread after connections have changed. */
void pt_workers_wake(pt_workers *workers);
/* Ends all processes; finishes each job with status 503. */
void pt_workers_stop(pt_workers *workers);
void pt_workers_free(pt_workers *workers); /* after pt_workers_stop; accepts NULL */
