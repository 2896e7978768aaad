/* languages.h: the interpreters that may be in the process, a row each (languages.c). */
#pragma once

#include "agent/images.h"

enum { PT_LANGUAGE_WHY_BYTES = 160 };

/* An image with an interpreter. */
typedef struct {
    const pt_image *image;
    const char *path;
    const pt_interp_evaluator *evaluator; /* empty: not found */
    pt_tick_codes *codes;
} pt_language_image;

typedef struct {
    const char *file; /* part of the names of files that may have the interpreter */
    const char *mark; /* a symbol that only such files define */
    /* The mark's address in the program or in the libraries that the program is linked with; NULL
     * if none of these has the mark. The loader fills the address in: dlsym would call malloc if
     * the mark is missing. */
    const char *const volatile *loaded;
    const char *evaluator; /* the function that executes frames; NULL: no such function is needed */
    /* Finds that function in an image that does not export it; NULL: every image exports it.
     * starts: the addresses of the functions in .eh_frame. */
    bool (*find_hidden)(const pt_image *image, const uint64_t *starts, uint32_t count,
                        uint64_t *ret_low, uint64_t *ret_limit);
    bool begins_early, has_guards, has_fibers; /* as in pt_interp_evaluator */
    const char *missing;                       /* the end of the line that refuses an interpreter */
    const char *lie;      /* the beginning of the line that is printed if memory never fitted the
                           * layout */
    uint32_t wrong_looks; /* the line `lie` is printed after so many objects that do not fit the
                           * layout, if none fitted */
    size_t cache_bytes;   /* of a thread's cache, which begins with its pt_tick_pages */
    /* Returns the facts for the handler, which are never freed, since the handler may read them at
     * any time. Returns NULL with the reason in `why` if the interpreter is refused; NULL with an
     * empty `why` if the interpreter has not started yet. */
    const void *(*attach)(const pt_language_image *in, char why[PT_LANGUAGE_WHY_BYTES]);
} pt_language;

/* python.c, v8.c, php.c, ruby.c, perl.c, java.c */
extern const pt_language pt_language_python, pt_language_v8, pt_language_php, pt_language_ruby,
    pt_language_perl, pt_language_java;

static inline bool pt_language_symbol(const pt_image *image, const char *name, uint64_t *ret_addr)
{
    uint64_t bytes;
    return pt_image_symbol(image, name, ret_addr, &bytes);
}
