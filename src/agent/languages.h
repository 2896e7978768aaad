/* languages.h: the interpreters that may be in the process, a row each (languages.c). */
#pragma once

#include "agent/images.h"

enum { PT_LANGUAGE_WHY_BYTES = 160 };

/* An image that has an interpreter. */
typedef struct {
    const pt_image *image;
    const char *path;
    const pt_interp_evaluator *evaluator; /* empty: not found */
    pt_tick_codes *codes;
} pt_language_image;

typedef struct {
    const char *file; /* part of the names of files that may have the interpreter */
    const char *mark; /* a symbol that only such files define */
    /* The mark's address in the program or in the libraries that it is linked with; NULL: none. The
     * loader fills it; dlsym would call malloc if the mark is missing. */
    const char *const volatile *loaded;
    const char *evaluator; /* the function that executes frames; NULL: no such function is needed */
    /* Finds that function in an image that does not export it; NULL: all do. starts: of the entries
     * of .eh_frame. */
    bool (*find_hidden)(const pt_image *image, const uint64_t *starts, uint32_t count,
                        uint64_t *ret_low, uint64_t *ret_limit);
    bool begins_early;    /* as in pt_interp_evaluator */
    const char *missing;  /* the end of the line that refuses an interpreter */
    const char *lie;      /* the line's beginning if memory never fitted the layout */
    uint32_t wrong_looks; /* objects that do not fit, and none that does, until that line */
    size_t cache_bytes;   /* of a thread; it begins with its pt_tick_pages */
    /* The facts for the handler, which are never freed: it may be reading them at any time. NULL,
     * and why: the interpreter is refused. */
    const void *(*attach)(const pt_language_image *in, char why[PT_LANGUAGE_WHY_BYTES]);
} pt_language;

/* python.c, v8.c, php.c, ruby.c, perl.c */
extern const pt_language pt_language_python, pt_language_v8, pt_language_php, pt_language_ruby,
    pt_language_perl;

static inline bool pt_language_symbol(const pt_image *image, const char *name, uint64_t *ret_addr)
{
    uint64_t bytes;
    return pt_image_symbol(image, name, ret_addr, &bytes);
}
