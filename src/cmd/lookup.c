/* lookup.c: see lookup.h. */
#include "cmd/lookup.h"
#include "terminal/message.h"

#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

char *pt_user_cache(const char *name)
{
    const char *cache = getenv("XDG_CACHE_HOME");
    if (cache != NULL && cache[0] == '/') return pt_strf("%s/%s", cache, name);
    const char *home = getenv("HOME");
    return home != NULL && home[0] == '/' ? pt_strf("%s/.cache/%s", home, name) : NULL;
}

/* ---- the stamp ---- */

enum { STAMP_BYTES = 32, STAMP_ID_BYTES = 8 };

/* A callback of dl_iterate_phdr: copies the build id of the first loaded object, which is this
 * program, if the program has a build id. */
static int find_own_id(struct dl_phdr_info *info, size_t size, void *context)
{
    pt_elf_id *id = context;
    (void)size;
    const uint16_t one = 1;
    const bool is_big_endian = *(const uint8_t *)&one == 0;
    for (int i = 0; i < info->dlpi_phnum && id->bytes == NULL; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];
        if (p->p_type == PT_NOTE)
            *id = pt_elf_build_id_in_notes((const uint8_t *)(info->dlpi_addr + p->p_vaddr),
                                           p->p_memsz, p->p_align, is_big_endian);
    }
    return 1;
}

static char stamp[STAMP_BYTES];

static void make_stamp(void)
{
    char hex[2 * STAMP_ID_BYTES + 1] = "";
    pt_elf_id id = {NULL, 0};
    dl_iterate_phdr(find_own_id, &id);
    if (id.size_bytes > STAMP_ID_BYTES) id.size_bytes = STAMP_ID_BYTES;
    if (id.bytes != NULL) pt_elf_id_hex(id, hex, sizeof hex);
    snprintf(stamp, sizeof stamp, "%s %s", PT_VERSION, hex);
}

const char *pt_cache_stamp(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, make_stamp);
    return stamp;
}

/* ---- folders ---- */

/* Sets the folders: first those of --binary-path, then those of PPROF_BINARY_PATH or, if the
 * variable is not set, google/pprof's default.
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

/* ---- downloads ---- */

#define QUIET_MS 1000 /* shorter downloads get no line */

struct pt_lookup_progress {
    bool is_terminal;
    bool is_shown;   /* terminal: there is a line to overwrite */
    bool is_printed; /* no terminal: the line of the current download was printed */
    const char *now; /* the file of the current download */
};

/* Shows progress: on a terminal one line that is overwritten and then removed; elsewhere one line
 * for each long download. */
static void show_download(void *context, const pt_debuginfod_progress *p)
{
    struct pt_lookup_progress *shown = context;
    const double mb = 1e6;
    char size[64] = "";
    if (p->total_bytes > 0) snprintf(size, sizeof size, " of %.1f", (double)p->total_bytes / mb);
    if (shown->now != p->what) shown->is_printed = false;
    shown->now = p->is_over ? NULL : p->what;
    if (shown->is_terminal && !p->is_over) {
        PT_FREE char *line = pt_strf("fetching %s from %s: %.1f%s MB", p->what, p->server,
                                     (double)p->done_bytes / mb, size);
        pt_show_progress(line);
        shown->is_shown = true;
    } else if (shown->is_terminal && shown->is_shown) {
        pt_show_progress(NULL);
        shown->is_shown = false;
    } else if (!shown->is_terminal && !p->is_over && !shown->is_printed &&
               p->elapsed_ms > QUIET_MS) {
        pt_say("fetching %s from %s (DEBUGINFOD_URLS= prevents this)", p->what, p->server);
        shown->is_printed = true;
    }
}

/* The folder in which downloads from debuginfod servers are kept, by elfutils' rules. */
static char *debuginfod_folder(void)
{
    const char *given = getenv("DEBUGINFOD_CACHE_PATH"), *home = getenv("HOME");
    struct stat st;
    if (given != NULL && given[0] != '\0') return pt_strdup(given);
    char *old = home != NULL ? pt_strf("%s/.debuginfod_client_cache", home) : NULL;
    if (old != NULL && stat(old, &st) == 0) return old;
    free(old);
    return pt_user_cache("debuginfod_client");
}

static uint64_t number_in(const char *name)
{
    const char *text = getenv(name);
    return text != NULL && text[0] >= '0' && text[0] <= '9' ? strtoull(text, NULL, 10) : 0;
}

static void init_debuginfod(pt_lookup *lookup)
{
    const char *urls = getenv("DEBUGINFOD_URLS");
    if (urls == NULL || urls[0] == '\0') return;
    PT_FREE char *folder = debuginfod_folder();
    lookup->progress = pt_alloc(1, sizeof *lookup->progress);
    lookup->progress->is_terminal = isatty(STDERR_FILENO);
    lookup->source.debuginfod = pt_debuginfod_new(
        &(pt_debuginfod_options){.urls = urls,
                                 .folder = folder,
                                 .agent = "pitot/" PT_VERSION,
                                 .timeout_s = (int64_t)(number_in("DEBUGINFOD_TIMEOUT") % 86400),
                                 .max_seconds = (int64_t)(number_in("DEBUGINFOD_MAXTIME") % 86400),
                                 .max_bytes = number_in("DEBUGINFOD_MAXSIZE"),
                                 .say = show_download,
                                 .context = lookup->progress});
}

/* ---- all ---- */

void pt_lookup_init(pt_lookup *lookup, const pt_place_settings *settings)
{
    *lookup = (pt_lookup){.source = {.debug_dirs = settings->debug_dirs.items,
                                     .debug_dir_count = settings->debug_dirs.count}};
    init_binary_dirs(lookup, &settings->binary_dirs);
    const char *home = getenv("HOME");
    if (home != NULL && home[0] == '/') lookup->perf_folder = pt_strf("%s/.debug", home);
    lookup->source.perf_dir = lookup->perf_folder;
    if (settings->debuginfod) init_debuginfod(lookup);
    if (settings->cache) lookup->cache_folder = pt_user_cache("pitot/names");
    lookup->cache = (pt_name_cache){.folder = lookup->cache_folder,
                                    .max_bytes = settings->cache_bytes,
                                    .stamp = pt_cache_stamp()};
}

void pt_lookup_done(pt_lookup *lookup)
{
    PT_FREE_ALL(lookup->binary_path, lookup->binary_dirs, lookup->cache_folder,
                lookup->perf_folder);
    pt_debuginfod_free(lookup->source.debuginfod);
    free(lookup->progress);
    *lookup = (pt_lookup){0};
}
