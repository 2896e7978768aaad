/* set_stats.c: makes one list of (name, set, value), sorts it by name, and makes a row of each
 * name. */
#include "personality/dcpi/set_stats.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

typedef struct {
    const char *path, *name;
    size_t set;
    double value;
} entry;

static int compare_names(const entry *a, const entry *b)
{
    const int order = strcmp(a->name, b->name);
    return order != 0 ? order : strcmp(a->path, b->path);
}

PT_ORDER(by_name, entry, compare_names(a, b) ?: PT_UP(set));

PT_ORDER(by_range, pt_set_row, PT_DOWN(range) ?: PT_DOWN(sum) ?: PT_TEXT_UP(name)
         ?: PT_TEXT_UP(path));

static entry *collect_entries(const pt_set *sets, size_t set_count, pt_counts_level level,
                              size_t *ret_n)
{
    size_t room = 1, n = 0;
    for (size_t s = 0; s < set_count; s++)
        room += sets[s].counts->count[level];
    entry *const entries = pt_alloc(room, sizeof *entries);
    for (size_t s = 0; s < set_count; s++) {
        const pt_counts *const c = sets[s].counts;
        for (size_t i = 0; i < c->count[level]; i++) {
            const int64_t value = pt_counts_value(c, level, i, sets[s].column);
            if (value == 0) continue;
            entries[n++] = (entry){
                .path = c->image[pt_counts_image_of(c, level, i)].path,
                .name = level == PT_COUNTS_IMAGES ? "" : c->procedure[i].name,
                .set = s,
                .value = (double)value * sets[s].factor,
            };
        }
    }
    if (n > 0) qsort(entries, n, sizeof *entries, by_name);
    *ret_n = n;
    return entries;
}

static void work_out(pt_set_row *row, size_t set_count, double all)
{
    row->min = row->max = row->value[0];
    for (size_t s = 0; s < set_count; s++) {
        row->sum += row->value[s];
        row->sets += row->value[s] != 0;
        row->min = fmin(row->min, row->value[s]);
        row->max = fmax(row->max, row->value[s]);
    }
    row->mean = row->sum / (double)set_count;
    double squares = 0;
    for (size_t s = 0; s < set_count; s++)
        squares += (row->value[s] - row->mean) * (row->value[s] - row->mean);
    row->deviation = set_count > 1 ? sqrt(squares / (double)(set_count - 1)) : 0;
    row->range = row->sum != 0 ? (row->max - row->min) / row->sum : 0;
    row->share = all != 0 ? row->sum / all : 0;
}

void pt_set_stats_init(pt_set_stats *ret, const pt_set *sets, size_t set_count,
                       pt_counts_level level)
{
    pt_set_stats stats = {.set_count = set_count};
    size_t n;
    PT_FREE entry *entries = collect_entries(sets, set_count, level, &n);
    stats.row = pt_alloc(n + 1, sizeof *stats.row);
    stats.total = pt_alloc(set_count + 1, sizeof *stats.total);
    for (size_t i = 0; i < n; i++)
        stats.count += i == 0 || compare_names(&entries[i - 1], &entries[i]) != 0;
    stats.memory = pt_alloc(stats.count * set_count + 1, sizeof *stats.memory);
    size_t row = 0;
    for (size_t i = 0; i < n; i++) {
        if (i > 0 && compare_names(&entries[i - 1], &entries[i]) != 0) row++;
        stats.row[row].name = entries[i].name;
        stats.row[row].path = entries[i].path;
        stats.row[row].value = stats.memory + row * set_count;
        stats.row[row].value[entries[i].set] += entries[i].value;
        stats.total[entries[i].set] += entries[i].value;
        stats.sum += entries[i].value;
    }
    for (size_t i = 0; i < stats.count; i++)
        work_out(&stats.row[i], set_count, stats.sum);
    if (stats.count > 0) qsort(stats.row, stats.count, sizeof *stats.row, by_range);
    *ret = stats;
}

void pt_set_stats_done(pt_set_stats *stats)
{
    PT_FREE_ALL(stats->row, stats->total, stats->memory);
    *stats = (pt_set_stats){0};
}
