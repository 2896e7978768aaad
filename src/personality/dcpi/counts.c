/* counts.c: sorts the locations by place (image, procedure, address), and sums values by address,
 * then by procedure, then by image. */
#include "personality/dcpi/counts.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/saturate.h"

/* The place of a leaf as texts and numbers, for sorting. */
typedef struct {
    const char *path, *id, *name;
    uint64_t address;
    uint32_t location;
} place;

uint32_t pt_counts_events(const pt_profile *p, uint32_t *ret_events)
{
    uint32_t n = 0;
    for (uint32_t e = 0; e < p->event->t.count; e++)
        if (p->event->row[e].kind == PT_EVENT_COUNT) ret_events[n++] = e;
    for (uint32_t e = 0; n == 0 && e < p->event->t.count; e++)
        ret_events[e] = e;
    return n > 0 ? n : p->event->t.count;
}

static void describe_events(pt_counts *c, const uint32_t *events)
{
    const pt_profile *const p = c->profile;
    const pt_provenance *const from = pt_profile_provenance(p);
    for (uint32_t i = 0; i < c->event_count; i++) {
        const pt_event *const e = &p->event->row[events[i]];
        const bool generic = strcmp(pt_text(p, e->type), "samples") == 0 && from->period_type != 0;
        const double fraction = e->monitored_fraction;
        c->event[i] = (pt_counts_event){
            .event = events[i],
            .name = pt_text(p, generic ? from->period_type : e->type),
            .unit = pt_text(p, e->unit),
            .period = e->period != 0 ? e->period : from->period,
            .period_unit = e->period != 0 && !generic ? "" : pt_text(p, from->period_unit),
            .fraction = fraction > 0 && fraction < 1 ? fraction : 1,
        };
    }
}

/* ---- Places ---- */

static place place_of(const pt_profile *p, uint32_t location)
{
    const uint32_t m = p->location->mapping[location];
    const uint32_t first = p->location->line_first[location],
                   end = p->location->line_first[location + 1];
    const uint32_t function = end > first ? p->line->function[end - 1] : PT_NONE;
    place at = {.path = "",
                .id = "",
                .name = function != PT_NONE ? pt_text(p, p->function->name[function]) : "",
                .address = p->location->address[location],
                .location = location};
    if (m == PT_NONE) return at;
    const pt_mapping *const map = &p->mapping->row[m];
    at.path = pt_text(p, map->file);
    at.id = pt_text(p, map->build_id != 0 ? map->build_id : map->foreign_id);
    if (map->flags & PT_MAPPING_HAS_BIAS) at.address -= map->bias;
    return at;
}

static int compare_images(const place *a, const place *b)
{
    const int order = strcmp(a->path, b->path);
    return order != 0 ? order : strcmp(a->id, b->id);
}

static int compare_procedures(const place *a, const place *b)
{
    const int order = compare_images(a, b);
    return order != 0 ? order : strcmp(a->name, b->name);
}

PT_ORDER(by_place, place, compare_procedures(a, b) ?: PT_UP(address) ?: PT_UP(location));

/* The places of all locations that are a stack's leaf, sorted. */
static place *leaf_places(pt_counts *c, size_t *ret_count)
{
    const pt_profile *const p = c->profile;
    PT_FREE bool *is_leaf = pt_alloc((size_t)p->location->t.count + 1, sizeof *is_leaf);
    for (uint32_t i = 0; i < p->sample->t.count; i++) {
        const uint32_t stack = p->sample->stack[i];
        if (pt_stack_depth(p, stack) > 0)
            is_leaf[pt_stack_frames(p, stack)[0]] = true;
        else
            c->outside++;
    }
    place *const places = pt_alloc((size_t)p->location->t.count + 1, sizeof *places);
    size_t n = 0;
    for (uint32_t l = 0; l < p->location->t.count; l++)
        if (is_leaf[l]) places[n++] = place_of(p, l);
    if (n > 0) qsort(places, n, sizeof *places, by_place);
    *ret_count = n;
    return places;
}

/* ---- Rows ---- */

/* Makes the rows of the three levels from the sorted places. row_of[location]: its row in the level
 * of addresses. */
static void make_rows(pt_counts *c, const place *places, size_t n, uint32_t *row_of)
{
    c->image = pt_alloc(n + 1, sizeof *c->image);
    c->procedure = pt_alloc(n + 1, sizeof *c->procedure);
    c->address = pt_alloc(n + 1, sizeof *c->address);
    size_t *const count = c->count;
    for (size_t i = 0; i < n; i++) {
        const place *const at = &places[i], *const before = i > 0 ? &places[i - 1] : NULL;
        const bool new_image = before == NULL || compare_images(before, at) != 0;
        const bool new_procedure = new_image || strcmp(before->name, at->name) != 0;
        if (new_image)
            c->image[count[PT_COUNTS_IMAGES]++] = (pt_counts_image){
                .path = at->path, .id = at->id, .first = count[PT_COUNTS_PROCEDURES]};
        pt_counts_image *const image = &c->image[count[PT_COUNTS_IMAGES] - 1];
        if (new_procedure) {
            image->count++;
            c->procedure[count[PT_COUNTS_PROCEDURES]++] =
                (pt_counts_procedure){.name = at->name,
                                      .image = (uint32_t)(count[PT_COUNTS_IMAGES] - 1),
                                      .first = count[PT_COUNTS_ADDRESSES]};
        }
        pt_counts_procedure *const procedure = &c->procedure[count[PT_COUNTS_PROCEDURES] - 1];
        if (new_procedure || before->address != at->address) {
            procedure->count++;
            c->address[count[PT_COUNTS_ADDRESSES]++] = (pt_counts_address){
                .address = at->address,
                .procedure = (uint32_t)(count[PT_COUNTS_PROCEDURES] - 1),
                .location = at->location,
            };
        }
        row_of[at->location] = (uint32_t)(count[PT_COUNTS_ADDRESSES] - 1);
    }
}

static void add_up(pt_counts *c, const uint32_t *row_of)
{
    const pt_profile *const p = c->profile;
    const uint32_t n = c->event_count;
    for (int level = 0; level < PT_COUNTS_LEVELS; level++)
        c->value[level] = pt_alloc(c->count[level] * n + 1, sizeof **c->value);
    int64_t *const of_address = c->value[PT_COUNTS_ADDRESSES];
    for (uint32_t i = 0; i < p->sample->t.count; i++) {
        const uint32_t stack = p->sample->stack[i];
        if (pt_stack_depth(p, stack) == 0) continue;
        const size_t row = row_of[pt_stack_frames(p, stack)[0]];
        for (uint32_t e = 0; e < n; e++)
            pt_saturating_into(&of_address[row * n + e], p->sample->value[c->event[e].event][i]);
    }
    for (size_t i = 0; i < c->count[PT_COUNTS_ADDRESSES] * n; i++) {
        const size_t procedure = c->address[i / n].procedure;
        const size_t image = c->procedure[procedure].image;
        pt_saturating_into(&c->value[PT_COUNTS_PROCEDURES][procedure * n + i % n], of_address[i]);
        pt_saturating_into(&c->value[PT_COUNTS_IMAGES][image * n + i % n], of_address[i]);
    }
    for (uint32_t e = 0; e < n; e++)
        c->event[e].total = pt_profile_total(p, c->event[e].event);
}

void pt_counts_init(pt_counts *ret, const pt_profile *profile, const uint32_t *events,
                    uint32_t event_count)
{
    pt_counts c = {.profile = profile, .event_count = event_count};
    c.event = pt_alloc((size_t)event_count + 1, sizeof *c.event);
    describe_events(&c, events);
    size_t n;
    PT_FREE place *places = leaf_places(&c, &n);
    PT_FREE uint32_t *row_of = pt_alloc((size_t)profile->location->t.count + 1, sizeof *row_of);
    make_rows(&c, places, n, row_of);
    add_up(&c, row_of);
    *ret = c;
}

void pt_counts_done(pt_counts *c)
{
    PT_FREE_ALL(c->event, c->image, c->procedure, c->address);
    for (int level = 0; level < PT_COUNTS_LEVELS; level++)
        free(c->value[level]);
    *c = (pt_counts){0};
}

/* ---- Order ---- */

uint32_t pt_counts_image_of(const pt_counts *c, pt_counts_level level, size_t row)
{
    if (level == PT_COUNTS_ADDRESSES) row = c->address[row].procedure;
    return level == PT_COUNTS_IMAGES ? (uint32_t)row : c->procedure[row].image;
}

typedef struct {
    const pt_counts *counts;
    pt_counts_level level;
    uint32_t column;
} ranking;

static int by_value(const void *left, const void *right, void *context)
{
    const ranking *r = context;
    const uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    const int64_t x = pt_counts_value(r->counts, r->level, a, r->column),
                  y = pt_counts_value(r->counts, r->level, b, r->column);
    if (x != y) return x > y ? -1 : 1;
    return (a > b) - (a < b);
}

uint32_t *pt_counts_rank(const pt_counts *c, pt_counts_level level, uint32_t column,
                         const bool *in_image, size_t *ret_count)
{
    uint32_t *const rows = pt_alloc(c->count[level] + 1, sizeof *rows);
    size_t n = 0;
    for (size_t row = 0; row < c->count[level]; row++) {
        bool any = false;
        for (uint32_t e = 0; e < c->event_count; e++)
            any |= pt_counts_value(c, level, row, e) != 0;
        if (any && (in_image == NULL || in_image[pt_counts_image_of(c, level, row)]))
            rows[n++] = (uint32_t)row;
    }
    ranking how = {c, level, column};
    qsort_r(rows, n, sizeof *rows, by_value, &how);
    *ret_count = n;
    return rows;
}
