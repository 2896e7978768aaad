/* web_routes.c: see web_routes.h. */
#include "cmd/web_routes.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/options.h"
#include "cmd/rows.h"
#include "render/policy.h"

#define TEXT "text/plain; charset=utf-8"
#define JSON "application/json"
#define HTML "text/html; charset=utf-8"

static const pt_web_route routes[] = {
    {"flamegraph",
     &pt_command_flame,
     HTML,
     pt_policy_flame,
     {"--format=html", "--output=-"},
     {"by", "unnamed", "inverted", "in-order", "under", "part", "width"}},
    {"flame",
     &pt_command_flame,
     JSON,
     pt_policy_nothing,
     {"--format=json", "--output=-"},
     {"by", "unnamed", "inverted", "in-order", "under", "part", "width"}},
    {"flame.svg",
     &pt_command_flame,
     "image/svg+xml",
     pt_policy_picture,
     {"--format=svg", "--output=-"},
     {"by", "unnamed", "inverted", "in-order", "under", "part", "width"}},
    {"filter",
     &pt_command_filter,
     "application/octet-stream",
     pt_policy_nothing,
     {"--output=-"},
     {"to"}},
    {"diff",
     &pt_command_diff,
     TEXT,
     pt_policy_nothing,
     {0},
     {"by", "unnamed", "rows", "sort", "normalize", "confidence"}},
    {"graph",
     &pt_command_graph,
     "image/svg+xml",
     pt_policy_picture,
     {"--format=svg", "--output=-"},
     {"by", "unnamed", "nodes", "node-share", "edge-share"}},
    {"top",
     &pt_command_top,
     TEXT,
     pt_policy_nothing,
     {0},
     {"by", "rows", "sort", "unnamed", "csv"}},
    {"tree",
     &pt_command_tree,
     TEXT,
     pt_policy_nothing,
     {0},
     {"by", "unnamed", "min", "depth", "inverted"}},
    {"peek",
     &pt_command_peek,
     TEXT,
     pt_policy_nothing,
     {0},
     {"by", "unnamed", "functions", "others"}},
    {"source",
     &pt_command_weblist,
     HTML,
     pt_policy_weblist,
     {"--output=-"},
     {"functions", "context", "whole", "intel"}},
    {"disasm",
     &pt_command_disasm,
     TEXT,
     pt_policy_nothing,
     {0},
     {"functions", "context", "whole", "intel"}},
    {"traces",
     &pt_command_traces,
     TEXT,
     pt_policy_nothing,
     {0},
     {"by", "unnamed", "stacks", "labels", "lines"}},
    {"tags", &pt_command_tags, TEXT, pt_policy_nothing, {0}, {"values"}},
    {"info", &pt_command_info, TEXT, pt_policy_nothing, {0}, {0}},
    {"list",
     &pt_command_list,
     TEXT,
     pt_policy_nothing,
     {0},
     {"functions", "context", "whole", "calls", "unnamed"}},
    {"timeline", &pt_command_timeline, TEXT, pt_policy_nothing, {0}, {"steps", "tracks", "marks"}},
    {"why", &pt_command_why, TEXT, pt_policy_nothing, {0}, {0}},
};

const pt_web_route *pt_web_route_find(const char *name)
{
    for (size_t i = 0; i < PT_COUNT(routes); i++)
        if (strcmp(routes[i].name, name) == 0) return &routes[i];
    return NULL;
}

/* ---- Names of parameters ---- */

/* Parameters by their names in the page of google/pprof, each with pitot's option for it. */
static const struct {
    const char *parameter, *option;
} short_names[] = {
    {"f", "focus"},      {"i", "ignore"},      {"h", "hide"},
    {"s", "show"},       {"sf", "show-from"},  {"prunefrom", "prune-from"},
    {"tf", "tag-focus"}, {"ti", "tag-ignore"}, {"ts", "tag-show"},
    {"th", "tag-hide"},  {"si", "event"},      {"noinlines", "no-inlines"},
    {"rel", "relative"},
};
#define SHORT_COUNT PT_COUNT(short_names)

static const char *option_of(const char *parameter)
{
    for (size_t i = 0; i < SHORT_COUNT; i++)
        if (strcmp(short_names[i].parameter, parameter) == 0) return short_names[i].option;
    return parameter;
}

static const char *parameter_of(const char *option)
{
    for (size_t i = 0; i < SHORT_COUNT; i++)
        if (strcmp(short_names[i].option, option) == 0) return short_names[i].parameter;
    return option;
}

static const pt_option *row_of(const pt_option_table *table, const char *name)
{
    for (size_t i = 0; table != NULL && i < table->count; i++)
        if (strcmp(table->rows[i].name, name) == 0) return &table->rows[i];
    return NULL;
}

static bool may_give(const pt_web_route *route, const char *name)
{
    for (size_t i = 0; i < PT_COUNT(route->options); i++)
        if (route->options[i] != NULL && strcmp(route->options[i], name) == 0) return true;
    return strcmp(name, "json") == 0;
}

/* ---- Arguments ---- */

static bool is_off(const char *value)
{
    static const char *const words[] = {"f", "false", "0", "no"};
    return PT_ANY(i, PT_COUNT(words), strcmp(value, words[i]) == 0);
}

/* Is the number above `most`? 0 counts as above, because it stands for all. */
static bool is_above(const char *value, long long most)
{
    char *end;
    const long long number = strtoll(value, &end, 10);
    return end != value && *end == '\0' && (number == 0 || number > most);
}

static void add_option(pt_web_args *args, const pt_option *row, const char *value)
{
    if (strcmp(row->name, "nodes") == 0 && is_above(value, PT_WEB_MOST_NODES)) {
        args->limited = true;
        return pt_args_make(&args->words, pt_strf("--nodes=%d", PT_WEB_MOST_NODES));
    }
    const bool flag = row->type == PT_OPT_FLAG || row->type == PT_OPT_SET;
    if (flag ? is_off(value) : value[0] == '\0') return; /* the same as without the parameter */
    if (strcmp(row->name, "json") == 0) args->json = true;
    pt_args_make(&args->words,
                 flag ? pt_strf("--%s", row->name) : pt_strf("--%s=%s", row->name, value));
}

/* Adds the pattern of a view of single functions: the parameter p, else the focus, as on the page
 * of google/pprof. */
static bool add_pattern(const pt_serve_request *request, pt_web_args *args, pt_buf *said)
{
    const char *pattern = pt_serve_get(request, "p");
    if (pattern == NULL || pattern[0] == '\0') pattern = pt_serve_get(request, "f");
    if (pattern == NULL || pattern[0] == '\0') pattern = pt_serve_get(request, "focus");
    if (pattern == NULL || pattern[0] == '\0') {
        pt_put_text(said, "Name a function: p=PATTERN\n");
        return false;
    }
    pt_args_add(&args->words, "--");
    pt_args_add(&args->words, pattern);
    return true;
}

static bool is_known(const char *name)
{
    if (row_of(&pt_query_options, name) != NULL || strcmp(name, "p") == 0) return true;
    return PT_ANY(i, PT_COUNT(routes), may_give(&routes[i], name));
}

static const pt_option *row_for(const pt_web_route *route, const char *name)
{
    const bool asks = route->command->needs & PT_NEEDS_QUERY;
    const pt_option *row = asks ? row_of(&pt_query_options, name) : NULL;
    return row == NULL && may_give(route, name) ? row_of(route->command->options, name) : row;
}

static void add_defaults(const pt_web_route *route, const pt_serve_request *request,
                         const pt_web_options *options, pt_web_args *args)
{
    for (size_t i = 0; i < options->default_count; i++) {
        const pt_web_default *d = &options->defaults[i];
        const pt_option *row = row_of(route->command->options, d->option);
        if (row != NULL && !PT_ANY(k, request->parameter_count,
                                   strcmp(option_of(request->parameter[k].name), d->option) == 0))
            add_option(args, row, d->value);
    }
}

bool pt_web_args_of(const pt_web_route *route, const pt_serve_request *request,
                    const pt_web_options *options, pt_web_args *args, pt_buf *said)
{
    for (size_t i = 0; i < PT_COUNT(route->fixed); i++)
        if (route->fixed[i] != NULL) pt_args_add(&args->words, route->fixed[i]);
    add_defaults(route, request, options, args);
    for (size_t i = 0; i < request->parameter_count; i++) {
        const pt_serve_parameter *p = &request->parameter[i];
        const char *name = option_of(p->name);
        const pt_option *row = row_for(route, name);
        if (row != NULL) add_option(args, row, p->value);
        if (is_known(name)) continue;
        pt_putf(said, "'%s' is not a parameter of any view\n", p->name);
        return false;
    }
    return !(route->command->needs & PT_TAKES_PATTERN) || add_pattern(request, args, said);
}

/* ---- Addresses ---- */

void pt_web_put_escaped(pt_buf *to, const char *text)
{
    for (const unsigned char *c = (const unsigned char *)text; *c != '\0'; c++) {
        if (isalnum(*c) || strchr("-._~", *c) != NULL)
            pt_put_u8(to, *c);
        else
            pt_putf(to, "%%%02X", *c);
    }
}

static void put_parameter(pt_buf *to, bool *first, const char *name, const char *value)
{
    pt_put_u8(to, *first ? '?' : '&');
    *first = false;
    pt_web_put_escaped(to, name);
    pt_put_u8(to, '=');
    pt_web_put_escaped(to, value);
}

void pt_web_put_parameters(pt_buf *to, const pt_serve_request *request)
{
    bool first = true;
    for (size_t i = 0; i < request->parameter_count; i++)
        put_parameter(to, &first, request->parameter[i].name, request->parameter[i].value);
}

typedef struct {
    pt_buf *to;
    bool first;
} putting;

static void put_asked(void *context, const pt_option *row, const char *value)
{
    putting *const p = context;
    put_parameter(p->to, &p->first, parameter_of(row->name),
                  row->type == PT_OPT_FLAG ? "t" : value);
}

void pt_web_put_query(pt_buf *to, const pt_query *query)
{
    pt_query_each(query, put_asked, &(putting){.to = to, .first = true});
}
