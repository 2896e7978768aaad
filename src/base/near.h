/* near.h: suggestions for a misspelt word: the nearest known words. */
#pragma once

#include <stddef.h>

#define PT_NEAR_WORDS 3

typedef struct {
    const char *word; /* borrowed */
    unsigned distance;
} pt_near_word;

typedef struct {
    /* the misspelt word, borrowed */
    const char *to;
    pt_near_word best[PT_NEAR_WORDS]; /* nearest first; ties in the order offered */
    size_t count;
} pt_near;

/* Begins a search for words near `to`, without any result yet. */
void pt_near_init(pt_near *near, const char *to);
/* Offers a candidate. The candidate is kept if it is among the nearest words so far, and either
 * differs from `to` in at most a third of the letters of `to`, or contains `to`. Case is ignored.
 * word must outlive *near. */
void pt_near_offer(pt_near *near, const char *word);
