/* answers.h: answers that are kept, and given again to equal requests: those with the same path and
 * parameters, as long as the same process answers them. A kept answer is the file that a process
 * wrote (keeper.h). The files hold at most `room` bytes together; the answers that were asked for
 * last stay.
 */
#pragma once

#include "base/grow.h"
#include "serve/keeper.h"

#define PT_ANSWERS_BYTES ((uint64_t)64 << 20)
/* An answer above this share of the room is not kept. */
#define PT_ANSWERS_SHARE 4

typedef struct pt_known_answer {
    char *key;
    int fd;
    uint64_t bytes, asked;
} pt_known_answer;

typedef struct pt_answers {
    PT_VECTOR(pt_known_answer) known;
    uint64_t room, bytes;
    uint64_t asked; /* counts requests */
} pt_answers;

/* No answers yet. room: bytes of all files together. pt_answers_done closes the files. */
void pt_answers_init(pt_answers *answers, uint64_t room);
void pt_answers_done(pt_answers *answers);
/* The key of a request's answer: requests for the same answer have the same key. The caller frees
 * it. generation: the number of the process that answers. */
char *pt_answers_key(const pt_serve_request *request, uint64_t generation);
/* Finds a kept answer; *ret owns the result. False: there is none. */
bool pt_answers_find(pt_answers *answers, const char *key, pt_answered *ret);
/* Keeps an answer's file, by a descriptor of its own; fd stays the caller's. */
void pt_answers_keep(pt_answers *answers, const char *key, int fd);
