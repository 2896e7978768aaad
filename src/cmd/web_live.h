/* web_live.h: profiles that grow while a page shows them: a recording that goes on, until its
 * profile is written, and files that other programs replace. */
#pragma once

#include "cmd/cmd.h"

typedef enum {
    PT_LIVE_NOT,
    PT_LIVE_FILES,
    PT_LIVE_RECORDING,
    PT_LIVE_ENDED, /* the recording has ended, or the files are gone */
} pt_live_state;

/* Strings live as long as the process. */
typedef struct pt_web_live {
    pt_live_state state;
    const char *folder; /* the outer folder of the recording (capture/folder.h) */
    const char *result; /* the file to which the recording will write its profile; NULL if that is
                         * not known */
    int64_t began_ns;   /* Unix time */
    uint64_t version;   /* version of the profile that was read; a number that changes when the
                         * files change */
} pt_web_live;

/* Finds the profile to follow: a recording, if it is the only argument, else files. Loads files as
 * pt_cmd_load does. A recording's profile is empty at first, so that the page's address is known at
 * once; the first pt_web_live_look reads the samples. Returns an exit status; the message of a
 * failure has been printed. */
int pt_web_live_load(pt_cmd_context *context, pt_web_live *ret_live);

/* The number of seconds since the recording began; -1 if no recording goes on. */
int64_t pt_web_live_seconds(const pt_web_live *live);

/* If the files have changed since *live was read, reads the profile again, frees `shown` and
 * returns the new context. Returns NULL if nothing has changed or the files cannot be read now;
 * `shown` stays. */
const pt_cmd_context *pt_web_live_look(const pt_cmd_context *shown, pt_web_live *live);
