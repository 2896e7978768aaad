/* runtimes.h: code of other languages that has no names in a profile, and advice for getting these
 * names.
 *
 * A runtime is recognized by its file (node, libjvm.so). Code that it compiled is memory without
 * names; code that it interprets appears as the interpreter's loop (_PyEval_EvalFrameDefault). A
 * new runtime is a row of the table in runtimes.c. */
#pragma once

#include "model/profile.h"

typedef struct pt_nameless_language {
    const char *language; /* "JavaScript" */
    const char *advice;   /* "erl +JPperf true names it" */
    double share;         /* share of the event's values in the code itself and below it */
} pt_nameless_language;

enum { PT_NAMELESS_LANGUAGES_MAX = 8 };

/* The languages with at least a twentieth of the values, the largest first. Returns their
 * number. */
size_t pt_nameless_languages(const pt_profile *profile, uint32_t event,
                             pt_nameless_language ret[PT_NAMELESS_LANGUAGES_MAX]);

/* Is the mapping (a row, or PT_NONE) memory without a file whose code the process made?
 * profile.proto has no field for this, so the mapping's name shows it (docs/symbols.md). */
bool pt_is_made_code(const pt_profile *profile, uint32_t mapping);

/* Is the mapped file of that path a runtime, by its base name? */
bool pt_is_runtime_file(const char *path);
