/* names.c: functions fold into names by their text, unnamed frames by address or by file. */
#include "view/names.h"

#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/hash.h"
#include "base/index.h"

typedef struct {
    uint32_t *items;
    size_t count, cap;
} column;

/* While names are handed out. */
typedef struct {
    pt_names *names;
    column string, location, several;
    uint32_t *name_of_string; /* PT_NONE = not yet */
    pt_index unnamed;
} naming;

static void column_add(column *c, uint32_t value)
{
    PT_GROW(*c, c->count + 1);
    c->items[c->count++] = value;
}

static uint32_t new_name(naming *n, uint32_t string, uint32_t location)
{
    column_add(&n->string, string);
    column_add(&n->location, location);
    return (uint32_t)n->string.count - 1;
}

/* Two unnamed frames are the same when the report would call them the same. */
static bool same_unnamed(const naming *n, uint32_t a, uint32_t b)
{
    const pt_profile *p = n->names->profile;
    const uint32_t ma = p->location->mapping[a], mb = p->location->mapping[b];
    if (n->names->unnamed == PT_UNNAMED_ADDRESS)
        return ma == mb && p->location->address[a] == p->location->address[b];
    if (ma == PT_NONE || mb == PT_NONE) return ma == mb;
    return p->mapping->row[ma].file == p->mapping->row[mb].file;
}

static uint64_t hash_unnamed(const naming *n, uint32_t location)
{
    const pt_profile *p = n->names->profile;
    const uint32_t mapping = p->location->mapping[location];
    if (n->names->unnamed == PT_UNNAMED_ADDRESS)
        return pt_hash_mix(p->location->address[location], mapping);
    return pt_hash_mix(1, mapping == PT_NONE ? PT_NONE : p->mapping->row[mapping].file);
}

static uint32_t unnamed_name(naming *n, uint32_t location)
{
    const uint64_t hash = hash_unnamed(n, location);
    pt_probe probe = {0};
    for (uint32_t id = pt_index_first(&n->unnamed, hash, &probe); id != PT_NONE;
         id = pt_index_next(&n->unnamed, &probe))
        if (same_unnamed(n, n->location.items[id], location)) return id;
    const uint32_t name = new_name(n, PT_NONE, location);
    pt_index_add(&n->unnamed, hash, name);
    return name;
}

static uint32_t line_name(naming *n, uint32_t location, uint32_t line)
{
    const pt_profile *p = n->names->profile;
    const uint32_t function = p->line->function[line];
    const uint32_t string = function == PT_NONE ? 0 : p->function->name[function];
    if (pt_text_bytes(p, string) == 0) return unnamed_name(n, location);
    if (n->name_of_string[string] == PT_NONE)
        n->name_of_string[string] = new_name(n, string, location);
    return n->name_of_string[string];
}

static void name_location(naming *n, uint32_t location)
{
    const pt_locations *locations = n->names->profile->location;
    const uint32_t first = locations->line_first[location];
    const uint32_t count = locations->line_first[location + 1] - first;
    if (count <= 1) {
        n->names->of_location[location] =
            count == 0 ? unnamed_name(n, location) : line_name(n, location, first);
        return;
    }
    n->names->of_location[location] = PT_NAMES_SEVERAL | (uint32_t)n->several.count;
    column_add(&n->several, count);
    for (uint32_t i = 0; i < count; i++)
        column_add(&n->several, line_name(n, location, first + i));
}

pt_status pt_names_init(pt_names *names, const pt_profile *profile, pt_unnamed unnamed,
                        pt_error *reterr)
{
    const uint64_t most =
        (uint64_t)profile->line->t.count + 2 * (uint64_t)profile->location->t.count;
    if (most >= PT_NAMES_SEVERAL)
        return pt_error_set(reterr, PT_ERR_LIMIT,
                            "%llu lines of code in one profile, at most "
                            "2^31 can be shown",
                            (unsigned long long)most);
    *names = (pt_names){.profile = profile, .unnamed = unnamed};
    const uint32_t locations = profile->location->t.count;
    names->of_location = pt_alloc(locations, sizeof *names->of_location);
    naming n = {.names = names};
    n.name_of_string = pt_alloc(profile->string->t.count, sizeof *n.name_of_string);
    memset(n.name_of_string, 0xff, profile->string->t.count * sizeof *n.name_of_string);
    pt_index_init(&n.unnamed);
    for (uint32_t i = 0; i < locations; i++)
        name_location(&n, i);
    names->count = (uint32_t)n.string.count;
    names->string = n.string.items;
    names->location = n.location.items;
    names->several = n.several.items;
    free(n.name_of_string);
    pt_index_done(&n.unnamed);
    return PT_OK;
}

void pt_names_done(pt_names *names)
{
    free(names->of_location);
    free(names->several);
    free(names->string);
    free(names->location);
    *names = (pt_names){0};
}

char *pt_object_text(const pt_profile *p, uint32_t mapping)
{
    const char *file = mapping == PT_NONE ? "" : pt_text(p, p->mapping->row[mapping].file);
    const char *slash = strrchr(file, '/');
    const char *base = slash != NULL ? slash + 1 : file;
    if (base[0] == '\0') return pt_strdup("[unknown]");
    return base[0] == '[' ? pt_strdup(base) : pt_strf("[%s]", base);
}

char *pt_names_text(const pt_names *names, uint32_t name)
{
    const pt_profile *p = names->profile;
    if (names->string[name] != PT_NONE)
        return pt_strndup(pt_text(p, names->string[name]), pt_text_bytes(p, names->string[name]));
    const uint32_t location = names->location[name];
    if (names->unnamed == PT_UNNAMED_OBJECT)
        return pt_object_text(p, p->location->mapping[location]);
    const int length = pt_location_text(p, location, NULL, 0);
    char *text = pt_alloc((size_t)length + 1, 1);
    pt_location_text(p, location, text, (size_t)length + 1);
    return text;
}

int pt_names_compare(const pt_names *names, uint32_t a, uint32_t b)
{
    if (!pt_names_is_unnamed(names, a) && !pt_names_is_unnamed(names, b))
        return strcmp(pt_text(names->profile, names->string[a]),
                      pt_text(names->profile, names->string[b]));
    PT_FREE char *x = pt_names_text(names, a);
    PT_FREE char *y = pt_names_text(names, b);
    return strcmp(x, y);
}
