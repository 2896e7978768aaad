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

/* Borrows *settings. The caller calls pt_lookup_done, or declares the lookup as PT_LOOKUP. */
void pt_lookup_init(pt_lookup *lookup, const pt_place_settings *settings);
void pt_lookup_done(pt_lookup *lookup);
#define PT_LOOKUP __attribute__((cleanup(pt_lookup_done)))

/* A text for this version and build of pitot. The caches of names keep the stamp with each answer,
 * and do not use answers of other builds, which may know other names. The text is static. */
const char *pt_cache_stamp(void);

/* $XDG_CACHE_HOME/NAME, or ~/.cache/NAME if the variable is unset or is not an absolute path (XDG
 * Base Directory Specification); NULL if there is no home folder. The caller frees it. */
char *pt_user_cache(const char *name);
