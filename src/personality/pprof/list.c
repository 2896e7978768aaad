/* list.c: nodes whose name matches, by function, then by file, then by line. */
#include "personality/pprof/list.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/saturate.h"

#define MARGIN 5 /* lines before the first and after the last */

typedef struct {
    const pt_pprof_list_request *request;
    pt_pprof_listing *listing;
    PT_VECTOR(const pt_source_file *) asked; /* files that pprof would have tried to open so far */
} search;

/* By name, file, line, start of the function. */
PT_ORDER(compare_nodes, __typeof__(const pt_graph_node *),
         strcmp((*a)->info->name, (*b)->info->name)
         ?: strcmp((*a)->info->file, (*b)->info->file)
         ?: PT_COMPARE((*a)->info->line, (*b)->info->line)
         ?: PT_COMPARE((*a)->info->start_line, (*b)->info->start_line));

/* The number of nodes, from the first on, that have the name of the first; with by_file, its file.
 */
static size_t count_run(const pt_graph_node *const *node, size_t count, bool by_file)
{
    size_t n = 1;
    while (n < count && strcmp(by_file ? node[n]->info->file : node[n]->info->name,
                               by_file ? node[0]->info->file : node[0]->info->name) == 0)
        n++;
    return n;
}

/* ---- One function in one file ---- */

static void push_routine(pt_pprof_listing *l, pt_pprof_routine made)
{
    l->routine = pt_grow(l->routine, &l->cap, l->count + 1, sizeof *l->routine);
    l->routine[l->count++] = made;
}

/* Compares nodes of one function and file as pprof does: by the texts that Go prints of the fields
 * in which they can differ. */
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

/* Finds the first and the last line to show. A function without a known start begins MARGIN lines
 * before its first line. As in pprof, nodes are visited in the order of their printed texts, and a
 * node that moves the start does not move the end. */
static void range_of(const pt_graph_node *const *node, size_t count, int64_t *ret_start,
                     int64_t *ret_end)
{
    PT_FREE const pt_graph_node **printed = pt_alloc(count, sizeof *printed);
    memcpy(printed, node, count * sizeof *printed);
    qsort(printed, count, sizeof *printed, compare_printed);
    int64_t start = INT64_MAX, end = INT64_MIN;
    for (size_t i = 0; i < count; i++) {
        const pt_node_info *info = printed[i]->info;
        int64_t from = info->start_line, to = info->line;
        if (from == 0) {
            from = info->line;
            pt_wrapping_into(&from, -MARGIN);
        }
        pt_wrapping_into(&to, MARGIN);
        if (i == 0) end = to;
        if (from < start)
            start = from;
        else if (to > end)
            end = to;
    }
    *ret_start = start < 1 ? 1 : start;
    *ret_end = end;
}

/* Would pprof have tried to open the file by now? pprof opens a file when it prints the file's
 * first line. asks: pprof would open the file now. */
static bool was_file_asked(search *s, const pt_source_file *file, bool asks)
{
    for (size_t i = 0; i < s->asked.count; i++)
        if (s->asked.items[i] == file) return true;
    if (!asks) return false;
    PT_PUSH(s->asked, file);
    return true;
}

/* Adds the rows of nodes that ascend by line. For pprof a file ends at a line that is too long. */
static void add_rows(pt_code_function *f, const pt_source_file *file,
                     const pt_graph_node *const *node, size_t count, int64_t start, int64_t end)
{
    const int64_t last = (int64_t)file->short_count;
    if (end > last) end = last;
    if (start > end) return;
    f->row = pt_alloc((size_t)(end - start) + 1, sizeof *f->row);
    size_t n = 0;
    for (int64_t line = start; line <= end; line++) {
        pt_code_row *row = &f->row[f->row_count++];
        row->at = (uint64_t)line;
        row->text = "";
        pt_source_line(file, line, &row->text, &row->text_size);
        while (n < count && node[n]->info->line < line)
            n++;
        for (; n < count && node[n]->info->line == line; n++) {
            pt_wrapping_into(&row->self, node[n]->flat);
            pt_wrapping_into(&row->total, node[n]->cum);
        }
    }
}

static void add_routine(search *s, const pt_graph_node *const *node, size_t count)
{
    pt_code_function f = {.name = node[0]->info->name, .file = node[0]->info->file};
    for (size_t i = 0; i < count; i++) {
        pt_wrapping_into(&f.self, node[i]->flat);
        pt_wrapping_into(&f.total, node[i]->cum);
    }
    const pt_source_file *file = pt_source_texts_file(s->listing->texts, f.file, "");
    int64_t start, end;
    range_of(node, count, &start, &end);
    const bool asked = was_file_asked(s, file, start <= end);
    if (file->error == NULL)
        add_rows(&f, file, node, count, start, end);
    else if (asked)
        f.error = pt_strdup(file->error);
    push_routine(s->listing, (pt_pprof_routine){.code = f});
}

/* Adds a function in each of its files. Nodes without a file, which come first, count only if the
 * function has no other nodes. */
static void add_function(search *s, const pt_graph_node *const *node, size_t count)
{
    size_t at = 0;
    while (at < count && node[at]->info->file[0] == '\0')
        at++;
    if (at == count)
        push_routine(s->listing, (pt_pprof_routine){.code = {.name = node[0]->info->name}});
    for (size_t n; at < count; at += n) {
        n = count_run(node + at, count - at, true);
        add_routine(s, node + at, n);
    }
}

/* ---- All ---- */

static pt_status add_matching(search *s, pt_error *reterr)
{
    const pt_graph *graph = &s->listing->graph;
    const size_t count = graph->listed_count;
    PT_FREE const pt_graph_node **node = pt_alloc(count + 1, sizeof(pt_graph_node *));
    for (size_t i = 0; i < count; i++)
        node[i] = &graph->node[graph->listed[i]];
    qsort(node, count, sizeof *node, compare_nodes);
    for (size_t at = 0, n; at < count; at += n) {
        n = count_run(node + at, count - at, false);
        const char *name = node[at]->info->name;
        bool matches = false;
        const pt_status status =
            pt_regex_match(s->request->pattern, name, strlen(name), &matches, reterr);
        if (status != PT_OK) return status;
        if (matches) add_function(s, node + at, n);
    }
    if (s->listing->count > 0) return PT_OK;
    return pt_error_set(reterr, PT_ERR_NOTFOUND, "no matches found for regexp: %s",
                        s->request->pattern_text);
}

pt_status pt_pprof_list_graph(pt_pprof_listing *listing, const pt_profile *profile,
                              const pt_pprof_list_request *request, pt_grain by, pt_error *reterr)
{
    const pt_graph_request graph_request = {
        .event = request->event,
        .mean = request->mean,
        .fold = {.pprof = true,
                 .by = by,
                 .no_inlines = request->no_inlines || by == PT_BY_ADDRESS,
                 .columns = request->columns,
                 .object_names = true,
                 .trims_paths = true,
                 .trim_path = request->trim_path,
                 .source_path = request->source_path},
        .drop_negative = request->drop_negative,
        .edges = PT_EDGES_NONE,
    };
    return pt_graph_init(&listing->graph, profile, &graph_request, reterr);
}

pt_status pt_pprof_list_init(pt_pprof_listing *ret_listing, const pt_profile *profile,
                             const pt_pprof_list_request *request, pt_error *reterr)
{
    const bool has_path = request->source_path != NULL && request->source_path[0] != '\0';
    pt_pprof_listing listing = {0};
    search s = {.request = request, .listing = &listing};
    pt_status status = pt_pprof_list_graph(&listing, profile, request, PT_BY_LINE, reterr);
    if (status != PT_OK) return status;
    listing.texts = pt_source_texts_new(has_path ? request->source_path : request->working_folder,
                                        request->trim_path, NULL, NULL);
    status = add_matching(&s, reterr);
    free(s.asked.items);
    if (status == PT_OK)
        *ret_listing = listing;
    else
        pt_pprof_listing_done(&listing);
    return status;
}

void pt_pprof_listing_done(pt_pprof_listing *listing)
{
    for (size_t i = 0; i < listing->count; i++) {
        pt_pprof_routine *r = &listing->routine[i];
        pt_code_function_done(&r->code);
        for (size_t k = 0; k < r->alias_count; k++)
            free(r->alias[k]);
        free(r->alias);
    }
    free(listing->routine);
    for (size_t i = 0; i < listing->objdump.count; i++)
        pt_objdump_listing_done(&listing->objdump.items[i]);
    free(listing->objdump.items);
    pt_source_texts_free(listing->texts);
    pt_graph_done(&listing->graph);
    *listing = (pt_pprof_listing){0};
}
