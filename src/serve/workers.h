/* workers.h: makes each answer in its own process, a copy of the server. An answer may take long,
 * need much memory or crash, and can be ended at any time with all its children.
 *
 * One thread starts and watches the processes, PT_MOST_RUNNING at once; other jobs wait. A process
 * ends when its client disconnects, and at once when the server ends, for whatever reason.
 */
#ifndef PT_SERVE_WORKERS_H
#define PT_SERVE_WORKERS_H

#include "serve/connections.h"
#include "serve/serve.h"

#define PT_MOST_RUNNING 4
#define PT_MOST_WAITING 32

/* The result of a process. Texts that the answer lacks are NULL. */
typedef struct pt_answered {
    unsigned status;
    char *memory; /* holds the texts */
    const char *type, *policy, *place, *attachment, *location, *note;
    int fd; /* the body, from body_at on; -1: the body is body_text */
    uint64_t body_at, body_bytes;
    const char *body_text; /* static */
} pt_answered;

void pt_answered_done(pt_answered *answered); /* accepts zeros with fd -1 */

/* A request and its result. */
typedef struct pt_job {
    pt_serve_request request; /* copied; freed by pt_job_free */
    int socket;               /* of the client */
    void *context;            /* the submitter's */
    bool finished;
    pt_answered answered; /* valid when finished */
    /* private to the workers */
    int pid, pipe, memory;
    struct pt_job *next;
} pt_job;

pt_job *pt_job_new(const pt_serve_request *request, int socket, void *context);
void pt_job_free(pt_job *job); /* accepts NULL */

typedef struct pt_workers pt_workers;

/* Starts the thread. done: called on it when a job is finished. connections (may be NULL): it also
 * closes their late ones. */
pt_status pt_workers_new(pt_serve_fn *answer, void *context, void (*done)(pt_job *job),
                         pt_connections *connections, pt_workers **ret_workers, pt_error *reterr);
/* Queues a job. False: too many wait, or the workers have stopped. */
bool pt_workers_submit(pt_workers *workers, pt_job *job);
/* Wakes the thread after connections have changed. */
void pt_workers_wake(pt_workers *workers);
/* Ends all processes; finishes each job with status 503. */
void pt_workers_stop(pt_workers *workers);
void pt_workers_free(pt_workers *workers); /* after pt_workers_stop; accepts NULL */

#endif
