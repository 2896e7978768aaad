/* graph_legend.c: the values and the legend of reports on a graph. */
#include "render/graph_report.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/saturate.h"
#include "base/units.h"

void pt_graph_put_value(pt_buf *buf, const pt_graph_report *report, int64_t value)
{
    if (report->ratio > 0 && report->ratio != 1)
        value = pt_whole_part((double)value * report->ratio);
    pt_put_value(buf, value, report->sample_unit, report->unit, PT_STYLE_PPROF);
}

static void add_line(pt_legend *lines, char *line)
{
    lines->line = pt_realloc(lines->line, lines->count + 1, sizeof *lines->line);
    lines->line[lines->count++] = line;
}

void pt_legend_done(pt_legend *lines)
{
    for (size_t i = 0; i < lines->count; i++)
        free(lines->line[i]);
    free(lines->line);
    *lines = (pt_legend){0};
}

/* The value as the report shows it. The caller frees the text. */
static char *value_text(const pt_graph_report *report, int64_t value)
{
    pt_buf buf = PT_BUF_INIT;
    pt_graph_put_value(&buf, report, value);
    return pt_buf_take(&buf, NULL);
}

static char *percent_text(int64_t part, int64_t total)
{
    pt_buf buf = PT_BUF_INIT;
    pt_put_percent(&buf, part, total);
    return pt_buf_take(&buf, NULL);
}

static char *time_text(int64_t ns)
{
    const int64_t below = ns % 1000000000 < 0;
    const time_t seconds = (time_t)(ns / 1000000000 - below);
    struct tm tm;
    char text[96] = "";
    if (localtime_r(&seconds, &tm) != NULL)
        strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S %Z", &tm);
    return pt_strf("Time: %s", text);
}

static char *duration_text(const pt_graph_report *report, int64_t duration_ns)
{
    PT_AUTO(pt_buf) duration = PT_BUF_INIT;
    pt_put_value(&duration, duration_ns, "nanoseconds", "auto", PT_STYLE_PPROF);
    const char *unit;
    const double ns = pt_unit_convert(report->total, report->sample_unit, "nanoseconds", &unit);
    PT_FREE char *total = value_text(report, report->total);
    PT_FREE char *share = NULL;
    if (strcmp(unit, "ns") == 0 && ns != 0) share = percent_text(pt_whole_part(ns), duration_ns);
    char *line =
        pt_strf("Duration: %s, Total samples = %s %s%s%s", pt_buf_text(&duration), total,
                share != NULL ? "(" : "", share != NULL ? share : "", share != NULL ? ")" : "");
    return line;
}

pt_legend pt_profile_legend(const pt_graph_report *report)
{
    const pt_profile *p = report->profile;
    const pt_provenance *source = pt_profile_provenance(p);
    pt_legend lines = {0};
    if (p->mapping->t.count > 0) {
        const char *file = pt_text(p, p->mapping->row[0].file);
        const char *build_id = pt_text(p, p->mapping->row[0].build_id);
        PT_FREE char *base = pt_last_part(file);
        if (file[0] != '\0') add_line(&lines, pt_strf("File: %s", base));
        if (build_id[0] != '\0') add_line(&lines, pt_strf("Build ID: %s", build_id));
    }
    for (uint32_t i = 0; i < source->comment_count; i++) {
        const char *comment = pt_text(p, source->comments[i]);
        if (comment[0] != '#') add_line(&lines, pt_strdup(comment));
    }
    if (report->type[0] != '\0') add_line(&lines, pt_strf("Type: %s", report->type));
    if (pt_text_bytes(p, source->doc_url) > 0)
        add_line(&lines, pt_strf("Doc: %s", pt_text(p, source->doc_url)));
    if (source->start_ns != 0) add_line(&lines, time_text(source->start_ns));
    if (source->duration_ns != 0) add_line(&lines, duration_text(report, source->duration_ns));
    return lines;
}

/* Adds a line for each filter, cut to 80 bytes. */
static void add_filters(pt_legend *lines, const pt_graph_report *report)
{
    if (report->filter_count == 0) return;
    add_line(lines, pt_strdup("Active filters:"));
    for (size_t i = 0; i < report->filter_count; i++) {
        const char *filter = report->filters[i];
        const bool cut = strlen(filter) > 80;
        add_line(lines, pt_strf("   %.80s%s", filter, cut ? "\u2026" : ""));
    }
}

static void add_dropped(pt_legend *lines, const pt_graph_report *report, uint32_t count,
                        const char *what, const char *by, double fraction)
{
    if (count == 0) return;
    const double limit = (double)report->total * fraction;
    PT_FREE char *value = value_text(report, (int64_t)pt_magnitude(pt_whole_part(limit)));
    add_line(lines,
             pt_strf("Dropped %u %s%s (%s <= %s)", count, what, count > 1 ? "s" : "", by, value));
}

pt_legend pt_graph_legend(const pt_graph_report *report, const pt_graph *graph, bool full)
{
    pt_legend lines = {0};
    if (full || !report->compact) lines = pt_profile_legend(report);
    int64_t flat = 0;
    for (uint32_t i = 0; i < graph->listed_count; i++) {
        const pt_graph_node *n = &graph->node[graph->listed[i]];
        pt_wrapping_into(&flat, pt_graph_mean(n->flat, n->flat_div));
    }
    add_filters(&lines, report);
    PT_FREE char *value = value_text(report, flat);
    PT_FREE char *total = value_text(report, report->total);
    PT_FREE char *share = percent_text(flat, report->total);
    add_line(&lines, pt_strf("Showing nodes accounting for %s, %s of %s total", value,
                             share + strspn(share, " "), total));
    if (report->total != 0) {
        add_dropped(&lines, report, graph->dropped_nodes, "node", "cum", report->node_fraction);
        if (full)
            add_dropped(&lines, report, graph->dropped_edges, "edge", "freq",
                        report->edge_fraction);
        if (graph->listed_count > 0 && graph->listed_count < graph->original_count)
            add_line(&lines, pt_strf("Showing top %u nodes out of %u", graph->listed_count,
                                     graph->original_count));
    }
    if (full && report->last_line != NULL) add_line(&lines, pt_strdup(report->last_line));
    return lines;
}
