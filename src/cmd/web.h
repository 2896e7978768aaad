/* web.h: one profile in a browser: the page, and the reports behind it.
 *
 *   /                     leads to /ui/, with the query of the command line as parameters
 *   /ui/VIEW?PARAMETERS   the page (web/src/app), showing that view
 *   /api/VIEW?PARAMETERS  the report itself: what `pitot COMMAND` prints, with the same options
 *   /download             the profile, as profile.proto
 *   /again                POST: reads the profile again if it grows and has changed
 *   /file?name=NAME       POST: a file, which is shown below a root of its own: /3/ui/VIEW
 *
 * Parameters are options of the query by name (focus=parse) or as google/pprof's own page calls
 * them (f=parse), so that addresses can be shared; flags are on with "", t, true or 1.
 */
#pragma once

#include "cmd/cmd.h"
#include "cmd/web_live.h"

/* The value of a command's option for addresses that do not contain the option. */
typedef struct pt_web_default {
    const char *option, *value;
} pt_web_default;

typedef struct pt_web_options {
    const char *address;     /* HOST:PORT; NULL or "" = any free port of localhost */
    bool no_browser;         /* do not open one */
    bool takes_files;        /* files may be dropped on the page, unless other machines reach it */
    const pt_web_live *live; /* how the profile grows; NULL: it does not */
    pt_query query;          /* what the page shows first */
    const pt_web_default *defaults;
    size_t default_count;
} pt_web_options;

/* Serves reports on base->profile until SIGINT or SIGTERM. Calls url_said with the page's address
 * before a browser opens it. Returns the exit status. */
int pt_web_serve(const pt_cmd_context *base, const pt_web_options *options,
                 void (*url_said)(const char *url));
