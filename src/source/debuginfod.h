/* debuginfod.h: fetches files by build id from debuginfod servers, into elfutils' cache.
 *
 *   URL/buildid/ID/executable          FOLDER/ID/executable
 *   URL/buildid/ID/debuginfo           FOLDER/ID/debuginfo
 *   URL/buildid/ID/source/PATH         FOLDER/ID/source##PATH   ("/" is "##", "#" is "#_")
 *
 * An empty file in the cache means that no server had the file; it is requested again after ten
 * minutes (or the time in FOLDER/cache_miss_s). gdb, perf and pitot share this layout, and so each
 * other's downloads (debuginfod-find(1), debuginfod_find_debuginfo(3)).
 *
 * After a server was unreachable or too slow, this process does not use it again. The progress
 * callback is called before each request.
 */
#pragma once

#include "base/error.h"

/* The progress of one download. Reported on the downloading thread, one call at a time, at most ten
 * a second, and always at the start (done_bytes 0) and the end (is_over). */
typedef struct pt_debuginfod_progress {
    const char *what;                 /* "debuginfo of libfoo.so.1" */
    const char *server;               /* URL of the server */
    uint64_t done_bytes, total_bytes; /* total 0: unknown */
    uint64_t elapsed_ms;
    bool is_over;
} pt_debuginfod_progress;
typedef void pt_debuginfod_say(void *context, const pt_debuginfod_progress *progress);

typedef struct pt_debuginfod_options {
    const char *urls;       /* separated by spaces; NULL or "": no servers */
    const char *folder;     /* the cache; NULL: no servers are used */
    const char *agent;      /* User-Agent; NULL = "pitot" */
    int64_t timeout_s;      /* time limit for each 100 KB, and to reach a server; 0: 90 */
    int64_t max_seconds;    /* time limit for a file; 0: none */
    uint64_t max_bytes;     /* size limit for a file; 0: none */
    pt_debuginfod_say *say; /* may be NULL */
    void *context;
} pt_debuginfod_options;

typedef struct pt_debuginfod pt_debuginfod;

/* Makes a client; copies the options. Several threads may use it at once. NULL: no server would be
 * used, or the build has no libcurl. */
pt_debuginfod *pt_debuginfod_new(const pt_debuginfod_options *options);
void pt_debuginfod_free(pt_debuginfod *client); /* accepts NULL */

typedef enum {
    PT_DEBUGINFOD_EXECUTABLE,
    PT_DEBUGINFOD_DEBUGINFO,
    PT_DEBUGINFOD_SOURCE,
} pt_debuginfod_kind;

/* The path of a file, cached or fetched now; the caller frees it. build_id: lower-case hex. source:
 * for PT_DEBUGINFOD_SOURCE, the file's absolute name in the debug information. program: the
 * program's name, for messages. client NULL: no servers. PT_ERR_NOTFOUND: no server has it (now, or
 * recently). PT_ERR_SYSTEM: no server could be reached, with the reason. */
pt_status pt_debuginfod_find(pt_debuginfod *client, pt_debuginfod_kind kind, const char *build_id,
                             const char *source, const char *program, char **ret_path,
                             pt_error *reterr);
