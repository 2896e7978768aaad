/* args.h: the words of a command line that a program makes up: borrowed ones, and ones made for it.
 */
#ifndef PT_BASE_ARGS_H
#define PT_BASE_ARGS_H

#include <stdlib.h>

#include "base/grow.h"

/* Zeros: no words. */
typedef struct pt_args {
    const char **items;
    size_t count, cap;
    struct {
        char **items;
        size_t count, cap;
    } made;
} pt_args;

/* text must stay. */
static inline void pt_args_add(pt_args *args, const char *text)
{
    PT_PUSH(*args, text);
}

/* Takes text over, which comes from malloc. */
static inline void pt_args_make(pt_args *args, char *text)
{
    PT_PUSH(args->made, text);
    pt_args_add(args, text);
}

static inline void pt_args_done(pt_args *args)
{
    for (size_t i = 0; i < args->made.count; i++)
        free(args->made.items[i]);
    free(args->made.items);
    free(args->items);
    *args = (pt_args){0};
}

#endif
