/* keeper.h: a process that keeps the data of answers, and makes each answer in a copy (fork) of
 * itself. An answer may take long, need much memory or crash, and can be ended at any time with all
 * its children.
 *
 * The server tells a keeper by a socket which answers to make and to end. A keeper ends when the
 * other end of its socket is closed: at once when the server ends, for whatever reason.
 *
 * A process that has made an answer may stay as a new keeper (pt_serve_answer.process_stay).
 */
#pragma once

#include <sys/types.h>

#include "serve/serve.h"

/* A keeper, as the server knows it. */
typedef struct pt_keeper {
    pid_t pid;  /* of the first keeper, a child of the server; 0: the keeper is a process that
                 * stayed */
    int socket; /* -1: none */
} pt_keeper;

/* The descriptors that a keeper gets for an answer. They are duplicates: the server closes its own.
 */
typedef struct pt_keeper_ends {
    int memory;    /* a file for the answer (pt_keeper_read) */
    int pipe;      /* a write end: end of file at its read end means that the process has ended or
                      stays */
    int successor; /* a socket for a process that stays; -1: none may stay */
    int body;      /* the body of the request; -1: it has none */
} pt_keeper_ends;

/* An answer that a process wrote. Texts that it lacks are NULL. */
typedef struct pt_answered {
    unsigned status;
    pt_serve_process_stay process_stay;
    bool lasts;
    char *memory; /* holds the texts */
    const char *type, *policy, *place, *attachment, *location, *note;
    int fd; /* the body, from body_at on; -1: the body is body_text */
    uint64_t body_at, body_bytes;
    const char *body_text; /* static */
} pt_answered;

/* Starts the first keeper, a copy of this process. */
pt_status pt_keeper_start(pt_serve_fn *answer, void *context, pt_keeper *ret_keeper,
                          pt_error *reterr);
/* Tells the keeper to make an answer. id: the server's number for the answer. False: the keeper has
 * ended. */
bool pt_keeper_ask(const pt_keeper *keeper, uint32_t id, const pt_serve_request *request,
                   const pt_keeper_ends *ends);
/* Ends the answer's process with its children. A process that has stayed as a keeper is no longer
 * among them. */
void pt_keeper_end_answer(const pt_keeper *keeper, uint32_t id);
/* Reads the answer in `memory`, which *ret owns from then on. False: it is incomplete. */
bool pt_keeper_read(int memory, pt_answered *ret);
/* Ends the keeper and its answers. */
void pt_keeper_leave(pt_keeper *keeper);
