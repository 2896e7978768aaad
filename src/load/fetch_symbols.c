/* fetch_symbols.c: fetches names that only the server has, after files were searched.
 *
 *   mapping -> a server that it came from -> its nameless addresses, as that process had them
 *           -> POST .../symbol -> one function a name -> lines of the locations
 *
 * Requests are those of symbolz.Symbolize of google/pprof. In addition, addresses without a mapping
 * are requested from servers whose profiles had such addresses, and with OWN also nameless
 * addresses of mappings that have some names. */
#include "load/fetch_int.h"

#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "model/builder.h"
#include "process/path_kind.h"

typedef struct {
    uint32_t *items; /* locations */
    size_t count, cap;
    uint64_t *addresses; /* of each, in the server's process */
} batch;

typedef struct {
    const pt_profile *p;
    const pt_remote_mapping *remote;
    size_t remote_count;
    const pt_fetch_options *options;
    bool force;
    pt_diag *diag;
    pt_builder *b; /* NULL until there is a name */
} naming;

/* True for parts of a process that no file contains and that never have names. */
static bool is_system(const char *file)
{
    const pt_mapped_kind kind = pt_mapped_kind_of_text(file);
    return file[0] != '\0' && kind != PT_MAPPED_FILE && kind != PT_MAPPED_SHARED &&
           kind != PT_MAPPED_JITDUMP;
}

/* The first server from which the mapping came (PT_NONE: addresses without a mapping). */
static const pt_remote_mapping *find_server(const naming *n, uint32_t mapping)
{
    const char *const file =
        mapping == PT_NONE ? "" : pt_text(n->p, n->p->mapping->row[mapping].file);
    const char *const id =
        mapping == PT_NONE ? "" : pt_text(n->p, n->p->mapping->row[mapping].build_id);
    for (size_t i = 0; i < n->remote_count; i++) {
        const char *const key = n->remote[i].key;
        if (strcmp(key, file) == 0 || (id[0] != '\0' && strcmp(key, id) == 0)) return &n->remote[i];
    }
    return NULL;
}

static batch gather_addresses(const naming *n, uint32_t mapping, uint64_t shift)
{
    const pt_locations *const l = n->p->location;
    batch b = {0};
    for (uint32_t i = 0; i < l->t.count; i++) {
        if (l->mapping[i] != mapping || !pt_location_is_nameless(n->p, i)) continue;
        PT_PUSH(b, i);
    }
    b.addresses = pt_alloc(b.count + 1, sizeof *b.addresses);
    for (size_t i = 0; i < b.count; i++) {
        const bool is_return = l->flags[b.items[i]] & PT_LOCATION_RETURN_ADDR;
        b.addresses[i] = l->address[b.items[i]] - is_return + shift;
    }
    return b;
}

static void commit_name(naming *n, uint32_t location, const char *name)
{
    char *const shown =
        n->options->demangle != NULL ? n->options->demangle(n->options->context, name) : NULL;
    const pt_function function = {.name = pt_builder_text(n->b, shown != NULL ? shown : name).v,
                                  .system_name = pt_builder_text(n->b, name).v};
    const pt_line line = {.function = pt_builder_function(n->b, &function).v};
    pt_builder_set_lines(n->b, (pt_location_id){location}, &line, 1);
    free(shown);
}

/* Marks the mapping as named, so that no other source of names is searched for it. */
static void note_named(naming *n, uint32_t mapping)
{
    if (mapping == PT_NONE) return;
    if (n->b == NULL) n->b = pt_builder_extend(n->p);
    pt_builder_mapping_at(n->b, (pt_mapping_id){mapping})->flags |= PT_MAPPING_HAS_FUNCTIONS;
}

static void name_batch(naming *n, uint32_t mapping, const pt_remote_mapping *server, const batch *b)
{
    char **const names = pt_alloc(b->count + 1, sizeof *names);
    pt_error error = PT_ERROR_INIT;
    if (pt_fetch_names(server->url, b->addresses, b->count, n->options, names, &error) != PT_OK) {
        pt_diag_add(n->diag, b->count, "addresses not named by the server: %s", error.message);
        free(names);
        return;
    }
    size_t named = 0;
    for (size_t i = 0; i < b->count; i++) {
        if (names[i] == NULL) continue;
        if (n->b == NULL) n->b = pt_builder_extend(n->p);
        commit_name(n, b->items[i], names[i]);
        free(names[i]);
        named++;
    }
    if (named < b->count)
        pt_diag_add(n->diag, b->count - named,
                    "addresses without a name: the server does not know them");
    /* google/pprof accepts any answer for all names. pitot's own rule does not, since files may
     * have names that the server lacks. */
    if (named > 0 || n->options->rule != PT_FETCH_OWN) note_named(n, mapping);
    free(names);
}

static void name_mapping(naming *n, uint32_t mapping)
{
    uint64_t start = 0;
    if (mapping != PT_NONE) {
        const pt_mapping *const m = &n->p->mapping->row[mapping];
        const bool done = m->flags & PT_MAPPING_HAS_FUNCTIONS;
        if (done && !n->force && n->options->rule != PT_FETCH_OWN) return;
        if (is_system(pt_text(n->p, m->file))) return;
        start = m->start;
    }
    const pt_remote_mapping *const server = find_server(n, mapping);
    if (server == NULL) return;
    batch b = gather_addresses(n, mapping, server->start - start);
    if (b.count > 0)
        name_batch(n, mapping, server, &b);
    else
        note_named(n, mapping);
    PT_FREE_ALL(b.items, b.addresses);
}

pt_status pt_fetch_symbolize(const pt_profile *profile, const pt_remote_mapping *mappings,
                             size_t mapping_count, bool force, const pt_fetch_options *options,
                             const pt_profile **ret_profile, pt_diag *diag, pt_error *reterr)
{
    naming n = {.p = profile,
                .remote = mappings,
                .remote_count = mapping_count,
                .options = options,
                .force = force,
                .diag = diag};
    for (uint32_t i = 0; i < profile->mapping->t.count && mapping_count > 0; i++)
        name_mapping(&n, i);
    if (mapping_count > 0) name_mapping(&n, PT_NONE);
    if (n.b != NULL) return pt_builder_freeze(n.b, ret_profile, reterr);
    *ret_profile = pt_profile_ref(profile);
    return PT_OK;
}
