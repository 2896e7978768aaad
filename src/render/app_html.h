/* app_html.h: the page of `pitot serve` and of `pitot report` (web/src/app). */
#pragma once

#include "base/buf.h"
#include "model/profile.h"

/* A report that a file holds. */
typedef struct pt_app_answer {
    const char *report;   /* the report's name in the page: "top", "tree inverted" */
    const char *function; /* NULL, or the only function that the report is about */
    pt_buf json;          /* complete */
} pt_app_answer;

typedef struct pt_app {
    const pt_profile *profile;
    const char *title, *version;
    const char *before;  /* the title of the profile with which the shown profile is compared; NULL
                          * = none */
    bool has_times;      /* the samples have times */
    uint64_t file_bytes; /* the largest file that the server takes; 0 = it takes no files */
    /* A profile that grows: "files", "recording", or "ended"; NULL if the profile does not grow. */
    const char *live;
    int64_t seconds;   /* age of the recording if one goes on; else negative */
    uint64_t growth;   /* another number when the profile has grown */
    const char *query; /* if the page is a file: the query of the reports in it; else NULL */
    /* The reports that the file holds, sorted so that those of one kind are together. NULL if the
     * page gets its reports from a server. */
    const pt_app_answer *answers;
    size_t answer_count;
} pt_app;

/* Writes the facts of the profile that the page needs, without reports, as a JSON object. */
void pt_render_app_facts(pt_out *out, const pt_app *app);

/* Writes the page for a profile; errors stay in out. The title may contain any characters. */
void pt_render_app_html(pt_out *out, const pt_app *app);
