/* folder.h: the folder that holds the samples of a recording until its profile is written.
 *
 *   /dev/shm/pitot-record-XXXXXX/      locked while the recorder lives
 *       .told                          the user has been told that the recorder was killed
 *       .result                        a link to the file that the profile will be
 *       RANDOM/                        where processes and the recorder write; only they know
 *                                      this name
 *           NAME.journal ...
 *
 * The folder lies in memory if there is room, so that no write-back stalls a measured program; else
 * in the folder that the variable TMPDIR names, or in /tmp. tmpdir: the value of TMPDIR, or NULL.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "base/error.h"

/* Makes both folders. *ret_folder is the path of the inner folder, which the caller frees;
 * *ret_lock is the descriptor of the locked outer folder, which the caller closes after it has
 * removed that folder. On an error they are NULL and -1. is_shared: processes of other users write
 * into the folder. */
pt_status pt_folder_make(const char *tmpdir, bool is_shared, char **ret_folder, int *ret_lock,
                         pt_error *reterr);
/* Has the file system of the folder room for more samples? */
bool pt_folder_has_room(const char *folder);
/* Removes a folder with its contents. */
void pt_folder_remove(const char *folder);

/* The journals in a folder. */
typedef struct pt_folder_journals {
    char **items; /* paths */
    size_t count, cap;
    time_t last_s; /* when the last of these journals was written; Unix time */
} pt_folder_journals;
void pt_folder_journals_find(const char *folder, pt_folder_journals *ret_journals);
void pt_folder_journals_done(pt_folder_journals *journals);

/* Notes in the outer folder the absolute path of the file that the profile will become. */
void pt_folder_name_result(const char *folder, const char *path);
/* A recording that goes on. */
typedef struct pt_folder_running {
    int64_t began_ns; /* Unix time */
    char *result;     /* as given to pt_folder_name_result; NULL if not known. The caller frees
                       * it */
} pt_folder_running;
/* Finds out whether a recording of this user is running in this outer folder. Returns false if not.
 */
bool pt_folder_is_running(const char *outer, pt_folder_running *ret_running);
/* The outer folder of this user's recording that began last. A recording with samples is preferred
 * to recordings without samples. The caller frees the path. Returns NULL if no recording runs. */
char *pt_folder_newest_running(const char *tmpdir);

/* last_s: as in pt_folder_journals. is_told: an earlier visit marked the folder. */
typedef void pt_folder_left(void *context, const char *folder, time_t last_s, bool is_told);
/* Visits and marks the outer folders of this user whose recorders were killed, and removes such
 * folders without samples. Returns the number of folders visited. Without is_thorough, looks in
 * other places than the first place only if this user has had a folder there since the machine
 * started. */
size_t pt_folder_each_left(const char *tmpdir, bool is_thorough, pt_folder_left *visit,
                           void *context);
/* Removes the folder of a recording whose recorder was killed. Returns false if it is no folder of
 * a recording, is another user's, or its recorder still runs. */
bool pt_folder_remove_left(const char *folder);
