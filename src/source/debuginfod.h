/* debuginfod.h: files by build id from debuginfod servers, kept where elfutils keeps them.
 *
 *   URL/buildid/ID/executable          FOLDER/ID/executable
 *   URL/buildid/ID/debuginfo           FOLDER/ID/debuginfo
 *   URL/buildid/ID/source/PATH         FOLDER/ID/source##PATH   ("/" is "##", "#" is "#_")
 *
 * An empty file there means that no server had it; it is asked for again after ten minutes (or what
 * FOLDER/cache_miss_s says). The layout is that of elfutils' client, so that gdb, perf and pitot
 * share what each of them fetched (debuginfod-find(1), debuginfod_find_debuginfo(3)).
 *
 * A server that cannot be reached, or lets the time pass, is not asked again by this process. No
 * request begins without the progress callback having been told.
 */
#ifndef PT_SOURCE_DEBUGINFOD_H
#define PT_SOURCE_DEBUGINFOD_H

#include "base/error.h"

/* How far one download is. Calls come from whatever thread fetches, one at a time, at most ten a
 * second, and in any case when it begins (done_bytes 0) and when it ends (is_over). */
typedef struct pt_debuginfod_progress {
    const char *what;                 /* "debuginfo of libfoo.so.1" */
    const char *server;               /* the URL */
    uint64_t done_bytes, total_bytes; /* total 0 = not told yet */
    uint64_t elapsed_ms;
    bool is_over;
} pt_debuginfod_progress;
typedef void pt_debuginfod_say(void *context, const pt_debuginfod_progress *progress);

typedef struct pt_debuginfod_options {
    const char *urls;       /* with spaces between; NULL or "": nobody is asked */
    const char *folder;     /* where files are kept; NULL: nobody is asked */
    const char *agent;      /* User-Agent; NULL = "pitot" */
    int64_t timeout_s;      /* at most so long for 100 KB, and to reach a server; 0 = 90 */
    int64_t max_seconds;    /* at most so long for a file; 0 = no limit */
    uint64_t max_bytes;     /* larger files are not fetched; 0 = no limit */
    pt_debuginfod_say *say; /* may be NULL */
    void *context;
} pt_debuginfod_options;

typedef struct pt_debuginfod pt_debuginfod;

/* Copies the options. May be used by several threads at once. NULL when nobody would be asked, or
 * libcurl was not there at build time. */
pt_debuginfod *pt_debuginfod_new(const pt_debuginfod_options *options);
void pt_debuginfod_free(pt_debuginfod *client); /* accepts NULL */

typedef enum {
    PT_DEBUGINFOD_EXECUTABLE,
    PT_DEBUGINFOD_DEBUGINFO,
    PT_DEBUGINFOD_SOURCE,
} pt_debuginfod_kind;

/* The path of the file, kept or fetched now; the caller frees it. build_id is lower-case hex.
 * source: the file's absolute name in the debug information, for PT_DEBUGINFOD_SOURCE. what_for:
 * the program's name, for messages. A NULL client is as one without servers. PT_ERR_NOTFOUND when
 * no server has it (now or a short while ago), PT_ERR_SYSTEM when none could be asked, with why. */
pt_status pt_debuginfod_find(pt_debuginfod *client, pt_debuginfod_kind kind, const char *build_id,
                             const char *source, const char *what_for, char **ret_path,
                             pt_error *reterr);

#endif
