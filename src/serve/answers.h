/* answers.h: answers that are given again to an equal request: the same path and parameters, as
 * long as the process that made them answers there. They are the files that processes wrote
 * (keeper.h), and hold at most `room` bytes together; those that were asked for last stay.
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
/* What requests for the same answer have in common. The caller frees. generation: the number of the
 * process that answers. */
char *pt_answers_key(const pt_serve_request *request, uint64_t generation);
/* Gives the answer of a request before, which *ret owns. False: there is none. */
bool pt_answers_find(pt_answers *answers, const char *key, pt_answered *ret);
/* Keeps an answer's file, of which the caller keeps its own descriptor. */
void pt_answers_keep(pt_answers *answers, const char *key, int fd);
