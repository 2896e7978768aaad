/* list.c: nodes whose name matches, by function, then by file, then by line. */
#include "personality/pprof/list.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "view/graph.h"

#define MARGIN 5 /* lines before the first and after the last */

typedef struct {
    const pt_pprof_list_request *request;
    pt_source_texts *texts;
    struct {
        pt_pprof_routine *items;
        size_t count, cap;
    } routines;
    struct {
        const pt_source_file **items;
        size_t count, cap;
    } asked; /* files that pprof has tried to open so far */
} listing;

static int64_t sum_of(int64_t a, int64_t b)
{
    return (int64_t)((uint64_t)a + (uint64_t)b);
}

/* By name, file, line, start of the function. */
static int compare_nodes(const void *left, const void *right)
{
    const pt_graph_node *const *x = left, *const *y = right;
    const pt_node_info *a = (*x)->info, *b = (*y)->info;
    const int name = strcmp(a->name, b->name);
    if (name != 0) return name;
    const int file = strcmp(a->file, b->file);
    if (file != 0) return file;
    if (a->line != b->line) return a->line < b->line ? -1 : 1;
    return (a->start_line > b->start_line) - (a->start_line < b->start_line);
}

/* How many nodes from the first one on have its name, or its name and file. */
static size_t run_of_name(const pt_graph_node *const *node, size_t count)
{
    size_t n = 1;
    while (n < count && strcmp(node[n]->info->name, node[0]->info->name) == 0)
        n++;
    return n;
}

static size_t run_of_file(const pt_graph_node *const *node, size_t count)
{
    size_t n = 1;
    while (n < count && strcmp(node[n]->info->file, node[0]->info->file) == 0)
        n++;
    return n;
}

/* ---- One function in one file ---- */

/* As Go prints the fields in which nodes of one function and file differ. */
static int compare_printed(const void *left, const void *right)
{
    char text[2][72];
    const pt_graph_node *const *x = left, *const *y = right;
    const pt_node_info *info[2] = {(*x)->info, (*y)->info};
    for (int i = 0; i < 2; i++)
        snprintf(text[i], sizeof text[i], "%" PRId64 " %" PRId64 " %" PRId64 " ",
                 info[i]->start_line, info[i]->line, info[i]->column);
    const int order = strcmp(text[0], text[1]);
    return order != 0 ? order : strcmp(info[0]->object, info[1]->object);
}

/* Where the text begins and ends. A function whose start is not known starts before its first line.
 * Pprof looks at the nodes in the order in which they print, and one that moves the start does not
 * move the end. */
static void range_of(const pt_graph_node *const *node, size_t count, int64_t *ret_start,
                     int64_t *ret_end)
{
    PT_FREE const pt_graph_node **printed = pt_alloc(count, sizeof *printed);
    memcpy(printed, node, count * sizeof *printed);
    qsort(printed, count, sizeof *printed, compare_printed);
    int64_t start = INT64_MAX, end = INT64_MIN;
    for (size_t i = 0; i < count; i++) {
        const pt_node_info *info = printed[i]->info;
        const int64_t from = info->start_line != 0 ? info->start_line : sum_of(info->line, -MARGIN);
        const int64_t to = sum_of(info->line, MARGIN);
        if (i == 0) end = to;
        if (from < start)
            start = from;
        else if (to > end)
            end = to;
    }
    *ret_start = start < 1 ? 1 : start;
    *ret_end = end;
}

/* Whether pprof has tried to open the file: it does so for the first line that it wants. */
static bool was_asked(listing *l, const pt_source_file *file, bool asks)
{
    for (size_t i = 0; i < l->asked.count; i++)
        if (l->asked.items[i] == file) return true;
    if (!asks) return false;
    PT_PUSH(l->asked, file);
    return true;
}

/* Nodes ascend by line. A file ends for pprof where a line is too long. */
static void add_lines(pt_pprof_routine *r, const pt_source_file *file,
                      const pt_graph_node *const *node, size_t count, int64_t start, int64_t end)
{
    const int64_t last = (int64_t)file->short_count;
    if (end > last) end = last;
    if (start > end) return;
    r->line_count = (size_t)(end - start) + 1;
    r->line = pt_alloc(r->line_count, sizeof *r->line);
    size_t n = 0;
    for (size_t i = 0; i < r->line_count; i++) {
        const char *text = "";
        size_t size = 0;
        pt_pprof_line *line = &r->line[i];
        line->line = start + (int64_t)i;
        pt_source_line(file, line->line, &text, &size);
        line->text = pt_strndup(text, size);
        while (n < count && node[n]->info->line < line->line)
            n++;
        for (; n < count && node[n]->info->line == line->line; n++) {
            line->flat = sum_of(line->flat, node[n]->flat);
            line->cum = sum_of(line->cum, node[n]->cum);
        }
    }
}

static void add_routine(listing *l, const pt_graph_node *const *node, size_t count)
{
    pt_pprof_routine r = {.name = node[0]->info->name, .file = pt_strdup(node[0]->info->file)};
    for (size_t i = 0; i < count; i++) {
        r.flat = sum_of(r.flat, node[i]->flat);
        r.cum = sum_of(r.cum, node[i]->cum);
    }
    const pt_source_file *file = pt_source_texts_file(l->texts, r.file, "");
    int64_t start, end;
    range_of(node, count, &start, &end);
    const bool asked = was_asked(l, file, start <= end);
    if (file->error == NULL)
        add_lines(&r, file, node, count, start, end);
    else if (asked)
        r.error = pt_strdup(file->error);
    PT_PUSH(l->routines, r);
}

/* All files of one function; nodes without a file come first and do not count beside others. */
static void add_function(listing *l, const pt_graph_node *const *node, size_t count)
{
    size_t at = 0;
    while (at < count && node[at]->info->file[0] == '\0')
        at++;
    if (at == count) PT_PUSH(l->routines, (pt_pprof_routine){.name = node[0]->info->name});
    for (size_t n; at < count; at += n) {
        n = run_of_file(node + at, count - at);
        add_routine(l, node + at, n);
    }
}

/* ---- All ---- */

static pt_status add_matching(listing *l, const pt_graph *graph, pt_error *reterr)
{
    const size_t count = graph->listed_count;
    PT_FREE const pt_graph_node **node = pt_alloc(count + 1, sizeof(pt_graph_node *));
    for (size_t i = 0; i < count; i++)
        node[i] = &graph->node[graph->listed[i]];
    qsort(node, count, sizeof *node, compare_nodes);
    for (size_t at = 0, n; at < count; at += n) {
        n = run_of_name(node + at, count - at);
        const char *name = node[at]->info->name;
        bool matches = false;
        const pt_status status =
            pt_regex_match(l->request->pattern, name, strlen(name), &matches, reterr);
        if (status != PT_OK) return status;
        if (matches) add_function(l, node + at, n);
    }
    if (l->routines.count > 0) return PT_OK;
    return pt_error_set(reterr, PT_ERR_NOTFOUND, "no matches found for regexp: %s",
                        l->request->pattern_text);
}

pt_status pt_pprof_list_init(pt_pprof_list *ret_list, const pt_profile *profile,
                             const pt_pprof_list_request *request, pt_error *reterr)
{
    const pt_graph_request graph_request = {
        .event = request->event,
        .mean = request->mean,
        .fold = {.pprof = true,
                 .by = PT_BY_LINE,
                 .no_inlines = request->no_inlines,
                 .columns = request->columns,
                 .object_names = true,
                 .trims_paths = true,
                 .trim_path = request->trim_path,
                 .source_path = request->source_path},
        .drop_negative = request->drop_negative,
        .edges = PT_EDGES_NONE,
    };
    pt_graph graph;
    pt_status status = pt_graph_init(&graph, profile, &graph_request, reterr);
    if (status != PT_OK) return status;
    const bool has_path = request->source_path != NULL && request->source_path[0] != '\0';
    listing l = {.request = request};
    l.texts = pt_source_texts_new(has_path ? request->source_path : request->working_folder,
                                  request->trim_path, NULL, NULL);
    status = add_matching(&l, &graph, reterr);
    pt_pprof_list list = {.routine = l.routines.items, .count = l.routines.count};
    if (status == PT_OK)
        *ret_list = list;
    else
        pt_pprof_list_done(&list);
    free(l.asked.items);
    pt_source_texts_free(l.texts);
    pt_graph_done(&graph);
    return status;
}

void pt_pprof_list_done(pt_pprof_list *list)
{
    for (size_t i = 0; i < list->count; i++) {
        pt_pprof_routine *r = &list->routine[i];
        for (size_t k = 0; k < r->line_count; k++)
            free(r->line[k].text);
        free(r->line);
        free(r->file);
        free(r->error);
    }
    free(list->routine);
    *list = (pt_pprof_list){0};
}
