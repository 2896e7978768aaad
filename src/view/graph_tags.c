/* graph_tags.c: the labels of the samples at each node, with their values.
 *
 * Samples are taken label set by label set, so that sums per node are dense arrays with marks:
 *
 *     label set 3 -> group 1 ("tier:web", [bytes 4096])     sets that print alike are one group
 *     group 1     -> its samples -> cum and flat per touched node -> one record (node, group) each
 *     records by node -> text tags, and numeric tags by the text tag of the same samples
 *
 * "bytes" is the only numeric label. pprof::base, which marks subtracted samples, is not used (as
 * in newGraph of google/pprof). */
#include "base/text.h"
#include "view/graph_int.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/grow.h"
#include "base/saturate.h"
#include "base/units.h"

typedef struct {
    char *text;      /* the joined text labels; NULL = none */
    int64_t *number; /* values of "bytes", in order */
    size_t number_count;
    uint32_t set;       /* label set */
    uint32_t same_text; /* the first set in order with the same text */
} label_set;

typedef struct {
    uint32_t node, group;
    uint32_t text;  /* of the group; equal for sets of equal text */
    uint32_t first; /* the first sample; of several numbers with equal text, the tag has the value
                     * of the first one */
    int64_t flat, flat_div, cum, cum_div;
} record;

typedef struct {
    pt_graph_making *m;
    label_set *sets; /* one for each label set, sorted so that equal sets are neighbours */
    uint32_t set_count, group_count;
    const label_set **group; /* one of the sets of each group */
    const char *unit;        /* of "bytes" */
    record *items;
    size_t count, cap;
    uint32_t *record_of; /* for each node: the index of its record of this group; PT_NONE = none */
    uint64_t *seen;      /* per node: last sample */
    uint64_t samples;
    uint32_t sample; /* the current sample */
} tagging;

/* "key:value" of all text labels, sorted and joined by a backslash and an n; NULL if the set has no
 * text labels. */
static char *join_texts(const pt_profile *p, uint32_t set)
{
    const uint64_t first = p->labels->offset[set], end = p->labels->offset[set + 1];
    char **texts = pt_alloc(end - first, sizeof *texts);
    size_t count = 0;
    for (uint64_t i = first; i < end; i++) {
        const pt_label *label = &p->labels->row[i];
        if (label->kind != PT_LABEL_STRING || strcmp(pt_text(p, label->key), "pprof::base") == 0)
            continue;
        texts[count++] = pt_strf("%s:%s", pt_text(p, label->key), pt_text(p, label->str));
    }
    qsort(texts, count, sizeof *texts, pt_compare_texts);
    pt_buf buf = PT_BUF_INIT;
    for (size_t i = 0; i < count; i++) {
        if (i > 0) pt_put_text(&buf, "\\n");
        pt_put_text(&buf, texts[i]);
        free(texts[i]);
    }
    free(texts);
    return count > 0 ? pt_buf_take(&buf, NULL) : NULL;
}

static label_set read_set(const pt_profile *p, uint32_t set)
{
    label_set s = {.set = set, .text = join_texts(p, set)};
    const uint64_t first = p->labels->offset[set], end = p->labels->offset[set + 1];
    s.number = pt_alloc(end - first, sizeof *s.number);
    for (uint64_t i = first; i < end; i++) {
        const pt_label *label = &p->labels->row[i];
        if (label->kind == PT_LABEL_NUMBER && strcmp(pt_text(p, label->key), "bytes") == 0)
            s.number[s.number_count++] = label->num;
    }
    return s;
}

static int compare_text(const label_set *a, const label_set *b)
{
    return strcmp(a->text != NULL ? a->text : "", b->text != NULL ? b->text : "");
}

static int compare_sets(const void *left, const void *right)
{
    const label_set *a = left, *b = right;
    const int text = compare_text(a, b);
    if (text != 0) return text;
    if (a->number_count != b->number_count) return a->number_count < b->number_count ? -1 : 1;
    for (size_t i = 0; i < a->number_count; i++)
        if (a->number[i] != b->number[i]) return a->number[i] < b->number[i] ? -1 : 1;
    return 0;
}

/* Makes a group of the label sets that print alike. Returns the group of each set; the caller frees
 * the array. */
static uint32_t *group_sets(tagging *t)
{
    const pt_profile *p = t->m->profile;
    t->set_count = p->labels->t.count;
    t->sets = pt_alloc(t->set_count, sizeof *t->sets);
    t->group = pt_alloc(t->set_count, sizeof *t->group);
    uint32_t *group_of_set = pt_alloc(t->set_count, sizeof *group_of_set);
    for (uint32_t s = 0; s < t->set_count; s++)
        t->sets[s] = read_set(p, s);
    qsort(t->sets, t->set_count, sizeof *t->sets, compare_sets);
    for (uint32_t i = 0; i < t->set_count; i++) {
        const label_set *before = i > 0 ? &t->sets[i - 1] : NULL;
        if (before == NULL || compare_sets(before, &t->sets[i]) != 0)
            t->group[t->group_count++] = &t->sets[i];
        t->sets[i].same_text =
            before != NULL && compare_text(before, &t->sets[i]) == 0 ? before->same_text : i;
        group_of_set[t->sets[i].set] = t->group_count - 1;
    }
    return group_of_set;
}

static record *record_of(tagging *t, uint32_t node, uint32_t group)
{
    if (t->record_of[node] == PT_NONE || t->items[t->record_of[node]].group != group) {
        PT_GROW(*t, t->count + 1);
        t->record_of[node] = (uint32_t)t->count;
        t->items[t->count++] = (record){
            .node = node, .group = group, .text = t->group[group]->same_text, .first = t->sample};
    }
    return &t->items[t->record_of[node]];
}

static void add_cum(tagging *t, uint32_t node, uint32_t group, int64_t value, int64_t div)
{
    record *r = record_of(t, node, group);
    pt_wrapping_into(&r->cum, value);
    pt_wrapping_into(&r->cum_div, div);
}

/* Returns the node at the stack's end, or PT_NONE if that node is not kept. */
static uint32_t walk_graph(tagging *t, uint32_t stack, uint32_t group, int64_t value, int64_t div)
{
    const pt_graph_making *m = t->m;
    const uint32_t *frames = pt_stack_frames(m->profile, stack);
    uint32_t leaf = PT_NONE;
    for (uint32_t i = pt_stack_depth(m->profile, stack); i-- > 0;) {
        uint32_t one, count;
        const uint32_t *nodes = pt_fold_rows(m->places, frames[i], &one, &count);
        for (uint32_t k = count; k-- > 0;) {
            leaf = m->kept == NULL || m->kept[nodes[k]] ? nodes[k] : PT_NONE;
            if (leaf == PT_NONE || t->seen[leaf] == t->samples) continue;
            t->seen[leaf] = t->samples;
            add_cum(t, leaf, group, value, div);
        }
    }
    return leaf;
}

static uint32_t walk_tree(tagging *t, uint32_t stack, uint32_t group, int64_t value, int64_t div)
{
    const pt_graph_making *m = t->m;
    const uint32_t leaf = m->leaf_of_stack[stack];
    if (leaf == PT_NONE) return PT_NONE;
    for (uint32_t n = leaf & ~PT_GRAPH_CUT_LEAF; n != PT_NONE; n = m->parent[n])
        add_cum(t, n, group, value, div);
    return leaf & PT_GRAPH_CUT_LEAF ? PT_NONE : leaf;
}

static void tag_sample(tagging *t, uint32_t sample, uint32_t group)
{
    const pt_graph_making *m = t->m;
    const pt_samples *samples = m->profile->sample;
    const int64_t value = samples->value[m->request->event][sample];
    const int64_t div = m->request->mean ? samples->value[0][sample] : 0;
    if (value == 0 && div == 0) return;
    t->samples++;
    t->sample = sample;
    const uint32_t stack = samples->stack[sample];
    const uint32_t leaf = m->request->call_tree ? walk_tree(t, stack, group, value, div)
                                                : walk_graph(t, stack, group, value, div);
    if (leaf == PT_NONE) return;
    record *r = record_of(t, leaf, group);
    pt_wrapping_into(&r->flat, value);
    pt_wrapping_into(&r->flat_div, div);
}

/* Takes all samples of group 0, then of group 1, ... */
static void tag_samples(tagging *t, const uint32_t *group_of_set)
{
    const pt_samples *samples = t->m->profile->sample;
    PT_FREE uint32_t *next = pt_alloc((size_t)t->group_count + 1, sizeof *next);
    PT_FREE uint32_t *order = pt_alloc(samples->t.count, sizeof *order);
    for (uint32_t i = 0; i < samples->t.count; i++)
        next[group_of_set[samples->labels[i]] + 1]++;
    for (uint32_t g = 0; g < t->group_count; g++)
        next[g + 1] += next[g];
    for (uint32_t i = 0; i < samples->t.count; i++)
        order[next[group_of_set[samples->labels[i]]]++] = i;
    for (uint32_t i = 0; i < samples->t.count; i++) {
        const uint32_t group = group_of_set[samples->labels[order[i]]];
        if (t->group[group]->text != NULL || t->group[group]->number_count > 0)
            tag_sample(t, order[i], group);
    }
}

/* ---- From records to tags ---- */

PT_ORDER(compare_records, record, PT_UP(node) ?: PT_UP(text) ?: PT_UP(first));

static void add_to(pt_graph_tag *tag, const record *r)
{
    pt_wrapping_into(&tag->flat, r->flat);
    pt_wrapping_into(&tag->flat_div, r->flat_div);
    pt_wrapping_into(&tag->cum, r->cum);
    pt_wrapping_into(&tag->cum_div, r->cum_div);
}

static char *keep_text(pt_graph *g, char *text)
{
    struct pt_graph_memory *memory = g->memory;
    memory->text =
        pt_grow(memory->text, &memory->text_cap, memory->text_count + 1, sizeof *memory->text);
    memory->text[memory->text_count++] = text;
    return text;
}

static pt_graph_tag *new_tag(pt_graph_tags *tags)
{
    tags->tag = pt_realloc(tags->tag, tags->count + 1, sizeof *tags->tag);
    tags->tag[tags->count] = (pt_graph_tag){.unit = ""};
    return &tags->tag[tags->count++];
}

/* Adds a numeric tag. Numbers of equal text become one tag, which has the value of the first
 * number. */
static void add_number(tagging *t, pt_graph_tags *tags, int64_t value, const record *r)
{
    pt_buf buf = PT_BUF_INIT;
    pt_put_value(&buf, value, t->unit, t->m->request->unit, PT_STYLE_PPROF);
    char *name = pt_buf_take(&buf, NULL);
    pt_graph_tag *tag = NULL;
    for (size_t i = 0; i < tags->count && tag == NULL; i++)
        if (strcmp(tags->tag[i].name, name) == 0) tag = &tags->tag[i];
    if (tag == NULL) {
        tag = new_tag(tags);
        tag->name = keep_text(t->m->graph, name);
        tag->unit = t->unit;
        tag->value = value;
    } else {
        free(name);
    }
    add_to(tag, r);
}

/* Makes the tags of one node from its records, which are sorted by group: groups of one text are
 * neighbours. */
static void tag_node(tagging *t, const record *records, size_t count)
{
    pt_graph *g = t->m->graph;
    pt_graph_node *node = &g->node[records[0].node];
    const char *of = NULL;
    for (size_t i = 0; i < count; i++) {
        const label_set *set = t->group[records[i].group];
        const char *text = set->text != NULL ? set->text : "";
        if (of == NULL || strcmp(of, text) != 0) {
            of = text;
            if (set->text != NULL) new_tag(&node->texts)->name = of;
            node->numbers =
                pt_realloc(node->numbers, node->number_count + 1, sizeof *node->numbers);
            node->numbers[node->number_count++] = (pt_graph_tags){.of = of};
        }
        if (set->text != NULL) add_to(&node->texts.tag[node->texts.count - 1], &records[i]);
        for (size_t k = 0; k < set->number_count; k++)
            add_number(t, &node->numbers[node->number_count - 1], set->number[k], &records[i]);
    }
}

void pt_graph_make_tags(pt_graph_making *m)
{
    if (m->profile->labels->t.count <= 1) return;
    tagging t = {.m = m, .unit = m->request->tag_unit != NULL ? m->request->tag_unit : "bytes"};
    PT_FREE uint32_t *group_of_set = group_sets(&t);
    t.record_of = pt_alloc(m->graph->node_count, sizeof *t.record_of);
    memset(t.record_of, 0xff, m->graph->node_count * sizeof *t.record_of);
    t.seen = pt_alloc(m->graph->node_count, sizeof *t.seen);
    tag_samples(&t, group_of_set);
    PT_SORT(t, compare_records);
    for (size_t i = 0, next; i < t.count; i = next) {
        for (next = i + 1; next < t.count && t.items[next].node == t.items[i].node; next++) {
        }
        tag_node(&t, t.items + i, next - i);
    }
    for (uint32_t s = 0; s < t.set_count; s++) {
        if (t.sets[s].text != NULL) keep_text(m->graph, t.sets[s].text); /* the tag's name */
        free(t.sets[s].number);
    }
    PT_FREE_ALL(t.sets, t.group, t.items, t.record_of, t.seen);
}

static void trim_tags(pt_graph_tags *tags, uint64_t cutoff)
{
    size_t kept = 0;
    for (size_t i = 0; i < tags->count; i++)
        if (pt_magnitude(tags->tag[i].flat) >= cutoff || pt_magnitude(tags->tag[i].cum) >= cutoff)
            tags->tag[kept++] = tags->tag[i];
    tags->count = kept;
}

void pt_graph_trim_tags(pt_graph *graph, uint64_t cutoff)
{
    for (uint32_t i = 0; i < graph->listed_count; i++) {
        pt_graph_node *node = &graph->node[graph->listed[i]];
        trim_tags(&node->texts, cutoff);
        for (size_t k = 0; k < node->number_count; k++)
            trim_tags(&node->numbers[k], cutoff);
    }
}

static size_t with_flat(const pt_graph_tags *tags)
{
    size_t count = 0;
    for (size_t i = 0; i < tags->count; i++)
        count += tags->tag[i].flat != 0;
    return count;
}

size_t pt_graph_count_tags(const pt_graph_node *node)
{
    size_t count = with_flat(&node->texts);
    for (size_t i = 0; i < node->number_count; i++)
        count += with_flat(&node->numbers[i]);
    return count;
}

void pt_graph_free_tags(pt_graph *graph)
{
    for (uint32_t n = 0; n < graph->node_count; n++) {
        pt_graph_node *node = &graph->node[n];
        free(node->texts.tag);
        for (size_t i = 0; i < node->number_count; i++)
            free(node->numbers[i].tag);
        free(node->numbers);
        node->texts = (pt_graph_tags){0};
        node->numbers = NULL;
        node->number_count = 0;
    }
    for (size_t i = 0; i < graph->memory->text_count; i++)
        free(graph->memory->text[i]);
    free(graph->memory->text);
    graph->memory->text = NULL;
    graph->memory->text_count = graph->memory->text_cap = 0;
}

static int compare_tags_by(const void *left, const void *right, void *by_flat)
{
    const pt_graph_tag *a = left, *b = right;
    return (*(bool *)by_flat ? 0 : pt_compare_magnitudes(a->cum, b->cum))
               ?: pt_compare_magnitudes(a->flat, b->flat) ?: PT_TEXT_UP(name);
}

void pt_graph_sort_tags(pt_graph_tag *tags, size_t count, bool by_flat)
{
    if (count > 1) qsort_r(tags, count, sizeof *tags, compare_tags_by, &by_flat);
}

/* ---- Groups ---- */

static char *label_of(int64_t value, const char *unit)
{
    pt_buf buf = PT_BUF_INIT;
    pt_put_value(&buf, value, unit, "auto", PT_STYLE_PPROF);
    return pt_buf_take(&buf, NULL);
}

static double tag_distance(const pt_graph_tag *t, const pt_graph_tag *u)
{
    const char *unit;
    const double v = pt_unit_convert(u->value, u->unit, t->unit, &unit);
    return fabs(v - (double)t->value);
}

static int64_t in_unit_of(const pt_graph_tag *t, const pt_graph_tag *u)
{
    const char *unit;
    return pt_whole_part(pt_unit_convert(t->value, t->unit, u->unit, &unit));
}

/* Makes one tag, such as "1kB..4kB", of all tags whose nearest centre has the number `which`. */
static pt_graph_tag_group group_of(const pt_graph_tag *tags, size_t count, const uint8_t *nearest,
                                   uint8_t which)
{
    const pt_graph_tag *least = &tags[which], *most = least;
    int64_t flat = least->flat, flat_div = least->flat_div;
    int64_t cum = least->cum, cum_div = least->cum_div;
    bool alone = true;
    for (size_t i = PT_GRAPH_NODELETS; i < count; i++) {
        const pt_graph_tag *t = &tags[i];
        if (nearest[i] != which) continue;
        alone = false;
        if (in_unit_of(t, least) < least->value) least = t;
        if (in_unit_of(t, most) > most->value) most = t;
        flat = (int64_t)((uint64_t)flat + (uint64_t)t->flat);
        flat_div = (int64_t)((uint64_t)flat_div + (uint64_t)t->flat_div);
        cum = (int64_t)((uint64_t)cum + (uint64_t)t->cum);
        cum_div = (int64_t)((uint64_t)cum_div + (uint64_t)t->cum_div);
    }
    pt_graph_tag_group g = {.flat = pt_graph_mean(flat, flat_div),
                            .cum = pt_graph_mean(cum, cum_div)};
    g.name = label_of(least->value, least->unit);
    if (alone) return g;
    PT_FREE char *low = g.name;
    PT_FREE char *high = label_of(most->value, most->unit);
    g.name = pt_strf("%s..%s", low, high);
    return g;
}

static int compare_groups(const void *left, const void *right, void *by_flat)
{
    const pt_graph_tag_group *a = left, *b = right;
    if (!*(bool *)by_flat && a->cum != b->cum)
        return pt_magnitude(a->cum) > pt_magnitude(b->cum) ? -1 : 1;
    if (a->flat != b->flat) return pt_magnitude(a->flat) > pt_magnitude(b->flat) ? -1 : 1;
    return strcmp(a->name, b->name);
}

size_t pt_graph_group_tags(pt_graph_tag *tags, size_t count, bool by_flat,
                           pt_graph_tag_group *ret_groups)
{
    pt_graph_sort_tags(tags, count, by_flat);
    if (count <= PT_GRAPH_NODELETS) {
        for (size_t i = 0; i < count; i++)
            ret_groups[i] =
                (pt_graph_tag_group){.name = pt_strdup(tags[i].name),
                                     .flat = pt_graph_mean(tags[i].flat, tags[i].flat_div),
                                     .cum = pt_graph_mean(tags[i].cum, tags[i].cum_div)};
        return count;
    }
    PT_FREE uint8_t *nearest = pt_alloc(count, 1);
    for (size_t i = PT_GRAPH_NODELETS; i < count; i++) {
        double least = tag_distance(&tags[i], &tags[0]);
        for (size_t k = 1; k < PT_GRAPH_NODELETS; k++) {
            const double far = tag_distance(&tags[i], &tags[k]);
            if (far >= least) continue;
            least = far;
            nearest[i] = (uint8_t)k;
        }
    }
    for (size_t k = 0; k < PT_GRAPH_NODELETS; k++)
        ret_groups[k] = group_of(tags, count, nearest, (uint8_t)k);
    qsort_r(ret_groups, PT_GRAPH_NODELETS, sizeof *ret_groups, compare_groups, &by_flat);
    return PT_GRAPH_NODELETS;
}
