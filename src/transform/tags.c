/* tags.c: see tags.h. Makes one frame per distinct text and key, and one stack per distinct pair of
 * stack and label set. */
#include "transform/tags.h"

#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/hash.h"
#include "base/text.h"
#include "base/units.h"
#include "model/builder.h"
#include "transform/frames.h"

/* ---- Units ---- */

static pt_tag_unit *find_unit(const pt_tag_units *units, uint32_t key)
{
    for (size_t i = 0; i < units->count; i++)
        if (units->items[i].key == key) return &units->items[i];
    return NULL;
}

const char *pt_tag_unit_of(const pt_tag_units *units, uint32_t key)
{
    const pt_tag_unit *const found = find_unit(units, key);
    return found != NULL ? found->unit : NULL;
}

/* Adds a unit to a sorted list "a, b"; NULL is the empty list. Frees the old list; the caller frees
 * the result. */
static char *add_other(char *list, const char *unit)
{
    pt_buf buf = PT_BUF_INIT;
    bool put = false;
    const char *at = list != NULL ? list : "";
    while (*at != '\0') {
        const char *const comma = strstr(at, ", ");
        const size_t length = comma != NULL ? (size_t)(comma - at) : strlen(at);
        PT_FREE char *item = pt_strf("%.*s", (int)length, at);
        const int order = strcmp(unit, item);
        if (order <= 0 && !put) pt_putf(&buf, "%s%s", buf.size > 0 ? ", " : "", unit);
        put |= order <= 0;
        if (order != 0) pt_putf(&buf, "%s%s", buf.size > 0 ? ", " : "", item);
        at += length + (comma != NULL ? 2 : 0);
    }
    if (!put) pt_putf(&buf, "%s%s", buf.size > 0 ? ", " : "", unit);
    free(list);
    return pt_buf_take(&buf, NULL);
}

static void add_unit(pt_tag_units *units, size_t *cap, const pt_profile *p, const pt_label *label)
{
    pt_tag_unit *unit = find_unit(units, label->key);
    if (unit == NULL) {
        units->items = pt_grow(units->items, cap, units->count + 1, sizeof *units->items);
        unit = &units->items[units->count++];
        *unit = (pt_tag_unit){.key = label->key};
    }
    if (label->unit == 0) return;
    const char *const text = pt_text(p, label->unit);
    if (unit->unit == NULL)
        unit->unit = text;
    else if (strcmp(unit->unit, text) != 0)
        unit->others = add_other(unit->others, text);
}

pt_tag_units pt_tag_units_of(const pt_profile *p, bool pprof)
{
    pt_tag_units units = {0};
    size_t cap = 0;
    PT_FREE bool *seen = pt_alloc(p->labels->t.count, sizeof *seen);
    seen[0] = true;
    for (uint32_t i = 0; i < p->sample->t.count; i++) {
        const uint32_t set = p->sample->labels[i];
        if (seen[set]) continue;
        seen[set] = true;
        for (uint64_t l = p->labels->offset[set]; l < p->labels->offset[set + 1]; l++) {
            const pt_label *const label = &p->labels->row[l];
            if (label->kind == PT_LABEL_NUMBER && pt_label_counts(label, pprof))
                add_unit(&units, &cap, p, label);
        }
    }
    for (size_t i = 0; i < units.count; i++) {
        if (units.items[i].unit != NULL) continue;
        const char *const key = pt_text(p, units.items[i].key);
        const bool bytes = strcmp(key, "alignment") == 0 || strcmp(key, "request") == 0;
        units.items[i].unit = bytes ? "bytes" : key;
    }
    return units;
}

void pt_tag_units_done(pt_tag_units *units)
{
    for (size_t i = 0; i < units->count; i++)
        free(units->items[i].others);
    free(units->items);
    *units = (pt_tag_units){0};
}

/* ---- Columns as labels ---- */

typedef struct {
    pt_set_maker sets;
    uint32_t pid, tid, cpu, comm, time, nanoseconds; /* strings: the keys, and a unit */
    bool with_time;
} columns_maker;

static void put_number(columns_maker *m, uint32_t key, uint32_t number)
{
    if (number == PT_NONE) return;
    const pt_label label = {.key = key, .kind = PT_LABEL_NUMBER, .num = number};
    pt_set_maker_put(&m->sets, &label);
}

static uint32_t set_with_columns(columns_maker *m, const pt_profile *p, uint32_t sample)
{
    const pt_samples *const s = p->sample;
    const uint32_t set = s->labels[sample];
    for (uint64_t l = p->labels->offset[set]; l < p->labels->offset[set + 1]; l++)
        pt_set_maker_put(&m->sets, &p->labels->row[l]);
    if (s->pid != NULL) put_number(m, m->pid, s->pid[sample]);
    if (s->tid != NULL) put_number(m, m->tid, s->tid[sample]);
    if (s->cpu != NULL) put_number(m, m->cpu, s->cpu[sample]);
    if (s->comm != NULL && s->comm[sample] != 0) {
        const pt_label label = {.key = m->comm, .kind = PT_LABEL_STRING, .str = s->comm[sample]};
        pt_set_maker_put(&m->sets, &label);
    }
    if (m->with_time && s->time_ns != NULL && s->time_ns[sample] != 0) {
        const int64_t start_ns = pt_profile_provenance(p)->start_ns;
        const pt_label label = {.key = m->time,
                                .kind = PT_LABEL_NUMBER,
                                .unit = m->nanoseconds,
                                .num =
                                    (int64_t)((uint64_t)s->time_ns[sample] - (uint64_t)start_ns)};
        pt_set_maker_put(&m->sets, &label);
    }
    return pt_set_maker_commit(&m->sets);
}

/* A profile based on `base` whose strings include the keys. */
static const pt_profile *with_keys(const pt_profile *base, columns_maker *m)
{
    pt_builder *const b = pt_builder_extend(base);
    m->pid = pt_builder_text(b, "pid").v;
    m->tid = pt_builder_text(b, "tid").v;
    m->cpu = pt_builder_text(b, "cpu").v;
    m->comm = pt_builder_text(b, "comm").v;
    m->time = pt_builder_text(b, "time").v;
    m->nanoseconds = pt_builder_text(b, "nanoseconds").v;
    const pt_profile *extended = NULL;
    return pt_builder_freeze(b, &extended, NULL) == PT_OK ? extended : NULL;
}

const pt_profile *pt_columns_to_labels(const pt_profile *profile, bool with_time)
{
    const unsigned columns = pt_samples_optional(profile->sample);
    columns_maker m = {.with_time = with_time};
    if ((columns & ~(with_time ? 0 : (unsigned)PT_SAMPLES_TIME)) == 0)
        return pt_profile_ref(profile);
    PT_UNREF_PROFILE const pt_profile *extended = with_keys(profile, &m);
    if (extended == NULL) return pt_profile_ref(profile); /* the string table is full */
    const pt_samples *const old = profile->sample;
    pt_set_maker_init(&m.sets);
    pt_samples *const samples =
        pt_samples_new(old->t.count, old->event_count, columns & PT_SAMPLES_TIME);
    memcpy((void *)samples->stack, old->stack, old->t.count * sizeof *old->stack);
    if (old->time_ns != NULL)
        memcpy((void *)samples->time_ns, old->time_ns, old->t.count * sizeof *old->time_ns);
    for (uint32_t e = 0; e < old->event_count; e++)
        memcpy((void *)samples->value[e], old->value[e], old->t.count * sizeof *old->value[e]);
    for (uint32_t i = 0; i < old->t.count; i++)
        ((uint32_t *)samples->labels)[i] = set_with_columns(&m, profile, i);
    const pt_profile_tables tables = {
        .sample = samples,
        .labels = pt_set_maker_finish(&m.sets),
        .unknown = pt_unknowns_without(profile->unknown, 1u << PT_IN_LABEL, NULL),
    };
    return pt_profile_derive(extended, &tables);
}

/* ---- Labels as frames ---- */

typedef struct {
    const pt_profile *profile;
    const pt_query *query;
    pt_builder *builder;
    PT_VECTOR(const char *) root, leaf; /* wanted keys; point into root_text or leaf_text */
    char *root_text, *leaf_text;
    uint64_t next_function, next_location; /* source ids; 0 if the profile has no source ids */
    struct {
        struct tag_frame {
            uint32_t text, key, location;
        } * items;
        size_t count, cap;
    } frame;
    pt_index frame_index;
    /* Per label set: the index in `of_set` of the set's frames (roots, then leaves); PT_NONE = not
     * made yet. */
    uint32_t *set_first;
    uint32_t *of_set;
    size_t of_set_count, of_set_cap;
    struct {
        struct tag_pair {
            uint32_t stack, set, made;
        } * items;
        size_t count, cap;
    } pair;
    pt_index pair_index;
    pt_stack_maker stacks;
    pt_tagged *result;
} tagging;

/* Splits text at commas into its non-empty parts; modifies text. */
#define SPLIT(list, text)                                                                          \
    for (char *save_ = NULL, *at_ = strtok_r((text), ",", &save_); at_ != NULL;                    \
         at_ = strtok_r(NULL, ",", &save_)) {                                                      \
        PT_GROW(list, (list).count + 1);                                                           \
        (list).items[(list).count++] = at_;                                                        \
    }

static uint64_t id_behind(const uint64_t *ids, uint32_t count)
{
    uint64_t most = 0;
    for (uint32_t i = 0; ids != NULL && i < count; i++)
        most = ids[i] > most ? ids[i] : most;
    return ids != NULL ? most + 1 : 0;
}

/* The frame of a text and key; makes the frame if it does not exist yet. */
static uint32_t frame_of(tagging *t, const char *text, const char *key)
{
    const uint32_t name = pt_builder_text(t->builder, text).v;
    const uint32_t file = pt_builder_text(t->builder, key).v;
    const uint64_t hash = pt_hash_u32_pair(name, file);
    const uint32_t known = PT_INDEX_FIND(
        &t->frame_index, hash, i, t->frame.items[i].text == name && t->frame.items[i].key == file);
    if (known != PT_NONE) return t->frame.items[known].location;
    const pt_function function = {
        .name = name, .file = file, .source_id = t->next_function ? t->next_function++ : 0};
    const pt_line line = {.function = pt_builder_append_function(t->builder, &function).v};
    const pt_location location = {.mapping = PT_NONE,
                                  .flags = PT_LOCATION_LABEL,
                                  .source_id = t->next_location ? t->next_location++ : 0};
    const uint32_t id = pt_builder_append_location(t->builder, &location, &line, 1).v;
    PT_INDEX_PUSH(&t->frame_index, hash, t->frame, (struct tag_frame){name, file, id});
    return id;
}

/* Writes the values of a key: texts, then numbers, joined by commas. False if the set has none. */
static bool put_values(const tagging *t, uint32_t set, const char *key, pt_buf *buf)
{
    const pt_profile *const p = t->profile;
    const char *const unit = t->query->tag_unit != NULL && t->query->tag_unit[0] != '\0'
                                 ? t->query->tag_unit
                                 : "minimum";
    bool any = false, units = false;
    for (uint32_t kind = PT_LABEL_STRING; kind <= PT_LABEL_NUMBER; kind++) {
        for (uint64_t l = p->labels->offset[set]; l < p->labels->offset[set + 1]; l++) {
            const pt_label *const label = &p->labels->row[l];
            if (strcmp(pt_text(p, label->key), key) != 0) continue;
            units |= label->unit != 0;
            if (label->kind != kind || !pt_label_counts(label, t->query->pprof)) continue;
            if (any) pt_put_u8(buf, ',');
            any = true;
            if (kind == PT_LABEL_STRING)
                pt_put_text(buf, pt_text(p, label->str));
            else
                pt_put_value(buf, label->num, pt_text(p, label->unit), units ? unit : "",
                             PT_STYLE_PPROF);
        }
    }
    return any;
}

static bool add_frames(tagging *t, uint32_t set, const char *const *keys, size_t count)
{
    bool matched = false;
    for (size_t i = count; i-- > 0;) {
        PT_AUTO(pt_buf) buf = PT_BUF_INIT;
        matched |= put_values(t, set, keys[i], &buf);
        t->of_set = pt_grow(t->of_set, &t->of_set_cap, t->of_set_count + 1, sizeof *t->of_set);
        t->of_set[t->of_set_count++] = frame_of(t, pt_buf_text(&buf), keys[i]);
    }
    return matched;
}

/* The frames of a label set: roots, then leaves; each with the last key first. */
static const uint32_t *frames_of_set(tagging *t, uint32_t set)
{
    if (t->set_first[set] == PT_NONE) {
        t->set_first[set] = (uint32_t)t->of_set_count;
        t->result->root_matched |= add_frames(t, set, t->root.items, t->root.count);
        t->result->leaf_matched |= add_frames(t, set, t->leaf.items, t->leaf.count);
    }
    return t->of_set + t->set_first[set];
}

static uint32_t make_stack(tagging *t, uint32_t stack, uint32_t set)
{
    const uint32_t *const own = frames_of_set(t, set);
    const uint32_t depth = pt_stack_depth(t->profile, stack);
    const uint32_t roots = (uint32_t)t->root.count, leaves = (uint32_t)t->leaf.count;
    uint32_t *const frames = pt_stack_maker_space(&t->stacks, depth + roots + leaves);
    memcpy(frames, own + roots, leaves * sizeof *frames);
    memcpy(frames + leaves, pt_stack_frames(t->profile, stack), depth * sizeof *frames);
    memcpy(frames + leaves + depth, own, roots * sizeof *frames);
    return pt_stack_maker_commit(&t->stacks, depth + roots + leaves, t->profile->stack->end[stack]);
}

static uint32_t tagged_stack(tagging *t, uint32_t stack, uint32_t set)
{
    const uint64_t hash = pt_hash_u32_pair(stack, set);
    const uint32_t known = PT_INDEX_FIND(
        &t->pair_index, hash, i, t->pair.items[i].stack == stack && t->pair.items[i].set == set);
    if (known != PT_NONE) return t->pair.items[known].made;
    const uint32_t made = make_stack(t, stack, set);
    PT_INDEX_PUSH(&t->pair_index, hash, t->pair, (struct tag_pair){stack, set, made});
    return made;
}

static pt_status tag_samples(tagging *t, pt_diag *diag, pt_error *reterr)
{
    const pt_profile *const p = t->profile;
    const uint32_t count = p->sample->t.count;
    t->next_function = id_behind(p->function->source_id, p->function->t.count);
    t->next_location = id_behind(p->location->source_id, p->location->t.count);
    t->set_first = pt_alloc(p->labels->t.count, sizeof *t->set_first);
    memset(t->set_first, 0xff, p->labels->t.count * sizeof *t->set_first);
    PT_FREE uint32_t *rows = pt_alloc_numbers(count);
    t->builder = pt_builder_extend(p);
    pt_stack_maker_init(&t->stacks);
    pt_samples *const samples = pt_samples_pick(p->sample, rows, count);
    for (uint32_t i = 0; i < count; i++)
        ((uint32_t *)samples->stack)[i] =
            tagged_stack(t, p->sample->stack[i], p->sample->labels[i]);
    pt_profile_tables tables = {.sample = samples, .stack = pt_stack_maker_finish(&t->stacks)};
    PT_UNREF_PROFILE const pt_profile *extended = NULL;
    const pt_status status = pt_builder_freeze(t->builder, &extended, reterr);
    if (status != PT_OK) extended = pt_profile_ref(p);
    tables.unknown = pt_unknowns_without(p->unknown, 1u << PT_IN_SAMPLE, diag);
    t->result->profile = pt_profile_derive(extended, &tables);
    return status;
}

pt_status pt_tag_frames(const pt_profile *profile, const pt_query *query, pt_tagged *ret_tagged,
                        pt_diag *diag, pt_error *reterr)
{
    pt_tagged result = {0};
    tagging t = {.query = query, .result = &result};
    t.root_text = pt_strdup(pt_is_given(query->tag_root) ? query->tag_root : "");
    t.leaf_text = pt_strdup(pt_is_given(query->tag_leaf) ? query->tag_leaf : "");
    SPLIT(t.root, t.root_text)
    SPLIT(t.leaf, t.leaf_text)
    pt_status status = PT_OK;
    if (t.root.count + t.leaf.count == 0) {
        result.profile = pt_profile_ref(profile);
    } else {
        PT_UNREF_PROFILE const pt_profile *labelled = pt_columns_to_labels(profile, false);
        t.profile = labelled;
        pt_index_init(&t.frame_index);
        pt_index_init(&t.pair_index);
        status = tag_samples(&t, diag, reterr);
        pt_index_done(&t.frame_index);
        pt_index_done(&t.pair_index);
    }
    PT_FREE_ALL(t.root.items, t.leaf.items, t.root_text, t.leaf_text, t.frame.items, t.set_first,
                t.of_set, t.pair.items);
    if (status == PT_OK)
        *ret_tagged = result;
    else
        pt_profile_unref(result.profile);
    return status;
}
