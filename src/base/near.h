/* near.h: the words nearest to one that was not found. */
#ifndef PT_BASE_NEAR_H
#define PT_BASE_NEAR_H

#include <stddef.h>

#define PT_NEAR_WORDS 3

typedef struct {
    const char *word; /* borrowed */
    unsigned distance;
} pt_near_word;

typedef struct {
    const char *to;
    pt_near_word best[PT_NEAR_WORDS]; /* nearest first; equally near ones in the order offered */
    size_t count;
} pt_near;

void pt_near_init(pt_near *near, const char *to);
/* Considers a word: kept if it is near enough (a typing error or two away, or `to` is a part of it
 * but for case) and among the nearest. */
void pt_near_offer(pt_near *near, const char *word);

#endif
