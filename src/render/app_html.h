/* app_html.h: the page of `pitot serve` and of `pitot report` (web/src/app). */
#pragma once

#include "base/buf.h"
#include "model/profile.h"

/* A report that a file holds. */
typedef struct pt_app_answer {
    const char *report;   /* as the page calls it: "top", "tree inverted" */
    const char *function; /* NULL, or the only function that it is about */
    pt_buf json;          /* complete */
} pt_app_answer;

typedef struct pt_app {
    const pt_profile *profile;
    const char *title, *version;
    const char *before;  /* the title of the profile that it is compared with; NULL = none */
    bool has_times;      /* the samples have times */
    uint64_t file_bytes; /* the largest file that the server takes; 0 = it takes none */
    /* A profile that grows: "files", "recording", or "ended"; NULL: it does not. */
    const char *live;
    int64_t seconds;   /* of a recording that goes on: its age; else negative */
    uint64_t growth;   /* another number when the profile has grown */
    const char *query; /* of a file: the query of its reports; else NULL */
    /* The reports that the file holds, those of one kind beside each other. NULL: the page gets its
     * reports from a server. */
    const pt_app_answer *answers;
    size_t answer_count;
} pt_app;

/* Writes the facts of the profile that the page needs, without reports, as a JSON object. */
void pt_render_app_facts(pt_out *out, const pt_app *app);

/* Writes the page for a profile; errors stay in out. The title may be anything. */
void pt_render_app_html(pt_out *out, const pt_app *app);
