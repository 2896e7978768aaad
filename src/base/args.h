/* args.h: the list of words of a command line that the program builds. Some words are borrowed,
 * others belong to the list.
 */
#pragma once

#include <stdlib.h>

#include "base/grow.h"

/* The word list. {0} is the empty list. */
typedef struct pt_args {
    const char **items;
    size_t count, cap;
    PT_VECTOR(char *) made;
} pt_args;

/* Appends a borrowed word: text must live as long as the list. */
static inline void pt_args_add(pt_args *args, const char *text)
{
    PT_PUSH(*args, text);
}

/* Appends a word that the list owns from now on. text comes from malloc. */
static inline void pt_args_make(pt_args *args, char *text)
{
    PT_PUSH(args->made, text);
    pt_args_add(args, text);
}

/* Frees the list and the words that it owns. */
static inline void pt_args_done(pt_args *args)
{
    for (size_t i = 0; i < args->made.count; i++)
        free(args->made.items[i]);
    free(args->made.items);
    free(args->items);
    *args = (pt_args){0};
}
