/* run.c: makes a report from a session, a configuration and a command. */
#include "base/text.h"
#include "personality/pprof/pprof.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "formats/format.h"
#include "personality/pprof/as_pprof.h"
#include "personality/pprof/print.h"
#include "personality/pprof/print_list.h"
#include "terminal/message.h"
#include "transform/aggregate.h"
#include "transform/filter.h"
#include "transform/scale.h"
#include "transform/tags.h"

typedef struct {
    const pt_pprof_session *session;
    pt_pprof_config config; /* with the command's changes */
    const pt_pprof_command *command;
    pt_regex *pattern;
    const char *pattern_text;
    const pt_profile
        *whole; /* the profile before the filters, with frames made of labels; one reference */
    const pt_profile *profile; /* the profile after the filters; one reference */
    pt_graph_report report;
    pt_tag_units units;
    char *filters[9];
    char *title;
    char *type; /* "mean_cpu" */
    pt_out *out;
} asking;

/* ---- Configuration ---- */

static void set_granularity(pt_pprof_config *c, bool *which)
{
    c->functions = c->filefunctions = c->files = c->lines = c->addresses = false;
    *which = true;
}

/* Sets the options that the command requires. Reports on chosen functions do not trim the graph,
 * since trimming comes before the choice and would remove functions. */
static void override_options(asking *a)
{
    pt_pprof_config *c = &a->config;
    bool trim = c->trim;
    switch (a->command->format) {
    case PT_PPROF_DISASM: c->noinlines = true; __attribute__((fallthrough));
    case PT_PPROF_RAW:
    case PT_PPROF_PROTO:
    case PT_PPROF_CALLGRIND:
        trim = false;
        set_granularity(c, &c->addresses);
        break;
    case PT_PPROF_WEBLIST:
        trim = false;
        c->noinlines = false;
        set_granularity(c, &c->addresses);
        break;
    case PT_PPROF_LIST:
        trim = false;
        set_granularity(c, &c->lines);
        break;
    case PT_PPROF_TEXT:
    case PT_PPROF_TOPPROTO:
        if (c->nodecount == -1) c->nodecount = 0;
        break;
    default:
        if (a->command->takes_pattern) trim = false; /* peek */
        if (c->nodecount == -1) c->nodecount = 80;
        break;
    }
    if (!trim) c->nodecount = 0, c->nodefraction = c->edgefraction = 0;
}

static pt_fold_rule fold_of(const asking *a, bool object_names)
{
    const pt_pprof_config *c = &a->config;
    return (pt_fold_rule){
        .pprof = true,
        .by = c->addresses       ? PT_BY_ADDRESS
              : c->lines         ? PT_BY_LINE
              : c->files         ? PT_BY_FILE
              : c->filefunctions ? PT_BY_FILEFUNCTION
                                 : PT_BY_FUNCTION,
        .no_inlines = c->noinlines,
        .columns = c->showcolumns,
        .object_names = object_names,
        .trims_paths = true,
        .trim_path = c->trim_path,
        .source_path = c->source_path,
    };
}

/* ---- Filters ---- */

static void add_filter(asking *a, const char *name, const char *value)
{
    if (value == NULL || value[0] == '\0') return;
    a->filters[a->report.filter_count++] = pt_strf("%s=%s", name, value);
}

static void list_filters(asking *a)
{
    const pt_pprof_config *c = &a->config;
    add_filter(a, "focus", c->focus);
    add_filter(a, "ignore", c->ignore);
    add_filter(a, "hide", c->hide);
    add_filter(a, "show", c->show);
    add_filter(a, "show_from", c->show_from);
    add_filter(a, "tagfocus", c->tagfocus);
    add_filter(a, "tagignore", c->tagignore);
    add_filter(a, "tagshow", c->tagshow);
    add_filter(a, "taghide", c->taghide);
    a->report.filters = (const char *const *)a->filters;
}

/* Prints pprof's warnings about patterns that matched nothing or may be misread. */
static void say_unmatched(const pt_filtered *filtered)
{
    static const char *const names[PT_FILTER_COUNT] = {
        [PT_FILTER_FOCUS] = "Focus",
        [PT_FILTER_IGNORE] = "Ignore",
        [PT_FILTER_HIDE] = "Hide",
        [PT_FILTER_SHOW] = "Show",
        [PT_FILTER_SHOW_FROM] = "ShowFrom",
        [PT_FILTER_TAG_FOCUS] = "TagFocus",
        [PT_FILTER_TAG_IGNORE] = "TagIgnore",
        [PT_FILTER_TAG_SHOW] = "TagShow",
        [PT_FILTER_TAG_HIDE] = "TagHide",
    };
    if (filtered->range[PT_FILTER_TAG_FOCUS] != NULL)
        pt_print_error("tagfocus:Interpreted '%s' as range, not regexp\n",
                       filtered->range[PT_FILTER_TAG_FOCUS]);
    if (filtered->range[PT_FILTER_TAG_IGNORE] != NULL)
        pt_print_error("tagignore:Interpreted '%s' as range, not regexp\n",
                       filtered->range[PT_FILTER_TAG_IGNORE]);
    for (int k = 0; k < PT_FILTER_COUNT; k++)
        if (filtered->asked[k] && !filtered->matched[k] && names[k] != NULL)
            pt_print_error("%s expression matched no samples\n", names[k]);
}

pt_query pt_pprof_query(const pt_pprof_config *c)
{
    return (pt_query){
        .focus = c->focus,
        .ignore = c->ignore,
        .hide = c->hide,
        .show = c->show,
        .show_from = c->show_from,
        .prune_from = c->prune_from,
        .tag_focus = c->tagfocus,
        .tag_ignore = c->tagignore,
        .tag_show = c->tagshow,
        .tag_hide = c->taghide,
        .tag_root = c->tagroot,
        .tag_leaf = c->tagleaf,
        .tag_unit = c->unit,
        .pprof = true,
    };
}

/* Reports, in pprof's words, an option that is no regular expression. */
static pt_status check_patterns(const pt_pprof_config *c, pt_error *reterr)
{
    const struct {
        const char *name, *pattern;
    } patterns[] = {
        {"focus", c->focus},     {"ignore", c->ignore},       {"hide", c->hide},
        {"show", c->show},       {"show_from", c->show_from}, {"prune_from", c->prune_from},
        {"tagshow", c->tagshow}, {"taghide", c->taghide},
    };
    for (size_t i = 0; i < PT_COUNT(patterns); i++) {
        pt_regex *regex = NULL;
        pt_error error = PT_ERROR_INIT;
        if (!pt_is_given(patterns[i].pattern)) continue;
        const pt_status status = pt_regex_new(patterns[i].pattern, PT_REGEX_RE2, &regex, &error);
        pt_regex_free(regex);
        if (status != PT_OK)
            return pt_error_set(reterr, status, "parsing %s regexp: error parsing regexp: %s",
                                patterns[i].name, error.message);
    }
    return PT_OK;
}

/* Makes frames of labels, then filters, so that the filters see those frames. */
static pt_status filter_profile(asking *a, pt_error *reterr)
{
    const pt_query query = pt_pprof_query(&a->config);
    pt_tagged tagged;
    pt_status status = check_patterns(&a->config, reterr);
    if (status != PT_OK) return status;
    status = pt_tag_frames(a->session->profile, &query, &tagged, NULL, reterr);
    if (status != PT_OK) return status;
    if (pt_is_given(query.tag_root) && !tagged.root_matched)
        pt_print_error("TagRoot expression matched no samples\n");
    if (pt_is_given(query.tag_leaf) && !tagged.leaf_matched)
        pt_print_error("TagLeaf expression matched no samples\n");
    a->whole = tagged.profile;
    PT_AUTO(pt_filtered) filtered = {0};
    status = pt_filter(a->whole, &query, &filtered, NULL, reterr);
    if (status != PT_OK) return status;
    say_unmatched(&filtered);
    a->profile = pt_profile_ref(filtered.profile);
    return PT_OK;
}

/* The unit of a label's numbers, from the profile before the filters. */
static const char *label_unit(const void *context, const char *key)
{
    const asking *a = context;
    for (size_t i = 0; i < a->units.count; i++)
        if (strcmp(pt_text(a->session->profile, a->units.items[i].key), key) == 0)
            return a->units.items[i].unit;
    return key;
}

static void say_units(asking *a)
{
    a->units = pt_tag_units_of(a->session->profile, true);
    for (size_t i = 0; i < a->units.count; i++) {
        const pt_tag_unit *unit = &a->units.items[i];
        if (unit->others != NULL)
            pt_print_error("For tag %s used unit %s, also encountered unit(s) %s\n",
                           pt_text(a->session->profile, unit->key), unit->unit, unit->others);
    }
}

/* ---- Reports ---- */

static pt_status prepare_profile(asking *a, pt_error *reterr)
{
    const pt_pprof_config *c = &a->config;
    override_options(a);
    say_units(a);
    pt_status status =
        pt_pprof_event(a->session->profile, c->sample_index != NULL ? c->sample_index : "",
                       &a->report.event, reterr);
    if (status != PT_OK) return status;
    if (c->divide_by == 0) return pt_error_set(reterr, PT_ERR_USAGE, "zero divisor specified");
    status = filter_profile(a, reterr);
    if (status != PT_OK) return status;
    const pt_profile *p = a->session->profile;
    const pt_event *event = &p->event->row[a->report.event];
    const pt_profile *whole = c->relative_percentages ? a->profile : a->whole;
    a->type = pt_strf("%s%s", c->mean ? "mean_" : "", pt_text(p, event->type));
    a->report.profile = a->profile;
    a->report.mean = c->mean;
    a->report.total = pt_graph_total(whole, a->report.event, c->mean);
    a->report.type = a->type;
    a->report.sample_unit = pt_text(p, event->unit);
    a->report.unit = c->unit != NULL ? c->unit : "";
    a->report.ratio = 1 / c->divide_by;
    a->report.node_fraction = c->nodefraction;
    a->report.edge_fraction = c->edgefraction;
    a->report.compact = c->compact_labels;
    a->report.max_degree = c->max_degree;
    const char *file = p->mapping->t.count > 0 ? pt_text(p, p->mapping->row[0].file) : "";
    if (file[0] != '\0') a->report.title = a->title = pt_last_part(file);
    if (a->command->format == PT_PPROF_DOT)
        a->report.last_line = "\nSee https://git.io/JfYMW for how to read the graph";
    list_filters(a);
    return PT_OK;
}

static pt_out *open_out(void *context, const char *suffix, pt_error *reterr)
{
    (void)suffix;
    (void)reterr;
    return context;
}

static pt_graph_request graph_request(const asking *a)
{
    const pt_pprof_config *c = &a->config;
    const pt_pprof_format format = a->command->format;
    const bool dot = format == PT_PPROF_DOT, callgrind = format == PT_PPROF_CALLGRIND;
    return (pt_graph_request){
        .event = a->report.event,
        .mean = c->mean,
        .fold = fold_of(a, callgrind),
        .call_tree = c->call_tree && (dot || callgrind),
        .drop_negative = c->drop_negative,
        .visual = dot,
        .by_cum = c->cum,
        .edges = format == PT_PPROF_TEXT       ? PT_EDGES_INLINED
                 : format == PT_PPROF_TOPPROTO ? PT_EDGES_NONE
                                               : PT_EDGES_ALL,
        .node_count = c->nodecount,
        .node_fraction = c->nodefraction,
        .edge_fraction = c->edgefraction,
        .unit = a->report.unit,
        .tag_unit = label_unit(a, "bytes"),
    };
}

static pt_status put_profile(const asking *a, const pt_profile *profile, pt_error *reterr)
{
    const pt_output output = {.context = a->out, .open = open_out};
    const pt_write_options options = {.event = PT_NONE, .pool = a->session->pool};
    return pt_format_find("pprof")->write(profile, &output, &options, reterr);
}

/* The profile for -raw and -proto, which show its tables; if the user asks for that, without
 * inlined frames. */
static const pt_profile *aggregated_profile(const asking *a)
{
    if (!a->config.noinlines) return pt_profile_ref(a->profile);
    const pt_keep keep = {.functions = true,
                          .files = true,
                          .lines = true,
                          .columns = a->config.showcolumns,
                          .addresses = true};
    return pt_aggregate(a->profile, keep);
}

static pt_status report_raw(asking *a)
{
    const pt_profile *profile = aggregated_profile(a);
    pt_pprof_raw(a->out, profile);
    pt_profile_unref(profile);
    return PT_OK;
}

static pt_status report_collapsed(const asking *a, pt_error *reterr)
{
    const pt_output output = {.context = a->out, .open = open_out};
    const pt_write_options options = {.event = a->report.event, .pool = a->session->pool};
    return pt_format_find("folded")->write(a->profile, &output, &options, reterr);
}

static pt_status report_profile(asking *a, pt_error *reterr)
{
    const pt_profile *profile = aggregated_profile(a);
    if (a->config.divide_by != 1) {
        const pt_profile *divided = pt_divide(profile, a->config.divide_by);
        pt_profile_unref(profile);
        profile = divided;
    }
    const pt_status status = put_profile(a, profile, reterr);
    pt_profile_unref(profile);
    return status;
}

static pt_status report_top_profile(asking *a, const pt_graph *graph, pt_error *reterr)
{
    const pt_profile *top;
    pt_status status = pt_pprof_top_profile(&a->report, graph, &top, reterr);
    if (status != PT_OK) return status;
    status = put_profile(a, top, reterr);
    pt_profile_unref(top);
    return status;
}

/* Reports on a graph. */
static pt_status report_graph(asking *a, pt_error *reterr)
{
    const pt_graph_request request = graph_request(a);
    PT_AUTO(pt_graph) graph = {0};
    pt_status status = pt_graph_init(&graph, a->profile, &request, reterr);
    if (status != PT_OK) return status;
    pt_graph_report *r = &a->report;
    r->unit = pt_graph_unit(&graph, r->total, r->unit, r->sample_unit, r->ratio,
                            a->command->format == PT_PPROF_CALLGRIND);
    switch (a->command->format) {
    case PT_PPROF_TEXT: pt_pprof_text(a->out, r, &graph); break;
    case PT_PPROF_DOT: pt_graph_dot(a->out, r, &graph); break;
    case PT_PPROF_CALLGRIND: pt_pprof_callgrind(a->out, r, &graph); break;
    case PT_PPROF_TOPPROTO: status = report_top_profile(a, &graph, reterr); break;
    case PT_PPROF_TREE:
        status = pt_pprof_tree(a->out, r, &graph, a->pattern, a->pattern_text, reterr);
        break;
    default: break;
    }
    return status;
}

static pt_status report_traces(asking *a, pt_error *reterr)
{
    pt_fold_rule fold = fold_of(a, false);
    fold.trims_paths = false;
    PT_AUTO(pt_fold) places = {0};
    const pt_status status = pt_fold_init(&places, a->profile, &fold, reterr);
    if (status != PT_OK) return status;
    const pt_pprof_label_units units = {label_unit, a};
    pt_pprof_traces(a->out, &a->report, &places, &units);
    return PT_OK;
}

/* ---- Listings ---- */

typedef void list_printer(pt_out *out, const pt_graph_report *report,
                          const pt_pprof_listing *listing);

static pt_status report_listing(asking *a, const pt_objdump_tool *objdump,
                                pt_pprof_list_maker *make, list_printer *print, pt_error *reterr)
{
    PT_FREE char *here = getcwd(NULL, 0);
    pt_diag diag;
    pt_diag_init(&diag);
    const pt_pprof_list_request request = {
        .event = a->report.event,
        .mean = a->config.mean,
        .no_inlines = a->config.noinlines,
        .columns = a->config.showcolumns,
        .drop_negative = a->config.drop_negative,
        .pattern = a->pattern,
        .pattern_text = a->pattern_text,
        .source_path = a->config.source_path,
        .trim_path = a->config.trim_path,
        .working_folder = here,
        .objdump = objdump,
        .intel_syntax = a->config.intel_syntax,
        .diag = &diag,
    };
    PT_AUTO(pt_pprof_listing) listing = {0};
    const pt_status status = make(&listing, a->profile, &request, reterr);
    for (size_t i = 0; i < diag.count; i++)
        pt_print_error("%s\n", diag.facts[i].text);
    pt_diag_done(&diag);
    if (status != PT_OK) return status;
    print(a->out, &a->report, &listing);
    return PT_OK;
}

static pt_status report_disasm(asking *a, pt_error *reterr)
{
    pt_objdump_tool tool;
    const bool found = pt_objdump_find(a->session->tools, getenv("PATH"), &tool);
    PT_FREE char *path = found ? tool.path : NULL;
    return report_listing(a, found ? &tool : NULL, pt_pprof_disasm_init, pt_pprof_disasm_text,
                          reterr);
}

static pt_status report_tags(const asking *a)
{
    const pt_pprof_label_units units = {label_unit, a};
    pt_pprof_tags(a->out, &a->report, &units);
    return PT_OK;
}

static pt_status write_report(asking *a, pt_error *reterr)
{
    switch (a->command->format) {
    case PT_PPROF_TRACES: return report_traces(a, reterr);
    case PT_PPROF_TAGS: return report_tags(a);
    case PT_PPROF_RAW: return report_raw(a);
    case PT_PPROF_COLLAPSED: return report_collapsed(a, reterr);
    case PT_PPROF_COMMENTS: pt_pprof_comments(a->out, a->profile); return PT_OK;
    case PT_PPROF_PROTO: return report_profile(a, reterr);
    case PT_PPROF_LIST:
        return report_listing(a, NULL, pt_pprof_list_init, pt_pprof_list_text, reterr);
    case PT_PPROF_DISASM: return report_disasm(a, reterr);
    case PT_PPROF_WEBLIST:
        return pt_pprof_weblist(a->session, &a->config, &a->report, a->pattern, a->pattern_text,
                                a->out, reterr);
    default: return report_graph(a, reterr);
    }
}

pt_status pt_pprof_run(const pt_pprof_session *session, const pt_pprof_config *config,
                       const pt_pprof_command *command, const char *pattern, pt_out *out,
                       pt_error *reterr)
{
    PT_UNREF_PROFILE const pt_profile *shown = config->one_line
                                                   ? pt_profile_on_one_line(session->profile)
                                                   : pt_profile_ref(session->profile);
    pt_pprof_session as_shown = *session;
    as_shown.profile = shown;
    asking a = {.session = &as_shown,
                .config = *config,
                .command = command,
                .pattern_text = pattern,
                .out = out};
    pt_status status = prepare_profile(&a, reterr);
    if (status == PT_OK && pattern != NULL) {
        pt_error error = PT_ERROR_INIT;
        status = pt_regex_new(pattern, PT_REGEX_RE2, &a.pattern, &error);
        if (status != PT_OK)
            pt_error_set(reterr, status, "parsing argument regexp %s: error parsing regexp: %s",
                         pattern, error.message);
    }
    if (status == PT_OK) status = write_report(&a, reterr);
    pt_regex_free(a.pattern);
    pt_profile_unref(a.whole);
    pt_profile_unref(a.profile);
    PT_FREE_ALL(a.title, a.type);
    pt_tag_units_done(&a.units);
    for (size_t i = 0; i < PT_COUNT(a.filters); i++)
        free(a.filters[i]);
    return status;
}

char *pt_pprof_legend(const pt_pprof_session *session, const pt_pprof_config *config,
                      int64_t *ret_total, pt_error *reterr)
{
    const pt_profile *p = session->profile;
    uint32_t event;
    const char *name = config->sample_index != NULL ? config->sample_index : "";
    if (pt_pprof_event(p, name, &event, reterr) != PT_OK) return NULL;
    PT_FREE char *type =
        pt_strf("%s%s", config->mean ? "mean_" : "", pt_text(p, p->event->row[event].type));
    *ret_total = pt_graph_total(p, event, config->mean);
    const pt_graph_report report = {
        .profile = p,
        .event = event,
        .mean = config->mean,
        .total = *ret_total,
        .type = type,
        .sample_unit = pt_text(p, p->event->row[event].unit),
        .unit = config->unit != NULL ? config->unit : "",
        .ratio = config->divide_by != 0 ? 1 / config->divide_by : 0,
    };
    PT_AUTO(pt_legend) labels = pt_profile_legend(&report);
    pt_buf text = PT_BUF_INIT;
    for (size_t i = 0; i < labels.count; i++)
        pt_putf(&text, "%s\n", labels.line[i]);
    return pt_buf_take(&text, NULL);
}
