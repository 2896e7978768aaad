/* places.h: where programs, debug files and what is kept of them are, from the options and the
 * environment, which no layer below looks at. */
#ifndef PT_CMD_PLACES_H
#define PT_CMD_PLACES_H

#include "cmd/options.h"
#include "source/images.h"
#include "source/name_index.h"

typedef struct pt_places {
    pt_source_options source;
    pt_name_cache cache;
    /* What they point to. */
    char *binary_path; /* folders of PPROF_BINARY_PATH, cut apart */
    const char **binary_dirs;
    char *cache_folder;
} pt_places;

/* settings must stay. Pair with pt_places_done, or declare PT_PLACES. */
void pt_places_init(pt_places *places, const pt_place_settings *settings);
void pt_places_done(pt_places *places);
#define PT_PLACES __attribute__((cleanup(pt_places_done)))

/* $XDG_CACHE_HOME/NAME or ~/.cache/NAME (XDG Base Directory Specification: a relative path there is
 * as none); NULL without a home. Free it. */
char *pt_user_cache(const char *name);

#endif
