/* http.c: pprof -http=HOST:PORT: pitot's page (web.h) on pprof's profile. */
#include "personality/pprof/pprof.h"

#include <stdio.h>
#include <string.h>

#include "cmd/cmd.h"
#include "cmd/options.h"
#include "cmd/web.h"
#include "terminal/message.h"

/* Refuses options that have an effect on pprof's text and dot only, and none on the page. */
static pt_status check_options(const pt_pprof_config *c, pt_error *reterr)
{
    const struct {
        const char *name;
        bool asked;
    } refused[] = {
        {"call_tree", c->call_tree},
        {"compact_labels", c->compact_labels},
        {"divide_by", c->divide_by != 1},
        {"drop_negative", c->drop_negative},
        {"mean", c->mean},
        {"output", c->output != NULL && c->output[0] != '\0'},
        {"showcolumns", c->showcolumns},
        {"unit", strcmp(c->unit, "minimum") != 0},
    };
    for (size_t i = 0; i < PT_COUNT(refused); i++)
        if (refused[i].asked)
            return pt_error_set(reterr, PT_ERR_UNSUPPORTED,
                                "-http: its pages do not take -%s; reports on the command line do",
                                refused[i].name);
    return PT_OK;
}

/* The query without the pprof flag, since pitot's page reads patterns as pitot's reports do. */
static pt_query query_of(const pt_pprof_config *c)
{
    pt_query query = pt_pprof_query(c);
    query.pprof = false;
    query.tag_unit = NULL;
    query.event = c->sample_index;
    query.no_inlines = c->noinlines;
    query.relative = c->relative_percentages;
    return query;
}

/* Memory for values derived from defaults, and for numbers as texts. */
typedef struct {
    pt_web_default items[8];
    size_t count;
    char count_text[24], node_text[40], edge_text[40];
} defaults;

static void add_default(defaults *d, const char *option, const char *value)
{
    if (value == NULL || value[0] == '\0') return;
    d->items[d->count++] = (pt_web_default){option, value};
}

static void take_defaults(const pt_pprof_config *c, defaults *d)
{
    const bool trims = c->trim;
    add_default(d, "by",
                c->addresses       ? "address"
                : c->lines         ? "line"
                : c->files         ? "file"
                : c->filefunctions ? "function-and-file"
                                   : NULL);
    add_default(d, "sort", c->cum ? "total" : NULL);
    add_default(d, "intel", c->intel_syntax ? "t" : NULL);
    add_default(d, "source-path", c->source_path);
    add_default(d, "trim-path", c->trim_path);
    if (c->nodecount >= 0 || !trims) {
        snprintf(d->count_text, sizeof d->count_text, "%lld", trims ? (long long)c->nodecount : 0);
        add_default(d, "nodes", d->count_text);
    }
    snprintf(d->node_text, sizeof d->node_text, "%g%%", trims ? 100 * c->nodefraction : 0);
    snprintf(d->edge_text, sizeof d->edge_text, "%g%%", trims ? 100 * c->edgefraction : 0);
    add_default(d, "node-share", d->node_text);
    add_default(d, "edge-share", d->edge_text);
}

static void say_url(const char *url)
{
    pt_print_error("Serving web UI on %s\n", url);
}

pt_status pt_pprof_http(const pt_pprof_source *source, const pt_pprof_config *config,
                        const char *address, bool no_browser, bool *ret_damaged, pt_error *reterr)
{
    PT_AUTO(pt_pprof_session) session = {0};
    pt_status status = check_options(config, reterr);
    if (status == PT_OK) status = pt_pprof_fetch(source, &session, reterr);
    if (status != PT_OK) return status;
    const char *name = strrchr(source->sources[0], '/');
    pt_input_settings input = {0};
    pt_symbol_settings symbol = {0};
    pt_place_settings place = {0};
    const pt_cmd_context context = {
        .command = pt_command_find("serve"),
        .input = &input,
        .symbol = &symbol,
        .place = &place,
        .pool = session.pool,
        .profile = session.profile,
        .as_read = session.as_read,
        .title = name != NULL && name[1] != '\0' ? name + 1 : source->sources[0],
    };
    defaults d = {.count = 0};
    take_defaults(config, &d);
    const pt_web_options options = {
        .address = address,
        .no_browser = no_browser,
        .query = query_of(config),
        .defaults = d.items,
        .default_count = d.count,
    };
    if (pt_web_serve(&context, &options, say_url) != PT_EXIT_OK)
        status = pt_error_set(reterr, PT_ERR_SYSTEM, "-http=%s: nothing was served", address);
    *ret_damaged = session.damaged;
    return status;
}
