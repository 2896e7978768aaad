/* lookup.h: the places of programs, debug files and caches, from options and environment. The
 * layers below do not read the environment. */
#pragma once

#include "cmd/options.h"
#include "source/images.h"
#include "source/name_index.h"

typedef struct pt_lookup {
    pt_source_options source;
    pt_name_cache cache;
    /* The memory of the texts above. */
    char *binary_path; /* folders of PPROF_BINARY_PATH, cut apart */
    const char **binary_dirs;
    char *cache_folder, *perf_folder;
    struct pt_lookup_progress *progress; /* of downloads */
} pt_lookup;

/* settings must stay. Pair with pt_lookup_done, or declare PT_LOOKUP. */
void pt_lookup_init(pt_lookup *lookup, const pt_place_settings *settings);
void pt_lookup_done(pt_lookup *lookup);
#define PT_LOOKUP __attribute__((cleanup(pt_lookup_done)))

/* Whose answers are kept: this version and build of the program; others may know better. Static. */
const char *pt_cache_stamp(void);

/* $XDG_CACHE_HOME/NAME or ~/.cache/NAME (XDG Base Directory Specification: a relative path there is
 * as none); NULL without a home. Free it. */
char *pt_user_cache(const char *name);
