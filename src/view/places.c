/* places.c: which node info each line of each location folds into. */
#include "view/graph.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/grow.h"
#include "base/hash.h"
#include "base/index.h"
#include "source/text.h"

/* The one empty text: infos are compared by pointers. */
static const char no_text[] = "";

/* Texts made here: each once, so that equal texts are one pointer. */
struct pt_text_pool {
    char **items;
    size_t count, cap;
    pt_index index;
};

typedef struct {
    const pt_profile *profile;
    const pt_fold *fold;
    pt_places *places;
    const char **file_of_function; /* NULL = not yet */
    size_t info_cap;
    uint32_t *several;
    size_t several_count, several_cap;
    pt_index index;
} folding;

static const char *pool_text(struct pt_text_pool *pool, char *text)
{
    const uint64_t hash = pt_hash_bytes(text, strlen(text));
    pt_probe probe = {0};
    for (uint32_t id = pt_index_first(&pool->index, hash, &probe); id != PT_NONE;
         id = pt_index_next(&pool->index, &probe)) {
        if (strcmp(pool->items[id], text) != 0) continue;
        free(text);
        return pool->items[id];
    }
    PT_GROW(*pool, pool->count + 1);
    pool->items[pool->count] = text;
    pt_index_add(&pool->index, hash, (uint32_t)pool->count++);
    return text;
}

/* The base name of a path as Go's filepath.Base has it: trailing slashes are no part of it. */
static void base_of(const char *path, size_t length, const char **ret_base, size_t *ret_length)
{
    while (length > 1 && path[length - 1] == '/')
        length--;
    size_t begin = length;
    while (begin > 0 && path[begin - 1] != '/')
        begin--;
    *ret_base = path + begin;
    *ret_length = length - begin;
    if (length == 0) { /* Base("") is "." */
        *ret_base = ".";
        *ret_length = 1;
    } else if (*ret_length == 0) { /* Base("/") is "/" */
        *ret_base = "/";
        *ret_length = 1;
    }
}

static const char *file_of(folding *f, uint32_t function)
{
    const char **file = &f->file_of_function[function];
    if (*file != NULL) return *file;
    const char *path = pt_text(f->profile, f->profile->function->file[function]);
    if (f->fold->trims_paths) path = pt_source_trim(path, f->fold->trim_path, f->fold->source_path);
    *file = path[0] == '\0' ? no_text : pool_text(f->places->pool, pt_source_clean(path));
    return *file;
}

/* ---- Infos ---- */

/* Texts are one pointer each: of the profile's string table, of the pool, or "". */
static bool same_info(const pt_node_info *a, const pt_node_info *b)
{
    return a->name == b->name && a->file == b->file && a->object == b->object &&
           a->address == b->address && a->start_line == b->start_line && a->line == b->line &&
           a->column == b->column;
}

static uint64_t hash_info(const pt_node_info *info)
{
    uint64_t h = pt_hash_mix((uintptr_t)info->name, (uintptr_t)info->file);
    h = pt_hash_mix(h ^ info->address, (uintptr_t)info->object);
    h = pt_hash_mix(h ^ (uint64_t)info->start_line, (uint64_t)info->line);
    return pt_hash_mix(h, (uint64_t)info->column);
}

static uint32_t intern_info(folding *f, const pt_node_info *info)
{
    pt_places *places = f->places;
    const uint64_t hash = hash_info(info);
    pt_probe probe = {0};
    for (uint32_t id = pt_index_first(&f->index, hash, &probe); id != PT_NONE;
         id = pt_index_next(&f->index, &probe))
        if (same_info(&places->info[id], info)) return id;
    places->info = pt_grow(places->info, &f->info_cap, (size_t)places->count + 1, sizeof *info);
    places->info[places->count] = *info;
    pt_index_add(&f->index, hash, places->count);
    return places->count++;
}

static const char *text_or_empty(const pt_profile *p, uint32_t string)
{
    return pt_text_bytes(p, string) == 0 ? no_text : pt_text(p, string);
}

/* line: PT_NONE for a location without lines. */
static uint32_t fold_line(folding *f, uint32_t location, uint32_t line)
{
    const pt_profile *p = f->profile;
    const pt_granularity by = f->fold->granularity;
    const uint32_t mapping = p->location->mapping[location];
    const char *object =
        mapping == PT_NONE ? no_text : text_or_empty(p, p->mapping->row[mapping].file);
    pt_node_info info = {.name = no_text, .file = no_text, .object = object};
    if (by == PT_BY_ADDRESS) info.address = p->location->address[location];
    const uint32_t function = line == PT_NONE ? PT_NONE : p->line->function[line];
    if (function == PT_NONE) return intern_info(f, &info);
    if (by != PT_BY_FILE) info.name = text_or_empty(p, p->function->name[function]);
    if (by != PT_BY_FUNCTION) info.file = file_of(f, function);
    if (by == PT_BY_LINE || by == PT_BY_ADDRESS) {
        const bool whole = by == PT_BY_ADDRESS && !f->fold->no_inlines;
        info.line = p->line->line[line];
        if (p->line->column != NULL && (whole || f->fold->columns))
            info.column = p->line->column[line];
    }
    if (f->fold->object_names || info.name[0] == '\0')
        info.start_line = p->function->start_line[function];
    else
        info.object = no_text;
    return intern_info(f, &info);
}

static void add_several(folding *f, uint32_t value)
{
    f->several = pt_grow(f->several, &f->several_cap, f->several_count + 1, sizeof *f->several);
    f->several[f->several_count++] = value;
}

static uint32_t fold_location(folding *f, uint32_t location)
{
    const pt_locations *locations = f->profile->location;
    const uint32_t first = locations->line_first[location];
    const uint32_t count = locations->line_first[location + 1] - first;
    if (count == 0) return fold_line(f, location, PT_NONE);
    if (count == 1 || f->fold->no_inlines) return fold_line(f, location, first + count - 1);
    const uint32_t place = (uint32_t)f->several_count;
    add_several(f, count);
    for (uint32_t i = 0; i < count; i++)
        add_several(f, fold_line(f, location, first + i));
    return PT_PLACES_SEVERAL | place;
}

pt_status pt_places_init(pt_places *places, const pt_profile *profile, const pt_fold *fold,
                         pt_error *reterr)
{
    const uint64_t most =
        (uint64_t)profile->line->t.count + 2 * (uint64_t)profile->location->t.count;
    if (most >= PT_PLACES_SEVERAL)
        return pt_error_set(reterr, PT_ERR_LIMIT,
                            "%" PRIu64 " lines of code in one profile, at most 2^31 can be shown",
                            most);
    *places = (pt_places){.pool = pt_alloc(1, sizeof *places->pool)};
    pt_index_init(&places->pool->index);
    folding f = {.profile = profile, .fold = fold, .places = places};
    f.file_of_function = pt_alloc(profile->function->t.count, sizeof *f.file_of_function);
    pt_index_init(&f.index);
    places->of_location = pt_alloc(profile->location->t.count, sizeof *places->of_location);
    for (uint32_t i = 0; i < profile->location->t.count; i++)
        places->of_location[i] = fold_location(&f, i);
    places->several = f.several;
    pt_index_done(&f.index);
    free(f.file_of_function);
    return PT_OK;
}

void pt_places_done(pt_places *places)
{
    if (places->pool != NULL) {
        for (size_t i = 0; i < places->pool->count; i++)
            free(places->pool->items[i]);
        free(places->pool->items);
        pt_index_done(&places->pool->index);
        free(places->pool);
    }
    free(places->info);
    free(places->of_location);
    free(places->several);
    *places = (pt_places){0};
}

char *pt_node_text(const pt_node_info *info)
{
    pt_buf buf = PT_BUF_INIT;
    if (info->address != 0) pt_putf(&buf, "%016" PRIx64 " ", info->address);
    if (info->name[0] != '\0') pt_putf(&buf, "%s ", info->name);
    if (info->line != 0) {
        pt_putf(&buf, "%s:%" PRId64, info->file, info->line);
        if (info->column != 0) pt_putf(&buf, ":%" PRId64, info->column);
    } else if (info->file[0] != '\0') {
        pt_put_text(&buf, info->file);
    } else if (info->name[0] != '\0') {
        buf.size--; /* the name was all */
    } else if (info->object[0] != '\0') {
        const char *base;
        size_t length;
        base_of(info->object, strlen(info->object), &base, &length);
        pt_putf(&buf, "[%.*s]", (int)length, base);
    } else {
        pt_put_text(&buf, "<unknown>");
    }
    return pt_buf_take(&buf, NULL);
}
