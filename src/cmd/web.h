/* web.h: one profile in a browser: serves the page, and the reports that the page requests.
 *
 *   /                     leads to /ui/, with the query of the command line as parameters
 *   /ui/VIEW?PARAMETERS   the page (web/src/app), showing that view
 *   /api/VIEW?PARAMETERS  the report itself: what `pitot COMMAND` prints, with the same options
 *   /download             the profile, as profile.proto
 *   /again                POST: reads the profile again if it grows and has changed
 *   /file?name=NAME       POST: a file, which is shown below a root of its own: /3/ui/VIEW
 *
 * Parameters are options of the query, by pitot's name (focus=parse) or as google/pprof's page
 * calls them (f=parse), so that addresses can be shared; flags are on with "", t, true or 1.
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
    bool no_browser;         /* do not open a browser */
    bool takes_files;        /* files may be dropped on the page, unless other machines can reach
                              * the server */
    const pt_web_live *live; /* how the profile grows; NULL if the profile does not grow */
    pt_query query;          /* the query that the page shows first */
    const pt_web_default *defaults;
    size_t default_count;
} pt_web_options;

/* Serves reports on base->profile until SIGINT or SIGTERM. Calls url_said with the page's address
 * before a browser opens it. Returns the exit status. */
int pt_web_serve(const pt_cmd_context *base, const pt_web_options *options,
                 void (*url_said)(const char *url));
