/* workers.h: each answer is made by a process of its own, a copy of the server: it may take long,
 * need much memory or crash, and it can be ended at any time, with all that it started.
 *
 * One thread starts and watches them. So many run at once; others wait their turn. A process ends
 * when its asker has gone, and at once when the server ends, however that happens.
 */
#ifndef PT_SERVE_WORKERS_H
#define PT_SERVE_WORKERS_H

#include "serve/connections.h"
#include "serve/serve.h"

#define PT_MOST_RUNNING 4
#define PT_MOST_WAITING 32

/* What a process left. Texts that the answer has not are NULL. */
typedef struct pt_answered {
    unsigned status;
    char *memory; /* holds the texts */
    const char *type, *policy, *place, *attachment, *location, *note;
    int fd; /* of the body, from body_at on; -1: the body is body_text */
    uint64_t body_at, body_bytes;
    const char *body_text; /* static */
} pt_answered;

void pt_answered_done(pt_answered *answered); /* accepts zeros with fd -1 */

typedef struct pt_job {
    pt_serve_request request; /* copied; freed by pt_job_free */
    int socket;               /* of who asks */
    void *context;            /* of whoever submits it */
    bool finished;
    pt_answered answered; /* when it is finished */
    /* of the workers alone */
    int pid, pipe, memory;
    struct pt_job *next;
} pt_job;

pt_job *pt_job_new(const pt_serve_request *request, int socket, void *context);
void pt_job_free(pt_job *job); /* accepts NULL */

typedef struct pt_workers pt_workers;

/* done is called on the workers' thread when a job is finished; connections (may be NULL) are
 * watched on it. */
pt_status pt_workers_new(pt_serve_fn *answer, void *context, void (*done)(pt_job *job),
                         pt_connections *connections, pt_workers **ret_workers, pt_error *reterr);
/* False if too many wait, or the workers have been stopped. */
bool pt_workers_submit(pt_workers *workers, pt_job *job);
/* Connections have changed. */
void pt_workers_wake(pt_workers *workers);
/* Ends all that runs; each job is finished, with status 503. */
void pt_workers_stop(pt_workers *workers);
void pt_workers_free(pt_workers *workers); /* after pt_workers_stop; accepts NULL */

#endif
