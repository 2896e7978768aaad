/* lookup.c: see lookup.h. */
#include "cmd/lookup.h"

#include <stdlib.h>
#include <string.h>

char *pt_user_cache(const char *name)
{
    const char *cache = getenv("XDG_CACHE_HOME");
    if (cache != NULL && cache[0] == '/') return pt_strf("%s/%s", cache, name);
    const char *home = getenv("HOME");
    return home != NULL && home[0] == '/' ? pt_strf("%s/.cache/%s", home, name) : NULL;
}

/* The user's folders first, then those of PPROF_BINARY_PATH or what google/pprof has in its place.
 */
static void init_binary_dirs(pt_lookup *p, const pt_option_list *given)
{
    const char *path = getenv("PPROF_BINARY_PATH");
    const char *home = getenv("HOME");
    if (path != NULL && path[0] != '\0')
        p->binary_path = pt_strdup(path);
    else if (home != NULL && home[0] == '/')
        p->binary_path = pt_strf("%s/pprof/binaries", home);
    else
        p->binary_path = pt_strdup("");
    size_t most = given->count + 1, count = given->count;
    for (const char *c = p->binary_path; *c != '\0'; c++)
        most += *c == ':';
    p->binary_dirs = pt_alloc(most, sizeof *p->binary_dirs);
    if (given->count > 0) memcpy(p->binary_dirs, given->items, given->count * sizeof *given->items);
    char *state = NULL;
    for (char *dir = strtok_r(p->binary_path, ":", &state); dir != NULL;
         dir = strtok_r(NULL, ":", &state))
        p->binary_dirs[count++] = dir;
    p->source.binary_dirs = p->binary_dirs;
    p->source.binary_dir_count = count;
}

void pt_lookup_init(pt_lookup *lookup, const pt_place_settings *settings)
{
    *lookup = (pt_lookup){.source = {.debug_dirs = settings->debug_dirs.items,
                                     .debug_dir_count = settings->debug_dirs.count}};
    init_binary_dirs(lookup, &settings->binary_dirs);
    if (settings->cache) lookup->cache_folder = pt_user_cache("pitot/names");
    lookup->cache = (pt_name_cache){.folder = lookup->cache_folder,
                                    .max_bytes = settings->cache_bytes,
                                    .stamp = "pitot " PT_VERSION};
}

void pt_lookup_done(pt_lookup *lookup)
{
    free(lookup->binary_path);
    free(lookup->binary_dirs);
    free(lookup->cache_folder);
    *lookup = (pt_lookup){0};
}
